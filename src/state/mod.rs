//! Durable state in one SQLite file, with one writer and any number of readers.
//!
//! Uses [`crate::filter`]. [`DurableFilter`] keeps its window here, and a crawl its URLs and what it knows of documents. The
//! file is the only source of truth: indexes in memory are rebuilt from it. All changes that belong to a batch of pages are one transaction.
//!
//! `schema.sql` describes the tables; the head of `filter/window.rs`, which of their rows are the window and when these are deleted.

#![cfg_attr(
    not(feature = "crawl"),
    allow(unreachable_pub, reason = "some types are public for crawls")
)]

mod documents;
mod durable;
#[cfg(feature = "crawl")]
mod hosts;
#[cfg(feature = "crawl")]
mod known_urls;
#[cfg(feature = "crawl")]
mod learnt;
#[cfg(feature = "crawl")]
mod links;
mod open;
#[cfg(feature = "crawl")]
mod queue;
#[cfg(feature = "crawl")]
mod reason;
#[cfg(feature = "crawl")]
mod texts;
#[cfg(feature = "crawl")]
mod url_index;
#[cfg(feature = "crawl")]
mod urls;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{
    Connection, OptionalExtension, Params, Row, ffi,
    types::{FromSql, ToSql},
};
use serde::{Serialize, de::DeserializeOwned};

#[cfg(feature = "cluster")]
use crate::cluster::ClusterError;
use crate::filter::{JudgeError, OptionsError};

#[cfg(feature = "cluster")]
pub(crate) use durable::Home;
pub use durable::{Difference, Durable, DurableFilter};
#[cfg(feature = "crawl")]
pub(crate) use durable::{Nearest, PastWindow};
#[cfg(feature = "cli")]
pub(crate) use open::VERSION as LAYOUT;
pub(crate) use open::WriteLock;
#[cfg(feature = "crawl")]
pub use {
    documents::{Capture, JudgedDocument},
    durable::Restored,
    hosts::HostId,
    reason::{Reason, SkipCause},
    texts::KeptText,
    urls::{UrlId, UrlKind, UrlRow, UrlState},
};
#[cfg(feature = "crawl")]
pub(crate) use {
    durable::RecordedRecipe,
    hosts::{HostRow, RobotsRow, SuspendCause, SuspendedRow},
    known_urls::KnownUrl,
    links::{Inlinks, Redirects},
    queue::Late,
    url_index::{Queued, UrlIndex},
    urls::{NewUrl, RETRY_AFTER, UrlOutcome, Visit},
};

use open::{OfProcess, VERSION};

