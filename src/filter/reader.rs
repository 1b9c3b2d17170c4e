//! Reads the outline of a page: the content that is kept of it, and the keys by which it is found.

use std::{mem, ops::Range};

use super::{
    keys::{Keys, KeysBuilder, mixed},
    sketch::{Block, Content, PASSAGE, Place, Sample, Tail, TitleWord, Token, sampled},
};
use crate::{
    fingerprint::{Class, Fingerprinter, Sketch as TextSketch},
    page::outline::Outline,
};

/// The most bytes that the words of the body text and their blocks take, and those of the prose around it.
const MOST_BYTES: [usize; 2] = [1_200, 400];
/// What a block takes beside its words.
const BYTES_PER_BLOCK: usize = 5;
/// So many words of the title and the first heading are kept.
const MOST_OF_TITLE: usize = 64;
/// So many targets of links are kept: those in the body text, and others.
const MOST_TARGETS: usize = 48;
/// So many passages are sampled of the body text after what is kept of it.
const MOST_SAMPLED: usize = 48;
/// The deepest nesting that is told apart.
const MOST_DEPTH: u8 = 63;

/// Reads a page with this outline and body text: its sketch, its content, if that is kept, and its keys. If the text consists of the lines of the
/// outline, as extraction makes them, its words are read once.
pub(super) fn read(
    outline: &Outline,
    text: &str,
    fingerprinter: &Fingerprinter,
    keeps_content: bool,
) -> (TextSketch, Option<Content>, Keys) {
    let mut reader = Reader::new(outline, fingerprinter);
    let own = reader.read_body();
    let lines = reader.body_lines().map(|(_, line)| outline.text_of(line));
    let sketch = if consists_of(text, lines) { own } else { fingerprinter.sketch(text) };
    let content = keeps_content.then(|| reader.content());
    (sketch, content, reader.keys.finish())
}

/// Whether a text consists of these lines, with a line break or a tab after each.
fn consists_of<'a>(mut text: &str, mut lines: impl Iterator<Item = &'a str>) -> bool {
    let all = lines.try_for_each(|line| {
        let after = text.strip_prefix(line)?;
        text = after.strip_prefix(['\n', '\t']).or(after.is_empty().then_some(after))?;
        Some(())
    });
    all.is_some() && text.is_empty()
}

/// The sketch of a text, and its keys.
pub(super) fn read_text(text: &str, fingerprinter: &Fingerprinter) -> (TextSketch, Keys) {
    let mut keys = KeysBuilder::default();
    let lines = text.split_inclusive(['\n', '\t']);
    let sketch = fingerprinter.sketch_of_lines(lines, |line, _, hash| keys.push(hash, Some(line)));
    keys.end_body();
    (sketch, keys.finish())
}

/// The lines of each block that is kept of a page.
pub(crate) fn lines_of_blocks(
    outline: &Outline,
    fingerprinter: &Fingerprinter,
) -> Vec<Range<usize>> {
    let mut reader = Reader::new(outline, fingerprinter);
    reader.read_body();
    reader.read_around();
    reader.kept().map(|block| block.lines.clone()).collect()
}

/// A block of a page as extraction found it.
#[derive(Clone, Debug)]
struct Found {
    element: u32,
    lines: Range<usize>,
    place: Place,
    /// Where its tokens are, and a hash of all of them.
    tokens: Range<usize>,
    hash: u64,
}

struct Reader<'a> {
    fingerprinter: &'a Fingerprinter,
    outline: &'a Outline,
    blocks: Vec<Found>,
    tokens: Vec<Token>,
    room: usize,
    tail: Tail,
    /// The hashes of the passages of the tail.
    sampled: Vec<u32>,
    /// The last tokens of the body text, the latest in the lowest byte.
    last: u64,
    keys: KeysBuilder,
}

impl<'a> Reader<'a> {
    fn new(outline: &'a Outline, fingerprinter: &'a Fingerprinter) -> Self {
        Self {
            fingerprinter,
            outline,
            blocks: blocks(outline),
            tokens: Vec::with_capacity(MOST_BYTES[0] + MOST_BYTES[1]),
            room: MOST_BYTES[0],
            tail: Tail::default(),
            sampled: Vec::new(),
            last: 0,
            keys: KeysBuilder::default(),
        }
    }

    /// The lines of the body text, each with the number of its block.
    fn body_lines(&self) -> impl Iterator<Item = (usize, usize)> {
        let blocks = self.blocks.iter().enumerate().filter(|(_, block)| block.place.is_body());
        blocks.flat_map(|(number, block)| block.lines.clone().map(move |line| (number, line)))
    }

    /// Reads the lines of the body text, and returns the sketch of a text of these lines.
    fn read_body(&mut self) -> TextSketch {
        let (outline, lines) = (self.outline, self.body_lines().collect::<Vec<_>>());
        let texts = lines.iter().map(|&(_, line)| outline.line_of(line));
        let sketch = self
            .fingerprinter
            .sketch_of_lines(texts, |at, class, hash| self.push(lines[at], class, hash));
        self.keys.end_body();
        sketch
    }

    /// Adds a token of the body text, given its block and line. They come in page order.
    fn push(&mut self, (number, line): (usize, usize), class: Class, hash: u64) {
        let (token, block) = (Token::of(class, hash), &mut self.blocks[number]);
        let is_link = block.place == Place::Links;
        self.keys.push(hash, (!is_link).then_some(line));
        self.last = self.last << 8 | u64::from(token.0);
        let needed = if block.tokens.is_empty() { BYTES_PER_BLOCK + 1 } else { 1 };
        if self.room >= needed {
            block.add(&mut self.tokens, token, hash);
            self.room -= needed;
            return;
        }
        self.room = 0;
        // Of links the targets are known.
        if is_link {
            return;
        }
        *(if token.is_character() { &mut self.tail.characters } else { &mut self.tail.words }) += 1;
        self.sampled.push(sampled(self.last));
    }

