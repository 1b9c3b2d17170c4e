//! Files that are replaced as a whole.

use std::{
    fs,
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
        fs::rename(beside(&self.path), &self.path)
            .and_then(|()| sync_parent(&self.path))
            .map_err(|source| SinkError::open(&self.path, source))
    }
}

/// Replaces the content of a file: a reader sees either the old or the new.
///
/// # Errors
///
/// If the new content cannot be written; the old one then stays.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), SinkError> {
    let mut new = Replacement::create(path.to_owned())?;
    new.file.append(|buffer| {
        buffer.extend_from_slice(content);
        Ok(())
    })?;
    new.commit()
}

/// The temporary name, in the same directory, because only there a rename is atomic.
fn beside(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}
