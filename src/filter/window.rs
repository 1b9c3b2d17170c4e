//! The rolling window: the unique documents (representatives) that later ones may still repeat.
//!
//! The oldest leave when they are too old, or when there are too many (`WindowOptions`). With a representative, these leave: its fingerprint
//! in the index, its digests, its aliases, and what is kept of its content. An alias is the digest of a duplicate's body or text, by which later documents match the
//! duplicate's representative. An alias also leaves when `entries` newer ones exist (`Engine::horizon`).
//!
//! In a file (`state/`), `documents` has representatives and aliases with their digests. A commit drops rows that have left the window from
//! `contents` and `keys`, and from `documents` unless a crawl keeps them for its report. `templates` does not depend on the window.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    num::NonZeroU64,
    time::Duration,
};

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
        Self {
            entries: NonZeroU64::new(5_000_000).expect("not zero"),
            age: Some(Duration::from_hours(90 * 24)),
            future: false,
        }
    }
}

/// A representative: a unique document that later ones may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Representative {
    /// Its number. Representatives leave the window in this order.
    pub(crate) id: DocId,
    /// When it arrived, by the window's clock.
    pub(crate) at: Timestamp,
    /// Its key.
    pub(crate) key: Key,
    /// Its origin, if it has one.
    pub(crate) origin: Option<OriginKey>,
    /// Its signature, if it takes part in near matching: its text is long enough, and the index had room for its fingerprint.
    pub(crate) signature: Option<Signature>,
    /// Whether its content is kept.
    pub(crate) has_content: bool,
}

/// A representative in 72 bytes: number, time, key, flags (is there a signature, and a sketch?), the origin's key or 0, and the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed([u64; 9]);

/// A flag of a packed representative.
const HAS_CONTENT: u64 = 1 << 32;

impl Packed {
    fn of(representative: &Representative) -> Self {
        let Representative { id, at, key, origin, signature, has_content } = *representative;
        let origin = origin.map_or(0, OriginKey::get);
        let [a, b, c, d] = signature.map_or([0; 4], |signature| signature.0);
        let flags = u64::from(signature.is_some()) | if has_content { HAS_CONTENT } else { 0 };
        Self([id.0, at.0.cast_unsigned(), key.0, flags, origin, a, b, c, d])
    }

    fn unpacked(&self) -> Representative {
        let [id, at, key, flags, origin, signature @ ..] = self.0;
        Representative {
            id: DocId(id),
            at: Timestamp(at.cast_signed()),
            key: Key(key),
            origin: OriginKey::new(origin),
            signature: (flags & !HAS_CONTENT != 0).then_some(Signature(signature)),
            has_content: flags & HAS_CONTENT != 0,
        }
    }

    fn id(&self) -> DocId {
        DocId(self.0[0])
    }
}

/// The representatives that may still be matched, oldest first, and the clock by which they age.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    options: WindowOptions,
    /// By number. A full block has 72 KiB.
    queue: IncrementalQueue<Packed>,
    /// How many of them are pages.
    pub(crate) pages: usize,
    /// The latest representative of each key, if that is asked for: some 27 bytes each.
    by_key: Option<IncrementalMap<u64, DocId>>,
    pub(super) clock: Timestamp,
}

impl Window {
    pub(super) fn new(options: WindowOptions) -> Self {
        let clock = Timestamp(i64::MIN);
        Self { options, queue: IncrementalQueue::default(), pages: 0, by_key: None, clock }
    }

    /// Finds representatives by their keys from now on.
    pub(super) fn index_keys(&mut self) {
        let mut by_key = IncrementalMap::default();
        for representative in self.iter() {
            by_key.part(part(representative.key)).insert(representative.key.0, representative.id);
        }
        self.by_key = Some(by_key);
    }

    /// The latest representative of this key, if keys are [indexed](Self::index_keys).
    pub(super) fn latest(&self, key: Key) -> Option<Representative> {
        self.get(*self.by_key.as_ref()?.get(part(key), &key.0)?)
    }

    /// Moves the clock to `at`, never back.
    pub(super) fn advance(&mut self, at: Timestamp) {
        self.clock = self.clock.max(at);
    }

    /// Drops what is too old.
    pub(super) fn expire(&mut self) {
        let Some(age) = self.options.age else { return };
        let oldest = self.clock - age;
        while self.queue.front().is_some_and(|front| front.unpacked().at < oldest) {
            self.pop();
        }
    }

    /// The number of the oldest representative that may still be matched, or `next` if there is none.
    pub(super) fn horizon(&self, next: DocId) -> DocId {
        self.queue.front().map_or(next, Packed::id)
    }

