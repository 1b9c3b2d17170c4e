//! The verdict on a document, and the facts about its text.

use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use crate::{
    fingerprint::{Fingerprint, Signature, similarity},
    page::{DocId, Lang, Timestamp},
};

/// Whether a document repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing like it is in the window: it now represents its text.
    Unique,
    /// It repeats a unique document.
    Duplicate(Match),
}

/// The unique document that a duplicate repeats, and how nearly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Match {
    /// The representative.
    pub of: DocId,
    /// Whether body or text are equal, or only nearly so.
    pub kind: Kind,
    /// The step of the cascade that found it.
    pub step: Step,
    /// In how many of the 64 bits of the fingerprint the two differ.
    pub distance: u32,
    /// In how many of the 256 bits of the signature the two differ.
    pub signature_distance: u32,
    /// How similar the two are, from 0 to 1, by the measure that decided: 1 for equal texts, the cosine that the signatures estimate for other
    /// texts, and [`Comparison::similarity`](super::Comparison) for pages.
    pub similarity: f32,
}

impl Match {
    /// Of an equal body or text.
    pub(super) fn exact(of: DocId, step: Step) -> Self {
        let kind = Kind::Exact;
        Self { of, kind, step, distance: 0, signature_distance: 0, similarity: 1.0 }
    }

    /// A near match of pages that are compared so, or of texts, whose similarity the signatures estimate.
    #[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1")]
    pub(super) fn near(
        of: DocId,
        [one, other]: [Signature; 2],
        found: Option<&Comparison>,
    ) -> Self {
        let signature_distance = one.distance(&other);
        let of_texts = || similarity(signature_distance);
        Self {
            of,
            kind: Kind::Near,
            step: Step::Near,
            distance: one.fingerprint().distance(other.fingerprint()),
            signature_distance,
            similarity: found.map_or_else(of_texts, |found| found.similarity as f32),
        }
    }
}

/// How a duplicate repeats its match. The numbers are kept in states and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Body or text are equal.
    Exact = 1,
    /// The texts, or the content of two pages, are nearly the same.
    Near = 2,
}

/// The step of the cascade that decided. The numbers are kept in states and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// The body is known.
    Body = 1,
    /// The text is known.
    Text = 2,
    /// A document with nearly the same text or content is known.
    Near = 3,
}

/// Facts about a document's text. A document with a known body gets the facts of the text known by that body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Facts {
    /// The fingerprint; `None` for a text without words.
    pub fingerprint: Option<Fingerprint>,
    /// Characters of the text.
    pub chars: u32,
    /// Distinct features of the text.
    pub features: u32,
    /// The language of the text.
    pub lang: Option<Lang>,
    /// Whether the page has hardly any content of its own, as far as is known of its origin.
    pub thin: bool,
}

/// The outcome of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// The number that the document got.
    pub id: DocId,
    /// When it arrived, by the window's clock.
    pub at: Timestamp,
    /// The verdict.
    pub verdict: Verdict,
    /// Facts about its text.
    pub facts: Facts,
    /// Of a unique page that was compared with others: the most similar of those that have enough in common with it, and how similar the two are,
    /// from 0 to 1, by [`Comparison::similarity`](super::Comparison).
    pub nearest: Option<(DocId, f32)>,
    /// Of a unique document an earlier version in the window, if keys are indexed there and it has one.
    pub previous: Option<Previous>,
}

impl Judgement {
    /// Whether nothing like the document was in the window, and it has entered: it is unique, and no version without change.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.verdict.is_unique() && self.previous.is_none_or(|previous| !previous.is_unchanged)
    }
}

/// An earlier version of a document, of the same key, that is in the window: the latest one without change, or else the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Previous {
    /// Its number.
    pub id: DocId,
    /// When it arrived, by the window's clock.
    pub at: Timestamp,
    /// Whether the document has the same text or bytes. It does not enter the window again then.
    pub is_unchanged: bool,
    /// In how many of the 64 bits of the fingerprint and the 256 of the signature the two differ, if both are long enough.
    pub distances: Option<(u32, u32)>,
}

impl Verdict {
    /// Whether the document is unique.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        matches!(self, Self::Unique)
    }

    /// The match of a duplicate.
    #[must_use]
    pub fn matched(&self) -> Option<&Match> {
        match self {
            Self::Unique => None,
            Self::Duplicate(matched) => Some(matched),
        }
    }
}
