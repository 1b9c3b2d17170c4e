//! What a sketch costs: a page of English or Chinese main text, a long one, and the accumulator alone; beside it a plain tokeniser,
//! hasher and term counter that stays as it is, and `MinHash` over the same features. Compare within one run.
//!
//! Also tells the CPU time a page that the main texts of the development data take (beside the checkout, or in `PAGESIEVE_DATA`), which
//! are as long as pages are: `cargo bench --bench fingerprint -- --test` tells nothing else.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]
#![allow(clippy::cast_precision_loss, reason = "pages are few and short")]

use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    hash::{BuildHasherDefault, Hasher},
    hint::black_box,
    path::PathBuf,
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use jieba_rs::Jieba;
use pagesieve::fingerprint::{Accumulator, Fingerprinter, Recipe, Segment};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const ENGLISH: [&str; 2] = [
    include_str!("../tests/data/fingerprint/en-1.txt"),
    include_str!("../tests/data/fingerprint/en-2.txt"),
];
const CHINESE: [&str; 2] = [
    include_str!("../tests/data/fingerprint/zh-1.txt"),
    include_str!("../tests/data/fingerprint/zh-2.txt"),
];

fn sketch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sketch");
    let long = ENGLISH.concat().repeat(100);
    for (name, segment, texts) in [
        ("english", Segment::Jieba, &ENGLISH[..]),
        ("chinese by jieba", Segment::Jieba, &CHINESE),
        ("chinese by characters", Segment::Ngrams, &CHINESE),
        ("english, 1 MB", Segment::Jieba, &[long.as_str()]),
    ] {
        let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
        group.throughput(Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum()));
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| texts.iter().map(|text| fingerprinter.sketch(text).features).sum::<u32>());
        });
    }
    group.finish();
}

/// Keys that are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The plain reference, frozen: never to be made faster. Lower-cased words, jieba's or single characters for Chinese, their pairs, and
/// the characters of jieba's words, each hashed by XXH3 and counted in a map. Returns the features in order and their counts.
fn reference(jieba: Option<&Jieba>, text: &str) -> (Vec<u64>, usize) {
    let lower = text.to_lowercase();
    let mut counts: HashMap<u64, u32, BuildHasherDefault<Identity>> = HashMap::default();
    let (mut features, mut last) = (Vec::new(), None);
    let mut feature = |text: &str, is_token: bool| {
        let hash = xxh3_64_with_seed(text.as_bytes(), 1);
        let pair = |last: u64| xxh3_64_with_seed(&last.to_le_bytes(), hash);
        let pair = if is_token { last.replace(hash).map(pair) } else { None };
        for hash in [Some(hash), pair].into_iter().flatten() {
            features.push(hash);
            *counts.entry(hash).or_insert(0) += 1;
        }
    };
    let is_han = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let is_end = |c: char| !c.is_alphanumeric() && c != '_';
    for run in lower.split(is_end).filter(|run| !run.is_empty()) {
        let characters = |run: &str, feature: &mut dyn FnMut(&str)| {
            run.char_indices().for_each(|(at, c)| feature(&run[at..at + c.len_utf8()]));
        };
        match jieba {
            _ if !run.chars().any(is_han) => feature(run, true),
            None => characters(run, &mut |character| feature(character, true)),
            Some(jieba) => {
                for word in jieba.cut(run, false) {
                    feature(word.word, true);
                    if word.end - word.start > 1 {
                        characters(word.word, &mut |character| feature(character, false));
                    }
                }
            }
        }
    }
    (features, counts.len())
}

