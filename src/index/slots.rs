//! Places for the entries of a queue that never move.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "slots have 32 bits")]

use std::{collections::VecDeque, io};

use super::slab::Slab;

/// Entries of a stretch, the unit in which places are used again. (Few in the tests of this crate, which are to see that often;
/// not in those that measure.)
pub(super) const STRETCH: u64 = if cfg!(all(test, debug_assertions)) { 1 << 6 } else { 1 << 14 };

/// A queue of words by ordinal; each keeps its place, its *slot*, as long as it is in the queue.
///
/// Slots are given in stretches of 16,384, and a stretch is used again when all of its entries have left: memory is the most
/// that the queue ever held, rounded up to two stretches, and neither growth nor the way round copies anything.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    words: Slab<u64>,
    /// The ordinal of the oldest entry.
    first: u64,
    /// The ordinal of the next entry.
    next: u64,
    /// The stretches in use, oldest first.
    order: VecDeque<u32>,
    free: Vec<u32>,
}

impl Slots {
    /// An empty queue with room for so many entries.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn with_room(entries: u64) -> io::Result<Self> {
        // The oldest stretch and the newest are not full.
        let words = Slab::with_room(((entries.div_ceil(STRETCH) + 2) * STRETCH) as usize)?;
        Ok(Self { words, first: 0, next: 0, order: VecDeque::new(), free: Vec::new() })
    }

    pub(super) fn len(&self) -> u64 {
        self.next - self.first
    }

    /// The ordinals of the entries.
    pub(super) fn ordinals(&self) -> std::ops::Range<u64> {
        self.first..self.next
    }

    pub(super) fn push(&mut self, word: u64) -> u32 {
        if self.next.is_multiple_of(STRETCH) || self.order.is_empty() {
            self.begin_stretch();
        }
        let slot = self.slot(self.next);
        self.next += 1;
        *self.words.get_mut(slot as usize) = word;
        slot
    }

    fn begin_stretch(&mut self) {
        let stretch = self.free.pop().unwrap_or_else(|| {
            let stretch = u32::try_from(self.words.len() as u64 / STRETCH).ok();
            self.words.grow(STRETCH as usize);
            stretch
                .filter(|&n| u64::from(n) < (1 << 32) / STRETCH)
                .expect("the index holds at most 2^32 entries")
        });
        self.order.push_back(stretch);
    }

    /// Lets go of the oldest entry.
    pub(super) fn pop(&mut self) {
        debug_assert!(self.first < self.next);
        self.first += 1;
        if self.first.is_multiple_of(STRETCH) {
            self.free.extend(self.order.pop_front());
        }
    }

    #[inline]
    pub(super) fn slot(&self, ordinal: u64) -> u32 {
        let stretch = self.order[(ordinal / STRETCH - self.first / STRETCH) as usize];
        stretch * STRETCH as u32 + (ordinal % STRETCH) as u32
    }

    #[inline(always)]
    pub(super) fn word(&self, slot: u32) -> &u64 {
        self.words.get(slot as usize)
    }

    /// All entries in runs of neighbours: the slot of the first, and the words.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u32, &[u64])> {
        (self.first / STRETCH..self.next.div_ceil(STRETCH)).map(|turn| {
            let from = self.first.max(turn * STRETCH);
            let until = self.next.min((turn + 1) * STRETCH);
            let slot = self.slot(from);
            (slot, self.words.run(slot as usize, (until - from) as usize))
        })
    }

    /// For how many entries there are places.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.words.len()
    }
}
