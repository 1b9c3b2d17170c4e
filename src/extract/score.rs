//! Chooses the body text of a page among all lines that it shows.
//!
//! The choice is made on blocks, elements that start a line. For each one it is measured how much text it contains, how much of that is
//! in links, and how much is prose (`blocks.rs`). These figures separate content from boilerplate most reliably, whatever the language
//! (Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Then:
//!
//! 1. Blocks get a [`Hint`] by tag, role and names of classes, as in Readability (Arc90, Mozilla), or by a line that labels them: "related
//!    articles". A name never decides alone: elements of one name that have a third of the page's text, outside of links, are text, and so is
//!    what would take most of a page's prose with it. Comments on a stub, which has hardly any other prose, or on a page that is a discussion
//!    (`kinds.rs`), are text. A box that asks for consent to cookies is boilerplate whatever else there is. Blocks whose headings are all links
//!    are teasers of other pages. They count little, and are dropped if they are few. Not so if the page is a list of them, or has no text of
//!    its own but parts, as a landing page. All this is in `hints.rs`.
//! 2. Prose that the page declares to be its article's, in structured data or as its description, counts as much more prose, so that a
//!    short article is more than what stands around it.
//! 3. One element stands for the page from here on: the one that is named the body of an article, by microdata or as post-content is. Without
//!    one, it is the only `article`, `main`, or what the software of a forum names its thread. A body with hardly any text beside an element
//!    with much is a note, and does not count. If the posts of a discussion are declared, by microdata or as a question with answers, and
//!    hold a third of the prose, they and the title are its text, and the next steps are left out.
//! 4. A page is a listing if it has hardly any prose, says that it is one, or declares itself no article and has hardly any headings that are
//!    not links. All text of a listing except boilerplate is kept.
//! 5. The content is the innermost block with seven tenths of the prose. It grows outwards while its surroundings have the same
//!    character. Neighbours are kept if they are prose, or facts: short texts in cells or lists of terms. One of several posts is not all of
//!    the content, nor is a product's description: what stands between the product's name and its description belongs to it.
//! 6. Inside it, blocks with a hint are dropped, and so are buttons and counters. The title of a discussion belongs to its text, and what
//!    buyers wrote does not belong to a product.
//!
//! If almost all of a page would be dropped it is kept whole: more text is better than none (Trafilatura: Barbaresi, ACL 2021). Every
//! comparison is between sums over many lines, and the thresholds are far from typical values, so that a changed paragraph does not change
//! the choice. All passes are linear in the number of blocks.

use std::{collections::HashMap, iter};

use super::{
    blocks::{Block, Kind, Landmark},
    blocks::{Sum, own_prose, sum_by_block},
    boilerplate::Hint,
    declared::Declared,
    hints::{self, Judged, named_body, only_one},
    kinds::{PageKind, is_thread},
    labels::{Label, label_of},
    marks::Marks,
    text::{Segment, Writer},
};

/// Body text of fewer bytes may be a remnant ...
const REMNANT: usize = 100;
/// ... if the page has this many times as much. Its markup is then misleading, and everything is kept.
const REMNANT_RATIO: usize = 20;
/// A page with less prose is a listing; with less than the second figure, if prose is less than half of its text.
const LISTING: usize = 140;
const SHORT_LISTING: usize = 250;
/// However much prose it has, a page is a listing if prose is less than a fifth of its text.
const LISTING_RATIO: usize = 5;
/// Prose around the content that makes the content grow, and prose of a neighbour that is kept.
const AROUND: usize = 200;
const NEIGHBOUR: usize = 200;
/// How many levels outwards a neighbour may be that is short compared with the content.
const NEAR: usize = 2;
/// Text outside of links and headings that makes a block a post of a thread or list.
const LEAST_POST: usize = 30;
/// A line of a post that recurs has fewer bytes than this, one of an element that never holds a sentence fewer than the second figure.
const FIELD: usize = 100;
const SHORT_FIELD: usize = 60;
/// So often what is no text recurs in a discussion.
const FIELDS: usize = 3;
/// Prose that may be all that readers wrote, besides what recurs.
const LEAST_REST: usize = 60;
/// A named body with less prose than this is not the article if another element has as much as the second figure.
const EMPTY_BODY: usize = 300;
const OTHER_TEXT: usize = 1500;

