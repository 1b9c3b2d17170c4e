//! The rolling window: the unique documents (representatives) that later ones may still repeat.
//!
//! The oldest leave when they are too old, or when there are too many (`WindowOptions`). With a representative, these leave: its fingerprint
//! in the index, its digests, its aliases, and what is kept of its content. An alias is the digest of a duplicate's body or text, by which later documents match the
//! duplicate's representative. An alias also leaves when `entries` newer ones exist (`Engine::horizon`).
//!
//! In a file (`state/`), `documents` has representatives and aliases with their digests. A commit drops rows that have left the window from
//! `contents` and `keys`, and from `documents` unless a crawl keeps them for its report. `templates` does not depend on the window.

use std::{collections::VecDeque, num::NonZeroU64, time::Duration};

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::sketch::{Key, OriginKey};
use crate::{
    fingerprint::Signature,
    page::{DocId, Timestamp},
};

/// How far back the filter remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WindowOptions {
    /// How many representatives are remembered, short ones included.
    pub entries: NonZeroU64,
    /// For how long one is remembered; `"unlimited"` for as long as there is room.
    #[serde(with = "age")]
    pub age: Option<Duration>,
    /// Whether times are believed that are more than a day in the future: to judge again what was recorded elsewhere. By such a time, all
    /// earlier documents may be too old.
    pub future: bool,
}

impl WindowOptions {
    /// A window of this many entries, which leave after this age (`None`: never).
    #[must_use]
    pub fn new(entries: NonZeroU64, age: Option<Duration>) -> Self {
        Self { entries, age, future: false }
    }
}

impl Default for WindowOptions {
    fn default() -> Self {
        let entries = NonZeroU64::new(5_000_000).expect("not zero");
        Self::new(entries, Some(Duration::from_hours(90 * 24)))
    }
}

/// A representative: a unique document of the window, which later ones may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Representative {
    /// Its number. Representatives leave the window in this order.
    pub id: DocId,
    /// When it arrived, by the window's clock.
    pub at: Timestamp,
    /// Its key.
    pub(crate) key: Key,
    /// Its origin, if it has one.
    pub(crate) origin: Option<OriginKey>,
    /// Its signature; zeros if it takes no part in near matching.
    signature: Signature,
    /// Whether it does.
    has_signature: bool,
    /// Whether its content is kept.
    pub(crate) has_content: bool,
}

const _: () = assert!(size_of::<Representative>() == 72, "this many are in a window");

impl Representative {
    /// One without content or origin.
    pub(crate) fn new(id: DocId, at: Timestamp, key: Key, signature: Option<Signature>) -> Self {
        let has_signature = signature.is_some();
        let signature = signature.unwrap_or_default();
        Self { id, at, key, origin: None, signature, has_signature, has_content: false }
    }

    /// Its signature, if it takes part in near matching: its text is long enough, and the index had room for its fingerprint.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        self.has_signature.then_some(self.signature)
    }
}

/// The representatives that may still be matched, oldest first, and the clock by which they age.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    options: WindowOptions,
    /// By number. A full block has 72 KiB.
    queue: IncrementalQueue<Representative>,
    /// How many of them are pages.
    pub(crate) pages: usize,
    /// The representatives of each key, if that is asked for.
    by_key: Option<HashIndex>,
    /// Before this number none was taken out that would not have left by age or number since.
    pub(super) taken: Option<DocId>,
    pub(super) clock: Timestamp,
}

impl Window {
    pub(super) fn new(options: WindowOptions) -> Self {
        let (taken, clock) = (None, Timestamp(i64::MIN));
        Self { options, queue: IncrementalQueue::default(), pages: 0, by_key: None, taken, clock }
    }

    /// Finds representatives by their keys from now on.
    pub(super) fn index_keys(&mut self) {
        let mut by_key = HashIndex::default();
        self.iter().for_each(|it| by_key.insert(it.key.0, it.id, None));
        self.by_key = Some(by_key);
    }

    /// The latest representative of this key, if keys are [indexed](Self::index_keys).
    pub(super) fn latest(&self, key: Key) -> Option<Representative> {
        let ids = self.by_key.as_ref()?.find(key.0).into_iter().rev();
        ids.filter_map(|id| self.get(id)).find(|it| it.key == key)
    }

