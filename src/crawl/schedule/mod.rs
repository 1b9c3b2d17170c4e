//! Which host is asked next.
//!
//! The hosts are ordered by the earliest instant of their next polite request: either the first one is due, or none is (the workbench of
//! BUbiNG: Boldi, Marino, Santini, Vigna, WWW 2014). The queues of their URLs are the engine's. The schedule holds some hosts, bounded by
//! [`Limits`], and asks for others when it has room; and the URLs that wait for another attempt.
//!
//! A host waits for one reason at a time: its pace or the pause after a request without an answer (both are an instant in the heap), its group
//! or address, a budget, or room among the requests to hosts that may not answer. Whatever ends the wait steps it again.
//!
//! Pure: it owns no socket, task, queue or clock. [`Schedule::next`] returns what to do; the engine does it and reports the result.

mod budget;
mod health;
mod host;

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque},
    fmt,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    politeness::{Addresses, Group, Groups, Options, Pace, RequestEnd},
    robots::{Robots, RobotsRequest},
};
use crate::{
    page::{Timestamp, about, counted},
    report::minute,
    state::{HostId, HostRow, Queued, SuspendCause, UrlId},
};

pub(super) use budget::Budget;
pub(super) use host::{HostHealth, Scheme};

use health::{Gate, Network};
use host::{Doubt, Host, RobotsState};

/// Faults of this machine in a row at one host after which they count as failures: then it is something about the host's address.
const MAX_FAULTS: u32 = 16;

/// The longest time for the head of a response from a host that has never answered, or not the last time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The same while most slots are needed by others. Only requests that wait longer than this count as waiting.
const SHORT_HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// If a host has answered within this time, slots are kept for hosts that answer.
const RECENT: Duration = Duration::from_secs(10);

/// So many hosts that stop answering together are an outage; or all that have answered lately, if they are fewer. If none has since the start,
/// these are hosts that had answered before it.
const NETWORK: usize = 3;

/// A host that needs more time for what is queued holds a run up; one that refuses so many requests in a row gives no pages. So many are named.
const HOLDS_UP: Duration = Duration::from_mins(1);
const REFUSALS: u32 = 3;
const SLOWEST: usize = 10;
const NAMED_EVERY: Duration = Duration::from_secs(1);

/// What counts as lately, before the last answer of all.
const LATELY: Duration = Duration::from_mins(10);

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
    /// URLs of one host, while others wait for room.
    pub(super) urls: usize,
    /// Requests in flight.
    pub(super) requests: usize,
}

/// How long a run waits for hosts that do not answer, if nothing else is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For those that had not answered before others did, since the last useful answer.
    pub(super) give_up_after: Duration,
    /// For all, if they stopped answering together, since the last answer.
    pub(super) max_outage: Duration,
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

    fn time_of(self, at: Instant) -> Timestamp {
        self.time + at.saturating_duration_since(self.instant)
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
    /// The rules of robots.txt; `None` if it is not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    /// The longest time until the head of the response, if it is limited.
    pub(super) head_timeout: Option<Duration>,
}

#[cfg(test)]
impl Task {
    /// A task of an engine without a schedule.
    pub(super) fn for_tests(queued: Queued) -> Self {
        Self { id: TaskId(0), queued, robots: None, head_timeout: None }
    }
}

/// A robots.txt to be fetched, for a URL.
#[derive(Debug)]
pub(super) struct RobotsTask {
    pub(super) id: TaskId,
    pub(super) queued: Queued,
    /// Name and port.
    pub(super) name: Arc<str>,
    pub(super) scheme: Scheme,
    /// The request, where redirects have led.
    pub(super) request: RobotsRequest,
    /// The longest time until the head of the response, if it is limited.
    pub(super) head_timeout: Option<Duration>,
}

impl RobotsTask {
    /// The scheme, name and port to which it applies.
    pub(super) fn root_url(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), self.name)
    }
}

/// What the next request of a host is.
#[derive(Debug)]
pub(super) enum Start {
    /// That of the URL.
    Fetch(Task),
    /// That of the robots.txt that it needs first.
    Robots(RobotsTask),
    /// None: the budget of the URL's seed is spent.
    OverBudget(Queued),
    /// None yet: the host waits.
    Wait(Queued),
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// This host may get a request: [start](Schedule::start) one for the next of its URLs.
    Ask(HostId),
    /// [Add](Schedule::add) the next host with queued URLs; in round-robin order, the one whose turn it is.
    Load,
    /// This host has made room for others. If it has URLs, it comes back later.
    Evicted(HostId),
    /// It is time for another attempt: put this URL back into the queue of its host.
    Due(HostId, UrlId),
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
    /// For ever: nothing is left, or nothing that is waited for.
    Done,
}

