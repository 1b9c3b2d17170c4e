//! The run directory: whether it holds a run, what its state keeps as JSON, and how a run is deleted.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::plan::{CrawlError, STATE};
use crate::{
    report::{HTML, JSON, Report},
    sink::{CHANGES, Checksums, DUPLICATES, LINES, Mark, PAGES, parts, warc},
    state::{State, StateError, WriteLock},
};

/// The other files of a run, except WARC files. Earlier versions wrote `skipped.jsonl`.
const OUTPUTS: [&str; 6] = [PAGES, DUPLICATES, CHANGES, "skipped.jsonl", HTML, JSON];
/// Those that are written again from the state.
pub(super) const DERIVED: [&str; 2] = [HTML, JSON];

/// Whether there is a run in this directory.
#[must_use]
pub fn is_run(directory: &Path) -> bool {
    directory.join(STATE).metadata().is_ok_and(|state| state.len() > 0)
}

/// The file of a state: this one, or that of the run in this directory.
pub(crate) fn state_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(STATE) } else { path.to_owned() }
}

/// Whether this may be a run or a state: a directory, or a file of SQLite.
#[cfg(feature = "cli")]
pub(crate) fn may_have_state(path: &Path) -> bool {
    let mut start = [0; 16];
    let mut read = || fs::File::open(path)?.read_exact(&mut start);
    path.is_dir() || (path.is_file() && read().is_ok() && start == *b"SQLite format 3\0")
}

/// Opens the state of a run to read it.
pub(super) fn open_run(directory: &Path) -> Result<State, CrawlError> {
    let none = || CrawlError::NoRun(directory.to_owned());
    if !is_run(directory) {
        return Err(none());
    }
    let state = State::read(&directory.join(STATE))?;
    let name = state.meta::<String>("name")?;
    check_owner(&state, directory, name.as_deref().unwrap_or_default())?;
    // The first commit of a crawl says when it was started.
    let is_begun = name.is_some() && state.meta::<i64>("started")?.is_some();
    is_begun.then_some(state).ok_or_else(none)
}

/// Refuses to replace the report of another run.
pub(super) fn check_report(directory: &Path, report: &Report) -> Result<(), CrawlError> {
    let run =
        |report: &Report| (report.name.clone(), report.started, report.fingerprint.seed_id.clone());
    match Report::read(directory) {
        Ok(found) if run(&found) != run(report) => Err(CrawlError::OtherReport {
            path: directory.join(JSON),
            name: found.name,
            started: found.started,
        }),
        // There is none, or it cannot be read.
        _ => Ok(()),
    }
}

/// Records what the output files contain.
pub(super) fn keep_marks(
    state: &State,
    marks: &[Mark],
    checksums: &[(String, Checksums)],
) -> Result<(), StateError> {
    for mark in marks {
        state.set_file(&mark.file, mark.offset)?;
    }
    for (file, added) in checksums {
        state.set_checksums(file, added.start, &added.pack())?;
    }
    Ok(())
}

/// Refuses the state of another run or of a filter.
pub(super) fn check_owner(state: &State, path: &Path, name: &str) -> Result<(), CrawlError> {
    if state.meta::<String>("kind")?.is_some() {
        return Err(CrawlError::NotACrawl(path.to_owned()));
    }
    match state.meta::<String>("name")? {
        Some(found) if found != name => {
            Err(CrawlError::OtherRun { path: path.to_owned(), found, wanted: name.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Refuses a directory without a run that has files with the names of a run's outputs: they belong to somebody else.
pub(super) fn check_unclaimed(directory: &Path) -> Result<(), CrawlError> {
    let claimed = OUTPUTS.iter().copied().chain([warc::DIRECTORY]);
    let found = claimed.map(|name| directory.join(name)).find(|path| path.exists());
    match found.or_else(|| full_files(directory).ok()?.into_iter().next()) {
        Some(path) if !is_run(directory) => Err(CrawlError::Claimed(path)),
        _ => Ok(()),
    }
}

/// The files of lines in a directory, the full ones too.
fn full_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(LINES
        .map(|name| parts(directory, name))
        .into_iter()
        .collect::<io::Result<Vec<_>>>()?
        .concat())
}

/// Deletes the files of a run, and nothing else in its directory. Deletes the state last, so that after a failure the rest is still
/// recognised as a run.
///
/// # Errors
/// If a crawl is running in the directory, or a file cannot be deleted.
pub fn delete_run(directory: &Path) -> io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    let _lock = WriteLock::take(&directory.join(STATE)).map_err(io::Error::other)?;
    let missing_is_fine = |deleted: io::Result<()>| match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    missing_is_fine(fs::remove_dir_all(directory.join(warc::DIRECTORY)))?;
    for file in full_files(directory)? {
        fs::remove_file(file)?;
    }
    for file in OUTPUTS {
        missing_is_fine(fs::remove_file(directory.join(file)))?;
    }
    for suffix in ["-wal", "-shm", "-journal", "", "-lock"] {
        missing_is_fine(fs::remove_file(directory.join(format!("{STATE}{suffix}"))))?;
    }
    Ok(())
}
