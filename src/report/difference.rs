//! In what two texts differ, word by word (E. W. Myers, "An O(ND) difference algorithm and its variations", 1986).

use std::{
    collections::{HashMap, HashSet},
    io,
    ops::Range,
    path::Path,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use similar::{DiffOp, DiffTag, TextDiff};

use super::{Cluster, Member, Report};
use crate::{
    sink::{VerdictName, texts_of},
    state::{State, StateError},
};

/// A report has the differences of at most this many near duplicates.
pub const DIFFERENCES: usize = 100;
/// Words and gaps of what both have that are shown before and after a difference.
const AROUND: usize = 16;
/// A difference has at most this many bytes of text.
const LONGEST: usize = 3_000;
/// After this time the rest of two texts counts as different.
const PATIENCE: Duration = Duration::from_millis(200);

/// A part of two texts that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Both have it.
    Both(String),
    /// Only the text of the unique page has it.
    Kept(String),
    /// Only the text of the duplicate has it.
    Repeat(String),
    /// This many bytes that are not shown.
    Omitted(usize),
}

/// The texts of near duplicates, and of what they repeat, by their URLs.
#[derive(Debug, Default)]
pub(crate) struct Differences(HashMap<String, String>);

impl Differences {
    /// Reads the texts of these near duplicates, each after the page that it repeats, from a run directory and its state. Pages whose texts are not
    /// stored are left out.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn read(
        pairs: &[(&str, &str)],
        state: &State,
        directory: &Path,
    ) -> Result<io::Result<Self>, StateError> {
        let mut texts = HashMap::new();
        for (_, url) in pairs {
            let document = state.document_named(url)?.filter(|document| !document.stored);
            let text = document.map(|document| state.text_of(document.judgement.id)).transpose()?;
            texts.extend(text.flatten().map(|kept| ((*url).to_owned(), kept.text)));
        }
        let urls = pairs.iter().flat_map(|(kept, url)| [*kept, *url]);
        let missing: HashSet<&str> = urls.filter(|url| !texts.contains_key(*url)).collect();
        Ok(texts_of(directory, &missing).map(|stored| {
            texts.extend(stored);
            Self(texts)
        }))
    }

    /// In what a near duplicate differs from the page that it repeats, if both texts are known.
    pub(crate) fn between(&self, kept: &str, repeat: &str) -> Option<Vec<Piece>> {
        Some(difference(self.0.get(kept)?, self.0.get(repeat)?))
    }

    /// Adds the differences of the least similar near duplicates to a report.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn add_to(
        report: &mut Report,
        state: &State,
        directory: &Path,
    ) -> Result<io::Result<()>, StateError> {
        let mut wanted: Vec<_> = report.clusters.iter_mut().flat_map(near).collect();
        wanted.sort_by(|(_, a), (_, b)| a.similarity.total_cmp(&b.similarity));
        wanted.truncate(DIFFERENCES);
        let pairs: Vec<_> = wanted.iter().map(|(kept, member)| (*kept, &*member.url)).collect();
        let read = Self::read(&pairs, state, directory)?;
        Ok(read.map(|texts| {
            for (kept, member) in wanted {
                member.difference = texts.between(kept, &member.url).unwrap_or_default();
            }
        }))
    }
}

/// The near duplicates of a cluster, each with the page that it repeats.
fn near(cluster: &mut Cluster) -> impl Iterator<Item = (&str, &mut Member)> {
    let (kept, members) = (&*cluster.url, cluster.members.iter_mut());
    members.filter(|it| it.verdict == VerdictName::Near).map(move |member| (kept, member))
}

