//! Looking in the buckets: many at once, because each look waits for memory.
//!
//! A query knows from the start where it has to look. So the directory's words are asked for some probes ahead, the first page of a
//! bucket when its word has come, the next page while others are compared, and what the tables found is confirmed by the
//! whole fingerprint a round later. Several queries are one longer list of probes.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "queries, tables and radii are few")]

use super::{
    blocks::Blocks,
    lanes::{Lanes, Work, prefetch},
    pages::{Bucket, Format, LINK, end_at},
    probing::{Probe, Probing, Sought},
};

/// Buckets read at a time.
const ABREAST: usize = 64;
/// Entries that wait to be confirmed.
const PENDING: usize = 64;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    pub(super) fingerprint: u64,
    pub(super) radius: u32,
}

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The place of the query among those asked.
    pub(super) query: u32,
    pub(super) slot: u32,
    pub(super) distance: u32,
}

/// A bucket that is being read.
#[derive(Clone, Copy, Default)]
struct Cursor {
    page: u32,
    /// Pages after this one.
    left: u32,
    /// The entries of this page, a bit each.
    mask: u32,
    /// Those of the next page.
    next_mask: u32,
    sought: Sought,
}

/// An entry that may be what is asked for: where it lies, and once that has been read, its slot.
#[derive(Clone, Copy, Default)]
struct Hit {
    at: u32,
    lane: u8,
    sought: Sought,
}

/// Looks for the neighbours of several fingerprints.
pub(super) struct Search<'a, F> {
    pub(super) blocks: &'a Blocks<F>,
    pub(super) queries: &'a [Query],
    pub(super) found: &'a mut Vec<Found>,
}

impl<F: Format> Work for Search<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let mut probes = Probing::new(self.blocks, self.queries);
        let mut cursors = [Cursor::default(); ABREAST];
        let mut abreast = 0;
        let mut hits = Pending { paged: List::default(), placed: List::default() };
        loop {
            while abreast < ABREAST
                && let Some(probe) = probes.next()
            {
                if let Some(cursor) = self.open(lanes, probe, &mut hits) {
                    cursors[abreast] = cursor;
                    abreast += 1;
                }
            }
            if abreast == 0 {
                break;
            }
            let mut kept = 0;
            for place in 0..abreast {
                let mut cursor = cursors[place];
                if self.read(lanes, &mut cursor, &mut hits) {
                    cursors[kept] = cursor;
                    kept += 1;
                }
            }
            abreast = kept;
            self.confirm(&mut hits);
        }
        self.confirm(&mut hits);
        self.confirm(&mut hits);
    }
}

