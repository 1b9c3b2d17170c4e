//! What a dry run reports and requests.

use pagesieve::crawl::{
    self, Forecast,
    scope::{Seed, Source},
};
use tokio::runtime::Runtime;

use super::site::{Site, page};
use crate::server::{Reply, Routes};

fn look(site: &Site) -> Vec<String> {
    forecast(site).urls.iter().map(ToString::to_string).collect()
}

fn forecast(site: &Site) -> Forecast {
    Runtime::new().unwrap().block_on(crawl::dry_run(&site.plan)).unwrap()
}

#[test]
fn a_dry_run_of_an_unfinished_run_counts_the_queued_urls() {
    let site = Site::new(
        Routes::new().at("*", "/", page("seed", &["/1", "/2", "/3"])).at("*", "/1", page("1", &[])),
        &["a.test/"],
    );
    assert_eq!(forecast(&site).queued, 0);
    let site = site.planned(|plan| plan.crawl.max_pages = 1);
    site.run();
    assert_eq!(look(&site), ["skip\thttp://a.test/\tthe run is done with it"]);
    assert_eq!(forecast(&site).queued, 3);
}

#[test]
fn a_dry_run_knows_that_a_seed_that_could_not_be_reached_is_fetched_again() {
    let site = Site::new(Routes::new().at("*", "/", page("seed", &[])), &["a.test/"]);
    let address = site.server.address();
    let at = |site: Site, address| {
        site.planned(|plan| _ = plan.fetch.resolve.insert("a.test".to_owned(), address))
    };
    let site = at(site, "127.0.0.1:1".parse().unwrap()).planned(|plan| plan.fetch.retries = 0);
    site.run();
    assert!(look(&site)[0].starts_with("skip\thttp://a.test/\tfailure: connect: "));
    let site = at(site, address);
    assert_eq!(look(&site), ["fetch\thttp://a.test/\tseed 1"]);
}

#[test]
fn a_dry_run_reports_hosts_that_would_be_suspended() {
    let slow = Reply::text("User-agent: *\nCrawl-delay: 61\nDisallow: /no");
    let site = Site::new(Routes::new().at("a.test", "/robots.txt", slow), &["a.test/", "b.test/"]);
    let said = look(&site);
    assert!(
        said[0].starts_with("skip\thttp://a.test/\thost: robots.txt asks for a delay of 61 s"),
        "{said:?}"
    );
    assert_eq!(said[1], "fetch\thttp://b.test/\tseed 2");
    assert_eq!(site.all_asked().len(), 0, "no page is fetched");
}

#[test]
fn a_dry_run_follows_redirects_of_sitemaps() {
    let sitemap = "<urlset><url><loc>http://a.test/1</loc></url></urlset>";
    let routes = Routes::new()
        .at("a.test", "/old.xml", Reply::redirect(301, "/older.xml"))
        .at("a.test", "/older.xml", Reply::redirect(302, "/new.xml"))
        .at("a.test", "/new.xml", Reply::new(200, sitemap).header("Content-Type", "text/xml"))
        .at("b.test", "/away.xml", Reply::redirect(302, "http://c.test/new.xml"))
        .at("b.test", "/round.xml", Reply::redirect(302, "/round.xml"));
    let site = Site::new(routes, &[]).planned(|plan| {
        let seed = |url: &str| {
            let url: url::Url = url.parse().unwrap();
            let mut seed = Seed::new(url.clone());
            seed.source = Source::Sitemap(url);
            seed
        };
        let urls = ["http://a.test/old.xml", "http://b.test/away.xml", "http://b.test/round.xml"];
        plan.seeds = urls.map(seed).into();
    });
    let expected = [
        "skip\thttp://a.test/old.xml\tredirect: http://a.test/older.xml",
        "skip\thttp://a.test/older.xml\tredirect: http://a.test/new.xml",
        "read\thttp://a.test/new.xml\t1 page, 0 sitemaps",
        "fetch\thttp://a.test/1\tseed 1",
        "skip\thttp://b.test/away.xml\tredirect: http://c.test/new.xml",
        "skip\thttp://c.test/new.xml\tscope",
        "skip\thttp://b.test/round.xml\tredirect: to itself, as some servers do until a cookie comes back; nothing else to follow",
    ];
    assert_eq!(look(&site), expected);
}

#[test]
fn a_dry_run_and_a_crawl_follow_a_robots_txt_to_the_same_rules() {
    let routes = Routes::new()
        .at("a.test", "/robots.txt", Reply::redirect(301, "http://b.test/rules"))
        .at("b.test", "/rules", Reply::text("User-agent: *\nDisallow: /x"))
        .at("*", "/", page("a", &[]));
    let site = Site::new(routes, &["a.test/x", "a.test/"]);
    let expected =
        ["skip\thttp://a.test/x\trobots: Disallow: /x (line 2)", "fetch\thttp://a.test/\tseed 1"];
    assert_eq!(look(&site), expected);
    site.run();
    assert_eq!(site.line("a.test/x")["detail"], "Disallow: /x (line 2)");
    let settled = look(&site);
    assert!(settled.iter().all(|line| line.ends_with("the run is done with it")), "{settled:?}");
}
