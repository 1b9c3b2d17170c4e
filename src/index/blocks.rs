//! The tables of a layout, over a queue of fingerprints.

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
        let places = &places[..self.keys.len()];
        for &place in places {
            let bucket = Bucket::unpack(*self.directory.get(place));
            if bucket.len > 0 {
                self.prefetch_page(bucket.last);
            }
        }
        for (key, &place) in self.keys.iter().zip(places) {
            self.pages.push(self.directory.get_mut(place), key.rest.of(fingerprint), slot);
        }
        slot
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
            *place = start + key.key.of(fingerprint) as usize;
            prefetch(self.directory.get(*place));
        }
        places
    }

    /// How many entries share the bucket that is searched for equal fingerprints.
    pub(super) fn crowd(&self, fingerprint: u64) -> u32 {
        let Some(&(table, _)) = self.probes[0].first() else { return u32::MAX };
        let place = self.starts[table] + self.keys[table].key.of(fingerprint) as usize;
        Bucket::unpack(*self.directory.get(place)).len
    }

    /// Whether every bucket of a fingerprint has room for one more.
    pub(super) fn has_room(&self, fingerprint: u64) -> bool {
        let places = self.places(fingerprint);
        places[..self.keys.len()]
            .iter()
            .all(|&place| Bucket::unpack(*self.directory.get(place)).len < Bucket::MAX_LEN)
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
