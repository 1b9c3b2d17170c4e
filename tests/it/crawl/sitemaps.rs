//! Seed lists that are sitemaps.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use pagesieve::crawl::scope::{Reach, Seed, Source};

use super::site::{Site, outcomes, page};
use crate::server::{Reply, Routes};

fn xml(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body).header("Content-Type", "application/xml")
}

fn sitemap(urls: &[&str]) -> String {
    let urls: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    format!("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>")
}

fn index(urls: &[&str]) -> String {
    let urls: String =
        urls.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect();
    format!("<sitemapindex>{urls}</sitemapindex>")
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn of_sitemap(routes: Routes, sitemap: &str, change: impl FnOnce(&mut Seed)) -> Site {
    let mut seed = Seed::new(format!("http://{sitemap}").parse().unwrap());
    seed.source = Source::Sitemap(format!("http://{sitemap}").parse().unwrap());
    change(&mut seed);
    Site::new(routes, &[]).planned(|plan| plan.seeds = vec![seed])
}

fn three() -> Routes {
    let nested = ["http://a.test/maps/1.xml", "http://a.test/maps/2.xml.gz", "http://b.test/3.xml"];
    let first = ["http://a.test/docs/1", "http://a.test/blog/1", "http://b.test/x"];
    Routes::new()
        .at("a.test", "/sitemap.xml", xml(index(&nested)))
        .at("a.test", "/maps/1.xml", xml(sitemap(&first)))
        .at(
            "a.test",
            "/maps/2.xml.gz",
            Reply::new(200, gzip(&sitemap(&["http://a.test/docs/2"])))
                .header("Content-Type", "application/gzip"),
        )
        .at("a.test", "/docs/1", page("docs 1", &["/docs/3"]))
        .at("a.test", "/docs/2", page("docs 2", &[]))
        .at("a.test", "/docs/3", page("docs 3", &[]))
        .at("a.test", "/blog/1", page("blog 1", &[]))
}

#[test]
fn the_pages_of_a_sitemap_are_seeds_within_its_scope() {
    let site = of_sitemap(three(), "a.test/sitemap.xml", |seed| seed.tags = vec!["map".to_owned()]);
    let report = site.run();
    let expected = outcomes([
        ("a.test/sitemap.xml", "sitemap"),
        ("a.test/maps/1.xml", "sitemap"),
        ("a.test/maps/2.xml.gz", "sitemap"),
        ("b.test/3.xml", "scope"),
        ("b.test/x", "scope"),
        ("a.test/docs/1", "unique"),
        ("a.test/docs/2", "unique"),
        ("a.test/docs/3", "unique"),
        ("a.test/blog/1", "unique"),
    ]);
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/docs/1")["depth"], 0);
    assert_eq!(site.line("a.test/docs/1")["referrer"], "http://a.test/maps/1.xml");
    assert_eq!(site.line("a.test/docs/1")["tags"][0], "map");
    assert_eq!(site.line("a.test/docs/3")["depth"], 1);
    assert_eq!(site.line("a.test/sitemap.xml")["detail"], "0 pages, 3 sitemaps");
    assert_eq!(report.counts.fetched, 4, "a sitemap is no page");
    let before = site.server.requests().len();
    site.run();
    assert_eq!(site.server.requests().len(), before);
}

#[test]
fn include_applies_to_pages_and_not_to_the_sitemaps_that_name_them() {
    let site = of_sitemap(three(), "a.test/sitemap.xml", |seed| {
        seed.include = vec!["/docs/".to_owned()];
        seed.exclude = vec!["gz$".to_owned()];
    });
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/sitemap.xml"], "sitemap");
    assert_eq!(outcomes["a.test/maps/1.xml"], "sitemap");
    assert_eq!(outcomes["a.test/maps/2.xml.gz"], "scope");
    assert_eq!(outcomes["a.test/docs/1"], "unique");
    assert_eq!(outcomes["a.test/blog/1"], "scope");
}

#[test]
fn redirects_of_a_sitemap_are_followed() {
    let routes = three().at("a.test", "/old.xml", Reply::redirect(301, "/sitemap.xml")).at(
        "a.test",
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /maps/1"),
    );
    let site = of_sitemap(routes, "a.test/old.xml", |seed| {
        seed.include = vec!["/docs/".to_owned()];
        seed.scope = Reach::Domain;
    });
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/old.xml"], "redirect");
    assert_eq!(outcomes["a.test/sitemap.xml"], "sitemap");
    assert_eq!(outcomes["a.test/maps/1.xml"], "robots");
    assert_eq!(outcomes["a.test/docs/2"], "unique");
}

#[test]
fn broken_sitemaps_are_recorded_and_the_readable_part_is_used() {
    let cut = gzip(&sitemap(&["http://a.test/1", "ftp://a.test/2", "http://a.test/3"]));
    let site = of_sitemap(
        Routes::new()
            .at(
                "*",
                "/index.xml",
                xml(index(&[
                    "http://a.test/none.xml",
                    "http://a.test/cut.xml",
                    "http://a.test/html",
                    "http://a.test/index.xml",
                ])),
            )
            .at("*", "/cut.xml", xml(&cut[..cut.len() - 9]))
            .at("*", "/html", page("html", &[])),
        "a.test/index.xml",
        |_| {},
    );
    site.run();
    let outcomes = site.outcomes();
    assert_eq!(outcomes["a.test/none.xml"], "status");
    assert_eq!(outcomes["a.test/cut.xml"], "sitemap");
    assert_eq!(outcomes["a.test/html"], "sitemap");
    assert_eq!(outcomes["a.test/1"], "status");
    let detail = site.line("a.test/cut.xml")["detail"].to_string();
    assert!(detail.contains("problems"), "{detail}");
    assert_eq!(site.all_asked().values().max(), Some(&1));
}

fn with_sitemaps(routes: Routes) -> Site {
    Site::new(routes, &["a.test/"]).planned(|plan| plan.seeds[0].sitemaps = true)
}

#[test]
fn sitemaps_that_robots_txt_names_are_followed_if_a_seed_asks_for_them() {
    let robots = "User-agent: *\nDisallow: /blog/\n\nSitemap: http://a.test/sitemap.xml\nsitemap:http://b.test/a.xml\nSitemap: /none.xml";
    let routes = || {
        let elsewhere = xml(sitemap(&["http://a.test/docs/4", "http://b.test/docs/4"]));
        three()
            .at("a.test", "/", page("home", &[]))
            .at("a.test", "/robots.txt", Reply::text(robots))
            .at("b.test", "/a.xml", elsewhere)
            .at("a.test", "/docs/4", page("docs 4", &[]))
    };
    let plain = Site::new(routes(), &["a.test/"]);
    plain.run();
    assert_eq!(plain.outcomes(), outcomes([("a.test/", "unique")]));

    let expected = outcomes([
        ("a.test/", "unique"),
        ("a.test/sitemap.xml", "sitemap"),
        ("b.test/a.xml", "sitemap"),
        ("a.test/maps/1.xml", "sitemap"),
        ("a.test/maps/2.xml.gz", "sitemap"),
        ("b.test/3.xml", "scope"),
        ("b.test/x", "scope"),
        ("b.test/docs/4", "scope"),
        ("a.test/docs/1", "unique"),
        ("a.test/docs/2", "unique"),
        ("a.test/docs/3", "unique"),
        ("a.test/docs/4", "unique"),
        ("a.test/blog/1", "robots"),
    ]);
    let site = with_sitemaps(routes());
    site.run();
    assert_eq!(site.outcomes(), expected);
    assert_eq!(site.line("a.test/docs/4")["depth"], 0);
    // A run that goes on with the key has the robots.txt already.
    let plain = plain.planned(|plan| plan.seeds[0].sitemaps = true);
    plain.run();
    assert_eq!(plain.outcomes(), expected);
    assert_eq!(plain.server.count("a.test", "/robots.txt"), 1);
}

#[test]
fn an_endless_chain_of_sitemaps_ends_after_1000() {
    let names = |from: usize| {
        let urls: Vec<_> =
            (0..40).map(|n| format!("http://a.test/{}.xml", from * 40 + n)).collect();
        index(&urls.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut site = Site::answering(
        move |request, _| match &*request.path {
            "/robots.txt" => Reply::text("Sitemap: http://a.test/1.xml"),
            "/" => page("home", &[]),
            path => {
                let number = path.trim_matches(|it: char| !it.is_ascii_digit()).parse();
                xml(names(number.unwrap_or(0)))
            }
        },
        &["a.test/"],
    );
    site = site.planned(|plan| plan.seeds[0].sitemaps = true);
    site.run();
    let sitemaps = site.outcomes().values().filter(|it| *it == "sitemap").count();
    assert_eq!(sitemaps, 1_000);
}
