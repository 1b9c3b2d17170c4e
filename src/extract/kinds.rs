//! What kind of page a page is: an article, a discussion, a list of other pages, or a product.
//!
//! The names of elements say so (`marks.rs`), or structured data. An article is read by its prose. Of a discussion all posts are content, of
//! a list all entries, of a product what stands around its description as well.

use super::{
    blocks::Block,
    blocks::Sum,
    boilerplate::Hint,
    declared::{Declaration, Declared},
    marks::Marks,
};

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Article,
    /// What readers write is the content.
    Discussion,
    Product,
    /// A list of other pages.
    List,
}

/// Prose that a page has if it is more than a stub; see [`is_discussion`].
const MUCH: usize = 1500;
/// Headings that are links, by which a page is a list.
const TITLES: usize = 5;

impl PageKind {
    pub(super) fn of(blocks: &[Block], sums: &[Sum], declared: &Declared) -> Self {
        let has = |mark: u16| {
            blocks.iter().any(|block| block.marks.has(mark) && block.hint != Hint::Boilerplate)
        };
        if declared.says(Declaration::Discussion) || is_discussion(blocks, sums) {
            Self::Discussion
        } else if declared.says(Declaration::Product) && has(Marks::GOODS) && has(Marks::PRICE) {
            Self::Product
        } else if declared.says(Declaration::List)
            || (has(Marks::LIST) && !declared.says(Declaration::Article))
        {
            Self::List
        } else if !declared.says(Declaration::Article) && has(Marks::SKU) && has(Marks::PRICE) {
            Self::Product
        } else if declared.says(Declaration::Website)
            && !declared.says(Declaration::Article)
            && !declared.says(Declaration::Product)
            && lists_titles(&sums[0])
        {
            Self::List
        } else {
            Self::Article
        }
    }
}

/// Whether the page has the titles of several others, and hardly any headings besides.
fn lists_titles(page: &Sum) -> bool {
    page.linked_headings >= TITLES && page.linked_headings * 2 >= page.headings
}

/// Whether the page is a discussion: it is named so, and consists of comments, or of what is named so.
fn is_discussion(blocks: &[Block], sums: &[Sum]) -> bool {
    let mut hints = vec![Hint::None; blocks.len()];
    let (mut most, mut comments, mut of_forum, mut end) = (0, 0, 0, 0);
    for index in 1..blocks.len() {
        let (inherited, own) = (hints[blocks[index].parent], blocks[index].hint);
        hints[index] = inherited.max(own);
        if inherited < Hint::Comments && own == Hint::Comments {
            comments += sums[index].prose;
        }
        if hints[index] == Hint::None && blocks[index].marks.has(Marks::DISCUSSION) {
            most = most.max(sums[index].prose);
        }
        if hints[index] == Hint::None && blocks[index].marks.has(Marks::THREAD) && index >= end {
            of_forum += sums[index].prose;
            end = blocks[index].end;
        }
    }
    most * 3 >= sums[0].prose.max(MUCH)
        || (most > 0 && comments * 3 >= sums[0].prose * 2)
        || (of_forum > 0 && of_forum * 2 >= sums[0].prose)
}

/// Whether most of the page is in an element that is named a thread, however little that is.
pub(super) fn is_thread(blocks: &[Block], sums: &[Sum]) -> bool {
    (1..blocks.len()).any(|index| {
        blocks[index].marks.has(Marks::DISCUSSION) && sums[index].prose * 2 >= sums[0].prose.max(1)
    })
}
