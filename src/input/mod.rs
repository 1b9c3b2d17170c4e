//! Reads the documents that the commands judge, fingerprint and extract: JSON lines, HTML files and directories of them.
//!
//! `Documents` yields one document after another from files and standard input; `Chunks` reads them ahead on a thread. An input
//! that cannot be read is an error item with its place, and reading continues after it. Memory is bounded, whatever the input holds.

mod chunks;
mod lines;
mod prepare;
mod walk;

use std::{
    hash::{Hash, Hasher},
    io,
    path::PathBuf,
};

use url::Url;
use xxhash_rust::xxh3::Xxh3;

use crate::page::Timestamp;

pub(crate) use chunks::Chunks;
pub(crate) use lines::LineError;
#[cfg(feature = "serve")]
pub(crate) use lines::parse as document;
pub(crate) use prepare::{Preparation, Prepared, extracted};
pub(crate) use walk::{Documents, is_html};

/// The length in bytes of the longest line and the longest HTML file that is read.
pub(crate) const LONGEST: usize = 64 << 20;

/// A document as given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Its `id`, or the path of its file.
    pub(crate) id: String,
    /// Where it was read, for messages: its file, or file and line.
    pub(crate) place: String,
    /// Its URL, if it is known.
    pub(crate) url: Option<Url>,
    /// When it arrived, if the input says so.
    pub(crate) at: Option<Timestamp>,
    /// Its content.
    pub(crate) content: Content,
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    /// Text without markup.
    Text(String),
    /// A page.
    Html {
        /// Its bytes.
        body: Vec<u8>,
        /// Its charset, if the input determines it.
        charset: Option<&'static str>,
    },
}

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A file or directory cannot be read.
    #[error("read {file}")]
    Read {
        /// The file as given.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not a document.
    #[error("{file}:{line}")]
    Line {
        /// The file as given, or `standard input`.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        source: LineError,
    },
    /// A file that is too long or of a kind that is not supported.
    #[error("{} is not read: {why}", path.display())]
    Refused {
        /// The file as given.
        path: PathBuf,
        /// Why, and what to do instead.
        why: &'static str,
    },
}

/// How many documents a file of JSON lines has, and how many of its lines cannot be read. For fuzzing.
#[must_use]
pub fn count_lines(file: Vec<u8>) -> [usize; 2] {
    let mut counts = [0, 0];
    for line in lines::Lines::new(Box::new(io::Cursor::new(file)), String::new()) {
        counts[usize::from(line.is_err())] += 1;
    }
    counts
}

impl Input {
    /// Its approximate size in memory, in bytes.
    fn size(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) => text.len(),
            Content::Html { body, .. } => body.len(),
        };
        size_of::<Self>() + self.id.len() + content
    }

    /// A hash of all that a document depends on.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        (&self.id, &self.url, &self.at, &self.content).hash(&mut hasher);
        hasher.finish()
    }
}
