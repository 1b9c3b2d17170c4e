//! A simulated world for the frontier: hosts, a state and a clock, and the rules that must hold at every instant.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::struct_excessive_bools,
    reason = "the numbers are small, and a scenario is a list of choices"
)]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    net::{IpAddr, Ipv4Addr},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    super::{
        Budget, Clock, Frontier, Idle, Limits, Loaded, Order, ProbeTask, Query, Recorded,
        RobotsResult, RobotsTask, Step, Task, TaskId,
    },
    SECOND,
};
use crate::{
    crawl::{
        politeness::{Options, RequestEnd, ShareDelay},
        robots::{Robots, RobotsRequest},
    },
    page::{NormalUrl, Timestamp},
    state::{HostId, HostRow, Queued, UrlId, UrlKind, UrlRow, UrlState},
};

/// The longest outage that is waited for.
const OUTAGE: Duration = Duration::from_mins(5);

/// The default of `politeness.max_retry_after`.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(10);

/// Whether a response asks for a pause.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    Fine,
    Overload { retry_after: Option<Duration> },
}

/// How one fetch goes; they are used one after the other, in a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Milliseconds until the answer, and from there until the task ends.
    pub(super) latency: (u64, u64),
    pub(super) load: Load,
    /// No request is made, as when robots.txt forbids it.
    pub(super) silent: bool,
    pub(super) retry: bool,
    pub(super) fetched: bool,
    pub(super) unanswered: bool,
    /// Hosts and seeds of the links it has.
    pub(super) links: [Option<(usize, usize)>; 3],
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            latency: (20, 10),
            load: Load::Fine,
            silent: false,
            retry: false,
            fetched: true,
            unanswered: false,
            links: [None; 3],
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) hosts: usize,
    /// Host and seed of what is queued at the start.
    pub(super) seeds: Vec<(usize, usize)>,
    pub(super) outcomes: Vec<Outcome>,
    /// Milliseconds that the state takes to answer, in a cycle.
    pub(super) replies: Vec<u64>,
    pub(super) limits: Limits,
    pub(super) order: Order,
    pub(super) delay: Duration,
    pub(super) per_host: usize,
    pub(super) concurrency: usize,
    pub(super) addresses: usize,
    pub(super) loopback: bool,
    /// Host i belongs to site i modulo this number, unless that is 0: then each is a site of its own.
    pub(super) sites: usize,
    pub(super) share: ShareDelay,
    pub(super) adaptive: u32,
    /// The host, which may be an unknown one, to which the robots.txt of host i, modulo the length, is redirected.
    pub(super) robots_redirects: Vec<Option<usize>>,
    pub(super) obey_robots: bool,
    /// The crawl delay of host i, modulo the length, in seconds; and how many fetches of its robots.txt fail.
    pub(super) crawl_delays: Vec<(u64, u32)>,
    pub(super) max_pages: u64,
    pub(super) seed_limits: Vec<u64>,
    pub(super) probes_answered: bool,
    /// No links are added beyond this many URLs.
    pub(super) max_urls: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            hosts: 1,
            seeds: Vec::new(),
            outcomes: vec![Outcome::default()],
            replies: vec![1],
            limits: Limits { hosts: 8, urls: 4, requests: 64 },
            order: Order::Earliest,
            delay: SECOND,
            per_host: 1,
            concurrency: 8,
            addresses: 3,
            loopback: false,
            sites: 0,
            share: ShareDelay::default(),
            adaptive: 0,
            robots_redirects: vec![None],
            obey_robots: true,
            crawl_delays: vec![(0, 0)],
            max_pages: u64::MAX,
            seed_limits: vec![u64::MAX, u64::MAX],
            probes_answered: true,
            max_urls: 100,
        }
    }
}

/// The state as the frontier sees it, in memory: queued URLs with their seeds, by host and sequence number; ranks; suspended hosts.
#[derive(Debug)]
pub(super) struct FakeState {
    queues: BTreeMap<usize, BTreeMap<i64, usize>>,
    sites: usize,
    ranks: Vec<i64>,
    last_rank: i64,
    pub(super) suspended: BTreeSet<usize>,
    pub(super) last_seq: i64,
}

