//! What holds for every run directory, whatever was crawled.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use pagesieve::{
    crawl::{self, verify},
    report::{Host, MEMBERS, Report},
    sink::{ChangeLine, DuplicateLine, PageLine, SkippedLine},
};
use serde_json::Value;
use tempfile::TempDir;
use url::Url;

use super::site::{exported, lines, skipped};

const DECISION: [&str; 10] =
    ["id", "url", "verdict", "step", "match", "fingerprint", "chars", "features", "lang", "thin"];
const PAGE: [&str; 19] = [
    "title",
    "heading",
    "description",
    "text",
    "status",
    "content_type",
    "charset",
    "fetched_at",
    "size",
    "time",
    "depth",
    "referrer",
    "redirects",
    "seed",
    "tags",
    "signature",
    "canonical",
    "truncated",
    "warc",
];
const DUPLICATE: [&str; 8] =
    ["status", "fetched_at", "size", "time", "depth", "referrer", "redirects", "seed"];
const CHANGE: [&str; 14] = [
    "url", "at", "change", "since", "before", "after", "distance", "verdict", "match", "reason",
    "detail", "status", "visits", "changes",
];
const SKIPPED: [&str; 7] = ["url", "reason", "detail", "status", "referrer", "depth", "at"];

/// Checks the files of a run, and returns its report.
pub(crate) fn checked(directory: &Path, report: Report) -> Report {
    let found = verify(directory).unwrap();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    let pages = lines(directory, "pages.jsonl");
    let duplicates = lines(directory, "duplicates.jsonl");
    let changes = lines(directory, "changes.jsonl");
    let skipped = skipped(directory);
    fields_are_in_order(directory);
    a_url_has_one_line(&[&pages, &duplicates, &skipped], &changes);
    assert_eq!(report.counts.changed, changes.len() as u64);
    matches_are_unique_pages(&pages, &duplicates);
    counts_are_those_of_the_files(&report, &pages, &duplicates, &skipped);
    hosts_and_clusters_are_those_of_the_files(&report, &pages, &duplicates);
    assert_eq!(Report::read(directory).unwrap(), report, "report.json is what the run returns");
    assert_eq!(counted_again(directory), report, "the report says what there is");
    let html = fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"));
    let left: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".new"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "no temporary file is left");
    report
}

/// The report of a copy of the run.
fn counted_again(directory: &Path) -> Report {
    let copy = TempDir::new().unwrap();
    // A fault of the disk may have kept the last commits from being moved to the state's file.
    for entry in fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name();
        let is_read = |name: &str| name.starts_with("state.sqlite") || name.starts_with("pages");
        if name.to_str().is_some_and(is_read) {
            fs::copy(directory.join(&name), copy.path().join(&name)).unwrap();
        }
    }
    let (report, is_written) = crawl::report(copy.path()).unwrap();
    assert!(is_written);
    report
}

fn fields_are_in_order(directory: &Path) {
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
    let text: Vec<_> = DECISION.iter().chain(&PAGE).copied().collect();
    let no_text: Vec<_> = text.iter().copied().filter(|name| *name != "text").collect();
    for line in read("pages.jsonl").lines() {
        let found = names(line);
        assert!(found == text || found == no_text, "{found:?}");
        serde_json::from_str::<PageLine<'_>>(line).unwrap();
    }
    let duplicate: Vec<_> = DECISION.iter().chain(&DUPLICATE).copied().collect();
    for line in read("duplicates.jsonl").lines() {
        assert_eq!(names(line), duplicate);
        serde_json::from_str::<DuplicateLine<'_>>(line).unwrap();
    }
    for line in fs::read_to_string(directory.join("changes.jsonl")).unwrap_or_default().lines() {
        assert_eq!(names(line), CHANGE);
        serde_json::from_str::<ChangeLine<'_>>(line).unwrap();
    }
    for line in exported(directory) {
        assert_eq!(names(&line), SKIPPED);
        serde_json::from_str::<SkippedLine<'_>>(&line).unwrap();
    }
}

/// The names of a line's fields, in order.
fn names(line: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(line).unwrap();
    let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    // A quote within a value is escaped. Of the nested objects, only the match shares a name, after the line's own.
    names.sort_by_key(|name| line.find(&format!("\"{name}\":")).unwrap());
    names
}

/// And one for each new text.
fn a_url_has_one_line(files: &[&[Value]], changes: &[Value]) {
    let mut left = BTreeMap::<&str, i32>::new();
    for line in changes.iter().filter(|line| line["change"] == "text") {
        *left.entry(line["url"].as_str().unwrap()).or_default() += 1;
    }
    for line in files.iter().copied().flatten() {
        let url = line["url"].as_str().unwrap();
        let left = left.entry(url).or_default();
        *left -= 1;
        assert!(*left >= -1, "{url} has several lines");
        if let Some(id) = line.get("id") {
            assert_eq!(id, &line["url"]);
        }
    }
}

