//! The rolling block index: joins the parts that the head of [`index`](super) describes into the one [`Index`] to use.
//!
//! It owns the [`Queue`] of all entries in order of arrival and the [`GrowingTables`], which are views of it: whatever enters or leaves the queue
//! does so in the tables. What it adds itself:
//!
//! - **Queries** (`search`). A small window is scanned, a larger one is searched in the tables, whichever compares fewer entries. What the
//!   queue still holds of documents that have left is dropped from the result (`candidate`).
//! - **Leaving** (`expire`, `remove`, `compact`). Expiry only moves the horizon, and a removal only notes a tombstone. Every call then pops some
//!   entries at the front of the queue whose documents have left. Too many tombstones behind a live entry: it moves to the end, marked
//!   [`MOVED`] because it is out of order there.
//! - **The cap of equal fingerprints** (`is_over`; `over_among` for many at a time). A document that reaches it does not enter.
//! - **Many at a time** (`insert_all`), for a window that is restored: tables are made for all, and the documents enter in batches.
//! - **The audit** ([`Auditor`]). One query in some is compared with a scan.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    Audit, Candidate, Index,
    growth::GrowingTables,
    layout::{IndexError, MAX_SCANNED, TableLayout},
    memory::RefusedError,
    probes::sample,
    queue::Queue,
    search::{Found, scan, search},
    simd::Simd,
};
use crate::{fingerprint::Fingerprint, page::DocId};

/// The number of entries that a scan compares in the time that a query reads one bucket.
const SCANNED_PER_PROBE: u64 = 50;
/// The number of tombstones that never cause a compaction.
const SPARED: u64 = 16;
/// The number of entries that leave or move at a time: many more than arrive.
const AT_ONCE: usize = 64;
/// From this many documents on, sorting them pays.
const MANY: usize = 512;
/// Marks the id of an entry that was moved behind younger ones.
const MOVED: u64 = 1 << 63;

/// An exact index over a rolling window, with tables for its radius, its size and the memory there is.
///
/// ```
/// use pagesieve::{DocId, Fingerprint, index::{BlockIndex, Index}};
///
/// let mut index = BlockIndex::new(8, 1_000_000, 150 << 20).unwrap();
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
pub struct BlockIndex {
    layout: TableLayout,
    queue: Queue,
    tables: GrowingTables,
    simd: Simd,
    /// Tombstones: the slots of documents that were removed, and those of moved ones that have expired.
    removed: BTreeSet<u32>,
    /// The slots of documents that stand behind younger ones.
    moved: BTreeMap<DocId, u32>,
    /// Documents with a lower id have left.
    horizon: DocId,
    /// The newest id.
    last: Option<DocId>,
    /// How many documents with one fingerprint are held, and how many more there were.
    equal_limit: u32,
    over: u64,
    auditor: Auditor,
    /// A query compares with all if there are at most this many entries for each bucket that it would read.
    scanned_per_probe: u64,
}

impl BlockIndex {
    /// How many documents with one fingerprint are held unless [`with_equal_limit`](Self::with_equal_limit) changes it.
    pub const EQUAL_LIMIT: u32 = 256;

    /// An empty index for queries within `radius` over a window of `entries`, with the fastest tables that take at most `budget` bytes.
    ///
    /// # Errors
    /// If the budget is too small, or the system refuses the memory.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`](super::MAX_RADIUS).
    pub fn new(radius: u32, entries: u64, budget: u64) -> Result<Self, IndexError> {
        Ok(Self::with_layout(TableLayout::choose(radius, entries, budget)?)?)
    }

