//! The tables: each files every fingerprint in a bucket by its *key*: a group of bits that no other table's key uses.
//!
//! A permuted fingerprint is cut into one key after the other. The tag of an entry is what follows the key, around the end of the word; its lower
//! half has only bits of the next key, or bits that belong to no key, as [`probes`](super::probes) requires.

#![expect(clippy::cast_possible_truncation, reason = "keys and tags have at most 32 bits")]

use std::{io, ops::Range};

use super::{
    buckets::{Bucket, Pages},
    probes::{MAX_PROBE, Permutation, Probe, places, probes, radii},
    queue::Queue,
    simd::prefetch,
};

/// In bulk, a bucket is requested this many entries ahead, and the lines to which an entry goes half this many.
const AHEAD: usize = 16;

/// Entries for the fingerprints of a queue, one in each table.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) permutation: Permutation,
    /// The places of bits, those first that should get the most informative bits.
    places: Vec<u32>,
    pub(super) list: Vec<Table>,
    pub(super) pages: Pages,
    /// The probes of queries within each radius.
    probes: Vec<Vec<Probe>>,
    /// For how many entries they were made.
    pub(super) made_for: u64,
}

/// What is the same for all buckets of a table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The bits of the key, from `shift` on.
    bits: u32,
    shift: u32,
    /// The bits of a tag that are used.
    tag_mask: u32,
    /// The page of the first bucket.
    start: u32,
    /// All differences of two keys, the lightest first, and how many of them have at most 0, 1, 2 and 3 bits.
    differences: Vec<u32>,
    within: Vec<usize>,
}

impl Table {
    #[inline]
    pub(super) fn key(&self, permuted: u64) -> u32 {
        (permuted >> self.shift) as u32 & (u32::MAX >> (u32::BITS - self.bits))
    }

    #[inline]
    pub(super) fn tag(&self, permuted: u64) -> u32 {
        permuted.rotate_right(self.shift + self.bits) as u32 & self.tag_mask
    }

    #[inline]
    pub(super) fn bucket(&self, key: u32) -> Bucket {
        Bucket(self.start + key)
    }

    /// In how many bits of the key two permuted fingerprints differ.
    pub(super) fn distance(&self, difference: u64) -> u32 {
        self.key(difference).count_ones()
    }

    /// How the keys at a distance differ from a key.
    pub(super) fn differences(&self, distance: u32) -> &[u32] {
        let nearer = distance.checked_sub(1).map_or(0, |nearer| self.within[nearer as usize]);
        &self.differences[nearer..self.within[distance as usize]]
    }
}

impl Tables {
    /// Empty tables for queries within `radius`, made for `entries`, with room for `pages`. `keys` has the number of bits of each key.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(keys: &[u32], radius: u32, entries: u64, pages: u64) -> io::Result<Self> {
        let fits = |pages: u64| u32::try_from(pages).map_err(|_| io::ErrorKind::OutOfMemory);
        let (mut first_page, mut shift, mut tables) = (0, 0, Vec::new());
        for (nth, &bits) in keys.iter().enumerate() {
            let (differences, within) = differences(bits);
            let tag_mask = 0xffff_0000 | ((1 << near_bits(keys, nth).min(16)) - 1);
            let start = fits(first_page)?;
            tables.push(Table { bits, shift, tag_mask, start, differences, within });
            first_page += 1_u64 << bits;
            shift += bits;
        }
        let places = places(keys, &radii(keys, radius));
        Ok(Self {
            permutation: Permutation::informative_first(std::iter::empty(), &places),
            places,
            list: tables,
            pages: Pages::new(fits(first_page)?, fits(pages)?)?,
            probes: (0..=radius).map(|radius| probes(radius, &radii(keys, radius))).collect(),
            made_for: entries,
        })
    }

    /// Makes the keys of the bits that are the most informative about these fingerprints. There is no entry yet.
    pub(super) fn select_bits(&mut self, fingerprints: impl Iterator<Item = u64>) {
        self.permutation = Permutation::informative_first(fingerprints, &self.places);
    }

    /// The probes of a query within a radius.
    #[inline]
    pub(super) fn probes(&self, radius: u32) -> &[Probe] {
        &self.probes[radius as usize]
    }

    /// How many buckets a query within a radius reads.
    pub(super) fn buckets_read(&self, radius: u32) -> u64 {
        let buckets =
            |probe: &Probe| self.list[probe.table].differences(probe.distance).len() as u64;
        self.probes(radius).iter().map(buckets).sum()
    }

    /// Adds entries for a fingerprint.
    pub(super) fn insert(&mut self, fingerprint: u64, slot: u32) {
        self.prefetch(fingerprint);
        let permuted = self.permutation.apply(fingerprint);
        for table in &self.list {
            self.pages.prefetch_end(table.bucket(table.key(permuted)));
        }
        for table in &self.list {
            self.pages.push(table.bucket(table.key(permuted)), table.tag(permuted), slot);
        }
    }

    /// Removes the entries of the oldest fingerprint.
    pub(super) fn pop(&mut self, fingerprint: u64) {
        self.prefetch(fingerprint);
        let permuted = self.permutation.apply(fingerprint);
        for table in &self.list {
            self.pages.pop(table.bucket(table.key(permuted)));
        }
    }

    /// Requests the buckets of a fingerprint.
    pub(super) fn prefetch(&self, fingerprint: u64) {
        let permuted = self.permutation.apply(fingerprint);
        for table in &self.list {
            prefetch(self.pages.low(table.bucket(table.key(permuted)).0));
        }
    }

    /// Adds entries for all that the queue has between these ordinals, table by table and sorted by bucket: that goes through each table once,
    /// from one end to the other, where one after the other each entry waits for a random place.
    pub(super) fn insert_all(&mut self, queue: &Queue, ordinals: Range<u64>) {
        let start = Queue::slot(ordinals.start);
        let fingerprints = ordinals.map(|ordinal| *queue.fingerprint(Queue::slot(ordinal)));
        let permuted: Vec<u64> = fingerprints.map(|word| self.permutation.apply(word)).collect();
        for table in &self.list {
            let order = by_key(table, &permuted);
            for (nth, &entry) in order.iter().enumerate() {
                if let Some(&later) = order.get(nth + AHEAD) {
                    prefetch(self.pages.low(table.bucket((later >> 32) as u32).0));
                    prefetch(&permuted[later as u32 as usize]);
                }
                if let Some(&soon) = order.get(nth + AHEAD / 2) {
                    self.pages.prefetch_end(table.bucket((soon >> 32) as u32));
                }
                let (key, place) = ((entry >> 32) as u32, entry as u32);
                let tag = table.tag(permuted[place as usize]);
                self.pages.push(table.bucket(key), tag, start.wrapping_add(place));
            }
        }
    }

    /// The number of entries in each bucket of a fingerprint.
    fn bucket_lens(&self, fingerprint: u64) -> impl Iterator<Item = u32> {
        let permuted = self.permutation.apply(fingerprint);
        self.list.iter().map(move |table| self.pages.len(table.bucket(table.key(permuted))))
    }

    /// An upper bound of the entries that are equal to a fingerprint: those of its emptiest bucket.
    pub(super) fn most_equals(&self, fingerprint: u64) -> u32 {
        self.bucket_lens(fingerprint).min().unwrap_or(0)
    }

    /// How many entries share the fullest bucket of a fingerprint.
    pub(super) fn fullest_bucket(&self, fingerprint: u64) -> u32 {
        self.bucket_lens(fingerprint).max().unwrap_or(0)
    }

    /// Those of these fingerprints with which a bucket would have more than `limit` entries if all were inserted: their places, those
    /// that are equal in order.
    pub(super) fn overfull(&self, fingerprints: impl Iterator<Item = u64>, limit: u32) -> Vec<u32> {
        let permuted: Vec<u64> = fingerprints.map(|word| self.permutation.apply(word)).collect();
        let table = &self.list[0];
        let order = by_key(table, &permuted);
        let is_overfull = |bucket: &&[u64]| {
            let len = self.pages.len(table.bucket((bucket[0] >> 32) as u32));
            len as usize + bucket.len() > limit as usize
        };
        let buckets = order.chunk_by(|a, b| a >> 32 == b >> 32).filter(is_overfull);
        buckets.flatten().map(|&entry| entry as u32).collect()
    }
}

