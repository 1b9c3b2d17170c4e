//! The tables of either entry format behind one face.

use std::{io, ops::Range};

use super::{
    blocks::Blocks,
    bulk::Bulk,
    format::{Narrow, Wide},
    lanes::Level,
    layout::Entry,
    plan::Plan,
    search::{Found, Query, Search},
    slots::Slots,
};

/// Tables of entries for fingerprints of a queue.
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
        Ok(match plan.layout().entry() {
            Entry::Narrow => Self::Narrow(Blocks::new(plan)?),
            Entry::Wide => Self::Wide(Blocks::new(plan)?),
        })
    }

    /// For how many entries they were made.
    pub(super) fn made_for(&self) -> u64 {
        each!(self, blocks => blocks.made_for)
    }

    /// Makes the keys of those bits that tell most about fingerprints like these. There is no entry yet.
    pub(super) fn learn(&mut self, fingerprints: impl Iterator<Item = u64>) {
        each!(self, blocks => blocks.learn(fingerprints));
    }

    /// Takes the `nth` large page of memory for homes, and says whether there are so many.
    pub(super) fn take_large_page(&mut self, nth: usize) -> bool {
        each!(self, blocks => blocks.pages.take_large_page(nth))
    }

    pub(super) fn insert(&mut self, fingerprint: u64, slot: u32) {
        each!(self, blocks => blocks.insert(fingerprint, slot));
    }

    /// Lets go of the entries of the oldest fingerprint.
    pub(super) fn pop(&mut self, fingerprint: u64) {
        each!(self, blocks => blocks.pop(fingerprint));
    }

    /// Asks for the buckets of a fingerprint.
    pub(super) fn expect(&self, fingerprint: u64) {
        each!(self, blocks => blocks.expect(fingerprint));
    }

    /// Makes entries for what lies between these ordinals of the queue.
    pub(super) fn insert_all(&mut self, queue: &Slots, ordinals: Range<u64>, bulk: &mut Bulk) {
        let Bulk { slots, entries, .. } = bulk;
        slots.clear();
        slots.extend(ordinals.map(|ordinal| queue.slot(ordinal)));
        let fingerprints = slots.iter().map(|&slot| *queue.word(slot));
        each!(self, blocks => blocks.insert_all(&fingerprints, slots, entries));
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

    /// In how many places a query of some radius looks.
    pub(super) fn probes(&self, radius: u32) -> usize {
        each!(self, blocks => blocks.probes[radius as usize])
    }

    pub(super) fn search(
        &self,
        level: Level,
        fingerprints: &Slots,
        queries: &[Query],
        found: &mut Vec<Found>,
    ) {
        each!(self, blocks => level.run(Search::new(blocks, fingerprints, queries, found)));
    }

    #[cfg(test)]
    pub(super) fn pages(&self) -> usize {
        each!(self, blocks => blocks.pages.len())
    }
}
