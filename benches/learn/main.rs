//! How much of what a crawl requests was worth it.
//!
//! `cargo bench --bench learn` asks the learner what a crawl's engine asks it, without HTTP, and prints one table: what was requested, and which texts were found of those
//! that can be. `-- PART` runs one part, `--seeds N`, `--flight N` and `--world WORDS` choose further, and `--rows` prints each crawl.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "pages are composed of small parts, and read better so"
)]

mod junk;
#[path = "../../src/learn/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the bench asks what the engine asks")]
mod learn;
mod live;
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
#[path = "../measure/texts.rs"]
#[allow(dead_code, reason = "each bench uses what it needs")]
mod texts;
mod trace;
mod variants;
mod world;

use std::{env, path::PathBuf};

use live::Live;
use play::{Settings, Source, play};
use process::{Outcome, say};
use trace::{Replay, Trace};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The traces of the parts that are replayed.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/learn/traces.zst");

const PARTS: [&str; 5] = ["sites", "junk", "static", "software", "traps"];

/// What is done with a source.
type With<'a> = dyn FnMut(&mut dyn Source) -> Outcome<()> + 'a;

/// What is to be run.
#[derive(Debug)]
struct Choice {
    parts: Vec<String>,
    flights: Vec<usize>,
    world: String,
    seeds: u64,
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
    for part in &choice.parts {
        choice.run(part)?;
    }
    Ok(())
}

fn traces(part: &str) -> Outcome<Vec<Trace>> {
    let file = env::var("TRACES").map_or_else(|_| PathBuf::from(FILE), PathBuf::from);
    let all = trace::read(&file)?.into_iter().find(|it| it.0 == part);
    Ok(all.map(|it| it.1).unwrap_or_default())
}

impl Choice {
    fn read(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let (parts, flights, world) = (Vec::new(), Vec::new(), String::new());
        let mut choice = Self { parts, flights, world, seeds: 3, rows: false };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" | "--test" => {}
                "--flight" => choice.flights.push(value()?.parse()?),
                "--world" => choice.world = value()?,
                "--seeds" => choice.seeds = value()?.parse()?,
                "--rows" => choice.rows = true,
                part if PARTS.contains(&part) => choice.parts.push(part.to_owned()),
                other => return Err(format!("no part `{other}`: {}", PARTS.join(", ")).into()),
            }
        }
        if choice.parts.is_empty() {
            choice.parts = PARTS.map(str::to_owned).to_vec();
        }
        if choice.flights.is_empty() {
            choice.flights = vec![1, 8];
        }
        Ok(choice)
    }

    fn run(&self, part: &str) -> Outcome<()> {
        match part {
            "junk" => {
                let sites = traces("sites")?;
                for place in 0..9 {
                    let world =
                        |seed| junk::worlds(&sites[0], seed).nth(place).expect("there are nine");
                    let name = world(0).0;
                    self.play(&name, sites[0].texts as usize, 20_000, &mut |seed, then| {
                        then(&mut world(seed).1)
                    })?;
                }
            }
            "traps" => {
                for kind in 0..variants::COUNT {
                    self.play_traps(kind)?;
                }
            }
            name => {
                for trace in traces(name)? {
                    let mut replay = Replay::of(&trace);
                    self.play(&trace.name, trace.texts as usize, 20_000, &mut |_, then| {
                        then(&mut replay)
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Each seed is another variant.
    fn play_traps(&self, kind: usize) -> Outcome<()> {
        let name = variants::world(kind, 0).name;
        let name = name.trim_end_matches(" 0");
        if !name.contains(&self.world) {
            return Ok(());
        }
        let mut rows = Vec::new();
        for seed in 0..self.seeds {
            let world = variants::world(kind, seed);
            for &flight in &self.flights {
                let mut live = Live::new(&world, true)?;
                rows.push(self.row(&world.name, &mut live, flight, 0, world.pages, 3_000)?);
            }
        }
        Self::show(name, &rows, true)
    }

    fn play(
        &self,
        name: &str,
        texts: usize,
        max_requests: usize,
        source: &mut dyn FnMut(u64, &mut With<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        if !name.contains(&self.world) {
            return Ok(());
        }
        let mut rows = Vec::new();
        for seed in 0..self.seeds {
            for &flight in &self.flights {
                source(seed, &mut |source| {
                    rows.push(self.row(name, source, flight, seed, texts, max_requests)?);
                    Ok(())
                })?;
            }
        }
        Self::show(name, &rows, false)
    }

    fn row(
        &self,
        name: &str,
        source: &mut dyn Source,
        flight: usize,
        seed: u64,
        texts: usize,
        max_requests: usize,
    ) -> Outcome<Row> {
        let played = play(source, Settings { flight, seed, max_requests, learns: true });
        let (requests, pages, found) = (played.requests, played.pages, played.found.len());
        if self.rows {
            say(&format!("{name}\t{flight}\t{seed}\t{requests}\t{pages}\t{found}\t{texts}"))?;
        }
        Ok(Row { flight, requests, pages, found, texts })
    }

    /// One line of the table. Of a trap the requests beside the texts are shown.
    fn show(name: &str, rows: &[Row], is_trap: bool) -> Outcome<()> {
        let median = |flight: usize, of: &dyn Fn(&Row) -> usize| {
            let mut all: Vec<usize> =
                rows.iter().filter(|it| it.flight == flight).map(of).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let requests = |row: &Row| row.requests - if is_trap { row.found } else { 0 };
        let lost = |row: &Row| row.texts.saturating_sub(row.found);
        let most = rows.iter().map(requests).max().unwrap_or_default();
        let texts = rows.iter().map(|it| it.texts).max().unwrap_or_default();
        let waste = median(1, &|row| 100 * row.pages.saturating_sub(row.found) / row.found.max(1));
        say(&format!(
            "| {name} | {} | {} | {most} | {} | {texts} | {} | {} | {}.{:02} |",
            median(1, &requests),
            median(8, &requests),
            median(1, &|row| row.pages),
            median(1, &lost),
            median(8, &lost),
            waste / 100,
            waste % 100,
        ))
    }
}
