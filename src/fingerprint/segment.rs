//! Cuts a normalised text into runs by script, and runs into tokens (steps 2 and 3 of the recipe in [`super`]).
//!
//! A run is a word where a script writes spaces, and a stretch of characters where it does not. [`units`] cuts Chinese runs into words, by the
//! dictionary of jieba.

#[cfg(feature = "jieba")]
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    normalise::{MAX_GROWTH, Simplified, ideographs, is_separator, normalised},
    recipe::Segment,
    signs::{Signs, is_ascii_sign, may_be_sign},
};

/// The dictionary of Chinese words, shared by all fingerprinters.
#[cfg(feature = "jieba")]
static JIEBA: LazyLock<jieba_rs::Jieba> = LazyLock::new(jieba_rs::Jieba::new);

/// The longest run of Chinese characters in bytes. Segmenting takes some forty bytes of memory per byte.
const LONGEST_RUN: usize = 64 << 10;

/// A stretch of normalised text within one script, or a sign. Punctuation and other symbols belong to no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    /// A word of a script with spaces, by Unicode Standard Annex #29.
    Word(&'a str),
    /// Chinese characters, in Chinese, Japanese or any other text; white space between them is dropped.
    Han(&'a str),
    /// Characters of another script without spaces.
    Unspaced(&'a str),
    /// Adjacent signs, such as operators and currencies.
    Sign(&'a str),
}

/// Where a run is in a text that is given in lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The line in which it starts.
    pub(super) line: usize,
    /// Where in the run the next lines start: only a run of Chinese characters goes on over the end of a line.
    pub(super) ends: &'a [usize],
}

/// Memory that is used again for each text.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    normal: String,
    han: String,
    ends: Vec<usize>,
    signs: Signs,
}

impl Buffers {
    /// Bytes of memory in use and in reserve.
    pub(super) fn size(&self) -> usize {
        self.normal.capacity()
            + self.han.capacity()
            + size_of::<usize>() * self.ends.capacity()
            + self.signs.size()
    }
}

/// Calls `emit` with each run of the text in order. `simplified` folds traditional characters.
pub(super) fn runs(
    text: &str,
    simplified: Option<&Simplified>,
    buffers: &mut Buffers,
    mut emit: impl FnMut(Run<'_>),
) {
    runs_of_lines([text].into_iter(), simplified, buffers, |run, _| emit(run));
}

/// The same for a text given in lines, each of which ends in a tab or a line break. Also passes where each run is.
pub(super) fn runs_of_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    simplified: Option<&Simplified>,
    buffers: &mut Buffers,
    emit: impl FnMut(Run<'_>, Place<'_>),
) {
    let Buffers { normal, han, ends, signs } = buffers;
    han.clear();
    ends.clear();
    signs.clear();
    let mut runs = Runs { simplified, han, ends, signs, line: 0, emit };
    let mut left = MAX_GROWTH;
    for line in lines {
        normalised(line, &mut left, normal, |part| runs.cut(part));
        runs.end_line();
    }
    runs.end_han();
}

/// Cuts a text given in parts.
struct Runs<'a, F> {
    simplified: Option<&'a Simplified>,
    /// The current run of Chinese characters, which may continue in the next part.
    han: &'a mut String,
    /// Where the lines that end in it end.
    ends: &'a mut Vec<usize>,
    signs: &'a mut Signs,
    /// The number of the current line.
    line: usize,
    emit: F,
}

