//! Where several queries look, one bucket after the other.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "queries, tables and radii are few")]

use super::{
    blocks::{Blocks, Place},
    lanes::prefetch,
    pages::Format,
    search::Query,
};

/// Probes whose directory words are under way.
const AHEAD: usize = 32;
/// Lines whose homes are under way.
const LINES_AHEAD: usize = 96;
/// What is looked for in a bucket.
#[derive(Clone, Copy, Default)]
pub(super) struct Sought {
    pub(super) query: u32,
    /// The part of the fingerprint with which entries are compared.
    pub(super) rest: u32,
    /// The place of the table in the list of probes.
    pub(super) step: u8,
    /// How many more bits may differ.
    pub(super) allowed: u8,
}

/// One bucket in which a query looks.
#[derive(Clone, Copy, Default)]
pub(super) struct Probe {
    pub(super) place: usize,
    /// Lines of the bucket's home.
    pub(super) lines: u16,
    pub(super) sought: Sought,
}

/// The probes of all queries in turn; the directory's words of the next ones are asked for.
pub(super) struct Probing<'a, F> {
    blocks: &'a Blocks<F>,
    queries: &'a [Query],
    query: usize,
    step: usize,
    patterns: &'a [u32],
    key: u32,
    table: Place,
    rest: u32,
    /// Probes that may be under way.
    reach: usize,
    ahead: [Probe; AHEAD],
    taken: usize,
    given: usize,
}

impl<'a, F: Format> Probing<'a, F> {
    #[inline(always)]
    pub(super) fn new(blocks: &'a Blocks<F>, queries: &'a [Query]) -> Self {
        let ahead = [Probe::default(); AHEAD];
        let mut probing = Self {
            blocks,
            queries,
            query: 0,
            step: 0,
            patterns: &[],
            key: 0,
            table: Place::default(),
            reach: AHEAD,
            rest: 0,
            ahead,
            taken: 0,
            given: 0,
        };
        while probing.taken < probing.reach && probing.make() {}
        probing
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Probe> {
        if self.given == self.taken {
            return None;
        }
        let probe = self.ahead[self.given % AHEAD];
        self.given += 1;
        while self.taken - self.given < self.reach && self.make() {}
        Some(probe)
    }

    /// Adds a probe to those ahead.
    #[inline(always)]
    fn make(&mut self) -> bool {
        while self.patterns.is_empty() {
            if !self.next_table() {
                return false;
            }
        }
        let (&pattern, patterns) = self.patterns.split_first().expect("looked at before");
        self.patterns = patterns;
        let place = self.table.bucket(self.key ^ pattern);
        if self.table.lines == 0 {
            prefetch(self.blocks.directory.get(place));
        }
        for line in 0..self.table.lines {
            prefetch(self.blocks.pages.keys(place as u32 + line));
        }
        let allowed = self.queries[self.query].radius - pattern.count_ones();
        let sought = Sought {
            query: self.query as u32,
            rest: self.rest,
            step: (self.step - 1) as u8,
            allowed: allowed as u8,
        };
        self.ahead[self.taken % AHEAD] = Probe { place, lines: self.table.lines as u16, sought };
        self.taken += 1;
        true
    }

    #[inline(always)]
    fn next_table(&mut self) -> bool {
        loop {
            let Some(query) = self.queries.get(self.query) else { return false };
            let Some(&(table, radius)) = self.blocks.probes[query.radius as usize].get(self.step)
            else {
                self.query += 1;
                self.step = 0;
                continue;
            };
            let key = &self.blocks.keys[table];
            self.step += 1;
            self.patterns = key.patterns(radius);
            self.key = key.place.of(query.fingerprint);
            self.rest = key.rest.of(query.fingerprint);
            self.table = self.blocks.tables[table];
            self.reach = (LINES_AHEAD / self.table.lines.max(1) as usize).clamp(2, AHEAD);
            return true;
        }
    }
}
