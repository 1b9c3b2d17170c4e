//! The one rule for requests without an answer: which URLs are asked for again, and when.
//!
//! A URL that got no answer, or one that may pass, is asked for again: `fetch.retries` times, after growing pauses, the last time not before
//! [`SPREAD`] has passed since the first. Only then it has failed. A request does not count if it is this machine's fault, or if its host was
//! not reached, had answered before and has not since the last request of the URL: then nothing shows that the URL is to blame. Its host pauses
//! ([`HostHealth`]), and is asked for others of its URLs first.
//!
//! A URL that has failed so is queued again some hours later, while the run lasts or by a later start; one whose host could not be reached by
//! every start.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::Engine;
use crate::{
    crawl::{
        plan::CrawlError,
        politeness::backoff,
        schedule::HostHealth,
        worker::{Retry, Skipped},
    },
    page::Timestamp,
    state::{Queued, RETRY_AFTER, Reason, State, StateError, UrlId, UrlRow, UrlState},
};

/// The shortest time from the first to the last request for a URL that fails.
const SPREAD: Duration = Duration::from_secs(20);
/// How often URLs are looked for that failed some hours ago.
const CHECK_INTERVAL: Duration = Duration::from_mins(10);

/// The requests for a URL that got no answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    /// How many count.
    count: u32,
    /// When the first of them ended, if it was in this start.
    first: Option<Instant>,
    /// When the last one ended, whether it counts or not, if it was in this start.
    last: Option<Instant>,
    /// In round-robin order: when the next one may start.
    pub(super) due: Option<Instant>,
    /// How the last one ended.
    pub(super) why: String,
}

/// What follows a request without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Another one, not before this instant.
    At(Instant),
    /// Another one, once its host answers or nothing else is left to ask it for.
    WithHost,
    /// None.
    Fail,
}

impl Attempts {
    /// One has ended so. `chance` is a random number from 0 to 1.
    fn add(
        &mut self,
        how: Retry,
        health: Option<&HostHealth>,
        retries: u32,
        chance: f64,
        now: Instant,
    ) -> Next {
        let before = self.last.replace(now);
        let counts = match how {
            Retry::Local => return Next::At(now),
            Retry::Answered | Retry::Reached => true,
            // If the host had answered, it must have done so since the last request.
            Retry::Unanswered => health.is_none_or(|health| {
                let since = health.last_answer.zip(before);
                !health.had_answered || since.is_some_and(|(answer, before)| answer > before)
            }),
        };
        if !counts {
            return Next::WithHost;
        }
        self.count += 1;
        // A host that breaks a connection may be about to stop.
        let had_answered = health.is_some_and(|health| health.had_answered);
        let is_doubtful = how == Retry::Reached && had_answered;
        let retries = if is_doubtful { retries.max(1) } else { retries };
        let is_new = self.first.is_none();
        let first = *self.first.get_or_insert(now);
        // Those of an earlier start are far enough away.
        let earliest = if is_new && self.count > 1 || retries == 0 { now } else { first + SPREAD };
        if self.count > retries && now >= earliest {
            return Next::Fail;
        }
        let due = now + backoff(self.count, chance);
        Next::At(if self.count >= retries { due.max(earliest) } else { due })
    }
}

/// The URLs whose requests got no answer, and when failed ones are looked for.
#[derive(Debug, Default)]
pub(super) struct Retries {
    attempts: HashMap<UrlId, Attempts>,
    check_at: Option<Timestamp>,
}

impl Retries {
    pub(super) fn load(state: &State) -> Result<Self, StateError> {
        let attempts = state
            .attempts()?
            .into_iter()
            .map(|(url, count, why)| (url, Attempts { count, why, ..Attempts::default() }));
        Ok(Self { attempts: attempts.collect(), check_at: None })
    }

    /// The requests for a URL that got no answer, if there are any.
    pub(super) fn of(&self, url: UrlId) -> Option<&Attempts> {
        self.attempts.get(&url)
    }

    /// Failed URLs may be due some hours from now.
    fn has_failed(&mut self) {
        self.check_at.get_or_insert_with(|| Timestamp::now() + RETRY_AFTER);
    }

    /// A start has looked for failed URLs. Others that failed since may be due soon.
    pub(super) fn checked(&mut self) {
        self.check_at = Some(Timestamp::now() + CHECK_INTERVAL);
    }
}

