//! The choice of a layout, and the memory that it takes.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates"
)]

use std::{collections::BTreeSet, fmt};

use super::{
    cost::scan_cost,
    crowding::{Crowding, Spread},
    homes::{Homes, Size},
    key::{HALF, Key},
    layout::{COVERINGS, Entry, Family, Layout, serves},
    runs::MAX_PAGES,
    slab::RefusedError,
    slots::STRETCH,
};
use crate::page::numbers::thousands;

/// Chains vary, and what was used to sort a large window may stay with the process.
const MARGIN: f64 = 1.02;
/// Homes have room for at most so many times as many entries as there are.
const SPARSE: f64 = 8.0;
/// A layout that takes so many times as long by estimate as the fastest is nearly as fast: of these that is taken which takes least time
/// and memory, one times the other.
const NEARLY: f64 = 1.1;
/// Each of the tables through which a window grows is made for so many times as many entries, in bits.
const STEP_BITS: u32 = 3;
/// So few entries are scanned, and stand in no table.
pub(super) const FEW: u64 = 4096;
/// Windows of so few entries may have no tables at all, where memory is short or tables are no faster.
const SCANNED: u64 = 1 << 20;
/// A fingerprint in the window's queue, and a document's number.
const SLOT_BYTES: f64 = 16.0;

/// A layout for a window of so many entries, what it takes and where queries look.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) layout: Layout,
    pub(super) entries: u64,
    pub(super) spread: Spread,
    /// What the window has before it is so full, the largest first.
    smaller: Vec<Plan>,
}

/// A window for which the memory given is too small, whatever the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} entries at radius {radius} {}; the budget is {}",
    thousands(*.entries),
    need(*.needed),
    bytesize::ByteSize(*.budget).display().iec()
)]
pub struct BudgetError {
    /// Entries of the window.
    pub entries: u64,
    /// The largest radius asked for.
    pub radius: u32,
    /// Bytes that the smallest layout takes; `u64::MAX` if no layout holds so many.
    pub needed: u64,
    /// Bytes that there are.
    pub budget: u64,
}

