//! Runs against other runs: what these have seen is not stored again.

use std::{collections::BTreeMap, fs, path::Path};

use pagesieve::{
    crawl::{CrawlError, Links, Plan, Policy, Store},
    fingerprint::{HashSeed, HashSeedChoice},
    report::End,
};
use tempfile::TempDir;

use super::site::{Site, field, page, state_in};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Request},
};

const PAGES: u64 = 300;

/// A page in a binary tree; page 7 and 11 have another text in the second `pass`.
fn tree(path: &str, pass: u64) -> Option<Reply> {
    let number: u64 = path.strip_prefix("/page-")?.parse().ok().filter(|it| *it < PAGES)?;
    let links = [number * 2 + 1, number * 2 + 2].map(|to| format!("/page-{to}"));
    let pass = if [7, 11].contains(&number) { pass } else { 0 };
    Some(page(&format!("{number} {pass}"), &links.each_ref().map(String::as_str)))
}

fn site() -> Site {
    // The second run asks by another name of its user agent.
    let answer = |request: &Request, _: usize| {
        let pass = u64::from(request.header("user-agent").is_some_and(|it| it.contains("again")));
        tree(&request.path, pass).unwrap_or_else(|| Reply::new(404, "not found"))
    };
    Site::answering(answer, &["a.test/page-0"]).planned(|plan| {
        let learn = Policy::new(Store::Skip, Links::Learn);
        (plan.dedup.same_site, plan.dedup.cross_site) = (learn, learn);
        plan.dedup.seed = HashSeedChoice::Secret;
    })
}

/// A second run of the same server, into a directory of its own.
fn again(first: &Site, change: impl FnOnce(&mut Plan)) -> (Plan, TempDir) {
    let directory = TempDir::new().unwrap();
    let mut plan = first.plan.clone();
    directory.path().clone_into(&mut plan.directory);
    "again/1".clone_into(&mut plan.crawl.user_agent);
    plan.dedup.against = vec![first.path().to_owned()];
    change(&mut plan);
    (plan, directory)
}

fn seed_of(run: &Path) -> i64 {
    let sql = "SELECT value FROM meta WHERE name = 'seed'";
    state_in(run).query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(plan: Plan) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime
        .block_on(pagesieve::crawl::run(plan, pagesieve::crawl::Control::default()))
        .unwrap_err();
    assert!(error.is_configuration(), "{error:?}");
    let CrawlError::Against { source, .. } = error else { return error.to_string() };
    source.to_string()
}

#[test]
fn a_second_crawl_stores_only_what_has_changed() {
    let first = site();
    assert_eq!(first.run().counts.unique, PAGES);
    let (mut plan, directory) = again(&first, |plan| plan.crawl.max_pages = 120);
    // It is stopped by its budget, and goes on.
    assert_eq!(super::site::run(plan.clone()).end, End::Budget);
    plan.crawl.max_pages = 100_000;
    let report = super::site::run(plan);
    let name = first.path().display().to_string();
    assert_eq!((report.counts.fetched, report.counts.unique), (PAGES, 2));
    assert_eq!(report.against, BTreeMap::from([(name.clone(), PAGES - 2)]));
    assert_eq!(report.cluster_count, PAGES - 2);
    let stored = super::site::lines(directory.path(), "pages.jsonl");
    let mut stored = field(&stored, "url");
    stored.sort_unstable();
    assert_eq!(stored, ["http://a.test/page-11", "http://a.test/page-7"]);
    let lines = super::site::lines(directory.path(), "duplicates.jsonl");
    for line in &lines {
        assert_eq!((&line["match"]["id"], &line["step"]), (&line["url"], &"body".into()));
        assert_eq!(line["against"], name.as_str());
    }
    assert_eq!(seed_of(first.path()), seed_of(directory.path()));
    let mut explain = pagesieve();
    explain.args(["explain", "http://a.test/page-3", "--run"]).arg(directory.path());
    let shown = stdout(&explain.assert().success());
    assert!(shown.contains(&format!("of the run      {name}")), "{shown}");
    assert!(shown.contains("of http://a.test/page-3"), "{shown}");
    pagesieve().arg("clusters").arg(directory.path()).assert().success();
    pagesieve().arg("verify").arg(directory.path()).assert().success();
}

#[test]
fn runs_whose_fingerprints_differ_are_refused_by_the_key() {
    let first = site();
    first.run();
    let fixed = HashSeedChoice::Fixed(HashSeed(7));
    let (plan, _directory) = again(&first, |plan| plan.dedup.seed = fixed);
    assert!(refusal(plan).starts_with("dedup.seed would be"));
    let ngrams = pagesieve::fingerprint::Segment::Ngrams;
    let (plan, _directory) = again(&first, |plan| plan.dedup.segment = ngrams);
    assert!(refusal(plan).starts_with("dedup.segment would be ngrams"));
    // Another run has another secret seed.
    let (second, other) = again(&first, |plan| plan.dedup.against.clear());
    super::site::run(second);
    let both = vec![first.path().to_owned(), other.path().to_owned()];
    let (plan, directory) = again(&first, |plan| plan.dedup.against = both);
    assert!(refusal(plan).starts_with("dedup.seed would be"));
    assert!(!directory.path().join("state.sqlite").exists(), "nothing was begun");
    // So does a run that was begun without the other one.
    let (mut plan, directory) = again(&first, |plan| plan.dedup.against.clear());
    super::site::run(plan.clone());
    plan.dedup.against = vec![first.path().to_owned()];
    assert!(refusal(plan.clone()).starts_with("dedup.seed would be"));
    plan.dedup.against = vec![directory.path().to_owned()];
    assert!(refusal(plan.clone()).contains("this run itself"));
    plan.dedup.against = vec![directory.path().join("absent")];
    assert!(refusal(plan).contains("not a state"));
}

#[test]
fn a_configuration_takes_over_how_the_other_run_splits_chinese() {
    let directory = tempfile::tempdir().unwrap();
    let server = site().server;
    let config = format!(
        "[crawl]\nuser_agent = 'bot/1'\nmax_pages = 20\n[politeness]\ndelay = '0s'\n\
         [fetch]\nresolve = {{ 'a.test' = '{}' }}\n[[seeds]]\nurl = 'http://a.test/page-0'\n",
        server.address()
    );
    for name in ["first.toml", "second.toml"] {
        fs::write(directory.path().join(name), &config).unwrap();
    }
    let crawl =
        |args: &[&str]| pagesieve().current_dir(directory.path()).arg("crawl").args(args).assert();
    crawl(&["first.toml", "--set", "dedup.segment=ngrams"]).code(0);
    let against = "dedup.against=['runs/first']";
    let shown = stdout(&crawl(&["second.toml", "--set", against]).success());
    assert!(shown.contains("of another run"), "{shown}");
    let refused = ["second.toml", "--out", "runs/third", "--set", against];
    let refused = crawl(&[&refused[..], &["--set", "dedup.segment=jieba"]].concat()).code(2);
    assert!(stderr(&refused).contains("dedup.segment"), "{}", stderr(&refused));
    let absent = crawl(&["second.toml", "--set", "dedup.against=['runs/none']"]).code(2);
    assert!(stderr(&absent).contains("`against`"), "{}", stderr(&absent));
}
