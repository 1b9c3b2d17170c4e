//! Judges a page by its article, not by what stands around it.
//!
//! The body text that extraction finds is good in recall and poor in precision where an article is short: boilerplate stays in it, so a
//! comparison of whole texts pays for every word of it, in both directions. So pages that come with an [`Outline`] are compared by what
//! they have in common (`compare.rs`):
//!
//! - *Pages of two origins* share next to nothing but articles. What they share in long runs must be the article of both: most of the body
//!   text, or of the element that holds it. A quotation or a licence fills neither.
//! - *Pages of one origin* share their boilerplate. So they repeat each other if hardly any prose is *not* shared, apart from boilerplate.
//!   Boilerplate is learnt: blocks that several pages of the origin have in common ([`super::templates`]). And their links must not lead
//!   elsewhere: pages with little text differ in them.
//!
//! | file | what it does |
//! |---|---|
//! | `sketch.rs` | what is kept of a page: at most 2 KB |
//! | `keys.rs` | finds earlier pages that share a passage: an index of bottom-k sketches, 256 to 300 bytes a page |
//! | `targets.rs` | where the links of a page lead |
//! | `compare.rs` | what two pages have in common, and the rules |

mod compare;
mod keys;
mod sketch;
mod targets;

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use self::{
    sketch::{BYTES_PER_LEAF, BodyPart, MOST_BYTES, MOST_OF_TITLE, MOST_PACKED, Name},
    sketch::{Token, passages},
};
use crate::{
    fingerprint::{Fingerprinter, Sketch},
    page::outline::{LineKind, Outline},
};

pub(crate) use compare::{Figures, Names, Part, Passage, Shared, UnmetCondition};
pub(super) use compare::{OriginRelation, Own, Side};
pub(crate) use keys::{BYTES_PER_PAGE, PassageIndex, PassageKeys};
pub(crate) use sketch::ArticleSketch;
pub(crate) use sketch::WORD;
pub(crate) use targets::{TargetFigures, Targets};

/// A page whose own content weighs less is thin: fewer than three words.
const THIN: usize = 3 * sketch::WORD;

/// What the article of a page is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Article {
    sketch: ArticleSketch,
    /// The key of the passage from each token on.
    keys: Vec<u64>,
    /// The hashes of blocks beside the body text for which the sketch of a long page has no room: boilerplate is learnt from them too.
    left_out: Vec<u64>,
}

/// At most this many such blocks.
const MOST_LEFT_OUT: usize = 32;

/// A block of prose: text without a block in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    /// Its tokens.
    start: usize,
    end: usize,
    /// How many elements hold both it and the block before it. The page does not count, nor does an element with a single block.
    shared: u8,
    /// Whether it belongs to the body text.
    is_body: bool,
    /// Whether more than a quarter of it is links; in a body text that is a list of links, more than half.
    is_linked: bool,
}

impl Leaf {
    fn tokens(&self) -> usize {
        self.end - self.start
    }

    fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether it is an entry, if the body text is a list.
    fn is_entry(&self) -> bool {
        self.is_body && self.is_linked
    }
}

/// The deepest nesting that is told apart.
const MOST_DEPTH: u8 = 63;

impl Article {
    /// The article of a page with this outline.
    pub(crate) fn of(outline: &Outline, fingerprinter: &Fingerprinter) -> Self {
        let mut page = Reader::new(outline, fingerprinter);
        page.read(true);
        page.finish(|_| ())
    }

    /// The article of a page with this outline, and the sketch of its body text. If the text consists of the lines of the outline, as
    /// extraction makes them, its words are read once.
    pub(crate) fn with_text(
        outline: &Outline,
        text: &str,
        fingerprinter: &Fingerprinter,
    ) -> (Self, Sketch) {
        let Some(lines) = body_lines(outline, text) else {
            return (Self::of(outline, fingerprinter), fingerprinter.sketch(text));
        };
        let mut page = Reader::new(outline, fingerprinter);
        let sketch = page.read_body(&lines);
        (page.finish(|_| ()), sketch)
    }

