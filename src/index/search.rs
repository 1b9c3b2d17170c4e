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
    blocks::{Blocks, Place},
    lanes::{Lanes, Work, prefetch},
    pages::{Bucket, Format, LINK, end_at},
};

/// Probes whose directory words are under way.
const AHEAD: usize = 32;
/// Lines whose homes are under way.
const LINES_AHEAD: usize = 96;
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

/// One bucket in which a query looks.
#[derive(Clone, Copy, Default)]
struct Probe {
    place: usize,
    query: u32,
    /// The part of the fingerprint with which entries are compared.
    rest: u32,
    /// The place of the table in the list of probes.
    step: u8,
    /// How many more bits may differ.
    allowed: u8,
    /// Lines of the bucket's home.
    lines: u16,
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
    query: u32,
    rest: u32,
    step: u8,
    allowed: u8,
}

/// An entry that may be what is asked for: where it lies, and once that has been read, its slot.
#[derive(Clone, Copy, Default)]
struct Hit {
    at: u32,
    lane: u8,
    step: u8,
    query: u32,
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
            let near = F::near(lanes, keys, probe.rest, u32::from(probe.allowed));
            if near != 0 && near & home.mask::<F>(line) != 0 {
                self.note(page, near & home.mask::<F>(line), probe.step, probe.query, hits);
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
        let Probe { query, rest, step, allowed, .. } = probe;
        let left = (bucket.first_at + bucket.len - 1) / F::LEN;
        let from_first = Self::ALL & (u32::MAX << bucket.first_at);
        let to_last = u32::MAX >> (u32::BITS - end_at::<F>(bucket));
        let mask = if left == 0 { from_first & to_last } else { to_last };
        let page = bucket.last;
        Some(Cursor { page, left, mask, next_mask: from_first, query, rest, step, allowed })
    }

    /// Compares a page, and goes on to the next if there is one.
    #[inline(always)]
    fn read<L: Lanes>(&mut self, lanes: L, cursor: &mut Cursor, hits: &mut Pending) -> bool {
        let keys = self.blocks.pages.keys(cursor.page);
        let near = F::near(lanes, keys, cursor.rest, u32::from(cursor.allowed)) & cursor.mask;
        if near != 0 {
            self.note(cursor.page, near, cursor.step, cursor.query, hits);
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
    fn note(&mut self, at: u32, mut near: u32, step: u8, query: u32, hits: &mut Pending) {
        prefetch(self.blocks.pages.slots(at));
        while near != 0 {
            if hits.paged.len == PENDING {
                self.confirm(hits);
            }
            let lane = near.trailing_zeros() as u8;
            near &= near - 1;
            hits.paged.push(Hit { at, lane, step, query });
        }
    }

    /// Confirms the entries whose fingerprints were asked for, and asks for those of the others.
    fn confirm(&mut self, hits: &mut Pending) {
        for hit in hits.placed.drain() {
            self.confirm_one(*hit);
        }
        for hit in hits.paged.drain() {
            let at = self.blocks.pages.slots(hit.at)[F::slot_at(u32::from(hit.lane))];
            prefetch(self.blocks.fingerprints.word(at));
            hits.placed.push(Hit { at, ..*hit });
        }
    }

    #[inline(always)]
    fn confirm_one(&mut self, hit: Hit) {
        let query = self.queries[hit.query as usize];
        let difference = self.blocks.fingerprints.word(hit.at) ^ query.fingerprint;
        let distance = difference.count_ones();
        if distance > query.radius {
            return;
        }
        // What several tables find is taken from the first of them only.
        let steps = &self.blocks.probes[query.radius as usize][..usize::from(hit.step)];
        let before = |&(table, radius): &(usize, u32)| {
            (difference & self.blocks.keys[table].mask).count_ones() <= radius
        };
        if !steps.iter().any(before) {
            self.found.push(Found { query: hit.query, slot: hit.at, distance });
        }
    }
}

/// The probes of all queries in turn; the directory's words of the next ones are asked for.
struct Probing<'a, F> {
    blocks: &'a Blocks<F>,
    queries: &'a [Query],
    query: usize,
    step: usize,
    patterns: &'a [u32],
    key: u32,
    table: Place,
    rest: u32,
    /// Probes that may be under way.
    reach: usize,
    ahead: [Probe; AHEAD],
    taken: usize,
    given: usize,
}

impl<'a, F: Format> Probing<'a, F> {
    #[inline(always)]
    fn new(blocks: &'a Blocks<F>, queries: &'a [Query]) -> Self {
        let ahead = [Probe::default(); AHEAD];
        let mut probing = Self {
            blocks,
            queries,
            query: 0,
            step: 0,
            patterns: &[],
            key: 0,
            table: Place::default(),
            reach: AHEAD,
            rest: 0,
            ahead,
            taken: 0,
            given: 0,
        };
        while probing.taken < probing.reach && probing.make() {}
        probing
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Probe> {
        if self.given == self.taken {
            return None;
        }
        let probe = self.ahead[self.given % AHEAD];
        self.given += 1;
        while self.taken - self.given < self.reach && self.make() {}
        Some(probe)
    }

    /// Adds a probe to those ahead.
    #[inline(always)]
    fn make(&mut self) -> bool {
        while self.patterns.is_empty() {
            if !self.next_table() {
                return false;
            }
        }
        let (&pattern, patterns) = self.patterns.split_first().expect("looked at before");
        self.patterns = patterns;
        let place = self.table.bucket(self.key ^ pattern);
        if self.table.lines == 0 {
            prefetch(self.blocks.directory.get(place));
        }
        for line in 0..self.table.lines {
            prefetch(self.blocks.pages.keys(place as u32 + line));
        }
        let allowed = self.queries[self.query].radius - pattern.count_ones();
        self.ahead[self.taken % AHEAD] = Probe {
            place,
            query: self.query as u32,
            rest: self.rest,
            step: (self.step - 1) as u8,
            allowed: allowed as u8,
            lines: self.table.lines as u16,
        };
        self.taken += 1;
        true
    }

    #[inline(always)]
    fn next_table(&mut self) -> bool {
        loop {
            let Some(query) = self.queries.get(self.query) else { return false };
            let Some(&(table, radius)) = self.blocks.probes[query.radius as usize].get(self.step)
            else {
                self.query += 1;
                self.step = 0;
                continue;
            };
            let key = &self.blocks.keys[table];
            self.step += 1;
            self.patterns = key.patterns(radius);
            self.key = key.place.of(query.fingerprint);
            self.rest = key.rest.of(query.fingerprint);
            self.table = self.blocks.tables[table];
            self.reach = (LINES_AHEAD / self.table.lines.max(1) as usize).clamp(2, AHEAD);
            return true;
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
