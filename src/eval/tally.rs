//! Counts of pairs by how alike they are, and what follows from them.

use serde::Serialize;

/// Where bands of similarity begin. The last is that of texts that are equal to the letter.
pub const BANDS: [f32; 8] = [0.0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, f32::INFINITY];

/// The first band of near duplicates.
const NEAR: usize = 4;
/// The band of equal texts.
const EQUAL: usize = BANDS.len() - 1;

/// The largest radius that is looked at.
pub const MAX_RADIUS: u32 = 16;

/// Pairs by band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All pairs.
    pub pairs: [u64; BANDS.len()],
    /// Those that were reported as duplicates.
    pub reported: [u64; BANDS.len()],
}

/// Pairs by band and by the least radius that reports them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pairs: [u64; BANDS.len()],
    found: [[u64; BANDS.len()]; MAX_RADIUS as usize + 1],
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { pairs: [0; BANDS.len()], found: [[0; BANDS.len()]; MAX_RADIUS as usize + 1] }
    }

    pub(super) fn count(&mut self, band: usize, found: Option<u32>) {
        self.pairs[band] += 1;
        if let Some(row) = found.and_then(|radius| self.found.get_mut(radius as usize)) {
            row[band] += 1;
        }
    }

    /// The counts at this radius of the index.
    pub(super) fn at(&self, radius: u32) -> Counts {
        let mut counts = Counts { pairs: self.pairs, ..Counts::default() };
        for row in self.found.iter().take(radius as usize + 1) {
            counts.reported.iter_mut().zip(row).for_each(|(sum, found)| *sum += found);
        }
        counts
    }
}

/// The band of a pair.
pub(super) fn band(similarity: f32, equal: bool) -> usize {
    if equal {
        return EQUAL;
    }
    BANDS.iter().rposition(|&from| similarity >= from).unwrap_or(0)
}

impl Counts {
    /// The share of near pairs (0.9 or more) that were reported; `None` if there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.share_of(NEAR..=EQUAL)
    }

    /// The same of near pairs whose texts are not equal.
    #[must_use]
    pub fn recall_not_equal(&self) -> Option<f64> {
        self.share_of(NEAR..=EQUAL - 1)
    }

    /// The share of a band's pairs that were reported.
    #[must_use]
    pub fn share(&self, band: usize) -> Option<f64> {
        self.share_of(band..=band)
    }

    /// The share of reported pairs that have this similarity or more.
    #[must_use]
    pub fn precision(&self, least: f32) -> Option<f64> {
        let alike = (0..).zip(BANDS).filter(|&(_, from)| from >= least);
        let alike: u64 = alike.map(|(band, _): (usize, _)| self.reported[band]).sum();
        ratio(alike, self.reported.iter().sum())
    }

    /// How many pairs there are.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// How many pairs below 0.3 were reported.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.reported[0]
    }

    fn share_of(&self, bands: std::ops::RangeInclusive<usize>) -> Option<f64> {
        ratio(self.reported[bands.clone()].iter().sum(), self.pairs[bands].iter().sum())
    }

    /// Adds the counts of another seed.
    pub(super) fn add(&mut self, other: &Self) {
        self.pairs.iter_mut().zip(other.pairs).for_each(|(sum, count)| *sum += count);
        self.reported.iter_mut().zip(other.reported).for_each(|(sum, count)| *sum += count);
    }
}

pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
