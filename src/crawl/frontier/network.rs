//! Whether requests fail because of their hosts, or because of the network or this machine.
//!
//! An outage is suspected when several requests in a row fail at hosts that had answered before, and no host answers in between. Then the
//! robots.txt of other hosts is requested, and of some of these. If one answers, the failures were the fault of URLs or of their hosts. If
//! none does, it is an outage: nothing else is started, and hosts are asked again after growing pauses, until one answers. Pure, like the
//! frontier.
//!
//! A host that does not answer is asked again during the run, after pauses of its own.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use super::host::Host;
use crate::{crawl::politeness::Pace, state::HostId};

/// Requests in a row that fail before an outage is suspected.
const SUSPICIOUS: usize = 10;
/// Hosts that are asked at a time.
const PROBES: usize = 3;
/// The pause after the first failed probes, or after the first fault of this machine; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Everything.
    Open,
    /// The robots.txt of a suspect.
    Probe,
    /// Nothing before this instant.
    Wait(Instant),
    /// Nothing before something has ended.
    Blocked,
    /// Nothing any more: the outage has lasted too long.
    GivenUp,
}

#[derive(Debug)]
pub(super) struct Network {
    /// The longest outage that is waited for.
    max_outage: Duration,
    /// When a host answered last, if one has.
    last_answer: Option<Instant>,
    /// Requests in a row that failed at hosts that had answered before.
    failures: usize,
    /// Their hosts, each once, the one to be asked next first.
    suspects: VecDeque<HostId>,
    outage: Option<Outage>,
    /// Faults of this machine in a row, and until when nothing is started because of the last one.
    faults: u32,
    shut_until: Option<Instant>,
    /// How much may be in flight after such a fault, and how many hosts have answered since that changed.
    slots: Option<usize>,
    answers: usize,
}

/// An outage, or the suspicion of one.
#[derive(Debug)]
struct Outage {
    /// When a host answered last.
    since: Instant,
    /// Probes in flight.
    probing: usize,
    /// Probes that may still be started now.
    to_probe: usize,
    /// When they may be started.
    probe_at: Instant,
    /// The pause after the last probes; none if they have not failed yet.
    pause: Option<Duration>,
}

impl Network {
    pub(super) fn new(max_outage: Duration) -> Self {
        Self {
            max_outage,
            last_answer: None,
            failures: 0,
            suspects: VecDeque::new(),
            outage: None,
            faults: 0,
            shut_until: None,
            slots: None,
            answers: 0,
        }
    }

    /// What may be started now, beside the tasks `in_flight`.
    pub(super) fn gate(&self, in_flight: usize, now: Instant) -> Gate {
        if let Some(until) = self.shut_until.filter(|&until| until > now) {
            return Gate::Wait(until);
        }
        if self.slots.is_some_and(|slots| in_flight >= slots) {
            return Gate::Blocked;
        }
        match &self.outage {
            None => Gate::Open,
            Some(Outage { since, probing: 0, pause: Some(_), .. })
                if now >= *since + self.max_outage =>
            {
                Gate::GivenUp
            }
            Some(Outage { to_probe: 0, .. }) => Gate::Blocked,
            Some(outage) if outage.probe_at > now => Gate::Wait(outage.probe_at),
            Some(_) => Gate::Probe,
        }
    }

