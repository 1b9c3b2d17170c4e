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
mod host;

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
    politeness::{Addresses, Options, Pace, Signal, backoff},
    robots::{Robots, RobotsRequest},
};
use crate::{
    page::Timestamp,
    state::{DeferCause, HostId, HostRow, Queued},
};

pub(super) use budget::Budget;
pub(super) use host::Scheme;
use host::{Host, RobotsState};

/// If this many URLs of a host wait for a retry, no new one is started.
const MAX_RETRIES: usize = 16;

/// URLs in a row without a response after which a host is deferred.
const MAX_FAILURES: u32 = 10;

/// In which order hosts are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As soon as politeness permits.
    Earliest,
    /// One after the other by their stored rank, waiting where necessary: the same responses give the same order.
    RoundRobin,
}

/// How much is held in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Hosts.
    pub(super) hosts: usize,
    /// URLs of one host.
    pub(super) urls: usize,
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
    /// The budget of its seed is spent: it must be recorded, not fetched.
    pub(super) over_budget: bool,
}

/// A robots.txt to be fetched.
#[derive(Debug)]
pub(super) struct RobotsTask {
    pub(super) id: TaskId,
    pub(super) host: HostId,
    /// Name and port.
    pub(super) name: Arc<str>,
    pub(super) scheme: Scheme,
    /// Failed attempts so far.
    pub(super) attempt: u32,
    /// The request, where redirects have led.
    pub(super) request: RobotsRequest,
}

/// What to do next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Fetch this URL.
    Fetch(Arc<Task>),
    /// Fetch this robots.txt.
    FetchRobots(Arc<RobotsTask>),
    /// Load this from the state.
    Load(Query),
    /// Record that this host is deferred.
    Defer(HostId, DeferCause),
    /// Nothing before this instant, unless something is reported.
    Wait(Instant),
    /// Nothing before something is reported.
    Blocked,
    /// Nothing any more.
    Done,
}

/// What to load from the state.
#[derive(Clone, Debug)]
pub(super) enum Query {
    /// Up to `limit` URLs of this host after the sequence number `after`.
    Urls { host: HostId, after: i64, limit: usize },
    /// Up to `limit` hosts with queued URLs, after the `visited` hosts have moved to the end of the order.
    Hosts { visited: Vec<HostId>, limit: usize },
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

/// A task that has not finished.
#[derive(Debug)]
struct Running {
    host: HostId,
    started: Instant,
    /// The address whose requests it counts among, if that is known.
    address: Option<IpAddr>,
    /// Whether the request goes to another host.
    goes_elsewhere: bool,
    /// Whether the request has not ended.
    in_flight: bool,
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
    /// Hosts whose next URL waits for a budget, the rest of which is in flight.
    waiting_for_budget: Vec<HostId>,
    /// Whether the state may have hosts with queued URLs that are not here.
    has_more_hosts: bool,
    /// All hosts up to this rank that have queued URLs are here.
    loaded_up_to: i64,
    loading_hosts: bool,
    /// Evicted hosts, to be moved to the end of the order in the state.
    visited: Vec<HostId>,
    /// Deferred hosts, of which reports may still arrive: eight bytes each.
    deferred: HashSet<HostId>,
    /// Those that are to be recorded.
    deferrals: VecDeque<(HostId, DeferCause)>,
}

impl Frontier {
    /// A frontier without hosts, which begins by loading some.
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
            schedule: BinaryHeap::new(),
            ranks: BTreeSet::new(),
            running: HashMap::new(),
            last_task: 0,
            waiting_for_budget: Vec::new(),
            has_more_hosts: true,
            loaded_up_to: i64::MIN,
            loading_hosts: false,
            visited: Vec::new(),
            deferred: HashSet::new(),
            deferrals: VecDeque::new(),
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

