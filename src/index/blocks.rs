//! The tables of a layout: what is filed where.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use std::io;

use super::{
    format::Format,
    gather::Gather,
    homes::{Bucket, Size},
    key::Key,
    pages::Pages,
    plan::Plan,
    runs::MAX_PAGES,
    shuffle::Shuffle,
    steps::Step,
};

/// More tables than any layout has.
pub(super) const MAX_TABLES: usize = 8;

/// Entries for fingerprints of a queue, in a bucket of each table.
#[derive(Clone, Debug)]
pub(super) struct Blocks<F> {
    /// How fingerprints are cut into keys, after their bits were put in another order.
    pub(super) keys: Vec<Key>,
    /// The same, for all of them at once.
    pub(super) keys_at_once: Gather,
    pub(super) rests_at_once: Gather,
    pub(super) shuffle: Shuffle,
    /// The places of bits in the keys, those first where one should tell much.
    places: Vec<u32>,
    pub(super) tables: Vec<Place>,
    pub(super) pages: Pages<F>,
    /// Where queries of each radius look, and in how many buckets.
    pub(super) steps: Vec<Vec<Step>>,
    pub(super) probes: Vec<usize>,
    /// For how many entries it was made.
    pub(super) made_for: u64,
    /// No bucket ever had more entries.
    pub(super) fullest: u32,
}

/// Where the buckets of a table are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The first page of the first home.
    start: u32,
    /// The home of each bucket.
    pub(super) home: Size,
}

/// An entry of a table: its bucket, what it keeps of the fingerprint, and its place in the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filed {
    pub(super) key: u32,
    pub(super) rest: u32,
    pub(super) slot: u32,
}

impl Place {
    /// The first page of the home of a key's bucket.
    #[inline(always)]
    pub(super) fn start(self, key: u32) -> u32 {
        self.start + key * self.home.pages
    }

    /// A key's bucket.
    #[inline(always)]
    pub(super) fn bucket(self, key: u32) -> Bucket {
        Bucket { start: self.start(key), home: self.home }
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
        let homes = plan.homes();
        let pages = |(key, home): (&Key, &Size)| u64::from(home.pages) << key.bits();
        let reserved: u64 = keys.iter().zip(&homes).map(pages).sum();
        let reserved = usize::try_from(reserved).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if plan.pages().max(reserved) > MAX_PAGES as usize {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (mut start, mut tables) = (0, Vec::new());
        for (key, &home) in keys.iter().zip(&homes) {
            tables.push(Place { start, home });
            start += home.pages << key.bits();
        }
        let radii = 0..=plan.layout().max_radius();
        let steps: Vec<Vec<Step>> = radii.map(|radius| plan.steps(radius)).collect();
        let buckets = |step: &Step| keys[step.table].patterns(step.distance).len();
        Ok(Self {
            probes: steps.iter().map(|steps| steps.iter().map(buckets).sum()).collect(),
            steps,
            tables,
            pages: Pages::new(reserved, plan.pages(), plan.slot_bits())?,
            shuffle: Shuffle::none(),
            places: plan.layout().places(&plan.within()),
            made_for: plan.entries(),
            fullest: 0,
            keys_at_once: Gather::new(keys.iter().map(|key| &key.place)),
            rests_at_once: Gather::new(keys.iter().map(|key| &key.rest)),
            keys,
        })
    }

    /// Makes the keys of those bits that tell most about fingerprints like these. There is no entry yet.
    pub(super) fn learn(&mut self, fingerprints: impl Iterator<Item = u64>) {
        debug_assert_eq!(self.fullest, 0, "entries stay where they are");
        self.shuffle = Shuffle::telling(fingerprints, &self.places);
    }

    /// Makes entries for a fingerprint in this slot.
    pub(super) fn insert(&mut self, fingerprint: u64, slot: u32) {
        self.expect(fingerprint);
        let fingerprint = self.shuffle.of(fingerprint);
        self.make_room_for(slot);
        let mut filed = [Filed::default(); MAX_TABLES];
        for (table, (filed, Key { place, rest, .. })) in
            filed.iter_mut().zip(&self.keys).enumerate()
        {
            *filed = Filed { key: place.of(fingerprint), rest: rest.of(fingerprint), slot };
            self.prefetch_end(table, filed.key);
        }
        for (table, filed) in filed.into_iter().enumerate().take(self.tables.len()) {
            self.file(table, filed);
        }
    }

    /// Sees to it that entries have room for a slot.
    pub(super) fn make_room_for(&mut self, slot: u32) {
        if self.pages.holds(slot) {
            return;
        }
        let tables = self.keys.iter().zip(&self.tables);
        let homes = tables.clone().map(|(key, table)| table.home.pages << key.bits()).sum();
        let buckets =
            tables.flat_map(|(key, &table)| (0..1 << key.bits()).map(move |key| table.bucket(key)));
        let spots = buckets
            .flat_map(|bucket| (0..bucket.home.room).map(move |place| F::at_home(bucket, place)));
        self.pages.widen_slots(spots, homes);
    }

    /// Adds an entry to its bucket of a table.
    #[inline]
    pub(super) fn file(&mut self, table: usize, entry: Filed) {
        let Filed { key, rest, slot } = entry;
        let place = self.tables[table];
        let bucket = place.bucket(key);
        let crowd = self.pages.push_home(bucket, rest, slot);
        self.fullest = self.fullest.max(crowd);
    }

    /// Asks for the bucket of a key.
    #[inline]
    pub(super) fn prefetch_bucket(&self, table: usize, key: u32) {
        self.pages.prefetch_keys(self.tables[table].start(key));
    }

    /// Asks for the lines to which the next entry of a key comes.
    #[inline]
    pub(super) fn prefetch_end(&self, table: usize, key: u32) {
        let place = self.tables[table];
        self.pages.prefetch(self.pages.next_spot(place.bucket(key)));
    }

    /// Asks for the buckets of a fingerprint.
    pub(super) fn expect(&self, fingerprint: u64) {
        let fingerprint = self.shuffle.of(fingerprint);
        for (table, key) in self.keys.iter().enumerate() {
            self.prefetch_bucket(table, key.place.of(fingerprint));
        }
    }

    /// Lets go of the entries of the oldest fingerprint.
    pub(super) fn pop(&mut self, fingerprint: u64) {
        self.expect(fingerprint);
        let fingerprint = self.shuffle.of(fingerprint);
        for (key, table) in self.keys.iter().zip(&self.tables) {
            self.pages.pop_home(table.bucket(key.place.of(fingerprint)));
        }
    }

    /// How many entries a bucket of a table has.
    pub(super) fn crowd(&self, table: usize, key: u32) -> u32 {
        let place = self.tables[table];
        self.pages.crowd_at_home(place.bucket(key))
    }

    /// How many entries share the fullest bucket of a fingerprint.
    pub(super) fn fullest_crowd(&self, fingerprint: u64) -> u32 {
        let fingerprint = self.shuffle.of(fingerprint);
        let crowds = self
            .keys
            .iter()
            .zip(0..)
            .map(|(key, table)| self.crowd(table, key.place.of(fingerprint)));
        crowds.max().unwrap_or(0)
    }

    /// How many entries may be equal to this: those of the bucket that is searched for them.
    pub(super) fn crowd_of_equals(&self, fingerprint: u64) -> u32 {
        let fingerprint = self.shuffle.of(fingerprint);
        let crowd =
            |step: &Step| self.crowd(step.table, self.keys[step.table].place.of(fingerprint));
        self.steps[0].first().map_or(u32::MAX, crowd)
    }
}
