//! What kind of page a page is: an article, a discussion, a list of other pages, or a product.
//!
//! The names of elements say so (`kinds.txt`), or structured data. An article is read by its prose. Of a discussion all posts are content, of
//! a list all entries, of a product what stands around its description as well.

use std::sync::LazyLock;

use html5ever::local_name;
use scraper::node::Element;

use super::{
    blocks::{Block, Kind},
    boilerplate::{Hint, Words, attribute, with_lower_case, words_of},
    declared::{Declaration, Declared},
    measure::Sum,
};

static KINDS: LazyLock<Words<Word>> = LazyLock::new(|| {
    Words::parse(include_str!("kinds.txt"), |heading| match heading {
        "discussion" => Word::Discussion,
        "thread" => Word::Thread,
        "card" => Word::Card,
        "user" => Word::User,
        "of-user" => Word::OfUser,
        "goods" => Word::Goods,
        "sku" => Word::Sku,
        "price" => Word::Price,
        _ => Word::List,
    })
});

/// The meaning of a word of `kinds.txt`, which explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Discussion,
    Thread,
    Card,
    User,
    OfUser,
    Goods,
    Sku,
    Price,
    List,
}

/// What the names of an element say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    const DISCUSSION: u8 = 1;
    const THREAD: u8 = 2;
    const CARD: u8 = 4;
    const GOODS: u8 = 8;
    const PRICE: u8 = 16;
    const LIST: u8 = 32;
    /// A page of one product.
    const SKU: u8 = 64;

    pub(super) fn of(element: &Element) -> Self {
        let is_outermost = matches!(element.name.local, names!("html" "body" "main"));
        let mut marks = 0;
        for (name, value) in &element.attrs {
            if matches!(name.local, names!("class" "id")) {
                for name in value.split_ascii_whitespace() {
                    marks |= with_lower_case(name, |lower| marks_of(name, lower)).unwrap_or(0);
                }
            }
        }
        let means_list = is_outermost
            && marks & Self::LIST != 0
            && attribute(element, &local_name!("class"))
                .is_some_and(|classes| !classes.contains("single"));
        let is_of_goods = is_outermost && marks & (Self::GOODS | Self::LIST) == Self::GOODS;
        Self(
            if means_list { marks } else { marks & !Self::LIST }
                | if is_of_goods { Self::SKU } else { 0 },
        )
    }

    fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }

    /// Whether it is about who wrote a post.
    pub(super) fn is_card(self) -> bool {
        self.has(Self::CARD)
    }

    /// Whether it is about something that is sold.
    pub(super) fn is_goods(self) -> bool {
        self.has(Self::GOODS)
    }
}

fn marks_of(name: &str, lower: &str) -> u8 {
    let (mut marks, mut words, mut of_user, mut has_user) = (0, 0, 0, false);
    for (start, end) in words_of(name) {
        words += 1;
        match KINDS.get(&lower[start..end]) {
            Some(Word::Discussion) => marks |= Marks::DISCUSSION,
            Some(Word::Thread) => marks |= Marks::THREAD,
            Some(Word::Card) => marks |= Marks::CARD,
            Some(Word::Goods) => marks |= Marks::GOODS,
            Some(Word::Sku) => marks |= Marks::GOODS | Marks::SKU,
            Some(Word::Price) => marks |= Marks::PRICE,
            Some(Word::List) => marks |= Marks::LIST,
            Some(word @ (Word::User | Word::OfUser)) => {
                of_user += 1;
                has_user |= word == Word::User;
            }
            None => {}
        }
    }
    if KINDS.get(lower) == Some(Word::Thread) {
        marks |= Marks::THREAD;
    }
    // A class that says how a page was filed.
    if words > 1 && (lower.starts_with("category-") || lower.starts_with("tag-")) {
        return 0;
    }
    if lower.bytes().any(|byte| byte.is_ascii_digit()) {
        marks &= !Marks::LIST;
    }
    if has_user && of_user == words { marks | Marks::CARD } else { marks }
}

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

impl PageKind {
    pub(super) fn of(blocks: &[Block], sums: &[Sum], declared: &Declared) -> Self {
        let has = |mark: u8| {
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
        } else {
            Self::Article
        }
    }
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
    most * 2 >= sums[0].prose.max(MUCH)
        || (most > 0 && comments * 3 >= sums[0].prose * 2)
        || (of_forum > 0 && of_forum * 2 >= sums[0].prose)
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
