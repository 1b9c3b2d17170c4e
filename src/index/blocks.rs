//! The tables of a layout, over a queue of fingerprints.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
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
    /// Where in the directory the buckets of each table begin.
    pub(super) starts: Vec<usize>,
    pub(super) directory: Slab<u64>,
    pub(super) pages: Pages<F>,
    /// Where queries of each radius look.
    pub(super) probes: Vec<Probes>,
    pub(super) level: Level,
}

impl<F: Format> Blocks<F> {
    pub(super) fn new(keys: Vec<Key>, probes: Vec<Probes>) -> Self {
        assert!(keys.len() <= MAX_TABLES, "layouts have at most {MAX_TABLES} tables");
        let mut buckets = 0;
        let mut starts = Vec::new();
        for key in &keys {
            starts.push(buckets);
            buckets += 1_usize << key.bits();
        }
        Self {
            fingerprints: Slots::new(),
            keys,
            starts,
            directory: Slab::with_len(buckets),
            pages: Pages::new(),
            probes,
            level: Level::best(),
        }
    }

    pub(super) fn insert(&mut self, fingerprint: u64) -> u32 {
        let slot = self.fingerprints.push(fingerprint);
        let places = self.places(fingerprint);
        for (key, &place) in self.keys.iter().zip(&places) {
            self.pages.push(self.directory.get_mut(place), key.rest.of(fingerprint), slot);
        }
        slot
    }

    /// Asks for the buckets of what is to be inserted, and then for the pages to which it comes.
    pub(super) fn expect(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        for fingerprint in fingerprints.clone() {
            self.places(fingerprint);
        }
        for fingerprint in fingerprints {
            for place in self.places(fingerprint).into_iter().take(self.keys.len()) {
                let bucket = Bucket::unpack(*self.directory.get(place));
                if bucket.len > 0 {
                    self.prefetch_page(bucket.last);
                }
            }
        }
    }

    /// Lets go of the oldest fingerprint.
    pub(super) fn pop(&mut self) {
        let oldest = self.fingerprints.ordinals().start;
        let fingerprint = *self.fingerprints.word(self.fingerprints.slot(oldest));
        let places = self.places(fingerprint);
        for &place in &places[..self.keys.len()] {
            self.pages.pop(self.directory.get_mut(place));
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
            self.places(*self.fingerprints.word(self.fingerprints.slot(oldest + 4)));
        }
    }

    /// The buckets of a fingerprint, asked for.
    fn places(&self, fingerprint: u64) -> [usize; MAX_TABLES] {
        let mut places = [0; MAX_TABLES];
        for ((place, key), start) in places.iter_mut().zip(&self.keys).zip(&self.starts) {
            *place = start + key.place.of(fingerprint) as usize;
            prefetch(self.directory.get(*place));
        }
        places
    }

    /// How many entries share the fullest bucket of a fingerprint, and how many the one that is searched for equal ones.
    pub(super) fn crowds(&self, fingerprint: u64) -> (u32, u32) {
        let place =
            |table: usize| self.starts[table] + self.keys[table].place.of(fingerprint) as usize;
        let len = |table: usize| Bucket::unpack(*self.directory.get(place(table))).len;
        let fullest = (0..self.keys.len()).map(len).max().unwrap_or(0);
        let searched = self.probes[0].first().map_or(u32::MAX, |&(table, _)| len(table));
        (fullest, searched)
    }

    /// In how many buckets a query of some radius looks.
    pub(super) fn probe_count(&self, radius: u32) -> usize {
        let count = |&(table, radius): &(usize, u32)| self.keys[table].patterns(radius).len();
        self.probes[radius as usize].iter().map(count).sum()
    }

    #[inline(always)]
    pub(super) fn prefetch_page(&self, page: u32) {
        prefetch(self.pages.keys(page));
        if F::SPLIT {
            prefetch(self.pages.slots(page));
        }
    }
}