/// What a run waits for that has nothing else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For any host to answer.
    Outage { until: Instant },
    /// For so many hosts that do not answer.
    Hosts { hosts: usize, until: Instant },
    /// For another attempt at so many URLs.
    Attempts { urls: usize },
    /// For the pace of hosts.
    Pace,
}

/// A host that holds the run up or refuses requests, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlowHost {
    pub(super) name: Arc<str>,
    pub(super) urls: usize,
    /// About how long they take; how much of that passes before the next request, and when that is.
    pub(super) left: Duration,
    pub(super) waits: Duration,
    pub(super) next_at: Timestamp,
    /// The time between two requests, and why it is so long.
    pub(super) interval: Duration,
    pub(super) cause: SlowCause,
}

/// Why the next request of a host is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlowCause {
    /// So many requests in a row had no answer.
    Unanswered(u32),
    /// It has asked for a pause.
    Pause,
    /// It has refused so many requests in a row.
    Refused(u32),
    /// Its robots.txt asks for the delay.
    CrawlDelay,
    /// It answers slowly.
    Responses,
    /// It has many URLs.
    Delay,
}

impl fmt::Display for SlowHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, urls, left, waits, next_at, interval, cause } = self;
        let (urls, left, waits) = (counted(*urls, "URL"), about(*left), about(*waits));
        let interval = interval.as_secs_f64();
        write!(f, "{name}: {urls}, about {left}, ")?;
        match cause {
            SlowCause::Unanswered(requests) => {
                let requests = counted(*requests, "request");
                write!(f, "because it does not answer ({requests}): asked again in {waits}")
            }
            SlowCause::Pause => {
                let until = minute((*next_at).into());
                write!(f, "and it has asked for a pause, of which {waits} are left: until {until}")
            }
            SlowCause::Refused(requests) => {
                write!(f, "and it refuses: the last {requests} answers had status 401 or 403")
            }
            SlowCause::CrawlDelay => {
                write!(f, "because its robots.txt asks for a delay: a request each {interval:.0} s")
            }
            SlowCause::Responses => {
                write!(f, "because it answers slowly: a request each {interval:.1} s")
            }
            SlowCause::Delay => write!(f, "because it gets a request each {interval:.1} s"),
        }
    }
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

/// Which host is asked next; see the [module](self).
#[derive(Debug)]
pub(super) struct Schedule {
    options: Options,
    clock: Clock,
    order: Order,
    limits: Limits,
    patience: Patience,
    budget: Budget,
    hosts: HashMap<HostId, Host>,
    /// How many of them did not answer the last time.
    silent: usize,
    /// Hosts by the instant at which they can do something. An entry that differs from the host's own `scheduled` is out of date.
    heap: BinaryHeap<Reverse<(Instant, HostId)>>,
    running: HashMap<TaskId, Running>,
    last_task: u64,
    addresses: Addresses,
    groups: Groups,
    network: Network,
    doubtful: Doubtful,
    /// Hosts whose next URL waits for a budget, the rest of which is in flight.
    waiting_for_budget: Vec<HostId>,
    /// URLs that wait for another attempt.
    later: BTreeSet<(Instant, UrlId, HostId)>,
    /// Whether there may be hosts with queued URLs that are not here.
    has_more_hosts: bool,
    /// In round-robin order: the host whose turn it is, and not before when, if something else than its own pace forbids it.
    turn: Option<(HostId, Option<Instant>)>,
    /// When a URL got an answer last; the start, if none has.
    last_useful: Instant,
    /// When the slow hosts were named last.
    named_at: Option<Instant>,
}

impl Schedule {
    /// A schedule without hosts, which begins by loading some.
    pub(super) fn new(
        options: Options,
        order: Order,
        limits: Limits,
        budget: Budget,
        patience: Patience,
        clock: Clock,
    ) -> Self {
        Self {
            network: Network::new(clock.instant),
            doubtful: Doubtful::default(),
            addresses: Addresses::new(options.per_address.get()),
            groups: Groups::new(options.clone()),
            last_useful: clock.instant,
            named_at: None,
            options,
            clock,
            order,
            limits,
            patience,
            budget,
            hosts: HashMap::new(),
            silent: 0,
            heap: BinaryHeap::new(),
            running: HashMap::new(),
            last_task: 0,
            waiting_for_budget: Vec::new(),
            later: BTreeSet::new(),
            has_more_hosts: true,
            turn: None,
        }
    }

    /// The budgets of the run and its seeds.
    pub(super) fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Whether hosts are asked one after the other, in round-robin order.
    pub(super) fn takes_turns(&self) -> bool {
        self.order == Order::RoundRobin
    }

    /// Tasks that have not finished.
    pub(super) fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// Those of one host.
    pub(super) fn tasks_of(&self, host: HostId) -> usize {
        self.hosts.get(&host).map_or(0, |host| host.tasks)
    }