    /// An empty index with the tables of a layout.
    ///
    /// All memory of the layout is requested here and taken when it is used. A window that outgrows its layout requests more, and panics
    /// if it is refused.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn with_layout(layout: TableLayout) -> Result<Self, RefusedError> {
        let parts = || Ok((GrowingTables::new(&layout)?, Queue::with_room(layout.entries())?));
        let (tables, queue) = parts().map_err(|error: std::io::Error| RefusedError {
            bytes: layout.certain_bytes(),
            system: error.kind(),
        })?;
        Ok(Self {
            layout,
            queue,
            tables,
            simd: Simd::detect(),
            removed: BTreeSet::new(),
            moved: BTreeMap::new(),
            horizon: DocId(0),
            last: None,
            equal_limit: Self::EQUAL_LIMIT,
            over: 0,
            auditor: Auditor::default(),
            scanned_per_probe: SCANNED_PER_PROBE,
        })
    }

    /// Holds at most `limit` documents with one fingerprint, the oldest. A newer one does not enter: of a million equal error
    /// pages, all but these cost nothing.
    #[must_use]
    pub fn with_equal_limit(mut self, limit: NonZeroU32) -> Self {
        self.equal_limit = limit.get();
        self
    }

    /// Compares one query in `every` with a scan, and counts what the tables missed. The search for equal fingerprints before a document
    /// enters is a query as well. From now on there are tables however few entries there are; a layout without any has nothing to compare.
    #[must_use]
    pub fn with_audit(mut self, every: NonZeroU32) -> Self {
        self.auditor = Auditor::new(every);
        self.tables.make_room(&self.queue, 1, std::iter::empty());
        self
    }

    /// The layout: the tables and the window for which they were chosen.
    #[must_use]
    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// How many entries share the fullest of the buckets to which a fingerprint belongs.
    #[must_use]
    pub fn fullest_bucket(&self, fingerprint: Fingerprint) -> u32 {
        self.tables.active().map_or(0, |tables| tables.fullest_bucket(fingerprint.0))
    }

    /// Whether a query within this radius compares with all.
    fn scans_for(&self, radius: u32) -> bool {
        self.tables.active().is_none_or(|tables| {
            self.queue.len() <= tables.buckets_read(radius) * self.scanned_per_probe
        })
    }

    /// All documents of the window within the radius.
    fn search(&self, fingerprint: Fingerprint, radius: u32) -> impl Iterator<Item = Candidate> {
        let max = self.max_radius();
        assert!(radius <= max, "radius {radius} asked of an index for {max}");
        let (query, mut found) = ((fingerprint.0, radius), Vec::new());
        let scans = self.scans_for(radius);
        match self.tables.active() {
            Some(tables) if !scans => search(tables, &self.queue, self.simd, query, &mut found),
            _ => scan(&self.queue, self.simd, query, &mut found),
        }
        if let Some(tables) = self.tables.active()
            && self.auditor.is_due()
        {
            let [mut by_tables, mut all] = [const { Vec::new() }; 2];
            search(tables, &self.queue, self.simd, query, &mut by_tables);
            scan(&self.queue, self.simd, query, &mut all);
            self.auditor.record(all.iter().filter(|found| !by_tables.contains(found)).count());
        }
        found.into_iter().filter_map(|found| self.candidate(found))
    }

    /// The document of an entry, unless it has left.
    fn candidate(&self, Found { slot, distance }: Found) -> Option<Candidate> {
        let id = self.id(slot);
        let is_there = id >= self.horizon && !self.removed.contains(&slot);
        is_there.then_some(Candidate { id, distance })
    }

    fn id(&self, slot: u32) -> DocId {
        DocId(self.queue.id(slot).0 & !MOVED)
    }

    fn is_moved(&self, slot: u32) -> bool {
        self.queue.id(slot).0 & MOVED != 0
    }

    /// The slot of a document, if it has not left.
    fn slot(&self, id: DocId) -> Option<u32> {
        if id < self.horizon {
            return None;
        }
        let slot = self.moved.get(&id).copied().or_else(|| self.slot_in_order(id))?;
        (!self.removed.contains(&slot)).then_some(slot)
    }

    /// The slot of a document that was not moved: a binary search.
    fn slot_in_order(&self, id: DocId) -> Option<u32> {
        let (mut range, mut found) = (self.queue.ordinals(), None);
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            // Moved entries stand out of order: the next that was not moved decides.
            let next = (middle..range.end).find(|&ordinal| !self.is_moved(Queue::slot(ordinal)));
            match next {
                Some(next) if self.id(Queue::slot(next)) <= id => {
                    found = Some(Queue::slot(next));
                    range.start = next + 1;
                }
                _ => range.end = middle,
            }
        }
        found.filter(|&slot| self.id(slot) == id)
    }

    /// Removes entries whose documents have left: some at a time, so that no document waits for many others. Tombstones that are not at the
    /// front leave when the older entries have; if there are too many, those move to the end.
    fn compact(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(moved) = self.moved.first_entry() else { break };
            if *moved.key() >= self.horizon {
                break;
            }
            self.removed.insert(moved.remove());
        }
        for _ in 0..AT_ONCE {
            let oldest = self.queue.ordinals().start;
            if self.queue.len() == 0 {
                return;
            }
            let slot = Queue::slot(oldest);
            let id = self.id(slot);
            let has_left = self.removed.remove(&slot) || id < self.horizon;
            if !has_left && self.removed.len() as u64 <= self.queue.len() / 4 + SPARED {
                return;
            }
            let fingerprint = *self.queue.fingerprint(slot);
            self.tables.pop(&self.queue);
            self.queue.pop();
            self.moved.remove(&id);
            if !has_left {
                let slot = self.push(fingerprint, DocId(id.0 | MOVED));
                self.moved.insert(id, slot);
            }
        }
    }

    fn push(&mut self, fingerprint: u64, id: DocId) -> u32 {
        let slot = self.queue.push(fingerprint, id);
        self.tables.insert(&self.queue, fingerprint, slot);
        slot
    }

    /// An upper bound of the number of documents with this fingerprint.
    fn most_equals(&self, fingerprint: Fingerprint) -> u64 {
        let tables = self.tables.active();
        tables.map_or(self.queue.len(), |tables| tables.most_equals(fingerprint.0).into())
    }

    /// Whether the limit of documents with this fingerprint is reached.
    fn is_over(&self, fingerprint: Fingerprint) -> bool {
        let limit = u64::from(self.equal_limit);
        self.most_equals(fingerprint) >= limit
            && self.search(fingerprint, 0).count() as u64 >= limit
    }

    /// Which of the documents that are to enter together do not, because there are too many with their fingerprint: their places, in order.
    fn over_among(&self, documents: &[(DocId, Fingerprint)]) -> Vec<u32> {
        let tables = self.tables.active().expect("there are tables for many documents");
        let fingerprints = documents.iter().map(|(_, fingerprint)| fingerprint.0);
        let mut overfull = tables.overfull(fingerprints, self.equal_limit);
        let (limit, mut held) = (u64::from(self.equal_limit), HashMap::new());
        for &place in &overfull {
            *held.entry(documents[place as usize].1).or_insert(0_u64) += 1;
        }
        for (&fingerprint, held) in &mut held {
            let may_be_over = *held + self.most_equals(fingerprint) > limit;
            *held = if may_be_over { self.search(fingerprint, 0).count() as u64 } else { 0 };
        }
        overfull.retain(|&place| {
            let held = held.entry(documents[place as usize].1).or_default();
            *held += 1;
            *held > limit
        });
        overfull.sort_unstable();
        overfull
    }

    /// Adds documents together, which costs less than one after the other.
    fn insert_together(&mut self, documents: &[(DocId, Fingerprint)]) {
        let ids = self.last.into_iter().chain(documents.iter().map(|&(id, _)| id));
        assert!(ids.is_sorted_by(|a, b| a < b), "ids grow");
        self.last = documents.last().map_or(self.last, |&(id, _)| Some(id));
        let over = self.over_among(documents);
        self.over += over.len() as u64;
        let (mut over, start) = (over.into_iter().peekable(), self.queue.ordinals().end);
        for (&(id, fingerprint), place) in documents.iter().zip(0..) {
            if over.next_if_eq(&place).is_none() {
                self.queue.push(fingerprint.0, id);
            }
        }
        self.tables.insert_all(&self.queue, start..self.queue.ordinals().end);
    }
}

