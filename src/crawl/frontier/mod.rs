//! Which URL is fetched next.
//!
//! A queue for each host, and the hosts in the order of the earliest instant at which they may politely be asked: the head can be
//! fetched now, or nothing can (the workbench of BUbiNG: Boldi, Marino, Santini, Vigna, WWW 2014). The queues themselves lie in
//! the state; here are only the next few URLs of some hosts, bounded by [`Limits`]. The rest is loaded when there is room.
//!
//! Pure: it owns no socket, task or clock. [`Frontier::next`] says what to do; whoever does it [reports](self::reports) back.

mod addresses;
mod begin;
mod budget;
mod host;
mod reports;
mod turn;

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    politeness::Options,
    robots::{Inquiry, Robots},
};
use crate::{
    page::Timestamp,
    state::{Cause, HostId, Queued},
};

use addresses::Addresses;
pub(super) use budget::Budget;
use host::Host;
pub(super) use host::Scheme;
pub(super) use reports::Ending;

/// URLs of one host that may wait to be tried again before no other of it is begun.
const MAX_RETRIES: usize = 16;

/// URLs in a row without an answer after which a host is set aside.
const MAX_FAILURES: u32 = 10;

/// In which order hosts are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As soon as politeness permits.
    Clock,
    /// One after the other by their stored turn, waiting where that is needed: the same answers give the same order.
    Turn,
}

/// How much is held in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Hosts.
    pub(super) hosts: usize,
    /// URLs of one host.
    pub(super) urls: usize,
}

/// What the time of day was at an instant: by it timestamps become instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) instant: Instant,
    pub(super) time: Timestamp,
}

impl Clock {
    fn instant_of(self, at: Timestamp) -> Instant {
        let later = at.0.saturating_sub(self.time.0);
        self.instant + Duration::from_millis(u64::try_from(later).unwrap_or(0))
    }
}

/// The number of something that was begun and has to be reported back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TaskId(u64);

/// A URL to be fetched.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) queued: Queued,
    /// Name and port of its host.
    pub(super) host: Arc<str>,
    /// Tries so far that failed.
    pub(super) attempt: u32,
    /// What robots.txt says; `None` if it is not asked.
    pub(super) robots: Option<Arc<Robots>>,
    /// The budget of its seed is spent: it is to be recorded, not fetched.
    pub(super) over_budget: bool,
}

/// A robots.txt to be asked for.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) host: HostId,
    /// Name and port.
    pub(super) name: Arc<str>,
    pub(super) scheme: Scheme,
    /// Tries so far that failed.
    pub(super) attempt: u32,
    /// Where redirects have led to, if there were any.
    pub(super) moved: Option<Inquiry>,
}

impl Ask {
    /// Name and port of the host that is asked, if it is another.
    fn elsewhere(&self) -> Option<String> {
        self.moved.as_ref().map(Inquiry::host).filter(|host| **host != *self.name)
    }
}

/// What to do next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Fetch this URL.
    Fetch(TaskId, Task),
    /// Ask for this robots.txt.
    Ask(TaskId, Ask),
    /// Set this host aside in the state.
    SetAside(HostId, Cause),
    /// Load up to `limit` URLs of this host, those behind place `after`.
    LoadUrls { host: HostId, after: i64, limit: usize },
    /// End the turn of these hosts, then load up to `limit` hosts that have URLs waiting.
    LoadHosts { ended: Vec<HostId>, limit: usize },
    /// Nothing before this instant, unless something is reported.
    Wait(Instant),
    /// Nothing before something is reported.
    Blocked,
    /// Nothing any more.
    Done,
}

/// What was begun and has not been reported back.
#[derive(Debug)]
struct Running {
    host: HostId,
    started: Instant,
    /// Where the request goes, if that is known and counted.
    address: Option<IpAddr>,
    /// The request has not ended.
    asking: bool,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Fetch(Task),
    Ask(Ask),
}

/// Which URL is fetched next; see the [module](self).
#[derive(Debug)]
pub(super) struct Frontier {
    options: Options,
    clock: Clock,
    order: Order,
    limits: Limits,
    budget: Budget,
    hosts: HashMap<HostId, Host>,
    /// Hosts by the instant at which it is worth looking at them. What a host does not say itself of where it stands is out of date.
    ready: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// All hosts by their turn.
    turns: BTreeSet<(i64, HostId)>,
    /// Steps that need no polite moment.
    errands: VecDeque<Step>,
    running: HashMap<TaskId, Running>,
    last_task: u64,
    addresses: Addresses,
    /// Hosts whose next URL waits until a budget, all of which is in flight, comes back.
    stalled: Vec<HostId>,
    /// Whether the state may have hosts waiting that are not here, and the tick at which the latest was left there.
    dormant: bool,
    left_at: u64,
    /// All hosts with this turn or a lower one that have URLs waiting are here.
    loaded_turn: i64,
    loading_hosts: bool,
    /// Hosts whose turn has ended, for the state to know.
    ended: Vec<HostId>,
    /// Hosts that are set aside, of which reports may still be on their way: eight bytes each.
    aside: HashSet<HostId>,
}

