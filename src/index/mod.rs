//! Finds, among the documents of the window, those whose fingerprint differs in few bits.
//!
//! Sits between [`crate::fingerprint`] and [`crate::filter`]. Every fingerprint of the window within the radius is found: exact by
//! construction and proven against [`Scan`], which compares with everything. Knows nothing of texts, signatures or time: the
//! filter says which documents have left the window.
//!
//! [`BlockIndex`] is the one to use. [`Pigeonhole`] is the plain scheme of the literature, for reading and for comparison.
//!
//! # How it works
//!
//! Fingerprints lie in the order of their arrival in a queue, 8 bytes each, and each stands in a few tables. A table files it in a
//! bucket by some of its bits, the *key*; the entry there keeps 16 or 32 of the other bits and the place in the queue, and what the place leaves
//! of its 32 bits keeps more of the fingerprint. A query goes to the bucket of its own key in each table, and to those of all keys
//! that differ in a bit, or two; entries whose kept bits are near are confirmed by the whole fingerprint. Which tables, and within
//! which radius each is probed, is the [`Layout`]:
//!
//! - **Disjoint keys** ([`Layout::disjoint`]): if k bits differ and the keys share none, some key has few errors. Two
//!   tables serve every radius to 7, three or four to [`MAX_RADIUS`], one is enough for equal fingerprints alone; each query at the price of its
//!   own radius: the radii plus one each must add up to k + 1. For radius 3 with three tables that is one within 1 and two exactly; for radius 9 with four, two within 2 and two within 1.
//! - **Coverings** ([`Layout::covering`]): for radius 3, five or six tables whose keys are made of segments in such a way that three errors
//!   cannot hit them all. One look in each table: the fewest looks, for more memory. For hashes that are as good as random, by
//!   [`Plan::choose_for`]: buckets of texts are too crowded for it, and crawler and `filter`, which have texts, never take one.
//! - **Scan** ([`Layout::scan`]): no tables. Any layout scans while the window holds so few that this is faster; the first 4,096
//!   entries are in no table at all.
//!
//! Fingerprints of real texts are crowded: those of one language share words, and so bits; a query meets several times as many as
//! on average. So the keys are made of those bits that tell most about what the window had when its tables were made, at an eighth of it: the
//! most telling ones go to the tables that are probed farthest. Memory and layout are planned for texts, or for random fingerprints if one says so ([`Spread`]).
//! (Keys stay as they are until the tables are made anew: of a window whose language changes altogether buckets are fuller than planned,
//! and take more time and memory; nothing is missed.)
//!
//! With disjoint keys a query leaves out what it would have found before. It looks into the tables one after the other, first
//! within 1, then farther away; what has not been found yet differs in each key in more bits than have been looked at, so that few
//! of the errors are left for any one of the others. The first 16 bits that an entry keeps are those of the next table's key: for four
//! in five buckets of a query within 8 they alone tell enough, and the rest of the entry is not read.
//!
//! The window rolls: what came first leaves first, in every bucket as in the whole. So a bucket is a queue. It begins with a *home*, a
//! ring of places of its own of which a query reads one stretch of memory: the first 16 bits of all entries side by side, some thirty on a line. What
//! else they keep lies on other lines, which of queries only a hit reads. [Roomy](Homes::Roomy) homes hold nearly all that there ever is of random
//! fingerprints, [tight](Homes::Tight) ones what a bucket has on average; the rest lies in a chain of pages, which come in runs of up to
//! four, so that a long chain is read without waiting at each page for the next. Nothing is searched,
//! moved or hashed again, neither to insert nor to expire. A document that is [refreshed](Index::refresh) keeps its
//! entry until it is the oldest and goes to the end; of what is [removed](Index::remove) or has left, some entries at a time are let go.
//! Homes take memory as soon as they are used, so a window that fills goes through smaller tables: for some thousand entries, for eight
//! times as many, and so on to all. The larger ones are filled beside the smaller, a few entries with each document that comes, after
//! their memory was taken, 2 MiB with each document. (One pause is left: a window that grows to twice its plan makes room for larger places in
//! all its entries at once.)
//!
//! # Which layout
//!
//! [`Plan::choose`] takes the fastest by estimate that fits into the memory, and of those within a tenth of it that of the least product of
//! time and memory. By hand: key bits
//! such that a bucket fills its home: of [`Entry::Narrow`] best 30 entries, then 60 or 90 (6.4 bytes each; 14 and 46 fill their lines less), of
//! [`Entry::Wide`] 28, 56 and so on (9.1 bytes); what stays empty comes on top. Narrow entries tell candidates apart up to radius 5 or so,
//! and up to 8 where buckets are small. [`Plan::query_ns`] estimates what comes of it.
//! Document numbers cost nothing where they are consecutive and 8 bytes elsewhere.
//!
//! The choice for so many bytes an entry without document numbers, tables of so many bits (`--log info` tells that of a run):
//!
//! | window | radius 3, 48 bytes | radius 3, 64 bytes | radius 9, 80 bytes |
//! |---|---|---|---|
//! | 10^6, texts | 2 of 16, narrow | 3 of 16, narrow | 4 of 14, 14, 14, 13, wide |
//! | 10^7, texts | 3 of 19, 18, 18, narrow, tight homes | 3 of 19, narrow | 3 of 19, wide |
//! | 10^8, texts | 2 of 22, wide, tight homes | 2 of 23, narrow | 3 of 21, wide, tight homes |
//! | 10^6, random | 4 of 14, narrow | 4 of 16, 15, 15, 15, narrow | 4 of 16, 16, 16, 14, wide |
//! | 10^7, random | 4 of 16, narrow | covering of 5, 19 bits, narrow, tight homes | 4 of 17, 17, 15, 15, wide, tight homes |
//! | 10^8, random | 3 of 22, 22, 20, narrow, tight homes | covering of 6, 22 bits, narrow, tight homes | 3 of 22, 21, 21, wide, tight homes |
//!
//! A window of 10^9 random fingerprints stands in two tables of 22 bits, narrow, with tight homes, of 21 bytes an entry.
//! `docs/index.md` has what was measured. What won nowhere is gone: coverings of 8 or 14 tables (more memory, and as long a wait), tables of
//! 32 bits (2^32 homes), buckets of whole fingerprints (the plain scheme, which the benches keep).
//! `cargo bench --bench index_large -- 10000000 --layout '19,15,15,15/wide;5x18/narrow+tight'` measures any of them.
//!
//! # Hot values
//!
//! A million error pages have one fingerprint. Of documents with equal fingerprints the oldest
//! [256](BlockIndex::EQUAL_LIMIT) are held; a newer one does not enter and is counted in the [`Audit`]. So no value costs more than
//! 256 entries in each table, and a query for it returns no more than 256 equal ones. Before a document enters a bucket of 256 or more, those
//! equal to it are counted, a query within 0. Values that
//! are near each other and not equal have no such bound: a query returns all that lie within its radius.
//!
//! # One at a time, or many
//!
//! Documents are judged one at a time: each verdict decides whether the next query may find the document. Yet crawler and `filter` ask
//! for the candidates of all documents that wait [together](Index::candidates_of_all), on all cores if queries take long (beyond radius 3;
//! [`Filter::look_ahead`](crate::Filter::look_ahead)), and compare beside that with what has entered since. The modes that confirm by signature
//! need all candidates, `classic` the [nearest](Index::nearest) alone. A window is brought back [in bulk](Index::insert_all).