impl Index for BlockIndex {
    fn max_radius(&self) -> u32 {
        self.layout.radius()
    }

    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>) {
        out.clear();
        out.extend(self.search(fingerprint, radius));
        out.sort_unstable_by_key(|candidate| (candidate.distance, candidate.id));
    }

    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool {
        assert!(self.last.is_none_or(|last| last < id), "ids grow");
        self.last = Some(id);
        if self.is_over(fingerprint) {
            self.over += 1;
            return false;
        }
        self.push(fingerprint.0, id);
        true
    }

    fn insert_all(&mut self, documents: impl IntoIterator<Item = (DocId, Fingerprint)>) {
        // Batches are large enough that some documents share a bucket, and small compared with the whole window.
        let at_once = usize::try_from(self.layout.entries() / 16).unwrap_or(usize::MAX);
        let at_once = at_once.clamp(1 << 12, 1 << 20);
        let mut documents = documents.into_iter();
        loop {
            let some: Vec<_> = documents.by_ref().take(at_once).collect();
            let all = self.queue.len() + some.len() as u64;
            let are_many = some.len() >= MANY && all > MAX_SCANNED;
            if are_many {
                let coming = sample(some.len()).map(|nth| some[nth].1.0);
                self.tables.make_room(&self.queue, all, coming);
            }
            if are_many && self.tables.active().is_some() {
                self.insert_together(&some);
            } else if some.is_empty() {
                return;
            } else {
                for (id, fingerprint) in some {
                    self.insert(id, fingerprint);
                }
            }
        }
    }

    fn audit(&self) -> Audit {
        self.auditor.audit(self.over)
    }

    fn remove(&mut self, id: DocId) -> Option<Fingerprint> {
        let slot = self.slot(id)?;
        let fingerprint = *self.queue.fingerprint(slot);
        self.moved.remove(&id);
        self.removed.insert(slot);
        self.compact();
        Some(Fingerprint(fingerprint))
    }

    fn expire(&mut self, horizon: DocId) {
        self.horizon = self.horizon.max(horizon);
        self.compact();
    }

    fn len(&self) -> usize {
        // What has left and still waits is at the front, or was moved.
        let slots = self.queue.ordinals().map(Queue::slot);
        let front = slots.take_while(|&slot| self.is_moved(slot) || self.id(slot) < self.horizon);
        let expired = front.filter(|slot| !self.is_moved(*slot) && !self.removed.contains(slot));
        let waiting = expired.count() + self.moved.range(..self.horizon).count();
        let all = usize::try_from(self.queue.len()).expect("it is in memory");
        all - self.removed.len() - waiting
    }
}

