//! Reads a parsed page in one walk: text, links, and what its head says.

use html5ever::local_name;
use scraper::{ElementRef, Html, Node, node::Element};

use super::{
    Directives, furniture,
    links::{RawLink, refresh_target},
    robots::is_agent,
    text::{Gap, Writer, tidy},
};

/// What a page says of itself and links to, as written.
#[derive(Debug, Default)]
pub(super) struct Reading<'a> {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) links: Vec<RawLink<'a>>,
    pub(super) base: Option<&'a str>,
    pub(super) canonical: Vec<&'a str>,
    pub(super) robots: Directives,
    pub(super) lang: Option<&'a str>,
}

/// Which part of the text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// The body without furniture.
    Body,
    /// Whatever is shown.
    Everything,
}

/// Body text of fewer bytes may be a remnant …
const REMNANT: usize = 100;
/// … if the furniture has so many times as much: then the page's words for its parts mislead, and all of it is taken.
const REMNANT_RATIO: usize = 20;

/// Reads the page. `agent` is the product token for which meta elements may be meant.
pub(super) fn read<'a>(html: &'a Html, agent: Option<&str>) -> Reading<'a> {
    let walk = Walk::over(html, agent, Want::Body);
    if walk.writer.len() < REMNANT && walk.writer.len() * REMNANT_RATIO < walk.passed_over {
        return Walk::over(html, agent, Want::Everything).finish();
    }
    walk.finish()
}

/// A walk under way.
struct Walk<'a, 'o> {
    reading: Reading<'a>,
    agent: Option<&'o str>,
    want: Want,
    writer: Writer,
    /// Elements open around the current node.
    depth: usize,
    /// How deep the outermost element stands whose text is not wanted, and why it is not.
    muted: Option<(usize, Mute)>,
    /// Bytes of text in furniture.
    passed_over: usize,
    /// Open elements that hold content, and that hold preformatted text.
    in_content: usize,
    in_pre: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mute {
    Hidden,
    Furniture,
}

impl<'a, 'o> Walk<'a, 'o> {
    /// Walks the tree without recursion: its depth is the page's affair.
    fn over(html: &'a Html, agent: Option<&'o str>, want: Want) -> Self {
        let mut walk = Self {
            reading: Reading::default(),
            agent,
            want,
            writer: Writer::default(),
            depth: 0,
            muted: None,
            passed_over: 0,
            in_content: 0,
            in_pre: 0,
        };
        let mut node = html.tree.root();
        loop {
            let descends = match node.value() {
                Node::Element(_) => {
                    ElementRef::wrap(node).is_some_and(|element| walk.enter(element))
                }
                Node::Text(text) => {
                    walk.text(text);
                    false
                }
                other => other.is_document(),
            };
            if descends && let Some(child) = node.first_child() {
                node = child;
                walk.depth += 1;
                continue;
            }
            loop {
                if let Node::Element(element) = node.value() {
                    walk.leave(element);
                }
                if let Some(next) = node.next_sibling() {
                    node = next;
                    break;
                }
                let Some(parent) = node.parent() else { return walk };
                node = parent;
                walk.depth -= 1;
            }
        }
    }

    fn finish(mut self) -> Reading<'a> {
        self.reading.text = self.writer.finish();
        self.reading
    }

    /// Takes note of an element; whether its children are to be visited.
    fn enter(&mut self, node: ElementRef<'a>) -> bool {
        let element = node.value();
        self.note(node, element);
        let flow = Flow::of(element);
        if flow == Flow::Skipped {
            return false;
        }
        self.writer.gap(flow.gap());
        self.in_content += usize::from(furniture::is_content(element));
        self.in_pre += usize::from(is_preformatted(element));
        if self.muted.is_none() {
            self.muted = self.mutes(element).map(|why| (self.depth, why));
        }
        true
    }

    fn leave(&mut self, element: &Element) {
        let flow = Flow::of(element);
        if flow == Flow::Skipped {
            return;
        }
        self.writer.gap(flow.gap());
        self.in_content -= usize::from(furniture::is_content(element));
        self.in_pre -= usize::from(is_preformatted(element));
        self.muted = self.muted.filter(|&(depth, _)| depth != self.depth);
    }

    fn mutes(&self, element: &Element) -> Option<Mute> {
        if furniture::is_hidden(element) {
            return Some(Mute::Hidden);
        }
        let is_furniture = || furniture::is_furniture(element, self.in_content > 0);
        (self.want == Want::Body && is_furniture()).then_some(Mute::Furniture)
    }

    fn text(&mut self, text: &str) {
        match self.muted {
            None if self.in_pre > 0 => self.writer.lines(text),
            None => self.writer.flow(text),
            Some((_, Mute::Furniture)) => self.passed_over += text.trim_ascii().len(),
            Some((_, Mute::Hidden)) => {}
        }
    }

