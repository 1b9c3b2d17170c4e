//! Buckets as queues of pages: how entries lie in memory.
//!
//! A window rolls: what came first leaves first, in every bucket as in the whole. So a bucket is a chain of pages of a cache
//! line, a new entry goes behind the last, the one that leaves is the first, and nothing is searched, moved or hashed
//! again. Pages come from one store for all tables and go back to it, so that a crowded bucket costs what it holds.
//!
//! A page's last word leads to the next page, the last page's to the first: the directory needs one place to know both.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "a bucket's word is two of 32 bits")]

use std::io;

use super::{
    lanes::{Lanes, prefetch},
    slab::Slab,
};

/// A cache line.
pub(super) type Line = [u32; 16];

pub(super) const LINK: usize = 15;

/// How the entries of a page are laid out.
pub(super) trait Format {
    /// Entries of a page.
    const LEN: u32;
    /// Bits of the fingerprint in an entry.
    const REST: u32;
    /// Whether slots lie on a line of their own.
    const SPLIT: bool;

    fn put(keys: &mut Line, at: u32, rest: u32);
    /// The part of the fingerprint in an entry.
    fn rest(keys: &Line, at: u32) -> u32;
    /// Where on its line the slot of an entry lies.
    fn slot_at(at: u32) -> usize;
    /// Which entries are within `radius` of `rest`: a bit each; those of entries that are none may be set.
    fn near<L: Lanes>(lanes: L, keys: &Line, rest: u32, radius: u32) -> u32;
}

/// Ten entries on a line: 16 bits and the slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow;

/// Fifteen entries on two lines: 32 bits each on the first, the slots on the second, which only a hit reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide;

impl Format for Narrow {
    const LEN: u32 = 10;
    const REST: u32 = 16;
    const SPLIT: bool = false;

    #[inline(always)]
    fn put(keys: &mut Line, at: u32, rest: u32) {
        let word = &mut keys[at as usize / 2];
        let shift = 16 * (at % 2);
        *word = *word & !(0xffff << shift) | rest << shift;
    }

    fn rest(keys: &Line, at: u32) -> u32 {
        keys[at as usize / 2] >> (16 * (at % 2)) & 0xffff
    }

    #[inline(always)]
    fn slot_at(at: u32) -> usize {
        at as usize + 5
    }

    #[inline(always)]
    fn near<L: Lanes>(lanes: L, keys: &Line, rest: u32, radius: u32) -> u32 {
        lanes.near_halves(keys, rest, radius)
    }
}

impl Format for Wide {
    const LEN: u32 = 15;
    const REST: u32 = 32;
    const SPLIT: bool = true;

    #[inline(always)]
    fn put(keys: &mut Line, at: u32, rest: u32) {
        keys[at as usize] = rest;
    }

    fn rest(keys: &Line, at: u32) -> u32 {
        keys[at as usize]
    }

    #[inline(always)]
    fn slot_at(at: u32) -> usize {
        at as usize
    }

    #[inline(always)]
    fn near<L: Lanes>(lanes: L, keys: &Line, rest: u32, radius: u32) -> u32 {
        lanes.near_words(keys, rest, radius)
    }
}

/// Where the queue of a bucket lies: its last page, how many entries it has and where on the first page they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) last: u32,
    pub(super) first_at: u32,
    pub(super) len: u32,
}

const LEN_BITS: u32 = 27;

impl Bucket {
    /// As many entries as one bucket can have.
    pub(super) const MAX_LEN: u32 = (1 << LEN_BITS) - 1;

    #[inline(always)]
    pub(super) fn unpack(word: u64) -> Self {
        let low = word as u32;
        Self { last: (word >> 32) as u32, first_at: low >> LEN_BITS, len: low & Self::MAX_LEN }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        u64::from(self.last) << 32 | u64::from(self.first_at << LEN_BITS | self.len)
    }
}

/// The lowest `n` bits.
#[inline(always)]
fn low(n: u32) -> u32 {
    u32::MAX.unbounded_shr(u32::BITS - n)
}

/// Where in its last page a bucket ends: one past the last entry.
#[inline(always)]
pub(super) fn end_at<F: Format>(bucket: Bucket) -> u32 {
    (bucket.first_at + bucket.len - 1) % F::LEN + 1
}

/// All pages of all tables.
///
/// What a slot leaves of its 32 bits holds more of the fingerprint, where an entry has less than 32 bits of it: read only for
/// those that are near by the first 16, it spares most looks at fingerprints that turn out to be far.
#[derive(Clone, Debug)]
pub(super) struct Pages<F> {
    keys: Slab<Line>,
    slots: Slab<Line>,
    /// The bits that a slot takes.
    slot_bits: u32,
    /// The first of the pages that are free, each of which leads to the next; a page leads to itself if there are no more.
    free: Option<u32>,
    format: std::marker::PhantomData<F>,
}

