//! Tables that grow with the window.
//!
//! A window that is planned for millions may never have more than thousands, and homes take memory as soon as they are used. So few
//! entries are in no table at all, and then in tables made for eight times as many, and so on up to those of the
//! plan. The larger ones are filled beside the smaller, some entries for each that comes, and answer when they have them all: no
//! document waits for it. Nor for their memory: a large page is taken for each that comes, before the first entry is filed.

use std::{collections::VecDeque, io};

use super::{
    bulk::Bulk,
    lanes::{Level, prefetch},
    plan::{FEW, Plan},
    search::{Found, Query, Scanning},
    shuffle::sample,
    slab,
    slots::Slots,
    tables::Tables,
};

/// So many entries are filed in the next tables for each that comes.
const AT_ONCE: u64 = 8;

/// Fingerprints in a queue, and the tables that have entries for them.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    queue: Slots,
    level: Level,
    /// Those that answer. As long as there are none, a query compares with all.
    serving: Option<Tables>,
    filling: Option<Filling>,
    /// Those to come, the smallest first.
    later: VecDeque<Tables>,
}

/// Tables that have entries for what lies before an ordinal.
#[derive(Clone, Debug)]
struct Filling {
    tables: Tables,
    until: u64,
    /// The next large page to take, until all of the empty tables have been.
    next_page: Option<usize>,
}

impl Growing {
    /// An empty queue, and all tables that it may need: they take no memory until they are used.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(plan: &Plan) -> io::Result<Self> {
        slab::probe(plan.certain_bytes())?;
        Ok(Self {
            queue: Slots::with_room(plan.entries())?,
            level: Level::best(),
            serving: None,
            filling: None,
            later: plan.stages().map(Tables::new).collect::<io::Result<_>>()?,
        })
    }

    pub(super) fn queue(&self) -> &Slots {
        &self.queue
    }

    /// Some of what is in the queue.
    fn sample(&self) -> impl Iterator<Item = u64> {
        let start = self.queue.ordinals().start;
        let all = usize::try_from(self.queue.len()).expect("it is in memory");
        sample(all).map(move |i| *self.queue.word(self.queue.slot(start + i as u64)))
    }

    /// The tables that answer.
    pub(super) fn serving(&self) -> Option<&Tables> {
        self.serving.as_ref()
    }

    pub(super) fn insert(&mut self, fingerprint: u64) -> u32 {
        let slot = self.queue.push(fingerprint);
        if let Some(tables) = &mut self.serving {
            tables.insert(fingerprint, slot);
        }
        if self.filling.is_none() {
            self.begin_to_grow();
        }
        if let Some(filling) = self.filling.take() {
            self.go_on(filling);
        }
        slot
    }

    fn begin_to_grow(&mut self) {
        let made_for = self.serving.as_ref().map_or(FEW, Tables::made_for);
        if self.queue.len() > made_for
            && let Some(mut tables) = self.later.pop_front()
        {
            tables.learn(self.sample());
            self.filling =
                Some(Filling { tables, until: self.queue.ordinals().start, next_page: Some(0) });
        }
    }

    fn go_on(&mut self, mut filling: Filling) {
        if let Some(nth) = filling.next_page {
            let there_was = filling.tables.take_large_page(nth);
            filling.next_page = there_was.then_some(nth + 1);
            self.filling = Some(filling);
            return;
        }
        let end = self.queue.ordinals().end;
        let until = end.min(filling.until + AT_ONCE);
        for ordinal in filling.until..until {
            let slot = self.queue.slot(ordinal);
            filling.tables.insert(*self.queue.word(slot), slot);
        }
        filling.until = until;
        if until == end {
            tracing::debug!(made_for = filling.tables.made_for(), "larger tables answer");
            self.serving = Some(filling.tables);
        } else {
            self.filling = Some(filling);
        }
    }

    /// Lets go of the oldest fingerprint.
    pub(super) fn pop(&mut self) {
        let oldest = self.queue.ordinals().start;
        let fingerprint = *self.queue.word(self.queue.slot(oldest));
        if let Some(tables) = &mut self.serving {
            tables.pop(fingerprint);
        }
        if let Some(filling) = &mut self.filling {
            if oldest < filling.until {
                filling.tables.pop(fingerprint);
            } else {
                filling.until = oldest + 1;
            }
        }
        self.queue.pop();
        self.look_ahead(oldest);
    }

    /// Asks for the buckets of what leaves soon.
    fn look_ahead(&self, oldest: u64) {
        let Some(tables) = &self.serving else { return };
        let ordinals = self.queue.ordinals();
        if ordinals.contains(&(oldest + 8)) {
            prefetch(self.queue.word(self.queue.slot(oldest + 8)));
        }
        if ordinals.contains(&(oldest + 4)) {
            tables.expect(*self.queue.word(self.queue.slot(oldest + 4)));
        }
    }

    /// Sees to it that tables answer that are made for so many entries, or the largest that there are. New ones have keys by what there is
    /// and by some of what is about to come.
    pub(super) fn make_room(
        &mut self,
        entries: u64,
        coming: impl Iterator<Item = u64>,
        bulk: &mut Bulk,
    ) {
        if let Some(Filling { mut tables, until, .. }) = self.filling.take() {
            tables.insert_all(&self.queue, until..self.queue.ordinals().end, bulk);
            self.serving = Some(tables);
        }
        let enough = |tables: &Tables| tables.made_for() >= entries;
        if self.serving.as_ref().is_some_and(enough) {
            return;
        }
        let mut larger = None;
        while !larger.as_ref().is_some_and(enough)
            && let Some(tables) = self.later.pop_front()
        {
            larger = Some(tables);
        }
        if let Some(mut tables) = larger {
            tables.learn(self.sample().chain(coming));
            tables.insert_all(&self.queue, self.queue.ordinals(), bulk);
            self.serving = Some(tables);
        }
    }

    /// Inserts fingerprints in order, after room was made for them; tells the slot of each.
    pub(super) fn insert_all(
        &mut self,
        fingerprints: impl Iterator<Item = u64>,
        bulk: &mut Bulk,
        mut tell: impl FnMut(u32),
    ) {
        let from = self.queue.ordinals().end;
        fingerprints.for_each(|fingerprint| tell(self.queue.push(fingerprint)));
        if let Some(tables) = &mut self.serving {
            tables.insert_all(&self.queue, from..self.queue.ordinals().end, bulk);
        }
    }

    pub(super) fn search(&self, queries: &[Query], found: &mut Vec<Found>) {
        if let Some(tables) = &self.serving {
            tables.search(self.level, &self.queue, queries, found);
        }
    }

    pub(super) fn scan(&self, query: Query, number: u32, found: &mut Vec<Found>) {
        self.level.run(Scanning { queue: &self.queue, query, number, found });
    }
}

#[cfg(test)]
impl Growing {
    /// Uses the instructions that every processor has.
    pub(super) fn make_portable(&mut self) {
        self.level = Level::Portable(super::portable::Portable);
    }

    /// Empties the tables that answer.
    pub(super) fn lose_the_tables(&mut self, plan: &Plan) {
        self.serving = Some(Tables::new(plan).expect("they were there before"));
    }

    /// How many tables there are to come, or under way.
    pub(super) fn to_come(&self) -> usize {
        self.later.len() + usize::from(self.filling.is_some())
    }
}