fn need(bytes: u64) -> String {
    match bytes {
        u64::MAX => "are more than any layout holds".to_owned(),
        _ => format!("need {} of memory", bytesize::ByteSize(bytes).display().iec()),
    }
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
    /// A layout chosen by hand, for fingerprints of texts.
    #[must_use]
    pub fn new(layout: Layout, entries: u64) -> Self {
        Self { layout, entries, spread: Spread::Texts, smaller: Vec::new() }
    }

    /// The same layout for fingerprints that lie otherwise.
    #[must_use]
    pub fn with_spread(self, spread: Spread) -> Self {
        let smaller = self.smaller.into_iter().map(|plan| plan.with_spread(spread)).collect();
        Self { spread, smaller, ..self }
    }

    /// The tables of a window that fills, one after the other.
    pub(super) fn stages(&self) -> impl Iterator<Item = &Self> {
        let tables = |plan: &&Self| plan.layout.family != Family::Scan;
        self.smaller.iter().rev().chain([self]).filter(tables)
    }

    /// The fastest layout for queries within `radius` over a window of `entries` fingerprints of texts that fits into `budget` bytes; of
    /// those that are nearly as fast, within a tenth by estimate, that which takes least time and memory, one times the other.
    ///
    /// # Errors
    /// If none fits that is faster than a scan.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    pub fn choose(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        Self::choose_for(Spread::Texts, radius, entries, budget)
    }

    /// The same for fingerprints that lie otherwise.
    ///
    /// # Errors
    /// If none fits that is faster than a scan.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    pub fn choose_for(
        spread: Spread,
        radius: u32,
        entries: u64,
        budget: u64,
    ) -> Result<Self, BudgetError> {
        let mut plan = Self::fastest(spread, radius, entries, budget)?;
        let mut bytes = plan.bytes();
        let fuller = (1..).map(|step| entries >> (STEP_BITS * step));
        for entries in fuller.take_while(|&entries| entries > FEW) {
            bytes >>= STEP_BITS;
            plan.smaller.extend(Self::fastest(spread, radius, entries, bytes));
        }
        Ok(plan)
    }

    /// The fastest layout for the full window.
    fn fastest(
        spread: Spread,
        radius: u32,
        entries: u64,
        budget: u64,
    ) -> Result<Self, BudgetError> {
        assert!(radius <= MAX_RADIUS, "radius {radius} is larger than {MAX_RADIUS}");
        let plans: Vec<Self> = candidates(radius, entries)
            .into_iter()
            .map(|layout| Self::new(layout, entries).with_spread(spread))
            .filter(|plan| plan.fills_its_homes() && plan.pages() <= MAX_PAGES as usize / 2)
            .collect();
        // What is slower than no tables at all is none.
        let cost =
            |plan: &&Self| Some(plan.query_ns(radius)).filter(|&cost| cost <= scan_cost(entries));
        let fitting = plans.iter().filter(|plan| plan.bytes() <= budget);
        let costs: Vec<(f64, &Self)> =
            fitting.filter_map(|plan| Some((cost(&plan)?, plan))).collect();
        let least = costs.iter().map(|&(cost, _)| cost).fold(f64::INFINITY, f64::min);
        let fast = costs.iter().filter(|&&(cost, _)| cost <= least * NEARLY);
        let both = |&&(cost, plan): &&(f64, &Self)| cost * plan.bytes() as f64;
        let fastest = fast.min_by(|a, b| both(a).total_cmp(&both(b)));
        let needed = || {
            let useful = plans.iter().filter(|plan| cost(plan).is_some());
            useful.map(Self::bytes).min().unwrap_or(u64::MAX)
        };
        fastest.map(|&(_, plan)| plan.clone()).ok_or_else(|| BudgetError {
            entries,
            radius,
            needed: needed(),
            budget,
        })
    }

    /// Bytes that the smallest layout for queries within `radius` over a window of `entries` fingerprints of texts takes.
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    #[must_use]
    pub fn least_bytes(radius: u32, entries: u64) -> u64 {
        match Self::fastest(Spread::Texts, radius, entries, 0) {
            Ok(plan) => plan.bytes(),
            Err(error) => error.needed,
        }
    }

    /// The same, for a window that has tables of these plans while it fills, the smallest last.
    #[cfg(test)]
    pub(super) fn growing_through(self, smaller: Vec<Self>) -> Self {
        Self { smaller, ..self }
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

    /// Bytes of memory that the full window takes at most, fingerprints and document numbers included, if they lie as they are expected to.
    /// Numbers that are consecutive take none: then it is 8 bytes an entry less.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let entries = self.entries as f64;
        let tables: f64 = self.layout.bits().iter().map(|&bits| self.table_bytes(bits)).sum();
        (entries * SLOT_BYTES + tables * MARGIN) as u64
    }

    /// Whether homes are not nearly all empty.
    fn fills_its_homes(&self) -> bool {
        let filled = |&bits: &u32| self.bucket(bits) * SPARSE >= f64::from(self.home(bits).room);
        self.layout.bits().iter().all(filled)
    }

    /// Bytes that are used whatever fingerprints there are.
    pub(super) fn certain_bytes(&self) -> u64 {
        let homes = |&bits: &u32| f64::from(self.home(bits).pages) * f64::from(bits).exp2();
        let pages: f64 = self.layout.bits().iter().map(homes).sum();
        (self.entries as f64 * 8.0 + pages * self.layout.entry.page().0) as u64
    }

    fn table_bytes(&self, bits: u32) -> f64 {
        self.table_pages(bits) * self.layout.entry.page().0
    }

    /// Pages of a table, those of homes among them.
    fn table_pages(&self, bits: u32) -> f64 {
        let (_, len) = self.layout.entry.page();
        let home = self.home(bits);
        let (pages, room) = (f64::from(home.pages), f64::from(home.room));
        let (over, share) = Crowding::new(self.spread, self.bucket(bits), bits).excess(room);
        // About one page of a chain is empty, and a part of its runs.
        f64::from(bits).exp2() * (pages + share * 0.9 + self.spread.runs() * over / len)
    }

    /// Pages of all tables, those of homes among them.
    pub(super) fn pages(&self) -> usize {
        let pages: f64 = self.layout.bits().iter().map(|&bits| self.table_pages(bits)).sum();
        (pages * MARGIN) as usize
    }

    /// The bits that a slot takes, with as many slots again in reserve. What they leave holds more of the fingerprint.
    pub(super) fn slot_bits(&self) -> u32 {
        let slots = self.entries.saturating_add(2 * STRETCH).saturating_mul(2);
        (u64::BITS - slots.leading_zeros()).clamp(HALF, u32::BITS)
    }

    /// The tables' keys.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.layout.keys()
    }

    /// The homes of each table.
    pub(super) fn homes(&self) -> Vec<Size> {
        self.layout.bits().iter().map(|&bits| self.home(bits)).collect()
    }

    /// The home of a bucket.
    pub(super) fn home(&self, bits: u32) -> Size {
        self.layout.entry.home(self.layout.homes, self.bucket(bits))
    }

    /// Entries of a bucket on average.
    pub(super) fn bucket(&self, bits: u32) -> f64 {
        self.entries as f64 / f64::from(bits).exp2()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = bytesize::ByteSize(self.bytes());
        let (entries, size) = (thousands(self.entries), size.display().iec());
        write!(f, "{}, for {entries} entries, at most {size} with their numbers", self.layout)
    }
}

