//! Which links are followed.

use pagesieve::{
    crawl::scope::Reach,
    crawl::{Links, Policy, Store},
};

use super::site::{Site, html, outcomes, page, text};
use crate::server::{Reply, Routes};

const FOLLOW: Policy = Policy::new(Store::Skip, Links::Follow);

#[test]
fn links_of_all_kinds_are_resolved_against_base_and_followed() {
    let body = format!(
        "<base href='/deep/'><p>{}</p><a href='a'></a><map><area href='area?x'></map><iframe src='frame'></iframe>\
         <meta http-equiv=refresh content='5; url=later'><noscript><meta http-equiv=refresh content='0; url=never'></noscript>\
         <img src='image'><link rel=next href='next'><form action='form'></form><a href='mailto:a@b.c'></a>",
        text("seed", 40)
    );
    let site = Site::new(
        Routes::new()
            .at("*", "/", Reply::html(body))
            .at(
                "*",
                "/frames",
                Reply::html("<frameset><frame src='left'><frame src='right'></frameset>"),
            )
            .at("*", "/deep/a", page("a", &["/frames"])),
        &["a.test/"],
    );
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/deep/a", "unique"),
        ("a.test/deep/area?x", "status"),
        ("a.test/deep/frame", "status"),
        ("a.test/deep/later", "status"),
        ("a.test/frames", "unique"),
        ("a.test/left", "status"),
        ("a.test/right", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/left")["depth"], 3);
    assert_eq!(site.line("a.test/left")["referrer"], "http://a.test/frames");
    assert_eq!(site.line("a.test/left")["status"], 404);
}

#[test]
fn nofollow_hides_a_link_unless_another_link_to_it_has_none() {
    let body = format!(
        "<p>{}</p><a rel='nofollow' href='/no'></a><a rel='external NoFollow' href='/both'></a><a href='/both'></a>",
        text("seed", 40)
    );
    let site = Site::new(Routes::new().at("*", "/", Reply::html(body)), &["a.test/"]);
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique"), ("a.test/both", "status")]));
}

#[test]
fn robots_directives_apply_if_they_name_no_agent_or_ours() {
    let meta = |name: &str, content: &str, link: &str| {
        let head = format!("<meta name='{name}' content='{content}'>");
        Reply::html(head + &html(link, 40, &[link]))
    };
    let header = |value: &str, link: &str| page(link, &[link]).header("X-Robots-Tag", value);
    let paths = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"];
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &paths))
            .at("*", "/1", meta("robots", "nofollow", "/from-1"))
            .at("*", "/2", meta("PageSieve-Test", "noindex,nofollow", "/from-2"))
            .at("*", "/3", meta("otherbot", "none", "/from-3"))
            .at("*", "/4", header("noindex", "/from-4"))
            .at("*", "/5", header("pagesieve-test: none", "/from-5"))
            .at("*", "/6", header("otherbot: noindex, nofollow", "/from-6"))
            .at("*", "/7", meta("robots", "noindex", "/from-7")),
        &["a.test/"],
    );
    let report = site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/1", "unique"),
        ("a.test/2", "noindex"),
        ("a.test/3", "unique"),
        ("a.test/from-3", "status"),
        ("a.test/4", "noindex"),
        ("a.test/from-4", "status"),
        ("a.test/5", "noindex"),
        ("a.test/6", "unique"),
        ("a.test/from-6", "status"),
        ("a.test/7", "noindex"),
        ("a.test/from-7", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(
        report.counts.fetched, 8,
        "pages that are not judged have been fetched all the same"
    );
}

#[test]
fn a_noindex_page_is_neither_judged_nor_a_match_for_others() {
    let noindex = page("same", &[]).header("X-Robots-Tag", "noindex");
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/hidden", "/open", "/twin"]))
            .at("*", "/hidden", noindex)
            .at("*", "/open", page("same", &[]))
            .at("*", "/twin", page("same", &[]).header("X-Robots-Tag", "noindex")),
        &["a.test/"],
    )
    .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/hidden"], "noindex");
    assert_eq!(outcomes["a.test/open"], "unique");
    assert_ne!(outcomes["a.test/twin"], "unique");
}

#[test]
fn a_canonical_link_within_the_site_is_queued_even_from_a_duplicate() {
    let canonical = |target: &str| format!("<link rel=canonical href='{target}'>");
    let twin = |target: &str| Reply::html(canonical(target) + &html("same", 60, &["/only-here"]));
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/first", "/second"]))
            .at("*", "/first", page("same", &[]))
            .at("*", "/second", twin("http://www.a.test/best"))
            .at("www.a.test", "/best", page("best", &[])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.seeds[0].scope = Reach::Domain;
    });
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/first", "unique"),
        ("a.test/second", "exact"),
        ("a.test/only-here", "duplicate_links"),
        ("www.a.test/best", "unique"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("www.a.test/best")["referrer"], "http://a.test/second");
}

#[test]
fn a_canonical_link_to_another_site_is_recorded_and_not_followed() {
    let body =
        "<link rel=canonical href='http://b.test/theirs'>".to_owned() + &html("seed", 60, &[]);
    let site = Site::new(
        Routes::new().at("a.test", "/", Reply::html(body)).at("b.test", "/theirs", page("b", &[])),
        &["a.test/"],
    )
    .planned(|plan| plan.seeds[0].scope = Reach::Any);
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/", "unique")]));
    assert_eq!(site.line("a.test/")["canonical"], "http://b.test/theirs");
    assert_eq!(site.asked("b.test/theirs"), 0);
}

