//! Parses a page with limits, because html5ever has none.
//!
//! html5ever's work is quadratic in the depth of nesting, in the number of formatting elements that wait to be reopened, and in the
//! number of attributes of a tag. [`Guard`] sits between tokenizer and tree builder and reads their actual state; a page that exceeds a
//! limit keeps what was parsed before it. On an ordinary page this costs a counter per tag.

use std::cell::Cell;

use ego_tree::NodeId;
use html5ever::{
    Attribute, LocalName, TokenizerResult,
    buffer_queue::BufferQueue,
    local_name,
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink},
};
use scraper::{Html, HtmlTreeSink};

use super::{Truncation, declared, hidden};

/// Limit of open elements, including formatting elements that wait to be reopened. Browsers have the same limit.
const MAX_DEPTH: usize = 512;
/// Limit of attributes of a tag.
const MAX_ATTRIBUTES: usize = 256;
/// Limit of nodes in the tree.
const MAX_NODES: usize = 200_000;
/// Limit of the sum over all tags of the elements open at that tag, which a tag may have to search. Even a page with the maximal number
/// of nodes stays far below it, unless it is nested as no real page is.
const MAX_STEPS: usize = 64 * MAX_NODES;
/// Limit of text, in bytes. Scripts and styles do not count, unless they have structured data.
const MAX_TEXT: usize = 5 << 20;
/// Bytes passed to the tokenizer at a time.
const PIECE: usize = 16 << 10;

