//! What the bytes of a page say against the encoding that is claimed for them.
//!
//! Labels are wrong where a server sends one for all its pages. Each rule here waits for evidence that a rightly labelled page cannot
//! give, however odd its text is: the label stays where there is doubt.

use encoding_rs::{
    Encoding, ISO_2022_JP, ISO_8859_2, ISO_8859_15, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1250,
    WINDOWS_1252, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258,
};

use super::decode_as;
use crate::extract::language;

/// Foreign bytes below which a guess is not sure.
const ENOUGH: usize = 64;
/// The same where the guess is an encoding of pairs of bytes, in which Western text is not even valid for long.
const ENOUGH_IN_PAIRS: usize = 32;
/// The same where most of them stand in words of their own, and how many different ones there must be: a row of dashes is no word.
const ENOUGH_IN_WORDS: usize = 24;
const DIFFERENT: usize = 10;
/// The same where both are of several bytes a character and much text of the one is valid in the other.
const PLENTY: usize = 256;
/// Foreign bytes that are UTF-8 by chance in no other encoding.
const UTF_8_ENOUGH: usize = 24;
/// Characters of a text by which its language is told.
const SAMPLE: usize = 4096;

/// Whether the bytes show that the page is in `guess` and not in `claimed`, although they are valid in both.
pub(super) fn refutes(body: &[u8], claimed: &'static Encoding, guess: &'static Encoding) -> bool {
    if guess == claimed || guess.is_single_byte() && !claimed.is_single_byte() {
        return false;
    }
    let foreign = body.iter().filter(|&&byte| is_foreign(byte)).count();
    let in_words = || foreign >= ENOUGH_IN_WORDS && is_of_another_script(body, foreign);
    let is_evident = if guess == UTF_8 {
        claimed.is_single_byte() || foreign >= UTF_8_ENOUGH
    } else if [ISO_2022_JP, UTF_16LE, UTF_16BE].contains(&guess) {
        true
    } else if !claimed.is_single_byte() {
        foreign >= PLENTY
    } else if !guess.is_single_byte() {
        foreign >= ENOUGH_IN_PAIRS || in_words()
    } else {
        claimed == WINDOWS_1252 && (in_words() || (foreign >= ENOUGH && speaks(guess, body)))
    };
    is_evident && decode_as(guess, body).is_ok()
}

/// Bytes that tell encodings apart: those outside of ASCII, and the escape by which ISO-2022-JP shifts.
pub(super) fn is_foreign(byte: u8) -> bool {
    byte >= 0x80 || byte == 0x1B
}

/// Whether most of the foreign bytes follow each other, as those of whole words do; in a Latin script they stand alone or in pairs.
fn is_of_another_script(body: &[u8], foreign: usize) -> bool {
    let runs = body.chunk_by(|a, b| a.is_ascii() == b.is_ascii());
    let in_words: usize =
        runs.filter(|run| !run[0].is_ascii() && run.len() > 2).map(<[u8]>::len).sum();
    let mut seen = [false; 256];
    for &byte in body.iter().filter(|byte| !byte.is_ascii()) {
        seen[usize::from(byte)] = true;
    }
    in_words * 2 > foreign && seen.iter().filter(|&&seen| seen).count() >= DIFFERENT
}

/// Whether the text, read in an encoding of a Latin script, is in a language for which the encoding was made and Western ones were not.
fn speaks(encoding: &'static Encoding, body: &[u8]) -> bool {
    let languages: &[&str] = if encoding == WINDOWS_1250 || encoding == ISO_8859_2 {
        &["cs", "hr", "hu", "pl", "ro", "sk", "sl"]
    } else if encoding == WINDOWS_1254 {
        &["az", "tr"]
    } else if encoding == WINDOWS_1257 {
        &["et", "lt", "lv"]
    } else if encoding == WINDOWS_1258 {
        &["vi"]
    } else {
        return false;
    };
    let text = shown(&encoding.decode_without_bom_handling(body).0);
    language(&text).is_some_and(|language| languages.contains(&language))
}

/// Roughly what a page shows: what is in no tag, script or style.
fn shown(markup: &str) -> String {
    let mut text = String::new();
    let mut skips = false;
    for piece in markup.split('<') {
        let (tag, after) = piece.split_once('>').unwrap_or(("", piece));
        let is =
            |name: &str| tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        skips = (skips || is("script") || is("style")) && !is("/script") && !is("/style");
        if !skips {
            text.push(' ');
            text.push_str(after.trim());
        }
        if text.len() > SAMPLE {
            break;
        }
    }
    text
}

/// ISO-8859-15 differs from windows-1252 in a few characters; of these, the fraction signs stand between letters in no text, and œ and
/// Œ do.
pub(super) fn has_ligatures_of_latin_9(body: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0xC0;
    let is_c1 = |byte: &u8| matches!(byte, 0x80..=0x9F);
    !body.iter().any(is_c1)
        && body.windows(3).any(|bytes| {
            matches!(bytes[1], 0xBC | 0xBD)
                && bytes[2].is_ascii_alphabetic()
                && (is_letter(bytes[0]) || bytes[0] == b' ')
        })
}

/// The encoding that is meant where `claimed` is the label of Western text.
pub(super) fn western(claimed: &'static Encoding, body: &[u8]) -> &'static Encoding {
    if claimed == WINDOWS_1252 && has_ligatures_of_latin_9(body) { ISO_8859_15 } else { claimed }
}
