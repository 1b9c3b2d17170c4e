//! The run's durable state: one SQLite file, one writer.
//!
//! Sits between [`crate::filter`] and the outputs. It holds the frontier, the known URLs, the documents and the window, and is the one
//! source of truth: indexes in memory are rebuilt from it. Everything that belongs to a batch of pages is one transaction.
//! It takes and gives plain rows; what they mean to a crawl it does not know.

mod digests;
mod documents;
mod hosts;
mod kept;
mod reason;
mod signatures;
mod urls;

#[cfg(test)]
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use rusqlite::{
    Connection, OptionalExtension,
    config::DbConfig,
    types::{FromSql, ToSql},
};

pub use digests::DigestTable;
pub use documents::{Capture, Document};
pub use hosts::{HostId, HostRow, RobotsRow};
pub use kept::KeptFilter;
pub use reason::Reason;
pub use signatures::SignatureLog;
pub use urls::{NewUrl, Queued, UrlId, UrlKind, UrlRow, UrlState};

/// The version of the file's layout.
const VERSION: i64 = 1;
/// Marks the file as ours in SQLite's header: "psve".
const APPLICATION_ID: i64 = 0x7073_7665;

/// The state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be opened.
    #[error("open the state {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is none of ours.
    #[error("{} is not a state of pagesieve: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another version has written it.
    #[error("{} has layout {found}, this version reads {VERSION}: start over with another directory", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Another process is using it.
    #[error("{} is in use by another process: wait for it to end", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It belongs to a crawl.
    #[error("the state is that of a crawl: name another file")]
    Kind,
    /// Its fingerprints were made in another way.
    #[error(
        "the state's fingerprints were made by scheme {stored}, `dedup` asks for {wanted}: write `segment` and `fold_chinese` as before, or name another file"
    )]
    Scheme {
        /// The scheme in the state.
        stored: String,
        /// The scheme that the options ask for.
        wanted: String,
    },
    /// Its fingerprints were made with another seed.
    #[error(
        "the state's fingerprints were made with the seed of id {stored}, `dedup.seed` has id {wanted}: leave it out, or name another file"
    )]
    Seed {
        /// The id of the state's seed.
        stored: String,
        /// The id of the seed that the options ask for.
        wanted: String,
    },
    /// A statement failed.
    #[error("use the state")]
    Sqlite(#[source] rusqlite::Error),
    /// What is stored makes no sense.
    #[error("the state is damaged: {0}")]
    Damaged(&'static str),
}

impl From<rusqlite::Error> for StateError {
    fn from(source: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType,
        };
        match source {
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
                Self::Damaged("a value of the wrong kind or size")
            }
            source => Self::Sqlite(source),
        }
    }
}

impl StateError {
    /// Whether the state is none that was asked for: then another file or other options help.
    #[must_use]
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::Foreign { .. }
                | Self::Version { .. }
                | Self::Kind
                | Self::Scheme { .. }
                | Self::Seed { .. }
        )
    }

    /// Whether there is no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let (Self::Sqlite(source) | Self::Open { source, .. }) = self else { return false };
        source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
    }
}

/// The open state. Not for several threads: its owner commits.
#[derive(Clone, Debug)]
pub struct State {
    db: Rc<Connection>,
}

impl State {
    /// Opens the file, or creates it, readable by its owner only: it holds the secret seed.
    ///
    /// # Errors
    /// If it cannot be opened, is not a state of ours, is of another version, or is in use.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let open = |source| StateError::Open { path: path.to_owned(), source };
        create_private(path);
        let db = Connection::open(path).map_err(open)?;
        // Who has it keeps it for as long as it runs: there is nothing to wait for.
        db.busy_timeout(Duration::ZERO).map_err(open)?;
        prepare(&db, path).map_err(|error| match error {
            StateError::Sqlite(source) => refine(source, path),
            other => other,
        })?;
        Ok(Self { db: Rc::new(db) })
    }

    /// A state that lives in memory and vanishes with it.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn in_memory() -> Result<Self, StateError> {
        let db = Connection::open_in_memory()?;
        create(&db)?;
        Ok(Self { db: Rc::new(db) })
    }

    /// Begins a batch, unless one has begun.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn begin(&self) -> Result<(), StateError> {
        if self.db.is_autocommit() {
            self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        Ok(())
    }

    /// Makes the batch durable: all of it, or nothing if this fails.
    ///
    /// # Errors
    /// If SQLite fails, for instance because the disk is full.
    pub fn commit(&self) -> Result<(), StateError> {
        if !self.db.is_autocommit() {
            self.db.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }

    /// A single value by its name.
    ///
    /// # Errors
    /// If SQLite fails or the value has another type.
    pub fn meta<T: FromSql>(&self, name: &str) -> Result<Option<T>, StateError> {
        let mut statement = self.db.prepare_cached("SELECT value FROM meta WHERE name = ?")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Sets a single value.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn set_meta(&self, name: &str, value: impl ToSql) -> Result<(), StateError> {
        self.db.prepare_cached("REPLACE INTO meta VALUES (?, ?)")?.execute((name, value))?;
        Ok(())
    }

    /// The committed lengths of the output files, by name.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn files(&self) -> Result<Vec<(String, u64)>, StateError> {
        let mut statement = self.db.prepare_cached("SELECT name, size FROM files ORDER BY name")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records how long an output file is.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn set_file(&self, name: &str, size: u64) -> Result<(), StateError> {
        self.db
            .prepare_cached("REPLACE INTO files VALUES (?, ?)")?
            .execute((name, signed(size)))?;
        Ok(())
    }
}

fn prepare(db: &Connection, path: &Path) -> Result<(), StateError> {
    let number = |pragma| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if number("schema_version")? == 0 {
        return create(db);
    }
    if number("application_id")? != APPLICATION_ID {
        return Err(StateError::Foreign { path: path.to_owned() });
    }
    let found = number("user_version")?;
    if found != VERSION {
        return Err(StateError::Version { path: path.to_owned(), found });
    }
    tune(db)
}

/// Creates the file for its owner only, if there is none. If that fails, opening it fails too and says why.
fn create_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
}

fn create(db: &Connection) -> Result<(), StateError> {
    tune(db)?;
    db.execute_batch("BEGIN EXCLUSIVE")?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", VERSION)?;
    db.execute_batch(include_str!("schema.sql"))?;
    db.execute_batch("COMMIT")?;
    Ok(())
}

/// One process at a time; a commit survives the loss of power.
fn tune(db: &Connection) -> Result<(), StateError> {
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cache_size", -32_768)?;
    // Otherwise joins are planned anew for each value that they are asked for, at ten times the cost of the answer.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    // The lock is taken by the first write.
    db.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
    Ok(())
}

fn refine(source: rusqlite::Error, path: &Path) -> StateError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            StateError::Busy { path }
        }
        Some(rusqlite::ErrorCode::NotADatabase) => StateError::Foreign { path },
        _ => StateError::Open { path, source },
    }
}

/// SQLite's integers are signed: the same 64 bits.
fn signed(value: u64) -> i64 {
    value.cast_signed()
}

fn unsigned(value: i64) -> u64 {
    value.cast_unsigned()
}
