//! What queries cost in a layout, by estimate.

#![expect(clippy::cast_precision_loss, reason = "estimates")]

use std::ops::Range;

use super::{
    crowding::Crowding,
    key::HALF,
    layout::{Entry, Family, MAX_PROBE, Probes},
    plan::Plan,
    steps::{Step, steps},
};

// Nanoseconds, fitted to 41 layouts at 10^6 and 10^7, of random fingerprints and of texts, within 3, 8 and 9. The fit met the geometric mean of
// queries one by one and in batches between 0.7 and 1.26 times; after it, narrow hits and the beginnings of chains were given a line more, and
// searches became lighter: what was measured since lies between 0.67 (radius 9 at 10^6) and 1.25 times (coverings) what is estimated.
// `cargo bench --bench index_large -- .. --layout ..` prints estimate and measurement. Only proportions matter.

/// What a query takes for each table, until the first line has come.
const TABLE_COST: f64 = 90.0;
/// What a line takes at a random place of a table of so many bytes, and how much more each time that the table doubles, first within
/// the caches and then beyond.
const PLACE_COST: f64 = 12.0;
const CACHED_BYTES: f64 = 256.0 * 1024.0;
const CACHED_DOUBLING_COST: f64 = 5.0;
const NEAR_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
const DOUBLING_COST: f64 = 3.0;
/// What a line takes that lies behind the last.
const LINE_COST: f64 = 13.0;
/// What a page of a chain takes, which has been asked for.
const PAGE_COST: f64 = 30.0;
/// To look once more at an entry.
const HIT_COST: f64 = 12.0;
/// To compare with a fingerprint in a scan.
const SCAN_COST: f64 = 0.25;

/// What lies at a random place of so many bytes takes.
fn place_cost(bytes: f64) -> f64 {
    let doublings = |from: f64, until: f64| (bytes.min(until) / from).log2().max(0.0);
    PLACE_COST
        + CACHED_DOUBLING_COST * doublings(CACHED_BYTES, NEAR_BYTES)
        + DOUBLING_COST * doublings(NEAR_BYTES, f64::INFINITY)
}

/// About the nanoseconds that it takes to compare with so many entries.
pub(super) fn scan_cost(entries: u64) -> f64 {
    entries as f64 * SCAN_COST
}

impl Plan {
    /// About the nanoseconds that a query within a radius takes: by estimate, from which the layout is chosen.
    ///
    /// ```
    /// use pagesieve::index::{Layout, Plan};
    ///
    /// let tables = Plan::choose(3, 1_000_000, 100 << 20).unwrap();
    /// let scan = Plan::new(Layout::scan(3), 1_000_000);
    /// assert!(50.0 * tables.query_ns(3) < scan.query_ns(3));
    /// ```
    #[must_use]
    pub fn query_ns(&self, radius: u32) -> f64 {
        if self.layout.family == Family::Scan {
            return scan_cost(self.entries);
        }
        let costs = Costs::new(self);
        let probes = costs.probes(radius);
        let steps = costs.steps(radius, &probes);
        let buckets: f64 = steps.iter().map(|step| costs.of_step(step)).sum();
        probes.len() as f64 * TABLE_COST + buckets
    }

    /// Where queries of a radius look.
    pub(super) fn steps(&self, radius: u32) -> Vec<Step> {
        let costs = Costs::new(self);
        costs.steps(radius, &costs.probes(radius))
    }

    /// How far each table is probed by the widest queries, by which bits are dealt to them.
    pub(super) fn within(&self) -> Vec<u32> {
        Costs::new(self).within
    }

    /// Within which radius queries look in which tables.
    #[cfg(test)]
    pub(super) fn probes(&self, radius: u32) -> Probes {
        Costs::new(self).probes(radius)
    }
}

/// What is the same for all steps of a plan.
struct Costs<'a> {
    plan: &'a Plan,
    tables: Vec<Table>,
    /// How far each table is probed by the widest queries, if bits told all the same.
    within: Vec<u32>,
    is_wide: bool,
    /// The bits by which an entry is compared before the fingerprint is read.
    entry_bits: u32,
    /// What a fingerprint takes, and the beginning of a chain.
    fingerprint: f64,
    chain: f64,
}

struct Table {
    /// The bits of its key.
    bits: u32,
    /// The bits of the fingerprint that its entries keep on the first line.
    first_bits: u32,
    /// What a random line takes, and a home.
    line: f64,
    home: f64,
    /// What a query meets in a bucket at each distance.
    met: [Met; MAX_PROBE as usize + 1],
}

struct Met {
    entries: f64,
    /// Whether there is a chain beyond the home, as a share, and of how many full pages.
    chains: f64,
    pages: f64,
}