impl FakeState {
    fn new(scenario: &Scenario) -> Self {
        let mut state = Self {
            queues: BTreeMap::new(),
            sites: scenario.sites,
            ranks: (1..=scenario.hosts as i64).collect(),
            last_rank: scenario.hosts as i64,
            suspended: BTreeSet::new(),
            last_seq: 0,
        };
        for &(host, seed) in &scenario.seeds {
            state.enqueue(host, seed);
        }
        state
    }

    pub(super) fn enqueue(&mut self, host: usize, seed: usize) {
        self.last_seq += 1;
        self.queues.entry(host).or_default().insert(self.last_seq, seed);
    }

    pub(super) fn waits(&self, host: usize, seq: i64) -> bool {
        self.queues.get(&host).is_some_and(|queue| queue.contains_key(&seq))
    }

    pub(super) fn dequeue(&mut self, host: usize, seq: i64) {
        assert!(self.queues.get_mut(&host).unwrap().remove(&seq).is_some());
    }

    /// Hosts that have queued URLs and are not suspended, by rank.
    pub(super) fn waiting(&self, limit: usize) -> Vec<HostRow> {
        let waiting = self.queues.iter().filter(|(_, queue)| !queue.is_empty());
        let hosts = waiting.map(|(&host, _)| host).filter(|host| !self.suspended.contains(host));
        let mut rows: Vec<_> = hosts.map(|host| self.row(host)).collect();
        rows.sort_by_key(|row| row.rank);
        rows.truncate(limit);
        rows
    }

    pub(super) fn urls(&self, host: usize, after: i64, limit: usize) -> Vec<Queued> {
        let queue = self.queues.get(&host).into_iter();
        let after_it = queue.flat_map(|queue| queue.range(after + 1..)).take(limit);
        let name = name(host, self.sites);
        after_it.map(|(&seq, &seed)| queued(&name, host, seq, seed)).collect()
    }

    pub(super) fn row(&self, host: usize) -> HostRow {
        let (id, name) = (HostId(host as i64), name(host, self.sites));
        HostRow { id, name, rank: self.ranks[host], not_before: None, has_answered: false }
    }

    pub(super) fn move_to_end(&mut self, host: usize) -> i64 {
        self.last_rank += 1;
        self.ranks[host] = self.last_rank;
        self.last_rank
    }
}

fn name(host: usize, sites: usize) -> String {
    match host.checked_rem(sites) {
        Some(site) => format!("h{host}.s{site}.test:80"),
        None => format!("h{host}:80"),
    }
}

/// The host of a name.
fn named(name: &str) -> usize {
    let number = name.trim_start_matches('h').split(['.', ':']).next();
    number.and_then(|number| number.parse().ok()).unwrap()
}

/// Every fifth URL has the other scheme.
fn queued(name: &str, host: usize, seq: i64, seed: usize) -> Queued {
    let scheme = if seq % 5 == 4 { "https" } else { "http" };
    let url = UrlRow {
        id: UrlId(seq),
        url: NormalUrl::stored(&format!("{scheme}://{name}/{seq}")).unwrap(),
        host: HostId(host as i64),
        kind: UrlKind::Page,
        state: UrlState::Queued,
        detail: None,
        cause: None,
        status: None,
        seed: Some(seed),
        depth: 0,
        hops: 0,
        referrer: None,
        at: Timestamp(0),
    };
    Queued { seq, url, visit: None }
}

#[derive(Debug, Default)]
pub(super) struct Log {
    /// Host and number of each URL, as often as it was handed out.
    pub(super) fetched: Vec<(usize, i64)>,
    pub(super) asked: Vec<(usize, &'static str)>,
    pub(super) requests: usize,
    pub(super) most_in_flight: usize,
    pub(super) probes: usize,
    pub(super) redirected: usize,
    pub(super) suspended: Vec<HostId>,
    pub(super) over_budget: usize,
    pub(super) hosts_loaded: usize,
    pub(super) urls_loaded: usize,
    pub(super) steps: usize,
    pages: u64,
    retried: BTreeMap<i64, u32>,
    answers: usize,
}

#[derive(Debug)]
enum Event {
    /// The request of a task, to this host, has ended.
    Responded(TaskId, usize, RequestEnd),
    Finished(Arc<Task>, Outcome),
    Robots(Arc<RobotsTask>),
    Loaded(Loaded),
    Suspended(HostId),
    Resumed(HostId),
    FailuresTakenBack,
    Probed(Arc<ProbeTask>),
    /// The report of a URL that the state has recorded.
    Report(Arc<Task>, Recorded),
}

/// The pace of a host as an observer sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    in_flight: usize,
    not_before: Option<Instant>,
    /// When the latest request on its own behalf started or ended, and the Crawl-delay of its robots.txt.
    latest: Option<Instant>,
    crawl_delay: Duration,
}