/// Returns for each segment whether it belongs to the body text.
pub(super) fn choose(blocks: Vec<Block>, writer: &Writer, declared: &Declared) -> Vec<bool> {
    let labels: Vec<Option<Label>> =
        (0..writer.segments.len()).map(|index| label_of(writer.text_of(index))).collect();
    let (blocks, judged) = hints::judge(blocks, writer, declared, &labels);
    let Judged { segments, weighed, hints, kind } = judged;
    let sums_of = |segments: &[Sum]| sum_by_block(&blocks, writer, |index, _| segments[index]);
    let raw = sums_of(&segments);
    let shown_of = |index: usize, segment: &Segment| {
        if hints[segment.block] <= Hint::Teaser { segments[index] } else { Sum::default() }
    };
    let named = named_in(kind, &blocks, &hints, &raw, &sum_by_block(&blocks, writer, shown_of));
    // In a named body, what is declared may be the first lines only.
    let segments = if named.is_some() { segments } else { weighed };
    let sums = sums_of(&segments);
    let page = Measured { blocks: &blocks, writer, segments: &segments, hints: &hints, kind };
    let shown: Vec<bool> =
        writer.segments.iter().map(|segment| hints[segment.block] != Hint::Boilerplate).collect();
    let shown_bytes = page.bytes(&shown);
    let consent: usize = (1..blocks.len())
        .filter(|&block| blocks[block].is_consent)
        .map(|block| sums[block].bytes)
        .sum();
    if is_remnant(shown_bytes, sums[0].bytes.saturating_sub(consent)) {
        return vec![true; segments.len()];
    }
    let weights = page.weights();
    let plain = page.plain();
    let root = named.or_else(|| page.main(&weights)).unwrap_or_else(|| match kind {
        PageKind::Discussion => page.thread(),
        _ => 0,
    });
    if kind == PageKind::Discussion
        && let Some(mut posts) = page.posts(&weights, declared)
    {
        page.drop_fields(&mut posts);
        return posts;
    }
    let mut keeps = if !page.is_listing(weights[root], plain[root].bytes) {
        page.content(root, &sums, &plain, &weights)
    } else if root > 0 {
        page.all_of(root)
    } else {
        return shown;
    };
    page.drop_labels(&labels, &mut keeps);
    if kind == PageKind::Discussion || kind == PageKind::Article && is_thread(&blocks, &sums) {
        page.drop_fields(&mut keeps);
        if let Some(title) = page.title(declared) {
            keeps[title] = true;
        }
    }
    let kept = page.bytes(&keeps);
    // A named body may hold nothing but what stands beside a text.
    if kept == 0 || (named.is_none() && is_remnant(kept, shown_bytes)) { shown } else { keeps }
}

/// The block that is named the body of the article, unless the page is a list, or a discussion that has its posts elsewhere.
fn named_in(
    kind: PageKind,
    blocks: &[Block],
    hints: &[Hint],
    sums: &[Sum],
    shown: &[Sum],
) -> Option<usize> {
    let body = named_body(blocks, hints, sums, shown)
        .filter(|&body| !is_beside_text(blocks, hints, shown, body));
    match kind {
        PageKind::List => None,
        PageKind::Discussion => body.filter(|&body| {
            !has_comments_around(blocks, hints, sums, body) && !is_beside_posts(blocks, sums, body)
        }),
        _ => body,
    }
}

