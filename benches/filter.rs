//! Judgement of documents that are fingerprinted already, in a window that rolls.

#[path = "measure/numbers.rs"]
mod numbers;

use std::{hint::black_box, num::NonZeroU64};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pagesieve::{
    Digest, Document, Filter, Signature, Sketch,
    filter::{Documents, Key, Mode, Options, WindowOptions},
    page::Timestamp,
};

use numbers::mix;

const WINDOW: u64 = 100_000;
const LARGE: u64 = 1_000_000;
const TOGETHER: u64 = 256;

const OWN: &str = "the filter's recipe made it";

/// The text of this number, on a page of its own; `edit` alters body, text and signature a little.
fn document(documents: &Documents, page: u64, text: u64, edit: u64) -> Document {
    let word = mix(text);
    let digest = |kind: u8| {
        let mut bytes = [kind; 16];
        bytes[..8].copy_from_slice(&mix(word ^ edit).to_le_bytes());
        Digest(bytes)
    };
    let signature =
        Signature([word ^ u64::from(edit > 0), mix(word + 1), mix(word + 2), mix(word + 3)]);
    let sketch = Sketch { signature, features: 300, digest: Some(digest(b't')) };
    let document = documents.sketched("", sketch, 2000).with_key(Key(page));
    document.with_body(digest(b'b')).with_time(Timestamp(page.cast_signed()))
}

fn benches(c: &mut Criterion) {
    let entries = NonZeroU64::new(WINDOW).expect("not zero");
    let mut options = Options::default();
    options.window = WindowOptions::new(entries, None);
    let mut filter = Filter::new(&options).expect("there is room");
    let documents = filter.documents();
    let mut page = 0;
    let mut judge = |text: fn(u64) -> (u64, u64)| {
        page += 1;
        let (text, edit) = text(page);
        filter.judge(black_box(&document(&documents, page, text, edit))).expect(OWN)
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
        let mut options = Options::default();
        (options.mode, options.window) = (mode, WindowOptions::new(entries, None));
        let mut filter = Filter::new(&options).expect("there is room");
        let documents = filter.documents();
        let mut page = LARGE + LARGE / 10;
        for page in 1..=page {
            filter.judge(&document(&documents, page, page, 0)).expect(OWN);
        }
        let mut some = || -> Vec<Document> {
            page += TOGETHER;
            let pages = page - TOGETHER + 1..=page;
            pages.map(|page| document(&documents, page, page, 0)).collect()
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

criterion_group!(filter, benches, large);
criterion_main!(filter);