impl<F: FnMut(Run<'_>, Place<'_>)> Runs<'_, F> {
    fn cut(&mut self, part: &str) {
        let ascii = part.is_ascii();
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let script = Script::of(first);
            let end = match script {
                _ if ascii => rest.len(),
                Script::Han => run_end(rest, ideographs(rest.as_bytes()), script),
                Script::Spaced => run_end(rest, ascii_prefix(rest.as_bytes()), script),
                _ => run_end(rest, 0, script),
            };
            let (run, tail) = rest.split_at(end);
            let at = part.len() - rest.len();
            rest = tail;
            if script == Script::Han {
                self.extend_han(run);
                continue;
            }
            if run.trim_start().is_empty() {
                continue;
            }
            self.end_han();
            let here = Place { line: self.line, ends: &[] };
            let Self { signs, emit, .. } = &mut *self;
            let mut emit_piece = |piece: Piece<'_>| match piece {
                Piece::Word(word) => emit(Run::Word(word), here),
                Piece::Mark(mark) => {
                    if let Some(sign) = signs.read(part, at + mark) {
                        emit(Run::Sign(sign), here);
                    }
                }
            };
            match script {
                Script::Separator => marks(run, |mark| emit_piece(Piece::Mark(mark))),
                Script::Unspaced => emit(Run::Unspaced(run), here),
                _ => words(run, emit_piece),
            }
        }
        self.signs.end_part(part);
    }

    fn extend_han(&mut self, run: &str) {
        let mut rest = run;
        while self.han.len() + rest.len() > LONGEST_RUN {
            let (now, later) =
                rest.split_at(rest.floor_char_boundary(LONGEST_RUN - self.han.len()));
            self.push_folded(now);
            self.end_han();
            rest = later;
        }
        self.push_folded(rest);
    }

    /// Appends Chinese characters, traditional ones folded. Stretches that need no folding are copied whole.
    fn push_folded(&mut self, run: &str) {
        let han = &mut *self.han;
        let mut copied = 0;
        if let Some(simplified) = self.simplified {
            for (at, character) in run.char_indices() {
                if let Some(folded) = simplified.folded(character) {
                    han.push_str(&run[copied..at]);
                    han.push(folded);
                    copied = at + character.len_utf8();
                }
            }
        }
        han.push_str(&run[copied..]);
    }

    fn end_han(&mut self) {
        if !self.han.is_empty() {
            let here = Place { line: self.line - self.ends.len(), ends: self.ends };
            (self.emit)(Run::Han(self.han), here);
            self.han.clear();
            self.ends.clear();
        }
    }

    fn end_line(&mut self) {
        self.line += 1;
        if !self.han.is_empty() {
            self.ends.push(self.han.len());
        }
    }
}

/// Where the leading characters of a script end. The first `known` bytes are known to be of it.
fn run_end(text: &str, known: usize, script: Script) -> usize {
    let more = text[known..].find(|c| Script::of(c) != script);
    more.map_or(text.len(), |more| known + more)
}

fn ascii_prefix(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii()).unwrap_or(text.len())
}

/// A part of a run of a script with spaces.
enum Piece<'a> {
    Word(&'a str),
    /// Where a character is that may be a sign.
    Mark(usize),
}

fn words(run: &str, mut emit: impl FnMut(Piece<'_>)) {
    if run.is_ascii() {
        return ascii_words(run, emit);
    }
    let mut end = 0;
    for (at, word) in run.unicode_word_indices() {
        // A mark that counts as a letter would bring a preceding space or sign into the word.
        let trimmed = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let start = at + word.len() - trimmed.len();
        marks(&run[end..start], |mark| emit(Piece::Mark(end + mark)));
        end = at + word.len();
        // In Hebrew an apostrophe at the end is part of the word, but it may be a quotation mark.
        emit(Piece::Word(trimmed.trim_end_matches('\'')));
    }
    marks(&run[end..], |mark| emit(Piece::Mark(end + mark)));
}

/// Calls `emit` with the places of what may be signs in a text without words.
fn marks(text: &str, mut emit: impl FnMut(usize)) {
    for (at, character) in text.char_indices() {
        if may_be_sign(character) {
            emit(at);
        }
    }
}

/// What features are made of.
#[derive(Clone, Copy)]
pub(super) enum Unit<'a> {
    /// A token: a feature, and one with its neighbour.
    Token(&'a str),
    /// A character inside a token, and whether another one precedes it there: a feature, and one with that neighbour.
    #[cfg_attr(
        not(feature = "jieba"),
        expect(dead_code, reason = "only words of jieba have an inside")
    )]
    Inside(&'a str, bool),
}

