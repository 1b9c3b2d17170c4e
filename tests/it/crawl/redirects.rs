//! Redirects: hop by hop through the frontier.

use std::time::Duration;

use pagesieve::{
    crawl::scope::Reach,
    report::{MovedSeed, Warning},
};

use super::site::{Site, outcomes, page};
use crate::server::{Reply, Routes};

#[test]
fn each_hop_is_a_url_of_its_own_and_the_target_has_one_line() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/old/1", "/2", "/end"]))
            .at("*", "/old/1", Reply::redirect(301, "../2?x#y"))
            .at("*", "/2", Reply::redirect(302, "http://a.test/end"))
            .at("*", "/2?x", Reply::redirect(308, "/2"))
            .at("*", "/end", page("end", &["/after"])),
        &["a.test/"],
    );
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/old/1", "redirect"),
        ("a.test/2", "redirect"),
        ("a.test/2?x", "redirect"),
        ("a.test/end", "unique"),
        ("a.test/after", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    let hop = site.line("a.test/2?x");
    assert_eq!((&hop["detail"], &hop["status"]), (&"http://a.test/2".into(), &308.into()));
    assert_eq!(hop["referrer"], "http://a.test/old/1");
    assert_eq!(hop["depth"], 1, "a redirect is no link");
    assert_eq!(site.line("a.test/after")["depth"], 2);
    assert_eq!(report.counts.fetched, 2, "redirects are not counted");
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

#[test]
fn ten_redirects_in_a_row_are_followed_and_not_eleven() {
    let chain = |name: &str, last: u32| {
        let hop =
            |n: u32| (format!("/{name}{n}"), Reply::redirect(302, &format!("/{name}{}", n + 1)));
        (0..last).map(hop).collect::<Vec<_>>()
    };
    let mut routes = Routes::new().at("*", "/", page("seed", &["/ten0", "/eleven0"]));
    for (path, reply) in [chain("ten", 10), chain("eleven", 11)].concat() {
        routes = routes.at("*", &path, reply);
    }
    let routes =
        routes.at("*", "/ten10", page("ten", &[])).at("*", "/eleven11", page("eleven", &[]));
    let site = Site::new(routes, &["a.test/"]);
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/ten10"], "unique");
    assert_eq!(outcomes["a.test/eleven10"], "redirect");
    assert!(!outcomes.contains_key("a.test/eleven11"));
    let detail = site.line("a.test/eleven10")["detail"].to_string();
    assert!(detail.contains("/eleven11") && detail.contains("more than 10"), "{detail}");
    assert_eq!(site.asked("a.test/eleven11"), 0);
}

#[test]
fn redirects_in_a_circle_end() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", Reply::redirect(302, "/b"))
            .at("*", "/b", Reply::redirect(302, "/c"))
            .at("*", "/c", Reply::redirect(302, "/b"))
            .at("b.test", "/", Reply::redirect(302, "/")),
        &["a.test/", "b.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "redirect"),
        ("a.test/b", "redirect"),
        ("a.test/c", "redirect"),
        ("b.test/", "redirect"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.all_asked().values().max(), Some(&1));
    let detail = |url: &str| site.line(url)["detail"].as_str().unwrap().to_owned();
    assert_eq!(detail("a.test/"), "http://a.test/b");
    assert!(detail("b.test/").starts_with("to itself"), "{}", detail("b.test/"));
}

#[test]
fn a_redirect_to_another_spelling_of_its_url_is_followed() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/~joe/", "/b%5B1%5D", "/t", "/c[1]", "/ring"]))
            .at("*", "/~joe/", Reply::redirect(301, "/%7Ejoe/"))
            .at("*", "/%7Ejoe/", page("joe", &["below"]))
            .at("*", "/b%5B1%5D", Reply::redirect(301, "/b[1]"))
            .at("*", "/b[1]", page("b", &[]))
            .at("*", "/t", Reply::redirect(302, "/t?utm_source=own"))
            .at("*", "/t?utm_source=own", page("t", &[]))
            .at("*", "/c[1]", page("c", &[]))
            .at("*", "/ring", Reply::redirect(302, "/%72ing"))
            .at("*", "/%72ing", Reply::redirect(302, "/ring")),
        &["a.test/"],
    );
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/~joe/", "unique"),
        ("a.test/~joe/below", "status"),
        ("a.test/b%5B1%5D", "unique"),
        ("a.test/t", "unique"),
        ("a.test/c%5B1%5D", "unique"),
        ("a.test/ring", "redirect"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(report.counts.fetched, 5);
    assert_eq!(site.asked("a.test/ring") + site.asked("a.test/%72ing"), 11);
    // A later start knows the spelling.
    let mut plan = site.plan.clone();
    plan.crawl.revisit_after = Some(Duration::ZERO);
    assert_eq!(super::site::run(plan).counts.unchanged, 5);
    assert_eq!((site.asked("a.test/~joe/"), site.asked("a.test/%7Ejoe/")), (1, 2));
}

