//! Turns a page into its body text, title, links and directives: decodes its bytes, parses it once, walks over it once.
//!
//! It cannot fail: bad bytes give a poorer result. It resolves URLs but does no I/O, and does not decide what becomes of a page.
//!
//! # From bytes to body text
//!
//! | step | file | what it does |
//! |---|---|---|
//! | 1. decode | `charset.rs` | finds the encoding and decodes the body |
//! | 2. parse | `tokenizer.rs` | splits the page into tags and text, without the attributes that nobody reads |
//! | | `guard.rs` | builds the tree, with limits against hostile markup |
//! | 3. select | `rules.rs` | finds the elements that the [`Rules`] for the page keep or drop, if there are any |
//! | 4. walk | `walk.rs` | visits every node once: writes all visible text and records links, title and directives |
//! | | `text.rs` | the text being written: white space, lines, and the block of each line |
//! | | `blocks.rs` | which elements are skipped, and which start a line and become a block; measures lines and blocks |
//! | | `hidden.rs` | which elements are not shown, and whether the page shows nothing without its scripts |
//! | | `names.rs` | what elements are by tag, role and the words of their names |
//! | | `declared.rs` | what structured data and meta elements say of the article |
//! | 5. score | `kinds.rs` | whether the page is an article, a discussion, a list or a product |
//! | | `labels.rs` | which lines label what stands beside the text |
//! | | `hints.rs` | which blocks stand beside the text |
//! | | `numbers.rs` | the numbers that decide |
//! | | `score.rs` | chooses the lines that are the body text, unless rules keep some |
//! | 6. finish | `links.rs`, `directives.rs` | resolve the links, add the directives of the headers; [`language`] is detected |
//!
//! The head of `score.rs` has the algorithm and its sources. Class names and ids are judged by common words of web design
//! (`names.txt`), lines by common phrases (`labels.txt`), never by names or phrases of particular pages.
//!
//! The thresholds and the words were tuned on one half of each of five sets, chosen by a hash of the pages' or sites' names:
//! article-extraction-benchmark, the test pages of Mozilla's Readability, the pages of `benches/swap`, web-content-extraction-benchmark, and the
//! development pages, which are documentation. A mechanism or word that changed nothing on these sets is gone (`docs/performance.md`).
//! No page of the other halves was read, but their scores were seen, and decided on some of the rules.
//! `benches/extraction_quality.py` and `benches/swap/measure.py` measure the quality and compare it with other extractors.

/// A pattern of element or attribute names, which are checked by the compiler: `names!("p" "div")`.
macro_rules! names {
    ($($name:tt)+) => { $(html5ever::local_name!($name))|+ };
}

mod blocks;
mod charset;
mod declared;
mod directives;
mod guard;
mod hidden;
mod hints;
mod kinds;
mod labels;
mod links;
mod names;
mod numbers;
mod rules;
mod score;
mod text;
mod tokenizer;
mod walk;

use serde::Serialize;
use url::Url;

use self::{
    directives::canonical_targets,
    links::{Base, LinkPlace, RawLink, is_nowhere, refresh_target},
    rules::Selection,
};
use crate::page::{Outline, Page, language, language::of_tag};

pub use self::{
    directives::Directives,
    links::Link,
    rules::{Css, Rules, RulesError, UrlPrefix},
};

/// How pages are read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// This crawler's product token: robots directives addressed to it apply, besides those addressed to all. Case is ignored.
    pub agent: Option<String>,
    /// Rules for certain pages. The body text of all others is found by scoring.
    pub rules: Vec<Rules>,
}

/// Extracts pages. It keeps no state between pages and can be shared among threads.
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

