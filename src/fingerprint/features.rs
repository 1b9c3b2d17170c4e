//! Features as numbers: how they are hashed, counted and weighted (steps 4 and 5 of the recipe in [`super`]).

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::recipe::HashSeed;

/// 2^64 divided by the golden ratio, odd: the step of `SplitMix64`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The weight of a feature that occurs once. A power of two, because most features occur once and then cost a single addition.
const ONCE: u128 = 16;

/// Precomputed weights of the usual numbers of occurrences.
const USUAL: [u32; 256] = {
    let mut weights = [0; 256];
    let mut occurrences = 1;
    while occurrences < 256 {
        weights[occurrences as usize] = damped(occurrences);
        occurrences += 1;
    }
    weights
};

/// Distinct features of a text that count: those of more than 2 MB of prose. Made to exhaust memory, a page has some millions.
const MAX_FEATURES: u32 = 1 << 19;
/// Initial number of slots, so that most pages never grow the table.
const FIRST_SLOTS: usize = 1 << 12;

/// The hash of a token or character.
#[inline]
pub(super) fn hash_token(token: &str, seed: HashSeed) -> u64 {
    xxh3_64_with_seed(token.as_bytes(), seed.0)
}

/// The hash of two tokens in this order.
#[inline]
pub(super) fn hash_pair(first: u64, second: u64) -> u64 {
    mix(first.wrapping_mul(STEP).rotate_left(32).wrapping_add(second))
}

/// A feature's hash expanded to 256 bits, the hash itself first.
#[inline]
pub(super) fn expand(hash: u64) -> [u64; 4] {
    [0, 1, 2, 3]
        .map(|word| if word == 0 { hash } else { mix(hash.wrapping_add(STEP.wrapping_mul(word))) })
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Term frequencies: how often each feature's hash occurs in a text. Cleared and used again for each text.
///
/// An open-addressing table. Entries are dense, in order of first occurrence; a slot holds the number of its entry, from 1. The slot at
/// which the search for a hash starts depends on a random key, so that nobody who knows the seed can write a text whose hashes collide.
#[derive(Debug)]
pub(super) struct Counts {
    slots: Vec<u32>,
    /// One more than half of the slots. The first `len` are in use.
    entries: Vec<Entry>,
    len: u32,
    key: u64,
    shift: u32,
}

/// A hash and how often it occurred.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: u64,
    occurrences: u32,
}

impl Default for Counts {
    fn default() -> Self {
        let key = RandomState::new().hash_one(0) | 1;
        let mut counts = Self { slots: Vec::new(), entries: Vec::new(), len: 0, key, shift: 0 };
        counts.clear();
        counts
    }
}

impl Counts {
    /// Removes all entries and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.resize(FIRST_SLOTS);
    }

    /// Counts one occurrence and returns the feature's number in the order of first occurrence.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) -> usize {
        let mut slot = self.first_slot(hash);
        loop {
            let number = self.slots[slot];
            if number == 0 {
                break;
            }
            let place = number as usize - 1;
            let entry = &mut self.entries[place];
            if entry.hash == hash {
                entry.occurrences = entry.occurrences.saturating_add(1);
                return place;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        let place = self.len as usize;
        self.entries[place] = Entry { hash, occurrences: 1 };
        self.len += 1;
        self.slots[slot] = self.len;
        if self.len as usize * 2 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
        place
    }

    /// Counts a unit, and its pair if it has one, unless no further occurrence counts.
    #[expect(
        clippy::inline_always,
        reason = "with a call for each feature, a sketch takes a tenth longer"
    )]
    #[inline(always)]
    pub(super) fn add_all(&mut self, (hash, pair): (u64, Option<u64>)) {
        if !self.is_full() {
            self.add(hash);
        }
        if let Some(pair) = pair
            && !self.is_full()
        {
            self.add(pair);
        }
    }

    /// Whether no further occurrence counts.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len >= MAX_FEATURES
    }

    /// Each distinct hash with its number of occurrences, in order of first occurrence.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let in_use = &self.entries[..self.len as usize];
        in_use.iter().map(|entry| (entry.hash, entry.occurrences))
    }

    /// The number of distinct hashes.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Bytes of memory in use and in reserve.
    pub(super) fn size(&self) -> usize {
        size_of::<u32>() * self.slots.capacity() + size_of::<Entry>() * self.entries.capacity()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the shift leaves fewer bits than there are slots"
    )]
    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        (hash.wrapping_mul(self.key) >> self.shift) as usize
    }

    /// # Panics
    /// If a text has 2^31 distinct features, more than entries can be numbered.
    #[cold]
    fn resize(&mut self, slots: usize) {
        assert!(u32::try_from(slots).is_ok(), "a text has fewer than 2^31 distinct features");
        self.shift = 64 - slots.trailing_zeros();
        self.slots.clear();
        self.slots.resize(slots, 0);
        self.entries.resize(slots / 2 + 1, Entry::default());
        for (number, entry) in (1..=self.len).zip(&self.entries) {
            let mut slot = self.first_slot(entry.hash);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number;
        }
    }
}

/// The weight of a feature: sixteen times `1 + ln occurrences`, rounded. 16 for one occurrence, 371 for 2^32.
///
/// Damped, because plain term frequency makes long texts similar that share only the frequent words of their language.
#[inline]
pub(super) fn weight(occurrences: u32) -> u32 {
    USUAL.get(occurrences as usize).copied().unwrap_or_else(|| damped(occurrences))
}

/// Computed in integers, because floating-point logarithms may differ between machines in the last digit.
#[expect(clippy::cast_possible_truncation, reason = "no weight is above 371")]
const fn damped(occurrences: u32) -> u32 {
    /// `ln 2`, times 2^64.
    const LN_2: u128 = 12_786_308_645_202_655_660;
    let whole = occurrences.ilog2();
    // The mantissa times 2^63. Each squaring yields one binary digit of the logarithm's fraction.
    let mut mantissa = (occurrences as u128) << (63 - whole);
    let mut log2 = whole as u128;
    let mut digits = 0;
    while digits < 40 {
        mantissa = (mantissa * mantissa) >> 63;
        let digit = mantissa >> 64;
        mantissa >>= digit;
        log2 = log2 << 1 | digit;
        digits += 1;
    }
    let ln = (log2 * LN_2) >> 40;
    // Times 16, rounded to the nearest integer.
    ((((1 << 64) + ln) * ONCE + (1 << 63)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_equal_those_of_a_hash_map(hashes in prop::collection::vec(prop_oneof![0..50u64, any::<u64>()], 0..6_000)) {
            let mut counts = Counts::default();
            counts.add(7);
            counts.clear();
            let mut expected = HashMap::new();
            for hash in hashes {
                counts.add(hash);
                *expected.entry(hash).or_insert(0) += 1;
            }
            prop_assert_eq!(counts.len() as usize, expected.len());
            prop_assert_eq!(counts.iter().collect::<HashMap<_, _>>(), expected);
        }
    }

    #[test]
    fn weights_are_rounded_logarithms() {
        for occurrences in (1..100_000).chain((100_000..=u32::MAX).step_by(9_973)) {
            let exact = 16.0 * (1.0 + f64::from(occurrences).ln());
            assert!((f64::from(weight(occurrences)) - exact).abs() <= 0.5, "{occurrences}");
        }
        assert_eq!([1, 2, 3, 10, u32::MAX].map(weight), [16, 27, 34, 53, 371]);
    }
}
