//! Judgement of documents that are fingerprinted already, in a window that rolls.

#[path = "measure/numbers.rs"]
mod numbers;

use std::{hint::black_box, num::NonZeroU64};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pagesieve::{
    Digest, DocId, Document, Filter, Signature, Sketch,
    filter::{Key, Mode, Options, Position, Representative, WindowOptions},
    page::Timestamp,
};

use numbers::mix;

const WINDOW: u64 = 100_000;
const LARGE: u64 = 1_000_000;
const TOGETHER: u64 = 256;

/// The text of this number, on a page of its own; `edit` alters body, text and signature a little.
fn subject(page: u64, text: u64, edit: u64) -> Document {
    let word = mix(text);
    let digest = |kind: u8| {
        let mut bytes = [kind; 16];
        bytes[..8].copy_from_slice(&mix(word ^ edit).to_le_bytes());
        Digest(bytes)
    };
    Document {
        key: Key(page),
        body: Some(digest(b'b')),
        sketch: Sketch {
            signature: Signature([
                word ^ u64::from(edit > 0),
                mix(word + 1),
                mix(word + 2),
                mix(word + 3),
            ]),
            features: 300,
            digest: Some(digest(b't')),
        },
        chars: 2000,
        lang: None,
        at: Timestamp(page.cast_signed()),
        blocks: None,
    }
}

fn benches(c: &mut Criterion) {
    let entries = NonZeroU64::new(WINDOW).expect("not zero");
    let window = WindowOptions { entries, age: None };
    let mut filter = Filter::new(&Options { window, ..Options::default() }).expect("there is room");
    let mut page = 0;
    let mut judge = |text: fn(u64) -> (u64, u64)| {
        page += 1;
        let (text, edit) = text(page);
        filter.judge(black_box(&subject(page, text, edit)))
    };
    for _ in 0..2 * WINDOW {
        let _ = judge(|page| (page, 0));
    }
    let mut group = c.benchmark_group("judge");
    group.bench_function("unique", |b| b.iter(|| judge(|page| (page, 0))));
    // Of the text that came last: by now it is the latest unique one.
    group.bench_function("exact by body", |b| b.iter(|| judge(|_| (2 * WINDOW, 0))));
    group.bench_function("near", |b| b.iter(|| judge(|page| (2 * WINDOW, page))));
    group.finish();
}

/// Unique documents in a large window.
fn large(c: &mut Criterion) {
    let entries = NonZeroU64::new(LARGE).expect("not zero");
    for mode in [Mode::Balanced, Mode::Classic] {
        let window = WindowOptions { entries, age: None };
        let options = Options { mode, window, ..Options::default() };
        let mut filter = Filter::new(&options).expect("there is room");
        let mut page = LARGE + LARGE / 10;
        filter.restore(|take| (1..=page).map(representative).for_each(take));
        let (next, clock, oldest) = (DocId(page + 1), Timestamp(page.cast_signed()), DocId(1));
        filter.resume(Position { next, aliases: 0, clock, oldest });
        let mut some = || -> Vec<Document> {
            page += TOGETHER;
            (page - TOGETHER + 1..=page).map(|page| subject(page, page, 0)).collect()
        };
        let mut group = c.benchmark_group(format!("judge unique ones of {LARGE}"));
        group.throughput(Throughput::Elements(TOGETHER)).sample_size(30);
        group.bench_function(mode.as_str(), |b| {
            b.iter(|| {
                for one in &some() {
                    let _ = black_box(filter.judge(black_box(one)));
                }
            });
        });
        group.finish();
    }
}

fn representative(page: u64) -> Representative {
    let Document { key, at, sketch, .. } = subject(page, page, 0);
    let (id, signature) = (DocId(page), Some(sketch.signature));
    Representative { id, at, key, site: None, signature }
}

criterion_group!(filter, benches, large);
criterion_main!(filter);
