//! Decides which blocks count as text of the page: their [`Hint`]s, as far as the page's measurements and declarations agree.

use std::collections::HashSet;

use foldhash::HashMap;

use super::{
    blocks::{Block, Kind, Landmark},
    blocks::{Sum, measure_segments, own_prose, sum_by_block},
    boilerplate::Hint,
    declared::{Declaration, Declared, Found},
    kinds::PageKind,
    labels::{Label, mark_consent},
    marks::Marks,
    text::{Segment, Writer},
};

/// The longest text that is the name of who wrote a post.
const NAME: usize = 40;
/// Prose of a block below which a misleading hint is believed.
const LEAST: usize = 140;
/// With less prose the page is a stub: comments are its content, and so are parts with misleading names. Prose that must remain without
/// teasers.
const SHORT: usize = 250;
const WITHOUT_TEASERS: usize = 1500;
/// Text outside of links and headings that the page's main content has at least.
const MAIN_TEXT: usize = 20;
/// Teasers with less than this part of the prose are always dropped.
const FEW_TEASERS: usize = 8;
/// Elements with this part of the page's text are not judged by their names.
const MUCH: usize = 3;
/// Bytes of other text that count as one of prose.
const OTHER: usize = 4;
/// Upper limit of the prose of a teaser per heading.
const TEASER: usize = 500;
/// Less prose is believed to stand beside the text; see [`ignore_builders`].
const MISNAMED: usize = 500;
/// A container with more prose of its own is a text, and its page more than parts or entries; see [`is_of_parts`].
const OWN_TEXT: usize = 600;
/// So many paragraphs of prose in one container are a short text, if they are two fifths of the text outside of links.
const PARAGRAPHS: usize = 3;
/// On a page of parts, names are not believed from this part of the prose.
const PARTS: usize = 7;
/// A labelled box with less text needs no links in it to stand beside the text.
const SMALL_BOX: usize = 300;
/// Prose that a declared text is worth, beyond its length.
const DECLARED: usize = 1500;
/// Prose in one block beside which a description may be only the lead; the same if it is shown whole.
const BESIDE_EXCERPT: usize = 1500;
const BESIDE_WHOLE: usize = 600;
/// Lines without prose after which the text that was declared does not go on.
const PAUSE: usize = 3;

/// The measurements of a page with what it declares, and the hint of each block.
pub(super) struct Judged {
    pub(super) segments: Vec<Sum>,
    /// The segments with what declared prose counts more.
    pub(super) weighed: Vec<Sum>,
    pub(super) hints: Vec<Hint>,
    pub(super) kind: PageKind,
}

/// Measures a page. The prose that is declared to be the article's counts more than other.
pub(super) fn judge(
    mut blocks: Vec<Block>,
    writer: &Writer,
    declared: &Declared,
    labels: &[Option<Label>],
) -> (Vec<Block>, Judged) {
    let segments = measure_segments(&blocks, writer);
    let shown = sum_by_block(&blocks, writer, |index, _| segments[index]);
    mark_sections(&mut blocks, writer, labels, &shown);
    let kind = PageKind::of(&blocks, &shown, declared);
    mark_consent(&mut blocks, writer, &shown);
    let worth = {
        let page = Hinted::new(&blocks, writer, &segments, &shown);
        if let Some(found) = declared.find_body(writer) {
            page.worth(&found, |_| true)
        } else if !(kind == PageKind::Discussion && page.has_block_with(BESIDE_WHOLE))
            && let Some(found) = declared.find_description(writer)
        {
            page.worth_of_description(&found)
        } else {
            Vec::new()
        }
    };
    let mut weighed = segments.clone();
    for (segment, worth) in weighed.iter_mut().zip(worth) {
        segment.prose += worth;
    }
    let sums = sum_by_block(&blocks, writer, |index, _| weighed[index]);
    let mut hints = credible_hints(&blocks, &sums, &shown, declared, kind);
    mark_copies(&blocks, writer, &mut hints);
    (blocks, Judged { segments, weighed, hints, kind })
}