/// In what the text of a duplicate differs from that of the page that it repeats.
fn difference(kept: &str, repeat: &str) -> Vec<Piece> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_unicode_words(kept, repeat);
    let (kept, repeat, ops) = (diff.old_slices(), diff.new_slices(), diff.ops());
    let is_common = |(at, op): (usize, &DiffOp)| {
        // A gap between two words that differ belongs to the difference.
        let is_within = 0 < at && at + 1 < ops.len();
        let is_gap = || kept[op.old_range()].iter().all(|word| word.trim().is_empty());
        op.tag() == DiffTag::Equal && !(is_within && is_gap())
    };
    let common: Vec<bool> = ops.iter().enumerate().map(is_common).collect();
    let parts = common.chunk_by(|a, b| a == b);
    let (mut pieces, mut room, mut begin) = (Vec::new(), LONGEST, 0);
    for part in parts {
        let end = begin + part.len();
        let words = words_of(kept, &ops[begin..end], DiffOp::old_range);
        if part[0] {
            let before = if begin == 0 { 0 } else { AROUND.min(words.len()) };
            let after = if end == ops.len() { 0 } else { AROUND.min(words.len() - before) };
            let (start, rest) = words.split_at(before);
            let (middle, end) = rest.split_at(rest.len() - after);
            push(&mut pieces, &mut room, start, Piece::Both);
            omit(&mut pieces, middle.concat().len());
            push(&mut pieces, &mut room, end, Piece::Both);
        } else {
            let others = words_of(repeat, &ops[begin..end], DiffOp::new_range);
            push(&mut pieces, &mut room, &words, Piece::Kept);
            push(&mut pieces, &mut room, &others, Piece::Repeat);
        }
        begin = end;
    }
    pieces
}

/// The words of one side of these parts.
fn words_of<'a>(
    all: &[&'a str],
    ops: &[DiffOp],
    range: fn(&DiffOp) -> Range<usize>,
) -> Vec<&'a str> {
    ops.iter().flat_map(|op| &all[range(op)]).copied().collect()
}

/// Adds a text as far as there is room.
fn push(pieces: &mut Vec<Piece>, room: &mut usize, words: &[&str], piece: fn(String) -> Piece) {
    let text = words.concat();
    let shown = text.floor_char_boundary(*room);
    if shown > 0 {
        pieces.push(piece(text[..shown].to_owned()));
    }
    *room -= shown;
    omit(pieces, text.len() - shown);
}

fn omit(pieces: &mut Vec<Piece>, bytes: usize) {
    match pieces.last_mut() {
        _ if bytes == 0 => {}
        Some(Piece::Omitted(before)) => *before += bytes,
        _ => pieces.push(Piece::Omitted(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_and_chinese_characters_are_compared_one_by_one() {
        let pieces = difference("潮水很高。 The tide is high", "潮水不高。 The tide was high");
        let both = |text: &str| Piece::Both(text.to_owned());
        let expected = [
            both("潮水"),
            Piece::Kept("很".to_owned()),
            Piece::Repeat("不".to_owned()),
            both("高。 The tide "),
            Piece::Kept("is".to_owned()),
            Piece::Repeat("was".to_owned()),
            both(" high"),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn words_in_a_row_that_differ_are_one_difference() {
        let pieces = difference("at one two three o'clock", "at four five six o'clock");
        let kept = Piece::Kept("one two three".to_owned());
        assert_eq!(pieces[1..3], [kept, Piece::Repeat("four five six".to_owned())]);
    }

    #[test]
    fn long_common_parts_and_long_differences_are_cut() {
        let common = "word ".repeat(10_000);
        let pieces = difference(&format!("{common}one {common}"), &format!("{common}two {common}"));
        assert!(matches!(pieces[..], [Piece::Omitted(_), .., Piece::Omitted(_)]), "{pieces:?}");
        let pieces = difference(&"one ".repeat(10_000), &"two ".repeat(10_000));
        let shown = |piece: &Piece| match piece {
            Piece::Both(text) | Piece::Kept(text) | Piece::Repeat(text) => text.len(),
            Piece::Omitted(_) => 0,
        };
        assert!(pieces.iter().map(shown).sum::<usize>() <= LONGEST);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_two_texts(kept in "[ab潮 ]{0,30}", repeat in "[ab潮 ]{0,30}") {
            let (mut first, mut second) = (0, 0);
            for piece in difference(&kept, &repeat) {
                match piece {
                    Piece::Both(text) => {
                        first += text.len();
                        second += text.len();
                    }
                    Piece::Omitted(bytes) => {
                        first += bytes;
                        second += bytes;
                    }
                    Piece::Kept(text) => first += text.len(),
                    Piece::Repeat(text) => second += text.len(),
                }
            }
            prop_assert_eq!((first, second), (kept.len(), repeat.len()));
        }
    }
}
