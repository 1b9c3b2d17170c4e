//! Runs that are stopped and continued.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{Read, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use flate2::bufread::MultiGzDecoder;
use pagesieve::{
    crawl::{self, Control, CrawlError, Links, Policy, Progress, Store},
    filter::WindowOptions,
    fingerprint::{HashSeed, HashSeedChoice, Segment},
    report::{End, Report},
};
use tokio::{runtime::Runtime, sync::watch};
use tokio_util::sync::CancellationToken;

use super::{
    laws,
    site::{Site, decisions, field, page},
};
use crate::server::{Reply, Request};

/// Stops a run after this many requests.
#[derive(Clone, Debug, Default)]
struct Brake {
    asked: Arc<AtomicUsize>,
    stop: Arc<Mutex<Option<(usize, CancellationToken)>>>,
}

impl Brake {
    fn observe(&self) {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some((at, token)) = &*self.stop.lock().unwrap()
            && asked >= *at
        {
            token.cancel();
        }
    }

    /// Runs until `more` requests have been made.
    fn run(&self, site: &Site, more: usize) -> Report {
        let stop = CancellationToken::new();
        let at = self.asked.load(Ordering::SeqCst) + more;
        *self.stop.lock().unwrap() = Some((at, stop.clone()));
        let control = Control::default().with_stop(stop);
        let runtime = Runtime::new().unwrap();
        let report = runtime.block_on(crawl::run(site.plan.clone(), control)).unwrap();
        *self.stop.lock().unwrap() = None;
        laws::checked(site.path(), report)
    }
}

/// Pages of three hosts, 60 each. Every fifth page repeats another; each links to the next three of each host.
fn web(request: &Request) -> Reply {
    let number: usize = match request.path.trim_start_matches('/').parse() {
        Ok(number) if number < 60 => number,
        _ if request.path == "/" => 0,
        _ => return Reply::new(404, "not here"),
    };
    let links: Vec<_> = (1..=3)
        .flat_map(|step| {
            ["a", "b", "c"].map(|host| format!("http://{host}.test/{}", number * 2 + step))
        })
        .collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let name = if number % 5 == 4 {
        format!("{}", number - 1)
    } else {
        format!("{}{number}", request.host)
    };
    page(&name, &links)
}

fn site() -> (Site, Brake) {
    let brake = Brake::default();
    let theirs = brake.clone();
    let reply = move |request: &Request, _: usize| {
        theirs.observe();
        web(request)
    };
    let site = Site::answering(reply, &["a.test/", "b.test/", "c.test/"]).planned(|plan| {
        let follow = Policy::new(Store::Skip, Links::Follow);
        (plan.dedup.same_site, plan.dedup.cross_site) = (follow, follow);
        plan.politeness.per_host = 32.try_into().unwrap();
        plan.store.warc = true;
    });
    (site, brake)
}

fn one_by_one((site, brake): (Site, Brake)) -> (Site, Brake) {
    (site.planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap()), brake)
}

#[test]
fn a_run_that_is_stopped_with_many_in_flight_loses_nothing() {
    let (whole, _) = site();
    let expected = whole.run();
    let (parts, brake) = site();
    let mut starts = 0;
    let report = loop {
        starts += 1;
        let report = brake.run(&parts, 40);
        if report.end == End::Done {
            break report;
        }
        assert_eq!(report.end, End::Interrupted);
        assert!(report.counts.skipped.values().sum::<u64>() > 0, "what waits is pending");
        assert!(starts < 20);
    };
    assert!(starts > 2, "{starts}");
    let urls = |site: &Site| site.outcomes().into_keys().collect::<BTreeSet<_>>();
    assert_eq!(urls(&parts), urls(&whole));
    assert_eq!(report.counts.fetched, expected.counts.fetched);
    assert_eq!(report.counts.skipped, expected.counts.skipped);
    assert_eq!(
        parts.all_asked().values().max(),
        Some(&1),
        "what was in flight has been brought to its end"
    );
}

#[test]
fn with_one_request_in_flight_an_interrupted_run_is_the_same_as_another() {
    let window = WindowOptions::new(20.try_into().unwrap(), WindowOptions::default().age);
    for window in [WindowOptions::default(), window] {
        interrupted_or_not(&window);
    }
}

fn interrupted_or_not(window: &WindowOptions) {
    let planned = |site: Site| {
        site.planned(|plan| {
            plan.dedup.same_site = Policy::default();
            plan.dedup.cross_site = Policy::default();
            plan.dedup.window = window.clone();
            plan.dedup.audit = 1;
        })
    };
    let (whole, _) = one_by_one(site());
    let whole = planned(whole);
    let expected = whole.run().search;
    let (parts, brake) = one_by_one(site());
    let parts = planned(parts);
    let stops = (1..).map(|start| 1 + start * 7 % 13);
    let ends = stops.map(|more| brake.run(&parts, more));
    let found = ends.into_iter().find(|report| report.end == End::Done).unwrap().search;
    // The counts of the index are summed over all starts. Small windows are scanned, so there is nothing to compare.
    assert_eq!(found, expected);
    assert_eq!(found.audit.checked > 0, *window == WindowOptions::default(), "{found:?}");
    assert_eq!(found.audit.missed, 0);
    assert_eq!(decisions(parts.path()), decisions(whole.path()));
    for file in ["pages.jsonl", "duplicates.jsonl"] {
        assert_eq!(field(&parts.lines(file), "url"), field(&whole.lines(file), "url"), "{file}");
    }
    assert_eq!(field(&parts.skipped(), "url"), field(&whole.skipped(), "url"));
    let asked = |site: &Site| {
        let pages = site.server.requests().into_iter().filter(|asked| asked.path != "/robots.txt");
        pages.map(|asked| asked.host + &asked.path).collect::<Vec<_>>()
    };
    assert_eq!(asked(&parts), asked(&whole));
}

