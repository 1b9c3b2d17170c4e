//! Brings spellings of one text to one form: NFKC, case folded, without control characters and those that print nothing.
//!
//! This is Unicode's `toNFKC_Casefold` but for white space, which stays; every step looks at characters and not at the language
//! or the place in a word, so that a digest of the result is stable.

use caseless::Caseless;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// How far ahead a part of the text is sought: parts are shorter unless they have no white space.
pub(super) const WINDOW: usize = 16 << 10;

/// Calls `emit` with the normal form of the text, part by part. A part ends at ASCII white space or at the end of the text.
pub(super) fn normalised(text: &str, buffer: &mut String, mut emit: impl FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
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
        rest = tail;
    }
}

/// What is in front of a text.
struct Part {
    end: usize,
    /// Whether only the case of ASCII letters can differ between it and its normal form, as far as word bounds are concerned.
    is_settled: bool,
}

impl Part {
    /// As much of the window as is settled, or else a stretch up to the next white space.
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
        let space = bytes.iter().position(|byte| is_space(*byte));
        let end = space.map_or(text.len(), |space| space + 1);
        Self { end, is_settled: settled_prefix(&text[..end]) == end }
    }
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

/// Writes the normal form of `part` to `out`, which is empty.
fn normalise(part: &str, out: &mut String) {
    if part.chars().all(is_kept) && is_nfkc_quick(part.chars()) == IsNormalized::Yes {
        out.extend(part.chars().default_case_fold());
    } else {
        out.extend(part.chars().filter(|c| is_kept(*c)).nfkc().default_case_fold());
    }
    if is_nfkc_quick(out.chars()) != IsNormalized::Yes {
        *out = out.nfkc().collect();
    }
}

/// How many bytes in front are of characters from U+4E00 to U+9FFF, the CJK Unified Ideographs: three each.
pub(super) fn ideographs(text: &[u8]) -> usize {
    let is_one = |bytes: &&[u8; 3]| matches!(bytes, [0xe5..=0xe9, ..] | [0xe4, 0xb8..=0xbf, _]);
    3 * text.as_chunks::<3>().0.iter().take_while(is_one).count()
}

/// How many bytes in front are settled.
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
            '，' | '．' | '：' | '；' => !joins(),
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

/// Whether a letter or digit of ASCII is there.
fn is_alphanumeric(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_alphanumeric)
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
