//! The choice of the tables for a window, and the memory that they take.

use std::{fmt, io, ops::RangeInclusive};

use super::{
    buckets::{PAGE_BYTES, PAGE_ENTRIES},
    memory::RefusedError,
    probes::MAX_PROBE,
    tables::Tables,
};
use crate::page::thousands;

/// The largest radius of a [`BlockIndex`](super::BlockIndex).
pub const MAX_RADIUS: u32 = 11;
/// The largest window of one index. A larger one needs several.
pub const MAX_ENTRIES: u64 = 100_000_000;

/// Windows of at most this many entries are scanned, and in no table.
pub(super) const MAX_SCANNED: u64 = 4096;
/// Windows of at most this many entries may have no tables at all, where memory is short.
const SCANNED: u64 = 1 << 20;
/// The factor between the sizes of the tables through which a window grows, in bits.
const GROWTH_BITS: u32 = 3;
/// Bytes of a fingerprint and a document id in the queue.
const QUEUE_BYTES: u64 = 16;

/// The tables for a window, and the memory that they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    radius: u32,
    entries: u64,
    /// The bits of each table's key: none if queries compare with all.
    keys: Vec<u32>,
    /// The tables while the window fills, the smallest first.
    smaller: Vec<TableLayout>,
}

/// A window for which the memory given is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} entries at radius {radius} {}; the budget is {}",
    thousands(*.entries),
    need(*.needed),
    bytesize::ByteSize(*.budget).display().iec()
)]
#[non_exhaustive]
pub struct BudgetError {
    /// Entries of the window.
    pub entries: u64,
    /// The largest radius of a query.
    pub radius: u32,
    /// Bytes that the smallest tables take; `u64::MAX` if the window is larger than [`MAX_ENTRIES`].
    pub needed: u64,
    /// Bytes that there are.
    pub budget: u64,
}

fn need(bytes: u64) -> String {
    match bytes {
        u64::MAX => {
            format!("are more than {}, the most that one index holds", thousands(MAX_ENTRIES))
        }
        _ => format!("need {} of memory", bytesize::ByteSize(bytes).display().iec()),
    }
}

/// Why there is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The system refuses what the budget allows.
    #[error(transparent)]
    Refused(#[from] RefusedError),
}

impl TableLayout {
    /// The fastest tables for queries within `radius` over a window of `entries` fingerprints of texts that fit into `budget` bytes.
    ///
    /// # Errors
    /// If none fit, or the window is larger than [`MAX_ENTRIES`].
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    pub fn choose(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        let mut layout = Self::fastest(radius, entries, budget)?;
        let mut bytes = layout.bytes();
        let windows = (1..).map(|nth| entries >> (GROWTH_BITS * nth));
        for entries in windows.take_while(|&entries| entries > MAX_SCANNED) {
            bytes >>= GROWTH_BITS;
            layout.smaller.extend(Self::fastest(radius, entries, bytes));
        }
        layout.smaller.reverse();
        Ok(layout)
    }

    /// The tables of the full window.
    fn fastest(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        assert!(radius <= MAX_RADIUS, "radius {radius} is larger than {MAX_RADIUS}");
        let layouts =
            || choices(radius, entries).map(|keys| Self::with_keys(&keys, radius, entries));
        let needed = layouts().map(|layout| layout.bytes()).min().unwrap_or(u64::MAX);
        let error = BudgetError { entries, radius, needed, budget };
        layouts().find(|layout| layout.bytes() <= budget).ok_or(error)
    }

    /// Tables chosen by hand: `keys` has the number of bits of each table's key.
    ///
    /// # Panics
    /// If the keys have more than 32 bits each or more than 64 in all, or if they are too few for the radius: one table serves radius 0 to
    /// 3, two 0 to 7, three 0 to 11.
    #[must_use]
    pub fn with_keys(keys: &[u32], radius: u32, entries: u64) -> Self {
        assert!(keys.iter().sum::<u32>() <= u64::BITS, "keys share no bits");
        assert!(keys.iter().all(|bits| (1..=32).contains(bits)), "keys have 1 to 32 bits");
        let serves = keys.iter().map(|_| MAX_PROBE + 1).sum::<u32>();
        assert!(keys.is_empty() || radius < serves, "radius {radius} needs more tables");
        Self { radius, entries, keys: keys.to_vec(), smaller: Vec::new() }
    }

    /// Bytes that the smallest tables for queries within `radius` over a window of `entries` fingerprints take; `u64::MAX` if
    /// the window is larger than [`MAX_ENTRIES`].
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    #[must_use]
    pub fn least_bytes(radius: u32, entries: u64) -> u64 {
        Self::fastest(radius, entries, 0).map_or_else(|error| error.needed, |layout| layout.bytes())
    }

    /// The largest radius of a query.
    #[must_use]
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// For how many entries it is made. There may be more; queries then take longer.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of memory that the full window takes at most.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let queue = self.entries.saturating_mul(QUEUE_BYTES);
        queue.saturating_add(self.pages() * u64::from(PAGE_BYTES))
    }

    /// Bytes that are used whatever fingerprints there are.
    pub(super) fn certain_bytes(&self) -> u64 {
        let queue = self.entries.saturating_mul(QUEUE_BYTES);
        let inline: u64 = self.keys.iter().map(|bits| 1 << bits).sum();
        queue.saturating_add(inline * u64::from(PAGE_BYTES))
    }

    /// Pages of all tables: one for each bucket, and one for each 28 entries; [`buckets`](super::buckets) says why. Where most buckets have
    /// chains, a quarter of a page more for each: when the window begins to roll, the first pages of all chains are half empty together.
    pub(super) fn pages(&self) -> u64 {
        let full = self.entries / u64::from(PAGE_ENTRIES);
        let pages = |buckets: u64| buckets + full + if full > buckets { buckets / 4 } else { 0 };
        self.keys.iter().map(|bits| pages(1 << bits)).sum()
    }

    /// The layouts of a window that fills, one after the other, as far as they have tables.
    pub(super) fn stages(&self) -> impl Iterator<Item = &Self> {
        self.smaller.iter().chain([self]).filter(|layout| !layout.keys.is_empty())
    }

    /// The tables of the full window, empty.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn tables(&self) -> io::Result<Tables> {
        Tables::new(&self.keys, self.radius, self.entries, self.pages())
    }

    /// The same for a window that has the tables of these layouts while it fills, the smallest first.
    #[cfg(test)]
    pub(super) fn growing_through(self, smaller: Vec<Self>) -> Self {
        Self { smaller, ..self }
    }
}