#[test]
fn a_run_that_is_stopped_before_it_begins_can_be_continued() {
    let (site, _) = site();
    let stop = CancellationToken::new();
    stop.cancel();
    let control = Control::default().with_stop(stop);
    let report = Runtime::new().unwrap().block_on(crawl::run(site.plan.clone(), control)).unwrap();
    laws::checked(site.path(), report.clone());
    assert_eq!((report.end, report.counts.fetched), (End::Interrupted, 0));
    assert_eq!(site.outcomes().values().filter(|outcome| *outcome == "pending").count(), 3);
    assert_eq!(site.server.requests().len(), 0);
    assert_eq!(site.run().end, End::Done);
}

#[test]
fn what_a_killed_process_wrote_after_the_last_commit_is_cut_off() {
    let (site, brake) = one_by_one(site());
    brake.run(&site, 60);
    let warc = fs::read_dir(site.path().join("warc")).unwrap().next().unwrap().unwrap().path();
    let files =
        [site.path().join("pages.jsonl"), site.path().join("duplicates.jsonl"), warc.clone()];
    for path in &files {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"id\": \"torn").unwrap();
    }
    fs::write(site.path().join("report.json.new"), "torn").unwrap();
    fs::write(site.path().join("warc/test-00001.warc.gz"), "torn").unwrap();
    let report = site.run();
    assert_eq!(report.end, End::Done);
    let (other, _) = one_by_one(self::site());
    other.run();
    assert_eq!(decisions(site.path()), decisions(other.path()));
    assert!(!site.path().join("warc/test-00001.warc.gz").exists());
    let file = fs::read(&warc).unwrap();
    let mut records = Vec::new();
    MultiGzDecoder::new(&*file).read_to_end(&mut records).unwrap();
    let text = String::from_utf8_lossy(&records);
    assert_eq!(text.matches("WARC-Type: request").count(), site.server.requests().len());
}

#[test]
fn a_file_that_somebody_else_shortened_is_refused() {
    for file in ["pages.jsonl", "duplicates.jsonl"] {
        let (site, brake) = one_by_one(site());
        brake.run(&site, 60);
        let lines = fs::read(site.path().join(file)).unwrap();
        fs::write(site.path().join(file), &lines[..lines.len() - 1]).unwrap();
        let asked = site.server.requests().len();
        let error = site.try_run().unwrap_err();
        assert!(error.to_string().contains("changed by another program"), "{error}");
        assert_eq!(site.server.requests().len(), asked);
        fs::write(site.path().join(file), &lines).unwrap();
        assert_eq!(site.run().end, End::Done);
    }
}

#[test]
fn a_directory_belongs_to_one_process_at_a_time() {
    // The only page is not served before the second run has been refused.
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let reply = move |_: &Request, _: usize| {
        let _ = wait.lock().unwrap().recv();
        page("late", &[])
    };
    let site = Site::answering(reply, &["a.test/"]);
    let error = Runtime::new().unwrap().block_on(async {
        let (progress, mut watched) = watch::channel(Progress::default());
        let control = Control::default().with_progress(progress);
        let first = crawl::run(site.plan.clone(), control);
        let second = async {
            watched.changed().await.unwrap();
            let error = crawl::run(site.plan.clone(), Control::default()).await.unwrap_err();
            drop(go);
            error
        };
        let (first, error) = tokio::join!(first, second);
        laws::checked(site.path(), first.unwrap());
        error
    });
    assert!(matches!(error, CrawlError::State(_)), "{error}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
}

type Change = fn(&mut pagesieve::crawl::Dedup);

#[test]
fn keys_that_change_fingerprints_cannot_be_changed() {
    let (site, brake) = site();
    brake.run(&site, 20);
    let asked = site.server.requests().len();
    let original = site.plan.dedup.clone();
    let changes: [(&str, Change); 4] = [
        ("dedup.seed", |options| options.seed = HashSeedChoice::Secret),
        ("dedup.seed", |options| options.seed = HashSeedChoice::Fixed(HashSeed(2))),
        ("dedup.segment", |options| options.segment = Segment::Ngrams),
        ("dedup.fold_chinese", |options| options.fold_chinese = false),
    ];
    let mut site = site;
    for (key, change) in changes {
        site.plan.dedup = original.clone();
        change(&mut site.plan.dedup);
        let error = site.try_run().unwrap_err();
        assert!(error.is_configuration(), "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
    assert_eq!(site.server.requests().len(), asked);
    site.plan.dedup = original;
    assert_eq!(site.run().end, End::Done);
}
