//! The cost of a sketch.
//!
//! `cargo bench --bench fingerprint -- --ratios` prints CPU-time ratios with their targets, in one run on one core: a sketch to a plain
//! tokeniser, hasher and term counter that never changes; `MinHash` over the same features to a sketch; Chinese by jieba to Chinese by
//! characters. The texts are the main texts of the development data (beside the checkout, or in `PAGESIEVE_DATA`), otherwise the bundled
//! ones. Without `--ratios`, criterion times the parts.
#![allow(missing_docs, reason = "the macros of criterion create undocumented items")]
#![allow(clippy::cast_precision_loss, reason = "pages are few and short")]

#[path = "../measure/mod.rs"]
mod measure;
mod ratios;
mod reference;

use std::env;

use criterion::{Criterion, Throughput, criterion_group};
use jieba_rs::Jieba;
use pagesieve::fingerprint::{Accumulator, Fingerprinter, Recipe, Segment};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use measure::texts::{CHINESE, ENGLISH};
use reference::{min_hash, reference};

fn main() {
    if env::args().any(|argument| argument == "--ratios") {
        ratios::print();
    } else {
        benches();
        Criterion::default().configure_from_args().final_summary();
    }
}

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

criterion_group!(benches, sketch, compare, accumulate);
