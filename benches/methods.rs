//! Compares the filter with methods of the literature on the same pairs: what each finds, and what it costs.
//!
//!     cargo bench --bench methods -- [PAIRS TEXTS [METHOD]...]
//!
//! The files are those of `pagesieve eval`; without them, the test data. The methods are plain implementations with the usual thresholds; other
//! thresholds trade recall for precision. Each function below prepares all texts for one method and returns how to compare two of them.
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it is a program that prints figures, which are rounded"
)]

#[path = "measure/numbers.rs"]
mod numbers;

use std::{cmp::Reverse, collections::BTreeMap, env, fs::File, io::BufReader, time::Instant};

use clap::ValueEnum;
use pagesieve::{
    Digest, Fingerprint, Fingerprinter,
    eval::{Corpus, Figures, Unlisted, count_pairs, read_texts},
    filter::{Options, Thresholds},
    fingerprint::{Accumulator, HashSeed, Recipe, Segment},
};
use xxhash_rust::xxh3::xxh3_64;

use numbers::mix;

/// The sentences of a text that [`Method::Sentences`] compares.
const SENTENCES: usize = 3;
/// The least cosine of [`Method::CosineTf`] and [`Method::CosineTfidf`].
const LEAST_COSINE: f64 = 0.95;
/// The largest distance of the Euclidean methods, as a share of the longer vector. For vectors of one length it is as strict as the
/// cosine: the root of 2 - 2·0.95.
const MOST_DISTANCE: f64 = 0.32;
/// Tokens of a shingle.
const SHINGLE: usize = 5;
/// The least Jaccard coefficient of [`Method::Shingles`] and [`Method::Minhash`].
const LEAST_JACCARD: f64 = 0.8;
const PERMUTATIONS: usize = 128;
/// Minima per band: two texts are compared if they agree in one band.
const ROWS: usize = 4;

/// A method to recognise near duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Equal digests of the text (BLAKE3; MD5 finds the same)
    Digest,
    /// The three longest sentences are equal
    Sentences,
    /// Cosine of the vectors of term frequencies: 0.95 or more
    CosineTf,
    /// Cosine of the TF-IDF vectors: 0.95 or more
    CosineTfidf,
    /// Euclidean distance of the vectors of term frequencies: at most 0.32 of the longer one
    EuclideanTf,
    /// Euclidean distance of the TF-IDF vectors: at most 0.32 of the longer one
    EuclideanTfidf,
    /// Edit distance of the tokens: at most a tenth of the longer text. It takes a millisecond for two texts of a thousand tokens
    Edit,
    /// Jaccard coefficient of the sets of 5-token shingles: 0.8 or more
    Shingles,
    /// MinHash with 128 permutations of 5-token shingles, 32 bands of 4 rows, estimate 0.8 or more
    Minhash,
    /// SimHash as in tutorials: words, term frequency in five levels, 64 bits, distance 3
    Tutorial,
    /// The configured mode
    Pagesieve,
}

/// All texts, prepared for a method.
struct Prepared {
    /// Bytes to remember, over all texts.
    bytes: usize,
    /// Whether the texts at these places are near duplicates.
    alike: Box<dyn Fn(usize, usize) -> bool>,
}

impl Prepared {
    /// `values` has what is remembered of each text.
    fn new<T: 'static>(
        values: Vec<T>,
        bytes: impl Fn(&T) -> usize,
        alike: impl Fn(&T, &T) -> bool + 'static,
    ) -> Self {
        let bytes = values.iter().map(bytes).sum();
        Self { bytes, alike: Box::new(move |a, b| alike(&values[a], &values[b])) }
    }
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [pairs, texts] = match arguments.as_slice() {
        [pairs, texts, ..] => [pairs.clone(), texts.clone()],
        _ => ["pairs", "texts"].map(|name| format!("tests/data/eval/{name}.jsonl")),
    };
    let named =
        arguments.iter().skip(2).map(|name| Method::from_str(name, true).expect("a method"));
    let named: Vec<_> = named.collect();
    let methods = if named.is_empty() { Method::value_variants() } else { &named };
    let open = |path: &str| BufReader::new(File::open(path).expect("the file can be read"));
    let texts = read_texts(open(&texts)).expect("the file has texts");
    let corpus = Corpus::new(texts, open(&pairs), Unlisted::Different).expect("the file has pairs");
    let options = Options::default();
    let recipe = options.recipe(HashSeed(1));
    // Loads the dictionary, so that the first method does not pay for it.
    let _ = Fingerprinter::new(recipe).sketch("数据库");
    println!(
        "method: found, those not equal; of reported pairs >= 0.9, >= 0.5, >= 0.3, wrong (below 0.3); bytes a page, µs to prepare it, ns a pair"
    );
    for &method in methods {
        judge(&corpus, &options, recipe, method);
    }
}

