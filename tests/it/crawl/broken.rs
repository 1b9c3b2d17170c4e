//! Broken links with the pages that have them, and pages that show nothing without scripts.

use pagesieve::report::{Report, Warning};
use serde_json::{Value, json};

use super::site::{Site, page};
use crate::{
    cli::{lines, pagesieve},
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
        json!({"url": "http://a.test/dead", "reason": "status", "status": 404, "why": null, "referrers": ["http://a.test/"], "link": null})
    );
    assert_eq!(links[1]["referrers"], json!(["http://a.test/good"]));
    // Through redirects, the page with the link and the URL that it names.
    assert_eq!(links[2]["referrers"], json!(["http://a.test/"]));
    assert_eq!(links[2]["link"], "http://a.test/moved");
    assert_eq!(links[3]["referrers"], json!([]));
    let mut reported: Vec<_> = report.broken.iter().map(|link| link.url.clone()).collect();
    reported.sort();
    assert_eq!(reported, links.iter().map(url).collect::<Vec<_>>());
    assert_eq!(Report::read(site.path()).unwrap().broken, report.broken);
    assert!(report.html().contains("<h2>Broken links</h2>"));
    pagesieve().arg("links").arg(site.path()).assert().code(2);
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
