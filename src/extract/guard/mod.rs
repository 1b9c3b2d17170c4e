//! Parses a page with limits, because html5ever has none.
//!
//! Its work is quadratic in the depth of nesting, in the formatting elements that wait to be reopened, and in the attributes of a
//! tag. The guard stands between tokenizer and tree builder and looks at their own state, never at a guess of it; a page past a
//! limit keeps what was read until then. On an ordinary page it costs a counter for each tag.

mod flood;

use std::cell::Cell;

use html5ever::{
    LocalName, TokenizerResult,
    buffer_queue::BufferQueue,
    local_name,
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink},
};
use scraper::{Html, HtmlTreeSink};

use self::flood::TagReader;
use super::Truncation;

/// Elements open at a time, formatting elements that wait to be reopened included. Browsers stop at as many.
pub(super) const MAX_DEPTH: usize = 512;
/// Attributes of a tag.
pub(super) const MAX_ATTRIBUTES: usize = 256;
/// Nodes of the tree.
pub(super) const MAX_NODES: usize = 200_000;
/// Tags, each counted as often as elements were open: so many of them may be searched for each. Even a page of all nodes that are
/// allowed stays far below, unless it is nested as no page needs to be.
const MAX_STEPS: usize = 64 * MAX_NODES;
/// Bytes given to the tokenizer at a time.
const PIECE: usize = 16 << 10;

type NodeId = <HtmlTreeSink as TreeSink>::Handle;

/// Parses `text` up to the first limit, which is returned if there was one.
///
/// Comments are left out, and so are attributes that nothing here reads, unless `for_selectors`.
pub(super) fn parse(text: &str, for_selectors: bool) -> (Html, Option<Truncation>) {
    let tokenizer = Tokenizer::new(Guard::new(for_selectors), TokenizerOpts::default());
    let input = BufferQueue::default();
    let (mut before, mut rest) = ("", text);
    let mut reader: Option<TagReader> = None;
    while !rest.is_empty() && tokenizer.sink.stopped.get().is_none() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        tokenizer.sink.silent.set(true);
        input.push_back(StrTendril::from_slice(piece));
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        if tokenizer.sink.silent.get() {
            // The whole piece lies inside one tag or comment, whose attributes are seen only when it ends.
            let reader = reader.get_or_insert_with(|| TagReader::new(before));
            reader.read(piece);
            if reader.attributes() > MAX_ATTRIBUTES {
                tokenizer.sink.stop(Truncation::Attributes);
            }
        } else {
            reader = None;
        }
        (before, rest) = (piece, after);
    }
    tokenizer.end();
    let Guard { builder, stopped, .. } = tokenizer.sink;
    (builder.sink.finish(), stopped.get())
}

/// A tree builder with limits.
struct Guard {
    builder: TreeBuilder<NodeId, HtmlTreeSink>,
    /// Whether the tokenizer has passed nothing on since this was set.
    silent: Cell<bool>,
    /// Elements open when they were counted last, and tags until they are counted again: not before can they reach the limit.
    depth: Cell<usize>,
    until_counted: Cell<usize>,
    steps: Cell<usize>,
    stopped: Cell<Option<Truncation>>,
    /// Whether attributes stay that only selectors read.
    keeps_attributes: bool,
}

impl Guard {
    fn new(keeps_attributes: bool) -> Self {
        let sink = HtmlTreeSink::new(Html::new_document());
        Self {
            builder: TreeBuilder::new(sink, TreeBuilderOpts::default()),
            silent: Cell::new(true),
            depth: Cell::new(0),
            until_counted: Cell::new(MAX_DEPTH / 2),
            steps: Cell::new(0),
            stopped: Cell::new(None),
            keeps_attributes,
        }
    }

    fn stop(&self, why: Truncation) {
        self.stopped.set(Some(why));
    }

