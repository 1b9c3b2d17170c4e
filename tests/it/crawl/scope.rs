//! Scope, depth and budgets of seed lists.

use std::fs;

use pagesieve::{
    crawl::scope::{Reach, Seed, Source},
    report::End,
};

use super::site::{Site, outcomes, page};
use crate::server::{Reply, Request, Routes};

fn seed(url: &str) -> Seed {
    Seed::new(url.parse().unwrap())
}

fn tagged(url: &str, tags: &[&str]) -> Seed {
    let mut seed = seed(url);
    seed.tags = tags.iter().map(ToString::to_string).collect();
    seed
}

fn neighbours() -> Routes {
    let links = ["/docs/b", "/blog/", "http://www.a.test/", "http://b.test/"];
    Routes::new()
        .at("a.test", "/docs/a", page("seed", &links))
        .at("a.test", "/docs/b", page("b", &[]))
        .at("a.test", "/blog/", page("blog", &[]))
        .at("www.a.test", "/", page("www", &[]))
        .at("b.test", "/", page("other", &[]))
}

/// Which of the neighbouring URLs a scope admits.
fn admitted(scope: Reach) -> Vec<String> {
    let site =
        Site::new(neighbours(), &["a.test/docs/a"]).planned(|plan| plan.seeds[0].scope = scope);
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes.len(), 5);
    assert!(
        outcomes.values().all(|outcome| outcome == "unique" || outcome == "scope"),
        "{outcomes:?}"
    );
    outcomes.into_iter().filter(|(_, outcome)| outcome == "unique").map(|(url, _)| url).collect()
}

#[test]
fn a_scope_reaches_as_far_as_its_name_says() {
    let prefix = ["a.test/docs/a", "a.test/docs/b"];
    let host = ["a.test/blog/", "a.test/docs/a", "a.test/docs/b"];
    assert_eq!(admitted(Reach::Prefix), prefix);
    assert_eq!(admitted(Reach::Host), host);
    assert_eq!(admitted(Reach::Domain), [&host[..], &["www.a.test/"]].concat());
    let any = ["a.test/blog/", "a.test/docs/a", "a.test/docs/b", "b.test/", "www.a.test/"];
    assert_eq!(admitted(Reach::Any), any);
}

#[test]
fn include_and_exclude_apply_to_links_and_a_seed_needs_no_include() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/docs/1", "/docs/print/1", "/api/1", "/other"]))
            .at("*", "/docs/1", page("docs", &[]))
            .at("*", "/api/1", page("api", &[])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.seeds[0].include = vec!["/docs/".to_owned(), "/api/".to_owned()];
        plan.seeds[0].exclude = vec!["print".to_owned()];
    });
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/docs/1", "unique"),
        ("a.test/docs/print/1", "scope"),
        ("a.test/api/1", "unique"),
        ("a.test/other", "scope"),
    ]);
    assert_eq!(site.outcomes(), expected);
}

