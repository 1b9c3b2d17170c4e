//! What is learnt of a site: URLs that repeat known pages are deferred, traps end, and no page is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pagesieve::{
    crawl::{Links, PastRun, Plan, Policy, Store},
    learn::Rule,
    report::{End, Warning},
    state::Reason,
};

use serde_json::{Value, json};

use super::site::{Site, html, state, text};
use crate::{
    cli::{pagesieve, stdout},
    server::{Reply, Request},
};

fn learn(plan: &mut Plan) {
    let learn = Policy::new(Store::Skip, Links::Learn);
    (plan.dedup.same_site, plan.dedup.cross_site) = (learn, learn);
    plan.crawl.concurrency = 1.try_into().unwrap();
}

fn answer(page: Option<String>) -> Reply {
    page.map_or_else(|| Reply::new(404, "not found"), Reply::html)
}

fn linked(name: &str, links: impl IntoIterator<Item = String>) -> String {
    let links: Vec<String> = links.into_iter().collect();
    html(name, 60, &links.iter().map(String::as_str).collect::<Vec<_>>())
}

const ARTICLES: u64 = 200;

/// Each article links to two others, with another session whenever it is asked for under another one.
fn articles(path: &str) -> Option<String> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let number: u64 = path.strip_prefix("/article-")?.parse().ok().filter(|it| *it < ARTICLES)?;
    let session = query.bytes().fold(number, |all, byte| all * 31 % 99_991 + u64::from(byte));
    let links = [number * 2 + 1, number * 2 + 2, number / 2, number + 1].map(|to| {
        format!("/article-{}?sid={:08x}{to:04}", to % ARTICLES, session * 7_919 % 0xffff_ffff)
    });
    Some(linked(&format!("article {number}"), links))
}

#[test]
fn a_session_in_the_query_is_learnt_and_no_page_is_lost() {
    let site = Site::answering(
        |request: &Request, _| answer(articles(&request.path)),
        &["a.test/article-0"],
    )
    .planned(learn);
    let report = site.run();
    assert_eq!(report.end, End::Done);
    assert_eq!(report.counts.unique, ARTICLES);
    assert!(report.counts.fetched < 3 * ARTICLES, "{}", report.counts.fetched);
    let deferred = report.counts.skipped[&Reason::Rule];
    assert!(deferred > 0);
    assert_eq!(report.learnt.rules[0].part, "parameter sid");
    let is_deferred = |it: &Warning| matches!(it, Warning::Deferred(all) if all.urls == deferred);
    assert!(report.warnings.iter().any(is_deferred), "{:?}", report.warnings);

    let lines = site.skipped();
    let line = lines.iter().find(|line| line["reason"] == "rule").unwrap();
    let past = PastRun::open(site.path()).unwrap();
    let explained = past.explain(line["url"].as_str().unwrap()).unwrap().unwrap();
    assert_eq!(explained.url.detail.as_deref(), Some("parameter sid makes no difference"));
    let trials = report.learnt.rules[0].trials;
    let evidence = format!(
        "{trials} pages were compared with one that differs in this only; 0 of them had another text"
    );
    assert_eq!(explained.evidence, Some(evidence));

    drop(past);
    let before = site.server.requests().len();
    assert_eq!(site.run().counts.unique, ARTICLES);
    assert_eq!(site.server.requests().len(), before, "what is learnt lasts");
}

#[test]
fn what_is_deferred_is_fetched_if_the_policy_follows_all_links() {
    let site = Site::answering(
        |request: &Request, _| answer(articles(&request.path)),
        &["a.test/article-0"],
    )
    .planned(learn);
    let report = site.run();
    let site = site.planned(|plan| {
        plan.dedup.same_site.links = Links::Follow;
        plan.dedup.cross_site.links = Links::Follow;
        plan.crawl.max_pages = report.counts.fetched + 50;
    });
    let again = site.run();
    assert_eq!(again.counts.fetched, report.counts.fetched + 50);
    assert_eq!(again.counts.skipped.get(&Reason::Rule), None);
}

