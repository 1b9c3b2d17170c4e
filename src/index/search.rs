//! Looking in the buckets: many at once, because each look waits for memory.
//!
//! A query knows from the start where it has to look. So homes are asked for some lines ahead, the next run of a chain while pages
//! of others are compared, and what the tables found is confirmed by the whole fingerprint a round later. Several queries are one longer list of
//! buckets.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "queries, tables and radii are few")]

use super::{
    blocks::Blocks,
    format::{Format, Spot},
    homes::Home,
    lanes::{Lanes, Work, prefetch},
    pages::Chain,
    probing::{Ahead, Route, Sought, Task},
    slots::Slots,
    steps::Step,
    under_way::{Cursor, Hit, List, PENDING, Scratch, UnderWay},
    view::View,
};

/// Chains of pages that are read at a time.
const ABREAST: usize = 64;
/// Rounds of some buckets each after which what waits is confirmed: its memory has come meanwhile.
const ROUNDS: u32 = 16;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    pub(super) fingerprint: u64,
    pub(super) radius: u32,
}

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The place of the query among those asked.
    pub(super) query: u32,
    pub(super) slot: u32,
    pub(super) distance: u32,
}

/// Looks for the neighbours of several fingerprints.
pub(super) struct Search<'a, F> {
    blocks: &'a Blocks<F>,
    view: View<'a, F>,
    fingerprints: &'a Slots,
    queries: &'a [Query],
    found: &'a mut Vec<Found>,
}

impl<'a, F: Format> Search<'a, F> {
    pub(super) fn new(
        blocks: &'a Blocks<F>,
        fingerprints: &'a Slots,
        queries: &'a [Query],
        found: &'a mut Vec<Found>,
    ) -> Self {
        Self { blocks, view: blocks.pages.view(), fingerprints, queries, found }
    }
}

impl<F: Format> Work for Search<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let Some(widest) = self.queries.iter().map(|query| query.radius).max() else { return };
        let at_once = Route::queries_at_once(self.blocks.probes[widest as usize]);
        let mut scratch = Scratch::take();
        let (Scratch { route, under_way }, mut rounds) = (&mut *scratch, 0_u32);
        for (queries, first) in self.queries.chunks(at_once).zip((0..).step_by(at_once)) {
            route.plan(self.blocks, queries, first);
            let mut ahead = Ahead::new(route, self.blocks, self.view);
            for task in route.tasks() {
                for keys in route.keys(task) {
                    ahead.read(task, keys.len());
                    // Where those of the last round begin was asked for then.
                    self.follow_chains(lanes, under_way);
                    for &key in keys {
                        self.read_home(lanes, task, key, under_way);
                    }
                    rounds = rounds.wrapping_add(1);
                    if rounds.is_multiple_of(ROUNDS) {
                        self.confirm(lanes, under_way);
                    }
                }
            }
        }
        // Fingerprints are asked for before chains are waited for.
        self.confirm(lanes, under_way);
        self.follow_chains(lanes, under_way);
        self.confirm(lanes, under_way);
        while !under_way.cursors.is_empty() {
            self.read_chains(lanes, under_way);
        }
        // The entry, the slot, the fingerprint.
        for _ in 0..3 {
            self.confirm(lanes, under_way);
        }
        scratch.keep();
    }
}

