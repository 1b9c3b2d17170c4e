//! The lines of a run's files. The order of the fields here is the order in the files.
//!
//! Lines borrow their strings, so that writing one copies no text; when read back they own what they must.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    filter::{Judgement, Kind, Step},
    fingerprint::{Fingerprint, Signature},
    sink::Position,
    state::Reason,
};

/// How a document was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    /// No document in the window is equal or nearly equal to it.
    Unique,
    /// Its body or text is equal to that of its match.
    Exact,
    /// Its text is nearly equal to that of its match.
    Near,
}

/// The document that a duplicate repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchFields<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Number of differing bits of the 64 of the fingerprint.
    pub distance: u32,
    /// Number of differing bits of the 256 of the signature.
    pub signature_distance: u32,
    /// From 0 to 1 (an exact duplicate); written with at most four decimals.
    #[serde(serialize_with = "four_decimals")]
    pub similarity: f32,
    /// The share of the article that both pages have, from 0 to 1, if they were compared by their articles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f32>,
}

/// A decision: a line of the output of `filter`, and the first fields of the lines of `pages.jsonl` and `duplicates.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision<'a> {
    /// The caller's id, or the normal URL.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The document's URL, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Cow<'a, str>>,
    /// The verdict.
    pub verdict: VerdictName,
    /// The step that found it, if it is a duplicate.
    pub step: Option<Step>,
    /// The document it repeats, if it is a duplicate.
    #[serde(rename = "match", borrow)]
    pub matched: Option<MatchFields<'a>>,
    /// The fingerprint, unless the text has no features.
    pub fingerprint: Option<Fingerprint>,
    /// Number of characters of the text as on the page.
    pub chars: u64,
    /// Number of distinct features of the text.
    pub features: u32,
    /// ISO 639-1 code of the text's language, if it was detected.
    pub lang: Option<Cow<'a, str>>,
    /// Whether the page has hardly any content of its own.
    #[serde(default)]
    pub thin: bool,
}

impl<'a> Decision<'a> {
    /// The decision for a judgement; `of` is the id of the match.
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
                shared: matched.shared.map(|percent| f32::from(percent) / 100.0),
            }),
            fingerprint: facts.fingerprint,
            chars: facts.chars.into(),
            features: facts.features,
            lang: facts.lang.as_ref().map(|lang| lang.as_str().into()),
            thin: facts.thin,
        }
    }
}

/// A line of `pages.jsonl`: a stored page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageLine<'a> {
    /// The decision, whose fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The run of the match, if it is a page of another run (`dedup.against`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Cow<'a, str>>,
    /// The page's title.
    pub title: Option<Cow<'a, str>>,
    /// The body text, unless the configuration leaves texts out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header as received.
    pub content_type: Option<Cow<'a, str>>,
    /// Name of the encoding used, as in the Encoding Standard.
    pub charset: Cow<'a, str>,
    /// When the response was received.
    pub fetched_at: Timestamp,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// The seed that the URL belongs to.
    pub seed: Option<Cow<'a, str>>,
    /// The tags of that seed.
    pub tags: Vec<Cow<'a, str>>,
    /// The 256-bit signature, unless the text has no features.
    pub signature: Option<Signature>,
    /// The canonical link that the page names.
    pub canonical: Option<Cow<'a, str>>,
    /// Why the page is incomplete, if it was cut.
    pub truncated: Option<Cow<'a, str>>,
    /// Position of its response, if the run writes WARC files.
    pub warc: Option<Position>,
}

/// A line of `duplicates.jsonl`: a duplicate that is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicateLine<'a> {
    /// The decision, whose fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The run of the match, if it is a page of another run (`dedup.against`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Cow<'a, str>>,
    /// The HTTP status.
    pub status: u16,
    /// When the response was received.
    pub fetched_at: Timestamp,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
}

/// How a known page had changed when it was asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeName {
    /// It has another text.
    Text,
    /// There is no page any more.
    Gone,
    /// There is a page again, with the text that was known.
    Back,
}

/// A line of `changes.jsonl`: a known page that had changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeLine<'a> {
    /// The URL.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// When it was asked for.
    pub at: Timestamp,
    /// How it had changed.
    pub change: ChangeName,
    /// When it was received or asked for before.
    pub since: Timestamp,
    /// The fingerprint of the text that was known, unless that has no features.
    pub before: Option<Fingerprint>,
    /// The fingerprint of the text that it has now, unless there is none or it has no features.
    pub after: Option<Fingerprint>,
    /// Number of differing bits of the two fingerprints, if there are two.
    pub distance: Option<u32>,
    /// How the new text was judged.
    pub verdict: Option<VerdictName>,
    /// The page that the new text repeats, if it is a duplicate.
    #[serde(rename = "match")]
    pub matched: Option<Cow<'a, str>>,
    /// Why there is no page any more.
    pub reason: Option<Reason>,
    /// Details of the reason.
    pub detail: Option<Cow<'a, str>>,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// How often it was asked for since it was received first.
    pub visits: u32,
    /// How often it had changed then.
    pub changes: u32,
}

/// A line that `export` prints: a known URL that is neither stored nor a duplicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedLine<'a> {
    /// The URL.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// Why it was skipped.
    pub reason: Reason,
    /// Details of the reason: the robots rule and its line, the redirect's target, the error.
    pub detail: Option<Cow<'a, str>>,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// When it was decided, if that was at a single moment.
    pub at: Option<Timestamp>,
}

/// Writes 0.9909, and 1 (without a point) for equal documents.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
pub(crate) fn four_decimals<S: Serializer>(similarity: &f32, to: S) -> Result<S::Ok, S::Error> {
    let rounded = (f64::from(*similarity) * 1e4).round() / 1e4;
    if rounded >= 1.0 { to.serialize_u8(1) } else { to.serialize_f64(rounded) }
}
