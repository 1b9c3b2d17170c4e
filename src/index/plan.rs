//! The choice of a layout: what it costs, and what it takes.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates"
)]

use std::fmt;

use super::{
    homes::Homes,
    key::Key,
    layout::{COVERINGS, Entry, Family, Layout, MAX_PROBE, Probes, serves},
    slab::RefusedError,
    slots::STRETCH,
};
use crate::page::figures::thousands;

/// Nanoseconds until a bucket's word has come, until a page has come, and to confirm an entry. Measured where the window is
/// far larger than the caches; only their proportions matter.
const WORD_COST: f64 = 6.0;
const PAGE_COST: f64 = 14.0;
const ENTRY_COST: f64 = 20.0;
/// What a table costs more, whenever the whole takes twice as many bytes as these: its first word and page come from farther away.
const SPREAD_COST: f64 = 15.0;
const CACHED_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// What a bucket's word costs more, whenever its table has twice as many buckets as these.
const SPREAD_WORD_COST: f64 = 3.0;
const CACHED_BITS: u32 = 16;
/// All that in a window too large for the caches and the tables of addresses: for each table, until a page or a home has come,
/// for each line of a home, and to confirm an entry. Fitted to queries of eight layouts at 10^8.
const TABLE_COST: f64 = 105.0;
const MISS_COST: f64 = 48.0;
const LINE_COST: f64 = 3.0;
const FAR_ENTRY_COST: f64 = 110.0;
/// From so many entries on a window is that large, and pays for homes.
const LARGE: u64 = 30_000_000;
/// Nanoseconds to compare with a fingerprint in a scan.
const SCAN_COST: f64 = 0.25;
/// A bucket's word in the directory.
const WORD_BYTES: f64 = 8.0;
/// A fingerprint in the window's queue, and a document's number.
const SLOT_BYTES: f64 = 16.0;

/// A layout for a window of so many entries, what it takes and where queries look.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    layout: Layout,
    entries: u64,
}

/// A window for which the memory given is too small, whatever the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} entries at radius {radius} need {} of memory; the budget is {}",
    thousands(*.entries),
    bytesize::ByteSize(*.needed).display().iec(),
    bytesize::ByteSize(*.budget).display().iec()
)]
pub struct BudgetError {
    /// Entries of the window.
    pub entries: u64,
    /// The largest radius asked for.
    pub radius: u32,
    /// Bytes that the smallest layout takes.
    pub needed: u64,
    /// Bytes that there are.
    pub budget: u64,
}

/// Why there is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The system refuses what the budget allows.
    #[error(transparent)]
    Refused(#[from] RefusedError),
}

/// The largest radius of a [`BlockIndex`](super::BlockIndex).
pub const MAX_RADIUS: u32 = 11;

impl Plan {
    /// A layout chosen by hand.
    #[must_use]
    pub fn new(layout: Layout, entries: u64) -> Self {
        Self { layout, entries }
    }