#[test]
fn an_endless_calendar_ends_and_a_list_of_240_pages_does_not() {
    let pages = |path: &str| {
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<u64>().ok();
        if let Some(month) = number("/calendar?month=") {
            let links = [month + 1, month + 12].map(|to| format!("/calendar?month={to}"));
            let links: String = links.iter().map(|to| format!("<a href='{to}'></a>")).collect();
            return Some(format!("<p>Events of month {month}: none.</p>{links}"));
        }
        if let Some(list) = number("/list?page=").filter(|list| *list < 240) {
            let items = (0..3).map(|item| format!("/item/{}", list * 3 + item));
            let next = format!("/list?page={}", list + 1);
            let links: String =
                items.chain([next]).map(|to| format!("<a href='{to}'></a>")).collect();
            return Some(format!("<p>{}</p>{links}", text(&format!("list {list}"), 30)));
        }
        if let Some(item) = number("/item/") {
            return Some(linked(&format!("item {item}"), ["/".to_owned()]));
        }
        let links = ["/calendar?month=1".to_owned(), "/list?page=0".to_owned()];
        (path == "/").then(|| linked("start", links))
    };
    let site =
        Site::answering(move |request: &Request, _| answer(pages(&request.path)), &["a.test/"])
            .planned(learn);
    let report = site.run();
    assert_eq!(report.end, End::Done);
    let asked = |what: &str| {
        site.server.requests().iter().filter(|request| request.path.starts_with(what)).count()
    };
    assert_eq!((asked("/list"), asked("/item")), (241, 720));
    assert!(asked("/calendar") < 300, "{}", asked("/calendar"));
    assert!(report.counts.skipped[&Reason::LowYield] > 0);
    let lines = site.skipped();
    let line = lines.iter().find(|line| line["reason"] == "low_yield").unwrap();
    let explain = || {
        pagesieve()
            .arg("explain")
            .arg(line["url"].as_str().unwrap())
            .arg("--run")
            .arg(site.path())
            .assert()
    };
    let explained = stdout(&explain().success());
    let has_evidence = |line: &str| {
        line.starts_with("evidence ") && line.contains(" requests gave 0 new texts, and ")
    };
    assert!(explained.lines().any(has_evidence), "{explained}");
}

/// A rule for the site of these tests.
fn rule(part: &str) -> Rule {
    serde_json::from_str(&format!("{{\"site\": \"a.test\", {part}}}")).unwrap()
}

fn site_with_sessions() -> Site {
    Site::answering(|request: &Request, _| answer(articles(&request.path)), &["a.test/article-0"])
        .planned(learn)
}

#[test]
fn a_rule_of_the_configuration_defers_from_the_start() {
    let learnt = site_with_sessions().run();
    let site = site_with_sessions()
        .planned(|plan| plan.learn.rules = vec![rule("\"parameter\": \"sid\"")]);
    let report = site.run();
    assert_eq!((report.end, report.counts.unique), (End::Done, ARTICLES));
    assert!(report.counts.fetched < learnt.counts.fetched, "{}", report.counts.fetched);
    let rule = &report.learnt.rules[0];
    assert_eq!((rule.part.as_str(), rule.imported, rule.revoked), ("parameter sid", true, false));
    assert!(report.counts.skipped[&Reason::Rule] > 0);
}

#[test]
fn several_urls_of_one_page_are_not_requested_at_once() {
    const PAGES: u64 = 20;
    let is_first = AtomicBool::new(true);
    let page = move |path: &str| {
        if path == "/" {
            let links = (0..PAGES).flat_map(|page| {
                (0..8).map(move |link| format!("/page-{page}?sid={page:04}{link:08x}"))
            });
            return Some(linked("list", links));
        }
        let name = path.strip_prefix('/')?.split('?').next()?;
        // One of them is not there when it is asked for first: another one is requested then.
        let is_missing = name == "page-3" && is_first.swap(false, Ordering::Relaxed);
        (!is_missing).then(|| linked(name, []))
    };
    let site = Site::answering(
        move |request: &Request, _| answer(page(&request.path)).after(Duration::from_millis(20)),
        &["a.test/"],
    )
    .planned(learn)
    .planned(|plan| {
        plan.learn.rules = vec![rule("\"parameter\": \"sid\"")];
        plan.crawl.concurrency = 8.try_into().unwrap();
        plan.politeness.per_host = 8.try_into().unwrap();
    });
    let report = site.run();
    assert_eq!((report.end, report.counts.unique), (End::Done, PAGES + 1));
    // One in fifty is a sample.
    let fetched = report.counts.fetched;
    assert!(fetched <= PAGES + 1 + PAGES * 8 / 20, "{fetched}");
}

