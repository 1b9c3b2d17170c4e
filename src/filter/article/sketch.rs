//! The sketch of a page's article: one byte per word, and the tree of blocks that hold the words. Also what words weigh, and passages of them.
//!
//! Five words in a row, at one byte each, tell passages apart as well as their text does, in a fifth of the room.

use std::ops::Range;

use super::{Leaf, targets::Targets};
use crate::fingerprint::Class;

/// The most bytes that the words of a sketch and their blocks take. Of a longer page the body text is kept first, then the other blocks in page order.
pub(super) const MOST_BYTES: usize = 1_800;
/// The most that a packed sketch takes.
pub(super) const MOST_PACKED: usize = 2_048;
/// What a block takes at most.
pub(super) const BYTES_PER_LEAF: usize = 3;

const TRUNCATED: u8 = 1;
const BODY_TRUNCATED: u8 = 2;
const TITLED: u8 = 4;
const LINKED: u8 = 8;
const CODED: u8 = 16;
const LISTED: u8 = 32;
/// What is kept of the title, and of the first heading, at most.
pub(super) const MOST_OF_TITLE: usize = 16;

/// The words of a page in page order, and the blocks that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArticleSketch {
    pub(super) tokens: Vec<Token>,
    pub(super) leaves: Vec<Leaf>,
    /// Whether some of the page is missing.
    pub(super) is_truncated: bool,
    /// Whether some of the body text is missing.
    pub(super) is_body_truncated: bool,
    pub(super) name: Name,
    /// The first words of its title and of its first heading; empty if they are not known.
    pub(super) title: Vec<Token>,
    /// The blocks of which more than half is links. The share is that of links in all blocks.
    pub(super) links: BodyPart,
    /// The lines of source code, without white space.
    pub(super) code: BodyPart,
    /// The headings that are links, in any order. The share is that of the second one and all after it.
    pub(super) entries: BodyPart,
    /// Where its links lead; empty if that is not known.
    pub(super) targets: Targets,
}

/// The page's title and first heading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// The hash of all but their digits: two pages with the same one have one name.
    pub(super) letters: u32,
    /// The hash of their digits.
    pub(super) digits: u32,
}

/// A part of the body text in which two pages of one origin may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BodyPart {
    pub(super) hash: u32,
    /// How much of the body text it is, in per cent.
    pub(super) share: u8,
}

impl BodyPart {
    fn pack(self, out: &mut Vec<u8>) {
        out.extend(self.hash.to_le_bytes());
        out.push(self.share);
    }

    /// Takes what was packed so from the beginning of these bytes; `None` if they are damaged.
    fn unpack(rest: &mut &[u8]) -> Option<Self> {
        let (&hash, after) = rest.split_first_chunk()?;
        let (&share, after) = after.split_first()?;
        *rest = after;
        Some(Self { hash: u32::from_le_bytes(hash), share })
    }
}

impl ArticleSketch {
    /// Whether some of the body text is missing.
    pub(crate) fn is_body_truncated(&self) -> bool {
        self.is_body_truncated
    }

