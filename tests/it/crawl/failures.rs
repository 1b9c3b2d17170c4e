//! Responses that are not pages, and missing responses.

use std::{thread, time::Duration};

use bytesize::ByteSize;
use pagesieve::{
    crawl::{Control, Progress, Waits},
    report::{End, Warning},
    state::Reason,
};
use tokio::{runtime::Builder, sync::watch};

use super::site::{Site, html, outcomes, page, run_fast};
use crate::server::{Reply, Request, Routes};

#[test]
fn client_errors_are_recorded_with_their_status_and_not_retried() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/gone", "/missing", "/teapot"]))
            .at("*", "/gone", Reply::new(410, ""))
            .at("*", "/teapot", Reply::new(418, "short and stout")),
        &["a.test/"],
    );
    let report = site.run();
    for (path, status) in [("gone", 410), ("missing", 404), ("teapot", 418)] {
        let line = site.line(&format!("a.test/{path}"));
        assert_eq!((&line["reason"], &line["status"]), (&"status".into(), &status.into()));
    }
    assert_eq!(report.counts.fetched, 1);
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

#[test]
fn server_errors_are_retried_as_often_as_configured() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/down", "/shaky"]))
            .at("*", "/down", Reply::new(500, ""))
            .script("*", "/shaky", [Reply::new(502, ""), Reply::new(599, ""), page("shaky", &[])]),
        &["a.test/"],
    );
    site.run_fast();
    let expected =
        outcomes([("a.test/", "unique"), ("a.test/down", "status"), ("a.test/shaky", "unique")]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/down")["status"], 500);
    assert_eq!(site.asked("a.test/down"), 4, "three retries by default");
    assert_eq!(site.asked("a.test/shaky"), 3);
    let before = site.server.requests().len();
    site.run_fast();
    assert_eq!(site.server.requests().len(), before, "what has failed has failed");
}

#[test]
fn cut_bodies_and_broken_connections_are_retried_then_failures() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/cut", "/broken", "/garbage", "/heals"]))
            .at("*", "/cut", page("cut", &[]).cut(20))
            .at("*", "/broken", Reply::raw(""))
            .at("*", "/garbage", Reply::html("\0not gzip").header("Content-Encoding", "gzip"))
            .script("*", "/heals", [page("heals", &[]).chunked().cut(30), page("heals", &[])]),
        &["a.test/"],
    )
    .planned(|plan| plan.fetch.retries = 1);
    site.run_fast();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/cut", "failure"),
        ("a.test/broken", "failure"),
        ("a.test/garbage", "failure"),
        ("a.test/heals", "unique"),
    ]);
    assert_eq!(site.outcomes(), expected);
    let detail = |path: &str| site.line(&format!("a.test/{path}"))["detail"].to_string();
    assert!(detail("cut").starts_with("\"body: "), "{}", detail("cut"));
    assert!(detail("garbage").starts_with("\"coding: "), "{}", detail("garbage"));
    assert!(detail("broken").starts_with("\"http: "), "{}", detail("broken"));
    assert_eq!(site.asked("a.test/cut"), 2);
    assert_eq!(site.asked("a.test/garbage"), 1, "asking again would bring the same");
    assert_eq!(site.asked("a.test/heals"), 2);
}

#[test]
fn an_answer_that_takes_too_long_is_a_failure() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/slow", "/trickle"]))
            .at("*", "/slow", page("slow", &[]).after(Duration::from_secs(4)))
            .at("*", "/trickle", page("trickle", &[]).drip(100, Duration::from_millis(300))),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.fetch.timeout = Duration::from_millis(400);
        plan.fetch.retries = 0;
    });
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/slow", "failure"),
        ("a.test/trickle", "failure"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert!(site.line("a.test/slow")["detail"].as_str().unwrap().starts_with("timeout: "));
}

