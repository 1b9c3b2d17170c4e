//! Prose that looks like a language and that no other page has: words of real texts in their frequency, and a few of the page's own.

use crate::numbers::mix;

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

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.roll(count) == 0
    }

    /// A lower-case hexadecimal number of so many digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        self.letters(b"0123456789abcdef", digits)
    }

    pub(crate) fn letters(&mut self, from: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(*self.pick(from))).collect()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.roll(end + 1));
        }
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// A word that is made up.
    pub(crate) fn word(&mut self) -> String {
        let syllables = 2 + self.roll(2);
        (0..syllables).map(|_| [*self.pick(&ONSETS), *self.pick(&RHYMES)].concat()).collect()
    }

    /// Some of them, no two the same.
    pub(crate) fn made_up(&mut self, count: usize) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        while words.len() < count {
            words.extend(Some(self.word()).filter(|word| !words.contains(word)));
        }
        words
    }
}

const ONSETS: [&str; 16] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
const RHYMES: [&str; 14] =
    ["a", "e", "i", "o", "ar", "en", "ol", "un", "ent", "ast", "ind", "ock", "ell", "orm"];

/// A vocabulary.
#[derive(Debug)]
pub(crate) struct Prose {
    pub(crate) words: Vec<&'static str>,
}

impl Prose {
    pub(crate) fn new() -> Self {
        let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
        let texts = [
            include_str!("../../tests/data/fingerprint/en-1.txt"),
            include_str!("../../tests/data/fingerprint/en-2.txt"),
        ];
        let words = texts.iter().flat_map(|text| text.split_ascii_whitespace()).filter(is_word);
        Self { words: words.collect() }
    }

    /// A few words that begin a page or lead to it.
    pub(crate) fn title(&self, name: &str) -> String {
        let mut dice = Dice::of(&format!("title {name}"));
        let words = 2 + dice.roll(2);
        let pair = |_| [dice.word(), (*dice.pick(&self.words)).to_owned()];
        let title = (0..words).flat_map(pair).collect::<Vec<_>>().join(" ");
        title[..1].to_uppercase() + &title[1..]
    }

    /// Paragraphs about the subject of a page; the same for the same name.
    pub(crate) fn paragraphs(&self, name: &str, paragraphs: usize) -> String {
        let mut dice = Dice::of(&format!("prose {name}"));
        let subject: Vec<String> = (0..12).map(|_| dice.word()).collect();
        let mut html = String::new();
        for _ in 0..paragraphs {
            let sentences = 3 + dice.roll(3);
            let text: String = (0..sentences).map(|_| self.sentence(&subject, &mut dice)).collect();
            html += &format!("<p>{text}</p>\n");
        }
        html
    }

    /// A sentence for a teaser.
    pub(crate) fn teaser(&self, name: &str) -> String {
        let mut dice = Dice::of(&format!("teaser {name}"));
        let subject: Vec<String> = (0..4).map(|_| dice.word()).collect();
        self.sentence(&subject, &mut dice)
    }

    fn sentence(&self, subject: &[String], dice: &mut Dice) -> String {
        let count = 9 + dice.roll(10);
        let words: Vec<&str> = (0..count)
            .map(|_| if dice.one_in(6) { dice.pick(subject) } else { *dice.pick(&self.words) })
            .collect();
        words.join(" ") + ". "
    }
}