pub(super) struct World {
    pub(super) frontier: Frontier,
    pub(super) log: Log,
    scenario: Scenario,
    pub(super) state: FakeState,
    replies: usize,
    /// When the last report of the recorder arrives.
    reported_at: Option<Instant>,
    events: BinaryHeap<Reverse<(Instant, usize)>>,
    pending: BTreeMap<usize, Event>,
    event: usize,
    seen: BTreeMap<usize, Seen>,
    /// When the hosts of a site, at an address, may be asked again.
    shared: BTreeMap<(usize, Option<IpAddr>), Instant>,
    /// Requests to an address that the frontier can know of.
    to_address: BTreeMap<IpAddr, usize>,
    counted_as: BTreeMap<TaskId, IpAddr>,
    in_flight: BTreeSet<i64>,
    tasks: usize,
}

impl World {
    pub(super) fn new(scenario: Scenario) -> Self {
        let options = Options {
            delay: scenario.delay,
            per_host: NonZeroUsize::new(scenario.per_host).unwrap(),
            per_address: NonZeroUsize::new(2).unwrap(),
            share_delay: scenario.share,
            adaptive: scenario.adaptive,
            obey_robots: scenario.obey_robots,
            ..Options::default()
        };
        let seeds = scenario.seed_limits.iter().map(|&limit| (limit, 0));
        let budget = Budget::new(scenario.max_pages, 0, seeds);
        let clock = Clock { instant: Instant::now(), time: Timestamp(0) };
        let limits = scenario.limits;
        let frontier = Frontier::new(options, scenario.order, limits, budget, OUTAGE, clock);
        Self {
            frontier,
            log: Log::default(),
            state: FakeState::new(&scenario),
            replies: 0,
            reported_at: None,
            events: BinaryHeap::new(),
            pending: BTreeMap::new(),
            event: 0,
            seen: BTreeMap::new(),
            shared: BTreeMap::new(),
            to_address: BTreeMap::new(),
            counted_as: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            tasks: 0,
            scenario,
        }
    }

    /// Queues a URL of this host, as the recorder does, and reports it.
    pub(super) fn queue(&mut self, host: usize, now: Instant) {
        self.state.enqueue(host, 0);
        self.frontier.queued(&self.state.row(host), now);
    }

    pub(super) fn row(&self, host: usize) -> HostRow {
        self.state.row(host)
    }

    fn address(&self, host: usize) -> IpAddr {
        let last = (host % self.scenario.addresses) as u8;
        IpAddr::V4(if self.scenario.loopback {
            Ipv4Addr::LOCALHOST
        } else {
            Ipv4Addr::new(192, 0, 2, last)
        })
    }

    /// Which hosts share the delay with this one, if any do.
    fn group(&self, host: usize) -> Option<(usize, Option<IpAddr>)> {
        let site = host.checked_rem(self.scenario.sites)?;
        match self.scenario.share {
            ShareDelay::Host => None,
            ShareDelay::Site => Some((site, None)),
            ShareDelay::Address if self.scenario.loopback => None,
            ShareDelay::Address => Some((site, Some(self.address(host)))),
        }
    }

