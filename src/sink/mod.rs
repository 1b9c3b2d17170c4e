//! Where a run's records go: JSON lines, and WARC if it is asked for.
//!
//! Sits between [`crate::report`] and the state. Everything here only grows, and says how far it has safely grown: the
//! recorder stores those offsets in the transaction that holds the batch's facts, and gives them back when the run goes on, so that
//! what a killed process wrote beyond them is cut off. Takes plain rows; knows nothing of `SQLite`, HTTP clients or the filter.

mod append;
pub mod json_lines;
pub mod record;
pub mod warc;

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use self::{
    json_lines::JsonLines,
    record::{DuplicateLine, PageLine},
    warc::{Exchange, Kind, Origin, Warc},
};

/// A line for each stored page.
pub const PAGES: &str = "pages.jsonl";
/// A line for each duplicate that is not stored.
pub const DUPLICATES: &str = "duplicates.jsonl";
/// A line for each URL that is known and neither stored nor a duplicate.
pub const SKIPPED: &str = "skipped.jsonl";

/// The `[store]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether the lines of `pages.jsonl` have the text.
    pub text: bool,
    /// Whether all exchanges are written to WARC files.
    pub warc: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { text: true, warc: false }
    }
}

/// Takes the records of a crawl, in order of arrival: a run directory ([`Outputs`]), or what an embedding program brings.
///
/// Synchronous: it is called on the recorder's own thread.
pub trait Sink {
    /// Takes a record. It need not be durable before the next [`sync`](Self::sync).
    ///
    /// Returns where an exchange was written, for the line of its page; `None` for lines, and from a sink without a WARC file.
    ///
    /// # Errors
    ///
    /// An error ends the run: see [`SinkError`].
    fn record(&mut self, record: &Record<'_>) -> Result<Option<Position>, SinkError>;

    /// Makes everything taken so far durable and returns how far each file has grown.
    ///
    /// # Errors
    ///
    /// An error ends the run. After the disk was full, it may be called again: nothing is lost or doubled.
    fn sync(&mut self) -> Result<Vec<Mark>, SinkError>;
}

/// What a crawl has to tell a sink.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A request and its answer, of whatever kind; comes before the line of its page.
    Exchange(&'a Exchange, &'a Kind<'a>),
    /// A page that is stored.
    Page(&'a PageLine<'a>),
    /// A duplicate that is not stored.
    Duplicate(&'a DuplicateLine<'a>),
}

/// How far a file has safely grown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file, relative to the run directory, with `/` between its parts.
    pub file: String,
    /// Bytes of it that are durable.
    pub offset: u64,
}

/// Where a WARC record lies: `length` bytes from `offset` are one whole gzip member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file, relative to the run directory, with `/` between its parts.
    pub file: String,
    /// Where the gzip member begins, in bytes.
    pub offset: u64,
    /// Length of the gzip member in bytes.
    pub length: u64,
}

/// An output that cannot be opened or written. All of them end a run; none of them loses what was synced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// A file or directory cannot be created, opened or replaced.
    #[error("open {} for writing", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A write or sync failed.
    #[error("write to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No room on the disk, or the quota is used up.
    #[error("no room left to write to {}: make room and run the same command again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is shorter than what was once safely in it.
    #[error(
        "{} has {found} bytes where the run had written {committed}: it was changed from outside; put the file back or start over with --fresh",
        path.display()
    )]
    Shorter {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// Bytes that the state knows of.
        committed: u64,
    },
    /// A file has content though the run's state knows nothing of it.
    #[error("{} is not of this run: move it away or start over with --fresh", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl SinkError {
    /// Whether the disk is full (or the quota used up): the run can go on once there is room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    fn open(path: &Path, source: io::Error) -> Self {
        if out_of_room(&source) {
            return Self::Full { path: path.to_owned(), source };
        }
        Self::Open { path: path.to_owned(), source }
    }

    fn write(path: &Path, source: io::Error) -> Self {
        if out_of_room(&source) {
            return Self::Full { path: path.to_owned(), source };
        }
        Self::Write { path: path.to_owned(), source }
    }
}

fn out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The growing files of a run directory: `pages.jsonl`, `duplicates.jsonl` and, if asked for, `warc/*.warc.gz`.
#[derive(Debug)]
pub struct Outputs {
    pages: JsonLines,
    duplicates: JsonLines,
    warc: Option<Warc>,
}

impl Outputs {
    /// Opens the files of a run, cutting off what was written after the last commit.
    ///
    /// `committed` is what [`Sink::sync`] last returned for each file, empty for a new run. Store [`positions`](Self::positions)
    /// before the first record: a file that has content and no mark is taken for someone else's and refused.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] and [`SinkError::Foreign`] if the files do not fit the marks, [`SinkError::Open`] if they cannot be opened.
    pub fn open(
        directory: &Path,
        warc: Option<Origin>,
        committed: &[Mark],
    ) -> Result<Self, SinkError> {
        std::fs::create_dir_all(directory).map_err(|source| SinkError::open(directory, source))?;
        let lines = |file: &str| {
            let path = directory.join(file);
            let mark = committed.iter().find(|mark| mark.file == file).map(|mark| mark.offset);
            let offset = known_offset(&path, mark)?;
            JsonLines::open(path, offset)
        };
        Ok(Self {
            pages: lines(PAGES)?,
            duplicates: lines(DUPLICATES)?,
            warc: warc.map(|origin| Warc::open(directory, origin, committed)).transpose()?,
        })
    }

    /// How far each file has grown, written to the disk or not: the marks of a run that has just been opened.
    #[must_use]
    pub fn positions(&self) -> Vec<Mark> {
        let mut marks = vec![
            Mark { file: PAGES.to_owned(), offset: self.pages.offset() },
            Mark { file: DUPLICATES.to_owned(), offset: self.duplicates.offset() },
        ];
        marks.extend(self.warc.iter().map(Warc::position));
        marks
    }
}

impl Sink for Outputs {
    fn record(&mut self, record: &Record<'_>) -> Result<Option<Position>, SinkError> {
        match record {
            Record::Exchange(exchange, kind) => {
                self.warc.as_mut().map(|warc| warc.write(exchange, kind)).transpose()
            }
            Record::Page(line) => self.pages.write(line).map(|()| None),
            Record::Duplicate(line) => self.duplicates.write(line).map(|()| None),
        }
    }

    fn sync(&mut self) -> Result<Vec<Mark>, SinkError> {
        let mut marks = self.warc.as_mut().map(Warc::sync).transpose()?.unwrap_or_default();
        marks.push(Mark { file: PAGES.to_owned(), offset: self.pages.sync()? });
        marks.push(Mark { file: DUPLICATES.to_owned(), offset: self.duplicates.sync()? });
        Ok(marks)
    }
}

/// The offset to go on from: the mark's, or 0 for a file that is new or empty.
fn known_offset(path: &Path, mark: Option<u64>) -> Result<u64, SinkError> {
    if mark.is_none() && path.metadata().is_ok_and(|found| found.len() > 0) {
        return Err(SinkError::Foreign { path: path.to_owned() });
    }
    Ok(mark.unwrap_or(0))
}
