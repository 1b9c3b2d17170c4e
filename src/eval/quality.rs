//! Evaluates a rule on a corpus, over one or more hash seeds: on all pairs, counted by band of similarity and by group, and on the texts as a
//! stream, in order, with the filter, as in a crawl. Those of pages are judged by their articles.

use std::num::NonZeroU64;

use bytesize::ByteSize;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use super::corpus::Corpus;
use crate::{
    filter::{Filter, Options, Thresholds, WindowOptions},
    fingerprint::{Fingerprinter, HashSeed, Sketch},
    page::{DocId, Timestamp},
};

/// At most this many doubtful pairs of each kind are listed.
const LISTED: usize = 20;

/// How well a rule does on a corpus.
#[derive(Clone, Debug, Serialize)]
pub struct Quality {
    /// The mode, as in a configuration.
    pub mode: &'static str,
    /// The radius of the index.
    pub radius: u32,
    /// The recipe of the fingerprints.
    pub scheme: String,
    /// The number of hash seeds; counts are sums over all of them.
    pub seeds: usize,
    /// Texts in the corpus.
    pub texts: usize,
    /// Pairs judged with each hash seed.
    pub pairs: u64,
    /// Pairs with a listed similarity.
    pub listed: usize,
    /// Where the bands of all counts begin. The last has equal texts; its limit is null in JSON.
    pub bands: [f32; BANDS.len()],
    /// All pairs, then pairs by language, length and site.
    pub groups: Vec<GroupQuality>,
    /// The stream: all texts, then the texts of each language.
    pub stream: Vec<StreamQuality>,
    /// With the first hash seed: near pairs that were not reported, the most similar first.
    pub missed: Vec<Doubtful>,
    /// With the first hash seed: reported pairs below 0.5, the least similar first.
    pub mistaken: Vec<Doubtful>,
}

/// The figures of a group of pairs.
#[derive(Clone, Debug, Serialize)]
pub struct GroupQuality {
    /// What its pairs have in common.
    pub by: Axis,
    /// The value of that.
    pub name: String,
    /// At the configured radius.
    #[serde(flatten)]
    pub figures: Figures,
    /// At each radius from 0 to [`MAX_RADIUS`], with the confirmation of the mode.
    pub radii: Vec<Figures>,
    /// The same without confirmation: all candidates are reported.
    pub unconfirmed: Vec<Figures>,
}

/// Figures over all hash seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Pairs by band of similarity, summed over the hash seeds.
    pub counts: BandCounts,
    /// The share of near pairs (0.9 or more) that are reported, as the mean over all hash seeds.
    pub recall: Option<f64>,
    /// The same with the worst hash seed.
    pub least_recall: Option<f64>,
    /// The share of near pairs with different texts that are reported.
    pub recall_not_equal: Option<f64>,
    /// The same with the worst hash seed.
    pub least_recall_not_equal: Option<f64>,
    /// The share of reported pairs with a similarity of 0.9 or more.
    pub precision_90: Option<f64>,
    /// … of 0.5 or more.
    pub precision_50: Option<f64>,
    /// … of 0.3 or more.
    pub precision_30: Option<f64>,
    /// Reported pairs below 0.3.
    pub wrong: u64,
}

/// The outcomes of the texts of one language, or of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamQuality {
    /// The language, or `all`.
    pub name: String,
    /// Summed over the hash seeds.
    #[serde(flatten)]
    pub counts: StreamCounts,
    /// The share of the texts to drop that were dropped.
    pub share_caught: Option<f64>,
    /// The same with the worst hash seed.
    pub least_share_caught: Option<f64>,
}

/// A pair that is worth a look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubtful {
    /// The earlier text.
    pub a: String,
    /// The later text.
    pub b: String,
    /// The known similarity.
    pub similarity: f32,
    /// Bits of 64 in which their fingerprints differ.
    pub distance: u32,
    /// Bits of 256 in which their signatures differ.
    pub signature_distance: u32,
}

