//! TOML that the user wrote, and errors that point into it: what is wrong with a piece of it, and what to write instead.
//!
//! The errors of this file are: text that is not TOML, a seed list without exactly one source, and a key or value that serde
//! rejects. `draft.rs` has those of the whole.

use std::{collections::VecDeque, io, ops::Range, path::PathBuf, sync::LazyLock};

use miette::{Diagnostic, LabeledSpan, NamedSource};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value as Json;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue, Error, ValueDeserializer},
};

use super::{DEFAULT, SCHEMA};
use crate::learn::Rule;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    #[diagnostic(help(
        "`pagesieve check --help` shows a minimal configuration; a URL begins with https:// or http://"
    ))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A key, a value or a seed file is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<Invalid>),
}

/// An invalid key or value in a configuration, or invalid lines of a seed file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct Invalid {
    pub(super) message: String,
    #[source_code]
    pub(super) text: NamedSource<String>,
    #[label(collection)]
    pub(super) labels: Vec<LabeledSpan>,
    #[help]
    pub(super) help: Option<String>,
}

/// A piece of TOML, with the name of its file or flag.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) toml: String,
}

/// What is wrong, and what to write instead.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) label: String,
    pub(super) help: Option<String>,
}

impl Problem {
    pub(super) fn new(
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { message: message.into(), label: label.into(), help: Some(help.into()) }
    }
}

impl Text {
    /// Finds the value of a key. Items of an array are named by their index.
    pub(super) fn find(&self, path: &[&str]) -> Option<Range<usize>> {
        let table = DeTable::parse(&self.toml).ok()?;
        let (first, rest) = path.split_first()?;
        let mut value = table.get_ref().get(*first)?;
        for step in rest {
            value = match value.get_ref() {
                DeValue::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                DeValue::Table(table) => table.get(*step)?,
                _ => return None,
            };
        }
        Some(value.span())
    }

    /// An error that points at these bytes. Without bytes, or with bytes past the end, it points at the last character.
    pub(super) fn invalid(&self, at: Option<Range<usize>>, problem: Problem) -> ConfigError {
        let written = self.toml.trim_end();
        let last = written.char_indices().next_back().map_or(0, |(at, _)| at);
        let at = at.filter(|at| at.start < written.len()).unwrap_or(last..written.len());
        ConfigError::Invalid(Box::new(Invalid {
            message: problem.message,
            text: NamedSource::new(&self.name, without_passwords(&self.toml)),
            labels: vec![LabeledSpan::new_with_span(Some(problem.label), at)],
            help: problem.help,
        }))
    }
}

/// The text with a star for each byte of a password in a URL: an error shows the lines around it.
fn without_passwords(toml: &str) -> String {
    let password = Regex::new(r#"://[^\s/:@"']*:([^\s"']+)@"#).expect("a regular expression");
    let mut shown = toml.to_owned();
    for found in password.captures_iter(toml).filter_map(|found| found.get(1)) {
        shown.replace_range(found.range(), &"*".repeat(found.len()));
    }
    shown
}

/// Finds the key whose name or value is at `offset`, with the tables around it.
pub(super) fn path_in(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let rest = match value.get_ref() {
            DeValue::Table(table) => path_in(table, offset),
            DeValue::Array(items) => {
                items.iter().find_map(|item| path_in(item.get_ref().as_table()?, offset))
            }
            _ => None,
        };
        let is_here = || key.span().contains(&offset) || value.span().contains(&offset);
        let rest = rest.or_else(|| is_here().then(Vec::new))?;
        Some([vec![key.get_ref().to_string()], rest].concat())
    })
}

/// Merges `from` into `into`: tables key by key; any other value replaces the earlier one.
pub(super) fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// A configuration with every key: the bundled one, including the examples in its comments.
pub(super) static EXAMPLE: LazyLock<Table> = LazyLock::new(|| {
    let parse = |toml: &str| toml.parse::<Table>().expect("the bundled configuration is TOML");
    let mut example = parse(DEFAULT);
    merge(&mut example, parse(&commented(DEFAULT)));
    example
});