    /// As bytes, for a file.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.tokens.len() + 4 * self.leaves.len() + 4);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(self.is_truncated, TRUNCATED)
                | flag(self.is_body_truncated, BODY_TRUNCATED)
                | flag(!self.title.is_empty(), TITLED)
                | flag(!self.targets.is_empty(), LINKED)
                | flag(self.code != BodyPart::default(), CODED)
                | flag(self.entries != BodyPart::default(), LISTED),
        );
        out.extend(self.name.letters.to_le_bytes());
        out.extend(self.name.digits.to_le_bytes());
        self.links.pack(&mut out);
        for part in [self.code, self.entries].iter().filter(|part| **part != BodyPart::default()) {
            part.pack(&mut out);
        }
        if !self.title.is_empty() {
            push_number(&mut out, self.title.len());
            out.extend(self.title.iter().map(|token| token.0));
        }
        if !self.targets.is_empty() {
            self.targets.pack(&mut out);
        }
        push_number(&mut out, self.leaves.len());
        for leaf in &self.leaves {
            let [linked, body] = [leaf.is_linked, leaf.is_body].map(u8::from);
            out.push(leaf.shared << 2 | linked << 1 | body);
            push_number(&mut out, leaf.tokens());
        }
        out.extend(self.tokens.iter().map(|token| token.0));
        out
    }

    /// The sketch that was packed so; `None` if the bytes are damaged.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (&letters, rest) = rest.split_first_chunk()?;
        let (&digits, mut rest) = rest.split_first_chunk()?;
        let [letters, digits] = [letters, digits].map(u32::from_le_bytes);
        let name = Name { letters, digits };
        let links = BodyPart::unpack(&mut rest)?;
        let mut part = |flag: u8| match flags & flag {
            0 => Some(BodyPart::default()),
            _ => BodyPart::unpack(&mut rest),
        };
        let (code, entries) = (part(CODED)?, part(LISTED)?);
        let mut title: &[u8] = &[];
        if flags & TITLED != 0 {
            let count = take_number(&mut rest)?;
            (title, rest) = rest.split_at_checked(count)?;
        }
        let title = title.iter().map(|&byte| Token(byte)).collect();
        let mut targets = Targets::default();
        if flags & LINKED != 0 {
            targets = Targets::unpack(&mut rest)?;
        }
        let count = take_number(&mut rest)?;
        let (mut leaves, mut start) = (Vec::with_capacity(count.min(bytes.len())), 0);
        for _ in 0..count {
            let (&place, after) = rest.split_first()?;
            rest = after;
            let end = start + take_number(&mut rest)?;
            let (is_linked, is_body) = (place & 2 != 0, place & 1 != 0);
            leaves.push(Leaf { start, end, shared: place >> 2, is_body, is_linked });
            start = end;
        }
        let tokens = rest.iter().map(|&byte| Token(byte)).collect();
        let [is_truncated, is_body_truncated] =
            [TRUNCATED, BODY_TRUNCATED].map(|flag| flags & flag != 0);
        let sketch = Self {
            tokens,
            leaves,
            is_truncated,
            is_body_truncated,
            name,
            title,
            links,
            code,
            entries,
            targets,
        };
        (rest.len() == start).then_some(sketch)
    }
}

fn push_number(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
        if shift > 14 {
            return None;
        }
    }
}

/// A word, or a character where a script has no spaces, as a byte: its class, and as many bits of its hash as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub(super) u8);

/// Below are numbers, from here on words.
const WORDS: u8 = 16;
/// From here on characters.
const CHARACTERS: u8 = 128;

/// Texts are measured in fifths of a word. A word of English has as much to say as one and two thirds Chinese characters.
pub(crate) const WORD: usize = 5;
const CHARACTER: usize = 3;

/// The least weight of a passage: five words, or nine characters.
const PASSAGE: usize = 5 * WORD;

impl Token {
    pub(super) fn of(class: Class, hash: u64) -> Self {
        // The high bits: keys are made of the whole hash.
        let hash = (hash >> 56) as u8;
        Self(match class {
            Class::Number => hash % WORDS,
            Class::Word => WORDS + hash % (CHARACTERS - WORDS),
            Class::Character => CHARACTERS | hash,
        })
    }

    pub(super) fn is_number(self) -> bool {
        self.0 < WORDS
    }

    pub(super) fn weight(self) -> usize {
        if self.0 < CHARACTERS { WORD } else { CHARACTER }
    }

    /// The same for all numbers.
    pub(super) fn without_digits(self) -> u8 {
        if self.is_number() { 0 } else { self.0 }
    }
}

/// Where each passage starts and ends: one from each token on, as few tokens as make five words. At the end of the page there are none.
pub(super) fn passages(tokens: &[Token]) -> impl Iterator<Item = Range<usize>> {
    let (mut end, mut weight) = (0, 0);
    tokens.iter().enumerate().map_while(move |(start, token)| {
        while weight < PASSAGE {
            weight += tokens.get(end)?.weight();
            end += 1;
        }
        weight -= token.weight();
        Some(start..end)
    })
}

