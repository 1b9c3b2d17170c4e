//! The four documentation sites of the shared data, under four host names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pagesieve::{
    crawl::{self, Control, Links, Plan, Policy, Store},
    report::End,
};
use tempfile::tempdir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::site::{asked, decisions, field, lines, plan, run, set, skipped};
use crate::{
    data::shared,
    server::{Reply, Request, Server},
};

const HOSTS: [&str; 4] = ["faq.test", "iguide.test", "lohelp.test", "pgdoc.test"];
/// The pages that links lead to, by the data's own description.
const REACHABLE: usize = 1917;

#[test]
fn every_reachable_page_is_fetched_once_and_no_other_host_gets_a_request() {
    let Some(pages) = shared("pages") else { return };
    let server = serve(pages);
    let directory = tempdir().unwrap();
    let mut plan = four_sites(&server, directory.path());
    let follow = Policy::new(Store::Skip, Links::Follow);
    (plan.dedup.same_site, plan.dedup.cross_site) = (follow, follow);
    let report = run(plan.clone());

    let asked = asked(&server);
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times != 1).collect();
    assert_eq!(twice, [], "each URL is asked for once");
    let fetched = asked.keys().filter(|(_, path)| path != "/robots.txt").count();
    assert_eq!(report.counts.fetched, REACHABLE as u64);
    assert_eq!(report.end, End::Done);

    let skipped = skipped(directory.path());
    let dead: Vec<_> = skipped.iter().filter(|line| line["reason"] == "status").cloned().collect();
    assert!(dead.iter().all(|line| line["status"] == 404), "what is dead is a 404");
    assert_eq!(fetched, REACHABLE + dead.len());
    let others = skipped.iter().filter(|line| line["reason"] == "scope").count();
    assert!(others > 0, "links to other hosts are known, and not followed");
    assert!(asked.keys().all(|(host, _)| HOSTS.contains(&host.as_str())), "{asked:?}");
    let judged = lines(directory.path(), "pages.jsonl").len()
        + lines(directory.path(), "duplicates.jsonl").len();
    assert_eq!(judged, REACHABLE);

    let before = server.requests().len();
    let again = run(plan);
    assert_eq!(server.requests().len(), before, "a finished run fetches nothing");
    assert_eq!(again.counts, report.counts);
}

#[test]
#[expect(clippy::print_stderr, reason = "the saving is a figure of interest")]
fn an_interrupted_crawl_decides_as_one_that_was_not() {
    let Some(pages) = shared("pages") else { return };
    let server = serve(pages);
    let (whole, parts) = (tempdir().unwrap(), tempdir().unwrap());
    let mut plan = four_sites(&server, whole.path());
    plan.crawl.concurrency = 1.try_into().unwrap();
    let report = run(plan.clone());
    plan.directory = parts.path().to_owned();
    let (mut starts, mut last) = (0, None);
    while last.as_ref().is_none_or(|end| *end != End::Done) {
        starts += 1;
        last = Some(run_for(plan.clone(), starts * 97));
        assert!(starts < 50, "it gets on");
    }
    assert!(starts > 3, "it was interrupted on the way");
    assert_eq!(decisions(parts.path()), decisions(whole.path()));
    let order = |directory: &Path| field(&lines(directory, "pages.jsonl"), "url").join("\n");
    assert_eq!(order(parts.path()), order(whole.path()));
    let fetched = report.counts.fetched;
    eprintln!(
        "default policy: {fetched} of {REACHABLE} pages fetched, {} never needed",
        REACHABLE as u64 - fetched
    );
    assert!(fetched < REACHABLE as u64, "links of duplicates are not followed");
    let unique = lines(whole.path(), "pages.jsonl");
    assert_eq!(set(&field(&unique, "url")).len() as u64, report.counts.unique);
}

/// Runs until this many pages have been received, then stops the run.
fn run_for(plan: Plan, pages: u64) -> End {
    let stop = CancellationToken::new();
    let (progress, mut watched) = tokio::sync::watch::channel(crawl::Progress::default());
    let control = Control::default().with_stop(stop.clone()).with_progress(progress);
    Runtime::new().unwrap().block_on(async {
        let watch = async {
            let enough =
                watched.wait_for(|progress| progress.counts.fetched >= pages).await.is_ok();
            if enough {
                stop.cancel();
            }
        };
        let (report, ()) = tokio::join!(crawl::run(plan, control), watch);
        report.unwrap().end
    })
}

fn four_sites(server: &Server, directory: &Path) -> Plan {
    let mut seeds = Vec::new();
    for variant in ["amd64", "arm64", "i386", "s390x"] {
        seeds.extend(
            ["en", "zh", "ja"]
                .map(|lang| format!("http://iguide.test/iguide/{variant}/{lang}/index.html")),
        );
    }
    for variant in ["bullseye", "bookworm"] {
        seeds.push(format!("http://pgdoc.test/pgdoc/{variant}/en/index.html"));
        seeds.push(format!("http://faq.test/faq/{variant}/en/index.en.html"));
        seeds.push(format!("http://faq.test/faq/{variant}/zh/index.zh-cn.html"));
        for lang in ["zh-CN", "en-US"] {
            seeds.push(format!(
                "http://lohelp.test/lohelp/{variant}/{lang}/text/swriter/main0000.html"
            ));
        }
    }
    assert_eq!(seeds.len(), 22);
    plan(server, directory, &HOSTS, &seeds)
}

fn serve(pages: PathBuf) -> Server {
    Server::answering(move |request: &Request, _| {
        let path = request.path.split('?').next().unwrap_or_default();
        match fs::read(pages.join(path.trim_start_matches('/'))) {
            Ok(body) if path.ends_with(".html") => {
                Reply::new(200, body).header("Content-Type", "text/html")
            }
            Ok(body) => Reply::new(200, body).header("Content-Type", "application/octet-stream"),
            Err(_) => Reply::new(404, "not found"),
        }
    })
}
