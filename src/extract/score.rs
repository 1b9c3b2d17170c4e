//! Chooses the body text of a page among all that it shows.
//!
//! The choice is made on blocks: elements that stand on lines of their own. For each the walk has measured how much text, how much of it
//! in links, and how much prose it holds ([`measure`]), which is what tells content from boilerplate most reliably, whatever the language
//! (Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Then
//!
//! 1. blocks get a [`Hint`] by tag, role and names of classes, as Readability (Arc90, Mozilla) has it; a hint that would take the
//!    greater part of the page's prose is not believed, and neither are comments aside where there is hardly anything else (a forum).
//!    Blocks whose headings are all links are teasers of other pages; they count for little, and for nothing where there are few.
//! 2. a page with hardly any prose is a listing, and all but furniture is its text.
//! 3. the content is the innermost block with seven tenths of the prose. It grows outwards while what is around it reads the same; of
//!    its neighbours further out, those are kept that are prose.
//! 4. in it, what is hinted to stand beside the text goes, and so do lines that are but one link between paragraphs.
//!
//! Falling back to more rather than nothing is Trafilatura's lesson (Barbaresi, ACL 2021): if almost all of a page would go, it is taken
//! whole. Every comparison is between sums over many lines and the thresholds lie far from what pages have, so that a changed paragraph
//! does not change the choice. All passes are linear in the number of blocks.

use super::{
    blocks::{Block, Kind},
    hints::Hint,
    measure::{self, Sum},
    text::Writer,
};

/// Body text of fewer bytes may be a remnant …
const REMNANT: usize = 100;
/// … if the page has so many times as much: then its words for its parts mislead, and all of it is taken.
const REMNANT_RATIO: usize = 20;
/// Prose below which a page is a listing, and that below which it is one if it has as much text of other sorts.
const LISTING: usize = 140;
const SHORT_LISTING: usize = 250;
/// A listing of many links is one for all that its prose is longer, up to a fifth.
const LISTING_RATIO: usize = 5;
/// Prose that has to be left for comments to be beside it, and for teasers.
const WITHOUT_COMMENTS: usize = 250;
const WITHOUT_TEASERS: usize = 1500;
/// How many times the prose of the teasers there must be for them to be beside the text and not part of it.
const FEW_TEASERS: usize = 8;
/// Prose of a teaser.
const TEASER: usize = 500;
/// Prose around the content from which it is looked at, and of a neighbour that belongs to it.
const AROUND: usize = 200;
const NEIGHBOUR: usize = 200;
/// How far out a neighbour may stand that is short beside the content.
const NEAR: usize = 2;
/// Bytes of a line that is but one link, so that it is more than a name.
const LINK_LINE: usize = 20;

/// For each segment whether it belongs to the body text.
pub(super) fn choose(blocks: &[Block], writer: &Writer) -> Vec<bool> {
    let segments = measure::segments(blocks, writer);
    let sums = measure::blocks(blocks, writer, |index, _| segments[index]);
    let hints = believed(blocks, &sums);
    let page = Page { blocks, writer, segments: &segments, hints: &hints };
    let shown: Vec<bool> =
        writer.segments().iter().map(|segment| hints[segment.block] != Hint::Furniture).collect();
    let shown_bytes = page.bytes(&shown);
    if is_remnant(shown_bytes, sums[0].bytes) {
        return vec![true; segments.len()];
    }
    let weights = page.weights();
    let plain = page.plain();
    let weight = weights[0];
    let is_listing = weight < LISTING
        || weight * LISTING_RATIO < plain[0].bytes
        || (weight < SHORT_LISTING && weight * 2 < plain[0].bytes);
    if is_listing {
        return shown;
    }
    let mut keeps = page.content(&sums, &plain, &weights);
    page.drop_link_lines(&mut keeps);
    if is_remnant(page.bytes(&keeps), shown_bytes) { shown } else { keeps }
}

