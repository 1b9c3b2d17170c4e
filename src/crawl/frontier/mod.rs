//! Which URL is fetched next.
//!
//! A queue for each host, and the hosts ordered by the earliest instant of their next polite request: either the first one is due, or
//! none is (the workbench of BUbiNG: Boldi, Marino, Santini, Vigna, WWW 2014). The queues are in the state. The frontier holds the next
//! few URLs of some hosts, bounded by [`Limits`], and loads others when it has room.
//!
//! Pure: it owns no socket, task or clock. [`Frontier::next`] returns what to do; the caller does it and reports the result.
//!
//! The recorder's reports arrive in the order in which it changed and read the state. So a URL whose queueing is reported after a load was
//! not part of that load.

mod budget;
mod groups;
mod host;
mod network;

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use url::Url;

use super::{
    politeness::{Addresses, Options, Pace, RequestEnd, backoff},
    robots::{Robots, RobotsRequest},
};
use crate::{
    page::Timestamp,
    state::{HostId, HostRow, Queued, SuspendCause},
};

pub(super) use budget::Budget;
pub(super) use host::Scheme;

use groups::{Group, Groups};
use host::{Doubt, Host, Liveness, RobotsState};
use network::UnresponsiveHosts;
use network::{Gate, Network};

/// If this many URLs of a host wait for a retry, no new one is started.
const MAX_RETRIES: usize = 16;

/// URLs in a row without a response after which a host is suspended.
const MAX_FAILURES: u32 = 10;

/// Faults of this machine in a row at one host after which they count as failures: then it is something about the host's address.
const MAX_FAULTS: u32 = 16;

/// The longest time for the head of a response from a host that has never answered, or not the last time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The same while most slots are needed by others. Only requests that wait longer than this count as waiting.
const SHORT_HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// If a host has answered within this time, slots are kept for hosts that answer.
const RECENT: Duration = Duration::from_secs(10);

/// In which order hosts are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As soon as politeness permits.
    Earliest,
    /// One after the other by their stored rank, waiting where necessary: the same responses give the same order.
    RoundRobin,
}

/// How much is held in memory, and how much is in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Hosts.
    pub(super) hosts: usize,
    /// URLs of one host.
    pub(super) urls: usize,
    /// Requests in flight.
    pub(super) requests: usize,
}

/// The time of day at an instant, to convert timestamps to instants.
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

/// The number of a task, by which its end is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TaskId(u64);

/// A URL to be fetched.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) queued: Queued,
    /// Failed attempts so far.
    pub(super) attempt: u32,
    /// The rules of robots.txt; `None` if it is not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    /// The longest time until the head of the response, if it is limited.
    pub(super) head_timeout: Option<Duration>,
}

#[cfg(test)]
impl Task {
    /// A task of a recorder without a frontier.
    pub(super) fn for_tests(queued: Queued) -> Self {
        let id = TaskId(0);
        Self { id, queued, attempt: 0, robots: None, head_timeout: None }
    }
}

/// A robots.txt to be fetched.
#[derive(Debug)]
pub(super) struct RobotsTask {
    pub(super) id: TaskId,
    /// Name and port.
    pub(super) name: Arc<str>,
    pub(super) scheme: Scheme,
    /// Failed attempts so far.
    pub(super) attempt: u32,
    /// The request, where redirects have led.
    pub(super) request: RobotsRequest,
    /// The longest time until the head of the response, if it is limited.
    pub(super) head_timeout: Option<Duration>,
}

/// A host to be asked whether it answers.
#[derive(Debug)]
pub(super) struct ProbeTask {
    pub(super) id: TaskId,
    /// Its robots.txt, or its first page if robots.txt is not obeyed.
    pub(super) url: Url,
    /// Whether the network is in doubt, not the host.
    of_network: bool,
}

/// Failures that are not to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FailuresSince {
    /// Of this host, or of all.
    pub(super) host: Option<HostId>,
    /// Since this instant, or since the start.
    pub(super) since: Option<Instant>,
}

/// What to do next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Fetch this URL.
    Fetch(Arc<Task>),
    /// Record that the budget of this URL's seed is spent.
    OverBudget(Arc<Task>),
    /// Fetch this robots.txt.
    FetchRobots(Arc<RobotsTask>),
    /// Load this from the state.
    Load(Query),
    /// Ask a host whether it answers.
    Probe(Arc<ProbeTask>),
    /// Record that this host is suspended.
    Suspend(HostId, SuspendCause),
    /// Record that this host is not suspended any more, and load it.
    Resume(HostId),
    /// Queue URLs again that have failed.
    TakeBackFailures(FailuresSince),
    /// Nothing can be done now.
    Idle(Idle),
}

/// How long nothing can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Until this instant, unless something is reported.
    Until(Instant),
    /// Until something is reported.
    Blocked,
    /// For ever: nothing is left.
    Done,
}

/// What to load from the state.
#[derive(Clone, Debug)]
pub(super) enum Query {
    /// Up to `limit` URLs of this host after the sequence number `after`.
    Urls { host: HostId, after: i64, limit: usize },
    /// Up to `limit` hosts with queued URLs, after the `evicted` hosts have moved to the end of the order.
    Hosts { evicted: Vec<HostId>, limit: usize },
}

/// The answer to a [`Query`]. If it has fewer rows than the limit, the state has no more.
#[derive(Clone, Debug)]
pub(super) enum Loaded {
    Urls(HostId, Vec<Queued>),
    Hosts(Vec<HostRow>),
}

