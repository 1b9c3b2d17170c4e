//! A month in hours: the program crawls a web of which a tenth misbehaves, by a clock that runs 360 times as fast, and is killed, cut off and
//! left without room on the way. Each page that can be had must be judged exactly once.
#![allow(clippy::print_stdout, reason = "the figures are for whoever runs the measurement")]

mod machine;
mod program;
mod results;
mod serve;
mod world;

use std::{
    env, fs,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use self::{
    machine::Machine,
    program::Program,
    serve::{Mood, Web},
    world::{World, mixed},
};
use crate::preload;

/// If nothing is requested for so long, and the program uses no more CPU time than this, it waits.
const IDLE: Duration = Duration::from_millis(250);
const IDLE_CPU: Duration = Duration::from_millis(30);

/// The month, and what happens in it.
#[derive(Clone, Copy, Debug)]
struct Month {
    world: World,
    kills: usize,
    outages: usize,
    full_disks: usize,
    /// How often the time of day is set, by a day forwards or backwards.
    clock_steps: usize,
    outage_lasts: Duration,
    window: usize,
}

/// What happens to the program or its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Kill,
    Outage { silent: bool },
    FullDisk,
    Clock { hours: i64 },
}

impl Month {
    /// What happens after how many pages, the last first.
    fn events(&self) -> Vec<(u64, Event)> {
        let kills = (0..self.kills).map(|_| Event::Kill);
        let outages = (0..self.outages).map(|n| Event::Outage { silent: n % 2 == 1 });
        let full = (0..self.full_disks).map(|_| Event::FullDisk);
        let clock = (0..self.clock_steps)
            .map(|n| Event::Clock { hours: if n % 2 == 0 { 24 } else { -24 } });
        let all = kills.chain(outages).chain(full).chain(clock);
        let pages = (self.world.hosts * self.world.pages) as u64;
        let at = |number: usize| pages / 50 + mixed(number as u64) % (pages * 4 / 5);
        let mut events: Vec<_> =
            all.enumerate().map(|(number, event)| (at(number), event)).collect();
        events.sort_by(|a, b| b.cmp(a));
        events
    }

    fn config(&self, web: &Web, output: &str) -> String {
        let Self { world, window, .. } = self;
        let resolve: String = world
            .names()
            .zip(web.addresses.iter().cycle())
            .map(|(name, address)| format!("\"{name}\" = \"{address}\"\n"))
            .collect();
        format!(
            r#"
            name = "month"
            output = "{output}"
            [crawl]
            user_agent = "pagesieve-test/1"
            max_pages = 1_000_000_000
            max_depth = 1_000_000
            [fetch]
            timeout = "10m"
            [dedup]
            window = {{ entries = {window} }}
            same_site = {{ links = "follow" }}
            cross_site = {{ links = "follow" }}
            [store]
            rotate = "64MiB"
            compress = true
            [[seeds]]
            file = "seeds.txt"
            scope = "any"
            max_pages = 1_000_000_000
            max_depth = 1_000_000
            [fetch.resolve]
            {resolve}
            "#
        )
    }

    fn run(self) {
        let Some(library) = preload::library("machine") else { return };
        // Thousands of commits a minute: on a disk, waiting for it would take the time.
        let memory = ["/dev/shm"].into_iter().find(|path| Path::new(path).exists());
        let directory = memory.map_or_else(TempDir::new, TempDir::new_in).unwrap();
        let path = |name: &str| directory.path().join(name);
        let machine = Arc::new(Machine::new(&path("machine")));
        let mut web = Web::new(self.world, Arc::clone(&machine));
        let seeds =
            self.world.names().take(self.world.hosts).map(|name| format!("http://{name}/\n"));
        fs::write(path("seeds.txt"), seeds.collect::<String>()).unwrap();
        fs::write(path("month.toml"), self.config(&web, path("run").to_str().unwrap())).unwrap();

        let mut program = Program::new(path("month.toml"), library, &machine.path);
        self.crawl(&mut program, &mut web, &machine);
        let hours = machine.passed().as_secs() / 3600;
        println!(
            "{} h by the fast clock, {:.0} s of real time",
            hours,
            web.ledger().now().as_secs_f64()
        );
        program.print(web.ledger().pages.load(Ordering::Relaxed), 0..10);
        results::check(&path("run"), &self, web.ledger(), &program);
    }