mod audit;
mod block_index;
mod blocks;
mod bulk;
#[cfg(test)]
mod contract;
mod cost;
mod crowding;
mod equals;
mod format;
mod gather;
mod growing;
mod homes;
mod ids;
mod key;
mod lanes;
mod layout;
mod pages;
mod pigeonhole;
mod plan;
mod portable;
mod probing;
mod runs;
mod scan;
mod search;
mod shuffle;
mod slab;
mod slots;
mod steps;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod texts;
mod turns;
mod under_way;
mod view;

use crate::{fingerprint::Fingerprint, page::DocId};

pub use audit::Audit;
pub use block_index::BlockIndex;
pub use crowding::Spread;
pub use homes::Homes;
pub use layout::{Entry, Layout};
pub use pigeonhole::{Pigeonhole, RadiusError};
pub use plan::{BudgetError, IndexError, MAX_RADIUS, Plan};
pub use scan::Scan;
pub use slab::RefusedError;

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

    /// Answers several queries of one radius: `out[i]` is what [`candidates`](Self::candidates) gives for `fingerprints[i]`. A backend may do
    /// it at less cost than one after the other.
    ///
    /// # Panics
    /// If `radius` is larger than [`max_radius`](Self::max_radius).
    fn candidates_of_all(
        &self,
        fingerprints: &[Fingerprint],
        radius: u32,
        out: &mut Vec<Vec<Candidate>>,
    ) {
        out.resize_with(fingerprints.len(), Vec::new);
        for (&fingerprint, out) in fingerprints.iter().zip(out) {
            self.candidates(fingerprint, radius, out);
        }
    }

    /// The nearest document within `radius`, of equally near ones the oldest: the first of [`candidates`](Self::candidates). A backend may
    /// find it sooner than all.
    ///
    /// # Panics
    /// If `radius` is larger than [`max_radius`](Self::max_radius).
    fn nearest(&self, fingerprint: Fingerprint, radius: u32) -> Option<Candidate> {
        let mut candidates = Vec::new();
        self.candidates(fingerprint, radius, &mut candidates);
        candidates.first().copied()
    }

    /// Takes in a document. Ids grow from call to call. Says whether it entered: a backend may refuse one of which there are too many
    /// with an equal fingerprint.
    ///
    /// # Panics
    /// If `id` is not larger than the one before.
    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool;

    /// Takes in many documents, as one after the other: for a window that is built anew. A backend may do it at less cost.
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

    /// Lets go of one document before its turn. Returns its fingerprint, or `None` if it was not there.
    fn remove(&mut self, id: DocId) -> Option<Fingerprint>;

    /// Makes a document the newest, under a new id, larger than all before: it leaves the window as late as if it had come now.
    /// Says whether it was there.
    ///
    /// # Panics
    /// If `new` is not larger than the newest id.
    fn refresh(&mut self, old: DocId, new: DocId) -> bool {
        let fingerprint = self.remove(old);
        fingerprint.is_some_and(|fingerprint| self.insert(new, fingerprint))
    }

    /// Lets go of all documents older than `horizon`: from now on they are not returned.
    fn expire(&mut self, horizon: DocId);

    /// How many documents it holds. A backend may have to count them, while some that have left wait to be let go.
    fn len(&self) -> usize;

    /// What it counted of its own work: nothing, unless the backend counts.
    fn audit(&self) -> Audit {
        Audit::default()
    }

    /// Whether it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
