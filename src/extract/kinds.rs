//! What kind of page a page is: an article, a discussion, a list of other pages, or a product.
//!
//! The names of elements say so (`names.txt`), or structured data. An article is read by its prose. Of a discussion all posts are content, of
//! a list all entries; what buyers wrote does not belong to a product.

use super::{
    blocks::Measured,
    declared::{Declaration, Declared},
    names::{Hint, Mark},
    numbers::{SEVERAL, is_half, is_much},
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

impl PageKind {
    pub(super) fn of(page: &Measured<'_>, declared: &Declared) -> Self {
        let has = |mark: Mark| {
            let is_one = |block: usize| {
                page.has(block, mark) && page.blocks[block].hint != Hint::Boilerplate
            };
            (0..page.blocks.len()).any(is_one)
        };
        let is_product = declared.says(Declaration::Product);
        let is_article = declared.says(Declaration::Article);
        let is_website = declared.says(Declaration::Website) && !is_product;
        if declared.says(Declaration::Discussion) || is_discussion(page) {
            Self::Discussion
        } else if is_product && has(Mark::Goods) && has(Mark::Price) {
            Self::Product
        } else if declared.says(Declaration::List) {
            Self::List
        } else if is_article {
            Self::Article
        } else if has(Mark::List) {
            Self::List
        } else if has(Mark::Sku) && has(Mark::Price) {
            Self::Product
        } else if is_website && lists_titles(page) {
            Self::List
        } else {
            Self::Article
        }
    }
}

/// Whether the page has the titles of several others, and hardly any headings besides.
fn lists_titles(page: &Measured<'_>) -> bool {
    let sum = page.sums[0];
    sum.linked_headings >= SEVERAL && is_half(sum.linked_headings, sum.headings)
}

/// Whether the page is a discussion: it is named so, and consists of comments, or of what is named so.
fn is_discussion(page: &Measured<'_>) -> bool {
    let own = page.own_hints();
    let prose = |is: &dyn Fn(usize) -> bool| {
        let all = page.outermost(0, is).into_iter();
        all.map(|block| page.sums[block].prose)
    };
    let is_named = |block: usize, mark| own[block] == Hint::None && page.has(block, mark);
    let most = prose(&|block| is_named(block, Mark::Discussion)).max().unwrap_or(0);
    let comments: usize = prose(&|block| own[block] == Hint::Comments).sum();
    let of_forum: usize = prose(&|block| is_named(block, Mark::Thread)).sum();
    let all = page.sums[0].prose;
    is_much(most, all.max(1))
        || (most > 0 && is_half(comments, all))
        || (of_forum > 0 && is_half(of_forum, all))
}
