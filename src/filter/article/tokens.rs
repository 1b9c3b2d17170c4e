//! Words as bytes, what they weigh, and passages of them.

use std::ops::Range;

use crate::fingerprint::Class;

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

/// The hash of a passage.
pub(super) fn hash(passage: &[Token]) -> u64 {
    let bytes = passage.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |hash, token| {
        (hash ^ u64::from(token.0)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    bytes ^ (bytes >> 29)
}
