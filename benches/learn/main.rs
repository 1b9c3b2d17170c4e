//! How much of what a crawl fetches was worth fetching.
//!
//! `cargo bench --bench learn` serves worlds on loopback, crawls each with every policy for the links of duplicates, and prints what was
//! fetched and found. `-- PART` runs one part; `--policy NAME`, `--flight N`, `--world WORDS`, `--max-pages N`, `--max-depth N`,
//! `--pages DIRECTORY`, `--manifest FILE` (other static sites than those of `static_sites.toml`) and `--keep DIRECTORY` choose further.
//! A run that is kept has `lost.txt`: the texts that it did not find. Worlds and seeds are fixed. `--seeds N` crawls each world with N of them, and prints the median and the worst: a small change of the order changes what is learnt first.
//! In the part `variants` each seed is another world of each kind.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "pages are composed of small parts, and read better so"
)]

mod behind_repeats;
mod confluence;
mod dedecms;
mod discuz;
mod dokuwiki;
mod drupal;
mod ecshop;
mod false_traps;
mod forge;
mod forums;
mod four_sites;
mod gitlab;
mod honest;
mod joomla;
mod junk;
mod large;
mod magento;
mod more_false_traps;
mod more_software;
mod more_traps;
#[path = "../measure/numbers.rs"]
mod numbers;
mod path_info;
#[path = "../measure/process.rs"]
mod process;
mod prose;
mod redmine;
mod redmine_issues;
mod redmine_versions;
mod repositories;
mod run;
#[path = "../measure/serve.rs"]
mod serve;
mod shapes;
mod smf;
mod software;
mod static_sites;
mod table;
mod target;
#[path = "../measure/texts.rs"]
#[allow(dead_code, reason = "each bench uses what it needs")]
mod texts;
mod trac;
mod trac_browser;
mod traps;
mod variants;
mod vbulletin;
mod wiki;
mod woocommerce;
mod world;
mod xenforo;

use std::{env, path::PathBuf, sync::Arc};

use pagesieve::crawl::Links;

use four_sites::FourSites;
use junk::Junk;
use process::{Outcome, say};
use run::{Settings, crawl};
use table::{Row, Truth};
use world::World;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const POLICIES: [&str; 3] = ["skip", "follow", "learn"];
const PARTS: [&str; 11] = [
    "sites",
    "junk",
    "traps",
    "more-traps",
    "false-traps",
    "shapes",
    "large",
    "variants",
    "software",
    "more-software",
    "static",
];

/// What is to be run.
#[derive(Debug, Default)]
struct Choice {
    parts: Vec<String>,
    policies: Vec<String>,
    flights: Vec<usize>,
    /// Worlds whose names contain one of these.
    worlds: Vec<String>,
    max_pages: Option<u64>,
    max_depth: Option<u32>,
    /// How many seeds.
    seeds: Option<u64>,
    /// Where the pages of the static sites are.
    pages: Option<PathBuf>,
    /// Which static sites, if not those of the bench.
    manifest: Option<PathBuf>,
    keep: Option<PathBuf>,
}

fn main() -> Outcome<()> {
    let choice = Choice::read(env::args().skip(1))?;
    for part in &choice.parts {
        say(&format!("\n## {part}\n\n{}", table::head()))?;
        match part.as_str() {
            "sites" => {
                let world = Arc::new(FourSites::load()?.plain());
                let truths = choice.truths(&world)?;
                choice.run(&|_| Ok(Arc::clone(&world)), &truths, 10_000)?;
            }
            "junk" => {
                let truths = choice.truths(&Arc::new(FourSites::load()?.plain()))?;
                for (name, junk) in Junk::kinds() {
                    let world = |seed| Ok(Arc::new(junk.world(name, FourSites::load()?, seed)));
                    choice.run(&world, &truths, 15_000)?;
                }
            }
            "traps" => choice.run_all(traps::worlds(), 10_000)?,
            "more-traps" => choice.run_all(more_traps::worlds(), 10_000)?,
            "false-traps" => choice.run_all(false_traps::worlds(), 10_000)?,
            "shapes" => choice.run_all(shapes::worlds().chain(behind_repeats::worlds()), 10_000)?,
            "large" => choice.run_all(large::worlds(), 40_000)?,
            "variants" => choice.run_variants()?,
            "software" => choice.run_all(software::worlds(), 10_000)?,
            "more-software" => choice.run_all(more_software::worlds(), 10_000)?,
            "static" => choice.run_static()?,
            other => return Err(format!("no part `{other}`: {}", PARTS.join(", ")).into()),
        }
    }
    Ok(())
}

