//! The choice of the tables for a window, and the memory that they take.

use std::{fmt, io};

use super::{
    buckets::{PAGE_BYTES, PAGE_ENTRIES, inline_pages},
    memory::RefusedError,
    probes::MAX_PROBE,
    tables::Tables,
};
use crate::page::numbers::thousands;

/// The largest radius of a [`BlockIndex`](super::BlockIndex).
pub const MAX_RADIUS: u32 = 11;
/// The largest window of one index. A larger one needs several.
pub const MAX_ENTRIES: u64 = 100_000_000;

/// So few entries are compared with all, and are in no table.
pub(super) const FEW: u64 = 4096;
/// Windows of so few entries may have no tables at all, where memory is short.
const SCANNED: u64 = 1 << 20;
/// Each of the tables through which a window grows is made for so many times as many entries, in bits.
const GROWTH_BITS: u32 = 3;
/// Bytes of a fingerprint and a document id in the queue.
const QUEUE_BYTES: u64 = 16;

/// The tables for a window of so many entries, and what they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    radius: u32,
    entries: u64,
    /// The bits of each table's key: none if queries compare with all.
    keys: Vec<u32>,
    /// The tables while the window is not so full, the smallest first.
    smaller: Vec<Plan>,
}

/// A window for which the memory given is too small.
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

impl Plan {
    /// The fastest tables for queries within `radius` over a window of `entries` fingerprints of texts that fit into `budget` bytes.
    ///
    /// # Errors
    /// If none fit, or the window is larger than [`MAX_ENTRIES`].
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    pub fn choose(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        let mut plan = Self::fastest(radius, entries, budget)?;
        let mut bytes = plan.bytes();
        let fuller = (1..).map(|step| entries >> (GROWTH_BITS * step));
        for entries in fuller.take_while(|&entries| entries > FEW) {
            bytes >>= GROWTH_BITS;
            plan.smaller.extend(Self::fastest(radius, entries, bytes));
        }
        plan.smaller.reverse();
        Ok(plan)
    }

    /// The tables of the full window.
    fn fastest(radius: u32, entries: u64, budget: u64) -> Result<Self, BudgetError> {
        assert!(radius <= MAX_RADIUS, "radius {radius} is larger than {MAX_RADIUS}");
        let plans = || choices(radius, entries).map(|keys| Self::with_keys(&keys, radius, entries));
        let needed = plans().map(|plan| plan.bytes()).min().unwrap_or(u64::MAX);
        let error = BudgetError { entries, radius, needed, budget };
        plans().find(|plan| plan.bytes() <= budget).ok_or(error)
    }

    /// Tables chosen by hand: a table for each of `keys`, which has so many bits, or none.
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

    /// Bytes that the smallest tables for queries within `radius` over a window of `entries` fingerprints of texts take; `u64::MAX` if
    /// the window is larger than [`MAX_ENTRIES`].
    ///
    /// # Panics
    /// If `radius` is larger than [`MAX_RADIUS`].
    #[must_use]
    pub fn least_bytes(radius: u32, entries: u64) -> u64 {
        Self::fastest(radius, entries, 0).map_or_else(|error| error.needed, |plan| plan.bytes())
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

    /// Bytes of memory that the full window takes at most, if its fingerprints are those of texts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let queue = self.entries.saturating_mul(QUEUE_BYTES);
        queue.saturating_add(self.pages() * u64::from(PAGE_BYTES))
    }

    /// Bytes that are used whatever fingerprints there are.
    pub(super) fn certain_bytes(&self) -> u64 {
        let queue = self.entries.saturating_mul(QUEUE_BYTES);
        let inline: u64 = self.keys.iter().map(|&bits| inline(self.entries, bits)).sum();
        queue.saturating_add(inline * u64::from(PAGE_BYTES))
    }

    /// Pages of all tables.
    pub(super) fn pages(&self) -> u64 {
        let overflow = self.entries * OVERFLOW / (100 * u64::from(PAGE_ENTRIES));
        self.keys.iter().map(|&bits| inline(self.entries, bits) + overflow).sum()
    }

    /// The plans of a window that fills, one after the other, as far as they have tables.
    pub(super) fn stages(&self) -> impl Iterator<Item = &Self> {
        self.smaller.iter().chain([self]).filter(|plan| !plan.keys.is_empty())
    }

    /// The tables of the full window, empty.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn tables(&self) -> io::Result<Tables> {
        Tables::new(&self.keys, self.radius, self.entries, self.pages())
    }

    /// The same for a window that has the tables of these plans while it fills, the smallest first.
    #[cfg(test)]
    pub(super) fn growing_through(self, smaller: Vec<Self>) -> Self {
        Self { smaller, ..self }
    }
}

/// For so many of a hundred entries of a table there is room in chains. Texts need about half, most of it for empty places of pages.
const OVERFLOW: u64 = 65;

/// Pages of the inline parts of a table.
fn inline(entries: u64, bits: u32) -> u64 {
    u64::from(inline_pages(entries, bits)) << bits
}

/// Which tables there are to choose from.
struct Choice {
    /// Radii and entries for which it is good.
    radii: std::ops::RangeInclusive<u32>,
    entries: u64,
    tables: u32,
    /// At most so many entries are in a bucket on average, if there are enough bits.
    mean: u64,
}

const fn choice(
    radii: std::ops::RangeInclusive<u32>,
    entries: u64,
    tables: u32,
    mean: u64,
) -> Choice {
    Choice { radii, entries, tables, mean }
}

/// The fastest first.
const CHOICES: [Choice; 11] = [
    choice(0..=0, MAX_ENTRIES, 1, 20),
    choice(0..=0, MAX_ENTRIES, 1, 80),
    choice(1..=7, 1_200_000, 4, 20),
    choice(8..=11, 5_000_000, 4, 20),
    choice(1..=3, 50_000_000, 3, 20),
    choice(1..=3, MAX_ENTRIES, 2, 20),
    choice(4..=11, MAX_ENTRIES, 3, 20),
    choice(4..=11, MAX_ENTRIES, 3, 40),
    choice(1..=7, MAX_ENTRIES, 2, 20),
    choice(1..=7, MAX_ENTRIES, 2, 80),
    choice(8..=11, MAX_ENTRIES, 3, 160),
];

/// The keys of tables for a window, the fastest first.
fn choices(radius: u32, entries: u64) -> impl Iterator<Item = Vec<u32>> {
    let tables = CHOICES.iter().filter(move |choice| {
        choice.radii.contains(&radius) && (FEW + 1..=choice.entries).contains(&entries)
    });
    let keys = move |choice: &Choice| {
        let buckets = (entries / choice.mean).max(1).next_power_of_two();
        vec![buckets.ilog2().clamp(8, u64::BITS / choice.tables); choice.tables as usize]
    };
    let scan = (entries <= SCANNED).then(Vec::new);
    tables.map(keys).chain(scan)
}

impl fmt::Display for Plan {
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