    fn is_all_served(&self, web: &Web) -> bool {
        let mut all = results::reachable(&self.world);
        all.all(|page| results::is_served(&self.world, web.ledger(), page))
    }

    /// Runs the program until it has nothing left to do, while everything happens.
    fn crawl(&self, program: &mut Program, web: &mut Web, machine: &Machine) {
        let (mut events, mut outage_ends) = (self.events(), None);
        let mut idle_since = (Duration::ZERO, Duration::ZERO);
        let mut starts_without_a_page = 0;
        let mut pages_at_start = 0;
        let (all, mut tenth) = (results::reachable(&self.world).count() as u64, 0);
        program.start(web.ledger().now());
        loop {
            thread::sleep(Duration::from_millis(20));
            let (now, pages) = (web.ledger().now(), web.ledger().pages.load(Ordering::Relaxed));
            if let Some(code) = program.ended() {
                assert!(matches!(code, 0 | 3), "{code}: {}", program.errors());
                // If starts find no new page any more, the checks say what is missing.
                starts_without_a_page =
                    if pages > pages_at_start { 0 } else { starts_without_a_page + 1 };
                let is_over = self.is_all_served(web) || starts_without_a_page == 4;
                if is_over && events.is_empty() {
                    return;
                }
                println!("{:>7.1} s, {pages:>8} pages: it ends, {code}", now.as_secs_f64());
                machine.skip(Duration::from_hours(6));
                pages_at_start = pages;
                program.start(now);
            }
            program.measure(pages, now);
            // A run that is stopped has shown something.
            if tenth < 10 && pages >= all * (tenth as u64 + 1) / 10 {
                program.print(all, tenth..tenth + 1);
                tenth += 1;
            }
            if outage_ends.is_some_and(|at| at <= now) {
                web.set(Mood::Up);
                outage_ends = None;
            }
            if let Some(&(_, event)) =
                events.last().filter(|(at, _)| *at <= pages && outage_ends.is_none())
            {
                events.pop();
                println!("{:>7.1} s, {pages:>8} pages: {event:?}", now.as_secs_f64());
                match event {
                    Event::Kill => {
                        program.kill(now);
                        program.start(now);
                    }
                    Event::Outage { silent } => {
                        program.disturbances.push(now);
                        web.set(if silent { Mood::Silent } else { Mood::Down });
                        outage_ends = Some(now + self.outage_lasts);
                    }
                    Event::FullDisk => {
                        machine.fill_disk(true);
                        let code = program.wait();
                        assert_eq!(code, 4, "{}", program.errors());
                        program.disturbances.push(web.ledger().now());
                        machine.fill_disk(false);
                        program.start(web.ledger().now());
                    }
                    Event::Clock { hours } => machine.set_clock(hours),
                }
            }
            // What happens when nothing is going on happens at once.
            let is_busy = web.ledger().in_flight.load(Ordering::Relaxed) > 0
                || web.ledger().idle() < IDLE
                || outage_ends.is_some()
                || program.cpu() > idle_since.1 + IDLE_CPU;
            if is_busy {
                idle_since = (now, program.cpu());
            } else if now > idle_since.0 + IDLE {
                machine.skip(Duration::from_mins(20));
                idle_since = (now, program.cpu());
            }
        }
    }
}

#[test]
fn in_a_short_month_each_page_is_judged_once() {
    Month {
        world: World { hosts: 160, pages: 12, hours: 12 },
        kills: 3,
        outages: 2,
        full_disks: 1,
        clock_steps: 2,
        outage_lasts: Duration::from_millis(600),
        window: 1_000,
    }
    .run();
}

/// Prints what docs/reliability.md says about the simulated month.
#[test]
#[ignore = "it takes more than an hour: `cargo test --release --test it month_of_two_million -- --ignored --nocapture`"]
fn in_a_month_of_two_million_pages_each_is_judged_once() {
    // A multiple of 80, so that there are as many of each kind.
    let hosts = env::var("HOSTS").map_or(20_000, |hosts| hosts.parse().unwrap());
    Month {
        world: World { hosts, pages: 100, hours: 600 },
        kills: 30,
        outages: 10,
        full_disks: 3,
        clock_steps: 4,
        outage_lasts: Duration::from_secs(10),
        window: hosts * 10,
    }
    .run();
}
