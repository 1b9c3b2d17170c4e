//! How long single verdicts take: while a window fills, through all the tables it grows through, and while it rolls.
//!
//!     cargo bench --bench verdicts -- [ENTRIES]
//!
//! Half of what comes was there before. Prints microseconds of CPU time of the one thread that judges, the distribution over all verdicts
//! and which were the longest; the clock itself takes some tenths of one.
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it is a program that prints figures, which are rounded"
)]

#[path = "measure/numbers.rs"]
mod numbers;
#[path = "measure/turns.rs"]
mod turns;

use std::{env, num::NonZeroU64};

use pagesieve::{
    Digest, Document, Filter, Signature, Sketch,
    filter::{Documents, Key, Options, WindowOptions},
};

use numbers::mix;
use turns::cpu;

/// Microseconds of a second.
const MICROSECONDS: f64 = 1e6;

/// A page with the text of this number.
fn document(documents: &Documents, page: u64, text: u64) -> Document {
    let word = mix(text);
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&word.to_le_bytes());
    let signature = Signature([word, mix(word + 1), mix(word + 2), mix(word + 3)]);
    let sketch = Sketch { signature, features: 300, digest: Some(Digest(digest)) };
    documents.sketched("", sketch, 2000).with_key(Key(page))
}

/// Prints how long each of these pages took.
fn judge(filter: &mut Filter, name: &str, pages: impl Iterator<Item = (u64, u64)>) {
    let documents = filter.documents();
    let mut taken: Vec<f64> = pages
        .map(|(page, text)| {
            let document = document(&documents, page, text);
            let begin = cpu();
            filter.judge(&document).expect("the filter's recipe made it");
            (cpu() - begin) * MICROSECONDS
        })
        .collect();
    let mut longest: Vec<usize> = (0..taken.len()).collect();
    longest.sort_by(|&a, &b| taken[b].total_cmp(&taken[a]));
    let longest = longest.iter().take(3).map(|&nth| format!("{:.0} us ({nth})", taken[nth]));
    let longest: Vec<String> = longest.collect();
    taken.sort_by(f64::total_cmp);
    let last = taken.len() - 1;
    let at = |part: usize, of: usize| taken[last * part / of];
    println!(
        "{name}: p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, p99.99 {:.1} us, the longest {}",
        at(1, 2),
        at(99, 100),
        at(999, 1_000),
        at(9_999, 10_000),
        longest.join(", ")
    );
}

fn main() {
    let entries = env::args().find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let entries = NonZeroU64::new(entries).expect("a window has entries");
    let mut options = Options::default();
    options.window = WindowOptions::new(entries, None);
    let mut filter = Filter::new(&options).expect("there is room");
    println!("a window of {entries}");
    let entries = entries.get();
    judge(&mut filter, "  it fills", (1..=entries).map(|page| (page, page)));
    // Every other text is one of the last half of a window.
    let text = |page: u64| {
        let back = (mix(page) % (entries / 2).max(1)) | 1;
        if page.is_multiple_of(2) { page - back } else { page }
    };
    judge(&mut filter, "  it rolls", (entries + 1..=3 * entries).map(|page| (page, text(page))));
}
