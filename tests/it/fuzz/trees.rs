//! Compares trees of the tokenizer with those of html5ever's own.

#[allow(dead_code, reason = "a part of the library, which is not public")]
#[path = "../../../src/extract/tokenizer.rs"]
mod tokenizer;

use ego_tree::NodeId;
use html5ever::{
    TokenizerResult,
    buffer_queue::BufferQueue,
    tendril::StrTendril,
    tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink},
};
use scraper::{Html, HtmlTreeSink};

/// Reads a page by both tokenizers: their trees must be equal, with scripts and without.
///
/// html5ever takes each U+FEFF after a script or an encoding for a byte order mark, which only the first character of a page can be.
pub(crate) fn compare(page: &str) {
    let page = page.replace('\u{feff}', "\u{2060}");
    for runs_scripts in [true, false] {
        let builder = || builder(runs_scripts);
        let (theirs, ours) = (by_html5ever(&page, builder()), by_tokenizer(&page, builder()));
        assert!(theirs.tree == ours.tree, "{page:?}\n{}\n{}", theirs.html(), ours.html());
        assert_eq!(theirs.quirks_mode, ours.quirks_mode, "{page:?}");
    }
}

type Builder = TreeBuilder<NodeId, HtmlTreeSink>;

fn builder(runs_scripts: bool) -> Builder {
    let opts = TreeBuilderOpts { scripting_enabled: runs_scripts, ..TreeBuilderOpts::default() };
    TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), opts)
}

/// A tree builder that gets no comments and errors.
struct Quiet(Builder);

impl TokenSink for Quiet {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        match token {
            Token::CommentToken(_) | Token::ParseError(_) => TokenSinkResult::Continue,
            token => self.0.process_token(token, line),
        }
    }

    fn end(&self) {
        self.0.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.0.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn by_html5ever(page: &str, builder: Builder) -> Html {
    let tokenizer = Tokenizer::new(Quiet(builder), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(page));
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.0.sink.finish()
}

fn by_tokenizer(page: &str, builder: Builder) -> Html {
    let page = tokenizer::normalised(page);
    let mut tokens = tokenizer::Tokenizer::new(&page, |_, _| true);
    let is_foreign = || builder.adjusted_current_node_present_but_not_in_html_namespace();
    while let Some(token) = tokens.next(is_foreign) {
        let token = match token {
            tokenizer::Token::Doctype(doctype) => Token::DoctypeToken(doctype),
            tokenizer::Token::Tag(tag) => Token::TagToken(tag),
            tokenizer::Token::Text(text) => Token::CharacterTokens(StrTendril::from_slice(text)),
            tokenizer::Token::Null => Token::NullCharacterToken,
            tokenizer::Token::Flood => continue,
        };
        match builder.process_token(token, 1) {
            TokenSinkResult::RawData(kind) => tokens.state = tokenizer::State::Raw(kind),
            TokenSinkResult::Plaintext => tokens.state = tokenizer::State::Plaintext,
            _ => {}
        }
    }
    let _ = builder.process_token(Token::EOFToken, 1);
    builder.end();
    builder.sink.finish()
}