fn matches_are_unique_pages(pages: &[Value], duplicates: &[Value]) {
    let is_unique = |line: &&Value| line["verdict"] == "unique";
    let unique: BTreeSet<_> =
        pages.iter().filter(is_unique).map(|line| line["id"].as_str().unwrap()).collect();
    for line in pages.iter().chain(duplicates).filter(|line| !is_unique(line)) {
        let matched = line["match"]["id"].as_str().unwrap();
        assert!(unique.contains(matched), "{line} refers to a unique page");
        if line["verdict"] == "exact" {
            assert_eq!(line["match"]["distance"], 0, "{line}");
            assert_eq!(line["match"]["signature_distance"], 0, "{line}");
            assert_eq!(line["match"]["similarity"], 1, "{line}");
        }
    }
    for line in pages.iter().filter(is_unique) {
        assert_eq!((&line["step"], &line["match"]), (&Value::Null, &Value::Null));
    }
    assert!(duplicates.iter().all(|line| line["verdict"] != "unique"));
}

fn counts_are_those_of_the_files(
    report: &Report,
    pages: &[Value],
    duplicates: &[Value],
    skipped: &[Value],
) {
    let count = |verdict: &str, step: Option<&str>| {
        let judged = pages.iter().chain(duplicates);
        let same = |line: &&Value| line["verdict"] == verdict && line["step"].as_str() == step;
        judged.filter(same).count() as u64
    };
    let counts = &report.counts;
    assert_eq!(counts.unique, count("unique", None));
    assert_eq!(counts.exact.body, count("exact", Some("body")));
    assert_eq!(counts.exact.text, count("exact", Some("text")));
    let near =
        count("near", Some("near")) + count("near", Some("body")) + count("near", Some("text"));
    assert_eq!(counts.near, near);
    assert_eq!(counts.stored, pages.len() as u64);
    let mut reasons = BTreeMap::new();
    for line in skipped {
        *reasons.entry(line["reason"].as_str().unwrap().to_owned()).or_insert(0_u64) += 1;
    }
    let reported: BTreeMap<_, _> =
        counts.skipped.iter().map(|(reason, count)| (reason.to_string(), *count)).collect();
    assert_eq!(reported, reasons);
    let unjudged = ["noindex", "content_type"].iter().filter_map(|reason| reasons.get(*reason));
    let fetched = (pages.len() + duplicates.len()) as u64 + unjudged.sum::<u64>();
    assert_eq!(counts.fetched, fetched);
}

fn hosts_and_clusters_are_those_of_the_files(
    report: &Report,
    pages: &[Value],
    duplicates: &[Value],
) {
    let host = |url: &Value| {
        let url = Url::parse(url.as_str().unwrap()).unwrap();
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", url.host_str().unwrap())
    };
    let (mut hosts, mut clusters) = (BTreeMap::new(), BTreeMap::new());
    for line in pages.iter().chain(duplicates) {
        let counts: &mut (u64, u64, u64) = hosts.entry(host(&line["url"])).or_default();
        let Some(of) = line["match"]["id"].as_str() else {
            counts.0 += 1;
            continue;
        };
        counts.1 += 1;
        counts.2 += u64::from(host(&line["url"]) != host(&line["match"]["id"]));
        let cluster: &mut (u64, u64) = clusters.entry(of).or_default();
        cluster.0 += 1;
        cluster.1 += u64::from(line["verdict"] == "near");
    }
    let judged = |host: &&Host| host.judged() > 0;
    let counted = |host: &Host| {
        (host.host.clone(), (host.unique, host.same_site + host.cross_site, host.other_host))
    };
    assert_eq!(report.hosts.iter().filter(judged).map(counted).collect::<BTreeMap<_, _>>(), hosts);
    let fetched: u64 = report.hosts.iter().map(|host| host.fetched).sum();
    assert_eq!(fetched, report.counts.fetched);
    assert_eq!(report.cluster_count, clusters.len() as u64);
    for cluster in &report.clusters {
        let found = clusters.remove(&*cluster.url).unwrap();
        assert_eq!((cluster.count, cluster.near), found, "{}", cluster.url);
        assert!(cluster.unnamed() == 0 || duplicates.len() > MEMBERS / 3, "{}", cluster.url);
    }
    let omitted = &report.omitted;
    assert_eq!(omitted.clusters, clusters.len() as u64);
    assert_eq!(omitted.pages, clusters.values().map(|(count, _)| count).sum::<u64>());
}
