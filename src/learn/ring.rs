//! What is remembered of the newest keys, in a ring, so that the oldest makes room for the next one.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};

/// Values by their keys, at most `MAX`; the oldest go first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Kept<T>", bound(deserialize = "T: Default + Deserialize<'de>"))]
pub(super) struct Ring<T, const MAX: usize> {
    entries: Vec<(u64, T)>,
    /// Places in the ring.
    #[serde(skip)]
    places: HashTable<u32>,
    #[serde(skip)]
    hasher: DefaultHashBuilder,
    /// The place of the oldest, when the ring is full.
    oldest: usize,
}

/// A ring as it is kept.
#[derive(Deserialize)]
struct Kept<T> {
    entries: Vec<(u64, T)>,
    oldest: usize,
}

impl<T: Default, const MAX: usize> TryFrom<Kept<T>> for Ring<T, MAX> {
    type Error = &'static str;

    fn try_from(Kept { entries, oldest }: Kept<T>) -> Result<Self, Self::Error> {
        if entries.len() > MAX || oldest > entries.len() {
            return Err("it is not of this size");
        }
        let mut ring = Self::default();
        for (key, value) in entries {
            *ring.entry(key) = value;
        }
        ring.oldest = oldest;
        Ok(ring)
    }
}

impl<T: Default, const MAX: usize> Ring<T, MAX> {
    fn place(&self, key: u64) -> Option<usize> {
        let is_it = |place: &u32| self.entries[*place as usize].0 == key;
        self.places.find(self.hasher.hash_one(key), is_it).map(|place| *place as usize)
    }

    /// The value of this key.
    pub(super) fn get(&self, key: u64) -> Option<&T> {
        self.place(key).map(|place| &self.entries[place].1)
    }

    /// The value of this key, which is added if it is new.
    pub(super) fn entry(&mut self, key: u64) -> &mut T {
        let place = match self.place(key) {
            Some(place) => place,
            None => self.add(key),
        };
        &mut self.entries[place].1
    }

    fn add(&mut self, key: u64) -> usize {
        let place = if self.entries.len() < MAX {
            if self.entries.len() == self.entries.capacity() {
                let more = self.entries.len().max(8).min(MAX - self.entries.len());
                self.entries.reserve_exact(more);
            }
            self.entries.push((key, T::default()));
            self.entries.len() - 1
        } else {
            let place = self.oldest;
            self.oldest = (place + 1) % MAX;
            let hash = self.hasher.hash_one(self.entries[place].0);
            if let Ok(old) = self.places.find_entry(hash, |it| *it as usize == place) {
                old.remove();
            }
            self.entries[place] = (key, T::default());
            place
        };
        let (entries, hasher) = (&self.entries, &self.hasher);
        let hash_of = |place: &u32| hasher.hash_one(entries[*place as usize].0);
        let number = u32::try_from(place).expect("the ring is small");
        self.places.insert_unique(hasher.hash_one(key), number, hash_of);
        place
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        self.entries.capacity() * size_of::<(u64, T)>() + self.places.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 20_000;

    #[test]
    fn the_oldest_class_goes_first_and_the_table_does_not_grow() {
        let mut ring = Ring::<u16, MAX>::default();
        for key in 0..10 * MAX as u64 {
            *ring.entry(key) = 7;
        }
        assert!(ring.size() < 1 << 20, "{}", ring.size());
        let first = 9 * MAX as u64;
        assert!(ring.get(first - 1).is_none());
        assert!((first..first + MAX as u64).all(|key| ring.get(key) == Some(&7)));
    }
    #[test]
    fn a_ring_that_is_kept_goes_on_as_before() {
        for keys in [0, 1, 7, 8, 9, 30] {
            let mut ring = Ring::<u16, 8>::default();
            (0..keys).for_each(|key| *ring.entry(key) = 1);
            let kept = postcard::to_allocvec(&ring).unwrap();
            let mut again: Ring<u16, 8> = postcard::from_bytes(&kept).unwrap();
            for key in keys..keys + 20 {
                (*ring.entry(key), *again.entry(key)) = (2, 2);
                assert_eq!((&ring.entries, ring.oldest), (&again.entries, again.oldest));
                assert!((0..=key).all(|it| ring.get(it) == again.get(it)));
            }
            assert!(postcard::from_bytes::<Ring<u16, 4>>(&kept).is_err() == (keys > 4));
        }
    }
}
