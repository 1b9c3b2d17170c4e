//! Reads the documents that the commands judge, fingerprint and extract: JSON lines, HTML files and directories of them.
//!
//! Sits between the command line and [`crate::page`]. What cannot be read is an item like any other, an error that says where it
//! stands, and reading goes on behind it. Memory does not grow with the input, whatever it holds.

mod chunks;
mod line;
mod lines;
mod walk;

use std::{io, path::PathBuf};

use url::Url;

use crate::page::Timestamp;

pub use chunks::Chunks;
pub use line::LineError;
pub use walk::{Documents, is_html};

/// The longest line and the longest HTML file that is read, in bytes.
pub const LONGEST: usize = 64 << 20;

/// A document as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The caller's name for it: its `id`, or the path of its file.
    pub id: String,
    /// Where it came from, if that is known.
    pub url: Option<Url>,
    /// When it arrived, if that is told.
    pub at: Option<Timestamp>,
    /// What it holds.
    pub content: Content,
}

/// What a document holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, free of markup.
    Text(String),
    /// A page.
    Html {
        /// Its bytes.
        body: Vec<u8>,
        /// Its charset, if that is known otherwise than by the page.
        charset: Option<&'static str>,
    },
}

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A file or directory cannot be read.
    #[error("read {file}")]
    Read {
        /// The file as given.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A line is no document.
    #[error("{file}:{line}")]
    Line {
        /// The file as given, or `standard input`.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        source: LineError,
    },
    /// A file of a kind that is not read.
    #[error("{} is not read: {hint}", path.display())]
    Kind {
        /// The file as given.
        path: PathBuf,
        /// What to do instead.
        hint: &'static str,
    },
    /// An HTML file is longer than [`LONGEST`].
    #[error("{} is longer than 64 MiB", path.display())]
    TooLong {
        /// The file as given.
        path: PathBuf,
    },
}

impl Input {
    /// About how many bytes of memory it takes.
    fn size(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) => text.len(),
            Content::Html { body, .. } => body.len(),
        };
        size_of::<Self>() + self.id.len() + content
    }
}
