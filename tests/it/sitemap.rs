//! Sitemaps, feeds, lists, and what only looks like one.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use pagesieve::crawl::sitemap::{self, Problem, Sitemap};
use proptest::prelude::*;
use url::Url;

use crate::data::shared;

fn parse(body: impl AsRef<[u8]>) -> Sitemap {
    sitemap::parse(body.as_ref(), &Url::parse("http://a.org/maps/sitemap.xml").unwrap())
}

fn urls(sitemap: &Sitemap) -> Vec<&str> {
    sitemap.urls.iter().map(Url::as_str).collect()
}

fn urlset(body: &str) -> Sitemap {
    parse(format!("<?xml version='1.0'?><urlset>{body}</urlset>"))
}

fn zipped(body: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn every_collected_sitemap_is_read() {
    let Some(root) = shared("sitemaps") else { return };
    for (file, pages, nested, problems) in [
        ("rss/feed.rss", 4, 0, 0),
        ("rss/xmlRss_pubDate.xml", 7, 0, 0),
        ("sitemaps/atom.xml", 1, 0, 0),
        ("sitemaps/do-not-visit.txt", 1, 0, 0),
        ("sitemaps/sitemap-with-bom.txt", 2, 0, 0),
        ("sitemaps/sitemap.badns.xml", 2, 0, 0),
        ("sitemaps/sitemap.index.xml", 0, 15, 0),
        ("sitemaps/sitemap.ns.xml", 2, 0, 0),
        ("sitemaps/sitemap.txt", 2, 0, 0),
        ("sitemaps/sitemap.txt.gz", 5, 0, 0),
        ("sitemaps/xmlSitemap.gz", 5, 0, 0),
        ("sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml", 74, 0, 0),
        ("sitemaps/extension/pagemaps-sitemap.xml", 2, 0, 0),
        ("sitemaps/extension/shinpaideshou-news-sitemap.xml", 3, 0, 0),
        ("sitemaps/extension/sitemap-images.xml", 1, 0, 0),
        ("sitemaps/extension/sitemap-links.xml", 3, 0, 0),
        ("sitemaps/extension/sitemap-mobile.xml", 3, 0, 0),
        ("sitemaps/extension/sitemap-news.xml", 2, 0, 0),
        ("sitemaps/extension/sitemap-videos-tvshow.xml", 1, 0, 0),
        ("sitemaps/extension/sitemap-videos.xml", 3, 0, 0),
    ] {
        let found = parse(fs::read(root.join(file)).unwrap());
        let counts = (found.urls.len(), found.nested.len(), found.problems.len());
        assert_eq!(counts, (pages, nested, problems), "{file}: {found:#?}");
    }
    assert_eq!(count_files(&root), 20);
}

fn count_files(path: &Path) -> usize {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { count_files(&path) } else { 1 }).sum()
}

#[test]
fn entities_character_numbers_and_cdata_are_decoded() {
    let found = urlset(
        "<url><loc> http://a.org/?a&amp;b&#x3D;<![CDATA[1&c]]> </loc><lastmod>2024-05-01</lastmod></url>",
    );
    assert_eq!(urls(&found), ["http://a.org/?a&b=1&c"]);
    assert_eq!(
        urls(&urlset("<url><loc>http://a.org/?a=1&b=2&lang;</loc></url>")),
        ["http://a.org/?a=1&b=2&lang;"]
    );
}

#[test]
fn relative_locations_are_resolved_in_xml_and_refused_in_lists() {
    assert_eq!(urls(&urlset("<url><loc>../b</loc></url>")), ["http://a.org/b"]);
    let list = parse("http://a.org/a\n/b\n\nNot found\n");
    assert_eq!(urls(&list), ["http://a.org/a"]);
    assert_eq!(list.problems, [Problem::Url("/b".into()), Problem::Url("Not found".into())]);
}

#[test]
fn one_bad_entry_costs_no_other() {
    let found = urlset(
        "<url><loc>http://a.org/1</loc></url><url><loc>http://</loc></url><url><lastmod>x</lastmod></url>\
         <url><loc>mailto:a@b.c</loc></url><url><loc>http://a.org/2</loc></url>",
    );
    assert_eq!(urls(&found), ["http://a.org/1", "http://a.org/2"]);
    let expected =
        [Problem::Url("http://".into()), Problem::Missing, Problem::Url("mailto:a@b.c".into())];
    assert_eq!(found.problems, expected);
}

#[test]
fn what_precedes_a_break_is_kept() {
    for body in [
        "<urlset><url><loc>http://a.org/1</loc></url><url><loc>http://a.org/2</loc>",
        "<urlset><url><loc>http://a.org/1</loc><url><loc>http://a.org/2</loc></url>",
        "<urlset><url><loc>http://a.org/1</loc></x></url></y><url><loc>http://a.org/2</loc></url>",
    ] {
        assert_eq!(urls(&parse(body)), ["http://a.org/1", "http://a.org/2"], "{body}");
    }
    let broken = parse("<urlset><url><loc>http://a.org/1</loc></url><url><loc>http://a.org/<");
    assert_eq!(urls(&broken), ["http://a.org/1"]);
    assert!(matches!(
        broken.problems[..],
        [Problem::Syntax { .. }, ..] | [_, Problem::Syntax { .. }]
    ));
}

#[test]
fn an_index_names_other_sitemaps() {
    let body = "<sm:sitemapindex xmlns:sm='x'><sm:sitemap><sm:loc>http://a.org/1.xml</sm:loc></sm:sitemap>\
                <sm:sitemap>http://a.org/2.xml</sm:sitemap></sm:sitemapindex>";
    let found = parse(body);
    let nested: Vec<_> = found.nested.iter().map(Url::as_str).collect();
    assert_eq!(nested, ["http://a.org/1.xml", "http://a.org/2.xml"]);
    assert_eq!(found.urls, []);
}

