//! Equality of the whole text, or of its longest sentences.

use super::Prepared;
use crate::fingerprint::Digest;

/// A digest of each text.
pub(super) struct Digests(Vec<Digest>);

/// The digests of the longest sentences of each text, sorted.
pub(super) struct Sentences(Vec<Vec<Digest>>);

/// How many sentences are compared.
const SENTENCES: usize = 3;

impl Digests {
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self(texts.map(|text| Digest::of(text.as_bytes())).collect())
    }
}

impl Prepared for Digests {
    fn alike(&self, a: usize, b: usize) -> bool {
        self.0[a] == self.0[b]
    }

    fn bytes(&self) -> usize {
        size_of::<Digest>() * self.0.len()
    }
}

impl Sentences {
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self(texts.map(longest).collect())
    }
}

impl Prepared for Sentences {
    fn alike(&self, a: usize, b: usize) -> bool {
        self.0[a] == self.0[b]
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|digests| size_of::<Digest>() * digests.len()).sum()
    }
}

fn longest(text: &str) -> Vec<Digest> {
    let end = |c: char| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | '；' | ';');
    let mut sentences: Vec<_> =
        text.split(end).map(str::trim).filter(|text| !text.is_empty()).collect();
    // Equally long ones in an order of their own, so that their places in the text do not matter.
    sentences.sort_unstable_by_key(|sentence| (std::cmp::Reverse(sentence.len()), *sentence));
    sentences.truncate(SENTENCES);
    let mut digests: Vec<_> = sentences.iter().map(|text| Digest::of(text.as_bytes())).collect();
    digests.sort_unstable();
    digests
}