    /// Takes note of what an element says beside its text.
    fn note(&mut self, node: ElementRef<'a>, element: &'a Element) {
        match element.name.local {
            local_name!("a") | local_name!("area") => {
                let nofollow = attribute(element, &local_name!("rel")).is_some_and(|rel| {
                    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
                });
                self.link(attribute(element, &local_name!("href")), nofollow);
            }
            local_name!("frame") | local_name!("iframe") => {
                self.link(attribute(element, &local_name!("src")), false);
            }
            local_name!("meta") => self.meta(element),
            local_name!("base") => {
                let href = attribute(element, &local_name!("href"));
                self.reading.base = self.reading.base.or(href);
            }
            local_name!("link") => {
                let is_canonical = attribute(element, &local_name!("rel")).is_some_and(|rel| {
                    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
                });
                if is_canonical && is_in_head(node) {
                    self.reading.canonical.extend(attribute(element, &local_name!("href")));
                }
            }
            local_name!("title") if self.reading.title.is_none() => {
                let title = tidy(&node.text().collect::<String>());
                self.reading.title = (!title.is_empty()).then_some(title);
            }
            local_name!("html") => self.reading.lang = attribute(element, &local_name!("lang")),
            _ => {}
        }
    }

    fn meta(&mut self, element: &'a Element) {
        let Some(content) = attribute(element, &local_name!("content")) else { return };
        if let Some(name) = attribute(element, &local_name!("name"))
            && (name.trim().eq_ignore_ascii_case("robots") || is_agent(name, self.agent))
        {
            self.reading.robots.add(content);
        }
        let is_refresh = attribute(element, &local_name!("http-equiv"))
            .is_some_and(|pragma| pragma.trim().eq_ignore_ascii_case("refresh"));
        if is_refresh {
            self.link(refresh_target(content), false);
        }
    }

    fn link(&mut self, href: Option<&'a str>, nofollow: bool) {
        self.reading.links.extend(href.map(|href| RawLink { href, nofollow }));
    }
}

/// The value of an attribute that is in no namespace.
fn attribute<'a>(element: &'a Element, wanted: &html5ever::LocalName) -> Option<&'a str> {
    element.attrs.iter().find(|(name, _)| name.local == *wanted).map(|(_, value)| &**value)
}

fn is_in_head(node: ElementRef<'_>) -> bool {
    node.parent()
        .and_then(ElementRef::wrap)
        .is_some_and(|parent| parent.value().name.local == local_name!("head"))
}

fn is_preformatted(element: &Element) -> bool {
    matches!(
        element.name.local,
        local_name!("pre") | local_name!("listing") | local_name!("plaintext") | local_name!("xmp")
    )
}

/// How an element stands in the flow of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Neither it nor what is in it is text.
    Skipped,
    Inline,
    Cell,
    Block,
}

impl Flow {
    fn of(element: &Element) -> Self {
        match element.name.local {
            local_name!("script")
            | local_name!("style")
            | local_name!("template")
            | local_name!("noscript")
            | local_name!("title")
            | local_name!("svg")
            | local_name!("iframe")
            | local_name!("noframes")
            | local_name!("noembed")
            | local_name!("button")
            | local_name!("select")
            | local_name!("textarea")
            | local_name!("datalist")
            | local_name!("canvas")
            | local_name!("audio")
            | local_name!("video")
            | local_name!("progress")
            | local_name!("meter")
            | local_name!("rp")
            | local_name!("rt") => Self::Skipped,
            local_name!("td") | local_name!("th") => Self::Cell,
            local_name!("address")
            | local_name!("article")
            | local_name!("aside")
            | local_name!("blockquote")
            | local_name!("body")
            | local_name!("br")
            | local_name!("caption")
            | local_name!("center")
            | local_name!("dd")
            | local_name!("details")
            | local_name!("dialog")
            | local_name!("dir")
            | local_name!("div")
            | local_name!("dl")
            | local_name!("dt")
            | local_name!("fieldset")
            | local_name!("figcaption")
            | local_name!("figure")
            | local_name!("footer")
            | local_name!("form")
            | local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6")
            | local_name!("header")
            | local_name!("hgroup")
            | local_name!("hr")
            | local_name!("legend")
            | local_name!("li")
            | local_name!("listing")
            | local_name!("main")
            | local_name!("menu")
            | local_name!("nav")
            | local_name!("ol")
            | local_name!("p")
            | local_name!("plaintext")
            | local_name!("pre")
            | local_name!("search")
            | local_name!("section")
            | local_name!("summary")
            | local_name!("table")
            | local_name!("tbody")
            | local_name!("tfoot")
            | local_name!("thead")
            | local_name!("tr")
            | local_name!("ul")
            | local_name!("xmp") => Self::Block,
            _ => Self::Inline,
        }
    }

    fn gap(self) -> Gap {
        match self {
            Self::Skipped | Self::Inline => Gap::None,
            Self::Cell => Gap::Tab,
            Self::Block => Gap::Line,
        }
    }
}
