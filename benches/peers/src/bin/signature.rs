//! The sketch beside gaoya's `MinHasher32` with 128 permutations, in one run, over the main texts of a file.
//!
//!     cargo run --release --bin signature -- main_text.jsonl
//!
//! Both hash the same tokens and pairs of tokens. What is compared is CPU time of one thread, which the two take in turns: medians of the
//! rounds. `datasketch_peer.py` lets the same features be hashed by datasketch: `--features` prints them, and what
//! cutting and a sketch take.
#![allow(clippy::print_stdout, reason = "it is a program that prints figures")]
#![allow(clippy::cast_precision_loss, reason = "figures are rounded")]

#[path = "../../../measure/turns.rs"]
mod turns;

use std::{env, fs, hint::black_box};

use gaoya::minhash::{MinHasher, MinHasher32};
use pagesieve::fingerprint::{Fingerprinter, Recipe, Segment};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use turns::{Spread, Target, ratio, take_turns};

const ROUNDS: usize = 15;
const PERMUTATIONS: usize = 128;
/// `MinHash` takes at least as long, if both begin with the text.
const TARGET: Target = Target::AtLeast(1.0);

const WAYS: [(&str, &str, Segment); 4] = [
    ("English", "en", Segment::Jieba),
    ("Chinese by jieba", "zh", Segment::Jieba),
    ("Chinese by characters", "zh", Segment::Ngrams),
    ("Japanese by jieba", "ja", Segment::Jieba),
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (file, prints_features) = match &arguments[..] {
        [file] => (file, false),
        [option, file] if option == "--features" => (file, true),
        _ => panic!("signature [--features] FILE: lines with `lang` and `main_text`"),
    };
    let lines = fs::read_to_string(file).expect("the file can be read");
    let pages: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    if !prints_features {
        println!("µs of CPU a page: gaoya / sketch, ratio (least-greatest)");
    }
    for (name, lang, segment) in WAYS {
        let of_lang = pages.iter().filter(|page| page["lang"].as_str() == Some(lang));
        let texts: Vec<&str> = of_lang.filter_map(|page| page["main_text"].as_str()).collect();
        let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
        if prints_features {
            print_features(name, &fingerprinter, &texts);
        } else {
            compare(name, &fingerprinter, &texts);
        }
    }
}

fn compare(name: &str, fingerprinter: &Fingerprinter, texts: &[&str]) {
    let hasher = MinHasher32::new(PERMUTATIONS);
    let mut sketch = || sketch_all(fingerprinter, texts);
    let mut from_text = || {
        for text in texts {
            let features = features(fingerprinter, text);
            black_box(hasher.create_signature(features.iter()));
        }
    };
    let given: Vec<_> = texts.iter().map(|text| features(fingerprinter, text)).collect();
    let mut from_features = || {
        for features in &given {
            black_box(hasher.create_signature(features.iter()));
        }
    };
    let mut cut = || texts.iter().for_each(|text| cut(fingerprinter, text));
    let [from_text, from_features, cut, sketch] =
        take_turns(ROUNDS, [&mut from_text, &mut from_features, &mut cut, &mut sketch]);
    // What a sketch takes once its tokens have been cut: to hash, count, weigh and sum them, of which features that are given are hashed already.
    let of_tokens: Vec<f64> = sketch.iter().zip(&cut).map(|(sketch, cut)| sketch - cut).collect();
    for (what, times, sketch, target) in [
        ("from the text", &from_text, &sketch, Some(TARGET)),
        ("features given", &from_features, &sketch, None),
        ("without cutting", &from_features, &of_tokens, Some(TARGET)),
    ] {
        let ratio = ratio(times, sketch);
        let target = target.map_or_else(String::new, |target| target.judge(&ratio));
        println!(
            "{name:<22} {what:<15}{:>7.1} / {:>6.1}  {:>18}  {target}",
            micros(times, texts),
            micros(sketch, texts),
            ratio.show(2),
        );
    }
}

fn cut(fingerprinter: &Fingerprinter, text: &str) {
    fingerprinter.tokens(text, |token| {
        black_box(token);
    });
}

fn print_features(name: &str, fingerprinter: &Fingerprinter, texts: &[&str]) {
    let mut hash = || texts.iter().for_each(|text| drop(black_box(features(fingerprinter, text))));
    let [cut, sketch] = take_turns(ROUNDS, [&mut hash, &mut || sketch_all(fingerprinter, texts)]);
    let pages: Vec<_> = texts.iter().map(|text| words(fingerprinter, text)).collect();
    let [cut, sketch] = [cut, sketch].map(|times| micros(&times, texts));
    println!("{}", json!({"name": name, "cut": cut, "sketch": sketch, "pages": pages}));
}

fn sketch_all(fingerprinter: &Fingerprinter, texts: &[&str]) {
    for text in texts {
        black_box(fingerprinter.sketch(text));
    }
}

fn micros(times: &[f64], texts: &[&str]) -> f64 {
    Spread::of(times.iter().copied()).median * 1e6 / texts.len() as f64
}

/// The hashes of the tokens and of each two that follow one another.
fn features(fingerprinter: &Fingerprinter, text: &str) -> Vec<u64> {
    let (mut features, mut last) = (Vec::new(), None);
    fingerprinter.tokens(text, |token| {
        let hash = xxh3_64(token.as_bytes());
        features.push(hash);
        features.extend(last.replace(hash).map(|last: u64| last.rotate_left(32) ^ hash));
    });
    features
}

/// The tokens, and each two that follow one another, as texts.
fn words(fingerprinter: &Fingerprinter, text: &str) -> Vec<String> {
    let (mut words, mut last) = (Vec::new(), None::<String>);
    fingerprinter.tokens(text, |token| {
        words.push(token.to_owned());
        words.extend(last.replace(token.to_owned()).map(|last| format!("{last} {token}")));
    });
    words
}
