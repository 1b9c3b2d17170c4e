//! Reads sitemaps (sitemaps.org 0.9), sitemap indexes, RSS and Atom feeds and plain lists of URLs.
//!
//! Never fails as a whole: returns what could be read, and the problems. Expands only the five entities of XML and character numbers.
//! Nothing is recursive, so hostile nesting costs nothing.

use std::{borrow::Cow, io::Read, mem};

use encoding_rs::{Encoding, UTF_8};
use flate2::bufread::MultiGzDecoder;
use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesStart, Event},
    name::{Prefix, QName},
};
use url::Url;

use crate::report::counted;

/// The longest sitemap that is read, decompressed (sitemaps.org allows 50 MB).
const MAX_BYTES: usize = 50 * 1024 * 1024;
/// The most URLs that are taken from one sitemap (the limit of sitemaps.org).
const MAX_URLS: usize = 50_000;
/// Elements nested deeper end the reading.
const MAX_DEPTH: usize = 64;
/// Further problems are only counted.
const MAX_PROBLEMS: usize = 100;

/// The longest URL, encoded: no longer one is fetched.
const MAX_URL: usize = 2048;

/// The longest text of an element that is kept: longer than any URL may be, however it is encoded.
const MAX_TEXT: usize = 8 * 1024;

/// What a sitemap lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// The pages: `http` or `https`. Relative URLs, which only Atom allows, are resolved against the sitemap's URL.
    pub urls: Vec<Url>,
    /// The sitemaps that a sitemap index names.
    pub nested: Vec<Url>,
    /// The first 100 problems.
    pub problems: Vec<Problem>,
    /// How many problems there were beyond those.
    pub more_problems: usize,
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
    /// The XML is something else.
    #[error("neither a sitemap nor a feed, the root element is {0:?}")]
    Root(String),
    /// The rest of the XML cannot be read.
    #[error("broken XML at byte {at}: {message}")]
    Syntax {
        /// The position in the decoded text.
        at: u64,
        /// The error.
        message: String,
    },
    /// The URL of an entry is invalid, too long, or neither `http` nor `https`.
    #[error("not a fetchable URL: {0:?}")]
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
/// assert_eq!(found.urls[0].as_str(), "http://example.org/a?b&c");
/// # Ok::<(), url::ParseError>(())
/// ```
#[must_use]
pub fn parse(body: &[u8], base: &Url) -> Sitemap {
    let mut sitemap = Sitemap::default();
    let body = sitemap.unpacked(body);
    let text = decode(&body[..body.len().min(MAX_BYTES)]);
    let text = text.trim_start();
    if text.starts_with('<') {
        let (prefix, draft) = (None, Draft::default());
        Markup { base, sitemap, prefix, open: Vec::new(), text: String::new(), draft }.read(text)
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
    /// How many pages and sitemaps it lists, in words.
    pub(super) fn counts(&self) -> String {
        let (pages, sitemaps) = (self.urls.len(), self.nested.len());
        format!("{}, {}", counted(pages, "page"), counted(sitemaps, "sitemap"))
    }

    /// The body without gzip. A body longer than the limit is a problem; gzip is not read on beyond it.
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

    /// Reads a list of absolute URLs, one per line.
    fn read_list(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if self.is_full() {
                return self.note(Problem::TooMany);
            }
            let url = self.checked(Url::parse(line), line);
            self.urls.extend(url);
        }
    }

    fn checked(&mut self, url: Result<Url, url::ParseError>, written: &str) -> Option<Url> {
        let is_fetched =
            |url: &Url| matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL;
        let url = url.ok().filter(is_fetched);
        if url.is_none() {
            self.note(Problem::Url(written.chars().take(200).collect()));
        }
        url
    }
}

/// The elements that matter, by their local name: prefixes and name spaces are often wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// `urlset` and `sitemapindex`.
    Sitemaps,
    /// `rss`, and `RDF` of RSS 1.0.
    Rss,
    /// `feed` of Atom.
    Feed,
    Url,
    Sitemap,
    Item,
    Entry,
    Loc,
    Link,
    Guid,
    Other,
}

impl Element {
    fn of(local_name: &str) -> Self {
        match local_name {
            "urlset" | "sitemapindex" => Self::Sitemaps,
            "rss" | "RDF" => Self::Rss,
            "feed" => Self::Feed,
            "url" => Self::Url,
            "sitemap" => Self::Sitemap,
            "item" => Self::Item,
            "entry" => Self::Entry,
            "loc" => Self::Loc,
            "link" => Self::Link,
            "guid" => Self::Guid,
            _ => Self::Other,
        }
    }

    /// Whether the element holds one page or one sitemap in a document with this root.
    fn is_entry_of(self, root: Self) -> bool {
        match root {
            Self::Sitemaps => matches!(self, Self::Url | Self::Sitemap),
            Self::Rss => self == Self::Item,
            Self::Feed => self == Self::Entry,
            _ => false,
        }
    }
}

/// What is known of the entry being read.
#[derive(Default)]
struct Draft {
    /// The first one: further links of an Atom entry are other forms of the same page.
    url: Option<String>,
    guid: Option<String>,
}

/// An XML document while it is read.
struct Markup<'a> {
    base: &'a Url,
    sitemap: Sitemap,
    /// The name space prefix of the root, if it is a sitemap's.
    prefix: Option<String>,
    /// The elements that are open, the root first.
    open: Vec<Element>,
    /// The text so far of the innermost one.
    text: String,
    draft: Draft,
}

