//! How much of what a crawl requests was worth it.
//!
//! `cargo bench --bench learn` asks the learner what a crawl's engine asks it, without HTTP, and prints one table: what was requested, and which texts were found of those
//! that can be. Rows are medians of three seeds. `-- PART` runs one part, and `--rows` prints each crawl.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "pages are composed of small parts, and read better so"
)]

mod junk;
#[path = "../../src/learn/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the bench asks what the engine asks")]
mod learn;
#[path = "../measure/numbers.rs"]
mod numbers;
mod page {
    pub(crate) use pagesieve::page::site_of;
}
mod play;
#[path = "../measure/process.rs"]
mod process;
mod prose;
mod target;
mod trace;
mod variants;
mod world;

use std::env;

use junk::Junk;
use play::{Played, play};
use process::{Outcome, say};
use trace::Replay;
use world::Live;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTS: [&str; 5] = ["sites", "junk", "static", "software", "traps"];
const FLIGHTS: [usize; 2] = [1, 8];
const SEEDS: u64 = 3;

/// What is to be run.
#[derive(Debug, Default)]
struct Choice {
    parts: Vec<String>,
    /// Whether each crawl is printed.
    rows: bool,
}

/// What a crawl took, and what it found.
#[derive(Clone, Copy, Debug)]
struct Row {
    flight: usize,
    requests: usize,
    pages: usize,
    found: usize,
    texts: usize,
}

fn main() -> Outcome<()> {
    let choice = Choice::read(env::args().skip(1))?;
    say(
        "| world | requests, 1 in flight | 8 in flight | most | pages, 1 | texts | lost, 1 | lost, 8 | wasted a text |\n|---|---|---|---|---|---|---|---|---|",
    )?;
    choice.parts.iter().try_for_each(|part| choice.run(part))
}

impl Choice {
    fn read(arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut choice = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--bench" | "--test" => {}
                "--rows" => choice.rows = true,
                part if PARTS.contains(&part) => choice.parts.push(part.to_owned()),
                other => return Err(format!("no part `{other}`: {}", PARTS.join(", ")).into()),
            }
        }
        if choice.parts.is_empty() {
            choice.parts = PARTS.map(str::to_owned).to_vec();
        }
        Ok(choice)
    }

    fn run(&self, part: &str) -> Outcome<()> {
        match part {
            "junk" => {
                let sites = &trace::read("sites")?[0];
                for kinds in junk::kinds() {
                    let kind = if kinds.len() > 1 { "all at once" } else { kinds[0] };
                    let junk = |seed| Junk::new(sites, &kinds, seed);
                    self.row(&format!("junk: {kind}"), &mut |seed, flight| {
                        Ok((play(&mut junk(seed), flight, seed, 20_000), sites.texts as usize))
                    })?;
                }
            }
            "traps" => {
                for kind in variants::KINDS {
                    self.row(&format!("trap: {}", kind.0), &mut |seed, flight| {
                        let world = variants::world(kind, seed);
                        Ok((play(&mut Live::new(&world)?, flight, 0, 3_000), world.pages))
                    })?;
                }
            }
            part => {
                for trace in trace::read(part)? {
                    let mut replay = Replay::of(&trace);
                    self.row(&trace.name, &mut |seed, flight| {
                        Ok((play(&mut replay, flight, seed, 20_000), trace.texts as usize))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// One row of the table: `crawl` makes a crawl for a seed and a number of requests in flight, and says how many texts there are.
    fn row(
        &self,
        name: &str,
        crawl: &mut dyn FnMut(u64, usize) -> Outcome<(Played, usize)>,
    ) -> Outcome<()> {
        let mut rows = Vec::new();
        for seed in 0..SEEDS {
            for flight in FLIGHTS {
                let (Played { requests, pages, found }, texts) = crawl(seed, flight)?;
                let found = found.len();
                if self.rows {
                    say(&format!(
                        "{name}\t{flight}\t{seed}\t{requests}\t{pages}\t{found}\t{texts}"
                    ))?;
                }
                rows.push(Row { flight, requests, pages, found, texts });
            }
        }
        show(name, &rows)
    }
}

/// Prints a row. Of a trap the requests beside the texts are shown.
fn show(name: &str, rows: &[Row]) -> Outcome<()> {
    let median = |flight: usize, of: &dyn Fn(&Row) -> usize| {
        let mut all: Vec<usize> = rows.iter().filter(|it| it.flight == flight).map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let is_trap = name.starts_with("trap");
    let requests = |row: &Row| row.requests - if is_trap { row.found } else { 0 };
    let lost = |row: &Row| row.texts.saturating_sub(row.found);
    let waste = median(1, &|row| 100 * row.pages.saturating_sub(row.found) / row.found.max(1));
    say(&format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {}.{:02} |",
        median(1, &requests),
        median(8, &requests),
        rows.iter().map(requests).max().unwrap_or_default(),
        median(1, &|row| row.pages),
        rows.iter().map(|it| it.texts).max().unwrap_or_default(),
        median(1, &lost),
        median(8, &lost),
        waste / 100,
        waste % 100,
    ))
}
