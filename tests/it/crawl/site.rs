//! A crawl of a server on loopback, and what it left behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use pagesieve::{
    crawl::{self, Control, Plan, scope::Seed},
    filter::Options,
    fingerprint::{Seed as HashSeed, SeedChoice},
    report::Report,
};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::server::Server;

/// A plan to crawl `hosts`, all of them names of the server, from `seeds`; no delay, a fixed hash.
pub(crate) fn plan(server: &Server, directory: &Path, hosts: &[&str], seeds: &[String]) -> Plan {
    let mut plan = Plan {
        name: "test".to_owned(),
        directory: directory.to_owned(),
        crawl: crawl::Options { user_agent: "pagesieve-test/1".to_owned(), ..Default::default() },
        politeness: Default::default(),
        fetch: Default::default(),
        dedup: Options { seed: SeedChoice::Fixed(HashSeed(1)), ..Options::default() },
        store: Default::default(),
        seeds: seeds.iter().map(|url| Seed::new(url.parse().unwrap())).collect(),
    };
    plan.politeness.delay = Duration::ZERO;
    plan.fetch.resolve = hosts.iter().map(|&host| (host.to_owned(), server.address())).collect();
    plan
}

/// Runs a plan to its end.
pub(crate) fn run(plan: Plan) -> Report {
    Runtime::new().unwrap().block_on(crawl::run(plan, Control::default())).unwrap()
}

/// The lines of a file of the run.
pub(crate) fn lines(directory: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(directory.join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
    for line in lines(directory, "skipped.jsonl") {
        let known =
            decisions.insert(line["url"].as_str().unwrap().to_owned(), line["reason"].to_string());
        assert_eq!(known, None, "a URL has one line");
    }
    decisions
}

/// Every path that the server was asked for, with its host, and how often.
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