/// What the recorder reports of a URL that it has recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    /// The hosts of the URLs that were queued because of it.
    pub(super) queued: Vec<HostRow>,
    /// It is a page that was received with status 2xx.
    pub(super) fetched: bool,
    /// It has failed, and may be queued again before the run ends.
    pub(super) failed: bool,
    /// It got no response at all.
    pub(super) unanswered: bool,
    /// The new rank of its host, in round-robin order.
    pub(super) rank: Option<i64>,
}

/// What a request for robots.txt led to.
#[derive(Clone, Debug)]
pub(super) enum RobotsResult {
    /// The rules, and the time since they were received.
    Rules(Arc<Robots>, Duration),
    /// It must be requested elsewhere.
    Redirect(RobotsRequest),
    /// It must be requested again.
    Retry {
        /// A random number from 0 to 1.
        chance: f64,
    },
}

/// What the request of a task is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A URL, or the robots.txt that it needs.
    Fetch,
    /// None is made: the URL is recorded as over its budget.
    OverBudget,
    /// Only whether the host answers.
    Probe,
}

/// A task that has not finished.
#[derive(Debug)]
struct Running {
    host: HostId,
    started: Instant,
    /// Name and port of the host that gets the request.
    target: Arc<str>,
    /// Whether that is another host.
    goes_elsewhere: bool,
    /// The address whose requests it counts among, if that is known.
    address: Option<IpAddr>,
    /// The group whose pace it keeps.
    group: Group,
    /// Whether the request has not ended.
    in_flight: bool,
    /// Whether a failure counts as an attempt.
    counts: bool,
    purpose: Purpose,
    /// The longest time until the head of the response, if its host may not answer.
    head_timeout: Option<Duration>,
}

/// Requests in flight to hosts that may not answer, and the hosts that wait for such requests to end.
#[derive(Debug, Default)]
struct Doubtful {
    in_flight: usize,
    /// Those of them that may wait long.
    slow: usize,
    /// Hosts that have not been asked.
    unknown: VecDeque<HostId>,
    /// Hosts that did not answer.
    silent: VecDeque<HostId>,
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
    /// Hosts by the instant at which they can do something. An entry that differs from the host's own `scheduled` is out of date.
    schedule: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// All hosts by rank.
    ranks: BTreeSet<(i64, HostId)>,
    running: HashMap<TaskId, Running>,
    last_task: u64,
    addresses: Addresses,
    groups: Groups,
    network: Network,
    unresponsive: UnresponsiveHosts,
    doubtful: Doubtful,
    /// Hosts whose next URL waits for a budget, the rest of which is in flight.
    waiting_for_budget: Vec<HostId>,
    /// Whether the state may have hosts with queued URLs that are not here.
    has_more_hosts: bool,
    /// All hosts up to this rank that have queued URLs are here.
    loaded_up_to: i64,
    loading_hosts: bool,
    /// Evicted hosts, to be moved to the end of the order in the state.
    evicted: Vec<HostId>,
    /// Suspended hosts, of which reports may still arrive: eight bytes each.
    suspended: HashSet<HostId>,
    /// What is to be recorded: suspended hosts, and failures that are not to be counted.
    orders: VecDeque<Step>,
    /// Answers to [`Step::TakeBackFailures`] and [`Step::Resume`] that have not arrived.
    awaited: usize,
}

impl Frontier {
    /// A frontier without hosts, which begins by loading some.
    pub(super) fn new(
        options: Options,
        order: Order,
        limits: Limits,
        budget: Budget,
        max_outage: Duration,
        clock: Clock,
    ) -> Self {
        Self {
            network: Network::new(max_outage),
            unresponsive: UnresponsiveHosts::default(),
            doubtful: Doubtful::default(),
            awaited: 0,
            addresses: Addresses::new(options.per_address.get()),
            groups: Groups::new(options.clone()),
            options,
            clock,
            order,
            limits,
            budget,
            hosts: HashMap::new(),
            schedule: BinaryHeap::new(),
            ranks: BTreeSet::new(),
            running: HashMap::new(),
            last_task: 0,
            waiting_for_budget: Vec::new(),
            has_more_hosts: true,
            loaded_up_to: i64::MIN,
            loading_hosts: false,
            evicted: Vec::new(),
            suspended: HashSet::new(),
            orders: VecDeque::new(),
        }
    }

    /// Tasks that have not finished.
    pub(super) fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// Whether the run's budget is spent.
    pub(super) fn is_budget_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Hosts that have something to do.
    pub(super) fn active_hosts(&self) -> usize {
        self.hosts.values().filter(|host| !host.is_idle()).count()
    }

