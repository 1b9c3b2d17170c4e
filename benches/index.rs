//! Queries of the index, and insertion with expiry in a window that rolls.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pagesieve::{
    DocId, Fingerprint, Index,
    index::{BlockIndex, Pigeonhole, Scan},
};

const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];

/// The finaliser of `SplitMix64`: fingerprints without structure.
fn fingerprint(number: u64) -> Fingerprint {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint(x ^ (x >> 31))
}

/// Fills an index as far as the window reaches and lets it roll on once.
fn rolling(mut index: impl Index, size: u64) -> impl Index {
    for id in 1..=2 * size {
        index.expire(DocId(id.saturating_sub(size)));
        index.insert(DocId(id), fingerprint(id));
    }
    index
}

fn measure<I: Index>(c: &mut Criterion, name: &str, radius: u32, new: impl Fn(u64) -> I) {
    let mut group = c.benchmark_group(name);
    for size in SIZES {
        let mut index = rolling(new(size), size);
        let mut found = Vec::new();
        let mut number = size;
        group.bench_function(BenchmarkId::new("hit", size), |b| {
            b.iter(|| {
                number = number % size + 1;
                let near = Fingerprint(fingerprint(size + number).0 ^ 0b101);
                index.candidates(black_box(near), radius, &mut found);
                found.len()
            });
        });
        group.bench_function(BenchmarkId::new("miss", size), |b| {
            b.iter(|| {
                number += 1;
                index.candidates(black_box(fingerprint(u64::MAX - number)), radius, &mut found);
                found.len()
            });
        });
        let mut id = 2 * size;
        group.bench_function(BenchmarkId::new("insert and expire", size), |b| {
            b.iter(|| {
                id += 1;
                index.expire(DocId(id - size));
                index.insert(DocId(id), black_box(fingerprint(id)));
            });
        });
    }
    group.finish();
}

fn benches(c: &mut Criterion) {
    let blocks = |radius| {
        move |size| {
            BlockIndex::new(radius, size, 200 * size).expect("200 bytes an entry are enough")
        }
    };
    measure(c, "blocks, radius 3", 3, blocks(3));
    measure(c, "blocks, radius 8", 8, blocks(8));
    measure(c, "pigeonhole, radius 3", 3, |_| Pigeonhole::new(3));
    measure(c, "scan, radius 3", 3, |_| Scan::default());
}

criterion_group!(index, benches);
criterion_main!(index);
