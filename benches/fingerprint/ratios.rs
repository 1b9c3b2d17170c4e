//! CPU-time ratios with their targets. The two programs of a ratio alternate over the same texts.

use std::hint::black_box;

use jieba_rs::Jieba;
use pagesieve::fingerprint::{Fingerprinter, Recipe, Segment};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{
    measure::{
        texts::Texts,
        turns::{Spread, Target, ratio, take_turns},
    },
    reference::{min_hash, reference},
};

/// Number of rounds in which the programs alternate.
const ROUNDS: usize = 21;
/// Bytes of text that a program processes in a round, repeating the texts if they are shorter.
const ROUND_BYTES: usize = 2_000_000;

/// The largest ratio of a sketch's time to that of the plain reference.
const REFERENCE: Target = Target::AtMost(1.6);
/// The smallest ratio of Chinese by jieba to Chinese by characters, for a whole sketch and for the tokens alone.
const FAST_SKETCH: Target = Target::AtLeast(1.8);
const FAST_TOKENS: Target = Target::AtLeast(4.0);

/// Texts of a language with a segmentation.
struct Subject<'a> {
    name: &'static str,
    texts: &'a [String],
    fingerprinter: Fingerprinter,
    /// The segmenter of the reference for Chinese.
    jieba: Option<&'a Jieba>,
}

pub(super) fn print() {
    let (texts, jieba) = (Texts::load(), Jieba::new());
    print_line(&format!(
        "{}; CPU time of one thread, compared programs alternate; medians of {ROUNDS} rounds (least-greatest)",
        texts.origin
    ));
    let subject = |name, language, segment, jieba| Subject {
        name,
        texts: texts.of(language),
        fingerprinter: Fingerprinter::new(Recipe { segment, ..Recipe::default() }),
        jieba,
    };
    let subjects = [
        subject("English", "en", Segment::Jieba, None),
        subject("Chinese by jieba", "zh", Segment::Jieba, Some(&jieba)),
        subject("Chinese by characters", "zh", Segment::Ngrams, None),
        subject("Japanese by jieba", "ja", Segment::Jieba, Some(&jieba)),
        subject("Japanese by characters", "ja", Segment::Ngrams, None),
    ];
    let measured = || subjects.iter().filter(|subject| !subject.texts.is_empty());
    heading("sketch / plain reference");
    measured().for_each(Subject::compare_with_reference);
    heading(
        "MinHash of 128 permutations over the same tokens and pairs / sketch, both from the text (benches/peers has gaoya itself)",
    );
    measured().for_each(Subject::compare_with_min_hash);
    heading(
        "MinHash of the distinct hashes alone, without segmenting and hashing / sketch, from the text",
    );
    measured().for_each(Subject::compare_with_bare_min_hash);
    heading("Chinese by jieba / by characters");
    compare_segments(&subjects[1], &subjects[2]);
}

impl Subject<'_> {
    fn compare_with_reference(&self) {
        let pass = self.pass(|text| {
            black_box(self.fingerprinter.sketch(text));
        });
        let plain = self.pass(|text| {
            black_box(reference(self.jieba, text));
        });
        self.compare(
            self.name,
            take_turns(ROUNDS, [&mut { pass }, &mut { plain }]),
            Some(REFERENCE),
        );
    }

    fn compare_with_min_hash(&self) {
        let hash = self.pass(|text| {
            black_box(min_hash(&self.features(text)));
        });
        let pass = self.pass(|text| {
            black_box(self.fingerprinter.sketch(text));
        });
        self.compare(self.name, take_turns(ROUNDS, [&mut { hash }, &mut { pass }]), None);
    }

    fn compare_with_bare_min_hash(&self) {
        let distinct = |text: &String| {
            let mut features = self.features(text);
            features.sort_unstable();
            features.dedup();
            features
        };
        let features: Vec<_> = self.texts.iter().map(distinct).collect();
        let mut hash = || {
            for _ in 0..self.passes() {
                for features in &features {
                    black_box(min_hash(features));
                }
            }
        };
        let pass = self.pass(|text| {
            black_box(self.fingerprinter.sketch(text));
        });
        self.compare(self.name, take_turns(ROUNDS, [&mut hash, &mut { pass }]), None);
    }

    /// The hashes of the tokens and of each two adjacent ones.
    fn features(&self, text: &str) -> Vec<u64> {
        let (mut features, mut last) = (Vec::new(), None);
        self.fingerprinter.tokens(text, |token| {
            let hash = xxh3_64_with_seed(token.as_bytes(), 1);
            features.push(hash);
            features.extend(last.replace(hash).map(|last: u64| last.rotate_left(32) ^ hash));
        });
        features
    }

    /// One round: calls `each` with every text, as often as fills a round.
    fn pass(&self, each: impl Fn(&str)) -> impl FnMut() {
        move || {
            for _ in 0..self.passes() {
                self.texts.iter().for_each(|text| each(text));
            }
        }
    }

    fn passes(&self) -> usize {
        ROUND_BYTES.div_ceil(self.bytes())
    }

    fn bytes(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }

    fn compare(&self, what: &str, [one, other]: [Vec<f64>; 2], target: Option<Target>) {
        let pages = self.texts.len() as f64;
        let micros = |times: &[f64]| {
            Spread::of(times.iter().copied()).median * 1e6 / pages / self.passes() as f64
        };
        let ratio = ratio(&one, &other);
        print_line(&format!(
            "  {what:<24}{:>8.1} / {:>6.1} µs a page{:>20}   {:<22} {} pages of {:.1} KB",
            micros(&one),
            micros(&other),
            ratio.show(2),
            target.map_or_else(String::new, |target| target.judge(&ratio)),
            self.texts.len(),
            self.bytes() as f64 / pages / 1e3,
        ));
    }
}

fn compare_segments(jieba: &Subject<'_>, characters: &Subject<'_>) {
    fn sketch(fingerprinter: &Fingerprinter) -> impl Fn(&str) {
        |text| {
            black_box(fingerprinter.sketch(text));
        }
    }
    fn tokens(fingerprinter: &Fingerprinter) -> impl Fn(&str) {
        |text| {
            fingerprinter.tokens(text, |token| {
                black_box(token);
            });
        }
    }
    let turns = [jieba, characters].map(|it| it.pass(sketch(&it.fingerprinter)));
    let [mut slow, mut fast] = turns;
    jieba.compare("sketch", take_turns(ROUNDS, [&mut slow, &mut fast]), Some(FAST_SKETCH));
    let turns = [jieba, characters].map(|it| it.pass(tokens(&it.fingerprinter)));
    let [mut slow, mut fast] = turns;
    jieba.compare("tokens alone", take_turns(ROUNDS, [&mut slow, &mut fast]), Some(FAST_TOKENS));
}

fn heading(text: &str) {
    print_line(&format!("\n{text}"));
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_line(text: &str) {
    println!("{text}");
}
