//! Normalises a text: NFKC, case folded, without control and invisible characters; quotation marks as in ASCII; traditional Chinese characters
//! as simplified ones.
//!
//! The first part is Unicode's `toNFKC_Casefold`, except that white space stays. Every step depends on single characters and never on the
//! language or the position in a word, so that a digest of the result is stable.

use std::sync::LazyLock;

use caseless::Caseless;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The longest part of a text that is normalised at a time, unless it has no white space.
pub(super) const WINDOW: usize = 16 << 10;

/// The longest part of all. A text without white space is cut there, even in a word.
const LONGEST_PART: usize = 1 << 20;

/// How much longer than a text its normal form may become. There are characters that stand for whole sentences; what is beyond is left out.
pub(super) const MAX_GROWTH: usize = 1 << 20;

/// The first and the last character that can be folded: the CJK Unified Ideographs and their Extension A.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// Shared by all fingerprinters.
pub(super) static SIMPLIFIED: LazyLock<Simplified> = LazyLock::new(Simplified::build);

/// Calls `emit` with the normal form of the text, part by part. A part ends at ASCII white space or at the end of the text, and has at
/// most 1 MiB. `left` is how much longer than the text the normal form may become; then it is how much longer that of a text after it may.
pub(super) fn normalised(
    text: &str,
    left: &mut usize,
    buffer: &mut String,
    mut emit: impl FnMut(&str),
) {
    let mut rest = text;
    *left = left.saturating_add(text.len());
    while !rest.is_empty() && *left > 0 {
        let first = Part::first(rest);
        let (part, tail) = rest.split_at(first.end);
        buffer.clear();
        if first.is_settled {
            buffer.push_str(part);
            buffer.make_ascii_lowercase();
        } else {
            normalise(part, buffer);
        }
        emit(buffer);
        *left = left.saturating_sub(buffer.len());
        rest = tail;
    }
}

/// The start of a text, up to a place where it can be cut.
struct Part {
    end: usize,
    /// Whether only the case of ASCII letters can differ between it and its normal form, as far as words are concerned.
    is_settled: bool,
}

impl Part {
    /// As much of the window as is settled, otherwise everything up to the next white space.
    ///
    /// Nothing composes with white space or joins a word across it, so parts can be normalised one by one.
    fn first(text: &str) -> Self {
        let settled = settled_prefix(&text[..text.floor_char_boundary(WINDOW)]);
        if settled == text.len() {
            return Self { end: settled, is_settled: true };
        }
        let bytes = text.as_bytes();
        if let Some(space) = bytes[..settled].iter().rposition(|byte| is_space(*byte)) {
            return Self { end: space + 1, is_settled: true };
        }
        let longest = text.floor_char_boundary(LONGEST_PART);
        let space = bytes[..longest].iter().position(|byte| is_space(*byte));
        let end = space.map_or(longest, |space| space + 1);
        Self { end, is_settled: settled_prefix(&text[..end]) == end }
    }
}

/// The number of leading bytes that are printable ASCII but no grave accent, or ASCII white space.
fn plain_prefix(text: &[u8]) -> usize {
    let plain = |byte: &u8| matches!(byte, b' '..=b'_' | b'a'..=b'~') | is_space(*byte);
    // Whole blocks first: without an early exit the compiler vectorises the test.
    let blocks = text
        .chunks_exact(16)
        .take_while(|block| block.iter().fold(true, |all, byte| all & plain(byte)))
        .count();
    blocks * 16 + text[blocks * 16..].iter().take_while(|byte| plain(byte)).count()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Writes the normal form of `part` to `out`, which is empty.
fn normalise(part: &str, out: &mut String) {
    if part.chars().all(is_kept) && is_nfkc_quick(part.chars()) == IsNormalized::Yes {
        out.extend(part.chars().map(plain_quote).default_case_fold());
    } else {
        // Before NFKC, which takes the acute accent apart, and after it, for `ŉ`.
        let kept = part.chars().filter(|c| is_kept(*c)).map(plain_quote);
        out.extend(kept.nfkc().map(plain_quote).default_case_fold());
    }
    if is_nfkc_quick(out.chars()) != IsNormalized::Yes {
        *out = out.nfkc().collect();
    }
}

/// An apostrophe or quotation mark in its form in ASCII: those that UTS 39 lists as confusable with `'`, except letters of scripts, the capital
/// letter of one of them (case folding follows), and those that are written for `"`. Between letters an apostrophe is part of a word, and in Hebrew a quotation mark is.
pub(super) fn plain_quote(character: char) -> char {
    match character {
        '`'
        | '\u{b4}'
        | '\u{2b9}'
        | '\u{2bb}'..='\u{2bf}'
        | '\u{384}'
        | '\u{55a}'
        | '\u{5f3}'
        | '\u{1fbd}'
        | '\u{1fbf}'
        | '\u{1ffd}'
        | '\u{2018}'..='\u{201b}'
        | '\u{2032}'
        | '\u{2035}'
        | '\u{a78b}'
        | '\u{a78c}' => '\'',
        '\u{2ba}' | '\u{5f4}' | '\u{201c}'..='\u{201f}' => '"',
        _ => character,
    }
}

/// The number of leading bytes that encode CJK Unified Ideographs (U+4E00 to U+9FFF), three bytes each.
pub(super) fn ideographs(text: &[u8]) -> usize {
    let is_one = |bytes: &&[u8; 3]| matches!(bytes, [0xe5..=0xe9, ..] | [0xe4, 0xb8..=0xbf, _]);
    3 * text.as_chunks::<3>().0.iter().take_while(is_one).count()
}

/// The number of leading bytes that are settled; see [`Part::is_settled`].
fn settled_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += plain_prefix(&bytes[at..]);
        at += ideographs(&bytes[at..]);
        let Some(character) = text[at..].chars().next() else { return at };
        let next = at + character.len_utf8();
        let joins = || is_alphanumeric(bytes, at.wrapping_sub(1)) && is_alphanumeric(bytes, next);
        let settled = match character {
            '`' | '，' | '．' | '：' | '；' => !joins(),
            ' '..='~'
            | '\t'..='\r'
            | '\u{3400}'..='\u{4dbf}'
            | '々'
            | '〇'
            | 'ぁ'..='ゖ'
            | 'ゝ'
            | 'ゞ'
            | 'ァ'..='ヺ'
            | 'ー'..='ヾ' => true,
            _ => is_separator(character),
        };
        if !settled {
            return at;
        }
        at = next;
    }
}

