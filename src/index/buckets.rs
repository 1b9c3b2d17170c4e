//! Buckets of entries: an inline part and an overflow chain.
//!
//! An entry has a tag (32 bits of the fingerprint) and a slot (its place in the queue). 28 of them share a page: the lower halves of the
//! tags on one line, the upper halves on another, the slots on two. Often the first line alone decides, and the others are not read.
//!
//! A bucket is a queue, like the whole window. Its *inline part* is a ring on a page of its own; what has no room there goes to a chain of
//! pages and moves to the inline part when older entries leave. So the inline part has the oldest entries, and nothing is searched, neither
//! to insert nor to expire.
//!
//! However unevenly buckets are filled, they take at most a page each and one for every 28 entries. The first and the last page of a chain
//! have 27 empty places together on average, and the inline part before them has none.

use std::io;

use super::{
    memory::{Region, touch},
    simd::{Line, TAGS, half, prefetch},
};

/// Entries of a page.
pub(super) const PAGE_ENTRIES: u32 = TAGS;
/// Bytes of a page.
pub(super) const PAGE_BYTES: u32 = 256;

/// The word of a page's first line that has the head of an inline part, or the next page of a chain.
pub(super) const LINK: usize = 15;
/// The word of an inline part's first line that has the last page of its chain.
pub(super) const LAST: usize = 14;
/// The word of an inline part's slots that has the length of its chain.
const CHAIN_LEN: usize = 31;

/// The smallest and the largest number of pages in a piece, as powers of two: the lines of a large piece fill huge pages.
const PIECE_BITS: std::ops::Range<u32> = 6..16;

/// The number of pages whose slots fill a huge page; their lines fill half of one.
const PER_HUGE_PAGE: u32 = 1 << 14;
/// The last huge page is taken this many pages before it is needed, each other as many pages earlier.
const TAKEN_AHEAD: u32 = 1 << 10;

/// A bucket, by the page of its inline part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket(pub(super) u32);

/// An entry: a page and the place there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) page: u32,
    pub(super) at: u32,
}

/// How an inline part is filled, a ring, and where on its pages a chain begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    first: u32,
    len: u32,
    /// The first entry on the first page of the chain.
    pub(super) chain_first: u32,
    /// One past the last entry on the last page of the chain: 0 if there is no chain.
    pub(super) chain_end: u32,
}

/// The bits of a place on a page.
const PLACE_BITS: u32 = 5;

impl Head {
    /// That of an inline part with this first line.
    #[inline]
    pub(super) fn of(first: &Line) -> Self {
        let word = first[LINK];
        let part = |nth: u32| word >> (nth * PLACE_BITS) & ((1 << PLACE_BITS) - 1);
        Self { first: part(0), len: part(1), chain_first: part(2), chain_end: part(3) }
    }

    fn pack(self) -> u32 {
        let parts = [self.chain_end, self.chain_first, self.len, self.first];
        parts.into_iter().fold(0, |word, part| word << PLACE_BITS | part)
    }

    #[inline]
    pub(super) fn has_chain(self) -> bool {
        self.chain_end != 0
    }

    /// The entries of the inline part: a bit each.
    #[inline]
    pub(super) fn mask(self) -> u32 {
        let end = self.first + self.len;
        span(self.first, end.min(PAGE_ENTRIES)) | span(0, end.saturating_sub(PAGE_ENTRIES))
    }
}

/// The bits from one place up to another.
#[inline]
pub(super) fn span(from: u32, to: u32) -> u32 {
    ((1 << to) - 1) & !((1 << from) - 1)
}

/// All pages of all tables.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pieces: Vec<Piece>,
    piece_bits: u32,
    /// Pages that inline parts have: the first.
    inline: u32,
    /// Pages that are or were in use.
    used: u32,
    /// The first page that is free again; it leads to the next, and the last to itself.
    free: Option<u32>,
}

/// Pages that were mapped together.
#[derive(Clone, Debug)]
struct Piece {
    /// The lower halves of tags, and the links between pages.
    low: Region<Line>,
    high: Region<Line>,
    slots: Region<[u32; 32]>,
}

impl Piece {
    fn new(bits: u32) -> io::Result<Self> {
        let len = 1 << bits;
        Ok(Self { low: Region::new(len)?, high: Region::new(len)?, slots: Region::new(len)? })
    }
}

