//! What to write instead of what is no TOML.

use std::ops::Range;

use super::text::Problem;

/// What the parser does not say of most lines.
const LINES: &str =
    "a line is `key = value`, a header such as `[crawl]` or `[[seeds]]`, or a comment behind a `#`";

/// Puts what the parser says of the bytes `at` in terms of their line.
pub(super) fn explain(toml: &str, message: &str, at: &Range<usize>) -> Problem {
    let start = toml[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let line = without_comment(toml[start..].lines().next().unwrap_or_default());
    let message = message.trim_end().replace('\n', ", ");
    if message == "duplicate key" {
        return twice(&toml[..start], line, &toml[at.clone()]);
    }
    let help = if message.starts_with("unclosed table") {
        format!("write `{line}]`")
    } else if message.starts_with("unclosed array table") {
        format!("write `{}]]`", line.trim_end_matches(']'))
    } else if message.starts_with("unclosed") {
        "a list ends with `]`, a table in braces with `}`".to_owned()
    } else if message.starts_with("string values must be quoted") {
        quoted(line)
    } else if message.starts_with("invalid basic string, expected `\"`") {
        "a string ends with a `\"` on the line on which it begins".to_owned()
    } else {
        LINES.to_owned()
    };
    let message = key(line).map_or_else(|| message.clone(), |key| format!("`{key}`: {message}"));
    Problem { message, label: "here".to_owned(), help: Some(help) }
}

/// A key or a header that has been written before.
fn twice(before: &str, line: &str, name: &str) -> Problem {
    let is_header = |line: &str| line.starts_with('[');
    let lines: Vec<_> = before.lines().map(without_comment).collect();
    let first = if is_header(line) {
        lines.iter().position(|other| *other == line)
    } else {
        let table = lines.iter().rposition(|line| is_header(line)).unwrap_or(0);
        lines.iter().skip(table).position(|other| key(other) == Some(name)).map(|at| at + table)
    };
    let (what, help) = if is_header(line) {
        (line.to_owned(), "put all its keys under one header")
    } else {
        (format!("`{name}`"), "keep one of the two")
    };
    let first =
        first.map_or_else(String::new, |line| format!("; it stands in line {} too", line + 1));
    Problem {
        message: format!("{what} is written twice"),
        label: "again".to_owned(),
        help: Some(format!("{help}{first}")),
    }
}

fn quoted(line: &str) -> String {
    let (key, value) = line.split_once('=').unwrap_or_default();
    format!("write `{} = \"{}\"`", key.trim(), value.trim())
}

/// The bare key that a line begins with.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(is_bare)).then_some(key)
}

fn without_comment(line: &str) -> &str {
    line.split_once(" #").map_or(line, |(line, _)| line).trim()
}
