//! One host of the frontier: its next URLs, its pace, its robots.txt.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use url::Url;

use crate::{
    crawl::{
        politeness::Pace,
        robots::{Robots, RobotsRequest, VALID},
    },
    page::NormalUrl,
    state::Queued,
};

/// For how long a robots.txt that was not received is not requested again.
const UNREACHED: Duration = Duration::from_mins(10);

/// The scheme of a URL: each scheme, name and port has a robots.txt of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) fn of(url: &NormalUrl) -> Self {
        if url.scheme() == "https" { Self::Https } else { Self::Http }
    }

    pub(in crate::crawl) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// What is known of a robots.txt.
#[derive(Clone, Debug)]
pub(super) enum RobotsState {
    /// It must be requested: for the first time, again after failed attempts, or where a redirect has led.
    Unknown { attempt: u32, redirect: Option<RobotsRequest> },
    /// A request is in flight.
    Requested,
    /// Its rules, and until when they are valid.
    Known { robots: Arc<Robots>, until: Instant },
}

/// Whether a host answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    /// It has not been asked.
    Unknown,
    /// It has never answered.
    Silent,
    /// It answered the last request that has ended.
    Answers,
    /// It had answered, but not the last time.
    Stopped,
}

impl Liveness {
    /// Whether it has ever answered, in this run or an earlier start of it.
    pub(super) fn had_answered(self) -> bool {
        matches!(self, Self::Answers | Self::Stopped)
    }

    /// The same after a request without an answer.
    pub(super) fn unanswered(self) -> Self {
        if self.had_answered() { Self::Stopped } else { Self::Silent }
    }

    /// Why it may not answer the next request, if that must be feared.
    pub(super) fn doubt(self) -> Option<Doubt> {
        match self {
            Self::Unknown => Some(Doubt::Unknown),
            Self::Silent | Self::Stopped => Some(Doubt::Silent),
            Self::Answers => None,
        }
    }
}

/// Why a host may not answer the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It has not been asked.
    Unknown,
    /// It did not answer the last request.
    Silent,
}

/// A URL to be fetched again after a failure.
#[derive(Debug)]
struct Retry {
    due: Instant,
    attempt: u32,
    queued: Queued,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: Arc<str>,
    /// Its rank in round-robin order: the lowest is next.
    pub(super) rank: i64,
    pub(super) pace: Pace,
    /// Where the last response came from.
    pub(super) address: Option<IpAddr>,
    /// Tasks that have not finished.
    pub(super) tasks: usize,
    /// URLs in a row that got no response.
    pub(super) failures: u32,
    pub(super) liveness: Liveness,
    /// When its last response came since this start, or when it was resumed.
    pub(super) last_answer: Option<Instant>,
    /// Faults of this machine in a row at its requests.
    pub(super) faults: u32,
    /// The scheme of its last request.
    pub(super) scheme: Scheme,
    /// Its instant in the schedule, if it is there.
    pub(super) scheduled: Option<Instant>,
    /// Whether it waits for the pace of its group, or for another request to end: to its address, or to a host that may not answer.
    pub(super) waits: bool,
    /// Whether more of its URLs are being loaded.
    pub(super) loading: bool,
    urls: VecDeque<Queued>,
    retries: Vec<Retry>,
    /// If this many URLs wait for a retry, no new one is started.
    max_retries: usize,
    /// The sequence number up to which its URLs have been loaded, if any have been.
    loaded_to: Option<i64>,
    /// Whether the state has more of its URLs after that one.
    pub(super) has_more: bool,
    robots: [RobotsState; 2],
}

