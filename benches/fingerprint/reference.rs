//! References for the cost of a sketch: a plain tokeniser, hasher and term counter, and `MinHash`. Frozen: ratios to them are compared
//! between releases, so neither may ever compute anything else or become faster.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use jieba_rs::Jieba;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A hasher for keys that are already hashes.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The plain reference, frozen: it must never become faster. Lower-case words, jieba's or single characters for Chinese, their pairs, and
/// the characters of jieba's words, each hashed by XXH3 and counted in a map. Returns the features in order and their counts.
pub(super) fn reference(jieba: Option<&Jieba>, text: &str) -> (Vec<u64>, usize) {
    let lower = text.to_lowercase();
    let mut counts: HashMap<u64, u32, BuildHasherDefault<Identity>> = HashMap::default();
    let (mut features, mut last) = (Vec::new(), None);
    let mut feature = |text: &str, is_token: bool| {
        let hash = xxh3_64_with_seed(text.as_bytes(), 1);
        let pair = |last: u64| xxh3_64_with_seed(&last.to_le_bytes(), hash);
        let pair = if is_token { last.replace(hash).map(pair) } else { None };
        for hash in [Some(hash), pair].into_iter().flatten() {
            features.push(hash);
            *counts.entry(hash).or_insert(0) += 1;
        }
    };
    let is_han = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let is_end = |c: char| !c.is_alphanumeric() && c != '_';
    for run in lower.split(is_end).filter(|run| !run.is_empty()) {
        let characters = |run: &str, feature: &mut dyn FnMut(&str)| {
            run.char_indices().for_each(|(at, c)| feature(&run[at..at + c.len_utf8()]));
        };
        match jieba {
            _ if !run.chars().any(is_han) => feature(run, true),
            None => characters(run, &mut |character| feature(character, true)),
            Some(jieba) => {
                for word in jieba.cut(run, false) {
                    feature(word.word, true);
                    if word.end - word.start > 1 {
                        characters(word.word, &mut |character| feature(character, false));
                    }
                }
            }
        }
    }
    (features, counts.len())
}

/// `MinHash` of 128 permutations as gaoya's `MinHasher32` computes it (the least `h·a + b` modulo 2^31 - 1 under each), in about
/// twice its time. `benches/peers` has gaoya itself.
pub(super) fn min_hash(features: &[u64]) -> u32 {
    let permutations =
        (1..=128_u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 1, n.wrapping_mul(0x85eb_ca6b) >> 1));
    let least = |(a, b): (u32, u32)| {
        let hashes = features.iter().map(|hash| (hash & 0xffff_ffff) as u32);
        hashes.map(|hash| hash.wrapping_mul(a).wrapping_add(b) % 0x7fff_ffff).min().unwrap_or(0)
    };
    permutations.map(least).fold(0, u32::wrapping_add)
}