#[test]
fn a_host_that_never_answers_is_given_up_a_minute_after_the_last_useful_answer() {
    let links: Vec<_> = (0..40).map(|n| format!("http://b.test/{n}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let site = Site::new(
        Routes::new().at("a.test", "/", page("seed", &links)).at("b.test", "/0", page("b0", &[])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.seeds[0].scope = pagesieve::crawl::scope::Reach::Any;
        plan.politeness.obey_robots = false;
        plan.fetch.retries = 0;
        plan.politeness.per_host = 4.try_into().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        plan.fetch.resolve.insert("b.test".to_owned(), free);
    });
    let report = site.run_fast();
    let count =
        |reason: &str| site.outcomes().values().filter(|outcome| *outcome == reason).count();
    // Four at once, and one after each pause: 1 s, 2 s, ... 32 s.
    assert_eq!(count("failure") + count("host"), 40);
    assert!((4..=10).contains(&count("failure")), "{}", count("failure"));
    assert_eq!(report.end, End::Done, "it has never answered");
    let detail = site.line("b.test/39")["detail"].to_string();
    assert!(detail.contains("it did not answer"), "{detail}");
    assert!(detail.contains("asked again by the next start"), "{detail}");
}

#[test]
fn a_pause_that_a_host_asks_for_is_kept() {
    for status in [429, 503] {
        let site = Site::new(
            Routes::new().at("*", "/", page("seed", &["/busy", "/other"])).script(
                "*",
                "/busy",
                [Reply::new(status, "").header("Retry-After", "8"), page("busy", &[])],
            ),
            &["a.test/"],
        );
        site.run_fast();
        let expected = outcomes([
            ("a.test/", "unique"),
            ("a.test/busy", "unique"),
            ("a.test/other", "status"),
        ]);
        assert_eq!(site.outcomes(), expected);
        let requests = site.server.requests();
        let busy = requests.iter().position(|asked| asked.path == "/busy").unwrap();
        let pause = requests[busy + 1].at - requests[busy].at;
        assert!(pause >= Duration::from_millis(80), "eight seconds of the clock: {pause:?}");
    }
}

#[test]
fn progress_says_that_the_hosts_that_are_left_are_at_a_pause() {
    let busy = [Reply::new(503, "").header("Retry-After", "40"), page("busy", &[])];
    let routes = Routes::new().at("*", "/", page("seed", &["/busy"])).script("*", "/busy", busy);
    let site = Site::new(routes, &["a.test/"]);
    let (progress, mut watched) = watch::channel(Progress::default());
    let control = Control::default().with_progress(progress);
    let is_named = |progress: &Progress| matches!(progress.waits, Some(Waits::Pace { left }) if left.as_secs() > 20);
    let watching = thread::spawn(move || {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { watched.wait_for(is_named).await.is_ok() })
    });
    run_fast(site.plan.clone(), control).unwrap();
    assert!(watching.join().unwrap());
}

#[test]
fn a_pause_that_is_too_long_suspends_the_host() {
    let busy = |request: &Request, _: usize| match &*request.path {
        "/" => page("seed", &["/busy", "/other"]),
        "/busy" => Reply::new(503, "").header("Retry-After", "601"),
        _ => Reply::new(404, ""),
    };
    let site = Site::answering(busy, &["a.test/"]);
    site.run();
    let expected =
        outcomes([("a.test/", "unique"), ("a.test/busy", "host"), ("a.test/other", "host")]);
    assert_eq!(site.outcomes(), expected);
    let detail = site.line("a.test/other")["detail"].to_string();
    assert!(detail.contains("601 s") && detail.contains("max_retry_after"), "{detail}");
    assert_eq!(site.asked("a.test/busy"), 1);
    assert_eq!(site.asked("a.test/other"), 0);
}