impl Host {
    /// A host none of whose URLs has been loaded.
    pub(super) fn new(
        name: Arc<str>,
        rank: i64,
        pace: Pace,
        had_answered: bool,
        max_retries: usize,
    ) -> Self {
        let unknown = || RobotsState::Unknown { attempt: 0, redirect: None };
        Self {
            liveness: if had_answered { Liveness::Answers } else { Liveness::Unknown },
            last_answer: None,
            faults: 0,
            scheme: Scheme::Http,
            name,
            rank,
            pace,
            address: None,
            tasks: 0,
            failures: 0,
            scheduled: None,
            waits: false,
            loading: false,
            urls: VecDeque::new(),
            retries: Vec::new(),
            max_retries,
            loaded_to: None,
            has_more: true,
            robots: [unknown(), unknown()],
        }
    }

    /// Adds what was loaded: at most `limit` URLs, and if there are fewer, the state has no more.
    pub(super) fn loaded(&mut self, urls: Vec<Queued>, limit: usize) {
        self.loading = false;
        self.has_more = urls.len() >= limit;
        self.loaded_to = Some(urls.last().map_or(self.last_seq(), |last| last.seq));
        self.urls.extend(urls);
    }

    /// Whether more URLs should be loaded: before the last few are used up, but only once if other hosts wait for room.
    pub(super) fn wants_urls(&self, limit: usize, full: bool) -> bool {
        let may_load = !full || self.loaded_to.is_none();
        self.has_more && !self.loading && may_load && self.urls.len() * 4 <= limit
    }

    /// The sequence number after which its next URLs are to be loaded.
    pub(super) fn last_seq(&self) -> i64 {
        self.loaded_to.unwrap_or(0)
    }

    /// Whether it can make room: its loaded URLs are done, and so is its delay.
    pub(super) fn is_evictable(&self, now: Instant) -> bool {
        self.has_done_its_share() && self.pace.earliest() <= now
    }

    /// Whether everything that was loaded of it is done.
    fn has_done_its_share(&self) -> bool {
        self.loaded_to.is_some() && self.is_drained() && self.pace.in_flight() == 0
    }

    /// Whether it can be forgotten although it has URLs here: no task of it runs, and the state still has all of its URLs.
    pub(super) fn is_reloadable(&self, now: Instant) -> bool {
        self.tasks == 0 && !self.loading && self.pace.earliest() <= now
    }

    /// Whether none of its URLs is here or in flight. The state may have more.
    fn is_drained(&self) -> bool {
        self.urls.is_empty() && self.retries.is_empty() && self.tasks == 0 && !self.loading
    }

    /// Whether it has nothing to do, here or in the state.
    pub(super) fn is_idle(&self) -> bool {
        self.is_drained() && !self.has_more
    }

    /// Whether `limit` URLs in a row would be without a response if its running tasks got none. A host that responds may have more
    /// tasks.
    pub(super) fn may_be_dead(&self, limit: u32) -> bool {
        let is_doubtful = self.failures > 0 || self.address.is_none();
        is_doubtful && self.failures as usize + self.tasks >= limit as usize
    }

    /// Whether it does not answer any more: `limit` URLs in a row got no response, or the last ones of a host that had answered.
    pub(super) fn is_unresponsive(&self, limit: u32) -> bool {
        self.failures >= limit
            || self.failures > 0 && self.liveness.had_answered() && self.is_idle()
    }

    /// The earliest instant at which it can do something: make a request, load URLs or, if other hosts wait for room, be evicted.
    pub(super) fn next_moment(&self, full: bool) -> Option<Instant> {
        let has_fresh = !self.urls.is_empty() && self.may_start_another();
        let must_load = self.urls.is_empty() && self.wants_urls(0, full);
        let is_due = has_fresh || must_load || full && self.has_done_its_share();
        let fresh = is_due.then(|| self.pace.earliest());
        let retry = self.retries.iter().map(|retry| retry.due.max(self.pace.earliest())).min();
        fresh.into_iter().chain(retry).min()
    }

