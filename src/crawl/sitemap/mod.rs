//! Reads sitemaps (sitemaps.org 0.9), sitemap indexes, RSS and Atom feeds and plain lists of URLs.
//!
//! Never fails whole: what could be read is returned with a note of what was wrong. Entities are not expanded beyond the
//! five of XML and character numbers; nothing is recursive, so hostile nesting costs nothing.

mod markup;

use std::{borrow::Cow, io::Read};

use encoding_rs::{Encoding, UTF_8};
use flate2::bufread::MultiGzDecoder;
use url::Url;

/// The longest sitemap that is read, decompressed (sitemaps.org allows 50 MB).
const MAX_BYTES: usize = 50 * 1024 * 1024;
/// The most URLs that are taken from one sitemap (the limit of sitemaps.org).
const MAX_URLS: usize = 50_000;
/// Elements nested deeper end the reading.
const MAX_DEPTH: usize = 64;
/// Further problems are only counted.
const MAX_PROBLEMS: usize = 100;

/// What a sitemap lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// The pages.
    pub urls: Vec<Entry>,
    /// The sitemaps that a sitemap index names.
    pub nested: Vec<Url>,
    /// What was wrong: the first 100 problems.
    pub problems: Vec<Problem>,
    /// How many problems there were beyond those.
    pub more_problems: usize,
}

/// A page in a sitemap or feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, `http` or `https`; a relative one, which only Atom allows, is resolved against the sitemap's URL.
    pub url: Url,
    /// When it was changed or published last, as written.
    pub lastmod: Option<String>,
}

/// Why a part of a sitemap was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The gzip stream is damaged or cut.
    #[error("damaged gzip stream: {0}")]
    Gzip(String),
    /// The sitemap is too long.
    #[error("longer than {MAX_BYTES} bytes, the rest was not read")]
    TooLong,
    /// The sitemap has too many entries.
    #[error("more than {MAX_URLS} URLs, the rest was not read")]
    TooMany,
    /// The elements are nested too deeply.
    #[error("elements nested more than {MAX_DEPTH} deep, the rest was not read")]
    TooDeep,
    /// The XML is of another kind.
    #[error("neither a sitemap nor a feed, the root element is {0:?}")]
    Root(String),
    /// The XML cannot be read on.
    #[error("broken XML at byte {at}: {message}")]
    Syntax {
        /// Where, counted in the decoded text.
        at: u64,
        /// What is wrong there.
        message: String,
    },
    /// An entry's URL is none, or neither `http` nor `https`.
    #[error("no URL that can be fetched: {0:?}")]
    Url(String),
    /// An entry has no URL.
    #[error("an entry has no URL")]
    Missing,
}

/// Reads a sitemap of any kind, compressed by gzip or not, found at `base`.
///
/// ```
/// use pagesieve::crawl::sitemap;
/// use url::Url;
///
/// let base = Url::parse("http://example.org/sitemap.xml")?;
/// let found = sitemap::parse(b"<urlset><url><loc>http://example.org/a?b&amp;c</loc></url></urlset>", &base);
/// assert_eq!(found.urls[0].url.as_str(), "http://example.org/a?b&c");
/// # Ok::<(), url::ParseError>(())
/// ```
#[must_use]
pub fn parse(body: &[u8], base: &Url) -> Sitemap {
    let mut sitemap = Sitemap::default();
    let body = sitemap.unpacked(body);
    let text = decode(&body);
    let text = text.trim_start();
    if text.starts_with('<') {
        markup::read(text, base, sitemap)
    } else {
        sitemap.read_list(text);
        sitemap
    }
}

/// The text in the encoding that its mark or XML declaration names, else UTF-8.
fn decode(body: &[u8]) -> Cow<'_, str> {
    let head = String::from_utf8_lossy(&body[..body.len().min(256)]);
    let declared = head
        .split_once("?>")
        .and_then(|(declaration, _)| declaration.split_once("encoding="))
        .and_then(|(_, value)| value.split(['"', '\'']).nth(1))
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .filter(|encoding| encoding.is_ascii_compatible());
    declared.unwrap_or(UTF_8).decode(body).0
}

impl Sitemap {
    /// The body without gzip, up to the limit.
    fn unpacked<'a>(&mut self, body: &'a [u8]) -> Cow<'a, [u8]> {
        let mut body = Cow::Borrowed(body);
        if body.starts_with(b"\x1F\x8B") {
            let mut plain = Vec::new();
            let limit = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
            if let Err(error) = MultiGzDecoder::new(&*body).take(limit).read_to_end(&mut plain) {
                self.note(Problem::Gzip(error.to_string()));
            }
            body = Cow::Owned(plain);
        }
        if body.len() > MAX_BYTES {
            self.note(Problem::TooLong);
            match &mut body {
                Cow::Borrowed(bytes) => *bytes = &bytes[..MAX_BYTES],
                Cow::Owned(bytes) => bytes.truncate(MAX_BYTES),
            }
        }
        body
    }

    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.urls.len() + self.nested.len() >= MAX_URLS
    }

    /// A list of absolute URLs, one a line.
    fn read_list(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if self.is_full() {
                return self.note(Problem::TooMany);
            }
            if let Some(url) = self.checked(Url::parse(line), line) {
                self.urls.push(Entry { url, lastmod: None });
            }
        }
    }

    fn checked(&mut self, url: Result<Url, url::ParseError>, written: &str) -> Option<Url> {
        let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none() {
            self.note(Problem::Url(written.chars().take(200).collect()));
        }
        url
    }
}
