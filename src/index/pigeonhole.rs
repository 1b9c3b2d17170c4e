//! The pigeonhole scheme: of k+1 blocks, one must be equal.
//!
//! Two fingerprints that differ in at most k bits agree in at least one of k+1 blocks of bits (Manku, Jain, Das Sarma, *Detecting
//! Near-Duplicates for Web Crawling*, WWW 2007). So each document stands in k+1 tables, in each under the value of one block, and a
//! query looks only at the documents that share a block with it: about `(k+1)·n/2^(64/(k+1))` of `n`.
//!
//! A table's bucket is a chain: the table remembers the newest document of each block value, every document the one before it.
//! Links lead from newer to older documents only, so a walk ends at the first one that has left the window. Documents leave
//! without being unlinked, their places are used again, and neither insertion nor expiry searches anything.

use std::collections::BTreeSet;

use super::{Candidate, Index};
use crate::{fingerprint::Fingerprint, page::DocId};

/// The largest radius of this layout: four blocks of 16 bits.
pub(super) const MAX_RADIUS: u32 = 3;

const MAX_BLOCKS: usize = MAX_RADIUS as usize + 1;
const MAX_DIRECTORY_BITS: u32 = 20;
/// Odd, close to 2^64 divided by the golden ratio: spreads block values over the directory (Knuth, TAOCP 3, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An exact index for radius 0 to 3 over a window that rolls: of radius + 1 blocks of bits, one must be equal.
///
/// It takes 24 bytes a document and 8 for its id, in arrays that grow to the size of the window and no further.
///
/// ```
/// use pagesieve::{DocId, Fingerprint, index::{Index, Pigeonhole}};
///
/// let mut index = Pigeonhole::new(3);
/// index.insert(DocId(1), Fingerprint(0b0000));
/// index.insert(DocId(2), Fingerprint(0b0011));
/// let mut found = Vec::new();
/// index.candidates(Fingerprint(0b0111), 3, &mut found);
/// assert_eq!(found.iter().map(|c| (c.id.0, c.distance)).collect::<Vec<_>>(), [(2, 1), (1, 3)]);
///
/// index.expire(DocId(2)); // document 1 has left the window
/// index.candidates(Fingerprint(0b0111), 3, &mut found);
/// assert_eq!(found.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Pigeonhole {
    tables: Vec<Table>,
    /// Documents by their ordinal modulo the (power of two) length: a ring.
    entries: Vec<Entry>,
    ids: Vec<DocId>,
    /// The ordinal that the next document gets, modulo 2^32.
    next: u32,
    /// How many of the latest ordinals are in the window.
    live: u32,
    /// Documents that were removed before they expired.
    removed: BTreeSet<DocId>,
}

/// The documents by the value of one block of their bits.
#[derive(Clone, Debug)]
struct Table {
    shift: u32,
    mask: u64,
    /// How far the spread value of a block is shifted to become a place in `newest`.
    directory_shift: u32,
    /// The ordinal of the newest document in each chain; what is there before the first has left the window by definition.
    newest: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    fingerprint: u64,
    /// The ordinal before this one in each table's chain.
    previous: [u32; MAX_BLOCKS],
}

impl Pigeonhole {
    /// An empty index for queries up to `radius`.
    ///
    /// # Panics
    /// If `radius` is larger than 3.
    #[must_use]
    pub fn new(radius: u32) -> Self {
        assert!(radius <= MAX_RADIUS, "radius {radius} is larger than {MAX_RADIUS}");
        let blocks = radius + 1;
        let bounds = |i: u32| i * u64::BITS / blocks;
        let tables =
            (0..blocks).map(|i| Table::new(bounds(i), bounds(i + 1) - bounds(i))).collect();
        let (entries, ids, removed) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { tables, entries, ids, next: 1, live: 0, removed }
    }

    /// How many ordinals ago this one was given; beyond `live` it is no document of the window.
    fn age(&self, ordinal: u32) -> u32 {
        self.next.wrapping_sub(ordinal)
    }

    fn slot(&self, ordinal: u32) -> usize {
        ordinal as usize & (self.entries.len() - 1)
    }

    fn visit_chain(&self, table: usize, fingerprint: u64, mut visit: impl FnMut(DocId, u64)) {
        let mut ordinal = self.tables[table].newest[self.tables[table].place(fingerprint)];
        let mut last_age = 0;
        // A chain untouched for 2^32 insertions may lead to a stranger: ages that grow end the walk all the same.
        while self.age(ordinal) <= self.live && self.age(ordinal) > last_age {
            last_age = self.age(ordinal);
            let slot = self.slot(ordinal);
            let entry = &self.entries[slot];
            visit(self.ids[slot], entry.fingerprint);
            ordinal = entry.previous[table];
        }
    }

