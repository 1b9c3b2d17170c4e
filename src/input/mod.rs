//! Reads the documents that the commands judge, fingerprint and extract: JSON lines, HTML, WARC and WET files, and directories of HTML files.
//!
//! `Documents` yields one document after another from files and standard input; `Chunks` reads them ahead on a thread. An input
//! that cannot be read is an error item with its place, and reading continues after it. Memory is bounded, whatever the input holds.

mod lines;
mod prepare;
mod replay;
mod walk;
mod warc;

use std::{
    hash::{Hash, Hasher},
    io,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::Xxh3;

use crate::page::Timestamp;

#[cfg(feature = "serve")]
pub(crate) use lines::parse as document;
pub(crate) use lines::{LineError, Names};
pub(crate) use prepare::{Chunks, Preparation, Prepared, extracted};
pub(crate) use walk::{Documents, Reading, is_html};
pub(crate) use warc::Skipped;

/// The length in bytes of the longest line, HTML file and record that is read.
pub(crate) const LONGEST: usize = 64 << 20;

/// A document as given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Its `id`, the path of its file, or the URL of its record.
    pub(crate) id: String,
    /// Where it was read, for messages: its file, or file and line.
    pub(crate) place: String,
    /// The number of its line or record in the file, from 1.
    pub(crate) line: u64,
    /// Its URL, if it is known.
    pub(crate) url: Option<Url>,
    /// When it arrived, if the input says so.
    pub(crate) at: Option<Timestamp>,
    /// Its content.
    pub(crate) content: Content,
    /// Whether there was more of the content than its record has.
    pub(crate) is_cut: bool,
    /// Its line or record, if it may have to be written again.
    pub(crate) raw: Option<Raw>,
}

/// A line or record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
}

/// What files of lines or records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Lines,
    Warc,
    WarcGzip,
    WarcZstd,
}

impl Format {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines of JSON",
            Self::Warc => "WARC records",
            Self::WarcGzip => "WARC records compressed by gzip",
            Self::WarcZstd => "WARC records compressed by zstd",
        }
    }
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
        /// Its `Content-Type`, if the input has one.
        content_type: Option<String>,
    },
}

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A file or directory cannot be read.
    #[error("cannot read {file}")]
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
    /// A record of a WARC file cannot be read.
    #[error("{file}: record at byte {offset}{}: {why}", plus(*.more))]
    Record {
        /// The file as given, or `standard input`.
        file: String,
        /// Where the record starts, or the member or frame of a compressed file that has it.
        offset: u64,
        /// Where it starts within that, decompressed.
        more: u64,
        /// What is wrong with it.
        why: String,
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
    let file = Box::new(io::Cursor::new(file));
    for line in lines::Lines::new(file, String::new(), Names::default(), false) {
        counts[usize::from(line.is_err())] += 1;
    }
    counts
}

/// How many documents a file of any kind has, and how many of its lines and records cannot be read. For fuzzing.
#[must_use]
pub fn count_documents(file: Vec<u8>) -> [usize; 2] {
    let reading = Reading { keeps: true, ..Reading::default() };
    let mut counts = [0, 0];
    for document in Documents::of_bytes(file, reading) {
        if let Ok(Input { raw: Some(raw), .. }) = &document {
            assert!(!raw.bytes.is_empty(), "a document has bytes");
        }
        counts[usize::from(document.is_err())] += 1;
    }
    counts
}

fn plus(more: u64) -> String {
    if more > 0 { format!("+{more}") } else { String::new() }
}

impl InputError {
    /// The line that it is about, if it is about one.
    pub(crate) fn line(&self) -> Option<u64> {
        match self {
            Self::Line { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// What is wrong, where.
    pub(crate) fn answer(&self) -> ErrorLine {
        let causes = std::iter::successors(Some(self as &dyn std::error::Error), |it| it.source());
        let mut said: Vec<_> = causes.map(ToString::to_string).collect();
        let (file, line, offset) = match self {
            Self::Read { file, .. } => (file.clone(), None, None),
            Self::Line { file, line, .. } => {
                said.remove(0);
                (file.clone(), Some(*line), None)
            }
            Self::Record { file, offset, why, .. } => {
                said = vec![why.clone()];
                (file.clone(), None, Some(*offset))
            }
            Self::Refused { path, .. } => (path.display().to_string(), None, None),
        };
        ErrorLine { error: said.join(": "), file, line, offset }
    }
}

/// The line of the output in place of a document that cannot be read.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorLine {
    error: String,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl Input {
    /// A document of which nothing else is known.
    pub(crate) fn new(id: String, content: Content) -> Self {
        let place = id.clone();
        Self { id, place, line: 0, url: None, at: None, content, is_cut: false, raw: None }
    }

    /// Its approximate size in memory, in bytes.
    fn size(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) => text.len(),
            Content::Html { body, .. } => body.len(),
        };
        let raw = self.raw.as_ref().map_or(0, |raw| raw.bytes.len());
        size_of::<Self>() + self.id.len() + content + raw
    }

    /// A hash of all that a document depends on.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        (&self.id, &self.url, &self.at, &self.content).hash(&mut hasher);
        hasher.finish()
    }
}
