//! Tables that grow with the window.
//!
//! A window that is planned for millions may never hold more than thousands, and inline parts take memory as soon as they are used. So a few
//! entries are in no table at all, then in tables made for eight times as many, and so on up to the tables of the layout. The next tables are
//! *building* while the others are *active*: some entries are filed with each that arrives, and when they have them all they become
//! active. No document waits for it, nor for their memory, which is taken a huge page at a time before the first entry is filed.

use std::{collections::VecDeque, io, ops::Range};

use super::{
    layout::{MAX_SCANNED, TableLayout},
    memory::probe,
    probes::sample,
    queue::Queue,
    simd::prefetch,
    tables::Tables,
};

/// Entries that are filed in the building tables for each that arrives.
const AT_ONCE: u64 = 8;
/// Building tables take a huge page each time this share of the entries has arrived, so that memory grows in small steps; more often where it
/// would take long.
const PER_HUGE_PAGE: u64 = 1 << 10;

/// The current tables, and those planned for when the window is larger.
#[derive(Clone, Debug)]
pub(super) struct GrowingTables {
    /// Those that answer. While there are none, a query compares with all.
    active: Option<Tables>,
    building: Option<Building>,
    /// Those to come, the smallest first.
    planned: VecDeque<Tables>,
}

/// Tables that have the entries before an ordinal.
#[derive(Clone, Debug)]
struct Building {
    tables: Tables,
    end: u64,
    /// The next huge page to take, until all of the empty tables are there.
    next_page: Option<usize>,
}

impl GrowingTables {
    /// All tables that a window may need. They take no memory until they are used.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(layout: &TableLayout) -> io::Result<Self> {
        probe(layout.certain_bytes())?;
        let planned = layout.stages().map(TableLayout::tables).collect::<io::Result<_>>()?;
        Ok(Self { active: None, building: None, planned })
    }

    pub(super) fn active(&self) -> Option<&Tables> {
        self.active.as_ref()
    }

    /// Adds the newest fingerprint of the queue, and goes on building.
    pub(super) fn insert(&mut self, queue: &Queue, fingerprint: u64, slot: u32) {
        if let Some(tables) = &mut self.active {
            tables.insert(fingerprint, slot);
        }
        if self.building.is_none() {
            self.begin_to_build(queue);
        }
        if let Some(mut building) = self.building.take() {
            if building.go_on(queue) {
                tracing::debug!(made_for = building.tables.made_for, "larger tables are active");
                self.active = Some(building.tables);
            } else {
                self.building = Some(building);
            }
        }
    }

    fn begin_to_build(&mut self, queue: &Queue) {
        let made_for = self.active.as_ref().map_or(MAX_SCANNED, |tables| tables.made_for);
        if queue.len() > made_for
            && let Some(mut tables) = self.planned.pop_front()
        {
            tables.select_bits(sampled(queue));
            self.building =
                Some(Building { tables, end: queue.ordinals().start, next_page: Some(0) });
        }
    }

    /// Removes the oldest fingerprint of the queue, before it leaves the queue.
    pub(super) fn pop(&mut self, queue: &Queue) {
        let Range { start: oldest, end } = queue.ordinals();
        let fingerprint = |ordinal| queue.fingerprint(Queue::slot(ordinal));
        if let Some(tables) = &mut self.active {
            tables.pop(*fingerprint(oldest));
            // Request what leaves soon.
            if oldest + 8 < end {
                prefetch(fingerprint(oldest + 8));
                tables.prefetch(*fingerprint(oldest + 4));
            }
        }
        if let Some(building) = &mut self.building {
            if oldest < building.end {
                building.tables.pop(*fingerprint(oldest));
            } else {
                building.end = oldest + 1;
            }
        }
    }

    /// Makes tables active that are large enough for `entries`, or the largest that there are. Their bits are selected by what the queue has
    /// and by a sample of what is about to come.
    pub(super) fn make_room(
        &mut self,
        queue: &Queue,
        entries: u64,
        coming: impl Iterator<Item = u64>,
    ) {
        if let Some(Building { mut tables, end, .. }) = self.building.take() {
            tables.insert_all(queue, end..queue.ordinals().end);
            self.active = Some(tables);
        }
        let is_enough = |tables: &Tables| tables.made_for >= entries;
        if self.active.as_ref().is_some_and(is_enough) {
            return;
        }
        let smaller = self.planned.iter().take_while(|tables| !is_enough(tables)).count();
        let skipped = smaller.min(self.planned.len().saturating_sub(1));
        self.planned.drain(..skipped);
        if let Some(mut tables) = self.planned.pop_front() {
            tables.select_bits(sampled(queue).chain(coming));
            tables.insert_all(queue, queue.ordinals());
            self.active = Some(tables);
        }
    }

    /// Adds many fingerprints that are in the queue.
    pub(super) fn insert_all(&mut self, queue: &Queue, ordinals: Range<u64>) {
        if let Some(tables) = &mut self.active {
            tables.insert_all(queue, ordinals);
        }
    }
}

impl Building {
    /// Takes a huge page or files some entries, and returns whether all are there.
    fn go_on(&mut self, queue: &Queue) -> bool {
        let all = queue.ordinals().end;
        if let Some(nth) = self.next_page {
            let pace = (queue.len() / PER_HUGE_PAGE).clamp(1, PER_HUGE_PAGE);
            if all.is_multiple_of(pace.next_power_of_two()) {
                self.next_page = self.tables.pages.touch(nth).then_some(nth + 1);
            }
            return false;
        }
        let end = all.min(self.end + AT_ONCE);
        for slot in (self.end..end).map(Queue::slot) {
            self.tables.insert(*queue.fingerprint(slot), slot);
        }
        self.end = end;
        end == all
    }
}

/// Some fingerprints of the queue.
fn sampled(queue: &Queue) -> impl Iterator<Item = u64> {
    let start = queue.ordinals().start;
    let all = usize::try_from(queue.len()).expect("it is in memory");
    sample(all).map(move |nth| *queue.fingerprint(Queue::slot(start + nth as u64)))
}

#[cfg(test)]
impl GrowingTables {
    /// Empties the active tables, as no error should.
    pub(super) fn lose(&mut self, layout: &TableLayout) {
        self.active = Some(layout.tables().expect("they were there before"));
    }

    /// How many tables are to come or building.
    pub(super) fn to_come(&self) -> usize {
        self.planned.len() + usize::from(self.building.is_some())
    }
}