/// The content of a page without its markup.
#[derive(Clone, Debug, Default)]
pub struct Extracted {
    /// The content of `title`, with white space tidied.
    pub title: Option<String>,
    /// The first `h1`, with white space tidied.
    pub heading: Option<String>,
    /// The first description of the page's meta elements (`description`, `og:description` or `twitter:description`), with white space tidied.
    pub description: Option<String>,
    /// The body text, or what the [`Rules`] for the page select. It has no navigation, header, footer, sidebars, scripts, cookie notices or
    /// related pages. It has no comments, unless the page consists of them or is a discussion. Text that attributes or inline styles hide is left
    /// out, except in panels that readers open, in parts that a script moves to their places, and if it is nearly all of the page's text, which a
    /// script shows. Declarative shadow roots and documents in `srcdoc` are read; the label of a control is text if it opens a part of the page or is
    /// an answer to choose.
    ///
    /// The text of `noscript` is read, unless it only asks for scripts. Case and characters as on the page, white space tidied,
    /// one block per line. Never empty if the page shows text.
    pub text: String,
    /// All visible text of the page with the elements that hold it, by which the filter judges the page's article.
    pub outline: Outline,
    /// Links of `a`, `area`, `frame` and `iframe`, also in `noscript`, `button` and `svg`, of meta refresh outside of `noscript` and of the
    /// `Refresh` header, resolved against `base`, in page order, each URL once. Queries are encoded as the page is.
    pub links: Vec<Link>,
    /// The target of `link rel=canonical`, an element or else a header, resolved.
    pub canonical: Option<Url>,
    /// What meta robots and `X-Robots-Tag` ask of this crawler.
    pub robots: Directives,
    /// Whether the page shows hardly anything until its scripts run: it has scripts, at most 200 characters of body text, and either an
    /// element into which frameworks write the page and which is empty, or a `noscript` that asks for scripts.
    pub needs_scripts: bool,
    /// Whether the text is that of the page's data (JSON-LD, or the data of Next.js and Nuxt), because the page shows fewer than 200 bytes
    /// until its scripts run.
    pub is_from_data: bool,
    /// ISO 639-1 code of the text's language (`zh`, `ja`, `en`); what the page declares if the text is too short to detect it.
    pub lang: Option<&'static str>,
    /// Name of the encoding used, as in the Encoding Standard.
    pub charset: &'static str,
    /// The limit that cut the page, if one did.
    pub truncated: Option<Truncation>,
}

impl Extractor {
    /// An extractor with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Reads a page. The time is linear in its length, whatever it contains: a page that exceeds a limit (512 open elements, 256 attributes
    /// of a tag, 200,000 nodes or lines, 5 MiB of text) gives what was read before, with [`Extracted::truncated`] set. The first 10,000
    /// links are kept, 4 MiB at most, and none of more than 2,048 characters. Of the documents in `srcdoc`, the first 16 are read, each with
    /// these limits.
    #[must_use]
    pub fn extract(&self, page: &Page) -> Extracted {
        let agent = self.options.agent.as_deref();
        let (markup, charset) = charset::decode(page);
        let rules = rules::rules_for(&self.options.rules, page.url.as_ref());
        let (html, truncated) = guard::parse(&markup, rules.is_some());
        let selection = rules.map(|rules| Selection::of(&html, rules)).unwrap_or_default();
        let reading = walk::read(&html, agent, &selection);
        let base = Base::new(page.url.as_ref(), reading.base, charset);
        let mut found = reading.found;
        for header in &page.x_robots_tag {
            found.robots.add_header(header, agent);
        }
        let resolved = |href: &str| base.resolve(href).filter(|url| !is_nowhere(url));
        let headers = page.link.iter().flat_map(|header| canonical_targets(header));
        let tagged = || reading.lang.and_then(of_tag);
        let refresh = page.refresh.as_deref().and_then(refresh_target);
        let refresh = refresh.map(|href| RawLink { href, nofollow: false, block: 0 });
        let raw = refresh.into_iter().chain(reading.links.iter().copied());
        let mut links = links::resolve_all(&base, raw, |link| reading.places[link.block]);
        for (link, place) in &links {
            // Anchors lead to the page itself.
            if *place != LinkPlace::Beside && page.url.as_ref() != Some(&link.url) {
                found.outline.link(link.url.as_str(), *place == LinkPlace::Body);
            }
        }
        links.retain(|(link, _)| !is_nowhere(&link.url));
        Extracted {
            needs_scripts: hidden::needs_scripts(&html, &found.text),
            lang: language(&found.text).or_else(tagged),
            links: links.into_iter().map(|(link, _)| link).collect(),
            canonical: reading.canonical.into_iter().chain(headers).find_map(resolved),
            charset: charset.name(),
            truncated: truncated.or(found.truncated),
            ..found
        }
    }
}

/// The limit that cut a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// The body was longer than `fetch.max_body`.
    Body,
    /// Elements were nested too deeply.
    Depth,
    /// A tag had too many attributes.
    Attributes,
    /// The page had too many elements and pieces of text.
    Nodes,
    /// The page had too much text, or too many lines.
    Text,
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
            Self::Text => "text",
        }
    }
}