    /// The lines of each block of a page with this outline.
    pub(crate) fn lines(outline: &Outline, fingerprinter: &Fingerprinter) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        let mut page = Reader::new(outline, fingerprinter);
        page.read(true);
        page.finish(|lines| blocks.push(lines));
        blocks
    }

    /// The lines of each block of the body text that is links, by which lists are compared.
    pub(crate) fn links(outline: &Outline) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        prose(outline, |block| blocks.push(block.lines.clone()));
        blocks
    }

    /// The article of which only the sketch is known. Its keys are not those of the page, but those of articles made in this way agree.
    pub(crate) fn of_sketch(sketch: ArticleSketch) -> Self {
        let spread = |token: &Token| u64::from(token.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hashes: Vec<u64> = sketch.tokens.iter().map(spread).collect();
        Self::new(sketch, &hashes, Vec::new())
    }

    /// The article with this sketch, given the whole hashes of its tokens.
    fn new(sketch: ArticleSketch, hashes: &[u64], left_out: Vec<u64>) -> Self {
        let keys = passages(&sketch.tokens).map(|passage| {
            let key = hashes[passage].iter().fold(0, |key: u64, hash| {
                (key.rotate_left(23) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            });
            // The low bits of a product depend on the low bits only.
            key ^ (key >> 32)
        });
        let keys = keys.collect();
        Self { sketch, keys, left_out }
    }

    /// What is kept of it.
    pub(crate) fn sketch(&self) -> &ArticleSketch {
        &self.sketch
    }

    /// The hash of the page's title and first heading, digits left out.
    pub(crate) fn name(&self) -> u32 {
        self.sketch.name.letters
    }

    /// Where the links lead.
    pub(crate) fn targets(&self) -> &Targets {
        self.sketch.targets()
    }

    /// The hash and the weight of each block, by which boilerplate is learnt.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u32)> {
        self.sketch.blocks()
    }

    /// The keys of what boilerplate is learnt from beside these blocks: where the links lead, and blocks for which the sketch has no room.
    pub(crate) fn keys_beside_blocks(&self) -> impl Iterator<Item = u64> {
        self.sketch.targets.keys().chain(self.left_out.iter().copied())
    }

    /// The keys by which pages that share a passage with it are found, given which of its blocks are boilerplate.
    pub(crate) fn keys(&self, boilerplate: &[bool]) -> PassageKeys {
        let leaves = self.sketch.leaves.iter().zip(boilerplate);
        let own = leaves.filter(|(_, is_boilerplate)| !**is_boilerplate).flat_map(|(leaf, _)| {
            let keys = self.keys.get(leaf.range()).or_else(|| self.keys.get(leaf.start..));
            keys.into_iter().flatten().map(|&key| (key, leaf.is_body))
        });
        PassageKeys::of(own)
    }

    /// Whether it has hardly any content of its own.
    pub(crate) fn is_thin(&self, boilerplate: &[bool]) -> bool {
        let own = self
            .sketch
            .leaves
            .iter()
            .zip(boilerplate)
            .filter(|(_, is_boilerplate)| !**is_boilerplate);
        let mut own = own.flat_map(|(leaf, _)| &self.sketch.tokens[leaf.range()]);
        let mut weight = 0;
        own.all(|token| {
            weight += token.weight();
            weight < THIN
        })
    }
}

impl ArticleSketch {
    /// Where its links lead.
    pub(crate) fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.leaves.len()
    }

    /// The hash and the weight of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u32)> {
        self.block_hashes().zip(&self.leaves).map(|(hash, leaf)| {
            let weight: usize = self.tokens[leaf.range()].iter().map(|token| token.weight()).sum();
            (hash, u32::try_from(weight).unwrap_or(u32::MAX))
        })
    }

    /// The hash of each block; numbers count as equal.
    pub(crate) fn block_hashes(&self) -> impl Iterator<Item = u64> {
        let mut bytes = Vec::new();
        self.leaves.iter().map(move |leaf| block_hash(&self.tokens[leaf.range()], &mut bytes))
    }
}

