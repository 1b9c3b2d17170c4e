//! The tables of a layout, over a queue of fingerprints.

#![expect(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    reason = "it becomes part of a search that is compiled for each instruction set; lines have 32 bits"
)]

use super::{
    key::Key,
    lanes::{Level, prefetch},
    layout::Probes,
    pages::{Bucket, Format, Pages},
    slab::Slab,
    slots::Slots,
};

/// More tables than any layout has.
pub(super) const MAX_TABLES: usize = 8;

/// Every fingerprint of a queue, in a bucket of each table.
#[derive(Clone, Debug)]
pub(super) struct Blocks<F> {
    pub(super) fingerprints: Slots,
    pub(super) keys: Vec<Key>,
    pub(super) tables: Vec<Place>,
    pub(super) directory: Slab<u64>,
    pub(super) pages: Pages<F>,
    /// Where queries of each radius look.
    pub(super) probes: Vec<Probes>,
    pub(super) level: Level,
}

/// Where the buckets of a table are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The first bucket: in the directory, or the first line of its home.
    start: usize,
    /// Lines of each bucket's home; 0 if the directory leads to its pages.
    pub(super) lines: u32,
}

impl Place {
    #[inline(always)]
    pub(super) fn bucket(self, key: u32) -> usize {
        self.start + key as usize * self.lines.max(1) as usize
    }
}

impl<F: Format> Blocks<F> {
    /// `lines` are those of each table's homes, `slot_bits` the bits that a slot is expected to take.
    pub(super) fn new(
        keys: Vec<Key>,
        lines: Vec<u32>,
        probes: Vec<Probes>,
        slot_bits: u32,
    ) -> Self {
        assert!(keys.len() <= MAX_TABLES, "layouts have at most {MAX_TABLES} tables");
        let (mut words, mut reserved) = (0, 0);
        let mut table = |(key, lines): (&Key, u32)| {
            let buckets = 1_usize << key.bits();
            let (end, each) = if lines == 0 { (&mut words, 1) } else { (&mut reserved, lines) };
            let start = *end;
            *end += buckets * each as usize;
            Place { start, lines }
        };
        let tables = keys.iter().zip(lines).map(&mut table).collect();
        Self {
            fingerprints: Slots::new(),
            keys,
            tables,
            directory: Slab::with_len(words),
            pages: Pages::new(reserved, slot_bits),
            probes,
            level: Level::best(),
        }
    }

    pub(super) fn insert(&mut self, fingerprint: u64) -> u32 {
        let slot = self.fingerprints.push(fingerprint);
        if !self.pages.holds(slot) {
            self.pages.widen_slots();
        }
        let buckets = self.buckets(fingerprint);
        for ((key, table), &bucket) in self.keys.iter().zip(&self.tables).zip(&buckets) {
            let rest = key.rest.of(fingerprint);
            match table.lines {
                0 => self.pages.push(self.directory.get_mut(bucket), rest, slot),
                lines => self.pages.push_home(bucket as u32, lines, rest, slot),
            }
        }
        slot
    }

    /// Asks for the buckets of what is to be inserted, and then for the pages to which it comes.
    pub(super) fn expect(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        for fingerprint in fingerprints.clone() {
            self.buckets(fingerprint);
        }
        for fingerprint in fingerprints {
            for (table, bucket) in self.tables.iter().zip(self.buckets(fingerprint)) {
                let page = match table.lines {
                    0 => Bucket::unpack(*self.directory.get(bucket)).last,
                    lines => self.pages.next_line(bucket as u32, lines),
                };
                self.pages.prefetch(page);
            }
        }
    }

    /// Lets go of the oldest fingerprint.
    pub(super) fn pop(&mut self) {
        let oldest = self.fingerprints.ordinals().start;
        let fingerprint = *self.fingerprints.word(self.fingerprints.slot(oldest));
        for (table, bucket) in self.tables.iter().zip(self.buckets(fingerprint)) {
            match table.lines {
                0 => self.pages.pop(self.directory.get_mut(bucket)),
                lines => self.pages.pop_home(bucket as u32, lines),
            }
        }
        self.fingerprints.pop();
        self.look_ahead(oldest);
    }

    /// Asks for the buckets of what leaves soon.
    fn look_ahead(&self, oldest: u64) {
        let ordinals = self.fingerprints.ordinals();
        if ordinals.contains(&(oldest + 8)) {
            prefetch(self.fingerprints.word(self.fingerprints.slot(oldest + 8)));
        }
        if ordinals.contains(&(oldest + 4)) {
            self.buckets(*self.fingerprints.word(self.fingerprints.slot(oldest + 4)));
        }
    }

    /// The buckets of a fingerprint, asked for.
    fn buckets(&self, fingerprint: u64) -> [usize; MAX_TABLES] {
        let mut buckets = [0; MAX_TABLES];
        for ((bucket, key), table) in buckets.iter_mut().zip(&self.keys).zip(&self.tables) {
            *bucket = table.bucket(key.place.of(fingerprint));
            if table.lines == 0 {
                prefetch(self.directory.get(*bucket));
            } else {
                self.pages.prefetch(*bucket as u32);
            }
        }
        buckets
    }

    /// How many entries share the fullest bucket of a fingerprint, and how many the one that is searched for equal ones.
    pub(super) fn crowds(&self, fingerprint: u64) -> (u32, u32) {
        let crowd = |table: usize| {
            let place = self.tables[table];
            let bucket = place.bucket(self.keys[table].place.of(fingerprint));
            match place.lines {
                0 => Bucket::unpack(*self.directory.get(bucket)).len,
                lines => self.pages.crowd_at_home(bucket as u32, lines),
            }
        };
        let fullest = (0..self.keys.len()).map(crowd).max().unwrap_or(0);
        let searched = self.probes[0].first().map_or(u32::MAX, |&(table, _)| crowd(table));
        (fullest, searched)
    }

    /// In how many buckets a query of some radius looks.
    pub(super) fn probe_count(&self, radius: u32) -> usize {
        let count = |&(table, radius): &(usize, u32)| self.keys[table].patterns(radius).len();
        self.probes[radius as usize].iter().map(count).sum()
    }
}