impl Markup<'_> {
    /// Adds the entries of the document.
    fn read(mut self, text: &str) -> Sitemap {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        let end = loop {
            let event = match reader.read_event() {
                Ok(Event::Eof) => break None,
                Ok(event) => event,
                Err(error) => {
                    let at = reader.error_position();
                    break Some(Problem::Syntax { at, message: error.to_string() });
                }
            };
            if let Err(problem) = self.event(&event) {
                break Some(problem);
            }
        };
        self.flush();
        if let Some(problem) = end {
            self.sitemap.note(problem);
        }
        self.sitemap
    }

    /// The element's kind. In sitemaps, elements with another prefix than the root are extensions: `image:loc` is not a page.
    fn kind(&self, name: QName<'_>) -> Element {
        match (self.open.first(), name.prefix()) {
            (Some(Element::Sitemaps), prefix)
                if prefix.map(Prefix::into_inner) != self.prefix.as_deref() =>
            {
                Element::Other
            }
            _ => Element::of(name.local_name().as_ref()),
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Problem> {
        match event {
            Event::Start(tag) => return self.start(tag),
            Event::Empty(tag) => {
                self.start(tag)?;
                self.end(self.kind(tag.name()));
            }
            Event::End(tag) => self.end(self.kind(tag.name())),
            Event::Text(text) => self.push(&text.xml10_content()),
            Event::CData(text) => self.push(&text.xml10_content()),
            Event::GeneralRef(reference) => self.push(&resolve(reference)),
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), Problem> {
        let element = self.kind(tag.name());
        let Some(root) = self.open.first() else {
            if !matches!(element, Element::Sitemaps | Element::Rss | Element::Feed) {
                return Err(Problem::Root(tag.name().as_ref().chars().take(200).collect()));
            }
            self.prefix = tag.name().prefix().map(|prefix| prefix.into_inner().to_owned());
            self.open.push(element);
            return Ok(());
        };
        if element.is_entry_of(*root) {
            self.flush();
            if self.sitemap.is_full() {
                return Err(Problem::TooMany);
            }
        }
        if element == Element::Link && self.open.last() == Some(&Element::Entry) {
            self.draft.url = self.draft.url.take().or_else(|| alternate(tag));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        self.open.push(element);
        self.text.clear();
        Ok(())
    }

    /// Ends the innermost element of this kind, and all open elements within it.
    fn end(&mut self, element: Element) {
        let Some(at) = self.open.iter().rposition(|open| *open == element) else { return };
        self.open.truncate(at);
        let text = self.text.trim();
        let text = (!text.is_empty()).then(|| text.to_owned());
        self.text.clear();
        match (self.open.last(), element) {
            (Some(Element::Url | Element::Sitemap), Element::Loc)
            | (Some(Element::Item), Element::Link) => {
                self.draft.url = self.draft.url.take().or(text);
            }
            (Some(Element::Item), Element::Guid) => self.draft.guid = text,
            (Some(Element::Sitemaps), Element::Url | Element::Sitemap) => {
                self.finish(element, text);
            }
            (_, Element::Item | Element::Entry) => self.finish(element, None),
            _ => {}
        }
    }

    /// Adds the entry. Some sitemap indexes have the URL directly in `sitemap`, some feeds have it only as `guid`.
    fn finish(&mut self, element: Element, text: Option<String>) {
        let draft = mem::take(&mut self.draft);
        let is_url = |text: &String| text.starts_with("http://") || text.starts_with("https://");
        let Some(written) = draft.url.or(text).or(draft.guid.filter(is_url)) else {
            return self.sitemap.note(Problem::Missing);
        };
        let Some(url) = self.sitemap.checked(self.base.join(&written), &written) else { return };
        match element {
            Element::Sitemap => self.sitemap.nested.push(url),
            _ => self.sitemap.urls.push(url),
        }
    }

    /// Keeps an entry whose end tag is missing.
    fn flush(&mut self) {
        let entry = self.open.iter().rposition(|open| open.is_entry_of(self.open[0]));
        if let Some(at) = entry {
            let element = self.open[at];
            self.open.truncate(at);
            self.finish(element, None);
        }
    }

    fn push(&mut self, text: &str) {
        let is_kept = matches!(
            self.open.last(),
            Some(Element::Loc | Element::Link | Element::Guid | Element::Sitemap)
        );
        if is_kept && self.text.len() < MAX_TEXT {
            self.text.push_str(text);
        }
    }
}

/// The meaning of an entity or a character number. Unknown ones, as in a URL with a bare `&`, stay as written.
fn resolve(reference: &BytesRef<'_>) -> String {
    let name: &str = reference;
    match reference.resolve_char_ref() {
        Ok(Some(character)) => character.to_string(),
        _ => resolve_xml_entity(name).map_or_else(|| format!("&{name};"), str::to_owned),
    }
}

/// The target of an Atom link to the page itself.
fn alternate(tag: &BytesStart<'_>) -> Option<String> {
    let (mut href, mut is_alternate) = (None, true);
    for attribute in tag.attributes().with_checks(false).flatten().take(16) {
        match attribute.key.as_ref() {
            "href" => {
                href =
                    attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned);
            }
            "rel" => is_alternate = &*attribute.value == "alternate",
            _ => {}
        }
    }
    href.filter(|_| is_alternate)
}