/// A suggestion must be at least this similar to the unknown name, from 0 to 1.
const LEAST_SIMILARITY: f64 = 0.6;

/// The keys of a seed list of which exactly one must be set.
const SOURCES: [&str; 3] = ["url", "file", "sitemap"];

/// How the error of a seed list without exactly one source begins. It does not name the list.
const SOURCES_MESSAGE: &str = "a seed list needs exactly one of";

/// Explains an error of the TOML parser or of serde.
pub(super) fn explain(text: &Text, error: &Error) -> ConfigError {
    let message = error.message();
    let Some(at) = error.span() else {
        return text.invalid(None, value_problem(message, &[]));
    };
    let Ok(table) = DeTable::parse(&text.toml) else {
        return text.invalid(Some(at.clone()), syntax_problem(&text.toml, message, &at));
    };
    if let Some((at, problem)) = source_problem(table.get_ref(), message) {
        return text.invalid(Some(at), problem);
    }
    let path = path_in(table.get_ref(), at.start).unwrap_or_default();
    let rule = (path == ["learn", "rules"]).then(|| wrong_rule(table.get_ref())).flatten();
    text.invalid(Some(rule.unwrap_or(at)), value_problem(message, &path))
}

/// Explains text that is not TOML, at these bytes.
fn syntax_problem(toml: &str, message: &str, at: &Range<usize>) -> Problem {
    let start = toml[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let line = without_comment(toml[start..].lines().next().unwrap_or_default());
    let message = message.trim_end().replace('\n', ", ");
    if message == "duplicate key" {
        return duplicate(&toml[..start], line, &toml[at.clone()]);
    }
    let help = if message.starts_with("unclosed table") {
        format!("write `{line}]`")
    } else if message.starts_with("unclosed array table") {
        format!("write `{}]]`", line.trim_end_matches(']'))
    } else if message.starts_with("unclosed") {
        "close a list with `]`, an inline table with `}`".to_owned()
    } else if message.starts_with("string values must be quoted") {
        let (key, value) = line.split_once('=').unwrap_or_default();
        format!("write `{} = \"{}\"`", key.trim(), value.trim())
    } else if message.starts_with("invalid basic string, expected `\"`") {
        "close the string with `\"` on the same line".to_owned()
    } else {
        "a line is `key = value`, a header such as `[crawl]` or `[[seeds]]`, or a comment that starts with `#`"
            .to_owned()
    };
    let message = key(line).map_or_else(|| message.clone(), |key| format!("`{key}`: {message}"));
    Problem::new(message, "here", help)
}

/// Explains a key or a header that occurs a second time.
fn duplicate(before: &str, line: &str, name: &str) -> Problem {
    let is_header = |line: &str| line.starts_with('[');
    let lines: Vec<_> = before.lines().map(without_comment).collect();
    let (what, first, help) = if is_header(line) {
        let first = lines.iter().position(|other| *other == line);
        (line.to_owned(), first, "put all its keys under one header")
    } else {
        let table = lines.iter().rposition(|line| is_header(line)).unwrap_or(0);
        let first = lines[table..].iter().position(|other| key(other) == Some(name));
        (format!("`{name}`"), first.map(|at| at + table), "keep one of the two")
    };
    let first =
        first.map_or_else(String::new, |line| format!("; the first is on line {}", line + 1));
    Problem::new(format!("{what} appears twice"), "second time", format!("{help}{first}"))
}

/// The bare key at the beginning of a line.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(is_bare)).then_some(key)
}

fn without_comment(line: &str) -> &str {
    line.split_once(" #").map_or(line, |(line, _)| line).trim()
}

