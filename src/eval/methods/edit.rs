//! Edit distance: insertions, deletions and substitutions of tokens (Levenshtein).

use std::collections::HashMap;

use super::Prepared;
use crate::fingerprint::Fingerprinter;

/// Two texts of a thousand tokens take a millisecond, so only about so many pairs are judged.
pub(super) const SAMPLE: usize = 1_000;

/// The tokens of each text, numbered.
pub(super) struct Tokens(Vec<Vec<u32>>);

impl Tokens {
    pub(super) fn new<'a>(
        texts: impl Iterator<Item = &'a str>,
        fingerprinter: &Fingerprinter,
    ) -> Self {
        let mut numbers = HashMap::new();
        let mut numbered = |text| {
            let mut tokens = Vec::new();
            fingerprinter.tokens(text, |token| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                tokens.push(*numbers.entry(token.to_owned()).or_insert(next));
            });
            tokens
        };
        Self(texts.map(&mut numbered).collect())
    }
}

impl Prepared for Tokens {
    fn alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.0[a], &self.0[b]);
        let longer = a.len().max(b.len());
        // The difference in length is a lower bound of the distance.
        if a.len().abs_diff(b.len()) * 10 > longer {
            return false;
        }
        strsim::generic_levenshtein(a, b) * 10 <= longer
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|tokens| size_of_val(tokens.as_slice())).sum()
    }
}