#[test]
fn a_redirect_that_only_sets_a_cookie_is_tried_with_it() {
    let site = || {
        Site::answering(
            |request, _| match (&*request.path, request.header("cookie")) {
                ("/robots.txt", _) => Reply::new(404, ""),
                ("/never", _) => Reply::redirect(302, "/never").header("Set-Cookie", "seen=1"),
                (path, None) => Reply::redirect(302, path)
                    .header("Set-Cookie", "seen=1; Path=/")
                    .header("Set-Cookie", "b=2"),
                ("/", Some("seen=1; b=2")) => page("seed", &["/a", "/never"]),
                (path, Some(_)) => page(path, &[]),
            },
            &["a.test/"],
        )
    };
    let delay = Duration::from_millis(300);
    let with = site().planned(|plan| plan.politeness.delay = delay);
    with.run();
    let seed: Vec<_> = with.server.requests().into_iter().filter(|it| it.path == "/").collect();
    assert!(seed[1].at - seed[0].at >= delay, "it waits for its turn like any request");
    let expected =
        outcomes([("a.test/", "unique"), ("a.test/a", "unique"), ("a.test/never", "redirect")]);
    assert_eq!(with.outcomes(), expected);
    assert_eq!((with.asked("a.test/"), with.asked("a.test/a")), (2, 1));
    assert!(with.asked("a.test/never") <= 2);
    let without = site().planned(|plan| plan.fetch.cookies = false);
    without.run();
    assert_eq!(without.outcomes(), outcomes([("a.test/", "redirect")]));
    assert_eq!(without.asked("a.test/"), 1);
}

#[test]
fn a_seed_that_moves_within_its_place_takes_its_scope_along() {
    let robots = "Sitemap: http://www.a.test/map.xml";
    let map = "<urlset><url><loc>http://www.a.test/listed</loc></url></urlset>";
    let site = Site::new(
        Routes::new()
            .at("a.test", "/", Reply::redirect(301, "http://www.a.test/"))
            .at("b.test", "/", Reply::redirect(301, "http://c.test/"))
            .at("www.a.test", "/", page("home", &["/next", "http://a.test/old", "http://c.test/"]))
            .at("www.a.test", "/robots.txt", Reply::text(robots))
            .at("www.a.test", "/map.xml", Reply::new(200, map).header("Content-Type", "text/xml"))
            .at("www.a.test", "/listed", page("listed", &[]))
            .at("www.a.test", "/next", page("next", &[]))
            .at("a.test", "/old", page("old", &["http://www.a.test/late"]))
            .at("www.a.test", "/late", page("late", &[])),
        &["a.test/", "b.test/"],
    )
    .planned(|plan| {
        plan.seeds[0].sitemaps = true;
        plan.crawl.max_pages = 2;
    });
    site.run();
    // A later start knows it.
    let site = site.planned(|plan| plan.crawl.max_pages = 99);
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "redirect"),
        ("b.test/", "redirect"),
        ("c.test/", "scope"),
        ("www.a.test/", "unique"),
        ("www.a.test/next", "unique"),
        ("www.a.test/map.xml", "sitemap"),
        ("www.a.test/listed", "unique"),
        ("a.test/old", "unique"),
        ("www.a.test/late", "unique"),
    ]);
    assert_eq!(site.outcomes(), expected);
    let moved = MovedSeed { url: "http://a.test/".into(), to: "http://www.a.test/".into() };
    assert_eq!(report.warnings, [Warning::Moved { count: 1, seeds: vec![moved] }]);
    assert!(report.to_string().contains("http://a.test/ to http://www.a.test/"), "{report}");
}

#[test]
fn scope_robots_and_schemes_hold_for_every_hop() {
    let links = ["/out", "/mail", "/nowhere", "/bad", "/private", "/see", "/many"];
    let site = Site::new(
        Routes::new()
            .at("a.test", "/robots.txt", Reply::text("User-agent: *\nDisallow: /hidden"))
            .at("a.test", "/", page("seed", &links))
            .at("a.test", "/out", Reply::redirect(301, "http://b.test/x"))
            .at("a.test", "/mail", Reply::redirect(301, "mailto:a@b.c"))
            .at("a.test", "/nowhere", Reply::new(302, "no location"))
            .at("a.test", "/bad", Reply::redirect(307, "http://[::/"))
            .at("a.test", "/private", Reply::redirect(303, "/hidden/x"))
            .at("a.test", "/see", Reply::redirect(304, "/never"))
            .at("a.test", "/many", Reply::redirect(300, "/never")),
        &["a.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/out", "redirect"),
        ("b.test/x", "scope"),
        ("a.test/mail", "redirect"),
        ("a.test/nowhere", "status"),
        ("a.test/bad", "redirect"),
        ("a.test/private", "redirect"),
        ("a.test/hidden/x", "robots"),
        ("a.test/see", "status"),
        ("a.test/many", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/mail")["detail"], "no target: mailto:a@b.c");
    assert_eq!(site.server.requests().iter().filter(|asked| asked.host != "a.test").count(), 0);
    assert_eq!(site.asked("a.test/hidden/x"), 0);
}

#[test]
fn a_redirect_to_another_host_of_the_scope_fetches_its_robots_txt_first() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/", Reply::redirect(301, "http://www.a.test/home"))
            .at("www.a.test", "/home", page("home", &["/next"]))
            .at("www.a.test", "/robots.txt", Reply::text("User-agent: *\nDisallow: /next")),
        &["a.test/"],
    )
    .planned(|plan| plan.seeds[0].scope = Reach::Domain);
    site.run();
    let expected = outcomes([
        ("a.test/", "redirect"),
        ("www.a.test/home", "unique"),
        ("www.a.test/next", "robots"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("www.a.test/home")["depth"], 0);
    assert_eq!(site.asked("www.a.test/robots.txt"), 1);
}

#[test]
fn a_redirect_to_a_skipped_link_of_a_duplicate_queues_it() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/first", "/second", "/third"]))
            .at("*", "/first", page("same", &[]))
            .at("*", "/second", page("same", &["/skipped"]))
            .at("*", "/third", Reply::redirect(302, "/skipped"))
            .at("*", "/skipped", page("withheld", &[])),
        &["a.test/"],
    )
    .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    site.run();
    assert_eq!(site.outcomes()["a.test/skipped"], "unique");
    assert_eq!(site.line("a.test/skipped")["depth"], 1);
}
