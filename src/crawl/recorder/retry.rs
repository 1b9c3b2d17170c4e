//! Failed URLs: which are queued again, and when.
//!
//! A URL that has failed for a reason that may pass is queued again once nothing else is left to do, and some hours after that, while the run
//! lasts or by a later start. Failures during an outage, or of a host that stopped answering, are taken back at once.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::{Recorder, Update};
use crate::{
    crawl::{frontier::FailuresSince, plan::CrawlError},
    page::Timestamp,
    state::{HostId, RETRY_AFTER, Reason, SkipCause, UrlId, UrlRow, UrlState},
};

/// How often failed URLs are looked for, at most.
const CHECK_INTERVAL: Duration = Duration::from_mins(10);
/// Failures that can be taken back.
const MAX_REMEMBERED: usize = 1 << 13;

/// What is remembered of failures.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// The last URLs that failed so.
    recent: VecDeque<Failure>,
    /// Whether one was added that was not taken back before.
    has_new: bool,
    /// URLs whose failure was taken back because of their host, until they have another outcome: a second failure counts. So it has no more
    /// URLs than wait.
    taken_back: HashSet<UrlId>,
    /// When failed URLs are to be looked for, if there are any.
    check_at: Option<Timestamp>,
}

/// A URL that has failed for a reason that may pass.
#[derive(Debug)]
struct Failure {
    at: Instant,
    row: UrlRow,
    /// Whether there was a response with a status: an answer of its host, though no page.
    is_status: bool,
    /// Whether its host was reached. Otherwise the frontier decides when to ask it again.
    was_reached: bool,
}

impl Failures {
    /// Remembers a URL that was skipped for this cause, if it is a failure that may pass.
    pub(super) fn add(&mut self, row: &UrlRow, reason: Reason, cause: Option<SkipCause>) {
        if cause.is_some_and(SkipCause::may_pass) {
            self.check_at.get_or_insert_with(|| Timestamp::now() + RETRY_AFTER);
            let was_reached = cause != Some(SkipCause::Unreachable);
            self.has_new |= was_reached && !self.taken_back.contains(&row.id);
            if self.recent.len() == MAX_REMEMBERED {
                self.recent.pop_front();
            }
            let is_status = reason == Reason::Status;
            let (at, row) = (Instant::now(), row.clone());
            self.recent.push_back(Failure { at, row, is_status, was_reached });
        } else {
            self.taken_back.remove(&row.id);
        }
    }

    /// A URL was judged.
    pub(super) fn judged(&mut self, id: UrlId) {
        self.taken_back.remove(&id);
    }

    /// Whether a URL has failed since the last call that may be queued again before the run ends.
    pub(super) fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.has_new)
    }

    /// A start has looked for failed URLs. Others that failed since may be due soon.
    pub(super) fn checked(&mut self) {
        self.check_at = Some(Timestamp::now() + CHECK_INTERVAL);
    }
}

impl Recorder {
    /// Queues failed URLs again, if it is time to look for them.
    pub(super) fn retry_failures(&mut self) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        if self.failures.check_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        let due = self.state().failed_urls(now - RETRY_AFTER)?;
        due.iter().try_for_each(|row| self.retry_failure(row))?;
        let first = self.state().first_failure()?.map(|at| at + RETRY_AFTER);
        self.failures.check_at = first.map(|first| first.max(now + CHECK_INTERVAL));
        Ok(())
    }

    /// Queues a failed URL again, if it is still admitted.
    pub(super) fn retry_failure(&mut self, row: &UrlRow) -> Result<(), CrawlError> {
        if let Ok(seed) = self.admit_known(row) {
            if matches!(row.state, UrlState::Skipped(Reason::Failure | Reason::Status)) {
                self.counts.failed = self.counts.failed.saturating_sub(1);
            }
            self.requeue(row, seed, None)?;
        }
        Ok(())
    }

    /// Takes failures back: their URLs are queued again.
    pub(super) fn take_back_failures(
        &mut self,
        failures: &FailuresSince,
    ) -> Result<Update, CrawlError> {
        let is_meant = |failure: &Failure| {
            !failure.is_status
                && failures.host.is_none_or(|host| host == failure.row.host)
                && failures.since.is_none_or(|since| failure.at.into_std() >= since)
        };
        let recent = std::mem::take(&mut self.failures.recent);
        let (meant, others) = recent.into_iter().partition(is_meant);
        self.failures.recent = others;
        for Failure { row, .. } in meant {
            self.take_back(&row, failures.host.is_some())?;
        }
        if let Some(host) = failures.host.filter(|&host| self.urls.queue.is_suspended(host))
            && self.urls.queued(self.state(), host, 0, 1)?.is_empty()
        {
            // There is nothing to ask it for.
            return self.resume(host);
        }
        Ok(Update::FailuresTakenBack(std::mem::take(&mut self.queued), self.counts))
    }

    /// Nothing else is left to do: queues failed URLs again, each once.
    pub(super) fn retry_before_end(&mut self) -> Result<Update, CrawlError> {
        let mut failed = std::mem::take(&mut self.failures.recent);
        failed.retain(|failure| failure.was_reached);
        failed.iter().try_for_each(|failure| self.take_back(&failure.row, true))?;
        Ok(Update::FailuresTakenBack(std::mem::take(&mut self.queued), self.counts))
    }

    /// Queues a failed URL again; if `once`, only if that was not done before.
    fn take_back(&mut self, row: &UrlRow, once: bool) -> Result<(), CrawlError> {
        if once && !self.failures.taken_back.insert(row.id) {
            self.failures.taken_back.remove(&row.id);
            return Ok(());
        }
        // Another start may have decided otherwise.
        let row = self.state().url_by_id(row.id)?;
        let has_failed = |row: &UrlRow| {
            matches!(row.state, UrlState::Skipped(_)) && row.cause.is_some_and(SkipCause::may_pass)
        };
        match row.filter(has_failed) {
            Some(row) => self.retry_failure(&row),
            None => Ok(()),
        }
    }

    /// A suspended host is asked again.
    pub(super) fn resume(&mut self, host: HostId) -> Result<Update, CrawlError> {
        if self.state().end_absence(host)? {
            self.urls.queue.set_suspended(host, false);
        }
        let waits = !self.urls.queued(self.state(), host, 0, 1)?.is_empty();
        let row = waits.then(|| self.state().host_by_id(host)).transpose()?;
        Ok(Update::Resumed(host, row))
    }
}
