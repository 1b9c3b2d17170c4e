//! Puts the steps together: text in, sketch out.

#[cfg(feature = "jieba")]
use std::sync::LazyLock;
use std::{
    cmp::Reverse,
    iter,
    sync::{Mutex, PoisonError},
};

use super::{
    accumulate::Accumulator,
    bits::{Digest, Fingerprint, Signature},
    counts::Counts,
    hash,
    recipe::{Recipe, Segment},
    seed::HashSeed,
    segment::{self, Run},
    simplified,
    weight::weight,
};

/// Scratch memory up to this size in bytes is kept for the next text.
const KEPT: usize = 4 << 20;

/// The dictionary, shared by all fingerprinters.
#[cfg(feature = "jieba")]
static JIEBA: LazyLock<jieba_rs::Jieba> = LazyLock::new(jieba_rs::Jieba::new);

/// What judgement needs to know of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The signs of the weighted sums.
    pub signature: Signature,
    /// How many distinct features the text has; 0 for a text without words.
    pub features: u32,
    /// Digest of the normalised tokens (words; single characters where a script has no spaces); `None` for a text without any.
    /// It depends on neither the seed nor the segmenter.
    pub digest: Option<Digest>,
}

/// A feature of a text: what its sketch was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// A token, or two with a space between.
    pub text: String,
    /// How often it occurs.
    pub count: u32,
    /// What it adds to or takes from each sum: 16 for a feature that occurs once.
    pub weight: u32,
}

/// Makes sketches of texts, all by one recipe. Threads can share one.
///
/// ```
/// use pagesieve::fingerprint::{Fingerprinter, Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::default());
/// let a = fingerprinter.sketch("The quick brown fox jumps over the lazy dog.");
/// let b = fingerprinter.sketch("the QUICK brown fox - jumps over the lazy dog");
/// let c = fingerprinter.sketch("Lorem ipsum dolor sit amet, consectetur adipiscing elit.");
/// assert_eq!(a, b);
/// assert!(a.signature.distance(&c.signature) > 90);
/// ```
#[derive(Debug)]
pub struct Fingerprinter {
    recipe: Recipe,
    simplified: Option<&'static simplified::Table>,
    /// Scratch memory that no thread is using.
    idle: Mutex<Vec<Scratch>>,
}