#[test]
fn what_is_not_html_is_skipped_but_counted() {
    let untyped = |body: &str| {
        Reply::raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    };
    let typed = |kind: &str, body: &str| Reply::new(200, body).header("Content-Type", kind);
    let site = Site::new(
        Routes::new()
            .at(
                "*",
                "/",
                page("seed", &["/pdf", "/json", "/sniffed", "/unknown", "/xhtml", "/none"]),
            )
            .at("*", "/pdf", typed("application/pdf", "%PDF-1.7"))
            .at("*", "/json", typed("application/json", "{}"))
            .at("*", "/sniffed", untyped(&html("sniffed", 40, &["/found"])))
            .at("*", "/unknown", untyped("just words"))
            .at("*", "/xhtml", typed("application/xhtml+xml", &html("xhtml", 40, &[])))
            .at("*", "/none", Reply::new(204, "")),
        &["a.test/"],
    );
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/pdf", "content_type"),
        ("a.test/json", "content_type"),
        ("a.test/sniffed", "unique"),
        ("a.test/found", "status"),
        ("a.test/unknown", "content_type"),
        ("a.test/xhtml", "unique"),
        ("a.test/none", "content_type"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/pdf")["detail"], "application/pdf");
    assert_eq!(site.line("a.test/pdf")["status"], 200);
    assert_eq!(site.line("a.test/unknown")["detail"], "none");
    assert_eq!(site.line("a.test/none")["detail"], "none");
    assert_eq!(report.counts.fetched, 7);
}

#[test]
fn a_body_over_the_limit_is_cut_and_marked() {
    let long = html("long", 2000, &[]);
    let site = Site::new(
        Routes::new().at("*", "/", Reply::html(long)).at("b.test", "/", page("short", &[])),
        &["a.test/", "b.test/"],
    )
    .planned(|plan| plan.fetch.max_body = ByteSize(4000));
    site.run();
    let line = site.line("a.test/");
    assert!(line["truncated"].is_string(), "{line}");
    let chars = line["chars"].as_u64().unwrap();
    assert!((3000..4000).contains(&chars), "{chars}");
    assert_eq!(site.line("b.test/")["truncated"], serde_json::Value::Null);
}

#[test]
fn a_failure_of_some_seconds_is_no_outcome() {
    let reply = |request: &Request, count: usize| match &*request.path {
        "/" => page("seed", &["/gateway", "/reset", "/cut", "/never", "/gone", "/no-robots"]),
        // The last attempt is some time after the others.
        "/gateway" if count < 2 => Reply::new(502, ""),
        "/gateway" => page("gateway", &["/behind"]),
        "/reset" if count < 2 => Reply::raw(""),
        "/cut" if count < 2 => page("cut", &[]).cut(20),
        "/never" => Reply::new(500, ""),
        "/gone" => Reply::new(404, ""),
        path => page(path, &[]),
    };
    let site = Site::answering(reply, &["a.test/"]).planned(|plan| plan.fetch.retries = 2);
    let report = site.run_fast();
    assert_eq!((report.end, report.counts.unique), (End::Done, 6));
    let asked = site.all_asked();
    assert_eq!(["a.test/gateway", "a.test/never", "a.test/gone"].map(|url| asked[url]), [3, 3, 1]);
    let requests = site.server.requests();
    let never: Vec<_> = requests.iter().filter(|it| it.path == "/never").collect();
    assert!(never[2].at - never[0].at >= Duration::from_millis(20), "twenty seconds of the clock");
    assert_eq!(report.counts.skipped, [(Reason::Status, 2)].into());
    assert!(matches!(*report.warnings, [Warning::Retry { urls: 1, .. }]), "{:?}", report.warnings);
    // Not by the next start.
    let before = site.server.requests().len();
    site.run_fast();
    assert_eq!(site.server.requests().len(), before);
}

#[test]
fn without_retries_nothing_is_asked_for_again() {
    let reply = |request: &Request, _: usize| match &*request.path {
        "/" => page("seed", &["/down"]),
        "/down" => Reply::new(502, ""),
        _ => Reply::new(404, ""),
    };
    let site = Site::answering(reply, &["a.test/"]).planned(|plan| plan.fetch.retries = 0);
    site.run();
    assert_eq!(site.asked("a.test/down"), 1);
}

#[test]
fn a_seed_that_answers_with_a_gateway_error_is_named_and_asked_by_the_next_start() {
    let script = || [Reply::new(502, ""), Reply::new(502, ""), page("seed", &[])];
    for path in ["/", "/robots.txt"] {
        let routes = Routes::new().script("*", path, script());
        let site = match path {
            "/" => Site::new(routes, &["a.test/"]),
            _ => Site::new(routes.at("*", "/", page("seed", &[])), &["a.test/"]),
        };
        let site = site.planned(|plan| plan.fetch.retries = 0);
        let report = site.run_fast();
        let [Warning::Unreachable { count: 1, seeds }, ..] = &*report.warnings else {
            panic!("{:?}", report.warnings)
        };
        assert!(seeds[0].why.contains("status 502"), "{seeds:?}");
        let summary = report.to_string().replace("\n  ", " ");
        assert!(summary.contains("run the same command later"), "{summary}");
        site.run_fast();
        let report = site.run_fast();
        assert_eq!((report.counts.unique, &*report.warnings), (1, &[][..]));
    }
}

#[test]
fn a_robots_txt_that_could_not_be_had_is_asked_for_some_seconds_later() {
    let down = || Reply::new(502, "");
    let routes = Routes::new().script("*", "/robots.txt", [down(), down(), Reply::text("")]).at(
        "*",
        "/",
        page("seed", &[]),
    );
    let site = Site::new(routes, &["a.test/"]).planned(|plan| plan.fetch.retries = 2);
    let report = site.run_fast();
    assert_eq!((report.counts.unique, &*report.warnings), (1, &[][..]));
    assert_eq!(site.asked("a.test/robots.txt"), 3);
}

#[test]
fn a_run_does_not_wait_long_for_a_host_whose_robots_txt_fails() {
    let reply = |request: &Request, _: usize| match (&*request.host, &*request.path) {
        ("b.test", _) => Reply::new(503, ""),
        (_, "/") => page("seed", &["http://b.test/1", "http://b.test/2"]),
        _ => Reply::new(404, ""),
    };
    let site = Site::answering(reply, &["a.test/"])
        .planned(|plan| plan.seeds[0].scope = pagesieve::crawl::scope::Reach::Any);
    let report = site.run_fast();
    assert_eq!((report.end, report.counts.unique), (End::Done, 1));
    let expected =
        outcomes([("a.test/", "unique"), ("b.test/1", "robots"), ("b.test/2", "robots")]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.asked("b.test/robots.txt"), 4, "three retries, the last after 20 s");
}

#[test]
fn slow_seeds_are_asked_again_with_more_time_whether_or_not_robots_txt_is_obeyed() {
    let reply =
        |request: &Request, _: usize| page(&request.host, &[]).after(Duration::from_millis(2_500));
    let hosts: Vec<_> = (0..24).map(|host| format!("h{host}.test")).collect();
    let server = crate::server::Server::answering(reply);
    let directory = tempfile::TempDir::new().unwrap();
    let seeds: Vec<_> = hosts.iter().map(|host| format!("http://{host}/")).collect();
    let mut plan = super::site::plan(&server, directory.path(), &hosts, &seeds);
    plan.politeness.obey_robots = false;
    plan.crawl.concurrency = 16.try_into().unwrap();
    let report = super::site::run(plan);
    assert_eq!((report.end, report.counts.unique), (End::Done, 24), "{report}");
    assert_eq!(report.counts.skipped, [].into());
}