/// The state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be opened.
    #[error("cannot open the state {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DatabaseError,
    },
    /// The file is not a state of this program.
    #[error("{} is {}", path.display(), foreign(path))]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another version has written it.
    #[error("{} has layout version {found}; this program reads {VERSION}: go on with the version that wrote it, or start over with another directory or file", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// A file that belongs to it cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can be read but not written.
    #[error("cannot write to {}: make it writable, or name another file", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read where nothing can be written.
    #[error("cannot read {} in a read-only directory: {why}; copy the directory to a writable place", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// Another process writes to it, or this one has opened it already.
    #[error("{} is in use by another process, or opened twice by this one: wait for its end, or close it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Hard links lead to it.
    #[error("{} has several names (hard links): two programs could write to it at once. Remove the other names, or copy the file", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// A parent of this process has opened it.
    #[error(
        "the state belongs to the process that opened it: open another file in a child of a fork"
    )]
    Forked,
    /// There can be no lock to keep other processes from writing to it.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It belongs to a crawl.
    #[error("the state is that of a crawl: name another file")]
    Kind,
    /// Its fingerprints were made in another way.
    #[error(
        "{} would be {}, but the state's fingerprints were made with {}: leave the key out, set it as before, or name another file",
        .0.key, .0.wanted, .0.stored
    )]
    Recipe(Difference),
    /// The window has no room in the memory that it is given.
    #[error("cannot build the index")]
    Memory(#[from] OptionsError),
    /// The document cannot be judged. Nothing has changed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Whoever asked for it does not want it any more.
    #[error("the opening of the state was cancelled: open it again")]
    Cancelled,
    /// An earlier call failed, or the transaction was rolled back: memory and file may differ.
    #[error("an earlier change to the state was lost: open it again")]
    RolledBack,
    /// The disk is full, or the quota used up.
    #[error("no room left to write the state: make room and run the same command again")]
    Full(#[source] DatabaseError),
    /// A statement failed.
    #[error("cannot read or write the state")]
    Database(#[source] DatabaseError),
    /// The window is shared, and the server does not answer or refuses something.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// There is no number left for another URL.
    #[error("a run knows at most 4,294,967,295 URLs: begin another one for further seeds")]
    TooManyUrls,
    /// What is stored makes no sense.
    #[error(
        "the state is damaged: {0}: restore a backup, or start over with another directory or file"
    )]
    Damaged(&'static str),
}

/// What the database in the file reports.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct DatabaseError(rusqlite::Error);

impl StateError {
    /// What an error of SQLite says of the state.
    fn of_sqlite(source: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType,
        };
        match source {
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
                Self::Damaged("a value of the wrong kind or size")
            }
            source => match source.sqlite_error() {
                Some(error)
                    if error.code == rusqlite::ErrorCode::DiskFull || is_beyond_limit(*error) =>
                {
                    Self::Full(DatabaseError(source))
                }
                Some(error) if error.code == rusqlite::ErrorCode::DatabaseCorrupt => {
                    Self::Damaged("its structure is broken")
                }
                _ => Self::Database(DatabaseError(source)),
            },
        }
    }

    /// Whether the state is not the one that was asked for: then another file or other options help.
    #[must_use]
    pub fn is_misuse(&self) -> bool {
        #[cfg(feature = "cluster")]
        if let Self::Cluster(ClusterError::Refused(_)) = self {
            return true;
        }
        matches!(
            self,
            Self::Foreign { .. }
                | Self::Version { .. }
                | Self::Kind
                | Self::Linked { .. }
                | Self::Forked
                | Self::Recipe(_)
                | Self::Memory(_)
        )
    }

    /// Whether another process writes to it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Whether nothing can be written where it is.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::ReadOnly { .. } => true,
            Self::Lock { source, .. } => is_read_only(source),
            _ => false,
        }
    }

    /// Whether a file could not be read or written.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            Self::Open { .. }
                | Self::File { .. }
                | Self::Lock { .. }
                | Self::Full(_)
                | Self::Database(_)
        )
    }

    /// Whether there is no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Full(_) => true,
            Self::Lock { source, .. } | Self::File { source, .. } => is_full(source),
            _ => false,
        }
    }
}

/// The open state. Its owner commits.
#[derive(Debug)]
pub(crate) struct State {
    db: OfProcess<Connection>,
    /// Released after the connection is closed.
    _lock: Option<OfProcess<WriteLock>>,
    /// Whether nobody waits any more for what is read.
    cancelled: Arc<AtomicBool>,
}

impl State {
    /// Refuses a child of a fork: the file belongs to the process that opened it.
    ///
    /// # Errors
    /// In such a process.
    pub(crate) fn check_owner(&self) -> Result<(), StateError> {
        if self.db.is_ours() { Ok(()) } else { Err(StateError::Forked) }
    }

