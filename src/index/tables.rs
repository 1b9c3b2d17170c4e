//! The tables of either entry format behind one face.

use std::io;

use super::{
    blocks::Blocks,
    bulk::Bulk,
    layout::Entry,
    pages::{Narrow, Wide},
    plan::Plan,
    search::{Found, Query, Scanning, Search},
    slab,
    slots::Slots,
};

/// Tables over a queue of fingerprints.
#[derive(Clone, Debug)]
pub(super) enum Tables {
    Narrow(Blocks<Narrow>),
    Wide(Blocks<Wide>),
}

macro_rules! each {
    ($tables:expr, $blocks:ident => $what:expr) => {
        match $tables {
            Tables::Narrow($blocks) => $what,
            Tables::Wide($blocks) => $what,
        }
    };
}

impl Tables {
    pub(super) fn new(plan: &Plan) -> io::Result<Self> {
        slab::probe(plan.bytes())?;
        Ok(match plan.layout().entry() {
            Entry::Narrow => Self::Narrow(Blocks::new(plan)?),
            Entry::Wide => Self::Wide(Blocks::new(plan)?),
        })
    }

    pub(super) fn fingerprints(&self) -> &Slots {
        each!(self, blocks => &blocks.fingerprints)
    }

    pub(super) fn insert(&mut self, fingerprint: u64) -> u32 {
        each!(self, blocks => blocks.insert(fingerprint))
    }

    pub(super) fn pop(&mut self) {
        each!(self, blocks => blocks.pop());
    }

    pub(super) fn insert_all(
        &mut self,
        fingerprints: &(impl Iterator<Item = u64> + Clone),
        bulk: &mut Bulk,
        tell: impl FnMut(u32),
    ) {
        each!(self, blocks => blocks.insert_all(fingerprints, bulk, tell));
    }

    pub(super) fn crowded(
        &self,
        fingerprints: impl Iterator<Item = u64>,
        limit: u32,
        bulk: &mut Bulk,
    ) -> Vec<u32> {
        each!(self, blocks => blocks.crowded(fingerprints, limit, bulk))
    }

    pub(super) fn fullest_crowd(&self, fingerprint: u64) -> u32 {
        each!(self, blocks => blocks.fullest_crowd(fingerprint))
    }

    pub(super) fn crowd_of_equals(&self, fingerprint: u64) -> u32 {
        each!(self, blocks => blocks.crowd_of_equals(fingerprint))
    }

    pub(super) fn fullest(&self) -> u32 {
        each!(self, blocks => blocks.fullest)
    }

    /// In how many places a query of some radius looks.
    pub(super) fn probes(&self, radius: u32) -> usize {
        each!(self, blocks => blocks.probe_count(radius))
    }

    pub(super) fn search(&self, queries: &[Query], found: &mut Vec<Found>) {
        each!(self, blocks => blocks.level.run(Search { blocks, queries, found }));
    }

    pub(super) fn scan(&self, query: Query, number: u32, found: &mut Vec<Found>) {
        each!(self, blocks => blocks.level.run(Scanning { blocks, query, number, found }));
    }
}

#[cfg(test)]
impl Tables {
    pub(super) fn pages(&self) -> usize {
        each!(self, blocks => blocks.pages.len())
    }

    /// The same queue, with the buckets of `empty`.
    pub(super) fn without_buckets(self, empty: Self) -> Self {
        match (self, empty) {
            (Self::Narrow(this), Self::Narrow(empty)) => {
                Self::Narrow(Blocks { fingerprints: this.fingerprints, ..empty })
            }
            (Self::Wide(this), Self::Wide(empty)) => {
                Self::Wide(Blocks { fingerprints: this.fingerprints, ..empty })
            }
            (this, _) => this,
        }
    }
}