#[test]
fn a_wrong_rule_of_the_configuration_is_revoked_and_no_page_is_lost() {
    let page = |path: &str| {
        if path == "/" {
            return Some(linked("list", (0..400).map(|number| format!("/page?n={number}"))));
        }
        let number: u64 = path.strip_prefix("/page?n=")?.parse().ok()?;
        Some(linked(&format!("page {number}"), []))
    };
    let site =
        Site::answering(move |request: &Request, _| answer(page(&request.path)), &["a.test/"])
            .planned(learn)
            .planned(|plan| plan.learn.rules = vec![rule("\"parameter\": \"n\"")]);
    let report = site.run();
    let rule = &report.learnt.rules[0];
    assert!(rule.imported && rule.revoked && rule.failures >= 2, "{rule:?}");
    assert_eq!((report.end, report.counts.unique), (End::Done, 401));
    assert_eq!(report.counts.skipped.get(&Reason::Rule), None);
}

#[test]
fn very_many_deferred_urls_are_queued_again_part_by_part() {
    // The last segment makes no difference when the site is crawled first.
    let makes_a_difference = Arc::new(AtomicBool::new(false));
    let differs = Arc::clone(&makes_a_difference);
    let page = move |path: &str| {
        if path == "/" {
            return Some(linked("list", (0..6_000).map(|number| format!("/page/{number}"))));
        }
        let number: u64 = path.strip_prefix("/page/")?.parse().ok()?;
        let number = if differs.load(Ordering::Relaxed) { number } else { 0 };
        Some(linked(&format!("page {number}"), []))
    };
    let site =
        Site::answering(move |request: &Request, _| answer(page(&request.path)), &["a.test/"])
            .planned(learn)
            .planned(|plan| plan.learn.rules = vec![rule("\"segment\": \"/page/*\"")]);
    let before = site.run();
    assert!(before.counts.skipped[&Reason::Rule] > 5_800, "{:?}", before.counts);
    makes_a_difference.store(true, Ordering::Relaxed);
    let fetched = before.counts.fetched + 110;
    let site = site.planned(|plan| {
        plan.learn.rules.clear();
        plan.crawl.max_pages = fetched;
    });
    let after = site.run();
    assert_eq!((after.end, after.counts.fetched), (End::Budget, fetched));
    assert_eq!(after.counts.skipped.get(&Reason::Rule), None);
    // What is still queued is estimated by a sample: half of the pages have had a new text.
    let queued = &after.learnt.queued;
    assert_eq!((queued.len(), queued[0].by), (1, Reason::Pending), "{queued:?}");
    assert_eq!(queued[0].urls, after.counts.skipped[&Reason::Pending]);
    assert!(queued[0].urls > 5_500 && queued[0].new > 2_500.0, "{queued:?}");
    assert!(queued[0].new_at_most >= queued[0].new, "{queued:?}");
    let is_warned = |it: &Warning| matches!(it, Warning::Queued(all) if all.urls == queued[0].urls);
    assert!(after.warnings.iter().any(is_warned), "{:?}", after.warnings);
}

#[test]
fn a_seed_list_without_learning_defers_nothing() {
    let site = site_with_sessions().planned(|plan| {
        plan.learn.rules = vec![rule("\"parameter\": \"sid\"")];
        plan.crawl.max_pages = 500;
    });
    let report = site.run();
    assert!(report.counts.skipped[&Reason::Rule] > 0);
    let deferred = report.counts.skipped[&Reason::Rule];
    // What was deferred is queued again, and asked for.
    let site = site.planned(|plan| plan.seeds[0].learn = false);
    let again = site.run();
    assert_eq!(again.counts.skipped.get(&Reason::Rule), None);
    assert_eq!(again.counts.skipped.get(&Reason::LowYield), None);
    assert!(again.counts.fetched >= 500.min(report.counts.fetched + deferred));
}