    /// The fastest layout for queries within `radius` over a window of `entries` that fits into `budget` bytes.
    ///
    /// # Errors
    /// If none fits.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    pub fn choose(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        assert!(radius <= MAX_RADIUS, "radius {radius} is larger than {MAX_RADIUS}");
        let plans: Vec<Self> = candidates(radius, entries)
            .into_iter()
            .map(|layout| Self::new(layout, entries))
            .collect();
        let fitting = plans.iter().filter(|plan| plan.bytes() <= budget);
        let fastest = fitting.min_by(|a, b| a.cost(radius).total_cmp(&b.cost(radius)));
        let needed = || plans.iter().map(Self::bytes).min().unwrap_or(u64::MAX);
        fastest.cloned().ok_or_else(|| BudgetError { entries, radius, needed: needed(), budget })
    }

    /// Bytes that the smallest layout for queries within `radius` over a window of `entries` takes.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    #[must_use]
    pub fn least_bytes(radius: u32, entries: u64) -> u64 {
        match Self::choose(radius, entries, 0) {
            Ok(plan) => plan.bytes(),
            Err(error) => error.needed,
        }
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// For how many entries it was made. There may be more; the queries then take longer.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of memory that the full window takes at most, fingerprints and document numbers included. Numbers that are consecutive
    /// take none: then it is 8 bytes an entry less.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let entries = self.entries as f64;
        let tables: f64 = self.layout.bits().iter().map(|&bits| self.table_bytes(bits)).sum();
        (entries * SLOT_BYTES + tables) as u64
    }

    fn table_bytes(&self, bits: u32) -> f64 {
        let (page, _) = self.layout.entry.page();
        let directory =
            if self.layout.homes.is_some() { 0.0 } else { f64::from(bits).exp2() * WORD_BYTES };
        self.table_pages(bits) * page + directory
    }

    /// Pages of a table, lines of homes among them.
    fn table_pages(&self, bits: u32) -> f64 {
        let (entries, buckets) = (self.entries as f64, f64::from(bits).exp2());
        let (_, len) = self.layout.entry.page();
        if self.layout.homes.is_some() {
            let lines = f64::from(self.home_lines(bits));
            let (over, share) = excess(entries / buckets, lines * len);
            // About one page of a chain is empty.
            return buckets * (lines + share * 0.9 + over / len);
        }
        // Of a bucket's first and last page, about one page together is empty.
        entries / len + buckets.min(entries) * (len - 1.0) / len
    }

    /// Pages of all tables, lines of homes among them.
    pub(super) fn pages(&self) -> usize {
        self.layout.bits().iter().map(|&bits| self.table_pages(bits)).sum::<f64>() as usize
    }

    /// The bits that a slot takes, with as many slots again in reserve. What they leave holds more of the fingerprint.
    pub(super) fn slot_bits(&self) -> u32 {
        let slots = self.entries.saturating_add(2 * STRETCH).saturating_mul(2);
        (u64::BITS - slots.leading_zeros()).clamp(self.layout.entry.bits(), u32::BITS)
    }

    /// The bits of the fingerprint that an entry has, all in all.
    fn entry_bits(&self) -> u32 {
        self.layout.entry.bits() + u32::BITS - self.slot_bits()
    }

    /// The tables' keys.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.layout.keys(self.entry_bits())
    }

    /// Lines of the homes of each table.
    pub(super) fn lines(&self) -> Vec<u32> {
        self.layout.bits().iter().map(|&bits| self.home_lines(bits)).collect()
    }

    fn home_lines(&self, bits: u32) -> u32 {
        let mean = self.entries as f64 / f64::from(bits).exp2();
        let per_line = self.layout.entry.page().1;
        self.layout.homes.map_or(0, |homes| homes.lines(mean, per_line))
    }

    /// About the nanoseconds of a query.
    pub(super) fn cost(&self, radius: u32) -> f64 {
        if self.layout.family == Family::Scan {
            return self.entries as f64 * SCAN_COST;
        }
        let bits = self.layout.bits();
        let costs: Vec<Vec<f64>> = bits
            .iter()
            .map(|&bits| {
                (0..=MAX_PROBE).map(|within| self.probe_cost(bits, within, radius)).collect()
            })
            .collect();
        let probes = self.layout.probes(radius, |table, within| costs[table][within as usize]);
        probes.iter().map(|&(table, within)| costs[table][within as usize]).sum()
    }

    fn is_large(&self) -> bool {
        self.entries >= LARGE
    }

    /// Where queries of a radius look.
    pub(super) fn probes(&self, radius: u32) -> Probes {
        let bits = self.layout.bits();
        self.layout.probes(radius, |table, within| self.probe_cost(bits[table], within, radius))
    }

    /// The cost of looking within a radius in a table, for a query of some radius.
    fn probe_cost(&self, bits: u32, within: u32, radius: u32) -> f64 {
        let bucket = self.entries as f64 / f64::from(bits).exp2();
        let (_, len) = self.layout.entry.page();
        let (first, page_cost, entry_cost) = if self.is_large() {
            (TABLE_COST, MISS_COST, FAR_ENTRY_COST)
        } else {
            let doublings = (self.bytes() as f64 / CACHED_BYTES).log2().max(0.0);
            (SPREAD_COST * doublings, PAGE_COST, ENTRY_COST)
        };
        let reading = if self.layout.homes.is_some() {
            let lines = f64::from(self.home_lines(bits));
            let (over, share) = excess(bucket, lines * len);
            page_cost * (1.0 + share + over / len) + lines * LINE_COST
        } else {
            let pages = (bucket / len + (len - 1.0) / len).min(bucket);
            let word = WORD_COST + SPREAD_WORD_COST * f64::from(bits.saturating_sub(CACHED_BITS));
            word + pages * page_cost
        };
        let all: f64 = (0..=within.min(radius))
            .map(|weight| {
                let accepted = ball(self.entry_bits(), radius - weight);
                let bucket_cost = reading + bucket * accepted * entry_cost;
                choose(bits, weight) * bucket_cost
            })
            .sum();
        first + all
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = bytesize::ByteSize(self.bytes());
        let (entries, size) = (thousands(self.entries), size.display().iec());
        write!(f, "{}, for {entries} entries, at most {size} with their numbers", self.layout)
    }
}

