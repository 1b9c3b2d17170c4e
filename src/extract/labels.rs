//! Text beside an article that is recognised by what it says: lines that label titles of boxes, buttons and counters, and boxes that ask for
//! consent to cookies.

use std::{ops::RangeInclusive, sync::LazyLock};

use foldhash::{HashMap, HashSet};

use super::{names::with_headings, numbers::LINE};

/// How many digits a date has.
const DIGITS_OF_DATE: RangeInclusive<usize> = 5..=14;

static LABELS: LazyLock<Labels> = LazyLock::new(|| Labels::parse(include_str!("labels.txt")));

/// What a line labels; `labels.txt` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// What follows is beside the text.
    Section,
    /// Nothing: the line is a button or a counter.
    Line,
    /// Nothing: the line asks for consent to cookies.
    Consent,
}

/// The label that a line is.
pub(super) fn label_of(line: &str) -> Option<Label> {
    if asks_for_consent(line) {
        return Some(Label::Consent);
    }
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
        let mut labels = Self::default();
        for (heading, line) in with_headings(file) {
            labels.beginnings.insert(beginning(line));
            match heading {
                "section" => _ = labels.names.insert(line, Label::Section),
                "line" => _ = labels.names.insert(line, Label::Line),
                "start" => labels.starts.push(line),
                _ => labels.consent.push(line),
            }
        }
        labels
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