/// All layouts among which there is a choice.
fn candidates(radius: u32, entries: u64) -> Vec<Layout> {
    let mut all = Vec::new();
    if entries <= SCANNED {
        all.push(Layout::scan(radius));
    }
    if entries <= FEW {
        return all;
    }
    for entry in [Entry::Narrow, Entry::Wide] {
        let tables = (2..=4).filter(|&tables| radius < serves(tables));
        let mut keys: BTreeSet<Vec<u32>> = tables.flat_map(disjoint_keys).collect();
        if radius == 0 {
            keys.extend((8..=28).map(|bits| vec![bits]));
        }
        all.extend(keys.iter().map(|keys| Layout::disjoint(keys, entry, radius)));
        if radius == 3 {
            for (_, keys) in COVERINGS {
                all.extend((10..=25).map(|bits| Layout::covering(keys.len(), bits, entry)));
            }
        }
    }
    let tight = all.clone().into_iter().map(|layout| layout.with_homes(Homes::Tight));
    all.into_iter().chain(tight).collect()
}

/// Bits of so many keys: some have more than the others, which are probed closer by.
fn disjoint_keys(tables: usize) -> impl Iterator<Item = Vec<u32>> {
    (1..tables).flat_map(move |wide| {
        (8..=28_u32).flat_map(move |bits| {
            let left = u64::BITS.saturating_sub(wide as u32 * bits);
            let most = (left / (tables - wide) as u32).min(bits);
            let others = [most, most.saturating_sub(1), most.saturating_sub(2), 8 + (bits - 8) / 2];
            let others = others.into_iter().filter(move |others| (4..=most).contains(others));
            others.map(move |others| {
                let mut keys = vec![others; tables];
                keys[..wide].fill(bits);
                keys
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_is_refused_with_what_it_needs() {
        let error = Plan::choose(6, 1_000_000_000, 16 << 30).unwrap_err();
        assert!(error.needed > error.budget);
        assert!(Plan::choose(6, 1_000_000_000, error.needed).is_ok());
        assert!((24 << 30..34 << 30).contains(&error.needed));
        let needed = bytesize::ByteSize(error.needed).display().iec();
        let told = format!(
            "1,000,000,000 entries at radius 6 need {needed} of memory; the budget is 16.0 GiB"
        );
        assert_eq!(error.to_string(), told);
        let too_many = Plan::choose(9, 1 << 40, u64::MAX).unwrap_err().to_string();
        assert!(too_many.contains("are more than any layout holds"), "{too_many}");
    }

    #[test]
    fn more_memory_never_makes_a_worse_choice() {
        for radius in [0, 3, 5, 8] {
            for entries in [10_000, 1_000_000, 100_000_000] {
                let needed = Plan::choose(radius, entries, 0)
                    .map_or_else(|error| error.needed, |plan| plan.bytes());
                let costs = (1..5).map(|more| {
                    Plan::choose(radius, entries, needed * more).unwrap().query_ns(radius)
                });
                assert!(costs.is_sorted_by(|less, more| less * NEARLY >= *more));
            }
        }
    }

    #[test]
    fn memory_that_makes_nothing_faster_is_left() {
        for radius in 0..=MAX_RADIUS {
            for entries in [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000] {
                let plan = Plan::choose(radius, entries, u64::MAX).unwrap();
                assert!(plan.bytes() < (8 << 20) + 400 * entries, "{plan}");
            }
        }
    }

    #[test]
    fn who_asks_for_equals_alone_has_one_table() {
        for entries in [1_000_000, 10_000_000, 100_000_000] {
            let plan = Plan::choose(0, entries, u64::MAX).unwrap();
            assert_eq!(plan.layout.bits().len(), 1, "{plan}");
        }
    }

    #[test]
    fn every_spread_of_errors_is_covered() {
        for radius in 0..=3 {
            for (tables, bits) in [(5, 18), (6, 22), (6, 13)] {
                let plan = Plan::new(Layout::covering(tables, bits, Entry::Narrow), 1000);
                let (keys, probes) = (plan.keys(), plan.probes(radius));
                let sets = (0..64_u64.pow(radius))
                    .map(|n| (0..radius).fold(0, |set, i| set | 1_u64 << (n >> (6 * i) & 63)));
                for errors in sets {
                    assert!(probes.iter().any(|&(table, _)| keys[table].mask & errors == 0));
                }
            }
        }
        for radius in 0..=MAX_RADIUS {
            for bits in [&[16, 16, 16, 16][..], &[21, 20, 20], &[19, 15, 15, 15]] {
                let plan = Plan::new(Layout::disjoint(bits, Entry::Wide, radius), 1_000_000);
                let sum: u32 = plan.probes(radius).iter().map(|(_, within)| within + 1).sum();
                assert!(sum > radius, "{bits:?} at {radius}");
            }
        }
    }

    #[test]
    fn no_plan_has_more_pages_than_there_are_numbers() {
        for spread in [Spread::Texts, Spread::Random] {
            for entries in [1_000_000_000, 2_000_000_000, 4_000_000_000] {
                for (radius, gib) in [(3, 64), (3, 512), (6, 128), (9, 512)] {
                    if let Ok(plan) = Plan::choose_for(spread, radius, entries, gib << 30) {
                        assert!(plan.pages() <= MAX_PAGES as usize / 2, "{plan}");
                    }
                }
            }
        }
        let by_hand = Layout::disjoint(&[28, 28], Entry::Wide, 3).with_homes(Homes::Tight);
        let refused = super::super::BlockIndex::with_plan(Plan::new(by_hand, 20_000_000_000));
        assert!(refused.is_err());
    }

    #[test]
    fn random_fingerprints_take_no_more_than_texts() {
        for entries in [100_000, 1_000_000, 10_000_000, 100_000_000] {
            for layout in candidates(8, entries) {
                let texts = Plan::new(layout, entries);
                let random = texts.clone().with_spread(Spread::Random);
                assert!(random.bytes() <= texts.bytes() + texts.bytes() / 50, "{texts} {random}");
            }
        }
    }

    #[test]
    fn tables_hold_the_bits_that_their_costs_were_made_for() {
        let layout = Layout::disjoint(&[16, 14, 14, 14], Entry::Wide, 8);
        let plan = Plan::new(layout.clone(), 1_000_000);
        assert_eq!(plan.within(), [2, 1, 1, 1]);
        let places = layout.places(&plan.within());
        assert_eq!(places[..16], (0..16).collect::<Vec<u32>>());
        assert!(places[16..58].iter().all(|place| (16..58).contains(place)));
        assert_eq!(places[58..], (58..64).collect::<Vec<u32>>());
    }

    /// A layout as the module's documentation tells it.
    fn in_short(layout: &Layout) -> String {
        let bits = layout.bits();
        let most = bits.iter().max().expect("there are tables");
        let tables = match &layout.family {
            Family::Disjoint(_) if bits.iter().all(|bits| bits == most) => {
                format!("{} of {most}", bits.len())
            }
            Family::Disjoint(_) => {
                let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
                format!("{} of {}", bits.len(), bits.join(", "))
            }
            _ => format!("covering of {}, {most} bits", bits.len()),
        };
        let entry = if layout.entry == Entry::Wide { "wide" } else { "narrow" };
        let homes = if layout.homes == Homes::Tight { ", tight homes" } else { "" };
        format!("{tables}, {entry}{homes}")
    }

    #[test]
    fn what_is_told_of_the_choice_is_true() {
        let mut rows = Vec::new();
        for (spread, name) in [(Spread::Texts, "texts"), (Spread::Random, "random")] {
            for power in [6, 7, 8] {
                let entries = 10_u64.pow(power);
                let chosen = [(3, 48), (3, 64), (9, 80)].map(|(radius, bytes)| {
                    // Document numbers take eight bytes more.
                    let budget = (bytes + 8) * entries;
                    in_short(&Plan::choose_for(spread, radius, entries, budget).unwrap().layout)
                });
                rows.push(format!("//! | 10^{power}, {name} | {} |", chosen.join(" | ")));
            }
        }
        let rows = rows.join("\n");
        assert!(include_str!("mod.rs").contains(&rows), "the table of choices is to say\n{rows}");
    }
}