    /// Whether the run's budget is spent.
    pub(super) fn is_budget_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Hosts that have something to do.
    pub(super) fn active_hosts(&self) -> usize {
        self.hosts.values().filter(|host| host.has_urls || host.tasks > 0).count()
    }

    /// Whether a host answers, if it is here.
    pub(super) fn health(&self, host: HostId) -> Option<&HostHealth> {
        self.hosts.get(&host).map(|host| &host.health)
    }

    /// The hosts that did not answer the last time.
    pub(super) fn failing(&self) -> impl Iterator<Item = (HostId, &HostHealth)> {
        let all = self.hosts.iter().map(|(id, host)| (*id, &host.health));
        all.filter(|(_, health)| health.failures > 0)
    }

    /// Whether it waits for the network to come back.
    pub(super) fn is_out(&self) -> bool {
        self.network.is_out()
    }

    /// Whether an outage is more than a doubt: its first request has failed too.
    pub(super) fn is_out_for_long(&self) -> bool {
        self.network.is_lasting()
    }

    /// What to do now. Call it again after every step until it returns [`Step::Idle`], and after every report.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if self.budget.is_spent() {
            return Step::Idle(if self.running.is_empty() { Idle::Done } else { Idle::Blocked });
        }
        if let Some(&(due, url, host)) = self.later.first()
            && due <= now
        {
            self.later.pop_first();
            return Step::Due(host, url);
        }
        let step = match self.network.gate(self.running.len(), now) {
            Gate::Open => match self.order {
                Order::Earliest => self.next_earliest(now),
                Order::RoundRobin => self.next_round_robin(now),
            },
            Gate::One => self.next_of_outage(now),
            Gate::Wait(at) => Err(Some(at)),
            Gate::Blocked => Err(None),
        };
        match step {
            Ok(step) => step,
            Err(at) => {
                let due = self.later.first().map(|&(due, ..)| due);
                Step::Idle(self.idle(at.into_iter().chain(due).min(), now))
            }
        }
    }

    /// How long nothing can be done, if it is until this instant at most.
    fn idle(&mut self, at: Option<Instant>, now: Instant) -> Idle {
        let later = at.map_or(Idle::Blocked, Idle::Until);
        if !self.running.is_empty() {
            return later;
        }
        match self.wait() {
            None => Idle::Done,
            Some(Wait::Outage { until } | Wait::Hosts { until, .. }) if until <= now => Idle::Done,
            Some(Wait::Outage { .. }) if !self.network.is_out() => {
                // It is not sure, but nothing else is left.
                let at = self.network.suspect(now);
                Idle::Until(at)
            }
            Some(Wait::Outage { until } | Wait::Hosts { until, .. }) => {
                Idle::Until(at.map_or(until, |at| at.min(until)))
            }
            Some(Wait::Attempts { .. } | Wait::Pace) => later,
        }
    }

    /// The hosts that hold the run up, the slowest first; not again before a second has passed. These are hosts that need longer than a minute for
    /// what is queued, that ask for a pause or refuse requests, and any that are slower than the configured delay if no others are left.
    /// `queued`: how many URLs of a host are, apart from those that wait for another attempt.
    pub(super) fn slowest(
        &mut self,
        queued: impl Fn(HostId) -> usize,
        now: Instant,
    ) -> Option<Vec<SlowHost>> {
        if self.named_at.is_some_and(|at| now < at + NAMED_EVERY) {
            return None;
        }
        self.named_at = Some(now);
        // How many, and when the first is due.
        let mut later = HashMap::<HostId, (usize, Instant)>::new();
        for &(due, _, host) in &self.later {
            later.entry(host).or_insert((0, due)).0 += 1;
        }
        let all = self.hosts.iter().filter_map(|(id, host)| {
            let later = later.get(id).copied();
            (host.has_urls || later.is_some()).then(|| self.slow(host, queued(*id), later, now))
        });
        let mut slow: Vec<_> = all.collect();
        let is_by_host =
            |it: &SlowHost| !matches!(it.cause, SlowCause::Responses | SlowCause::Delay);
        let are_left = !self.has_more_hosts && slow.iter().all(is_by_host);
        let is_unwilling =
            |it: &SlowHost| matches!(it.cause, SlowCause::Pause | SlowCause::Refused(_));
        slow.retain(|it| it.left >= HOLDS_UP || are_left || is_unwilling(it));
        slow.sort_by(|a, b| b.left.cmp(&a.left).then_with(|| a.name.cmp(&b.name)));
        slow.truncate(SLOWEST);
        Some(slow)
    }

    /// How long a host needs for its URLs: those that are queued, and those that wait for another attempt, with the instant of the first.
    fn slow(
        &self,
        host: &Host,
        queued: usize,
        later: Option<(usize, Instant)>,
        now: Instant,
    ) -> SlowHost {
        let (delay, response) = host.pace.times();
        let interval =
            delay.max((delay + response) / self.options.per_host.get().try_into().unwrap_or(1));
        let (again, due) = later.unwrap_or((0, now));
        let next = host.earliest().max(if queued == 0 { due } else { now });
        let (urls, waits) = (queued + again, next.saturating_duration_since(now));
        let left = waits + interval.saturating_mul(urls.try_into().unwrap_or(u32::MAX));
        let cause = match host.health.failures {
            failures @ 1.. => SlowCause::Unanswered(failures),
            0 if host.pace.is_paused(now) => SlowCause::Pause,
            0 if host.pace.refusals() >= REFUSALS => SlowCause::Refused(host.pace.refusals()),
            0 if host.pace.delay() > self.options.delay && delay == host.pace.delay() => {
                SlowCause::CrawlDelay
            }
            0 if interval >= 2 * self.options.delay => SlowCause::Responses,
            0 => SlowCause::Delay,
        };
        let (name, next_at) = (Arc::clone(&host.name), self.clock.time_of(next));
        SlowHost { name, urls, left, waits, next_at, interval, cause }
    }

    /// What it waits for, if nothing is in flight; `None` if nothing is left.
    pub(super) fn wait(&self) -> Option<Wait> {
        let is_sound = |host: &Host| host.health.failures == 0;
        let is_paced =
            self.has_more_hosts || self.hosts.values().any(|host| host.has_urls && is_sound(host));
        let with_urls = self.hosts.iter().filter(|(_, host)| host.has_urls).map(|(id, _)| *id);
        let waiting: HashSet<HostId> =
            with_urls.chain(self.later.iter().map(|(.., id)| *id)).collect();
        // Those that are not here any more have not failed.
        let health = waiting.iter().filter_map(|id| Some(&self.hosts.get(id)?.health));
        let failing: Vec<&HostHealth> = health.filter(|health| health.failures > 0).collect();
        // Whether a host had answered until now, however its requests fail: as long as no other has answered since.
        let answered_last = |at: Instant| at >= self.network.last_answer();
        let has_stopped = |health: &&&HostHealth| {
            self.is_suspect(health) || health.last_answer.is_some_and(answered_last)
        };
        let suspects = failing.iter().filter(has_stopped).count();
        let (sound, failing) = (waiting.len() - failing.len(), failing.len());
        if sound + failing == 0 && !self.has_more_hosts {
            return None;
        }
        if self.network.is_out() || sound == 0 && self.is_network(suspects) {
            return Some(Wait::Outage {
                until: self.network.last_answer() + self.patience.max_outage,
            });
        }
        if is_paced {
            return Some(Wait::Pace);
        }
        if sound > 0 {
            return Some(Wait::Attempts { urls: self.later.len() });
        }
        let until = self.last_useful + self.patience.give_up_after;
        Some(Wait::Hosts { hosts: failing, until })
    }

    /// Whether a host had answered until the last answer of all, and does not any more.
    fn is_suspect(&self, health: &HostHealth) -> bool {
        let since = health.failing_since.filter(|_| health.had_answered);
        since.is_some_and(|since| since >= self.network.last_answer())
    }

    /// Whether so many hosts that stopped answering together are an outage.
    fn is_network(&self, suspects: usize) -> bool {
        let has_answered_lately = |host: &&Host| {
            let last_answer = host.health.last_answer;
            last_answer.is_some_and(|at| at + LATELY >= self.network.last_answer())
        };
        let answered = self.hosts.values().filter(has_answered_lately).take(NETWORK).count();
        suspects >= if answered == 0 { NETWORK } else { answered }
    }

    /// The step of an outage: one request, to a host that has not failed if there is one.
    fn next_of_outage(&mut self, now: Instant) -> Result<Step, Option<Instant>> {
        while self.released(now).is_some() {}
        if self.order == Order::RoundRobin && self.turn.is_some() {
            return self.next_round_robin(now);
        }
        let waiting = self.hosts.iter().filter(|(_, host)| host.has_urls && !host.waits);
        let first = waiting
            .min_by_key(|(id, host)| (host.pace.earliest().max(now), host.health.failures, **id));
        match first {
            Some((_, host)) if host.pace.earliest() > now => Err(Some(host.pace.earliest())),
            Some((id, _)) => Ok(Step::Ask(*id)),
            None if self.wants_hosts() => Ok(Step::Load),
            None if self.has_more_hosts => self.make_room(now),
            None => Err(None),
        }
    }

    /// Lets a host go that has nothing to do.
    fn make_room(&mut self, now: Instant) -> Result<Step, Option<Instant>> {
        let idle = self.hosts.iter().filter(|(_, host)| !host.has_urls && host.tasks == 0);
        let idle = idle.filter(|(_, host)| host.health.failures == 0);
        match idle.map(|(id, host)| (host.earliest(), *id)).min() {
            Some((at, id)) if at <= now => {
                self.hosts.remove(&id);
                Ok(Step::Evicted(id))
            }
            later => Err(later.map(|(at, _)| at)),
        }
    }

    fn wants_hosts(&self) -> bool {
        // Hosts that do not answer hold no room: they may be many, and each is asked seldom.
        self.has_more_hosts && self.hosts.len() - self.silent < self.limits.hosts
    }

    /// Whether hosts must make room for others.
    fn is_full(&self) -> bool {
        self.has_more_hosts && self.order == Order::Earliest
    }

    fn next_earliest(&mut self, now: Instant) -> Result<Step, Option<Instant>> {
        if self.wants_hosts() {
            return Ok(Step::Load);
        }
        while let Some(id) = self.released(now) {
            if let Some(step) = self.step_of(id, now) {
                return Ok(step);
            }
        }
        while let Some(&Reverse((at, id))) = self.heap.peek() {
            let host = self.hosts.get_mut(&id).filter(|host| host.scheduled == Some(at));
            if at > now && host.is_some() {
                let later = self.groups.next_due();
                return Err(Some(later.map_or(at, |later| later.min(at))));
            }
            self.heap.pop();
            let Some(host) = host else { continue };
            host.scheduled = None;
            if let Some(step) = self.step_of(id, now) {
                return Ok(step);
            }
        }
        Err(self.groups.next_due())
    }

    /// A host that has waited for a request to end, or for the pace of its group, and need not wait any more.
    fn released(&mut self, now: Instant) -> Option<HostId> {
        let id = (self.addresses.release())
            .or_else(|| self.groups.release(now))
            .or_else(|| self.next_with_room(now))?;
        if let Some(host) = self.hosts.get_mut(&id) {
            host.waits = false;
        }
        Some(id)
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
        let recent = self.network.has_answered_within(RECENT, now);
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
    fn head_timeout(&self, health: &HostHealth, now: Instant) -> Option<Duration> {
        let others_wait = !self.doubtful.silent.is_empty() || !self.doubtful.unknown.is_empty();
        let is_short = || others_wait || !self.has_room(Doubt::Silent, now);
        Some(match health.doubt()? {
            Doubt::Unknown if is_short() => SHORT_HEAD_TIMEOUT,
            Doubt::Unknown | Doubt::Silent => HEAD_TIMEOUT,
        })
    }

    /// The step of the host whose turn it is. Nothing is started while anything runs.
    fn next_round_robin(&mut self, now: Instant) -> Result<Step, Option<Instant>> {
        if !self.running.is_empty() {
            return Err(None);
        }
        let Some((id, from)) = self.turn else {
            let waiting = self.hosts.values().filter(|host| host.has_urls).map(Host::earliest);
            let first = waiting.min();
            let is_due = self.has_more_hosts || first.is_some_and(|at| at <= now);
            return if is_due { Ok(Step::Load) } else { Err(first) };
        };
        // In an outage any host may be asked, whatever its own pause.
        let is_out = self.is_out();
        let own = |host: &Host| if is_out { host.pace.earliest() } else { host.earliest() };
        let own = self.hosts.get(&id).map_or(now, own);
        let earliest = from.map_or(own, |from| from.max(own));
        if earliest > now { Err(Some(earliest)) } else { Ok(Step::Ask(id)) }
    }

    /// In round-robin order: whether a host is passed over, because it did not answer and pauses.
    pub(super) fn is_passed_over(&self, host: HostId, now: Instant) -> bool {
        let asked_from = self.health(host).and_then(|health| health.asked_from);
        asked_from.is_some_and(|from| from > now)
    }

    /// In round-robin order: the next URL of the host whose turn it is waits until this instant.
    pub(super) fn wait_until(&mut self, host: HostId, from: Instant) {
        self.turn = Some((host, Some(from)));
    }

    /// In round-robin order: the turn of a host ends.
    pub(super) fn end_turn(&mut self) {
        self.turn = None;
        self.has_more_hosts = true;
    }

    /// What a host can do now, if anything. If nothing, the host is scheduled for later, or a report will schedule it.
    fn step_of(&mut self, id: HostId, now: Instant) -> Option<Step> {
        let full = self.is_full();
        let host = self.hosts.get_mut(&id)?;
        if host.waits {
            return None;
        }
        if host.earliest() > now {
            self.schedule(id);
            return None;
        }
        if full && (!host.has_urls || host.share == 0) && host.is_evictable(now) {
            self.hosts.remove(&id);
            return Some(Step::Evicted(id));
        }
        let is_busy = host.pace.in_flight() >= self.options.per_host.get()
            || host.health.failures > 0 && host.tasks > 0;
        if !host.has_urls || is_busy {
            return None;
        }
        if let Some(doubt) = host.health.doubt()
            && !self.has_room(doubt, now)
        {
            self.wait_for_room(id, doubt);
            return None;
        }
        Some(Step::Ask(id))
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

    /// Starts the request of a URL of a host that [may get one](Step::Ask), or that of the robots.txt that it needs first.
    pub(super) fn start(&mut self, queued: Queued, now: Instant) -> Start {
        let id = queued.url.host;
        let Some(host) = self.hosts.get_mut(&id) else { return Start::Wait(queued) };
        let (seed, scheme) = (queued.url.seed, Scheme::of(&queued.url.url));
        let (name, health) = (Arc::clone(&host.name), host.health);
        if seed.is_some_and(|seed| self.budget.is_seed_spent(seed)) {
            return Start::OverBudget(queued);
        }
        let (robots, request) = match host.robots(scheme, now) {
            _ if !self.options.obey_robots => (None, None),
            RobotsState::Known { robots, .. } => (Some(Arc::clone(robots)), None),
            RobotsState::Requested => {
                host.waits = true;
                return Start::Wait(queued);
            }
            RobotsState::Unknown(redirect) => {
                let first = || RobotsRequest::new(&queued.url.url);
                (None, Some(redirect.clone().unwrap_or_else(first)))
            }
        };
        let target = request.as_ref().map_or_else(|| Arc::clone(&name), |it| it.host().into());
        if !self.may_start(id, &target, now) {
            return Start::Wait(queued);
        }
        let head_timeout = self.head_timeout(&health, now);
        if let Some(request) = request {
            if let Some(host) = self.hosts.get_mut(&id) {
                *host.robots(scheme, now) = RobotsState::Requested;
                // It may ask for a delay.
                host.waits = true;
            }
            let task = self.run(id, target, head_timeout, now);
            return Start::Robots(RobotsTask {
                id: task,
                queued,
                name,
                scheme,
                request,
                head_timeout,
            });
        }
        if !self.budget.reserve(seed) {
            self.waiting_for_budget.push(id);
            if let Some(host) = self.hosts.get_mut(&id) {
                host.waits = true;
            }
            return Start::Wait(queued);
        }
        if let Some(host) = self.hosts.get_mut(&id) {
            host.share = host.share.saturating_sub(1);
        }
        let task = self.run(id, name, head_timeout, now);
        self.schedule(id);
        Start::Fetch(Task { id: task, queued, robots, head_timeout })
    }

    /// Whether the next request of a host, which goes to `target`, may start now. Otherwise the host waits.
    fn may_start(&mut self, id: HostId, target: &str, now: Instant) -> bool {
        let (address, group, by_name) = self.destination(id, target);
        let is_later = |at: &Instant| *at > now;
        let by_group = self.groups.earliest(&group).filter(is_later);
        let by_name = by_name.filter(is_later);
        if self.order == Order::RoundRobin {
            let from = by_name.max(by_group);
            self.turn = Some((id, from));
            return from.is_none();
        }
        let Some(host) = self.hosts.get_mut(&id) else { return false };
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
            return true;
        }
        false
    }

    /// Where a request of a host goes to: the address if it is limited, the group, and when the target permits it by what is known of it
    /// apart from its group.
    fn destination(&self, id: HostId, target: &str) -> (Option<IpAddr>, Group, Option<Instant>) {
        let own = self.hosts.get(&id).filter(|host| *host.name == *target);
        let other = || self.hosts.values().find(|host| *host.name == *target);
        let host = own.or_else(other);
        let address = host.and_then(|host| host.address);
        let other = host.filter(|_| own.is_none()).map(|host| host.pace.earliest());
        let earliest = other.max(self.groups.earliest_by_name(target));
        let group = self.groups.of(target, address);
        (address.filter(|address| !address.is_loopback()), group, earliest)
    }

    /// A request of a host starts, to `target`.
    fn run(
        &mut self,
        host: HostId,
        target: Arc<str>,
        head_timeout: Option<Duration>,
        now: Instant,
    ) -> TaskId {
        self.last_task += 1;
        let id = TaskId(self.last_task);
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
        let in_flight = true;
        let running = Running {
            host,
            started: now,
            target,
            goes_elsewhere,
            address,
            group,
            in_flight,
            head_timeout,
        };
        self.running.insert(id, running);
        id
    }

    /// Adds the host that was asked for. Returns whether it is to be put back: it is here, or there is no room.
    pub(super) fn add(&mut self, row: &HostRow, now: Instant) {
        if self.order == Order::RoundRobin {
            self.turn = Some((row.id, None));
            let is_needed = |host: &Host| !host.is_evictable(now);
            if self.hosts.len() >= self.limits.hosts && !self.hosts.contains_key(&row.id) {
                self.hosts.retain(|_, host| is_needed(host));
            }
        }
        let &HostRow { id, ref name, not_before, has_answered, .. } = row;
        let host = self.hosts.entry(id).or_insert_with(|| {
            let mut pace = Pace::new(&self.options, now);
            if let Some(until) = not_before {
                pace.resume_pause(self.clock.instant_of(until));
            }
            Host::new(name.as_str().into(), pace, has_answered)
        });
        (host.has_urls, host.share) = (true, self.limits.urls);
        self.schedule(id);
    }

    /// There is no host to be added: none that has queued URLs and is not here, or in round-robin order none that does not pause.
    pub(super) fn no_more_hosts(&mut self) {
        self.has_more_hosts = false;
        // None need make room any more.
        self.schedule_all();
    }

    /// Says whether a host has queued URLs.
    pub(super) fn set_has_urls(&mut self, id: HostId, has_urls: bool) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.has_urls = has_urls;
            self.schedule(id);
        }
    }

    /// A URL of this host was queued. Returns whether the schedule needs its row, to [add](Self::add) it.
    pub(super) fn queued(&mut self, id: HostId, now: Instant) -> bool {
        if self.order == Order::RoundRobin {
            self.has_more_hosts = true;
        }
        if self.hosts.contains_key(&id) {
            self.set_has_urls(id, true);
            return false;
        }
        if self.has_more_hosts {
            return false;
        }
        if self.hosts.len() >= self.limits.hosts {
            self.hosts.retain(|_, host| host.has_urls || !host.is_evictable(now));
        }
        if self.hosts.len() < self.limits.hosts {
            return true;
        }
        // It is loaded when there is room.
        self.has_more_hosts = true;
        self.schedule_all();
        false
    }

    /// A URL waits for another attempt until this instant.
    pub(super) fn later(&mut self, host: HostId, url: UrlId, due: Instant) {
        self.later.insert((due, url, host));
    }

    /// Takes out all URLs that wait for another attempt.
    pub(super) fn take_later(&mut self) -> impl Iterator<Item = (HostId, UrlId)> + use<> {
        std::mem::take(&mut self.later).into_iter().map(|(_, url, host)| (host, url))
    }

    /// A URL has got an answer that ends its attempts.
    pub(super) fn useful_answer(&mut self, now: Instant) {
        self.last_useful = now;
    }

    /// The request of a task has ended, with or without a response. Returns why the host is to be suspended, if it asks for too long a pause.
    pub(super) fn responded(
        &mut self,
        id: TaskId,
        end: RequestEnd,
        now: Instant,
    ) -> Option<(HostId, SuspendCause)> {
        self.end_request(id, now, Some(end));
        let Running { host, started, goes_elsewhere, .. } = *self.running.get(&id)?;
        match end {
            RequestEnd::Response(_) | RequestEnd::Refused(_) | RequestEnd::Overload { .. } => {
                self.answered(host, goes_elsewhere, now);
            }
            // That says little about the network.
            RequestEnd::Broken => {
                if !goes_elsewhere {
                    self.set_health(host, |health| health.answered(None));
                }
                self.network.undecided(now);
            }
            RequestEnd::Late if !goes_elsewhere => {
                self.set_health(host, |health| health.failed(started, true, now));
                self.network.undecided(now);
            }
            RequestEnd::Unanswered if !goes_elsewhere => self.not_answered(host, started, now),
            RequestEnd::Local => {
                self.set_health(host, |health| health.faults += 1);
                self.network.faulted(self.running.len(), now);
            }
            RequestEnd::Late | RequestEnd::Unanswered | RequestEnd::Unknown => {
                self.network.undecided(now);
            }
        }
        match end {
            RequestEnd::Overload { retry_after: Some(pause), .. }
                if pause > self.options.max_retry_after =>
            {
                Some((host, SuspendCause::RetryAfter(pause)))
            }
            _ => None,
        }
    }

    fn set_health(&mut self, id: HostId, change: impl FnOnce(&mut HostHealth)) {
        if let Some(host) = self.hosts.get_mut(&id) {
            self.silent -= usize::from(host.health.failures > 0);
            change(&mut host.health);
            self.silent += usize::from(host.health.failures > 0);
        }
    }

    /// The hosts that stopped answering together.
    fn suspects(&self) -> impl Iterator<Item = HostId> {
        self.failing().filter(|(_, health)| self.is_suspect(health)).map(|(id, _)| id)
    }

    /// A host has answered, or another one for it.
    fn answered(&mut self, id: HostId, goes_elsewhere: bool, now: Instant) {
        let suspects: Vec<_> = if self.is_out() { self.suspects().collect() } else { Vec::new() };
        let ends_outage = self.network.answered(now);
        if !goes_elsewhere {
            self.set_health(id, |health| health.answered(Some(now)));
        }
        // If another host answers than those that stopped together, it is their own fault.
        if ends_outage && suspects.contains(&id) {
            for id in suspects {
                self.set_health(id, HostHealth::forgive);
            }
        }
        if ends_outage {
            self.schedule_all();
        }
    }

    fn not_answered(&mut self, id: HostId, started: Instant, now: Instant) {
        self.set_health(id, |health| health.failed(started, false, now));
        if self.health(id).is_some_and(|health| self.is_suspect(health)) {
            let is_network = self.is_network(self.suspects().take(NETWORK).count());
            self.network.failed(is_network, now);
        } else {
            self.network.undecided(now);
        }
    }

    /// Whether faults of this machine at a host count as its own: they are too many in a row.
    pub(super) fn is_at_fault(&self, host: HostId) -> bool {
        self.health(host).is_none_or(|health| health.faults > MAX_FAULTS)
    }

    /// The task of a URL has finished; `fetched` if a page was received.
    pub(super) fn finished(&mut self, task: &Task, fetched: bool, now: Instant) {
        if self.end_task(task.id, now).is_some() {
            self.budget.release(task.queued.url.seed, fetched);
        }
        for waiting in std::mem::take(&mut self.waiting_for_budget) {
            if let Some(host) = self.hosts.get_mut(&waiting) {
                host.waits = false;
            }
            self.schedule(waiting);
        }
        self.schedule(task.queued.url.host);
    }

    /// The request for a robots.txt has ended without a result: it must be requested again, elsewhere if it was redirected.
    pub(super) fn request_robots_again(
        &mut self,
        task: &RobotsTask,
        redirect: Option<RobotsRequest>,
        now: Instant,
    ) {
        self.end_robots(task, now, |host| {
            *host.robots(task.scheme, now) = RobotsState::Unknown(redirect);
        });
    }

    /// The rules of a robots.txt are known; `age` is the time since they were received. Returns why the host is to be suspended, if they ask for
    /// too long a delay.
    pub(super) fn set_robots(
        &mut self,
        task: &RobotsTask,
        robots: Arc<Robots>,
        age: Duration,
        now: Instant,
    ) -> Option<SuspendCause> {
        let longest = self.options.max_crawl_delay;
        let too_long = robots.crawl_delay().filter(|&delay| delay > longest);
        self.end_robots(task, now, |host| {
            if too_long.is_none() {
                host.set_robots(task.scheme, robots, now, age);
            }
        });
        if too_long.is_none()
            && let Some(host) = self.hosts.get(&task.queued.url.host)
        {
            let group = self.groups.of(&host.name, host.address);
            self.groups.slow_down(&group, host.pace.delay());
        }
        too_long.map(SuspendCause::CrawlDelay)
    }

    fn end_robots(&mut self, task: &RobotsTask, now: Instant, then: impl FnOnce(&mut Host)) {
        self.end_task(task.id, now);
        let id = task.queued.url.host;
        if let Some(host) = self.hosts.get_mut(&id) {
            host.waits = false;
            then(host);
        }
        self.schedule(id);
    }

    /// A host gets no request before this instant.
    pub(super) fn pause_until(&mut self, host: HostId, until: Instant) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.pace.pause_until(until);
        }
    }

    /// Makes no more requests to a host.
    pub(super) fn remove(&mut self, host: HostId) {
        self.set_health(host, HostHealth::forgive);
        self.hosts.remove(&host);
        if self.turn.is_some_and(|(turn, _)| turn == host) {
            self.end_turn();
        }
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
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.address = address.filter(|_| !goes_elsewhere).or(entry.address);
            match end {
                Some(end) => entry.pace.end(started, now, end),
                None => entry.pace.withdraw(started),
            }
        }
        if let Some(address) = counted {
            self.addresses.end(address);
        }
        self.schedule(host);
    }

    fn schedule_all(&mut self) {
        let ids: Vec<_> = self.hosts.keys().copied().collect();
        for id in ids {
            self.schedule(id);
        }
    }

    /// Schedules a host for the instant at which it can do something.
    fn schedule(&mut self, id: HostId) {
        let full = self.is_full();
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if self.order == Order::RoundRobin || !host.has_urls && !full {
            return;
        }
        let moment = host.earliest();
        if host.scheduled.is_none_or(|scheduled| moment < scheduled) {
            host.scheduled = Some(moment);
            self.heap.push(Reverse((moment, id)));
        }
    }
}
