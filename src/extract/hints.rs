//! Decides which blocks count as text of the page: their [`Hint`]s, as far as the page's measurements and declarations agree.

use std::collections::HashSet;

use super::{
    blocks::{Block, Kind, Landmark},
    boilerplate::Hint,
    declared::{Declared, Found},
    labels::Label,
    measure::{Sum, measure_segments, sum_by_block},
    text::{Segment, Writer},
};

/// Prose of a block below which a misleading hint is believed.
const LEAST: usize = 140;
/// Prose that must remain without comments for comments to be dropped, and the same for teasers.
const WITHOUT_COMMENTS: usize = 250;
const WITHOUT_TEASERS: usize = 1500;
/// Teasers with less than this part of the prose are always dropped.
const FEW_TEASERS: usize = 8;
/// Upper limit of the prose of a teaser per heading.
const TEASER: usize = 500;
/// Prose that a declared text is worth, beyond its length.
const DECLARED: usize = 1500;
/// Prose in one block beside which a description may be only the lead; the same if it is shown whole.
const BESIDE_EXCERPT: usize = 3000;
const BESIDE_WHOLE: usize = 900;

/// The measurements of a page with what it declares, and the hint of each block.
pub(super) struct Judged {
    pub(super) segments: Vec<Sum>,
    pub(super) sums: Vec<Sum>,
    pub(super) hints: Vec<Hint>,
    /// Where the article's text is that the page declares.
    pub(super) body: Option<Found>,
}

/// Measures a page. The prose that is declared to be the article's counts more than other.
pub(super) fn judge(
    mut blocks: Vec<Block>,
    writer: &Writer,
    declared: &Declared,
    labels: &[Option<Label>],
) -> (Vec<Block>, Judged) {
    let mut segments = measure_segments(&blocks, writer);
    let shown = sum_by_block(&blocks, writer, |index, _| segments[index]);
    mark_sections(&mut blocks, writer, labels, &shown);
    let is_discussion = declared.is_discussion || is_discussion(&blocks, &shown);
    let body = declared.find_body(writer);
    if let Some(found) = &body {
        emphasise(found, &mut segments, |_| true);
    } else if !is_discussion && let Some(found) = declared.find_description(writer) {
        count_described(&blocks, writer, &shown, &found, &mut segments);
    }
    let sums = sum_by_block(&blocks, writer, |index, _| segments[index]);
    let mut hints = credible_hints(&blocks, &sums, &shown, is_discussion);
    mark_copies(&blocks, writer, &mut hints);
    (blocks, Judged { segments, sums, hints, body })
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
        let is_links = sums[from].linked * 2 >= sums[from].bytes;
        if sums[from].prose * 3 >= sums[0].prose
            || (label == Some(Label::Links) && is_box && !is_links)
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

/// Whether the page is a discussion: it is named so, and consists of comments, or of what is named so.
fn is_discussion(blocks: &[Block], sums: &[Sum]) -> bool {
    let mut hints = vec![Hint::None; blocks.len()];
    let (mut most, mut comments) = (0, 0);
    for index in 1..blocks.len() {
        let (inherited, own) = (hints[blocks[index].parent], blocks[index].hint);
        hints[index] = inherited.max(own);
        if inherited < Hint::Comments && own == Hint::Comments {
            comments += sums[index].prose;
        }
        if hints[index] == Hint::None && blocks[index].is_discussion {
            most = most.max(sums[index].prose);
        }
    }
    most * 2 >= sums[0].prose.max(DECLARED) || (most > 0 && comments * 3 >= sums[0].prose * 2)
}

/// Adds weight to the prose that the page's description quotes, unless the page is a list.
fn count_described(
    blocks: &[Block],
    writer: &Writer,
    sums: &[Sum],
    found: &Found,
    segments: &mut [Sum],
) {
    let is_contents =
        |block: usize| blocks[block].kind == Kind::List && sums[block].linked * 2 >= sums[0].bytes;
    if (0..blocks.len()).any(is_contents) {
        return;
    }
    let mut hints = vec![Hint::None; blocks.len()];
    for index in 1..blocks.len() {
        hints[index] = hints[blocks[index].parent].max(blocks[index].hint);
    }
    // A description that is shown whole may be the lead of a longer article.
    let rich = if found.is_excerpt { BESIDE_EXCERPT } else { BESIDE_WHOLE };
    let mut direct = vec![0; blocks.len()];
    for (index, segment) in writer.segments.iter().enumerate() {
        let mut block = segment.block;
        while !matches!(blocks[block].kind, Kind::Container | Kind::Cell) {
            block = blocks[block].parent;
        }
        direct[block] += segments[index].prose;
        if hints[block] == Hint::None && direct[block] >= rich {
            return;
        }
    }
    let counts = |index: usize| {
        let block = writer.segments[index].block;
        blocks[block].kind != Kind::Heading && (found.is_excerpt || hints[block] == Hint::None)
    };
    emphasise(found, segments, counts);
}

/// Adds weight to the prose that is found and counts.
fn emphasise(found: &Found, segments: &mut [Sum], counts: impl Fn(usize) -> bool) {
    let which: Vec<usize> =
        (0..segments.len()).filter(|&index| found.pieces[index] > 0 && counts(index)).collect();
    let all: usize = which.iter().map(|&index| found.pieces[index]).sum();
    for index in which {
        segments[index].prose += DECLARED * found.pieces[index] / all;
    }
}

/// The hint of each block, inherited from its parents. Hints that would drop too much are ignored.
fn credible_hints(blocks: &[Block], sums: &[Sum], shown: &[Sum], is_discussion: bool) -> Vec<Hint> {
    let mut hints = vec![Hint::None; blocks.len()];
    let (mut comments, mut boilerplate) = (0, 0);
    for index in 1..blocks.len() {
        let (block, sum) = (blocks[index], sums[index]);
        let inherited = hints[block.parent];
        let is_greater_part = sum.prose >= LEAST && sum.prose * 2 >= sums[0].prose;
        let is_declared = sum.prose >= shown[index].prose + DECLARED * 9 / 10;
        hints[index] = inherited.max(match block.hint {
            _ if is_declared => Hint::None,
            Hint::Aside if is_greater_part => Hint::None,
            Hint::Boilerplate if is_greater_part && sum.linked * 2 <= sum.bytes => Hint::None,
            hint => hint,
        });
        if inherited == Hint::None {
            comments += if hints[index] == Hint::Comments { sum.prose } else { 0 };
            boilerplate += if hints[index] == Hint::Boilerplate { sum.prose } else { 0 };
        }
    }
    let rest = sums[0].prose - comments - boilerplate;
    mark_teasers(blocks, sums, rest, &mut hints);
    if rest < WITHOUT_COMMENTS || is_discussion {
        for hint in hints.iter_mut().filter(|hint| **hint == Hint::Comments) {
            *hint = Hint::None;
        }
    }
    hints
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
