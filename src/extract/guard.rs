//! Parses a page with limits, because html5ever's tree builder has none.
//!
//! Its work is quadratic in the depth of nesting and in the number of formatting elements that wait to be reopened. [`Guard`] sits between
//! tokenizer and tree builder and reads the builder's actual state; a page that exceeds a limit keeps what was parsed before it. On an ordinary
//! page this costs a counter per tag.

use std::cell::Cell;

use ego_tree::{NodeId, NodeRef, Tree};
use html5ever::{
    Attribute, LocalName, local_name,
    tendril::StrTendril,
    tokenizer::{self, Tag, TagKind, TokenSink, TokenSinkResult},
    tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink},
};
use memchr::memchr_iter;
use scraper::{Html, HtmlTreeSink, Node};

use super::{
    Truncation, declared, hidden,
    tokenizer::{State, Token, Tokenizer, normalised},
};

/// Limit of open elements, including formatting elements that wait to be reopened. Browsers have the same limit.
const MAX_DEPTH: usize = 512;
/// Limit of frames that are read. All documents within a page together have its limits of nodes and of steps.
const MAX_FRAMES: usize = 16;
/// Limit of nodes in the tree.
const MAX_NODES: usize = 200_000;
/// Limit of the sum over all tags of the elements open at that tag, which a tag may have to search. Even a page with the maximal number
/// of nodes stays far below it, unless it is nested as no real page is.
const MAX_STEPS: usize = 64 * MAX_NODES;
/// Limit of text, in bytes. Scripts and styles do not count, unless they have structured data.
const MAX_TEXT: usize = 5 << 20;

/// Parses `text` up to the first exceeded limit, which is returned.
///
/// Comments, styles and scripts without structured data are left out, and attributes that nothing here reads as well, unless `for_selectors`.
///
/// Documents that the page holds itself, in `srcdoc` of an `iframe`, become the content of that element. As in a browser that runs scripts, the
/// content of a `noscript` is text first, so that it ends no element around it: the head, for the image of a visitor counter. Then it is parsed by itself.
pub(super) fn parse(text: &str, for_selectors: bool) -> (Html, Option<Truncation>) {
    let mut steps = 0;
    let (mut html, truncated) = parse_one(text, for_selectors, true, &mut steps);
    let documents: Vec<(NodeId, bool, String)> =
        html.tree.nodes().filter_map(document_in).collect();
    let mut frames = 0;
    for (id, is_frame, markup) in documents {
        frames += usize::from(is_frame);
        if is_frame && frames > MAX_FRAMES {
            continue;
        }
        let inner = parse_one(&markup, for_selectors, false, &mut steps).0.tree;
        if html.tree.values().len() + inner.values().len() > MAX_NODES {
            break;
        }
        fill(&mut html.tree, id, inner);
    }
    (html, truncated)
}

/// The document that an element holds as text, and whether it is that of a frame.
fn document_in(node: NodeRef<'_, Node>) -> Option<(NodeId, bool, String)> {
    let element = node.value().as_element()?;
    let is_frame = element.name.local == local_name!("iframe");
    let markup = match element.name.local {
        local_name!("iframe") => element.attr("srcdoc")?.to_owned(),
        // White space at its start is text.
        local_name!("noscript") => format!("<body>{}", &**node.first_child()?.value().as_text()?),
        _ => return None,
    };
    Some((node.id(), is_frame, markup))
}

/// Gives an element the content of head and body of a document in place of its own.
fn fill(tree: &mut Tree<Node>, id: NodeId, document: Tree<Node>) {
    let document = tree.extend_tree(document).id();
    let html = tree.get(document).and_then(|document| document.last_child());
    let parts: Vec<NodeId> = html.iter().flat_map(NodeRef::children).map(|it| it.id()).collect();
    let Some(mut element) = tree.get_mut(id) else { return };
    if let Some(mut text) = element.first_child() {
        text.detach();
    }
    for part in parts {
        element.reparent_from_id_append(part);
    }
}

