//! Finds earlier pages that share a passage with a new one: an index of bottom-k sketches.
//!
//! A page is entered under the [`KEYS`] smallest hashes of its passages (Broder, "On the resemblance and containment of documents", 1997).
//! Two pages that share an article share some of these keys, however much else they show. One equal key makes a candidate.
//!
//! The table consists of buckets of [`SLOTS`] entries, two buckets a page, and grows by one bucket at a time (linear hashing: Litwin,
//! VLDB 1980): a page that enters waits for the entries of two buckets to be moved.
//!
//! A full bucket drops its oldest entry. Nothing needs to be removed: the oldest entries are those that leave the window first, and the
//! filter passes over pages that have left it. A key of [`COMMON`] pages is a text of vendors or templates: it finds no candidates, and at
//! most [`COMMON`] of its entries are kept. A table that is made anew holds no pages that have left the window, and may have dropped other
//! entries than one that grew with its window. So in rare cases it finds other candidates.

use crate::page::DocId;

/// The number of keys of its body text under which a page is entered, and of its other prose.
const KEYS: usize = 12;
/// The number of keys by which earlier pages are searched.
const ASKED: usize = 256;
/// Buckets that are allocated together.
const BLOCK: usize = 512;
/// Entries of a bucket.
const SLOTS: usize = 16;
/// Buckets for each page of the window.
const BUCKETS_PER_PAGE: usize = 2;
/// What a page of the window takes.
pub(crate) const BYTES_PER_PAGE: u64 = (BUCKETS_PER_PAGE * size_of::<Bucket>()) as u64;
/// A key that at least this many pages have finds none of them.
const COMMON: usize = 8;
/// Bits of an entry for the page's number; the others are for the key.
const ID_BITS: u32 = 27;

/// The smallest hashes of the passages of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Under these it is entered.
    pub(crate) own: Vec<u64>,
    /// By these others are searched.
    asked: Vec<u64>,
}

impl Keys {
    /// The keys of a page whose passages have these hashes; of each also whether it is in the body text.
    pub(super) fn of(hashes: impl Iterator<Item = (u64, bool)>) -> Self {
        let (mut all, mut body) = (Smallest::new(ASKED), Smallest::new(KEYS));
        // Some of them may be in the body text as well.
        let mut others = Smallest::new(2 * KEYS);
        for (hash, is_body) in hashes {
            all.push(hash);
            if is_body { &mut body } else { &mut others }.push(hash);
        }
        let mut own = body.finish();
        let mut others = others.finish();
        others.retain(|key| !own.contains(key));
        others.truncate(KEYS);
        own.append(&mut others);
        Self { own, asked: all.finish() }
    }
}

/// Collects the smallest of many hashes.
struct Smallest {
    /// Those among which the smallest are.
    hashes: Vec<u64>,
    count: usize,
    /// Larger ones are not among the smallest.
    most: u64,
}

impl Smallest {
    fn new(count: usize) -> Self {
        Self { hashes: Vec::with_capacity(4 * count), count, most: u64::MAX }
    }

    fn push(&mut self, hash: u64) {
        if hash > self.most {
            return;
        }
        self.hashes.push(hash);
        if self.hashes.len() == 4 * self.count {
            self.keep();
        }
    }

    fn keep(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.truncate(self.count);
        if let [.., most] = self.hashes[..]
            && self.hashes.len() == self.count
        {
            self.most = most;
        }
    }

    /// The smallest ones, in order, none twice.
    fn finish(mut self) -> Vec<u64> {
        self.keep();
        self.hashes
    }
}

/// A page's number and the key, oldest first, then zeros.
#[repr(align(128))]
#[derive(Clone, Copy, Debug)]
struct Bucket([u64; SLOTS]);

/// The pages by their keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyIndex {
    /// All but the last are full, and none is moved.
    blocks: Vec<Vec<Bucket>>,
}

impl Default for KeyIndex {
    fn default() -> Self {
        let mut this = Self { blocks: Vec::new() };
        this.push();
        this
    }
}

impl KeyIndex {
    /// Enters a page; its number is larger than all before. `pages` is the number of pages in the window, without texts.
    pub(crate) fn insert(&mut self, id: DocId, keys: &[u64], pages: usize) {
        while self.len() < pages * BUCKETS_PER_PAGE {
            self.split();
        }
        for &key in keys {
            let place = self.place(key);
            self.bucket(place).push(entry(id, key));
        }
    }