/// Whether a block is a note on the article: it has little text, and another element much.
fn is_beside_text(blocks: &[Block], hints: &[Hint], sums: &[Sum], body: usize) -> bool {
    if sums[body].prose >= EMPTY_BODY || sums[0].prose < OTHER_TEXT {
        return false;
    }
    let own = own_prose(blocks, sums);
    (1..blocks.len()).any(|block| {
        let is_inside = (body..blocks[body].end).contains(&block);
        let is_text = hints[block] == Hint::None && sums[block].linked * 4 <= sums[block].bytes;
        !is_inside && is_text && own[block] >= OTHER_TEXT
    })
}

/// Whether readers wrote more around a block than it has.
fn has_comments_around(blocks: &[Block], hints: &[Hint], sums: &[Sum], body: usize) -> bool {
    let is_of_readers =
        |block: &Block| block.hint == Hint::Comments || block.marks.has(Marks::DISCUSSION);
    let (mut at, mut comments) = (1, 0);
    while at < blocks.len() {
        let holds_body = (at..blocks[at].end).contains(&body);
        let are_comments = is_of_readers(&blocks[at]) && hints[at] == Hint::None && !holds_body;
        comments += if are_comments { sums[at].prose } else { 0 };
        at = if are_comments || at == body { blocks[at].end } else { at + 1 };
    }
    comments > sums[body].prose
}

/// Whether posts are declared, and none of them is in a block: it may be the form for a reply.
fn is_beside_posts(blocks: &[Block], sums: &[Sum], body: usize) -> bool {
    let is_post = |&block: &usize| blocks[block].marks.has(Marks::POST) && sums[block].bytes > 0;
    let is_apart = |post: usize| post >= blocks[body].end || blocks[post].end <= body;
    let mut posts = (1..blocks.len()).filter(is_post).peekable();
    posts.peek().is_some() && posts.all(is_apart)
}

/// Whether so little is kept that the choice must be wrong.
fn is_remnant(kept: usize, of: usize) -> bool {
    kept < REMNANT && kept * REMNANT_RATIO < of
}

/// A page with its measurements.
struct Measured<'a> {
    blocks: &'a [Block],
    writer: &'a Writer,
    segments: &'a [Sum],
    hints: &'a [Hint],
    kind: PageKind,
}

