//! `pagesieve explain` with a run.

use pagesieve::{crawl::Links, filter::Mode};

use super::site::{Site, page};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Routes},
};

/// This many words, the same in every version of everything.
fn text(name: &str, words: usize) -> String {
    (0..words).map(|word| format!("{name}{word} ")).collect()
}

fn kept() -> String {
    format!("<title>Kept</title><p>{}", text("kept", 900))
}

/// A run with a URL of every kind that can be explained.
fn run() -> Site {
    let links =
        ["/kept", "/again", "/near", "/gone", "/moved", "/secret", "/deep", "/bare", "/copy"];
    let near = format!("<title>Near</title><p>{}addendum", text("kept", 900));
    let again = format!("<title>Again</title><div><p>{}", text("kept", 900));
    let deep = format!("<title>Deep</title><p>{}{}end", text("deep", 90), "<div>".repeat(600));
    let routes = Routes::new()
        .at("a.test", "/", page("seed", &links))
        .at("a.test", "/robots.txt", Reply::text("User-agent: *\nDisallow: /secret\n"))
        .at("a.test", "/kept", Reply::html(kept()))
        .at("a.test", "/again", Reply::html(again))
        .at("a.test", "/near", Reply::html(near.as_str()))
        .at("a.test", "/copy", Reply::html(near))
        .at("a.test", "/moved", Reply::redirect(302, "/kept"))
        .at("a.test", "/deep", Reply::html(deep))
        .at("a.test", "/bare", Reply::html("<title>Bare</title><img src=a.png>"));
    let site = Site::new(routes, &["a.test/"]).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.dedup.mode = Mode::Classic;
        plan.dedup.min_features = 7;
    });
    site.run();
    site
}

fn explain(site: &Site, documents: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = pagesieve();
    command.current_dir(site.path()).arg("explain").args(documents).args(["--run", "."]);
    command.assert()
}

#[test]
fn redirects_without_an_end_are_explained_from_the_run_before_the_url() {
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/a"]))
        .at("*", "/a", Reply::redirect(302, "/b"))
        .at("*", "/b", Reply::redirect(302, "/a"));
    let site = Site::new(routes, &["a.test/"]);
    site.run();
    let explained = pagesieve().arg("explain").arg(site.path()).arg("http://a.test/a").assert();
    let found = stdout(&explained.success());
    assert!(
        found.ends_with("leads to        http://a.test/a again: these redirects have no end\n"),
        "{found}"
    );
}

