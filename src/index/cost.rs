//! What queries cost in a layout, by estimate.

#![expect(clippy::cast_precision_loss, reason = "estimates")]

use super::{
    key::HALF,
    layout::{Entry, Family, MAX_PROBE, Probes},
    plan::Plan,
    steps::{Step, steps},
};

// Nanoseconds, fitted by hand to queries of some twenty layouts at 10^6 and 10^7 in busy hours; only their proportions matter.

/// What a query takes for each table, until the first has come.
const TABLE_COST: f64 = 80.0;
/// What a line takes at a random place of a table of so many bytes, and how much more each time that the table doubles, first within
/// the caches and then beyond.
const PLACE_COST: f64 = 8.0;
const CACHED_BYTES: f64 = 256.0 * 1024.0;
const CACHED_DOUBLING_COST: f64 = 4.0;
const NEAR_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
const DOUBLING_COST: f64 = 15.0;
/// What a line takes that lies behind the last.
const LINE_COST: f64 = 9.0;
/// To compare with a fingerprint in a scan.
const SCAN_COST: f64 = 0.25;

/// What lies at a random place of so many bytes takes.
fn place_cost(bytes: f64) -> f64 {
    let doublings = |from: f64, until: f64| (bytes.min(until) / from).log2().max(0.0);
    PLACE_COST
        + CACHED_DOUBLING_COST * doublings(CACHED_BYTES, NEAR_BYTES)
        + DOUBLING_COST * doublings(NEAR_BYTES, f64::INFINITY)
}

impl Plan {
    /// About the nanoseconds of a query.
    pub(super) fn cost(&self, radius: u32) -> f64 {
        if self.layout.family == Family::Scan {
            return self.entries as f64 * SCAN_COST;
        }
        let costs = Costs::new(self);
        let probes = costs.probes(radius);
        let steps = costs.steps(radius, &probes);
        probes.len() as f64 * TABLE_COST + steps.iter().map(|step| costs.of_step(step)).sum::<f64>()
    }

    /// Where queries of a radius look.
    pub(super) fn steps(&self, radius: u32) -> Vec<Step> {
        let costs = Costs::new(self);
        costs.steps(radius, &costs.probes(radius))
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
    is_wide: bool,
    /// The bits by which an entry is compared before the fingerprint is read.
    entry_bits: u32,
    /// What a fingerprint takes.
    fingerprint: f64,
}

struct Table {
    /// The bits of its key.
    bits: u32,
    /// The bits of the fingerprint that its entries keep on the first line.
    first_bits: u32,
    /// Entries of a bucket.
    bucket: f64,
    /// What a random line takes, a home, and what of the bucket has no room there.
    line: f64,
    home: f64,
    chain: f64,
}

impl<'a> Costs<'a> {
    fn new(plan: &'a Plan) -> Self {
        let bits = plan.layout.bits();
        let of_no_key = u64::BITS.saturating_sub(bits.iter().sum::<u32>());
        let (_, len) = plan.layout.entry.page();
        let table = |(&bits, next): (&u32, &u32)| {
            let (bucket, pages) = (plan.bucket(bits), f64::from(plan.home_pages(bits)));
            let line = place_cost(pages * f64::from(bits).exp2() * 64.0);
            let (over, share) = excess(bucket, pages * len);
            let first_bits =
                if plan.layout.is_disjoint() { (next + of_no_key).min(HALF) } else { HALF };
            let (home, chain) = (line + (pages - 1.0) * LINE_COST, (share + over / len) * line);
            Table { bits, first_bits, bucket, line, home, chain }
        };
        let is_wide = plan.layout.entry == Entry::Wide;
        Self {
            plan,
            tables: bits.iter().zip(bits.iter().cycle().skip(1)).map(table).collect(),
            is_wide,
            entry_bits: HALF + if is_wide { HALF } else { u32::BITS - plan.slot_bits() },
            fingerprint: place_cost(plan.entries as f64 * 8.0),
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
        // Those that are near by their first bits take the line of the others, those that are near by all, slot and fingerprint.
        let near = if both || !self.is_wide { 0.0 } else { ball(table.first_bits, step.near) };
        let all = ball(self.entry_bits, step.allowed);
        let slot = if self.is_wide { table.line + DOUBLING_COST } else { 0.0 };
        let looked_up = near * table.line + all * (slot + self.fingerprint);
        let bucket = lines * (table.home + table.chain) + table.bucket * looked_up;
        choose(table.bits, step.distance) * bucket
    }
}

/// By how many entries a bucket exceeds a home on average, and what share of the buckets do: of a normal distribution.
pub(super) fn excess(mean: f64, home: f64) -> (f64, f64) {
    let deviation = mean.sqrt().max(1e-9);
    let z = (home - mean) / deviation;
    // The logistic curve for the share beyond, which is near enough.
    let share = 1.0 / (1.0 + (1.702 * z).exp());
    let over = if z < -20.0 { -z } else { (-1.702 * z).exp().ln_1p() / 1.702 };
    (deviation * over, share)
}

/// The share of words of so many bits within a radius of one.
fn ball(bits: u32, radius: u32) -> f64 {
    (0..=radius.min(bits)).map(|weight| choose(bits, weight)).sum::<f64>() / f64::from(bits).exp2()
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n.saturating_sub(i)) / f64::from(i + 1)).product()
}