impl Measured<'_> {
    /// The bytes of the segments that are kept.
    fn bytes(&self, keeps: &[bool]) -> usize {
        let kept = self.segments.iter().zip(keeps).filter(|&(_, &keeps)| keeps);
        kept.map(|(sum, _)| sum.bytes).sum()
    }

    /// The prose of each block, weighted by hints.
    fn weights(&self) -> Vec<usize> {
        sum_by_block(self.blocks, self.writer, |index, segment| {
            let prose = self.segments[index].prose;
            match self.hints[segment.block] {
                Hint::None => prose,
                Hint::Aside | Hint::Teaser => prose / 5,
                Hint::Comments => prose / 10,
                Hint::Boilerplate => 0,
            }
        })
    }

    /// The content of each block without blocks that have a hint.
    fn plain(&self) -> Vec<Sum> {
        sum_by_block(self.blocks, self.writer, |index, segment| {
            let is_plain = self.hints[segment.block] == Hint::None;
            if is_plain { self.segments[index] } else { Sum::default() }
        })
    }

    /// Whether the page is a listing, given its prose and text.
    fn is_listing(&self, weight: usize, bytes: usize) -> bool {
        let has_entries = !matches!(self.kind, PageKind::Discussion | PageKind::Product);
        self.kind == PageKind::List
            || has_entries
                && (weight < LISTING
                    || weight * LISTING_RATIO < bytes
                    || (weight < SHORT_LISTING && weight * 2 < bytes))
    }

    /// The block that the page says is its main content, or its only article, if it has most of the prose.
    fn main(&self, weights: &[usize]) -> Option<usize> {
        let only = |landmark: Landmark| only_one(self.blocks, self.hints, landmark);
        let has_most = |&block: &usize| weights[block] * 2 >= weights[0];
        let article = only(Landmark::Article).filter(has_most);
        article.or_else(|| only(Landmark::Main).filter(has_most))
    }

    /// The innermost block with all that the software of a forum names so, and with nothing named so around it.
    fn thread(&self) -> usize {
        let (mut first, mut last) = (None, 0);
        for block in (1..self.blocks.len()).rev() {
            let is_named =
                self.blocks[block].marks.has(Marks::THREAD) && self.hints[block] == Hint::None;
            if is_named && first.is_none_or(|next| next >= self.blocks[block].end) {
                last = last.max(block);
                first = Some(block);
            }
        }
        first.map_or(0, |first| self.around(first, last))
    }

    /// The innermost block with both blocks.
    fn around(&self, first: usize, last: usize) -> usize {
        let mut block = first;
        while block > 0 && last >= self.blocks[block].end {
            block = self.blocks[block].parent;
        }
        block
    }

    /// The segment that is the page's title: a heading.
    fn title(&self, declared: &Declared) -> Option<usize> {
        let is_title = |&index: &usize| {
            let block = self.writer.segments[index].block;
            self.blocks[block].kind == Kind::Heading
                && self.hints[block] == Hint::None
                && declared.is_title(self.writer.text_of(index))
        };
        let titles = (0..self.segments.len()).filter(is_title);
        titles.rev().max_by_key(|&index| self.segments[index].bytes)
    }

    /// For each segment whether it is the title of a discussion or in one of its posts, if the page declares them.
    fn posts(&self, weights: &[usize], declared: &Declared) -> Option<Vec<bool>> {
        let mut is_post = vec![false; self.blocks.len()];
        for index in 1..self.blocks.len() {
            let block = self.blocks[index];
            is_post[index] = is_post[block.parent] || block.marks.has(Marks::POST);
        }
        let found = declared.find_posts(self.writer);
        let own = sum_by_block(self.blocks, self.writer, |index, segment| {
            let is_declared = is_post[segment.block]
                || found.as_ref().is_some_and(|found| found.pieces[index] > 0);
            if is_declared { self.segments[index] } else { Sum::default() }
        });
        // Some pages declare only the first one.
        if own[0].bytes < LEAST_POST || own[0].prose * 3 < weights[0] {
            return None;
        }
        let all = sum_by_block(self.blocks, self.writer, |index, _| self.segments[index]);
        let (mut keeps, mut at) = (vec![false; self.blocks.len()], 0);
        while at < self.blocks.len() {
            if own[at].bytes * 10 >= all[at].bytes * 9 && all[at].bytes > 0 {
                self.keep(at, &mut keeps, |block| self.hints[block] != Hint::Boilerplate);
                at = self.blocks[at].end;
            } else {
                at += 1;
            }
        }
        let mut shown: Vec<bool> =
            self.writer.segments.iter().map(|segment| keeps[segment.block]).collect();
        if let Some(title) = self.title(declared) {
            shown[title] = true;
        }
        Some(shown)
    }

    /// For each segment whether it is in this block, and neither boilerplate nor beside the text.
    fn all_of(&self, root: usize) -> Vec<bool> {
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(root, &mut keeps, |block| matches!(self.hints[block], Hint::None | Hint::Teaser));
        self.writer.segments.iter().map(|segment| keeps[segment.block]).collect()
    }

    /// Steps 4 and 5: for each segment whether it is part of the content.
    fn content(&self, root: usize, sums: &[Sum], plain: &[Sum], weights: &[usize]) -> Vec<bool> {
        if self.kind == PageKind::Product {
            return self.goods(root, sums, plain, weights);
        }
        let mut path = self.path(root, plain, weights);
        let core = grow(&mut path, plain);
        let content = path[path.len() - 1];
        let is_in_core = |block: usize| (core..self.blocks[core].end).contains(&block);
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(content, &mut keeps, |block| match self.hints[block] {
            Hint::None => true,
            Hint::Teaser => is_in_core(block),
            _ => false,
        });
        for (distance, around) in path.windows(2).rev().enumerate() {
            for block in self.children(around[0]).filter(|&block| block != around[1]) {
                let is_weighty = weights[block] * 10 > weights[content] * 3
                    || (distance < NEAR && weights[block] > NEIGHBOUR);
                let belongs = (is_weighty && is_prose(&sums[block])) || are_facts(&sums[block]);
                if belongs && self.hints[block] == Hint::None {
                    self.keep(block, &mut keeps, |block| self.hints[block] == Hint::None);
                }
            }
        }
        self.writer.segments.iter().map(|segment| keeps[segment.block]).collect()
    }

    /// The blocks from the page down to the innermost container with most of the prose.
    fn path(&self, root: usize, plain: &[Sum], weights: &[usize]) -> Vec<usize> {
        let mut path = vec![root];
        let heaviest = |block| self.children(block).max_by_key(|&child| weights[child]);
        while let Some(child) = heaviest(path[path.len() - 1])
            && weights[child] * 10 >= weights[root] * 7
            && !self.has_others(child, plain)
        {
            path.push(child);
        }
        let may_be_content =
            |block: &usize| matches!(self.blocks[*block].kind, Kind::Container | Kind::Cell);
        while path.len() > 1 && !path.last().is_some_and(may_be_content) {
            path.pop();
        }
        path
    }

    /// For each segment whether it is about a product: from its name on all that stands around its description and is not links.
    fn goods(&self, root: usize, sums: &[Sum], plain: &[Sum], weights: &[usize]) -> Vec<bool> {
        let path = self.path(root, plain, weights);
        let is_name = |&block: &usize| {
            let sum = plain[block];
            self.hints[block] == Hint::None
                && (self.blocks[block].kind == Kind::Heading || self.blocks[block].marks.is_goods())
                && sum.bytes > sum.linked * 2
        };
        let core = path[path.len() - 1];
        let name = (1..self.blocks.len()).find(is_name).filter(|&name| name < core).unwrap_or(core);
        let holds_name = |&block: &usize| (block..self.blocks[block].end).contains(&name);
        let around = path.into_iter().rfind(holds_name).unwrap_or(root);
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(around, &mut keeps, |block| {
            let is_before = self.blocks[block].end <= name;
            let sum = sums[block];
            !is_before && self.hints[block] <= Hint::Teaser && sum.linked * 2 <= sum.bytes
        });
        let kept = |segment: &Segment| {
            keeps[segment.block] && (segment.block >= name || segment.block == around)
        };
        self.writer.segments.iter().map(kept).collect()
    }

    /// Whether a block is one of several posts: of a thread, or of a list whose posts all have a linked title.
    fn has_others(&self, post: usize, plain: &[Sum]) -> bool {
        let parent = self.blocks[post].parent;
        let is_post = |block: usize| {
            let sum = plain[block];
            self.hints[block] == Hint::None
                && sum.bytes - sum.linked - sum.titles >= LEAST_POST
                && (self.kind == PageKind::Discussion
                    || (sum.headings > 0 && sum.linked_headings > 0))
        };
        let is_alike = |&block: &usize| {
            block != post && self.blocks[block].shape == self.blocks[post].shape && is_post(block)
        };
        self.blocks[post].shape != 0
            && is_post(post)
            && self.children(parent).any(|block| is_alike(&block))
    }

    /// Keeps a block and the blocks in it, except those that are not wanted and their content.
    fn keep(&self, block: usize, keeps: &mut [bool], wants: impl Fn(usize) -> bool) {
        let mut at = block;
        while at < self.blocks[block].end {
            keeps[at] = at == block || wants(at);
            at = if keeps[at] { at + 1 } else { self.blocks[at].end };
        }
    }

    /// Drops buttons and counters.
    fn drop_labels(&self, labels: &[Option<Label>], keeps: &mut [bool]) {
        for (index, keep) in keeps.iter_mut().enumerate() {
            let kind = self.blocks[self.writer.segments[index].block].kind;
            *keep &= labels[index] != Some(Label::Line)
                || !matches!(kind, Kind::Container | Kind::Paragraph);
        }
    }

    /// Drops what every post of a discussion has beside its text: buttons, counters, who wrote it and when. It is a short line that
    /// recurs, or of an element whose lines are all short, and is no sentence.
    fn drop_fields(&self, keeps: &mut [bool]) {
        let is_line = |&index: &usize| {
            let segment = self.writer.segments[index];
            keeps[index]
                && !matches!(self.blocks[segment.block].kind, Kind::Preformatted | Kind::Cell)
                && self.segments[index].bytes < FIELD
                && self.segments[index].prose * 2 < self.segments[index].bytes
        };
        let mut lines: HashMap<String, usize> = HashMap::new();
        let mut fields: HashMap<u32, (usize, bool)> = HashMap::new();
        for (index, &is_kept) in keeps.iter().enumerate() {
            let block = self.blocks[self.writer.segments[index].block];
            if is_kept && block.shape != 0 {
                let (count, is_field) = fields.entry(block.shape).or_insert((0, true));
                *count += 1;
                let sum = self.segments[index];
                *is_field &= sum.bytes < SHORT_FIELD && sum.prose * 2 < sum.bytes;
            }
            if is_line(&index) {
                *lines.entry(letters(self.writer.text_of(index))).or_default() += 1;
            }
        }
        let is_field = |index: &usize| {
            let shape = self.blocks[self.writer.segments[*index].block].shape;
            let of_field =
                fields.get(&shape).is_some_and(|&(count, is_field)| count >= FIELDS && is_field);
            let recurs = lines[&letters(self.writer.text_of(*index))] >= FIELDS;
            of_field || recurs
        };
        let mut rest = keeps.to_vec();
        for index in (0..keeps.len()).filter(is_line).filter(is_field) {
            rest[index] = false;
        }
        let prose: usize = (0..rest.len())
            .filter(|&index| rest[index])
            .map(|index| self.segments[index].prose)
            .sum();
        let bytes = self.bytes(&rest);
        // Posts of a word or two look the same, unless what is left is text.
        if bytes * 3 >= self.bytes(keeps) || (prose >= LEAST_REST && prose * 4 >= bytes * 3) {
            keeps.copy_from_slice(&rest);
        }
    }

    /// The blocks directly in a block.
    fn children(&self, block: usize) -> impl Iterator<Item = usize> {
        let end = self.blocks[block].end;
        let first = Some(block + 1).filter(|&child| child < end);
        iter::successors(first, move |&child| {
            Some(self.blocks[child].end).filter(|&next| next < end)
        })
    }
}

