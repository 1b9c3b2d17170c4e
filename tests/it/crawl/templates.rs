//! Sites whose pages share more text than they have of their own.

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

fn shops() -> Site {
    Site::answering(shop, &["a.test/", "b.test/"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap())
}

#[test]
fn pages_whose_articles_differ_are_kept_whatever_they_share() {
    let site = shops();
    let report = site.run();
    assert_eq!((report.counts.fetched, report.counts.near), (2 * PAGES as u64, 0));
}

#[test]
fn a_run_that_goes_on_knows_the_templates_of_its_sites() {
    let whole = shops();
    whole.run();
    let parts = shops();
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
fn explain_shows_what_two_pages_of_a_run_have_in_common() {
    let site = shops();
    site.run();
    let output = |b: &str| {
        let mut command = pagesieve();
        command.current_dir(site.path()).args(["explain", "http://a.test/40", b, "--run", "."]);
        stdout(&command.assert().success())
    };
    let same_site = output("http://a.test/41");
    assert!(same_site.contains("B is unique: it is not similar enough to A"), "{same_site}");
    assert!(same_site.contains("60 words only in B, 60 words only in A"), "{same_site}");
    assert!(same_site.contains("needed, as pages of one host: two pages"), "{same_site}");
    assert!(same_site.contains("does not keep the words of pages"), "{same_site}");
    let other_site = output("http://b.test/41");
    assert!(other_site.contains("\nno content in common\n"), "{other_site}");
    assert!(other_site.contains("needed, as pages of two hosts: two pages"), "{other_site}");
}
