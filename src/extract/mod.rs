//! Turns a page into a document: decodes its bytes, parses it once, keeps the body text and the links.
//!
//! Sits between [`crate::page`] and [`crate::fingerprint`]. It cannot fail: bad bytes give a poorer document.
//! Knows nothing of robots.txt, scope, fingerprints or the network.
//!
//! # Body text
//!
//! One walk over the tree writes all the text that is shown and notes in which block each line stands; then the body text is chosen
//! among the lines (`score.rs` has the algorithm and its sources). Names of classes and ids are judged by words of web design in general
//! (`furniture.txt`, `hints.txt`). What was tuned on what: the algorithm's numbers and the words of `hints.txt` on half of
//! article-extraction-benchmark and half of the test pages of Mozilla's Readability, chosen by a hash of the pages' names (of the
//! other halves no page was looked at, but their scores were seen); the rules for
//! furniture (`furniture.txt`), the growth of the content and the bounds that part listings from texts on the development pages as well,
//! which are documentation. No name or phrase of any of these pages is in the code. `benches/extraction_quality.py` measures, and
//! compares with other extractors.
//!
//! A site for which all this is wrong is read by selectors: [`Rules`].

mod blocks;
mod charset;
mod flow;
mod furniture;
mod guard;
mod hints;
mod language;
mod links;
mod measure;
mod names;
mod robots;
mod score;
mod select;
mod text;
mod walk;

use serde::Serialize;
use url::Url;

use self::select::Selection;
use crate::page::Page;

pub use self::{
    language::language,
    select::{Css, Rules, RulesError, Site},
};

/// How pages are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Our product token: robots directives that name it count, as those that name nobody do. Case does not matter.
    pub agent: Option<String>,
    /// How the pages of certain sites are read. All others are read by scoring.
    pub rules: Vec<Rules>,
}

/// Turns pages into documents. It keeps nothing from one page to the next; share it among threads as you like.
///
/// ```
/// use pagesieve::{extract::{Extractor, Options}, page::Page};
///
/// let body = b"<title>Tea</title><nav>Home</nav><p>Green <a href=/tea>tea</a>.</p>".to_vec();
/// let page = Page { url: "http://example.org/".parse().ok(), body, ..Page::default() };
/// let document = Extractor::new(Options::default()).extract(&page);
/// assert_eq!(document.title.as_deref(), Some("Tea"));
/// assert_eq!(document.text, "Green tea.");
/// assert_eq!(document.links[0].url.as_str(), "http://example.org/tea");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    options: Options,
}

/// What a page says, free of its markup: the input of fingerprint and judgement.
#[derive(Clone, Debug, Default)]
pub struct Extracted {
    /// The content of `title`, white space tidied.
    pub title: Option<String>,
    /// The body text, or what the site's [`Rules`] select: without navigation, header, footer, sidebars, scripts, cookie notes, related
    /// pages, and without comments unless they are what the page is about. Case and characters as on the page, white space tidied, one
    /// block a line. Of a page that shows text it is never empty.
    pub text: String,
    /// Links of `a`, `area`, `frame`, `iframe` and meta refresh, resolved against `base`, in page order, each URL once.
    pub links: Vec<Link>,
    /// The target of `link rel=canonical`, resolved.
    pub canonical: Option<Url>,
    /// What meta robots and X-Robots-Tag ask of us.
    pub robots: Directives,
    /// ISO 639-1 code of the text's language (`zh`, `ja`, `en`); what the page declares where the text is too short to tell.
    pub lang: Option<&'static str>,
    /// Name of the encoding that was used, as in the Encoding Standard.
    pub charset: &'static str,
    /// Why the document is not whole, if a guard cut it.
    pub truncated: Option<Truncation>,
}

impl Extractor {
    /// An extractor with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Reads a page. The time is linear in its length, whatever it holds: a page past a limit (512 open elements, 256 attributes
    /// of a tag, 200,000 nodes) gives what was read before it, with [`Extracted::truncated`] set. Of links, the first 10,000 are kept.
    #[must_use]
    pub fn extract(&self, page: &Page) -> Extracted {
        let agent = self.options.agent.as_deref();
        let (markup, charset) = charset::decode(page);
        let rules = select::rules_for(&self.options.rules, page.url.as_ref());
        let (html, truncated) = guard::parse(&markup, rules.is_some());
        let selection = rules.map(|rules| Selection::of(&html, rules)).unwrap_or_default();
        let reading = walk::read(&html, agent, &selection);
        let base = links::base_url(page.url.as_ref(), reading.base);
        let mut robots = reading.robots;
        for header in &page.x_robots_tag {
            robots.add_header(header, agent);
        }
        let tagged = || reading.lang.and_then(language::of_tag);
        Extracted {
            lang: language(&reading.text).or_else(tagged),
            links: links::resolve_all(base.as_ref(), reading.links.into_iter()),
            canonical: reading
                .canonical
                .iter()
                .find_map(|href| links::resolve(base.as_ref(), href)),
            title: reading.title,
            text: reading.text,
            robots,
            charset: charset.name(),
            truncated,
        }
    }
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, resolved, with its fragment removed.
    pub url: Url,
    /// Whether every occurrence on the page is marked `rel=nofollow`.
    pub nofollow: bool,
}

/// What a page asks of crawlers, by meta robots or by X-Robots-Tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// The page must be neither judged nor stored.
    pub noindex: bool,
    /// Its links must not be followed.
    pub nofollow: bool,
}

/// The guard that cut a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// The body was longer than `fetch.max_body`.
    Body,
    /// Elements were nested too deeply.
    Depth,
    /// A tag had too many attributes.
    Attributes,
    /// The page had too many elements.
    Nodes,
}

impl Truncation {
    /// Its name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Depth => "depth",
            Self::Attributes => "attributes",
            Self::Nodes => "nodes",
        }
    }
}
