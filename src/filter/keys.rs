//! Finds earlier pages that share a passage with a new one: an index of bottom-k sketches.
//!
//! A page is entered under the [`KEYS_STORED`] smallest hashes of the passages of its body text, and as many of the prose around it (Broder, "On the resemblance and containment of documents", 1997).
//! Two pages that share an article share some of these keys, however much else they show. One equal key makes a candidate.
//!
//! The table consists of buckets of [`SLOTS`] entries, two buckets a page, and grows by one bucket at a time (linear hashing: Litwin,
//! VLDB 1980): a page that enters waits for the entries of two buckets to be moved.
//!
//! Nothing is removed when a page leaves the window: a full bucket first drops the entries of such pages, and only what then has no room
//! goes to memory of its own, some 12 % of the entries. A key of [`COMMON`] pages of the window is a text of vendors or templates: it
//! finds no candidates, and the latest [`KEPT`] of its entries are kept. So a table that is made anew from the pages of the window finds
//! the same as one that grew with it, unless one that has left early (a page that changed) had a key of more than [`KEPT`] pages.

use std::mem;

use super::sketch::{PASSAGE, Sample};
use crate::page::DocId;

/// The number of keys of its body text under which a page is entered, and of its other prose.
const KEYS_STORED: usize = 12;
/// The number of keys by which earlier pages are searched.
const KEYS_SEARCHED: usize = 256;
/// One in so many passages of the body text is among those that are read in order.
const READ_ONE_IN: u64 = 4;
/// So many of them are read of a page.
const READ: usize = 1_024;
/// Buckets that are allocated together.
const BLOCK: usize = 512;
/// Entries of a bucket.
const SLOTS: usize = 14;
/// Buckets for each page of the window.
const BUCKETS_PER_PAGE: usize = 2;
/// What a page of the window takes, without the entries that have no room in its buckets: up to 24 bytes more.
pub(crate) const BYTES_PER_PAGE: u64 = (BUCKETS_PER_PAGE * size_of::<Bucket>()) as u64;
/// A key that at least this many pages have finds none of them.
const COMMON: usize = 8;
/// So many pages of a key are kept.
const KEPT: usize = 2 * COMMON;
const _: () = assert!(SLOTS <= KEPT);
/// Entries without room in one bucket, at most: only keys that were made for it are so many.
const MOST_BEYOND: usize = 16 * SLOTS;
/// Bits of an entry for the page's number; the others are for the key.
const ID_BITS: u32 = 27;

/// The smallest hashes of the passages of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Under these it is entered.
    pub(crate) stored: Vec<u64>,
    /// By these others are searched.
    pub(crate) searched: Vec<u64>,
    /// A sample of the passages of each line of the body text that is not of links.
    pub(crate) read: Vec<u32>,
}

/// Collects the keys of a page from the hashes of its words: first those of the body text, then those of the prose around it.
#[derive(Clone, Debug, Default)]
pub(super) struct KeysBuilder {
    /// The hashes of the last words, the latest last.
    last: [u64; PASSAGE],
    words: usize,
    all: Vec<u64>,
    /// Larger ones are not among the smallest, once the body text has ended.
    bound: Option<u64>,
    /// The smallest of the body text, once it has ended.
    body: Option<Vec<u64>>,
    /// Those of the prose around it; some of them may be in the body text as well.
    others: Vec<u64>,
    /// The line of the last word, and how many words of it there were.
    line: Option<usize>,
    line_words: usize,
    /// See [`Keys::read`].
    read: Vec<u32>,
}

