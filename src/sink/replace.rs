//! Files that are replaced as a whole.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::sink::{
    SinkError,
    append::{AppendFile, sync_parent},
};

/// A new version of a file of JSON lines, which replaces the old one only when it is complete.
#[derive(Debug)]
pub struct Replacement {
    file: AppendFile,
    path: PathBuf,
}

impl Replacement {
    /// Starts a new version of the file at `path`.
    ///
    /// # Errors
    ///
    /// If the temporary file beside it cannot be created.
    pub fn create(path: PathBuf) -> Result<Self, SinkError> {
        Ok(Self { file: AppendFile::open(beside(&path), 0)?, path })
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write(&mut self, row: &impl Serialize) -> Result<(), SinkError> {
        self.file.write_line(row)
    }

    /// Replaces the old version.
    ///
    /// # Errors
    ///
    /// If the new version cannot be synced or renamed; the old one then stays.
    pub fn commit(mut self) -> Result<(), SinkError> {
        self.file.sync()?;
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
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}