impl Choice {
    fn read(arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut choice, mut arguments) = (Self::default(), arguments);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" | "--test" => {}
                "--policy" => choice.policies.push(value()?),
                "--flight" => choice.flights.push(value()?.parse()?),
                "--world" => choice.worlds.push(value()?),
                "--seeds" => choice.seeds = Some(value()?.parse()?),
                "--max-pages" => choice.max_pages = Some(value()?.parse()?),
                "--max-depth" => choice.max_depth = Some(value()?.parse()?),
                "--pages" => choice.pages = Some(value()?.into()),
                "--manifest" => choice.manifest = Some(value()?.into()),
                "--keep" => choice.keep = Some(value()?.into()),
                part => choice.parts.push(part.to_owned()),
            }
        }
        if choice.parts.is_empty() {
            choice.parts = PARTS.map(str::to_owned).to_vec();
        }
        if choice.policies.is_empty() {
            choice.policies = POLICIES.map(str::to_owned).to_vec();
        }
        if choice.flights.is_empty() {
            choice.flights = vec![1, 8];
        }
        Ok(choice)
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        0..self.seeds.unwrap_or(1)
    }

    /// What is to be found with each seed.
    fn truths(&self, world: &Arc<World>) -> Outcome<Vec<Truth>> {
        self.seeds().map(|seed| Truth::of(world, seed)).collect()
    }

    /// Runs worlds whose pages have a text each.
    fn run_all(&self, worlds: impl Iterator<Item = World>, max_pages: u64) -> Outcome<()> {
        for world in worlds {
            let truths: Vec<_> = self.seeds().map(|_| Truth::each(world.pages)).collect();
            let world = Arc::new(world);
            self.run(&|_| Ok(Arc::clone(&world)), &truths, max_pages)?;
        }
        Ok(())
    }

    /// Runs each variant once: a seed is another world.
    fn run_variants(&self) -> Outcome<()> {
        for world in variants::worlds(self.seeds()) {
            let (truth, world) = (Truth::each(world.pages), Arc::new(world));
            self.run(&|_| Ok(Arc::clone(&world)), &[truth], 10_000)?;
        }
        Ok(())
    }

    fn run_static(&self) -> Outcome<()> {
        let Some(directory) = &self.pages else {
            return say("left out: --pages names the folder of the sites in static_sites.toml");
        };
        for site in static_sites::manifest(self.manifest.as_deref())? {
            let world = Arc::new(site.world(directory)?);
            if self.wants(&world) {
                self.run(&|_| Ok(Arc::clone(&world)), &self.truths(&world)?, 20_000)?;
            }
        }
        Ok(())
    }

    fn wants(&self, world: &World) -> bool {
        self.worlds.is_empty() || self.worlds.iter().any(|name| world.name.contains(name.as_str()))
    }

    fn run(
        &self,
        world: &dyn Fn(u64) -> Outcome<Arc<World>>,
        truths: &[Truth],
        max_pages: u64,
    ) -> Outcome<()> {
        if !self.wants(&*world(0)?) {
            return Ok(());
        }
        for policy in &self.policies {
            // A policy that the library does not have is left out.
            let Ok(links) = serde_json::from_value::<Links>(policy.as_str().into()) else {
                continue;
            };
            for &flight in &self.flights {
                let mut rows = Vec::new();
                for (seed, truth) in self.seeds().zip(truths) {
                    let world = world(seed)?;
                    let settings = Settings {
                        links,
                        flight,
                        seed,
                        max_pages: self.max_pages.unwrap_or(max_pages),
                        max_depth: self.max_depth,
                        keep: self.keep.as_ref().map(|directory| {
                            let name = world.name.replace(' ', "-");
                            directory.join(format!("{name}-{policy}-{flight}-{seed}"))
                        }),
                    };
                    let crawled = crawl(&world, &settings)?;
                    if let Some(run) = &settings.keep {
                        truth.write_lost(&crawled, &run.join("lost.txt"))?;
                    }
                    let row = Row::of(&crawled, truth);
                    say(&row.show(&world.name, policy, flight, seed))?;
                    rows.push(row);
                }
                if rows.len() > 1 {
                    say(&table::summary(&rows, policy, flight))?;
                }
            }
        }
        Ok(())
    }
}
