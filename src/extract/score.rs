//! Chooses the body text of a page among all lines that it shows.
//!
//! The choice is made on blocks, elements that start a line. For each one it is measured how much text it contains, how much of that is
//! in links, and how much is prose (`blocks.rs`). These figures separate content from boilerplate most reliably, whatever the language
//! (Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Then:
//!
//! 1. Blocks get a [`Hint`] by tag, role and names of classes, as in Readability (Arc90, Mozilla), or by a line that labels them: "related
//!    articles". A name never decides alone: elements of one name that have a third of the page's prose are text, and so is what would take
//!    most of a page's prose with it. Comments on a stub, which has hardly any other prose, or on a page that is a discussion (`kinds.rs`), are
//!    text. A line that asks for consent to cookies is boilerplate whatever else there is. Blocks whose headings are all links are teasers of
//!    other pages. They count little, and are dropped if they are few. Not so if the page is a list of them, or has no text of its own but
//!    parts, as a landing page. All this is in `hints.rs`.
//! 2. Prose that the page declares to be its article's, in structured data or as its description, counts as much more prose, so that a
//!    short article is more than what stands around it.
//! 3. One element stands for the page from here on: the one that is named the body of an article, by microdata or as post-content is. Without
//!    one, it is the only `article`, `main`, or what the software of a forum names its thread. A body with hardly any text beside an element
//!    with much is a note, and does not count. If the posts of a discussion are declared, by microdata or as a question with answers, and
//!    hold a third of the prose, they and the title are its text, and the next steps are left out.
//! 4. A page is a listing if it has hardly any prose, or says that it is one, or declares itself no article and has hardly any headings that
//!    are not links. All text of a listing except boilerplate is kept.
//! 5. The content is the innermost block with seven tenths of the prose. It grows outwards while its surroundings have the same
//!    character. Neighbours are kept if they are prose, or facts: short texts in cells or lists of terms. One of several posts is not all of
//!    the content, nor is a product's description: what stands between the product's name and its description belongs to it.
//! 6. Inside it, blocks with a hint are dropped, and so are buttons, counters and dates, and tables of links above and below all sentences.
//!    The title of a discussion belongs to its text, and what buyers wrote does not belong to a product.
//!
//! If almost all of a page would be dropped it is kept whole: more text is better than none (Trafilatura: Barbaresi, ACL 2021). The
//! thresholds are in `numbers.rs`, far from typical values, so that a changed paragraph does not change the choice. All passes are linear in the number of blocks.

use std::iter;

use foldhash::HashMap;

use super::{
    blocks::{Block, Kind, Measured, Sum},
    declared::Declared,
    hints::{self, named_body},
    kinds::PageKind,
    labels::{Label, label_of},
    names::{Hint, Mark},
    numbers::{
        ARTICLE, FEW, LEAST, LINE, NEAR, NOTE, POST, SENTENCE, SEVERAL, SHORT, is_half, is_little,
        is_most, is_much, is_nearly_all,
    },
    text::Writer,
};

/// Returns for each segment whether it belongs to the body text.
pub(super) fn choose(blocks: Vec<Block>, writer: &Writer, declared: &Declared) -> Vec<bool> {
    let labels: Vec<Option<Label>> =
        (0..writer.segments.len()).map(|index| label_of(writer.text_of(index))).collect();
    let mut page = Measured::new(blocks, writer);
    let (kind, hints, weighed) = hints::judge(&mut page, declared, &labels);
    let named = body_of(&page, &hints, kind);
    // In a named body, what is declared may be the first lines only.
    let page = if named.is_none() { weighed } else { page };
    let plain = page.shown(&hints, Hint::None);
    let weights = page.add_up(|segment| {
        let prose = page.segments[segment].prose;
        match hints[page.block_of(segment)] {
            Hint::None => prose,
            Hint::Boilerplate => 0,
            _ => prose / FEW,
        }
    });
    Judged { page, hints, kind, plain, weights }.choose(named, &labels, declared)
}

/// The block that is named the body of the article, unless it is a note on it, or the page is a list, or a discussion that has its posts
/// elsewhere.
fn body_of(page: &Measured<'_>, hints: &[Hint], kind: PageKind) -> Option<usize> {
    let body = named_body(page, hints).filter(|_| kind != PageKind::List)?;
    let prose = page.sums[body].prose;
    let is_note = prose < NOTE && page.has_text(hints, |prose| prose >= ARTICLE, Some(body));
    let is_of_readers = |block: usize| {
        let is_so = page.blocks[block].hint == Hint::Comments || page.has(block, Mark::Discussion);
        is_so && hints[block] == Hint::None && !page.inside(block).contains(&body)
    };
    let comments = || -> usize {
        let around = page.outermost(0, |block| block == body || is_of_readers(block));
        around.into_iter().filter(|&at| at != body).map(|at| page.sums[at].prose).sum()
    };
    let is_post = |&block: &usize| page.has(block, Mark::Post) && page.sums[block].bytes > 0;
    let has_posts_apart = || {
        let mut posts = (1..page.blocks.len()).filter(is_post).peekable();
        posts.peek().is_some() && posts.all(|post| page.are_apart(post, body))
    };
    let is_elsewhere = kind == PageKind::Discussion && (comments() > prose || has_posts_apart());
    (!is_note && !is_elsewhere).then_some(body)
}

