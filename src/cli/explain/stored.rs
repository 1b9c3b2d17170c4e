//! What a run has of a page: in its files, or in its state.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use super::{super::Failure, side::Run};
use crate::{
    fingerprint::Signature,
    sink::{PAGES, record::PageLine},
    state::{JudgedDocument, KeptText},
};

/// What the line of a stored page has beyond what the state knows of every page.
pub(super) struct Stored {
    pub(super) text: Option<String>,
    pub(super) signature: Option<Signature>,
    pub(super) charset: String,
    pub(super) truncated: Option<String>,
}

impl From<KeptText> for Stored {
    fn from(kept: KeptText) -> Self {
        let KeptText { text, charset, truncated } = kept;
        Self { text: Some(text), signature: None, charset, truncated }
    }
}

/// What the run has of a page: its line, if it is stored, else the text that the state keeps of a near duplicate.
pub(super) fn stored(run: &Run<'_>, page: &JudgedDocument) -> Result<Option<Stored>, Failure> {
    if page.stored {
        return line(run.directory, &page.name);
    }
    Ok(run.past.text(page)?.map(Stored::from))
}

/// Reads the line of a URL in `pages.jsonl`, if it has one.
fn line(run: &Path, url: &str) -> Result<Option<Stored>, Failure> {
    let path = run.join(PAGES);
    let failure = |source| Failure::Read { path: path.clone(), source };
    let mut pages = BufReader::new(File::open(&path).map_err(failure)?);
    let id = serde_json::to_string(url).expect("a string is JSON");
    // The id is the first field: most lines need not be read as JSON.
    let beginning = format!("{{\"id\":{id},");
    let mut line = Vec::new();
    while pages.read_until(b'\n', &mut line).map_err(failure)? > 0 {
        if line.starts_with(beginning.as_bytes()) {
            let page: PageLine<'_> =
                serde_json::from_slice(&line).map_err(|error| failure(error.into()))?;
            return Ok(Some(Stored {
                text: page.text.map(Into::into),
                signature: page.signature,
                charset: page.charset.into(),
                truncated: page.truncated.map(Into::into),
            }));
        }
        line.clear();
    }
    Ok(None)
}
