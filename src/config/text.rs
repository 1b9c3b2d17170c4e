//! TOML that the user wrote, and errors that point into it.

use std::{io, ops::Range, path::PathBuf};

use miette::{Diagnostic, LabeledSpan, NamedSource};
use regex::Regex;
use toml::{
    Table, Value,
    de::{DeTable, DeValue},
};

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