/// Gives a hint to the boxes and sections that a line labels, unless they are much of the page.
fn mark_sections(blocks: &mut [Block], writer: &Writer, labels: &[Option<Label>], sums: &[Sum]) {
    // The first segment of each block, and of the blocks in it.
    let mut first = vec![usize::MAX; blocks.len()];
    for (index, segment) in writer.segments.iter().enumerate().rev() {
        first[segment.block] = index;
    }
    for index in (1..blocks.len()).rev() {
        let parent = blocks[index].parent;
        first[parent] = first[parent].min(first[index]);
    }
    let mut marked = vec![false; blocks.len()];
    for (index, &label) in labels.iter().enumerate() {
        let hint = match label {
            Some(Label::Section | Label::Links) => Hint::Aside,
            Some(Label::Comments) => Hint::Comments,
            _ => continue,
        };
        let mut outermost = writer.segments[index].block;
        if first[outermost] != index {
            continue;
        }
        let is_alone = |block: usize| sums[block].bytes == writer.text_of(index).len();
        while outermost > 0 && is_alone(outermost) && first[blocks[outermost].parent] == index {
            outermost = blocks[outermost].parent;
        }
        if outermost == 0 || marked[outermost] {
            continue;
        }
        // A box that starts with its title, or a title and the links that follow it.
        let is_box = !is_alone(outermost);
        let from = outermost;
        let mut to = blocks[from].end;
        while !is_box
            && to < blocks[blocks[from].parent].end
            && sums[to].linked * 2 >= sums[to].bytes
        {
            to = blocks[to].end;
        }
        let links = if label == Some(Label::Links) { 2 } else { 3 };
        let is_links = sums[from].linked * links >= sums[from].bytes;
        let is_small = label != Some(Label::Links) && sums[from].bytes < SMALL_BOX;
        if sums[from].prose * 3 >= sums[0].prose
            || (is_box && hint == Hint::Aside && !is_links && !is_small)
        {
            continue;
        }
        let mut at = from;
        while at < to {
            blocks[at].hint = blocks[at].hint.max(hint);
            marked[at] = true;
            at = blocks[at].end;
        }
    }
}

/// A page with its measurements and with hints that nothing was compared with.
struct Hinted<'a> {
    blocks: &'a [Block],
    writer: &'a Writer,
    segments: &'a [Sum],
    sums: &'a [Sum],
    hints: Vec<Hint>,
}

impl<'a> Hinted<'a> {
    fn new(blocks: &'a [Block], writer: &'a Writer, segments: &'a [Sum], sums: &'a [Sum]) -> Self {
        let mut hints = vec![Hint::None; blocks.len()];
        for index in 1..blocks.len() {
            hints[index] = hints[blocks[index].parent].max(blocks[index].hint);
        }
        Self { blocks, writer, segments, sums, hints }
    }

    /// What the description adds to the weight of each segment, if it is not the lead of a long article, and the page not a list.
    fn worth_of_description(&self, found: &Found) -> Vec<usize> {
        if has_contents(self.blocks, self.sums)
            || self.has_block_with(if found.is_excerpt { BESIDE_EXCERPT } else { BESIDE_WHOLE })
        {
            return Vec::new();
        }
        self.worth(found, |index| {
            let block = self.writer.segments[index].block;
            self.blocks[block].kind != Kind::Heading
                && (found.is_excerpt || self.hints[block] == Hint::None)
        })
    }

    /// Whether a block has this much prose without the blocks in it that have some.
    fn has_block_with(&self, prose: usize) -> bool {
        let mut direct = vec![0; self.blocks.len()];
        self.writer.segments.iter().zip(self.segments).any(|(segment, sum)| {
            let mut block = segment.block;
            while !matches!(self.blocks[block].kind, Kind::Container | Kind::Cell) {
                block = self.blocks[block].parent;
            }
            direct[block] += sum.prose;
            self.hints[block] == Hint::None && direct[block] >= prose
        })
    }

    /// What a declared text adds to the weight of each segment: it is shared out over what was found of it, and the prose that goes on.
    fn worth(&self, found: &Found, counts: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut shares = vec![0; self.segments.len()];
        let mut pause = PAUSE;
        for (index, &sum) in self.segments.iter().enumerate() {
            if found.pieces[index] > 0 && counts(index) {
                shares[index] = found.pieces[index];
                pause = 0;
            } else if pause < PAUSE {
                let block = self.writer.segments[index].block;
                if self.hints[block] == Hint::None
                    && sum.prose * 2 >= sum.bytes
                    && sum.linked * 4 <= sum.bytes
                {
                    shares[index] = sum.prose;
                    pause = 0;
                } else if sum.linked * 2 >= sum.bytes {
                    pause = PAUSE;
                } else {
                    pause += 1;
                }
            }
        }
        let all: usize = shares.iter().sum();
        shares.into_iter().map(|share| DECLARED * share / all.max(1)).collect()
    }
}

