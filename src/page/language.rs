//! Language codes, and the language of a text: detected by its script, and by its words only if several languages share the script.

use std::{borrow::Cow, fmt, str};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bytes of a text in which scripts are counted, and bytes passed to statistics, which are expensive.
const SAMPLE: usize = 2048;
const STATISTICS_SAMPLE: usize = 512;
/// Bytes taken from one place of a text.
const PIECE: usize = 128;
/// Letters below which a text is too short to distinguish languages of one script.
const MIN_LETTERS: usize = 24;
/// Words that make up more than a fifth of English prose, and of texts in other languages only what they quote.
const FREQUENT_ENGLISH: [&str; 23] = [
    "the", "and", "of", "that", "with", "this", "from", "are", "you", "which", "be", "can", "not",
    "it", "if", "or", "when", "will", "have", "has", "is", "to", "for",
];

/// Scripts that several languages share, by their ISO 15924 codes.
const SHARED: [&str; 5] = [LATIN, "Cyrl", "Arab", "Deva", "Hebr"];
const LATIN: &str = "Latn";

/// ISO 639-3 codes and the ISO 639-1 codes of the same languages.
const CODES: &str = include_str!("languages.txt");

/// The primary subtag of a language tag (RFC 5646), in lower case: `zh`, `ja`, `en`, `haw`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lang([u8; 3]);

impl Lang {
    /// Takes the primary subtag of a tag such as `zh-Hant-TW`; `None` unless it has two or three letters.
    ///
    /// ```
    /// use pagesieve::page::Lang;
    ///
    /// assert_eq!(Lang::new("zh-Hant-TW").unwrap().as_str(), "zh");
    /// assert_eq!(Lang::new(""), None);
    /// ```
    #[must_use]
    pub fn new(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next()?.as_bytes();
        let valid = (2..=3).contains(&primary.len()) && primary.iter().all(u8::is_ascii_alphabetic);
        valid.then(|| {
            let mut code = [0; 3];
            code[..primary.len()].copy_from_slice(primary);
            code.make_ascii_lowercase();
            Self(code)
        })
    }

    /// The code as a string.
    ///
    /// # Panics
    /// Never: the code consists of ASCII letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = if self.0[2] == 0 { 2 } else { 3 };
        str::from_utf8(&self.0[..len]).expect("ASCII letters are UTF-8")
    }
}

impl Serialize for Lang {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Lang {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tag = String::deserialize(deserializer)?;
        Self::new(&tag).ok_or_else(|| D::Error::custom("no language tag"))
    }
}

impl fmt::Debug for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lang({})", self.as_str())
    }
}

/// The ISO 639-1 code of the language in which most of `text` is written; `None` if it is too short to detect it.
///
/// It depends on the text alone. A text with kana is Japanese, other text in Han characters is Chinese.
///
/// ```
/// use pagesieve::page::language;
///
/// assert_eq!(language("我喜歡看電視，不喜歡看電影"), Some("zh"));
/// assert_eq!(language("テレビを見るのが好きです"), Some("ja"));
/// assert_eq!(language("This is, without any doubt, a text in the English language."), Some("en"));
/// assert_eq!(language("42"), None);
/// ```
#[must_use]
pub fn language(text: &str) -> Option<&'static str> {
    let sample = sample(text, SAMPLE);
    let latin = sample.bytes().filter(u8::is_ascii_alphabetic).count();
    let mut counts = vec![(LATIN, latin)];
    for script in sample.chars().filter(|char| !char.is_ascii()).filter_map(script_of) {
        match counts.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += weight(script),
            None => counts.push((script, weight(script))),
        }
    }
    let count =
        |script| counts.iter().find(|(known, _)| *known == script).map_or(0, |known| known.1);
    let (kana, east_asian) = (count("ja"), count("zh") + count("ja"));
    let &(script, letters) = counts.iter().max_by_key(|(_, count)| *count)?;
    if letters > 0 && east_asian >= letters {
        // Chinese text quotes a few kana; Japanese prose has more of them than Han characters.
        return Some(if kana * 10 > east_asian { "ja" } else { "zh" });
    }
    match script {
        language if !SHARED.contains(&language) => Some(language),
        _ if letters < MIN_LETTERS => None,
        LATIN if is_plainly_english(&sample) => Some("en"),
        _ => by_statistics(text),
    }
}