    /// The URL to be fetched now and its failed attempts. Due retries go first.
    pub(super) fn head(&self, now: Instant) -> Option<(&Queued, u32)> {
        let due =
            self.retries.iter().filter(|retry| retry.due <= now).min_by_key(|retry| retry.due);
        if let Some(retry) = due {
            return Some((&retry.queued, retry.attempt));
        }
        self.urls.front().filter(|_| self.may_start_another()).map(|queued| (queued, 0))
    }

    /// Whether another URL may be started while some wait for a retry.
    fn may_start_another(&self) -> bool {
        self.retries.len() < self.max_retries
    }

    /// Removes the URL with this sequence number.
    pub(super) fn take(&mut self, seq: i64) -> Option<Queued> {
        if let Some(place) = self.retries.iter().position(|retry| retry.queued.seq == seq) {
            return Some(self.retries.swap_remove(place).queued);
        }
        self.urls.pop_front_if(|queued| queued.seq == seq)
    }

    /// Puts a URL back for a retry.
    pub(super) fn retry(&mut self, queued: Queued, attempt: u32, due: Instant) {
        self.retries.push(Retry { due, attempt, queued });
    }

    /// Its URL of this path.
    pub(super) fn url(&self, path: &str) -> Option<Url> {
        let next = self.urls.front().map(|queued| Scheme::of(&queued.url.url));
        let scheme = next.unwrap_or(self.scheme).as_str();
        Url::parse(&format!("{scheme}://{}{path}", self.name)).ok()
    }

    /// It has answered, with a response at this instant or by breaking the connection, as a host that is about to stop may do. Returns
    /// whether URLs failed because it did not.
    pub(super) fn answered(&mut self, response: Option<Instant>) -> bool {
        let failures = std::mem::take(&mut self.failures);
        (self.liveness, self.faults) = (Liveness::Answers, 0);
        self.last_answer = response.or(self.last_answer);
        failures > 0
    }

    /// Takes back what was counted against it and its URLs during an outage.
    pub(super) fn forgive(&mut self) {
        self.failures = 0;
        if self.liveness == Liveness::Stopped {
            self.liveness = Liveness::Answers;
        }
        self.retries.iter_mut().for_each(|retry| retry.attempt = 0);
        self.forget_missing_robots();
    }

    /// Requests a robots.txt again that could not be received, as for the first time.
    pub(super) fn forget_missing_robots(&mut self) {
        for robots in &mut self.robots {
            match robots {
                RobotsState::Unknown { attempt, .. } => *attempt = 0,
                RobotsState::Known { robots: rules, .. } if rules.contact().is_some() => {
                    *robots = RobotsState::Unknown { attempt: 0, redirect: None };
                }
                RobotsState::Known { .. } | RobotsState::Requested => {}
            }
        }
    }

    /// What is known of the robots.txt for this scheme, if it is still valid.
    pub(super) fn robots(&mut self, scheme: Scheme, now: Instant) -> &mut RobotsState {
        let robots = &mut self.robots[scheme as usize];
        if matches!(robots, RobotsState::Known { until, .. } if *until <= now) {
            *robots = RobotsState::Unknown { attempt: 0, redirect: None };
        }
        robots
    }

    /// Sets the robots.txt for this scheme; `age` is the time since it was received.
    pub(super) fn set_robots(
        &mut self,
        scheme: Scheme,
        robots: Arc<Robots>,
        now: Instant,
        age: Duration,
    ) {
        if let Some(delay) = robots.crawl_delay() {
            self.pace.slow_down(delay);
        }
        let valid = if robots.contact().is_some() { UNREACHED } else { VALID };
        let until = now + valid.saturating_sub(age);
        self.robots[scheme as usize] = RobotsState::Known { robots, until };
    }

    /// Makes the host request the robots.txt for this scheme again.
    pub(super) fn request_robots_again(
        &mut self,
        scheme: Scheme,
        attempt: u32,
        redirect: Option<RobotsRequest>,
    ) {
        self.robots[scheme as usize] = RobotsState::Unknown { attempt, redirect };
    }
}
