//! What an index counts of its own work.

use std::{
    num::NonZeroU32,
    ops::Add,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

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

/// Says which queries are compared with a scan, and counts what they missed.
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
