//! All that is kept of a document to judge later ones: digests, signature, origin, and of a page what it shows: a byte for each word, the blocks
//! that hold the words, its title, and where its links lead.
//!
//! Five words in a row, at one byte each, tell passages apart as well as their text does, in a fifth of the room. Of a long page the first
//! words are kept, and a sample of the passages after them: those with the smallest hashes (bottom-k: Broder, "On the resemblance and
//! containment of documents", 1997). `reader.rs` makes it of an outline.

use std::{num::NonZeroU64, ops::Range};

use serde::{Deserialize, Serialize};

use crate::fingerprint::{Class, Digest, Sketch as TextSketch};

/// All that is kept of a document to judge later ones, as one value: the digests of its body and its text, the signature of the text, its
/// origin, and of a page what it shows and the keys by which it is found.
///
/// A sketch depends on the document and on the recipe alone, not on what was judged before. Sketches of one recipe can be kept, sent elsewhere and
/// [compared](super::compare()).
///
/// ```
/// use pagesieve::{Filter, filter::{Options, Sketch}};
///
/// let documents = Filter::new(&Options::default())?.documents();
/// let sketch = documents.text("a", "The tide is high.").sketch().clone();
/// assert_eq!(Sketch::from_bytes(&sketch.to_bytes()), Some(sketch));
/// # Ok::<(), pagesieve::OptionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sketch {
    /// The digest of its bytes, if it has any.
    pub body: Option<Digest>,
    /// The signature, the number of features and the digest of its text.
    pub text: TextSketch,
    pub(crate) origin: Option<OriginKey>,
    /// What a page shows; `None` for a text.
    pub(crate) content: Option<Content>,
    pub(crate) keys: Vec<u64>,
}

/// The first byte of a sketch.
const VERSION: u8 = 3;

impl Sketch {
    /// The sketch of a text.
    pub(crate) fn of_text(text: TextSketch, origin: Option<OriginKey>) -> Self {
        Self { body: None, text, origin, content: None, keys: Vec::new() }
    }

    /// The keys under which later pages find it: some passages of its body text, and some of the prose around it. None for a text, which is found
    /// by its fingerprint, unless it was made [to be shared](super::Documents::shared).
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// The same without its keys: it can still be compared, in fewer bytes.
    #[must_use]
    pub fn without_keys(self) -> Self {
        Self { keys: Vec::new(), ..self }
    }

    /// The number of the origin that it comes from, if that is known.
    #[must_use]
    pub fn origin(&self) -> Option<NonZeroU64> {
        self.origin.map(|origin| origin.0)
    }

    /// Whether it is of a page, and not of a text.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.content.is_some()
    }

    /// As bytes, at most some 2.5 KB.
    ///
    /// # Panics
    /// Never: memory takes all bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = vec![VERSION];
        postcard::to_extend(self, bytes).expect("memory takes all bytes")
    }

    /// The sketch that these bytes hold; `None` if they are damaged or of another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&version, bytes) = bytes.split_first()?;
        let (sketch, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        let is_sound = sketch.content.as_ref().is_none_or(Content::is_sound);
        (version == VERSION && rest.is_empty() && is_sound).then_some(sketch)
    }
}

/// Identifies a document across its versions: the hash of its URL or of the caller's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key(pub u64);

impl Key {
    /// The key of a URL or of any other id: its XXH3 hash.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
    }
}

/// Identifies an origin, whose pages may share a template: the hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct OriginKey(pub(crate) NonZeroU64);

impl OriginKey {
    /// The key of this name. Crawls use the host with its port.
    pub(crate) fn of(name: &str) -> Self {
        let hash = xxhash_rust::xxh3::xxh3_64(name.as_bytes());
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN))
    }
}

/// The tokens of a passage.
pub(super) const PASSAGE: usize = 5;
/// Those of the bytes of its tokens.
const PASSAGE_BITS: u64 = (1 << (8 * PASSAGE)) - 1;

/// A word, a number, a sign, or a character where a script has no spaces, as a byte: its class, and as many bits of its hash as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Token(pub(super) u8);

impl Token {
    /// From here on characters.
    const CHARACTERS: u8 = 128;

    pub(super) fn of(class: Class, hash: u64) -> Self {
        // The high bits: keys are made of the whole hash.
        let hash = (hash >> 57) as u8;
        Self(if class == Class::Character { hash | Self::CHARACTERS } else { hash })
    }

    /// Whether it is a character of a script without spaces.
    pub(super) fn is_character(self) -> bool {
        self.0 >= Self::CHARACTERS
    }
}

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// In the body text.
    Body,
    /// In the body text, and most of it is links.
    Links,
    /// Around the body text: prose that extraction left out.
    Around,
}

impl Place {
    pub(super) fn is_body(self) -> bool {
        self != Self::Around
    }
}

/// Text without a block in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// How many tokens it has.
    pub(super) len: u16,
    pub(super) place: Place,
    /// How many elements hold both it and the block before it. The page does not count, nor does an element with a single block.
    pub(super) shared: u8,
    /// Part of a hash of all its words: short blocks of other words may have the same bytes.
    #[serde(with = "postcard::fixint::le")]
    pub(super) hash: u16,
}

/// The smallest of many hashes, and up to where all are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample<H> {
    /// In order, none twice.
    pub(super) hashes: Vec<H>,
    /// Larger ones are not known; `None` if all are.
    pub(super) bound: Option<H>,
}

