//! Reads a parsed page in one walk: text, links, title and directives.

use ego_tree::{NodeId, iter::Edge};
use html5ever::local_name;
use scraper::{ElementRef, Html, Node, node::Element};

use super::{
    blocks::{Blocks, Flow},
    boilerplate::{self, Hint, attribute},
    declared::{Declared, is_json},
    directives::{Directives, is_agent},
    hidden,
    links::{RawLink, refresh_target},
    rules::Selection,
    score,
    text::{Writer, tidy},
};
use crate::page::Outline;

/// What a walk finds on a page: URLs and language as written, the body text chosen.
#[derive(Debug, Default)]
pub(super) struct Reading<'a> {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) outline: Outline,
    pub(super) links: Vec<RawLink<'a>>,
    /// For each block whether it stands beside the text by its tag, role or name, or that of an element that contains it.
    pub(super) beside: Vec<bool>,
    /// For each block whether it has a line of the body text.
    pub(super) in_body: Vec<bool>,
    pub(super) base: Option<&'a str>,
    pub(super) canonical: Vec<&'a str>,
    pub(super) robots: Directives,
    pub(super) lang: Option<&'a str>,
    /// Whether lines at the end were left out.
    pub(super) is_cut: bool,
}

/// Classes of elements that hold source code, as generators and scripts name them.
const CODE: [&str; 8] = [
    "blob-code",
    "code",
    "codehilite",
    "crayon-pre",
    "fragment",
    "highlight",
    "sourceCode",
    "syntaxhighlighter",
];

/// Reads the page. `agent` is the product token to which meta elements may be addressed.
///
/// It walks the tree without recursion, because the page determines its depth. Skipped elements are not entered.
pub(super) fn read<'a>(html: &'a Html, agent: Option<&str>, selection: &Selection) -> Reading<'a> {
    let mut walk = Walk {
        reading: Reading::default(),
        declared: Declared::default(),
        agent,
        selection,
        writer: Writer::default(),
        blocks: Blocks::new(),
        heading: None,
        muted: None,
        in_content: 0,
        in_pre: 0,
        in_code: 0,
        in_link: 0,
        in_kept: 0,
    };
    let mut skipped = None;
    for edge in html.tree.root().traverse() {
        match (edge, skipped) {
            (Edge::Open(node), None) => match node.value() {
                Node::Text(text) => walk.text(text),
                _ if ElementRef::wrap(node).is_some_and(|element| !walk.enter(element)) => {
                    skipped = Some(node.id());
                }
                _ => {}
            },
            (Edge::Close(node), Some(outermost)) if node.id() == outermost => skipped = None,
            (Edge::Close(node), None) => {
                if let Node::Element(element) = node.value() {
                    walk.leave(node.id(), element);
                }
            }
            _ => {}
        }
    }
    walk.finish()
}

/// A walk in progress.
struct Walk<'a, 'o> {
    reading: Reading<'a>,
    declared: Declared,
    agent: Option<&'o str>,
    selection: &'o Selection,
    writer: Writer,
    blocks: Blocks,
    /// The first main heading.
    heading: Option<String>,
    /// The outermost open element whose text is ignored.
    muted: Option<NodeId>,
    /// Number of open elements that are content, that are preformatted, that are source code, that are links.
    in_content: usize,
    in_pre: usize,
    in_code: usize,
    in_link: usize,
    /// Number of open elements that a rule keeps.
    in_kept: usize,
}