impl Pages {
    /// `inline` pages for inline parts, and room for `planned` in all.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(inline: u32, planned: u32) -> io::Result<Self> {
        let planned = planned.max(inline).max(1);
        let piece_bits = planned.ilog2().clamp(PIECE_BITS.start, PIECE_BITS.end);
        let pieces = (0..planned.div_ceil(1 << piece_bits)).map(|_| Piece::new(piece_bits));
        let pieces = pieces.collect::<io::Result<_>>()?;
        Ok(Self { pieces, piece_bits, inline, used: inline, free: None })
    }

    /// Takes the `nth` huge page of the memory for inline parts and the first chains from the system. Returns whether there is such a page.
    pub(super) fn touch(&mut self, mut nth: usize) -> bool {
        let pieces = (self.inline >> self.piece_bits) as usize + 1;
        self.pieces.iter_mut().take(pieces).any(|Piece { low, high, slots }| {
            low.touch(&mut nth) || high.touch(&mut nth) || slots.touch(&mut nth)
        })
    }

    #[inline]
    fn piece(&self, page: u32) -> (&Piece, usize) {
        let in_piece = (1 << self.piece_bits) - 1;
        (&self.pieces[(page >> self.piece_bits) as usize], (page & in_piece) as usize)
    }

    #[inline]
    fn piece_mut(&mut self, page: u32) -> (&mut Piece, usize) {
        let in_piece = (1 << self.piece_bits) - 1;
        (&mut self.pieces[(page >> self.piece_bits) as usize], (page & in_piece) as usize)
    }

    /// The line with the lower halves of a page's tags.
    #[inline]
    pub(super) fn low(&self, page: u32) -> &Line {
        let (piece, at) = self.piece(page);
        &piece.low[at]
    }

    /// The line with the upper halves of a page's tags.
    #[inline]
    pub(super) fn high(&self, page: u32) -> &Line {
        let (piece, at) = self.piece(page);
        &piece.high[at]
    }

    #[inline]
    fn slots(&self, page: u32) -> &[u32; 32] {
        let (piece, at) = self.piece(page);
        &piece.slots[at]
    }

    #[inline]
    pub(super) fn tag(&self, Spot { page, at }: Spot) -> u32 {
        half(self.low(page), at) | half(self.high(page), at) << 16
    }

    /// The word of an entry's slot.
    #[inline]
    pub(super) fn slot(&self, Spot { page, at }: Spot) -> &u32 {
        &self.slots(page)[at as usize]
    }

    fn head(&self, bucket: Bucket) -> Head {
        Head::of(self.low(bucket.0))
    }

    /// The last page of a bucket's chain.
    fn last(&self, bucket: Bucket) -> u32 {
        self.low(bucket.0)[LAST]
    }

    /// The page of a chain after this one; after the last the first.
    fn next(&self, page: u32) -> u32 {
        self.low(page)[LINK]
    }

    /// How many entries a bucket has.
    pub(super) fn len(&self, bucket: Bucket) -> u32 {
        let head = self.head(bucket);
        head.len + if head.has_chain() { self.slots(bucket.0)[CHAIN_LEN] } else { 0 }
    }

    /// Requests the lines to which the next entry of a bucket goes.
    pub(super) fn prefetch_end(&self, bucket: Bucket) {
        let head = self.head(bucket);
        let spot = if head.has_chain() {
            Spot { page: self.last(bucket), at: head.chain_end.min(PAGE_ENTRIES - 1) }
        } else {
            inline_spot(bucket, head.first + head.len)
        };
        prefetch(self.low(spot.page));
        prefetch(self.high(spot.page));
        prefetch(self.slot(spot));
    }

    /// Adds an entry to a bucket.
    pub(super) fn push(&mut self, bucket: Bucket, tag: u32, slot: u32) {
        let mut head = self.head(bucket);
        if head.len < PAGE_ENTRIES {
            self.put(inline_spot(bucket, head.first + head.len), tag, slot);
            head.len += 1;
            return self.set_head(bucket, head);
        }
        let mut last = self.last(bucket);
        if head.chain_end == 0 || head.chain_end == PAGE_ENTRIES {
            let page = self.take();
            if head.chain_end == 0 {
                self.low_mut(page)[LINK] = page;
                *self.chain_len(bucket) = 0;
            } else {
                self.low_mut(page)[LINK] = self.next(last);
                self.low_mut(last)[LINK] = page;
            }
            last = page;
            head.chain_end = 0;
            self.low_mut(bucket.0)[LAST] = last;
        }
        self.put(Spot { page: last, at: head.chain_end }, tag, slot);
        head.chain_end += 1;
        *self.chain_len(bucket) += 1;
        self.set_head(bucket, head);
    }

    /// Removes the oldest entry of a bucket.
    pub(super) fn pop(&mut self, bucket: Bucket) {
        let mut head = self.head(bucket);
        let left = inline_spot(bucket, head.first);
        head.first = (head.first + 1) % PAGE_ENTRIES;
        if head.has_chain() {
            let last = self.last(bucket);
            let page = self.next(last);
            let oldest = Spot { page, at: head.chain_first };
            self.put(left, self.tag(oldest), *self.slot(oldest));
            head.chain_first += 1;
            let len = self.chain_len(bucket);
            *len -= 1;
            if *len == 0 {
                (head.chain_first, head.chain_end) = (0, 0);
                self.give_back(page);
            } else if head.chain_first == PAGE_ENTRIES {
                head.chain_first = 0;
                self.low_mut(last)[LINK] = self.next(page);
                self.give_back(page);
            }
        } else {
            head.len -= 1;
        }
        self.set_head(bucket, head);
    }

    fn put(&mut self, Spot { page, at }: Spot, tag: u32, slot: u32) {
        let (piece, place) = self.piece_mut(page);
        set_half(&mut piece.low[place], at, tag & 0xffff);
        set_half(&mut piece.high[place], at, tag >> 16);
        piece.slots[place][at as usize] = slot;
    }

    fn low_mut(&mut self, page: u32) -> &mut Line {
        let (piece, at) = self.piece_mut(page);
        &mut piece.low[at]
    }

    fn set_head(&mut self, bucket: Bucket, head: Head) {
        self.low_mut(bucket.0)[LINK] = head.pack();
    }

    fn chain_len(&mut self, bucket: Bucket) -> &mut u32 {
        let (piece, at) = self.piece_mut(bucket.0);
        &mut piece.slots[at][CHAIN_LEN]
    }

    /// A page for a chain.
    fn take(&mut self) -> u32 {
        if let Some(page) = self.free {
            let next = self.next(page);
            self.free = (next != page).then_some(next);
            return page;
        }
        if (self.used >> self.piece_bits) as usize == self.pieces.len() {
            let piece =
                Piece::new(self.piece_bits).expect("the system has memory for more entries");
            self.pieces.push(piece);
        }
        self.take_ahead();
        self.used += 1;
        self.used - 1
    }

    /// Takes the huge pages for the chains to come one at a time, before they are needed: each may take milliseconds.
    fn take_ahead(&mut self) {
        for part in 0..3 {
            let page = self.used + (part + 1) * TAKEN_AHEAD;
            let exists = ((page >> self.piece_bits) as usize) < self.pieces.len();
            if page.is_multiple_of(PER_HUGE_PAGE) && exists {
                let (piece, at) = self.piece_mut(page);
                match part {
                    0 => touch(&mut piece.low[at]),
                    1 => touch(&mut piece.high[at]),
                    _ => touch(&mut piece.slots[at]),
                }
            }
        }
    }

    fn give_back(&mut self, page: u32) {
        let next = self.free.replace(page).unwrap_or(page);
        self.low_mut(page)[LINK] = next;
    }

    /// How many pages are or were in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}

