//! Whether requests fail because of their hosts, or because of the network or this machine.
//!
//! Each host has a breaker of its own ([`HostHealth`](super::HostHealth)). This one is of the network: it opens when several requests in a row
//! fail at hosts that had answered until then, and no host answers in between. While it is open, one request is made at a time, after
//! growing pauses, to a URL that is due anyway. An answer closes it, and what failed meanwhile was no host's fault. Pure, like the schedule.

use std::time::{Duration, Instant};

use crate::crawl::politeness::doubled;

/// Requests in a row that fail before it is an outage.
const SUSPICIOUS: u32 = 10;
/// The first pause; each further one is twice as long, up to the longest of a host, or of the network and this machine.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_OF_HOST: Duration = Duration::from_hours(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The pause before a host is asked again after so many requests in a row without an answer.
pub(super) fn pause_after(failures: u32) -> Duration {
    doubled(failures).min(LONGEST_OF_HOST)
}

fn longer(pause: Option<Duration>) -> Duration {
    pause.map_or(FIRST_PAUSE, |pause| (2 * pause).min(LONGEST_PAUSE))
}

/// What may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Everything.
    Open,
    /// One request, to whichever host.
    One,
    /// Nothing before this instant.
    Wait(Instant),
    /// Nothing before something has ended.
    Blocked,
}

#[derive(Debug)]
pub(super) struct Network {
    /// When a host answered last, or the start.
    last_answer: Instant,
    has_answered: bool,
    /// Requests in a row since then that failed at hosts that had answered until then.
    failures: u32,
    /// The pause of an outage, and when the next request may be made.
    outage: Option<(Duration, Instant)>,
    /// The pause after the last fault of this machine, if none of its requests was answered since, and when it ends.
    fault: Option<(Duration, Instant)>,
    /// How much may be in flight after such a fault, and how many hosts have answered since that changed.
    slots: Option<usize>,
    answers: usize,
}

impl Network {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            last_answer: start,
            has_answered: false,
            failures: 0,
            outage: None,
            fault: None,
            slots: None,
            answers: 0,
        }
    }

    /// What may be started now, beside the tasks `in_flight`.
    pub(super) fn gate(&self, in_flight: usize, now: Instant) -> Gate {
        match (self.fault, self.outage) {
            (Some((_, until)), _) if until > now => Gate::Wait(until),
            _ if self.slots.is_some_and(|slots| in_flight >= slots) => Gate::Blocked,
            (_, None) => Gate::Open,
            (_, Some(_)) if in_flight > 0 => Gate::Blocked,
            (_, Some((_, until))) if until > now => Gate::Wait(until),
            (_, Some(_)) => Gate::One,
        }
    }

    /// Whether it is an outage.
    pub(super) fn is_out(&self) -> bool {
        self.outage.is_some()
    }

    /// Whether the first request of an outage has failed too.
    pub(super) fn is_lasting(&self) -> bool {
        self.outage.is_some_and(|(pause, _)| pause > FIRST_PAUSE)
    }

    /// When a host answered last; the start, if none has.
    pub(super) fn last_answer(&self) -> Instant {
        self.last_answer
    }

    /// Whether a host has answered within this time.
    pub(super) fn has_answered_within(&self, time: Duration, now: Instant) -> bool {
        self.has_answered && self.last_answer + time > now
    }

    /// A host has answered. Returns whether that ends an outage.
    pub(super) fn answered(&mut self, now: Instant) -> bool {
        (self.last_answer, self.has_answered) = (now, true);
        (self.failures, self.fault) = (0, None);
        // As TCP does it: one more after as many answers as there are slots.
        self.answers += 1;
        if let Some(slots) = self.slots.filter(|&slots| self.answers >= slots) {
            (self.slots, self.answers) = (Some(slots + 1), 0);
        }
        self.outage.take().is_some()
    }

    /// No host that is left answers: it is an outage as far as anybody can tell. Returns when the next request may be made.
    pub(super) fn suspect(&mut self, now: Instant) -> Instant {
        self.outage.get_or_insert((FIRST_PAUSE, now + FIRST_PAUSE)).1
    }

    /// A request has failed at a host that had answered until the last answer of all. Whether such hosts are enough for an outage, `is_network`
    /// says.
    pub(super) fn failed(&mut self, is_network: bool, now: Instant) {
        self.failures += 1;
        if let Some((pause, _)) = self.outage {
            let pause = longer(Some(pause));
            self.outage = Some((pause, now + pause));
        } else if is_network && self.failures >= SUSPICIOUS {
            self.outage = Some((FIRST_PAUSE, now + FIRST_PAUSE));
        }
    }

    /// A request of an outage has ended in a way that says nothing: another one is made.
    pub(super) fn undecided(&mut self, now: Instant) {
        if let Some((pause, _)) = self.outage {
            self.outage = Some((pause, now + pause));
        }
    }

    /// This machine has failed to make one of the requests `in_flight`. Faults that come together count once.
    pub(super) fn faulted(&mut self, in_flight: usize, now: Instant) {
        if self.fault.is_none_or(|(_, until)| until <= now) {
            let pause = longer(self.fault.map(|(pause, _)| pause));
            self.fault = Some((pause, now + pause));
            (self.slots, self.answers) = (Some((in_flight / 2).max(1)), 0);
        }
    }
}