/// Selects the queries that are compared with a scan, and counts what they missed.
#[derive(Debug, Default)]
pub(super) struct Auditor {
    every: Option<NonZeroU32>,
    queries: AtomicU64,
    checked: AtomicU64,
    missed: AtomicU64,
}

impl Auditor {
    pub(super) fn new(every: NonZeroU32) -> Self {
        Self { every: Some(every), ..Self::default() }
    }

    /// Whether the next query is to be compared.
    pub(super) fn is_due(&self) -> bool {
        self.every.is_some_and(|every| {
            self.queries.fetch_add(1, Ordering::Relaxed).is_multiple_of(every.get().into())
        })
    }

    pub(super) fn record(&self, missed: usize) {
        self.checked.fetch_add(1, Ordering::Relaxed);
        self.missed.fetch_add(missed as u64, Ordering::Relaxed);
    }

    pub(super) fn audit(&self, over: u64) -> Audit {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Audit { checked: read(&self.checked), missed: read(&self.missed), over }
    }
}

impl Clone for Auditor {
    fn clone(&self) -> Self {
        let copy = |count: &AtomicU64| AtomicU64::new(count.load(Ordering::Relaxed));
        Self {
            every: self.every,
            queries: copy(&self.queries),
            checked: copy(&self.checked),
            missed: copy(&self.missed),
        }
    }
}

#[cfg(test)]
impl BlockIndex {
    /// The same, but it reads its tables however few entries there are.
    pub(crate) fn never_scanning(self) -> Self {
        let mut this = Self { scanned_per_probe: 0, ..self };
        this.tables.make_room(&this.queue, 1, std::iter::empty());
        this
    }

    /// The same, with the instructions that every processor has.
    pub(super) fn portable(self) -> Self {
        Self { simd: Simd::PORTABLE, ..self }
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> u64 {
        self.tables.active().map_or(0, |tables| tables.pages.used().into())
    }

    /// How many entries there is memory for.
    pub(super) fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    /// Empties all buckets, as no error should.
    pub(super) fn lose_the_tables(&mut self) {
        self.tables.lose(&self.layout);
    }

    /// For how many entries the active tables were made.
    pub(super) fn tables_made_for(&self) -> Option<u64> {
        self.tables.active().map(|tables| tables.made_for)
    }

    /// How many tables are to come or building.
    pub(super) fn tables_to_come(&self) -> usize {
        self.tables.to_come()
    }
}