    /// Doubles the ring and lays every document of the window where its ordinal now belongs.
    fn grow(&mut self) {
        let len = (self.entries.len() * 2).max(1024);
        assert!(
            u32::try_from(len).is_ok_and(|len| len <= 1 << 31),
            "the index holds at most 2^31 documents"
        );
        let mut entries = vec![Entry::default(); len];
        let mut ids = vec![DocId(0); len];
        for age in 1..=self.live {
            let ordinal = self.next.wrapping_sub(age);
            let (from, to) = (self.slot(ordinal), ordinal as usize & (len - 1));
            entries[to] = self.entries[from];
            ids[to] = self.ids[from];
        }
        self.entries = entries;
        self.ids = ids;
    }

    fn oldest(&self) -> Option<DocId> {
        (self.live > 0).then(|| self.ids[self.slot(self.next.wrapping_sub(self.live))])
    }
}

impl Index for Pigeonhole {
    fn max_radius(&self) -> u32 {
        u32::try_from(self.tables.len()).expect("at most four tables") - 1
    }

    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>) {
        assert!(
            radius <= self.max_radius(),
            "radius {radius} asked of an index for {}",
            self.max_radius()
        );
        out.clear();
        if self.live == 0 {
            return;
        }
        for table in 0..self.tables.len() {
            self.visit_chain(table, fingerprint.0, |id, other| {
                let distance = fingerprint.distance(Fingerprint(other));
                // A document that shares several blocks is taken from the first of them only.
                if distance <= radius
                    && !self.removed.contains(&id)
                    && first_equal_block(&self.tables, fingerprint.0 ^ other) == Some(table)
                {
                    out.push(Candidate { id, distance });
                }
            });
        }
        out.sort_unstable_by_key(|candidate| (candidate.distance, candidate.id));
    }

    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool {
        if self.live as usize == self.entries.len() {
            self.grow();
        }
        assert!(self.live == 0 || self.ids[self.slot(self.next.wrapping_sub(1))] < id, "ids grow");
        let mut previous = [0; MAX_BLOCKS];
        for (table, previous) in self.tables.iter_mut().zip(&mut previous) {
            let place = table.place(fingerprint.0);
            *previous = std::mem::replace(&mut table.newest[place], self.next);
        }
        let slot = self.slot(self.next);
        self.entries[slot] = Entry { fingerprint: fingerprint.0, previous };
        self.ids[slot] = id;
        self.next = self.next.wrapping_add(1);
        self.live += 1;
        true
    }

    fn remove(&mut self, id: DocId) -> Option<Fingerprint> {
        let ages = 1..=self.live;
        let slots = ages.map(|age| self.slot(self.next.wrapping_sub(age)));
        let slot = slots.into_iter().find(|&slot| self.ids[slot] == id)?;
        self.removed.insert(id).then_some(Fingerprint(self.entries[slot].fingerprint))
    }

    fn expire(&mut self, horizon: DocId) {
        while let Some(id) = self.oldest()
            && id < horizon
        {
            self.live -= 1;
            self.removed.remove(&id);
        }
    }

    fn len(&self) -> usize {
        self.live as usize - self.removed.len()
    }
}

impl Table {
    fn new(shift: u32, width: u32) -> Self {
        let directory_bits = width.min(MAX_DIRECTORY_BITS);
        Self {
            shift,
            mask: u64::MAX >> (u64::BITS - width),
            directory_shift: u64::BITS - directory_bits,
            newest: vec![0; 1 << directory_bits],
        }
    }

    fn block(&self, fingerprint: u64) -> u64 {
        fingerprint >> self.shift & self.mask
    }

    #[expect(clippy::cast_possible_truncation, reason = "a place has at most 20 bits")]
    fn place(&self, fingerprint: u64) -> usize {
        (self.block(fingerprint).wrapping_mul(SPREAD) >> self.directory_shift) as usize
    }
}

fn first_equal_block(tables: &[Table], difference: u64) -> Option<usize> {
    tables.iter().position(|table| table.block(difference) == 0)
}

#[cfg(test)]
impl Pigeonhole {
    /// An index whose first document gets this ordinal.
    pub(super) fn starting_at(radius: u32, ordinal: u32) -> Self {
        Self::new(radius).restarted_at(ordinal)
    }

    /// The same chains, after as many insertions as lead to this ordinal; all documents have left.
    pub(super) fn restarted_at(self, ordinal: u32) -> Self {
        Self { next: ordinal, live: 0, removed: BTreeSet::new(), ..self }
    }

    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }
}