/// Judges a corpus by the rule of these options, once with each hash seed.
///
/// # Panics
/// If there is no hash seed.
#[must_use]
pub fn evaluate(corpus: &Corpus, options: &Options, hash_seeds: &[HashSeed]) -> Quality {
    let runs: Vec<Run> = hash_seeds.iter().map(|&seed| Run::new(corpus, options, seed)).collect();
    let (thresholds, first) = (Thresholds::new(options), &runs[0]);
    let groups =
        (0..first.groups.len()).map(|place| group_quality(&runs, place, thresholds.radius()));
    let is_shown = |group: &GroupQuality| group.by == Axis::All || group.figures.counts.all() > 0;
    let groups: Vec<_> = groups.filter(is_shown).collect();
    let (missed, mistaken) = doubtful(corpus, &thresholds, first);
    Quality {
        mode: options.mode.as_str(),
        radius: thresholds.radius(),
        scheme: options.recipe(hash_seeds[0]).scheme(),
        seeds: hash_seeds.len(),
        texts: corpus.texts().len(),
        pairs: groups[0].figures.counts.all() / hash_seeds.len() as u64,
        listed: corpus.listed(),
        bands: BANDS,
        groups,
        stream: stream_quality(corpus, &runs),
        missed,
        mistaken,
    }
}

/// The hash seeds for an evaluation over this many: arbitrary, but always the same.
#[must_use]
pub fn hash_seeds(number: usize) -> Vec<HashSeed> {
    (0..number as u64).map(|n| HashSeed(11 + 7_919 * n)).collect()
}

/// The results with one hash seed.
struct Run {
    sketches: Vec<Sketch>,
    groups: Vec<Group>,
    stream: Vec<StreamCounts>,
}

impl Run {
    fn new(corpus: &Corpus, options: &Options, seed: HashSeed) -> Self {
        let fingerprinter = Fingerprinter::new(options.recipe(seed));
        let sketch = |text: &super::Text| fingerprinter.sketch(&text.text);
        let sketches: Vec<_> = corpus.texts().par_iter().map(sketch).collect();
        let stream = stream(corpus, options, &sketches);
        let mut run = Self { sketches, groups: Vec::new(), stream };
        let thresholds = Thresholds::new(options);
        run.groups = tallies(corpus, |a, b| run.least_radii(&thresholds, a, b));
        run
    }

    /// The least radius at which the rule reports a pair, if any: with its confirmation, and without.
    fn least_radii(&self, thresholds: &Thresholds, a: usize, b: usize) -> [Option<u32>; 2] {
        let (earlier, later) = (&self.sketches[a], &self.sketches[b]);
        if earlier.digest.is_some() && earlier.digest == later.digest {
            return [Some(0); 2];
        }
        let (Some(x), Some(y)) = (thresholds.comparable(earlier), thresholds.comparable(later))
        else {
            return [None; 2];
        };
        let distance = x.fingerprint().distance(y.fingerprint());
        [thresholds.confirms(&x, later).then_some(distance), Some(distance)]
    }
}

fn group_quality(runs: &[Run], place: usize, radius: u32) -> GroupQuality {
    let at = |tally: usize, radius| {
        let counts = runs.iter().map(|run| run.groups[place].tallies[tally].at(radius));
        Figures::new(&counts.collect::<Vec<_>>())
    };
    let Group { by, name, .. } = &runs[0].groups[place];
    GroupQuality {
        by: *by,
        name: name.clone(),
        figures: at(0, radius),
        radii: (0..=MAX_RADIUS).map(|radius| at(0, radius)).collect(),
        unconfirmed: (0..=MAX_RADIUS).map(|radius| at(1, radius)).collect(),
    }
}

impl Figures {
    /// The figures of counts with one or more hash seeds.
    #[must_use]
    pub fn new(seeds: &[BandCounts]) -> Self {
        let counts = seeds.iter().fold(BandCounts::default(), BandCounts::plus);
        Self {
            counts,
            recall: counts.recall(),
            least_recall: least(seeds.iter().map(BandCounts::recall)),
            recall_not_equal: counts.recall_not_equal(),
            least_recall_not_equal: least(seeds.iter().map(BandCounts::recall_not_equal)),
            precision_90: counts.precision(0.9),
            precision_50: counts.precision(0.5),
            precision_30: counts.precision(0.3),
            wrong: counts.wrong(),
        }
    }
}

fn least(shares: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    shares.flatten().min_by(f64::total_cmp)
}

fn stream_quality(corpus: &Corpus, runs: &[Run]) -> Vec<StreamQuality> {
    let names = ["all"].into_iter().chain(corpus.lang_names.iter().map(String::as_str));
    let of_name = |(place, name): (usize, &str)| {
        let mut counts = StreamCounts::default();
        for run in runs {
            counts.add(&run.stream[place]);
        }
        StreamQuality {
            name: name.to_owned(),
            counts,
            share_caught: counts.caught_share(),
            least_share_caught: least(runs.iter().map(|run| run.stream[place].caught_share())),
        }
    };
    names.enumerate().map(of_name).collect()
}