    /// Moves the clock to `at`, never back.
    pub(super) fn advance(&mut self, at: Timestamp) {
        self.clock = self.clock.max(at);
    }

    /// Drops what is too old.
    pub(super) fn expire(&mut self) {
        let Some(age) = self.options.age else { return };
        let oldest = self.clock - age;
        while self.queue.front().is_some_and(|front| front.at < oldest) {
            self.pop();
        }
    }

    /// The number before which all documents have left, by age or number: that of the oldest representative, or `next` if there is none. What was
    /// taken out has not left: its duplicates are still there.
    pub(super) fn horizon(&self, next: DocId) -> DocId {
        self.queue.front().map_or(next, |front| front.id).min(self.taken.unwrap_or(next))
    }

    /// Takes in a representative; if there are too many now, the oldest leaves.
    pub(super) fn push(&mut self, representative: &Representative) {
        let Representative { id, key, has_content, .. } = *representative;
        self.queue.push(*representative);
        self.pages += usize::from(has_content);
        while self.len() as u64 > self.options.entries.get() {
            self.pop();
        }
        let horizon = Horizon { representative: self.horizon(id), alias: 0 };
        if let Some(by_key) = &mut self.by_key {
            by_key.expire(horizon);
            by_key.insert(key.0, id, None);
        }
    }

    fn pop(&mut self) {
        if let Some(front) = self.queue.pop_if(|_| true) {
            self.pages -= usize::from(front.has_content);
            self.taken = self.taken.map(|taken| taken.max(DocId(front.id.0 + 1)));
        }
    }

    /// Removes a representative.
    pub(super) fn take(&mut self, id: DocId) -> Option<Representative> {
        let taken = self.queue.take(&id, |it| it.id)?;
        self.pages -= usize::from(taken.has_content);
        self.taken = Some(self.taken.map_or(id, |taken| taken.min(id)));
        Some(taken)
    }

    /// Whether a representative is still in the window. Before the first one that was taken out all are that have not left.
    pub(super) fn still_has(&self, id: DocId) -> bool {
        let has_left = self.queue.front().is_none_or(|oldest| id < oldest.id);
        !has_left && (self.taken.is_none_or(|taken| id < taken) || self.get(id).is_some())
    }

    /// The representative of this number, if it is in the window.
    pub(super) fn get(&self, id: DocId) -> Option<Representative> {
        self.queue.find(&id, |it| it.id).copied()
    }

    /// All representatives, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Representative> {
        self.queue.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// How many representatives it may hold.
    pub(super) fn capacity(&self) -> u64 {
        self.options.entries.get()
    }
}

/// What has left the window, by number of the document and by number of the alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// The oldest representative that may still be matched.
    pub(crate) representative: DocId,
    /// The oldest alias that may still be matched.
    pub(crate) alias: u64,
}

/// `"90d"` or `"unlimited"`.
mod age {
    use std::{borrow::Cow, time::Duration};

    use humantime_serde::re::humantime;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    const UNLIMITED: &str = "unlimited";
    const DAY: u64 = 24 * 60 * 60;

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        age: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match age {
            // Else 90 days would be two months of 30.44 days and the rest in hours.
            Some(age) if age.subsec_nanos() == 0 && age.as_secs() % DAY == 0 => {
                serializer.collect_str(&format_args!("{}d", age.as_secs() / DAY))
            }
            Some(age) => humantime_serde::serialize(age, serializer),
            None => serializer.serialize_str(UNLIMITED),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let is_limited = text != UNLIMITED;
        let wrong = match is_limited.then(|| humantime::parse_duration(&text)).transpose() {
            Ok(Some(Duration::ZERO)) => "nothing would be remembered".to_owned(),
            Ok(age) => return Ok(age),
            Err(error) => error.to_string(),
        };
        Err(D::Error::custom(format_args!(
            "{text:?}: {wrong}; write for instance \"90d\", or \"{UNLIMITED}\""
        )))
    }
}

// Collections that never move all their content at once, so that no document waits for them to grow, and memory grows in small steps: one
// step moves at most a thousandth of the whole.

/// Values of a full block.
pub(super) const BLOCK: usize = 1024;
/// Parts of an index. Each grows by itself, and moves so small a share of the whole.
const PARTS: usize = 1024;

