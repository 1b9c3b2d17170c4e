//! Finds, among the documents of the window, those whose fingerprint differs in few bits.
//!
//! Sits between [`crate::fingerprint`] and [`crate::filter`]. Every fingerprint of the window within the radius is found: exact by
//! construction and proven against [`Scan`], which compares with everything. Knows nothing of texts, signatures or time: the
//! filter says which documents have left the window.

mod audit;
mod block_index;
mod blocks;
#[cfg(test)]
mod contract;
mod homes;
mod ids;
mod key;
mod lanes;
mod layout;
mod pages;
mod pigeonhole;
mod plan;
mod scan;
mod search;
mod slab;
mod slots;
mod tables;
#[cfg(test)]
mod tests;

use crate::{fingerprint::Fingerprint, page::DocId};

pub use audit::Audit;
pub use block_index::BlockIndex;
pub use layout::{Entry, Layout};
pub use pigeonhole::{Pigeonhole, RadiusError};
pub use plan::{BudgetError, MAX_RADIUS, Plan};
pub use scan::Scan;

/// A document whose fingerprint lies within the radius of the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The document.
    pub id: DocId,
    /// In how many of the 64 bits the fingerprints differ.
    pub distance: u32,
}

/// Exact search within a Hamming radius over a rolling window. Synchronous: a query costs microseconds.
///
/// A backend holds what it is given until it is told that the window has moved on; it never returns a document that has left.
pub trait Index {
    /// The largest radius that [`candidates`](Self::candidates) may be asked for.
    fn max_radius(&self) -> u32;

    /// Replaces `out` by all documents of the window within `radius` (at most [`max_radius`](Self::max_radius)) of `fingerprint`, the
    /// nearest first, of equally near ones the oldest first.
    ///
    /// # Panics
    /// If `radius` is larger than [`max_radius`](Self::max_radius).
    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>);

    /// Takes in a document. Ids grow from call to call.
    ///
    /// # Panics
    /// If `id` is not larger than the one before.
    fn insert(&mut self, id: DocId, fingerprint: Fingerprint);

    /// Lets go of one document before its turn. Returns its fingerprint, or `None` if it was not there.
    fn remove(&mut self, id: DocId) -> Option<Fingerprint>;

    /// Makes a document the newest, under a new id, larger than all before: it leaves the window as late as if it had come now.
    /// Says whether it was there.
    ///
    /// # Panics
    /// If `new` is not larger than the newest id.
    fn refresh(&mut self, old: DocId, new: DocId) -> bool {
        let fingerprint = self.remove(old);
        fingerprint.is_some_and(|fingerprint| {
            self.insert(new, fingerprint);
            true
        })
    }

    /// Lets go of all documents older than `horizon`: from now on they are not returned.
    fn expire(&mut self, horizon: DocId);

    /// How many documents it holds.
    fn len(&self) -> usize;

    /// Whether it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