/// What a query meets in a table of keys with so many bits, as they come or at these places among those that tell most.
fn met(plan: &Plan, bits: u32, places: Option<Range<u32>>) -> [Met; MAX_PROBE as usize + 1] {
    let (_, page) = plan.layout.entry.page();
    let (spread, mean) = (plan.spread, plan.bucket(bits));
    let crowding = match places {
        Some(places) => Crowding::of_places(spread, mean, bits, places),
        None => Crowding::new(spread, mean, bits),
    };
    let room = f64::from(plan.home(bits).room);
    [0, 1, 2, 3].map(|distance| {
        let (over, chains) = crowding.excess_met(distance, room);
        Met { entries: crowding.met(distance), chains, pages: over / page }
    })
}

impl<'a> Costs<'a> {
    fn new(plan: &'a Plan) -> Self {
        let bits = plan.layout.bits();
        let of_no_key = u64::BITS.saturating_sub(bits.iter().sum::<u32>());
        let table = |(&bits, next): (&u32, &u32)| {
            let compared = f64::from(plan.home(bits).compared);
            let line = place_cost(compared * f64::from(bits).exp2() * 64.0);
            let first_bits =
                if plan.layout.is_disjoint() { (next + of_no_key).min(HALF) } else { HALF };
            let home = line + (compared - 1.0) * LINE_COST;
            Table { bits, first_bits, line, home, met: met(plan, bits, None) }
        };
        let is_wide = plan.layout.entry == Entry::Wide;
        let mut this = Self {
            plan,
            tables: bits.iter().zip(bits.iter().cycle().skip(1)).map(table).collect(),
            within: vec![0; bits.len()],
            is_wide,
            entry_bits: HALF + if is_wide { HALF } else { u32::BITS - plan.slot_bits() },
            fingerprint: place_cost(plan.entries as f64 * 8.0),
            chain: place_cost(plan.bytes() as f64) + LINE_COST,
        };
        this.crowd();
        this
    }

    /// The tables that are probed farthest have the most telling bits.
    fn crowd(&mut self) {
        for (table, within) in self.probes(self.plan.layout.max_radius()) {
            self.within[table] = within;
        }
        if !self.plan.layout.is_disjoint() {
            return;
        }
        let within = &self.within;
        let bits_where = |chosen: &dyn Fn(u32) -> bool| -> u32 {
            let tables = self.tables.iter().zip(within);
            tables.filter(|&(_, &within)| chosen(within)).map(|(table, _)| table.bits).sum()
        };
        let places: Vec<Range<u32>> = within
            .iter()
            .map(|&within| {
                bits_where(&|other| other > within)..bits_where(&|other| other >= within)
            })
            .collect();
        for (table, places) in self.tables.iter_mut().zip(places) {
            table.met = met(self.plan, table.bits, Some(places));
        }
    }

    fn probes(&self, radius: u32) -> Probes {
        let within = |table| {
            // How much of what is left in it others found is not known yet.
            let step = |distance: u32| {
                let allowed = radius.saturating_sub(distance);
                Step { table, distance, near: 3.min(allowed), allowed, both: distance < 2 }
            };
            let mut cost = TABLE_COST;
            [0, 1, 2, 3].map(|distance| {
                cost += self.of_step(&step(distance));
                cost
            })
        };
        let costs: Vec<[f64; MAX_PROBE as usize + 1]> =
            (0..self.tables.len()).map(within).collect();
        self.plan.layout.probes(radius, |table, within| costs[table][within as usize])
    }

    fn steps(&self, radius: u32, probes: &Probes) -> Vec<Step> {
        let both = |step: &Step| self.of_step(step) < self.of_step(&Step { both: false, ..*step });
        steps(radius, probes, self.tables.len(), self.plan.layout.is_disjoint(), both)
    }

    /// The cost of looking into all buckets of a step.
    fn of_step(&self, step: &Step) -> f64 {
        let table = &self.tables[step.table];
        let both = self.is_wide && step.both;
        let lines = if both { 2.0 } else { 1.0 };
        let &Met { entries, chains, pages } = &table.met[step.distance as usize];
        // Those that are near by their first bits are looked at once more, on another line, which of narrow entries is not far; those that are near
        // by all take slot and fingerprint.
        let near = if both { 0.0 } else { ball(table.first_bits, step.near) };
        let all = ball(self.entry_bits, step.allowed);
        let (lines_more, slot) = if self.is_wide {
            let (_, len) = self.plan.layout.entry.page();
            let of_page = entries.clamp(1.0, len);
            let looked_at = 1.0 - (-near * of_page).exp();
            (entries / of_page * looked_at * table.line, table.line)
        } else {
            (entries * near * LINE_COST, 0.0)
        };
        let bucket = lines * (table.home + chains * self.chain + pages * PAGE_COST)
            + entries * near * HIT_COST
            + lines_more
            + entries * all * (slot + self.fingerprint);
        choose(table.bits, step.distance) * bucket
    }
}

/// The share of words of so many bits within a radius of one.
fn ball(bits: u32, radius: u32) -> f64 {
    (0..=radius.min(bits)).map(|weight| choose(bits, weight)).sum::<f64>() / f64::from(bits).exp2()
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n.saturating_sub(i)) / f64::from(i + 1)).product()
}
