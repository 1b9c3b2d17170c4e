//! The index at the sizes for which it is made, beside a scan.
//!
//!     cargo bench --bench index_large -- [ENTRIES...] [--radius 3,9] [--bytes 120] [--keys 19,19,19] [--texts FILE [--lang en,zh]] [--no-scan]
//!
//! Prints for each window nanoseconds of CPU time of one thread. Index and scan take turns; the medians of the rounds are printed, and that of
//! their ratios. Half of the queries lie 0 to k bits from a document of the window, half from none. Without `--texts` fingerprints are random
//! bits; with it they are those of texts made of real passages, which are as skewed as those of real pages. The tables are those that the
//! index chooses for `--bytes` per entry, or those with keys of `--keys` bits. Memory is measured after a tenth of the window has been replaced.
#![allow(clippy::print_stdout, reason = "it is a program that prints figures")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded"
)]

mod index;
#[path = "../measure/mod.rs"]
mod measure;
mod race;
mod source;
mod window;

use std::{env, path::Path};

use index::measure_index;
use pagesieve::index::TableLayout;
use source::Source;

fn main() {
    let arguments: Vec<String> =
        env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let numbers = |text: &str| -> Vec<u32> {
        text.split(',').map(|number| number.parse().expect("a number")).collect()
    };
    let list = |name: &str, default: &str| numbers(&value(name).unwrap_or(default.into()));
    let sizes: Vec<u64> = arguments.iter().map_while(|argument| argument.parse().ok()).collect();
    let with_scan = !arguments.iter().any(|argument| argument == "--no-scan");
    let languages = value("--lang").unwrap_or_default();
    let languages: Vec<&str> = languages.split(',').filter(|name| !name.is_empty()).collect();
    let source = value("--texts")
        .map_or(Source::Random, |file| Source::of_texts(Path::new(&file), &languages));
    println!("two fingerprints differ in {:.1} bits on average", source.mean_distance());
    for entries in if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes } {
        for radius in list("--radius", "3,9") {
            if let Some(keys) = value("--keys") {
                let layout = TableLayout::with_keys(&numbers(&keys), radius, entries);
                measure_index(&source, layout, with_scan);
                continue;
            }
            for bytes in list("--bytes", "120") {
                match TableLayout::choose(radius, entries, u64::from(bytes) * entries) {
                    Ok(layout) => measure_index(&source, layout, with_scan),
                    Err(error) => println!("{bytes} bytes an entry: {error}"),
                }
            }
        }
    }
}
