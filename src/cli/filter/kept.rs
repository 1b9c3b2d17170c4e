//! The file of `filter --kept`: the lines or records of unique documents, as they are in the input.
//!
//! With a state, the length of the file is committed together with the decisions. What a killed process wrote beyond it is cut off by the
//! next one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Exit, Failure, Result};
use crate::{
    crawl::CrawlError,
    input::{Format, Raw},
    sink::AppendFile,
    state::State,
};

/// The value of the state's `meta` table that says how far the file is committed.
const KEPT: &str = "kept";

pub(super) struct Kept {
    path: PathBuf,
    file: AppendFile,
    format: Option<Format>,
}

/// What the state says of a file.
#[derive(Default, Serialize, Deserialize)]
struct Committed {
    path: String,
    length: u64,
    format: Option<Format>,
}

impl Kept {
    /// Opens the file: a new one, or the one of this state, whose open transaction then has its length.
    pub(super) fn open(path: &Path, state: Option<&State>) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|source| Failure::Write { path: path.to_owned(), source })?;
        let committed: Committed =
            state.map(|state| state.json(KEPT)).transpose()?.flatten().unwrap_or_default();
        let committed =
            Some(committed).filter(|committed| committed.path == path.to_string_lossy());
        let length = fs::metadata(&path).map(|found| found.len()).ok();
        let (known, format) = match (committed, length) {
            (Some(committed), Some(length)) if length < committed.length => {
                let message = format!(
                    "{} has {length} bytes, but {} were written with this state",
                    path.display(),
                    committed.length
                );
                return Err(refused(message, "restore it, or name another file with --kept"));
            }
            (Some(committed), Some(_)) => (committed.length, committed.format),
            (None, Some(1..)) => {
                let message =
                    format!("{} is not empty, and not the file of this state", path.display());
                return Err(refused(message, "name another file with --kept, or move it away"));
            }
            (_, None | Some(0)) => (0, None),
        };
        let file = AppendFile::open(path.clone(), known).map_err(CrawlError::from)?;
        let mut this = Self { path, file, format };
        if let Some(state) = state {
            this.commit(state)?;
        }
        Ok(this)
    }

    pub(super) fn add(&mut self, raw: &Raw) -> Result<()> {
        let format = *self.format.get_or_insert(raw.format);
        if format != raw.format {
            let message = format!(
                "{} has {}, but the input now has {}",
                self.path.display(),
                format.name(),
                raw.format.name()
            );
            let help = "filter them by themselves, with another --kept";
            return Err(refused(message, help));
        }
        Ok(self.file.append_bytes(&raw.bytes).map_err(CrawlError::from)?)
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) -> Result<u64> {
        Ok(self.file.sync().map_err(CrawlError::from)?)
    }

    /// Makes everything durable, and adds the length to the open transaction.
    pub(super) fn commit(&mut self, state: &State) -> Result<()> {
        let (length, format) = (self.sync()?, self.format);
        let path = self.path.to_string_lossy().into();
        Ok(state.set_json(KEPT, &Committed { path, length, format })?)
    }
}

fn refused(message: String, help: &str) -> Failure {
    Failure::refused(Exit::Usage, message, help)
}
