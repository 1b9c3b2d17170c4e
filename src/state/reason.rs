//! Why a URL that is known was neither stored nor found to be a duplicate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a URL was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// robots.txt forbids it, or could not be had.
    Robots,
    /// No seed's scope admits it.
    Scope,
    /// It is too many links away from its seed.
    Depth,
    /// The budget of its seed, or of the run, is spent.
    Budget,
    /// It redirects elsewhere.
    Redirect,
    /// The server answered with a status other than 2xx.
    Status,
    /// It could not be fetched.
    Failure,
    /// It is not HTML.
    ContentType,
    /// It asks not to be indexed.
    Noindex,
    /// It was found only on a duplicate, whose links are not followed.
    DuplicateLinks,
    /// Its host was set aside.
    Host,
    /// It was still queued when the run stopped.
    Pending,
    /// It is a sitemap: its URLs were taken from it.
    Sitemap,
}

const NAMES: [(Reason, &str); 13] = [
    (Reason::Robots, "robots"),
    (Reason::Scope, "scope"),
    (Reason::Depth, "depth"),
    (Reason::Budget, "budget"),
    (Reason::Redirect, "redirect"),
    (Reason::Status, "status"),
    (Reason::Failure, "failure"),
    (Reason::ContentType, "content_type"),
    (Reason::Noindex, "noindex"),
    (Reason::DuplicateLinks, "duplicate_links"),
    (Reason::Host, "host"),
    (Reason::Pending, "pending"),
    (Reason::Sitemap, "sitemap"),
];

/// Codes of states that are no reason: 0 queued, 1 judged.
const FIRST_CODE: i64 = 2;

impl Reason {
    /// All reasons, in the order of their codes.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(reason, _)| reason)
    }

    /// The name used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The number stored in the state.
    #[must_use]
    pub(super) fn code(self) -> i64 {
        FIRST_CODE + self as i64
    }

    pub(super) fn from_code(code: i64) -> Option<Self> {
        let place = usize::try_from(code.checked_sub(FIRST_CODE)?).ok()?;
        NAMES.get(place).map(|&(reason, _)| reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
