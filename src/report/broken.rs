//! Links that lead to an error or to no answer, and where they were found.

use serde::{Deserialize, Serialize};

use crate::state::{Reason, State, StateError, UrlRow, UrlState};

/// A report lists at most this many broken links.
pub const BROKEN: usize = 100;

/// Redirects in a row that are followed back to the page with the link.
const MAX_REDIRECTS: usize = 10;

/// A URL that got an error or no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink {
    /// The URL.
    pub url: String,
    /// `status` or `failure`.
    pub reason: Reason,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The error.
    pub why: Option<String>,
    /// The pages that link to it: the one on which the URL was found first, because a run keeps no others. Empty for a seed.
    pub referrers: Vec<String>,
    /// The URL on that page, if it redirects to the broken one.
    pub link: Option<String>,
}

impl BrokenLink {
    /// Whether a URL in this state is a broken link.
    pub(crate) fn is(state: UrlState) -> bool {
        matches!(state, UrlState::Skipped(Reason::Status | Reason::Failure))
    }

    /// The broken link of a row.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn of(state: &State, row: UrlRow) -> Result<Self, StateError> {
        let reason = match row.state {
            UrlState::Skipped(reason) => reason,
            UrlState::Queued | UrlState::Judged => Reason::Failure,
        };
        let redirects = |row: &UrlRow| row.state == UrlState::Skipped(Reason::Redirect);
        let mut referrer = row.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
        let mut link = None;
        for _ in 0..MAX_REDIRECTS {
            let Some(redirect) = referrer.take_if(|row| redirects(row)) else { break };
            referrer = redirect.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
            link = Some(redirect.url.to_string());
        }
        Ok(Self {
            url: row.url.to_string(),
            reason,
            status: row.status,
            why: row.detail,
            referrers: referrer.into_iter().map(|row| row.url.to_string()).collect(),
            link,
        })
    }
}
