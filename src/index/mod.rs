//! Finds the documents of the window whose fingerprint differs in few bits.
//!
//! TODO

mod bits;
mod block_index;
mod buckets;
#[cfg(test)]
mod contract;
mod growth;
mod memory;
mod pigeonhole;
mod plan;
mod probes;
mod queue;
mod scan;
mod search;
mod simd;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod texts;

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::{fingerprint::Fingerprint, page::DocId};

pub use block_index::BlockIndex;
pub use memory::RefusedError;
pub use pigeonhole::{Pigeonhole, RadiusError};
pub use plan::{BudgetError, IndexError, MAX_ENTRIES, MAX_RADIUS, Plan};
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
    /// Documents that did not enter because as many with an equal fingerprint were there already.
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

    /// The nearest document within `radius`, of equally near ones the oldest: the first of [`candidates`](Self::candidates). An index may
    /// find it sooner than all.
    ///
    /// # Panics
    /// If `radius` is larger than [`max_radius`](Self::max_radius).
    fn nearest(&self, fingerprint: Fingerprint, radius: u32) -> Option<Candidate> {
        let mut candidates = Vec::new();
        self.candidates(fingerprint, radius, &mut candidates);
        candidates.first().copied()
    }

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