impl Fingerprinter {
    /// Makes sketches by this recipe.
    ///
    /// # Panics
    /// If the recipe needs a Cargo feature that this build does not have: [`Recipe::check`] reports it beforehand. A filter checks its
    /// recipe when it is made.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        recipe.check().expect("a recipe that this build can follow");
        Self {
            recipe,
            simplified: recipe.fold_chinese.then(simplified::Table::get),
            idle: Mutex::default(),
        }
    }

    /// The recipe that it follows.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// The indexed 64 bits of the text.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Fingerprint {
        self.signature(text).fingerprint()
    }

    /// All 256 signs of the text: zeros if it has no words.
    #[must_use]
    pub fn signature(&self, text: &str) -> Signature {
        self.sketch(text).signature
    }

    /// Signature, number of features and digest of the text, in one pass.
    ///
    /// ```
    /// use pagesieve::fingerprint::{Fingerprinter, Recipe};
    ///
    /// let sketch = Fingerprinter::new(Recipe::default()).sketch("one two one two");
    /// assert_eq!(sketch.features, 4, "one, two, one two, two one");
    /// ```
    #[must_use]
    pub fn sketch(&self, text: &str) -> Sketch {
        self.with_scratch(|scratch| self.sketch_with(scratch, text))
    }

    /// The features of the text, the heaviest first, else in the order in which they occur.
    ///
    /// ```
    /// use pagesieve::fingerprint::{Fingerprinter, Recipe};
    ///
    /// let features = Fingerprinter::new(Recipe::default()).features("to be, or not to be");
    /// let texts: Vec<_> = features.iter().map(|feature| (feature.text.as_str(), feature.count)).collect();
    /// assert_eq!(texts[..4], [("to", 2), ("be", 2), ("to be", 2), ("or", 1)]);
    /// ```
    #[must_use]
    pub fn features(&self, text: &str) -> Vec<Feature> {
        let mut scratch = Scratch::default();
        let mut texts = Vec::new();
        let mut chain = Chain::new(self.recipe.hash_seed);
        let [mut last, mut last_inside] = [String::new(), String::new()];
        let counts = &mut scratch.counts;
        let mut count = |hash, text: &dyn Fn() -> String| {
            if counts.add(hash) == texts.len() {
                texts.push(text());
            }
        };
        segment::runs(text, self.simplified, &mut scratch.buffers, |run| {
            units(run, self.recipe.segment, |unit| {
                let (hash, pair) = chain.next(unit);
                let (this, before) = match unit {
                    Unit::Token(this) => (this, &mut last),
                    Unit::Inside(this, _) => (this, &mut last_inside),
                };
                count(hash, &|| this.to_owned());
                if let Some(pair) = pair {
                    count(pair, &|| format!("{before} {this}"));
                }
                this.clone_into(before);
            });
        });
        let counts = scratch.counts.iter().map(|(_, count)| count);
        let mut features: Vec<_> = texts
            .into_iter()
            .zip(counts)
            .map(|(text, count)| Feature { text, count, weight: weight(count) })
            .collect();
        features.sort_by_key(|feature| Reverse(feature.weight));
        features
    }

    /// Calls `emit` with each token of the normalised text, in order: words, and characters where a script has no spaces.
    ///
    /// ```
    /// use pagesieve::fingerprint::{Fingerprinter, Recipe};
    ///
    /// let mut tokens = Vec::new();
    /// Fingerprinter::new(Recipe::default()).tokens("數據庫, Version 3.14", |token| tokens.push(token.to_owned()));
    /// assert_eq!(tokens, ["数据库", "version", "3.14"]);
    /// ```
    pub fn tokens(&self, text: &str, mut emit: impl FnMut(&str)) {
        let segment = self.recipe.segment;
        self.with_scratch(|Scratch { buffers, .. }| {
            segment::runs(text, self.simplified, buffers, |run| tokens(run, segment, &mut emit));
        });
    }

    /// Calls `work` with scratch memory that no thread is using.
    fn with_scratch<R>(&self, work: impl FnOnce(&mut Scratch) -> R) -> R {
        let mut scratch =
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let done = work(&mut scratch);
        if scratch.size() <= KEPT {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        }
        done
    }

    fn sketch_with(&self, scratch: &mut Scratch, text: &str) -> Sketch {
        let Scratch { buffers, counts, digester } = scratch;
        counts.clear();
        let mut chain = Chain::new(self.recipe.hash_seed);
        segment::runs(text, self.simplified, buffers, |run| {
            digester.add(run);
            units(run, self.recipe.segment, |unit| {
                let (hash, pair) = chain.next(unit);
                counts.add(hash);
                if let Some(pair) = pair {
                    counts.add(pair);
                }
            });
        });
        let mut accumulator = Accumulator::new();
        for (hash, count) in counts.iter() {
            accumulator.add(hash::expand(hash), weight(count));
        }
        Sketch {
            signature: Signature(accumulator.finish().signs()),
            features: counts.len(),
            digest: digester.finish(),
        }
    }
}

/// Memory that is used again for each text.
#[derive(Debug, Default)]
struct Scratch {
    buffers: segment::Buffers,
    counts: Counts,
    digester: Digester,
}

impl Scratch {
    fn size(&self) -> usize {
        self.buffers.size() + self.counts.size() + self.digester.buffer.capacity()
    }
}