/// Parses a document, after so many steps, which it counts on.
fn parse_one(
    text: &str,
    for_selectors: bool,
    runs_scripts: bool,
    steps: &mut usize,
) -> (Html, Option<Truncation>) {
    // A second byte order mark is no text either.
    let text = normalised(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut tokens = Tokenizer::new(&text, if for_selectors { |_, _| true } else { is_read });
    // Half of the tags open an element, and after each there may be text.
    let nodes = memchr_iter(b'<', text.as_bytes()).count() * 3 / 2;
    let mut guard = Guard { steps: *steps, ..Guard::new(nodes, runs_scripts) };
    while guard.stopped.is_none()
        && let Some(token) = tokens.next(|| guard.is_foreign())
    {
        match guard.process(token) {
            TokenSinkResult::RawData(kind) => tokens.state = State::Raw(kind),
            TokenSinkResult::Plaintext => tokens.state = State::Plaintext,
            // Nothing runs, and the encoding is known.
            TokenSinkResult::Continue
            | TokenSinkResult::Script(_)
            | TokenSinkResult::EncodingIndicator(_) => {}
        }
    }
    *steps = guard.steps;
    guard.finish()
}

/// A tree builder with limits.
struct Guard {
    builder: TreeBuilder<NodeId, HtmlTreeSink>,
    /// Open elements at the last count, and tags until the next count; the limit cannot be reached before.
    depth: usize,
    until_counted: usize,
    steps: usize,
    /// Bytes of text so far.
    text: usize,
    /// Whether the text that follows belongs to a script or style.
    is_code: bool,
    stopped: Option<Truncation>,
}

impl Guard {
    /// A builder of a tree of about this many nodes.
    fn new(nodes: usize, runs_scripts: bool) -> Self {
        let tree = Tree::with_capacity(Node::Document, nodes.min(MAX_NODES));
        let sink = HtmlTreeSink::new(Html { tree, ..Html::new_document() });
        let opts =
            TreeBuilderOpts { scripting_enabled: runs_scripts, ..TreeBuilderOpts::default() };
        Self {
            builder: TreeBuilder::new(sink, opts),
            depth: 0,
            until_counted: MAX_DEPTH / 2,
            steps: 0,
            text: 0,
            is_code: false,
            stopped: None,
        }
    }

    /// Whether the current element is in a namespace other than HTML's.
    fn is_foreign(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// Passes a token to the tree builder, unless it is left out or exceeds a limit. Returns how to read what follows.
    fn process(&mut self, token: Token<'_>) -> TokenSinkResult<NodeId> {
        let token = match token {
            Token::Text(_) if self.is_code => return TokenSinkResult::Continue,
            Token::Tag(tag) => self.admit(tag),
            Token::Flood => Err(Truncation::Attributes),
            Token::Text(text) => self.admit_text(text.len()).map(|length| {
                let text = &text[..text.floor_char_boundary(length)];
                tokenizer::Token::CharacterTokens(StrTendril::from_slice(text))
            }),
            Token::Null => self.admit_text(1).map(|_| tokenizer::Token::NullCharacterToken),
            Token::Doctype(doctype) => Ok(tokenizer::Token::DoctypeToken(doctype)),
        };
        match token {
            Ok(token) => self.builder.process_token(token, 1),
            Err(limit) => {
                self.stopped = Some(limit);
                TokenSinkResult::Continue
            }
        }
    }

    /// Ends the page.
    fn finish(self) -> (Html, Option<Truncation>) {
        // The end never asks the tokenizer for anything.
        let _: TokenSinkResult<NodeId> = self.builder.process_token(tokenizer::Token::EOFToken, 1);
        self.builder.end();
        (self.builder.sink.finish(), self.stopped)
    }

    /// Counts a tag and strips its unneeded attributes. Fails with the limit that it would exceed.
    fn admit(&mut self, mut tag: Tag) -> Result<tokenizer::Token, Truncation> {
        if self.builder.sink.0.borrow().tree.values().len() > MAX_NODES {
            return Err(Truncation::Nodes);
        }
        strip(&mut tag);
        self.is_code = tag.kind == TagKind::StartTag && is_code(&tag);
        self.count_open();
        self.steps += self.depth;
        let too_deep = self.depth >= MAX_DEPTH && tag.kind == TagKind::StartTag;
        if too_deep || self.steps > MAX_STEPS {
            return Err(Truncation::Depth);
        }
        Ok(tokenizer::Token::TagToken(tag))
    }

    /// Counts a text, which searches only the formatting elements, and those faster. Returns how much of it is kept.
    fn admit_text(&mut self, length: usize) -> Result<usize, Truncation> {
        self.steps += self.depth / 16;
        if self.steps > MAX_STEPS {
            return Err(Truncation::Depth);
        }
        let kept = length.min(MAX_TEXT - self.text);
        self.text += kept;
        if kept < length {
            self.stopped = Some(Truncation::Text);
        }
        Ok(kept)
    }

    /// Counts the open elements if they may have exceeded the limit. A tag rarely opens more than two, so the number of tags between
    /// two counts is half of the distance to the limit.
    fn count_open(&mut self) {
        if self.until_counted > 0 {
            self.until_counted -= 1;
            return;
        }
        self.depth = Count::of(&self.builder);
        self.until_counted = MAX_DEPTH.saturating_sub(self.depth) / 2;
    }
}

/// Removes the attributes of formatting elements, except that hidden ones stay hidden: the standard's rule that at most three equal elements
/// wait to be reopened then bounds their list, which distinct attributes could make arbitrarily long. (Of `a` at most one waits.)
fn strip(tag: &mut Tag) {
    if is_formatting(&tag.name) {
        tag.attrs.retain(|attribute| hidden::hides(&attribute.name.local, &attribute.value));
        tag.attrs.truncate(1);
        for attribute in &mut tag.attrs {
            attribute.name.local = local_name!("hidden");
            attribute.value.clear();
        }
    }
}

fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        names!("b" "big" "code" "em" "font" "i" "nobr" "s" "small" "strike" "strong" "tt" "u")
    )
}

