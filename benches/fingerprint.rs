//! What a sketch costs: a page of English or Chinese main text, a long one, and the accumulator alone.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
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

criterion_group!(benches, sketch, accumulate);
criterion_main!(benches);
