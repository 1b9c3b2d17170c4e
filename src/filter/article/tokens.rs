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
    use std::collections::HashMap;

    use proptest::{prelude::*, sample::select};

    use super::*;

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
