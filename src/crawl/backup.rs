//! A copy of a run as of one commit, also while a crawl writes to it.
//!
//! The state is copied as one snapshot. It says how long each output file was; files only grow, so the bytes up to there are those of the snapshot.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use super::{
    directory::DERIVED,
    plan::{CrawlError, STATE},
    verify::{Known, state_of},
};
use crate::{
    sink::{check_regular, open_part},
    state::State,
};

/// Copies a run, or the state of a filter, into a directory, which must be empty or not exist. Returns the number of bytes copied.
///
/// # Errors
/// If there is no run, the directory has files, or a file cannot be read or written.
pub fn backup(run: &Path, directory: &Path) -> Result<u64, CrawlError> {
    let path = state_of(run)?;
    let failed = CrawlError::file(directory);
    let absolute = |path| std::path::absolute(path).map_err(&failed);
    if absolute(directory)?.starts_with(absolute(run)?) {
        return Err(CrawlError::Inside(directory.to_owned()));
    }
    fs::create_dir_all(directory).map_err(&failed)?;
    if fs::read_dir(directory).map_err(&failed)?.next().is_some() {
        return Err(CrawlError::Occupied(directory.to_owned()));
    }
    let copied = copy_run(run, &path, directory);
    if copied.is_err() {
        // Half a copy is useless. The first error is reported, not one of this.
        drop(fs::remove_dir_all(directory));
    }
    copied
}

fn copy_run(run: &Path, state: &Path, directory: &Path) -> Result<u64, CrawlError> {
    let copy = directory.join(STATE);
    State::copy(state, &copy)?;
    let mut bytes = copy.metadata().map_or(0, |file| file.len());
    let state = State::read(&copy)?;
    for known in Known::all(&state)? {
        let target = directory.join(&known.file);
        bytes += copy_file(run, &known, &target).map_err(CrawlError::file(&target))?;
    }
    // The state of a filter has none.
    for name in DERIVED.into_iter().filter(|_| run.is_dir()) {
        match fs::copy(run.join(name), directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CrawlError::file(&run.join(name))(error));
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// Copies an output file up to the length that it had. It may have become full, and have another name since; a full one may have been moved away.
fn copy_file(run: &Path, known: &Known, target: &Path) -> io::Result<u64> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    let current = run.join(&known.file);
    let full = run.join(&known.name);
    let compressed = full.with_added_extension("zst");
    let opened = check_regular(&current).and_then(|()| File::open(&current));
    // If it has another name by now, the one that was opened may be the next one.
    let is_elsewhere = !known.is_full && full != current;
    let mut source: Box<dyn Read> = if is_elsewhere && full.exists() {
        Box::new(File::open(&full)?)
    } else if is_elsewhere && compressed.exists() {
        Box::new(open_part(&compressed)?)
    } else {
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_elsewhere => {
                return Ok(0);
            }
            opened => Box::new(opened?),
        }
    };
    let mut file = File::create(target)?;
    let copied = io::copy(&mut (&mut source).take(known.size), &mut file)?;
    file.sync_all()?;
    if copied == known.size { Ok(copied) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