/// A queue in blocks: growth moves no value, only now and then the list of blocks, what has left gives its memory back, and taking one out in
/// the middle costs no more than its block.
#[derive(Clone, Debug)]
pub(super) struct IncrementalQueue<T> {
    /// None is empty. All but the first and the last are full, unless values were [taken](Self::take) out.
    blocks: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for IncrementalQueue<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), len: 0 }
    }
}

impl<T> IncrementalQueue<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.blocks.front()?.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    /// The value with this key, in a queue whose keys grow.
    pub(super) fn find<K: Ord>(&self, key: &K, key_of: impl Fn(&T) -> K) -> Option<&T> {
        let (block, place) = self.place(key, key_of)?;
        self.blocks[block].get(place)
    }

    /// Takes out the value with this key, in a queue whose keys grow.
    pub(super) fn take<K: Ord>(&mut self, key: &K, key_of: impl Fn(&T) -> K) -> Option<T> {
        let (number, place) = self.place(key, key_of)?;
        let block = &mut self.blocks[number];
        let taken = block.remove(place);
        self.len -= 1;
        if block.is_empty() {
            self.blocks.remove(number);
        } else if block.capacity() > 2 * block.len() {
            block.shrink_to_fit();
        }
        taken
    }

    /// The block of the value with this key, and its place there.
    fn place<K: Ord>(&self, key: &K, key_of: impl Fn(&T) -> K) -> Option<(usize, usize)> {
        let is_up_to = |block: &VecDeque<T>| block.front().is_some_and(|it| key_of(it) <= *key);
        let block = self.blocks.partition_point(is_up_to).checked_sub(1)?;
        Some((block, self.blocks[block].binary_search_by_key(key, key_of).ok()?))
    }

    /// Adds a value at the end.
    pub(super) fn push(&mut self, value: T) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push_back(value),
            _ => {
                let mut block = VecDeque::with_capacity(BLOCK);
                block.push_back(value);
                self.blocks.push_back(block);
            }
        }
        self.len += 1;
    }

    /// Takes the first value, if it leaves.
    pub(super) fn pop_if(&mut self, leaves: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let value = block.pop_front_if(leaves)?;
        self.len -= 1;
        if block.is_empty() {
            self.blocks.pop_front();
        }
        Some(value)
    }
}

/// Documents by the hashes of their digests or keys: some 14 bytes for each. It is in parts, each of which grows by itself.
#[derive(Clone, Debug)]
pub(crate) struct HashIndex {
    parts: Box<[HashTable<Entry>]>,
    /// Some aliases with their documents, to know which documents are before an alias.
    marks: VecDeque<(u64, DocId)>,
    /// What has left: representatives and aliases before these documents.
    left: [DocId; 2],
    latest: DocId,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Distinguishes the hashes of a part, apart from [`ALIAS`].
    tag: u32,
    /// The number of the document modulo 2^32.
    document: u32,
}

/// The bits of a document's number that an entry has.
const LOW: u64 = (1 << 32) - 1;
/// The bit of a tag that says whether the document is an alias.
const ALIAS: u32 = 1;
/// Of this many aliases, one remembers its document.
const MARK_EVERY: u64 = 1 << 8;

impl Entry {
    /// The number of its document, which is at most `latest`.
    fn document(self, latest: DocId) -> DocId {
        let age = latest.0.wrapping_sub(self.document.into()) & LOW;
        DocId(latest.0.saturating_sub(age))
    }

    fn has_left(self, left: [DocId; 2], latest: DocId) -> bool {
        self.document(latest) < left[(self.tag & ALIAS) as usize]
    }

    fn spread(self) -> u64 {
        spread((self.tag & !ALIAS).into())
    }
}

fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The part of a hash, ten bits for [`PARTS`], and its tag.
fn split(hash: u64) -> (usize, u32) {
    let bits = spread(hash);
    ((bits << 32 >> 54) as usize, (bits >> 32) as u32 & !ALIAS)
}

impl Default for HashIndex {
    fn default() -> Self {
        Self {
            parts: (0..PARTS).map(|_| HashTable::new()).collect(),
            marks: VecDeque::new(),
            left: [DocId(0); 2],
            latest: DocId(0),
        }
    }
}