/// The ISO 639-1 code with which a language tag such as `zh-Hant-TW` starts.
pub(crate) fn of_tag(tag: &str) -> Option<&'static str> {
    let primary = tag.trim().split(['-', '_']).next()?;
    codes()
        .find(|(long, short)| {
            primary.eq_ignore_ascii_case(short) || primary.eq_ignore_ascii_case(long)
        })
        .map(|(_, short)| short)
}

/// Most Latin text of the web is English, which a few words identify at a tenth of the cost of statistics.
fn is_plainly_english(sample: &str) -> bool {
    let (mut words, mut frequent) = (0, 0);
    for word in sample.split_ascii_whitespace() {
        words += 1;
        frequent += usize::from(FREQUENT_ENGLISH.contains(&word));
    }
    frequent >= 4 && frequent * 10 >= words
}

fn by_statistics(text: &str) -> Option<&'static str> {
    let found = whatlang::detect(&sample(text, STATISTICS_SAMPLE))
        .filter(|found| found.confidence() > 0.1)?;
    codes().find(|(long, _)| *long == found.lang().code()).map(|(_, short)| short)
}

fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    CODES.lines().filter_map(|line| line.split_once(' '))
}

/// About `bytes` of the text, in pieces from all parts of it, or all of a short one.
fn sample(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let places = bytes / PIECE;
    let mut sample = String::with_capacity(bytes + places);
    for place in 0..places {
        let start = text.ceil_char_boundary(place * (text.len() - PIECE) / (places - 1));
        sample.push_str(&text[start..text.floor_char_boundary(start + PIECE)]);
        sample.push(' ');
    }
    sample.into()
}

/// How many letters of an alphabet a character counts as. It says as much as three, but East Asian text is full of Latin names and code,
/// while the reverse is rare.
fn weight(script: &str) -> usize {
    if matches!(script, "zh" | "ja" | "ko") { 6 } else { 1 }
}

/// The script of a letter outside of ASCII, by the blocks of the Unicode Standard: the ISO 639-1 code of the only language that is commonly
/// written in it, or one of [`SHARED`]. `None` for rare scripts and for other characters.
fn script_of(char: char) -> Option<&'static str> {
    Some(match char {
        '\u{80}'..='\u{BF}' | '×' | '÷' => return None,
        '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => LATIN,
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => "el",
        '\u{400}'..='\u{52F}' => "Cyrl",
        '\u{531}'..='\u{58A}' => "hy",
        '\u{590}'..='\u{5FF}' => "Hebr",
        '\u{600}'..='\u{6FF}'
        | '\u{750}'..='\u{77F}'
        | '\u{FB50}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFC}' => "Arab",
        '\u{900}'..='\u{97F}' => "Deva",
        '\u{980}'..='\u{9FF}' => "bn",
        '\u{A00}'..='\u{A7F}' => "pa",
        '\u{A80}'..='\u{AFF}' => "gu",
        '\u{B00}'..='\u{B7F}' => "or",
        '\u{B80}'..='\u{BFF}' => "ta",
        '\u{C00}'..='\u{C7F}' => "te",
        '\u{C80}'..='\u{CFF}' => "kn",
        '\u{D00}'..='\u{D7F}' => "ml",
        '\u{D80}'..='\u{DFF}' => "si",
        '\u{E00}'..='\u{E7F}' => "th",
        '\u{E80}'..='\u{EFF}' => "lo",
        '\u{F00}'..='\u{FFF}' => "bo",
        '\u{1000}'..='\u{109F}' => "my",
        '\u{10A0}'..='\u{10FF}' => "ka",
        '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}' => "ko",
        '\u{1200}'..='\u{139F}' => "am",
        '\u{1780}'..='\u{17FF}' => "km",
        '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9D}' => "ja",
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => "zh",
        _ => return None,
    })
}
