//! The run directory: whether there is a run in it, and how it is deleted.

use std::{fs, io, path::Path};

use crate::{
    report::{HTML, JSON},
    sink::{DUPLICATES, PAGES, SKIPPED, warc},
};

/// The state's file in the run directory.
pub(super) const STATE: &str = "state.sqlite";

/// Whether there is a run in this directory.
#[must_use]
pub fn is_run(directory: &Path) -> bool {
    directory.join(STATE).exists()
}

/// Deletes the files of a run, and nothing else that may lie in its directory. The state goes last, so that what is left when this
/// fails is still known as a run.
///
/// # Errors
/// If a file cannot be deleted.
pub fn delete_run(directory: &Path) -> io::Result<()> {
    let missing_is_fine = |deleted: io::Result<()>| match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    missing_is_fine(fs::remove_dir_all(directory.join(warc::DIRECTORY)))?;
    for file in [PAGES, DUPLICATES, SKIPPED, HTML, JSON] {
        missing_is_fine(fs::remove_file(directory.join(file)))?;
    }
    for suffix in ["-wal", "-shm", "-journal", ""] {
        missing_is_fine(fs::remove_file(directory.join(format!("{STATE}{suffix}"))))?;
    }
    Ok(())
}
