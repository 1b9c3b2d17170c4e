//! Term frequencies: how often each feature's hash occurs in a text.

use std::hash::{BuildHasher, RandomState};

/// Room for this many slots at the start, so that most pages never grow the table.
const FIRST_SLOTS: usize = 1 << 12;

/// An open-addressing table over hashes, emptied and used again for each text.
///
/// Hashes and their occurrences lie densely in the order of first occurrence; a slot holds an index into them plus one. Where a hash
/// begins to look for its slot depends on a random key, so that nobody who knows the seed can write a text that collides.
#[derive(Debug)]
pub(super) struct Counts {
    slots: Vec<u32>,
    hashes: Vec<u64>,
    occurrences: Vec<u32>,
    key: u64,
    shift: u32,
}

impl Default for Counts {
    fn default() -> Self {
        let key = RandomState::new().hash_one(0) | 1;
        let mut counts =
            Self { slots: Vec::new(), hashes: Vec::new(), occurrences: Vec::new(), key, shift: 0 };
        counts.clear();
        counts
    }
}

impl Counts {
    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.occurrences.clear();
        self.resize(FIRST_SLOTS);
    }

    /// Counts one occurrence and returns the feature's number in the order of first occurrence.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) -> usize {
        let mut slot = self.first_slot(hash);
        loop {
            match self.slots[slot] {
                0 => return self.insert(slot, hash),
                filled => {
                    let index = filled as usize - 1;
                    if self.hashes[index] == hash {
                        self.occurrences[index] = self.occurrences[index].saturating_add(1);
                        return index;
                    }
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Each distinct hash and how often it occurred.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.hashes.iter().copied().zip(self.occurrences.iter().copied())
    }

    /// How many distinct hashes there are.
    pub(super) fn len(&self) -> u32 {
        self.hashes.len().try_into().unwrap_or(u32::MAX)
    }

    /// How many bytes of memory are kept.
    pub(super) fn size(&self) -> usize {
        4 * self.slots.capacity() + 8 * self.hashes.capacity() + 4 * self.occurrences.capacity()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the shift leaves fewer bits than there are slots"
    )]
    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        (hash.wrapping_mul(self.key) >> self.shift) as usize
    }

    #[inline]
    fn insert(&mut self, slot: usize, hash: u64) -> usize {
        self.hashes.push(hash);
        self.occurrences.push(1);
        self.slots[slot] =
            u32::try_from(self.hashes.len()).expect("a text has fewer than 2^32 distinct features");
        if self.hashes.len() * 2 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
        self.hashes.len() - 1
    }

    #[cold]
    fn resize(&mut self, slots: usize) {
        self.shift = 64 - slots.trailing_zeros();
        self.slots.clear();
        self.slots.resize(slots, 0);
        for (number, &hash) in (1..).zip(&self.hashes) {
            let mut slot = self.first_slot(hash);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number;
        }
    }
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
}
