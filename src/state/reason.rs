//! Why a known URL is not a page that was judged. The crawl decides the reason, and `crawl/engine/record.rs` records it (`skip` or, for
//! a URL that is not even queued, `add`; what is deferred `record_deferred` in `crawl/engine/learn.rs`); each variant of [`Reason`] names the function that decides.
//!
//! A new reason needs a variant with a new number here, in `ALL`, in `meaning`, in docs/run.md, and in `next` of
//! `report/warning.txt`. Then decide
//!
//! - whether a later start queues such URLs again: `requeue_skipped` in `crawl/engine/start.rs`
//! - whether another link does: `rediscover` in `crawl/engine/record.rs`
//! - whether it counts as a page: `Outcome::is_page` in `crawl/worker.rs`, and `report/builder.rs`, which counts by reason
//! - whether it says that a known page is gone: `gone_reason` in `crawl/engine/revisit.rs`
//! - whether it needs words of its own: `cli/explain/mod.rs` and `crawl/dry_run.rs` have some
//!
//! The numbers of scope, depth and budget are a priority: of several, the largest is reported.

use std::fmt;

use serde::{Deserialize, Serialize};

/// More about a [`Reason`], where the crawler acts on it.
///
/// The numbers are kept in the state of runs and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SkipCause {
    /// [`Reason::Robots`] because robots.txt was not received, not because of a rule in it.
    RobotsNotReceived = 1,
    /// [`Reason::DuplicateLinks`], and the pages with the link are duplicates of pages of their own site.
    SameSite = 2,
    /// [`Reason::DuplicateLinks`], and the pages with the link are duplicates of other sites' pages.
    CrossSite = 3,
    /// [`Reason::Failure`], and the host could not be reached: its name, its connection, its certificate or its address.
    Unreachable = 4,
    /// [`Reason::Failure`] or [`Reason::Status`] that may have passed some hours later.
    Incomplete = 5,
}

impl SkipCause {
    /// Whether the failure may pass, so that the URL is fetched again.
    #[must_use]
    pub fn may_pass(self) -> bool {
        match self {
            Self::RobotsNotReceived | Self::Unreachable | Self::Incomplete => true,
            Self::SameSite | Self::CrossSite => false,
        }
    }

    /// The number in the state.
    #[must_use]
    pub(super) fn as_code(self) -> u8 {
        self as u8
    }

    /// The cause with that number, if there is one.
    #[must_use]
    pub(super) fn from_code(code: u8) -> Option<Self> {
        let all = [
            Self::RobotsNotReceived,
            Self::SameSite,
            Self::CrossSite,
            Self::Unreachable,
            Self::Incomplete,
        ];
        all.into_iter().find(|cause| cause.as_code() == code)
    }

    /// The detail that output files show, where the cause alone determines it.
    #[must_use]
    pub(super) fn detail(self) -> Option<&'static str> {
        match self {
            Self::RobotsNotReceived | Self::Unreachable | Self::Incomplete => None,
            Self::SameSite => Some("found on duplicates of pages of their own site"),
            Self::CrossSite => Some("found on duplicates of other sites' pages"),
        }
    }
}

