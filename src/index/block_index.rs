//! The rolling block index.

use std::{collections::BTreeSet, num::NonZeroU32};

use super::{
    Candidate, Index,
    audit::{Audit, Auditor},
    bulk::Bulk,
    growing::Growing,
    ids::Ids,
    plan::{FEW, IndexError, Plan},
    search::{Found, Query},
    shuffle::sample,
    slab::RefusedError,
    turns::Turns,
};
use crate::{fingerprint::Fingerprint, page::DocId};

/// As many entries are compared in the time that one probe of a table takes.
const SCANNED_PER_PROBE: u64 = 50;

/// An exact index for any radius and window: tables by a [`Layout`](super::Layout), chosen from both and from the
/// memory there is.
///
/// ```
/// use pagesieve::{DocId, Fingerprint, index::{BlockIndex, Index}};
///
/// let mut index = BlockIndex::new(8, 1_000_000, 100 << 20).unwrap();
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
    plan: Plan,
    pub(super) tables: Growing,
    ids: Ids,
    /// Which entries stand by another number than their document's.
    turns: Turns,
    /// The slots of documents that have left though their entries are not the oldest. A tree, like those of the turns.
    removed: BTreeSet<u32>,
    /// Documents with a lower number have left.
    horizon: DocId,
    /// How many documents with one fingerprint are held, and how many more there were.
    pub(super) equal_limit: u32,
    over: u64,
    /// The newest id.
    last: Option<DocId>,
    pub(super) auditor: Auditor,
    /// Up to so many entries for each place where a query would look, it compares with all.
    scanned_per_probe: u64,
}

impl BlockIndex {
    /// An empty index for queries within `max_radius` over a window of `entries`, with the fastest layout that takes at most
    /// `budget` bytes.
    ///
    /// # Errors
    /// If the budget is too small for any layout, or the system refuses the memory.
    ///
    /// # Panics
    /// If `max_radius` is larger than [`MAX_RADIUS`](super::MAX_RADIUS).
    pub fn new(max_radius: u32, entries: u64, budget: u64) -> Result<Self, IndexError> {
        Ok(Self::with_plan(Plan::choose(max_radius, entries, budget)?)?)
    }

