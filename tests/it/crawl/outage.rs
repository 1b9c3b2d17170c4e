//! Seeds that cannot be reached, hosts that stop answering, and outages of all hosts.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use pagesieve::{
    crawl::{Control, Plan, Progress, scope::Seed},
    report::{End, Report, Warning},
    state::Reason,
};
use tempfile::TempDir;
use tokio::sync::watch;

use super::site::{self, Site, outcomes, page, run_fast, state};
use crate::server::{Reply, Request, Routes, Server};

/// An address at which nothing listens.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The address of a server that does not speak TLS.
fn plain() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(2).map_while(Result::ok) {
            let (mut stream, mut hello) = (stream, [0; 1 << 10]);
            let read = stream.read(&mut hello).is_ok_and(|length| length > 0);
            assert!(read && stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_ok());
        }
    });
    address
}

/// The address of a server that answers each request with these bytes, and closes the connection.
fn raw(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let read = stream.read(&mut [0; 1 << 10]);
            drop(read.and_then(|_| stream.write_all(answer)));
        }
    });
    address
}

#[test]
fn a_seed_that_cannot_be_reached_is_reported_first_and_by_name() {
    let cases = [
        ("http://closed.test/", "connect: "),
        ("http://10.1.2.3/", "address: "),
        ("http://no.such.name.invalid/", "dns: "),
        ("https://plain.test/", "tls: "),
        ("http://shut.test/", "http: "),
        ("http://noise.test/", "http: "),
        ("http://cut.test/", "body: "),
    ];
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\ncut";
    let raw = [
        ("shut.test", raw(b"")),
        ("noise.test", raw(b"\0\xff noise\r\n\r\n")),
        ("cut.test", raw(cut)),
    ];
    for obey_robots in [true, false] {
        for (seed, kind) in cases {
            let site = Site::new(Routes::new(), &["a.test/"]).planned(|plan| {
                plan.seeds = vec![Seed::new(seed.parse().unwrap())];
                plan.fetch.resolve.insert("closed.test".to_owned(), closed());
                plan.fetch.resolve.insert("plain.test".to_owned(), plain());
                plan.fetch.resolve.extend(raw.map(|(name, address)| (name.to_owned(), address)));
                plan.fetch.retries = 0;
                plan.politeness.obey_robots = obey_robots;
            });
            let report = site.run_fast();
            let [Warning::Unreachable { count: 1, seeds }] = &*report.warnings else {
                panic!("{seed}: {:?}", report.warnings)
            };
            assert_eq!(seeds[0].url, seed);
            assert!(seeds[0].why.starts_with(kind), "{seed}: {}", seeds[0].why);
            assert_eq!(report.counts.skipped.get(&Reason::Failure), Some(&1), "{seed}");
            let first = "warning: 1 seed could not be reached";
            assert!(report.to_string().starts_with(first), "{report}");
            let is_private = kind == "address: ";
            assert_eq!(report.to_string().contains("allow_private"), is_private, "{report}");
        }
    }
}

#[test]
fn seeds_without_a_page_are_named_beside_others() {
    let routes = Routes::new().at("a.test", "/", page("tea", &["/dead"])).at(
        "a.test",
        "/table",
        Reply::new(200, "a,b").header("Content-Type", "text/csv"),
    );
    let seeds = ["a.test/", "a.test/gone", "a.test/table", "b.test/"];
    let site = Site::new(routes, &seeds).planned(|plan| {
        plan.fetch.resolve.insert("b.test".to_owned(), closed());
        plan.fetch.retries = 0;
        plan.politeness.obey_robots = false;
    });
    let report = site.run_fast();
    let [Warning::Unreachable { count: 3, seeds }] = &*report.warnings else {
        panic!("{:?}", report.warnings)
    };
    let named: Vec<_> = seeds.iter().map(|seed| (&*seed.url, seed.answered)).collect();
    let expected =
        [("http://b.test/", false), ("http://a.test/gone", true), ("http://a.test/table", true)];
    assert_eq!(named, expected);
    assert!(
        report.to_string().starts_with("warning: 3 seeds gave no page: http://b.test/"),
        "{report}"
    );
    assert!(report.to_string().contains("http://a.test/gone (status 404)"), "{report}");
}

