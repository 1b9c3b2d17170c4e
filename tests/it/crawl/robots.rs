//! robots.txt in a crawl.

use std::time::Duration;

use pagesieve::crawl::scope::{Reach, Seed};

use super::site::{Site, outcomes, page};
use crate::server::{Reply, Request, Routes};

fn text(robots: &str) -> Reply {
    Reply::text(robots)
}

#[test]
fn a_disallowed_url_is_skipped_with_the_rule_and_its_line() {
    let robots =
        "# ours\nUser-agent: pagesieve-test\nDisallow: /a*b$ # no\n\nUser-agent: *\nDisallow: /\n";
    let site = Site::new(
        Routes::new().at("*", "/robots.txt", text(robots)).at(
            "*",
            "/",
            page("seed", &["/axb", "/axbc", "/robots.txt"]),
        ),
        &["a.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/axb", "robots"),
        ("a.test/axbc", "status"),
        ("a.test/robots.txt", "content_type"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/axb")["detail"], "Disallow: /a*b$ (line 3)");
    assert_eq!(site.line("a.test/axb")["status"], serde_json::Value::Null);
    assert_eq!(site.asked("a.test/axb"), 0);
}

#[test]
fn a_missing_robots_txt_allows_all() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/robots.txt", Reply::new(403, "User-agent: *\nDisallow: /"))
            .at("*", "/", page("seed", &[]))
            .at("b.test", "/", page("b", &[]))
            .at("b.test", "/robots.txt", Reply::new(304, "")),
        &["a.test/", "b.test/"],
    );
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("b.test/", "unique")]));
}

#[test]
fn robots_txt_is_fetched_once_per_host_before_anything_else_and_not_again_when_the_run_continues() {
    let site = Site::new(
        Routes::new()
            .at("*", "/robots.txt", text("User-agent: *\nDisallow: /no"))
            .at("a.test", "/", page("a", &["/no/1", "/1", "/2", "http://b.test/"]))
            .at("b.test", "/", page("b", &["/no/1", "/1"])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.seeds[0].scope = Reach::Any;
        plan.crawl.max_pages = 1;
        plan.politeness.per_host = 8.try_into().unwrap();
    });
    site.run();
    assert_eq!(site.asked("a.test/robots.txt"), 1);
    let site = site.planned(|plan| plan.crawl.max_pages = 10);
    site.run();
    assert_eq!(site.asked("a.test/robots.txt"), 1, "a day's cache");
    assert_eq!(site.asked("b.test/robots.txt"), 1);
    for host in ["a.test", "b.test"] {
        let first = site.server.requests().into_iter().find(|asked| asked.host == host).unwrap();
        assert_eq!(first.path, "/robots.txt");
        assert_eq!(site.outcomes()[&format!("{host}/no/1")], "robots");
    }
}

#[test]
fn without_obey_robots_it_is_not_fetched_and_forbidden_urls_are_allowed() {
    let site = Site::new(
        Routes::new()
            .at("*", "/robots.txt", text("User-agent: *\nDisallow: /no"))
            .at("*", "/", page("a", &["/no"]))
            .at("*", "/no", page("no", &[])),
        &["a.test/"],
    );
    site.run();
    assert_eq!(site.outcomes()["a.test/no"], "robots");
    let site = site.planned(|plan| plan.politeness.obey_robots = false);
    site.run();
    assert_eq!(site.outcomes()["a.test/no"], "unique");
    assert_eq!(site.asked("a.test/robots.txt"), 1);
}

/// A host whose robots.txt gives `failure` before anything useful, with two retries.
fn asks_again(failure: Reply, reason: &str, error: &str) {
    let failures = vec![failure; 3];
    let site = Site::new(
        Routes::new()
            .script("*", "/robots.txt", failures.into_iter().chain([text("")]))
            .at("*", "/", page("seed", &["/x"]))
            .at("*", "/x", page("x", &[])),
        &["a.test/"],
    )
    .planned(|plan| plan.fetch.retries = 2);
    site.run_fast();
    assert_eq!(site.asked("a.test/robots.txt"), 3);
    assert_eq!(site.outcomes(), outcomes([("a.test/", reason)]));
    let detail = site.line("a.test/")["detail"].to_string();
    assert!(detail.contains(error), "{detail}");
    assert_eq!(site.asked("a.test/"), 0);

    site.run_fast();
    assert_eq!(site.asked("a.test/robots.txt"), 4, "it is asked again when the run goes on");
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("a.test/x", "unique")]));
}

#[test]
fn a_robots_txt_of_status_500_is_retried() {
    asks_again(Reply::new(500, ""), "robots", "status 500");
}

#[test]
fn a_robots_txt_of_status_429_is_retried() {
    asks_again(Reply::new(429, ""), "robots", "status 429");
}

#[test]
fn a_robots_txt_of_status_503_with_a_pause_is_retried() {
    asks_again(Reply::new(503, "").header("Retry-After", "2"), "robots", "status 503");
}

#[test]
fn a_robots_txt_whose_connection_breaks_is_retried() {
    asks_again(Reply::raw(""), "failure", "connect");
}