/// What a feature is made of.
#[derive(Clone, Copy)]
enum Unit<'a> {
    /// A token: a feature, and one with its neighbour.
    Token(&'a str),
    /// A character inside a token, and whether one stands before it there: a feature, and one with that neighbour.
    Inside(&'a str, bool),
}

#[cfg_attr(
    not(feature = "jieba"),
    expect(unused_variables, reason = "without jieba there is one way to segment")
)]
fn units(run: Run<'_>, segment: Segment, mut emit: impl FnMut(Unit<'_>)) {
    match run {
        Run::Word(word) => emit(Unit::Token(word)),
        #[cfg(feature = "jieba")]
        Run::Han(run) if segment == Segment::Jieba => {
            for word in JIEBA.cut(run, false) {
                emit(Unit::Token(word.word));
                if word.end - word.start > 1 {
                    for (place, character) in characters(word.word).enumerate() {
                        emit(Unit::Inside(character, place > 0));
                    }
                }
            }
        }
        Run::Han(run) | Run::Unspaced(run) => {
            characters(run).for_each(|character| emit(Unit::Token(character)));
        }
    }
}

/// The tokens of a run, without the characters inside.
#[cfg_attr(
    not(feature = "jieba"),
    expect(unused_variables, reason = "without jieba there is one way to segment")
)]
fn tokens(run: Run<'_>, segment: Segment, mut emit: impl FnMut(&str)) {
    match run {
        Run::Word(word) => emit(word),
        #[cfg(feature = "jieba")]
        Run::Han(run) if segment == Segment::Jieba => {
            JIEBA.cut(run, false).into_iter().for_each(|word| emit(word.word));
        }
        Run::Han(run) | Run::Unspaced(run) => characters(run).for_each(emit),
    }
}

/// The characters of a text as texts.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let length = match rest.as_bytes().first()? {
            ..0x80 => 1,
            ..0xe0 => 2,
            ..0xf0 => 3,
            _ => 4,
        };
        let (character, tail) = rest.split_at(length);
        rest = tail;
        Some(character)
    })
}

/// Hashes units one after the other; adjacent tokens make a pair, also across punctuation and white space.
struct Chain {
    seed: HashSeed,
    last: Option<u64>,
    /// The character before, inside a token.
    inside: Option<u64>,
}

impl Chain {
    fn new(seed: HashSeed) -> Self {
        Self { seed, last: None, inside: None }
    }

    /// The hash of the unit, and of its pair with the token or character before.
    #[inline]
    fn next(&mut self, unit: Unit<'_>) -> (u64, Option<u64>) {
        match unit {
            Unit::Token(token) => {
                let this = hash::token(token, self.seed);
                (this, self.last.replace(this).map(|last| hash::pair(last, this)))
            }
            Unit::Inside(character, follows) => {
                let this = hash::token(character, self.seed);
                let last = self.inside.replace(this).filter(|_| follows);
                (this, last.map(|last| hash::pair(last, this)))
            }
        }
    }
}

/// Hashes tokens for exact comparison, through a buffer.
#[derive(Debug, Default)]
struct Digester {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Digester {
    /// The buffer is hashed when it has this many bytes.
    const FULL: usize = 16 << 10;

    /// Adds a word with a zero byte behind it, or the characters of a run as they are: no word begins with one of those.
    #[inline]
    fn add(&mut self, run: Run<'_>) {
        match run {
            Run::Word(word) => {
                self.buffer.extend_from_slice(word.as_bytes());
                self.buffer.push(0);
            }
            Run::Han(run) | Run::Unspaced(run) => self.buffer.extend_from_slice(run.as_bytes()),
        }
        if self.buffer.len() >= Self::FULL {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// The digest of what was added, if anything was; ready for the next text.
    fn finish(&mut self) -> Option<Digest> {
        self.hasher.update(&self.buffer);
        self.buffer.clear();
        let digest = (self.hasher.count() > 0).then(|| Digest::from_hash(&self.hasher.finalize()));
        self.hasher.reset();
        digest
    }
}
