//! Which URLs are known, in memory: the hash, depth and state of each, found by its hash.
//!
//! Some 17 bytes a URL. Nothing is ever removed, and growth moves a 64th of the table at a time. Two URLs are taken for one if their hashes of
//! 64 bits are equal: with a secret seed, 10^7 URLs have such a pair with a probability of 3 in a million.

use std::hint::black_box;

use super::urls::{UrlId, UrlState};

/// URLs of a block, so that growth copies none.
const BLOCK: usize = 1 << 16;
/// Parts of the table, each of which grows by itself.
const PARTS: u64 = 64;
/// URLs that enter the table together.
const BATCH: usize = 64;
/// Marks a free place of the table.
const FREE: u32 = 0;

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
    blocks: Vec<Block>,
    len: u32,
    parts: Box<[Part]>,
}

#[derive(Debug)]
struct Block {
    hashes: Vec<u64>,
    depths: Vec<u16>,
    states: Vec<UrlState>,
}

/// A hash table with open addressing: each URL lies at the first free place from where its hash points.
#[derive(Clone, Debug)]
struct Part {
    ids: Vec<u32>,
    used: usize,
}

impl Default for KnownUrls {
    fn default() -> Self {
        let part = |_| Part { ids: vec![FREE; 8], used: 0 };
        Self { blocks: Vec::new(), len: 0, parts: (0..PARTS).map(part).collect() }
    }
}

impl KnownUrls {
    /// Enters a URL that is not known. `None` if there is no number left for it.
    pub(super) fn push(&mut self, hash: u64, depth: u32, state: UrlState) -> Option<UrlId> {
        let id = self.append(hash, depth, state)?;
        let block = self.blocks.len() - 1;
        self.enter(block, self.blocks[block].hashes.len() - 1);
        Some(id)
    }

    /// Enters a URL that is not known, and that is not found before [`index`](Self::index). `None` if there is no number left for it.
    pub(super) fn append(&mut self, hash: u64, depth: u32, state: UrlState) -> Option<UrlId> {
        let id = self.len.checked_add(1)?;
        if (self.len as usize).is_multiple_of(BLOCK) {
            self.blocks.push(Block {
                hashes: Vec::with_capacity(BLOCK),
                depths: Vec::with_capacity(BLOCK),
                states: Vec::with_capacity(BLOCK),
            });
        }
        let block = self.blocks.last_mut()?;
        block.hashes.push(hash);
        block.depths.push(saturated(depth));
        block.states.push(state);
        self.len = id;
        Some(UrlId(id.into()))
    }

    /// Makes the appended URLs found: all that there are.
    pub(super) fn index(&mut self) {
        let places = self.len as usize / self.parts.len() * 4 / 3 + 8;
        self.parts.fill(Part { ids: vec![FREE; places], used: 0 });
        for block in 0..self.blocks.len() {
            let rows = self.blocks[block].hashes.len();
            for first in (0..rows).step_by(BATCH) {
                let together = first..rows.min(first + BATCH);
                // Reads that do not wait for each other bring the places into the cache.
                let is_free = |hash: &u64| {
                    let ids = &self.parts[part_of(*hash)].ids;
                    ids[home(*hash, ids.len())] == FREE
                };
                let hashes = &self.blocks[block].hashes[together.clone()];
                black_box(hashes.iter().filter(|hash| is_free(hash)).count());
                together.for_each(|row| self.enter(block, row));
            }
        }
    }

    /// Enters a URL in the table.
    fn enter(&mut self, block: usize, row: usize) {
        let hash = self.blocks[block].hashes[row];
        let part = &mut self.parts[part_of(hash)];
        if part.used * 20 >= part.ids.len() * 17 {
            part.grow(part.ids.len() * 5 / 4 + 1, &self.blocks);
        }
        part.put(hash, number(block, row));
        part.used += 1;
    }

    /// The URL with this hash.
    pub(super) fn find(&self, hash: u64) -> Option<KnownUrl> {
        let ids = &self.parts[part_of(hash)].ids;
        let mut place = home(hash, ids.len());
        while ids[place] != FREE {
            let id = UrlId(ids[place].into());
            let (block, row) = self.place(id)?;
            if block.hashes[row] == hash {
                let (depth, state) = (block.depths[row].into(), block.states[row]);
                return Some(KnownUrl { id, depth, state });
            }
            place = (place + 1) % ids.len();
        }
        None
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Links from its seed, and what has become of it.
    pub(super) fn get(&self, id: UrlId) -> Option<(u32, UrlState)> {
        let (block, row) = self.place(id)?;
        Some((block.depths[row].into(), block.states[row]))
    }

    /// Sets its depth: the number of links from its seed. Returns whether there is such a URL.
    pub(super) fn set_depth(&mut self, id: UrlId, depth: u32) -> bool {
        let Some((block, row)) = index(id, self.len) else { return false };
        self.blocks[block].depths[row] = saturated(depth);
        true
    }

    /// Says what has become of it. Returns whether there is such a URL.
    pub(super) fn set_state(&mut self, id: UrlId, state: UrlState) -> bool {
        let Some((block, row)) = index(id, self.len) else { return false };
        self.blocks[block].states[row] = state;
        true
    }

    fn place(&self, id: UrlId) -> Option<(&Block, usize)> {
        let (block, row) = index(id, self.len)?;
        Some((&self.blocks[block], row))
    }
}

impl Part {
    fn put(&mut self, hash: u64, id: u32) {
        let mut place = home(hash, self.ids.len());
        while self.ids[place] != FREE {
            place = (place + 1) % self.ids.len();
        }
        self.ids[place] = id;
    }

    fn grow(&mut self, places: usize, blocks: &[Block]) {
        let ids = std::mem::replace(&mut self.ids, vec![FREE; places]);
        for id in ids.into_iter().filter(|id| *id != FREE) {
            let row = id as usize - 1;
            self.put(blocks[row / BLOCK].hashes[row % BLOCK], id);
        }
    }
}

fn part_of(hash: u64) -> usize {
    (hash % PARTS) as usize
}

/// The place of a table with `len` places to which a hash points: by its upper bits.
#[expect(clippy::cast_possible_truncation, reason = "it is less than the length")]
fn home(hash: u64, len: usize) -> usize {
    ((u128::from(hash) * len as u128) >> 64) as usize
}

/// The number of the URL in this row of a block.
#[expect(clippy::cast_possible_truncation, reason = "there are at most 2^32 URLs")]
fn number(block: usize, row: usize) -> u32 {
    (block * BLOCK + row + 1) as u32
}

/// Its block, and its row there.
fn index(id: UrlId, len: u32) -> Option<(usize, usize)> {
    let row = usize::try_from(id.0.checked_sub(1)?).ok().filter(|row| *row < len as usize)?;
    Some((row / BLOCK, row % BLOCK))
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
            if is_alike { n << 6 } else { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
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
        let mut loaded = KnownUrls::default();
        for n in 1..20_000_u32 {
            let one = model[&n];
            loaded.append(hash(n.into()), one.depth, one.state).unwrap();
        }
        loaded.index();
        for n in 1..20_000_u32 {
            assert_eq!(loaded.find(hash(n.into())), Some(model[&n]), "{n}");
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
