//! Chooses the body text of a page among all lines that it shows.
//!
//! The choice is made on blocks, elements that start a line. For each one it is measured how much text it contains, how much of that is
//! in links, and how much is prose. These figures separate content from boilerplate most reliably, whatever the language (Kohlschütter,
//! Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Then:
//!
//! 1. Blocks get a [`Hint`] by tag, role and names of classes, as in Readability (Arc90, Mozilla). A hint that would drop the greater part
//!    of the page's prose is ignored, and so are comments if there is hardly any other prose (a forum). Blocks whose headings are all
//!    links are teasers of other pages; they count little, and are dropped if they are few.
//! 2. An element that is named the body of an article, by microdata or as post-content is, stands for the page from here on.
//! 3. A page with hardly any prose is a listing: all its text except boilerplate is kept.
//! 4. The content is the innermost block with seven tenths of the prose. It grows outwards while its surroundings have the same
//!    character; further neighbours are kept if they are prose.
//! 5. Inside it, blocks with a hint are dropped, and so are lines between paragraphs that are a single link.
//!
//! If almost all of a page would be dropped it is kept whole: more text is better than none (Trafilatura: Barbaresi, ACL 2021). Every
//! comparison is between sums over many lines, and the thresholds are far from typical values, so that a changed paragraph does not change
//! the choice. All passes are linear in the number of blocks.

use std::{collections::HashSet, iter, ops::AddAssign};