/// Judges all pairs of a corpus by a method, and prints the figures.
fn judge(corpus: &Corpus, options: &Options, recipe: Recipe, method: Method) {
    let (prepared, preparing) = timed(|| prepare(corpus, options, recipe, method));
    let (counts, judging) = timed(|| count_pairs(corpus, &prepared.alike));
    let texts = corpus.texts().len() as f64;
    let found = Figures::new(&[counts]);
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |it| format!("{it:.4}"));
    let found_pairs = [found.recall, found.recall_not_equal].map(share).join(", ");
    let precision =
        [found.precision_90, found.precision_50, found.precision_30].map(share).join(", ");
    let costs = [
        prepared.bytes as f64 / texts,
        preparing * 1e6 / texts,
        judging * 1e9 / (counts.all() as f64).max(1.0),
    ];
    let costs = costs.map(|cost| format!("{cost:.0}")).join(", ");
    println!("{method:?}: {found_pairs}; {precision}, {}; {costs}", found.wrong);
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn prepare(corpus: &Corpus, options: &Options, recipe: Recipe, method: Method) -> Prepared {
    let by_recipe = Fingerprinter::new(recipe);
    // A token per character in scripts without spaces, as for the similarity of the listed pairs.
    let by_character = Fingerprinter::new(Recipe { segment: Segment::Ngrams, ..recipe });
    let texts: &[&str] = &corpus.texts().iter().map(|text| text.text.as_str()).collect::<Vec<_>>();
    match method {
        Method::Digest => Prepared::new(
            texts.iter().map(|text| Digest::of(text.as_bytes())).collect(),
            |_| size_of::<Digest>(),
            Digest::eq,
        ),
        Method::Sentences => sentences(texts),
        Method::CosineTf => cosine(vectors(texts, &by_recipe, false)),
        Method::CosineTfidf => cosine(vectors(texts, &by_recipe, true)),
        Method::EuclideanTf => euclidean(vectors(texts, &by_recipe, false)),
        Method::EuclideanTfidf => euclidean(vectors(texts, &by_recipe, true)),
        Method::Edit => edit(texts, &by_character),
        Method::Shingles => jaccard(texts, &by_character),
        Method::Minhash => minhash(texts, &by_character),
        Method::Tutorial => tutorial(texts, &by_recipe),
        Method::Pagesieve => {
            let thresholds = Thresholds::new(options);
            let sketches = texts.iter().map(|text| by_recipe.sketch(text)).collect();
            // A signature, of which 8 bytes are the indexed fingerprint.
            Prepared::new(sketches, |_| 32, move |a, b| thresholds.judge(a, b).is_some())
        }
    }
}

/// Equal longest sentences.
fn sentences(texts: &[&str]) -> Prepared {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | '；' | ';');
    let longest = |text: &str| {
        let mut sentences: Vec<_> =
            text.split(is_end).map(str::trim).filter(|text| !text.is_empty()).collect();
        // Equally long sentences in alphabetical order, so that their places in the text do not matter.
        sentences.sort_unstable_by_key(|sentence| (Reverse(sentence.len()), *sentence));
        sentences.truncate(SENTENCES);
        let mut digests: Vec<_> =
            sentences.iter().map(|text| Digest::of(text.as_bytes())).collect();
        digests.sort_unstable();
        digests
    };
    Prepared::new(
        texts.iter().copied().map(longest).collect(),
        |digests| size_of_val(digests.as_slice()),
        |a, b| a == b,
    )
}

/// The weights of a text's terms by the hash of the term, and the length of the vector (Salton).
struct Vector {
    weights: Vec<(u64, f64)>,
    length: f64,
}

