//! What a sketch costs: a page of English or Chinese main text, a long one, and the accumulator alone.
//!
//! Also tells the CPU time a page that the main texts of the development data take (beside the checkout, or in `PAGESIEVE_DATA`), which
//! are as long as pages are: `cargo bench --bench fingerprint -- --test` tells nothing else.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]
#![allow(clippy::cast_precision_loss, reason = "pages are few and short")]

use std::{env, error::Error, fs, hint::black_box, path::PathBuf};

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

criterion_group!(benches, sketch, accumulate, main_texts);
criterion_main!(benches);