/// The entry at a place of an inline part, counted around the ring.
fn inline_spot(bucket: Bucket, place: u32) -> Spot {
    Spot { page: bucket.0, at: place % PAGE_ENTRIES }
}

fn set_half(line: &mut Line, at: u32, half: u32) {
    let word = &mut line[at as usize / 2];
    let shift = 16 * (at % 2);
    *word = *word & !(0xffff << shift) | half << shift;
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// All entries of a bucket, oldest first, by the way that a search goes.
    fn entries(pages: &Pages, bucket: Bucket) -> Vec<(u32, u32)> {
        let (head, mut spots) = (pages.head(bucket), Vec::new());
        let mut add = |page: u32, mask: u32| {
            spots.extend(
                (0..PAGE_ENTRIES).filter(|at| mask >> at & 1 == 1).map(|at| Spot { page, at }),
            );
        };
        add(bucket.0, head.mask());
        if head.has_chain() {
            let last = pages.last(bucket);
            let (mut page, first) = (pages.next(last), pages.next(last));
            loop {
                let from = if page == first { head.chain_first } else { 0 };
                let to = if page == last { head.chain_end } else { PAGE_ENTRIES };
                add(page, span(from, to));
                if page == last {
                    break;
                }
                page = pages.next(page);
            }
        }
        let mut found: Vec<_> =
            spots.into_iter().map(|spot| (pages.tag(spot), *pages.slot(spot))).collect();
        found.sort_unstable_by_key(|&(_, slot)| slot);
        found
    }

    proptest! {
        #[test]
        fn buckets_are_queues(steps in prop::collection::vec((0..3_u32, any::<bool>(), 0..300_u32), 0..40)) {
            let mut pages = Pages::new(3, 4).unwrap();
            let mut queues = [const { VecDeque::new() }; 3];
            let (mut next, mut most) = (0_u32, 0_u32);
            for (nth, grows, n) in steps {
                let bucket = Bucket(nth);
                let queue = &mut queues[nth as usize];
                for _ in 0..n {
                    if grows {
                        let tag = next.wrapping_mul(0x9e37_79b9);
                        pages.push(bucket, tag, next);
                        queue.push_back((tag, next));
                        next += 1;
                    } else if queue.pop_front().is_some() {
                        pages.pop(bucket);
                    }
                }
                prop_assert_eq!(pages.len(bucket) as usize, queue.len());
                prop_assert_eq!(entries(&pages, bucket), queue.iter().copied().collect::<Vec<_>>());
                most = most.max(queues.iter().map(|queue| u32::try_from(queue.len()).unwrap()).sum());
            }
            // At the beginning and at the end of each chain a page is partly empty; what was given back is used again.
            let needed = most / PAGE_ENTRIES;
            prop_assert!(pages.used() <= 3 + 3 * 2 + needed, "{} pages for {needed}", pages.used());
        }
    }
}