impl<H: Copy + Ord> Sample<H> {
    /// The smallest of these hashes, at most so many.
    pub(super) fn of(mut hashes: Vec<H>, most: usize) -> Self {
        // A few more are sorted, because some may be equal.
        let few = most + most / 4 + 1;
        if hashes.len() > few {
            let (first, ..) = hashes.select_nth_unstable(few);
            first.sort_unstable();
            if first.chunk_by(|a, b| a == b).count() > most {
                hashes.truncate(few);
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        let bound = (hashes.len() > most).then(|| hashes[most - 1]);
        hashes.truncate(most);
        Self { hashes, bound }
    }

    pub(super) fn has(&self, hash: H) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }

    /// Those up to a bound.
    pub(super) fn up_to(&self, bound: Option<H>) -> &[H] {
        let end = |bound| self.hashes.partition_point(|hash| *hash <= bound);
        &self.hashes[..bound.map_or(self.hashes.len(), end)]
    }

    /// Up to where the hashes of both are known; `None` if all are.
    pub(super) fn common_bound(&self, other: &Self) -> Option<H> {
        self.bound.into_iter().chain(other.bound).min()
    }

    fn is_sound(&self) -> bool {
        self.hashes.is_sorted_by(|a, b| a < b)
            && self.bound.is_none_or(|bound| self.hashes.last() == Some(&bound))
    }
}

/// The body text of a long page after what is kept of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// How many words and signs, and how many characters of scripts without spaces.
    pub(super) words: u32,
    pub(super) characters: u32,
    /// The hashes of its passages.
    pub(super) passages: Sample<u32>,
}

/// A word of a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TitleWord {
    pub(super) hash: u16,
    pub(super) is_character: bool,
}

/// What is kept of a page's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(super) tokens: Vec<Token>,
    /// In page order. Together they have the tokens.
    pub(super) blocks: Vec<Block>,
    pub(super) tail: Tail,
    /// Those of title and first heading, in order, none twice.
    pub(super) title: Vec<TitleWord>,
    /// Where the links of the body text lead, and others of the content.
    pub(super) targets: [Sample<u16>; 2],
}

/// A part of a page by which the template of its origin is learnt: the hash of a block, of a word of the title, or of a target.
pub(crate) type Feature = u32;

impl Content {
    /// Where the tokens of each block are.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.blocks.iter().map(move |block| {
            let range = start..start + usize::from(block.len);
            start = range.end;
            range
        })
    }

    /// The feature of each block.
    pub(super) fn block_features(&self) -> impl Iterator<Item = Feature> {
        let mut bytes = Vec::new();
        self.blocks.iter().zip(self.ranges()).map(move |(block, range)| {
            bytes.clear();
            bytes.extend(block.hash.to_le_bytes());
            bytes.extend(self.tokens[range].iter().map(|token| token.0));
            half(xxhash_rust::xxh3::xxh3_64(&bytes))
        })
    }

    /// All features, in order, none twice, given those of the blocks.
    pub(super) fn features(&self, blocks: impl Iterator<Item = Feature>) -> Vec<Feature> {
        let titles = self.title.iter().map(|word| feature_of_title(word.hash));
        let targets =
            self.targets.iter().flat_map(|it| &it.hashes).map(|&it| feature_of_target(it));
        let mut all: Vec<_> = blocks.chain(titles).chain(targets).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The passage from each token on, as a number: equal for equal bytes only.
    pub(super) fn passages(&self) -> impl Iterator<Item = u64> {
        let last = self.tokens.iter().scan(0, |last, token| {
            *last = (*last << 8 | u64::from(token.0)) & PASSAGE_BITS;
            Some(*last)
        });
        last.skip(PASSAGE - 1)
    }

    /// As bytes, for a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("memory takes all bytes")
    }

    /// What these bytes hold; `None` if they are damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        (rest.is_empty() && content.is_sound()).then_some(content)
    }

    /// Whether its parts fit together, as those of a page do.
    pub(super) fn is_sound(&self) -> bool {
        let tokens: usize = self.blocks.iter().map(|block| usize::from(block.len)).sum();
        tokens == self.tokens.len()
            && self.title.is_sorted_by(|a, b| a < b)
            && self.targets.iter().all(Sample::is_sound)
            && self.tail.passages.is_sound()
    }
}

/// The hash by which a passage of the tail is sampled, given at least its tokens in the lowest bytes.
pub(super) fn sampled(tokens: u64) -> u32 {
    half(mixed(tokens & PASSAGE_BITS))
}

pub(super) fn feature_of_title(hash: u16) -> Feature {
    half(mixed(u64::from(hash) | 1 << 32))
}

pub(super) fn feature_of_target(hash: u16) -> Feature {
    half(mixed(u64::from(hash) | 2 << 32))
}

/// A hash of a number: the finaliser of `SplitMix64`.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A shorter hash.
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::tests::content::any_content;

    proptest! {
        #[test]
        fn content_is_read_as_it_was_written(content in any_content()) {
            prop_assert_eq!(Content::from_bytes(&content.to_bytes()), Some(content));
        }

        #[test]
        fn any_bytes_are_content_or_none(
            content in any_content(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = content.to_bytes();
            for (place, byte) in changes {
                *place.get_mut(&mut bytes) = byte;
            }
            bytes.truncate(cut.index(bytes.len() * 2));
            if let Some(content) = Content::from_bytes(&bytes) {
                prop_assert!(content.is_sound());
                prop_assert_eq!(Content::from_bytes(&content.to_bytes()), Some(content));
            }
        }
    }
}
