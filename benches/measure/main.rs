//! Fits the numbers of the measure ([`Rule`]) on labelled groups of pages, and shows how right it is and how much each number matters.
//!
//! ```text
//! cargo bench --bench measure -- numbers                      prints and counts the numbers
//! cargo bench --bench measure -- bytes GROUPS...              prints what is kept of a page
//! cargo bench --bench measure -- judge GROUPS...              judges each group with a filter: what is right, by set and kind
//! cargo bench --bench measure -- fit GROUPS...                fits the numbers: coordinate descent over a coarse grid
//! cargo bench --bench measure -- sensitivity GROUPS...        what changes if a number is 10 % smaller or larger, half or double
//! ```
//!
//! `NAME=VALUE` sets a number before; `fit` leaves it so. `--show` prints each error. `copies.py`, `cases.py` and `exchanged.py` make the files: a group a line, as `group.rs` reads it.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the numbers are small"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::needless_for_each,
    reason = "it prints tables"
)]

mod fit;
mod group;
mod judge;

use std::{env, process};

use pagesieve::filter::Rule;

fn main() {
    let arguments: Vec<String> =
        env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some((command, rest)) = arguments.split_first() else {
        // `cargo test --benches` runs it without a command.
        return;
    };
    let mut rule = Rule::default();
    let (mut files, mut given, mut show) = (Vec::new(), Vec::new(), false);
    for argument in rest {
        match argument.split_once('=') {
            Some((name, value)) => {
                rule = with(rule, name, value.parse().expect("a number"));
                given.push(name);
            }
            None if argument == "--show" => show = true,
            None => files.push(argument.clone()),
        }
    }
    match command.as_str() {
        "numbers" => numbers(rule),
        "bytes" => bytes(&files),
        "judge" => judge::judge(rule, &files, show),
        "fit" => fit::fit(rule, &given, &files),
        "score" => fit::score(rule, &files, show),
        "sensitivity" => fit::sensitivity(rule, &files),
        other => {
            eprintln!("no command {other}: numbers, bytes, judge, score, fit or sensitivity");
            process::exit(2);
        }
    }
}

/// The numbers by name.
fn numbers_of(rule: Rule) -> Vec<(String, f64)> {
    let serde_json::Value::Object(all) = serde_json::to_value(rule).expect("a rule is a table")
    else {
        unreachable!("a rule is a table")
    };
    all.into_iter().map(|(name, value)| (name, value.as_f64().expect("a number"))).collect()
}

/// The same rule with another number.
fn with(rule: Rule, name: &str, number: f64) -> Rule {
    let mut all = serde_json::to_value(rule).expect("a rule is a table");
    let old = all.get_mut(name).unwrap_or_else(|| panic!("no number {name}"));
    *old = if old.is_f64() { number.into() } else { (number.round() as i64).into() };
    serde_json::from_value(all).expect("a rule with another number")
}

fn numbers(rule: Rule) {
    let all = numbers_of(rule);
    all.iter().for_each(|(name, number)| println!("{name:<16} {number}"));
    println!("{} numbers", all.len());
}

/// What is kept of a page, in bytes.
fn bytes(files: &[String]) {
    let groups = group::read(files);
    let pages = groups.iter().flat_map(|group| &group.pages);
    let mut sizes: Vec<usize> = pages.map(|page| page.document.sketch().to_bytes().len()).collect();
    sizes.sort_unstable();
    let mean = sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
    let [median, largest] = [sizes.len() / 2, sizes.len().saturating_sub(1)]
        .map(|at| sizes.get(at).copied().unwrap_or_default());
    println!("{} pages: mean {mean:.0} bytes, median {median}, largest {largest}", sizes.len());
}