/// Near pairs that are not reported, and reported pairs below 0.5.
fn doubtful(corpus: &Corpus, thresholds: &Thresholds, run: &Run) -> (Vec<Doubtful>, Vec<Doubtful>) {
    let (mut missed, mut mistaken) = (Vec::new(), Vec::new());
    corpus.each_pair(|a, b, similarity| {
        let (earlier, later) = (&run.sketches[a], &run.sketches[b]);
        let [found, _] = run.least_radii(thresholds, a, b);
        let list = match found.filter(|&radius| radius <= thresholds.radius()) {
            None if similarity >= 0.9 => &mut missed,
            Some(_) if similarity < 0.5 => &mut mistaken,
            _ => return,
        };
        let name = |place: usize| corpus.texts()[place].id.clone();
        list.push(Doubtful {
            a: name(a),
            b: name(b),
            similarity,
            distance: earlier.signature.fingerprint().distance(later.signature.fingerprint()),
            signature_distance: earlier.signature.distance(&later.signature),
        });
    });
    missed.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    mistaken.sort_by(|a, b| a.similarity.total_cmp(&b.similarity));
    missed.truncate(LISTED);
    mistaken.truncate(LISTED);
    (missed, mistaken)
}

impl Quality {
    /// The figures of all pairs.
    #[must_use]
    pub fn all(&self) -> &Figures {
        &self.groups[0].figures
    }
}

/// How many texts of a stream had which outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounts {
    /// Texts judged.
    pub texts: u64,
    /// Texts that were dropped.
    pub dropped: u64,
    /// Texts that should be dropped: an earlier text that was kept has a similarity of 0.9 or more.
    pub repeated: u64,
    /// Texts that should be dropped and were.
    pub caught: u64,
    /// Texts that were dropped although no earlier text that was kept has a similarity of 0.5 or more. If unlisted pairs are unknown:
    /// texts that were dropped because of a text that is known to be less similar.
    pub wrong: u64,
}

impl StreamCounts {
    /// The share of the texts to drop that were dropped; `None` if there are none.
    #[must_use]
    pub fn caught_share(&self) -> Option<f64> {
        ratio(self.caught, self.repeated)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.dropped += other.dropped;
        self.repeated += other.repeated;
        self.caught += other.caught;
        self.wrong += other.wrong;
    }
}

/// Judges the texts in order. Returns the counts of all texts, then of each language.
pub(super) fn stream(corpus: &Corpus, options: &Options, sketches: &[Sketch]) -> Vec<StreamCounts> {
    let entries = NonZeroU64::new(sketches.len() as u64).unwrap_or(NonZeroU64::MIN);
    let window = WindowOptions { entries, age: None, future: false };
    let options = Options { window, memory: ByteSize(u64::MAX), ..options.clone() };
    let mut filter = Filter::new(&options).expect("no layout is too large for all memory");
    let documents = filter.documents();
    let mut counts = vec![StreamCounts::default(); corpus.lang_names.len() + 1];
    let mut kept = vec![false; sketches.len()];
    for (place, sketch) in sketches.iter().enumerate() {
        let (id, host, text) =
            (place.to_string(), &*corpus.hosts[place], &*corpus.texts[place].text);
        let document = match corpus.outlines.get(place) {
            Some(outline) => {
                let page = documents.outlined(&id, Some(host), text, outline);
                let mut page = page.with_time(Timestamp(0));
                page.sketch.text = sketch.clone();
                page
            }
            None => documents.sketched(&id, sketch.clone(), corpus.chars[place]),
        };
        let judgement = filter.judge(&document).expect("the filter's recipe made it");
        kept[place] = judgement.verdict.is_unique();
        // Documents are numbered from 1.
        let place_of = |id: DocId| usize::try_from(id.0 - 1).expect("a text in memory");
        let of = judgement.verdict.matched().map(|found| place_of(found.of));
        let outcome = outcome(corpus, &kept, place, of);
        counts[0].add(&outcome);
        counts[corpus.langs[place] + 1].add(&outcome);
    }
    counts
}

fn outcome(corpus: &Corpus, kept: &[bool], place: usize, of: Option<usize>) -> StreamCounts {
    let earlier = || corpus.earlier[place].iter().filter(|(other, _)| kept[*other]);
    let repeated = earlier().any(|&(_, similarity)| similarity >= 0.9);
    let justified = earlier().any(|&(_, similarity)| similarity >= 0.5);
    let wrong = of.is_some_and(|of| !justified && corpus.is_known(of, place));
    StreamCounts {
        texts: 1,
        dropped: u64::from(of.is_some()),
        repeated: u64::from(repeated),
        caught: u64::from(repeated && of.is_some()),
        wrong: u64::from(wrong),
    }
}

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
