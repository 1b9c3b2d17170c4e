//! Broken links with the pages that have them, and pages that show nothing without scripts.

use std::time::Duration;

use pagesieve::report::{Report, Warning};
use serde_json::{Value, json};

use super::site::{Site, page};
use crate::{
    cli::{lines, pagesieve, stdout},
    server::{Reply, Routes},
};

fn broken(site: &Site) -> Vec<Value> {
    lines(&pagesieve().arg("links").arg(site.path()).arg("--broken").assert().success())
}

#[test]
fn broken_links_are_listed_with_the_page_that_has_them() {
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/dead", "/moved", "/good"]))
        .at("*", "/good", page("good", &["/dead", "/error"]))
        .at("*", "/dead", Reply::new(404, ""))
        .at("*", "/error", Reply::new(410, ""))
        .at("*", "/moved", Reply::redirect(301, "/moved/again"))
        .at("*", "/moved/again", Reply::redirect(302, "/lost"))
        .at("*", "/lost", Reply::new(403, ""));
    let site =
        Site::new(routes, &["a.test/", "b.test/missing"]).planned(|plan| plan.fetch.retries = 0);
    let report = site.run();
    let mut links = broken(&site);
    let url = |link: &Value| link["url"].as_str().unwrap().to_owned();
    links.sort_by_key(url);
    assert_eq!(
        links.iter().map(url).collect::<Vec<_>>(),
        [
            "http://a.test/dead",
            "http://a.test/error",
            "http://a.test/lost",
            "http://b.test/missing",
        ]
    );
    assert_eq!(
        links[0],
        json!({
            "url": "http://a.test/dead", "reason": "status", "status": 404, "why": null,
            "referrers": ["http://a.test/", "http://a.test/good"], "pages": 2, "redirects": [],
        })
    );
    assert_eq!(links[1]["referrers"], json!(["http://a.test/good"]));
    // Through redirects, the page with the link and the URL that it names.
    assert_eq!(links[2]["referrers"], json!(["http://a.test/"]));
    assert_eq!(links[2]["redirects"], json!(["http://a.test/moved", "http://a.test/moved/again"]));
    assert_eq!(links[3]["referrers"], json!([]));
    let mut reported: Vec<_> = report.broken.iter().map(|link| link.url.clone()).collect();
    reported.sort();
    assert_eq!(reported, links.iter().map(url).collect::<Vec<_>>());
    assert_eq!(Report::read(site.path()).unwrap().broken, report.broken);
    assert!(report.html().contains("<h2>Broken links</h2>"));
    let links =
        |arguments: &[&str]| pagesieve().arg("links").arg(site.path()).args(arguments).assert();
    links(&["--broken", "--fail"]).code(1);
    let of_dead = lines(&links(&["http://a.test/dead"]).success());
    assert_eq!(
        of_dead.iter().map(|link| &link["from"]).collect::<Vec<_>>(),
        ["http://a.test/", "http://a.test/good"]
    );
    let all = lines(&links(&[]).success());
    assert_eq!(all.len(), 7, "five on pages, two redirects");
    let good = json!({"from": "http://a.test/", "to": "http://a.test/good", "reason": null, "status": 200});
    assert!(all.contains(&good), "{all:?}");
    links(&["http://a.test/unknown"]).code(1);
    let on_good = lines(&links(&["http://a.test/good", "--broken"]).success());
    assert_eq!(
        on_good.iter().map(|link| &link["url"]).collect::<Vec<_>>(),
        ["http://a.test/dead", "http://a.test/error"]
    );
    links(&["http://b.test/missing", "--broken", "--fail"]).code(1);
    let csv = stdout(&links(&["--broken", "--csv"]).success());
    assert!(csv.starts_with("url,reason,status,why,referrer,redirects\n"), "{csv}");
    let moved = "http://a.test/lost,status,403,,http://a.test/,http://a.test/moved http://a.test/moved/again\n";
    assert!(csv.contains(moved), "{csv}");
    let csv = stdout(&links(&["http://a.test/dead", "--csv"]).success());
    assert!(
        csv.contains("from,to,reason,status\nhttp://a.test/,http://a.test/dead,status,404\n"),
        "{csv}"
    );
    let csv = pagesieve().arg("skipped").arg(site.path()).arg("--csv").assert().success();
    assert!(stdout(&csv).contains("http://a.test/dead,status,,404,http://a.test/,1,"), "{csv}");
}

#[test]
fn pages_that_died_and_redirects_in_a_circle_are_broken_links() {
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/dies", "/a", "/nowhere", "/self", "/fine"]))
        .at("*", "/a", Reply::redirect(301, "/b"))
        .at("*", "/b", Reply::redirect(301, "/a"))
        .at("*", "/self", Reply::redirect(301, "/self"))
        .at("*", "/nowhere", Reply::redirect(301, "http://["))
        .at("*", "/fine", Reply::redirect(301, "/"))
        .script("*", "/dies", [page("a page that dies", &[]), Reply::new(410, "")]);
    let site = Site::new(routes, &["a.test/"]).planned(|plan| plan.fetch.retries = 0);
    site.run();
    let broken = |site: &Site| {
        let links = broken(site);
        let parts = |link: &Value| {
            assert_eq!(link["pages"], 1, "{link}");
            format!(
                "{} {} {}",
                link["url"].as_str().unwrap(),
                link["reason"].as_str().unwrap(),
                link["status"]
            )
        };
        let mut found: Vec<String> = links.iter().map(parts).collect();
        found.sort();
        found
    };
    let circles =
        ["/a", "/b", "/nowhere", "/self"].map(|path| format!("http://a.test{path} redirect 301"));
    assert_eq!(broken(&site), circles);
    let site = site.planned(|plan| plan.crawl.revisit_after = Some(Duration::ZERO));
    let report = site.run();
    let mut all = circles.to_vec();
    all.insert(2, "http://a.test/dies status 410".to_owned());
    assert_eq!(broken(&site), all);
    assert_eq!(report.broken.len(), 5);
}

const SHELLS: [&str; 4] = [
    "<title>a</title><script src=a.js></script><div id=root></div>",
    "<title>b</title><div id=__next><div><p>Loading…</p></div></div><script>start()</script>",
    "<title>c</title><noscript>You need to enable JavaScript to run this app.</noscript><main></main><script src=c.js></script>",
    "<title>d</title><app-root></app-root><script type=module src=d.js></script>",
];

#[test]
fn pages_that_show_nothing_without_scripts_are_warned_of() {
    let prose = "A page that its server has rendered shows its text without any script. ".repeat(5);
    let rendered = format!(
        "<div id=root><p>{prose}</div><noscript>Enable JavaScript.</noscript><script src=a.js></script>"
    );
    let mut routes = Routes::new()
        .at("*", "/", page("seed", &["/0", "/1", "/2", "/3", "/rendered", "/plain", "/short"]))
        .at("*", "/rendered", Reply::html(rendered))
        .at("*", "/plain", Reply::html("<div id=root></div>"))
        .at("*", "/short", Reply::html("<p>A short page.</p><script src=a.js></script>"));
    for (number, shell) in SHELLS.iter().enumerate() {
        routes = routes.at("*", &format!("/{number}"), Reply::html(*shell));
    }
    let site = Site::new(routes, &["a.test/"]);
    let site = site.planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    let report = site.run();
    let example = "http://a.test/0".to_owned();
    assert_eq!(report.warnings, [Warning::Scripts { pages: 4, example }]);
    assert!(report.to_string().contains("runs no JavaScript"), "{report}");
    // The same after another start.
    assert_eq!(site.run().warnings, report.warnings);
}
