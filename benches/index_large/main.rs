//! The index beside what it is compared with, at the sizes for which it is made.
//!
//!     cargo bench --bench index_large -- [ENTRIES...] [--radius 3,5,6,8,9] [--bytes 64,32] [--layout 21,21,22/narrow+tight]
//!         [--texts FILE [--lang en,zh]] [--no-peers] [--crowding]
//!
//! Prints for each window nanoseconds of CPU time of one thread. Index, plain scheme and scan take turns, and the median of the rounds is
//! told, and that of their ratios. Half of the queries lie 0 to k bits from a document of the window, half from none. Without `--texts`
//! fingerprints are random bits; with it they are those of texts made of real passages, which are crowded where real pages are. Bytes are counted without document numbers. All is measured when the window is full and a tenth of it
//! has been replaced. With `--crowding` nothing is measured: it counts how many entries share a key.
#![allow(clippy::print_stdout, reason = "it is a program that prints figures")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded"
)]

mod baseline;
mod crowding;
mod index;
#[path = "../measure/mod.rs"]
mod measure;
mod race;
mod rivals;
mod source;
mod window;

use std::{env, path::Path};

use baseline::Instructions;
use crowding::print_crowding;
use index::measure_index;
use pagesieve::index::{Entry, Homes, Layout, Plan, Spread};
use rivals::Rivals;
use source::Source;

fn layout(text: &str, radius: u32) -> Layout {
    let (bits, entry) = text.split_once('/').expect("BITS/narrow or BITS/wide");
    let (entry, homes) = entry.split_once('+').unwrap_or((entry, ""));
    let with = |layout: Layout| match homes {
        "tight" => layout.with_homes(Homes::Tight),
        "roomy" => layout.with_homes(Homes::Roomy),
        _ => layout,
    };
    let entry = if entry == "wide" { Entry::Wide } else { Entry::Narrow };
    if let Some((tables, bits)) = bits.split_once('x') {
        let (tables, bits) = (tables.parse().expect("tables"), bits.parse().expect("bits"));
        return with(Layout::covering(tables, bits, entry));
    }
    let bits: Vec<u32> = bits.split(',').map(|bits| bits.parse().expect("bits")).collect();
    with(Layout::disjoint(&bits, entry, radius))
}

fn main() {
    let arguments: Vec<String> =
        env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let list = |name: &str, default: &str| -> Vec<u32> {
        let text = value(name).unwrap_or(default.into());
        text.split(',').map(|number| number.parse().expect("a number")).collect()
    };
    let sizes: Vec<u64> = arguments.iter().map_while(|argument| argument.parse().ok()).collect();
    let radii = list("--radius", "3,5,6,8,9");
    let budgets = list("--bytes", "80,64,32");
    let languages = value("--lang").unwrap_or_default();
    let languages: Vec<&str> = languages.split(',').filter(|name| !name.is_empty()).collect();
    let source = value("--texts")
        .map_or(Source::Random, |file| Source::of_texts(Path::new(&file), &languages));
    // Layouts are chosen for what they are to hold.
    let spread = if matches!(source, Source::Random) { Spread::Random } else { Spread::Texts };
    println!("instructions: {:?}", Instructions::detect());
    println!("two fingerprints differ in {:.1} bits on average", source.mean_distance());
    for entries in if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes } {
        println!("\n{entries} entries");
        if arguments.iter().any(|argument| argument == "--crowding") {
            print_crowding(&source, entries);
            continue;
        }
        let alone = arguments.iter().any(|argument| argument == "--no-peers");
        let rivals = if alone { Rivals::default() } else { Rivals::new(&source, entries, &radii) };
        if let Some(text) = value("--layout") {
            for text in text.split(';') {
                let max = radii.iter().copied().max().unwrap_or(8);
                let plan = Plan::new(layout(text, max), entries).with_spread(spread);
                measure_index(&source, plan, &radii, text, &rivals);
            }
            continue;
        }
        for &radius in &radii {
            for bytes in &budgets {
                // Document numbers take 8 bytes, and none where they are consecutive, as here.
                match Plan::choose_for(spread, radius, entries, u64::from(bytes + 8) * entries) {
                    Ok(plan) => {
                        measure_index(&source, plan, &[radius], &format!("{bytes} bytes"), &rivals);
                    }
                    Err(error) => println!("{bytes} bytes: {error}"),
                }
            }
        }
    }
}