/// Whether it is a script or style, of which only structured data is read.
fn is_code(tag: &Tag) -> bool {
    let is_data = |attribute: &Attribute| match attribute.name.local {
        local_name!("type") => declared::is_json(&attribute.value),
        local_name!("id") => declared::is_page_data(&attribute.value),
        _ => false,
    };
    match tag.name {
        local_name!("script") => !tag.attrs.iter().any(is_data),
        local_name!("style") => true,
        _ => false,
    }
}

/// Whether the tree builder or the walk reads an attribute with this name of such an element.
fn is_read(tag: &LocalName, name: &str) -> bool {
    match name.len() {
        _ if is_formatting(tag) => matches!(name, "aria-hidden" | "hidden" | "style"),
        2 => name == "id",
        3 => matches!(name, "rel" | "src"),
        4 => matches!(name, "href" | "lang" | "name" | "role" | "type"),
        5 => matches!(name, "class" | "style"),
        6 => matches!(name, "hidden" | "srcdoc"),
        7 => name == "content",
        8 => matches!(name, "encoding" | "itemprop" | "itemtype" | "property"),
        10 => matches!(name, "http-equiv" | "xlink:href"),
        11 => name == "aria-hidden",
        13 => name == "aria-expanded",
        14 => name == "shadowrootmode",
        _ => false,
    }
}

/// Counts the handles held by the tree builder: open elements and waiting formatting elements.
struct Count(Cell<usize>);

impl Count {
    fn of(builder: &TreeBuilder<NodeId, HtmlTreeSink>) -> usize {
        let count = Self(Cell::new(0));
        builder.trace_handles(&count);
        // The document and the head are traced as well, but are not open.
        count.0.get().saturating_sub(2)
    }
}

impl Tracer for Count {
    type Handle = NodeId;

    fn trace_handle(&self, _: &NodeId) {
        self.0.set(self.0.get() + 1);
    }
}
