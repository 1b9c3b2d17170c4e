//! Files with one JSON value per line: growing ones, and ones that are replaced as a whole.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::sink::{
    SinkError,
    append::{Appending, sync_parent},
};

/// A file of JSON lines that only grows.
///
/// ```
/// use pagesieve::sink::json_lines::JsonLines;
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("pages.jsonl");
/// let mut lines = JsonLines::open(path.clone(), 0)?;
/// lines.write(&serde_json::json!({"id": "a"}))?;
/// let committed = lines.sync()?;
/// lines.write(&serde_json::json!({"id": "never committed"}))?;
///
/// let lines = JsonLines::open(path, committed)?;
/// assert_eq!(lines.offset(), 11);
/// # Ok::<(), pagesieve::sink::SinkError>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    file: Appending,
}

impl JsonLines {
    /// Opens or creates the file. Everything past `committed` (the torn tail of a killed run) is cut off.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] if the file has fewer bytes than `committed`, [`SinkError::Open`] if it cannot be opened.
    pub fn open(path: PathBuf, committed: u64) -> Result<Self, SinkError> {
        Ok(Self { file: Appending::open(path, committed)? })
    }

    /// Length of the file in bytes, including buffered lines.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.file.offset()
    }

    /// Appends a line. It may stay in memory until [`sync`](Self::sync).
    ///
    /// # Errors
    ///
    /// If the write fails. A row that cannot be serialised leaves no trace in the file.
    pub fn write(&mut self, row: &impl Serialize) -> Result<(), SinkError> {
        self.file.append(|line| {
            serde_json::to_writer(&mut *line, row)?;
            line.push(b'\n');
            Ok::<_, serde_json::Error>(())
        })
    }

    /// Makes all lines durable and returns the length of the file in bytes: the offset to commit.
    ///
    /// # Errors
    ///
    /// If the write fails. After a full disk ([`SinkError::is_full`]) it may be called again.
    pub fn sync(&mut self) -> Result<u64, SinkError> {
        self.file.sync()
    }
}

/// A new version of a file of JSON lines, which replaces the old one only when it is complete.
#[derive(Debug)]
pub struct Replacement {
    lines: JsonLines,
    path: PathBuf,
}

impl Replacement {
    /// Starts a new version of the file at `path`.
    ///
    /// # Errors
    ///
    /// If the temporary file beside it cannot be created.
    pub fn create(path: PathBuf) -> Result<Self, SinkError> {
        Ok(Self { lines: JsonLines::open(beside(&path), 0)?, path })
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write(&mut self, row: &impl Serialize) -> Result<(), SinkError> {
        self.lines.write(row)
    }

    /// Replaces the old version.
    ///
    /// # Errors
    ///
    /// If the new version cannot be synced or renamed; the old one then stays.
    pub fn commit(mut self) -> Result<(), SinkError> {
        self.lines.sync()?;
        rename(&beside(&self.path), &self.path)
    }
}

/// Replaces the content of a file: a reader sees either the old or the new.
///
/// # Errors
///
/// If the new content cannot be written; the old one then stays.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), SinkError> {
    let new = beside(path);
    let mut file = File::create(&new).map_err(|source| SinkError::open(&new, source))?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(|source| SinkError::write(&new, source))?;
    rename(&new, path)
}

fn rename(new: &Path, path: &Path) -> Result<(), SinkError> {
    fs::rename(new, path)
        .and_then(|()| sync_parent(path))
        .map_err(|source| SinkError::open(path, source))
}

/// The temporary name, in the same directory, because only there a rename is atomic.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}
