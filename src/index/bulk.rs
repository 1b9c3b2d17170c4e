//! Many entries at once, table by table.
//!
//! One after the other, each entry goes to a random place of every table and waits there for memory. Sorted by bucket they go through a
//! table from its beginning to its end, and what shares a bucket comes together.

use super::{
    blocks::{Blocks, Filed},
    format::Format,
    key::Key,
    steps::Step,
};

/// So far ahead a bucket is asked for, and half as far the lines to which an entry comes.
const AHEAD: usize = 16;

/// Memory that is used again for the next entries.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    pub(super) slots: Vec<u32>,
    pub(super) entries: Sorter<Filed>,
    places: Sorter<(u32, u32)>,
}

impl Bulk {
    /// As many entries are taken at once: so many that in a large window some share a bucket, and few beside all that the window has.
    pub(super) fn at_once(entries: u64) -> usize {
        (entries / 16).clamp(1 << 12, 1 << 20) as usize
    }
}

impl<F: Format> Blocks<F> {
    /// Makes entries for fingerprints in these slots, in order.
    pub(super) fn insert_all(
        &mut self,
        fingerprints: &(impl Iterator<Item = u64> + Clone),
        slots: &[u32],
        entries: &mut Sorter<Filed>,
    ) {
        self.make_room_for(slots.iter().copied().max().unwrap_or(0));
        for table in 0..self.tables.len() {
            let key @ Key { place, rest, .. } = &self.keys[table];
            let shuffled = fingerprints.clone().map(|fingerprint| self.shuffle.of(fingerprint));
            let all = shuffled.zip(slots).map(|(fingerprint, &slot)| Filed {
                key: place.of(fingerprint),
                rest: rest.of(fingerprint),
                slot,
            });
            let sorted = entries.sort(all, key.bits(), |entry| entry.key);
            for (at, entry) in sorted.iter().enumerate() {
                if let Some(later) = sorted.get(at + AHEAD) {
                    self.prefetch_bucket(table, later.key);
                }
                if let Some(soon) = sorted.get(at + AHEAD / 2) {
                    self.prefetch_end(table, soon.key);
                }
                self.file(table, *entry);
            }
        }
    }

    /// The places in the list of those that may be too many of one value: of the ones with which the bucket that is searched for equal
    /// fingerprints will have more than `limit` entries. All that are equal to one of these are among them, in order.
    pub(super) fn crowded(
        &self,
        fingerprints: impl Iterator<Item = u64>,
        limit: u32,
        bulk: &mut Bulk,
    ) -> Vec<u32> {
        let Some(&Step { table, .. }) = self.steps[0].first() else {
            return fingerprints.zip(0..).map(|(_, place)| place).collect();
        };
        let key = &self.keys[table];
        let keys = fingerprints.map(|fingerprint| key.place.of(self.shuffle.of(fingerprint)));
        let all = keys.zip(0..);
        let sorted = bulk.places.sort(all, key.bits(), |&(key, _)| key);
        let buckets = || sorted.chunk_by(|(a, _), (b, _)| a == b);
        let most = buckets().map(<[_]>::len).max().unwrap_or(0);
        if self.fullest as usize + most <= limit as usize {
            return Vec::new();
        }
        let mut ahead = sorted.iter().skip(AHEAD);
        let mut is_crowded = |bucket: &&[(u32, u32)]| {
            for &(later, _) in ahead.by_ref().take(bucket.len()) {
                self.prefetch_bucket(table, later);
            }
            self.crowd(table, bucket[0].0) as usize + bucket.len() > limit as usize
        };
        buckets().filter(|bucket| is_crowded(bucket)).flatten().map(|&(_, place)| place).collect()
    }
}

/// Sorts by a key of few bits, and leaves those with equal keys in order.
#[derive(Debug, Default)]
pub(super) struct Sorter<T> {
    items: Vec<T>,
    spare: Vec<T>,
}

/// Bits of a key that are sorted by at a time: the ends of so many heaps stay in the nearest caches.
const DIGIT: u32 = 11;

impl<T: Copy + Default> Sorter<T> {
    /// By digits from the least to the most significant: Knuth, The Art of Computer Programming 3, section 5.2.5.
    fn sort(&mut self, items: impl Iterator<Item = T>, bits: u32, key: impl Fn(&T) -> u32) -> &[T] {
        self.items.clear();
        self.items.extend(items);
        self.spare.resize(self.items.len(), T::default());
        for shift in (0..bits).step_by(DIGIT as usize) {
            let digit = |item: &T| (key(item) >> shift) as usize % (1 << DIGIT);
            let mut starts = [0_u32; 1 << DIGIT];
            self.items.iter().for_each(|item| starts[digit(item)] += 1);
            let mut sum = 0;
            for start in &mut starts {
                sum += std::mem::replace(start, sum);
            }
            for item in &self.items {
                let start = &mut starts[digit(item)];
                self.spare[*start as usize] = *item;
                *start += 1;
            }
            std::mem::swap(&mut self.items, &mut self.spare);
        }
        &self.items
    }
}
