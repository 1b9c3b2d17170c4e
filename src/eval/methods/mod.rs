//! What the literature offers, side by side on the same pairs.
//!
//! Plain implementations to compare with: what each finds, how many bytes of a page it must remember, and what it costs. Thresholds
//! are the usual ones; whoever moves them trades recall for precision.

mod digests;
mod edit;
mod sets;
mod simhash;
mod vectors;

use std::{fmt, time::Instant};

use serde::Serialize;

use super::{
    corpus::Corpus,
    pairs::count_pairs,
    quality::Figures,
    table::share,
    tally::{Counts, Tally, band},
};
use crate::{
    filter::{Options, Rule},
    fingerprint::{Fingerprinter, HashSeed, Segment, Sketch},
};

/// A way to tell near duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Equal digests of the text (BLAKE3; MD5 finds the same)
    Digest,
    /// Cosine of the vectors of term frequencies: 0.95 or more
    CosineTf,
    /// Cosine of the vectors of TF-IDF: 0.95 or more
    CosineTfidf,
    /// Euclidean distance of the vectors of term frequencies: at most 0.32 of the longer one
    EuclideanTf,
    /// Euclidean distance of the vectors of TF-IDF: at most 0.32 of the longer one
    EuclideanTfidf,
    /// Edit distance of the tokens: at most a tenth of the longer text; a sample of the listed pairs only
    Edit,
    /// `SimHash` as tutorials teach it: words, term frequency in five levels, 64 bits, distance 3
    Tutorial,
    /// The three longest sentences are equal
    Sentences,
    /// Jaccard coefficient of the sets of 5-token shingles: 0.8 or more
    Shingles,
    /// `MinHash` of 128 permutations over 5-token shingles, 32 bands of 4 rows, estimate 0.8 or more
    Minhash,
    /// The configured mode
    Pagesieve,
}

/// What a method finds, and what it costs.
#[derive(Clone, Debug, Serialize)]
pub struct MethodQuality {
    /// The method.
    pub method: Method,
    /// What it finds, over all pairs or over a sample.
    #[serde(flatten)]
    pub figures: Figures,
    /// Pairs judged, if they are a sample.
    pub sample: Option<u64>,
    /// Bytes of a page that must be remembered, on average.
    pub bytes: f64,
    /// Microseconds to prepare a page, on average, on one thread.
    pub page_microseconds: f64,
    /// Nanoseconds to judge a pair, on average, on one thread, every pair judged.
    pub pair_nanoseconds: f64,
}

/// Several methods, each by what it finds and what it costs.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Comparison(pub Vec<MethodQuality>);

/// What a method has prepared of all texts.
trait Prepared {
    /// Whether the texts at these places are near duplicates.
    fn alike(&self, a: usize, b: usize) -> bool;

    /// How many bytes it must remember of all texts.
    fn bytes(&self) -> usize;
}

/// Judges all pairs of a corpus by these methods.
#[must_use]
pub fn compare(
    corpus: &Corpus,
    options: &Options,
    seed: HashSeed,
    methods: &[Method],
) -> Comparison {
    // The dictionary is loaded beforehand, so that the first method does not pay for it.
    let _ = Fingerprinter::new(options.recipe(seed)).sketch("数据库");
    Comparison(methods.iter().map(|&method| judge(corpus, options, seed, method)).collect())
}

fn judge(corpus: &Corpus, options: &Options, seed: HashSeed, method: Method) -> MethodQuality {
    let (prepared, preparing) = timed(|| prepare(corpus, options, seed, method));
    let (counts, judging) = timed(|| match method {
        Method::Edit => sampled(corpus, &*prepared),
        _ => count_pairs(corpus, |a, b| prepared.alike(a, b)),
    });
    let (texts, pairs) = (corpus.texts().len() as f64, counts.all() as f64);
    MethodQuality {
        method,
        figures: Figures::new(&[counts]),
        sample: (method == Method::Edit).then(|| counts.all()),
        bytes: prepared.bytes() as f64 / texts,
        page_microseconds: preparing * 1e6 / texts,
        pair_nanoseconds: judging * 1e9 / pairs.max(1.0),
    }
}

