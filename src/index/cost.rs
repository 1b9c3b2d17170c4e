//! What queries cost in a layout, by estimate.

#![expect(clippy::cast_precision_loss, reason = "estimates")]

use super::{
    key::HALF,
    layout::{Entry, Family, Probes},
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
        let tables = self.probes(radius).len() as f64;
        tables * TABLE_COST
            + self.steps(radius).iter().map(|step| self.step_cost(step)).sum::<f64>()
    }

    /// Within which radius queries look in which tables.
    pub(super) fn probes(&self, radius: u32) -> Probes {
        let cost = |table, within: u32| {
            // How much of what is left in it others found is not known yet.
            let step = |distance: u32| {
                let allowed = radius - distance;
                Step { table, distance, near: 3.min(allowed), allowed, both: distance < 2 }
            };
            let steps = (0..=within.min(radius)).map(|distance| self.step_cost(&step(distance)));
            TABLE_COST + steps.sum::<f64>()
        };
        self.layout.probes(radius, cost)
    }

    /// Where queries of a radius look.
    pub(super) fn steps(&self, radius: u32) -> Vec<Step> {
        let both = |step: &Step| {
            let first = Step { both: false, ..*step };
            self.step_cost(step) < self.step_cost(&first)
        };
        let tables = self.layout.bits().len();
        steps(radius, &self.probes(radius), tables, self.layout.is_disjoint(), both)
    }

    /// The cost of looking into all buckets of a step.
    fn step_cost(&self, step: &Step) -> f64 {
        let bits = self.layout.bits()[step.table];
        let (bucket, pages) = (self.bucket(bits), f64::from(self.home_pages(bits)));
        let (_, len) = self.layout.entry.page();
        let place = place_cost(pages * f64::from(bits).exp2() * 64.0);
        let wide = self.layout.entry == Entry::Wide;
        let lines = if wide && step.both { 2.0 } else { 1.0 };
        let (over, share) = excess(bucket, pages * len);
        let home = lines * (place + (pages - 1.0) * LINE_COST);
        let chain = (share + over / len) * lines * place;
        // Those that are near by their first bits take the line of the others, those that are near by all, slot and fingerprint.
        let (first, all) =
            (ball(self.first_bits(step.table), step.near), ball(self.entry_bits(), step.allowed));
        let noted = if wide { if step.both { all } else { first } } else { 0.0 };
        let looked_up =
            noted * (place + DOUBLING_COST) + all * place_cost(self.entries as f64 * 8.0);
        choose(bits, step.distance) * (home + chain + bucket * looked_up)
    }

    /// The bits of the fingerprint that entries of a table keep on the first line.
    fn first_bits(&self, table: usize) -> u32 {
        let bits = self.layout.bits();
        if !self.layout.is_disjoint() {
            return HALF;
        }
        let of_no_key = u64::BITS - bits.iter().sum::<u32>();
        (bits[(table + 1) % bits.len()] + of_no_key).min(HALF)
    }

    /// The bits by which an entry is compared before the fingerprint is read.
    fn entry_bits(&self) -> u32 {
        match self.layout.entry {
            Entry::Narrow => HALF + u32::BITS - self.slot_bits(),
            Entry::Wide => 2 * HALF,
        }
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
