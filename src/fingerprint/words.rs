//! Words of ASCII text by the rules of Unicode Standard Annex #29, several times faster than for any text.

/// What a byte is to the word rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A break on both sides.
    Other,
    /// `ALetter`.
    Letter,
    /// `Numeric`.
    Digit,
    /// `ExtendNumLet`: joins whatever letters and digits are beside it.
    Underscore,
    /// `MidLetter`: joins two letters.
    MidLetter,
    /// `MidNum`: joins two digits.
    MidNum,
    /// `MidNumLet` and `Single_Quote`: joins two letters or two digits.
    MidBoth,
}

const KINDS: [Kind; 256] = kinds();

const fn kinds() -> [Kind; 256] {
    let mut kinds = [Kind::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter,
            b'0'..=b'9' => Kind::Digit,
            b'_' => Kind::Underscore,
            b':' => Kind::MidLetter,
            b',' | b';' => Kind::MidNum,
            b'.' | b'\'' => Kind::MidBoth,
            _ => Kind::Other,
        };
        byte += 1;
    }
    kinds
}

/// Calls `emit` with each word of an ASCII text that has a letter or a digit, as `unicode_words` of any text does.
pub(super) fn ascii_words(text: &str, mut emit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match KINDS[usize::from(byte)] {
            Kind::Letter | Kind::Digit | Kind::Underscore => {
                let (end, alphanumeric) = word_end(bytes, at);
                if alphanumeric {
                    emit(&text[at..end]);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
}

/// Where the word that starts at `at` ends, and whether it has a letter or a digit.
#[inline]
fn word_end(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let kind = |at: usize| bytes.get(at).map_or(Kind::Other, |&byte| KINDS[usize::from(byte)]);
    let mut alphanumeric = false;
    let mut last = Kind::Other;
    loop {
        let this = kind(at);
        match this {
            Kind::Letter | Kind::Digit => alphanumeric = true,
            Kind::Underscore => {}
            Kind::Other => return (at, alphanumeric),
            Kind::MidLetter | Kind::MidNum | Kind::MidBoth => {
                let between_letters =
                    last == Kind::Letter && kind(at + 1) == Kind::Letter && this != Kind::MidNum;
                let between_digits =
                    last == Kind::Digit && kind(at + 1) == Kind::Digit && this != Kind::MidLetter;
                if !between_letters && !between_digits {
                    return (at, alphanumeric);
                }
            }
        }
        last = this;
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