/// Finds the first seed list without exactly one source, if that is the error.
fn source_problem(table: &DeTable<'_>, message: &str) -> Option<(Range<usize>, Problem)> {
    if !message.starts_with(SOURCES_MESSAGE) {
        return None;
    }
    let lists = table.get("seeds")?.get_ref().as_array()?;
    lists.iter().find_map(|list| {
        let keys = list.get_ref().as_table()?.keys();
        let mut sources: Vec<_> =
            keys.filter(|key| SOURCES.contains(&key.get_ref().as_ref())).collect();
        sources.sort_by_key(|key| key.span().start);
        match sources[..] {
            [] => {
                let help = "add one below it, such as `url = \"https://docs.example.org/\"`";
                let label = "`url`, `file` or `sitemap` is missing";
                Some((list.span(), Problem::new("a seed list has no source", label, help)))
            }
            [_] => None,
            [first, second, ..] => {
                let (set, other) = (first.get_ref(), second.get_ref());
                let message = format!("a seed list has both `{set}` and `{other}`");
                let help = "keep one, and put the other into a `[[seeds]]` of its own";
                let label = format!("`{set}` is set already");
                Some((second.span(), Problem::new(message, label, help)))
            }
        }
    })
}

/// Finds the first rule that is not one: serde names the list of all.
fn wrong_rule(table: &DeTable<'_>) -> Option<Range<usize>> {
    let rules = table.get("learn")?.get_ref().get("rules")?.get_ref().as_array()?;
    let is_wrong = |it: &&Spanned<DeValue<'_>>| {
        Rule::deserialize(ValueDeserializer::from((*it).clone())).is_err()
    };
    rules.iter().find(is_wrong).map(Spanned::span)
}

/// Explains what serde reports about the key at `path`.
fn value_problem(message: &str, path: &[String]) -> Problem {
    let message = message.trim_end();
    if path == ["dedup", "window", "refresh"] {
        let message =
            "`dedup.window.refresh` was removed: the window always forgets in order of arrival";
        return Problem::new(message, "no longer a key", "delete the key");
    }
    if let Some((key, known)) = unknown(message, "unknown field `") {
        return unknown_key(key, &known, path);
    }
    if let Some((value, known)) = unknown(message, "unknown variant `") {
        return unknown_value(value, &known, path);
    }
    if let [fetch, resolve, name] = path
        && (fetch.as_str(), resolve.as_str()) == ("fetch", "resolve")
    {
        let message = format!("`resolve`: the value of {name:?} is not an address with a port");
        return Problem::new(message, "here", format!("example: `{name:?} = \"127.0.0.1:8080\"`"));
    }
    let message = match path.last() {
        Some(key) => format!("`{key}`: {}", in_plain_words(message)),
        None => in_plain_words(message),
    };
    Problem { message, label: "here".to_owned(), help: example(path) }
}

/// The name that serde did not know, and the names that it knows: its message has them in back quotes.
fn unknown<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let (name, rest) = message.strip_prefix(beginning)?.split_once("`, expected")?;
    Some((name, rest.split('`').skip(1).step_by(2).collect()))
}

fn unknown_key(key: &str, known: &[&str], path: &[String]) -> Problem {
    let place = place(&path[..path.len().saturating_sub(1)]);
    let owners = owners(key);
    let owner = (!owners.is_empty()).then(|| format!("`{key}` belongs {}", owners.join(" or ")));
    let help = match (nearest(key, known), owner) {
        (None, Some(owner)) => owner,
        (Some(known), None) => format!("did you mean `{known}`?"),
        (Some(known), Some(owner)) => format!("did you mean `{known}`? {owner}"),
        (None, None) => format!("the keys {place} are {}", quoted(known, '`')),
    };
    Problem::new(format!("unknown key `{key}` {place}"), "unknown", help)
}