#[test]
fn seeds_that_a_spent_budget_has_kept_from_being_fetched_are_named() {
    let pages = ["/", "/1", "/2"];
    let routes = pages
        .iter()
        .fold(Routes::new(), |routes, path| routes.at("a.test", path, page(path, &pages)))
        .at("a.test", "/3", page("/3", &[]));
    let site = Site::new(routes, &["a.test/", "b.test/", "a.test/3"]).planned(|plan| {
        plan.fetch.resolve.insert("b.test".to_owned(), closed());
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.crawl.max_pages = 1;
    });
    for _ in 0..2 {
        let report = site.run();
        assert_eq!(report.end, End::Budget);
        let [Warning::Unasked { count: 2, seeds }] = &*report.warnings else {
            panic!("{:?}", report.warnings)
        };
        assert_eq!(seeds[0].url, "http://b.test/");
        assert_eq!((&*seeds[1].url, &*seeds[1].why), ("http://a.test/3", ""));
        assert!(report.to_string().contains("http://a.test/3 (not asked)"), "{report}");
    }
    // It is asked before the budget is spent, and would be asked again.
    let site = site.planned(|plan| {
        plan.crawl.max_pages = 2;
        plan.crawl.concurrency = 9.try_into().unwrap();
    });
    let report = site.run();
    let [Warning::Unasked { count: 1, seeds }] = &*report.warnings else {
        panic!("{:?}", report.warnings)
    };
    assert!(seeds[0].why.starts_with("connect: "), "{seeds:?}");
    assert!(report.to_string().starts_with("warning: 1 seed was not fetched"), "{report}");
    // What was known stays known, and with room for all of them nothing is left to say.
    let report = site.run();
    assert!(
        matches!(&report.warnings[0], Warning::Unasked { seeds, .. } if !seeds[0].why.is_empty())
    );
    let site = site.planned(|plan| plan.crawl.max_pages = 100);
    let report = site.run_fast();
    assert!(
        matches!(&*report.warnings, [Warning::Unreachable { count: 1, .. }]),
        "{:?}",
        report.warnings
    );
}

#[test]
fn an_unreachable_seed_does_not_hide_what_else_is_wrong() {
    let site = Site::new(Routes::new(), &["a.test/", "a.test/2", "b.test/"]).planned(|plan| {
        plan.fetch.resolve.insert("b.test".to_owned(), closed());
        plan.fetch.retries = 0;
    });
    let report = site.run_fast();
    let kinds: Vec<_> = report.warnings.iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 2, "{:?}", report.warnings);
    assert!(matches!(report.warnings[0], Warning::Unreachable { count: 1, .. }));
    let nothing = Warning::Nothing {
        reason: Some(Reason::Status),
        skipped: 2,
        known: 3,
        example: "http://a.test/".to_owned(),
        detail: None,
        cause: None,
    };
    assert_eq!(report.warnings[1], nothing);
}

#[test]
fn what_is_no_seed_any_more_is_no_reason_to_warn() {
    let routes = Routes::new().at("a.test", "/", page("seed", &[]));
    let site = Site::new(routes, &["a.test/", "a.test/gone", "b.test/"]).planned(|plan| {
        plan.fetch.resolve.insert("b.test".to_owned(), closed());
        plan.fetch.retries = 0;
    });
    let report = site.run_fast();
    assert!(
        matches!(&*report.warnings, [Warning::Unreachable { count: 2, .. }]),
        "{:?}",
        report.warnings
    );
    let site = site.planned(|plan| plan.seeds.truncate(1));
    assert_eq!(site.run_fast().warnings, []);
}

/// A web of hosts with twenty pages each, at one address, that can be switched off and on.
struct Web {
    address: SocketAddr,
    server: Mutex<Option<Server>>,
}

const HOSTS: usize = 12;
const PAGES: usize = 20;
const SLOW: &str = "h99.test";

impl Web {
    fn start() -> Arc<Self> {
        let server = Server::answering(Self::reply);
        Arc::new(Self { address: server.address(), server: Mutex::new(Some(server)) })
    }

    fn reply(request: &Request, _: usize) -> Reply {
        // The first host is slow, so that it answers seldom.
        let robots = if request.host == SLOW { "User-agent: *\nCrawl-delay: 20" } else { "" };
        let links: Vec<_> = (1..PAGES).map(|n| format!("/{n}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        // A proxy gets whole URLs.
        let origin = format!("http://{}", request.host);
        match request.path.trim_start_matches(&origin) {
            "/" => page(&request.host, &links),
            "/robots.txt" => Reply::text(robots),
            path => page(&format!("{}{path}", request.host), &[]),
        }
    }

    fn stop(&self) {
        drop(self.server.lock().unwrap().take());
    }

    fn go_on(&self) {
        *self.server.lock().unwrap() = Some(Server::answering_at(self.address, Self::reply));
    }

    fn plan(&self, directory: &TempDir, hosts: &[usize]) -> Plan {
        let names: Vec<_> = hosts.iter().map(|host| format!("h{host}.test")).collect();
        let seeds: Vec<_> = names.iter().map(|name| format!("http://{name}/")).collect();
        let server = self.server.lock().unwrap();
        let mut plan = site::plan(server.as_ref().unwrap(), directory.path(), &names, &seeds);
        // So that the run takes long enough to be disturbed.
        plan.politeness.delay = Duration::from_secs(1);
        plan.fetch.retries = 0;
        plan
    }
}

/// Runs a plan, and does something once `pages` pages have been fetched.
fn disturbed(plan: Plan, pages: u64, disturb: impl FnOnce() + Send + 'static) -> Report {
    let (progress, mut watched) = watch::channel(Progress::default());
    let control = Control::default().with_progress(progress);
    let disturbing = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let enough = |progress: &Progress| progress.counts.fetched >= pages;
        runtime.block_on(async { watched.wait_for(enough).await.is_ok() }) && {
            disturb();
            true
        }
    });
    let report = run_fast(plan, control).unwrap();
    assert!(disturbing.join().unwrap(), "it was not disturbed");
    report
}

