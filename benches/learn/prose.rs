//! Prose that looks like a language and that no other page has: words of real texts in their frequency, and a few of the page's own.

use crate::{numbers::mix, texts};

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Chinese,
}

/// Numbers that depend on a seed only.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Those of a name.
    pub(crate) fn of(name: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
    }

    /// A number below `end`.
    pub(crate) fn roll(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        usize::try_from(self.0 >> 8).unwrap_or_default() % end
    }

    /// A lower-case hexadecimal number of so many digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[self.roll(16)])).collect()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.roll(end + 1));
        }
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// A vocabulary.
#[derive(Debug)]
pub(crate) struct Prose {
    pub(crate) language: Language,
    pub(crate) words: Vec<String>,
}

const ONSETS: [&str; 16] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
const RHYMES: [&str; 14] =
    ["a", "e", "i", "o", "ar", "en", "ol", "un", "ent", "ast", "ind", "ock", "ell", "orm"];

impl Prose {
    pub(crate) fn new(language: Language) -> Self {
        let words = match language {
            Language::English => texts::ENGLISH.iter().flat_map(|text| english(text)).collect(),
            Language::Chinese => texts::CHINESE.iter().flat_map(|text| chinese(text)).collect(),
        };
        Self { language, words }
    }

    /// A word that is made up.
    pub(crate) fn own_word(&self, dice: &mut Dice) -> String {
        match self.language {
            Language::English => {
                let syllables = 2 + dice.roll(2);
                let mut syllable = |_| [*dice.pick(&ONSETS), *dice.pick(&RHYMES)].concat();
                (0..syllables).map(&mut syllable).collect()
            }
            Language::Chinese => {
                let one = |dice: &mut Dice| {
                    char::from_u32(0x4e00 + u32::try_from(dice.roll(0x2000)).unwrap_or_default())
                        .unwrap_or('一')
                };
                [one(dice), one(dice)].iter().collect()
            }
        }
    }

    /// A few words that begin a page or lead to it.
    pub(crate) fn title(&self, name: &str) -> String {
        let mut dice = Dice::of(&format!("title {name}"));
        let words: Vec<String> = (0..4 + dice.roll(3))
            .map(|word| {
                if word % 2 == 0 {
                    self.own_word(&mut dice)
                } else {
                    dice.pick(&self.words).clone()
                }
            })
            .collect();
        let title = words.join(self.say(" ", ""));
        let mut letters = title.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// Paragraphs about the subject of a page; the same for the same name.
    pub(crate) fn paragraphs(&self, name: &str, paragraphs: usize) -> String {
        let mut dice = Dice::of(&format!("prose {name}"));
        let subject: Vec<String> = (0..12).map(|_| self.own_word(&mut dice)).collect();
        let mut html = String::new();
        for _ in 0..paragraphs {
            html += "<p>";
            for _ in 0..3 + dice.roll(3) {
                html += &self.sentence(&subject, &mut dice);
            }
            html += "</p>\n";
        }
        html
    }

    /// A sentence for a teaser.
    pub(crate) fn teaser(&self, name: &str) -> String {
        let mut dice = Dice::of(&format!("teaser {name}"));
        let subject: Vec<String> = (0..4).map(|_| self.own_word(&mut dice)).collect();
        self.sentence(&subject, &mut dice)
    }

    fn sentence(&self, subject: &[String], dice: &mut Dice) -> String {
        let words = (0..9 + dice.roll(10)).map(|_| {
            if dice.roll(6) == 0 {
                dice.pick(subject).clone()
            } else {
                dice.pick(&self.words).clone()
            }
        });
        let words: Vec<String> = words.collect();
        match self.language {
            Language::English => words.join(" ") + ". ",
            Language::Chinese => words.concat() + "。",
        }
    }

    /// This in English or in Chinese.
    pub(crate) fn say(&self, english: &'static str, chinese: &'static str) -> &'static str {
        if self.language == Language::English { english } else { chinese }
    }
}

fn english(text: &str) -> impl Iterator<Item = String> {
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
    text.split_ascii_whitespace().filter(is_word).map(str::to_owned)
}

/// Pairs of neighbouring characters.
fn chinese(text: &str) -> impl Iterator<Item = String> {
    let han = |letter: &char| ('\u{4e00}'..'\u{9fff}').contains(letter);
    let letters: Vec<char> = text.chars().collect();
    let pairs: Vec<String> = letters
        .windows(2)
        .step_by(2)
        .filter(|pair| pair.iter().all(han))
        .map(|pair| pair.iter().collect())
        .collect();
    pairs.into_iter()
}

pub(crate) fn anchor(to: &str, name: &str) -> String {
    format!("<a href=\"{}\">{name}</a>", to.replace('&', "&amp;"))
}
