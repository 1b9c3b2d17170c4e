//! The four documentation sites of the shared data, under four host names.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use pagesieve::{
    crawl::{self, Control, Links, Plan, Policy, Store, scope::Source},
    report::End,
};
use tempfile::tempdir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use url::Url;

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

#[test]
#[expect(clippy::print_stderr, reason = "how many pages are stored is a figure of interest")]
fn no_copy_is_stored_of_two_sites_whose_every_link_has_a_session() {
    let Some(pages) = shared("pages") else { return };
    for (host, session) in [("faq.test", Session::InQuery), ("pgdoc.test", Session::InPath)] {
        let crawled = |session, links| {
            let server = serve_with(pages.clone(), session);
            let directory = tempdir().unwrap();
            let mut plan = four_sites(&server, directory.path());
            plan.seeds.retain(
                |seed| matches!(&seed.source, Source::Url(url) if url.host_str() == Some(host)),
            );
            let policy = Policy::new(Store::Skip, links);
            (plan.dedup.same_site, plan.dedup.cross_site) = (policy, policy);
            plan.crawl.concurrency = 1.try_into().unwrap();
            let report = run(plan);
            assert_eq!(report.end, End::Done);
            let stored = lines(directory.path(), "pages.jsonl");
            let stored = field(&stored, "url").into_iter().map(|it| session.without(it).1);
            let mut stored: Vec<String> = stored.collect();
            stored.sort_unstable();
            (stored, report.counts.fetched)
        };
        let (texts, _) = crawled(Session::None, Links::Follow);
        let (stored, fetched) = crawled(session, Links::Learn);
        let counts = (stored.len(), texts.len());
        eprintln!("{host}: {} pages stored of {} texts, {fetched} requests", counts.0, counts.1);
        assert!(stored.windows(2).all(|pair| pair[0] != pair[1]), "{host}: {stored:?}");
        assert_eq!(counts.0, counts.1, "{host}");
    }
}

/// Where a server puts a session on each link.
#[derive(Clone, Copy)]
enum Session {
    None,
    InQuery,
    InPath,
}

impl Session {
    /// The session of a URL, and the path without it.
    fn without(self, url: &str) -> (String, String) {
        let path = url.split_once("://").map_or(url, |(_, rest)| &rest[rest.find('/').unwrap()..]);
        let (session, path) = match self {
            Self::InPath => path.strip_prefix("/S-").and_then(|it| it.split_once('/')),
            _ => path.split_once("?sid=").map(|(path, session)| (session, &path[1..])),
        }
        .unwrap_or(("", &path[1..]));
        (session.to_owned(), format!("/{path}"))
    }

    /// A page with a session on each link to a page: one link in eight begins another.
    fn put_on_links(self, url: &str, body: &str) -> String {
        let (own, path) = self.without(url);
        let base = Url::parse("http://a.test").unwrap().join(&path).unwrap();
        let mut parts = body.split("href=\"");
        let mut changed = parts.next().unwrap_or_default().to_owned();
        for (number, part) in parts.enumerate() {
            let (link, rest) = part.split_once('"').unwrap();
            let to = base.join(link).ok().filter(|to| {
                to.host() == base.host() && to.path().ends_with(".html") && !link.starts_with('#')
            });
            let mut hasher = DefaultHasher::new();
            (url, number).hash(&mut hasher);
            let drawn = hasher.finish();
            let session = match own.as_str() {
                own if !own.is_empty() && !drawn.is_multiple_of(8) => own.to_owned(),
                _ => format!("{drawn:016x}{:08x}", drawn >> 13 & 0xffff_ffff),
            };
            let link = match (self, to) {
                (Self::InQuery, Some(to)) => format!("{}?sid={session}", to.path()),
                (Self::InPath, Some(to)) => format!("/S-{session}{}", to.path()),
                _ => link.to_owned(),
            };
            changed.extend(["href=\"", &link, "\"", rest]);
        }
        changed
    }
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
    serve_with(pages, Session::None)
}

fn serve_with(pages: PathBuf, session: Session) -> Server {
    Server::answering(move |request: &Request, _| {
        let (_, path) = session.without(&request.path);
        let path = path.split('?').next().unwrap_or_default();
        match fs::read(pages.join(path.trim_start_matches('/'))) {
            Ok(body) if path.ends_with(".html") => {
                let body = match (session, String::from_utf8(body)) {
                    (Session::None, Ok(text)) => text.into_bytes(),
                    (_, Ok(text)) => session.put_on_links(&request.path, &text).into_bytes(),
                    (_, Err(other)) => other.into_bytes(),
                };
                Reply::new(200, body).header("Content-Type", "text/html")
            }
            Ok(body) => Reply::new(200, body).header("Content-Type", "application/octet-stream"),
            Err(_) => Reply::new(404, "not found"),
        }
    })
}