    /// The next step that is not a query; queries are answered at once.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        loop {
            match self.frontier.next(now) {
                Step::Load(query) => self.load(query, now),
                step => return step,
            }
            self.events.clear();
            for (_, event) in std::mem::take(&mut self.pending) {
                self.deliver(event, now);
            }
        }
    }

    /// The next step, which must be the fetch of a page.
    pub(super) fn fetched(&mut self, now: Instant) -> Arc<Task> {
        match self.next(now) {
            Step::Fetch(task) => task,
            step => panic!("{step:?}"),
        }
    }

    /// Ends a fetch that a test has started itself.
    pub(super) fn end(&mut self, task: &Task, now: Instant) {
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
        self.log.fetched.push((host, seq));
        self.state.dequeue(host, seq);
        self.frontier.recorded(task, &Recorded::default(), now);
    }

    fn later(&mut self, now: Instant, millis: u64, event: Event) {
        self.at(now + Duration::from_millis(millis), event);
    }

    fn at(&mut self, due: Instant, event: Event) {
        self.event += 1;
        self.events.push(Reverse((due, self.event)));
        self.pending.insert(self.event, event);
    }

    /// The recorder reports some time later, in the order of its work.
    fn report(&mut self, now: Instant, event: Event) {
        let delay = self.reply_time();
        let due = (now + Duration::from_millis(delay)).max(self.reported_at.unwrap_or(now));
        self.reported_at = Some(due);
        self.at(due, event);
    }

    fn reply_time(&mut self) -> u64 {
        self.replies += 1;
        self.scenario.replies[self.replies % self.scenario.replies.len()]
    }

    /// Runs to the end and checks that everything was done that had to be.
    pub(super) fn run(&mut self) {
        let mut now = Instant::now();
        let end = loop {
            match self.begin(now) {
                Step::Idle(Idle::Done) if self.pending.is_empty() => break Step::Idle(Idle::Done),
                Step::Idle(Idle::Until(at)) => {
                    assert!(at > now, "a wait that is over before it begins");
                    let next = self.events.peek().map_or(at, |&Reverse((due, _))| due.min(at));
                    now = next.max(now);
                }
                _ => {
                    let Some(&Reverse((due, _))) = self.events.peek() else {
                        panic!("blocked for ever: {:#?}", self.frontier)
                    };
                    now = due.max(now);
                }
            }
            while let Some(&Reverse((due, number))) = self.events.peek()
                && due <= now
            {
                self.events.pop();
                let event = self.pending.remove(&number).unwrap();
                self.deliver(event, now);
            }
        };
        assert!(matches!(end, Step::Idle(Idle::Done)));
        self.check_end();
    }

    fn check_end(&self) {
        let spent = self.log.pages >= self.scenario.max_pages;
        let left = self.state.waiting(usize::MAX);
        assert!(spent || self.frontier.is_out() || left.is_empty(), "left after_it: {left:?}");
        assert!(self.log.pages <= self.scenario.max_pages, "the budget is overdrawn");
        let work = self.state.last_seq as usize * 8 + self.scenario.hosts;
        assert!(self.log.steps <= 40 * work + 200, "{} steps for {work}", self.log.steps);
    }

    fn begin(&mut self, now: Instant) -> Step {
        while self.tasks < self.scenario.concurrency {
            let step = self.frontier.next(now);
            self.log.steps += 1;
            assert!(self.log.steps < 2_000_000, "busy without end");
            assert!(self.frontier.hosts.len() <= self.scenario.limits.hosts, "too many hosts");
            assert!(
                self.frontier.schedule.len()
                    <= 8 * (self.frontier.hosts.len() + self.log.steps.min(64)),
                "the schedule grows"
            );
            match step {
                Step::Load(query) => self.load(query, now),
                Step::Suspend(host, _) => {
                    let delay = self.reply_time();
                    self.later(now, delay, Event::Suspended(host));
                }
                Step::TakeBackFailures(_) => {
                    self.report(now, Event::FailuresTakenBack);
                }
                Step::Resume(host) => {
                    self.state.suspended.remove(&(host.0 as usize));
                    self.report(now, Event::Resumed(host));
                }
                Step::Probe(task) => {
                    self.tasks += 1;
                    self.log.probes += 1;
                    let host = named(task.url.host_str().unwrap());
                    self.start(task.id, host, host, now);
                    let answers = self.scenario.probes_answered;
                    let end = if answers {
                        RequestEnd::Response(self.address(host))
                    } else {
                        RequestEnd::Unanswered
                    };
                    self.later(now, 7, Event::Responded(task.id, host, end));
                    self.later(now, 9, Event::Probed(task));
                }
                Step::FetchRobots(task) => {
                    self.tasks += 1;
                    let (host, target) = (named(&task.name), named(&task.request.host()));
                    self.log.asked.push((host, task.scheme.as_str()));
                    self.log.redirected += usize::from(target != host);
                    self.start(task.id, host, target, now);
                    let end = RequestEnd::Response(self.address(target));
                    self.later(now, 7, Event::Responded(task.id, target, end));
                    self.later(now, 9, Event::Robots(task));
                }
                Step::Fetch(task) => self.fetch(task, now),
                Step::OverBudget(task) => {
                    self.log.over_budget += 1;
                    let outcome = Outcome { fetched: false, ..Outcome::default() };
                    self.run_task(task, outcome, now);
                }
                Step::Idle(_) => return step,
            }
        }
        Step::Idle(Idle::Blocked)
    }

    /// Answers a query, some time later.
    fn load(&mut self, query: Query, now: Instant) {
        let loaded = match query {
            Query::Hosts { evicted, limit } => {
                self.log.hosts_loaded += 1;
                for host in evicted {
                    self.state.move_to_end(host.0 as usize);
                }
                Loaded::Hosts(self.state.waiting(limit))
            }
            Query::Urls { host, after, limit } => {
                self.log.urls_loaded += 1;
                Loaded::Urls(host, self.state.urls(host.0 as usize, after, limit))
            }
        };
        self.report(now, Event::Loaded(loaded));
    }

    fn fetch(&mut self, task: Arc<Task>, now: Instant) {
        let host = task.queued.url.host.0 as usize;
        let mut outcome = self.scenario.outcomes[self.log.answers % self.scenario.outcomes.len()];
        self.log.answers += 1;
        outcome.retry &= task.attempt < 2;
        if !outcome.silent {
            self.start(task.id, host, host, now);
            let address = self.address(host);
            let end = match outcome.load {
                _ if outcome.unanswered => RequestEnd::Unanswered,
                Load::Fine => RequestEnd::Response(address),
                Load::Overload { retry_after } => RequestEnd::Overload { address, retry_after },
            };
            self.later(now, outcome.latency.0, Event::Responded(task.id, host, end));
        }
        self.run_task(task, outcome, now);
    }

    /// Runs a task until it is recorded.
    fn run_task(&mut self, task: Arc<Task>, outcome: Outcome, now: Instant) {
        self.tasks += 1;
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
        assert!(self.in_flight.insert(seq), "{seq} is in flight twice");
        assert!(self.state.waits(host, seq), "{seq} is recorded and returned again");
        let retried = self.log.retried.get(&seq).copied().unwrap_or(0);
        // Attempts during an outage are not counted, nor those before a host was suspended, or made room in round-robin order for one that
        // was resumed.
        let suspended = &self.log.suspended;
        let may_be_fewer = !self.scenario.probes_answered
            || suspended.contains(&HostId(host as i64))
            || self.scenario.order == Order::RoundRobin && !suspended.is_empty();
        assert!(task.attempt == retried || may_be_fewer && task.attempt < retried);
        if self.scenario.order == Order::RoundRobin {
            assert_eq!(self.tasks, 1, "one after the other");
        }
        if task.attempt == 0 {
            self.log.fetched.push((host, seq));
        }
        // A page is counted when the state records it, before the frontier gets the report.
        self.later(now, outcome.latency.0 + outcome.latency.1, Event::Finished(task, outcome));
    }

    /// A request of a host starts, to `target`: all rules of politeness must hold.
    fn start(&mut self, id: TaskId, host: usize, target: usize, now: Instant) {
        let (address, delay, group) =
            (self.address(target), self.scenario.delay, self.group(target));
        self.log.requests += 1;
        self.log.most_in_flight = self.log.most_in_flight.max(self.tasks);
        if let Some(group) = group {
            let before = self.shared.insert(group, now + delay);
            assert!(before.is_none_or(|instant| instant <= now), "{group:?} is asked too early");
        }
        let seen = self.seen.entry(target).or_default();
        assert!(
            seen.not_before.is_none_or(|instant| instant <= now),
            "host {target} is asked too early"
        );
        seen.not_before = seen.not_before.max(Some(now + delay));
        if host == target {
            let own = seen.latest.map(|latest| latest + seen.crawl_delay);
            assert!(own.is_none_or(|instant| instant <= now), "the Crawl-delay of {host}");
            seen.latest = Some(now);
            seen.in_flight += 1;
            assert!(seen.in_flight <= self.scenario.per_host, "too many requests to host {host}");
        }
        let known = self.frontier.running[&id].address;
        assert!(known.is_none_or(|known| known == address && !known.is_loopback()));
        if known.is_some() {
            let count = self.to_address.entry(address).or_default();
            *count += 1;
            assert!(*count <= 2, "too many requests to {address}");
            self.counted_as.insert(id, address);
        }
    }

    fn deliver(&mut self, event: Event, now: Instant) {
        match event {
            Event::Responded(id, host, end) => self.responded(id, host, end, now),
            Event::Robots(task) => {
                self.tasks -= 1;
                let (host, delays) = (named(&task.name), &self.scenario.crawl_delays);
                let redirects = &self.scenario.robots_redirects;
                let (seconds, failures) = delays[host % delays.len()];
                let result = if task.attempt < failures {
                    let seen = self.seen.entry(host).or_default();
                    seen.not_before = seen.not_before.max(Some(now + SECOND));
                    RobotsResult::Retry { chance: 0.0 }
                } else if let Some(target) = redirects[host % redirects.len()]
                    && !task.request.is_redirected()
                {
                    let url = format!("http://{}/robots.txt", name(target, self.scenario.sites));
                    RobotsResult::Redirect(RobotsRequest::redirected_to(&url))
                } else {
                    self.seen.entry(host).or_default().crawl_delay = Duration::from_secs(seconds);
                    let file = format!("User-agent: *\nCrawl-delay: {seconds}\nDisallow: /no");
                    let robots = Robots::parse(file.as_bytes(), "pagesieve");
                    RobotsResult::Rules(Arc::new(robots), Duration::ZERO)
                };
                self.frontier.robots_fetched(&task, result, now);
            }
            Event::FailuresTakenBack => self.frontier.failures_taken_back(&[], now),
            Event::Resumed(host) => {
                let waits = !self.state.urls(host.0 as usize, 0, 1).is_empty();
                let row = waits.then(|| self.row(host.0 as usize));
                self.frontier.resumed(host, row.as_ref(), now);
            }
            Event::Probed(task) => {
                self.tasks -= 1;
                self.frontier.probed(&task, now);
            }
            Event::Finished(task, outcome) => self.record(task, outcome, now),
            Event::Report(task, recorded) => {
                self.tasks -= 1;
                self.frontier.recorded(&task, &recorded, now);
            }
            Event::Loaded(loaded) => self.frontier.loaded(loaded, now),
            Event::Suspended(host) => {
                self.state.suspended.insert(host.0 as usize);
                self.log.suspended.push(host);
            }
        }
    }

    /// The request of a task has ended.
    fn responded(&mut self, id: TaskId, host: usize, end: RequestEnd, now: Instant) {
        let delay = self.scenario.delay;
        let goes_elsewhere = self.frontier.running[&id].goes_elsewhere;
        let group = self.group(host).filter(|_| end.address().is_some());
        let seen = self.seen.entry(host).or_default();
        let pause = match end {
            RequestEnd::Overload { retry_after, .. } => {
                // Whoever asks for more is suspended, and is asked only by others.
                delay.max(retry_after.unwrap_or(SECOND).min(MAX_RETRY_AFTER))
            }
            _ => delay,
        };
        seen.not_before = seen.not_before.max(Some(now + pause));
        if !goes_elsewhere {
            seen.in_flight -= 1;
            seen.latest = Some(now);
        }
        if let Some(instant) = group.and_then(|group| self.shared.get_mut(&group)) {
            *instant = (*instant).max(now + pause);
        }
        if let Some(address) = self.counted_as.remove(&id) {
            *self.to_address.get_mut(&address).unwrap() -= 1;
        }
        self.frontier.responded(id, end, now);
    }

    /// The recorder records a URL; its report arrives some time later.
    fn record(&mut self, task: Arc<Task>, outcome: Outcome, now: Instant) {
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
        self.in_flight.remove(&seq);
        if outcome.retry {
            *self.log.retried.entry(seq).or_default() += 1;
            self.tasks -= 1;
            return self.frontier.retry(&task, 0.5, now);
        }
        self.state.dequeue(host, seq);
        self.log.pages += u64::from(outcome.fetched);
        let mut queued = Vec::new();
        for (host, seed) in outcome.links.into_iter().flatten() {
            if (self.state.last_seq as usize) < self.scenario.max_urls {
                self.state.enqueue(host, seed);
                if !self.state.suspended.contains(&host) {
                    queued.push(self.row(host));
                }
            }
        }
        let rank = (self.scenario.order == Order::RoundRobin).then(|| self.state.move_to_end(host));
        let Outcome { fetched, unanswered, .. } = outcome;
        let recorded = Recorded { queued, fetched, unanswered, rank, ..Recorded::default() };
        self.report(now, Event::Report(task, recorded));
    }
}
