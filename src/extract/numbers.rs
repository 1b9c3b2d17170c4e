//! The numbers that decide what is content: lengths in bytes, how often something recurs, and parts of a whole.
//!
//! They were tuned as `mod.rs` describes. Most comparisons are between sums over many lines, and the numbers are far from typical values.

/// Text outside of links and headings that makes a block a post.
pub(super) const POST: usize = 30;
/// A line of this length is prose if it has the punctuation of a sentence; the name of who wrote a post is shorter.
pub(super) const SENTENCE: usize = 40;
/// A line of this length is prose without punctuation; what every post has beside its text is shorter.
pub(super) const LINE: usize = 100;
/// With less prose a page is a list, and a name that hides it is believed.
pub(super) const LEAST: usize = 140;
/// With less prose a page is a stub: comments are its content, and so are parts with misleading names. Prose of this length around
/// the content belongs to it.
pub(super) const SHORT: usize = 250;
/// With less prose, what is named the body of an article may be a note on it.
pub(super) const NOTE: usize = 300;
/// A teaser has less prose for each heading, and parts of a page with less prose are what their names say.
pub(super) const PART: usize = 500;
/// A text of some paragraphs.
pub(super) const TEXT: usize = 600;
/// A text beside which another one is not the article; and what a declared text is worth.
pub(super) const ARTICLE: usize = 1500;

/// How many levels outwards prose is kept beside the content.
pub(super) const NEAR: usize = 2;
/// What recurs so often is no exception: lines of verse, fields of posts, titles of other pages.
pub(super) const SEVERAL: usize = 3;

/// A text has at most this part of its bytes in links. What is no prose counts as this part of it, and so does prose beside the text.
pub(super) const FEW: usize = 5;
/// A short text in a cell or in code counts as this part of prose.
pub(super) const OF_CELL: usize = 2;

/// Whether a part is less than a quarter of a whole.
pub(super) fn is_little(part: usize, whole: usize) -> bool {
    part * 4 < whole
}

/// Whether a part is at least a third of a whole.
pub(super) fn is_much(part: usize, whole: usize) -> bool {
    part * 3 >= whole
}

/// Whether a part is at least half of a whole.
pub(super) fn is_half(part: usize, whole: usize) -> bool {
    part * 2 >= whole
}

/// Whether a part is at least three fifths of a whole.
pub(super) fn is_more(part: usize, whole: usize) -> bool {
    part * 5 >= whole * 3
}

/// Whether a part is at least seven tenths of a whole.
pub(super) fn is_most(part: usize, whole: usize) -> bool {
    part * 10 >= whole * 7
}

/// Whether a part is at least nine tenths of a whole.
pub(super) fn is_nearly_all(part: usize, whole: usize) -> bool {
    part * 10 >= whole * 9
}