/// By how many entries a bucket exceeds a home on average, and what share of the buckets do: of a normal distribution.
fn excess(mean: f64, home: f64) -> (f64, f64) {
    let deviation = mean.sqrt().max(1e-9);
    let z = (home - mean) / deviation;
    // The logistic curve for the share beyond, which is near enough.
    let share = 1.0 / (1.0 + (1.702 * z).exp());
    (deviation / 1.702 * (-1.702 * z).exp().ln_1p(), share)
}

/// All layouts among which there is a choice.
fn candidates(radius: u32, entries: u64) -> Vec<Layout> {
    if entries <= 4096 {
        return vec![Layout::scan(radius)];
    }
    let mut all = Vec::new();
    for entry in [Entry::Narrow, Entry::Wide] {
        for tables in (2..=4).filter(|&tables| radius < serves(tables as usize)) {
            for wide in 8..=28 {
                let most = ((u64::BITS - wide) / (tables - 1)).min(wide);
                for bits in
                    [most, most.saturating_sub(1), most.saturating_sub(2), 8 + (wide - 8) / 2, wide]
                {
                    if (4..=most).contains(&bits) {
                        let mut keys = vec![bits; tables as usize];
                        keys[0] = wide;
                        all.push(Layout::disjoint(&keys, entry, radius));
                    }
                }
            }
        }
        if radius == 3 {
            for (_, keys) in COVERINGS {
                all.extend((10..=25).map(|bits| Layout::covering(keys.len(), bits, entry)));
            }
        }
    }
    if entries >= LARGE {
        // A home of several lines is wasted on a bucket that does not fill one.
        let fills_a_line = |layout: &&Layout| {
            let (_, per_line) = layout.entry.page();
            layout.bits().iter().all(|&bits| entries as f64 / f64::from(bits).exp2() >= per_line)
        };
        let queues: Vec<Layout> = all.iter().filter(fills_a_line).cloned().collect();
        for homes in [Homes::Tight, Homes::Roomy] {
            all.extend(queues.iter().map(|layout| layout.clone().with_homes(homes)));
        }
    }
    all
}

/// The share of words of so many bits within a radius of one.
fn ball(bits: u32, radius: u32) -> f64 {
    (0..=radius.min(bits)).map(|weight| choose(bits, weight)).sum::<f64>() / f64::from(bits).exp2()
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n.saturating_sub(i)) / f64::from(i + 1)).product()
}
