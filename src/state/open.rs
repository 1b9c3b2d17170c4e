//! How the file is opened: one writer, any number of concurrent readers.
//!
//! The writer holds an advisory lock on a file of its own, `<state>-lock`, beside the file that symbolic links lead to, and on Linux one on the state
//! itself, which may be mounted under another name, or renamed. A file with several names (hard links) is refused: each name would have a log of
//! its own. The operating system releases the locks however the process ends, so they are never stale, and the file may stay. A child of a fork has copies of connection and lock: it uses neither, and closes neither. SQLite's own locks cannot do this: a lock that keeps other writers out for a whole run
//! keeps readers out too.

use std::{
    fs::{File, OpenOptions, TryLockError, canonicalize},
    io::ErrorKind,
    mem,
    ops::Deref,
    path::{Path, PathBuf},
    process,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{DatabaseError, State, StateError};

/// The version of the file's layout.
pub(crate) const VERSION: i64 = 17;
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
        // A symbolic link may lead to where nothing is yet.
        if !path.exists() {
            let created = private().create(true).truncate(false).open(path);
            created.map_err(|source| StateError::File { path: path.to_owned(), source })?;
        }
        // Even to read it under another name makes a log beside it.
        check_names(path)?;
        let db = connect(path)?;
        if db.is_readonly("main").unwrap_or(false) {
            let source = OpenOptions::new().append(true).open(path).err();
            let source = source.unwrap_or_else(|| ErrorKind::PermissionDenied.into());
            return Err(StateError::Write { path: path.to_owned(), source });
        }
        // No lock file is created beside a file that is not a state.
        version(&db, path)?;
        let lock = WriteLock::take(path)?;
        let prepared = match version(&db, path)? {
            None => create(&db),
            Some(_) => tune(&db),
        };
        prepared.map_err(|error| refine(error, path))?;
        Ok(Self::of(db, Some(lock)))
    }

    /// Opens the file to read what was committed last, whether or not another process goes on writing.
    ///
    /// # Errors
    /// If it cannot be opened, is not a state of ours, or is of another version.
    pub(crate) fn read(path: &Path) -> Result<Self, StateError> {
        let (db, version) = open_to_read(path)?;
        if version.is_none() {
            return Err(StateError::Foreign { path: path.to_owned() });
        }
        let prepare = || {
            db.pragma_update(None, "query_only", true)?;
            plan_once(&db)?;
            // Reads one snapshot; later commits are not visible.
            db.execute_batch("BEGIN")
        };
        prepare().map_err(|error| refine(error, path))?;
        Ok(Self::of(db, None))
    }

    /// Copies the state as it was committed last to a file that does not exist, also while another process writes to it.
    ///
    /// # Errors
    /// If it cannot be read, or the copy cannot be written.
    pub(crate) fn copy(path: &Path, copy: &Path) -> Result<(), StateError> {
        Self::read(path)?;
        let failed = |source| StateError::File { path: copy.to_owned(), source };
        private().create_new(true).open(copy).map_err(failed)?;
        let (db, _) = open_to_read(path)?;
        let copied = db.execute("VACUUM INTO ?", [whole(copy).to_string_lossy()]);
        copied.map(|_| ()).map_err(StateError::of_sqlite)
    }

    /// A state that lives in memory.
    #[cfg(test)]
    pub(crate) fn in_memory() -> rusqlite::Result<Self> {
        let db = Connection::open_in_memory()?;
        create(&db)?;
        Ok(Self::of(db, None))
    }

    fn of(db: Connection, lock: Option<WriteLock>) -> Self {
        let (db, lock) = (OfProcess::new(db), lock.map(OfProcess::new));
        Self { db, _lock: lock, cancelled: Arc::new(AtomicBool::new(false)) }
    }
}

/// What belongs to the process that opened it. A child of a fork only has a copy: if that were closed, it would let go of the parent's locks, and
/// might delete its log.
#[derive(Debug)]
pub(crate) struct OfProcess<T> {
    /// There until it is dropped.
    value: Option<T>,
    process: u32,
}

impl<T> OfProcess<T> {
    fn new(value: T) -> Self {
        Self { value: Some(value), process: process::id() }
    }

    /// Whether this process has opened it.
    pub(super) fn is_ours(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Deref for OfProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            mem::forget(self.value.take());
        }
    }
}

/// Held by the one process that may write to a state.
#[derive(Debug)]
pub(crate) struct WriteLock {
    /// The lock's own file, and the state, if that is locked too. It outlives the connection of this process: to close any descriptor of a file ends
    /// the locks that SQLite has on it (POSIX).
    files: Vec<File>,
}

/// Closing the files would not be enough: a child process that is just being started has a copy of their descriptors.
impl Drop for WriteLock {
    fn drop(&mut self) {
        for file in &self.files {
            // If it fails, the lock ends when the last descriptor is closed.
            drop(file.unlock());
        }
    }
}

