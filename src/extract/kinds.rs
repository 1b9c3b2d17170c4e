//! What kind of page a page is: an article, a discussion, a list of other pages, or a product.
//!
//! The names of elements say so (`marks.rs`), or structured data. An article is read by its prose. Of a discussion all posts are content, of
//! a list all entries, of a product what stands around its description as well.

use super::{
    blocks::Sum,
    blocks::{Block, Kind},
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

/// Text that makes a post of a list, and the elements around it in which its title is looked for.
const LEAST_POST: usize = 20;
const MOST_STEPS: usize = 4;
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
            || (!declared.says(Declaration::Article) && lists_posts(blocks, sums))
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

/// Whether the page is a list of whole posts, whose titles are all links.
fn lists_posts(blocks: &[Block], sums: &[Sum]) -> bool {
    let is_post = |&body: &usize| {
        blocks[body].is_body && blocks[body].hint == Hint::None && sums[body].bytes >= LEAST_POST
    };
    let posts: Vec<usize> = (1..blocks.len()).filter(is_post).collect();
    let Some(&largest) = posts.iter().max_by_key(|&&post| sums[post].bytes) else { return false };
    if !has_linked_title(blocks, sums, &posts, largest) {
        return false;
    }
    let is_other = |&post: &usize| {
        let is_outside = post >= blocks[largest].end || blocks[post].end <= largest;
        is_outside
            && blocks[post].shape == blocks[largest].shape
            && has_linked_title(blocks, sums, &posts, post)
    };
    let others: Vec<usize> = posts.iter().copied().filter(is_other).collect();
    let all = sums[largest].prose + others.iter().map(|&post| sums[post].prose).sum::<usize>();
    !others.is_empty() && all * 4 >= sums[0].prose * 3
}

/// Whether a link is the heading in front of a post, nearer than any other post.
fn has_linked_title(blocks: &[Block], sums: &[Sum], posts: &[usize], post: usize) -> bool {
    let mut block = post;
    let mut steps = 0;
    while block > 0 && sums[block].headings == sums[post].headings && steps < MOST_STEPS {
        block = blocks[block].parent;
        steps += 1;
    }
    let (from, to) = (block, blocks[block].end);
    // Around a post are at most as many others as there are steps.
    let before = posts.partition_point(|&other| other < post);
    let nearest =
        posts[..before].iter().rev().take(MOST_STEPS + 1).take_while(|&&other| other >= from);
    let has_one_before = nearest.filter(|&&other| blocks[other].end <= post).count() > 0;
    let after = posts.partition_point(|&other| other < blocks[post].end);
    let has_one_after = posts.get(after).is_some_and(|&other| other < to);
    if block == 0 || has_one_before || has_one_after {
        return false;
    }
    let heading = (from..post).find(|&block| blocks[block].kind == Kind::Heading);
    heading.is_some_and(|heading| sums[heading].linked_headings > 0)
}