    /// Appends the pages that have a key in common with these, with the number of such keys. `next` is the number of the next page.
    pub(crate) fn find(&self, keys: &Keys, next: DocId, out: &mut Vec<(DocId, usize)>) {
        let mut found: Vec<DocId> = Vec::new();
        for &key in &keys.asked {
            let place = self.place(key);
            let bucket = &self.blocks[place / BLOCK][place % BLOCK];
            let same = || bucket.0.iter().filter(|&&one| one != 0 && has_key(one, key));
            if same().count() < COMMON {
                found.extend(same().map(|&one| id_before(one, next)));
            }
        }
        found.sort_unstable();
        out.extend(found.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())));
    }

    fn place(&self, key: u64) -> usize {
        let len = self.len();
        let level = len.ilog2();
        let place = usize::try_from(tag(key) & ((2 << level) - 1)).unwrap_or(0);
        if place < len { place } else { place & ((1 << level) - 1) }
    }

    /// Adds a bucket, and moves half of another one's entries to it.
    fn split(&mut self) {
        let new = self.len();
        let old = self.bucket(new - (1 << new.ilog2()));
        let entries = std::mem::replace(old, Bucket([0; SLOTS])).0;
        self.push();
        for entry in entries.into_iter().filter(|&entry| entry != 0) {
            let place = self.place(entry >> ID_BITS);
            self.bucket(place).push(entry);
        }
    }

    /// The number of buckets.
    fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    fn bucket(&mut self, place: usize) -> &mut Bucket {
        &mut self.blocks[place / BLOCK][place % BLOCK]
    }

    /// Adds an empty bucket.
    fn push(&mut self) {
        if self.blocks.last().is_none_or(|last| last.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        self.blocks.last_mut().expect("there is one").push(Bucket([0; SLOTS]));
    }
}

impl Bucket {
    fn push(&mut self, entry: u64) {
        let same = |one: &u64| one >> ID_BITS == entry >> ID_BITS;
        let is_common = self.0.iter().filter(|one| **one != 0 && same(one)).count() >= COMMON;
        let oldest = if is_common { self.0.iter().position(same).unwrap_or(0) } else { 0 };
        match self.0.iter().position(|&one| one == 0) {
            Some(free) if !is_common => self.0[free] = entry,
            free => {
                let end = free.unwrap_or(SLOTS);
                self.0.copy_within(oldest + 1..end, oldest);
                self.0[end - 1] = entry;
            }
        }
    }
}

fn tag(key: u64) -> u64 {
    // The high bits of the smallest keys are zeros.
    key & (u64::MAX >> ID_BITS)
}

fn entry(id: DocId, key: u64) -> u64 {
    (tag(key) << ID_BITS) | (id.0 & ((1 << ID_BITS) - 1))
}

fn has_key(entry: u64, key: u64) -> bool {
    entry >> ID_BITS == tag(key)
}