    /// Whether it is an outage, and not only suspected.
    pub(super) fn is_out(&self) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.pause.is_some())
    }

    /// Whether an outage is at least suspected.
    pub(super) fn is_suspicious(&self) -> bool {
        self.outage.is_some()
    }

    /// When a host answered last, if one has.
    pub(super) fn last_answer(&self) -> Option<Instant> {
        self.last_answer
    }

    /// A host has answered. If that ends an outage, returns since when no host had.
    pub(super) fn answered(&mut self, now: Instant) -> Option<Instant> {
        self.last_answer = Some(now);
        self.failures = 0;
        self.faults = 0;
        self.suspects.clear();
        // As TCP does it: one more after as many answers as there are slots.
        self.answers += 1;
        if let Some(slots) = self.slots.filter(|&slots| self.answers >= slots) {
            (self.slots, self.answers) = (Some(slots + 1), 0);
        }
        self.end_outage()
    }

    /// A request to a host that had answered before has failed.
    pub(super) fn failed(&mut self, host: HostId, now: Instant) {
        self.failures += 1;
        if !self.suspects.contains(&host) {
            self.suspects.push_back(host);
        }
        // If nothing has answered since the start, one host is no network.
        let is_network = self.last_answer.is_some() || self.suspects.len() >= PROBES;
        if self.failures >= SUSPICIOUS && is_network && self.outage.is_none() {
            let since = self.last_answer.unwrap_or(now);
            let (to_probe, probe_at) = (PROBES, now);
            self.outage = Some(Outage { since, probing: 0, to_probe, probe_at, pause: None });
        }
    }

    /// The suspects, the one to be asked next first.
    pub(super) fn suspects(&self) -> impl Iterator<Item = HostId> {
        self.suspects.iter().copied()
    }

    /// A probe of this host starts.
    pub(super) fn probe(&mut self, host: HostId) {
        if let Some(place) = self.suspects.iter().position(|&suspect| suspect == host) {
            // The others come first the next time.
            self.suspects.remove(place);
            self.suspects.push_back(host);
        }
        if let Some(outage) = &mut self.outage {
            outage.probing += 1;
            outage.to_probe -= 1;
        }
    }

    /// A probe has ended without an answer. If that confirms the outage, returns since when no host has answered.
    pub(super) fn probe_failed(&mut self, now: Instant) -> Option<Instant> {
        let outage = self.outage.as_mut()?;
        // A probe of an earlier suspicion says nothing about this one.
        outage.probing = outage.probing.checked_sub(1)?;
        if outage.probing > 0 {
            return None;
        }
        let is_new = outage.pause.is_none();
        let pause = outage.pause.map_or(FIRST_PAUSE, |pause| (2 * pause).min(LONGEST_PAUSE));
        outage.pause = Some(pause);
        outage.probe_at = now + pause;
        outage.to_probe = PROBES;
        is_new.then_some(outage.since)
    }

    /// Ends an outage without an answer. Returns since when no host has answered.
    pub(super) fn end_outage(&mut self) -> Option<Instant> {
        self.outage.take().filter(|outage| outage.pause.is_some()).map(|outage| outage.since)
    }

    /// Nobody can be asked: there is no suspicion any more.
    pub(super) fn forget(&mut self) {
        (self.failures, self.outage) = (0, None);
        self.suspects.clear();
    }

    /// This machine has failed to make one of the requests `in_flight`. Faults that come together count once.
    pub(super) fn faulted(&mut self, in_flight: usize, now: Instant) {
        if self.shut_until.is_none_or(|until| until <= now) {
            let pause = FIRST_PAUSE * (1 << self.faults.min(10));
            self.shut_until = Some(now + pause.min(LONGEST_PAUSE));
            self.faults += 1;
            (self.slots, self.answers) = (Some((in_flight / 2).max(1)), 0);
        }
    }
}