/// The hash of a block; numbers count as equal.
fn block_hash(tokens: &[Token], bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    bytes.extend(tokens.iter().map(|token| token.without_digits()));
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// A block of a page as extraction found it.
#[derive(Clone, Debug)]
struct Prose {
    block: u32,
    lines: Range<usize>,
    is_body: bool,
    is_linked: bool,
}

/// The blocks that are prose: without those of which more than half is links, unless the body text is a list of links. Also returns these
/// blocks of the body text, and passes each to `visit`.
fn prose(outline: &Outline, mut visit: impl FnMut(&Prose)) -> (Vec<Prose>, BodyPart) {
    let (mut blocks, mut from) = (Vec::with_capacity(outline.lines().len()), 0);
    for lines in outline.lines().chunk_by(|a, b| a.block == b.block && a.is_body == b.is_body) {
        let range = from..from + lines.len();
        from = range.end;
        let all: usize = range.clone().map(|line| outline.text_of(line).len()).sum();
        let linked: usize = lines.iter().map(|line| line.linked).sum();
        let (block, is_body) = (lines[0].block, lines[0].is_body);
        blocks.push((
            Prose { block, lines: range, is_body, is_linked: linked * 4 > all },
            all,
            linked,
        ));
    }
    let body = blocks.iter().filter(|(block, ..)| block.is_body);
    let (all, linked) = body.fold((0, 0), |sum, (_, all, linked)| (sum.0 + all, sum.1 + linked));
    let is_listing = linked * 2 > all;
    let mut texts = String::new();
    for (block, ..) in
        blocks.iter().filter(|(block, all, linked)| block.is_body && linked * 2 > *all)
    {
        visit(block);
        block.lines.clone().for_each(|line| texts.push_str(outline.text_of(line)));
    }
    let share = percent(linked, all);
    let links = BodyPart { hash: half(xxhash_rust::xxh3::xxh3_64(texts.as_bytes())), share };
    let kept = blocks.into_iter().filter_map(|(block, all, linked)| {
        if is_listing && block.is_body {
            return Some(Prose { is_linked: linked * 2 > all, ..block });
        }
        (linked * 2 <= all).then_some(block)
    });
    (kept.collect(), links)
}

/// The source code in the body text.
fn code(outline: &Outline) -> BodyPart {
    let (mut bytes, mut of_code, mut hash) = (0, 0, Xxh3::new());
    for (at, line) in outline.lines().iter().enumerate().filter(|(_, line)| line.is_body) {
        let text = outline.text_of(at);
        bytes += text.len();
        if line.kind == LineKind::Code {
            of_code += text.len();
            text.split_ascii_whitespace().for_each(|word| hash.update(word.as_bytes()));
        }
    }
    if of_code == 0 {
        return BodyPart::default();
    }
    BodyPart { hash: half(hash.digest()), share: percent(of_code, bytes) }
}

/// The entries of a list in the body text: the headings that are links. A heading that is in the title names the page or the site, and does not count.
fn entries(outline: &Outline) -> BodyPart {
    let title = outline.name().lines().next().unwrap_or_default();
    let (mut all, mut before_second, mut entries) = (0, 0, Vec::new());
    for (at, line) in outline.lines().iter().enumerate().filter(|(_, line)| line.is_body) {
        let text = outline.text_of(at);
        let is_link = line.linked * 2 > text.len();
        if line.kind == LineKind::Heading && is_link && !title.contains(text) {
            entries.push(text);
            before_second = if entries.len() == 2 { all } else { before_second };
        }
        all += text.len();
    }
    if entries.is_empty() {
        return BodyPart::default();
    }
    let from_second = if entries.len() < 2 { 0 } else { all - before_second };
    entries.sort_unstable();
    entries.dedup();
    BodyPart {
        hash: half(xxhash_rust::xxh3::xxh3_64(entries.join("\n").as_bytes())),
        share: percent(from_second, all),
    }
}

/// A part in per cent.
fn percent(part: usize, all: usize) -> u8 {
    u8::try_from(100 * part / all.max(1)).unwrap_or(100)
}

/// A shorter hash.
fn half(hash: u64) -> u32 {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// For each block how many elements hold both it and the block before it. The page does not count, nor does an element with a single block.
fn shared(outline: &Outline, blocks: &[Prose]) -> Vec<u8> {
    let parents = outline.parents();
    // What each element holds: blocks of prose, or elements with some.
    let mut units = vec![0_u32; parents.len()];
    for block in blocks {
        units[block.block as usize] += 1;
    }
    for at in (1..parents.len()).rev() {
        units[parents[at] as usize] += u32::from(units[at] > 0);
    }
    // The number of such elements from the page down to each one.
    let mut depth = vec![0_u8; parents.len()];
    for at in 1..parents.len() {
        let above = depth[parents[at] as usize];
        depth[at] = (above + u8::from(units[at] > 1)).min(MOST_DEPTH);
    }
    let mut found = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        let before = at.checked_sub(1).map_or(0, |before| blocks[before].block);
        let (mut one, mut other) = (block.block, before);
        while one != other {
            // Parents come before their children.
            let later = if one > other { &mut one } else { &mut other };
            *later = parents[*later as usize];
        }
        found.push(depth[one as usize]);
    }
    found
}

/// The first words of each line of a name.
fn title(name: &str, fingerprinter: &Fingerprinter) -> Vec<Token> {
    let mut title = Vec::new();
    for line in name.lines() {
        let most = title.len() + MOST_OF_TITLE;
        fingerprinter.hashes(line, |class, hash| {
            if title.len() < most {
                title.push(Token::of(class, hash));
            }
        });
    }
    title
}

/// Where in a text the lines of the body text of a page are: the number of the line, and the text up to the next one. `None` if the text
/// does not consist of these lines.
fn body_lines<'a>(outline: &Outline, text: &'a str) -> Option<Vec<(usize, &'a str)>> {
    let mut rest = text;
    let lines = outline.lines().iter().enumerate().filter(|(_, line)| line.is_body);
    let lines = lines.map(|(number, _)| {
        let after = rest.strip_prefix(outline.text_of(number))?;
        let after = after.strip_prefix(['\n', '\t']).or(after.is_empty().then_some(after))?;
        let (line, next) = rest.split_at(rest.len() - after.len());
        rest = next;
        Some((number, line))
    });
    let lines: Vec<_> = lines.collect::<Option<_>>()?;
    rest.is_empty().then_some(lines)
}

