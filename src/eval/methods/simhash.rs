//! `SimHash` as tutorials teach it.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::Prepared;
use crate::fingerprint::{Accumulator, Fingerprint, Fingerprinter};

/// Fingerprints of 64 bits over words alone, weighted by their frequency in five levels.
pub(super) struct Tutorial(Vec<Fingerprint>);

impl Tutorial {
    pub(super) fn new<'a>(
        texts: impl Iterator<Item = &'a str>,
        fingerprinter: &Fingerprinter,
    ) -> Self {
        Self(texts.map(|text| fingerprint(text, fingerprinter)).collect())
    }
}

impl Prepared for Tutorial {
    fn alike(&self, a: usize, b: usize) -> bool {
        self.0[a].distance(self.0[b]) <= 3
    }

    fn bytes(&self) -> usize {
        size_of::<Fingerprint>() * self.0.len()
    }
}

fn fingerprint(text: &str, fingerprinter: &Fingerprinter) -> Fingerprint {
    let mut frequencies: HashMap<u64, u32> = HashMap::new();
    fingerprinter
        .tokens(text, |token| *frequencies.entry(xxh3_64(token.as_bytes())).or_default() += 1);
    let most = frequencies.values().copied().max().unwrap_or(1);
    let mut accumulator = Accumulator::new();
    for (hash, frequency) in frequencies {
        accumulator.add([hash], (5 * frequency).div_ceil(most));
    }
    let [bits] = accumulator.finish().signs();
    Fingerprint(bits)
}
