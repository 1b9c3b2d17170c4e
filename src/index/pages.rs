//! Buckets as queues of pages: how entries lie in memory.
//!
//! A window rolls: what came first leaves first, in every bucket as in the whole. So what a bucket has beyond its home is a chain of
//! pages, a new entry goes behind the last, the one that leaves is the first, and nothing is searched or hashed
//! again. Pages come from one store for all tables and go back to it, so that a crowded bucket costs what it holds.
//!
//! A page's last word leads to the next page, the last page's to the first: one word tells where a chain is.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "a bucket's word is two of 32 bits")]

use std::io;

use super::{
    format::{Format, View},
    key::HALF,
    lanes::prefetch,
    slab::Slab,
};

/// Words of a cache line.
const LINE: usize = 16;
/// A cache line.
pub(super) type Line = [u32; LINE];

pub(super) const LINK: usize = 15;

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

#[inline(always)]
fn half(line: &Line, at: u32) -> u32 {
    line[at as usize / 2] >> (16 * (at % 2)) & 0xffff
}

#[inline(always)]
fn set_half(line: &mut Line, at: u32, half: u32) {
    let word = &mut line[at as usize / 2];
    let shift = 16 * (at % 2);
    *word = *word & !(0xffff << shift) | half << shift;
}

/// Where in its last page a bucket ends: one past the last entry.
#[inline(always)]
pub(super) fn end_at<F: Format>(bucket: Bucket) -> u32 {
    (bucket.first_at + bucket.len - 1) % F::LEN + 1
}

/// All pages of all tables.
///
/// Where slots are not apart, what a slot leaves of its 32 bits holds more of the fingerprint, beyond the first 16 bits: read only for those
/// that are near by these, it spares most looks at fingerprints that turn out to be far.
#[derive(Clone, Debug)]
pub(super) struct Pages<F> {
    keys: Slab<Line>,
    more: Slab<Line>,
    slots: Slab<Line>,
    /// The bits that a slot takes.
    slot_bits: u32,
    /// The first of the pages that are free, each of which leads to the next; a page leads to itself if there are no more.
    free: Option<u32>,
    format: std::marker::PhantomData<F>,
}

/// Lines of slots, where they are apart.
const SLOT_LINES: usize = 2;

