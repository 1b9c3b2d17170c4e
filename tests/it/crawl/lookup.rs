//! `pagesieve lookup`: the pages of a run that are nearest to a text.

use std::fs;

use pagesieve::{
    Fingerprinter, Signature,
    filter::Mode,
    fingerprint::{HashSeed, HashSeedChoice, Recipe},
};

use super::site::{Site, html, page, text};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Routes},
};

/// The first words of the text of that name, and others.
fn mixed(name: &str, words: usize) -> String {
    format!("{} {}", text(name, words), text("others", 400 - words))
}

/// A run of pages that are more and more similar to the text `base`.
fn run(change: impl FnOnce(&mut pagesieve::crawl::Plan)) -> Site {
    let links: Vec<_> = (0..40).map(|number| format!("/{number}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).chain(["/tiny"]).collect();
    let mut routes = Routes::new().at("a.test", "/", page("seed", &links));
    routes = routes.at("a.test", "/tiny", Reply::html("<p>A tiny page."));
    for (number, link) in links[..40].iter().enumerate() {
        let body = format!("<title>Page {number}</title><p>{}", mixed("base", number * 10));
        routes = routes.at("a.test", link, Reply::html(body));
    }
    let site = Site::new(routes, &["a.test/"]).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.dedup.mode = Mode::Classic;
        change(plan);
    });
    site.run();
    site
}

fn lookup(site: &Site, arguments: &[&str]) -> assert_cmd::assert::Assert {
    pagesieve().current_dir(site.path()).args(["lookup", "--run", "."]).args(arguments).assert()
}

/// Fingerprint distance, signature distance and URL of each page that is listed.
fn listed(output: &str) -> Vec<(u32, u32, String)> {
    let rows = output.lines().skip_while(|line| !line.starts_with("  of 64")).skip(1);
    let rows = rows.take_while(|line| !line.is_empty());
    rows.map(|row| {
        let mut words = row.split_whitespace();
        let mut number = || words.next().unwrap().parse().unwrap();
        let distances = (number(), number());
        (distances.0, distances.1, words.nth(1).unwrap().to_owned())
    })
    .collect()
}

#[test]
fn the_nearest_pages_are_those_that_comparing_with_every_page_finds() {
    let site = run(|plan| plan.dedup.window.entries = 1000.try_into().unwrap());
    assert!(!site.lines("duplicates.jsonl").is_empty());
    fs::write(site.path().join("text.txt"), mixed("base", 205)).unwrap();
    let recipe = Recipe { hash_seed: HashSeed(1), ..Recipe::default() };
    let signature = Fingerprinter::new(recipe).signature(&mixed("base", 205));
    let mut all: Vec<_> = (0_usize..)
        .zip(site.lines("pages.jsonl"))
        .filter(|(_, line)| line["features"].as_u64() >= Some(10))
        .map(|(number, line)| {
            let page: Signature = line["signature"].as_str().unwrap().parse().unwrap();
            let distance = page.fingerprint().distance(signature.fingerprint());
            (page.distance(&signature), number, distance, line["id"].as_str().unwrap().to_owned())
        })
        .collect();
    all.sort();
    let expected: Vec<_> =
        all.into_iter().map(|(whole, _, distance, url)| (distance, whole, url)).collect();
    assert!(expected.len() > 15);
    let output = stdout(&lookup(&site, &["text.txt", "--limit", "99"]).success());
    assert_eq!(listed(&output), expected);
    assert!(output.contains(&format!("nearest of the {} pages", expected.len())), "{output}");
    let output = stdout(&lookup(&site, &["text.txt", "--limit", "3"]).success());
    assert_eq!(listed(&output), expected[..3]);
    assert_eq!(listed(&stdout(&lookup(&site, &["text.txt"]).success())), expected[..10]);
}

#[test]
fn a_text_that_the_run_would_drop_is_reported_with_its_match() {
    let site = run(|_| {});
    let write = |name: &str, content: String| fs::write(site.path().join(name), content).unwrap();
    write("near.txt", format!("{} addendum", mixed("base", 100)));
    write("same.html", format!("<h1>{}</h1>", mixed("base", 100).to_uppercase()));
    let near = stdout(&lookup(&site, &["near.txt", "--limit", "1"]).success());
    assert!(
        near.contains("judge it a near duplicate of http://a.test/10:\nthey are similar enough"),
        "{near}"
    );
    assert!(near.contains("rule classic: fingerprints differ in at most 3 of"), "{near}");
    let radius = ["--limit", "0", "--set", "dedup.radius=0"];
    let far = stdout(&lookup(&site, &[&["near.txt"], &radius[..]].concat()).success());
    assert!(
        far.contains("rule classic: fingerprints differ in at most 0 of")
            && far.contains("it unique"),
        "{far}"
    );
    // Too short to be compared by its fingerprint.
    write("tiny.txt", "A tiny page!".to_owned());
    let tiny = stdout(&lookup(&site, &["tiny.txt"]).success());
    assert!(tiny.contains("an exact duplicate of http://a.test/tiny:"), "{tiny}");
    assert_eq!(listed(&tiny)[0].2, "http://a.test/tiny", "{tiny}");
    // A match is reported even if it is not listed.
    let same = stdout(&lookup(&site, &["same.html", "--limit", "0"]).success());
    assert!(same.contains("an exact duplicate of http://a.test/10:\nthe texts have"), "{same}");
    assert!(listed(&same).is_empty());
}

