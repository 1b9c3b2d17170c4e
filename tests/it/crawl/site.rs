//! A crawl of a server on loopback, and its results.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    path::Path,
    time::Duration,
};

use pagesieve::{
    crawl::{self, Control, CrawlError, Links, PastRun, Plan, Policy, Store, scope::Seed},
    fingerprint::{HashSeed, HashSeedChoice},
    report::Report,
    sink::{SkippedLine, open_part, parts},
};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    task::spawn_blocking,
    time::{advance, pause},
};

use super::laws;
use crate::server::{Reply, Request, Routes, Server};

/// The state of a run, to change it.
pub(crate) fn state(site: &Site) -> Connection {
    state_in(site.path())
}

/// The same of the run in this directory.
pub(crate) fn state_in(run: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    Connection::open_with_flags(run.join("state.sqlite"), flags).unwrap()
}

/// A server with a plan to crawl it.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) directory: TempDir,
    pub(crate) plan: Plan,
}

impl Site {
    /// A crawl from `seeds`, URLs without their scheme, of a server that answers by `routes` for every host.
    pub(crate) fn new(routes: Routes, seeds: &[&str]) -> Self {
        Self::at(Server::start(routes), seeds)
    }

    pub(crate) fn answering(
        reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
        seeds: &[&str],
    ) -> Self {
        Self::at(Server::answering(reply), seeds)
    }

    fn at(server: Server, seeds: &[&str]) -> Self {
        let directory = TempDir::new().unwrap();
        let seeds: Vec<_> = seeds.iter().map(|seed| format!("http://{seed}")).collect();
        let hosts = ["a.test", "b.test", "c.test", "www.a.test"];
        let plan = plan(&server, directory.path(), &hosts, &seeds);
        Self { server, directory, plan }
    }

