//! Judgement of documents that are fingerprinted already, in a window that rolls.

use std::{hint::black_box, num::NonZeroU64};

use criterion::{Criterion, criterion_group, criterion_main};
use pagesieve::{
    Digest, Filter, Signature, Sketch, Subject,
    filter::{Key, Options, WindowOptions},
    page::Timestamp,
};

const WINDOW: u64 = 100_000;

/// The finaliser of `SplitMix64`: words without structure.
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The text of this number, on a page of its own; `edit` alters body, text and signature a little.
fn subject(page: u64, text: u64, edit: u64) -> Subject {
    let word = mix(text);
    let digest = |kind: u8| {
        let mut bytes = [kind; 16];
        bytes[..8].copy_from_slice(&mix(word ^ edit).to_le_bytes());
        Digest(bytes)
    };
    Subject {
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
    let window = WindowOptions { entries, age: None, ..WindowOptions::default() };
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

criterion_group!(filter, benches);
criterion_main!(filter);