impl HashIndex {
    /// Enters a document under a hash; `alias` is its number among aliases.
    pub(crate) fn insert(&mut self, hash: u64, document: DocId, alias: Option<u64>) {
        let (left, latest) = (self.left, self.latest.max(document));
        self.latest = latest;
        if let Some(alias) = alias.filter(|alias| alias.is_multiple_of(MARK_EVERY)) {
            self.marks.push_back((alias, document));
        }
        let (part, tag) = split(hash);
        let part = &mut self.parts[part];
        if part.len() == part.capacity() {
            part.retain(|entry| !entry.has_left(left, latest));
            part.reserve(part.len() / 8 + 1, |it| it.spread());
        }
        let (tag, document) = (tag | u32::from(alias.is_some()), (document.0 & LOW) as u32);
        let entry = Entry { tag, document };
        part.insert_unique(entry.spread(), entry, |it| it.spread());
    }

    /// The documents that may have this hash, oldest first.
    pub(crate) fn find(&self, hash: u64) -> Vec<DocId> {
        let (part, tag) = split(hash);
        let equal = self.parts[part].iter_hash(spread(tag.into()));
        let equal = equal.filter(|it| it.tag & !ALIAS == tag);
        let there = equal.filter(|entry| !entry.has_left(self.left, self.latest));
        let mut found: Vec<_> = there.map(|entry| entry.document(self.latest)).collect();
        found.sort_unstable();
        found
    }

    /// Announces what will not be matched again.
    pub(crate) fn expire(&mut self, horizon: Horizon) {
        self.left[0] = horizon.representative;
        let has_left = |(alias, _): &mut (u64, _)| *alias <= horizon.alias;
        while let Some((_, document)) = self.marks.pop_front_if(has_left) {
            self.left[1] = document;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    impl<T> IncrementalQueue<T> {
        /// For how many there is room.
        fn room(&self) -> usize {
            self.blocks.iter().map(VecDeque::capacity).sum()
        }
    }

    impl HashIndex {
        fn len(&self) -> usize {
            self.parts.iter().map(HashTable::len).sum()
        }
    }

    fn representative(id: u64) -> Representative {
        Representative::new(DocId(id), Timestamp(0), Key(0), None)
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_of_numbers(
            gaps in prop::collection::vec(prop_oneof![4 => Just(1), 2 => 1..4_u64, 1 => 1..1_u64 << 50], 0..6000),
            taken in prop::collection::vec((0..10_000_usize, any::<bool>()), 0..6000),
            clustered in any::<bool>(),
        ) {
            let mut queue = IncrementalQueue::default();
            let mut model = BTreeSet::new();
            let ids: Vec<u64> = gaps.iter().scan(0, |id, gap| { *id += gap; Some(*id) }).collect();
            for &id in &ids {
                queue.push(representative(id));
                model.insert(id);
            }
            for (number, &(of, pops)) in taken.iter().enumerate() {
                let of = if clustered { of / 8 + 2_000 } else { of };
                let Some(&id) = ids.get(of * ids.len() / 10_000) else { continue };
                if pops && number % 16 == 0 {
                    prop_assert_eq!(queue.pop_if(|_| true).map(|it| it.id.0), model.pop_first());
                } else {
                    let taken = queue.take(&DocId(id), |it| it.id).map(|it| it.id.0);
                    prop_assert_eq!(taken, model.take(&id));
                }
                prop_assert_eq!(queue.front().map(|it| it.id.0), model.first().copied());
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert!(queue.iter().map(|it| it.id.0).eq(model.iter().copied()));
            for id in ids.iter().flat_map(|&id| [id - 1, id, id + 1]).chain([0, u64::MAX]) {
                let found = queue.find(&DocId(id), |it| it.id).map(|it| it.id.0);
                prop_assert_eq!(found, model.get(&id).copied());
            }
            prop_assert!(queue.room() <= 3 * queue.len() + 3 * BLOCK, "{} for {}", queue.room(), queue.len());
        }

        #[test]
        fn a_queue_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..3000_usize), 0..12)) {
            let (mut steady, mut plain) = (IncrementalQueue::default(), VecDeque::new());
            let mut next = 0;
            for (grows, n) in steps {
                for _ in 0..n {
                    if grows {
                        steady.push(next);
                        plain.push_back(next);
                        next += 1;
                    } else {
                        prop_assert_eq!(steady.pop_if(|_| true), plain.pop_front());
                    }
                }
                prop_assert_eq!(steady.len, plain.len());
                prop_assert!(steady.blocks.iter().all(|block| (1..=1024).contains(&block.len())));
                prop_assert!(steady.blocks.iter().all(|block| block.capacity() == 1024), "none has grown");
                prop_assert!(steady.pop_if(|_| false).is_none());
                for place in [0, 1, plain.len() / 2, plain.len().saturating_sub(1), plain.len()] {
                    let key = place + next - plain.len();
                    prop_assert_eq!(steady.find(&key, |&it| it), plain.get(place));
                }
                prop_assert_eq!(steady.find(&0, |&it| it), plain.front().filter(|&&it| it == 0));
            }
        }
    }

