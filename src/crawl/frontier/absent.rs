//! Hosts that do not answer: when they are asked again while the run lasts. Pure, like the frontier.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use crate::{crawl::politeness::Pace, state::HostId};

/// The pause before a host that had answered is asked again, and before one that never had; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const FIRST_PAUSE_OF_UNKNOWN: Duration = Duration::from_mins(10);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// When a host is looked at again whose last tasks have not finished.
const BUSY: Duration = Duration::from_secs(1);

/// A run that has nothing else to do asks a host that had answered this often before it ends.
const LAST_TIMES: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct AbsentHosts {
    hosts: HashMap<HostId, Absent>,
    /// When each is to be asked, unless it is being asked.
    schedule: BTreeSet<(Instant, HostId)>,
}

#[derive(Debug)]
struct Absent {
    had_answered: bool,
    /// Its pace, unless it is in the frontier: its delay goes on, and requests to it may still be in flight.
    pace: Option<Pace>,
    /// How often it was asked again.
    times: u32,
}

impl AbsentHosts {
    /// A host does not answer, for the first time or again.
    pub(super) fn add(&mut self, id: HostId, had_answered: bool, pace: Pace, now: Instant) {
        let new = Absent { had_answered, pace: None, times: 0 };
        let absent = self.hosts.entry(id).or_insert(new);
        absent.pace = Some(pace);
        let first = if absent.had_answered { FIRST_PAUSE } else { FIRST_PAUSE_OF_UNKNOWN };
        let pause = first * (1 << absent.times.min(10));
        self.schedule.insert((now + pause.min(LONGEST_PAUSE), id));
    }

    /// Whether it is absent, and had answered before.
    pub(super) fn had_answered(&self, id: HostId) -> bool {
        self.hosts.get(&id).is_some_and(|host| host.had_answered)
    }

    /// Whether it did not answer the last time.
    pub(super) fn contains(&self, id: HostId) -> bool {
        self.hosts.contains_key(&id)
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
            let earliest = host.pace.as_ref().map_or(now, Pace::earliest);
            if is_busy(id) || earliest > now {
                self.schedule.insert((earliest.max(now + BUSY), id));
                continue;
            }
            host.times += 1;
            return Some(id);
        }
        None
    }

    /// The pace of a host that is not in the frontier.
    pub(super) fn pace(&mut self, id: HostId) -> Option<&mut Pace> {
        self.hosts.get_mut(&id)?.pace.as_mut()
    }

    /// Takes the pace of a host that comes back to the frontier.
    pub(super) fn take_pace(&mut self, id: HostId) -> Option<Pace> {
        self.hosts.get_mut(&id)?.pace.take()
    }

    /// When the next host is to be asked for which the run must not end yet.
    pub(super) fn awaited(&self) -> Option<Instant> {
        let is_awaited = |id: &HostId| {
            self.hosts.get(id).is_some_and(|host| host.had_answered && host.times < LAST_TIMES)
        };
        self.schedule.iter().find(|(_, id)| is_awaited(id)).map(|&(at, _)| at)
    }

    /// It has answered, or has nothing to be fetched.
    pub(super) fn remove(&mut self, id: HostId) {
        self.hosts.remove(&id);
    }
}
