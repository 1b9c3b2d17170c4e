//! Cuts a normalised text into runs by script: words where a script writes spaces, stretches of characters where it does not.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    normalise::{ideographs, is_separator, normalised},
    simplified,
    words::ascii_words,
};

/// A run of Chinese characters is cut here, because segmenting it takes some forty bytes of memory a byte.
const LONGEST_RUN: usize = 64 << 10;

/// A stretch of normalised text within one script. Punctuation and symbols are in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    /// A word of a script with spaces, by Unicode Standard Annex #29.
    Word(&'a str),
    /// Chinese characters, in Chinese, Japanese or any other text; white space between them is dropped.
    Han(&'a str),
    /// Characters of another script without spaces.
    Unspaced(&'a str),
}

/// Memory that is used again for each text.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    normal: String,
    han: String,
}

impl Buffers {
    /// How many bytes of memory are kept.
    pub(super) fn size(&self) -> usize {
        self.normal.capacity() + self.han.capacity()
    }
}

/// Calls `emit` with each run of the text in order. `simplified` folds traditional characters.
pub(super) fn runs(
    text: &str,
    simplified: Option<&simplified::Table>,
    buffers: &mut Buffers,
    mut emit: impl FnMut(Run<'_>),
) {
    let Buffers { normal, han } = buffers;
    han.clear();
    normalised(text, normal, |part| part_runs(part, simplified, han, &mut emit));
    end_han(han, &mut emit);
}

/// The runs of a part. A run of Chinese characters may go on in the next part, so it stays in `han` until something else comes.
fn part_runs(
    part: &str,
    simplified: Option<&simplified::Table>,
    han: &mut String,
    emit: &mut impl FnMut(Run<'_>),
) {
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
        rest = tail;
        match script {
            Script::Han => extend_han(run, simplified, han, emit),
            _ if run.trim_start().is_empty() => {}
            Script::Separator => end_han(han, emit),
            Script::Unspaced => {
                end_han(han, emit);
                emit(Run::Unspaced(run));
            }
            Script::Spaced => {
                end_han(han, emit);
                words(run, |word| emit(Run::Word(word)));
            }
        }
    }
}

/// Where the first characters of a script end, of which so many bytes surely are.
fn run_end(text: &str, sure: usize, script: Script) -> usize {
    let more = text[sure..].find(|c| Script::of(c) != script);
    more.map_or(text.len(), |more| sure + more)
}

fn ascii_prefix(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii()).unwrap_or(text.len())
}

fn extend_han(
    run: &str,
    simplified: Option<&simplified::Table>,
    han: &mut String,
    emit: &mut impl FnMut(Run<'_>),
) {
    let mut rest = run;
    while han.len() + rest.len() > LONGEST_RUN {
        let (now, later) = rest.split_at(rest.floor_char_boundary(LONGEST_RUN - han.len()));
        extend_folded(now, simplified, han);
        end_han(han, emit);
        rest = later;
    }
    extend_folded(rest, simplified, han);
}

/// Appends Chinese characters, traditional ones folded: a stretch at a time of those that stay as they are.
fn extend_folded(run: &str, simplified: Option<&simplified::Table>, han: &mut String) {
    let mut copied = 0;
    if let Some(table) = simplified {
        for (at, character) in run.char_indices() {
            if let Some(folded) = table.folded(character) {
                han.push_str(&run[copied..at]);
                han.push(folded);
                copied = at + character.len_utf8();
            }
        }
    }
    han.push_str(&run[copied..]);
}

fn end_han(han: &mut String, emit: &mut impl FnMut(Run<'_>)) {
    if !han.is_empty() {
        emit(Run::Han(han));
        han.clear();
    }
}

fn words(run: &str, mut emit: impl FnMut(&str)) {
    if run.is_ascii() {
        ascii_words(run, emit);
    } else {
        // A mark that counts as a letter would bring a space or a sign into the word if one stands in front of it.
        run.unicode_words().for_each(|word| {
            emit(word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_'));
        });
    }
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
    /// Ranges of the Unicode Character Database, letters, marks and digits only: what of these blocks is punctuation is `Spaced`,
    /// where it is no word. Hangul, Tibetan and Ethiopic separate words or syllables, and are `Spaced` too.
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

#[cfg(test)]
mod tests {
    use caseless::Caseless;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::{super::normalise::WINDOW, *};

    #[derive(Debug, PartialEq, Eq)]
    enum Owned {
        Word(String),
        Han(String),
        Unspaced(String),
    }

    fn cut(text: &str) -> Vec<Owned> {
        let mut cut = Vec::new();
        runs(text, None, &mut Buffers::default(), |run| {
            cut.push(match run {
                Run::Word(run) => Owned::Word(run.to_owned()),
                Run::Han(run) => Owned::Han(run.to_owned()),
                Run::Unspaced(run) => Owned::Unspaced(run.to_owned()),
            });
        });
        cut
    }

    fn word(text: &str) -> Owned {
        Owned::Word(text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_').to_owned())
    }

    /// Normalises the whole text at once and cuts it without any short cut.
    fn cut_slowly(text: &str) -> Vec<Owned> {
        let ignorable = ['\0', '\u{ad}', '\u{200d}', '\u{fe0f}'];
        let normal: String = text
            .chars()
            .filter(|c| !ignorable.contains(c))
            .nfkc()
            .default_case_fold()
            .nfkc()
            .collect();
        let (mut cut, mut open) = (Vec::new(), false);
        let characters: Vec<_> = normal.chars().collect();
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
    fn short_cuts_alter_nothing_where_a_window_ends() {
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
        fn short_cuts_alter_nothing(
            text in "([a9A_.,:;' \n]|[中電か，．：；！。・…”’])([aZ9_.,:;' \n中電かー，．：；！。・…”’éſßΣΐ１ｶﾞ㎏ไท한\u{1100}\u{1161}\u{301}\u{345}\u{93f}\u{3099}\u{ad}\u{200d}\u{fe0f}\u{3000}\u{a0}\u{85}\u{0}]){0,24}",
        ) {
            prop_assert_eq!(cut(&text), cut_slowly(&text));
        }
    }
}
