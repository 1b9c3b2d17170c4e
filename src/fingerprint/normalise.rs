//! Brings spellings of one text to one form: NFKC, case folded, without control characters and those that print nothing.
//!
//! This is Unicode's `toNFKC_Casefold` but for white space, which stays; every step looks at characters and not at the language
//! or the place in a word, so that a digest of the result is stable.

use caseless::Caseless;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// How far ahead a part of the text is sought: parts are shorter unless they have no white space.
const WINDOW: usize = 16 << 10;

/// Calls `emit` with the normal form of the text, part by part. A part ends at ASCII white space or at the end of the text.
pub(super) fn normalised(text: &str, buffer: &mut String, mut emit: impl FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = part_end(rest.as_bytes());
        let (part, tail) = rest.split_at(end);
        normalise(part, buffer);
        emit(buffer);
        rest = tail;
    }
}

/// Where the first part ends: as much plain ASCII as the window has, or else a stretch up to the next white space.
///
/// Nothing composes with white space or joins a word across it, so parts can be normalised one by one.
fn part_end(text: &[u8]) -> usize {
    let window = &text[..text.len().min(WINDOW)];
    let plain = plain_prefix(window);
    if plain == text.len() {
        return plain;
    }
    let last_space = text[..plain].iter().rposition(|byte| is_space(*byte));
    last_space
        .or_else(|| text.iter().position(|byte| is_space(*byte)))
        .map_or(text.len(), |space| space + 1)
}

/// How many bytes in front are ASCII and no control characters but white space.
fn plain_prefix(text: &[u8]) -> usize {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') | is_space(*byte);
    // Whole blocks first: without an early exit the compiler tests many bytes at a time.
    let blocks = text
        .chunks_exact(64)
        .take_while(|block| block.iter().fold(true, |all, byte| all & plain(byte)))
        .count();
    blocks * 64 + text[blocks * 64..].iter().take_while(|byte| plain(byte)).count()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Writes the normal form of `part` to `out`.
fn normalise(part: &str, out: &mut String) {
    out.clear();
    if is_settled(part) {
        out.push_str(part);
        out.make_ascii_lowercase();
        return;
    }
    if part.chars().all(is_kept) && is_nfkc_quick(part.chars()) == IsNormalized::Yes {
        out.extend(part.chars().default_case_fold());
    } else {
        out.extend(part.chars().filter(|c| is_kept(*c)).nfkc().default_case_fold());
    }
    if is_nfkc_quick(out.chars()) != IsNormalized::Yes {
        *out = out.nfkc().collect();
    }
}

/// Whether only the case of ASCII letters can differ between the text and its normal form, as far as word bounds are concerned.
fn is_settled(part: &str) -> bool {
    plain_prefix(part.as_bytes()) == part.len() || {
        let mut before = ' ';
        part.char_indices().all(|(at, character)| {
            let joined = || {
                before.is_ascii_alphanumeric()
                    && part[at..].chars().nth(1).is_some_and(|c| c.is_ascii_alphanumeric())
            };
            let settled = match character {
                '\u{4e00}'..='\u{9fff}'
                | ' '..='~'
                | '\t'..='\r'
                | '\u{3400}'..='\u{4dbf}'
                | '々'
                | '〇'
                | 'ぁ'..='ゖ'
                | 'ゝ'
                | 'ゞ'
                | 'ァ'..='ヺ'
                | 'ー'..='ヾ' => true,
                '，' | '．' | '：' | '；' => !joined(),
                _ => is_separator(character),
            };
            before = character;
            settled
        })
    }
}

/// Punctuation of which neither the character nor its normal form is ever inside a word or composes with another.
pub(super) fn is_separator(character: char) -> bool {
    matches!(character,
        '\u{3000}'..='〃' | '〈'..='】' | '〔'..='〛' | '・' | '–' | '—' | '“' | '”' | '…' |
        '！'..='＆' | '（'..='＋' | '－' | '／' | '＜'..='＠' | '［'..='＾' | '｛'..='～')
}

/// Whether a character counts: control characters other than white space do not, nor do those that are ignorable by default,
/// such as the soft hyphen, joiners, variation selectors and the byte order mark.
fn is_kept(character: char) -> bool {
    !matches!(character,
        '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' |
        // Default_Ignorable_Code_Point of the Unicode Character Database, with what is reserved for more of them.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' |
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' |
        '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' |
        '\u{e0000}'..='\u{e0fff}')
}
