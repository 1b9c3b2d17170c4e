//! Term frequencies: how often each feature's hash occurs in a text.

use std::hash::{BuildHasher, RandomState};

/// Room for this many slots at the start, so that most pages never grow the table.
const FIRST_SLOTS: usize = 1 << 12;

/// An open-addressing table over hashes, emptied and used again for each text.
///
/// Entries lie densely in the order of first occurrence; a slot holds the number of its entry, from 1. Where a hash
/// begins to look for its slot depends on a random key, so that nobody who knows the seed can write a text that collides.
#[derive(Debug)]
pub(super) struct Counts {
    slots: Vec<u32>,
    /// One more than half of the slots, of which the first `len` are in use.
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
    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.resize(FIRST_SLOTS);
    }

    /// Counts one occurrence and returns the feature's number in the order of first occurrence.
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a branch on each would often be guessed wrong"
    )]
    #[inline]
    pub(super) fn add(&mut self, hash: u64) -> usize {
        let mut slot = self.first_slot(hash);
        loop {
            // Whether a feature is new is anybody's guess, and so no branch depends on it: a new one is an entry like a known
            // one, the first that is not in use yet.
            let number = self.slots[slot];
            let new = u32::from(number == 0);
            let place = (number + new * (self.len + 1) - 1) as usize;
            let entry = &mut self.entries[place];
            if (new == 0) & (entry.hash != hash) {
                slot = (slot + 1) & (self.slots.len() - 1);
                continue;
            }
            let before = entry.occurrences * (1 - new);
            *entry = Entry { hash, occurrences: before.saturating_add(1) };
            self.len += new;
            self.slots[slot] = number + new * self.len;
            if self.len as usize * 2 > self.slots.len() {
                self.resize(self.slots.len() * 2);
            }
            return place;
        }
    }

    /// Each distinct hash and how often it occurred.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.in_use().map(|entry| (entry.hash, entry.occurrences))
    }

    /// How many distinct hashes there are.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// How many bytes of memory are kept.
    pub(super) fn size(&self) -> usize {
        size_of::<u32>() * self.slots.capacity() + size_of::<Entry>() * self.entries.capacity()
    }

    fn in_use(&self) -> impl Iterator<Item = &Entry> {
        self.entries[..self.len as usize].iter()
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
    /// If a text has 2^31 distinct features: entries would have no number.
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
