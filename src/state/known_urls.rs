//! Which URLs are known, in memory: the hash, depth and state of each, found by its hash.
//!
//! Some 20 bytes a URL. Nothing is ever removed, and a 64th of the table grows at a time. Two URLs are taken for one if their hashes of 64 bits
//! are equal: with a secret seed, 10^7 URLs have such a pair with a probability of 3 in a million.

use hashbrown::HashTable;

use super::urls::{UrlId, UrlState};

/// Parts of the table, each of which grows by itself.
const PARTS: usize = 64;

/// What a link to a known URL needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownUrl {
    /// Its number.
    pub(crate) id: UrlId,
    /// Links from its seed; at most 65,535.
    pub(crate) depth: u32,
    /// What has become of it.
    pub(crate) state: UrlState,
}

/// The known URLs, numbered from 1.
#[derive(Debug)]
pub(super) struct KnownUrls {
    hashes: Vec<u64>,
    depths: Vec<u16>,
    states: Vec<UrlState>,
    /// Their numbers, by hash.
    parts: Box<[HashTable<u32>]>,
}

impl Default for KnownUrls {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| HashTable::new()).collect();
        Self { hashes: Vec::new(), depths: Vec::new(), states: Vec::new(), parts }
    }
}

impl KnownUrls {
    /// Enters a URL that is not known. `None` if there is no number left for it.
    pub(super) fn push(&mut self, hash: u64, depth: u32, state: UrlState) -> Option<UrlId> {
        let number = self.len().checked_add(1)?;
        let Self { hashes, depths, states, parts } = self;
        hashes.push(hash);
        depths.push(saturated(depth));
        states.push(state);
        parts[part_of(hash)].insert_unique(hash, number, |known| hashes[*known as usize - 1]);
        Some(UrlId(number.into()))
    }

    /// The URL with this hash.
    pub(super) fn find(&self, hash: u64) -> Option<KnownUrl> {
        let is_equal = |known: &u32| self.hashes[*known as usize - 1] == hash;
        let id = UrlId((*self.parts[part_of(hash)].find(hash, is_equal)?).into());
        let (depth, state) = self.get(id)?;
        Some(KnownUrl { id, depth, state })
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.hashes.len()).expect("a number has 32 bits")
    }

    /// The depth and state of a URL.
    pub(super) fn get(&self, id: UrlId) -> Option<(u32, UrlState)> {
        let place = self.place(id)?;
        Some((self.depths[place].into(), self.states[place]))
    }

    /// Sets its depth: the number of links from its seed. Returns whether there is such a URL.
    pub(super) fn set_depth(&mut self, id: UrlId, depth: u32) -> bool {
        self.place(id).map(|place| self.depths[place] = saturated(depth)).is_some()
    }

    /// Says what has become of it. Returns whether there is such a URL.
    pub(super) fn set_state(&mut self, id: UrlId, state: UrlState) -> bool {
        self.place(id).map(|place| self.states[place] = state).is_some()
    }

    fn place(&self, id: UrlId) -> Option<usize> {
        usize::try_from(id.0.checked_sub(1)?).ok().filter(|place| *place < self.hashes.len())
    }
}

/// By other bits than those that tables look at.
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

/// How many links a URL is from its seed, as far as two bytes can say it.
pub(super) fn saturated(depth: u32) -> u16 {
    u16::try_from(depth).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn it_is_a_map() {
        let (mut known, mut model) = (KnownUrls::default(), HashMap::new());
        // Many hashes that point to the same place of the same part, and others.
        let hash = |n: u64| {
            let is_alike = n < 30_000 && n.is_multiple_of(3);
            if is_alike { n << 46 } else { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
        };
        for n in 1..200_000_u32 {
            assert_eq!(known.find(hash(n.into())), None, "{n}");
            let (depth, state) = (n % 70_000, UrlState::Queued);
            let id = known.push(hash(n.into()), depth, state).unwrap();
            assert_eq!(id.0, i64::from(n));
            model.insert(n, KnownUrl { id, depth: depth.min(65_535), state });
        }
        for n in (1..200_000).step_by(7) {
            let one = model.get_mut(&n).unwrap();
            (one.depth, one.state) = (n % 5, UrlState::Judged);
            assert!(known.set_depth(one.id, one.depth) && known.set_state(one.id, one.state));
        }
        for (n, one) in &model {
            assert_eq!(known.find(hash((*n).into())), Some(*one), "{n}");
            assert_eq!(known.get(one.id), Some((one.depth, one.state)));
        }
        for id in [0, -1, 200_000, i64::MAX] {
            let id = UrlId(id);
            assert!(known.get(id).is_none() && !known.set_depth(id, 1));
            assert!(!known.set_state(id, UrlState::Judged));
        }
    }
}