/// Whether most of the page is one list of links, such as the contents of a manual.
pub(super) fn has_contents(blocks: &[Block], sums: &[Sum]) -> bool {
    let is_contents =
        |block: usize| blocks[block].kind == Kind::List && sums[block].linked * 2 >= sums[0].bytes;
    (0..blocks.len()).any(is_contents)
}

/// The block that is named the body of the page's article. A page with several articles has none.
pub(super) fn named_body(
    blocks: &[Block],
    hints: &[Hint],
    sums: &[Sum],
    plain: &[Sum],
) -> Option<usize> {
    let is_body = |&block: &usize| {
        blocks[block].is_body && hints[block] <= Hint::Teaser && sums[block].bytes > 0
    };
    let bodies: Vec<usize> = (1..blocks.len()).filter(is_body).collect();
    let &largest = bodies.iter().rev().max_by_key(|&&body| sums[body].bytes)?;
    let (inside, outside): (Vec<usize>, Vec<usize>) =
        bodies.iter().partition(|&body| (largest..blocks[largest].end).contains(body));

    if outside.iter().any(|&other| sums[other].bytes * 4 >= sums[largest].bytes) {
        return None;
    }
    // The innermost one with most of it.
    // Where hints leave little of it, they are not believed.
    let plain = if plain[largest].prose * 2 < sums[largest].prose { sums } else { plain };
    inside.into_iter().rfind(|&body| plain[body].bytes * 5 >= plain[largest].bytes * 3)
}

/// The only block of its kind.
pub(super) fn only_one(blocks: &[Block], hints: &[Hint], landmark: Landmark) -> Option<usize> {
    let is_one = |&block: &usize| blocks[block].landmark == landmark && hints[block] == Hint::None;
    let mut all = (1..blocks.len()).filter(is_one);
    all.next().filter(|_| all.next().is_none())
}

/// The blocks around the only block that is named an article's body: it is not beside the text, whatever their names say.
fn holders_of_body(blocks: &[Block], sums: &[Sum]) -> Vec<bool> {
    let mut holders = vec![false; blocks.len()];
    let is_body = |&index: &usize| {
        blocks[index].is_body && blocks[index].hint == Hint::None && sums[index].bytes > 0
    };
    let mut bodies = (1..blocks.len()).filter(is_body);
    let Some(body) = bodies.next() else { return holders };
    if bodies.any(|other| other >= blocks[body].end) {
        return holders;
    }
    let mut block = blocks[body].parent;
    while block > 0 {
        if blocks[block].landmark == Landmark::Beside {
            return vec![false; blocks.len()];
        }
        holders[block] = true;
        block = blocks[block].parent;
    }
    holders
}

/// The only `article`, or the only `main`, if it has text: what stands apart from it is beside the text, however long it is.
fn main_text(blocks: &[Block], sums: &[Sum]) -> Option<usize> {
    let own: Vec<Hint> = blocks.iter().map(|block| block.hint).collect();
    let main = only_one(blocks, &own, Landmark::Article)
        .or_else(|| only_one(blocks, &own, Landmark::Main))?;
    let sum = sums[main];
    (sum.bytes - sum.linked - sum.titles >= MAIN_TEXT).then_some(main)
}

/// Whether neither block is in the other one.
fn are_apart(blocks: &[Block], a: usize, b: usize) -> bool {
    a >= blocks[b].end || b >= blocks[a].end
}