#[test]
fn a_url_is_fetched_once_however_it_is_written() {
    let site = Site::new(
        Routes::new()
            .at(
                "*",
                "/",
                page(
                    "seed",
                    &["/x", "/x#a", "/x?utm_source=b", "HTTP://A.TEST:80/x", "/y/../x", "/other"],
                ),
            )
            .at("*", "/other", page("other", &["/x?fbclid=1#c", "/%78", "/x?"]))
            .at("*", "/x", page("x", &["/", "/other#there"])),
        &["a.test/", "a.test/#top", "a.test/?utm_campaign=z"],
    );
    site.run();
    let expected =
        outcomes([("a.test/", "unique"), ("a.test/other", "unique"), ("a.test/x", "unique")]);
    assert_eq!(site.outcomes(), expected);
    assert!(site.all_asked().values().all(|times| *times == 1), "{:?}", site.all_asked());
}

#[test]
fn tracking_parameters_are_those_of_the_configuration() {
    let site = Site::new(
        Routes::new().at("*", "/", page("seed", &["/x?sid=1", "/x?SID=2", "/x?utm_source=b"])),
        &["a.test/"],
    )
    .planned(|plan| plan.crawl.tracking = vec!["sid*".to_owned()]);
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/x", "status"),
        ("a.test/x?utm_source=b", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
}

/// Two seeds with equal texts; a unique page, and its duplicate.
fn with_duplicates() -> Routes {
    Routes::new()
        .at("*", "/", page("seed", &["/first", "/second"]))
        .at("*", "/first", page("same", &["/shared", "/from-first"]))
        .at("*", "/second", page("same", &["/shared", "/from-second", "/found"]))
        .at("*", "/from-first", page("from-first", &["/finder"]))
        .at("*", "/finder", page("finder", &["/found"]))
        .at("*", "/from-second", page("from-second", &["/deeper"]))
}

fn one_by_one(site: Site) -> Site {
    site.planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap())
}

#[test]
fn links_of_duplicates_are_skipped_until_a_unique_page_has_them() {
    let site = one_by_one(Site::new(with_duplicates(), &["a.test/"]));
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/first", "unique"),
        ("a.test/second", "exact"),
        ("a.test/shared", "status"),
        ("a.test/from-first", "unique"),
        ("a.test/from-second", "duplicate_links"),
        ("a.test/finder", "unique"),
        ("a.test/found", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(
        site.line("a.test/found")["referrer"],
        "http://a.test/second",
        "where it was found first"
    );
    assert_eq!(site.line("a.test/found")["depth"], 4, "a path that is not followed is none");
}

#[test]
fn skipped_links_of_duplicates_are_followed_when_the_policy_allows_it_later() {
    let site = one_by_one(Site::new(with_duplicates(), &["a.test/"]));
    site.run();
    let before = site.server.requests().len();
    let site = site.planned(|plan| plan.dedup.cross_site = FOLLOW);
    site.run();
    assert_eq!(site.server.requests().len(), before, "these are no duplicates of another site");
    let site = site.planned(|plan| plan.dedup.same_site = FOLLOW);
    site.run();
    assert_eq!(site.outcomes()["a.test/from-second"], "unique");
    assert_eq!(site.outcomes()["a.test/deeper"], "status");
    assert_eq!(site.server.requests().len(), before + 2);
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

#[test]
fn links_of_seeds_are_followed_even_if_the_seeds_are_duplicates() {
    let site = one_by_one(Site::new(
        Routes::new()
            .at("a.test", "/", page("same", &[]))
            .at("b.test", "/", page("same", &["/from-text", "/end"]))
            .at("b.test", "/end", page("end", &[]))
            .at("c.test", "/", page("same", &["/from-text", "/end"])),
        &["a.test/", "b.test/", "c.test/"],
    ));
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("b.test/", "exact"),
        ("b.test/from-text", "status"),
        ("b.test/end", "unique"),
        ("c.test/", "exact"),
        ("c.test/from-text", "status"),
        ("c.test/end", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("c.test/")["step"], "body");
}

#[test]
fn skipped_links_neither_shorten_paths_nor_hide_them() {
    // The duplicate is found early, and links to what is deeper elsewhere.
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/first", "/second", "/a"]))
        .at("*", "/first", page("same", &[]))
        .at("*", "/second", page("same", &["/deep", "/deeper"]))
        .at("*", "/a", page("a", &["/b"]))
        .at("*", "/b", page("b", &["/c", "/deep"]))
        .at("*", "/c", page("c", &["/deeper"]))
        .at("*", "/deep", page("deep", &["/too-deep"]));
    let site = one_by_one(Site::new(routes, &["a.test/"])).planned(|plan| plan.crawl.max_depth = 3);
    site.run();
    assert_eq!(site.line("a.test/deep")["depth"], 3);
    assert_eq!(site.line("a.test/deeper")["reason"], "duplicate_links");
    assert_eq!(site.outcomes()["a.test/too-deep"], "depth");
}
