//! The blocks of a page: the elements that stand on lines of their own, as a tree in page order.

use html5ever::local_name;
use scraper::node::Element;

use super::hints::{Hint, hint_of};

/// What sort of block an element is, as far as the choice of the body text cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// May hold the body text: `div`, `article`, a cell of a table …
    Container,
    Paragraph,
    Heading,
    List,
    Item,
    /// A table or a part of one that is no cell.
    Table,
    /// A cell of a table, which may hold the body text too.
    Cell,
    Preformatted,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) parent: usize,
    /// Behind the last block in it.
    pub(super) end: usize,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
}

/// All blocks. The first is the page, and every other follows its parent.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    open: usize,
}

impl Blocks {
    pub(super) fn new() -> Self {
        let page = Block { parent: 0, end: 0, kind: Kind::Container, hint: Hint::None };
        Self { all: vec![page], open: 0 }
    }

    /// Opens a block in the innermost open one, and returns its place.
    pub(super) fn open(&mut self, element: &Element, is_furniture: bool) -> usize {
        let kind = kind_of(element);
        let hint = if is_furniture { Hint::Furniture } else { hint_of(element) };
        self.all.push(Block { parent: self.open, end: 0, kind, hint });
        self.open = self.all.len() - 1;
        self.open
    }

    /// Closes the innermost open block, and returns the place of the one around it.
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

fn kind_of(element: &Element) -> Kind {
    match element.name.local {
        local_name!("p") => Kind::Paragraph,
        local_name!("h1")
        | local_name!("h2")
        | local_name!("h3")
        | local_name!("h4")
        | local_name!("h5")
        | local_name!("h6") => Kind::Heading,
        local_name!("ul")
        | local_name!("ol")
        | local_name!("dl")
        | local_name!("menu")
        | local_name!("dir") => Kind::List,
        local_name!("li") | local_name!("dt") | local_name!("dd") => Kind::Item,
        local_name!("table")
        | local_name!("thead")
        | local_name!("tbody")
        | local_name!("tfoot")
        | local_name!("tr") => Kind::Table,
        local_name!("td") | local_name!("th") => Kind::Cell,
        local_name!("pre") | local_name!("listing") => Kind::Preformatted,
        _ => Kind::Container,
    }
}