impl<F: Format> Pages<F> {
    /// So many lines that are not given as pages, and room for as many as there are to be with the pages.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(reserved: usize, room: usize, slot_bits: u32) -> io::Result<Self> {
        let mut keys = Slab::with_room(room)?;
        keys.grow(reserved);
        let slots = if F::SPLIT {
            let mut slots = Slab::with_room(room)?;
            slots.grow(reserved);
            slots
        } else {
            Slab::new()
        };
        Ok(Self { keys, slots, slot_bits, free: None, format: std::marker::PhantomData })
    }

    #[inline(always)]
    pub(super) fn keys(&self, page: u32) -> &Line {
        self.keys.get(page as usize)
    }

    #[inline(always)]
    pub(super) fn slots(&self, page: u32) -> &Line {
        if F::SPLIT { self.slots.get(page as usize) } else { self.keys(page) }
    }

    /// Asks for a page that may not be there.
    #[inline(always)]
    pub(super) fn prefetch(&self, page: u32) {
        if (page as usize) < self.keys.len() {
            prefetch(self.keys(page));
            if F::SPLIT {
                prefetch(self.slots(page));
            }
        }
    }

    /// Asks for a line of entries' keys.
    #[inline(always)]
    pub(super) fn prefetch_keys(&self, page: u32) {
        prefetch(self.keys(page));
    }

    #[inline(always)]
    pub(super) fn link(&self, page: u32) -> u32 {
        self.keys(page)[LINK]
    }

    /// Adds an entry to a bucket, and says how many there are now.
    pub(super) fn push(&mut self, word: &mut u64, rest: u32, slot: u32) -> u32 {
        let mut bucket = Bucket::unpack(*word);
        let at = (bucket.first_at + bucket.len) % F::LEN;
        if bucket.len == 0 {
            bucket.last = self.take();
            self.keys.get_mut(bucket.last as usize)[LINK] = bucket.last;
        } else if at == 0 {
            let page = self.take();
            let first = self.link(bucket.last);
            self.keys.get_mut(page as usize)[LINK] = first;
            self.keys.get_mut(bucket.last as usize)[LINK] = page;
            bucket.last = page;
        }
        bucket.len += 1;
        *word = bucket.pack();
        self.put(bucket.last, at, rest, slot);
        bucket.len
    }

    /// Writes an entry.
    pub(super) fn put(&mut self, page: u32, at: u32, rest: u32, slot: u32) {
        F::put(self.keys.get_mut(page as usize), at, rest & low(F::REST));
        let more = rest.unbounded_shr(F::REST).unbounded_shl(self.slot_bits);
        let slots = if F::SPLIT { &mut self.slots } else { &mut self.keys };
        slots.get_mut(page as usize)[F::slot_at(at)] = more | slot;
    }

    /// What an entry has of the fingerprint, and the slot.
    #[inline(always)]
    pub(super) fn entry(&self, page: u32, at: u32) -> (u32, u32) {
        let word = self.slots(page)[F::slot_at(at)];
        let more = word.unbounded_shr(self.slot_bits).unbounded_shl(F::REST);
        (more | F::rest(self.keys(page), at), word & low(self.slot_bits))
    }

    /// In how many of the bits that entries have two parts of fingerprints differ.
    #[inline(always)]
    pub(super) fn distance(&self, a: u32, b: u32) -> u32 {
        ((a ^ b) & low(F::REST + u32::BITS - self.slot_bits)).count_ones()
    }

    /// Makes room for slots of 32 bits: entries have less of the fingerprint from now on.
    pub(super) fn widen_slots(&mut self) {
        let mask = low(self.slot_bits);
        self.slot_bits = u32::BITS;
        for page in 0..self.keys.len() {
            let line = if F::SPLIT { self.slots.get_mut(page) } else { self.keys.get_mut(page) };
            (0..F::LEN).for_each(|at| line[F::slot_at(at)] &= mask);
        }
    }

    /// Whether a slot has room.
    #[inline(always)]
    pub(super) fn holds(&self, slot: u32) -> bool {
        slot <= low(self.slot_bits)
    }

    /// The first entry of a bucket.
    pub(super) fn front(&self, word: u64) -> (u32, u32) {
        let bucket = Bucket::unpack(word);
        let one_page = bucket.first_at + bucket.len <= F::LEN;
        let page = if one_page { bucket.last } else { self.link(bucket.last) };
        self.entry(page, bucket.first_at)
    }

    /// Lets go of a bucket's first entry.
    pub(super) fn pop(&mut self, word: &mut u64) {
        let mut bucket = Bucket::unpack(*word);
        bucket.first_at += 1;
        bucket.len -= 1;
        if bucket.len == 0 {
            self.give_back(bucket.last);
            bucket = Bucket::default();
        } else if bucket.first_at == F::LEN {
            let first = self.link(bucket.last);
            self.keys.get_mut(bucket.last as usize)[LINK] = self.link(first);
            self.give_back(first);
            bucket.first_at = 0;
        }
        *word = bucket.pack();
    }

    pub(super) fn set_link(&mut self, page: u32, link: u32) {
        self.keys.get_mut(page as usize)[LINK] = link;
    }

    fn take(&mut self) -> u32 {
        if let Some(page) = self.free {
            let next = self.link(page);
            self.free = (next != page).then_some(next);
            return page;
        }
        let page = u32::try_from(self.keys.len()).expect("the index has at most 2^32 pages");
        self.keys.grow(1);
        if F::SPLIT {
            self.slots.grow(1);
        }
        page
    }

    fn give_back(&mut self, page: u32) {
        self.keys.get_mut(page as usize)[LINK] = self.free.unwrap_or(page);
        self.free = Some(page);
    }

    /// How many pages there are, free ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}