    /// An empty index with a layout chosen by hand.
    ///
    /// All memory that the plan needs is asked for here and taken when it is used. A window that outgrows its plan asks for more, and
    /// panics if it is refused.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn with_plan(plan: Plan) -> Result<Self, RefusedError> {
        let tables = Growing::new(&plan)
            .map_err(|error| RefusedError { bytes: plan.certain_bytes(), system: error.kind() })?;
        Ok(Self {
            plan,
            tables,
            ids: Ids::default(),
            turns: Turns::default(),
            removed: BTreeSet::new(),
            horizon: DocId(0),
            equal_limit: Self::EQUAL_LIMIT,
            over: 0,
            last: None,
            auditor: Auditor::default(),
            scanned_per_probe: SCANNED_PER_PROBE,
        })
    }

    /// Compares one query in `every` with a scan, and counts what the tables missed. The search for equal fingerprints before a document
    /// enters is a query as well. From now on there are tables however few entries there are; a layout without any has nothing to compare.
    #[must_use]
    pub fn with_audit(mut self, every: NonZeroU32) -> Self {
        self.auditor = Auditor::new(every);
        self.tables.make_room(1, std::iter::empty(), &mut Bulk::default());
        self
    }

    /// The layout and the window for which it was chosen.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many entries share the fullest of the buckets to which a fingerprint belongs.
    #[must_use]
    pub fn crowd(&self, fingerprint: Fingerprint) -> u32 {
        self.tables.serving().map_or(0, |tables| tables.fullest_crowd(fingerprint.0))
    }

    /// Where a document is in the queue, if it has not left.
    fn slot(&self, id: DocId) -> Option<u32> {
        if id < self.horizon {
            return None;
        }
        let queue = self.tables.queue();
        let slot = self.turns.slot(id).or_else(|| {
            let (mut from, mut until) = (queue.ordinals().start, queue.ordinals().end);
            while from < until {
                let middle = from.midpoint(until);
                if self.ids.get(queue.slot(middle)) < id {
                    from = middle + 1;
                } else {
                    until = middle;
                }
            }
            // Of those that stand by one number the first is the document itself: the others have come to the end behind it.
            let slot = (from < queue.ordinals().end).then(|| queue.slot(from))?;
            (self.ids.get(slot) == id && !self.turns.differs(slot)).then_some(slot)
        })?;
        (!self.removed.contains(&slot)).then_some(slot)
    }

    /// The number of the document in this slot.
    fn id(&self, slot: u32) -> DocId {
        self.turns.id(slot, self.ids.get(slot))
    }

    /// Lets go of entries whose documents have left, and sends to the end those that are to stay: some at a time, so that no document waits
    /// for many others. Of what has left no more than a quarter remains, for each that leaves brings this on.
    fn tidy(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(slot) = self.turns.oldest_before(self.horizon) else { break };
            self.turns.forget(slot);
            self.removed.insert(slot);
        }
        for _ in 0..AT_ONCE {
            let Some(slot) = self.oldest() else { return };
            let crowd = self.tables.queue().len() / 4 + SPARED;
            if self.removed.remove(&slot) || self.id(slot) < self.horizon {
                self.turns.forget(slot);
                self.tables.pop();
            } else if self.ids.get(slot) < self.horizon || self.removed.len() as u64 > crowd {
                self.send_to_the_end(slot);
            } else {
                return;
            }
        }
    }

    /// The oldest entry stands behind all others from now on.
    fn send_to_the_end(&mut self, slot: u32) {
        let (id, fingerprint) = (self.id(slot), *self.tables.queue().word(slot));
        self.turns.forget(slot);
        self.tables.pop();
        let slot = self.tables.insert(fingerprint);
        self.ids.set(slot, self.last.unwrap_or(id));
        self.turns.set(slot, id);
    }

    fn oldest(&self) -> Option<u32> {
        let queue = self.tables.queue();
        (queue.len() > 0).then(|| queue.slot(queue.ordinals().start))
    }

    /// Whether a query within this radius compares with all.
    pub(super) fn scans_for(&self, radius: u32) -> bool {
        self.tables.serving().is_none_or(|tables| {
            let probes = tables.probes(radius) as u64;
            self.tables.queue().len() <= probes * self.scanned_per_probe
        })
    }

    pub(super) fn search(&self, queries: &[Query]) -> Vec<Found> {
        for query in queries {
            let max = self.max_radius();
            assert!(query.radius <= max, "radius {} asked of an index for {max}", query.radius);
        }
        let mut found = Vec::new();
        let Some(first) = queries.first() else { return found };
        if self.scans_for(first.radius) {
            for (query, number) in queries.iter().zip(0..) {
                self.tables.scan(*query, number, &mut found);
            }
        } else {
            self.tables.search(queries, &mut found);
        }
        self.audit_answer(queries, &found);
        found
    }

    /// The document of an entry, unless it has left.
    pub(super) fn candidate(&self, found: Found) -> Option<Candidate> {
        let there = self.removed.is_empty() || !self.removed.contains(&found.slot);
        let id = self.id(found.slot);
        (there && id >= self.horizon).then_some(Candidate { id, distance: found.distance })
    }

    /// Takes in documents together, which costs less than one after the other.
    fn insert_together(&mut self, documents: &mut Vec<(DocId, Fingerprint)>, bulk: &mut Bulk) {
        let ids = self.last.into_iter().chain(documents.iter().map(|&(id, _)| id));
        assert!(ids.is_sorted_by(|a, b| a < b), "ids grow");
        self.last = documents.last().map_or(self.last, |&(id, _)| Some(id));
        let mut over = self.over_among(documents, bulk).into_iter().peekable();
        self.over += over.len() as u64;
        let mut places = 0..;
        documents.retain(|_| over.next_if_eq(&places.next().unwrap_or(u32::MAX)).is_none());
        let mut ids = documents.iter().map(|&(id, _)| id);
        let fingerprints = documents.iter().map(|(_, fingerprint)| fingerprint.0);
        self.tables.insert_all(fingerprints, bulk, |slot| {
            if let Some(id) = ids.next() {
                self.ids.set(slot, id);
            }
        });
    }
}

/// So many entries whose documents have left are always let stand.
const SPARED: u64 = 16;
/// So many entries leave or move at a time: many more than come.
const AT_ONCE: usize = 64;
/// So many documents that it is worth to sort them.
const MANY: usize = 512;
/// The radius within which the nearest document is looked for first.
const NEAR: u32 = 3;