/// Parses `text` up to the first exceeded limit, which is returned.
///
/// Comments, styles and scripts without structured data are left out, and attributes that nothing here reads as well, unless `for_selectors`.
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
        // The tree would keep a message for every NUL and stray tag.
        tokenizer.sink.builder.sink.0.borrow_mut().errors.clear();
        if tokenizer.sink.silent.get() {
            // The whole piece is inside one tag or comment. The tokenizer reports its attributes only at its end.
            let reader = reader.get_or_insert_with(|| TagReader::new(before));
            reader.read(piece, false);
            if reader.attributes() > MAX_ATTRIBUTES {
                tokenizer.sink.stopped.set(Some(Truncation::Attributes));
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
    /// Whether the tokenizer has emitted no token since this was set.
    silent: Cell<bool>,
    /// Open elements at the last count, and tags until the next count; the limit cannot be reached before.
    depth: Cell<usize>,
    until_counted: Cell<usize>,
    steps: Cell<usize>,
    /// Bytes of text so far.
    text: Cell<usize>,
    /// Whether the text that follows belongs to a script or style.
    is_code: Cell<bool>,
    stopped: Cell<Option<Truncation>>,
    head: Cell<Head>,
    /// Whether to keep attributes that only selectors read.
    keeps_attributes: bool,
}

impl Guard {
    fn new(keeps_attributes: bool) -> Self {
        let sink = HtmlTreeSink::new(Html::new_document());
        // No scripts run, so `noscript` is an element like others.
        let opts = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
        Self {
            builder: TreeBuilder::new(sink, opts),
            silent: Cell::new(true),
            depth: Cell::new(0),
            until_counted: Cell::new(MAX_DEPTH / 2),
            steps: Cell::new(0),
            text: Cell::new(0),
            is_code: Cell::new(false),
            stopped: Cell::new(None),
            head: Cell::new(Head::Implied),
            keeps_attributes,
        }
    }

    /// Counts a tag and strips its unneeded attributes. Returns the limit that it would exceed.
    fn admit(&self, tag: &mut Tag) -> Option<Truncation> {
        if self.builder.sink.0.borrow().tree.values().len() > MAX_NODES {
            return Some(Truncation::Nodes);
        }
        if tag.attrs.len() > MAX_ATTRIBUTES {
            return Some(Truncation::Attributes);
        }
        strip(tag, self.keeps_attributes);
        self.is_code.set(tag.kind == TagKind::StartTag && is_code(tag));
        self.count_open();
        self.steps.set(self.steps.get() + self.depth.get());
        let too_deep = self.depth.get() >= MAX_DEPTH && tag.kind == TagKind::StartTag;
        (too_deep || self.steps.get() > MAX_STEPS).then_some(Truncation::Depth)
    }

    /// Whether a token is one that would end the head, in a `noscript` there: the image of a visitor counter. What follows belongs to the
    /// head all the same, as it does for readers who run scripts.
    fn is_pixel(&self, token: &Token) -> bool {
        let Token::TagToken(tag) = token else { return self.head.get() == Head::Noscript };
        let is_start = tag.kind == TagKind::StartTag;
        let before = self.head.get();
        let after = match tag.name {
            local_name!("head") if is_start => Head::Inside,
            names!("head" "body") => Head::Outside,
            local_name!("noscript") => match before {
                Head::Inside if is_start => Head::Noscript,
                Head::Noscript => Head::Inside,
                Head::Implied => {
                    self.open_body();
                    Head::Outside
                }
                _ => before,
            },
            names!("html" "base" "link" "meta" "script" "style" "template" "title") => before,
            _ if is_start && before != Head::Noscript => Head::Outside,
            _ => before,
        };
        self.head.set(after);
        let stays = before == Head::Noscript && after == Head::Noscript;
        stays && !matches!(tag.name, names!("link" "meta" "style"))
    }

    /// Opens the body of a page without a head, so that a `noscript` at its start has its text and keeps it.
    fn open_body(&self) {
        let body = Tag {
            kind: TagKind::StartTag,
            name: local_name!("body"),
            self_closing: false,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        };
        // This tag never asks the tokenizer for anything.
        let _: TokenSinkResult<NodeId> = self.builder.process_token(Token::TagToken(body), 0);
    }

    /// Counts a text, which searches only the formatting elements, and those faster.
    fn admit_text(&self, token: &Token) -> Option<Truncation> {
        let length = if let Token::CharacterTokens(text) = token { text.len() } else { 1 };
        self.text.set(self.text.get() + length);
        self.steps.set(self.steps.get() + self.depth.get() / 16);
        if self.text.get() > MAX_TEXT {
            return Some(Truncation::Text);
        }
        (self.steps.get() > MAX_STEPS).then_some(Truncation::Depth)
    }

    /// Counts the open elements if they may have exceeded the limit. A tag rarely opens more than two, so the number of tags between
    /// two counts is half of the distance to the limit.
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

/// Where a token is, with respect to the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// At the start of the page, before a tag of head or body.
    Implied,
    Inside,
    /// In a `noscript` in the head.
    Noscript,
    Outside,
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
            Token::CharacterTokens(_) if self.is_code.get() => false,
            token if self.stopped.get().is_some() || self.is_pixel(token) => false,
            token => {
                self.stopped.set(match token {
                    Token::TagToken(tag) => self.admit(tag),
                    text => self.admit_text(text),
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
/// Formatting elements lose all attributes, except that hidden ones stay hidden: the standard's rule that at most three equal elements wait
/// to be reopened then bounds their list, which distinct attributes could make arbitrarily long. (Of `a` at most one waits.)
fn strip(tag: &mut Tag, keeps_attributes: bool) {
    match tag.name {
        names!("b" "big" "code" "em" "font" "i" "nobr" "s" "small" "strike" "strong" "tt" "u") => {
            tag.attrs.retain(|attribute| hidden::hides(&attribute.name.local, &attribute.value));
            tag.attrs.truncate(1);
            for attribute in &mut tag.attrs {
                attribute.name.local = local_name!("hidden");
                attribute.value.clear();
            }
        }
        _ if keeps_attributes => {}
        _ => tag.attrs.retain(|attribute| is_read(&attribute.name.local)),
    }
}

/// Whether it is a script or style, of which only structured data is read.
fn is_code(tag: &Tag) -> bool {
    let is_data = |attribute: &Attribute| {
        attribute.name.local == local_name!("type") && declared::is_json(&attribute.value)
    };
    match tag.name {
        local_name!("script") => !tag.attrs.iter().any(is_data),
        local_name!("style") => true,
        _ => false,
    }
}

fn is_read(name: &LocalName) -> bool {
    matches!(
        *name,
        names!(
            "aria-hidden" "class" "content" "encoding" "hidden" "href" "http-equiv" "id" "itemprop" "itemtype" "lang" "name" "property" "rel" "role" "src" "style" "type"
        )
    )
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

/// Counts the attributes of a tag whose end the tokenizer has not yet seen.
///
/// Where the tag starts is unknown, so the text before is read in all possible ways at once: a reading starts at each `<` and ends at the
/// `>` that would close its tag. Readings in the same state are merged, so that the work is linear. In what the tokenizer reported nothing
/// of, a tag can start only behind `</>`, which is nothing; all other `<` there are part of a value, such as markup for a frame.
struct TagReader {
    /// The largest number of attributes of any reading in each [`State`].
    readings: [Option<usize>; STATES],
    /// The last bytes read.
    last: [u8; 3],
}

const STATES: usize = 9;

/// The position of a reading in a tag: the tokenizer's states of the same names in the HTML Standard, 13.2.5.
#[derive(Clone, Copy)]
enum State {
    Open,
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
}

use State::{
    AfterName, BeforeName, BeforeValue, DoubleQuoted, Name, Open, SingleQuoted, TagName, Unquoted,
};

impl TagReader {
    /// A reader of what follows `before`, in which the tag must have started.
    fn new(before: &str) -> Self {
        let mut reader = Self { readings: [None; STATES], last: [0; 3] };
        reader.read(before, true);
        reader
    }

    /// Reads more text. `may_start` says whether a tag may start anywhere in it.
    fn read(&mut self, text: &str, may_start: bool) {
        for &byte in text.as_bytes() {
            let mut next = [None; STATES];
            for state in ALL {
                let Some(count) = self.readings[state as usize] else { continue };
                let Some(to) = state.after(byte) else { continue };
                let begins = matches!((state, to), (BeforeName | AfterName, Name));
                let slot = &mut next[to as usize];
                *slot = (*slot).max(Some(count + usize::from(begins)));
            }
            if byte == b'<' && (may_start || self.last == *b"</>") {
                next[Open as usize] = next[Open as usize].max(Some(0));
            }
            self.readings = next;
            self.last = [self.last[1], self.last[2], byte];
        }
    }

    /// The largest number of attributes that the tag can have so far.
    fn attributes(&self) -> usize {
        self.readings.iter().flatten().copied().max().unwrap_or(0)
    }
}

const ALL: [State; STATES] =
    [Open, TagName, BeforeName, Name, AfterName, BeforeValue, DoubleQuoted, SingleQuoted, Unquoted];

impl State {
    /// The state after one more byte; `None` if the tag ends there or was none.
    fn after(self, byte: u8) -> Option<Self> {
        let space = byte.is_ascii_whitespace();
        Some(match (self, byte) {
            (Open, b'/') => Open,
            (Open, _) if byte.is_ascii_alphabetic() => TagName,
            (DoubleQuoted, b'"') | (SingleQuoted, b'\'') => BeforeName,
            (DoubleQuoted | SingleQuoted, _) => self,
            (Open, _) | (_, b'>') => return None,
            (BeforeValue, b'"') => DoubleQuoted,
            (BeforeValue, b'\'') => SingleQuoted,
            (BeforeValue, _) if space => BeforeValue,
            (BeforeValue, _) => Unquoted,
            (Name | AfterName, _) if space => AfterName,
            (Name | AfterName, b'=') => BeforeValue,
            (TagName | BeforeName | Unquoted, _) if space => BeforeName,
            (TagName | BeforeName | Name | AfterName, b'/') => BeforeName,
            (TagName | Unquoted, _) => self,
            (BeforeName | Name | AfterName, _) => Name,
        })
    }
}