/// Reads the blocks of a page as tokens while there is room: those of the body text first.
struct Reader<'a> {
    fingerprinter: &'a Fingerprinter,
    outline: &'a Outline,
    blocks: Vec<Prose>,
    /// What is kept of the page beside its words and their blocks.
    sketch: ArticleSketch,
    tokens: Vec<Token>,
    hashes: Vec<u64>,
    /// For each block that was read where its tokens are.
    ranges: Vec<Range<usize>>,
    room: usize,
    /// The hashes of blocks beside the body text for which there is no room.
    left_out: Vec<u64>,
}

impl<'a> Reader<'a> {
    fn new(outline: &'a Outline, fingerprinter: &'a Fingerprinter) -> Self {
        let (blocks, links) = prose(outline, |_| ());
        let ranges = vec![0..0; blocks.len()];
        let (tokens, hashes) = (Vec::with_capacity(MOST_BYTES), Vec::with_capacity(MOST_BYTES));
        let (digits, letters): (String, String) =
            outline.name().chars().partition(|c| c.is_numeric());
        let [letters, digits] =
            [letters, digits].map(|part| half(xxhash_rust::xxh3::xxh3_64(part.as_bytes())));
        let sketch = ArticleSketch {
            name: Name { letters, digits },
            title: title(outline.name(), fingerprinter),
            links,
            code: code(outline),
            entries: entries(outline),
            targets: Targets::of(outline.targets()),
            ..ArticleSketch::default()
        };
        // The number of blocks may take another byte.
        let room = MOST_BYTES.min(MOST_PACKED - sketch.pack().len() - 1);
        Self {
            fingerprinter,
            outline,
            blocks,
            sketch,
            tokens,
            hashes,
            ranges,
            room,
            left_out: Vec::new(),
        }
    }

    /// Reads the blocks of the body text, or the others.
    fn read(&mut self, is_body: bool) {
        for number in 0..self.blocks.len() {
            let start = self.tokens.len();
            if self.blocks[number].is_body != is_body {
                continue;
            }
            let is_left_out = self.room <= BYTES_PER_LEAF;
            if !is_left_out || !is_body && self.left_out.len() < MOST_LEFT_OUT {
                for line in self.blocks[number].lines.clone() {
                    self.fingerprinter.hashes(self.outline.text_of(line), |class, hash| {
                        self.tokens.push(Token::of(class, hash));
                        self.hashes.push(hash);
                    });
                }
            }
            self.keep(number, start..self.tokens.len());
            if !is_body && self.ranges[number].end < self.tokens.len() {
                self.left_out.push(block_hash(&self.tokens[start..], &mut Vec::new()));
            }
        }
        self.sketch.is_body_truncated |= is_body && self.room == 0;
    }

