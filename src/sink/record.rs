//! The rows of a run's files, in the order of their fields.
//!
//! They borrow, so that writing a line copies no text; read back, they own what they must.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    filter::{Judgement, Kind, Step},
    fingerprint::{Fingerprint, Signature},
    page::Timestamp,
    sink::Position,
    state::Reason,
};

/// How a document was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    /// No document of the window is equal or nearly equal to it.
    Unique,
    /// Equal in body or text to its match.
    Exact,
    /// Nearly equal to its match.
    Near,
}

/// The unique document that a duplicate repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchFields<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// In how many of the 64 bits of the fingerprint the two differ.
    pub distance: u32,
    /// In how many of the 256 bits of the signature the two differ.
    pub signature_distance: u32,
    /// From 0 to 1, which is an exact duplicate's; written with at most four decimals.
    #[serde(serialize_with = "four_decimals")]
    pub similarity: f32,
}

/// One decision: a line of the output of `filter`, and the beginning of the lines of `pages.jsonl` and `duplicates.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision<'a> {
    /// The caller's id, or the normal URL.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Where the document came from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Cow<'a, str>>,
    /// The judgement.
    pub verdict: VerdictName,
    /// How it was found, of a duplicate.
    pub step: Option<Step>,
    /// What it repeats, of a duplicate.
    #[serde(rename = "match", borrow)]
    pub matched: Option<MatchFields<'a>>,
    /// The fingerprint, unless the text has no features.
    pub fingerprint: Option<Fingerprint>,
    /// Characters of the text as on the page.
    pub chars: u64,
    /// Distinct features of the text.
    pub features: u32,
    /// ISO 639-1 code of the text's language, if it could be told.
    pub lang: Option<Cow<'a, str>>,
}

impl<'a> Decision<'a> {
    /// The line of a judgement; `of` is the id of the match.
    #[must_use]
    pub fn new(
        id: &'a str,
        url: Option<&'a str>,
        judgement: &'a Judgement,
        of: Option<&'a str>,
    ) -> Self {
        let Judgement { verdict, facts, .. } = judgement;
        let matched = verdict.matched();
        Self {
            id: id.into(),
            url: url.map(Cow::Borrowed),
            verdict: match matched.map(|matched| matched.kind) {
                None => VerdictName::Unique,
                Some(Kind::Exact) => VerdictName::Exact,
                Some(Kind::Near) => VerdictName::Near,
            },
            step: matched.map(|matched| matched.step),
            matched: matched.map(|matched| MatchFields {
                id: of.unwrap_or_default().into(),
                distance: matched.distance,
                signature_distance: matched.signature_distance,
                similarity: matched.similarity(),
            }),
            fingerprint: facts.fingerprint,
            chars: facts.chars.into(),
            features: facts.features,
            lang: facts.lang.as_ref().map(|lang| lang.as_str().into()),
        }
    }
}

/// A line of `pages.jsonl`: a stored page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageLine<'a> {
    /// How it was judged; its fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The page's title.
    pub title: Option<Cow<'a, str>>,
    /// The body text, unless the run leaves texts out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header as received.
    pub content_type: Option<Cow<'a, str>>,
    /// Name of the encoding that was used, as in the Encoding Standard.
    pub charset: Cow<'a, str>,
    /// When the answer was received.
    #[serde(with = "rfc3339")]
    pub fetched_at: Timestamp,
    /// Links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was found first; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// The seed that the URL belongs to.
    pub seed: Option<Cow<'a, str>>,
    /// The tags of that seed.
    pub tags: Vec<Cow<'a, str>>,
    /// All 256 signs, unless the text has no features.
    pub signature: Option<Signature>,
    /// The canonical link that the page names.
    pub canonical: Option<Cow<'a, str>>,
    /// Why the page is not whole, if it was cut.
    pub truncated: Option<Cow<'a, str>>,
    /// Where its response lies, if the run writes WARC files.
    pub warc: Option<Position>,
}

/// A line of `duplicates.jsonl`: a duplicate that is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicateLine<'a> {
    /// How it was judged; its fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The HTTP status.
    pub status: u16,
    /// When the answer was received.
    #[serde(with = "rfc3339")]
    pub fetched_at: Timestamp,
    /// Links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was found first; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
}

/// A line of `skipped.jsonl`: a URL that is known and neither stored nor a duplicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedLine<'a> {
    /// The URL.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// Why it was skipped.
    pub reason: Reason,
    /// More of the same: the robots rule and its line, the redirect's target, the error.
    pub detail: Option<Cow<'a, str>>,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// The page on which the URL was found first; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// Links from the seed, which has depth 0.
    pub depth: u32,
    /// When that was decided, if it was decided at one moment.
    #[serde(with = "optional_rfc3339")]
    pub at: Option<Timestamp>,
}

/// 0.9909, and 1 (without a point) for what is equal.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn four_decimals<S: Serializer>(similarity: &f32, to: S) -> Result<S::Ok, S::Error> {
    let rounded = (f64::from(*similarity) * 1e4).round() / 1e4;
    if rounded >= 1.0 { to.serialize_u8(1) } else { to.serialize_f64(rounded) }
}

/// The instant as RFC 3339 in UTC writes it; beyond the years that it can write, the epoch.
pub(crate) fn rfc3339_text(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default()
}

pub(crate) mod rfc3339 {
    //! A [`Timestamp`] as RFC 3339 text in UTC.

    use super::{Deserialize, Deserializer, Serialize, Serializer, Timestamp, rfc3339_text};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        rfc3339_text(*at).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        jiff::Timestamp::deserialize(from).map(|at| Timestamp(at.as_millisecond()))
    }
}

mod optional_rfc3339 {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Timestamp, rfc3339_text};

    #[expect(clippy::ref_option, reason = "serde gives the field by reference")]
    pub(super) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(rfc3339_text).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let at = Option::<jiff::Timestamp>::deserialize(from)?;
        Ok(at.map(|at| Timestamp(at.as_millisecond())))
    }
}