impl<'a> Walk<'a, '_> {
    fn finish(mut self) -> Reading<'a> {
        let blocks = std::mem::replace(&mut self.blocks, Blocks::new()).finish();
        let parents: Vec<usize> = blocks.iter().map(|block| block.parent).collect();
        let mut beside: Vec<bool> = Vec::with_capacity(blocks.len());
        for block in &blocks {
            beside.push(block.hint >= Hint::Aside || beside.get(block.parent) == Some(&true));
        }
        self.reading.beside = beside;
        let keeps = if self.selection.keep.is_empty() {
            self.declared.entitle(self.reading.title.as_deref().unwrap_or_default());
            score::choose(blocks, &self.writer, &self.declared)
        } else {
            vec![true; self.writer.segments.len()]
        };
        let mut in_body = vec![false; parents.len()];
        for (segment, _) in self.writer.segments.iter().zip(&keeps).filter(|(_, is_kept)| **is_kept)
        {
            in_body[segment.block] = true;
        }
        self.reading.in_body = in_body;
        self.reading.text = self.writer.text(|segment| keeps[segment]);
        self.reading.outline = self.outline(&parents, &keeps);
        self.reading.is_cut = self.writer.is_full;
        self.reading
    }

    /// All that the page shows.
    fn outline(&self, parents: &[usize], keeps: &[bool]) -> Outline {
        let name = [self.reading.title.as_deref(), self.heading.as_deref()];
        let mut outline = Outline::new(&name.map(Option::unwrap_or_default).join("\n"));
        let number = |block: usize| u32::try_from(block).unwrap_or(Outline::PAGE);
        for &parent in parents.iter().skip(1) {
            outline.block(number(parent));
        }
        for (index, segment) in self.writer.segments.iter().enumerate() {
            let text = self.writer.text_of(index);
            let (block, linked, is_body) = (number(segment.block), segment.linked, keeps[index]);
            outline.line(block, text, linked, is_body);
            outline.set_links(segment.links);
        }
        outline
    }

    /// Enters an element and returns whether to visit its children.
    fn enter(&mut self, node: ElementRef<'a>) -> bool {
        let element = node.value();
        self.record(node, element);
        if let Some(name) = attribute(element, &local_name!("itemtype")) {
            self.declared.is_of_type(name);
        }
        let flow = Flow::of(&element.name.local);
        if flow == Flow::Skipped {
            return false;
        }
        self.writer.gap(flow.gap());
        self.in_content += usize::from(boilerplate::is_content(element));
        self.in_pre += usize::from(is_preformatted(element));
        let is_kept = self.selection.keep.contains(&node.id());
        self.in_kept += usize::from(is_kept);
        if self.muted.is_none() {
            let is_boilerplate = boilerplate::is_boilerplate(element, self.in_content > 0);
            let is_ignored = flow == Flow::Control
                || hidden::is_hidden(node)
                || (is_boilerplate && flow == Flow::Inline);
            if (is_ignored && !is_kept) || self.selection.drop.contains(&node.id()) {
                self.muted = Some(node.id());
            } else if flow.is_block() {
                self.writer.block = self.blocks.open(element, is_boilerplate);
            }
        }
        if is_link(element) {
            self.in_link += 1;
            (self.writer.in_link, self.writer.new_links) = (true, 1);
        }
        if is_code(element) {
            self.in_code += 1;
            self.writer.in_code = true;
        }
        true
    }

    fn leave(&mut self, id: NodeId, element: &Element) {
        let flow = Flow::of(&element.name.local);
        if flow == Flow::Skipped {
            return;
        }
        self.writer.gap(flow.gap());
        self.in_content -= usize::from(boilerplate::is_content(element));
        self.in_pre -= usize::from(is_preformatted(element));
        if self.muted.is_none() && flow.is_block() {
            self.writer.block = self.blocks.close();
        }
        self.in_kept -= usize::from(self.selection.keep.contains(&id));
        self.muted = self.muted.filter(|&muted| muted != id);
        if is_link(element) {
            self.in_link -= 1;
            self.writer.in_link = self.in_link > 0;
        }
        if is_code(element) {
            self.in_code -= 1;
            self.writer.in_code = self.in_code > 0;
        }
    }

    fn text(&mut self, text: &str) {
        let is_chosen = self.in_kept > 0 || self.selection.keep.is_empty();
        if self.muted.is_some() || !is_chosen {
            return;
        }
        if self.in_pre > 0 {
            self.writer.lines(text);
        } else {
            self.writer.flow(text);
        }
    }

    /// Records links, title and directives.
    fn record(&mut self, node: ElementRef<'a>, element: &'a Element) {
        match element.name.local {
            names!("a" "area") => {
                let nofollow = has_rel(element, "nofollow");
                self.link(attribute(element, &local_name!("href")), nofollow);
            }
            names!("frame" "iframe") => self.link(attribute(element, &local_name!("src")), false),
            local_name!("meta") => self.meta(node, element),
            local_name!("script")
                if attribute(element, &local_name!("type")).is_some_and(is_json) =>
            {
                node.text().for_each(|json| self.declared.read_json(json));
            }
            local_name!("base") => {
                let href = attribute(element, &local_name!("href"));
                self.reading.base = self.reading.base.or(href);
            }
            local_name!("link") if has_rel(element, "canonical") && is_in_head(node) => {
                self.reading.canonical.extend(attribute(element, &local_name!("href")));
            }
            local_name!("title") if self.reading.title.is_none() => {
                let title = tidy(&node.text().collect::<String>());
                self.reading.title = (!title.is_empty()).then_some(title);
            }
            local_name!("h1") if self.heading.is_none() => {
                let heading = tidy(&node.text().collect::<String>());
                self.heading = (!heading.is_empty()).then_some(heading);
            }
            local_name!("html") => self.reading.lang = attribute(element, &local_name!("lang")),
            _ => {}
        }
    }

    fn meta(&mut self, node: ElementRef<'a>, element: &'a Element) {
        let Some(content) = attribute(element, &local_name!("content")) else { return };
        if let Some(name) = attribute(element, &local_name!("name"))
            && (name.trim().eq_ignore_ascii_case("robots") || is_agent(name, self.agent))
        {
            self.reading.robots.add(content);
        }
        let names = [local_name!("name"), local_name!("property")];
        let is_description = |name: &str| {
            matches!(name.trim(), "description" | "og:description" | "twitter:description")
        };
        if names.iter().filter_map(|name| attribute(element, name)).any(is_description) {
            self.declared.describe(content);
        }
        match attribute(element, &local_name!("property")).map(str::trim) {
            Some("og:title") => self.declared.headline(content),
            Some("og:type") if content.trim() == "product" => self.declared.is_of_type("Product"),
            Some("og:type") if content.trim() == "website" => {
                self.declared.is_of_type("website");
            }
            _ => {}
        }
        let is_refresh = attribute(element, &local_name!("http-equiv"))
            .is_some_and(|pragma| pragma.trim().eq_ignore_ascii_case("refresh"));
        // In `noscript` it leads to a page that asks for scripts.
        let is_fallback = || {
            let mut around = node.ancestors().filter_map(ElementRef::wrap);
            around.any(|around| around.value().name.local == local_name!("noscript"))
        };
        if is_refresh && !is_fallback() {
            self.link(refresh_target(content), false);
        }
    }

    fn link(&mut self, href: Option<&'a str>, nofollow: bool) {
        let block = self.writer.block;
        self.reading.links.extend(href.map(|href| RawLink { href, nofollow, block }));
    }
}

/// Whether the `rel` of an element contains this keyword.
fn has_rel(element: &Element, keyword: &str) -> bool {
    attribute(element, &local_name!("rel")).is_some_and(|rel| {
        rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(keyword))
    })
}

fn is_in_head(node: ElementRef<'_>) -> bool {
    node.parent()
        .and_then(ElementRef::wrap)
        .is_some_and(|parent| parent.value().name.local == local_name!("head"))
}

/// Whether the element is a link to another page.
fn is_link(element: &Element) -> bool {
    element.name.local == local_name!("a")
        && attribute(element, &local_name!("href")).is_some_and(|href| !href.starts_with('#'))
}

/// Whether the element holds lines of source code. Code within a sentence is a part of it.
fn is_code(element: &Element) -> bool {
    let is_block = matches!(element.name.local, names!("div" "figure" "table" "td"));
    let is_named =
        |classes: &str| classes.split_ascii_whitespace().any(|class| CODE.contains(&class));
    is_preformatted(element)
        || is_block && attribute(element, &local_name!("class")).is_some_and(is_named)
}

fn is_preformatted(element: &Element) -> bool {
    matches!(element.name.local, names!("pre" "listing" "plaintext" "xmp"))
}
