//! What happens to duplicates.

use pagesieve::{
    crawl::scope::Reach,
    crawl::{Links, Policy, Store},
};

use super::site::{Site, html, outcomes, page, text};
use crate::server::{Reply, Routes};

/// A duplicate on the same site and one on another, each with a link of its own; all are one link away from the seed.
fn twins() -> Routes {
    let links = ["http://a.test/first", "http://www.a.test/twin", "http://b.test/twin"];
    Routes::new()
        .at("c.test", "/", page("seed", &links))
        .at("a.test", "/first", page("same", &["/one"]))
        .at("www.a.test", "/twin", page("same", &["/two"]))
        .at("b.test", "/twin", page("same", &["/three"]))
}

fn one_by_one(routes: Routes, seeds: &[&str]) -> Site {
    Site::new(routes, seeds).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        for seed in &mut plan.seeds {
            seed.scope = Reach::Any;
        }
    })
}

#[test]
fn policies_for_storing_and_links_are_separate_for_the_same_and_for_other_sites() {
    for bits in 0..16 {
        let policy = |shift: u32| {
            let store = if bits >> shift & 1 == 1 { Store::Keep } else { Store::Skip };
            let links = if bits >> (shift + 1) & 1 == 1 { Links::Follow } else { Links::Skip };
            Policy::new(store, links)
        };
        let (same, cross) = (policy(0), policy(2));
        let site = one_by_one(twins(), &["c.test/"]).planned(|plan| {
            (plan.dedup.same_site, plan.dedup.cross_site) = (same, cross);
        });
        site.run();
        let exact = |policy: Policy| if policy.store == Store::Keep { "exact+" } else { "exact" };
        let link = |policy: Policy| {
            if policy.links == Links::Follow { "status" } else { "duplicate_links" }
        };
        let expected = outcomes([
            ("c.test/", "unique"),
            ("a.test/first", "unique"),
            ("www.a.test/twin", exact(same)),
            ("b.test/twin", exact(cross)),
            ("a.test/one", "status"),
            ("www.a.test/two", link(same)),
            ("b.test/three", link(cross)),
        ]);
        assert_eq!(site.outcomes(), expected, "{same:?} {cross:?}");
        for (url, policy) in [("www.a.test/twin", same), ("b.test/twin", cross)] {
            let line = site.line(url);
            assert_eq!(line["match"]["id"], "http://a.test/first");
            assert_eq!(line["step"], "text");
            if policy.store == Store::Keep {
                assert_eq!(line["text"], site.line("a.test/first")["text"]);
                assert_eq!(line["title"], "same");
            }
        }
    }
}

