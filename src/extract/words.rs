//! The words of names: classes and ids are judged by tables of words, which are text files.

use std::iter;

use html5ever::LocalName;
use scraper::node::Element;

/// The longest name that is read; longer ones are generated and mean nothing.
pub(super) const MAX_NAME: usize = 40;

/// The value of an attribute.
pub(super) fn attribute<'a>(element: &'a Element, wanted: &LocalName) -> Option<&'a str> {
    element.attrs.iter().find(|(name, _)| name.local == *wanted).map(|(_, value)| &**value)
}

/// Words with their meanings, from a text file.
#[derive(Debug)]
pub(super) struct Words<R> {
    /// By length, first and last byte: nearly all have one word at most.
    slots: Vec<Vec<(&'static str, R)>>,
}

impl<R: Copy> Words<R> {
    /// Parses words under headings in brackets; `meaning_of` maps headings. Lines that start with `#` are comments.
    pub(super) fn parse(file: &'static str, meaning_of: impl Fn(&str) -> R) -> Self {
        let mut slots: Vec<Vec<(&str, R)>> = vec![Vec::new(); SLOTS];
        let mut meaning = None;
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if let Some(heading) = line.strip_prefix('[') {
                meaning = Some(meaning_of(heading.trim_end_matches(']')));
            } else if let Some(meaning) = meaning {
                for word in line.split_whitespace() {
                    let slot = &mut slots[slot(word)];
                    // Of several meanings the last one counts.
                    slot.retain(|(known, _)| *known != word);
                    slot.push((word, meaning));
                }
            }
        }
        Self { slots }
    }

    /// The meaning of a word.
    pub(super) fn get(&self, word: &str) -> Option<R> {
        let same = self.slots[slot(word)].iter().find(|(known, _)| *known == word);
        same.map(|(_, meaning)| *meaning)
    }
}

/// Slots of [`Words`].
const SLOTS: usize = 1 << 10;

fn slot(word: &str) -> usize {
    let [first, .., last] = *word.as_bytes() else { return word.len() };
    (usize::from(first) * 31 + usize::from(last) * 5 + word.len()) % SLOTS
}

/// The result of `judge` for a name in lower case; `None` for a name that is too long.
pub(super) fn with_lower_case<T>(name: &str, judge: impl FnOnce(&str) -> T) -> Option<T> {
    let mut buffer = [0; MAX_NAME];
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    Some(judge(str::from_utf8(lower).ok()?))
}

/// The words of a name from the last to the first, as ranges. A word starts after `-` or `_`, and at a capital that follows a
/// small letter.
pub(super) fn words_of(name: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = name;
    iter::from_fn(move || {
        rest = rest.trim_end_matches(['-', '_']);
        let (bytes, end) = (rest.as_bytes(), rest.len());
        let starts = |&at: &usize| {
            matches!(bytes[at - 1], b'-' | b'_')
                || (bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
        };
        let start = (1..end).rev().find(starts).unwrap_or(0);
        rest = &rest[..start];
        (end > 0).then_some((start, end))
    })
}
