//! Suspended hosts, and when they are requested again.

use std::time::Duration;

use pagesieve::{
    crawl::{Plan, standing},
    report::{End, Warning},
};

use super::site::{Site, outcomes, page, state};
use crate::server::{Reply, Request, Routes};

/// A site whose second page is refused for `pause` seconds, once.
fn busy(pause: &'static str) -> Site {
    let reply = move |request: &Request, count: usize| match &*request.path {
        "/" => page("seed", &["/busy", "/other"]),
        "/busy" if count == 0 => Reply::new(503, "").header("Retry-After", pause),
        "/busy" | "/other" => page(&request.path, &[]),
        _ => Reply::new(404, ""),
    };
    Site::answering(reply, &["a.test/"])
}

/// Pretends that this many milliseconds have passed since hosts were suspended.
fn wait(site: &Site, millis: i64) {
    let state = state(site);
    let sql = "UPDATE hosts SET until = until - ? WHERE cause IS NOT NULL";
    assert_eq!(state.execute(sql, [millis]).unwrap(), 1);
}

#[test]
fn a_finished_run_suspends_a_host_for_the_pause_that_it_asked_for() {
    let site = busy("172800");
    let report = site.run();
    assert_eq!(report.end, End::Done);
    let before = site.server.requests().len();
    for _ in 0..2 {
        assert_eq!(site.run().counts, report.counts);
    }
    wait(&site, 172_800_000 - 60_000);
    site.run();
    assert_eq!(site.server.requests().len(), before, "it asked for two days, and a minute is left");
    wait(&site, 60_000);
    site.run();
    let expected =
        outcomes([("a.test/", "unique"), ("a.test/busy", "unique"), ("a.test/other", "unique")]);
    assert_eq!(site.outcomes(), expected);
}

#[test]
fn a_higher_limit_resumes_a_host_and_still_keeps_its_pause() {
    let site = busy("3600");
    site.run();
    let site = site.planned(|plan| plan.politeness.max_retry_after = Duration::from_secs(3599));
    let before = site.server.requests().len();
    site.run();
    assert_eq!(site.server.requests().len(), before, "not patient enough");
    // Twenty seconds of the hour are left, which is two hundred milliseconds of the fast clock.
    wait(&site, 3_580_000);
    let site = site.planned(|plan| plan.politeness.max_retry_after = Duration::from_hours(1));
    let report = site.run_fast();
    assert_eq!(report.counts.unique, 3);
    let requests = site.server.requests();
    let pause = requests[before].at - requests[before - 1].at;
    assert!(pause >= Duration::from_millis(150), "{pause:?}");
    assert_eq!(report.suspended, []);
}

#[test]
fn suspended_hosts_are_reported_by_name_with_the_reason() {
    let site = busy("601");
    let report = site.run();
    let [host] = &*report.suspended else { panic!("{:?}", report.suspended) };
    assert_eq!((&*host.host, host.urls), ("a.test:80", 2));
    assert!(host.why.contains("601 s") && host.why.contains("max_retry_after"), "{}", host.why);
    assert!(host.until > report.finished);
    assert_eq!(report.warnings, [Warning::Open { urls: 2, hosts: 1 }]);
    let summary = report.to_string();
    assert!(
        summary.contains("suspended hosts          1\n    a.test:80: it asks for"),
        "{summary}"
    );
    assert!(report.html().contains("<td dir=\"ltr\">a.test:80</td>"));
    // Each of its URLs has the reason, and until when.
    let details: Vec<_> = report.examples.iter().filter_map(|it| it.detail.as_deref()).collect();
    let is_whole = |it: &&str| it.contains("a pause of 601 s") && it.contains("by a start after ");
    assert!(details.len() == 2 && details.iter().all(is_whole), "{details:?}");
    let counts = standing(site.path()).unwrap().counts;
    assert_eq!((counts.queued, counts.suspended), (0, 2));
    assert_eq!(report.series.last().unwrap().queued, 0);
}

/// A run in which host b did not respond.
fn dead(change: impl FnOnce(&mut Plan)) -> Site {
    let links: Vec<_> = (0..12).map(|n| format!("http://b.test/{n}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let site = Site::new(Routes::new().at("a.test", "/", page("seed", &links)), &["a.test/"]);
    let site = site.planned(|plan| {
        plan.seeds[0].scope = pagesieve::crawl::scope::Reach::Any;
        plan.politeness.obey_robots = false;
        plan.fetch.retries = 0;
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        plan.fetch.resolve.insert("b.test".to_owned(), free);
        change(plan);
    });
    site.run_fast();
    let address = site.server.address();
    site.planned(|plan| {
        plan.fetch.resolve.insert("b.test".to_owned(), address);
    })
}

#[test]
fn a_dead_host_of_a_finished_run_is_requested_again_by_the_next_start() {
    let site = dead(|_| {});
    let left = site.outcomes().values().filter(|outcome| *outcome == "host").count();
    assert!((1..12).contains(&left), "{left}");
    let report = site.run();
    assert_eq!((report.end, report.suspended), (pagesieve::report::End::Done, vec![]));
    assert_eq!(site.server.count("b.test", "/11"), 1);
}

#[test]
fn a_dead_host_of_an_unfinished_run_is_requested_once_more() {
    let site = dead(|_| {});
    let state = state(&site);
    // A killed process leaves it so.
    state.execute("UPDATE meta SET value = '\"interrupted\"' WHERE name = 'end'", []).unwrap();
    drop(state);
    site.run();
    assert_eq!(site.server.count("b.test", "/11"), 1);
}

#[test]
fn a_host_with_a_long_crawl_delay_is_resumed_only_if_the_delay_is_allowed_or_ignored() {
    let robots = Reply::text("User-agent: *\nCrawl-delay: 61");
    let routes =
        || Routes::new().at("*", "/robots.txt", robots.clone()).at("*", "/", page("a", &[]));
    for obey in [true, false] {
        let site = Site::new(routes(), &["a.test/"]);
        site.run();
        site.run();
        assert_eq!(site.server.requests().len(), 1);
        let site = site.planned(|plan| {
            plan.politeness.obey_robots = obey;
            plan.politeness.max_crawl_delay = Duration::from_secs(if obey { 61 } else { 60 });
        });
        site.run_fast();
        assert_eq!(site.outcomes()["a.test/"], "unique");
        assert_eq!(site.server.requests().len(), 2);
    }
}