/// The pause before a host that had answered is asked again, and before one that never had; doubled each time.
const FIRST_PAUSE_OF_HOST: Duration = Duration::from_secs(15);
const FIRST_PAUSE_OF_UNKNOWN_HOST: Duration = Duration::from_mins(10);
const LONGEST_PAUSE_OF_HOST: Duration = Duration::from_hours(1);

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
        let first =
            if entry.had_answered { FIRST_PAUSE_OF_HOST } else { FIRST_PAUSE_OF_UNKNOWN_HOST };
        let pause = first * (1 << entry.times.min(10));
        self.schedule.insert((now + pause.min(LONGEST_PAUSE_OF_HOST), id));
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    /// A network on which a host has answered at `start`, and ten requests have failed since.
    fn suspicious(start: Instant) -> Network {
        let mut network = Network::new(24 * HOUR);
        assert_eq!(network.answered(start), None);
        for host in 0..10 {
            assert_eq!(network.gate(0, start), Gate::Open);
            network.failed(HostId(host % 4), start);
        }
        network
    }

    /// Starts all probes that may be started.
    fn probes(network: &mut Network, now: Instant) -> usize {
        let mut started = 0;
        while network.gate(0, now) == Gate::Probe {
            let host = network.suspects().next().unwrap();
            network.probe(host);
            started += 1;
        }
        started
    }

    #[test]
    fn an_answer_to_the_first_probe_means_that_there_was_no_outage() {
        let start = Instant::now();
        let mut network = suspicious(start);
        assert_eq!(probes(&mut network, start), PROBES);
        assert_eq!(network.gate(0, start), Gate::Blocked);
        assert_eq!(network.probe_failed(start), None);
        assert!(!network.is_out());
        assert_eq!(network.answered(start), None, "nothing is forgiven");
        assert_eq!(network.gate(0, start), Gate::Open);
    }

    #[test]
    fn hosts_are_asked_after_growing_pauses_until_one_answers() {
        let start = Instant::now();
        let mut network = suspicious(start);
        let (mut now, mut pauses) = (start, Vec::new());
        for round in 0..9 {
            assert_eq!(probes(&mut network, now), PROBES);
            let confirmed = [(); PROBES].map(|()| network.probe_failed(now));
            assert_eq!(confirmed, [None, None, (round == 0).then_some(start)]);
            let Gate::Wait(at) = network.gate(0, now) else { panic!("no pause") };
            pauses.push((at - now).as_secs());
            now = at;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(network.answered(now), Some(start));
        assert_eq!(network.gate(0, now), Gate::Open);
    }

    #[test]
    fn an_outage_is_given_up_after_the_longest_that_is_waited_for() {
        let start = Instant::now();
        let mut network = suspicious(start);
        probes(&mut network, start);
        let confirmed = [(); PROBES].map(|()| network.probe_failed(start));
        assert_eq!(confirmed[2], Some(start));
        assert_eq!(network.gate(0, start + 23 * HOUR), Gate::Probe);
        assert_eq!(network.gate(0, start + 24 * HOUR), Gate::GivenUp);
        network.probe(HostId(0));
        assert_eq!(network.gate(0, start + 24 * HOUR), Gate::Probe, "a probe is in flight");
        assert_eq!(network.end_outage(), Some(start));
    }

    #[test]
    fn one_host_is_no_network_unless_something_has_answered_since_the_start() {
        let start = Instant::now();
        for (hosts, answered, is_suspicious) in
            [(1, false, false), (2, false, false), (3, false, true), (1, true, true)]
        {
            let mut network = Network::new(HOUR);
            if answered {
                network.answered(start);
            }
            (0..20).for_each(|n| network.failed(HostId(n % hosts), start));
            assert_eq!(network.is_suspicious(), is_suspicious, "{hosts} hosts");
        }
    }

    #[test]
    fn faults_of_this_machine_close_the_gate_for_a_time() {
        let start = Instant::now();
        let mut network = Network::new(HOUR);
        (0..50).for_each(|_| network.faulted(20, start));
        assert_eq!(network.gate(0, start), Gate::Wait(start + FIRST_PAUSE));
        assert_eq!(network.gate(0, start + FIRST_PAUSE), Gate::Open);
        assert_eq!(network.gate(10, start + FIRST_PAUSE), Gate::Blocked, "half as many at a time");
        (0..10).for_each(|_| _ = network.answered(start));
        assert_eq!(network.gate(10, start + FIRST_PAUSE), Gate::Open);
        network.faults = 1;
        network.faulted(20, start + FIRST_PAUSE);
        assert_eq!(network.gate(0, start + FIRST_PAUSE), Gate::Wait(start + 3 * FIRST_PAUSE));
    }
}