#[test]
fn links_of_a_page_with_a_known_body_are_its_own_and_follow_the_policy() {
    // Links are relative, so that the links of equal bodies differ by host.
    let same = || page("same", &["only/here"]);
    let routes = || {
        Routes::new()
            .at(
                "c.test",
                "/",
                page("seed", &["http://a.test/1/", "http://a.test/2/", "http://b.test/3/"]),
            )
            .at("a.test", "/1/", same())
            .at("a.test", "/2/", same())
            .at("b.test", "/3/", same())
    };
    let site = one_by_one(routes(), &["c.test/"]);
    let report = site.run();
    let expected = outcomes([
        ("c.test/", "unique"),
        ("a.test/1/", "unique"),
        ("a.test/1/only/here", "status"),
        ("a.test/2/", "exact"),
        ("a.test/2/only/here", "duplicate_links"),
        ("b.test/3/", "exact"),
        ("b.test/3/only/here", "duplicate_links"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(report.counts.exact.body, 2);
    let (first, second) = (site.line("a.test/1/"), site.line("a.test/2/"));
    for field in ["fingerprint", "chars", "features", "lang"] {
        assert_eq!(first[field], second[field], "the fields of the text are those of the match");
    }
    assert_eq!(second["step"], "body");

    let site = one_by_one(routes(), &["c.test/"]).planned(|plan| {
        plan.dedup.cross_site = Policy::new(Store::Skip, Links::Follow);
    });
    site.run();
    assert_eq!(site.outcomes()["b.test/3/only/here"], "status");
    assert_eq!(site.outcomes()["a.test/2/only/here"], "duplicate_links");
}

#[test]
fn a_duplicate_of_a_duplicate_refers_to_the_unique_page() {
    let long = text("long", 600);
    let near = long.replacen(' ', " changed ", 1);
    let body = |text: &str| Reply::html(format!("<p>{text}</p>"));
    let titled = Reply::html(format!("<title>another</title><p>{near}</p>"));
    let site = one_by_one(
        Routes::new()
            .at("*", "/", page("seed", &["/1", "/2", "/3", "/4"]))
            .at("*", "/1", body(&long))
            .at("*", "/2", body(&near))
            .at("*", "/3", body(&near))
            .at("*", "/4", titled),
        &["a.test/"],
    );
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/1", "unique"),
        ("a.test/2", "near"),
        ("a.test/3", "near"),
        ("a.test/4", "near"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(report.counts.near, 3);
    let (second, third, fourth) =
        (site.line("a.test/2"), site.line("a.test/3"), site.line("a.test/4"));
    assert_eq!(
        (&second["step"], &third["step"], &fourth["step"]),
        (&"near".into(), &"body".into(), &"text".into())
    );
    for field in ["match", "chars", "features", "fingerprint"] {
        assert_eq!(second[field], third[field], "{field}");
        assert_eq!(second[field], fourth[field], "{field}");
    }
    assert_eq!(second["match"]["id"], "http://a.test/1");
    assert!(second["match"]["distance"].as_u64().unwrap() <= 3);
    let similarity = second["match"]["similarity"].as_f64().unwrap();
    assert!((0.9..1.0).contains(&similarity), "{similarity}");
}

#[test]
fn short_texts_are_judged_by_equality_only_and_their_links_are_followed() {
    let body = |text: &str, link: &str| Reply::html(format!("<p>{text}</p><a href={link}></a>"));
    let site = one_by_one(
        Routes::new()
            .at("*", "/", page("seed", &["/1", "/2", "/3"]))
            .at("*", "/1", body("Page not found", "/from-1"))
            .at("*", "/2", body("Page was not found", "/from-2"))
            .at("*", "/3", body("PAGE NOT, found!", "/from-3")),
        &["a.test/"],
    );
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(
        (&*outcomes["a.test/1"], &*outcomes["a.test/2"], &*outcomes["a.test/3"]),
        ("unique", "unique", "exact")
    );
    assert_eq!((&*outcomes["a.test/from-1"], &*outcomes["a.test/from-2"]), ("status", "status"));
    assert_eq!(outcomes["a.test/from-3"], "duplicate_links");
}

#[test]
fn pages_without_text_are_judged_by_their_bodies_only() {
    let empty =
        |link: &str| Reply::html(format!("<title>{link}</title><nav><a href={link}></a></nav>"));
    let site = one_by_one(
        Routes::new()
            .at("*", "/", page("seed", &["/1", "/2", "/3", "/4", "/5"]))
            .at("*", "/1", empty("/from-1"))
            .at("*", "/2", empty("/from-2"))
            .at("*", "/3", empty("/from-1"))
            .at("*", "/4", Reply::html(""))
            .at("*", "/5", Reply::html("")),
        &["a.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/1", "unique"),
        ("a.test/2", "unique"),
        ("a.test/3", "exact"),
        ("a.test/4", "unique"),
        ("a.test/5", "exact"),
        ("a.test/from-1", "status"),
        ("a.test/from-2", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    let line = site.line("a.test/1");
    assert_eq!(
        (&line["fingerprint"], &line["signature"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!((&line["features"], &line["chars"]), (&0.into(), &0.into()));
}

#[test]
fn equal_pages_of_many_hosts_at_once_leave_one_unique() {
    let links: Vec<String> = (0..30)
        .flat_map(|n| ["a", "b", "c"].map(|host| format!("http://{host}.test/{n}")))
        .collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let mut routes = Routes::new().at("a.test", "/", page("seed", &links));
    for n in 0..30 {
        routes =
            routes.at("*", &format!("/{n}"), Reply::html(html(&format!("{}", n % 10), 60, &[])));
    }
    let site = Site::new(routes, &["a.test/"]).planned(|plan| {
        plan.seeds.truncate(1);
        plan.seeds[0].scope = Reach::Any;
        plan.politeness.per_host = 8.try_into().unwrap();
    });
    let report = site.run();
    assert_eq!(report.counts.unique, 11);
    assert_eq!(report.counts.exact.body + report.counts.exact.text, 80);
}
