//! One query: reads the buckets of its probe plan and confirms what is near by the whole fingerprint.
//!
//! Every read is a random memory access, and waiting for it is nearly all that a query costs. But a query knows
//! from the start what it has to read: inline parts are requested some buckets ahead, chains are read side by side, and what looks near waits in
//! a list until its next line has come.

#![expect(clippy::cast_possible_truncation, reason = "places in the queue have 32 bits")]

use std::cell::Cell;

use super::{
    buckets::{Head, LAST, LINK, PAGE_ENTRIES, Spot, span},
    probes::Probe,
    queue::Queue,
    simd::{Line, Simd, prefetch},
    tables::Tables,
};

/// Buckets that are requested right behind each other: the processor then translates several addresses at a time.
const PREFETCHED: usize = 8;
/// Buckets that are requested ahead.
const AHEAD: usize = 32;
/// When this many entries wait, they are read on.
const WAITING: usize = 16;

/// An entry within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) slot: u32,
    pub(super) distance: u32,
}

/// A probe, and what it compares with.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    probe: Probe,
    tag: u32,
}

/// A chain that is being read.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    page: u32,
    /// Where it ends: the reading begins there, for the last page leads to the first.
    last: u32,
    /// The entries of the first page and of the last: a bit each.
    first_mask: u32,
    last_mask: u32,
    lookup: usize,
}

/// Lists that a query uses, kept for the next.
#[derive(Debug, Default)]
struct Scratch {
    lookups: Vec<Lookup>,
    /// The inline parts to read, in order: the page, and the number of the lookup.
    buckets: Vec<(u32, usize)>,
    chains: Vec<Cursor>,
    /// Near entries whose whole tag has been requested.
    near: Vec<(Spot, usize)>,
    /// Near entries whose slot has been requested.
    nearer: Vec<(Spot, usize)>,
    /// Slots whose fingerprints have been requested.
    slots: Vec<(u32, usize)>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Passes on all entries within `radius` of a fingerprint.
pub(super) fn search(
    tables: &Tables,
    queue: &Queue,
    simd: Simd,
    (fingerprint, radius): (u64, u32),
    found: &mut Vec<Found>,
) {
    let scratch = SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let mut search = Search { tables, queue, simd, fingerprint, radius, scratch, found };
    search.plan();
    search.read_inline_parts();
    search.read_chains();
    // The tag, the slot, the fingerprint.
    (0..3).for_each(|_| search.go_on());
    let scratch = search.scratch;
    // A thread that is about to end has no next query.
    let _ = SCRATCH.try_with(|kept| kept.set(Some(scratch)));
}

/// Passes on all entries within `radius` of a fingerprint, by comparing with all.
pub(super) fn scan(
    queue: &Queue,
    simd: Simd,
    (fingerprint, radius): (u64, u32),
    found: &mut Vec<Found>,
) {
    for (start, entries) in queue.runs() {
        simd.scan(entries, fingerprint, radius, |place, distance| {
            found.push(Found { slot: start.wrapping_add(place as u32), distance });
        });
    }
}

struct Search<'a> {
    tables: &'a Tables,
    queue: &'a Queue,
    simd: Simd,
    fingerprint: u64,
    radius: u32,
    scratch: Box<Scratch>,
    found: &'a mut Vec<Found>,
}