#[test]
fn an_outage_of_all_hosts_is_waited_for_and_counts_against_nothing() {
    let (web, directory) = (Web::start(), TempDir::new().unwrap());
    let plan = web.plan(&directory, &(0..HOSTS).collect::<Vec<_>>());
    survives_an_outage(web, plan);
}

#[test]
fn a_proxy_that_goes_down_is_waited_for_and_counts_against_nothing() {
    let (web, directory) = (Web::start(), TempDir::new().unwrap());
    let mut plan = web.plan(&directory, &[]);
    let seed = |host| Seed::new(format!("http://1.1.1.{host}/").parse().unwrap());
    plan.seeds = (0..HOSTS).map(seed).collect();
    plan.fetch.proxy = Some(format!("http://{}", web.address).try_into().unwrap());
    survives_an_outage(web, plan);
}

fn survives_an_outage(web: Arc<Web>, plan: Plan) {
    let report = disturbed(plan, 60, move || {
        web.stop();
        // By the clock of the run, some minutes.
        thread::sleep(Duration::from_secs(3));
        web.go_on();
        std::mem::forget(web);
    });
    assert_eq!(report.end, End::Done);
    assert_eq!(report.counts.unique, (HOSTS * PAGES) as u64);
    assert_eq!(report.counts.skipped, [].into(), "nothing has failed");
    assert_eq!((report.suspended, report.warnings), (vec![], vec![]));
}

#[test]
fn an_outage_that_lasts_too_long_leaves_the_run_open_and_the_next_start_goes_on() {
    let (web, directory) = (Web::start(), TempDir::new().unwrap());
    let mut plan = web.plan(&directory, &(0..HOSTS).collect::<Vec<_>>());
    plan.crawl.max_outage = Duration::from_mins(2);
    let stopping = Arc::clone(&web);
    let report = disturbed(plan.clone(), 60, move || stopping.stop());
    assert_eq!(report.end, End::Open);
    let left = (HOSTS * PAGES) as u64 - report.counts.unique;
    let pending: u64 = report.counts.skipped.values().sum();
    assert_eq!(report.counts.skipped.get(&Reason::Failure), None, "{:?}", report.counts);
    assert_eq!(pending, left);
    assert!(report.to_string().contains("open"), "{report}");
    let open = |warning: &Warning| matches!(warning, Warning::Open { urls, .. } if *urls == left);
    assert!(open(&report.warnings[0]), "{:?}", report.warnings);
    web.go_on();
    let report = run_fast(plan, Control::default()).unwrap();
    assert_eq!((report.end, report.counts.unique), (End::Done, (HOSTS * PAGES) as u64));
    assert_eq!(report.warnings, []);
}

/// Two webs: the hosts h2 and h3 of the second stop answering after `pages` pages, for some time or for good, while those of the first
/// go on.
fn partly_down(
    sound: &[usize],
    pages: u64,
    time: Option<Duration>,
    retries: u32,
) -> (Report, Arc<Web>, Plan, TempDir) {
    let (web, other, directory) = (Web::start(), Web::start(), TempDir::new().unwrap());
    let mut plan = web.plan(&directory, &[sound, &[2, 3]].concat());
    for name in ["h2.test", "h3.test"] {
        plan.fetch.resolve.insert(name.to_owned(), other.address);
    }
    plan.fetch.retries = retries;
    let stopping = Arc::clone(&other);
    let report = disturbed(plan.clone(), pages, move || {
        stopping.stop();
        if let Some(time) = time {
            thread::sleep(time);
            stopping.go_on();
        }
    });
    std::mem::forget(web);
    (report, other, plan, directory)
}