fn unknown_value(value: &str, known: &[&str], path: &[String]) -> Problem {
    let key = path.last().map_or("this key", String::as_str);
    let help = nearest(value, known).map_or_else(
        || format!("the values are {}", quoted(known, '"')),
        |known| format!("did you mean \"{known}\"?"),
    );
    Problem::new(format!("`{key}` has no value {value:?}"), "unknown", help)
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |known: &&str| strsim::normalized_damerau_levenshtein(name, known);
    let nearest = known.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&nearest) >= LEAST_SIMILARITY).then_some(nearest)
}

/// The tables that have a key of this name, by the schema.
fn owners(key: &str) -> Vec<String> {
    let schema: Json = serde_json::from_str(SCHEMA).expect("the bundled schema is JSON");
    let (mut tables, mut owners) = (VecDeque::from([(Vec::new(), &schema)]), Vec::new());
    while let Some((path, schema)) = tables.pop_front() {
        let schema = schema.get("items").unwrap_or(schema);
        let Some(keys) = schema.get("properties").and_then(Json::as_object) else { continue };
        owners.extend(keys.contains_key(key).then(|| place(&path)));
        let inner = |(name, schema)| ([&*path, std::slice::from_ref(name)].concat(), schema);
        tables.extend(keys.iter().map(inner));
    }
    owners
}

fn place(path: &[String]) -> String {
    let Some((name, tables)) = path.split_last() else {
        return "at the top of the file".to_owned();
    };
    let is_list = table(tables).and_then(|table| table.get(name)).is_some_and(Value::is_array);
    let path = path.join(".");
    if is_list { format!("in [[{path}]]") } else { format!("in [{path}]") }
}

/// The example's table of this name; for an array of tables, the first.
fn table(path: &[String]) -> Option<&'static Table> {
    path.iter().try_fold(&*EXAMPLE, |table, key| match table.get(key)? {
        Value::Array(items) => items.first()?.as_table(),
        value => value.as_table(),
    })
}

/// An example of this key, if there is such a key.
fn example(path: &[String]) -> Option<String> {
    let (key, tables) = path.split_last()?;
    let value = table(tables)?.get(key)?;
    match value {
        Value::Table(_) if key != "window" => {
            let header = [tables, std::slice::from_ref(key)].concat().join(".");
            Some(format!(
                "write `[{header}]` and its keys on the lines below, or `{header}.KEY = …`"
            ))
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            let header = [tables, std::slice::from_ref(key)].concat().join(".");
            Some(format!("write `[[{header}]]` and its keys on the lines below"))
        }
        Value::Array(items) if items.is_empty() => None,
        _ => Some(format!("example: `{key} = {value}`")),
    }
}

/// The keys in comments, below the headers of their tables: the comments that are TOML, too.
fn commented(toml: &str) -> String {
    let lines = toml.lines().filter_map(|line| match line.strip_prefix("# ") {
        Some(comment) => comment.parse::<Table>().is_ok().then_some(comment),
        None => line.starts_with('[').then_some(line),
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn quoted(names: &[&str], quote: char) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{quote}{name}{quote}")).collect();
    quoted.join(", ")
}

/// Replaces serde's terms by those of the documentation.
fn in_plain_words(message: &str) -> String {
    let too_large = message.starts_with("invalid value: integer `") && !message.contains("`-");
    let u32 = if too_large {
        "expected at most 4294967295"
    } else {
        "expected a whole number of 0 or more"
    };
    let terms = [
        ("expected parsable string", "expected a size"),
        ("expected an integer or string", "expected a size"),
        ("a nonzero usize", "a whole number of 1 or more"),
        ("a nonzero u64", "a whole number of 1 or more"),
        ("a sequence", "a list in brackets"),
        ("struct Options", "a table of keys"),
        ("struct Dedup", "a table of keys"),
        ("struct WindowOptions", "a table of keys"),
        ("struct Policy", "a table of keys"),
        ("invalid IP address syntax", "not a network (address/bits)"),
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected u32", u32),
        ("` as i128", "`"),
        ("\n", ", "),
    ];
    terms.iter().fold(message.to_owned(), |message, (term, plain)| message.replace(term, plain))
}
