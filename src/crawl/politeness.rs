//! When a host may get its next request, and how many requests an address may have in flight.
//!
//! Pure: the time is an argument. The delay runs from the end of a response to the start of the next request. If a host may have
//! several requests in flight, it also runs from start to start. A longer Crawl-delay of robots.txt enters through `Pace::slow_down`; the
//! frontier defers hosts whose Crawl-delay or pause is longer than the configured limits.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::state::HostId;

/// The first pause of a host that asks for one without saying how long; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_DOUBLING: u32 = 10;

/// The `[politeness]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// Minimum time between the end of a response and the next request to the same host.
    #[serde(with = "humantime_serde")]
    pub delay: Duration,
    /// Requests in flight to one host.
    pub per_host: NonZeroUsize,
    /// Requests in flight to one address, over all hosts. Loopback is exempt.
    pub per_address: NonZeroUsize,
    /// Whether robots.txt is fetched and obeyed.
    pub obey_robots: bool,
    /// A host whose robots.txt asks for a longer delay is deferred.
    #[serde(with = "humantime_serde")]
    pub max_crawl_delay: Duration,
    /// A host that asks for a longer pause with Retry-After is deferred.
    #[serde(with = "humantime_serde")]
    pub max_retry_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            per_host: NonZeroUsize::MIN,
            per_address: NonZeroUsize::new(4).expect("not zero"),
            obey_robots: true,
            max_crawl_delay: Duration::from_mins(1),
            max_retry_after: Duration::from_mins(10),
        }
    }
}

/// What a response says about the load of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Nothing special.
    Fine,
    /// The host did not answer: it, or the network, is out of order.
    Unanswered,
    /// No request was made, because this machine is short of something.
    Local,
    /// Nothing is known: its name does not exist, or no request was made.
    None,
    /// The host asks for a pause: 429, or 503.
    Overload {
        /// How long, if it says so.
        retry_after: Option<Duration>,
    },
}

/// The pace of one host.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    delay: Duration,
    earliest: Instant,
    /// When the requests in flight started.
    in_flight: Vec<Instant>,
    /// Pauses in a row that the host has asked for.
    pauses: u32,
    paused_at: Option<Instant>,
}

impl Pace {
    pub(super) fn new(delay: Duration, now: Instant) -> Self {
        Self { delay, earliest: now, in_flight: Vec::new(), pauses: 0, paused_at: None }
    }

    /// Uses the longer of the configured delay and the host's own.
    pub(super) fn slow_down(&mut self, crawl_delay: Duration) {
        let longer = crawl_delay.saturating_sub(self.delay);
        self.earliest += longer;
        self.delay += longer;
    }

    /// The earliest instant of the next request.
    pub(super) fn earliest(&self) -> Instant {
        let latest = self.in_flight.iter().max();
        latest.map_or(self.earliest, |&started| self.earliest.max(started + self.delay))
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// A request starts.
    pub(super) fn start(&mut self, now: Instant) {
        self.in_flight.push(now);
    }

    /// A request that started at `started` has ended at `now`. If several responses in flight together ask for a pause, only the first
    /// one lengthens it.
    pub(super) fn end(&mut self, started: Instant, now: Instant, signal: Signal) {
        self.withdraw(started);
        let wait = match signal {
            Signal::Fine => {
                self.pauses = 0;
                self.delay
            }
            Signal::Unanswered | Signal::Local | Signal::None => self.delay,
            Signal::Overload { retry_after } => {
                if self.paused_at.is_none_or(|paused| started >= paused) {
                    self.pauses = (self.pauses + 1).min(LONGEST_DOUBLING);
                    self.paused_at = Some(now);
                }
                let pause = FIRST_PAUSE * (1 << (self.pauses.max(1) - 1));
                retry_after.unwrap_or_default().max(pause).max(self.delay)
            }
        };
        self.earliest = self.earliest.max(now + wait);
    }

    /// The host gets one request on behalf of another host.
    pub(super) fn touch(&mut self, now: Instant) {
        self.pause_until(now + self.delay);
    }

    /// Allows no request before this instant.
    pub(super) fn pause_until(&mut self, instant: Instant) {
        self.earliest = self.earliest.max(instant);
    }

    /// Forgets what started at `started`: no request was made.
    pub(super) fn withdraw(&mut self, started: Instant) {
        if let Some(place) = self.in_flight.iter().position(|&instant| instant == started) {
            self.in_flight.swap_remove(place);
        }
    }
}

/// Limits the requests in flight to each address, whichever hosts they are for, and holds the hosts that wait for an address.
#[derive(Debug)]
pub(super) struct Addresses {
    limit: usize,
    busy: HashMap<IpAddr, Address>,
    /// Addresses at which a request has ended while hosts were waiting.
    freed: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Address {
    in_flight: usize,
    waiting: VecDeque<HostId>,
}

impl Addresses {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, busy: HashMap::new(), freed: Vec::new() }
    }