/// Tables to choose from, the fastest first: the radii and the entries for which they are good, and for each table how many entries are in
/// a bucket on average at most, if there are enough bits.
const CHOICES: [(RangeInclusive<u32>, u64, &[u64]); 13] = [
    (0..=0, MAX_ENTRIES, &[20]),
    (0..=0, MAX_ENTRIES, &[80]),
    (1..=7, 1_200_000, &[20, 20, 20, 20]),
    (8..=11, 5_000_000, &[20, 20, 20, 20]),
    (1..=3, 50_000_000, &[20, 20, 20]),
    (1..=3, MAX_ENTRIES, &[20, 20]),
    (4..=11, MAX_ENTRIES, &[20, 20, 20]),
    (4..=11, MAX_ENTRIES, &[40, 40, 40]),
    (1..=7, MAX_ENTRIES, &[20, 20]),
    (1..=7, MAX_ENTRIES, &[80, 80]),
    (8..=11, MAX_ENTRIES, &[80, 80, 80]),
    (8..=11, MAX_ENTRIES, &[160, 160, 160]),
    (8..=11, MAX_ENTRIES, &[320, 320, 320]),
];

/// The keys of tables for a window, the fastest first.
fn choices(radius: u32, entries: u64) -> impl Iterator<Item = Vec<u32>> {
    let good = CHOICES.into_iter().filter(move |(radii, most, _)| {
        radii.contains(&radius) && (MAX_SCANNED + 1..=*most).contains(&entries)
    });
    let keys = good.map(move |(_, _, means)| {
        let most = u64::BITS / u32::try_from(means.len()).expect("tables are few");
        let buckets = means.iter().map(|mean| (entries / mean).max(1).next_power_of_two());
        buckets.map(|buckets| buckets.ilog2().clamp(8, most)).collect()
    });
    keys.chain((entries <= SCANNED).then(Vec::new))
}

impl fmt::Display for TableLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entries, size) = (thousands(self.entries), bytesize::ByteSize(self.bytes()));
        if self.keys.is_empty() {
            write!(f, "a scan of all fingerprints")?;
        } else {
            let bits: Vec<String> = self.keys.iter().map(u32::to_string).collect();
            write!(f, "{} tables with keys of {} bits", bits.len(), bits.join(", "))?;
        }
        write!(
            f,
            ", radius 0 to {}, for {entries} entries, at most {}",
            self.radius,
            size.display().iec()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_cannot_fit_is_refused_with_what_it_needs() {
        let error = TableLayout::choose(9, 100_000_000, 1 << 30).unwrap_err();
        assert!((3 << 30..8 << 30).contains(&error.needed), "{error}");
        assert!(TableLayout::choose(9, 100_000_000, error.needed).is_ok());
        assert!(TableLayout::choose(9, 100_000_000, error.needed - 1).is_err());
        assert_eq!(TableLayout::least_bytes(9, 100_000_000), error.needed);
        let needed = bytesize::ByteSize(error.needed).display().iec();
        let message = format!(
            "100,000,000 entries at radius 9 need {needed} of memory; the budget is 1.0 GiB"
        );
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_window_beyond_the_largest_is_refused() {
        let error = TableLayout::choose(3, MAX_ENTRIES + 1, u64::MAX).unwrap_err();
        assert_eq!(error.needed, u64::MAX);
        assert!(error.to_string().contains("are more than 100,000,000"), "{error}");
    }

    #[test]
    fn every_window_and_radius_has_tables_in_reasonable_memory() {
        for radius in 0..=MAX_RADIUS {
            for entries in
                [1, 5_000, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000, MAX_ENTRIES]
            {
                let layout = TableLayout::choose(radius, entries, u64::MAX).unwrap();
                assert!(layout.bytes() < (8 << 20) + 180 * entries, "{layout}");
                let least = TableLayout::least_bytes(radius, entries);
                assert!(least <= layout.bytes() && least >= 16 * entries, "{layout}");
            }
        }
    }

    #[test]
    fn a_query_for_equals_alone_has_one_table() {
        for entries in [1_000_000, 10_000_000, MAX_ENTRIES] {
            assert_eq!(TableLayout::choose(0, entries, u64::MAX).unwrap().keys.len(), 1);
        }
    }

    #[test]
    fn the_documented_choices_are_made() {
        let keys = |radius, power| {
            let layout = TableLayout::choose(radius, 10_u64.pow(power), u64::MAX).unwrap();
            let bits: Vec<String> = layout.keys.iter().map(u32::to_string).collect();
            bits.join(", ")
        };
        for power in [6, 7, 8] {
            let row = format!("//! | 10^{power} | {} | {} |", keys(3, power), keys(9, power));
            assert!(include_str!("mod.rs").contains(&row), "the table is to have\n{row}");
        }
    }
}
