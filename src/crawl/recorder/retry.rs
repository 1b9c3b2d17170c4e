//! Failed URLs: which are queued again, and when.
//!
//! Some hours after a failure that may have passed, the URL is queued again, while the run lasts or by a later start. Failures during an
//! outage, or of a host that stopped answering, are taken back at once.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::{Recorder, Update};
use crate::{
    crawl::{frontier::Pardon, plan::CrawlError},
    page::Timestamp,
    state::{HostId, Reason, SkipCause, UrlId, UrlRow, UrlState},
};

/// How long after its failure a URL is fetched again.
const RETRY_AFTER: Duration = Duration::from_hours(6);
/// How often failed URLs are looked for, at most.
const LOOK_EVERY: Duration = Duration::from_mins(10);
/// Failures that can be taken back.
const PARDONABLE: usize = 1 << 13;

/// What is remembered of failures.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// The last URLs that failed so.
    lately: VecDeque<(Instant, UrlRow)>,
    /// URLs whose failure was taken back because of their host, until they have another outcome: a second failure counts. So it has no more
    /// URLs than wait.
    pardoned: HashSet<UrlId>,
    /// When failed URLs are to be looked for, if there are any.
    look_at: Option<Timestamp>,
}

/// Whether a URL is fetched again some hours after its failure.
fn may_pass(cause: Option<SkipCause>) -> bool {
    matches!(
        cause,
        Some(SkipCause::RobotsNotReceived | SkipCause::Unreachable | SkipCause::Incomplete)
    )
}

/// A URL that failed at this time or earlier is fetched again now.
pub(super) fn failed_by(now: Timestamp) -> Timestamp {
    now - RETRY_AFTER
}

fn due_at(failed: Timestamp) -> Timestamp {
    later(failed, RETRY_AFTER)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp(at.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
}

impl Failures {
    /// Remembers a URL that was skipped for this cause, if it is a failure that may pass.
    pub(super) fn add(&mut self, row: &UrlRow, cause: Option<SkipCause>) {
        if may_pass(cause) {
            self.look_at.get_or_insert_with(|| due_at(Timestamp::now()));
            if self.lately.len() == PARDONABLE {
                self.lately.pop_front();
            }
            self.lately.push_back((Instant::now(), row.clone()));
        } else {
            self.pardoned.remove(&row.id);
        }
    }

    /// A URL was judged.
    pub(super) fn judged(&mut self, id: UrlId) {
        self.pardoned.remove(&id);
    }

    /// A start has looked for failed URLs. Others that failed since may be due soon.
    pub(super) fn looked(&mut self) {
        self.look_at = Some(later(Timestamp::now(), LOOK_EVERY));
    }
}

impl Recorder {
    /// Queues failed URLs again, if it is time to look for them.
    pub(super) fn retry_failures(&mut self) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        if self.failures.look_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        let due = self.state().failed_urls(failed_by(now))?;
        due.iter().try_for_each(|row| self.retry_failure(row))?;
        let first = self.state().first_failure()?.map(due_at);
        self.failures.look_at = first.map(|first| first.max(later(now, LOOK_EVERY)));
        Ok(())
    }

    /// Queues a failed URL again, if it is still admitted.
    pub(super) fn retry_failure(&mut self, row: &UrlRow) -> Result<(), CrawlError> {
        // A seed is admitted by its own list.
        let list = row.seed.filter(|_| row.referrer.is_none());
        if let Ok(seed) = self.admit(&row.url, row.kind, row.depth, list) {
            if row.state == UrlState::Skipped(Reason::Failure) {
                self.counts.failed = self.counts.failed.saturating_sub(1);
            }
            self.requeue(row, seed)?;
        }
        Ok(())
    }

    /// Takes failures back: their URLs are queued again.
    pub(super) fn pardon(&mut self, pardon: &Pardon) -> Result<Update, CrawlError> {
        let is_meant = |(at, row): &(Instant, UrlRow)| {
            pardon.host.is_none_or(|host| host == row.host)
                && pardon.since.is_none_or(|since| at.into_std() >= since)
        };
        let lately = std::mem::take(&mut self.failures.lately);
        let (meant, others) = lately.into_iter().partition(is_meant);
        self.failures.lately = others;
        for (_, row) in meant {
            if pardon.host.is_some() && !self.failures.pardoned.insert(row.id) {
                self.failures.pardoned.remove(&row.id);
                continue;
            }
            // Another start may have decided otherwise.
            if let Some(row) = self.state().url_by_id(row.id)?
                && row.state == UrlState::Skipped(Reason::Failure)
            {
                self.retry_failure(&row)?;
            }
        }
        Ok(Update::Pardoned(std::mem::take(&mut self.queued), self.counts))
    }

    /// A deferred host is asked again.
    pub(super) fn resume(&mut self, host: HostId) -> Result<Update, CrawlError> {
        if self.state().end_absence(host)? {
            self.urls.resume_host(host);
        }
        let waits = !self.urls.queued(self.state(), host, 0, 1)?.is_empty();
        let row = waits.then(|| self.state().host_by_id(host)).transpose()?;
        Ok(Update::Resumed(host, row))
    }
}