fn is_prose(sum: &Sum) -> bool {
    sum.linked * 4 < sum.bytes && sum.prose * 2 > sum.bytes
}

/// Whether most of a block is facts, and hardly any of it links.
fn are_facts(sum: &Sum) -> bool {
    sum.facts > 0 && sum.facts * 2 >= sum.bytes - sum.titles && sum.linked * 5 <= sum.bytes
}

/// The letters of a line.
fn letters(line: &str) -> String {
    line.chars().filter(|char| char.is_alphabetic()).collect()
}

/// Shortens the path while the surroundings of its last block are prose as well, almost without links. Returns the innermost block with
/// all of that prose, which is the last one or inside it.
fn grow(path: &mut Vec<usize>, plain: &[Sum]) -> usize {
    let mut core = path[path.len() - 1];
    while let [.., around, content] = path[..] {
        let rest = |of: fn(&Sum) -> usize| of(&plain[around]) - of(&plain[content]);
        let (bytes, prose) = (rest(|sum| sum.bytes), rest(|sum| sum.prose));
        let is_similar = (prose >= AROUND || prose * 4 >= plain[content].prose)
            && prose * 2 >= bytes - rest(|sum| sum.titles)
            && rest(|sum| sum.linked) * 5 <= bytes;
        if bytes > 0 && !is_similar {
            break;
        }
        if bytes > 0 {
            core = around;
        }
        path.pop();
    }
    core
}
