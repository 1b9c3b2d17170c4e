//! What an index says of itself.

use std::{
    num::NonZeroU32,
    ops::Add,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{
    block_index::BlockIndex,
    search::{Found, Query},
};

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

/// Compares one query in so many with a scan.
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

    /// Whether the next query is to be checked.
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

impl BlockIndex {
    /// Counts what the tables missed, in the queries whose turn it is, of what a scan finds.
    pub(super) fn audit_answer(&self, queries: &[Query], answer: &[Found]) {
        for (&query, number) in queries.iter().zip(0..) {
            // Without tables there is nothing that a scan could contradict.
            if self.tables.serving().is_none() || !self.auditor.is_due() {
                continue;
            }
            let (mut all, mut by_tables) = (Vec::new(), Vec::new());
            self.tables.scan(query, number, &mut all);
            if self.scans_for(queries[0].radius) {
                self.tables.search(&[query], &mut by_tables);
            } else {
                by_tables.extend(answer.iter().filter(|found| found.query == number));
            }
            let is_missed = |one: &&Found| !by_tables.iter().any(|found| found.slot == one.slot);
            self.auditor.record(all.iter().filter(is_missed).count());
        }
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