fn prepare(
    corpus: &Corpus,
    options: &Options,
    seed: HashSeed,
    method: Method,
) -> Box<dyn Prepared> {
    let recipe = options.recipe(seed);
    let by_recipe = Fingerprinter::new(recipe);
    // A character where a script has no spaces, as in what the similarity of pairs is usually computed from.
    let by_character =
        Fingerprinter::new(crate::fingerprint::Recipe { segment: Segment::Ngrams, ..recipe });
    let texts = || corpus.texts().iter().map(|text| text.text.as_str());
    let vectors = |idf| vectors::Vectors::new(texts(), &by_recipe, idf);
    match method {
        Method::Digest => Box::new(digests::Digests::new(texts())),
        Method::CosineTf => Box::new(vectors::Cosine(vectors(false))),
        Method::CosineTfidf => Box::new(vectors::Cosine(vectors(true))),
        Method::EuclideanTf => Box::new(vectors::Euclidean(vectors(false))),
        Method::EuclideanTfidf => Box::new(vectors::Euclidean(vectors(true))),
        Method::Edit => Box::new(edit::Tokens::new(texts(), &by_character)),
        Method::Tutorial => Box::new(simhash::Tutorial::new(texts(), &by_recipe)),
        Method::Sentences => Box::new(digests::Sentences::new(texts())),
        Method::Shingles => Box::new(sets::Shingles::new(texts(), &by_character)),
        Method::Minhash => Box::new(sets::MinHashes::new(texts(), &by_character)),
        Method::Pagesieve => Box::new(Ours {
            rule: Rule::new(options),
            sketches: texts().map(|text| by_recipe.sketch(text)).collect(),
        }),
    }
}

/// Every so many listed pairs, so that a slow method judges at most a thousand.
fn sampled(corpus: &Corpus, prepared: &dyn Prepared) -> Counts {
    let step = corpus.listed().div_ceil(edit::SAMPLE).max(1);
    let mut tally = Tally::new();
    for (a, b, similarity) in corpus.listed_pairs().into_iter().step_by(step) {
        let (a, b) = (a as usize, b as usize);
        let equal = corpus.texts[a].text == corpus.texts[b].text;
        tally.count(band(similarity, equal), prepared.alike(a, b).then_some(0));
    }
    tally.at(0)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed().as_secs_f64())
}

/// The configured mode: a signature of 32 bytes, of which 8 are the indexed fingerprint.
struct Ours {
    rule: Rule,
    sketches: Vec<Sketch>,
}

impl Prepared for Ours {
    fn alike(&self, a: usize, b: usize) -> bool {
        self.rule.judge(&self.sketches[a], &self.sketches[b]).is_some()
    }

    fn bytes(&self) -> usize {
        32 * self.sketches.len()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:17}{:>8}{:>11}{:>9}{:>9}{:>9}{:>8}{:>10}{:>10}{:>10}",
            "method",
            "found",
            "not equal",
            "≥ 0.9",
            "≥ 0.5",
            "≥ 0.3",
            "wrong",
            "bytes",
            "µs a page",
            "ns a pair"
        )?;
        for row in &self.0 {
            let figures = &row.figures;
            writeln!(
                f,
                "{:17}{:>8}{:>11}{:>9}{:>9}{:>9}{:>8}{:>10.0}{:>10.0}{:>10.0}{}",
                row.method.name(),
                share(figures.recall),
                share(figures.recall_not_equal),
                share(figures.precision_90),
                share(figures.precision_50),
                share(figures.precision_30),
                figures.wrong,
                row.bytes,
                row.page_microseconds,
                row.pair_nanoseconds,
                if row.sample.is_some() { "  (sample)" } else { "" }
            )?;
        }
        writeln!(
            f,
            "(found: near pairs, of 0.9 or more; of the pairs reported: the share at 0.9, 0.5, 0.3 or more, and how many below 0.3;\n bytes of a page to remember; wall time on one thread)"
        )
    }
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Digest,
        Self::Sentences,
        Self::CosineTf,
        Self::CosineTfidf,
        Self::EuclideanTf,
        Self::EuclideanTfidf,
        Self::Edit,
        Self::Shingles,
        Self::Minhash,
        Self::Tutorial,
        Self::Pagesieve,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Digest => "digest",
            Self::CosineTf => "cosine-tf",
            Self::CosineTfidf => "cosine-tfidf",
            Self::EuclideanTf => "euclidean-tf",
            Self::EuclideanTfidf => "euclidean-tfidf",
            Self::Edit => "edit",
            Self::Tutorial => "tutorial",
            Self::Sentences => "sentences",
            Self::Shingles => "shingles",
            Self::Minhash => "minhash",
            Self::Pagesieve => "pagesieve",
        }
    }
}