/// Where each passage ends, and a hash of it, from each token on.
#[expect(clippy::cast_possible_truncation, reason = "a hash is made of both halves")]
pub(super) fn hashed_passages(tokens: &[Token]) -> impl Iterator<Item = (usize, u64)> {
    // The latest tokens, the last one lowest; a passage has at most nine.
    let (mut end, mut weight, mut latest) = (0, 0, 0_u128);
    tokens.iter().enumerate().map_while(move |(start, token)| {
        while weight < PASSAGE {
            let next = tokens.get(end)?;
            latest = latest << 8 | u128::from(next.0);
            weight += next.weight();
            end += 1;
        }
        weight -= token.weight();
        let passage = latest & ((1 << (8 * (end - start))) - 1);
        let [low, high] = [passage as u64, (passage >> 64) as u64];
        Some((end, low ^ high.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};
    use std::collections::HashMap;

    use super::{
        super::{Article, OriginRelation, Own, Side},
        *,
    };
    use crate::{
        fingerprint::{Fingerprinter, Recipe},
        page::Outline,
    };

    /// Any sketch, also one that no page has.
    fn any_sketch() -> impl Strategy<Value = ArticleSketch> {
        let block = (prop::collection::vec(any::<u8>(), 0..300), 0..=63_u8, any::<[bool; 2]>());
        let blocks = prop::collection::vec(block, 0..12);
        let flags = any::<[bool; 2]>();
        let name = any::<[u32; 2]>().prop_map(|[letters, digits]| Name { letters, digits });
        let title = prop::collection::vec(any::<u8>(), 0..2 * MOST_OF_TITLE);
        let part = prop_oneof![Just((0, 0)), (any::<u32>(), 0..=100_u8)];
        let part = part.prop_map(|(hash, share)| BodyPart { hash, share });
        let parts = prop::array::uniform3(part);
        let targets = prop::collection::vec(any::<u32>(), 0..60);
        let page = (blocks, flags, name, title, parts, targets);
        page.prop_map(|(blocks, flags, name, title, [links, code, entries], targets)| {
            let [is_truncated, is_body_truncated] = flags;
            let title = title.into_iter().map(Token).collect();
            let mut sketch = ArticleSketch {
                is_truncated,
                is_body_truncated,
                name,
                title,
                links,
                code,
                entries,
                targets: Targets::of(&targets),
                ..ArticleSketch::default()
            };
            for (tokens, shared, [is_body, is_linked]) in blocks {
                let start = sketch.tokens.len();
                sketch.tokens.extend(tokens.into_iter().map(Token));
                let end = sketch.tokens.len();
                sketch.leaves.push(Leaf { start, end, shared, is_body, is_linked });
            }
            sketch
        })
    }

    /// All of it is its own.
    fn own(sketch: &ArticleSketch) -> Own {
        let boilerplate = vec![false; sketch.leaves.len()];
        Own { boilerplate, targets: sketch.targets.clone() }
    }

    fn repeats(
        one: &ArticleSketch,
        other: &ArticleSketch,
        relation: OriginRelation,
    ) -> Option<usize> {
        Side::new(one, own(one)).repeats(other, || own(other), relation)
    }

    const ALL: [OriginRelation; 4] = [
        OriginRelation::Different,
        OriginRelation::SameUnlearnt,
        OriginRelation::SameLearnt,
        OriginRelation::SameNameShared,
    ];

    proptest! {
        #[test]
        fn a_sketch_is_unpacked_as_it_was_packed(a in any_sketch(), b in any_sketch()) {
            let [packed_a, packed_b] = [&a, &b].map(|sketch| ArticleSketch::unpack(&sketch.pack()).unwrap());
            prop_assert_eq!(&packed_a, &a);
            for relation in ALL {
                prop_assert_eq!(repeats(&packed_a, &packed_b, relation), repeats(&a, &b, relation));
            }
        }

        #[test]
        fn any_bytes_are_a_sketch_or_none(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                // Few blocks, so that the lengths may fit.
                (prop::collection::vec(0..4_u8, 5), prop::collection::vec(0..8_u8, 0..40))
                    .prop_map(|(head, rest)| [head, rest].concat()),
            ],
        ) {
            if let Some(sketch) = ArticleSketch::unpack(&bytes) {
                prop_assert_eq!(ArticleSketch::unpack(&sketch.pack()), Some(sketch.clone()));
                for relation in ALL {
                    let _ = repeats(&sketch, &sketch, relation);
                    let _ = Side::new(&sketch, own(&sketch)).beside(&sketch, own(&sketch)).differ_outside_body(relation);
                }
            }
        }

        #[test]
        fn a_packed_sketch_that_is_damaged_is_a_sketch_or_none(
            sketch in any_sketch(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = sketch.pack();
            for (place, byte) in changes {
                *place.get_mut(&mut bytes) = byte;
            }
            bytes.truncate(cut.index(bytes.len() * 2));
            if let Some(sketch) = ArticleSketch::unpack(&bytes) {
                let _ = repeats(&sketch, &sketch, OriginRelation::Different);
            }
        }

        #[test]
        fn what_is_kept_of_a_page_is_bounded(
            blocks in prop::collection::vec(
                (select(vec![0, 1, 2, 5, 90, 700, 5000]), 0..4_u8, 0..8_u32, select(vec!["tea ", "12 ", "茶"])), 0..60),
            repeats in select(vec![1, 1, 50]),
            links in 0..100,
        ) {
            let mut outline = Outline::new(&"green tea ".repeat(20));
            for _ in 0..repeats {
                for (words, kind, up, word) in &blocks {
                    let parent = u32::try_from(outline.parents().len() - 1).unwrap().saturating_sub(*up);
                    let block = outline.block(parent);
                    let text = word.repeat(*words);
                    match kind {
                        0 | 1 => outline.line(block, &text, 0, *kind == 0),
                        2 => outline.code_line(block, &text, 0, true),
                        _ => outline.heading_line(block, &text, text.len(), true),
                    }
                }
            }
            (0..links).for_each(|link| outline.link(&format!("https://example.org/{link}")));
            let article = Article::of(&outline, &Fingerprinter::new(Recipe::default()));
            prop_assert!(article.sketch().pack().len() <= MOST_PACKED);
            prop_assert_eq!(ArticleSketch::unpack(&article.sketch().pack()), Some(article.sketch().clone()));
        }
    }

    /// `PAGES=pages.jsonl` names a file with a line for each page: `url` and `html`.
    #[cfg(feature = "html")]
    #[test]
    #[ignore = "prints the size of sketches: `PAGES=pages.jsonl cargo test --lib filter::article -- --ignored --nocapture`"]
    #[expect(clippy::print_stderr, reason = "it is asked for its figures")]
    fn what_is_kept_of_real_pages() {
        let file = std::env::var("PAGES").expect("a file of pages");
        let (extractor, fingerprinter) =
            (crate::extract::Extractor::default(), Fingerprinter::new(Recipe::default()));
        let size = |line: &str| {
            let page: serde_json::Value = serde_json::from_str(line).unwrap();
            let page = crate::page::Page {
                url: page["url"].as_str().unwrap().parse().ok(),
                content_type: Some("text/html; charset=utf-8".to_owned()),
                body: page["html"].as_str().unwrap().into(),
                ..crate::page::Page::default()
            };
            let outline = extractor.extract(&page).outline;
            Article::of(&outline, &fingerprinter).sketch().pack().len()
        };
        let mut sizes: Vec<_> = std::fs::read_to_string(file).unwrap().lines().map(size).collect();
        sizes.sort_unstable();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        let [median, most] = [sizes[sizes.len() / 2], sizes[sizes.len() - 1]];
        eprintln!("{} pages: mean {mean}, median {median}, largest {most} bytes", sizes.len());
    }

    #[test]
    fn of_a_long_page_the_body_is_kept_first() {
        let words = |name: &str, count: usize| -> String {
            (0..count).map(|number| format!("{name}x{number}")).collect::<Vec<_>>().join(" ")
        };
        let mut outline = Outline::new("Tea");
        for (name, is_body) in [("above", false), ("body", true), ("below", false)] {
            let block = outline.block(Outline::PAGE);
            outline.line(block, &words(name, MOST_BYTES / 2 + 100), 0, is_body);
        }
        let article = Article::of(&outline, &Fingerprinter::new(Recipe::default()));
        let sketch = article.sketch();
        let lengths: Vec<_> =
            sketch.leaves.iter().map(|leaf| (leaf.is_body, leaf.tokens())).collect();
        let rest = MOST_BYTES - 2 * BYTES_PER_LEAF - (MOST_BYTES / 2 + 100);
        assert_eq!(lengths, [(false, rest), (true, MOST_BYTES / 2 + 100)]);
        assert!(sketch.is_truncated);
    }

    proptest! {
        #[test]
        fn passages_of_one_hash_are_equal(bytes in prop::collection::vec(select(vec![0_u8, 1, 20, 130, 131]), 0..80)) {
            let tokens: Vec<_> = bytes.into_iter().map(Token).collect();
            let (mut of_hash, mut of_passage) = (HashMap::new(), HashMap::new());
            let hashed: Vec<_> = hashed_passages(&tokens).collect();
            prop_assert_eq!(hashed.len(), passages(&tokens).count());
            for (passage, (end, hash)) in passages(&tokens).zip(hashed) {
                prop_assert_eq!(passage.end, end);
                let words: Vec<u8> = tokens[passage].iter().map(|token| token.0).collect();
                prop_assert_eq!(of_hash.entry(hash).or_insert(words.clone()), &words);
                prop_assert_eq!(*of_passage.entry(words).or_insert(hash), hash);
            }
        }
    }
}