#[test]
fn a_url_belongs_to_the_first_seed_that_admits_it() {
    let site = Site::new(
        Routes::new()
            .at("*", "/docs/", page("docs", &["/docs/1", "/2"]))
            .at("*", "/docs/1", page("docs 1", &[]))
            .at("*", "/2", page("2", &[])),
        &[],
    )
    .planned(|plan| {
        let mut first = tagged("http://a.test/docs/", &["first", "zwei"]);
        first.scope = Reach::Prefix;
        plan.seeds = vec![first, tagged("http://a.test/docs/", &["second"])];
    });
    site.run();
    let of = |url: &str| {
        let line = site.line(url);
        (line["tags"].to_string(), line["seed"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("a.test/docs/1"), (r#"["first","zwei"]"#.into(), "http://a.test/docs/".into()));
    assert_eq!(of("a.test/2"), (r#"["second"]"#.into(), "http://a.test/docs/".into()));
}

/// `/` links to `/1`, that to `/2` and so on.
fn chain(length: u32) -> Routes {
    (0..length).fold(Routes::new().at("*", "/", page("seed", &["/1"])), |routes, n| {
        routes.at("*", &format!("/{n}"), page(&format!("{n}"), &[&format!("/{}", n + 1)]))
    })
}

#[test]
fn depth_is_limited_by_the_seed_and_by_the_crawl() {
    for (by_seed, by_crawl) in [(2, 20), (20, 2)] {
        let site = Site::new(chain(9), &["a.test/"]).planned(|plan| {
            plan.seeds[0].max_depth = Some(by_seed);
            plan.crawl.max_depth = by_crawl;
        });
        site.run();
        let expected = outcomes([
            ("a.test/", "unique"),
            ("a.test/1", "unique"),
            ("a.test/2", "unique"),
            ("a.test/3", "depth"),
        ]);
        assert_eq!(site.outcomes(), expected);
        assert_eq!(site.line("a.test/3")["depth"], 3);
        let site = site.planned(|plan| {
            plan.seeds[0].max_depth = Some(4);
            plan.crawl.max_depth = 4;
        });
        site.run();
        assert_eq!(site.outcomes()["a.test/4"], "unique");
        assert_eq!(site.outcomes()["a.test/5"], "depth");
        assert_eq!(site.all_asked().values().max(), Some(&1));
    }
}

#[test]
fn a_shorter_path_queues_what_was_too_deep_and_lowers_the_depth_of_what_is_queued() {
    // With one request at a time, `/long` comes before `/short`, and `/waits` is queued while `/short` is read.
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/long", "/x", "/short"]))
            .at("*", "/long", page("long", &["/long/2"]))
            .at("*", "/x", page("x", &[]))
            .at("*", "/short", page("short", &["/s"]))
            .at("*", "/long/2", page("long 2", &["/long/3", "/waits"]))
            .at("*", "/s", page("s", &["/long/3", "/waits"]))
            .at("*", "/long/3", page("long 3", &["/target"]))
            .at("*", "/waits", page("waits", &["/beyond"])),
        &["a.test/"],
    );
    let site = site.planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.crawl.max_depth = 3;
    });
    site.run();
    assert_eq!(site.line("a.test/waits")["depth"], 3);

    let deep = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/a", "/late"]))
            .at("*", "/a", page("a", &["/b"]))
            .at("*", "/b", page("b", &["/target", "/queued"]))
            .script("*", "/late", [Reply::redirect(302, "/late2")])
            .at("*", "/late2", Reply::redirect(302, "/late3"))
            .at("*", "/late3", page("late", &["/target", "/queued"]))
            .at("*", "/queued", page("queued", &["/after"]))
            .at("*", "/target", page("target", &["/after"])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.crawl.max_depth = 2;
    });
    deep.run();
    assert_eq!(deep.line("a.test/target")["depth"], 2, "revived");
    assert_eq!(deep.outcomes()["a.test/target"], "unique");
    assert_eq!(
        deep.line("a.test/target")["referrer"],
        "http://a.test/b",
        "where it was found first"
    );
    assert_eq!(deep.line("a.test/after")["depth"], 3);
}

#[test]
fn the_depth_of_a_queued_url_is_that_of_its_shortest_path() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/", page("seed", &["/a", "/hop"]))
            .at("a.test", "/a", page("a", &["/1", "/2", "/3", "/target"]))
            .at("a.test", "/hop", page("hop", &[]))
            .at("a.test", "/1", Reply::redirect(302, "/1b"))
            .at("a.test", "/target", page("target", &["/after"]))
            .at("a.test", "/2", page("2", &[]))
            .at("b.test", "/", page("b", &["http://a.test/target"])),
        &["a.test/"],
    )
    .planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        // The third seed lists it at depth 1.
        plan.seeds.push(seed("http://b.test/"));
        plan.crawl.max_pages = 3;
    });
    site.run();
    let site = site.planned(|plan| {
        plan.crawl.max_pages = 100;
        plan.seeds.push(seed("http://a.test/target"));
    });
    site.run();
    assert_eq!(site.line("a.test/target")["depth"], 0, "a seed now");
    assert_eq!(site.line("a.test/after")["depth"], 1);
}

fn wide(request: &Request, _: usize) -> Reply {
    match &*request.path {
        "/robots.txt" => Reply::new(404, ""),
        "/" => {
            let links: Vec<_> = (0..40).map(|n| format!("/{n}")).collect();
            page(&request.host, &links.iter().map(String::as_str).collect::<Vec<_>>())
        }
        path => page(&format!("{}{path}", request.host), &[]),
    }
}

