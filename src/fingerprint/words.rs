//! Words of ASCII text by the rules of Unicode Standard Annex #29, several times faster than for any text.

/// Properties of a byte, as bits: what it is in a word, and what it joins when it stands between two.
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const JOINS_LETTERS: u8 = 8;
const JOINS_DIGITS: u8 = 16;

const INSIDE: u8 = LETTER | DIGIT | UNDERSCORE;

/// The classes `ALetter`, `Numeric`, `ExtendNumLet`, `MidLetter`, `MidNum`, `MidNumLet` and `Single_Quote`.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        bytes[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b':' => JOINS_LETTERS,
            b',' | b';' => JOINS_DIGITS,
            b'.' | b'\'' => JOINS_LETTERS | JOINS_DIGITS,
            _ => 0,
        };
        byte += 1;
    }
    bytes
};

/// How many bytes are looked at together: one for each bit of a mask.
const BLOCK: usize = 64;

/// Calls `emit` with each word of an ASCII text that has a letter or a digit, as `unicode_words` of any text does.
pub(super) fn ascii_words(text: &str, mut emit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    // A block costs as much as some ten bytes one by one, and what stands between Chinese characters is short.
    while at + BLOCK <= bytes.len() {
        let marks = Marks::of(&bytes[at..]);
        let mut words = marks.words;
        let mut next = at + BLOCK;
        while words != 0 {
            let start = words.trailing_zeros() as usize;
            let end = start + (words >> start).trailing_ones() as usize;
            if end >= BLOCK - 1 {
                // What follows the block may belong to the word: a block begins with it, or it is long and looked at byte by byte.
                next = at + start;
                if start == 0 {
                    let (end, has) = word_end(bytes, at);
                    if has & (LETTER | DIGIT) != 0 {
                        emit(&text[at..end]);
                    }
                    next = end;
                }
                break;
            }
            // The carry of the lowest bit runs through the word.
            let rest = words & (words + (1 << start));
            if (words ^ rest) & marks.counted != 0 {
                emit(&text[at + start..at + end]);
            }
            words = rest;
        }
        at = next;
    }
    while at < bytes.len() {
        let (end, has) = word_end(bytes, at);
        if has & (LETTER | DIGIT) != 0 {
            emit(&text[at..end]);
        }
        at = end.max(at + 1);
    }
}

/// What the bytes of a block are, a bit for each.
struct Marks {
    /// Inside a word, for all but the last byte.
    words: u64,
    /// Letters and digits.
    counted: u64,
}

impl Marks {
    fn of(bytes: &[u8]) -> Self {
        let mut properties = [0; BLOCK];
        for (property, &byte) in properties.iter_mut().zip(bytes) {
            *property = BYTES[usize::from(byte)];
        }
        let letters = bits(&properties, LETTER);
        let digits = bits(&properties, DIGIT);
        let between = |these: u64| these << 1 & these >> 1;
        let joins = bits(&properties, JOINS_LETTERS) & between(letters)
            | bits(&properties, JOINS_DIGITS) & between(digits);
        Self {
            words: letters | digits | bits(&properties, UNDERSCORE) | joins,
            counted: letters | digits,
        }
    }
}

/// Which of the bytes have a property.
#[inline]
fn bits(properties: &[u8; BLOCK], property: u8) -> u64 {
    /// Brings the lowest bit of byte `i` to bit `56 + i`.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    /// The lowest bit of each byte.
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    let (eights, _) = properties.as_chunks::<8>();
    let gather = |eight: &[u8; 8]| {
        let lowest = u64::from_le_bytes(*eight) >> property.trailing_zeros() & LOWEST;
        lowest.wrapping_mul(GATHER) >> 56
    };
    eights.iter().rev().fold(0, |bits, eight| bits << 8 | gather(eight))
}

/// Where the word that starts at `at` ends, and the properties of its bytes.
#[inline]
fn word_end(bytes: &[u8], mut at: usize) -> (usize, u8) {
    let properties = |at: usize| bytes.get(at).map_or(0, |&byte| BYTES[usize::from(byte)]);
    let (mut has, mut last) = (0, 0);
    loop {
        let mut this = properties(at);
        while this & INSIDE != 0 {
            (has, last) = (has | this, this);
            at += 1;
            this = properties(at);
        }
        let next = if this == 0 { 0 } else { properties(at + 1) };
        let joins = this & JOINS_LETTERS != 0 && last & next & LETTER != 0
            || this & JOINS_DIGITS != 0 && last & next & DIGIT != 0;
        if !joins {
            return (at, has);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        ascii_words(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn numbers_and_identifiers_stay_whole() {
        assert_eq!(
            words("pi = 3.14, max_wal_size; can't 1,000.5 a.m. x:y"),
            ["pi", "3.14", "max_wal_size", "can't", "1,000.5", "a.m", "x:y"]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn words_over_the_bounds_of_blocks_are_those_of_uax_29(
            parts in prop::collection::vec("[a-c]{0,70}|[0-9_]{0,70}|[.,;:' _a1]{0,6}", 0..8),
        ) {
            let text = parts.concat();
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn ascii_words_are_those_of_uax_29(text in "([a-cX-Z0-3_.,;:'\" \n-]|[[:ascii:]]){0,60}") {
            let all: Vec<_> = text.unicode_words().collect();
            prop_assert_eq!(words(&text), all);
        }

        #[test]
        fn ascii_words_are_those_of_uax_29_beside_other_letters(text in "[a-cX-Z0-3_.,;:'\" -]{0,60}") {
            // A character outside ASCII takes the library off its own fast path.
            let mixed = format!("{text} é");
            let mut all: Vec<_> = mixed.unicode_words().collect();
            all.pop();
            prop_assert_eq!(words(&text), all);
        }
    }
}
