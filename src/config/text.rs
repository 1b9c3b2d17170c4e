//! A piece of TOML that the user wrote, and how to point at what is wrong in it.

use std::{io, ops::Range, path::PathBuf};

use miette::{Diagnostic, NamedSource, SourceSpan};
use toml::{
    Table,
    de::{DeTable, DeValue},
};

use super::{Config, hints, sources, syntax};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("read the configuration {}", path.display())]
    #[diagnostic(help("`pagesieve check --help` shows how a configuration begins"))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What is written will not do.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<Invalid>),
    /// A seed file has lines that are no URLs.
    #[error(transparent)]
    #[diagnostic(transparent)]
    SeedLines(Box<SeedLines>),
}

/// Lines of a seed file that are no URLs.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{count} of the lines in the seed file {} cannot be used", path.display())]
#[diagnostic(help("write one absolute URL a line; a `#` begins a comment"))]
pub struct SeedLines {
    pub(super) path: PathBuf,
    /// How many there are.
    pub(super) count: usize,
    #[source_code]
    pub(super) text: NamedSource<String>,
    /// The first of them.
    #[related]
    pub(super) lines: Vec<SeedLine>,
}

/// Something written in a configuration that will not do.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct Invalid {
    message: String,
    label: String,
    #[source_code]
    text: NamedSource<String>,
    #[label("{label}")]
    at: SourceSpan,
    #[help]
    help: Option<String>,
}

/// A line of a seed file that is no URL.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct SeedLine {
    pub(super) message: String,
    #[label]
    pub(super) at: SourceSpan,
}

/// A piece of TOML and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) toml: String,
}

/// What is wrong and what to write instead.
#[derive(Debug, Default)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) label: String,
    pub(super) help: Option<String>,
}

impl Text {
    /// Reads a whole configuration, all keys of which may be left out.
    pub(super) fn read(&self) -> Result<Config, ConfigError> {
        toml::from_str(&self.toml).map_err(|error| self.explain(&error))
    }

    /// The same as plain TOML.
    pub(super) fn table(&self) -> Result<Table, ConfigError> {
        self.toml.parse().map_err(|error| self.explain(&error))
    }

    /// Where the value of this key stands. Items of an array are named by their number.
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

    /// An error that points at these bytes; without them, or behind the last, at the end, where something is missing.
    pub(super) fn invalid(&self, at: Option<Range<usize>>, problem: Problem) -> ConfigError {
        let written = self.toml.trim_end();
        let last = written.char_indices().next_back().map_or(0, |(at, _)| at);
        let at = at.filter(|at| at.start < written.len()).unwrap_or(last..written.len());
        ConfigError::Invalid(Box::new(Invalid {
            message: problem.message,
            label: problem.label,
            text: NamedSource::new(&self.name, self.toml.clone()),
            at: at.into(),
            help: problem.help,
        }))
    }

    pub(super) fn explain(&self, error: &toml::de::Error) -> ConfigError {
        let Some(at) = error.span() else {
            return self.invalid(None, hints::explain(error.message(), &[]));
        };
        if DeTable::parse(&self.toml).is_err() {
            let problem = syntax::explain(&self.toml, error.message(), &at);
            return self.invalid(Some(at), problem);
        }
        if let Some((at, problem)) = sources::explain(&self.toml, error.message()) {
            return self.invalid(Some(at), problem);
        }
        let path = self.path_at(at.start);
        self.invalid(Some(at), hints::explain(error.message(), &path))
    }

    /// The key whose name or value stands at `offset`, with those around it.
    fn path_at(&self, offset: usize) -> Vec<String> {
        let table = DeTable::parse(&self.toml).ok();
        table.and_then(|table| path_in(table.get_ref(), offset)).unwrap_or_default()
    }
}

fn path_in(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
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