#[test]
fn a_host_that_stops_answering_is_asked_again_while_the_run_lasts() {
    // By the clock of the run, a minute; and less than it takes for ten URLs to fail.
    for (millis, retries) in [(600, 0), (60, 1), (250, 3)] {
        let time = Some(Duration::from_millis(millis));
        let (report, ..) = partly_down(&[0, 1], 10, time, retries);
        assert_eq!(report.counts.skipped, [].into(), "{millis} ms, {retries} retries");
        assert_eq!((report.end, report.counts.unique), (End::Done, 4 * PAGES as u64));
    }
}

#[test]
fn hosts_that_stop_answering_at_their_last_urls_leave_the_run_open_and_are_no_outage() {
    let (report, web, plan, _directory) = partly_down(&[0, 1], 60, None, 1);
    let left = 4 * PAGES as u64 - report.counts.unique;
    assert!((1..20).contains(&left), "{left}");
    assert_eq!((report.end, &report.counts.skipped), (End::Open, &[(Reason::Host, left)].into()));
    // Nothing else is left, and it does not wait for a day.
    let report = run_fast(plan.clone(), Control::default()).unwrap();
    assert_eq!((report.end, &report.counts.skipped), (End::Open, &[(Reason::Host, left)].into()));
    web.go_on();
    let report = run_fast(plan, Control::default()).unwrap();
    assert_eq!((report.end, report.counts.unique), (End::Done, 4 * PAGES as u64));
}

#[test]
fn hosts_that_stop_answering_leave_the_run_open() {
    let (report, web, plan, _directory) = partly_down(&[0, 1], 10, None, 0);
    assert_eq!(report.end, End::Open);
    assert!(report.counts.unique >= 2 * PAGES as u64, "the others are not held up");
    assert_eq!(report.suspended.len(), 2, "{:?}", report.suspended);
    assert!(report.suspended[0].why.contains("it had answered"), "{:?}", report.suspended);
    web.go_on();
    let report = run_fast(plan, Control::default()).unwrap();
    assert_eq!((report.end, report.counts.unique), (End::Done, 4 * PAGES as u64));
}

#[test]
fn hosts_that_stop_answering_do_not_hold_up_one_that_answers_seldom() {
    let (report, ..) = partly_down(&[99], 10, None, 0);
    assert_eq!(report.end, End::Open);
    let slow = report.hosts.iter().find(|host| host.host == SLOW).unwrap();
    assert_eq!((slow.fetched, slow.failed), (PAGES as u64, 0));
    assert_eq!(report.suspended.len(), 2, "{:?}", report.suspended);
}

#[test]
fn a_failed_url_is_fetched_again_some_hours_later() {
    let reply = |request: &Request, count: usize| match &*request.path {
        "/" => page("seed", &["/cut", "/gateway", "/never"]),
        "/cut" if count == 0 => page("cut", &[]).cut(20),
        "/cut" => page("cut", &[]),
        "/gateway" if count == 0 => Reply::new(502, ""),
        "/gateway" => page("gateway", &[]),
        "/never" => Reply::new(501, ""),
        _ => Reply::new(404, ""),
    };
    let site = Site::answering(reply, &["a.test/"]).planned(|plan| plan.fetch.retries = 0);
    let report = site.run_fast();
    assert_eq!(site.outcomes()["a.test/cut"], "failure");
    assert_eq!(site.outcomes()["a.test/gateway"], "status");
    assert_eq!(report.end, End::Done);
    let [Warning::Retry { urls: 2, .. }] = &*report.warnings else {
        panic!("{:?}", report.warnings)
    };
    assert!(report.to_string().contains("2 URLs failed for a reason that may pass"), "{report}");
    for (minutes, times) in [(5 * 60 + 59, 1), (1, 2)] {
        let state = state(&site);
        state.execute("UPDATE urls SET at = at - ?", [minutes * 60_000]).unwrap();
        drop(state);
        site.run_fast();
        for url in ["a.test/cut", "a.test/gateway"] {
            assert_eq!(site.asked(url), times, "{url}, after {minutes} minutes more");
        }
    }
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/cut", "unique"),
        ("a.test/gateway", "unique"),
        ("a.test/never", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.asked("a.test/never"), 1);
}

#[test]
fn failed_urls_are_asked_again_at_once_if_that_is_wanted() {
    let reply = |request: &Request, count: usize| match &*request.path {
        "/" => page("seed", &["/cut"]),
        "/cut" if count == 0 => page("cut", &[]).cut(20),
        _ => page("cut", &[]),
    };
    let site = Site::answering(reply, &["a.test/"]).planned(|plan| plan.fetch.retries = 0);
    site.run_fast();
    site.run_fast();
    assert_eq!((site.asked("a.test/cut"), &*site.outcomes()["a.test/cut"]), (1, "failure"));
    let site = site.planned(|plan| plan.retry_failed = true);
    site.run_fast();
    assert_eq!((site.asked("a.test/cut"), &*site.outcomes()["a.test/cut"]), (2, "unique"));
}