/// The keys of permuted fingerprints, each with its place in the list below it, sorted.
fn by_key(table: &Table, permuted: &[u64]) -> Vec<u64> {
    let keys = permuted.iter().map(|&permuted| u64::from(table.key(permuted)) << 32);
    let mut order: Vec<u64> = keys.zip(0..).map(|(key, place)| key | place).collect();
    order.sort_unstable();
    order
}

/// How many bits behind a key belong to the next key or to none.
fn near_bits(keys: &[u32], nth: usize) -> u32 {
    let next = (nth + 1) % keys.len();
    // The bits of no key follow the last key.
    let free = if nth + 2 >= keys.len() { u64::BITS - keys.iter().sum::<u32>() } else { 0 };
    free + if next == nth { 0 } else { keys[next] }
}

/// All words of `bits` bits, the lightest first, and how many have at most 0, 1, ... bits set, up to [`MAX_PROBE`].
fn differences(bits: u32) -> (Vec<u32>, Vec<usize>) {
    let (mut words, mut within) = (vec![0_u32], vec![1]);
    for _ in 0..MAX_PROBE {
        // Each gets one more bit, higher than all it has.
        let lighter = words[within.len().checked_sub(2).map_or(0, |last| within[last])..].to_vec();
        for word in lighter {
            let above = u32::BITS - word.leading_zeros();
            words.extend((above..bits).map(|bit| word | 1 << bit));
        }
        // In growing order: neighbours lie close together in memory.
        let heavier = within.last().copied().unwrap_or(0);
        words[heavier..].sort_unstable();
        within.push(words.len());
    }
    (words, within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_all_words_of_a_weight() {
        let tables = Tables::new(&[10, 8], 7, 1000, 0).unwrap();
        for distance in 0..=MAX_PROBE {
            let mut found = tables.list[0].differences(distance).to_vec();
            found.sort_unstable();
            let all = (0..1024).filter(|word: &u32| word.count_ones() == distance);
            assert_eq!(found, all.collect::<Vec<_>>());
        }
    }

    #[test]
    fn tags_share_no_bit_with_the_key_and_half_of_them_is_near() {
        for keys in [&[16, 16, 16, 16][..], &[20, 20, 19], &[9, 4, 7], &[5, 4], &[30]] {
            let tables = Tables::new(keys, 0, 1000, 0).unwrap().list;
            for (nth, table) in tables.iter().enumerate() {
                let next = &tables[(nth + 1) % tables.len()];
                for bit in 0..64 {
                    let bit = 1_u64 << bit;
                    let (key, tag) = (table.key(bit), table.tag(bit));
                    assert!(key.count_ones() + tag.count_ones() <= 1);
                    let is_free = tables.iter().all(|table| table.key(bit) == 0);
                    assert!(
                        tag.trailing_zeros() >= 16 || next.key(bit) != 0 || is_free,
                        "{keys:?} {nth}"
                    );
                }
                assert_eq!(table.key(u64::MAX).count_ones(), keys[nth]);
                assert!(table.tag(u64::MAX) >> 16 == 0xffff);
            }
        }
    }
}