#[test]
fn a_copy_of_a_near_duplicate_is_judged_again_by_another_rule() {
    let kept = text("kept", 300);
    let mut words: Vec<_> = kept.split_whitespace().collect();
    words.iter_mut().step_by(60).for_each(|word| *word = "changed");
    let near = words.join(" ");
    let again = format!("<title>Again</title><div><p>{kept}");
    let routes = Routes::new()
        .at("a.test", "/", page("seed", &["/kept", "/near", "/again"]))
        .at("a.test", "/kept", Reply::html(format!("<p>{kept}")))
        .at("a.test", "/near", Reply::html(format!("<p>{near}")))
        .at("a.test", "/again", Reply::html(again.as_str()));
    let site = Site::new(routes, &["a.test/"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    site.run();
    assert!(site.line("a.test/near")["match"]["signature_distance"].as_u64() > Some(12));
    fs::write(site.path().join("near.txt"), &near).unwrap();
    fs::write(site.path().join("again.html"), &again).unwrap();
    let judged = |file: &str, rule: &[&str]| {
        let arguments = [&[file], rule].concat();
        let output = stdout(&lookup(&site, &arguments).success());
        output.split_once("would judge it ").unwrap().1.to_owned()
    };
    let (strict, less) = (["--set", "dedup.mode=strict"], ["--set", "dedup.min_features=9"]);
    let same = ["--set", "dedup.mode=balanced"];
    let near = judged("near.txt", &[]);
    assert!(
        near.starts_with("a near duplicate of http://a.test/kept:\nits text is that of an earlier near duplicate of this page (step text)"),
        "{near}"
    );
    assert!(judged("near.txt", &same).contains("(step text)"));
    assert!(judged("near.txt", &less).contains("(step near)"));
    let unique = judged("near.txt", &strict);
    assert!(unique.starts_with("unique: no page has an equal text"), "{unique}");
    // Equal texts are equal by any rule.
    for rule in [&[][..], &strict, &less] {
        let exact = judged("again.html", rule);
        assert!(exact.starts_with("an exact duplicate of http://a.test/kept:"), "{exact}");
        // The body is that of `/again`, which has another than `/kept`.
        assert!(exact.contains("this page or of an exact duplicate of it (step body)"), "{exact}");
        assert!(exact.ends_with("similarity 1.0000\n") && !exact.contains("\n\n"), "{exact}");
    }
}

#[test]
fn standard_input_may_have_a_text_a_page_or_lines() {
    let site = run(|_| {});
    let near = format!("{} addendum", mixed("base", 100));
    for input in [
        near.clone(),
        format!("\u{feff}\n {near}\n"),
        format!("<p>{near}"),
        format!("{{\"id\": \"a\", \"text\": \"{near}\"}}\n"),
    ] {
        let mut lookup = pagesieve();
        lookup.current_dir(site.path()).args(["lookup", "--run", ".", "-"]).write_stdin(input);
        let output = stdout(&lookup.assert().success());
        assert!(output.contains("a near duplicate of http://a.test/10:"), "{output}");
    }
}

#[test]
fn lookup_does_not_change_the_run() {
    let site = run(|_| {});
    fs::write(site.path().join("new.txt"), text("new", 300)).unwrap();
    let first = stdout(&lookup(&site, &["new.txt"]).success());
    assert!(first.contains("would judge it unique: no page has an equal text"), "{first}");
    assert_eq!(stdout(&lookup(&site, &["new.txt"]).success()), first);
    let report = site.run();
    assert_eq!(report.counts.fetched, 42);
}

#[test]
fn pages_that_left_the_window_are_not_listed() {
    let site = run(|plan| plan.dedup.window.entries = 5.try_into().unwrap());
    fs::write(site.path().join("text.txt"), text("base", 300)).unwrap();
    let output = stdout(&lookup(&site, &["text.txt", "--limit", "99"]).success());
    let lines = site.lines("pages.jsonl");
    // The page without a fingerprint is an entry too.
    let last: Vec<_> = lines[lines.len() - 5..lines.len() - 1]
        .iter()
        .map(|line| line["id"].as_str().unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["id"], "http://a.test/tiny");
    let mut urls: Vec<_> = listed(&output).into_iter().map(|(_, _, url)| url).collect();
    urls.sort_by_key(|url| last.iter().position(|last| *last == url));
    assert_eq!(urls, last);
}

#[test]
fn every_json_line_is_looked_up_and_bad_ones_are_reported() {
    let site = run(|_| {});
    let line = |id: &str, text: String| serde_json::json!({"id": id, "text": text}).to_string();
    let input = [line("one", mixed("base", 0)), "{}".to_owned(), line("two", "a b".to_owned())];
    fs::write(site.path().join("in.jsonl"), input.join("\n")).unwrap();
    let assert = lookup(&site, &["in.jsonl", "--limit", "1"]).code(1);
    assert!(stderr(&assert).contains("in.jsonl:2: "));
    let output = stdout(&assert);
    assert!(
        output.contains("one: ") && output.contains("duplicate of http://a.test/0:"),
        "{output}"
    );
    assert!(output.contains("two: 3 characters, 3 features"), "{output}");
    assert!(output.contains("unique: it has 3 features, fewer than 10"), "{output}");
    let empty = lookup(&site, &["empty.html"]).code(1).stdout("");
    assert!(stderr(&empty).contains("read empty.html"));
    fs::write(site.path().join("empty.html"), html("", 0, &[])).unwrap();
    let output = stdout(&lookup(&site, &["empty.html"]).success());
    assert!(output.contains("unique: it has no words") && listed(&output).is_empty(), "{output}");
}

/// The messages of `lookup` and `explain`, without the line breaks of a terminal.
fn refusals(site: &Site, settings: &[&str]) -> [String; 2] {
    let explain = ["explain", "http://a.test/0", "text.txt", "--run", "."];
    let lookup = ["lookup", "--run", ".", "text.txt"];
    [&lookup[..], &explain].map(|command| {
        let mut pagesieve = pagesieve();
        pagesieve.current_dir(site.path()).args(command).args(settings);
        let output = stderr(&pagesieve.assert().code(2).stdout(""));
        output.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn options_that_change_fingerprints_are_refused() {
    let site = run(|_| {});
    fs::write(site.path().join("text.txt"), mixed("base", 100)).unwrap();
    let config = "[dedup]\nseed = 1\nsegment = \"ngrams\"\n";
    fs::write(site.path().join("other.toml"), config).unwrap();
    let (own, public) = (HashSeed(1).id(), HashSeed::PUBLIC.id());
    let own = format!("the run's fingerprints were made with a seed of id {own}");
    for (settings, wanted, stored) in [
        (["--set", "dedup.segment=ngrams"], "dedup.segment would be ngrams", "made with jieba"),
        (["--config", "other.toml"], "dedup.segment would be ngrams", "made with jieba"),
        (
            ["--set", "dedup.fold_chinese=false"],
            "dedup.fold_chinese would be false",
            "made with true",
        ),
        (["--set", "dedup.seed=secret"], "dedup.seed would be a secret seed", &own),
        (
            ["--set", "dedup.seed=public"],
            &format!("dedup.seed would be a seed of id {public}"),
            &own,
        ),
    ] {
        for output in refusals(&site, &settings) {
            for phrase in [wanted, stored, "leave the key out, or set it as in the run"] {
                assert!(output.contains(phrase), "{phrase:?} is not in {output}");
            }
        }
    }
    let output = stdout(&lookup(&site, &["text.txt"]).success());
    for same in ["dedup.seed=1", "dedup.segment=jieba", "dedup.fold_chinese=true"] {
        assert_eq!(stdout(&lookup(&site, &["text.txt", "--set", same]).success()), output);
    }
}

#[test]
fn a_secret_seed_is_never_shown_and_no_other_is_accepted() {
    let site = run(|plan| plan.dedup.seed = HashSeedChoice::Secret);
    fs::write(site.path().join("text.txt"), mixed("base", 100)).unwrap();
    for settings in [&[][..], &["--set", "dedup.seed=secret"]] {
        let output = stdout(&lookup(&site, &[&["text.txt"], settings].concat()).success());
        // Which pages are near depends on the seed.
        assert!(output.contains("nearest of the"), "{output}");
    }
    let state = rusqlite::Connection::open(site.path().join("state.sqlite")).unwrap();
    let seed: i64 = state
        .query_row("SELECT value FROM meta WHERE name = 'seed'", [], |row| row.get(0))
        .unwrap();
    let seed = HashSeed(seed.cast_unsigned());
    for output in refusals(&site, &["--set", "dedup.seed=public"]) {
        assert!(output.contains(&format!("made with a seed of id {}", seed.id())), "{output}");
        let shown = [seed.0.to_string(), seed.0.cast_signed().to_string(), format!("{:x}", seed.0)];
        assert!(shown.iter().all(|seed| !output.contains(seed)), "{output}");
    }
}