impl Vector {
    /// The scalar product.
    fn product(&self, other: &Self) -> f64 {
        let (a, b) = (&self.weights, &other.weights);
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while let (Some((x, v)), Some((y, w))) = (a.get(i), b.get(j)) {
            if x == y {
                sum += v * w;
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        sum
    }

    /// A term's number and its weight, four bytes each.
    fn bytes(&self) -> usize {
        8 * self.weights.len()
    }
}

/// Frequencies of terms, or with `idf` frequencies times the logarithm of the inverse share of texts that have the term.
fn vectors(texts: &[&str], fingerprinter: &Fingerprinter, idf: bool) -> Vec<Vector> {
    let frequencies: Vec<_> = texts.iter().map(|text| frequencies(text, fingerprinter)).collect();
    let mut texts_with = BTreeMap::new();
    for term in frequencies.iter().flat_map(BTreeMap::keys) {
        *texts_with.entry(*term).or_insert(0_u32) += 1;
    }
    let texts = frequencies.len() as f64;
    let weight = |(term, frequency): (u64, u32)| {
        let rarity = if idf { (texts / f64::from(texts_with[&term])).ln() } else { 1.0 };
        (term, f64::from(frequency) * rarity)
    };
    let vector = |frequencies: BTreeMap<u64, u32>| {
        let weights: Vec<_> = frequencies.into_iter().map(weight).collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        Vector { weights, length }
    };
    frequencies.into_iter().map(vector).collect()
}

/// How often each token occurs in a text, by its hash.
fn frequencies(text: &str, fingerprinter: &Fingerprinter) -> BTreeMap<u64, u32> {
    let mut frequencies = BTreeMap::new();
    for token in tokens(text, fingerprinter) {
        *frequencies.entry(token).or_insert(0) += 1;
    }
    frequencies
}

/// The hashes of a text's tokens.
fn tokens(text: &str, fingerprinter: &Fingerprinter) -> Vec<u64> {
    let mut tokens = Vec::new();
    fingerprinter.tokens(text, |token| tokens.push(xxh3_64(token.as_bytes())));
    tokens
}

/// Vectors that point in nearly the same direction.
fn cosine(vectors: Vec<Vector>) -> Prepared {
    Prepared::new(vectors, Vector::bytes, |a, b| {
        let lengths = a.length * b.length;
        lengths > 0.0 && a.product(b) >= LEAST_COSINE * lengths
    })
}

/// Vectors that end near each other.
fn euclidean(vectors: Vec<Vector>) -> Prepared {
    Prepared::new(vectors, Vector::bytes, |a, b| {
        let most = MOST_DISTANCE * a.length.max(b.length);
        let squared = a.length * a.length + b.length * b.length - 2.0 * a.product(b);
        most > 0.0 && squared <= most * most
    })
}

/// Insertions, deletions and substitutions of tokens (Levenshtein).
fn edit(texts: &[&str], fingerprinter: &Fingerprinter) -> Prepared {
    Prepared::new(
        texts.iter().map(|text| tokens(text, fingerprinter)).collect(),
        // A token's number, four bytes.
        |tokens| 4 * tokens.len(),
        |a, b| {
            let longer = a.len().max(b.len());
            // The difference in length is a lower bound of the distance.
            a.len().abs_diff(b.len()) * 10 <= longer
                && strsim::generic_levenshtein(a, b) * 10 <= longer
        },
    )
}

/// The Jaccard coefficient of sets of shingles (Broder, *On the Resemblance and Containment of Documents*, 1997).
fn jaccard(texts: &[&str], fingerprinter: &Fingerprinter) -> Prepared {
    let sets = texts.iter().map(|text| shingles(text, fingerprinter)).collect();
    Prepared::new(
        sets,
        |set| size_of_val(set.as_slice()),
        |a, b| {
            // The sets have no more in common than the smaller one.
            let (smaller, larger) = (a.len().min(b.len()), a.len().max(b.len()));
            if (smaller as f64) < LEAST_JACCARD * larger as f64 {
                return false;
            }
            let (mut i, mut j, mut common) = (0, 0, 0);
            while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
                common += usize::from(x == y);
                i += usize::from(x <= y);
                j += usize::from(y <= x);
            }
            common as f64 / (a.len() + b.len() - common) as f64 >= LEAST_JACCARD
        },
    )
}

/// The estimate of the Jaccard coefficient by MinHash, with locality-sensitive hashing.
fn minhash(texts: &[&str], fingerprinter: &Fingerprinter) -> Prepared {
    let minima = |text| {
        let mut minima = [u32::MAX; PERMUTATIONS];
        for shingle in shingles(text, fingerprinter) {
            for (permutation, least) in (1..).zip(&mut minima) {
                *least = (*least).min((mix(shingle ^ mix(permutation)) >> 32) as u32);
            }
        }
        minima
    };
    Prepared::new(texts.iter().copied().map(minima).collect(), size_of_val, |a, b| {
        let candidate = a.chunks(ROWS).zip(b.chunks(ROWS)).any(|(a, b)| a == b);
        let equal = || a.iter().zip(b).filter(|(a, b)| a == b).count();
        candidate && equal() as f64 >= LEAST_JACCARD * PERMUTATIONS as f64
    })
}

/// The hashes of the distinct shingles of a text, sorted. A text that is shorter than a shingle is one shingle.
fn shingles(text: &str, fingerprinter: &Fingerprinter) -> Vec<u64> {
    let tokens = tokens(text, fingerprinter);
    let hash = |tokens: &[u64]| tokens.iter().fold(0, |hash, token| mix(hash ^ token));
    let mut set: Vec<_> = tokens.windows(SHINGLE).map(hash).collect();
    if set.is_empty() {
        set.push(hash(&tokens));
    }
    set.sort_unstable();
    set.dedup();
    set
}

/// SimHash as in tutorials: 64 bits over words alone, weighted by their frequency in five levels.
fn tutorial(texts: &[&str], fingerprinter: &Fingerprinter) -> Prepared {
    let fingerprint = |text| {
        let frequencies = frequencies(text, fingerprinter);
        let most = frequencies.values().copied().max().unwrap_or(1);
        let mut accumulator = Accumulator::new();
        for (hash, frequency) in frequencies {
            accumulator.add([hash], (5 * frequency).div_ceil(most));
        }
        let [bits] = accumulator.finish().signs();
        Fingerprint(bits)
    };
    Prepared::new(
        texts.iter().copied().map(fingerprint).collect(),
        |_| size_of::<Fingerprint>(),
        |a, b| a.distance(*b) <= 3,
    )
}