/// The last number before `next` that ends as the entry says.
fn id_before(entry: u64, next: DocId) -> DocId {
    let mask = (1 << ID_BITS) - 1;
    let distance = next.0.wrapping_sub(1).wrapping_sub(entry) & mask;
    DocId(next.0.wrapping_sub(1).wrapping_sub(distance))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::{prelude::*, sample::select};

    use super::*;

    /// A key like those of passages.
    fn key(number: u64) -> u64 {
        let word = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (word >> 32)
    }

    fn asking(numbers: &[u64]) -> Keys {
        Keys::of(numbers.iter().map(|&number| (key(number), true)))
    }

    fn find(index: &KeyIndex, numbers: &[u64], next: u64) -> Vec<(DocId, usize)> {
        let mut found = Vec::new();
        index.find(&asking(numbers), DocId(next), &mut found);
        found
    }

    /// Whether a bucket may have dropped entries since it was last enlarged.
    fn is_full(index: &KeyIndex) -> bool {
        index.blocks.iter().flatten().any(|bucket| bucket.0[SLOTS - 1] != 0)
    }

    /// What is found if nothing is dropped: the holders of each key, unless it is common.
    fn expected(holders: &HashMap<u64, Vec<u64>>, numbers: &[u64]) -> Vec<(DocId, usize)> {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let known = numbers.iter().filter_map(|number| holders.get(number));
        let mut ids: Vec<u64> =
            known.filter(|pages| pages.len() < COMMON).flatten().copied().collect();
        ids.sort_unstable();
        ids.chunk_by(|a, b| a == b).map(|same| (DocId(same[0]), same.len())).collect()
    }

    proptest! {
        #[test]
        fn the_smallest_hashes_are_kept(
            hashes in prop::collection::vec(prop_oneof![any::<u64>(), 0..40_u64], 0..400),
            count in 1..20_usize,
        ) {
            let mut smallest = Smallest::new(count);
            for &hash in &hashes {
                smallest.push(hash);
            }
            let expected: std::collections::BTreeSet<u64> = hashes.into_iter().collect();
            prop_assert_eq!(smallest.finish(), expected.into_iter().take(count).collect::<Vec<_>>());
        }

        #[test]
        fn pages_are_found_by_their_keys(
            pages in prop::collection::vec(
                (prop::collection::vec(0..150_u64, 0..KEYS), 1..40_u64), 1..120),
            first in prop_oneof![
                Just(1), Just((1 << ID_BITS) - 20), Just((5 << ID_BITS) - 900), 0..1_u64 << 50],
            room in select(vec![0, 0, 400]),
        ) {
            let (mut index, mut next, mut has_dropped) = (KeyIndex::default(), first, false);
            let mut holders: HashMap<u64, Vec<u64>> = HashMap::new();
            for (count, (numbers, gap)) in pages.iter().enumerate() {
                let found = find(&index, numbers, next);
                let shared = expected(&holders, numbers);
                if has_dropped {
                    for (id, keys) in &found {
                        let of = |number: &&u64| holders.get(number).is_some_and(|ids| ids.contains(&id.0));
                        prop_assert!(numbers.iter().filter(of).count() >= *keys, "{:?} shares fewer", id);
                    }
                } else {
                    prop_assert_eq!(found, shared);
                }
                index.insert(DocId(next), &asking(numbers).own, room.max(count + 1));
                has_dropped |= is_full(&index);
                for number in asking(numbers).own {
                    let number = (0..150).find(|&it| key(it) == number).unwrap();
                    holders.entry(number).or_default().push(next);
                }
                next += gap;
            }
        }

        #[test]
        fn growth_loses_nothing(
            pages in prop::collection::vec(prop::collection::vec(0..60_u64, 1..KEYS), 1..40),
            before in 1..20_usize,
            after in 20..300_usize,
        ) {
            let mut index = KeyIndex::default();
            for (id, numbers) in (1..).zip(&pages) {
                index.insert(DocId(id), &asking(numbers).own, before);
            }
            let all: Vec<u64> = (0..60).collect();
            let known = find(&index, &all, 1000);
            index.insert(DocId(1000), &[], after);
            prop_assert_eq!(index.len(), BUCKETS_PER_PAGE * after);
            prop_assert_eq!(find(&index, &all, 1000), known);
        }
    }

    #[test]
    fn a_common_key_finds_no_page() {
        let mut index = KeyIndex::default();
        for id in 1..=4 * COMMON as u64 {
            let found = find(&index, &[0], id).len() as u64;
            assert_eq!(found, if id <= COMMON as u64 { id - 1 } else { 0 }, "{id}");
            index.insert(DocId(id), &asking(&[0, id]).own, 1000);
            assert_eq!(
                find(&index, &[0, id], id + 1).last(),
                Some(&(DocId(id), 1 + usize::from(id < COMMON as u64)))
            );
        }
    }

    #[test]
    fn a_full_bucket_keeps_its_latest_entries() {
        let mut index = KeyIndex::default();
        // One bucket for all keys.
        for id in 1..=100_u64 {
            index.insert(DocId(id), &[key(id)], 0);
        }
        let all: Vec<u64> = (1..=100).collect();
        let found: Vec<u64> = find(&index, &all, 101).iter().map(|(id, _)| id.0).collect();
        assert_eq!(found, (101 - SLOTS as u64..=100).collect::<Vec<_>>());
    }
}