/// The hint of each block, inherited from its parents. Hints that would drop too much are ignored.
fn credible_hints(
    blocks: &[Block],
    sums: &[Sum],
    shown: &[Sum],
    declared: &Declared,
    kind: PageKind,
) -> Vec<Hint> {
    let mut hints = vec![Hint::None; blocks.len()];
    let (holds_body, main) = (holders_of_body(blocks, sums), main_text(blocks, sums));
    let (mut comments, mut boilerplate) = (0, 0);
    // Text outside of links and headings that has no hint.
    let free = |sum: &Sum| sum.bytes - sum.linked - sum.titles;
    let mut plain = free(&sums[0]);
    let alike = named_alike(blocks, sums);
    for index in 1..blocks.len() {
        let (block, sum) = (blocks[index], sums[index]);
        let inherited = hints[block.parent];
        let of_name = alike.get(&(block.parent, block.shape)).unwrap_or(&sum);
        let is_much =
            matches!(kind, PageKind::Article | PageKind::List) && is_much(of_name, &sums[0]);
        let is_greater_part = is_much || sum.prose >= LEAST && sum.prose * 2 >= sums[0].prose;
        let is_declared = sum.prose >= shown[index].prose + DECLARED * 9 / 10;
        let is_card = kind == PageKind::Discussion && block.marks.is_card() && sum.bytes > NAME;
        let are_reviews = kind == PageKind::Product
            && block.marks.has(Marks::REVIEWS)
            && block.kind != Kind::Heading;
        hints[index] = inherited.max(match block.hint {
            _ if block.is_consent => Hint::Boilerplate,
            Hint::None if (is_card || are_reviews) && !is_greater_part => Hint::Aside,
            _ if is_declared || holds_body[index] => Hint::None,
            hint if main.is_some_and(|main| are_apart(blocks, main, index)) => hint,
            Hint::Aside if is_greater_part => Hint::None,
            Hint::Boilerplate if is_greater_part && sum.linked * 2 <= sum.bytes => Hint::None,
            hint => hint,
        });
        if inherited == Hint::None {
            comments += if hints[index] == Hint::Comments { sum.prose } else { 0 };
            boilerplate += if hints[index] == Hint::Boilerplate { sum.prose } else { 0 };
            plain -= if hints[index] == Hint::None { 0 } else { free(&sum) };
        }
    }
    let has_parts = is_of_parts(blocks, sums, shown, &hints, plain, declared, kind);
    ignore_builders(blocks, sums, shown, has_parts, &mut hints);
    let rest = sums[0].prose - comments - boilerplate;
    if kind != PageKind::List && !has_parts {
        mark_teasers(blocks, sums, rest, &mut hints);
    }
    let has_article = || {
        declared.says(Declaration::Article) && named_body(blocks, &hints, shown, shown).is_some()
    };
    if kind == PageKind::Discussion || (rest < SHORT && !has_article()) {
        for hint in hints.iter_mut().filter(|hint| **hint == Hint::Comments) {
            *hint = Hint::None;
        }
    }
    hints
}

/// What the elements of one name in one parent have together, if the name says that they stand beside the text.
fn named_alike(blocks: &[Block], sums: &[Sum]) -> HashMap<(usize, u32), Sum> {
    let mut alike: HashMap<(usize, u32), Sum> = HashMap::default();
    for (block, sum) in blocks.iter().zip(sums).skip(1) {
        if block.hint != Hint::None && block.shape != 0 {
            *alike.entry((block.parent, block.shape)).or_default() += *sum;
        }
    }
    alike
}

/// Whether elements have so much of the page's text, outside of links, that their name does not decide.
fn is_much(part: &Sum, page: &Sum) -> bool {
    let weight = |sum: &Sum| sum.prose + sum.bytes.saturating_sub(sum.prose) / OTHER;
    part.linked * 4 <= part.bytes && weight(part) >= LEAST && weight(part) * MUCH >= weight(page)
}

/// Whether the page has no text of its own, but parts or entries, as a landing page does: it declares, names and shows no text, and nobody
/// comments on it. A short text is one if it is much of the text outside of links, in several paragraphs.
fn is_of_parts(
    blocks: &[Block],
    sums: &[Sum],
    shown: &[Sum],
    hints: &[Hint],
    plain: usize,
    declared: &Declared,
    kind: PageKind,
) -> bool {
    let is_of_readers = |block: &Block| {
        let is_thread = block.marks.has(Marks::DISCUSSION | Marks::THREAD);
        block.hint == Hint::Comments || (is_thread && block.hint != Hint::Boilerplate)
    };
    let has_text = || {
        let own = own_prose(blocks, sums);
        let is_text = |block: usize| {
            let is_much = own[block] >= LEAST && own[block] * 5 >= plain * 2;
            own[block] >= OWN_TEXT || (is_much && paragraphs(blocks, sums, block) >= PARAGRAPHS)
        };
        (0..blocks.len()).any(|block| hints[block] == Hint::None && is_text(block))
    };
    matches!(kind, PageKind::Article | PageKind::List)
        && !declared.says(Declaration::Article)
        && !declared.says(Declaration::Product)
        && !blocks.iter().any(is_of_readers)
        && !has_text()
        && named_body(blocks, hints, shown, shown).is_none()
}

/// How many paragraphs of prose are directly in a block.
fn paragraphs(blocks: &[Block], sums: &[Sum], block: usize) -> usize {
    let is_paragraph = |&index: &usize| {
        blocks[index].parent == block
            && blocks[index].kind == Kind::Paragraph
            && sums[index].prose > 0
    };
    (block + 1..blocks[block].end).filter(is_paragraph).count()
}