impl Index for BlockIndex {
    fn max_radius(&self) -> u32 {
        self.plan.layout().max_radius()
    }

    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>) {
        out.clear();
        let found = self.search(&[Query { fingerprint: fingerprint.0, radius }]);
        out.extend(found.into_iter().filter_map(|found| self.candidate(found)));
        sort(out);
    }

    fn candidates_of_all(
        &self,
        fingerprints: &[Fingerprint],
        radius: u32,
        out: &mut Vec<Vec<Candidate>>,
    ) {
        out.iter_mut().for_each(Vec::clear);
        out.resize_with(fingerprints.len(), Vec::new);
        let queries: Vec<Query> = fingerprints
            .iter()
            .map(|fingerprint| Query { fingerprint: fingerprint.0, radius })
            .collect();
        for found in self.search(&queries) {
            out[found.query as usize].extend(self.candidate(found));
        }
        for out in out {
            sort(out);
        }
    }

    fn nearest(&self, fingerprint: Fingerprint, radius: u32) -> Option<Candidate> {
        // Within a small radius there is much less to look at, and what is found there is nearer than all else.
        let steps = [radius.min(NEAR), radius];
        let tried = if radius > NEAR { &steps[..] } else { &steps[..1] };
        tried.iter().find_map(|&radius| {
            let query = Query { fingerprint: fingerprint.0, radius };
            let candidates =
                self.search(&[query]).into_iter().filter_map(|found| self.candidate(found));
            candidates.min_by_key(|candidate| (candidate.distance, candidate.id))
        })
    }

    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool {
        assert!(self.last.is_none_or(|last| last < id), "ids grow");
        self.last = Some(id);
        if self.is_over(fingerprint) {
            self.over += 1;
            return false;
        }
        let slot = self.tables.insert(fingerprint.0);
        self.ids.set(slot, id);
        true
    }

    fn insert_all(&mut self, documents: impl IntoIterator<Item = (DocId, Fingerprint)>) {
        let (mut documents, mut bulk) = (documents.into_iter(), Bulk::default());
        let mut some = Vec::new();
        loop {
            some.clear();
            some.extend(documents.by_ref().take(Bulk::at_once(self.plan.entries())));
            if some.is_empty() {
                return;
            }
            let all = self.tables.queue().len() + some.len() as u64;
            if some.len() >= MANY && all > FEW {
                let coming = sample(some.len()).map(|i| some[i].1.0);
                self.tables.make_room(all, coming, &mut bulk);
            }
            if some.len() >= MANY && all > FEW && self.tables.serving().is_some() {
                self.insert_together(&mut some, &mut bulk);
            } else {
                for (id, fingerprint) in some.drain(..) {
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
        let fingerprint = *self.tables.queue().word(slot);
        self.turns.forget(slot);
        self.removed.insert(slot);
        self.tidy();
        Some(Fingerprint(fingerprint))
    }

    fn refresh(&mut self, old: DocId, new: DocId) -> bool {
        assert!(self.last.is_none_or(|last| last < new), "ids grow");
        let Some(slot) = self.slot(old) else { return false };
        self.last = Some(new);
        self.turns.set(slot, new);
        true
    }

    fn expire(&mut self, horizon: DocId) {
        self.horizon = self.horizon.max(horizon);
        self.tidy();
    }

    fn len(&self) -> usize {
        let queue = self.tables.queue();
        let nothing_waits = self.oldest().is_none_or(|slot| self.ids.get(slot) >= self.horizon);
        if nothing_waits && self.turns.is_empty() {
            return usize::try_from(queue.len()).expect("it is in memory") - self.removed.len();
        }
        let slots = queue.ordinals().map(|ordinal| queue.slot(ordinal));
        slots.filter(|slot| !self.removed.contains(slot) && self.id(*slot) >= self.horizon).count()
    }
}

fn sort(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.distance, candidate.id));
}

#[cfg(test)]
impl BlockIndex {
    /// The same, but it looks in its tables however few entries there are.
    pub(crate) fn never_scanning(self) -> Self {
        let mut this = Self { scanned_per_probe: 0, ..self };
        this.tables.make_room(1, std::iter::empty(), &mut Bulk::default());
        this
    }

    /// The same, with the instructions that every processor has.
    pub(super) fn portable(mut self) -> Self {
        self.tables.make_portable();
        self
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> usize {
        self.tables.serving().map_or(0, super::tables::Tables::pages)
    }

    /// For how many entries there are places.
    pub(super) fn places(&self) -> usize {
        self.tables.queue().places()
    }

    /// Empties all buckets, as no error should.
    pub(super) fn lose_the_tables(&mut self) {
        self.tables.lose_the_tables(&self.plan);
    }
}