impl<F: Format> Search<'_, F> {
    const ALL: u32 = (1 << F::LEN) - 1;

    /// Begins to read a bucket; what lies in its home is read at once. Nothing is left to be read of most.
    #[inline(always)]
    fn open<L: Lanes>(&mut self, lanes: L, probe: Probe, hits: &mut Pending) -> Option<Cursor> {
        let height = u32::from(probe.lines);
        if height == 0 {
            return self.follow(probe, *self.blocks.directory.get(probe.place));
        }
        let start = probe.place as u32;
        let home = self.blocks.pages.home(start, height);
        for line in 0..height {
            let page = start + line;
            let keys = self.blocks.pages.keys(page);
            let near = F::near(lanes, keys, probe.sought.rest, u32::from(probe.sought.allowed));
            if near != 0 && near & home.mask::<F>(line) != 0 {
                self.note(page, near & home.mask::<F>(line), probe.sought, hits);
            }
        }
        if home.is_full() { self.follow(probe, self.blocks.pages.overflow(start)) } else { None }
    }

    /// Begins to read a chain of pages, unless it is empty.
    #[inline(always)]
    fn follow(&self, probe: Probe, word: u64) -> Option<Cursor> {
        let bucket = Bucket::unpack(word);
        if bucket.len == 0 {
            return None;
        }
        prefetch(self.blocks.pages.keys(bucket.last));
        let left = (bucket.first_at + bucket.len - 1) / F::LEN;
        let from_first = Self::ALL & (u32::MAX << bucket.first_at);
        let to_last = u32::MAX >> (u32::BITS - end_at::<F>(bucket));
        let mask = if left == 0 { from_first & to_last } else { to_last };
        let page = bucket.last;
        Some(Cursor { page, left, mask, next_mask: from_first, sought: probe.sought })
    }

    /// Compares a page, and goes on to the next if there is one.
    #[inline(always)]
    fn read<L: Lanes>(&mut self, lanes: L, cursor: &mut Cursor, hits: &mut Pending) -> bool {
        let keys = self.blocks.pages.keys(cursor.page);
        let Sought { rest, allowed, .. } = cursor.sought;
        let near = F::near(lanes, keys, rest, u32::from(allowed)) & cursor.mask;
        if near != 0 {
            self.note(cursor.page, near, cursor.sought, hits);
        }
        if cursor.left == 0 {
            return false;
        }
        cursor.page = keys[LINK];
        prefetch(self.blocks.pages.keys(cursor.page));
        cursor.mask = std::mem::replace(&mut cursor.next_mask, Self::ALL);
        cursor.left -= 1;
        true
    }

    #[inline(never)]
    fn note(&mut self, at: u32, mut near: u32, sought: Sought, hits: &mut Pending) {
        prefetch(self.blocks.pages.slots(at));
        while near != 0 {
            if hits.paged.len == PENDING {
                self.confirm(hits);
            }
            let lane = near.trailing_zeros() as u8;
            near &= near - 1;
            hits.paged.push(Hit { at, lane, sought });
        }
    }

    /// Confirms the entries whose fingerprints were asked for, and asks for those of the others.
    fn confirm(&mut self, hits: &mut Pending) {
        for hit in hits.placed.drain() {
            self.confirm_one(*hit);
        }
        for hit in hits.paged.drain() {
            let Sought { rest, allowed, .. } = hit.sought;
            let (other, slot) = self.blocks.pages.entry(hit.at, u32::from(hit.lane));
            if self.blocks.pages.distance(other, rest) <= u32::from(allowed) {
                prefetch(self.blocks.fingerprints.word(slot));
                hits.placed.push(Hit { at: slot, ..*hit });
            }
        }
    }

    #[inline(always)]
    fn confirm_one(&mut self, hit: Hit) {
        let query = self.queries[hit.sought.query as usize];
        let difference = self.blocks.fingerprints.word(hit.at) ^ query.fingerprint;
        let distance = difference.count_ones();
        if distance > query.radius {
            return;
        }
        // What several tables find is taken from the first of them only.
        let steps = &self.blocks.probes[query.radius as usize][..usize::from(hit.sought.step)];
        let before = |&(table, radius): &(usize, u32)| {
            (difference & self.blocks.keys[table].mask).count_ones() <= radius
        };
        if !steps.iter().any(before) {
            self.found.push(Found { query: hit.sought.query, slot: hit.at, distance });
        }
    }
}

struct Pending {
    paged: List,
    placed: List,
}

struct List {
    hits: [Hit; PENDING],
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { hits: [Hit::default(); PENDING], len: 0 }
    }
}

impl List {
    fn push(&mut self, hit: Hit) {
        self.hits[self.len] = hit;
        self.len += 1;
    }

    fn drain(&mut self) -> &[Hit] {
        let len = std::mem::take(&mut self.len);
        &self.hits[..len]
    }
}

/// Compares a fingerprint with all of them.
pub(super) struct Scanning<'a, F> {
    pub(super) blocks: &'a Blocks<F>,
    pub(super) query: Query,
    /// As which query it is to be reported.
    pub(super) number: u32,
    pub(super) found: &'a mut Vec<Found>,
}

impl<F: Format> Work for Scanning<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Query { fingerprint, radius } = self.query;
        for (start, words) in self.blocks.fingerprints.runs() {
            let (eights, rest) = words.as_chunks::<8>();
            let mut report = |offset: usize, word: u64| {
                let distance = (word ^ fingerprint).count_ones();
                if distance <= radius {
                    self.found.push(Found {
                        query: self.number,
                        slot: start + offset as u32,
                        distance,
                    });
                }
            };
            for (i, eight) in eights.iter().enumerate() {
                if lanes.near_fingerprints(eight, fingerprint, radius) != 0 {
                    for (j, &word) in eight.iter().enumerate() {
                        report(8 * i + j, word);
                    }
                }
            }
            for (j, &word) in rest.iter().enumerate() {
                report(8 * eights.len() + j, word);
            }
        }
    }
}
