//! The tables of a layout, over a queue of fingerprints.

#![expect(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    reason = "it becomes part of a search that is compiled for each instruction set; lines have 32 bits"
)]

use std::io;

use super::{
    key::Key,
    lanes::{Level, prefetch},
    layout::Probes,
    pages::{Bucket, Format, Pages},
    plan::Plan,
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
    /// No bucket ever had more entries.
    pub(super) fullest: u32,
}

/// Where the buckets of a table are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The first bucket: in the directory, or the first line of its home.
    start: usize,
    /// Lines of each bucket's home; 0 if the directory leads to its pages.
    pub(super) lines: u32,
}

/// An entry of a table: its bucket, what it keeps of the fingerprint, and its place in the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filed {
    pub(super) key: u32,
    pub(super) rest: u32,
    pub(super) slot: u32,
}

impl Place {
    #[inline(always)]
    pub(super) fn bucket(self, key: u32) -> usize {
        self.start + key as usize * self.lines.max(1) as usize
    }
}

impl<F: Format> Blocks<F> {
    /// Empty tables, with room for what is planned.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(plan: &Plan) -> io::Result<Self> {
        let keys = plan.keys();
        assert!(keys.len() <= MAX_TABLES, "layouts have at most {MAX_TABLES} tables");
        let (mut words, mut reserved) = (0, 0);
        let mut table = |(key, lines): (&Key, u32)| {
            let buckets = 1_usize << key.bits();
            let (end, each) = if lines == 0 { (&mut words, 1) } else { (&mut reserved, lines) };
            let start = *end;
            *end += buckets * each as usize;
            Place { start, lines }
        };
        let tables = keys.iter().zip(plan.lines()).map(&mut table).collect();
        Ok(Self {
            fingerprints: Slots::with_room(plan.entries())?,
            keys,
            tables,
            directory: Slab::with_len(words)?,
            pages: Pages::new(reserved, plan.pages(), plan.slot_bits())?,
            probes: (0..=plan.layout().max_radius()).map(|radius| plan.probes(radius)).collect(),
            level: Level::best(),
            fullest: 0,
        })
    }

    pub(super) fn insert(&mut self, fingerprint: u64) -> u32 {
        let slot = self.take_slot(fingerprint);
        self.expect(fingerprint);
        for table in 0..self.tables.len() {
            let Key { place, rest, .. } = &self.keys[table];
            let (key, rest) = (place.of(fingerprint), rest.of(fingerprint));
            self.file(table, Filed { key, rest, slot });
        }
        slot
    }

    /// The place of a new fingerprint in the queue.
    pub(super) fn take_slot(&mut self, fingerprint: u64) -> u32 {
        let slot = self.fingerprints.push(fingerprint);
        if !self.pages.holds(slot) {
            self.pages.widen_slots();
        }
        slot
    }

    /// Adds an entry to its bucket of a table.
    #[inline]
    pub(super) fn file(&mut self, table: usize, entry: Filed) {
        let Filed { key, rest, slot } = entry;
        let place = self.tables[table];
        let bucket = place.bucket(key);
        let crowd = match place.lines {
            0 => self.pages.push(self.directory.get_mut(bucket), rest, slot),
            lines => self.pages.push_home(bucket as u32, lines, rest, slot),
        };
        self.fullest = self.fullest.max(crowd);
    }

    /// Asks for the bucket of a key.
    #[inline]
    pub(super) fn prefetch_bucket(&self, table: usize, key: u32) {
        let place = self.tables[table];
        let bucket = place.bucket(key);
        match place.lines {
            0 => prefetch(self.directory.get(bucket)),
            _ => self.pages.prefetch_keys(bucket as u32),
        }
    }

    /// Asks for the page to which the next entry of a key comes.
    #[inline]
    pub(super) fn prefetch_end(&self, table: usize, key: u32) {
        let place = self.tables[table];
        let bucket = place.bucket(key);
        self.pages.prefetch(match place.lines {
            0 => Bucket::unpack(*self.directory.get(bucket)).last,
            lines => self.pages.next_line(bucket as u32, lines),
        });
    }

    /// Asks for the buckets of a fingerprint.
    fn expect(&self, fingerprint: u64) {
        for (table, key) in self.keys.iter().enumerate() {
            self.prefetch_bucket(table, key.place.of(fingerprint));
        }
    }

    /// Lets go of the oldest fingerprint.
    pub(super) fn pop(&mut self) {
        let oldest = self.fingerprints.ordinals().start;
        let fingerprint = *self.fingerprints.word(self.fingerprints.slot(oldest));
        self.expect(fingerprint);
        for (table, key) in self.tables.iter().zip(&self.keys) {
            let bucket = table.bucket(key.place.of(fingerprint));
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
            self.expect(*self.fingerprints.word(self.fingerprints.slot(oldest + 4)));
        }
    }

    /// How many entries a bucket of a table has.
    pub(super) fn crowd(&self, table: usize, key: u32) -> u32 {
        let place = self.tables[table];
        let bucket = place.bucket(key);
        match place.lines {
            0 => Bucket::unpack(*self.directory.get(bucket)).len,
            lines => self.pages.crowd_at_home(bucket as u32, lines),
        }
    }

    /// How many entries share the fullest bucket of a fingerprint.
    pub(super) fn fullest_crowd(&self, fingerprint: u64) -> u32 {
        let crowds = self
            .keys
            .iter()
            .zip(0..)
            .map(|(key, table)| self.crowd(table, key.place.of(fingerprint)));
        crowds.max().unwrap_or(0)
    }

    /// How many entries share the bucket that is searched for fingerprints equal to this.
    pub(super) fn crowd_of_equals(&self, fingerprint: u64) -> u32 {
        let crowd =
            |&(table, _): &(usize, u32)| self.crowd(table, self.keys[table].place.of(fingerprint));
        self.probes[0].first().map_or(u32::MAX, crowd)
    }

    /// In how many buckets a query of some radius looks.
    pub(super) fn probe_count(&self, radius: u32) -> usize {
        let count = |&(table, radius): &(usize, u32)| self.keys[table].patterns(radius).len();
        self.probes[radius as usize].iter().map(count).sum()
    }
}