#[test]
fn the_budget_of_a_seed_is_never_exceeded_and_the_next_seed_takes_over() {
    let site = Site::answering(wide, &["a.test/"]).planned(|plan| {
        plan.crawl.concurrency = 16.try_into().unwrap();
        plan.politeness.per_host = 16.try_into().unwrap();
        let limited = |tag: &str, max_pages| {
            let mut seed = tagged("http://a.test/", &[tag]);
            seed.max_pages = max_pages;
            seed
        };
        plan.seeds = vec![limited("first", 7), limited("second", 10)];
    });
    let report = site.run();
    let pages = site.lines("pages.jsonl");
    let of = |tag: &str| pages.iter().filter(|line| line["tags"][0] == tag).count();
    assert_eq!((of("first"), of("second")), (7, 10));
    assert_eq!(site.all_asked().len(), 17);
    assert_eq!(report.counts.skipped.values().sum::<u64>(), 24);
    assert_eq!(site.outcomes().values().filter(|outcome| *outcome == "budget").count(), 24);
    assert_eq!(report.end, End::Done);

    let before = site.server.requests().len();
    site.run();
    assert_eq!(site.server.requests().len(), before);
    let site = site.planned(|plan| plan.seeds[1].max_pages = 20);
    site.run();
    assert_eq!(site.server.requests().len(), before + 10);
    let site = site.planned(|plan| plan.seeds[0].max_pages = 1000);
    let report = site.run();
    assert_eq!(report.counts.unique, 41);
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

#[test]
fn the_budget_of_the_crawl_ends_it_and_a_higher_one_fetches_only_the_rest() {
    let site = Site::answering(wide, &["a.test/", "b.test/"]).planned(|plan| {
        plan.crawl.concurrency = 16.try_into().unwrap();
        plan.politeness.per_host = 8.try_into().unwrap();
        plan.crawl.max_pages = 20;
    });
    let report = site.run();
    assert_eq!((report.end, report.counts.fetched), (End::Budget, 20));
    assert_eq!(site.all_asked().len(), 20, "nothing is fetched in vain");
    assert!(site.outcomes().values().any(|outcome| outcome == "pending"));
    assert_eq!(site.outcomes().values().filter(|outcome| *outcome == "budget").count(), 0);
    let before = site.server.requests().len();
    let again = site.run();
    assert_eq!((again.end, site.server.requests().len()), (End::Budget, before));

    let site = site.planned(|plan| plan.crawl.max_pages = 82);
    let report = site.run();
    assert_eq!((report.end, report.counts.unique), (End::Done, 82));
    assert_eq!(site.all_asked().len(), 82);
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

#[test]
fn what_is_not_a_page_costs_no_budget() {
    let site = Site::new(
        Routes::new()
            .at("*", "/", page("seed", &["/dead", "/moved", "/1"]))
            .at("*", "/moved", Reply::redirect(302, "/2"))
            .at("*", "/1", page("1", &[]))
            .at("*", "/2", page("2", &[])),
        &["a.test/"],
    )
    .planned(|plan| plan.crawl.max_pages = 3);
    let report = site.run();
    assert_eq!((report.counts.unique, report.end), (3, End::Done));
}

#[test]
fn a_seed_file_names_pages_to_begin_with() {
    let site = Site::new(
        Routes::new().at("*", "/1", page("1", &["/2"])).at("*", "/2", page("2", &["/1"])).at(
            "b.test",
            "/",
            page("b", &[]),
        ),
        &[],
    );
    let file = site.path().join("seeds.txt");
    fs::write(&file, "# two\nhttp://a.test/1 # one\n\nhttp://b.test/\n").unwrap();
    let site = site.planned(|plan| {
        plan.seeds = vec![tagged("http://x.test/", &["file"])];
        plan.seeds[0].source = Source::File(file.clone());
    });
    site.run();
    let expected =
        outcomes([("a.test/1", "unique"), ("a.test/2", "unique"), ("b.test/", "unique")]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/2")["tags"][0], "file");
    assert_eq!(site.line("b.test/")["depth"], 0);

    fs::write(&file, "http://a.test/1\nnonsense\n").unwrap();
    let error = site.try_run().unwrap_err();
    assert!(error.is_configuration() && error.to_string().contains("line 2"), "{error}");
}

#[test]
fn a_seed_that_is_added_later_admits_what_was_out_of_scope() {
    let site = Site::new(
        Routes::new()
            .at("a.test", "/", page("a", &["/1", "http://b.test/x/1"]))
            .at("a.test", "/1", page("a1", &["http://b.test/x/2", "http://b.test/y/"]))
            .at("b.test", "/x/1", page("b", &["/x/3"])),
        &[],
    );
    let file = site.path().join("seeds.txt");
    fs::write(&file, "http://a.test/\n").unwrap();
    let site = site.planned(|plan| {
        plan.seeds = vec![seed("http://x.test/")];
        plan.seeds[0].source = Source::File(file.clone());
        plan.seeds[0].include = vec!["a.test".to_owned(), "/x/".to_owned()];
    });
    site.run();
    assert_eq!(site.outcomes()["b.test/y/"], "scope");
    fs::write(&file, "http://a.test/\nhttp://b.test/y/\n").unwrap();
    site.run();
    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/1", "unique"),
        ("b.test/x/1", "unique"),
        ("b.test/x/2", "status"),
        ("b.test/x/3", "status"),
        ("b.test/y/", "status"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(
        site.line("b.test/y/")["depth"],
        0,
        "named as a seed, though no pattern includes it"
    );
}

#[test]
fn a_seed_that_one_list_excludes_belongs_to_the_other_list_that_names_it() {
    let site = Site::new(Routes::new().at("*", "/x", page("x", &[])), &[]).planned(|plan| {
        plan.seeds = vec![seed("http://a.test/x"), seed("http://a.test/x")];
        plan.seeds[0].exclude = vec!["x".to_owned()];
    });
    site.run();
    assert_eq!(site.outcomes(), outcomes([("a.test/x", "unique")]));
}

#[test]
fn queued_urls_of_a_removed_seed_are_fetched_once_for_another() {
    let routes = Routes::new()
        .at("a.test", "/", page("home", &["/one", "/two"]))
        .at("a.test", "/one", page("one", &[]))
        .at("a.test", "/two", page("two", &[]))
        .at("a.test", "/other", page("other", &[]));
    let mut site = Site::new(routes, &["a.test/", "a.test/other"]).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.crawl.max_pages = 2;
    });
    site.run();
    site.plan.seeds.remove(0);
    site.plan.crawl.max_pages = 100;
    let report = site.run();
    assert_eq!(report.counts.fetched, 4);
    let mut urls: Vec<_> =
        site.lines("pages.jsonl").iter().map(|it| it["url"].to_string()).collect();
    urls.sort();
    let all = urls.len();
    urls.dedup();
    assert_eq!((all, urls.len()), (4, 4), "{urls:?}");
}

#[test]
fn queued_urls_keep_their_seed_when_seeds_are_moved_and_lose_it_when_they_are_removed() {
    let routes = ["a.test", "b.test", "c.test"].into_iter().fold(Routes::new(), |routes, host| {
        routes.at(host, "/", page(host, &["/next"])).at(
            host,
            "/next",
            page(&format!("next of {host}"), &[]),
        )
    });
    let tagged = |host: &str| tagged(&format!("http://{host}/"), &[host]);
    let mut site = Site::new(routes, &["a.test/", "b.test/", "c.test/"]).planned(|plan| {
        plan.seeds = ["a.test", "b.test", "c.test"].map(tagged).into();
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.crawl.max_pages = 3;
    });
    site.run();
    site.plan.seeds = ["c.test", "a.test"].map(tagged).into();
    site.plan.crawl.max_pages = 100;
    site.run();
    for line in site.lines("pages.jsonl") {
        let url = line["url"].as_str().unwrap();
        let tag = line["tags"][0].as_str().unwrap();
        assert!(url.starts_with(&format!("http://{tag}/")), "{url} is tagged {tag}");
    }
    assert_eq!(site.outcomes()["b.test/next"], "scope");
    assert_eq!(site.outcomes()["a.test/next"], "unique");
}