#[test]
fn what_no_rule_defers_any_more_is_queued_again_by_the_next_start() {
    let site = site_with_sessions();
    let before = site.run();
    let deferred = before.counts.skipped[&Reason::Rule];
    // As if the rule had been revoked just before the run ended.
    state(&site).execute_batch("DELETE FROM learnt; UPDATE documents SET name = 'x'").unwrap();
    let after = site.try_run().unwrap();
    assert!(after.counts.fetched > before.counts.fetched, "{deferred} were deferred");
    assert_eq!((after.end, after.counts.unique), (End::Done, before.counts.unique));
}

#[test]
fn rules_are_kept_between_runs_with_their_evidence() {
    let site = site_with_sessions().planned(|plan| plan.crawl.max_pages = 300);
    let before = site.run().learnt.rules;
    // A parameter of this name whose pages repeat exactly needs four trials.
    assert!(before[0].trials >= 4, "{before:?}");
    // Nothing of them is in the pages any more: they can only come from what was kept.
    state(&site).execute("UPDATE documents SET name = 'x'", []).unwrap();
    assert_eq!(site.try_run().unwrap().learnt.rules, before);
    let shown = stdout(&pagesieve().arg("rules").arg(site.path()).assert().success());
    let expected = format!(
        "# parameter sid makes no difference (learnt)\n[[learn.rules]]\nsite = \"a.test\"\nparameter = \"sid\"\ntrials = {}\nfailures = {}\n",
        before[0].trials, before[0].failures
    );
    assert!(shown.contains(&expected), "{shown}");
    let printed = pagesieve().arg("rules").arg(site.path()).args(["--format", "json"]).assert();
    let printed: Value = serde_json::from_str(&stdout(&printed.success())).unwrap();
    assert_eq!(printed[0]["args"], json!(["sid"]));
    assert_eq!(printed[0]["urlPattern"]["include"], json!(["a.test"]));
}

#[test]
fn passages_are_known_to_the_next_start() {
    // Ten paragraphs of eighty, which articles have first: lists of articles show them in many arrangements.
    let paragraphs = |numbers: &mut dyn Iterator<Item = u64>| -> String {
        numbers
            .map(|it| format!("<p>{}</p>", text(&format!("paragraph {}", it % 80), 20)))
            .collect()
    };
    let pages = move |path: &str| {
        if let Some(article) = path.strip_prefix("/article/") {
            let article: u64 = article.parse().ok().filter(|it| *it < 80)?;
            let links = [0, 1].map(|by| format!("<a href='/list?by={}'></a>", 2 * article + by));
            return Some(paragraphs(&mut (article..=article)) + &links.concat());
        }
        if let Some(by) = path.strip_prefix("/list?by=") {
            let by: u64 = by.parse().ok()?;
            let next = format!("<a href='/list?by={}'></a>", by + 160);
            return Some(paragraphs(&mut (0..10).map(|it| by * 3 + it * (by % 7 + 1))) + &next);
        }
        (path == "/").then(|| linked("start", (0..80).map(|to| format!("/article/{to}"))))
    };
    let site =
        Site::answering(move |request: &Request, _| answer(pages(&request.path)), &["a.test/"])
            .planned(|plan| {
                learn(plan);
                plan.crawl.max_pages = 81;
            });
    assert_eq!(site.run().counts.unique, 81);
    let site = site.planned(|plan| plan.crawl.max_pages = 1_000);
    assert_eq!(site.run().end, End::Done);
    let lists = site.server.requests().iter().filter(|it| it.path.contains("by=")).count();
    assert!((20..60).contains(&lists), "{lists}");
}

#[test]
fn urls_without_a_page_to_be_indexed_end() {
    const POSTS: u64 = 60;
    let reply = |request: &Request, _| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<u64>().ok();
        if path == "/go" {
            let leave = format!("<meta name=robots content=noindex><p>Leave for {query}?</p>");
            return Reply::html(leave);
        }
        if number("/file/").is_some() {
            return Reply::new(200, "%PDF-1.7").header("Content-Type", "application/pdf");
        }
        let Some(post) = number("/post/").filter(|post| *post < POSTS) else {
            return Reply::new(404, "not found");
        };
        let of_post = (0..10).map(|link| post * 10 + link);
        let links = of_post.flat_map(|link| {
            // A dead link says nothing about the posts.
            [format!("/go?to={link}"), format!("/file/{link}"), format!("/post/{}", link + 1_000)]
        });
        let next = [post + 1, post + 2].map(|post| format!("/post/{post}"));
        Reply::html(linked(&format!("post {post}"), links.chain(next)))
    };
    let site = Site::answering(reply, &["a.test/post/0"]).planned(learn);
    let report = site.run();
    assert_eq!((report.end, report.counts.unique), (End::Done, POSTS));
    let asked = |what: &str| {
        site.server.requests().iter().filter(|request| request.path.starts_with(what)).count()
    };
    // Of 600 each.
    let asked = ["/go?", "/file"].map(asked);
    assert!(asked[0] < 60 && asked[1] < 250, "{asked:?}");
}

