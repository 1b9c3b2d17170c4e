//! Broken links: URLs that got an error or no answer, pages that are gone, redirects that lead nowhere; and the pages that link to them.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::state::{Inlinks, Reason, State, StateError, UrlId, UrlState};

/// A report lists at most this many broken links, and as many pages with each.
pub const BROKEN: usize = 100;

/// A URL that got an error or no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink {
    /// The URL.
    pub url: String,
    /// `status`, `failure`, or `redirect` if its redirects lead nowhere.
    pub reason: Reason,
    /// The status of the last answer, if there was any.
    pub status: Option<u16>,
    /// The error, or where it redirects to.
    pub why: Option<String>,
    /// The pages that link to it or to a URL that redirects to it, in the order in which they were found; in a report at most [`BROKEN`]. Empty
    /// for a seed to which nothing links.
    pub referrers: Vec<String>,
    /// How many pages they are.
    pub pages: u64,
    /// The URLs that redirect to it.
    pub redirects: Vec<String>,
}

/// The summary in HTML names at most this many pages for a link.
const SHOWN: usize = 10;

impl BrokenLink {
    /// The pages that are named in HTML.
    pub(super) fn shown(&self) -> &[String] {
        &self.referrers[..self.referrers.len().min(SHOWN)]
    }

    /// How many pages are not.
    pub(super) fn unnamed(&self) -> u64 {
        self.pages - self.shown().len() as u64
    }
}

/// Calls `visit` with each broken link, at most `most` of them, in the order in which the URLs were found, each with at most `most` of the pages
/// that have it.
///
/// # Errors
/// If the state cannot be read, or `visit` fails.
pub(crate) fn for_each_broken<E: From<StateError>>(
    state: &State,
    most: usize,
    mut visit: impl FnMut(BrokenLink) -> Result<(), E>,
) -> Result<(), E> {
    let mut broken = broken(state)?;
    broken.truncate(most);
    let ids: HashSet<UrlId> = broken.iter().map(|(id, _)| *id).collect();
    let mut inlinks = if ids.is_empty() { HashMap::new() } else { state.inlinks(&ids)? };
    let names = |ids: &[UrlId]| {
        let names = ids.iter().take(most).map(|id| Ok(state.url(*id)?.url.to_string()));
        names.collect::<Result<Vec<_>, StateError>>()
    };
    for (id, reason) in broken {
        let row = state.url(id)?;
        let Inlinks { pages, redirects } = inlinks.remove(&id).unwrap_or_default();
        visit(BrokenLink {
            url: row.url.to_string(),
            reason,
            status: row.status,
            why: row.detail,
            referrers: names(&pages)?,
            pages: pages.len() as u64,
            redirects: names(&redirects)?,
        })?;
    }
    Ok(())
}

/// The broken URLs in the order in which they were found, and why they are.
fn broken(state: &State) -> Result<Vec<(UrlId, Reason)>, StateError> {
    let mut broken = Vec::new();
    let failed = |state: UrlState, _| {
        state.skipped().filter(|reason| matches!(reason, Reason::Status | Reason::Failure))
    };
    state.for_each_url(failed, |row, reason| {
        broken.push((row.id, reason));
        Ok::<_, StateError>(())
    })?;
    broken.extend(state.gone_pages()?.into_iter().map(|id| (id, Reason::Status)));
    broken.extend(state.dead_redirects()?.into_iter().map(|id| (id, Reason::Redirect)));
    broken.sort_by_key(|(id, _)| *id);
    Ok(broken)
}