#[test]
fn a_robots_txt_that_fails_once_costs_nothing_but_time() {
    let site = Site::new(
        Routes::new()
            .script("*", "/robots.txt", [Reply::new(502, ""), text("User-agent: *\nDisallow: /x")])
            .at("*", "/", page("seed", &["/x"])),
        &["a.test/"],
    );
    site.run_fast();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("a.test/x", "robots")]));
    assert_eq!(site.asked("a.test/robots.txt"), 2);
}

#[test]
fn a_robots_txt_that_cannot_be_connected_to_is_retried_and_then_given_up() {
    let site = Site::new(Routes::new(), &["a.test/", "b.test/"]).planned(|plan| {
        // Nothing listens at a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        plan.fetch.resolve.insert("a.test".to_owned(), free);
        plan.fetch.retries = 1;
    });
    site.run_fast();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "failure"), ("b.test/", "status")]));
    let detail = site.line("a.test/")["detail"].to_string();
    assert!(detail.contains("connect"), "{detail}");
}

#[test]
fn a_robots_txt_at_a_private_address_is_refused_in_one_plain_line() {
    let site = Site::new(Routes::new(), &["10.1.2.3/"]);
    site.run();
    assert_eq!(
        site.line("10.1.2.3/")["detail"],
        "address: 10.1.2.3 is not globally routable: to permit it, set fetch.allow_private=[\"10.1.2.3/32\"]"
    );
}

#[test]
fn a_crawl_delay_above_the_limit_suspends_the_host() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/robots.txt", text("User-agent: *\nCrawl-delay: 61"))
            .at("b.test", "/", page("b", &["http://a.test/1", "http://a.test/2", "/3"]))
            .at("b.test", "/3", page("b3", &["http://a.test/4"])),
        &["a.test/", "b.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "host"),
        ("a.test/1", "host"),
        ("a.test/2", "host"),
        ("a.test/4", "host"),
        ("b.test/", "unique"),
        ("b.test/3", "unique"),
    ]);
    assert_eq!(site.outcomes(), expected);
    let detail = site.line("a.test/4")["detail"].to_string();
    assert!(detail.contains("61 s") && detail.contains("max_crawl_delay"), "{detail}");
    assert_eq!(site.all_asked().keys().filter(|url| url.starts_with("a.test")).count(), 0);

    let site = site.planned(|plan| plan.politeness.max_crawl_delay = Duration::from_secs(61));
    site.run_fast();
    assert_eq!(site.outcomes()["a.test/4"], "status", "with more patience it is taken back");
    assert_eq!(site.asked("a.test/robots.txt"), 1);
}

#[test]
fn a_crawl_delay_slows_its_host_down() {
    let site = Site::new(
        Routes::new().at("*", "/robots.txt", text("User-agent: *\nCrawl-delay: 0.05")).at(
            "*",
            "/",
            page("a", &["/1", "/2", "/3"]),
        ),
        &["a.test/"],
    )
    .planned(|plan| plan.politeness.per_host = 4.try_into().unwrap());
    site.run();
    assert_eq!(site.all_asked().len(), 4);
    for gap in gaps(&site.server.requests()) {
        assert!(gap >= Duration::from_millis(49), "{gap:?}");
    }
}

fn gaps(requests: &[Request]) -> Vec<Duration> {
    requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}

#[test]
fn a_redirected_robots_txt_is_followed() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/robots.txt", Reply::redirect(301, "http://b.test/robots.txt"))
            .at("b.test", "/robots.txt", Reply::redirect(302, "/rules"))
            .at("b.test", "/rules", text("User-agent: *\nDisallow: /x"))
            .at("a.test", "/", page("a", &["/x"])),
        &["a.test/"],
    );
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("a.test/x", "robots")]));
    assert_eq!(site.asked("b.test/rules"), 1);
}

#[test]
fn the_delay_is_also_between_the_redirects_of_a_robots_txt() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/robots.txt", Reply::redirect(301, "/1"))
            .at("a.test", "/1", Reply::redirect(302, "/2"))
            .at("a.test", "/2", text("User-agent: *\nDisallow: /x"))
            .at("a.test", "/", page("a", &["/x"])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.politeness.delay = Duration::from_millis(30);
        plan.store.warc = true;
    });
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("a.test/x", "robots")]));
    let requests = site.server.requests();
    assert_eq!(requests.len(), 4);
    for gap in gaps(&requests) {
        assert!(gap >= Duration::from_millis(29), "{gap:?}");
    }
}

#[test]
fn a_robots_txt_that_redirects_for_ever_allows_all() {
    let site = Site::new(
        Routes::new().at("*", "/robots.txt", Reply::redirect(301, "/robots.txt")).at(
            "*",
            "/",
            page("a", &[]),
        ),
        &["a.test/"],
    );
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique")]));
    assert_eq!(site.asked("a.test/robots.txt"), 6);
}

#[test]
fn each_port_has_its_robots_txt() {
    let site = Site::new(
        Routes::new()
            .at("127.0.0.1", "/robots.txt", text("User-agent: *\nDisallow: /x"))
            .at("*", "/", page("a", &["/x"]))
            .at("127.0.0.1", "/", page("ip", &["/x"])),
        &["a.test/"],
    );
    let own = Seed::new(site.server.url("/"));
    let port = site.server.address().port();
    let site = site.planned(|plan| {
        plan.seeds.push(own);
        plan.fetch.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    });
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/x"], "status");
    assert_eq!(outcomes[&format!("127.0.0.1:{port}/x")], "robots");
}
