//! Sites whose pages share more text than they have of their own.

use pagesieve::crawl::Plan;

use super::site::{Site, decisions, field, text};
use crate::{
    cli::{pagesieve, stdout},
    server::{Reply, Request},
};

/// Pages of each host.
const PAGES: usize = 60;

/// Each page has a few words of its own in a long text that all pages of its host have. The first leads to all others.
fn shop(request: &Request, _: usize) -> Reply {
    let number = match request.path.trim_start_matches('/').parse() {
        Ok(number) if number < PAGES => number,
        _ if request.path == "/" => 0,
        _ => return Reply::new(404, "not here"),
    };
    let host = request.host.as_str();
    let common = |part: &str| format!("<p>{}", text(&format!("{host} {part}"), 450));
    let own = format!("<p>{}", text(&format!("{host} {number}"), 60));
    let others = if number == 0 { 1..PAGES } else { 0..0 };
    let links: String = others.map(|other| format!("<a href=/{other}></a>")).collect();
    Reply::html(format!(
        "<!doctype html><title>{number}</title>{}{own}{}{links}",
        common("above"),
        common("below")
    ))
}

fn shops(change: impl FnOnce(&mut Plan)) -> Site {
    Site::answering(shop, &["a.test/", "b.test/"]).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        change(plan);
    })
}

#[test]
fn pages_that_share_no_more_than_the_template_of_their_site_are_kept() {
    let near = |templates| {
        let site = shops(|plan| {
            (plan.dedup.templates, plan.dedup.article) = (templates, false);
        });
        let report = site.run();
        assert_eq!(report.counts.fetched, 2 * PAGES as u64);
        report.counts.near
    };
    let (without, with) = (near(false), near(true));
    assert!(without > 60, "{without}");
    assert!(with < without / 3, "{with} of {without}");
}

#[test]
fn pages_whose_articles_differ_are_kept_whatever_they_share() {
    let site = shops(|_| {});
    let report = site.run();
    assert_eq!((report.counts.fetched, report.counts.near), (2 * PAGES as u64, 0));
}

#[test]
fn a_run_that_goes_on_knows_the_templates_of_its_sites() {
    let whole = shops(|_| {});
    whole.run();
    let parts = shops(|_| {});
    for pages in [13, 29, 64, 70, 101, 1000] {
        let mut plan = parts.plan.clone();
        plan.crawl.max_pages = pages;
        super::site::run(plan);
    }
    assert_eq!(decisions(parts.path()), decisions(whole.path()));
    let order = |site: &Site| field(&site.lines("pages.jsonl"), "url").join("\n");
    assert_eq!(order(&parts), order(&whole));
}

#[test]
fn explain_and_lookup_say_what_the_template_changes() {
    let site = shops(|plan| plan.dedup.article = false);
    site.run();
    let pages = site.lines("pages.jsonl");
    let [first, last] = [&pages[0], pages.last().unwrap()];
    let [a, b] = [first, last].map(|line| line["url"].as_str().unwrap().to_owned());
    let output = |arguments: &[&str]| {
        let mut command = pagesieve();
        let command = command.current_dir(site.path()).args(arguments).args(["--run", "."]);
        stdout(&command.assert().success())
    };
    let sentence = "; in at most 6 from pages of its site, because 93 % of it is template";
    let explained = output(&["explain", &a, &b]);
    assert!(explained.contains(sentence), "{explained}");
    let without = output(&["explain", &a, &b, "--set", "dedup.templates=false"]);
    assert!(!without.contains("template"), "{without}");
    let line = serde_json::json!({"id": b, "text": last["text"]}).to_string();
    std::fs::write(site.path().join("new.jsonl"), line.replace(" the ", " ")).unwrap();
    let looked_up = output(&["lookup", "new.jsonl", "--set", "dedup.mode=balanced"]);
    assert!(looked_up.contains("an exact duplicate"), "{looked_up}");
    let changed = last["text"].as_str().unwrap().to_owned() + " and a word";
    let line = serde_json::json!({"id": b, "text": changed}).to_string();
    std::fs::write(site.path().join("new.jsonl"), line).unwrap();
    let looked_up = output(&["lookup", "new.jsonl"]);
    assert!(looked_up.contains("from pages of its site, because"), "{looked_up}");
}

#[test]
fn explain_shows_the_figures_of_the_articles_of_a_run() {
    let site = shops(|_| {});
    site.run();
    let output = |b: &str| {
        let mut command = pagesieve();
        command.current_dir(site.path()).args(["explain", "http://a.test/40", b, "--run", "."]);
        stdout(&command.assert().success())
    };
    let same_site = output("http://a.test/41");
    assert!(
        same_site.contains("B is unique: neither the texts nor the articles are the same"),
        "{same_site}"
    );
    assert!(same_site.contains("pages of one host, whose boilerplate is known"), "{same_site}");
    assert!(same_site.contains("only 0 % of the body text is common"), "{same_site}");
    assert!(same_site.contains("does not keep the words of articles"), "{same_site}");
    let other_site = output("http://b.test/41");
    assert!(other_site.contains("compared as pages of two hosts: "), "{other_site}");
    assert!(other_site.contains("they have fewer than 25 words in common"), "{other_site}");
}