impl Engine {
    /// A request for a URL got no answer, or one that may pass. Returns from when on another one may follow; none means
    /// that the URL has failed.
    pub(super) fn try_again(
        &mut self,
        queued: &Queued,
        skipped: &Skipped,
        now: Instant,
    ) -> Result<Option<Instant>, CrawlError> {
        let Some(how) = skipped.retry else { return Ok(None) };
        let (row, retries) = (&queued.url, self.plan.fetch.retries);
        let is_at_fault = self.schedule.is_at_fault(row.host);
        let how = if how == Retry::Local && is_at_fault { Retry::Unanswered } else { how };
        let health = self.schedule.health(row.host).copied();
        let attempts = self.retries.attempts.entry(row.id).or_default();
        let next = attempts.add(how, health.as_ref(), retries, rand::random(), now);
        if next == Next::Fail {
            return Ok(None);
        }
        if how != Retry::Local {
            attempts.why = match (&skipped.detail, skipped.status) {
                (Some(detail), _) => detail.clone(),
                (None, Some(status)) => format!("status {status}"),
                (None, None) => String::new(),
            };
            self.filter.state().set_attempts(row.id, attempts.count, &attempts.why)?;
        }
        match next {
            Next::At(due) if self.schedule.takes_turns() => {
                attempts.due = Some(due);
                self.put_back(queued.key(), false)?;
            }
            Next::At(due) if due > now => self.schedule.later(row.host, row.id, due),
            Next::At(_) => self.put_back(queued.key(), true)?,
            Next::WithHost | Next::Fail => self.put_back(queued.key(), false)?,
        }
        Ok(Some(if let Next::At(due) = next { due } else { now }))
    }

    /// A URL has an outcome.
    pub(super) fn end_attempts(&mut self, url: UrlId) -> Result<(), CrawlError> {
        if self.retries.attempts.remove(&url).is_some() {
            self.filter.state().end_attempts(url)?;
        }
        Ok(())
    }

    /// A URL has failed, for a reason that may pass.
    pub(super) fn note_failure(&mut self) {
        self.retries.has_failed();
    }

    /// Queues URLs again that failed some hours ago, if it is time to look for them.
    pub(super) fn retry_failures(&mut self) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        if self.retries.check_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        let due = self.state().failed_urls(now - RETRY_AFTER)?;
        due.iter().try_for_each(|row| self.retry_failure(row))?;
        let first = self.state().first_failure()?.map(|at| at + RETRY_AFTER);
        self.retries.check_at = first.map(|first| first.max(now + CHECK_INTERVAL));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The instants of the requests of a URL, in seconds, each of which ends so; with the last one it has failed.
    fn requests(retries: u32, how: impl Fn(u64) -> (Retry, Option<HostHealth>)) -> Vec<u64> {
        let start = Instant::now();
        let (mut attempts, mut now, mut asked) = (Attempts::default(), start, Vec::new());
        while asked.len() < 50 {
            let second = (now - start).as_secs();
            asked.push(second);
            let (how, health) = how(second);
            now = match attempts.add(how, health.as_ref(), retries, 0.0, now) {
                Next::At(at) => at.max(now + Duration::from_millis(1)),
                Next::WithHost => now + 10 * SECOND,
                Next::Fail => break,
            };
        }
        asked
    }

    #[test]
    fn a_url_fails_after_its_retries_spread_over_a_time() {
        let broken = |_| (Retry::Answered, None);
        assert_eq!(requests(0, broken), [0]);
        assert_eq!(requests(1, broken), [0, 20]);
        assert_eq!(requests(2, broken), [0, 1, 20]);
        assert_eq!(requests(3, broken), [0, 1, 3, 20]);
        assert_eq!(requests(7, broken), [0, 1, 3, 7, 15, 31, 63, 127]);
        let silent = |_| (Retry::Unanswered, Some(HostHealth::new(false)));
        assert_eq!(requests(3, silent), [0, 1, 3, 20], "its host has never answered");
    }

    #[test]
    fn a_host_that_stopped_answering_is_not_the_fault_of_a_url() {
        let health = HostHealth::new(true);
        assert_eq!(requests(1, |_| (Retry::Unanswered, Some(health))).len(), 50);
        let start = Instant::now();
        // It answers others from the thirtieth second on.
        let answers = |second| {
            let last_answer = (second > 30).then_some(start + Duration::from_hours(1));
            (Retry::Unanswered, Some(HostHealth { last_answer, ..health }))
        };
        assert_eq!(requests(1, answers), [0, 10, 20, 30, 40, 60]);
        assert_eq!(requests(0, answers), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn faults_of_this_machine_do_not_count() {
        let mut attempts = Attempts::default();
        let now = Instant::now();
        for _ in 0..99 {
            assert_eq!(attempts.add(Retry::Local, None, 0, 0.0, now), Next::At(now));
        }
        assert_eq!(attempts.count, 0);
    }

    #[test]
    fn requests_of_an_earlier_start_count() {
        let (now, count) = (Instant::now(), 3);
        let mut attempts = Attempts { count, ..Attempts::default() };
        assert_eq!(attempts.add(Retry::Answered, None, 3, 0.0, now), Next::Fail);
    }
}