    /// Counts a tag and strips it of what is not needed; finds the limit that it would break.
    fn admit(&self, tag: &mut Tag) -> Option<Truncation> {
        if self.builder.sink.0.borrow().tree.values().len() > MAX_NODES {
            return Some(Truncation::Nodes);
        }
        if tag.attrs.len() > MAX_ATTRIBUTES {
            return Some(Truncation::Attributes);
        }
        strip(tag, self.keeps_attributes);
        self.count_open();
        self.steps.set(self.steps.get() + self.depth.get());
        let too_deep = self.depth.get() >= MAX_DEPTH && tag.kind == TagKind::StartTag;
        (too_deep || self.steps.get() > MAX_STEPS).then_some(Truncation::Depth)
    }

    /// Text searches only the formatting elements, and those faster.
    fn admit_text(&self) -> Option<Truncation> {
        self.steps.set(self.steps.get() + self.depth.get() / 16);
        (self.steps.get() > MAX_STEPS).then_some(Truncation::Depth)
    }

    /// Counts the open elements if they may have become too many. A tag rarely opens more than two, so half of what is left of the
    /// limit may pass between two counts.
    fn count_open(&self) {
        let until = self.until_counted.get();
        if until > 0 {
            self.until_counted.set(until - 1);
            return;
        }
        self.depth.set(Count::of(&self.builder));
        self.until_counted.set(MAX_DEPTH.saturating_sub(self.depth.get()) / 2);
    }
}

impl TokenSink for Guard {
    type Handle = NodeId;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if let Token::ParseError(_) = token {
            return TokenSinkResult::Continue;
        }
        self.silent.set(false);
        let goes_on = match &mut token {
            Token::EOFToken => true,
            Token::CommentToken(_) => false,
            _ if self.stopped.get().is_some() => false,
            token => {
                self.stopped.set(match token {
                    Token::TagToken(tag) => self.admit(tag),
                    _ => self.admit_text(),
                });
                self.stopped.get().is_none()
            }
        };
        if goes_on { self.builder.process_token(token, line) } else { TokenSinkResult::Continue }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Removes attributes that neither the tree builder nor the walk reads.
///
/// Formatting elements lose all: then the standard's rule that at most three equal ones wait to be reopened bounds their list,
/// which distinct attributes would otherwise let grow without end. (Of `a` never more than one waits.)
fn strip(tag: &mut Tag, keeps_attributes: bool) {
    if tag.attrs.is_empty() {
        return;
    }
    match tag.name {
        local_name!("b")
        | local_name!("big")
        | local_name!("code")
        | local_name!("em")
        | local_name!("font")
        | local_name!("i")
        | local_name!("nobr")
        | local_name!("s")
        | local_name!("small")
        | local_name!("strike")
        | local_name!("strong")
        | local_name!("tt")
        | local_name!("u") => tag.attrs.clear(),
        _ if keeps_attributes => {}
        _ => tag.attrs.retain(|attribute| is_read(&attribute.name.local)),
    }
}

fn is_read(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("aria-hidden")
            | local_name!("class")
            | local_name!("content")
            | local_name!("encoding")
            | local_name!("hidden")
            | local_name!("href")
            | local_name!("http-equiv")
            | local_name!("id")
            | local_name!("lang")
            | local_name!("name")
            | local_name!("rel")
            | local_name!("role")
            | local_name!("src")
            | local_name!("style")
            | local_name!("type")
    )
}

/// Counts what the tree builder holds on to: the open elements and the formatting elements that wait.
struct Count(Cell<usize>);

impl Count {
    fn of(builder: &TreeBuilder<NodeId, HtmlTreeSink>) -> usize {
        let count = Self(Cell::new(0));
        builder.trace_handles(&count);
        // The document and the head are traced too, but are not open.
        count.0.get().saturating_sub(2)
    }
}

impl Tracer for Count {
    type Handle = NodeId;

    fn trace_handle(&self, _: &NodeId) {
        self.0.set(self.0.get() + 1);
    }
}