impl<F: Format> Pages<F> {
    /// So many lines that are not given as pages, and room for as many as there are to be with the pages.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(reserved: usize, room: usize, slot_bits: u32) -> io::Result<Self> {
        let slab = |lines| {
            let mut slab = Slab::with_room(room * lines)?;
            slab.grow(reserved * lines);
            io::Result::Ok(slab)
        };
        let (more, slots) = if F::SPLIT { (1, SLOT_LINES) } else { (0, 0) };
        Ok(Self {
            keys: slab(1)?,
            more: slab(more)?,
            slots: slab(slots)?,
            slot_bits: if F::SPLIT { u32::BITS } else { slot_bits },
            free: None,
            format: std::marker::PhantomData,
        })
    }

    #[inline(always)]
    pub(super) fn view(&self) -> View<'_, F> {
        View::new(self.keys.planned(), self.more.planned(), self)
    }

    #[inline(always)]
    pub(super) fn keys(&self, page: u32) -> &Line {
        self.keys.get(page as usize)
    }

    #[inline(always)]
    pub(super) fn more(&self, page: u32) -> &Line {
        self.more.get(page as usize)
    }

    /// Where the slot of an entry is: the line, and the word.
    #[inline(always)]
    fn slot_place(page: u32, at: u32) -> (usize, usize) {
        let word = F::slot_at(at);
        if F::SPLIT {
            (page as usize * SLOT_LINES + word / LINE, word % LINE)
        } else {
            (page as usize, word)
        }
    }

    #[inline(always)]
    fn slot_line(&self, line: usize) -> &Line {
        if F::SPLIT { self.slots.get(line) } else { self.keys.get(line) }
    }

    /// Asks for the slot of an entry.
    #[inline(always)]
    pub(super) fn prefetch_slot(&self, page: u32, at: u32) {
        if F::SPLIT {
            prefetch(self.slot_line(Self::slot_place(page, at).0));
        }
    }

    /// Asks for what an entry keeps beyond its first bits.
    #[inline(always)]
    pub(super) fn prefetch_rest(&self, page: u32) {
        if F::SPLIT {
            prefetch(self.more(page));
        }
    }

    /// Asks for the first line of a page.
    #[inline(always)]
    pub(super) fn prefetch_keys(&self, page: u32) {
        prefetch(self.keys(page));
    }

    /// Asks for all of a page that may not be there.
    #[inline(always)]
    pub(super) fn prefetch(&self, page: u32) {
        if (page as usize) < self.keys.len() {
            self.view().prefetch(page, true);
            if F::SPLIT {
                self.prefetch_slot(page, 0);
                self.prefetch_slot(page, F::LEN - 1);
            }
        }
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
        set_half(self.keys.get_mut(page as usize), at, rest & low(HALF));
        if F::SPLIT {
            set_half(self.more.get_mut(page as usize), at, rest >> HALF);
        }
        let more = (rest >> HALF).unbounded_shl(self.slot_bits);
        *self.slot_mut(page, at) = more | slot;
    }

    #[inline(always)]
    fn slot_mut(&mut self, page: u32, at: u32) -> &mut u32 {
        let (line, word) = Self::slot_place(page, at);
        let slots = if F::SPLIT { &mut self.slots } else { &mut self.keys };
        &mut slots.get_mut(line)[word]
    }

    #[inline(always)]
    fn slot_word(&self, page: u32, at: u32) -> u32 {
        let (line, word) = Self::slot_place(page, at);
        self.slot_line(line)[word]
    }

    #[inline(always)]
    pub(super) fn slot(&self, page: u32, at: u32) -> u32 {
        self.slot_word(page, at) & low(self.slot_bits)
    }

    /// All that an entry keeps of the fingerprint.
    #[inline(always)]
    pub(super) fn rest(&self, page: u32, at: u32) -> u32 {
        let more = if F::SPLIT {
            half(self.more(page), at)
        } else {
            self.slot_word(page, at).unbounded_shr(self.slot_bits)
        };
        half(self.keys(page), at) | more << HALF
    }

    /// In how many of the bits that entries keep two parts of fingerprints differ.
    #[inline(always)]
    pub(super) fn distance(&self, a: u32, b: u32) -> u32 {
        let kept = if F::SPLIT { HALF } else { u32::BITS - self.slot_bits };
        ((a ^ b) & low(HALF + kept)).count_ones()
    }

    /// Makes room for slots of 32 bits: they leave nothing for more of the fingerprint from now on.
    pub(super) fn widen_slots(&mut self) {
        let mask = low(self.slot_bits);
        self.slot_bits = u32::BITS;
        for page in 0..self.keys.len() as u32 {
            (0..F::LEN).for_each(|at| *self.slot_mut(page, at) &= mask);
        }
    }

    /// Whether a slot has room.
    #[inline(always)]
    pub(super) fn holds(&self, slot: u32) -> bool {
        slot <= low(self.slot_bits)
    }

    /// The first entry of a bucket: what it keeps of the fingerprint, and its slot.
    pub(super) fn front(&self, word: u64) -> (u32, u32) {
        let bucket = Bucket::unpack(word);
        let one_page = bucket.first_at + bucket.len <= F::LEN;
        let page = if one_page { bucket.last } else { self.link(bucket.last) };
        (self.rest(page, bucket.first_at), self.slot(page, bucket.first_at))
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

    /// The two words behind the last slot of a page whose slots are apart.
    #[inline(always)]
    pub(super) fn spare(&self, page: u32) -> u64 {
        let line = self.slots.get(page as usize * SLOT_LINES + 1);
        u64::from(line[LINK]) << 32 | u64::from(line[LINK - 1])
    }

    pub(super) fn set_spare(&mut self, page: u32, word: u64) {
        let line = self.slots.get_mut(page as usize * SLOT_LINES + 1);
        (line[LINK], line[LINK - 1]) = ((word >> 32) as u32, word as u32);
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
            self.more.grow(1);
            self.slots.grow(SLOT_LINES);
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
