//! Collections that never move all that they hold at once, so that no document waits for their growth: not for more than a thousandth of it.

use std::collections::{HashMap, VecDeque};

use crate::fingerprint::Digest;

/// Values of a full block.
const BLOCK: usize = 1024;
/// Parts of a map. Each grows by itself, and moves so small a share of the whole.
const PARTS: usize = 1024;

/// A queue in blocks: growth moves no value, only now and then the list of blocks, and what has left gives its memory back.
#[derive(Clone, Debug)]
pub(super) struct SteadyQueue<T> {
    /// None is empty, and all but the first and the last are full.
    blocks: VecDeque<VecDeque<T>>,
}

impl<T> Default for SteadyQueue<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new() }
    }
}

impl<T> SteadyQueue<T> {
    pub(super) fn len(&self) -> usize {
        let (first, last) = (self.blocks.front(), self.blocks.back());
        match self.blocks.len() {
            0 => 0,
            1 => first.map_or(0, VecDeque::len),
            n => (n - 2) * BLOCK + first.map_or(0, VecDeque::len) + last.map_or(0, VecDeque::len),
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<&T> {
        let first = self.blocks.front()?.len();
        match place.checked_sub(first) {
            None => self.blocks.front()?.get(place),
            Some(beyond) => self.blocks.get(1 + beyond / BLOCK)?.get(beyond % BLOCK),
        }
    }

    pub(super) fn push(&mut self, value: T) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push_back(value),
            _ => {
                let mut block = VecDeque::with_capacity(BLOCK);
                block.push_back(value);
                self.blocks.push_back(block);
            }
        }
    }

    pub(super) fn pop_if(&mut self, leaves: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let value = block.pop_front_if(leaves)?;
        if block.is_empty() {
            self.blocks.pop_front();
        }
        Some(value)
    }
}

/// A map by digests in parts: digests are spread evenly over them.
#[derive(Clone, Debug)]
pub(super) struct SteadyMap<V> {
    parts: Box<[HashMap<Digest, V>]>,
}

impl<V> Default for SteadyMap<V> {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| HashMap::new()).collect() }
    }
}

impl<V> SteadyMap<V> {
    fn part(digest: Digest) -> usize {
        usize::from(u16::from_le_bytes([digest.0[0], digest.0[1]])) % PARTS
    }

    pub(super) fn get(&self, digest: Digest) -> Option<&V> {
        self.parts[Self::part(digest)].get(&digest)
    }

    /// The value that was there before.
    pub(super) fn insert(&mut self, digest: Digest, value: V) -> Option<V> {
        self.parts[Self::part(digest)].insert(digest, value)
    }

    pub(super) fn remove(&mut self, digest: Digest) {
        self.parts[Self::part(digest)].remove(&digest);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_queue_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..3000_usize), 0..12)) {
            let (mut steady, mut plain) = (SteadyQueue::default(), VecDeque::new());
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
                prop_assert_eq!(steady.len(), plain.len());
                prop_assert!(steady.blocks.iter().all(|block| (1..=1024).contains(&block.len())));
                prop_assert!(steady.blocks.iter().all(|block| block.capacity() == 1024), "none has grown");
                prop_assert!(steady.pop_if(|_| false).is_none());
                for place in [0, 1, plain.len() / 2, plain.len().saturating_sub(1), plain.len()] {
                    prop_assert_eq!(steady.get(place), plain.get(place));
                }
            }
        }
    }

    #[test]
    fn a_map_is_a_map() {
        let mut map = SteadyMap::default();
        let digest =
            |n: u32| Digest(*blake3::hash(&n.to_le_bytes()).as_bytes().first_chunk().unwrap());
        for n in 0..5000 {
            assert_eq!(map.insert(digest(n), n), None);
            assert_eq!(map.insert(digest(n), n + 1), Some(n));
        }
        for n in (0..5000).step_by(2) {
            map.remove(digest(n));
        }
        assert_eq!(map.len(), 2500);
        assert!((0..5000).all(|n| map.get(digest(n)).copied() == (n % 2 == 1).then_some(n + 1)));
    }

    #[test]
    fn no_part_of_a_map_holds_much_of_it() {
        let mut map = SteadyMap::default();
        for n in 0..100_000_u32 {
            map.insert(
                Digest(*blake3::hash(&n.to_le_bytes()).as_bytes().first_chunk().unwrap()),
                (),
            );
        }
        assert!(map.parts.iter().all(|part| part.len() < 250), "97 on average");
    }
}