impl Search<'_> {
    fn plan(&mut self) {
        let Scratch { lookups, buckets, .. } = &mut *self.scratch;
        lookups.clear();
        buckets.clear();
        let permuted = self.tables.permutation.apply(self.fingerprint);
        for (nth, &probe) in self.tables.probes(self.radius).iter().enumerate() {
            let table = &self.tables.list[probe.table];
            let (key, tag) = (table.key(permuted), table.tag(permuted));
            lookups.push(Lookup { probe, tag });
            let differences = table.differences(probe.distance).iter();
            buckets.extend(differences.map(|difference| (table.bucket(key ^ difference).0, nth)));
        }
    }

    fn read_inline_parts(&mut self) {
        let stops = self.scratch.buckets.len();
        self.prefetch_inline(0..AHEAD.min(stops));
        for start in (0..stops).step_by(PREFETCHED) {
            let end = stops.min(start + PREFETCHED);
            self.prefetch_inline(stops.min(start + AHEAD)..stops.min(end + AHEAD));
            for nth in start..end {
                let (page, lookup) = self.scratch.buckets[nth];
                self.read_inline(page, lookup);
            }
            if self.scratch.near.len() + self.scratch.nearer.len() >= WAITING {
                self.go_on();
            }
        }
        self.go_on();
    }

    fn prefetch_inline(&self, stops: std::ops::Range<usize>) {
        for &(page, nth) in &self.scratch.buckets[stops] {
            self.prefetch_page(page, self.scratch.lookups[nth].probe);
        }
    }

    #[inline]
    fn prefetch_page(&self, page: u32, probe: Probe) {
        prefetch(self.tables.pages.low(page));
        if probe.whole {
            prefetch(self.tables.pages.high(page));
        }
    }

    #[inline]
    fn read_inline(&mut self, page: u32, nth: usize) {
        let (low, lookup) = (self.tables.pages.low(page), self.scratch.lookups[nth]);
        let head = Head::of(low);
        let near = self.near(low, page, &lookup);
        if near != 0 {
            self.note(page, near & head.mask(), nth);
        }
        if head.has_chain() {
            let last = low[LAST];
            self.prefetch_page(last, lookup.probe);
            self.scratch.chains.push(Cursor {
                page: last,
                last,
                first_mask: span(head.chain_first, PAGE_ENTRIES),
                last_mask: span(0, head.chain_end),
                lookup: nth,
            });
        }
    }

    /// Which entries of a page with this first line are near, as if it were full.
    #[inline]
    fn near(&self, low: &Line, page: u32, Lookup { probe, tag, .. }: &Lookup) -> u32 {
        if probe.whole {
            self.simd.near_both(low, self.tables.pages.high(page), *tag, probe.allowed)
        } else {
            self.simd.near(low, *tag, probe.near)
        }
    }

    fn note(&mut self, page: u32, mut near: u32, lookup: usize) {
        let (pages, whole) = (&self.tables.pages, self.scratch.lookups[lookup].probe.whole);
        while near != 0 {
            let spot = Spot { page, at: near.trailing_zeros() };
            near &= near - 1;
            if whole {
                prefetch(pages.slot(spot));
                self.scratch.nearer.push((spot, lookup));
            } else {
                prefetch(pages.high(page));
                self.scratch.near.push((spot, lookup));
            }
        }
    }

    /// Reads a page of each chain, then the next of each that has one.
    fn read_chains(&mut self) {
        while !self.scratch.chains.is_empty() {
            let mut chains = std::mem::take(&mut self.scratch.chains);
            chains.retain_mut(|cursor| self.read_page(cursor));
            self.scratch.chains = chains;
            self.go_on();
        }
    }

    /// Reads a page of a chain and moves on to the next, if there is one.
    #[inline]
    fn read_page(&mut self, cursor: &mut Cursor) -> bool {
        let Cursor { page, last, first_mask, last_mask, lookup: nth } = *cursor;
        let lookup = self.scratch.lookups[nth];
        let low = self.tables.pages.low(page);
        let (mut near, next) = (self.near(low, page, &lookup), low[LINK]);
        if page == last {
            near &= last_mask;
            // The last page comes first: what is behind it begins with the first.
            if next == last {
                near &= first_mask;
            }
        } else {
            near &= first_mask;
            cursor.first_mask = u32::MAX;
        }
        if near != 0 {
            self.note(page, near, nth);
        }
        cursor.page = next;
        if next != last {
            self.prefetch_page(next, lookup.probe);
        }
        next != last
    }

    /// Confirms the entries whose fingerprints have come, and requests the next line of the others.
    fn go_on(&mut self) {
        let Scratch { lookups, near, nearer, slots, .. } = &mut *self.scratch;
        for (slot, nth) in slots.drain(..) {
            let difference = self.queue.fingerprint(slot) ^ self.fingerprint;
            let distance = difference.count_ones();
            if distance <= self.radius {
                let permuted = self.tables.permutation.apply(difference);
                let before = |Lookup { probe, .. }: &Lookup| {
                    self.tables.list[probe.table].distance(permuted) == probe.distance
                };
                // What several probes find is taken from the first only.
                if !lookups[..nth].iter().any(before) {
                    self.found.push(Found { slot, distance });
                }
            }
        }
        for (spot, nth) in nearer.drain(..) {
            let slot = *self.tables.pages.slot(spot);
            prefetch(self.queue.fingerprint(slot));
            slots.push((slot, nth));
        }
        for (spot, nth) in near.drain(..) {
            let Lookup { probe, tag, .. } = lookups[nth];
            if (self.tables.pages.tag(spot) ^ tag).count_ones() <= probe.allowed {
                prefetch(self.tables.pages.slot(spot));
                nearer.push((spot, nth));
            }
        }
    }
}
