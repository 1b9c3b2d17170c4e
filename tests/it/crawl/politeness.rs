//! Delays and requests in flight, as the server saw them.
#![allow(clippy::print_stdout, reason = "the figures are for whoever runs the measurement")]

use std::{
    collections::HashMap,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use pagesieve::{crawl::politeness::ShareDelay, report::Report};
use serde_json::json;
use tempfile::TempDir;

use super::site::{self, Site, page};
use crate::server::{Reply, Request, Server};

const LATENCY: Duration = Duration::from_millis(20);

/// The highest number of requests in flight, for each host.
type Most = Arc<Mutex<HashMap<String, (usize, usize)>>>;

/// Twelve pages for each host, which link only to each other; each takes a while to be served.
fn busy(most: Most, all: Arc<AtomicUsize>) -> impl Fn(&Request, usize) -> Reply {
    let in_flight = AtomicUsize::new(0);
    move |request, _| {
        {
            let mut most = most.lock().unwrap();
            let (now, highest) = most.entry(request.host.clone()).or_default();
            *now += 1;
            *highest = (*highest).max(*now);
        }
        all.fetch_max(in_flight.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(LATENCY);
        in_flight.fetch_sub(1, Ordering::SeqCst);
        most.lock().unwrap().get_mut(&request.host).unwrap().0 -= 1;
        match &*request.path {
            "/robots.txt" => Reply::new(404, ""),
            path => {
                let links: Vec<_> = (0..12).map(|n| format!("/{n}")).collect();
                let links: Vec<_> = links.iter().map(String::as_str).collect();
                page(&format!("{}{path}", request.host), &links)
            }
        }
    }
}

const SEEDS: [&str; 3] = ["a.test/", "b.test/", "c.test/"];

#[test]
fn requests_in_flight_to_a_host_are_limited() {
    for (per_host, concurrency) in [(1, 64), (3, 64), (3, 2)] {
        let (most, all) = (Most::default(), Arc::new(AtomicUsize::new(0)));
        let site = Site::answering(busy(Arc::clone(&most), Arc::clone(&all)), &SEEDS);
        let site = site.planned(|plan| {
            plan.politeness.per_host = per_host.try_into().unwrap();
            plan.crawl.concurrency = concurrency.try_into().unwrap();
        });
        let report = site.run();
        assert_eq!(report.counts.unique, 39);
        let most = most.lock().unwrap().clone();
        assert!(most.values().all(|&(now, highest)| now == 0 && highest <= per_host), "{most:?}");
        assert!(all.load(Ordering::SeqCst) <= concurrency);
    }
}

#[test]
fn the_delay_is_between_the_end_of_a_response_and_the_next_request() {
    let delay = Duration::from_millis(30);
    let site = Site::answering(busy(Most::default(), Arc::default()), &SEEDS)
        .planned(|plan| plan.politeness.delay = delay);
    let report = site.run();
    assert_eq!(report.counts.unique, 39);
    let requests = site.server.requests();
    for host in ["a.test", "b.test", "c.test"] {
        let times: Vec<_> =
            requests.iter().filter(|asked| asked.host == host).map(|asked| asked.at).collect();
        assert_eq!(times.len(), 14);
        let least = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        // The clock of timers counts whole milliseconds.
        assert!(least >= delay + LATENCY - Duration::from_millis(1), "{host}: {least:?}");
    }
}

#[test]
fn the_delay_is_between_the_starts_of_requests_in_flight_together() {
    let delay = Duration::from_millis(10);
    let site =
        Site::answering(busy(Most::default(), Arc::default()), &["a.test/"]).planned(|plan| {
            plan.politeness.delay = delay;
            plan.politeness.per_host = 4.try_into().unwrap();
        });
    site.run();
    let asked: Vec<_> = site.server.requests().iter().map(|asked| asked.at).collect();
    let (first, last) = (asked[0], asked[asked.len() - 1]);
    assert!(
        last - first
            >= delay * (u32::try_from(asked.len()).unwrap() - 1) - Duration::from_millis(5)
    );
}

#[test]
fn urls_that_robots_txt_forbids_cost_no_delay() {
    let links: Vec<_> = (0..200).map(|n| format!("/no/{n}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let seed = page("seed", &links);
    let reply = move |request: &Request, _: usize| match &*request.path {
        "/robots.txt" => Reply::text("User-agent: *\nDisallow: /no"),
        _ => seed.clone(),
    };
    let site = Site::answering(reply, &["a.test/"])
        .planned(|plan| plan.politeness.delay = Duration::from_mins(1));
    // By the fast clock one delay takes 600 ms; two hundred would take two minutes.
    let report = site.run_fast();
    assert_eq!(report.counts.skipped.values().sum::<u64>(), 200);
    assert!(report.seconds < 60.0, "{}", report.seconds);
}

/// How much sooner than the delay a request may arrive: timers count whole milliseconds.
const TOLERANCE: Duration = Duration::from_millis(1);

/// A crawl of many hosts, eight of each site, with four pages each.
struct Many {
    hosts: usize,
    concurrency: usize,
    share: ShareDelay,
    delay: Duration,
    latency: Duration,
}

/// Every fifth robots.txt is redirected to the next host; one page of every seventh host is refused once.
fn one_of_many(request: &Request, count: usize) -> Reply {
    let number = request.host[1..].split('.').next().unwrap().parse::<usize>().unwrap();
    match &*request.path {
        "/robots.txt" if number.is_multiple_of(5) => {
            let next = number + 1;
            Reply::redirect(301, &format!("http://h{next}.s{}.test/robots.txt", next / 8))
        }
        "/robots.txt" => Reply::text(""),
        "/2" if number % 7 == 3 && count == 0 => Reply::new(503, ""),
        path => page(&format!("{}{path}", request.host), &["/1", "/2", "/3"]),
    }
}

impl Many {
    /// Crawls them all, and checks that no two requests to a host, or to hosts that share the delay, arrive closer than it.
    fn crawl(&self) -> Report {
        let (latency, all) = (self.latency, Arc::new((AtomicUsize::new(0), AtomicUsize::new(0))));
        let counted = Arc::clone(&all);
        let server = Server::answering(move |request, count| {
            let (in_flight, most) = &*counted;
            most.fetch_max(in_flight.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(latency);
            in_flight.fetch_sub(1, Ordering::SeqCst);
            one_of_many(request, count)
        });
        let directory = TempDir::new().unwrap();
        // The last host's robots.txt may be redirected to one more.
        let names: Vec<_> = (0..=self.hosts).map(|n| format!("h{n}.s{}.test", n / 8)).collect();
        let seeds: String =
            names[..self.hosts].iter().map(|name| format!("http://{name}/\n")).collect();
        let file = directory.path().join("seeds.txt");
        fs::write(&file, seeds).unwrap();
        let mut plan = site::plan(&server, &directory.path().join("run"), &names, &[]);
        plan.seeds = vec![serde_json::from_value(json!({ "file": file })).unwrap()];
        plan.politeness.delay = self.delay;
        plan.politeness.share_delay = self.share;
        plan.crawl.concurrency = self.concurrency.try_into().unwrap();
        let report = site::run(plan);
        let requests = server.requests();
        let mut groups: HashMap<&str, Vec<_>> = HashMap::new();
        for request in &requests {
            let site = request.host.split_once('.').unwrap().1;
            let group = if self.share == ShareDelay::Site { site } else { &request.host };
            groups.entry(group).or_default().push(request.at);
        }
        let mut least = Duration::MAX;
        for (group, mut times) in groups {
            times.sort();
            for pair in times.windows(2) {
                least = least.min(pair[1] - pair[0]);
                assert!(pair[1] - pair[0] + TOLERANCE >= self.delay, "{group}: {least:?}");
            }
        }
        let most = all.1.load(Ordering::SeqCst);
        println!("{} requests, at most {most} in flight, {least:?} apart at least", requests.len());
        report
    }
}

#[test]
fn no_two_requests_to_a_host_or_a_site_arrive_closer_than_the_delay() {
    for share in [ShareDelay::Host, ShareDelay::Site] {
        let (delay, latency) = (Duration::from_millis(20), Duration::from_millis(5));
        let report = Many { hosts: 64, concurrency: 64, share, delay, latency }.crawl();
        assert_eq!((report.counts.unique, report.counts.skipped), (64 * 4, [].into()));
    }
}

/// Prints what docs/reliability.md says about politeness on sockets.
#[test]
#[ignore = "a measurement of minutes: `ulimit -n 16384; cargo test --release --test it ten_thousand_hosts -- --ignored --nocapture`"]
fn ten_thousand_hosts_keep_each_delay_with_a_thousand_requests_in_flight() {
    let second = Duration::from_secs(1);
    let (hosts, share) = (10_000, ShareDelay::Host);
    let many = Many { hosts, concurrency: 1000, share, delay: second, latency: second };
    assert_eq!(many.crawl().counts.unique, 4 * hosts as u64);
}