    /// The same, whose reading of many rows ends with an error when this is set.
    fn until(self, cancelled: Arc<AtomicBool>) -> Self {
        Self { cancelled, ..self }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Begins a batch, unless one has begun.
    ///
    /// # Errors
    /// If SQLite fails, or another process has opened the state.
    pub(crate) fn begin(&self) -> Result<(), StateError> {
        self.check_owner()?;
        if self.is_in_transaction() { Ok(()) } else { self.execute("BEGIN IMMEDIATE", []) }
    }

    /// Makes the batch durable: all of it, or nothing if this fails.
    ///
    /// # Errors
    /// If SQLite fails, for instance because the disk is full.
    pub(crate) fn commit(&self) -> Result<(), StateError> {
        if self.is_in_transaction() { self.execute("COMMIT", []) } else { Ok(()) }
    }

    /// Discards the batch, if one has begun.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn rollback(&self) -> Result<(), StateError> {
        if self.is_in_transaction() { self.execute("ROLLBACK", []) } else { Ok(()) }
    }

    /// Whether a batch has begun.
    pub(crate) fn is_in_transaction(&self) -> bool {
        !self.db.is_autocommit()
    }

    /// A single value by its name.
    ///
    /// # Errors
    /// If SQLite fails or the value has another type.
    pub(crate) fn meta<T: FromSql>(&self, name: &str) -> Result<Option<T>, StateError> {
        self.find("SELECT value FROM meta WHERE name = ?", [name], |row| row.get(0))
    }

    /// Sets a single value.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_meta(&self, name: &str, value: impl ToSql) -> Result<(), StateError> {
        self.execute("REPLACE INTO meta VALUES (?, ?)", (name, value))
    }

    /// A single value that is kept as JSON.
    ///
    /// # Errors
    /// If SQLite fails or the value cannot be read.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let text: Option<String> = self.meta(name)?;
        let value = text.map(|text| serde_json::from_str(&text)).transpose();
        value.map_err(|_| StateError::Damaged("a single value (table meta) cannot be read"))
    }

    /// Sets a single value as JSON.
    ///
    /// # Errors
    /// If SQLite fails.
    ///
    /// # Panics
    /// Never: what is kept can be written as JSON.
    pub(crate) fn set_json(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        self.set_meta(name, serde_json::to_string(value).expect("it can be written as JSON"))
    }

    /// The last points of what the run did over time, at most this many, in order.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn series<T: DeserializeOwned>(&self, most: usize) -> Result<Vec<T>, StateError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let sql =
            "SELECT point FROM (SELECT * FROM series ORDER BY number DESC LIMIT ?) ORDER BY number";
        let points: Vec<String> = self.all(sql, [most], |row| row.get(0))?;
        let points =
            points.iter().map(|point| serde_json::from_str(point)).collect::<Result<_, _>>();
        points.map_err(|_| StateError::Damaged("a point of the series makes no sense"))
    }

    /// Adds a point.
    ///
    /// # Errors
    /// If SQLite fails.
    ///
    /// # Panics
    /// Never: numbers can be written as JSON.
    pub(crate) fn add_to_series(&self, point: &impl Serialize) -> Result<(), StateError> {
        let point = serde_json::to_string(point).expect("numbers are JSON");
        self.execute("INSERT INTO series VALUES (NULL, ?)", [point])
    }

    /// Puts these points in place of all.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_series(&self, points: &[impl Serialize]) -> Result<(), StateError> {
        self.execute("DELETE FROM series", [])?;
        points.iter().try_for_each(|point| self.add_to_series(point))
    }

    /// The committed lengths of the output files, by name.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn files(&self) -> Result<Vec<(String, u64)>, StateError> {
        let sql = "SELECT name, size FROM files ORDER BY name";
        self.all(sql, [], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))
    }

    /// Records how long an output file is.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_file(&self, name: &str, size: u64) -> Result<(), StateError> {
        self.execute("REPLACE INTO files VALUES (?, ?)", (name, signed(size)))
    }

    /// The checksums of an output file: where each part begins, and those of its lines or records, packed.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn checksums(&self, file: &str) -> Result<Vec<(u64, Vec<u8>)>, StateError> {
        let sql = "SELECT start, packed FROM checksums WHERE file = ? ORDER BY start";
        self.all(sql, [file], |row| Ok((unsigned(row.get(0)?), row.get(1)?)))
    }

    /// Forgets the checksums of an output file.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn drop_checksums(&self, file: &str) -> Result<(), StateError> {
        self.execute("DELETE FROM checksums WHERE file = ?", [file])
    }

    /// What is wrong with the structure of the file, if something is.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn structure(&self) -> Result<Option<String>, StateError> {
        let found: String = self.value("PRAGMA integrity_check(1)", [])?;
        Ok((found != "ok").then_some(found))
    }

    /// Records the checksums of a part of an output file.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_checksums(
        &self,
        file: &str,
        start: u64,
        packed: &[u8],
    ) -> Result<(), StateError> {
        self.execute("INSERT INTO checksums VALUES (?, ?, ?)", (file, signed(start), packed))
    }

    /// Executes a statement that returns no rows.
    fn execute(&self, sql: &str, parameters: impl Params) -> Result<(), StateError> {
        self.change(sql, parameters).map(|_| ())
    }

    /// Executes a statement that returns no rows. Returns how many it has changed.
    fn change(&self, sql: &str, parameters: impl Params) -> Result<usize, StateError> {
        let statement = self.db.prepare_cached(sql);
        let changed = statement.and_then(|mut statement| statement.execute(parameters));
        changed.map_err(StateError::of_sqlite)
    }

    /// The row that a query finds, if it finds one.
    fn find<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StateError> {
        let statement = self.db.prepare_cached(sql);
        let row = statement.and_then(|mut statement| statement.query_row(parameters, read));
        row.optional().map_err(StateError::of_sqlite)
    }

    /// All rows that a query finds.
    fn all<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StateError> {
        let mut all = Vec::new();
        self.each(sql, parameters, read, |row| {
            all.push(row);
            Ok::<_, StateError>(())
        })?;
        Ok(all)
    }

    /// Calls `visit` with each row that a query finds.
    fn each<T, E: From<StateError>>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut visit: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.db.prepare_cached(sql).map_err(StateError::of_sqlite)?;
        for row in statement.query_map(parameters, read).map_err(StateError::of_sqlite)? {
            if self.is_cancelled() {
                return Err(StateError::Cancelled.into());
            }
            visit(row.map_err(StateError::of_sqlite)?)?;
        }
        Ok(())
    }

    /// The value of a query that always finds one.
    fn value<T: FromSql>(&self, sql: &str, parameters: impl Params) -> Result<T, StateError> {
        let statement = self.db.prepare_cached(sql);
        let value =
            statement.and_then(|mut statement| statement.query_one(parameters, |row| row.get(0)));
        value.map_err(StateError::of_sqlite)
    }
}