    /// Whether no further request may start.
    pub(super) fn is_full(&self, address: IpAddr) -> bool {
        self.busy.get(&address).is_some_and(|busy| busy.in_flight >= self.limit)
    }

    /// A request starts.
    pub(super) fn start(&mut self, address: IpAddr) {
        self.busy.entry(address).or_default().in_flight += 1;
    }

    /// A request has ended.
    pub(super) fn end(&mut self, address: IpAddr) {
        let Some(busy) = self.busy.get_mut(&address) else { return };
        busy.in_flight = busy.in_flight.saturating_sub(1);
        if !busy.waiting.is_empty() {
            self.freed.push(address);
        } else if busy.in_flight == 0 {
            self.busy.remove(&address);
        }
    }

    /// Makes a host wait until a request to this full address has ended.
    pub(super) fn wait_for(&mut self, address: IpAddr, host: HostId) {
        self.busy.entry(address).or_default().waiting.push_back(host);
    }

    /// The host that has waited longest, if it need not wait any longer. Call it until it returns `None`: a released host may turn out
    /// to need no request.
    pub(super) fn release(&mut self) -> Option<HostId> {
        while let Some(&address) = self.freed.last() {
            if !self.is_full(address)
                && let Some(busy) = self.busy.get_mut(&address)
            {
                if let Some(host) = busy.waiting.pop_front() {
                    return Some(host);
                }
                if busy.in_flight == 0 {
                    self.busy.remove(&address);
                }
            }
            self.freed.pop();
        }
        None
    }
}

/// How long to wait before a retry: 1 s, doubled with each attempt, plus jitter of up to half of it.
///
/// `chance` is a random number from 0 to 1.
pub(super) fn backoff(attempt: u32, chance: f64) -> Duration {
    let base = FIRST_PAUSE * (1 << attempt.saturating_sub(1).min(LONGEST_DOUBLING));
    base.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_delay_runs_from_the_end_of_the_response() {
        let start = Instant::now();
        let mut pace = Pace::new(SECOND, start);
        pace.start(start);
        pace.end(start, start + 5 * SECOND, Signal::Fine);
        assert_eq!(pace.earliest(), start + 6 * SECOND);
    }

    #[test]
    fn requests_in_flight_together_start_a_delay_apart() {
        let start = Instant::now();
        let mut pace = Pace::new(SECOND, start);
        pace.start(start);
        assert_eq!(pace.earliest(), start + SECOND);
        pace.withdraw(start);
        assert_eq!(pace.earliest(), start);
    }

    #[test]
    fn a_burst_of_refusals_counts_once() {
        let start = Instant::now();
        let mut pace = Pace::new(Duration::ZERO, start);
        (0..8).for_each(|_| pace.start(start));
        (0..8)
            .for_each(|_| pace.end(start, start + SECOND, Signal::Overload { retry_after: None }));
        assert_eq!(pace.earliest(), start + 2 * SECOND);
        assert_eq!(pace.in_flight(), 0);
    }

    #[test]
    fn a_retry_after_of_zero_does_not_end_the_pause() {
        let start = Instant::now();
        let mut pace = Pace::new(Duration::ZERO, start);
        pace.end(start, start, Signal::Overload { retry_after: Some(Duration::ZERO) });
        pace.end(
            start + SECOND,
            start + SECOND,
            Signal::Overload { retry_after: Some(Duration::ZERO) },
        );
        assert_eq!(pace.earliest(), start + 3 * SECOND);
    }

    #[test]
    fn a_response_without_complaint_ends_the_doubling() {
        let start = Instant::now();
        let mut pace = Pace::new(Duration::ZERO, start);
        for second in 0..4 {
            pace.end(
                start + second * SECOND,
                start + second * SECOND,
                Signal::Overload { retry_after: None },
            );
        }
        let now = start + 100 * SECOND;
        pace.end(now, now, Signal::Fine);
        pace.end(now, now, Signal::Overload { retry_after: None });
        assert_eq!(pace.earliest(), now + SECOND);
    }

    #[test]
    fn backoff_doubles_and_jitters_upwards() {
        assert_eq!(backoff(1, 0.0), SECOND);
        assert_eq!(backoff(3, 0.0), 4 * SECOND);
        assert_eq!(backoff(3, 1.0), 6 * SECOND);
    }
}