/// A page with what its blocks are.
struct Judged<'a> {
    page: Measured<'a>,
    hints: Vec<Hint>,
    kind: PageKind,
    /// The content of each block without blocks that have a hint.
    plain: Vec<Sum>,
    /// The prose of each block, weighted by hints.
    weights: Vec<usize>,
}

impl Judged<'_> {
    fn choose(
        &self,
        named: Option<usize>,
        labels: &[Option<Label>],
        declared: &Declared,
    ) -> Vec<bool> {
        let shown = self.segments(&self.kept(0, |block| self.hints[block] != Hint::Boilerplate));
        if self.bytes(&shown) == 0 {
            return vec![true; shown.len()];
        }
        let root = named.or_else(|| self.main()).unwrap_or_else(|| match self.kind {
            PageKind::Discussion => self.thread(),
            _ => 0,
        });
        if self.kind == PageKind::Discussion
            && let Some(mut posts) = self.posts(declared)
        {
            self.drop_fields(&mut posts);
            return posts;
        }
        let mut keeps = if !self.is_listing(root) {
            self.segments(&self.content(root))
        } else if root > 0 {
            self.segments(&self.kept(root, |block| self.hints[block] <= Hint::Teaser))
        } else {
            return shown;
        };
        self.drop_labels(labels, &mut keeps);
        if self.kind == PageKind::Discussion {
            self.drop_fields(&mut keeps);
            self.add_title(&mut keeps);
        }
        let (bytes, all) = (self.bytes(&keeps), self.bytes(&shown));
        let is_lost = bytes < LINE && is_nearly_all(all.saturating_sub(bytes), all);
        if bytes == 0 || (is_lost && named.is_none()) { shown } else { keeps }
    }

    /// Whether a block is no more than text, as far as is known.
    fn is_plain(&self, block: usize) -> bool {
        self.hints[block] == Hint::None
    }

    /// The segments in blocks that are kept.
    fn segments(&self, keeps: &[bool]) -> Vec<bool> {
        self.page.writer.segments.iter().map(|segment| keeps[segment.block]).collect()
    }

    /// The bytes of the segments that are kept.
    fn bytes(&self, keeps: &[bool]) -> usize {
        let kept = self.page.segments.iter().zip(keeps).filter(|&(_, &keeps)| keeps);
        kept.map(|(sum, _)| sum.bytes).sum()
    }

    /// Whether a block is a list, in which there is hardly any prose.
    fn is_listing(&self, root: usize) -> bool {
        let (weight, bytes) = (self.weights[root], self.plain[root].bytes);
        let is_weak = weight < LEAST
            || is_little(weight, bytes)
            || (weight < SHORT && !is_half(weight, bytes));
        self.kind == PageKind::List || (self.kind == PageKind::Article && is_weak)
    }

    /// The page's only article, or what it says is its main content, if that has most of the prose.
    fn main(&self) -> Option<usize> {
        let mut mains = self.page.mains(|block| self.hints[block]);
        mains.find(|&block| is_half(self.weights[block], self.weights[0]))
    }

    /// The innermost block with all that the software of a forum names so, and with nothing named so around it.
    fn thread(&self) -> usize {
        let page = &self.page;
        let is_named = |&block: &usize| page.has(block, Mark::Thread) && self.is_plain(block);
        let named: Vec<usize> = (1..page.blocks.len()).filter(is_named).collect();
        let Some(&last) = named.last() else { return 0 };
        let is_innermost = |pair: &&[usize]| pair[1] >= page.blocks[pair[0]].end;
        let first = named.windows(2).find(is_innermost).map_or(last, |pair| pair[0]);
        page.around(first).find(|&block| page.inside(block).contains(&last)).unwrap_or(0)
    }

    /// Adds the title of a discussion: the first heading of the page.
    fn add_title(&self, keeps: &mut [bool]) {
        let is_title = |&index: &usize| {
            self.page.kind(index) == Kind::Heading && self.is_plain(self.page.block_of(index))
        };
        if let Some(title) = (0..keeps.len()).find(is_title) {
            keeps[title] = true;
        }
    }

    /// For each segment whether it is the title of a discussion or in one of its posts, if the page declares them.
    fn posts(&self, declared: &Declared) -> Option<Vec<bool>> {
        let page = &self.page;
        let is_post = |block: usize| page.around(block).any(|around| page.has(around, Mark::Post));
        let found = declared.find_posts(page.writer);
        let own = page.add_up(|index| {
            let is_declared = is_post(page.block_of(index))
                || found.as_ref().is_some_and(|found| found.pieces[index] > 0);
            if is_declared { page.segments[index] } else { Sum::default() }
        });
        // Some pages declare only the first one.
        if own[0].bytes < POST || !is_much(own[0].prose, self.weights[0]) {
            return None;
        }
        let mut keeps = vec![false; page.blocks.len()];
        let is_all = |block: usize| {
            own[block].bytes > 0 && is_nearly_all(own[block].bytes, page.sums[block].bytes)
        };
        for post in page.outermost(0, is_all) {
            self.keep(post, &mut keeps, |block| self.hints[block] != Hint::Boilerplate);
        }
        let mut keeps = self.segments(&keeps);
        self.add_title(&mut keeps);
        Some(keeps)
    }

    /// Steps 4 and 5: for each block whether it is part of the content.
    fn content(&self, root: usize) -> Vec<bool> {
        let mut path = self.path(root);
        if self.kind == PageKind::Product {
            return self.goods(&path);
        }
        let core = self.page.inside(self.grow(&mut path));
        let content = path[path.len() - 1];
        let mut keeps = self.kept(content, |block| {
            let is_inside = self.hints[block] == Hint::Teaser && core.contains(&block);
            is_inside || self.is_plain(block)
        });
        self.drop_link_tables(content, &mut keeps);
        for (distance, around) in path.windows(2).rev().enumerate() {
            for block in self.children(around[0]).filter(|&block| block != around[1]) {
                let sum = self.page.sums[block];
                let is_text = distance < NEAR
                    && self.weights[block] >= SHORT
                    && sum.is_free()
                    && is_half(sum.prose, sum.bytes);
                if (is_text || are_facts(&sum)) && self.is_plain(block) {
                    self.keep(block, &mut keeps, |block| self.is_plain(block));
                }
            }
        }
        keeps
    }

    /// Drops tables of links above and below all sentences: in a page that is laid out by tables they lead elsewhere, whatever they are named.
    fn drop_link_tables(&self, content: usize, keeps: &mut [bool]) {
        let page = &self.page;
        let is_sentence =
            |&index: &usize| keeps[page.block_of(index)] && page.segments[index].prose >= SENTENCE;
        let sentences: Vec<usize> = (0..page.segments.len())
            .filter(is_sentence)
            .map(|index| page.block_of(index))
            .collect();
        let (Some(&first), Some(&last)) = (sentences.first(), sentences.last()) else { return };
        let lines = page.add_up(|_| 1_usize);
        let cells = page.add_up(|index| usize::from(page.kind(index) == Kind::Cell));
        let tables = page.outermost(content, |block| {
            let sum = page.sums[block];
            (block > last || page.blocks[block].end <= first)
                && cells[block] >= SEVERAL
                && cells[block] == lines[block]
                && is_nearly_all(sum.linked, sum.bytes)
        });
        for table in tables {
            keeps[page.inside(table)].fill(false);
        }
    }

    /// The blocks from the page down to the innermost container with most of the prose.
    fn path(&self, root: usize) -> Vec<usize> {
        let mut path = vec![root];
        let heaviest = |block| self.children(block).max_by_key(|&child| self.weights[child]);
        while let Some(child) = heaviest(path[path.len() - 1])
            && is_most(self.weights[child], self.weights[root])
            && !self.has_others(child)
        {
            path.push(child);
        }
        while path.len() > 1 && !self.page.blocks[path[path.len() - 1]].kind.may_hold_text() {
            path.pop();
        }
        path
    }

    /// The blocks that are about a product: from its name on all that stands around its description and is not links.
    fn goods(&self, path: &[usize]) -> Vec<bool> {
        let core = path[path.len() - 1];
        let is_name = |&block: &usize| {
            let is_so =
                self.page.blocks[block].kind == Kind::Heading || self.page.has(block, Mark::Goods);
            is_so && self.is_plain(block) && !self.plain[block].is_linked()
        };
        let name = (1..core).find(is_name).unwrap_or(core);
        let holds_name = |&&block: &&usize| self.page.inside(block).contains(&name);
        let around = path.iter().rfind(holds_name).copied().unwrap_or(path[0]);
        self.kept(around, |block| {
            self.page.blocks[block].end > name
                && self.hints[block] <= Hint::Teaser
                && !self.page.sums[block].is_linked()
        })
    }

    /// Shortens the path while the surroundings of its last block are prose as well, almost without links. Returns the innermost block with
    /// all of that prose.
    fn grow(&self, path: &mut Vec<usize>) -> usize {
        let mut core = path[path.len() - 1];
        while let [.., around, content] = path[..] {
            let (inner, outer) = (self.plain[content], self.plain[around]);
            let (bytes, prose) = (outer.bytes - inner.bytes, outer.prose - inner.prose);
            let is_similar = (prose >= SHORT || !is_little(prose, inner.prose))
                && is_half(prose, bytes - (outer.titles - inner.titles))
                && (outer.linked - inner.linked) * FEW <= bytes;
            if bytes > 0 && !is_similar {
                break;
            }
            core = if bytes > 0 { around } else { core };
            path.pop();
        }
        core
    }

    /// Whether a block is one of several posts of a thread.
    fn has_others(&self, post: usize) -> bool {
        let blocks = &self.page.blocks;
        let is_post = |block: usize| self.is_plain(block) && self.plain[block].other() >= POST;
        self.kind == PageKind::Discussion
            && blocks[post].shape != 0
            && is_post(post)
            && self.children(blocks[post].parent).any(|block| {
                block != post && blocks[block].shape == blocks[post].shape && is_post(block)
            })
    }

    /// For each block whether it is a block that is kept, or in it and wanted, and so are the blocks around it.
    fn kept(&self, block: usize, wants: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut keeps = vec![false; self.page.blocks.len()];
        self.keep(block, &mut keeps, wants);
        keeps
    }

    /// Keeps a block and the blocks in it, except those that are not wanted and their content.
    fn keep(&self, block: usize, keeps: &mut [bool], wants: impl Fn(usize) -> bool) {
        let mut at = block;
        while at < self.page.blocks[block].end {
            keeps[at] = at == block || wants(at);
            at = if keeps[at] { at + 1 } else { self.page.blocks[at].end };
        }
    }

    /// Drops buttons and counters.
    fn drop_labels(&self, labels: &[Option<Label>], keeps: &mut [bool]) {
        for (index, keep) in keeps.iter_mut().enumerate() {
            *keep &= labels[index] != Some(Label::Line)
                || !matches!(
                    self.page.kind(index),
                    Kind::Container | Kind::Fallback | Kind::Paragraph
                );
        }
    }

    /// Drops what every post of a discussion has beside its text: buttons, counters, who wrote it and when. It is a short line that
    /// recurs, or of an element whose lines are all short, and is no sentence.
    fn drop_fields(&self, keeps: &mut [bool]) {
        let is_short = |index: usize| {
            let sum = self.page.segments[index];
            sum.bytes < LINE && !is_half(sum.prose, sum.bytes)
        };
        let shape = |index: usize| self.page.blocks[self.page.block_of(index)].shape;
        let mut lines: HashMap<String, usize> = HashMap::default();
        let mut fields: HashMap<u32, (usize, bool)> = HashMap::default();
        for index in (0..keeps.len()).filter(|&index| keeps[index]) {
            let (count, is_field) = fields.entry(shape(index)).or_insert((0, true));
            *count += 1;
            *is_field &= is_short(index);
            if is_short(index) {
                *lines.entry(letters(self.page.text(index))).or_default() += 1;
            }
        }
        let recurs = |index: usize| {
            let (count, is_field) = fields[&shape(index)];
            let of_field = shape(index) != 0 && is_field && count >= SEVERAL;
            of_field || lines[&letters(self.page.text(index))] >= SEVERAL
        };
        let mut rest = keeps.to_vec();
        for index in (0..keeps.len()).filter(|&index| keeps[index] && is_short(index)) {
            let is_of_text = matches!(self.page.kind(index), Kind::Preformatted | Kind::Cell);
            rest[index] = is_of_text || !recurs(index);
        }
        let kept = (0..rest.len()).filter(|&index| rest[index]);
        let prose: usize = kept.map(|index| self.page.segments[index].prose).sum();
        let bytes = self.bytes(&rest);
        // Posts of a word or two look the same, unless what is left is text.
        if is_much(bytes, self.bytes(keeps)) || (prose >= SENTENCE && is_most(prose, bytes)) {
            keeps.copy_from_slice(&rest);
        }
    }

    /// The blocks directly in a block.
    fn children(&self, block: usize) -> impl Iterator<Item = usize> {
        let end = self.page.blocks[block].end;
        let first = Some(block + 1).filter(|&child| child < end);
        iter::successors(first, move |&child| {
            Some(self.page.blocks[child].end).filter(|&next| next < end)
        })
    }
}

/// Whether most of a block is facts, and hardly any of it links.
fn are_facts(sum: &Sum) -> bool {
    sum.facts > 0 && is_half(sum.facts, sum.bytes - sum.titles) && sum.is_free()
}

/// The letters of a line.
fn letters(line: &str) -> String {
    line.chars().filter(|char| char.is_alphabetic()).collect()
}