/// Whether the byte at `at` is an ASCII letter or digit.
fn is_alphanumeric(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether neither the punctuation character nor its normal form can be part of a word or compose with another character.
pub(super) fn is_separator(character: char) -> bool {
    matches!(character,
        '\u{3000}'..='〃' | '〈'..='】' | '〔'..='〛' | '・' | '–' | '—' | '“' | '”' | '…' |
        '！'..='＆' | '（'..='＋' | '－' | '／' | '＜'..='＠' | '［'..='＾' | '｛'..='～')
}

/// Whether a character counts. Control characters other than white space do not, nor do those that are ignorable by default, such as
/// the soft hyphen, joiners, variation selectors and the byte order mark.
fn is_kept(character: char) -> bool {
    !matches!(character,
        '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' |
        // Default_Ignorable_Code_Point of the Unicode Character Database, reserved ranges included.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' |
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' |
        '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' |
        '\u{e0000}'..='\u{e0fff}')
}

/// Traditional Chinese characters folded to simplified ones, one by one: what each from [`FIRST`] to [`LAST`] folds to, 54 KiB.
///
/// Several characters may fold to the same one, which does no harm in a comparison.
#[derive(Debug)]
pub(super) struct Simplified(Box<[u16]>);

impl Simplified {
    fn build() -> Self {
        let mut folded: Box<[u16]> = (FIRST..=LAST).map(low).collect();
        for line in include_str!("simplified.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut characters = line.chars().map(u32::from);
            while let (Some(from), Some(to)) = (characters.next(), characters.next()) {
                folded[(from - FIRST) as usize] = low(to);
            }
        }
        Self(folded)
    }

    /// The simplified form, if it is a different character.
    #[inline]
    pub(super) fn folded(&self, character: char) -> Option<char> {
        let index = u32::from(character).wrapping_sub(FIRST) as usize;
        let folded = u32::from(*self.0.get(index)?);
        if folded == u32::from(character) { None } else { char::from_u32(folded) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the table lies in the Basic Multilingual Plane"
)]
fn low(character: u32) -> u16 {
    character as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_quotation_marks_twice_changes_nothing() {
        let changed = ('\0'..=char::MAX).filter(|&c| plain_quote(c) != c);
        assert!(
            changed
                .clone()
                .all(|c| !c.is_alphanumeric() || matches!(c, '\u{2b9}'..='\u{2bf}' | 'Ꞌ' | 'ꞌ'))
        );
        assert!(changed.map(plain_quote).all(|plain| ['\'', '"'].contains(&plain)));
        assert_eq!(['\'', '"'].map(plain_quote), ['\'', '"']);
    }

    fn fold(character: char) -> char {
        SIMPLIFIED.folded(character).unwrap_or(character)
    }

    #[test]
    fn every_pair_of_the_file_folds_and_folding_twice_changes_nothing() {
        let changed = (FIRST..=LAST).filter_map(char::from_u32).filter(|&c| fold(c) != c);
        assert_eq!(changed.clone().count(), 2_994);
        assert!(changed.map(fold).all(|simple| fold(simple) == simple));
    }

    #[test]
    fn other_characters_stay() {
        for character in ['a', 'é', 'か', '々', '\u{33ff}', '\u{a000}', '𠀀', '么', '看'] {
            assert_eq!(fold(character), character);
        }
        assert_eq!("裏裡電視著説說".chars().map(fold).collect::<String>(), "里里电视着说说");
    }
}
