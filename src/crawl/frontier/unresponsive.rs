//! Unresponsive hosts: when to try them again during the run. Pure, like the frontier.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use super::host::Host;
use crate::{crawl::politeness::Pace, state::HostId};

/// The pause before a host that had answered is asked again, and before one that never had; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const FIRST_PAUSE_OF_UNKNOWN: Duration = Duration::from_mins(10);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// When a host is looked at again whose last tasks have not finished.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// A run that has nothing else to do asks a host that had answered this often before it ends.
const FINAL_PROBES: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct UnresponsiveHosts {
    hosts: HashMap<HostId, UnresponsiveHost>,
    /// When each is to be asked, unless it is being asked.
    schedule: BTreeSet<(Instant, HostId)>,
}

#[derive(Debug)]
struct UnresponsiveHost {
    name: Arc<str>,
    had_answered: bool,
    /// When it answered last since this start, if it has.
    last_answer: Option<Instant>,
    /// URLs in a row that got no response.
    failures: u32,
    /// Whether it has answered the question since it was resumed.
    probe_answered: bool,
    /// Its pace when it left the frontier: its delay goes on, and requests to it may still be in flight.
    pace: Pace,
    /// How often it was asked again.
    times: u32,
}

impl UnresponsiveHosts {
    /// A host does not answer, for the first time or again. Returns how many URLs in a row got no response before.
    pub(super) fn add(&mut self, id: HostId, host: &Host, now: Instant) -> u32 {
        let entry = self.hosts.entry(id).or_insert(UnresponsiveHost {
            name: Arc::clone(&host.name),
            had_answered: host.liveness.had_answered(),
            last_answer: host.last_answer,
            failures: host.failures.max(1),
            probe_answered: false,
            pace: host.pace.clone(),
            times: 0,
        });
        entry.pace = host.pace.clone();
        entry.probe_answered = false;
        let first = if entry.had_answered { FIRST_PAUSE } else { FIRST_PAUSE_OF_UNKNOWN };
        let pause = first * (1 << entry.times.min(10));
        self.schedule.insert((now + pause.min(LONGEST_PAUSE), id));
        entry.failures
    }

    /// If it is unresponsive: whether it had answered before, and when it did last since this start.
    pub(super) fn last_answer(&self, id: HostId) -> Option<(bool, Option<Instant>)> {
        self.hosts.get(&id).map(|host| (host.had_answered, host.last_answer))
    }

    /// Whether it is to be asked before one of its URLs is: then no URL is to blame if it does not answer.
    pub(super) fn must_be_probed(&self, id: HostId) -> bool {
        self.hosts.get(&id).is_some_and(|host| !host.probe_answered)
    }

    /// It has answered the question. One URL shows whether it is back.
    pub(super) fn probe_answered(&mut self, id: HostId) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.probe_answered = true;
        }
    }

    /// When the next host is to be asked.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.schedule.first().map(|&(at, _)| at)
    }

    /// Takes the next host that is to be asked now. A host that `is_busy` still has tasks.
    pub(super) fn next_due(
        &mut self,
        now: Instant,
        is_busy: impl Fn(HostId) -> bool,
    ) -> Option<HostId> {
        while self.next_at()? <= now {
            let (_, id) = self.schedule.pop_first()?;
            let Some(host) = self.hosts.get_mut(&id) else { continue };
            let earliest = host.pace.earliest();
            if is_busy(id) || earliest > now {
                self.schedule.insert((earliest.max(now + BUSY_RETRY), id));
                continue;
            }
            host.times += 1;
            return Some(id);
        }
        None
    }

    /// The pace of a host that is not in the frontier.
    pub(super) fn pace(&mut self, id: HostId) -> Option<&mut Pace> {
        self.hosts.get_mut(&id).map(|host| &mut host.pace)
    }

    /// The earliest instant of the next request to the host of this name, if it is unresponsive and not in the frontier.
    pub(super) fn earliest(&self, name: &str) -> Option<Instant> {
        let host = self.hosts.values().find(|host| *host.name == *name)?;
        Some(host.pace.earliest())
    }

    /// When the next host is to be asked for which the run must not end yet.
    pub(super) fn awaited(&self) -> Option<Instant> {
        let is_awaited = |id: &HostId| {
            self.hosts.get(id).is_some_and(|host| host.had_answered && host.times < FINAL_PROBES)
        };
        self.schedule.iter().find(|(_, id)| is_awaited(id)).map(|&(at, _)| at)
    }

    /// It has nothing to be fetched, and is forgotten once its delay is over.
    pub(super) fn has_nothing(&mut self, id: HostId, now: Instant) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.pace.earliest() > now {
            host.times = FINAL_PROBES;
        } else {
            self.remove(id);
        }
    }

    /// It has answered.
    pub(super) fn remove(&mut self, id: HostId) {
        self.hosts.remove(&id);
    }
}