    #[test]
    fn no_part_of_an_index_holds_much_of_it() {
        let mut index = HashIndex::default();
        for id in 0..100_000_u64 {
            // Keys of a caller's own may be counted.
            index.insert(id, DocId(id), None);
        }
        assert_eq!(index.len(), 100_000);
        assert!(index.parts.iter().all(|part| part.len() < 250), "97 on average");
    }

    #[test]
    fn what_is_taken_out_moves_no_horizon_and_what_leaves_does() {
        let mut window = Window::new(WindowOptions::new(NonZeroU64::new(3).unwrap(), None));
        let push = |window: &mut Window, id: u64| {
            window.push(&Representative::new(DocId(id), Timestamp(0), Key(id), None));
        };
        for id in [2, 5, 7] {
            push(&mut window, id);
        }
        let take = |window: &mut Window, id: u64| window.take(DocId(id)).map(|it| it.id);
        assert_eq!(take(&mut window, 5), Some(DocId(5)));
        assert_eq!([2, 5, 7].map(|id| window.still_has(DocId(id))), [true, false, true]);
        assert_eq!(window.horizon(DocId(8)), DocId(2));
        assert_eq!(take(&mut window, 2), Some(DocId(2)));
        assert_eq!(window.horizon(DocId(8)), DocId(2), "duplicates of both are still there");
        for id in [8, 9] {
            push(&mut window, id);
        }
        assert_eq!(window.horizon(DocId(10)), DocId(2));
        push(&mut window, 10);
        assert_eq!(window.horizon(DocId(11)), DocId(8), "with 7, all before 8 have left");
        assert_eq!([7, 8, 10].map(|id| window.still_has(DocId(id))), [false, true, true]);
        assert_eq!(take(&mut window, 9), Some(DocId(9)));
        for id in [11, 12] {
            push(&mut window, id);
        }
        assert_eq!([8, 9, 10].map(|id| window.still_has(DocId(id))), [false, false, true]);
    }

    #[test]
    fn documents_beyond_the_horizon_leave_an_index() {
        const WINDOW: u64 = 10_000;
        const MOST: usize = 60_000;
        let mut index = HashIndex::default();
        for id in 1..=20 * WINDOW {
            let alias = id.is_multiple_of(2).then_some(id / 2);
            let left = id.saturating_sub(WINDOW);
            index.insert(7, DocId(id), alias);
            index.insert(spread(id), DocId(id), alias);
            index.expire(Horizon { representative: DocId(left), alias: left / 2 });
        }
        assert!(index.len() < MOST, "{}", index.len());
    }

    proptest! {
        #[test]
        fn an_index_finds_what_was_entered_and_has_not_left(
            steps in prop::collection::vec((0..20_u64, 0..4_u64), 0..400),
            first in prop_oneof![Just(1), Just((1 << 32) - 100)],
        ) {
            let (mut index, mut all) = (HashIndex::default(), BTreeMap::new());
            let mut left = first;
            for (id, (hash, leave)) in (first..).zip(steps) {
                index.insert(hash, DocId(id), None);
                all.insert(id, hash);
                left = (left + leave).min(id);
                index.expire(Horizon { representative: DocId(left), alias: 0 });
                for asked in 0..20 {
                    let expected = all.range(left..).filter(|(_, hash)| **hash == asked);
                    let expected: Vec<_> = expected.map(|(id, _)| DocId(*id)).collect();
                    prop_assert_eq!(index.find(asked), expected);
                }
            }
        }
    }
}