/// Ignores names by which most of the prose of the page, of its named body or of its main content stands beside the text: page builders name every part a
/// widget. A short article between teasers is not such a page, because teasers are links.
fn ignore_builders(
    blocks: &[Block],
    sums: &[Sum],
    shown: &[Sum],
    has_parts: bool,
    hints: &mut [Hint],
) {
    let body = named_body(blocks, hints, shown, shown);
    let main = only_one(blocks, hints, Landmark::Article)
        .or_else(|| only_one(blocks, hints, Landmark::Main));
    for root in [Some(0), body, main].into_iter().flatten() {
        let (mut beside, mut rest, mut at) = (Vec::new(), sums[root].prose, root + 1);
        while at < blocks[root].end {
            let (hint, sum) = (hints[at], sums[at]);
            rest -= if hint == Hint::None { 0 } else { sum.prose };
            if hint == Hint::Aside && sum.linked * 4 <= sum.bytes && sum.prose * 2 >= sum.bytes {
                beside.push(at);
            }
            at = if hint == Hint::None { at + 1 } else { blocks[at].end };
        }
        let is_text = |&&at: &&usize| sums[at].linked * 10 <= sums[at].bytes;
        let prose: usize = beside.iter().filter(is_text).map(|&at| sums[at].prose).sum();
        let has_most = sums[root].prose * 2 >= sums[0].prose;
        let is_most = prose >= rest * 2 && has_most && (root > 0 || rest <= SHORT);
        let is_part = root == 0 && has_parts && prose * PARTS >= rest;
        if prose < MISNAMED || !(is_most || is_part) {
            continue;
        }
        for at in beside {
            let parts = hints[at..blocks[at].end].iter_mut();
            parts.filter(|hint| **hint == Hint::Aside).for_each(|hint| *hint = Hint::None);
        }
        return;
    }
}

/// Marks what stands in for a script and repeats what the page shows elsewhere, as in pages that were saved after their scripts had run.
fn mark_copies(blocks: &[Block], writer: &Writer, hints: &mut [Hint]) {
    if !blocks.iter().any(|block| block.landmark == Landmark::Fallback) {
        return;
    }
    let mut fallbacks = vec![0; blocks.len()];
    for index in 1..blocks.len() {
        fallbacks[index] = match fallbacks[blocks[index].parent] {
            0 if blocks[index].landmark == Landmark::Fallback => index,
            outer => outer,
        };
    }
    let texts = || writer.segments.iter().enumerate();
    let fallback_of = |segment: &Segment| fallbacks[segment.block];
    let shown: HashSet<&str> = texts()
        .filter(|(_, segment)| fallback_of(segment) == 0)
        .map(|(index, _)| writer.text_of(index))
        .collect();
    // Bytes that are repeated, and all.
    let mut bytes = vec![(0, 0); blocks.len()];
    for (index, segment) in texts() {
        let text = writer.text_of(index);
        let (repeated, all) = &mut bytes[fallback_of(segment)];
        *repeated += if shown.contains(text) { text.len() } else { 0 };
        *all += text.len();
    }
    for index in 1..blocks.len() {
        let (repeated, all) = bytes[fallbacks[index]];
        if fallbacks[index] > 0 && repeated * 2 > all {
            hints[index] = Hint::Boilerplate;
        }
    }
}

/// Marks blocks whose headings are all links and whose text is short, unless they are the content of the page.
fn mark_teasers(blocks: &[Block], sums: &[Sum], prose: usize, hints: &mut [Hint]) {
    let mut teasers = Vec::new();
    let (mut at, mut teaser_prose) = (1, 0);
    while at < blocks.len() {
        let sum = sums[at];
        let is_teaser = hints[at] == Hint::None
            && blocks[at].kind != Kind::Heading
            && sum.linked_headings > 0
            && sum.linked_headings == sum.headings
            && sum.prose < TEASER * sum.headings
            && sum.prose * 2 < prose;
        if is_teaser {
            teasers.push(at);
            teaser_prose += sum.prose;
        }
        at = if is_teaser { blocks[at].end } else { at + 1 };
    }
    let rest = prose.saturating_sub(teaser_prose);
    let hint = match rest {
        rest if rest >= WITHOUT_TEASERS || teaser_prose * FEW_TEASERS < prose => Hint::Aside,
        rest if rest > teaser_prose => Hint::Teaser,
        _ => return,
    };
    for teaser in teasers {
        hints[teaser..blocks[teaser].end].fill(hint);
    }
}