impl Frontier {
    /// A frontier that knows of no host yet and begins by loading some.
    pub(super) fn new(
        options: Options,
        order: Order,
        limits: Limits,
        budget: Budget,
        clock: Clock,
    ) -> Self {
        Self {
            addresses: Addresses::new(options.per_address.get()),
            options,
            clock,
            order,
            limits,
            budget,
            hosts: HashMap::new(),
            ready: BinaryHeap::new(),
            turns: BTreeSet::new(),
            errands: VecDeque::new(),
            running: HashMap::new(),
            last_task: 0,
            stalled: Vec::new(),
            dormant: true,
            left_at: 0,
            loaded_turn: i64::MIN,
            loading_hosts: false,
            ended: Vec::new(),
            aside: HashSet::new(),
        }
    }

    /// Whether the run's budget is spent.
    pub(super) fn is_budget_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Hosts that have something to do.
    pub(super) fn active_hosts(&self) -> usize {
        self.hosts.values().filter(|host| !host.is_idle()).count()
    }

    /// Says what to do now. It is called again after every step, until it says to wait, and after every report.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if let Some(errand) = self.errands.pop_front() {
            return errand;
        }
        if self.budget.is_spent() {
            return if self.running.is_empty() { Step::Done } else { Step::Blocked };
        }
        let step = match self.order {
            Order::Clock => self.next_by_clock(now),
            Order::Turn => self.next_by_turn(now),
        };
        match step {
            Some(step) => step,
            None if self.is_done() => Step::Done,
            None => Step::Blocked,
        }
    }

    fn load_hosts(&mut self) -> Step {
        self.loading_hosts = true;
        Step::LoadHosts { ended: std::mem::take(&mut self.ended), limit: self.limits.hosts }
    }

    fn wants_hosts(&self) -> bool {
        self.dormant && !self.loading_hosts && self.hosts.len() * 2 <= self.limits.hosts
    }

    /// Whether hosts must make room for others.
    fn is_crowded(&self) -> bool {
        self.dormant && self.order == Order::Clock
    }

    fn is_done(&self) -> bool {
        self.running.is_empty()
            && !self.loading_hosts
            && !self.dormant
            && self.hosts.values().all(Host::is_idle)
    }

    fn next_by_clock(&mut self, now: Instant) -> Option<Step> {
        if self.wants_hosts() {
            return Some(self.load_hosts());
        }
        let step = self.next_released(now).or_else(|| self.next_ready(now));
        // Hosts that have rested may have made room by now.
        let waits = matches!(step, None | Some(Step::Wait(_)));
        if waits && self.wants_hosts() { Some(self.load_hosts()) } else { step }
    }

    /// What can be done for hosts that waited for a request to their address to end.
    fn next_released(&mut self, now: Instant) -> Option<Step> {
        while let Some(id) = self.addresses.release() {
            if let Some(host) = self.hosts.get_mut(&id) {
                host.parked = false;
                if let Some(step) = self.step_of(id, now) {
                    return Some(step);
                }
            }
        }
        None
    }

    fn next_ready(&mut self, now: Instant) -> Option<Step> {
        let crowded = self.is_crowded();
        while let Some(&Reverse((at, id))) = self.ready.peek() {
            let host = self.hosts.get_mut(&id).filter(|host| host.listed == Some(at));
            if at > now && host.as_ref().is_some_and(|host| host.next_moment(crowded).is_some()) {
                return Some(Step::Wait(at));
            }
            self.ready.pop();
            let Some(host) = host else { continue };
            host.listed = None;
            if let Some(step) = self.step_of(id, now) {
                return Some(step);
            }
        }
        None
    }

    /// What can be done for a host now, if anything. If nothing, the host is listed for a later instant, or a report will list it.
    fn step_of(&mut self, id: HostId, now: Instant) -> Option<Step> {
        let crowded = self.is_crowded();
        let host = self.hosts.get_mut(&id)?;
        if host.parked {
            return None;
        }
        if host.next_moment(crowded)? > now {
            self.list(id);
            return None;
        }
        if crowded && host.is_forgettable(now) {
            self.rest(id);
            return None;
        }
        if host.wants_urls(self.limits.urls, crowded) {
            host.loading = true;
            let (after, limit) = (host.last_seq(), self.limits.urls);
            self.list(id);
            return Some(Step::LoadUrls { host: id, after, limit });
        }
        if host.pace.in_flight() >= self.options.per_host.get() || host.may_be_dead(MAX_FAILURES) {
            return None;
        }
        let address = host.address.filter(|address| !address.is_loopback());
        if let Some(address) = address
            && self.addresses.is_full(address)
        {
            host.parked = true;
            self.addresses.park(address, id);
            return None;
        }
        let step = self.begin(id, address, now)?;
        self.list(id);
        Some(step)
    }

    /// Lets a host go that is used up, to come again in its turn: hosts that are being looked for meanwhile may come without it.
    fn rest(&mut self, id: HostId) {
        let Some(host) = self.forget(id) else { return };
        if !host.is_idle() {
            self.ended.push(id);
            self.left_at = self.left_at.max(host.left_at());
        }
    }
}
