//! One host of the schedule: its pace, its health, its robots.txt.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::health::pause_after;
use crate::{
    crawl::{
        politeness::Pace,
        robots::{Robots, RobotsRequest, VALID},
    },
    page::NormalUrl,
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
    /// It must be requested: for the first time, or where a redirect has led.
    Unknown(Option<RobotsRequest>),
    /// A request is in flight.
    Requested,
    /// Its rules, and until when they are valid.
    Known { robots: Arc<Robots>, until: Instant },
}

/// Why a host may not answer the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It has not answered yet.
    Unknown,
    /// It did not answer the last request.
    Silent,
}

/// Whether a host answers: the breaker of its requests. After one without an answer there is a pause, twice as long each time, and then one
/// request, to the next of its URLs. An answer ends that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) struct HostHealth {
    /// Whether it has ever answered, in this run or an earlier start of it.
    pub(in crate::crawl) had_answered: bool,
    /// When its last response came since this start.
    pub(in crate::crawl) last_answer: Option<Instant>,
    /// Requests in a row that got no answer. Those that were in flight together count once.
    pub(in crate::crawl) failures: u32,
    /// When the first of them ended that did not reach the host, and when the last one of all did.
    pub(in crate::crawl) failing_since: Option<Instant>,
    pub(in crate::crawl) last_failure: Option<Instant>,
    /// When it may be asked again.
    pub(in crate::crawl) asked_from: Option<Instant>,
    /// Faults of this machine in a row at its requests.
    pub(in crate::crawl) faults: u32,
}

impl HostHealth {
    pub(in crate::crawl) fn new(had_answered: bool) -> Self {
        Self {
            had_answered,
            last_answer: None,
            failures: 0,
            failing_since: None,
            last_failure: None,
            asked_from: None,
            faults: 0,
        }
    }

    pub(super) fn doubt(&self) -> Option<Doubt> {
        match (self.failures, self.had_answered) {
            (0, true) => None,
            (0, false) => Some(Doubt::Unknown),
            _ => Some(Doubt::Silent),
        }
    }

    /// It has answered, with a response at this instant or by breaking the connection.
    pub(super) fn answered(&mut self, response: Option<Instant>) {
        let last_answer = response.or(self.last_answer);
        *self = Self { last_answer, ..Self::new(self.had_answered || response.is_some()) };
    }

    /// A request that started then got no answer, though it may have reached the host.
    pub(super) fn failed(&mut self, started: Instant, was_reached: bool, now: Instant) {
        if self.last_failure.is_none_or(|at| started >= at) {
            self.failures += 1;
            self.last_failure = Some(now);
            if !was_reached {
                self.failing_since.get_or_insert(now);
            }
            self.asked_from = Some(now + pause_after(self.failures));
        }
    }

    /// Forgets failures that were not its fault.
    pub(super) fn forgive(&mut self) {
        let Self { had_answered, last_answer, faults, .. } = *self;
        *self = Self { last_answer, faults, ..Self::new(had_answered) };
    }
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: Arc<str>,
    pub(super) pace: Pace,
    pub(super) health: HostHealth,
    /// Where the last response came from.
    pub(super) address: Option<IpAddr>,
    /// Tasks that have not finished.
    pub(super) tasks: usize,
    /// Its instant in the schedule, if it is there.
    pub(super) scheduled: Option<Instant>,
    /// Whether it waits for the pace of its group, for a budget, or for another request to end: to its address, for its robots.txt, or to a
    /// host that may not answer.
    pub(super) waits: bool,
    /// Whether URLs of it are queued.
    pub(super) has_urls: bool,
    /// How many of them may still be requested before it makes room, if others wait for that.
    pub(super) share: usize,
    robots: [RobotsState; 2],
}

impl Host {
    pub(super) fn new(name: Arc<str>, pace: Pace, had_answered: bool) -> Self {
        Self {
            name,
            pace,
            health: HostHealth::new(had_answered),
            address: None,
            tasks: 0,
            scheduled: None,
            waits: false,
            has_urls: true,
            share: 0,
            robots: [RobotsState::Unknown(None), RobotsState::Unknown(None)],
        }
    }

    /// The earliest instant of its next request.
    pub(super) fn earliest(&self) -> Instant {
        let pace = self.pace.earliest();
        self.health.asked_from.map_or(pace, |at| at.max(pace))
    }

    /// Whether it can be forgotten: nothing of it is in flight, its delay is over, and nothing is known of it that matters.
    pub(super) fn is_evictable(&self, now: Instant) -> bool {
        self.tasks == 0 && self.health.failures == 0 && self.earliest() <= now
    }

    /// What is known of the robots.txt for this scheme, if it is still valid.
    pub(super) fn robots(&mut self, scheme: Scheme, now: Instant) -> &mut RobotsState {
        let robots = &mut self.robots[scheme as usize];
        if matches!(robots, RobotsState::Known { until, .. } if *until <= now) {
            *robots = RobotsState::Unknown(None);
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
}
