//! Reads a parsed page in one walk: text, links, title and directives.

use ego_tree::{NodeId, iter::Edge};
use html5ever::local_name;
use scraper::{ElementRef, Html, Node, node::Element};

use super::{
    Extracted, Truncation,
    blocks::{Block, Blocks, Kind, shows_prose},
    declared::{Declared, is_json},
    directives::is_agent,
    hidden,
    links::{LinkPlace, RawLink, refresh_target},
    names::{Hint, KnownNames, Mark, attribute, is_content},
    rules::Selection,
    score,
    text::{Gap, Writer, tidy},
};
use crate::page::Outline;

/// What a walk finds on a page: URLs and language as written, the body text chosen.
#[derive(Debug, Default)]
pub(super) struct Reading<'a> {
    /// All that needs no URL: title, heading, description, text, outline, and what meta elements ask of robots.
    pub(super) found: Extracted,
    pub(super) links: Vec<RawLink<'a>>,
    /// Where the links of each block stand: beside the text by the tag, role or name of an element that contains them, in a block with a line
    /// of the body text, or elsewhere.
    pub(super) places: Vec<LinkPlace>,
    pub(super) base: Option<&'a str>,
    pub(super) canonical: Vec<&'a str>,
    pub(super) lang: Option<&'a str>,
}

/// Reads the page. `agent` is the product token to which meta elements may be addressed.
///
/// It walks the tree without recursion, because the page determines its depth. Skipped elements are not entered.
///
/// A page that shows no sentence, because most of its text waits for a script that shows it, is read with that text.
pub(super) fn read<'a>(html: &'a Html, agent: Option<&str>, selection: &Selection) -> Reading<'a> {
    let mut revealed = Vec::new();
    loop {
        let walk = walk(html, agent, selection, &revealed);
        match walk.waits_for_script() {
            Some(element) if revealed.len() < MOST_REVEALED => revealed.push(element),
            _ => return walk.finish(),
        }
    }
}

fn walk<'a, 'o>(
    html: &'a Html,
    agent: Option<&'o str>,
    selection: &Selection,
    revealed: &'o [NodeId],
) -> Walk<'a, 'o> {
    let selection = selection.clone();
    let mut walk = Walk { agent, selection, revealed, ..Walk::default() };
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
                if let Some(element) = ElementRef::wrap(node) {
                    walk.leave(element);
                }
            }
            _ => {}
        }
    }
    walk
}

/// Elements within one another that are shown although they are hidden.
const MOST_REVEALED: usize = 3;
/// A page waits for its script if it shows no sentence, and an element that is hidden has so many times as much text, and this many bytes.
const HIDDEN_RATIO: usize = 9;
const LEAST_HIDDEN: usize = 200;

/// A walk in progress.
#[derive(Default)]
struct Walk<'a, 'o> {
    reading: Reading<'a>,
    declared: Declared,
    agent: Option<&'o str>,
    selection: Selection,
    writer: Writer,
    blocks: Blocks,
    names: KnownNames<'a>,
    /// The outermost open element whose text is ignored.
    muted: Option<NodeId>,
    /// Elements that are hidden and shown all the same.
    revealed: &'o [NodeId],
    /// Bytes of text in the outermost open element that is hidden; the most that one had, and which one.
    hidden: Option<usize>,
    most_hidden: (usize, Option<NodeId>),
    /// Number of open elements that are content, that are preformatted, that are links.
    in_content: usize,
    in_pre: usize,
    in_link: usize,
    /// Number of open elements that a rule keeps.
    in_kept: usize,
}