#[test]
fn extensions_name_no_pages() {
    let found = urlset(
        "<url><loc>http://a.org/1</loc><image:url>http://a.org/i</image:url>\
         <image:image><image:loc>http://a.org/i</image:loc></image:image><lastmod>2024</lastmod></url>",
    );
    assert_eq!(urls(&found), ["http://a.org/1"]);
}

#[test]
fn rss_1_is_read_as_well() {
    let body = "<rdf:RDF xmlns:rdf='r'><channel><link>http://a.org/</link></channel>\
                <item><link>http://a.org/1</link><dc:date>2024</dc:date></item></rdf:RDF>";
    let found = parse(body);
    assert_eq!(urls(&found), ["http://a.org/1"]);
}

#[test]
fn other_markup_is_named_as_what_it_is() {
    assert_eq!(parse("<!DOCTYPE html><html><a href='/'>").problems, [Problem::Root("html".into())]);
    assert_eq!(parse(""), Sitemap::default());
}

#[test]
fn the_declared_encoding_is_used() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://a.org/\xE9</loc></url></urlset>";
    assert_eq!(urls(&parse(latin)), ["http://a.org/%C3%A9"]);
    let text = "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://a.org/é</loc></url></urlset>";
    assert_eq!(urls(&parse(text)), ["http://a.org/%C3%A9"]);
    let utf_16: Vec<u8> =
        "\u{FEFF}".chars().chain(text.chars()).flat_map(|c| (c as u16).to_be_bytes()).collect();
    assert_eq!(urls(&parse(utf_16)), ["http://a.org/%C3%A9"]);
}

#[test]
fn gzip_is_undone_up_to_50_mib_and_where_it_breaks() {
    let body = b"http://a.org/1\nhttp://a.org/2\n";
    assert_eq!(urls(&parse(zipped(body))).len(), 2);
    let mut cut = zipped(body);
    cut.truncate(cut.len() - 4);
    let found = parse(cut);
    assert_eq!(urls(&found).len(), 2);
    assert!(matches!(found.problems[..], [Problem::Gzip(_)]));
    let mut bomb = body.to_vec();
    bomb.resize(60 << 20, b'\n');
    let found = parse(zipped(&bomb));
    assert_eq!((urls(&found).len(), found.problems), (2, vec![Problem::TooLong]));
}

#[test]
fn fifty_thousand_urls_are_taken() {
    let mut body = String::new();
    for number in 0..50_001 {
        write!(body, "<url><loc>http://a.org/{number}</loc></url>").unwrap();
    }
    let found = urlset(&body);
    assert_eq!((found.urls.len(), found.problems), (50_000, vec![Problem::TooMany]));
    let found = parse("http://a.org/\n".repeat(50_001));
    assert_eq!((found.urls.len(), found.problems), (50_000, vec![Problem::TooMany]));
}

#[test]
fn hostile_markup_costs_nothing_and_what_precedes_it_is_kept() {
    let first = "<url><loc>http://a.org/1</loc></url>";
    let deep = urlset(&format!("{first}{}", "<a>".repeat(200_000)));
    assert_eq!(
        (urls(&deep), &deep.problems[..]),
        (vec!["http://a.org/1"], &[Problem::TooDeep][..])
    );
    let mut attributes = String::new();
    for number in 0..200_000 {
        write!(attributes, " a{number}=''").unwrap();
    }
    assert_eq!(urls(&urlset(&format!("{first}<url{attributes}/>{first}"))).len(), 2);
    let feed = format!(
        "<feed><entry><link{attributes} href='http://a.org/late'/><link href='/1'/></entry></feed>"
    );
    assert_eq!(urls(&parse(feed)), ["http://a.org/1"]);
    let bomb = "<!DOCTYPE u [<!ENTITY a 'http://b.org/'><!ENTITY b '&a;&a;&a;&a;'>]><urlset><url><loc>http://a.org/&b;</loc></url></urlset>";
    assert_eq!(urls(&parse(bomb)), ["http://a.org/&b;"]);
    let long = urlset(&format!(
        "<url><loc>http://a.org/{}</loc></url>{first}",
        "<![CDATA[x]]>".repeat(1 << 20)
    ));
    assert_eq!(urls(&long), ["http://a.org/1"]);
    assert!(matches!(&long.problems[..], [Problem::Url(url)] if url.len() == 200));
}

#[test]
fn problems_beyond_the_first_hundred_are_counted() {
    let found = parse("x\n".repeat(1000));
    assert_eq!((found.problems.len(), found.more_problems), (100, 900));
}

proptest! {
    #[test]
    fn any_bytes_are_read(body: Vec<u8>) {
        let _ = parse(body);
    }

    #[test]
    fn any_gzip_is_read(body: Vec<u8>, cut in 0_usize..64) {
        let mut body = zipped(&body);
        body.truncate(body.len().saturating_sub(cut));
        let _ = parse(body);
    }

    #[test]
    fn any_markup_is_read(
        root in "<(urlset|sitemapindex|rss|rdf:RDF|feed)>",
        parts in prop::collection::vec(
            "</?(url|sitemap|item|entry|loc|link|guid|lastmod|x:loc)/?>|http://a/|&(amp|x|#1|#0);|<!\\[CDATA\\[|]]>|<!--|-->|<|&|.",
            0..40,
        ),
    ) {
        let _ = parse(root + &parts.concat());
    }
}
