//! An entry for each parser of bytes from strangers: it must end, and what it returns must keep the parser's promises.
//!
//! `fuzz/` calls the same functions.

#[path = "trees.rs"]
mod trees;

use pagesieve::{
    crawl::{
        robots::{self, Robots},
        sitemap,
    },
    extract::{Extracted, Extractor},
    input,
    page::{NormalUrl, Page, UrlOptions},
    sink::warc::{Exchange, ExchangeKind, RunFields, Warc},
};
use url::Url;

pub(crate) type Entry = fn(&[u8]);

/// The entries by the names of their corpora in `tests/data/fuzz`.
#[allow(dead_code, reason = "a fuzz target calls one of them")]
pub(crate) const ENTRIES: [(&str, Entry); 9] = [
    ("html", html),
    ("trees", trees),
    ("charset", charset),
    ("robots", read_robots),
    ("sitemap", read_sitemap),
    ("warc", write_warc),
    ("lines", json_lines),
    ("records", records),
    ("url", url),
];

fn base() -> Url {
    Url::parse("http://example.org/dir/page").expect("a URL")
}

/// The guarded parser, and all that reads its tree.
pub(crate) fn html(bytes: &[u8]) {
    extract(bytes, Some("text/html; charset=utf-8".to_owned()));
}

/// The tree of a page, compared with html5ever's.
pub(crate) fn trees(bytes: &[u8]) {
    trees::compare(&String::from_utf8_lossy(bytes));
}

/// A body with any content type: the first line.
pub(crate) fn charset(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    extract(&bytes[end..], Some(String::from_utf8_lossy(&bytes[..end]).into_owned()));
}

fn extract(body: &[u8], content_type: Option<String>) {
    let page = Page { url: Some(base()), content_type, body: body.to_vec(), ..Page::default() };
    let Extracted { text, links, .. } = Extractor::default().extract(&page);
    assert!(text.lines().all(|line| !line.trim().is_empty()), "{text:?}");
    assert!(links.len() <= 10_000);
    for link in links {
        assert!(link.url.as_str().len() <= 2048 && link.url.fragment().is_none(), "{}", link.url);
    }
}

pub(crate) fn read_robots(bytes: &[u8]) {
    let robots = Robots::parse(bytes, "examplebot");
    let decision = robots.decide(&base());
    assert!(decision.allowed || decision.rule.is_some());
    assert!(robots::sitemaps(bytes).len() <= 1_000);
}

pub(crate) fn read_sitemap(bytes: &[u8]) {
    let found = sitemap::parse(bytes, &base());
    assert!(found.urls.len() + found.nested.len() <= 50_000 && found.problems.len() <= 101);
    for url in found.urls.iter().chain(&found.nested) {
        assert!(url.has_host() && url.as_str().len() <= 2048, "{url}");
    }
}

/// A response whose head is the bytes up to the first empty line.
pub(crate) fn write_warc(bytes: &[u8]) {
    let end = bytes.windows(2).position(|two| two == b"\n\n").map_or(bytes.len(), |at| at + 2);
    let (head, body) = bytes.split_at(end);
    let directory = tempfile::tempdir().expect("a directory");
    let run = RunFields { name: "run".into(), user_agent: "bot".into(), obey_robots: true };
    let mut warc = Warc::open(directory.path(), run, &[]).expect("a new file");
    let (response_head, body) = (head.to_vec(), body.to_vec());
    let target_uri = base().into();
    let exchange = Exchange { target_uri, response_head, body, ..Exchange::default() };
    warc.write(&exchange, &ExchangeKind::Response).expect("anything can be written");
}

pub(crate) fn json_lines(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(input::count_lines(bytes.to_vec()).iter().sum::<usize>() <= lines);
}

/// A file of any kind, which its first bytes say.
pub(crate) fn records(bytes: &[u8]) {
    let [documents, wrong] = input::count_documents(bytes.to_vec());
    assert!(documents + wrong <= bytes.len() * 1000);
}

pub(crate) fn url(bytes: &[u8]) {
    let options = UrlOptions::default();
    let text = String::from_utf8_lossy(bytes);
    if let Ok(url) = NormalUrl::parse(&text, &options) {
        assert!(url.as_str().len() <= 2048);
        let again = NormalUrl::parse(url.as_str(), &options).expect("a normal URL");
        assert_eq!(again, url);
    }
}