    /// What to do now. Call it again after every step until it returns one of the last three, and after every report.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if let Some((host, cause)) = self.deferrals.pop_front() {
            return Step::Defer(host, cause);
        }
        if self.budget.is_spent() {
            return if self.running.is_empty() { Step::Done } else { Step::Blocked };
        }
        let step = match self.order {
            Order::Earliest => self.next_earliest(now),
            Order::RoundRobin => self.next_round_robin(now),
        };
        match step {
            Some(step) => step,
            None if self.is_done() => Step::Done,
            None => Step::Blocked,
        }
    }

    fn is_done(&self) -> bool {
        self.running.is_empty()
            && !self.loading_hosts
            && !self.has_more_hosts
            && self.hosts.values().all(Host::is_idle)
    }

    fn load_hosts(&mut self) -> Step {
        self.loading_hosts = true;
        let visited = std::mem::take(&mut self.visited);
        Step::Load(Query::Hosts { visited, limit: self.limits.hosts })
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
        let waits = matches!(step, None | Some(Step::Wait(_)));
        if waits && self.wants_hosts() { Some(self.load_hosts()) } else { step }
    }

    /// A step for a host that waited for a request to its address to end.
    fn next_released(&mut self, now: Instant) -> Option<Step> {
        while let Some(id) = self.addresses.release() {
            if let Some(host) = self.hosts.get_mut(&id) {
                host.waits_for_address = false;
                if let Some(step) = self.step_of(id, now) {
                    return Some(step);
                }
            }
        }
        None
    }

    /// A step for the first host in the schedule.
    fn next_scheduled(&mut self, now: Instant) -> Option<Step> {
        let full = self.is_full();
        while let Some(&Reverse((at, id))) = self.schedule.peek() {
            let host = self.hosts.get_mut(&id).filter(|host| host.scheduled == Some(at));
            if at > now && host.as_ref().is_some_and(|host| host.next_moment(full).is_some()) {
                return Some(Step::Wait(at));
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
                moment if moment > now => Some(Step::Wait(moment)),
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
        delayed.filter(|&earliest| earliest > now).min().map(Step::Wait)
    }

    /// What a host can do now, if anything. If nothing, the host is scheduled for later, or a report will schedule it.
    fn step_of(&mut self, id: HostId, now: Instant) -> Option<Step> {
        let full = self.is_full();
        let host = self.hosts.get_mut(&id)?;
        if host.waits_for_address {
            return None;
        }
        if host.next_moment(full)? > now {
            self.schedule(id);
            return None;
        }
        if full && host.is_evictable(now) {
            // To make room. If it has more to do, it is loaded again later.
            if !host.is_idle() {
                self.visited.push(id);
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
        let address = host.address.filter(|address| !address.is_loopback());
        if let Some(address) = address
            && self.addresses.is_full(address)
        {
            host.waits_for_address = true;
            self.addresses.wait_for(address, id);
            return None;
        }
        let step = self.start(id, address, now)?;
        self.schedule(id);
        Some(step)
    }

    /// Starts the next fetch of a host, or that of the robots.txt that it needs first.
    fn start(&mut self, id: HostId, address: Option<IpAddr>, now: Instant) -> Option<Step> {
        let host = self.hosts.get_mut(&id)?;
        let (queued, attempt) = host.head(now)?;
        let (seq, seed, url) = (queued.seq, queued.url.seed, queued.url.url.clone());
        let scheme = Scheme::of(&url);
        let over_budget = seed.is_some_and(|seed| self.budget.is_seed_spent(seed));
        let name = Arc::clone(&host.name);
        let known = host.robots(scheme, now);
        let robots = match known {
            _ if over_budget || !self.options.obey_robots => None,
            RobotsState::Known { robots, .. } => Some(Arc::clone(robots)),
            RobotsState::Requested => return None,
            RobotsState::Unknown { attempt, redirect } => {
                let attempt = *attempt;
                let request = redirect.take().unwrap_or_else(|| RobotsRequest::new(&url));
                *known = RobotsState::Requested;
                let task_id = self.next_id();
                let task = RobotsTask { id: task_id, host: id, name, scheme, attempt, request };
                return self.start_robots(task, address, now);
            }
        };
        if !over_budget && !self.budget.reserve(seed) {
            self.waiting_for_budget.push(id);
            return None;
        }
        let queued = host.take(seq)?;
        let task = Task { id: self.next_id(), queued, attempt, robots, over_budget };
        self.run(task.id, id, address, false, now);
        Some(Step::Fetch(Arc::new(task)))
    }

    /// Starts the fetch of a robots.txt. If a redirect has led to another host that is here, it waits for that host's delay.
    fn start_robots(
        &mut self,
        task: RobotsTask,
        own: Option<IpAddr>,
        now: Instant,
    ) -> Option<Step> {
        let target = task.request.host();
        if *target == *task.name {
            self.run(task.id, task.host, own, false, now);
            return Some(Step::FetchRobots(Arc::new(task)));
        }
        let other = self.hosts.values_mut().find(|host| *host.name == *target);
        let address = other.as_ref().and_then(|other| other.address).filter(|it| !it.is_loopback());
        if let Some(other) = other {
            let earliest = other.pace.earliest();
            if earliest > now {
                return self.start_robots_later(task, earliest);
            }
            other.pace.touch(now);
        }
        self.run(task.id, task.host, address, true, now);
        Some(Step::FetchRobots(Arc::new(task)))
    }

    fn start_robots_later(&mut self, task: RobotsTask, earliest: Instant) -> Option<Step> {
        let host = self.hosts.get_mut(&task.host)?;
        host.pace.pause_until(earliest);
        host.request_robots_again(task.scheme, task.attempt, Some(task.request));
        self.schedule(task.host);
        (self.order == Order::RoundRobin).then_some(Step::Wait(earliest))
    }

    fn next_id(&mut self) -> TaskId {
        self.last_task += 1;
        TaskId(self.last_task)
    }

    fn run(
        &mut self,
        id: TaskId,
        host: HostId,
        address: Option<IpAddr>,
        goes_elsewhere: bool,
        now: Instant,
    ) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.pace.start(now);
            host.tasks += 1;
        }
        if let Some(address) = address {
            self.addresses.start(address);
        }
        let running = Running { host, started: now, address, goes_elsewhere, in_flight: true };
        self.running.insert(id, running);
    }

    /// The recorder has answered a query.
    pub(super) fn loaded(&mut self, loaded: Loaded, now: Instant) {
        match loaded {
            Loaded::Hosts(rows) => self.loaded_hosts(&rows, now),
            Loaded::Urls(id, urls) => {
                if let Some(host) = self.hosts.get_mut(&id) {
                    host.loaded(urls, self.limits.urls);
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
        if self.deferred.contains(&row.id) {
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

    /// The request of a task has ended, with or without a response. A host that asks for too long a pause is deferred.
    pub(super) fn responded(
        &mut self,
        id: TaskId,
        address: Option<IpAddr>,
        signal: Signal,
        now: Instant,
    ) {
        self.end_request(id, now, Some((address, signal)));
        if let Signal::Overload { retry_after: Some(pause) } = signal
            && pause > self.options.max_retry_after
            && let Some(host) = self.running.get(&id).map(|running| running.host)
        {
            self.defer(host, DeferCause::RetryAfter(pause));
        }
    }

    /// The recorder has recorded what became of a URL.
    pub(super) fn recorded(&mut self, task: &Task, recorded: &Recorded, now: Instant) {
        // Before the task ends: otherwise the frontier could seem to be done.
        for host in &recorded.queued {
            self.queued(host, now);
        }
        let Some(host) = self.end_task(task.id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.failures = if recorded.unanswered { entry.failures + 1 } else { 0 };
            if let Some(rank) = recorded.rank {
                self.ranks.remove(&(entry.rank, host));
                entry.rank = rank;
                self.ranks.insert((rank, host));
            }
            if entry.failures >= MAX_FAILURES {
                self.defer(host, DeferCause::Unanswered(MAX_FAILURES));
            }
        }
        self.end_fetch(host, task, recorded.fetched);
    }

    /// A fetch must be tried again. `chance` is a random number from 0 to 1.
    pub(super) fn retry(&mut self, task: &Task, chance: f64, now: Instant) {
        let Some(host) = self.end_task(task.id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            let attempt = task.attempt + 1;
            entry.retry(task.queued.clone(), attempt, now + backoff(attempt, chance));
        }
        self.end_fetch(host, task, false);
    }

    fn end_fetch(&mut self, host: HostId, task: &Task, fetched: bool) {
        if !task.over_budget {
            self.budget.release(task.queued.url.seed, fetched);
        }
        self.schedule(host);
        for waiting in std::mem::take(&mut self.waiting_for_budget) {
            self.schedule(waiting);
        }
    }

    /// The fetch of a robots.txt has ended.
    pub(super) fn robots_fetched(&mut self, task: &RobotsTask, result: RobotsResult, now: Instant) {
        let Some(host) = self.end_task(task.id, now) else { return };
        let longest = self.options.max_crawl_delay;
        if let RobotsResult::Rules(robots, _) = &result
            && let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest)
        {
            return self.defer(host, DeferCause::CrawlDelay(delay));
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            match result {
                RobotsResult::Rules(robots, age) => entry.set_robots(task.scheme, robots, now, age),
                RobotsResult::Redirect(request) => {
                    entry.request_robots_again(task.scheme, task.attempt, Some(request));
                }
                RobotsResult::Retry { chance } => {
                    let attempt = task.attempt + 1;
                    entry.request_robots_again(task.scheme, attempt, None);
                    entry.pace.pause_until(now + backoff(attempt, chance));
                }
            }
        }
        self.schedule(host);
    }

    /// A task has finished. If its request has not ended, none was made.
    fn end_task(&mut self, id: TaskId, now: Instant) -> Option<HostId> {
        self.end_request(id, now, None);
        let host = self.running.remove(&id)?.host;
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.tasks = entry.tasks.saturating_sub(1);
        }
        Some(host)
    }

    /// Ends the request of a task once. `None` means that no request was made.
    fn end_request(&mut self, id: TaskId, now: Instant, end: Option<(Option<IpAddr>, Signal)>) {
        let Some(running) = self.running.get_mut(&id) else { return };
        if !std::mem::replace(&mut running.in_flight, false) {
            return;
        }
        let &mut Running { host, started, address: counted, goes_elsewhere, .. } = running;
        if let Some(entry) = self.hosts.get_mut(&host) {
            match end {
                Some((address, signal)) => {
                    entry.pace.end(started, now, signal);
                    entry.address = address.filter(|_| !goes_elsewhere).or(entry.address);
                }
                None => entry.pace.withdraw(started),
            }
        }
        if let Some(address) = counted {
            self.addresses.end(address);
        }
        self.schedule(host);
    }

    /// Makes no more requests to a host.
    fn defer(&mut self, id: HostId, cause: DeferCause) {
        self.remove(id);
        if self.deferred.insert(id) {
            self.deferrals.push_back((id, cause));
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

    /// Adds a host unless it is here or deferred; false if there is no room for it.
    fn add_host(&mut self, row: &HostRow, now: Instant) -> bool {
        let &HostRow { id, ref name, rank, not_before } = row;
        if self.hosts.contains_key(&id) || self.deferred.contains(&id) {
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
        let mut pace = Pace::new(self.options.delay, now);
        if let Some(until) = not_before {
            pace.pause_until(self.clock.instant_of(until));
        }
        self.hosts.insert(id, Host::new(name.as_str().into(), rank, pace, max_retries));
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