use super::{
    blocks::{Block, Kind, Landmark},
    boilerplate::Hint,
    declared::{Declared, Found},
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
/// Prose that must remain without comments for comments to be dropped, and the same for teasers.
const WITHOUT_COMMENTS: usize = 250;
const WITHOUT_TEASERS: usize = 1500;
/// Teasers with less than this part of the prose are always dropped.
const FEW_TEASERS: usize = 8;
/// Upper limit of the prose of a teaser per heading.
const TEASER: usize = 500;
/// Prose around the content that makes the content grow, and prose of a neighbour that is kept.
const AROUND: usize = 200;
const NEIGHBOUR: usize = 200;
/// How many levels outwards a neighbour may be that is short compared with the content.
const NEAR: usize = 2;
/// A line with fewer bytes that is a single link may be a name, and is kept.
const LINK_LINE: usize = 20;
/// Bytes of a line that is prose by its length alone, and of one that is prose if it has the punctuation of a sentence.
const LONG: usize = 100;
const SHORT: usize = 1500;
const SENTENCE: usize = 40;

/// Returns for each segment whether it belongs to the body text.
pub(super) fn choose(blocks: &[Block], writer: &Writer, declared: &Declared) -> Vec<bool> {
    let mut segments = measure_segments(blocks, writer);
    let mut sums = sum_by_block(blocks, writer, |index, _| segments[index]);
    let found_body = declared.find_body(writer);
    let is_discussion = declared.is_discussion || is_discussion(blocks, &sums);
    let plain_sums = sums.clone();
    let found_description = || declared.find_description(writer);
    if let Some(found) = &found_body {
        emphasise(found, &mut segments, |_| true);
        sums = sum_by_block(blocks, writer, |index, _| segments[index]);
    } else if !is_discussion && let Some(found) = found_description() {
        count_described(blocks, writer, &sums, &found, &mut segments);
        sums = sum_by_block(blocks, writer, |index, _| segments[index]);
    }
    let mut hints = credible_hints(blocks, &sums, &plain_sums, is_discussion);
    mark_copies(blocks, writer, &mut hints);
    let page = Measured { blocks, writer, segments: &segments, hints: &hints };
    let shown: Vec<bool> =
        writer.segments.iter().map(|segment| hints[segment.block] != Hint::Boilerplate).collect();
    let shown_bytes = page.bytes(&shown);
    if is_remnant(shown_bytes, sums[0].bytes) {
        return vec![true; segments.len()];
    }
    let weights = page.weights();
    let plain = page.plain();
    let declared_body = found_body.and_then(|found| page.holder(&found.pieces));
    let named = page.article_body(&sums).or(declared_body);
    let root = named.or_else(|| page.main(&weights)).unwrap_or(0);
    let weight = weights[root];
    let is_listing = weight < LISTING
        || weight * LISTING_RATIO < plain[root].bytes
        || (weight < SHORT_LISTING && weight * 2 < plain[root].bytes);
    let mut keeps = if !is_listing {
        page.content(root, &sums, &plain, &weights)
    } else if root > 0 {
        page.all_of(root)
    } else {
        return shown;
    };
    page.drop_link_lines(&mut keeps);
    let kept = page.bytes(&keeps);
    // A named body may hold nothing but what stands beside a text.
    if kept == 0 || (named.is_none() && is_remnant(kept, shown_bytes)) { shown } else { keeps }
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

    /// The block that is named the body of the page's article. A page with several articles has none.
    fn article_body(&self, sums: &[Sum]) -> Option<usize> {
        let is_body = |block: &usize| {
            self.blocks[*block].is_body
                && self.hints[*block] <= Hint::Teaser
                && sums[*block].bytes > 0
        };
        let bodies: Vec<usize> = (1..self.blocks.len()).filter(is_body).collect();
        let &largest = bodies.iter().rev().max_by_key(|&&body| sums[body].bytes)?;
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            bodies.iter().partition(|&body| (largest..self.blocks[largest].end).contains(body));
        if outside.iter().any(|&other| sums[other].bytes * 4 >= sums[largest].bytes) {
            return None;
        }
        // The innermost one with nearly all of it.
        inside.into_iter().rfind(|&body| sums[body].bytes * 5 >= sums[largest].bytes * 4)
    }

    /// The block that the page says is its main content, or its only article, if it has most of the prose.
    fn main(&self, weights: &[usize]) -> Option<usize> {
        let only = |landmark: Landmark| {
            let mut all = (1..self.blocks.len()).filter(|&block| {
                self.blocks[block].landmark == landmark && self.hints[block] == Hint::None
            });
            all.next().filter(|_| all.next().is_none())
        };
        let has_most = |&block: &usize| weights[block] * 2 >= weights[0];
        let article = only(Landmark::Article).filter(has_most);
        article.or_else(|| only(Landmark::Main).filter(has_most))
    }

    /// The innermost block with nearly all of what was found.
    fn holder(&self, found: &[usize]) -> Option<usize> {
        let found = sum_by_block(self.blocks, self.writer, |index, segment| {
            if self.hints[segment.block] == Hint::Boilerplate { 0 } else { found[index] }
        });
        let holds = |&block: &usize| found[block] * 10 >= found[0] * 9;
        (found[0] > 0).then(|| (0..self.blocks.len()).rfind(holds)).flatten()
    }

    /// For each segment whether it is in this block, and neither boilerplate nor beside the text.
    fn all_of(&self, root: usize) -> Vec<bool> {
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(root, &mut keeps, |block| matches!(self.hints[block], Hint::None | Hint::Teaser));
        self.writer.segments.iter().map(|segment| keeps[segment.block]).collect()
    }

    /// Steps 4 and 5: for each segment whether it is part of the content.
    fn content(&self, root: usize, sums: &[Sum], plain: &[Sum], weights: &[usize]) -> Vec<bool> {
        let mut path = self.path(root, weights);
        let core = grow(&mut path, plain);
        let content = path[path.len() - 1];
        let is_in_core = |block: usize| (core..self.blocks[core].end).contains(&block);
        let is_misnamed = |block: usize| sums[block].prose * 2 >= sums[content].prose;
        let mut keeps = vec![false; self.blocks.len()];
        self.keep(content, &mut keeps, |block| match self.hints[block] {
            Hint::None => true,
            Hint::Teaser => is_in_core(block),
            Hint::Boilerplate => false,
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
        self.writer.segments.iter().map(|segment| keeps[segment.block]).collect()
    }

    /// The blocks from the page down to the innermost container with most of the prose.
    fn path(&self, root: usize, weights: &[usize]) -> Vec<usize> {
        let mut path = vec![root];
        let heaviest = |block| self.children(block).max_by_key(|&child| weights[child]);
        while let Some(child) = heaviest(path[path.len() - 1])
            && weights[child] * 10 >= weights[root] * 7
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

    /// Keeps a block and the blocks in it, except those that are not wanted and their content.
    fn keep(&self, block: usize, keeps: &mut [bool], wants: impl Fn(usize) -> bool) {
        let mut at = block;
        while at < self.blocks[block].end {
            keeps[at] = at == block || wants(at);
            at = if keeps[at] { at + 1 } else { self.blocks[at].end };
        }
    }

    /// Drops paragraphs between others that are a single link: "read also".
    fn drop_link_lines(&self, keeps: &mut [bool]) {
        let kept: Vec<usize> = (0..keeps.len()).filter(|&index| keeps[index]).collect();
        let is_text = |&index: &usize| self.segments[index].prose >= 40;
        for (place, &index) in kept.iter().enumerate().skip(1) {
            let (sum, kind) =
                (self.segments[index], self.blocks[self.writer.segments[index].block].kind);
            keeps[index] = !(matches!(kind, Kind::Paragraph | Kind::Container)
                && sum.bytes >= LINK_LINE
                && sum.linked * 10 >= sum.bytes * 9
                && is_text(&kept[place - 1])
                && kept.get(place + 1).is_none_or(is_text));
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

fn is_prose(sum: Sum) -> bool {
    sum.linked * 4 < sum.bytes && sum.prose * 2 > sum.bytes
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
    most * 2 >= sums[0].prose.max(SHORT) || (most > 0 && comments * 3 >= sums[0].prose * 2)
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
    let rich = if found.is_excerpt { 2 * SHORT } else { 900 };
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
        segments[index].prose += SHORT * found.pieces[index] / all;
    }
}

/// The hint of each block, inherited from its parents. Hints that would drop too much are ignored.
fn credible_hints(
    blocks: &[Block],
    sums: &[Sum],
    plain_sums: &[Sum],
    is_discussion: bool,
) -> Vec<Hint> {
    let mut hints = vec![Hint::None; blocks.len()];
    let (mut comments, mut boilerplate) = (0, 0);
    for index in 1..blocks.len() {
        let (block, sum) = (blocks[index], sums[index]);
        let inherited = hints[block.parent];
        let is_greater_part = sum.prose >= LISTING && sum.prose * 2 >= sums[0].prose;
        let is_declared = sum.prose >= plain_sums[index].prose + SHORT * 9 / 10;
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

/// What a segment contains, or a block including the blocks in it.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Bytes of text, and bytes of it that are text of links.
    bytes: usize,
    linked: usize,
    /// Bytes of prose; see [`prose`].
    prose: usize,
    /// Bytes of headings outside of links.
    titles: usize,
    /// Number of headings, and of headings that are links.
    headings: usize,
    linked_headings: usize,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.linked += other.linked;
        self.prose += other.prose;
        self.titles += other.titles;
        self.headings += other.headings;
        self.linked_headings += other.linked_headings;
    }
}

/// Measures each segment.
fn measure_segments(blocks: &[Block], writer: &Writer) -> Vec<Sum> {
    let sum = |(index, segment): (usize, &Segment)| {
        let (text, kind) = (writer.text_of(index), blocks[segment.block].kind);
        let is_heading = kind == Kind::Heading;
        Sum {
            bytes: text.len(),
            linked: segment.linked,
            prose: prose(text, segment.linked, kind),
            titles: if is_heading { text.len() - segment.linked } else { 0 },
            headings: usize::from(is_heading),
            linked_headings: usize::from(is_heading && segment.linked * 5 >= text.len() * 4),
        }
    };
    writer.segments.iter().enumerate().map(sum).collect()
}

/// Adds up segments by block, including the blocks in it.
fn sum_by_block<T: Copy + Default + AddAssign>(
    blocks: &[Block],
    writer: &Writer,
    of_segment: impl Fn(usize, &Segment) -> T,
) -> Vec<T> {
    let mut sums = vec![T::default(); blocks.len()];
    for (index, segment) in writer.segments.iter().enumerate() {
        sums[segment.block] += of_segment(index, segment);
    }
    for index in (1..blocks.len()).rev() {
        let sum = sums[index];
        sums[blocks[index].parent] += sum;
    }
    sums
}

/// How many bytes of a line are prose: all outside of links if it is long or a sentence, half in cells and code, few otherwise, none
/// in a heading or if most of the line is links.
///
/// Bytes and not characters, because a Chinese character carries about as much information as three Latin letters.
fn prose(text: &str, linked: usize, kind: Kind) -> usize {
    let free = text.len() - linked;
    if kind == Kind::Heading || linked > free {
        0
    } else if free >= LONG || (free >= SENTENCE && is_sentence(text)) {
        free
    } else if matches!(kind, Kind::Cell | Kind::Preformatted) {
        free / 2
    } else {
        free / 6
    }
}

/// Whether a line has the punctuation of a sentence: a comma, or a stop in front of a space or at the end.
fn is_sentence(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.ends_with(['.', '!', '?', ':', '"', '”', '…', '»', '。', '！', '？', '」'])
        || bytes.contains(&b',')
        || bytes
            .windows(2)
            .any(|pair| matches!(pair[0], b'.' | b'!' | b'?' | b';' | b':') && pair[1] == b' ')
        || (!text.is_ascii()
            && text.contains(['、', '。', '，', '！', '？', '；', '：', '،', '۔', '।']))
}

#[cfg(test)]
mod tests {
    use super::{Kind, prose};

    #[test]
    fn sentences_are_prose_and_labels_are_not() {
        let sentence = "The tide, as everyone knows, waits for no one.";
        assert_eq!(prose(sentence, 0, Kind::Paragraph), sentence.len());
        assert_eq!(prose("Frequently asked questions and answers here", 0, Kind::Paragraph), 7);
        assert_eq!(prose("潮汐的成因，主要是月球的引力和地球的自转", 0, Kind::Container), 60);
        assert_eq!(prose("潮汐的成因主要是月球的引力", 0, Kind::Container), 6);
        assert_eq!(prose(&"word ".repeat(30), 0, Kind::Item), 150);
    }

    #[test]
    fn headings_and_links_are_not_prose_and_cells_are_half() {
        let sentence = "The tide, as everyone knows, waits for no one.";
        assert_eq!(prose(sentence, 0, Kind::Heading), 0);
        assert_eq!(prose(sentence, 24, Kind::Paragraph), 0);
        assert_eq!(prose(sentence, 6, Kind::Paragraph), sentence.len() - 6);
        assert_eq!(prose("high water", 0, Kind::Cell), 5);
    }
}
