//! How elements divide a page's text: which are skipped, which start a line, and the tree of the blocks that do.

use html5ever::{LocalName, local_name};
use scraper::node::Element;

use super::{
    boilerplate::{Hint, hint_of, is_article_body, is_main, shape_of},
    marks::Marks,
    text::Gap,
};

/// How an element affects the flow of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Neither the element nor its content is text.
    Skipped,
    /// The text is a label, but links in it are links.
    Control,
    Inline,
    /// A block that does not interrupt its line: what stands in for a script.
    Fallback,
    Cell,
    Block,
}

impl Flow {
    pub(super) fn of(name: &LocalName) -> Self {
        match *name {
            names!("td" "th") => Self::Cell,
            names!(
                "script" "style" "template" "title" "svg" "iframe" "noframes" "noembed" "select" "textarea"
                "datalist" "canvas" "audio" "video" "progress" "meter" "rp" "rt"
            ) => Self::Skipped,
            names!("button") => Self::Control,
            names!("noscript") => Self::Fallback,
            names!(
                "address" "article" "aside" "blockquote" "body" "br" "caption" "center" "dd" "details" "dialog" "dir" "div" "dl" "dt"
                "fieldset" "figcaption" "figure" "footer" "form" "h1" "h2" "h3" "h4" "h5" "h6" "header" "hgroup" "hr" "legend" "li"
                "listing" "main" "menu" "nav" "ol" "p" "plaintext" "pre" "search" "section" "summary" "table" "tbody" "tfoot"
                "thead" "tr" "ul" "xmp"
            ) => Self::Block,
            _ => Self::Inline,
        }
    }

    /// Whether the element is a block of its own.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Fallback | Self::Cell | Self::Block)
    }

    /// What separates the element from the text around it.
    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Skipped | Self::Control | Self::Inline | Self::Fallback => Gap::None,
            Self::Cell => Gap::Tab,
            Self::Block => Gap::Line,
        }
    }
}

/// The kinds of blocks that the choice of the body text distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// May contain the body text: `div`, `article` and others.
    Container,
    Paragraph,
    Heading,
    List,
    Item,
    /// A table or a part of one other than a cell.
    Table,
    /// A cell of a table, which may contain the body text as well.
    Cell,
    Preformatted,
}

impl Kind {
    fn of(name: &LocalName) -> Self {
        match *name {
            names!("p") => Self::Paragraph,
            names!("h1" "h2" "h3" "h4" "h5" "h6") => Self::Heading,
            names!("ul" "ol" "dl" "menu" "dir") => Self::List,
            names!("li" "dt" "dd") => Self::Item,
            names!("table" "thead" "tbody" "tfoot" "tr") => Self::Table,
            names!("td" "th") => Self::Cell,
            names!("pre" "listing") => Self::Preformatted,
            _ => Self::Container,
        }
    }
}

/// What an element is in the page, by its tag or role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landmark {
    None,
    /// The main content.
    Main,
    Article,
    /// Something beside the main content.
    Beside,
    /// It stands in for a script, and may repeat what the script showed.
    Fallback,
}

impl Landmark {
    fn of(element: &Element) -> Self {
        match element.name.local {
            local_name!("article") => Self::Article,
            local_name!("noscript") => Self::Fallback,
            names!("aside" "footer" "header" "label" "nav" "search") => Self::Beside,
            _ if is_main(element) => Self::Main,
            _ => Self::None,
        }
    }
}

/// An element that starts a line or a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The index of the block that contains it.
    pub(super) parent: usize,
    /// The index after the last block that it contains.
    pub(super) end: usize,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
    /// Whether it says that it holds the body of an article.
    pub(super) is_body: bool,
    /// What its names say of the kind of the page.
    pub(super) marks: Marks,
    /// Whether it asks for consent to cookies.
    pub(super) is_consent: bool,
    pub(super) landmark: Landmark,
    /// Equal for elements of one kind; see [`shape_of`].
    pub(super) shape: u32,
}

/// The blocks of a page in page order. The first one is the page; every other one follows its parent.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    open: usize,
}

impl Blocks {
    pub(super) fn new() -> Self {
        let page = Block {
            parent: 0,
            end: 0,
            kind: Kind::Container,
            hint: Hint::None,
            is_body: false,
            marks: Marks::default(),
            is_consent: false,
            landmark: Landmark::None,
            shape: 0,
        };
        Self { all: vec![page], open: 0 }
    }

    /// Opens a block in the innermost open one and returns its index.
    pub(super) fn open(&mut self, element: &Element, is_boilerplate: bool) -> usize {
        let kind = Kind::of(&element.name.local);
        let hint = if is_boilerplate { Hint::Boilerplate } else { hint_of(element) };
        let is_body = kind != Kind::Heading && is_article_body(element);
        self.all.push(Block {
            parent: self.open,
            end: 0,
            kind,
            hint,
            is_body,
            marks: Marks::of(element),
            is_consent: false,
            landmark: Landmark::of(element),
            shape: shape_of(element),
        });
        self.open = self.all.len() - 1;
        self.open
    }

    /// Closes the innermost open block and returns the index of its parent.
    pub(super) fn close(&mut self) -> usize {
        let end = self.all.len();
        let block = &mut self.all[self.open];
        block.end = end;
        self.open = block.parent;
        self.open
    }

    pub(super) fn finish(mut self) -> Vec<Block> {
        self.all[0].end = self.all.len();
        self.all
    }
}