/// Whether so little is kept of so much that it must be a mistake.
fn is_remnant(kept: usize, of: usize) -> bool {
    kept < REMNANT && kept * REMNANT_RATIO < of
}

/// A page as it is measured.
struct Page<'a> {
    blocks: &'a [Block],
    writer: &'a Writer,
    segments: &'a [Sum],
    hints: &'a [Hint],
}

impl Page<'_> {
    fn bytes(&self, keeps: &[bool]) -> usize {
        let kept = self.segments.iter().zip(keeps).filter(|&(_, &keeps)| keeps);
        kept.map(|(sum, _)| sum.bytes).sum()
    }

    /// The prose of each block, of which little counts beside the text.
    fn weights(&self) -> Vec<usize> {
        let weight = |index: usize, block: usize| {
            let prose = self.segments[index].prose;
            match self.hints[block] {
                Hint::None => prose,
                Hint::Aside | Hint::Teaser => prose / 5,
                Hint::Comments => prose / 10,
                Hint::Furniture => 0,
            }
        };
        let sums = measure::blocks(self.blocks, self.writer, |index, segment| Sum {
            prose: weight(index, segment.block),
            ..Sum::default()
        });
        sums.iter().map(|sum| sum.prose).collect()
    }

    /// What each block holds that no hint puts aside.
    fn plain(&self) -> Vec<Sum> {
        measure::blocks(self.blocks, self.writer, |index, segment| {
            if self.hints[segment.block] == Hint::None {
                self.segments[index]
            } else {
                Sum::default()
            }
        })
    }

    fn content(&self, sums: &[Sum], plain: &[Sum], weights: &[usize]) -> Vec<bool> {
        let mut path = self.path(weights);
        let core = grow(&mut path, plain);
        let content = path[path.len() - 1];
        let is_in_core = |block: usize| (core..self.blocks[core].end).contains(&block);
        let is_misnamed = |block: usize| sums[block].prose * 2 >= sums[content].prose;
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(content, &mut keeps, |block| match self.hints[block] {
            Hint::None => true,
            Hint::Teaser => is_in_core(block),
            Hint::Furniture => false,
            Hint::Aside | Hint::Comments => is_misnamed(block),
        });
        for (distance, around) in path.windows(2).rev().enumerate() {
            for block in self.children(around[0]).filter(|&block| block != around[1]) {
                let is_weighty = weights[block] * 10 > weights[content] * 3
                    || (distance < NEAR && weights[block] > NEIGHBOUR);
                if self.hints[block] == Hint::None && is_weighty && is_prose(sums[block]) {
                    self.keep(block, &mut keeps, |block| self.hints[block] == Hint::None);
                }
            }
        }
        self.writer.segments().iter().map(|segment| keeps[segment.block]).collect()
    }

    /// The blocks from the page to the innermost container with most of the prose.
    fn path(&self, weights: &[usize]) -> Vec<usize> {
        let mut path = vec![0];
        let heaviest = |block| self.children(block).max_by_key(|&child| weights[child]);
        while let Some(child) = heaviest(path[path.len() - 1])
            && weights[child] * 10 >= weights[0] * 7
        {
            path.push(child);
        }
        let holds_content =
            |block: &usize| matches!(self.blocks[*block].kind, Kind::Container | Kind::Cell);
        while path.len() > 1 && !path.last().is_some_and(holds_content) {
            path.pop();
        }
        path
    }

    /// Keeps a block and those in it, down to the ones that are not wanted.
    fn keep(&self, block: usize, keeps: &mut [bool], wants: impl Fn(usize) -> bool) {
        let mut at = block;
        while at < self.blocks[block].end {
            keeps[at] = at == block || wants(at);
            at = if keeps[at] { at + 1 } else { self.blocks[at].end };
        }
    }

    /// Drops paragraphs that are but one link and stand between others: "read also".
    fn drop_link_lines(&self, keeps: &mut [bool]) {
        let kept: Vec<usize> = (0..keeps.len()).filter(|&index| keeps[index]).collect();
        let is_text = |&index: &usize| self.segments[index].prose >= 40;
        for (place, &index) in kept.iter().enumerate().skip(1) {
            let (sum, kind) =
                (self.segments[index], self.blocks[self.writer.segments()[index].block].kind);
            keeps[index] = !(matches!(kind, Kind::Paragraph | Kind::Container)
                && sum.bytes >= LINK_LINE
                && sum.linked * 10 >= sum.bytes * 9
                && is_text(&kept[place - 1])
                && kept.get(place + 1).is_none_or(is_text));
        }
    }

    fn children(&self, block: usize) -> impl Iterator<Item = usize> {
        children(self.blocks, block)
    }
}