#[test]
fn what_became_of_a_url_is_explained() {
    let site = run();
    let output = |path: &str| stdout(&explain(&site, &[&format!("http://a.test{path}")]).success());
    insta::assert_snapshot!(output("/gone"), @"
    http://a.test/gone
    outcome         fetched, but not judged
    reason          status: The server answered with another status than 2xx.
    status          404
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    ");
    insta::assert_snapshot!(output("/moved"), @"
    http://a.test/moved
    outcome         fetched, but not judged
    reason          redirect: It leads to another URL, which has its own line.
    detail          http://a.test/kept
    status          302
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    leads to        http://a.test/kept: unique; stored
    ");
    insta::assert_snapshot!(output("/secret"), @"
    http://a.test/secret
    outcome         not fetched
    reason          robots: robots.txt forbids it, or could not be read.
    detail          Disallow: /secret (line 2)
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    ");
    insta::assert_snapshot!(output("/near"), @"
    http://a.test/near
    outcome         a near duplicate of http://a.test/kept; not stored: they are similar enough (step near)
    distance        1 of 64 bits differ, 6 of 256; similarity 0.9972
    title           Near
    text            7,098 characters, 1,801 features
    fingerprint     b346b9219b4db8d6
    status          200
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    ");
    insta::assert_snapshot!(output("/deep"), @"
    http://a.test/deep
    outcome         unique; stored
    title           Deep
    text            619 characters, 179 features
    truncated       its elements are nested too deeply (depth); the rest is ignored
    fingerprint     7daf9ebe0f12d4d4
    status          200
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    ");
    insta::assert_snapshot!(output("/bare"), @"
    http://a.test/bare
    outcome         unique; stored
    title           Bare
    text            0 characters, 0 features
                    no words, so only an equal one is its duplicate
    fingerprint     none
    status          200
    seed            http://a.test/
    depth           1
    found first on  http://a.test/
    ");
    let unheard = explain(&site, &["http://b.test/"]).code(1).stdout("");
    assert!(stderr(&unheard).contains("the run in . does not know http://b.test/"));
}

#[test]
fn pages_of_a_run_are_compared_by_their_stored_texts() {
    let site = run();
    let deep = explain(&site, &["http://a.test/deep", "http://a.test/bare"]).success();
    insta::assert_snapshot!(stdout(&deep), @"
    A  http://a.test/deep
       in the run: unique; stored
       truncated: its elements are nested too deeply (depth); the rest is ignored
    B  http://a.test/bare
       in the run: unique; stored
       it has no body text; navigation, forms and scripts do not count (`pagesieve extract` prints the text)

    After A, B is unique: it has fewer than three words of its own, so only a page with the same body is its duplicate

                 A                    B
    characters   619                  0
    features     179                  0
    language     nl                   -
    charset      UTF-8                UTF-8
    fingerprint  7daf9ebe0f12d4d4     none

    signature distance  none: a text without words has no signature

    179 of 179 features weigh more in A (a single occurrence weighs 16)
        16 instead of 0    deep0  (1×)
        16 instead of 0    deep1  (1×)
        16 instead of 0    deep0 deep1  (1×)
        16 instead of 0    deep2  (1×)
        16 instead of 0    deep1 deep2  (1×)
        16 instead of 0    deep3  (1×)
        16 instead of 0    deep2 deep3  (1×)
        16 instead of 0    deep4  (1×)
        16 instead of 0    deep3 deep4  (1×)
        16 instead of 0    deep5  (1×)
        16 instead of 0    deep4 deep5  (1×)
        16 instead of 0    deep6  (1×)
      … and 167 more
    ");
}

#[test]
fn a_duplicate_whose_content_the_run_does_not_keep_is_not_judged_by_its_text() {
    let page =
        |name: &str| format!("<title>{name}</title><article><p>{}<p>{name}", text("tide", 300));
    let routes = Routes::new().at("a.test", "/tides", Reply::html(page("Tides"))).at(
        "b.test",
        "/reprint",
        Reply::html(page("Reprint")),
    );
    let site = Site::new(routes, &["a.test/tides", "b.test/reprint"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    site.run();
    let output = explain(&site, &["http://a.test/tides", "http://b.test/reprint"]).success();
    let output = stdout(&output);
    assert!(output.contains("a near duplicate of http://"), "{output}");
    assert!(output.contains(": they are similar enough (step near)"), "{output}");
    assert!(output.contains("keeps the content of unique pages only"), "{output}");
    assert!(!output.contains("After A, B is"), "{output}");
}

#[test]
fn an_exact_duplicate_is_compared_by_the_text_of_its_match() {
    let site = run();
    let output = explain(&site, &["http://a.test/again", "http://a.test/near"]).success();
    insta::assert_snapshot!(stdout(&output), @"
    A  http://a.test/again
       in the run: an exact duplicate of http://a.test/kept; not stored: the texts have the same words (step text)
       its own text is not stored; the text of its match, which has the same words, is used instead
    B  http://a.test/near
       in the run: a near duplicate of http://a.test/kept; not stored: they are similar enough (step near)
       its text is from the run's state

    After A, B is a near duplicate: they are similar enough (step near): 1 of 64 bits differ, 6 of 256; similarity 0.9972
    rule classic: fingerprints differ in at most 3 of 64 bits

                 A                    B
    characters   7089                 7098
    features     1799                 1801
    language     -                    id
    charset      UTF-8                UTF-8
    fingerprint  b346b9219b4db8d4     b346b9219b4db8d6

    distance            1 of 64
    signature distance  6 of 256
    similarity          0.9972 (cosine, estimated from the signatures)

    2 of 1801 features weigh more in B (a single occurrence weighs 16)
        16 instead of 0    addendum  (1×)
        16 instead of 0    kept899 addendum  (1×)
    ");
    let output = stdout(&explain(&site, &["http://a.test/kept", "http://a.test/again"]).success());
    assert!(output.contains("the text of its match, which has the same words"), "{output}");
    assert!(
        output.contains("After A, B is an exact duplicate: the texts have the same words"),
        "{output}"
    );
    assert!(output.contains("signature distance  0 of 256"), "{output}");
}

#[test]
fn a_near_duplicate_is_compared_by_the_text_that_the_state_keeps() {
    let site = run();
    near_duplicates_are_compared(&site);
    // Then pages with a known body are parsed too.
    let site = site.planned(|plan| plan.dedup.same_site.links = Links::Follow);
    pagesieve_delete(&site);
    site.run();
    near_duplicates_are_compared(&site);
}

fn near_duplicates_are_compared(site: &Site) {
    // The body of the second is that of the first.
    for (path, step) in [
        ("near", "they are similar enough (step near)"),
        ("copy", "its body is that of an earlier near duplicate of this page (step body)"),
    ] {
        let url = format!("http://a.test/{path}");
        let output = stdout(&explain(site, &["http://a.test/kept", &url]).success());
        let line = site.line(&format!("a.test/{path}"));
        for phrase in [
            format!("a near duplicate of http://a.test/kept; not stored: {step}\n"),
            "   its text is from the run's state\n".to_owned(),
            "After A, B is a near duplicate: they are similar enough (step near)".to_owned(),
            format!("distance            {} of 64", line["match"]["distance"]),
            format!("signature distance  {} of 256", line["match"]["signature_distance"]),
            "2 of 1801 features weigh more in B (a single occurrence weighs 16)\n".to_owned(),
            "instead of 0    kept899 addendum  (1×)".to_owned(),
        ] {
            assert!(output.contains(&phrase), "{phrase:?} is not in\n{output}");
        }
        let output = stdout(&explain(site, &[&url, "http://a.test/near"]).success());
        assert!(
            output.contains("B is an exact duplicate") && output.contains("0 of 256"),
            "{output}"
        );
    }
}

#[test]
fn a_duplicate_without_a_text_is_compared_by_what_the_run_recorded() {
    let site = run().planned(|plan| plan.store.text = false);
    pagesieve_delete(&site);
    site.run();
    let line = site.line("a.test/near");
    let output = stdout(&explain(&site, &["http://a.test/kept", "http://a.test/near"]).success());
    for phrase in [
        "in the run: a near duplicate of http://a.test/kept; not stored: they are similar enough (step near)".to_owned(),
        "neither its text nor its signature is stored; only the recorded values are compared".to_owned(),
        "Without both texts, the filter cannot judge them again".to_owned(),
        "To see which features differ, save http://a.test/near as a file".to_owned(),
        format!("distance            {} of 64", line["match"]["distance"]),
        format!("signature distance  {} of 256", line["match"]["signature_distance"]),
        "(recorded by the run)".to_owned(),
    ] {
        assert!(output.contains(&phrase), "{phrase:?} is not in\n{output}");
    }
}

#[test]
fn texts_are_judged_by_the_rule_and_the_seed_of_the_run() {
    let site = run();
    std::fs::write(site.path().join("short.txt"), "two words").unwrap();
    std::fs::write(site.path().join("kept.html"), kept()).unwrap();
    let output = stdout(&explain(&site, &["http://a.test/kept", "kept.html"]).success());
    let fingerprint = site.line("a.test/kept")["fingerprint"].as_str().unwrap().to_owned();
    assert_eq!(output.matches(&fingerprint).count(), 2, "{output}");
    assert!(output.contains("B is an exact duplicate"), "{output}");
    let output = stdout(&explain(&site, &["short.txt", "kept.html"]).success());
    assert!(
        output.contains("the text of A has 3 features, fewer than 7 (dedup.min_features)"),
        "{output}"
    );
    assert!(
        output.contains(
            "rule: only equal texts are duplicates, because one has fewer than 7 features"
        ),
        "{output}"
    );
    let output = stdout(
        &explain(&site, &["short.txt", "kept.html", "--set", "dedup.min_features=3"]).success(),
    );
    assert!(output.contains("the texts are neither equal nor similar enough"), "{output}");
}

#[test]
fn what_explain_lacks_is_reported_with_what_to_add() {
    let site = run();
    let output = |documents: &[&str], code| {
        stderr(&explain(&site, documents).code(code).stdout("")).replace("\n        ", " ")
    };
    assert!(output(&["page.html"], 2).contains("`pagesieve lookup --run . page.html` lists"));
    let not_judged = output(&["http://a.test/kept", "http://a.test/gone"], 1);
    assert!(not_judged.contains("http://a.test/gone was not judged"), "{not_judged}");
    assert!(not_judged.contains("explain http://a.test/gone --run .` shows why"), "{not_judged}");
    for documents in [&["http://a.test/kept"][..], &["page.html", "HTTPS://a.test/"]] {
        let alone = pagesieve().arg("explain").args(documents).assert().code(2).stdout("");
        assert!(stderr(&alone).contains("add `--run DIR`"));
    }
    let alone = pagesieve().args(["explain", "page.html"]).assert().code(2).stdout("");
    assert!(stderr(&alone).contains("add the other one; or give a URL with `--run DIR`"));
}

#[test]
fn a_run_without_texts_is_compared_by_signatures() {
    let site = run().planned(|plan| plan.store.text = false);
    pagesieve_delete(&site);
    site.run();
    let output = stdout(&explain(&site, &["http://a.test/kept", "http://a.test/deep"]).success());
    assert_eq!(
        output.matches("(store.text = false); its signature is compared").count(),
        2,
        "{output}"
    );
    let signature = |path: &str| {
        site.line(path)["signature"].as_str().unwrap().parse::<pagesieve::Signature>().unwrap()
    };
    let distance = signature("a.test/kept").distance(&signature("a.test/deep"));
    assert!(output.contains(&format!("signature distance  {distance} of 256")), "{output}");
}

fn pagesieve_delete(site: &Site) {
    pagesieve::crawl::delete_run(site.path()).unwrap();
}