impl<F: Format> Search<'_, F> {
    const ALL: u32 = (1 << F::LEN) - 1;

    /// Reads the home of a bucket, and begins to read what has no room there.
    #[inline(always)]
    fn read_home<L: Lanes>(&mut self, lanes: L, task: &Task, key: u32, under_way: &mut UnderWay) {
        let (Task { sought, table, .. }, view) = (task, self.view);
        let start = table.start(key);
        let home = Home::unpack(view.link(start), table.home.room);
        for line in 0..table.home.compared {
            let near = F::near_at_home(lanes, &view, start + line, sought);
            if near != 0 && near & home.mask::<F>(line) != 0 {
                let near = near & home.mask::<F>(line);
                let bucket = table.bucket(key);
                let spot = |at| F::at_home(bucket, line * F::LEN_AT_HOME + at);
                self.note(lanes, spot, near, sought, under_way);
            }
        }
        if home.has_chain() {
            if under_way.full.is_full() {
                self.follow_chains(lanes, under_way);
            }
            let bucket = table.bucket(key);
            prefetch(view.keys(F::last_of_chain(bucket).0));
            under_way.full.push(Hit { at: bucket, sought: *sought });
        }
    }

    /// Begins to read chains of pages, with the last page: it leads to the first.
    #[inline(always)]
    fn follow_chains<L: Lanes>(&mut self, lanes: L, under_way: &mut UnderWay) {
        if under_way.full.is_empty() {
            return;
        }
        let pages = &self.blocks.pages;
        while under_way.cursors.len() > ABREAST - PENDING {
            self.read_chains(lanes, under_way);
        }
        for &Hit { at: bucket, sought } in under_way.full.drain() {
            let Chain { last, first_at, end_at } = pages.chain(bucket, pages.home(bucket));
            self.view.prefetch(last.number(), sought.both != 0);
            let first_mask = Self::ALL & (u32::MAX << first_at);
            let mask = u32::MAX >> (u32::BITS - end_at);
            under_way.cursors.push(Cursor { page: last, last, mask, first_mask, sought });
        }
    }

    /// Compares a page of each chain, and asks for the next of those that have one.
    #[inline(always)]
    fn read_chains<L: Lanes>(&mut self, lanes: L, under_way: &mut UnderWay) {
        let (view, mut kept) = (self.view, 0);
        for place in 0..under_way.cursors.len() {
            let mut cursor = under_way.cursors[place];
            let Cursor { page, last, sought, first_mask, .. } = cursor;
            let next = view.after(page);
            let is_alone = page == last && next == last;
            let mask = if is_alone { cursor.mask & first_mask } else { cursor.mask };
            let near = F::near(lanes, &view, page.number(), &sought) & mask;
            if near != 0 {
                let spot = |at| F::on_page(page.number(), at);
                self.note(lanes, spot, near, &sought, under_way);
            }
            if next != last {
                if page == last || next.begins_a_run() {
                    view.prefetch_run(next, sought.both != 0);
                }
                cursor.mask = if page == last { first_mask } else { Self::ALL };
                cursor.page = next;
                under_way.cursors[kept] = cursor;
                kept += 1;
            }
        }
        under_way.cursors.truncate(kept);
        self.confirm(lanes, under_way);
    }

    #[inline(never)]
    fn note<L: Lanes>(
        &mut self,
        lanes: L,
        spot: impl Fn(u32) -> Spot,
        mut near: u32,
        sought: &Sought,
        under_way: &mut UnderWay,
    ) {
        while near != 0 {
            if under_way.paged.is_full() {
                self.confirm(lanes, under_way);
            }
            let hit = Hit { at: spot(near.trailing_zeros()), sought: *sought };
            near &= near - 1;
            self.view.prefetch_rest(hit.at);
            under_way.paged.push(hit);
        }
    }

    #[inline(always)]
    fn confirm<L: Lanes>(&mut self, lanes: L, under_way: &mut UnderWay) {
        if under_way.waits() {
            lanes.run(Confirming { search: self, under_way });
        }
    }

    /// Asks for the fingerprint of an entry of which the slot has come.
    #[inline(always)]
    fn place(&self, hit: Hit<Spot>, placed: &mut List<u32>) {
        let slot = self.view.slot(hit.at);
        prefetch(self.fingerprints.word(slot));
        placed.push(Hit { at: slot, sought: hit.sought });
    }

    #[inline(always)]
    fn confirm_one(&mut self, hit: Hit<u32>) {
        let query = self.queries[hit.sought.query as usize];
        let difference = self.fingerprints.word(hit.at) ^ query.fingerprint;
        let distance = difference.count_ones();
        if distance > query.radius {
            return;
        }
        // What several steps find is taken from the first of them only.
        let difference = self.blocks.shuffle.of(difference);
        let steps = &self.blocks.steps[query.radius as usize][..hit.sought.step as usize];
        let before = |step: &Step| {
            (difference & self.blocks.keys[step.table].mask).count_ones() == step.distance
        };
        if !steps.iter().any(before) {
            self.found.push(Found { query: hit.sought.query, slot: hit.at, distance });
        }
    }
}

/// Confirms the entries whose fingerprints were asked for, asks for those of which the slots were, and for the slots of those that are
/// near by all that they keep.
struct Confirming<'s, 'a, F> {
    search: &'s mut Search<'a, F>,
    under_way: &'s mut UnderWay,
}

impl<F: Format> Work for Confirming<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Self { search, under_way } = self;
        for hit in under_way.placed.drain() {
            search.confirm_one(*hit);
        }
        let view = search.view;
        for hit in under_way.slotted.drain() {
            search.place(*hit, &mut under_way.placed);
        }
        for hit in under_way.paged.drain() {
            let Sought { rest, allowed, .. } = hit.sought;
            if view.distance(view.rest(hit.at), rest) > allowed {
                continue;
            }
            if F::SPLIT {
                view.prefetch_slot(hit.at);
                under_way.slotted.push(*hit);
            } else {
                search.place(*hit, &mut under_way.placed);
            }
        }
    }
}

/// Compares a fingerprint with all of them.
pub(super) struct Scanning<'a> {
    pub(super) queue: &'a Slots,
    pub(super) query: Query,
    /// As which query it is to be reported.
    pub(super) number: u32,
    pub(super) found: &'a mut Vec<Found>,
}

impl Work for Scanning<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Query { fingerprint, radius } = self.query;
        for (start, words) in self.queue.runs() {
            let (eights, rest) = words.as_chunks::<8>();
            let mut report = |offset: usize, word: u64| {
                let distance = (word ^ fingerprint).count_ones();
                if distance <= radius {
                    self.found.push(Found {
                        query: self.number,
                        slot: start + offset as u32,
                        distance,
                    });
                }
            };
            for (i, eight) in eights.iter().enumerate() {
                if lanes.near_fingerprints(eight, fingerprint, radius) != 0 {
                    for (j, &word) in eight.iter().enumerate() {
                        report(8 * i + j, word);
                    }
                }
            }
            for (j, &word) in rest.iter().enumerate() {
                report(8 * eights.len() + j, word);
            }
        }
    }
}
