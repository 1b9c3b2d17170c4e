//! Sitemaps and feeds in XML.

use std::{borrow::Cow, mem};

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesStart, Event},
    name::{Prefix, QName},
};
use url::Url;

use super::{Entry, MAX_DEPTH, Problem, Sitemap};

/// The longest text of an element that is kept: more than a URL may have, however it is encoded.
const MAX_TEXT: usize = 8 * 1024;

/// The elements that mean something to us, by their local name: prefixes and name spaces are often wrong.
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
    Date,
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
            "lastmod" | "pubDate" | "date" | "updated" | "published" => Self::Date,
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
    /// The first that is found: further links of an Atom entry are other forms of the same page.
    url: Option<String>,
    guid: Option<String>,
    lastmod: Option<String>,
}

/// A document in XML, being read.
struct Markup<'a> {
    base: &'a Url,
    sitemap: Sitemap,
    /// The name space prefix of the root, if it is a sitemap's.
    prefix: Option<String>,
    /// The elements that are open, the root first.
    open: Vec<Element>,
    /// The text of the innermost one so far.
    text: String,
    draft: Draft,
}

/// Adds what the document lists to `sitemap`.
pub(super) fn read(text: &str, base: &Url, sitemap: Sitemap) -> Sitemap {
    let prefix = None;
    Markup { base, sitemap, prefix, open: Vec::new(), text: String::new(), draft: Draft::default() }
        .read(text)
}

impl Markup<'_> {
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

    /// The element's kind. In sitemaps, what has another prefix than the root is an extension: `image:loc` is no page.
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
        let Some(root) = self.open.first() else { return self.begin(tag, element) };
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

    fn begin(&mut self, tag: &BytesStart<'_>, root: Element) -> Result<(), Problem> {
        if !matches!(root, Element::Sitemaps | Element::Rss | Element::Feed) {
            return Err(Problem::Root(tag.name().as_ref().chars().take(200).collect()));
        }
        self.prefix = tag.name().prefix().map(|prefix| prefix.into_inner().to_owned());
        self.open.push(root);
        Ok(())
    }

    /// Ends the innermost element of this kind and all within it that were left open.
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
            (Some(Element::Url | Element::Item | Element::Entry), Element::Date) => {
                self.draft.lastmod = self.draft.lastmod.take().or(text);
            }
            (Some(Element::Sitemaps), Element::Url | Element::Sitemap) => {
                self.finish(element, text);
            }
            (_, Element::Item | Element::Entry) => self.finish(element, None),
            _ => {}
        }
    }

    /// The entry is whole. Some sitemap indexes have the URL right in `sitemap`, some feeds have it only as `guid`.
    fn finish(&mut self, element: Element, text: Option<String>) {
        let draft = mem::take(&mut self.draft);
        let is_url = |text: &String| text.starts_with("http://") || text.starts_with("https://");
        let Some(written) = draft.url.or(text).or(draft.guid.filter(is_url)) else {
            return self.sitemap.note(Problem::Missing);
        };
        let Some(url) = self.sitemap.checked(self.base.join(&written), &written) else { return };
        match element {
            Element::Sitemap => self.sitemap.nested.push(url),
            _ => self.sitemap.urls.push(Entry { url, lastmod: draft.lastmod }),
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
            Some(Element::Loc | Element::Link | Element::Guid | Element::Date | Element::Sitemap)
        );
        if is_kept && self.text.len() < MAX_TEXT {
            self.text.push_str(text);
        }
    }
}

/// What an entity or a character number stands for; unknown ones, as in a URL with a bare `&`, stay as written.
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