    /// Reads the prose around the body text while there is room.
    fn read_around(&mut self) {
        let mut room = MOST_BYTES[1];
        for block in self.blocks.iter_mut().filter(|block| !block.place.is_body()) {
            let start = self.tokens.len();
            let mut hashes = Vec::new();
            for line in block.lines.clone() {
                self.fingerprinter.hashes(self.outline.text_of(line), |class, hash| {
                    hashes.push((Token::of(class, hash), hash));
                });
            }
            // Shorter ones are labels.
            if hashes.len() < PASSAGE {
                continue;
            }
            let most = room.saturating_sub(BYTES_PER_BLOCK).min(hashes.len());
            for &(token, hash) in &hashes {
                self.keys.push(hash, None);
                if self.tokens.len() < start + most {
                    block.add(&mut self.tokens, token, hash);
                }
            }
            room = room.saturating_sub(BYTES_PER_BLOCK + most);
            if room <= BYTES_PER_BLOCK {
                break;
            }
        }
    }

    /// The blocks that are kept, in page order.
    fn kept(&self) -> impl Iterator<Item = &Found> + Clone {
        self.blocks.iter().filter(|block| !block.tokens.is_empty())
    }

    fn content(&mut self) -> Content {
        self.read_around();
        self.tail.passages = Sample::of(mem::take(&mut self.sampled), MOST_SAMPLED);
        let shared = shared(self.outline, self.kept().map(|block| block.element));
        let block = |(block, shared): (&Found, u8)| Block {
            len: u16::try_from(block.tokens.len()).expect("there is less room"),
            place: block.place,
            shared,
            hash: (block.hash >> 48) as u16,
        };
        let tokens: Vec<_> = self.kept().map(|it| &self.tokens[it.tokens.clone()]).collect();
        Content {
            tokens: tokens.concat(),
            blocks: self.kept().zip(shared).map(block).collect(),
            tail: self.tail.clone(),
            title: title(self.outline.name(), self.fingerprinter),
            targets: targets(self.outline),
        }
    }
}

impl Found {
    fn add(&mut self, tokens: &mut Vec<Token>, token: Token, hash: u64) {
        if self.tokens.is_empty() {
            self.tokens = tokens.len()..tokens.len();
        }
        tokens.push(token);
        self.tokens.end = tokens.len();
        self.hash = mixed(self.hash, hash);
    }
}

/// The blocks of a page: lines of one element, in the body text or around it. Around it only prose counts, not links.
fn blocks(outline: &Outline) -> Vec<Found> {
    let mut from = 0;
    let lines = outline.lines().chunk_by(|a, b| a.block == b.block && a.is_body == b.is_body);
    let found = lines.filter_map(|lines| {
        let range = from..from + lines.len();
        from = range.end;
        let all: usize = range.clone().map(|line| outline.text_of(line).len()).sum();
        let linked: usize = lines.iter().map(|line| line.linked).sum();
        let place = match (lines[0].is_body, linked * 2 > all) {
            (true, false) => Place::Body,
            (true, true) => Place::Links,
            (false, false) => Place::Around,
            (false, true) => return None,
        };
        Some(Found { element: lines[0].block, lines: range, place, tokens: 0..0, hash: 0 })
    });
    found.collect()
}

/// The first words of title and first heading.
fn title(name: &str, fingerprinter: &Fingerprinter) -> Vec<TitleWord> {
    let mut title = Vec::new();
    for line in name.lines() {
        let most = title.len() + MOST_OF_TITLE / 2;
        fingerprinter.hashes(line, |class, hash| {
            if title.len() < most {
                let is_character = class == Class::Character;
                title.push(TitleWord { hash: (hash >> 48) as u16, is_character });
            }
        });
    }
    title.sort_unstable();
    title.dedup();
    title
}

/// Where the links of the body text lead, and others of the content that none of these leads to.
fn targets(outline: &Outline) -> [Sample<u16>; 2] {
    let of = |wanted: bool| {
        let all = outline.targets().iter().filter(move |(_, is_body)| *is_body == wanted);
        all.map(|(hash, _)| (hash >> 16) as u16)
    };
    let body = Sample::of(of(true).collect(), MOST_TARGETS);
    let others = of(false).filter(|hash| !body.has(*hash)).collect();
    [body, Sample::of(others, MOST_TARGETS)]
}

/// For each block, given its element, how many elements hold both it and the block before it. The page does not count, nor does an element with
/// a single block.
fn shared(outline: &Outline, blocks: impl Iterator<Item = u32> + Clone) -> Vec<u8> {
    let parents = outline.parents();
    // What each element holds: blocks, or elements with some.
    let mut units = vec![0_u32; parents.len()];
    for element in blocks.clone() {
        units[element as usize] += 1;
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
    let mut before = Outline::PAGE;
    let shared = blocks.map(|element| {
        let (mut one, mut other) = (element, std::mem::replace(&mut before, element));
        while one != other {
            // Parents come before their children.
            let later = if one > other { &mut one } else { &mut other };
            *later = parents[*later as usize];
        }
        depth[one as usize]
    });
    shared.collect()
}
