//! What a whole crawl costs, beside a loop that only fetches the same pages and one that fetches them and parses them with scraper.
//!
//! `cargo bench --bench crawl` serves the 246 pages of the PostgreSQL manual from the shared test data under 20 host names, and adds
//! to each page a few sentences made from its URL: no two bodies or texts are equal, so that every page is parsed, fingerprinted and
//! looked up. Each measurement has a process of its own, and a server in another. CPU is user and system time, memory the peak.

#![allow(clippy::cast_precision_loss, reason = "pages are few")]

#[path = "../measure/process.rs"]
mod process;
mod programs;
#[path = "../measure/serve.rs"]
mod serve;
mod server;
#[path = "../measure/turns.rs"]
mod turns;

use std::{
    env,
    ffi::OsStr,
    io::{Write, stdin},
    time::Instant,
};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use url::Url;

use process::{Outcome, Process, say};
use programs::{CRAWL, FETCH, PARSE, Usage};
use server::Manual;
use turns::Spread;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Limits of the crawl: times the CPU of the loop that fetches and parses, and MiB.
const MOST_CPU: f64 = 2.0;
const MOST_MEMORY: f64 = 150.0;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => Runtime::new()?.block_on(server::serve()),
        ["measure", program, address, directory] => {
            let urls: Vec<Url> =
                stdin().lines().map(|url| Ok(url?.parse()?)).collect::<Outcome<_>>()?;
            let address = address.parse()?;
            let run = Runtime::new()?;
            let pages = match *program {
                CRAWL => run.block_on(programs::crawl(urls, address, directory.into())),
                program => run.block_on(programs::fetch_all(urls, address, program == PARSE)),
            }?;
            say(&serde_json::to_string(&Usage {
                pages,
                cpu: programs::cpu("self")?,
                memory: programs::peak_memory()?,
            })?)
        }
        // Without it this is a test of the bench, not a measurement.
        options if options.contains(&"--bench") => compare(20, 5),
        _ => compare(1, 1),
    }
}

/// One measurement: times in seconds.
#[derive(Clone, Copy, Debug)]
struct Measured {
    usage: Usage,
    wall: f64,
    /// CPU and time from the start of the process to its first request.
    start: (f64, f64),
}

fn compare(hosts: usize, rounds: usize) -> Outcome<()> {
    let manual = Manual::load()?;
    let pages = manual.pages.len() * hosts;
    say(&format!("{}, {hosts} host names: {pages} pages; {rounds} rounds", manual.origin))?;
    let all: Vec<&str> = manual.pages.keys().map(String::as_str).collect();
    let starts: Vec<&str> =
        all.iter().copied().filter(|path| path.ends_with(manual.start)).collect();
    let mut subjects = [(FETCH, &all), (PARSE, &all), (CRAWL, &starts)]
        .map(|(name, paths)| (name, paths, Vec::new()));
    for _ in 0..rounds {
        for (program, paths, measured) in &mut subjects {
            let found = Measured::of(program, &urls(hosts, paths))?;
            if found.usage.pages != pages as u64 {
                return Err(
                    format!("{program}: {} pages instead of {pages}", found.usage.pages).into()
                );
            }
            measured.push(found);
        }
    }
    let subjects = subjects.map(|(name, _, measured)| (name, measured));
    say(&table(&subjects, pages))?;
    let [_, (_, parse), (_, crawl)] = &subjects;
    // A single round over one host is there to see that all works.
    if rounds > 1 { say(&target(parse, crawl)) } else { Ok(()) }
}

/// The paths at all hosts, those of one host far from each other.
fn urls(hosts: usize, paths: &[&str]) -> String {
    let mut urls = String::new();
    for (path, host) in paths.iter().flat_map(|path| (0..hosts).map(move |host| (path, host))) {
        urls += "http://host-";
        urls += &host.to_string();
        urls += ".test";
        urls += path;
        urls.push('\n');
    }
    urls
}

impl Measured {
    fn of(program: &str, urls: &str) -> Outcome<Self> {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut server = Process::start(["serve"].map(OsStr::new))?;
        let address = server.line()?;
        let began = Instant::now();
        let run = directory.path().join("run");
        let arguments = [OsStr::new("measure"), program.as_ref(), address.as_ref(), run.as_ref()];
        let mut measured = Process::start(arguments)?;
        measured.child.stdin.take().ok_or("no input")?.write_all(urls.as_bytes())?;
        // The server's next line reports the first request.
        server.line()?;
        let start =
            (programs::cpu(&measured.child.id().to_string())?, began.elapsed().as_secs_f64());
        let usage = serde_json::from_str(&measured.line()?)?;
        Ok(Self { usage, wall: began.elapsed().as_secs_f64(), start })
    }
}

fn table(subjects: &[(&str, Vec<Measured>); 3], pages: usize) -> String {
    let [_, (_, parse), (_, crawl)] = subjects;
    let heads = ["CPU ms a page", "CPU s", "x fetch and parse", "time s", "peak memory MiB"];
    let mut table = format!("\n{}\n", line("median (range)", &heads.map(str::to_owned)));
    for (name, measured) in subjects {
        let of = |value: fn(&Measured) -> f64| Spread::of(measured.iter().map(value));
        let (cpu, wall, memory) =
            (of(|it| it.usage.cpu), of(|it| it.wall), of(|it| it.usage.memory));
        let ratio = ratio(measured, parse);
        table += &line(
            name,
            &[cpu.per(pages), cpu.show(2), ratio.show(2), wall.show(2), memory.show(0)],
        );
        table.push('\n');
    }
    let of = |value: fn(&Measured) -> f64| Spread::of(crawl.iter().map(value));
    let (cpu, wall) = (of(|it| it.start.0 * 1000.0).show(0), of(|it| it.start.1 * 1000.0).show(0));
    table
        + &format!(
            "\nup to its first request, as contained above, the crawl takes {cpu} ms of CPU in {wall} ms"
        )
}

fn line(name: &str, cells: &[String; 5]) -> String {
    cells.iter().fold(format!("{name:<16}"), |line, cell| format!("{line}{cell:>19}"))
}

/// The limits of the crawl, and whether it keeps them.
fn target(parse: &[Measured], crawl: &[Measured]) -> String {
    let (cpu, memory) = (ratio(crawl, parse), Spread::of(crawl.iter().map(|it| it.usage.memory)));
    let met = cpu.median <= MOST_CPU && memory.greatest < MOST_MEMORY;
    let met = if met { "met" } else { "MISSED" };
    format!(
        "target: at most {MOST_CPU:.1} times the CPU of fetch and parse, under {MOST_MEMORY:.0} MiB: {met}"
    )
}

/// The CPU of one divided by that of the other in the same round.
fn ratio(one: &[Measured], other: &[Measured]) -> Spread {
    Spread::of(one.iter().zip(other).map(|(one, other)| one.usage.cpu / other.usage.cpu))
}

impl Spread {
    /// The median as milliseconds a page.
    fn per(&self, pages: usize) -> String {
        format!("{:.3}", self.median * 1000.0 / pages as f64)
    }
}