impl<'a> Walk<'a, '_> {
    /// The hidden element with nearly all of the page's text.
    fn waits_for_script(&self) -> Option<NodeId> {
        let (bytes, element) = self.most_hidden;
        let is_most = bytes >= LEAST_HIDDEN && bytes >= self.writer.all().len() * HIDDEN_RATIO;
        element.filter(|_| is_most && !shows_prose(&self.writer))
    }

    fn finish(mut self) -> Reading<'a> {
        let shown = self.writer.segments.len();
        self.reading.found.is_from_data = self.add_data();
        let blocks = std::mem::take(&mut self.blocks).finish();
        let mut outline = self.outline(&blocks);
        let mut places: Vec<LinkPlace> = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let inherited = *places.get(block.parent).unwrap_or(&LinkPlace::Content);
            places.push(if block.hint >= Hint::Aside { LinkPlace::Beside } else { inherited });
        }
        let keeps = if self.reading.found.is_from_data {
            (0..self.writer.segments.len()).map(|segment| segment >= shown).collect()
        } else if self.selection.keep.is_empty() {
            score::choose(blocks, &self.writer, &self.declared)
        } else {
            vec![true; self.writer.segments.len()]
        };
        for (index, (segment, &is_kept)) in self.writer.segments.iter().zip(&keeps).enumerate() {
            let text = self.writer.text_of(index);
            outline.line(number(segment.block), text, segment.linked, is_kept);
            outline.set_links(segment.links);
            let place = &mut places[segment.block];
            if is_kept && *place == LinkPlace::Content {
                *place = LinkPlace::Body;
            }
        }
        self.reading.places = places;
        self.reading.found.text = self.writer.text(|segment| keeps[segment]);
        self.reading.found.outline = outline;
        self.reading.found.truncated = self.writer.is_full.then_some(Truncation::Text);
        self.reading
    }

    /// Adds the text that the page has in its data, if it shows hardly any. Returns whether it does.
    fn add_data(&mut self) -> bool {
        if !self.selection.keep.is_empty() || self.writer.all().len() >= LEAST_HIDDEN {
            return false;
        }
        let text = self.declared.text();
        let is_needed = text.len() >= LEAST_HIDDEN;
        if is_needed {
            self.writer.block = 0;
            self.writer.gap(Gap::Line);
            self.writer.lines(&text);
        }
        is_needed
    }

    /// The blocks of the page with its name.
    fn outline(&self, blocks: &[Block]) -> Outline {
        let name = [self.reading.found.title.as_deref(), self.reading.found.heading.as_deref()];
        let mut outline = Outline::new(&name.map(Option::unwrap_or_default).join("\n"));
        for block in blocks.iter().skip(1) {
            outline.block(number(block.parent));
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
        let is_revealed = self.revealed.contains(&node.id());
        let kind = self.kind_of(node);
        if kind == Kind::Skipped {
            if element.name.local == local_name!("textarea") && self.muted.is_none() {
                let bytes = node.text().map(str::len).sum();
                self.most_hidden = self.most_hidden.max((bytes, Some(node.id())));
            }
            if element.name.local == local_name!("svg") {
                // Its text is not read, but its links lead elsewhere.
                let within = node.descendants().filter_map(ElementRef::wrap);
                within.for_each(|inner| self.anchor(inner.value()));
            }
            return false;
        }
        if kind == Kind::Inline && follows_line(node) {
            self.writer.gap(Gap::Line);
        }
        self.writer.gap(kind.gap());
        self.in_content += usize::from(is_content(element));
        self.in_pre += usize::from(kind == Kind::Preformatted);
        let is_kept = self.selection.keep.contains(&node.id());
        self.in_kept += usize::from(is_kept);
        if self.muted.is_none() {
            let marks = self.names.judge(element, self.in_content > 0);
            let is_hidden = !is_revealed && hidden::is_hidden(node);
            let is_ignored = is_hidden
                || (kind == Kind::Control && !self.is_text(node))
                || (marks.has(Mark::Boilerplate) && kind == Kind::Inline);
            let may_be_shown = !matches!(element.name.local, names!("dialog" "noscript"));
            self.hidden = (is_hidden && may_be_shown).then_some(0);
            if (is_ignored && !is_kept) || self.selection.drop.contains(&node.id()) {
                self.muted = Some(node.id());
            } else if kind.is_block() {
                self.writer.block =
                    self.blocks.open(element, kind, marks, self.writer.segments.len());
            }
        }
        if is_link(element) {
            self.in_link += 1;
            (self.writer.in_link, self.writer.new_links) = (true, 1);
        }
        true
    }

    fn leave(&mut self, node: ElementRef<'a>) {
        let (id, element, kind) = (node.id(), node.value(), self.kind_of(node));
        if kind == Kind::Skipped {
            return;
        }
        self.writer.gap(kind.gap());
        self.in_content -= usize::from(is_content(element));
        self.in_pre -= usize::from(kind == Kind::Preformatted);
        if self.muted.is_none() && kind.is_block() {
            self.writer.block = self.blocks.close();
        }
        self.in_kept -= usize::from(self.selection.keep.contains(&id));
        if self.muted == Some(id) {
            self.muted = None;
            if let Some(bytes) = self.hidden.take() {
                self.most_hidden = self.most_hidden.max((bytes, Some(id)));
            }
        }
        if is_link(element) {
            self.in_link -= 1;
            self.writer.in_link = self.in_link > 0;
        }
    }

    /// How an element affects the text, with what it has instead of its content.
    fn kind_of(&self, node: ElementRef<'_>) -> Kind {
        let element = node.value();
        match Kind::of(&element.name.local) {
            Kind::Skipped => match element.name.local {
                local_name!("template") if element.attr("shadowrootmode").is_some() => {
                    Kind::Container
                }
                local_name!("iframe") if element.attr("srcdoc").is_some() => Kind::Container,
                local_name!("textarea") if self.revealed.contains(&node.id()) => Kind::Preformatted,
                _ => Kind::Skipped,
            },
            kind => kind,
        }
    }

    /// Whether the label of a control is text: an answer to choose, or what opens a part of the page, as in the accordions of the ARIA Authoring
    /// Practices Guide.
    fn is_text(&self, node: ElementRef<'_>) -> bool {
        let is_heading = self.blocks.open_kind() == Kind::Heading;
        is_heading || node.value().attr("aria-expanded").is_some() || is_choice(node)
    }

    fn text(&mut self, text: &str) {
        let is_chosen = self.in_kept > 0 || self.selection.keep.is_empty();
        if self.muted.is_some() || !is_chosen {
            if let Some(hidden) = &mut self.hidden {
                *hidden += text.trim_ascii().len();
            }
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
            names!("a" "area") => self.anchor(element),
            names!("frame" "iframe") => self.link(attribute(element, &local_name!("src")), false),
            local_name!("meta") => self.meta(node, element),
            // Other scripts have no text.
            local_name!("script") => {
                let is_linked = attribute(element, &local_name!("type")).is_some_and(is_json);
                node.text().for_each(|json| self.declared.read(json, is_linked));
            }
            local_name!("base") => {
                let href = attribute(element, &local_name!("href"));
                self.reading.base = self.reading.base.or(href);
            }
            local_name!("link") if has_rel(element, "canonical") && is_in_head(node) => {
                self.reading.canonical.extend(attribute(element, &local_name!("href")));
            }
            local_name!("title") => set_once(&mut self.reading.found.title, node.text()),
            local_name!("h1") => set_once(&mut self.reading.found.heading, node.text()),
            local_name!("html") => {
                let lang = attribute(element, &local_name!("lang"));
                self.reading.lang = self.reading.lang.or(lang);
            }
            _ => {}
        }
    }

    fn meta(&mut self, node: ElementRef<'a>, element: &'a Element) {
        let Some(content) = attribute(element, &local_name!("content")) else { return };
        if let Some(name) = attribute(element, &local_name!("name"))
            && (name.trim().eq_ignore_ascii_case("robots") || is_agent(name, self.agent))
        {
            self.reading.found.robots.add(content);
        }
        let names = [local_name!("name"), local_name!("property")];
        let is_description = |name: &str| {
            matches!(name.trim(), "description" | "og:description" | "twitter:description")
        };
        if names.iter().filter_map(|name| attribute(element, name)).any(is_description) {
            self.declared.describe(content);
            set_once(&mut self.reading.found.description, [content]);
        }
        if attribute(element, &local_name!("property")).is_some_and(|name| name.trim() == "og:type")
        {
            self.declared.is_of_type(content.trim());
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

    fn anchor(&mut self, element: &'a Element) {
        if matches!(element.name.local, names!("a" "area")) {
            let nofollow = has_rel(element, "nofollow");
            self.link(attribute(element, &local_name!("href")), nofollow);
        }
    }

    fn link(&mut self, href: Option<&'a str>, nofollow: bool) {
        let block = self.writer.block;
        self.reading.links.extend(href.map(|href| RawLink { href, nofollow, block }));
    }
}

/// The number of a block in an outline.
fn number(block: usize) -> u32 {
    u32::try_from(block).unwrap_or(Outline::PAGE)
}

/// Sets a value that is not set yet to this text, unless it is empty.
fn set_once<'t>(value: &mut Option<String>, text: impl IntoIterator<Item = &'t str>) {
    if value.is_none() {
        let text = tidy(&text.into_iter().collect::<String>());
        *value = (!text.is_empty()).then_some(text);
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

/// Whether the label is that of an answer to choose: of a radio button or a box to tick, in it or beside it.
fn is_choice(label: ElementRef<'_>) -> bool {
    let is_choice = |element: ElementRef<'_>| {
        let kind = attribute(element.value(), &local_name!("type"));
        element.value().name.local == local_name!("input")
            && kind.is_some_and(|kind| matches!(kind.trim(), "radio" | "checkbox"))
    };
    let mut beside = label.prev_siblings().take(2).chain(label.next_siblings().take(2));
    label.value().name.local == local_name!("label")
        && (beside.any(|node| ElementRef::wrap(node).is_some_and(is_choice))
            || label.children().any(|node| ElementRef::wrap(node).is_some_and(is_choice)))
}

/// Whether a `span` directly follows another one and both have several words: without a space between them they are lines, of a poem.
fn follows_line(node: ElementRef<'_>) -> bool {
    let is_line = |element: ElementRef<'_>| {
        let text = element.first_child().and_then(|child| child.value().as_text());
        element.value().name.local == local_name!("span")
            && text.is_some_and(|text| text.trim_ascii().contains(' '))
    };
    node.value().name.local == local_name!("span")
        && node.prev_sibling().and_then(ElementRef::wrap).is_some_and(is_line)
        && is_line(node)
}