    /// The same with another plan.
    pub(crate) fn planned(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// Runs to the end, and checks the laws of a run directory.
    pub(crate) fn run(&self) -> Report {
        laws::checked(self.path(), run(self.plan.clone()))
    }

    /// The same with a clock that turns seconds into milliseconds.
    pub(crate) fn run_fast(&self) -> Report {
        laws::checked(self.path(), run_fast(self.plan.clone(), Control::default()).unwrap())
    }

    pub(crate) fn try_run(&self) -> Result<Report, CrawlError> {
        Runtime::new().unwrap().block_on(crawl::run(self.plan.clone(), Control::default()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn lines(&self, file: &str) -> Vec<Value> {
        lines(self.path(), file)
    }

    pub(crate) fn skipped(&self) -> Vec<Value> {
        skipped(self.path())
    }

    /// What became of each URL: the verdict, with `+` if a duplicate is stored, or the reason. URLs are without their scheme.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, String> {
        let outcome = |line: &Value, stored: bool| {
            let verdict = line.get("verdict").or(line.get("reason")).unwrap().as_str().unwrap();
            let mark = if stored && verdict != "unique" { "+" } else { "" };
            (bare(line), format!("{verdict}{mark}"))
        };
        let file = |name: &str, stored| {
            self.lines(name).iter().map(|line| outcome(line, stored)).collect::<Vec<_>>()
        };
        let others: Vec<_> = self.skipped().iter().map(|line| outcome(line, false)).collect();
        let files = [file("pages.jsonl", true), file("duplicates.jsonl", false), others];
        files.concat().into_iter().collect()
    }

    /// The line of a URL, in whichever file it is.
    pub(crate) fn line(&self, url: &str) -> Value {
        let files = ["pages.jsonl", "duplicates.jsonl"].map(|file| self.lines(file)).concat();
        let mut lines = files.into_iter().chain(self.skipped());
        lines.find(|line| bare(line) == url).unwrap_or_else(|| panic!("{url} has no line"))
    }

    /// How often a URL was requested.
    pub(crate) fn asked(&self, url: &str) -> usize {
        let (host, _) = url.split_once('/').unwrap();
        self.server.count(host, &url[host.len()..])
    }

    /// All URLs that were requested except robots.txt, and how often.
    pub(crate) fn all_asked(&self) -> BTreeMap<String, usize> {
        let all = asked(&self.server).into_iter();
        all.filter(|((_, path), _)| path != "/robots.txt")
            .map(|((host, path), times)| (host + &path, times))
            .collect()
    }
}

fn bare(line: &Value) -> String {
    line["url"].as_str().unwrap().trim_start_matches("http://").to_owned()
}

/// What is expected of [`Site::outcomes`].
pub(crate) fn outcomes<const N: usize>(expected: [(&str, &str); N]) -> BTreeMap<String, String> {
    expected.into_iter().map(|(url, outcome)| (url.to_owned(), outcome.to_owned())).collect()
}

/// A page unlike that of any other name, with these links.
pub(crate) fn page(name: &str, links: &[&str]) -> Reply {
    Reply::html(html(name, 60, links))
}

/// The markup of a page with `words` words unlike those of any other name, and links without text.
pub(crate) fn html(name: &str, words: usize, links: &[&str]) -> String {
    let links: String = links.iter().map(|link| format!("<a href=\"{link}\"></a>")).collect();
    format!("<!doctype html><title>{name}</title><p>{}</p>{links}", text(name, words))
}

/// Words unlike those of any other name.
pub(crate) fn text(name: &str, words: usize) -> String {
    let words = (0..words).map(|place| {
        let mut hasher = DefaultHasher::new();
        (name, place).hash(&mut hasher);
        let hash = hasher.finish();
        let letters = (0..8).map(|letter| char::from(b'a' + (hash >> (5 * letter) & 15) as u8));
        letters.collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The simplest policy: what is learnt has tests of its own.
const SKIP: Policy = Policy::new(Store::Skip, Links::Skip);

/// A plan to crawl `hosts`, all of them names of the server, from `seeds`; no delay, a fixed hash. Links of duplicates are not followed.
pub(crate) fn plan(
    server: &Server,
    directory: &Path,
    hosts: &[impl AsRef<str>],
    seeds: &[String],
) -> Plan {
    let seeds = seeds.iter().map(|url| Seed::new(url.parse().unwrap())).collect();
    let mut plan = Plan::new("test", directory, seeds);
    plan.dedup.seed = HashSeedChoice::Fixed(HashSeed(1));
    (plan.dedup.same_site, plan.dedup.cross_site) = (SKIP, SKIP);
    plan.crawl.user_agent = "pagesieve-test/1".into();
    plan.politeness.delay = Duration::ZERO;
    let named = hosts.iter().map(|host| (host.as_ref().to_owned(), server.address()));
    plan.fetch.resolve = named.collect();
    plan
}

/// Runs a plan to its end.
pub(crate) fn run(plan: Plan) -> Report {
    Runtime::new().unwrap().block_on(crawl::run(plan, Control::default())).unwrap()
}

/// Runs a plan by a clock that makes a second of ten milliseconds, so that pauses and backoff cost nothing.
pub(crate) fn run_fast(plan: Plan, control: Control) -> Result<Report, CrawlError> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        pause();
        let clock = async {
            loop {
                // Each step waits for a new thread, as a connection to the server does: on a busy machine both take longer.
                let sleep = || std::thread::sleep(Duration::from_millis(1));
                spawn_blocking(move || std::thread::spawn(sleep).join()).await.unwrap().unwrap();
                advance(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            report = crawl::run(plan, control) => report,
            () = clock => unreachable!("the clock does not stop"),
        }
    })
}

/// The lines of a file of the run, and of the full ones of its kind.
pub(crate) fn lines(directory: &Path, file: &str) -> Vec<Value> {
    let mut text = String::new();
    for part in parts(directory, file).unwrap() {
        open_part(&part).unwrap().read_to_string(&mut text).unwrap();
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of all known URLs that were not judged: those that were skipped, then those that are still queued.
pub(crate) fn skipped(directory: &Path) -> Vec<Value> {
    exported(directory).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The same as `export` prints them.
pub(crate) fn exported(directory: &Path) -> Vec<String> {
    let (run, mut lines) = (PastRun::open(directory).unwrap(), Vec::new());
    let mut keep = |line: &SkippedLine<'_>| {
        lines.push(serde_json::to_string(line).unwrap());
        Ok::<_, CrawlError>(())
    };
    run.for_each_skipped(false, &mut keep).unwrap();
    run.for_each_skipped(true, &mut keep).unwrap();
    lines
}

/// The field of each line.
pub(crate) fn field<'a>(lines: &'a [Value], name: &str) -> Vec<&'a str> {
    lines.iter().map(|line| line[name].as_str().unwrap()).collect()
}

/// What a run decided, by URL: the verdict and the match, or the reason.
pub(crate) fn decisions(directory: &Path) -> BTreeMap<String, String> {
    let mut decisions = BTreeMap::new();
    for file in ["pages.jsonl", "duplicates.jsonl"] {
        for line in lines(directory, file) {
            let decision =
                format!("{} {} {} {}", line["id"], line["verdict"], line["step"], line["match"]);
            let known = decisions.insert(line["url"].as_str().unwrap().to_owned(), decision);
            assert_eq!(known, None, "a URL has one line");
        }
    }
    for line in skipped(directory) {
        let known =
            decisions.insert(line["url"].as_str().unwrap().to_owned(), line["reason"].to_string());
        assert_eq!(known, None, "a URL has one line");
    }
    decisions
}

/// Every path that was requested, with its host, and how often.
pub(crate) fn asked(server: &Server) -> BTreeMap<(String, String), usize> {
    let mut asked = BTreeMap::new();
    for request in server.requests() {
        *asked.entry((request.host, request.path)).or_default() += 1;
    }
    asked
}

/// The values of a list, each once.
pub(crate) fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}
