//! Finds the documents of the window whose fingerprint differs in few bits.
//!
//! Every fingerprint within the radius is found: exact by construction, and tested against [`Scan`], which compares with all. [`BlockIndex`] is
//! the index to use; [`Pigeonhole`] is the plain scheme of the literature, for reading and for comparison. Sits between
//! [`crate::fingerprint`] and [`crate::filter`]; knows nothing of texts, signatures or time.
//!
//! # How it works
//!
//! ```text
//!  fingerprint, bits permuted   | key 0 | key 1 | key 2 | left |      a key has 8 to 32 bits
//!                                   │       └───────┴── tag: the 32 bits that follow the key
//!                                   ▼
//!  table 0: a bucket for each key   [ inline part: 28 entries ] ──► page of 28 ──► page of 28
//!                                     entry = tag + slot             (overflow chain)
//!                                                    │
//!  queue, in order of arrival:      ... | fingerprint, id | fingerprint, id | ...
//! ```
//!
//! **Tables** (`tables.rs`). The queue holds all fingerprints in the order of their arrival, and each has an entry in each of one to four tables. A
//! table files it in a bucket by its *key*: a group of bits that no other table's key uses. If k bits of two fingerprints differ, some key has
//! few of them. So a query reads the bucket of its own key in each table and those of keys that differ in one bit, or two, or three: for
//! radius 9 with three tables, two within 2 and one within 3. Entries with a near tag are confirmed by the whole fingerprint.
//!
//! **Probe plan** (`probes.rs`). The tables are read one after the other, first near the key and then farther away. What has not been found yet
//! differs in each key by more than was probed, so that few differing bits are left for any one of the others. That is why a tag begins
//! with bits of the next key: in most buckets of a query its first 16 bits alone are compared, and the rest is not read.
//!
//! **Bit selection** (`probes.rs`). Fingerprints of texts are skewed: texts of one language share words, and so bits. Keys are made of the bits
//! that differ most often in a sample of the window, and those that are probed farthest get the best. (The sample is taken when tables are made, at
//! an eighth of their size. If a window changes its language altogether, buckets become fuller and queries slower; nothing is missed.)
//!
//! **Buckets** (`buckets.rs`). The window rolls, and what comes first leaves first, in each bucket as in the whole. So a bucket is a queue: a
//! ring on a page of 28 entries, and a chain of pages for what has no room there. Nothing is searched or moved to insert or expire.
//!
//! **Search** (`search.rs`, `simd.rs`). A query spends its time waiting for memory, so everything is requested ahead. 28 tags are compared at once
//! (AVX2 where the processor has it, portable code elsewhere).
//!
//! **Growth** (`growth.rs`). A window passes through smaller tables: none up to 4,096 entries, which are scanned, then tables for eight times as many
//! as the last. The next are built beside the active ones, a few entries with each document, so that no document waits.
//!
//! **Removal** (`block_index.rs`). A document that is [removed](Index::remove) leaves a tombstone until its entry is the oldest. If more than a
//! quarter are tombstones, the oldest live entries move to the end of the queue, some with each call.
//!
//! # Which tables
//!
//! [`TableLayout::choose`] takes the first of a short list, the fastest first, that fits into the memory (`layout.rs`). With enough of it:
//!
//! | window | bits of the keys for radius 3 | for radius 9 |
//! |---|---|---|
//! | 10^6 | 16, 16, 16, 16 | 16, 16, 16, 16 |
//! | 10^7 | 19, 19, 19 | 19, 19, 19 |
//! | 10^8 | 23, 23 | 21, 21, 21 |
//!
//! Windows are limited to [`MAX_ENTRIES`]. `docs/index.md` has what was measured, and what was tried and dropped.
//!
//! # Hot values
//!
//! A million error pages have one fingerprint. Of documents with equal fingerprints the oldest [256](BlockIndex::EQUAL_LIMIT) are held; a newer
//! one does not enter and is counted in the [`Audit`]. So no value takes more than 256 entries in each table, and a query returns at most 256 equal
//! ones. Values that are near each other and not equal have no such limit: a query returns all within its radius.

mod block_index;
mod buckets;
mod growth;
mod layout;
mod memory;
mod pigeonhole;
mod probes;
mod queue;
mod scan;
mod search;
mod simd;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::{fingerprint::Fingerprint, page::DocId};

pub use block_index::BlockIndex;
pub use layout::{BudgetError, IndexError, MAX_ENTRIES, MAX_RADIUS, TableLayout};
pub use memory::RefusedError;
#[doc(hidden)]
pub use pigeonhole::Pigeonhole;
#[doc(hidden)]
pub use scan::Scan;

/// A document whose fingerprint lies within the radius of the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The document.
    pub id: DocId,
    /// In how many of the 64 bits the fingerprints differ.
    pub distance: u32,
}

/// What an index counted of its own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    /// Queries whose result was compared with a scan.
    pub checked: u64,
    /// Documents that the scan found and the tables did not: 0, or the index is broken.
    pub missed: u64,
    /// Documents that did not enter because the limit of equal fingerprints was reached.
    pub over: u64,
}

impl Add for Audit {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            checked: self.checked + other.checked,
            missed: self.missed + other.missed,
            over: self.over + other.over,
        }
    }
}

/// Exact search within a Hamming radius over a rolling window. Synchronous: a query takes microseconds.
///
/// An index holds documents until they expire, and never returns one that has left.
pub trait Index {
    /// The largest radius that [`candidates`](Self::candidates) may be asked for.
    fn max_radius(&self) -> u32;

    /// Replaces `out` by all documents of the window within `radius` (at most [`max_radius`](Self::max_radius)) of `fingerprint`, the
    /// nearest first, of equally near ones the oldest first.
    ///
    /// # Panics
    /// If `radius` is larger than [`max_radius`](Self::max_radius).
    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>);

    /// Adds a document. Ids grow from call to call. Returns whether it entered: an index may refuse one of which there are too many
    /// with an equal fingerprint.
    ///
    /// # Panics
    /// If `id` is not larger than the one before.
    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool;

    /// Adds many documents, as one after the other: for a window that is restored. An index may do it at less cost.
    ///
    /// # Panics
    /// If the ids do not grow.
    fn insert_all(&mut self, documents: impl IntoIterator<Item = (DocId, Fingerprint)>)
    where
        Self: Sized,
    {
        for (id, fingerprint) in documents {
            self.insert(id, fingerprint);
        }
    }

    /// Removes one document before it expires. Returns its fingerprint, or `None` if it was not there.
    fn remove(&mut self, id: DocId) -> Option<Fingerprint>;

    /// Removes all documents older than `horizon`: from now on they are not returned.
    fn expire(&mut self, horizon: DocId);

    /// How many documents it holds. An index may have to count some that have left and wait to be removed.
    fn len(&self) -> usize;

    /// What it counted of its own work: nothing, unless the index counts.
    fn audit(&self) -> Audit {
        Audit::default()
    }

    /// Whether it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