    /// What to do now. Call it again after every step until it returns [`Step::Idle`], and after every report.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if let Some(order) = self.orders.pop_front() {
            self.awaited += usize::from(matches!(order, Step::TakeBackFailures(_)));
            return order;
        }
        if self.budget.is_spent() {
            return Step::Idle(if self.running.is_empty() { Idle::Done } else { Idle::Blocked });
        }
        if let Some(step) = self.pass_gate(now) {
            return step;
        }
        let is_busy = |id| self.running.values().any(|running| running.host == id);
        if let Some(host) = self.unresponsive.next_due(now, is_busy) {
            self.awaited += 1;
            return Step::Resume(host);
        }
        let step = match self.order {
            Order::Earliest => self.next_earliest(now),
            Order::RoundRobin => self.next_round_robin(now),
        };
        let later = self.unresponsive.next_at().into_iter().chain(self.groups.next_due()).min();
        Step::Idle(match step {
            Some(Step::Idle(Idle::Until(at))) => {
                Idle::Until(later.map_or(at, |later| at.min(later)))
            }
            Some(step) => return step,
            None if self.is_done() => Idle::Done,
            None => later.map_or(Idle::Blocked, Idle::Until),
        })
    }

    /// What the state of the network demands before anything else may be started.
    fn pass_gate(&mut self, now: Instant) -> Option<Step> {
        Some(Step::Idle(match self.network.gate(self.running.len(), now) {
            Gate::Open => return None,
            Gate::Probe => return self.next_probe(now),
            Gate::Wait(at) => Idle::Until(at),
            Gate::GivenUp if self.running.is_empty() => Idle::Done,
            Gate::Blocked | Gate::GivenUp => Idle::Blocked,
        }))
    }

    /// Asks the next host whether it answers, once politeness permits. Hosts that have not failed go first: if one of them answers, the
    /// network is in order.
    fn next_probe(&mut self, now: Instant) -> Option<Step> {
        let most = self.options.per_host.get();
        let group = |host: &Host| self.groups.of(&host.name, host.address);
        let is_full = |host: &Host| {
            let address = host.address.filter(|address| !address.is_loopback());
            address.is_some_and(|address| self.addresses.is_full(address))
                || self.groups.is_full(&group(host))
        };
        let earliest = |host: &Host| {
            let shared = self.groups.earliest(&group(host));
            let all = shared.into_iter().chain(self.groups.earliest_by_name(&host.name));
            all.fold(host.pace.earliest(), Instant::max)
        };
        let is_free = |host: &Host| host.pace.in_flight() < most && !is_full(host);
        let may_start = |host: &Host| is_free(host) && earliest(host) <= now;
        // The Crawl-delay of a host that has not been asked is not known: it gets one request.
        let is_sound = |host: &Host| match host.liveness {
            Liveness::Answers => true,
            Liveness::Unknown => host.tasks == 0,
            Liveness::Silent | Liveness::Stopped => false,
        };
        let sound = self.hosts.iter().find(|(_, host)| is_sound(host) && may_start(host));
        let suspect = |id: &HostId| self.hosts.get(id).is_some_and(may_start);
        let found = sound.map(|(&id, _)| id).or_else(|| self.network.suspects().find(suspect));
        if let Some(id) = found {
            return self.probe(id, None, now);
        }
        let suspects = self.network.suspects().filter_map(|id| self.hosts.get(&id));
        let others = self.hosts.values().filter(|host| is_sound(host));
        let later = suspects.chain(others).filter(|host| is_free(host));
        match later.map(earliest).min() {
            Some(at) => Some(Step::Idle(Idle::Until(at))),
            None if self.running.is_empty() => {
                self.network.forget();
                None
            }
            None => Some(Step::Idle(Idle::Blocked)),
        }
    }

    /// Asks a host whether it answers; without `head_timeout`, because the network is in doubt.
    fn probe(&mut self, id: HostId, head_timeout: Option<Duration>, now: Instant) -> Option<Step> {
        let host = self.hosts.get(&id)?;
        let path = if self.options.obey_robots { "/robots.txt" } else { "/" };
        let (url, name) = (host.url(path)?, Arc::clone(&host.name));
        let of_network = head_timeout.is_none();
        if of_network {
            self.network.probe(id);
        }
        let task = ProbeTask { id: self.next_id(), url, of_network };
        self.run(task.id, Purpose::Probe, id, name, head_timeout, now);
        Some(Step::Probe(Arc::new(task)))
    }

    /// Whether it waits for the network to come back.
    pub(super) fn is_out(&self) -> bool {
        self.network.is_out()
    }

    /// If it ends during an outage: the failures that are not to be counted.
    pub(super) fn end_outage(&mut self) -> Option<FailuresSince> {
        self.network.end_outage().map(|since| FailuresSince { host: None, since: Some(since) })
    }

    fn is_done(&self) -> bool {
        self.running.is_empty()
            && self.awaited == 0
            && self.orders.is_empty()
            && self.unresponsive.awaited().is_none()
            && !self.loading_hosts
            && !self.has_more_hosts
            && self.hosts.values().all(Host::is_idle)
    }

    fn load_hosts(&mut self) -> Step {
        self.loading_hosts = true;
        let evicted = std::mem::take(&mut self.evicted);
        Step::Load(Query::Hosts { evicted, limit: self.limits.hosts })
    }

    fn wants_hosts(&self) -> bool {
        self.has_more_hosts && !self.loading_hosts && self.hosts.len() * 2 <= self.limits.hosts
    }

    /// Whether hosts must make room for others.
    fn is_full(&self) -> bool {
        self.has_more_hosts && self.order == Order::Earliest
    }

    fn next_earliest(&mut self, now: Instant) -> Option<Step> {
        if self.wants_hosts() {
            return Some(self.load_hosts());
        }
        let step = self.next_released(now).or_else(|| self.next_scheduled(now));
        // Evictions may have made room.
        let waits = matches!(step, None | Some(Step::Idle(Idle::Until(_))));
        if waits && self.wants_hosts() { Some(self.load_hosts()) } else { step }
    }

    /// A step for a host that waited for a request to end, or for the pace of its group.
    fn next_released(&mut self, now: Instant) -> Option<Step> {
        while let Some(id) = (self.addresses.release())
            .or_else(|| self.groups.release(now))
            .or_else(|| self.next_with_room(now))
        {
            if let Some(host) = self.hosts.get_mut(&id) {
                host.waits = false;
                if let Some(step) = self.step_of(id, now) {
                    return Some(step);
                }
            }
        }
        None
    }

    /// A host that waited for room among the requests that may get no answer, if there is room now.
    fn next_with_room(&mut self, now: Instant) -> Option<HostId> {
        if self.has_room(Doubt::Silent, now)
            && let Some(id) = self.doubtful.silent.pop_front()
        {
            return Some(id);
        }
        if self.has_room(Doubt::Unknown, now) { self.doubtful.unknown.pop_front() } else { None }
    }

    /// Whether a request may start to a host that may not answer. While there are hosts that answer, a quarter of the slots is kept for
    /// them, or half if they need it; and the others get an eighth for requests that may wait long. While there are none, a quarter.
    fn has_room(&self, doubt: Doubt, now: Instant) -> bool {
        let recent = self.network.last_answer().is_some_and(|at| at + RECENT > now);
        match doubt {
            Doubt::Unknown => {
                let all = self.limits.requests;
                let answering = self.running.len().saturating_sub(self.doubtful.in_flight);
                let kept = (2 * answering).clamp(all / 4, all / 2);
                !recent || self.doubtful.in_flight < (all - kept).max(1)
            }
            Doubt::Silent => self.doubtful.slow < self.max_slow_requests(recent),
        }
    }

    /// How many requests may wait long for hosts that may not answer.
    fn max_slow_requests(&self, recent: bool) -> usize {
        (self.limits.requests / if recent { 8 } else { 4 }).max(1)
    }

    /// How long the next request may wait for the head of the response.
    fn head_timeout(&self, liveness: Liveness, now: Instant) -> Option<Duration> {
        let others_wait = !self.doubtful.silent.is_empty() || !self.doubtful.unknown.is_empty();
        let is_short = || others_wait || !self.has_room(Doubt::Silent, now);
        Some(match liveness.doubt()? {
            Doubt::Unknown if is_short() => SHORT_HEAD_TIMEOUT,
            Doubt::Unknown | Doubt::Silent => HEAD_TIMEOUT,
        })
    }

    /// A step for the first host in the schedule.
    fn next_scheduled(&mut self, now: Instant) -> Option<Step> {
        let full = self.is_full();
        while let Some(&Reverse((at, id))) = self.schedule.peek() {
            let host = self.hosts.get_mut(&id).filter(|host| host.scheduled == Some(at));
            if at > now && host.as_ref().is_some_and(|host| host.next_moment(full).is_some()) {
                return Some(Step::Idle(Idle::Until(at)));
            }
            self.schedule.pop();
            let Some(host) = host else { continue };
            host.scheduled = None;
            if let Some(step) = self.step_of(id, now) {
                return Some(step);
            }
        }
        None
    }

    /// A step for the lowest-ranked host with queued URLs, here or in the state. Nothing is started while anything runs.
    fn next_round_robin(&mut self, now: Instant) -> Option<Step> {
        if !self.running.is_empty() || self.loading_hosts {
            return None;
        }
        let is_busy = |id| self.hosts.get(id).is_some_and(|host| !host.is_idle());
        let first = self.ranks.iter().find(|(_, id)| is_busy(id)).copied();
        match first.filter(|&(rank, _)| rank <= self.loaded_up_to) {
            Some((_, id)) => match self.hosts.get(&id)?.next_moment(false)? {
                moment if moment > now => Some(Step::Idle(Idle::Until(moment))),
                _ => self.step_of(id, now),
            },
            None if self.has_more_hosts => self.load_next_ranks(now),
            None => None,
        }
    }

    /// A host in the state comes before all that are here: these make room, but not before their delay is over.
    fn load_next_ranks(&mut self, now: Instant) -> Option<Step> {
        self.remove_hosts(|host| host.is_reloadable(now));
        if self.hosts.len() < self.limits.hosts {
            return Some(self.load_hosts());
        }
        let delayed = self.hosts.values().map(|host| host.pace.earliest());
        let earliest = delayed.filter(|&earliest| earliest > now).min();
        earliest.map(|at| Step::Idle(Idle::Until(at)))
    }

    /// What a host can do now, if anything. If nothing, the host is scheduled for later, or a report will schedule it.
    fn step_of(&mut self, id: HostId, now: Instant) -> Option<Step> {
        let full = self.is_full();
        let host = self.hosts.get_mut(&id)?;
        if host.waits {
            return None;
        }
        if host.next_moment(full)? > now {
            self.schedule(id);
            return None;
        }
        if full && host.is_evictable(now) {
            // To make room. If it has more to do, it is loaded again later.
            if !host.is_idle() {
                self.evicted.push(id);
            }
            self.remove(id);
            return None;
        }
        if host.wants_urls(self.limits.urls, full) {
            host.loading = true;
            let (after, limit) = (host.last_seq(), self.limits.urls);
            self.schedule(id);
            return Some(Step::Load(Query::Urls { host: id, after, limit }));
        }
        if host.pace.in_flight() >= self.options.per_host.get() || host.may_be_dead(MAX_FAILURES) {
            return None;
        }
        if let Some(doubt) = host.liveness.doubt()
            && !self.has_room(doubt, now)
        {
            self.wait_for_room(id, doubt);
            return None;
        }
        let step = self.start(id, now)?;
        self.schedule(id);
        Some(step)
    }

    fn wait_for_room(&mut self, id: HostId, doubt: Doubt) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.waits = true;
            match doubt {
                Doubt::Silent => self.doubtful.silent.push_back(id),
                Doubt::Unknown => self.doubtful.unknown.push_back(id),
            }
        }
    }

    /// Starts the next fetch of a host, or that of the robots.txt that it needs first.
    fn start(&mut self, id: HostId, now: Instant) -> Option<Step> {
        let head_timeout = self.head_timeout(self.hosts.get(&id)?.liveness, now);
        let host = self.hosts.get_mut(&id)?;
        if self.unresponsive.must_be_probed(id) {
            let name = Arc::clone(&host.name);
            return match self.wait_for(id, &name, now) {
                Ok(()) => self.probe(id, head_timeout, now),
                Err(step) => step,
            };
        }
        let (queued, attempt) = host.head(now)?;
        let (seq, seed, url) = (queued.seq, queued.url.seed, queued.url.url.clone());
        let scheme = Scheme::of(&url);
        let name = Arc::clone(&host.name);
        if seed.is_some_and(|seed| self.budget.is_seed_spent(seed)) {
            let queued = host.take(seq)?;
            let task =
                Task { id: self.next_id(), queued, attempt, robots: None, head_timeout: None };
            self.run(task.id, Purpose::OverBudget, id, name, None, now);
            return Some(Step::OverBudget(Arc::new(task)));
        }
        host.scheme = scheme;
        let known = host.robots(scheme, now);
        let robots = match known {
            _ if !self.options.obey_robots => None,
            RobotsState::Known { robots, .. } => Some(Arc::clone(robots)),
            RobotsState::Requested => return None,
            RobotsState::Unknown { attempt, redirect } => {
                let attempt = *attempt;
                let request = redirect.clone().unwrap_or_else(|| RobotsRequest::new(&url));
                let target: Arc<str> = request.host().into();
                if let Err(step) = self.wait_for(id, &target, now) {
                    return step;
                }
                *self.hosts.get_mut(&id)?.robots(scheme, now) = RobotsState::Requested;
                let host = id;
                let id = self.next_id();
                self.run(id, Purpose::Fetch, host, target, head_timeout, now);
                let task = RobotsTask { id, name, scheme, attempt, request, head_timeout };
                return Some(Step::FetchRobots(Arc::new(task)));
            }
        };
        if let Err(step) = self.wait_for(id, &name, now) {
            return step;
        }
        if !self.budget.reserve(seed) {
            self.waiting_for_budget.push(id);
            return None;
        }
        let queued = self.hosts.get_mut(&id)?.take(seq)?;
        let task = Task { id: self.next_id(), queued, attempt, robots, head_timeout };
        self.run(task.id, Purpose::Fetch, id, name, head_timeout, now);
        Some(Step::Fetch(Arc::new(task)))
    }

    /// Makes a host wait if its next request, which goes to `target`, must not start yet. The error is the step that remains, if any does.
    fn wait_for(&mut self, id: HostId, target: &str, now: Instant) -> Result<(), Option<Step>> {
        let (address, group, by_name) = self.destination(id, target);
        let is_later = |at: &Instant| *at > now;
        let by_group = self.groups.earliest(&group).filter(is_later);
        let by_name = by_name.filter(is_later);
        if self.order == Order::RoundRobin {
            return by_name
                .max(by_group)
                .map_or(Ok(()), |at| Err(Some(Step::Idle(Idle::Until(at)))));
        }
        let Some(host) = self.hosts.get_mut(&id) else { return Err(None) };
        if by_group.is_some() || self.groups.is_full(&group) {
            host.waits = true;
            self.groups.wait_for(&group, id, by_group, now);
        } else if let Some(at) = by_name {
            host.pace.pause_until(at);
            self.schedule(id);
        } else if let Some(address) = address.filter(|&address| self.addresses.is_full(address)) {
            host.waits = true;
            self.addresses.wait_for(address, id);
        } else {
            return Ok(());
        }
        Err(None)
    }

    /// Where a request of a host goes to: the address if it is limited, the group, and when the target permits it by what is known of it
    /// apart from its group.
    fn destination(&self, id: HostId, target: &str) -> (Option<IpAddr>, Group, Option<Instant>) {
        let own = self.hosts.get(&id).filter(|host| *host.name == *target);
        let other = || self.hosts.values().find(|host| *host.name == *target);
        let host = own.or_else(other);
        let address = host.and_then(|host| host.address);
        let other = match host {
            Some(_) if own.is_some() => None,
            Some(other) => Some(other.pace.earliest()),
            None => self.unresponsive.earliest(target),
        };
        let earliest = other.max(self.groups.earliest_by_name(target));
        let group = self.groups.of(target, address);
        (address.filter(|address| !address.is_loopback()), group, earliest)
    }

    fn next_id(&mut self) -> TaskId {
        self.last_task += 1;
        TaskId(self.last_task)
    }

    fn run(
        &mut self,
        id: TaskId,
        purpose: Purpose,
        host: HostId,
        target: Arc<str>,
        head_timeout: Option<Duration>,
        now: Instant,
    ) {
        let (address, group, _) = self.destination(host, &target);
        let mut goes_elsewhere = false;
        if let Some(host) = self.hosts.get_mut(&host) {
            host.pace.start(now);
            host.tasks += 1;
            goes_elsewhere = *host.name != *target;
            let delay = if goes_elsewhere { Duration::ZERO } else { host.pace.delay() };
            self.groups.start(&group, delay, now);
        }
        if let Some(address) = address {
            self.addresses.start(address);
        }
        self.doubtful.in_flight += usize::from(head_timeout.is_some());
        self.doubtful.slow += usize::from(head_timeout == Some(HEAD_TIMEOUT));
        let running = Running {
            host,
            started: now,
            target,
            goes_elsewhere,
            address,
            group,
            in_flight: true,
            counts: true,
            purpose,
            head_timeout,
        };
        self.running.insert(id, running);
    }

    /// The recorder has answered a query.
    pub(super) fn loaded(&mut self, loaded: Loaded, now: Instant) {
        match loaded {
            Loaded::Hosts(rows) => self.loaded_hosts(&rows, now),
            Loaded::Urls(id, urls) => {
                if let Some(host) = self.hosts.get_mut(&id) {
                    host.loaded(urls, self.limits.urls);
                    self.suspend_if_unresponsive(id, now);
                    self.schedule(id);
                }
            }
        }
    }

    fn loaded_hosts(&mut self, rows: &[HostRow], now: Instant) {
        self.loading_hosts = false;
        let added = rows.iter().take_while(|row| self.add_host(row, now)).count();
        self.has_more_hosts = added < rows.len() || rows.len() >= self.limits.hosts;
        if !self.has_more_hosts {
            self.loaded_up_to = i64::MAX;
        } else if let Some(last) = rows[..added].last() {
            self.loaded_up_to = last.rank;
        }
        self.schedule_all();
    }

    /// A URL of this host was queued.
    fn queued(&mut self, row: &HostRow, now: Instant) {
        if let Some(host) = self.hosts.get_mut(&row.id) {
            host.has_more = true;
            return self.schedule(row.id);
        }
        if self.suspended.contains(&row.id) {
            return;
        }
        if !self.has_more_hosts && self.hosts.len() >= self.limits.hosts {
            self.remove_hosts(|host| host.is_idle() && host.is_evictable(now));
        }
        if self.has_more_hosts || !self.add_host(row, now) {
            // It stays in the state, to be loaded when there is room.
            self.loaded_up_to = self.loaded_up_to.min(row.rank - 1);
            if !std::mem::replace(&mut self.has_more_hosts, true) {
                self.schedule_all();
            }
        }
    }

    /// The request of a task has ended, with or without a response. A host that asks for too long a pause is suspended.
    pub(super) fn responded(&mut self, id: TaskId, end: RequestEnd, now: Instant) {
        self.end_request(id, now, Some(end));
        match end {
            RequestEnd::Response(_) => self.answered(id, now),
            RequestEnd::Overload { retry_after, .. } => {
                self.answered(id, now);
                if let Some(pause) = retry_after.filter(|&it| it > self.options.max_retry_after)
                    && let Some(host) = self.running.get(&id).map(|running| running.host)
                {
                    self.suspend(host, SuspendCause::RetryAfter(pause));
                }
            }
            // That says little about the network.
            RequestEnd::Broken => {
                let failures = self.host_answered(id, None);
                self.orders.extend(failures.map(Step::TakeBackFailures));
            }
            RequestEnd::Unanswered => self.not_answered(id, now),
            RequestEnd::Local => self.faulted(id, now),
            RequestEnd::Unknown => {}
        }
    }

    /// A host has answered the request of this task.
    fn answered(&mut self, id: TaskId, now: Instant) {
        let running = self.running.get(&id).filter(|running| !running.goes_elsewhere);
        let host = running.map(|running| running.host);
        let mut failures = self.host_answered(id, Some(now));
        if !self.network.is_suspicious() {
            self.network.answered(now);
            self.orders.extend(failures.map(Step::TakeBackFailures));
            return;
        }
        let suspects: Vec<_> = self.network.suspects().collect();
        let outage = self.network.answered(now);
        if let Some(since) = outage {
            self.hosts.values_mut().for_each(Host::forgive);
            failures = Some(FailuresSince { host: None, since: Some(since) });
        }
        self.orders.extend(failures.map(Step::TakeBackFailures));
        let by_suspect = host.is_some_and(|host| suspects.contains(&host));
        let is_unresponsive = |id: &HostId| match outage {
            // Another host answers: it is the fault of these.
            Some(_) => !by_suspect && suspects.contains(id),
            None => self.hosts[id].is_unresponsive(MAX_FAILURES),
        };
        let unresponsive: Vec<_> = self.hosts.keys().copied().filter(is_unresponsive).collect();
        for id in unresponsive {
            self.suspend_unresponsive(id, now);
        }
        if outage.is_some() {
            self.schedule_all();
        }
    }

    /// The host of this task has answered, at this instant if it was a response. If some of its URLs had failed because it did not, returns
    /// what is not to be counted.
    fn host_answered(&mut self, id: TaskId, response: Option<Instant>) -> Option<FailuresSince> {
        let running = self.running.get(&id).filter(|running| !running.goes_elsewhere)?;
        let (id, purpose) = (running.host, running.purpose);
        let host = self.hosts.get_mut(&id)?;
        if purpose == Purpose::Probe {
            self.unresponsive.probe_answered(id);
            return None;
        }
        self.unresponsive.remove(id);
        let since = host.last_answer;
        host.answered(response).then_some(FailuresSince { host: Some(id), since })
    }

    fn not_answered(&mut self, id: TaskId, now: Instant) {
        if let Some(running) = self.running.get(&id)
            && !running.goes_elsewhere
            && let Some(host) = self.hosts.get_mut(&running.host)
        {
            host.liveness = host.liveness.unanswered();
            if host.liveness.had_answered() {
                self.network.failed(running.host, now);
            }
        }
    }

    /// This machine failed to make the request of this task.
    fn faulted(&mut self, id: TaskId, now: Instant) {
        if let Some(running) = self.running.get_mut(&id)
            && let Some(host) = self.hosts.get_mut(&running.host)
        {
            host.faults += 1;
            running.counts = host.faults > MAX_FAULTS;
        }
        self.network.faulted(self.running.len(), now);
    }

    /// A probe has ended.
    pub(super) fn probed(&mut self, task: &ProbeTask, now: Instant) {
        let Some(Running { host, .. }) = self.end_task(task.id, now) else { return };
        if task.of_network {
            if let Some(since) = self.network.probe_failed(now) {
                self.orders.push_back(Step::TakeBackFailures(FailuresSince {
                    host: None,
                    since: Some(since),
                }));
            }
            // It may have waited for this task only.
            self.schedule(host);
        } else if self.unresponsive.must_be_probed(host) {
            self.suspend_unresponsive(host, now);
        } else {
            self.schedule(host);
        }
    }

    /// The recorder has queued failed URLs of these hosts again.
    pub(super) fn failures_taken_back(&mut self, hosts: &[HostRow], now: Instant) {
        self.awaited = self.awaited.saturating_sub(1);
        for row in hosts {
            if let Some(host) = self.hosts.get_mut(&row.id) {
                host.forget_missing_robots();
            }
            self.queued(row, now);
        }
    }

    /// The recorder has resumed a host, which is here unless it has nothing to be fetched.
    pub(super) fn resumed(&mut self, id: HostId, host: Option<&HostRow>, now: Instant) {
        self.awaited = self.awaited.saturating_sub(1);
        self.suspended.remove(&id);
        match host {
            Some(host) => self.queued(host, now),
            None => self.unresponsive.has_nothing(id, now),
        }
    }

    /// The recorder has recorded what became of a URL.
    pub(super) fn recorded(&mut self, task: &Task, recorded: &Recorded, now: Instant) {
        // Before the task ends: otherwise the frontier could seem to be done.
        for host in &recorded.queued {
            self.queued(host, now);
        }
        let Some(Running { host, purpose, .. }) = self.end_task(task.id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.failures += u32::from(recorded.unanswered);
            if let Some(rank) = recorded.rank {
                self.ranks.remove(&(entry.rank, host));
                entry.rank = rank;
                self.ranks.insert((rank, host));
            }
        } else if recorded.unanswered
            && let Some((true, since)) = self.unresponsive.last_answer(host)
        {
            // It was suspended meanwhile, for failures of others of its URLs.
            let lately = FailuresSince { host: Some(host), since };
            self.orders.push_back(Step::TakeBackFailures(lately));
        }
        self.suspend_if_unresponsive(host, now);
        self.end_fetch(host, purpose, task, recorded.fetched);
    }

    /// Suspends a host that does not answer, unless it is to turn out whose fault that is.
    fn suspend_if_unresponsive(&mut self, id: HostId, now: Instant) {
        let is_unresponsive =
            self.hosts.get(&id).is_some_and(|host| host.is_unresponsive(MAX_FAILURES));
        if is_unresponsive && !self.network.is_suspicious() {
            self.suspend_unresponsive(id, now);
        }
    }

    /// A host does not answer: it is asked again later. If it had answered, the URLs that failed meanwhile are queued again.
    fn suspend_unresponsive(&mut self, id: HostId, now: Instant) {
        let Some(host) = self.hosts.get(&id) else { return };
        let lately = FailuresSince { host: Some(id), since: host.last_answer };
        let had_answered = host.liveness.had_answered();
        let failures = self.unresponsive.add(id, host, now);
        if had_answered {
            self.suspend(id, SuspendCause::Stopped(failures));
            self.orders.push_back(Step::TakeBackFailures(lately));
        } else {
            self.suspend(id, SuspendCause::Unanswered(failures));
        }
    }

    /// A fetch must be tried again. `chance` is a random number from 0 to 1.
    pub(super) fn retry(&mut self, task: &Task, chance: f64, now: Instant) {
        let Some(Running { host, counts, purpose, .. }) = self.end_task(task.id, now) else {
            return;
        };
        let attempt = task.attempt + u32::from(counts && !self.network.is_out());
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.retry(task.queued.clone(), attempt, now + backoff(attempt, chance));
        }
        self.end_fetch(host, purpose, task, false);
    }

    fn end_fetch(&mut self, host: HostId, purpose: Purpose, task: &Task, fetched: bool) {
        if purpose == Purpose::Fetch {
            self.budget.release(task.queued.url.seed, fetched);
        }
        self.schedule(host);
        for waiting in std::mem::take(&mut self.waiting_for_budget) {
            self.schedule(waiting);
        }
    }

    /// The fetch of a robots.txt has ended.
    pub(super) fn robots_fetched(&mut self, task: &RobotsTask, result: RobotsResult, now: Instant) {
        let Some(Running { host, counts, .. }) = self.end_task(task.id, now) else { return };
        let longest = self.options.max_crawl_delay;
        if let RobotsResult::Rules(robots, _) = &result
            && let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest)
        {
            return self.suspend(host, SuspendCause::CrawlDelay(delay));
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            match result {
                RobotsResult::Rules(robots, age) => {
                    entry.set_robots(task.scheme, robots, now, age);
                    let group = self.groups.of(&entry.name, entry.address);
                    self.groups.slow_down(&group, entry.pace.delay());
                }
                RobotsResult::Redirect(request) => {
                    entry.request_robots_again(task.scheme, task.attempt, Some(request));
                }
                RobotsResult::Retry { chance } => {
                    let attempt = task.attempt + u32::from(counts && !self.network.is_out());
                    entry.request_robots_again(task.scheme, attempt, None);
                    entry.pace.pause_until(now + backoff(attempt, chance));
                }
            }
        }
        self.schedule(host);
    }

    /// A task has finished. If its request has not ended, none was made.
    fn end_task(&mut self, id: TaskId, now: Instant) -> Option<Running> {
        self.end_request(id, now, None);
        let running = self.running.remove(&id)?;
        if let Some(entry) = self.hosts.get_mut(&running.host) {
            entry.tasks = entry.tasks.saturating_sub(1);
        }
        Some(running)
    }

    /// Ends the request of a task once. `None` means that no request was made.
    fn end_request(&mut self, id: TaskId, now: Instant, end: Option<RequestEnd>) {
        let Some(running) = self.running.get_mut(&id) else { return };
        if !std::mem::replace(&mut running.in_flight, false) {
            return;
        }
        let Running { host, started, goes_elsewhere, address: counted, head_timeout, .. } =
            *running;
        self.doubtful.in_flight -= usize::from(head_timeout.is_some());
        self.doubtful.slow -= usize::from(head_timeout == Some(HEAD_TIMEOUT));
        let address = end.and_then(RequestEnd::address);
        let to = match address {
            Some(_) => self.groups.of(&running.target, address),
            None => running.group.clone(),
        };
        self.groups.end(&running.group, &to, started, now, end);
        let pace = match self.hosts.get_mut(&host) {
            Some(entry) => {
                entry.address = address.filter(|_| !goes_elsewhere).or(entry.address);
                Some(&mut entry.pace)
            }
            None => self.unresponsive.pace(host),
        };
        match (pace, end) {
            (Some(pace), Some(end)) => pace.end(started, now, end),
            (Some(pace), None) => pace.withdraw(started),
            (None, _) => {}
        }
        if let Some(address) = counted {
            self.addresses.end(address);
        }
        self.schedule(host);
    }

    /// Makes no more requests to a host.
    fn suspend(&mut self, id: HostId, cause: SuspendCause) {
        self.remove(id);
        if self.suspended.insert(id) {
            self.orders.push_back(Step::Suspend(id, cause));
        }
    }

    /// Schedules a host for the instant at which it can do something.
    fn schedule(&mut self, id: HostId) {
        let full = self.is_full();
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if self.order == Order::Earliest
            && let Some(moment) = host.next_moment(full)
            && host.scheduled.is_none_or(|scheduled| moment < scheduled)
        {
            host.scheduled = Some(moment);
            self.schedule.push(Reverse((moment, id)));
        }
    }

    /// Schedules all hosts, after it has changed whether they must make room.
    fn schedule_all(&mut self) {
        let ids: Vec<_> = self.hosts.keys().copied().collect();
        for id in ids {
            self.schedule(id);
        }
    }

    /// Adds a host unless it is here or suspended; false if there is no room for it.
    fn add_host(&mut self, row: &HostRow, now: Instant) -> bool {
        let &HostRow { id, ref name, rank, not_before, has_answered } = row;
        if self.hosts.contains_key(&id) || self.suspended.contains(&id) {
            return true;
        }
        if self.hosts.len() >= self.limits.hosts {
            return false;
        }
        self.ranks.insert((rank, id));
        let max_retries = match self.order {
            Order::Earliest => MAX_RETRIES,
            Order::RoundRobin => 1,
        };
        let pace = self.unresponsive.pace(id).cloned();
        let mut pace = pace.unwrap_or_else(|| Pace::new(&self.options, now));
        if let Some(until) = not_before {
            pace.pause_until(self.clock.instant_of(until));
        }
        let mut host = Host::new(name.as_str().into(), rank, pace, has_answered, max_retries);
        if let Some((had_answered, last_answer)) = self.unresponsive.last_answer(id) {
            // One request shows whether it answers again.
            host.liveness = if had_answered { Liveness::Stopped } else { Liveness::Silent };
            (host.failures, host.last_answer) = (MAX_FAILURES - 1, last_answer);
        }
        self.hosts.insert(id, host);
        self.schedule(id);
        true
    }

    fn remove(&mut self, id: HostId) {
        if let Some(host) = self.hosts.remove(&id) {
            self.ranks.remove(&(host.rank, id));
        }
    }

    fn remove_hosts(&mut self, is_removed: impl Fn(&Host) -> bool) {
        let ranks = &mut self.ranks;
        let removed = self.hosts.extract_if(|_, host| is_removed(host));
        removed.for_each(|(id, host)| _ = ranks.remove(&(host.rank, id)));
    }
}