    /// Reads the body text, given its lines, and returns its sketch.
    fn read_body(&mut self, lines: &[(usize, &str)]) -> Sketch {
        let mut blocks = (0..).zip(&self.blocks).filter(|(_, block)| block.is_body).peekable();
        let (tokens, hashes, ranges) = (&mut self.tokens, &mut self.hashes, &mut self.ranges);
        let texts = lines.iter().map(|(_, text)| *text);
        // The block of the current line, if it is prose, and the line at which that ends.
        let (mut current, mut until) = (None::<usize>, 0);
        let sketch = self.fingerprinter.sketch_of_lines(texts, |line, class, hash| {
            if line >= until {
                let here = lines[line].0;
                while blocks.next_if(|(_, block)| block.lines.end <= here).is_some() {}
                if let Some(before) = current.take() {
                    ranges[before].end = tokens.len();
                }
                let end = match blocks.peek() {
                    Some(&(number, block)) if block.lines.start <= here => {
                        current = Some(number);
                        ranges[number].start = tokens.len();
                        block.lines.end
                    }
                    Some((_, block)) => block.lines.start,
                    None => usize::MAX,
                };
                until = lines.partition_point(|&(line, _)| line < end);
            }
            // One more than there is room for shows that some are missing.
            if current.is_some() && tokens.len() <= MOST_BYTES {
                tokens.push(Token::of(class, hash));
                hashes.push(hash);
            }
        });
        if let Some(last) = current {
            ranges[last].end = tokens.len();
        }
        for number in 0..self.blocks.len() {
            if self.blocks[number].is_body {
                self.keep(number, self.ranges[number].clone());
            }
        }
        self.sketch.is_body_truncated = self.room == 0;
        sketch
    }

    /// Keeps as much of a block as there is room for, given where its tokens are.
    fn keep(&mut self, number: usize, tokens: Range<usize>) {
        let most = self.room.saturating_sub(BYTES_PER_LEAF);
        let end = tokens.end.min(tokens.start + most);
        self.room = if tokens.len() > most || most == 0 { 0 } else { most - tokens.len() };
        self.ranges[number] = tokens.start..end;
    }

    /// Reads the blocks beside the body text, and passes the lines of each block that has tokens to `visit`.
    fn finish(mut self, mut visit: impl FnMut(Range<usize>)) -> Article {
        self.read(false);
        let mut sketch = ArticleSketch {
            is_truncated: self.room == 0,
            tokens: Vec::with_capacity(self.tokens.len()),
            leaves: Vec::with_capacity(self.blocks.len()),
            ..self.sketch
        };
        let mut hashes = Vec::with_capacity(self.tokens.len());
        let mut shared_since = u8::MAX;
        let shared = shared(self.outline, &self.blocks);
        for ((block, range), shared) in self.blocks.iter().zip(self.ranges).zip(shared) {
            shared_since = shared_since.min(shared);
            if range.is_empty() {
                continue;
            }
            let start = sketch.tokens.len();
            sketch.tokens.extend_from_slice(&self.tokens[range.clone()]);
            hashes.extend_from_slice(&self.hashes[range]);
            let shared = if sketch.leaves.is_empty() { 0 } else { shared_since };
            let (is_body, is_linked, end) = (block.is_body, block.is_linked, sketch.tokens.len());
            sketch.leaves.push(Leaf { start, end, shared, is_body, is_linked });
            visit(block.lines.clone());
            shared_since = u8::MAX;
        }
        Article::new(sketch, &hashes, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::fingerprint::Recipe;

    proptest! {
        #[test]
        fn an_article_is_the_same_whether_its_text_is_read_apart_or_not(
            lines in prop::collection::vec(
                ("[ab1中国か,. ]{0,20}", 1..60_usize, 0..4_u32, any::<bool>(), any::<bool>()), 0..20),
            end in select(vec!["", "\n", "x"]),
        ) {
            let mut outline = Outline::new("Tea");
            let mut text = String::new();
            for (words, times, up, is_body, is_linked) in &lines {
                let parent = u32::try_from(outline.parents().len() - 1).unwrap().saturating_sub(*up);
                let block = outline.block(parent);
                let line = words.repeat(*times);
                outline.line(block, &line, if *is_linked { line.len() } else { 0 }, *is_body);
                if *is_body {
                    text.push_str(if text.is_empty() { "" } else { "\n" });
                    text.push_str(&line);
                }
            }
            text.push_str(end);
            let fingerprinter = Fingerprinter::new(Recipe::default());
            let (article, sketch) = Article::with_text(&outline, &text, &fingerprinter);
            prop_assert_eq!(article, Article::of(&outline, &fingerprinter));
            prop_assert_eq!(sketch, fingerprinter.sketch(&text));
        }
    }
}
