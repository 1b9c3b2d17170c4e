//! Delays and requests in flight, as the server saw them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::site::{Site, page};
use crate::server::{Reply, Request};

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
