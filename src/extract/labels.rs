//! Lines that label what stands beside an article: titles of boxes, buttons, counters.

use std::{collections::HashMap, sync::LazyLock};

/// Longer lines, in bytes, are no labels.
const LONGEST: usize = 120;

static LABELS: LazyLock<Labels> = LazyLock::new(|| Labels::parse(include_str!("labels.txt")));

/// What a line labels; `labels.txt` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// What follows is beside the text.
    Section,
    /// What follows is beside the text if it consists of links.
    Links,
    /// What follows was written by readers.
    Comments,
    /// Nothing: the line is a button or a counter.
    Line,
}

/// The label that a line is.
pub(super) fn label_of(line: &str) -> Option<Label> {
    if line.len() > LONGEST {
        return None;
    }
    let lower = line.to_lowercase();
    let name = lower.trim_matches(|char: char| !char.is_alphabetic());
    LABELS.names.get(name).copied().or_else(|| {
        let starts = |start: &&str| name.starts_with(*start);
        LABELS.starts.iter().any(starts).then_some(Label::Line)
    })
}

/// The labels of `labels.txt`.
#[derive(Debug, Default)]
struct Labels {
    names: HashMap<&'static str, Label>,
    starts: Vec<&'static str>,
}

impl Labels {
    fn parse(file: &'static str) -> Self {
        let (mut labels, mut heading) = (Self::default(), "");
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let label = match heading {
                _ if line.starts_with('[') => {
                    heading = line;
                    continue;
                }
                "[section]" => Label::Section,
                "[links]" => Label::Links,
                "[comments]" => Label::Comments,
                "[line]" => Label::Line,
                _ => {
                    labels.starts.push(line);
                    continue;
                }
            };
            labels.names.entry(line).or_insert(label);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, label_of};

    #[test]
    fn labels_are_recognised_without_digits_and_punctuation() {
        for (line, label) in [
            ("Related Articles", Label::Section),
            ("【相关阅读】", Label::Section),
            ("Mehr zum Thema:", Label::Section),
            ("Leave a comment (3)", Label::Comments),
            ("Tags:", Label::Links),
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
}
