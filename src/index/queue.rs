//! The fingerprints of the window and their documents, in the order of arrival.
//!
//! Each entry keeps its place, its *slot*, as long as it is in the queue. Memory comes in stretches that are used again when all their
//! entries have left: neither growth nor rolling copies anything.

#![expect(clippy::cast_possible_truncation, reason = "slots are ordinals modulo 2^32")]

use std::{collections::VecDeque, io, ops::Range};

use super::memory::Region;
use crate::page::DocId;

/// The smallest and the largest stretch, as powers of two: a large stretch fills huge pages.
const STRETCH_BITS: Range<u32> = 6..20;

/// A queue of fingerprints with the ids of their documents.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// The stretches in use, oldest first.
    stretches: VecDeque<Region<Entry>>,
    spare: Vec<Region<Entry>>,
    stretch_bits: u32,
    /// The ordinals of the oldest entry and of the next.
    ordinals: Range<u64>,
}

/// A fingerprint and the id of its document.
pub(super) type Entry = [u64; 2];

impl Queue {
    /// An empty queue with room for `entries`.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn with_room(entries: u64) -> io::Result<Self> {
        let stretch_bits = (entries.max(1).ilog2()).clamp(STRETCH_BITS.start, STRETCH_BITS.end);
        // The oldest stretch and the newest are not full.
        let stretches = (entries >> stretch_bits) + 2;
        let spare =
            (0..stretches).map(|_| Region::new(1 << stretch_bits)).collect::<io::Result<_>>()?;
        Ok(Self { stretches: VecDeque::new(), spare, stretch_bits, ordinals: 0..0 })
    }

    /// Entries, those of removed documents among them.
    pub(super) fn len(&self) -> u64 {
        self.ordinals.end - self.ordinals.start
    }

    pub(super) fn ordinals(&self) -> Range<u64> {
        self.ordinals.clone()
    }

    /// Adds an entry and returns its slot.
    ///
    /// # Panics
    /// If it outgrows the planned room and the system refuses more.
    pub(super) fn push(&mut self, fingerprint: u64, id: DocId) -> u32 {
        let slot = Self::slot(self.ordinals.end);
        let (stretch, at) = self.place(slot);
        if stretch == self.stretches.len() {
            let len = 1 << self.stretch_bits;
            let new = || Region::new(len).expect("the system has memory for a longer window");
            self.stretches.push_back(self.spare.pop().unwrap_or_else(new));
        }
        self.ordinals.end += 1;
        assert!(self.len() < 1 << 32, "the index holds less than 2^32 entries");
        self.stretches[stretch][at] = [fingerprint, id.0];
        slot
    }

    /// Removes the oldest entry.
    pub(super) fn pop(&mut self) {
        self.ordinals.start += 1;
        if self.ordinals.start.is_multiple_of(1 << self.stretch_bits) {
            self.spare.extend(self.stretches.pop_front());
        }
    }

    /// The slot of the entry with this ordinal.
    #[inline]
    pub(super) fn slot(ordinal: u64) -> u32 {
        ordinal as u32
    }

    /// The stretch of a slot, and its place there.
    #[inline]
    fn place(&self, slot: u32) -> (usize, usize) {
        let start = self.ordinals.start;
        let in_stretch = (1 << self.stretch_bits) - 1;
        let place = u64::from(slot.wrapping_sub(start as u32)) + (start & in_stretch);
        ((place >> self.stretch_bits) as usize, (place & in_stretch) as usize)
    }

    #[inline]
    pub(super) fn fingerprint(&self, slot: u32) -> &u64 {
        let (stretch, at) = self.place(slot);
        &self.stretches[stretch][at][0]
    }

    pub(super) fn id(&self, slot: u32) -> DocId {
        let (stretch, at) = self.place(slot);
        DocId(self.stretches[stretch][at][1])
    }

    /// All entries in runs of neighbours: the slot of the first, and all of them.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u32, &[Entry])> {
        let Range { start, end } = self.ordinals;
        let len = 1 << self.stretch_bits;
        let first = start - start % len;
        self.stretches.iter().zip((first..).step_by(len as usize)).map(move |(stretch, from)| {
            let (run_start, run_end) = (start.max(from), end.min(from + len));
            let run = (run_start - from) as usize..(run_end - from) as usize;
            (Self::slot(run_start), &stretch[run])
        })
    }

    /// How many entries there is memory for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        (self.stretches.len() + self.spare.len()) << self.stretch_bits
    }
}