/// Cuts a run into tokens, and Chinese words of several characters into these too. Signs are no tokens.
#[cfg_attr(
    not(feature = "jieba"),
    expect(unused_variables, reason = "without jieba there is one way to segment")
)]
pub(super) fn units(run: Run<'_>, segment: Segment, mut emit: impl FnMut(Unit<'_>)) {
    match run {
        Run::Word(word) => emit(Unit::Token(word)),
        #[cfg(feature = "jieba")]
        Run::Han(run) if segment == Segment::Jieba => {
            for word in JIEBA.cut(run, false) {
                emit(Unit::Token(word.word));
                if word.end - word.start > 1 {
                    for (place, character) in characters(word.word).enumerate() {
                        emit(Unit::Inside(character, place > 0));
                    }
                }
            }
        }
        Run::Han(run) | Run::Unspaced(run) => {
            characters(run).for_each(|character| emit(Unit::Token(character)));
        }
        Run::Sign(_) => {}
    }
}

/// The characters of a text, as strings.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()])
}

/// How a script is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    Han,
    Unspaced,
    /// Frequent punctuation outside ASCII.
    Separator,
}

impl Script {
    /// By ranges of the Unicode Character Database, letters, marks and digits only: punctuation of these blocks is `Spaced`, where it is
    /// not a word. Hangul, Tibetan and Ethiopic separate words or syllables and are `Spaced` too.
    #[inline]
    fn of(character: char) -> Self {
        match character {
            '\0'..='\u{7f}' => Self::Spaced,
            '\u{4e00}'..='\u{9fff}' => Self::Han,
            _ => Self::of_other(character),
        }
    }

    fn of_other(character: char) -> Self {
        match character {
            '\u{3400}'..='\u{4dbf}' | '々' | '〇' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}' => Self::Han,
            '\u{80}'..='\u{dff}' => Self::Spaced,
            'ぁ'..='ゟ' | 'ァ'..='ヺ' | 'ー'..='ヿ' | '\u{31f0}'..='\u{31ff}' | '\u{1aff0}'..='\u{1b16f}' | // Kana
            '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | // Bopomofo
            '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e50}'..='\u{e59}' | '\u{e81}'..='\u{edf}' | // Thai, Lao
            '\u{1000}'..='\u{1049}' | '\u{1050}'..='\u{109d}' | '\u{a9e0}'..='\u{a9fe}' | '\u{aa60}'..='\u{aa76}' | '\u{aa7a}'..='\u{aa7f}' | // Myanmar
            '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}'..='\u{17e9}' | // Khmer
            '\u{1950}'..='\u{1974}' | '\u{1980}'..='\u{19da}' | '\u{1a20}'..='\u{1a99}' | '\u{aa80}'..='\u{aadd}' | // Tai
            '\u{1b00}'..='\u{1b59}' | '\u{a984}'..='\u{a9c0}' | '\u{a9d0}'..='\u{a9d9}' | // Balinese, Javanese
            '\u{11700}'..='\u{1173b}' => Self::Unspaced, // Ahom
            _ if is_separator(character) || matches!(character, '，' | '．' | '：' | '；') => Self::Separator,
            _ => Self::Spaced,
        }
    }
}

/// Properties of a byte, as bits: what it is in a word, and what it joins when it stands between two such bytes.
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const JOINS_LETTERS: u8 = 8;
const JOINS_DIGITS: u8 = 16;
/// May be a sign.
const SIGN: u8 = 32;

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
            _ if is_ascii_sign(byte) => SIGN,
            _ => 0,
        };
        byte += 1;
    }
    bytes
};