/// A hash of words, and one more.
pub(super) fn mixed(key: u64, hash: u64) -> u64 {
    (key.rotate_left(23) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The key of a passage.
fn key_of(words: &[u64]) -> u64 {
    let key = words.iter().fold(0, |key, hash| mixed(key, *hash));
    // The low bits of a product depend on the low bits only.
    key ^ (key >> 32)
}

impl KeysBuilder {
    /// Adds a word. One of the body text comes with its line, unless that is of links: their words are those of other pages.
    pub(super) fn push(&mut self, hash: u64, line: Option<usize>) {
        if line != self.line {
            self.end_line();
            self.line = line;
        }
        self.last.rotate_left(1);
        self.last[PASSAGE - 1] = hash;
        self.words += 1;
        self.line_words += 1;
        let key = key_of(&self.last);
        if line.is_some() && self.line_words >= PASSAGE {
            self.read(key);
        }
        if self.words < PASSAGE {
            return;
        }
        if self.bound.is_none_or(|bound| key < bound) {
            self.all.push(key);
        }
        if self.body.is_some() {
            self.others.push(key);
        }
    }

    /// The line ends here. No passage that is read goes on to the next one, and a shorter line is one: so lines of other pages in another order have
    /// no passage of their own.
    fn end_line(&mut self) {
        if self.line.is_some() && self.line_words < PASSAGE {
            self.read(key_of(&self.last[PASSAGE - self.line_words..]));
        }
        self.line_words = 0;
    }

    #[expect(clippy::cast_possible_truncation, reason = "a hash")]
    fn read(&mut self, key: u64) {
        if (key >> 32).is_multiple_of(READ_ONE_IN) && self.read.len() < READ {
            self.read.push((key >> 16) as u32);
        }
    }

    /// The body text ends here: no passage goes on.
    pub(super) fn end_body(&mut self) {
        self.words = 0;
        self.end_line();
        self.line = None;
        let Sample { hashes, bound } = Sample::of(mem::take(&mut self.all), KEYS_SEARCHED);
        (self.all, self.bound) = (hashes, bound);
        self.body = Some(self.all.iter().copied().take(KEYS_STORED).collect());
    }

    pub(super) fn finish(self) -> Keys {
        let mut stored = self.body.unwrap_or_default();
        let mut others = Sample::of(self.others, 2 * KEYS_STORED).hashes;
        others.retain(|key| !stored.contains(key));
        stored.extend(others.into_iter().take(KEYS_STORED));
        let searched = Sample::of(self.all, KEYS_SEARCHED).hashes;
        Keys { stored, searched, read: self.read }
    }
}

/// Entries, each a page's number and the key, oldest first.
#[repr(align(128))]
#[derive(Clone, Debug, Default)]
struct Bucket {
    /// The first ones, then zeros.
    slots: [u64; SLOTS],
    /// Those that have no room there.
    beyond: Box<[u64]>,
}

impl Bucket {
    fn entries(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().chain(&self.beyond).copied().filter(|&one| one != 0)
    }

    /// Takes in these entries instead of its own: the latest, if they are too many.
    fn fill(&mut self, entries: &[u64]) {
        let entries = &entries[entries.len().saturating_sub(SLOTS + MOST_BEYOND)..];
        let (inside, beyond) = entries.split_at(entries.len().min(SLOTS));
        self.slots = [0; SLOTS];
        self.slots[..inside.len()].copy_from_slice(inside);
        self.beyond = beyond.into();
    }

    fn add(&mut self, entry: u64, is_known: impl Fn(u64) -> bool) {
        let same = |one: &u64| one >> ID_BITS == entry >> ID_BITS;
        // The slots do not hold more of a key than are kept.
        if let Some(free) = self.slots.iter_mut().find(|one| **one == 0) {
            *free = entry;
            return;
        }
        let mut entries: Vec<u64> = self.entries().chain([entry]).collect();
        entries.retain(|&one| is_known(one));
        if entries.iter().filter(|one| same(one)).count() > KEPT
            && let Some(oldest) = entries.iter().position(same)
        {
            entries.remove(oldest);
        }
        self.fill(&entries);
    }
}

/// The pages by their keys: blocks of buckets, of which all but the last are full, and none is moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassageIndex(Vec<Vec<Bucket>>);

impl PassageIndex {
    /// Enters a page; its number is larger than all before. `pages` is the number of pages in the window, without texts, and `is_known`
    /// says whether a page is in the window.
    pub(crate) fn insert(
        &mut self,
        id: DocId,
        keys: &[u64],
        pages: usize,
        is_known: impl Fn(DocId) -> bool,
    ) {
        let is_known = |entry: u64| is_known(id_before(entry, DocId(id.0 + 1)));
        while self.len() < (pages * BUCKETS_PER_PAGE).max(1) {
            self.split(&is_known);
        }
        for &key in keys {
            let place = self.place(key);
            self.bucket(place).add(entry(id, key), is_known);
        }
    }

    /// Appends the pages that have a key in common with these, each with the place of the key: once for each such key. `next` is the number of
    /// the next page.
    pub(crate) fn find(
        &self,
        keys: &[u64],
        next: DocId,
        is_known: impl Fn(DocId) -> bool,
        out: &mut Vec<(DocId, usize)>,
    ) {
        let keys = if self.0.is_empty() { &[] } else { keys };
        for (number, &key) in keys.iter().enumerate() {
            let place = self.place(key);
            let Bucket { slots, beyond } = &self.0[place / BLOCK][place % BLOCK];
            // Most buckets have none.
            let all = slots.iter().chain(beyond);
            if !all.clone().fold(false, |some, &one| some | has_key(one, key)) {
                continue;
            }
            let start = out.len();
            let same = all.filter(|one| **one != 0 && has_key(**one, key));
            let known = same.map(|one| id_before(*one, next)).filter(|id| is_known(*id));
            out.extend(known.take(COMMON).map(|id| (id, number)));
            if out.len() - start == COMMON {
                out.truncate(start);
            }
        }
    }

    fn place(&self, key: u64) -> usize {
        let len = self.len();
        let level = len.ilog2();
        let place = usize::try_from(tag(key) & ((2 << level) - 1)).unwrap_or(0);
        if place < len { place } else { place & ((1 << level) - 1) }
    }

    /// Adds a bucket, and moves half of another one's entries to it.
    fn split(&mut self, is_known: &impl Fn(u64) -> bool) {
        let new = self.len();
        self.push();
        let Some(level) = new.checked_ilog2() else { return };
        let old = new - (1 << level);
        let entries = self.bucket(old).entries().filter(|&one| is_known(one));
        let entries: Vec<u64> = entries.collect();
        let (stay, leave): (Vec<u64>, Vec<u64>) =
            entries.into_iter().partition(|&one| self.place(one >> ID_BITS) == old);
        self.bucket(old).fill(&stay);
        self.bucket(new).fill(&leave);
    }

    /// The number of buckets.
    fn len(&self) -> usize {
        let last = self.0.last().map_or(0, Vec::len);
        self.0.len().saturating_sub(1) * BLOCK + last
    }

    fn bucket(&mut self, place: usize) -> &mut Bucket {
        &mut self.0[place / BLOCK][place % BLOCK]
    }

    /// Adds an empty bucket.
    fn push(&mut self) {
        if self.0.last().is_none_or(|last| last.len() == BLOCK) {
            self.0.push(Vec::with_capacity(BLOCK));
        }
        self.0.last_mut().expect("there is one").push(Bucket::default());
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

    /// The keys of these numbers.
    fn keys(numbers: &[u64]) -> Vec<u64> {
        let mut keys: Vec<u64> = numbers.iter().map(|&number| key(number)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn find(index: &PassageIndex, numbers: &[u64], next: u64) -> Vec<(DocId, usize)> {
        find_since(index, numbers, next, 0)
    }

    /// What is found if the pages before `oldest` have left the window: pages and the number of their keys.
    fn find_since(
        index: &PassageIndex,
        numbers: &[u64],
        next: u64,
        oldest: u64,
    ) -> Vec<(DocId, usize)> {
        let mut found = Vec::new();
        index.find(&keys(numbers), DocId(next), |id| id.0 >= oldest, &mut found);
        found.sort_unstable();
        found.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.len())).collect()
    }

    fn insert(index: &mut PassageIndex, id: u64, numbers: &[u64], pages: usize) {
        index.insert(DocId(id), &keys(numbers), pages, |_| true);
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
        ) {
            let all: std::collections::BTreeSet<u64> = hashes.iter().copied().collect();
            let expected = |count| all.iter().copied().take(count).collect::<Vec<_>>();
            for most in [1, 8, 20] {
                let Sample { hashes, bound } = Sample::of(hashes.clone(), most);
                prop_assert_eq!(&hashes, &expected(most));
                prop_assert_eq!(bound, hashes.last().copied().filter(|_| all.len() > most));
            }
        }

        #[test]
        fn the_keys_of_a_page_are_the_smallest_of_its_passages(
            [body, around] in prop::array::uniform2(prop::collection::vec(0..40_u64, 0..400)),
        ) {
            let mut builder = KeysBuilder::default();
            for word in &body {
                builder.push(key(*word), Some(0));
            }
            builder.end_body();
            for word in &around {
                builder.push(key(*word), None);
            }
            let Keys { stored, searched, .. } = builder.finish();
            let passages = |words: &[u64]| -> std::collections::BTreeSet<u64> {
                let key_of = |passage: &[u64]| {
                    let mut one = KeysBuilder::default();
                    for word in passage {
                        one.push(key(*word), Some(0));
                    }
                    one.finish().searched[0]
                };
                words.windows(PASSAGE).map(key_of).collect()
            };
            let (body, around) = (passages(&body), passages(&around));
            let all: Vec<u64> = (&body | &around).into_iter().take(KEYS_SEARCHED).collect();
            prop_assert_eq!(searched, all);
            let own: Vec<u64> = body.into_iter().take(KEYS_STORED).collect();
            prop_assert_eq!(&stored[..own.len()], &own);
            prop_assert!(stored[own.len()..].iter().all(|key| around.contains(key)));
            prop_assert!(stored.len() <= 2 * KEYS_STORED);
        }

        #[test]
        fn pages_are_found_by_their_keys(
            pages in prop::collection::vec(
                (prop::collection::vec(0..150_u64, 0..KEYS_STORED), 1..40_u64), 1..120),
            first in prop_oneof![
                Just(1), Just((1 << ID_BITS) - 20), Just((5 << ID_BITS) - 900), 0..1_u64 << 50],
            room in select(vec![0, 0, 400]),
        ) {
            let (mut index, mut next) = (PassageIndex::default(), first);
            let mut holders: HashMap<u64, Vec<u64>> = HashMap::new();
            for (count, (numbers, gap)) in pages.iter().enumerate() {
                prop_assert_eq!(find(&index, numbers, next), expected(&holders, numbers));
                insert(&mut index, next, numbers, room.max(count + 1));
                for number in keys(numbers) {
                    let number = (0..150).find(|&it| key(it) == number).unwrap();
                    holders.entry(number).or_default().push(next);
                }
                next += gap;
            }
        }

        #[test]
        fn an_index_that_is_made_anew_finds_what_the_one_that_grew_finds(
            pages in prop::collection::vec(prop::collection::vec(0..60_u64, 1..KEYS_STORED), 1..150),
            window in 1..150_u64,
            room in select(vec![30, 300]),
        ) {
            let mut grew = PassageIndex::default();
            for (id, numbers) in (1..).zip(&pages) {
                let oldest = (id + 1_u64).saturating_sub(window);
                let in_window = usize::try_from(id.min(window)).unwrap();
                grew.insert(DocId(id), &keys(numbers), in_window, |it| it.0 >= oldest);
            }
            let next = pages.len() as u64 + 1;
            let oldest = next.saturating_sub(window);
            let mut anew = PassageIndex::default();
            for (id, numbers) in (1..).zip(&pages).filter(|(id, _)| *id >= oldest) {
                insert(&mut anew, id, numbers, room);
            }
            let all: Vec<u64> = (0..60).collect();
            prop_assert_eq!(find_since(&grew, &all, next, oldest), find(&anew, &all, next));
        }

        #[test]
        fn growth_loses_nothing(
            pages in prop::collection::vec(prop::collection::vec(0..60_u64, 1..KEYS_STORED), 1..40),
            before in 1..20_usize,
            after in 20..300_usize,
        ) {
            let mut index = PassageIndex::default();
            for (id, numbers) in (1..).zip(&pages) {
                insert(&mut index, id, numbers, before);
            }
            let all: Vec<u64> = (0..60).collect();
            let known = find(&index, &all, 1000);
            insert(&mut index, 1000, &[], after);
            prop_assert_eq!(index.len(), BUCKETS_PER_PAGE * after);
            prop_assert_eq!(find(&index, &all, 1000), known);
        }
    }

    #[test]
    fn a_common_key_finds_no_page() {
        let mut index = PassageIndex::default();
        for id in 1..=4 * COMMON as u64 {
            let found = find(&index, &[0], id).len() as u64;
            assert_eq!(found, if id <= COMMON as u64 { id - 1 } else { 0 }, "{id}");
            insert(&mut index, id, &[0, id], 1000);
            assert_eq!(
                find(&index, &[0, id], id + 1).last(),
                Some(&(DocId(id), 1 + usize::from(id < COMMON as u64)))
            );
        }
    }

    #[test]
    fn pages_that_have_left_take_no_room() {
        let mut index = PassageIndex::default();
        // One bucket for all keys.
        for id in 1..=1000_u64 {
            index.insert(DocId(id), &[key(id)], 0, |it| it.0 + 20 > id);
        }
        assert!(index.bucket(0).entries().count() <= 20 + SLOTS);
        let all: Vec<u64> = (1..=1000).collect();
        let found = find_since(&index, &all[800..], 1001, 981);
        let found: Vec<u64> = found.iter().map(|(id, _)| id.0).collect();
        assert_eq!(found, (981..=1000).collect::<Vec<_>>());
    }

    #[test]
    fn keys_that_are_made_for_a_bucket_are_bounded() {
        let mut index = PassageIndex::default();
        for id in 1..=1000_u64 {
            index.insert(DocId(id), &[key(id)], 0, |_| true);
        }
        let found: Vec<u64> =
            index.bucket(0).entries().map(|entry| id_before(entry, DocId(1001)).0).collect();
        assert_eq!(found, (1001 - (SLOTS + MOST_BEYOND) as u64..=1000).collect::<Vec<_>>());
    }
}