    /// Takes in a representative; if there are too many now, the oldest leaves.
    pub(super) fn push(&mut self, representative: &Representative) {
        self.queue.push(Packed::of(representative));
        self.pages += usize::from(representative.has_content);
        if let Some(by_key) = &mut self.by_key {
            by_key.part(part(representative.key)).insert(representative.key.0, representative.id);
        }
        while self.len() as u64 > self.options.entries.get() {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(front) = self.queue.pop_if(|_| true) {
            self.left(&front.unpacked());
        }
    }

    fn left(&mut self, representative: &Representative) {
        self.pages -= usize::from(representative.has_content);
        let Some(by_key) = &mut self.by_key else { return };
        let by_key = by_key.part(part(representative.key));
        if by_key.get(&representative.key.0) == Some(&representative.id) {
            by_key.remove(&representative.key.0);
        }
    }

    /// Removes a representative.
    pub(super) fn take(&mut self, id: DocId) -> Option<Representative> {
        let taken = self.queue.take(&id, Packed::id)?.unpacked();
        self.left(&taken);
        Some(taken)
    }

    /// Whether a representative is still in the window.
    pub(super) fn still_has(&self, id: DocId) -> bool {
        self.queue.front().is_some_and(|oldest| oldest.id() <= id) && self.get(id).is_some()
    }

    /// The representative of this number, if it is in the window.
    pub(super) fn get(&self, id: DocId) -> Option<Representative> {
        self.queue.find(&id, Packed::id).map(Packed::unpacked)
    }

    /// All representatives, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Representative> {
        self.queue.iter().map(Packed::unpacked)
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// How many representatives it may hold.
    pub(super) fn capacity(&self) -> u64 {
        self.options.entries.get()
    }
}

/// The part of a map that has this key.
fn part(key: Key) -> u16 {
    (key.0 >> 48) as u16
}

/// `"90d"` or `"unlimited"`.
mod age {
    use std::{borrow::Cow, time::Duration};

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
        if text == UNLIMITED {
            return Ok(None);
        }
        let wrong = |why: &dyn std::fmt::Display| {
            D::Error::custom(format_args!(
                "{text:?}: {why}; write for instance \"90d\", or \"{UNLIMITED}\""
            ))
        };
        match humantime_serde::re::humantime::parse_duration(&text) {
            Ok(Duration::ZERO) => Err(wrong(&"nothing would be remembered")),
            Ok(age) => Ok(Some(age)),
            Err(error) => Err(wrong(&error)),
        }
    }
}

// Collections that never move all their content at once, so that no document waits for them to grow, and memory grows in small steps: one
// step moves at most a thousandth of the whole.

/// Values of a full block.
pub(super) const BLOCK: usize = 1024;
/// Parts of a map. Each grows by itself, and moves so small a share of the whole.
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

    /// The value at this place, in a queue from which none was [taken](Self::take).
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        let first = self.blocks.front()?.len();
        match place.checked_sub(first) {
            None => self.blocks.front()?.get(place),
            Some(beyond) => self.blocks.get(1 + beyond / BLOCK)?.get(beyond % BLOCK),
        }
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

/// A map in parts. The caller spreads its keys evenly over them.
#[derive(Clone, Debug)]
pub(super) struct IncrementalMap<K, V> {
    parts: Box<[HashMap<K, V>]>,
}

impl<K, V> Default for IncrementalMap<K, V> {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| HashMap::new()).collect() }
    }
}

impl<K: Eq + Hash, V> IncrementalMap<K, V> {
    /// The part of this number, of any size.
    pub(super) fn part(&mut self, number: u16) -> &mut HashMap<K, V> {
        &mut self.parts[usize::from(number) % PARTS]
    }

    pub(super) fn get(&self, number: u16, key: &K) -> Option<&V> {
        self.parts[usize::from(number) % PARTS].get(key)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }
}

#[cfg(test)]
impl<T> IncrementalQueue<T> {
    /// For how many there is room.
    pub(super) fn room(&self) -> usize {
        self.blocks.iter().map(VecDeque::capacity).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(id: u64) -> Packed {
        let (id, at) = (DocId(id), Timestamp(0));
        Packed::of(&Representative {
            id,
            at,
            key: Key(0),
            origin: None,
            signature: None,
            has_content: false,
        })
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_of_numbers(
            gaps in prop::collection::vec(prop_oneof![4 => Just(1), 2 => 1..4_u64, 1 => 1..1_u64 << 50], 0..6000),
            taken in prop::collection::vec((0..10_000_usize, any::<bool>()), 0..6000),
            clustered in any::<bool>(),
        ) {
            let mut queue = IncrementalQueue::default();
            let mut model = std::collections::BTreeSet::new();
            let ids: Vec<u64> = gaps.iter().scan(0, |id, gap| { *id += gap; Some(*id) }).collect();
            for &id in &ids {
                queue.push(packed(id));
                model.insert(id);
            }
            for (number, &(of, pops)) in taken.iter().enumerate() {
                let of = if clustered { of / 8 + 2_000 } else { of };
                let Some(&id) = ids.get(of * ids.len() / 10_000) else { continue };
                if pops && number % 16 == 0 {
                    prop_assert_eq!(queue.pop_if(|_| true).map(|packed| packed.id().0), model.pop_first());
                } else {
                    let taken = queue.take(&DocId(id), Packed::id).map(|packed| packed.id().0);
                    prop_assert_eq!(taken, model.take(&id));
                }
                prop_assert_eq!(queue.front().map(|packed| packed.id().0), model.first().copied());
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert!(queue.iter().map(|packed| packed.id().0).eq(model.iter().copied()));
            for id in ids.iter().flat_map(|&id| [id - 1, id, id + 1]).chain([0, u64::MAX]) {
                let found = queue.find(&DocId(id), Packed::id).map(|packed| packed.id().0);
                prop_assert_eq!(found, model.get(&id).copied());
            }
            prop_assert!(queue.room() <= 3 * queue.len() + 3 * BLOCK, "{} for {}", queue.room(), queue.len());
        }
    }
}

#[cfg(test)]
mod incremental_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
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
                    prop_assert_eq!(steady.get(place), plain.get(place));
                    let key = place + next - plain.len();
                    prop_assert_eq!(steady.find(&key, |&it| it), plain.get(place));
                }
                prop_assert_eq!(steady.find(&0, |&it| it), plain.front().filter(|&&it| it == 0));
            }
        }
    }

    #[test]
    fn no_part_of_a_map_holds_much_of_it() {
        let mut map = IncrementalMap::default();
        for n in 0..100_000_u32 {
            let hash = blake3::hash(&n.to_le_bytes());
            let [low, high, ..] = *hash.as_bytes();
            map.part(u16::from_le_bytes([low, high])).insert(n, ());
        }
        assert_eq!(map.len(), 100_000);
        assert!(map.parts.iter().all(|part| part.len() < 250), "97 on average");
    }
}
