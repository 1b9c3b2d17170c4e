//! How the file is opened: one writer, any number of concurrent readers.
//!
//! The writer holds an advisory lock on a file of its own, `<state>-lock`. The operating system releases it however the process ends, so it
//! is never stale, and the file may stay. SQLite's own locks cannot do this: a lock that keeps other writers out for a whole run
//! keeps readers out too.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{DatabaseError, State, StateError};

/// The version of the file's layout.
pub(super) const VERSION: i64 = 7;
/// The versions before, which are migrated when the file is opened, unless another process is using it, and what brings each to the next.
const MIGRATIONS: [(i64, &str); 3] = [
    (4, include_str!("migrate-4.sql")),
    (5, include_str!("migrate-5.sql")),
    (6, include_str!("migrate-6.sql")),
];
/// The oldest of them.
pub(super) const OLDEST: i64 = MIGRATIONS[0].0;
/// Marks the file as ours in SQLite's header: "psve".
const APPLICATION_ID: i64 = 0x7073_7665;
const SCHEMA: &str = include_str!("schema.sql");
/// How long another process may take to recover or tidy up the file.
const PATIENCE: Duration = Duration::from_secs(5);

impl State {
    /// Opens the file to write, or creates it, readable by its owner only: it holds the secret seed.
    ///
    /// # Errors
    /// If it cannot be opened, is not a state of ours, is of another version, or another process writes to it.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        // If it cannot be created, connecting to it fails too, and says why.
        drop(private().create_new(true).open(path));
        let db = connect(path, OpenFlags::empty())?;
        // No lock file is created beside a file that is not a state.
        version(&db, path)?;
        let lock = WriteLock::take(path)?;
        let prepare = || match version(&db, path)? {
            None => create(&db),
            Some(VERSION) => tune(&db),
            Some(older) => migrate(&db, older),
        };
        prepare().map_err(|error| refine(error, path))?;
        Ok(Self { db, _lock: Some(lock) })
    }

    /// Opens the file to read what was committed last, whether or not another process goes on writing. A file of the version before is
    /// migrated first.
    ///
    /// # Errors
    /// If it cannot be opened, is not a state of ours, or is of another version; or if it is to be migrated while another process writes to it.
    pub(crate) fn read(path: &Path) -> Result<Self, StateError> {
        let db = connect(path, OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        match version(&db, path)? {
            None => return Err(StateError::Foreign { path: path.to_owned() }),
            Some(VERSION) => {}
            Some(_) => Self::open(path)?.commit()?,
        }
        let prepare = || {
            db.pragma_update(None, "query_only", true)?;
            plan_once(&db)?;
            // Reads one snapshot; later commits are not visible.
            Ok(db.execute_batch("BEGIN")?)
        };
        prepare().map_err(|error| refine(error, path))?;
        Ok(Self { db, _lock: None })
    }

    /// A state that lives in memory.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Result<Self, StateError> {
        let db = Connection::open_in_memory()?;
        create(&db)?;
        Ok(Self { db, _lock: None })
    }
}

/// Held by the one process that may write to a state.
#[derive(Debug)]
pub(crate) struct WriteLock {
    file: File,
}

/// Closing the file would not be enough: a child process that is just being started has a copy of its descriptor.
impl Drop for WriteLock {
    fn drop(&mut self) {
        // If it fails, the lock ends when the last descriptor is closed.
        drop(self.file.unlock());
    }
}

impl WriteLock {
    /// Takes the lock of the state at `path`.
    ///
    /// # Errors
    /// [`StateError::Busy`] at once if another process holds it, and [`StateError::Lock`] if there can be no lock.
    pub(crate) fn take(path: &Path) -> Result<Self, StateError> {
        let beside = Self::path(path);
        let failed = |source| StateError::Lock { path: beside.clone(), source };
        let file = private().create(true).truncate(false).open(&beside).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(StateError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The file that is locked in place of the state.
    #[must_use]
    pub(crate) fn path(state: &Path) -> PathBuf {
        let mut name = state.as_os_str().to_owned();
        name.push("-lock");
        PathBuf::from(name)
    }
}

/// How files are opened that nobody else may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Connects to a file that is there.
fn connect(path: &Path, more: OpenFlags) -> Result<Connection, StateError> {
    let open = |error| StateError::Open { path: path.to_owned(), source: DatabaseError(error) };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | more;
    let db = Connection::open_with_flags(path, flags).map_err(open)?;
    db.busy_timeout(PATIENCE).map_err(open)?;
    Ok(db)
}

/// The version of the file, `None` if it is empty. Anything but a state that can be read or migrated is refused.
fn version(db: &Connection, path: &Path) -> Result<Option<i64>, StateError> {
    let number = |pragma| {
        let value = db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        value.map_err(|source| refine(source.into(), path))
    };
    if number("schema_version")? == 0 {
        return Ok(None);
    }
    if number("application_id")? != APPLICATION_ID {
        return Err(StateError::Foreign { path: path.to_owned() });
    }
    let found = number("user_version")?;
    match found {
        OLDEST..=VERSION => Ok(Some(found)),
        _ => Err(StateError::Version { path: path.to_owned(), found }),
    }
}

/// Brings the file to the current layout by this script, or leaves it as it was.
fn set_up(db: &Connection, script: &str) -> Result<(), StateError> {
    tune(db)?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    db.execute_batch(script)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(db.pragma_update(None, "user_version", VERSION)?)
}

fn create(db: &Connection) -> Result<(), StateError> {
    set_up(db, SCHEMA)?;
    Ok(db.execute_batch("COMMIT")?)
}

/// The migration becomes durable with the first commit, so that a state that is refused after all stays as it was.
fn migrate(db: &Connection, from: i64) -> Result<(), StateError> {
    let scripts = MIGRATIONS.iter().filter(|(version, _)| *version >= from);
    set_up(db, &scripts.map(|(_, script)| *script).collect::<String>())?;
    super::digests::migrate(db)?;
    // Without the crawler, the state of a crawl is refused.
    #[cfg(feature = "crawl")]
    super::url_log::migrate(db)?;
    tracing::info!(from, to = VERSION, "state migrated");
    Ok(())
}

/// A commit survives the loss of power, and readers see the last one.
fn tune(db: &Connection) -> Result<(), StateError> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cache_size", -32_768)?;
    plan_once(db)
}

/// Without this, SQLite plans joins again for every bound value, at ten times the cost of the answer.
fn plan_once(db: &Connection) -> Result<(), StateError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn refine(error: StateError, path: &Path) -> StateError {
    let StateError::Database(source) = error else { return error };
    let path = path.to_owned();
    match source.0.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            StateError::Busy { path }
        }
        Some(rusqlite::ErrorCode::NotADatabase) => StateError::Foreign { path },
        _ => StateError::Open { path, source },
    }
}
