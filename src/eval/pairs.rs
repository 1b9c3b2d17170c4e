//! All pairs of a corpus, judged and counted by band of similarity and by group.

use serde::Serialize;

use super::corpus::Corpus;

/// Where the bands of similarity begin. The last band has the pairs of equal texts.
pub const BANDS: [f32; 8] = [0.0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, f32::INFINITY];

/// The first band of near duplicates.
const NEAR: usize = 4;
/// The band of equal texts.
const EQUAL: usize = BANDS.len() - 1;

/// The largest radius that is evaluated.
pub const MAX_RADIUS: u32 = 16;

/// The number of pairs by band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BandCounts {
    /// All pairs.
    pub pairs: [u64; BANDS.len()],
    /// Those that are reported as duplicates.
    pub reported: [u64; BANDS.len()],
}

/// Pairs by band and by the least radius that reports them.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pairs: [u64; BANDS.len()],
    found: [[u64; BANDS.len()]; MAX_RADIUS as usize + 1],
}

impl Tally {
    pub(super) fn count(&mut self, band: usize, found: Option<u32>) {
        self.pairs[band] += 1;
        if let Some(row) = found.and_then(|radius| self.found.get_mut(radius as usize)) {
            row[band] += 1;
        }
    }

    /// The counts at this radius of the index.
    pub(super) fn at(&self, radius: u32) -> BandCounts {
        let mut counts = BandCounts { pairs: self.pairs, ..BandCounts::default() };
        for row in self.found.iter().take(radius as usize + 1) {
            counts.reported.iter_mut().zip(row).for_each(|(sum, found)| *sum += found);
        }
        counts
    }
}

impl Corpus {
    /// The band of the texts at these places.
    pub(super) fn band(&self, a: usize, b: usize, similarity: f32) -> usize {
        if similarity >= 0.9 && self.texts[a].text == self.texts[b].text {
            return EQUAL;
        }
        BANDS.iter().rposition(|&from| similarity >= from).unwrap_or(0)
    }
}

impl BandCounts {
    /// The share of near pairs (0.9 or more) that are reported; `None` if there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.share_of(NEAR..=EQUAL)
    }

    /// The same for near pairs whose texts are not equal.
    #[must_use]
    pub fn recall_not_equal(&self) -> Option<f64> {
        self.share_of(NEAR..=EQUAL - 1)
    }

    /// The share of a band's pairs that are reported.
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

    /// How many pairs below 0.3 are reported.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.reported[0]
    }

    fn share_of(&self, bands: std::ops::RangeInclusive<usize>) -> Option<f64> {
        ratio(self.reported[bands.clone()].iter().sum(), self.pairs[bands].iter().sum())
    }

    /// Adds the counts of another hash seed.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.pairs.iter_mut().zip(other.pairs).for_each(|(sum, count)| *sum += count);
        self.reported.iter_mut().zip(other.reported).for_each(|(sum, count)| *sum += count);
        self
    }
}

pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What pairs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// All pairs.
    All,
    /// The language of both texts, or "two languages".
    Language,
    /// Characters of the shorter text.
    Length,
    /// Whether both texts have the same host, or for ids that are paths the same first directory.
    Site,
}

/// Where bands of length begin, in characters.
const LENGTHS: [(u32, &str); 5] = [
    (0, "under 100"),
    (100, "100 to 300"),
    (300, "300 to 1,000"),
    (1_000, "1,000 to 10,000"),
    (10_000, "10,000 or more"),
];

/// A group of pairs.
pub(super) struct Group {
    pub(super) by: Axis,
    pub(super) name: String,
    /// With the confirmation of the mode, and without.
    pub(super) tallies: [Tally; 2],
}

/// Judges every pair. `found` returns the least radius at which the texts at two places are reported, if any: with the confirmation of
/// the mode, and without.
pub(super) fn tallies(
    corpus: &Corpus,
    found: impl Fn(usize, usize) -> [Option<u32>; 2],
) -> Vec<Group> {
    let named =
        |by, name: &str| Group { by, name: name.to_owned(), tallies: <[Tally; 2]>::default() };
    let languages = corpus.lang_names.iter().map(String::as_str).chain(["two languages"]);
    let mut groups = vec![named(Axis::All, "all")];
    groups.extend(languages.map(|name| named(Axis::Language, name)));
    let first_length = groups.len();
    groups.extend(LENGTHS.iter().map(|(_, name)| named(Axis::Length, name)));
    let first_site = groups.len();
    groups.extend(["same site", "different sites"].map(|name| named(Axis::Site, name)));
    corpus.each_pair(|a, b, similarity| {
        let (band, found) = (corpus.band(a, b, similarity), found(a, b));
        let same_language = corpus.langs[a] == corpus.langs[b];
        let language = if same_language { corpus.langs[a] } else { corpus.lang_names.len() };
        let shorter = corpus.chars[a].min(corpus.chars[b]);
        let length = LENGTHS.iter().rposition(|(from, _)| shorter >= *from).unwrap_or(0);
        let site = usize::from(corpus.hosts[a] != corpus.hosts[b]);
        for place in [0, 1 + language, first_length + length, first_site + site] {
            let tallies = groups[place].tallies.iter_mut();
            tallies.zip(found).for_each(|(tally, found)| tally.count(band, found));
        }
    });
    groups
}

/// Judges every pair of a corpus by any rule: `alike` says whether the texts at two places are near duplicates.
///
/// ```
/// use pagesieve::eval::{Corpus, Text, Unlisted, count_pairs};
///
/// let text = |id: &str, text: &str| Text { id: id.into(), lang: None, text: text.into() };
/// let texts = vec![text("a", "ebb"), text("b", "ebbs"), text("c", "flow")];
/// let pairs = br#"{"a": "a", "b": "b", "jaccard": 0.9}"#;
/// let corpus = Corpus::new(texts, &pairs[..], Unlisted::Different)?;
/// let counts = count_pairs(&corpus, |a, b| corpus.texts()[a].text[..1] == corpus.texts()[b].text[..1]);
/// assert_eq!((counts.recall(), counts.wrong()), (Some(1.0), 0));
/// # Ok::<(), pagesieve::eval::CorpusError>(())
/// ```
pub fn count_pairs(corpus: &Corpus, alike: impl Fn(usize, usize) -> bool) -> BandCounts {
    let mut tally = Tally::default();
    corpus.each_pair(|a, b, similarity| {
        tally.count(corpus.band(a, b, similarity), alike(a, b).then_some(0));
    });
    tally.at(0)
}