impl WriteLock {
    /// Takes the lock of the state at `path`.
    ///
    /// # Errors
    /// [`StateError::Busy`] at once if another process holds it, [`StateError::Linked`] if the file has several names, and [`StateError::Lock`]
    /// if there can be no lock.
    pub(crate) fn take(path: &Path) -> Result<Self, StateError> {
        check_names(path)?;
        // One that is not there has no other name.
        let real = canonicalize(path);
        let lock = beside(real.as_deref().unwrap_or(path), "-lock");
        let failed = |source| StateError::Lock { path: lock.clone(), source };
        let file = private().create(true).truncate(false).open(&lock).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Busy { path: path.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut files = vec![file];
        // These locks and those of SQLite are one kind elsewhere, and would exclude each other. One that cannot be read has no writer.
        if cfg!(target_os = "linux")
            && let Ok(state) = File::open(path)
        {
            if matches!(state.try_lock(), Err(TryLockError::WouldBlock)) {
                // Another thread of this process may have it open.
                mem::forget(state);
                return Err(StateError::Busy { path: path.to_owned() });
            }
            files.push(state);
        }
        Ok(Self { files })
    }
}

/// Refuses a file to which several hard links lead.
#[cfg(unix)]
fn check_names(path: &Path) -> Result<(), StateError> {
    let links = |file: std::fs::Metadata| std::os::unix::fs::MetadataExt::nlink(&file);
    let is_linked = path.metadata().is_ok_and(|file| file.is_file() && links(file) > 1);
    if is_linked { Err(StateError::Linked { path: path.to_owned() }) } else { Ok(()) }
}

#[cfg(not(unix))]
fn check_names(_: &Path) -> Result<(), StateError> {
    Ok(())
}

/// The file of SQLite's log.
pub(crate) fn log_of(state: &Path) -> PathBuf {
    beside(state, "-wal")
}

/// A file whose name begins with that of another one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// How files are opened that nobody else may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A path that SQLite takes for nothing but a path: a relative one may begin with `file:`.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Connects to a file that is there.
fn connect(path: &Path) -> Result<Connection, StateError> {
    let open = |error| StateError::Open { path: path.to_owned(), source: DatabaseError(error) };
    match path.metadata() {
        // To open a FIFO waits for another process, perhaps for ever.
        Ok(found) if !found.is_file() => {
            return Err(StateError::Foreign { path: path.to_owned() });
        }
        found => found.map_err(|source| StateError::File { path: path.to_owned(), source })?,
    };
    // No mutex: a `Connection` is never used by two threads at once.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(whole(path), flags);
    // SQLite does not say why.
    let db = opened.map_err(|error| match File::open(path) {
        Ok(_) => open(error),
        Err(source) => StateError::File { path: path.to_owned(), source },
    })?;
    db.busy_timeout(PATIENCE).map_err(open)?;
    Ok(db)
}

/// Connects to a file to read it, and returns its version too. Readers of a WAL database write beside it; where that is impossible, the file
/// alone is read.
pub(super) fn open_to_read(path: &Path) -> Result<(Connection, Option<i64>), StateError> {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};

    let has_log = log_of(path).metadata().is_ok_and(|log| log.len() > 0);
    let db = connect(path)?;
    // The log that a writer has left stays as it is.
    let kept = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log);
    kept.map_err(StateError::of_sqlite)?;
    match version(&db, path) {
        Err(StateError::Open { source: DatabaseError(source), .. })
            if matches!(source.sqlite_error_code(), Some(CannotOpen | ReadOnly)) => {}
        version => return version.map(|version| (db, version)),
    }
    let (wal, index) = (log_of(path), beside(path, "-shm"));
    if wal.metadata().is_ok_and(|wal| wal.len() > 0) {
        let [wal, index] = [wal, index].map(|path| path.display().to_string());
        let why = format!("{wal} has its last commits, and {index} is missing or cannot be used");
        return Err(StateError::ReadOnly { path: path.to_owned(), why });
    }
    let name =
        whole(path).to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{name}?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let open = |error| StateError::Open { path: path.to_owned(), source: DatabaseError(error) };
    let db = Connection::open_with_flags(uri, flags).map_err(open)?;
    let version = version(&db, path)?;
    Ok((db, version))
}

/// The version of the file, `None` if it is empty. Anything but a state of this version is refused.
fn version(db: &Connection, path: &Path) -> Result<Option<i64>, StateError> {
    let number = |pragma| {
        let value = db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        value.map_err(|source| refine(source, path))
    };
    if number("schema_version")? == 0 {
        return Ok(None);
    }
    if number("application_id")? != APPLICATION_ID {
        return Err(StateError::Foreign { path: path.to_owned() });
    }
    let found = number("user_version")?;
    match found {
        VERSION => Ok(Some(found)),
        _ => Err(StateError::Version { path: path.to_owned(), found }),
    }
}

fn create(db: &Connection) -> rusqlite::Result<()> {
    tune(db)?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    db.execute_batch(SCHEMA)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", VERSION)?;
    db.execute_batch("COMMIT")
}

/// A commit survives the loss of power, and readers see the last one.
fn tune(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cache_size", -8_192)?;
    plan_once(db)
}

/// Without this, SQLite plans joins again for every bound value, at ten times the cost of the answer.
fn plan_once(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// What an error of SQLite says of a file that is being opened.
fn refine(error: rusqlite::Error, path: &Path) -> StateError {
    let path = path.to_owned();
    let source = match StateError::of_sqlite(error) {
        StateError::Database(source) => source,
        error => return error,
    };
    match source.0.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            StateError::Busy { path }
        }
        Some(rusqlite::ErrorCode::NotADatabase) => StateError::Foreign { path },
        _ => StateError::Open { path, source },
    }
}