#[test]
fn the_report_has_rules_about_dead_links_and_the_evidence_for_what_is_deferred() {
    // Two trees with other texts lack the same pages.
    let url = |tree: u64, page: u64| format!("/v{tree}/docs/page-{page}.html");
    let both = move |pages: std::ops::Range<u64>| {
        pages.flat_map(move |page| [1, 2].map(|tree| url(tree, page)))
    };
    let pages = move |path: &str| {
        if path == "/" {
            let first = both(0..60).chain(both(100..160));
            let dead = [1, 2]
                .into_iter()
                .flat_map(move |tree| (200..300).map(move |page| url(tree, page)));
            return Some(linked("index", first.chain(dead)));
        }
        let page: u64 = path.split_once("page-")?.1.strip_suffix(".html")?.parse().ok()?;
        (page < 60).then(|| linked(path, []))
    };
    let site =
        Site::answering(move |request: &Request, _| answer(pages(&request.path)), &["a.test/"])
            .planned(learn);
    let report = site.run();
    let deferred = report.counts.skipped.get(&Reason::Rule).copied().unwrap_or(0);
    assert!(deferred > 50, "{:?}", report.counts);
    let rule = report.learnt.rules.iter().find(|rule| rule.dead).unwrap();
    assert!(rule.trials >= 20 && rule.failures == 0 && !rule.revoked, "{rule:?}");
    let group = report.learnt.deferred.iter().find(|group| group.by == Reason::Rule).unwrap();
    assert!(group.evidence.contains("dead links were compared"), "{group:?}");
    let rules = stdout(&pagesieve().arg("rules").arg(site.path()).assert().success());
    assert!(rules.contains("makes no difference where nothing is, with 0 failures in"), "{rules}");
    assert!(!rules.contains("[[learn.rules]]"), "a configuration cannot name it: {rules}");
}

#[test]
fn posts_that_only_lead_to_their_neighbours_are_all_fetched() {
    const POSTS: u64 = 300;
    let posts = |path: &str| {
        let post: u64 = path.strip_prefix("/post-")?.parse().ok().filter(|post| *post < POSTS)?;
        let near = [post.saturating_sub(1), (post + 1).min(POSTS - 1)];
        Some(linked(&format!("post {post}"), near.map(|post| format!("/post-{post}"))))
    };
    let site = Site::answering(
        move |request: &Request, _| answer(posts(&request.path)),
        &["a.test/post-0"],
    )
    .planned(learn);
    let report = site.run();
    assert_eq!((report.counts.fetched, report.counts.unique), (POSTS, POSTS));
}

#[test]
fn links_that_only_a_duplicate_has_are_followed_after_those_of_new_pages() {
    let page = |path: &str| {
        Some(match path {
            "/" => linked("start", ["/first", "/same", "/other"].map(str::to_owned)),
            "/first" => linked("first", ["/shared".to_owned()]),
            "/same" => linked("first", ["/only", "/shared"].map(str::to_owned)),
            "/other" => linked("other", ["/more".to_owned()]),
            "/shared" | "/only" | "/more" => linked(path, []),
            _ => return None,
        })
    };
    let site =
        Site::answering(move |request: &Request, _| answer(page(&request.path)), &["a.test/"])
            .planned(learn);
    let report = site.run();
    assert_eq!((report.counts.fetched, report.counts.unique), (7, 6));
    let requests = site.server.requests();
    let paths: Vec<_> = requests.iter().map(|it| it.path.as_str()).collect();
    let expected = ["/", "/first", "/same", "/other", "/shared", "/more", "/only"];
    assert_eq!(
        paths.iter().filter(|it| **it != "/robots.txt").copied().collect::<Vec<_>>(),
        expected
    );
}