/// Calls `emit` with each word of an ASCII text that has a letter or a digit, the same words as `unicode_words`, several times faster; and with
/// the places of what may be signs.
fn ascii_words(text: &str, mut emit: impl FnMut(Piece<'_>)) {
    let bytes = text.as_bytes();
    // Where the word starts, what it has, and its last byte; before a word that byte is 0.
    let (mut start, mut has, mut last) = (0, 0, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        let this = BYTES[usize::from(byte)];
        if this & INSIDE != 0 {
            (has, last) = (has | this, this);
            continue;
        }
        if this != 0 {
            let next = bytes.get(at + 1).map_or(0, |&byte| BYTES[usize::from(byte)]);
            if this & JOINS_LETTERS != 0 && last & next & LETTER != 0
                || this & JOINS_DIGITS != 0 && last & next & DIGIT != 0
            {
                continue;
            }
        }
        if has & (LETTER | DIGIT) != 0 {
            emit(Piece::Word(&text[start..at]));
        }
        if this == SIGN {
            emit(Piece::Mark(at));
        }
        (start, has, last) = (at + 1, 0, 0);
    }
    if has & (LETTER | DIGIT) != 0 {
        emit(Piece::Word(&text[start..]));
    }
}

#[cfg(test)]
mod tests {
    use caseless::Caseless;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::{
        super::normalise::{WINDOW, plain_quote},
        *,
    };

    #[derive(Debug, PartialEq, Eq)]
    enum Owned {
        Word(String),
        Han(String),
        Unspaced(String),
    }

    /// The runs without signs, and the signs.
    fn cut_apart(text: &str) -> (Vec<Owned>, Vec<String>) {
        let (mut cut, mut signs) = (Vec::new(), Vec::new());
        runs(text, None, &mut Buffers::default(), |run| match run {
            Run::Word(run) => cut.push(Owned::Word(run.to_owned())),
            Run::Han(run) => cut.push(Owned::Han(run.to_owned())),
            Run::Unspaced(run) => cut.push(Owned::Unspaced(run.to_owned())),
            Run::Sign(run) => signs.push(run.to_owned()),
        });
        (cut, signs)
    }

    fn cut(text: &str) -> Vec<Owned> {
        cut_apart(text).0
    }

    fn word(text: &str) -> Owned {
        let text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
        Owned::Word(text.trim_end_matches('\'').to_owned())
    }

    /// Normalises the whole text at once.
    fn normalised_slowly(text: &str) -> Vec<char> {
        let ignorable = ['\0', '\u{ad}', '\u{200d}', '\u{fe0f}'];
        let kept = text.chars().filter(|c| !ignorable.contains(c)).map(plain_quote);
        kept.nfkc().map(plain_quote).default_case_fold().nfkc().collect()
    }

    /// Cuts a text without any fast path.
    fn cut_slowly(text: &str) -> Vec<Owned> {
        let (mut cut, mut open) = (Vec::new(), false);
        let characters = normalised_slowly(text);
        let plain = |c: &char| match Script::of(*c) {
            Script::Separator => Script::Spaced,
            script => script,
        };
        for run in characters.chunk_by(|a, b| plain(a) == plain(b)) {
            let text: String = run.iter().collect();
            match (plain(&run[0]), cut.last_mut()) {
                (Script::Han, Some(Owned::Han(han))) if open => han.push_str(&text),
                (Script::Han, _) => cut.push(Owned::Han(text)),
                _ if text.trim().is_empty() => continue,
                (Script::Unspaced, _) => cut.push(Owned::Unspaced(text)),
                _ => cut.extend(text.unicode_words().map(word)),
            }
            open = plain(&run[0]) == Script::Han;
        }
        cut
    }

    /// Reads every character of the whole text.
    fn signs_slowly(text: &str) -> Vec<String> {
        let normal: String = normalised_slowly(text).into_iter().collect();
        let (mut reader, mut signs) = (Signs::default(), Vec::new());
        for (at, _) in normal.char_indices() {
            signs.extend(reader.read(&normal, at).map(str::to_owned));
        }
        signs
    }

    #[test]
    fn a_text_is_cut_by_script_and_not_by_language() {
        let text = "在 Debian\u{ad}系统（版本３.１４）安\u{3000}装ソフトを";
        let expected = [
            Owned::Han("在".to_owned()),
            word("debian"),
            Owned::Han("系统".to_owned()),
            Owned::Han("版本".to_owned()),
            word("3.14"),
            Owned::Han("安装".to_owned()),
            Owned::Unspaced("ソフトを".to_owned()),
        ];
        assert_eq!(cut(text), expected);
        assert_eq!(cut("한국어 문서"), [word("한국어"), word("문서")]);
        assert_eq!(cut("ภาษาไทย 😀 — !"), [Owned::Unspaced("ภาษาไทย".to_owned())]);
    }

    #[test]
    fn a_long_run_is_cut_at_64_kib() {
        let lengths: Vec<_> = cut(&"中".repeat(50_000))
            .iter()
            .map(|run| {
                if let Owned::Han(run) = run {
                    run.len()
                } else {
                    panic!("only Chinese characters")
                }
            })
            .collect();
        assert_eq!(lengths, [65_535, 65_535, 18_930]);
    }

    #[test]
    fn fast_paths_give_the_same_runs_at_the_end_of_a_window() {
        for (before, after) in
            [("中", "1，2é "), ("a", "，b中 c"), ("中 ", "：中é"), ("1", "．5 é"), ("か", "ｶﾞ")]
        {
            for shift in 0..12 {
                let fill = before.repeat((WINDOW - shift) / before.len());
                for text in [format!("{fill}{after}"), format!("x {fill}{after}{fill}")] {
                    assert_eq!(cut(&text), cut_slowly(&text));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn fast_paths_give_the_same_runs(
            text in "([a9A_.,:;' \n]|[中電か，．：；！。・…”’])([aZ9_.,:;' \n中電かー，．：；！。・…”’éſßΣΐ１ｶﾞ㎏ไท한\u{1100}\u{1161}\u{301}\u{345}\u{93f}\u{3099}\u{ad}\u{200d}\u{fe0f}\u{3000}\u{a0}\u{85}\u{0}]){0,24}",
        ) {
            prop_assert_eq!(cut(&text), cut_slowly(&text));
        }
    }

    proptest! {
        // Each case reads a whole window twice.
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn fast_paths_give_the_same_signs(
            text in "([a5中か -+*/#=<>|!~−–＋－！｜$€％“”’＝.\u{a0}\n\t]|[é \u{338}\u{301}\u{ad}\u{3000}א＄（）()～‐—，。／]){0,24}",
            fill in prop::sample::select(vec!["", "a", "中", "か，", "a ", "中 "]),
        ) {
            for shift in [0, 5] {
                let fill = fill.repeat((WINDOW - shift) / fill.len().max(1));
                let text = format!("{fill}{text}");
                prop_assert_eq!(cut_apart(&text).1, signs_slowly(&text));
            }
        }
    }

    fn ascii(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        ascii_words(text, |piece| {
            if let Piece::Word(word) = piece {
                words.push(word.to_owned());
            }
        });
        words
    }

    #[test]
    fn numbers_and_identifiers_stay_whole() {
        assert_eq!(
            ascii("pi = 3.14, max_wal_size; can't 1,000.5 a.m. x:y"),
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
            prop_assert_eq!(ascii(&text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn ascii_words_are_those_of_uax_29(text in "([a-cX-Z0-3_.,;:'\" \n-]|[[:ascii:]]){0,60}") {
            let all: Vec<_> = text.unicode_words().collect();
            prop_assert_eq!(ascii(&text), all);
        }

        #[test]
        fn ascii_words_are_those_of_uax_29_beside_other_letters(text in "[a-cX-Z0-3_.,;:'\" -]{0,60}") {
            // A character outside ASCII takes the library off its own fast path.
            let mixed = format!("{text} é");
            let mut all: Vec<_> = mixed.unicode_words().collect();
            all.pop();
            prop_assert_eq!(ascii(&text), all);
        }
    }
}
