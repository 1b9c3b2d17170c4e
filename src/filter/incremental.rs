//! Collections that never move all their content at once, so that no document waits for them to grow, and memory grows in small steps: one
//! step moves at most a thousandth of the whole.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

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