/// `MinHash` of 128 permutations as gaoya's `MinHasher32` computes it: the least `h·a + b` modulo 2^31 - 1 under each.
fn min_hash(features: &[u64]) -> u32 {
    let permutations =
        (1..=128_u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 1, n.wrapping_mul(0x85eb_ca6b) >> 1));
    let least = |(a, b): (u32, u32)| {
        let hashes = features.iter().map(|hash| (hash & 0xffff_ffff) as u32);
        hashes.map(|hash| hash.wrapping_mul(a).wrapping_add(b) % 0x7fff_ffff).min().unwrap_or(0)
    };
    permutations.map(least).fold(0, u32::wrapping_add)
}

fn compare(criterion: &mut Criterion) {
    let jieba = Jieba::new();
    for (name, jieba, texts) in [
        ("english", None, &ENGLISH),
        ("chinese by jieba", Some(&jieba), &CHINESE),
        ("chinese by characters", None, &CHINESE),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum()));
        group.bench_function("plain reference", |bencher| {
            bencher.iter(|| texts.iter().map(|text| reference(jieba, text).1).sum::<usize>());
        });
        let features: Vec<_> = texts.iter().map(|text| reference(jieba, text).0).collect();
        group.bench_function("MinHash of the features", |bencher| {
            bencher.iter(|| features.iter().map(|text| min_hash(text)).fold(0, u32::wrapping_add));
        });
        group.finish();
    }
}

fn accumulate(criterion: &mut Criterion) {
    let hash =
        |number: u64| [0, 1, 2, 3].map(|word| xxh3_64_with_seed(&number.to_le_bytes(), word));
    let hashes: Vec<_> = (0..700).map(hash).collect();
    criterion.bench_function("accumulate 700 features", |bencher| {
        bencher.iter(|| {
            let mut accumulator = Accumulator::new();
            for &hash in &hashes {
                accumulator.add(hash, 16);
            }
            accumulator.finish().signs()
        });
    });
}

/// A page of the development data.
#[derive(serde::Deserialize)]
struct MainText {
    lang: String,
    main_text: String,
}

/// How often each text is fingerprinted.
const ROUNDS: u32 = 20;

fn main_texts(_: &mut Criterion) {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data"));
    let data = env::var_os("PAGESIEVE_DATA").map_or(beside, PathBuf::from);
    match fs::read_to_string(data.join("main_text.jsonl")) {
        Ok(lines) => measure(&lines).expect("the data is as its README says"),
        Err(_) => tell("main texts: SKIPPED, the development data is absent (see PAGESIEVE_DATA)"),
    }
}

fn measure(lines: &str) -> Result<(), Box<dyn Error>> {
    let pages: Vec<MainText> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for (lang, segment, how) in [
        ("en", Segment::Jieba, "English"),
        ("zh", Segment::Jieba, "Chinese by jieba"),
        ("zh", Segment::Ngrams, "Chinese by characters"),
    ] {
        let texts: Vec<_> = pages
            .iter()
            .filter(|page| page.lang.starts_with(lang))
            .map(|page| page.main_text.as_str())
            .collect();
        let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
        let sketch_all = || {
            for text in &texts {
                black_box(fingerprinter.sketch(text));
            }
        };
        // Loads the dictionary.
        sketch_all();
        let before = cpu()?;
        (0..ROUNDS).for_each(|_| sketch_all());
        let micros = (cpu()? - before) / 1e3 / f64::from(ROUNDS) / texts.len() as f64;
        let size = texts.iter().map(|text| text.len()).sum::<usize>() as f64 / texts.len() as f64;
        tell(&format!(
            "main texts, {how}: {micros:.1} µs of CPU a page ({} pages of {:.1} KB)",
            texts.len(),
            size / 1e3
        ));
    }
    Ok(())
}

/// CPU time of this thread in nanoseconds.
fn cpu() -> Result<f64, Box<dyn Error>> {
    let times = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(times.split(' ').next().ok_or("no time")?.parse()?)
}

#[expect(clippy::print_stdout, reason = "what is measured is told")]
fn tell(text: &str) {
    println!("{text}");
}

criterion_group!(benches, sketch, compare, accumulate, main_texts);
criterion_main!(benches);
