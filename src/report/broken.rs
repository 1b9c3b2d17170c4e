//! Broken links: URLs that got an error or no answer, pages that are gone, redirects that lead nowhere; and the pages that link to them.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::fair;
use crate::state::{Inlinks, Reason, Redirects, State, StateError, UrlId, UrlState};

/// A report lists at most this many broken links, with five times as many pages that have them.
pub const BROKEN: usize = 2_000;

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
    /// The pages that link to it or to a URL that redirects to it, in the order in which they were found. Empty for a seed to which nothing links.
    pub referrers: Vec<String>,
    /// How many pages they are.
    pub pages: u64,
    /// The URLs that redirect to it.
    pub redirects: Vec<String>,
}

/// The URLs that may be broken links, collected while all URLs are read.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    failed: Vec<(UrlId, Reason)>,
    redirects: Vec<UrlId>,
}

impl Broken {
    /// A URL is in this state.
    pub(crate) fn add(&mut self, id: UrlId, state: UrlState) {
        match state.skipped() {
            Some(Reason::Redirect) => self.redirects.push(id),
            Some(reason @ (Reason::Status | Reason::Failure)) => self.failed.push((id, reason)),
            _ => {}
        }
    }

    /// Calls `visit` with each broken link, at most `most` of them, in the order in which the URLs were found, with the pages that have it: of all links
    /// together at most five times as many. Returns how many broken links there are. Reads all links once.
    ///
    /// # Errors
    /// If the state cannot be read, or `visit` fails.
    pub(crate) fn for_each<E: From<StateError>>(
        self,
        state: &State,
        most: usize,
        mut visit: impl FnMut(BrokenLink) -> Result<(), E>,
    ) -> Result<u64, E> {
        let Self { failed: mut broken, redirects } = self;
        let redirects = Redirects::load(state, redirects)?;
        broken.extend(state.gone_pages()?.into_iter().map(|id| (id, Reason::Status)));
        broken.extend(redirects.dead().map(|id| (id, Reason::Redirect)));
        broken.sort_by_key(|(id, _)| *id);
        let count = broken.len() as u64;
        broken.truncate(most);
        let ids: HashSet<UrlId> = broken.iter().map(|(id, _)| *id).collect();
        let mut inlinks = state.inlinks(&ids, &redirects, most)?;
        let pages = inlinks.values().map(|it| it.pages.len()).collect();
        let each = fair(most.saturating_mul(5), pages).min(most);
        let names = |ids: &[UrlId]| {
            let names = ids.iter().take(each).map(|id| Ok(state.url(*id)?.url.to_string()));
            names.collect::<Result<Vec<_>, StateError>>()
        };
        for (id, reason) in broken {
            let row = state.url(id)?;
            let Inlinks { pages, count, redirects } = inlinks.remove(&id).unwrap_or_default();
            visit(BrokenLink {
                url: row.url.to_string(),
                reason,
                status: row.status,
                why: row.detail,
                referrers: names(&pages)?,
                pages: count,
                redirects: names(&redirects)?,
            })?;
        }
        Ok(count)
    }
}