/// Whether SQLite could not write because no file may be so large (`ulimit -f`): it says only that a write has failed.
#[cfg(all(unix, feature = "crawl"))]
fn is_beyond_limit(error: ffi::Error) -> bool {
    use rustix::process::{Resource, getrlimit};

    let is_write = [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE];
    is_write.contains(&error.extended_code) && getrlimit(Resource::Fsize).current.is_some()
}

#[cfg(not(all(unix, feature = "crawl")))]
fn is_beyond_limit(_: ffi::Error) -> bool {
    false
}

/// Whether a file could not be written because the disk is full, the quota used up, or no file may be so large.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};

    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Whether a file could not be written because of where it is.
pub(crate) fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// What is said of a path that is no state.
fn foreign(path: &Path) -> &'static str {
    if path.is_dir() {
        "a directory: name a file"
    } else {
        "not a state of pagesieve: name another file, or restore it from a backup"
    }
}

/// SQLite's integers are signed: the same 64 bits.
fn signed(value: u64) -> i64 {
    value.cast_signed()
}

fn unsigned(value: i64) -> u64 {
    value.cast_unsigned()
}

/// Numbers of 8 bytes, little endian.
fn packed(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A column contains a number without a meaning.
fn unknown_code(column: usize, code: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(column, code)
}
