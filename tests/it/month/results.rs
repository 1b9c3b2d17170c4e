//! What must be true at the end.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::Path,
    process::Command,
    time::Duration,
};

use pagesieve::sink::{open_part, parts};
use serde::Deserialize;
use url::Url;

use super::{
    Month,
    program::Program,
    serve::Ledger,
    world::{Kind, Page, World, kind},
};

/// A request whose response was not committed before the program was killed may be repeated. So much later a response is committed.
const COMMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Line {
    url: String,
    verdict: String,
}

#[derive(Debug, Deserialize)]
struct Skipped {
    url: String,
    reason: String,
}

pub(super) fn reachable(world: &World) -> impl Iterator<Item = Page> {
    let (hosts, pages) = (world.hosts, world.pages);
    (0..hosts)
        .filter(|&host| World::is_reachable(host))
        .flat_map(move |host| (0..pages).map(move |page| (host, page)))
}

/// Whether a page was served, where it was or where it has moved.
pub(super) fn is_served(world: &World, ledger: &Ledger, (host, page): Page) -> bool {
    let place = |host: usize| host * world.pages + page;
    ledger.is_served(place(host))
        || (kind(host) == Kind::Moving && ledger.is_served(place(host + world.hosts)))
}

/// The page of a URL of a line.
fn page(world: &World, url: &str) -> Option<(Page, bool)> {
    let url = Url::parse(url).unwrap();
    world.page_of(url.host_str().unwrap(), url.path())
}

/// The place of each document among the unique ones, by page; none if it is a duplicate.
type Verdicts = HashMap<(Page, bool), Option<usize>>;

fn verdicts(run: &Path, world: &World) -> Verdicts {
    let (mut verdicts, mut uniques) = (HashMap::new(), 0);
    for file in ["pages.jsonl", "duplicates.jsonl"] {
        for part in parts(run, file).unwrap() {
            for line in BufReader::new(open_part(&part).unwrap()).lines() {
                let line: Line = serde_json::from_str(&line.unwrap()).unwrap();
                let unique = (line.verdict == "unique").then_some(uniques);
                uniques += usize::from(unique.is_some());
                if let Some(page) = page(world, &line.url) {
                    assert!(
                        verdicts.insert(page, unique).is_none(),
                        "{} was judged twice",
                        line.url
                    );
                }
            }
        }
    }
    verdicts
}

fn command(run: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagesieve"));
    let ended = command.args(arguments).arg(run).output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

pub(super) fn check(run: &Path, month: &Month, ledger: &Ledger, program: &Program) {
    let world = &month.world;
    let verdicts = verdicts(run, world);
    let redirected: HashMap<_, _> = command(run, &["export"])
        .lines()
        .map(|line| serde_json::from_str::<Skipped>(line).unwrap())
        .filter_map(|line| Some((page(world, &line.url)?, line.reason)))
        .collect();
    let mut lost = Vec::new();
    for page in reachable(world) {
        let reason = redirected.get(&(page, false)).map(String::as_str);
        // Where a host has moved to, its links lead to its new name: the old URL of a page may never be found.
        let has_one_decision = match (verdicts.contains_key(&(page, false)), reason) {
            (judged, None) => judged || verdicts.contains_key(&(page, true)),
            (false, Some("redirect")) => verdicts.contains_key(&(page, true)),
            _ => false,
        };
        if !has_one_decision {
            lost.push((page, reason));
        }
    }
    assert!(
        lost.is_empty(),
        "{} pages have no decision or two: {:?}",
        lost.len(),
        &lost[..lost.len().min(10)]
    );
    println!("{} pages, each with one decision", reachable(world).count());
    wrong_verdicts(world, &verdicts, month.window);
    fetched_again(world, ledger, program);
    println!("{}", command(run, &["verify"]));
}

/// Of a page and one that repeats it one is unique, unless so many came in between that the first was forgotten.
fn wrong_verdicts(world: &World, verdicts: &Verdicts, window: usize) {
    let (mut dropped, mut missed, mut forgotten, mut found) = (Vec::new(), Vec::new(), 0, 0);
    let mut repeated = std::collections::HashSet::new();
    // Hostile hosts serve their pages too, and other pages may repeat these.
    for page in (0..world.hosts).flat_map(|host| (0..world.pages).map(move |page| (host, page))) {
        if !World::is_reachable(page.0) {
            repeated.extend(World::original(page));
        }
    }
    for page in reachable(world) {
        let original =
            World::original(page).filter(|original| verdicts.contains_key(&(*original, false)));
        let Some(original) = original else { continue };
        repeated.extend([original, page]);
        let verdict = |page| {
            let judged = [false, true].map(|moved| verdicts.get(&(page, moved)));
            judged.into_iter().flatten().next().copied()
        };
        match (verdict(page), verdict(original)) {
            (None, _) | (_, None) => {}
            (Some(Some(a)), Some(Some(b))) if a.abs_diff(b) < window => missed.push(page),
            (Some(Some(_)), Some(Some(_))) => forgotten += 1,
            (Some(None), Some(None)) => dropped.push(page),
            _ => found += 1,
        }
    }
    for page in reachable(world).filter(|page| !repeated.contains(page)) {
        if verdicts.get(&(page, false)) == Some(&None) {
            dropped.push(page);
        }
    }
    println!("{found} repeated pages found, {} missed, {forgotten} after the window", missed.len());
    println!("missed {:?}", &missed[..missed.len().min(10)]);
    assert!(
        dropped.is_empty(),
        "{} dropped wrongly: {:?}",
        dropped.len(),
        &dropped[..dropped.len().min(10)]
    );
    // What an origin repeats is learnt on the way, so a pair may be judged by other boilerplate than expected.
    assert!(missed.len() * 10_000 <= found, "{missed:?}");
}

/// A page is fetched again only where its first response was not committed.
fn fetched_again(world: &World, ledger: &Ledger, program: &Program) {
    let again = ledger.again.lock().unwrap();
    let is_explained = |again: &&super::serve::Again| {
        let earliest = again.before.saturating_sub(Duration::from_secs(1));
        program
            .disturbances
            .iter()
            .any(|&at| earliest <= at && at <= again.before + COMMIT && at <= again.now)
    };
    let (explained, other): (Vec<_>, Vec<_>) = again.iter().partition(is_explained);
    println!("{} pages fetched again after kills, full disks and outages", explained.len());
    let name = |again: &super::serve::Again| {
        (again.page / world.pages % world.hosts, again.page % world.pages, again.before, again.now)
    };
    let other: Vec<_> = other.into_iter().map(name).collect();
    assert!(
        other.is_empty(),
        "{} pages were fetched twice: {:?}; {:?}",
        other.len(),
        &other[..other.len().min(10)],
        program.disturbances
    );
}