/// Shortens the path while what stands around its last block is prose as well, almost without links. The innermost block with all of
/// that prose, which is the last one or in it, is the answer.
fn grow(path: &mut Vec<usize>, plain: &[Sum]) -> usize {
    let mut core = path[path.len() - 1];
    while let [.., around, content] = path[..] {
        let rest = plain[around].without(plain[content]);
        let is_same = (rest.prose >= AROUND || rest.prose * 4 >= plain[content].prose)
            && rest.prose * 2 >= rest.bytes - rest.titles
            && rest.linked * 5 <= rest.bytes;
        if rest.bytes > 0 && !is_same {
            break;
        }
        if rest.bytes > 0 {
            core = around;
        }
        path.pop();
    }
    core
}

fn is_prose(sum: Sum) -> bool {
    sum.linked * 4 < sum.bytes && sum.prose * 2 > sum.bytes
}

fn children(blocks: &[Block], block: usize) -> impl Iterator<Item = usize> {
    let end = blocks[block].end;
    let first = Some(block + 1).filter(|&child| child < end);
    std::iter::successors(first, move |&child| Some(blocks[child].end).filter(|&next| next < end))
}

/// The hint of each block, inherited, as far as hints are believed.
fn believed(blocks: &[Block], sums: &[Sum]) -> Vec<Hint> {
    let mut hints = vec![Hint::None; blocks.len()];
    let (mut commented, mut furnished) = (0, 0);
    for index in 1..blocks.len() {
        let (block, sum) = (blocks[index], sums[index]);
        let inherited = hints[block.parent];
        let is_greater_part = sum.prose >= LISTING && sum.prose * 2 >= sums[0].prose;
        hints[index] = inherited.max(match block.hint {
            Hint::Aside if is_greater_part => Hint::None,
            Hint::Furniture if is_greater_part && sum.linked * 2 <= sum.bytes => Hint::None,
            hint => hint,
        });
        if inherited == Hint::None {
            commented += if hints[index] == Hint::Comments { sum.prose } else { 0 };
            furnished += if hints[index] == Hint::Furniture { sum.prose } else { 0 };
        }
    }
    let rest = sums[0].prose - commented - furnished;
    mark_teasers(blocks, sums, rest, &mut hints);
    if rest < WITHOUT_COMMENTS {
        for hint in hints.iter_mut().filter(|hint| **hint == Hint::Comments) {
            *hint = Hint::None;
        }
    }
    hints
}

/// Hints at blocks whose headings are all links and whose text is short, unless they are what the page is about.
fn mark_teasers(blocks: &[Block], sums: &[Sum], prose: usize, hints: &mut [Hint]) {
    let mut teasers = Vec::new();
    let (mut at, mut teased) = (1, 0);
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
            teased += sum.prose;
        }
        at = if is_teaser { blocks[at].end } else { at + 1 };
    }
    let rest = prose.saturating_sub(teased);
    let hint = match rest {
        rest if rest >= WITHOUT_TEASERS || teased * FEW_TEASERS < prose => Hint::Aside,
        rest if rest > teased => Hint::Teaser,
        _ => return,
    };
    for teaser in teasers {
        hints[teaser..blocks[teaser].end].fill(hint);
    }
}
