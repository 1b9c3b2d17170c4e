//! When a host may be asked again.
//!
//! Pure: the time is an argument. A delay runs from the end of one answer to the start of the next request; where several may be in
//! flight together, also from start to start.

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// The first pause of a host that asks for one without saying how long; doubled from time to time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_DOUBLING: u32 = 10;

/// How gently hosts are treated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Least time between the end of an answer and the next request to the same host.
    #[serde(with = "humantime_serde")]
    pub delay: Duration,
    /// Requests in flight to one host.
    pub per_host: NonZeroUsize,
    /// Requests in flight to one address, whatever the hosts. Loopback is exempt.
    pub per_address: NonZeroUsize,
    /// Whether robots.txt is asked for and obeyed.
    pub obey_robots: bool,
    /// A host whose robots.txt asks for a longer delay is set aside.
    #[serde(with = "humantime_serde")]
    pub max_crawl_delay: Duration,
    /// A host that asks for a longer pause by Retry-After is set aside.
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

/// What an answer said about the load of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Nothing.
    Fine,
    /// The host asks for a pause: 429, or 503.
    Overload {
        /// For how long, if it says so.
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
    /// Pauses asked for in a row.
    pauses: u32,
    paused_at: Option<Instant>,
}

impl Pace {
    pub(super) fn new(delay: Duration, now: Instant) -> Self {
        Self { delay, earliest: now, in_flight: Vec::new(), pauses: 0, paused_at: None }
    }

    /// Takes the longer of the configured and the host's own delay.
    pub(super) fn slow_down(&mut self, crawl_delay: Duration) {
        let longer = crawl_delay.saturating_sub(self.delay);
        self.earliest += longer;
        self.delay += longer;
    }

    /// The earliest instant of the next request, as far as time is concerned.
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

    /// A request that had started at `started` has ended at `now`. Of several answers in flight together that ask for a pause, only
    /// the first makes it longer.
    pub(super) fn end(&mut self, started: Instant, now: Instant, signal: Signal) {
        self.withdraw(started);
        let wait = match signal {
            Signal::Fine => {
                self.pauses = 0;
                self.delay
            }
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

    /// Somebody else asks this host once, now.
    pub(super) fn touch(&mut self, now: Instant) {
        self.pause_until(now + self.delay);
    }

    /// Nothing is asked before this instant.
    pub(super) fn pause_until(&mut self, instant: Instant) {
        self.earliest = self.earliest.max(instant);
    }

    /// What had started at `started` came to nothing: no request was made.
    pub(super) fn withdraw(&mut self, started: Instant) {
        if let Some(place) = self.in_flight.iter().position(|&instant| instant == started) {
            self.in_flight.swap_remove(place);
        }
    }
}

/// How long to wait before a request is tried again: 1 s, doubled from try to try, with jitter of up to half of it.
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
    fn the_delay_runs_from_the_end_of_the_answer() {
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
    fn an_answer_without_complaint_ends_the_doubling() {
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
