//! Makes sketches of texts: runs all steps of the recipe.

use std::{
    cmp::Reverse,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{
    accumulate::Accumulator,
    bits::{Digest, Fingerprint, Signature},
    features::{Counts, expand, hash_pair, hash_token, weight},
    normalise::{SIMPLIFIED, Simplified},
    recipe::{HashSeed, Recipe, Segment},
    segment::{self, Place, Run, Unit, units},
};

/// Scratch memory up to this size in bytes is kept for the next text.
const KEPT: usize = 4 << 20;

/// What a filter needs to know about a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    /// The signs of the weighted sums.
    pub signature: Signature,
    /// Number of distinct features; 0 for a text without words.
    pub features: u32,
    /// Digest of the normalised words, of the single characters of scripts without spaces, and of the signs between them, such as operators and
    /// currencies; `None` for a text without words and characters.
    /// It depends neither on the seed nor on the segmentation.
    pub digest: Option<Digest>,
}

/// What a hash stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A word that begins with a digit.
    Number,
    Word,
    /// A character of a script without spaces.
    Character,
    /// Adjacent operators, currencies or units. Not a feature.
    Sign,
}

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// A token or character, or two with a space between them.
    pub text: String,
    /// How often it occurs.
    pub count: u32,
    /// What it adds to or subtracts from each sum: 16 for a feature that occurs once.
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
    simplified: Option<&'static Simplified>,
    /// Scratch memory that no thread is using.
    idle: Mutex<Vec<Box<Scratch>>>,
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
            simplified: recipe.fold_chinese.then(|| &*SIMPLIFIED),
            idle: Mutex::default(),
        }
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// The indexed 64 bits of the text.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Fingerprint {
        self.signature(text).fingerprint()
    }

    /// All 256 bits of the text's signature: zeros if it has no words.
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
        self.sketch_of_lines([text].into_iter(), |_, _, _| ())
    }

    /// The sketch of a text given in lines, each of which ends in a tab or a line break. Also calls `read` with the hash of each word and sign, and
    /// of each character where a script has no spaces, in order, and with the number of its line: as [`Fingerprinter::hashes`] does for each line.
    pub(crate) fn sketch_of_lines<'a>(
        &self,
        lines: impl Iterator<Item = &'a str>,
        mut read: impl FnMut(usize, Class, u64),
    ) -> Sketch {
        self.with_scratch(|scratch| {
            let Scratch { buffers, counts, digester, .. } = scratch;
            counts.clear();
            let mut chain = Chain::new(self.recipe.hash_seed);
            segment::runs_of_lines(lines, self.simplified, buffers, |run, place| {
                digester.add(run);
                let Place { mut line, ends } = place;
                let class = class(run);
                if let Run::Sign(sign) = run {
                    read(line, class, hash_token(sign, self.recipe.hash_seed));
                    return;
                }
                if let Run::Word(word) = run {
                    let hashes = chain.next(Unit::Token(word));
                    counts.add_all(hashes);
                    read(line, class, hashes.0);
                    return;
                }
                let (mut ends, mut at) = (ends.iter().peekable(), 0);
                units(run, self.recipe.segment, |unit| {
                    let hashes = chain.next(unit);
                    counts.add_all(hashes);
                    let text = match unit {
                        // A word of jieba: its characters follow.
                        Unit::Token(word) if is_compound(class, word) => return,
                        Unit::Token(text) | Unit::Inside(text, _) => text,
                    };
                    while ends.next_if(|&&end| end <= at).is_some() {
                        line += 1;
                    }
                    at += text.len();
                    read(line, class, hashes.0);
                });
            });
            scratch.finish()
        })
    }

    /// The features of the text, the heaviest first, those of equal weight in order of first occurrence.
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
            if !counts.is_full() && counts.add(hash) == texts.len() {
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

    /// Calls `emit` with each token of the normalised text in order: words, and characters where a script has no spaces.
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
            segment::runs(text, self.simplified, buffers, |run| {
                units(run, segment, |unit| {
                    if let Unit::Token(token) = unit {
                        emit(token);
                    }
                });
            });
        });
    }

    /// Calls `emit` with the hash of each word and sign of the normalised text in order, and of each character where a script has no spaces.
    pub(crate) fn hashes(&self, text: &str, mut emit: impl FnMut(Class, u64)) {
        let seed = self.recipe.hash_seed;
        self.words(text, |class, word| emit(class, hash_token(word, seed)));
    }

    /// Calls `emit` with these words, signs and characters themselves.
    pub(crate) fn words(&self, text: &str, mut emit: impl FnMut(Class, &str)) {
        self.with_scratch(|Scratch { buffers, .. }| {
            segment::runs(text, self.simplified, buffers, |run| {
                let class = class(run);
                if let Run::Sign(sign) = run {
                    emit(class, sign);
                }
                units(run, Segment::Ngrams, |unit| {
                    if let Unit::Token(text) = unit {
                        emit(class, text);
                    }
                });
            });
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
}

/// Memory that is used again for each text.
#[derive(Debug, Default)]
struct Scratch {
    buffers: segment::Buffers,
    counts: Counts,
    accumulator: Accumulator<4>,
    digester: Digester,
}

impl Scratch {
    /// The sketch of the text that was counted.
    fn finish(&mut self) -> Sketch {
        for (hash, count) in self.counts.iter() {
            self.accumulator.add(expand(hash), weight(count));
        }
        Sketch {
            signature: Signature(self.accumulator.finish().signs()),
            features: self.counts.len(),
            digest: self.digester.finish().filter(|_| self.counts.len() > 0),
        }
    }

    fn size(&self) -> usize {
        self.buffers.size() + self.counts.size() + self.digester.buffer.capacity()
    }
}

/// What the tokens of a run are.
fn class(run: Run<'_>) -> Class {
    match run {
        Run::Word(word) if word.starts_with(|c: char| c.is_numeric()) => Class::Number,
        Run::Word(_) => Class::Word,
        Run::Han(_) | Run::Unspaced(_) => Class::Character,
        Run::Sign(_) => Class::Sign,
    }
}

/// Whether a token is a word of several characters of a script without spaces.
fn is_compound(class: Class, token: &str) -> bool {
    class == Class::Character && token.chars().nth(1).is_some()
}

/// Hashes units one after the other. Adjacent tokens form a pair, also across punctuation and white space.
struct Chain {
    seed: HashSeed,
    last: Option<u64>,
    /// The previous character inside a token.
    inside: Option<u64>,
}

impl Chain {
    fn new(seed: HashSeed) -> Self {
        Self { seed, last: None, inside: None }
    }

    /// The hash of the unit, and of its pair with the previous token or character.
    #[expect(clippy::inline_always, reason = "a call costs as much as the hash of a short word")]
    #[inline(always)]
    fn next(&mut self, unit: Unit<'_>) -> (u64, Option<u64>) {
        match unit {
            Unit::Token(token) => {
                let this = hash_token(token, self.seed);
                (this, self.last.replace(this).map(|last| hash_pair(last, this)))
            }
            Unit::Inside(character, follows) => {
                let this = hash_token(character, self.seed);
                let last = self.inside.replace(this).filter(|_| follows);
                (this, last.map(|last| hash_pair(last, this)))
            }
        }
    }
}

/// Computes the digest of a text, through a buffer.
#[derive(Debug, Default)]
struct Digester {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Digester {
    /// Size of the buffer in bytes at which it is hashed.
    const FULL: usize = 16 << 10;

    /// Adds a word or a sign followed by a zero byte, or the characters of a run as they are; no word or sign begins with one of those.
    #[inline]
    fn add(&mut self, run: Run<'_>) {
        match run {
            Run::Word(word) | Run::Sign(word) => {
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

    /// The digest of everything added, if anything was, and resets for the next text.
    fn finish(&mut self) -> Option<Digest> {
        self.hasher.update(&self.buffer);
        self.buffer.clear();
        let digest = (self.hasher.count() > 0).then(|| Digest::from_hash(&self.hasher.finalize()));
        self.hasher.reset();
        digest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{normalise, recipe::Segment},
        *,
    };

    fn sketch(text: &str) -> Sketch {
        Fingerprinter::new(Recipe::default()).sketch(text)
    }

    fn ngrams(text: &str) -> Sketch {
        Fingerprinter::new(Recipe { segment: Segment::Ngrams, ..Recipe::default() }).sketch(text)
    }

    #[test]
    fn white_space_and_punctuation_do_not_count() {
        let plain = sketch("Chapter 3 The installer asks again 安装程序 インストーラ").digest;
        for text in [
            "  Chapter 3. \"The\u{a0}installer\" (asks\nagain)! 安装，程序。インスト・ーラ",
            "Chapter\t3—The installer asks again…安装 程序\u{3000}インストーラ",
        ] {
            assert_eq!(sketch(text).digest, plain, "{text}");
            assert_eq!(
                ngrams(text),
                ngrams("Chapter 3 The installer asks again 安装程序 インストーラ"),
                "{text}"
            );
        }
        assert_ne!(sketch("ab c").digest, sketch("a bc").digest);
    }

    #[test]
    fn case_width_and_invisible_characters_do_not_count() {
        for (a, b) in [
            ("Max_WAL_Size 3.14", "Ｍａｘ＿ＷＡＬ＿Ｓｉｚｅ\u{3000}３．１４"),
            ("STRASSE ΣΊΣΥΦΟΣ", "straße σίσυφος"),
            ("soft hyphen", "\u{feff}so\u{ad}ft hy\u{200d}ph\u{1}en"),
            ("ガイド", "ｶﾞｲﾄﾞ"),
            ("café", "cafe\u{301}"),
            ("office", "oﬃce"),
        ] {
            assert_eq!(sketch(a), sketch(b), "{a}");
        }
    }

    #[test]
    fn traditional_and_simplified_chinese_are_equal_if_folded() {
        let (traditional, simplified) =
            ("資料庫系統開發說明：電視裡的圖書館", "资料库系统开发说明：电视里的图书馆");
        assert_eq!(sketch(traditional), sketch(simplified));
        let keeping = Fingerprinter::new(Recipe { fold_chinese: false, ..Recipe::default() });
        assert_ne!(keeping.sketch(traditional).digest, keeping.sketch(simplified).digest);
    }

    #[test]
    fn the_digest_depends_neither_on_seed_nor_on_segmentation() {
        let text = "我喜欢看电视 and 3.14";
        let secret =
            Fingerprinter::new(Recipe { hash_seed: HashSeed(1), ..Recipe::default() }).sketch(text);
        assert_eq!(secret.digest, ngrams(text).digest);
        assert_ne!(secret.signature, sketch(text).signature);
    }

    #[test]
    fn a_text_without_words_has_no_digest() {
        for text in ["", " \n", "— … !", "\u{0}\u{ad}", "😀"] {
            assert_eq!(
                sketch(text),
                Sketch { signature: Signature::default(), features: 0, digest: None },
                "{text:?}"
            );
        }
    }

    #[test]
    fn features_and_sketch_agree() {
        let fingerprinter = Fingerprinter::new(Recipe::default());
        let text = "数据库系统 the cat sat on the mat, the cat データ";
        let features = fingerprinter.features(text);
        assert_eq!(features.len(), fingerprinter.sketch(text).features as usize);
        assert_eq!(
            (features[0].text.as_str(), features[0].count, features[0].weight),
            ("the", 3, 34)
        );
        assert!(features.iter().any(|feature| feature.text == "the cat" && feature.count == 2));
    }

    #[test]
    fn a_digest_of_many_words_is_that_of_the_joined_words() {
        let words: Vec<_> = (0..10_000).map(|n| format!("word{n}")).collect();
        let expected = words
            .iter()
            .fold(Vec::new(), |bytes, word| [bytes, word.as_bytes().to_vec(), vec![0]].concat());
        assert_eq!(sketch(&words.join(", ")).digest, Some(Digest::of(&expected)));
    }

    #[test]
    fn long_texts_without_spaces_or_ends_are_sketched() {
        for (text, features) in [
            ("a".repeat(1 << 20), 1),
            ("中".repeat(350_000), 2),
            ("é".repeat(500_000), 1),
            ("\u{301}".repeat(500_000), 0),
            (format!("a{}", "\u{301}\u{323}".repeat(250_000)), 1),
            ("か".repeat(350_000), 2),
            (format!("{}{}", "a".repeat(500_000), "中か".repeat(100_000)), 6),
            (format!("{}{}", "a,".repeat(250_000), "é中".repeat(100_000)), 7),
            ("a.".repeat(500_000), 1),
            ("a'\u{301}".repeat(250_000), 1),
            ("，".repeat(350_000), 0),
            ("a，".repeat(250_000), 2),
            ("The quick brown fox. ".repeat(500_000), 8),
        ] {
            let start: String = text.chars().take(8).collect();
            assert_eq!(ngrams(&text).features, features, "{start}");
        }
    }

    #[test]
    fn threads_can_share_a_fingerprinter() {
        let fingerprinter = Fingerprinter::new(Recipe::default());
        let texts = ["one two three", "数据库系统", "", "Straße データ"];
        std::thread::scope(|scope| {
            for text in texts {
                let fingerprinter = &fingerprinter;
                scope.spawn(move || {
                    for _ in 0..100 {
                        assert_eq!(fingerprinter.sketch(text), sketch(text));
                    }
                });
            }
        });
    }

    fn normal(text: &str) -> String {
        let mut all = String::new();
        normalise::normalised(
            text,
            &mut normalise::MAX_GROWTH.clone(),
            &mut String::new(),
            |part| all.push_str(part),
        );
        all
    }

    fn runs(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        segment::runs(text, None, &mut segment::Buffers::default(), |run| {
            let (Run::Word(run) | Run::Han(run) | Run::Unspaced(run) | Run::Sign(run)) = run;
            all.push(run.to_owned());
        });
        all
    }

    #[test]
    fn normalising_a_character_twice_changes_nothing() {
        for character in '\0'..=char::MAX {
            for text in [character.to_string(), format!("a{character}b")] {
                assert_eq!(runs(&normal(&text)), runs(&text), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn equal_digests_mean_equal_signatures_without_a_dictionary(text in "[ab中か,. ]{0,12}", other in "[ab中か,. ]{0,12}") {
            let (a, b) = (ngrams(&text), ngrams(&other));
            prop_assert_eq!(a.digest == b.digest, a == b);
        }

        #[test]
        fn a_text_that_is_read_by_lines_has_the_same_sketch_and_words(
            lines in prop::collection::vec("([ab1中国か電,.:：．\u{301}\u{93f}ｶﾞé ]|\\PC){0,12}", 0..8),
            segment in prop::sample::select(vec![Segment::Jieba, Segment::Ngrams]),
            tabs in any::<u8>(),
        ) {
            let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
            let ends = |at: usize| if tabs >> at & 1 == 1 { '\t' } else { '\n' };
            let with_ends: Vec<String> =
                lines.iter().enumerate().map(|(at, line)| format!("{line}{}", ends(at))).collect();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            let sketch = fingerprinter.sketch_of_lines(
                with_ends.iter().map(String::as_str),
                |line, class, hash| found.push((line, class, hash)),
            );
            for (number, line) in lines.iter().enumerate() {
                fingerprinter.hashes(line, |class, hash| expected.push((number, class, hash)));
            }
            prop_assert_eq!(sketch, fingerprinter.sketch(&with_ends.concat()));
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_text_has_a_sketch(text in any::<String>()) {
            let features = Fingerprinter::new(Recipe::default()).features(&text);
            prop_assert_eq!(features.len(), sketch(&text).features as usize);
        }

        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC{0,30}") {
            prop_assert_eq!(runs(&normal(&text)), runs(&text));
        }
    }
}
