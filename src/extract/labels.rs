//! Text beside an article that is recognised by what it says: lines that label titles of boxes, buttons and counters, and boxes that ask for
//! consent to cookies.

use std::{ops::RangeInclusive, sync::LazyLock};

use foldhash::{HashMap, HashSet};

use super::{blocks::Measured, names::Mark, numbers::LINE};

/// How many digits a date has.
const DIGITS_OF_DATE: RangeInclusive<usize> = 5..=14;

static LABELS: LazyLock<Labels> = LazyLock::new(|| Labels::parse(include_str!("labels.txt")));

/// What a line labels; `labels.txt` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// What follows is beside the text.
    Section,
    /// What follows was written by readers.
    Comments,
    /// Nothing: the line is a button or a counter.
    Line,
}

/// The label that a line is.
pub(super) fn label_of(line: &str) -> Option<Label> {
    if line.len() > LINE {
        return None;
    }
    if is_date(line) {
        return Some(Label::Line);
    }
    let name = line.trim_matches(|char: char| !char.is_alphabetic());
    if !LABELS.beginnings.contains(&beginning(name)) {
        return None;
    }
    let name = name.to_lowercase();
    LABELS.names.get(&*name).copied().or_else(|| {
        LABELS.starts.iter().any(|start| name.starts_with(start)).then_some(Label::Line)
    })
}

/// Whether a line is a date, perhaps with a time of day: it has a year, and as many digits as letters.
fn is_date(line: &str) -> bool {
    let is_year = |number: &str| number.len() == 4 && matches!(&number[..2], "19" | "20");
    let digits = line.bytes().filter(u8::is_ascii_digit).count();
    DIGITS_OF_DATE.contains(&digits)
        && line.chars().filter(|char| char.is_alphabetic()).count() <= digits
        && line.split(|char: char| !char.is_ascii_digit()).any(is_year)
}

/// The first two characters in lower case, by which most lines are known to be no labels.
fn beginning(line: &str) -> [Option<char>; 2] {
    let mut chars = line.chars().flat_map(char::to_lowercase);
    [chars.next(), chars.next()]
}

/// The labels of `labels.txt`.
#[derive(Debug, Default)]
struct Labels {
    names: HashMap<&'static str, Label>,
    /// How names and starts begin.
    beginnings: HashSet<[Option<char>; 2]>,
    starts: Vec<&'static str>,
    /// Phrases of a line that asks for consent to cookies.
    consent: Vec<&'static str>,
}

impl Labels {
    fn parse(file: &'static str) -> Self {
        let (mut labels, mut heading) = (Self::default(), "");
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                heading = line;
                continue;
            }
            labels.beginnings.insert(beginning(line));
            let label = match heading {
                "[section]" => Label::Section,
                "[comments]" => Label::Comments,
                "[line]" => Label::Line,
                "[start]" => {
                    labels.starts.push(line);
                    continue;
                }
                _ => {
                    labels.consent.push(line);
                    continue;
                }
            };
            labels.names.entry(line).or_insert(label);
        }
        labels
    }
}

/// Marks lines outside of the article that ask for consent to cookies.
pub(super) fn mark_consent(page: &mut Measured<'_>) {
    let is_article =
        |block: usize| page.blocks[block].marks.has_any([Mark::Body, Mark::Article, Mark::Main]);
    let asks = |&block: &usize| block > 0 && !page.around(block).any(is_article);
    let lines = (0..page.segments.len()).filter(|&line| asks_for_consent(page.text(line)));
    let blocks: Vec<usize> =
        lines.map(|line| page.writer.segments[line].block).filter(asks).collect();
    for block in blocks {
        page.blocks[block].marks.set(Mark::Consent, true);
    }
}

/// Whether a line asks for consent to cookies.
fn asks_for_consent(line: &str) -> bool {
    COOKIE.iter().any(|name| line.contains(name)) && {
        let lower = line.to_lowercase();
        LABELS.consent.iter().any(|phrase| lower.contains(phrase))
    }
}

/// A line without one of these asks for nothing.
const COOKIE: [&str; 4] = ["cookie", "Cookie", "COOKIE", "クッキー"];

#[cfg(test)]
mod tests {
    use super::{Label, asks_for_consent, label_of};

    #[test]
    fn labels_are_recognised_without_digits_and_punctuation() {
        for (line, label) in [
            ("Related Articles", Label::Section),
            ("【相关阅读】", Label::Section),
            ("发表回复 (3)", Label::Comments),
            ("Tags:", Label::Section),
            ("12 Comments", Label::Line),
            ("5 min read", Label::Line),
            ("责任编辑：张三", Label::Line),
        ] {
            assert_eq!(label_of(line), Some(label), "{line}");
        }
        for line in [
            "",
            "1.",
            "The related articles of the treaty were signed.",
            "Comments in code",
            "评论家",
        ] {
            assert_eq!(label_of(line), None, "{line}");
        }
    }

    #[test]
    fn lines_that_ask_for_consent_are_recognised() {
        for line in ["We use cookies.", "ACCEPT ALL COOKIES", "当サイトではクッキーを使用します"]
        {
            assert!(asks_for_consent(line), "{line}");
        }
        for line in ["We and our partners grow tea.", "A cookie is a text file.", ""] {
            assert!(!asks_for_consent(line), "{line}");
        }
    }
}