/// Why a URL was neither stored nor found to be a duplicate.
///
/// The numbers are kept in the state of runs and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Reason {
    /// robots.txt forbids it, or could not be read. Decided before each request: `check_and_fetch` in `crawl/worker.rs`.
    Robots = 1,
    /// No seed's scope admits it. Decided when it is found: `admit` in `crawl/engine/record.rs`.
    Scope = 2,
    /// It lies deeper than its seed allows. Decided like [`Reason::Scope`].
    Depth = 3,
    /// The budgets of all seeds that admit it are spent. Decided like [`Reason::Scope`], or when it is to be fetched: `Schedule::start` returns
    /// `Start::OverBudget`, and `move_to_another_seed` in `crawl/engine/record.rs` finds no other seed. If the budget of the run is spent,
    /// `Schedule::next` ends the run, and the URL stays queued.
    Budget = 4,
    /// It redirects to another URL. Decided by `receive` in `crawl/worker.rs`.
    Redirect = 5,
    /// The status was not 2xx. Decided by `receive` in `crawl/worker.rs`.
    Status = 6,
    /// There was no complete response. Decided by `check_and_fetch` in `crawl/worker.rs`.
    Failure = 7,
    /// The response is not HTML. Decided by `receive` in `crawl/worker.rs`.
    ContentType = 8,
    /// The page asks not to be indexed. Decided by `record` in `crawl/engine/record.rs`.
    Noindex = 9,
    /// It was found only on duplicates whose links policy skips. Decided by `add` in `crawl/engine/record.rs`.
    DuplicateLinks = 10,
    /// Its host is suspended (`suspend` in `crawl/engine/mod.rs`). Never stored: `crawl/read_run.rs` derives it for queued URLs.
    Host = 11,
    /// It was still queued when the run stopped. Never stored, except by a dry run, for pages that would be requested.
    Pending = 12,
    /// It is a sitemap: its URLs were taken from it. Decided by `receive` in `crawl/worker.rs`.
    Sitemap = 13,
    /// A rule that was learnt says that it repeats a known page. Decided before each request: `is_put_off` in `crawl/engine/learn.rs`, and
    /// `release_late_of_host` for late URLs.
    Rule = 14,
    /// Its pattern gives too few new texts. Decided like [`Reason::Rule`].
    LowYield = 15,
    /// It is of a site of another member of a shared crawl, which it was sent to. Decided by `add` in `crawl/engine/record.rs`.
    Member = 16,
}

impl Reason {
    /// All reasons, by their codes.
    pub const ALL: [Self; 16] = [
        Self::Robots,
        Self::Scope,
        Self::Depth,
        Self::Budget,
        Self::Redirect,
        Self::Status,
        Self::Failure,
        Self::ContentType,
        Self::Noindex,
        Self::DuplicateLinks,
        Self::Host,
        Self::Pending,
        Self::Sitemap,
        Self::Rule,
        Self::LowYield,
        Self::Member,
    ];

    /// Whether it was put off because of what was learnt of its site: it is queued again if that changes.
    #[must_use]
    pub fn is_learnt(self) -> bool {
        matches!(self, Self::Rule | Self::LowYield)
    }

    /// The number that stands for it in the state.
    #[must_use]
    pub(crate) fn as_code(self) -> u8 {
        self as u8
    }

    /// The reason of that number, if there is one.
    #[must_use]
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_code() == code)
    }

    /// What it means, as a sentence for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Robots => "robots.txt forbids it, or could not be read.",
            Self::Scope => "No seed admits it, by scope, include and exclude.",
            Self::Depth => "It lies deeper than max_depth allows.",
            Self::Budget => "The budget of pages (max_pages) was spent.",
            Self::Redirect => "It leads to another URL, which has its own line.",
            Self::Status => "The server answered with another status than 2xx.",
            Self::Failure => "No or no complete response: see the detail.",
            Self::ContentType => "It is not an HTML page.",
            Self::Noindex => "The page asks not to be indexed.",
            Self::DuplicateLinks => "Only links of duplicates lead to it: not followed.",
            Self::Host => "Its host is suspended: the detail says why.",
            Self::Pending => "Still queued when the run stopped.",
            Self::Sitemap => "A sitemap: its URLs were taken from it.",
            Self::Rule => "Deferred: a learnt rule says it repeats a page.",
            Self::LowYield => "Deferred: its pattern gives too few new texts.",
            Self::Member => "Its site belongs to another member, which got it.",
        }
    }
}

/// Its name in the output files.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_keep_their_names_and_codes() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.as_code()), Some(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.to_string());
        }
        assert_eq!(Reason::Robots.as_code(), 1);
        assert_eq!(Reason::Pending.as_code(), 12);
        assert_eq!(Reason::Sitemap.as_code(), 13);
        assert_eq!(Reason::LowYield.as_code(), 15);
        assert_eq!([Reason::from_code(0), Reason::from_code(17)], [None, None]);
        // A variant that `ALL` lacks could be written to the state, but not read.
        let Err(error) = serde_json::from_str::<Reason>("\"\"") else { panic!("not a reason") };
        let names = error.to_string();
        assert_eq!(names.matches('`').count() / 2 - 1, Reason::ALL.len(), "{names}");
    }
}
