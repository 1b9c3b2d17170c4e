//! A simulated world for the schedule: hosts, their queues and a clock, and the rules that must hold at every instant.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::struct_excessive_bools,
    reason = "the numbers are small, and a scenario is a list of choices"
)]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque},
    net::{IpAddr, Ipv4Addr},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    super::{
        Budget, Clock, Idle, Limits, Order, Patience, RobotsTask, Schedule, Start, Step, Task,
        TaskId,
    },
    SECOND,
};
use crate::{
    crawl::{
        politeness::{Options, RequestEnd, ShareDelay},
        robots::{Robots, RobotsRequest},
    },
    page::{NormalUrl, Timestamp},
    state::{HostId, HostRow, Queued, SuspendCause, UrlId, UrlKind, UrlRow, UrlState},
};

/// The longest outage that is waited for, and how long for hosts that do not answer.
pub(super) const PATIENCE: Patience =
    Patience { give_up_after: Duration::from_mins(1), max_outage: Duration::from_mins(5) };

/// Attempts of a URL.
const ATTEMPTS: u32 = 3;

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
    /// No links are added beyond this many URLs.
    pub(super) max_urls: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            hosts: 1,
            seeds: Vec::new(),
            outcomes: vec![Outcome::default()],
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
            max_urls: 100,
        }
    }
}

/// The queues of the hosts, as the engine has them: URLs with their seeds, and the rotation.
#[derive(Debug)]
pub(super) struct FakeState {
    queues: Vec<VecDeque<(i64, usize)>>,
    sites: usize,
    ranks: Vec<i64>,
    last_rank: i64,
    /// Hosts that are not in the schedule, or that have got URLs since.
    rotation: BTreeSet<(i64, usize)>,
    suspended: BTreeSet<usize>,
    pub(super) last_seq: i64,
}

impl FakeState {
    fn new(scenario: &Scenario) -> Self {
        let mut state = Self {
            queues: vec![VecDeque::new(); scenario.hosts],
            sites: scenario.sites,
            ranks: (1..=scenario.hosts as i64).collect(),
            last_rank: scenario.hosts as i64,
            rotation: BTreeSet::new(),
            suspended: BTreeSet::new(),
            last_seq: 0,
        };
        for &(host, seed) in &scenario.seeds {
            state.enqueue(host, seed);
        }
        state
    }

    fn enqueue(&mut self, host: usize, seed: usize) {
        self.last_seq += 1;
        self.put(host, (self.last_seq, seed), false);
    }

    fn put(&mut self, host: usize, url: (i64, usize), is_first: bool) {
        if self.queues[host].is_empty() && !self.suspended.contains(&host) {
            self.rotation.insert((self.ranks[host], host));
        }
        if is_first {
            self.queues[host].push_front(url);
        } else {
            self.queues[host].push_back(url);
        }
    }

    fn take(&mut self, host: usize) -> Option<Queued> {
        let (seq, seed) = self.queues[host].pop_front()?;
        if self.queues[host].is_empty() {
            self.rotation.remove(&(self.ranks[host], host));
        }
        Some(queued(&name(host, self.sites), host, seq, seed))
    }

    fn move_to_end(&mut self, host: usize) {
        self.last_rank += 1;
        if self.rotation.remove(&(self.ranks[host], host)) {
            self.rotation.insert((self.last_rank, host));
        }
        self.ranks[host] = self.last_rank;
    }

    fn row(&self, host: usize) -> HostRow {
        let (id, name) = (HostId(host as i64), name(host, self.sites));
        HostRow { id, name, not_before: None, has_answered: false }
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
    Queued { url, visit: None }
}

#[derive(Debug, Default)]
pub(super) struct Log {
    /// Host and number of each URL, as often as it was handed out.
    pub(super) fetched: Vec<(usize, i64)>,
    pub(super) asked: Vec<(usize, &'static str)>,
    pub(super) requests: usize,
    pub(super) most_in_flight: usize,
    pub(super) redirected: usize,
    pub(super) over_budget: usize,
    pub(super) outages: usize,
    pub(super) hosts_loaded: usize,
    pub(super) steps: usize,
    pages: u64,
    answers: usize,
    /// URLs that have an outcome.
    done: BTreeSet<i64>,
}

#[derive(Debug)]
enum Event {
    /// The request of a task, to this host, has ended.
    Responded(TaskId, usize, RequestEnd),
    Finished(Arc<Task>, Outcome),
    Robots(Arc<RobotsTask>),
}

/// The pace of a host as an observer sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    in_flight: usize,
    not_before: Option<Instant>,
    /// When the latest request on its own behalf started or ended, and the Crawl-delay of its robots.txt.
    latest: Option<Instant>,
    crawl_delay: Duration,
    robots_failures: u32,
}

/// The attempts of a URL.
#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    count: u32,
    /// When the last one ended, and in round-robin order when the next one may start.
    last: Option<Instant>,
    due: Option<Instant>,
}

pub(super) struct World {
    pub(super) schedule: Schedule,
    pub(super) log: Log,
    scenario: Scenario,
    pub(super) state: FakeState,
    events: BinaryHeap<Reverse<(Instant, usize)>>,
    pending: BTreeMap<usize, Event>,
    event: usize,
    seen: BTreeMap<usize, Seen>,
    /// When the hosts of a site, at an address, may be asked again.
    shared: BTreeMap<(usize, Option<IpAddr>), Instant>,
    /// Requests to an address that the schedule can know of.
    to_address: BTreeMap<IpAddr, usize>,
    counted_as: BTreeMap<TaskId, IpAddr>,
    in_flight: BTreeSet<i64>,
    tasks: usize,
    attempts: HashMap<i64, Attempts>,
    /// Hosts and schemes whose robots.txt is kept: it is not requested again.
    robots: BTreeSet<(usize, &'static str)>,
    seeds: HashMap<i64, usize>,
    most_silent: usize,
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
        let schedule = Schedule::new(options, scenario.order, limits, budget, PATIENCE, clock);
        Self {
            schedule,
            log: Log::default(),
            state: FakeState::new(&scenario),
            events: BinaryHeap::new(),
            pending: BTreeMap::new(),
            event: 0,
            seen: BTreeMap::new(),
            shared: BTreeMap::new(),
            to_address: BTreeMap::new(),
            counted_as: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            tasks: 0,
            attempts: HashMap::new(),
            robots: BTreeSet::new(),
            seeds: HashMap::new(),
            most_silent: 0,
            scenario,
        }
    }

    pub(super) fn start_time(&self) -> Instant {
        self.schedule.clock.instant
    }

    /// Queues a URL of this host, as the engine does.
    pub(super) fn queue(&mut self, host: usize, now: Instant) {
        self.state.enqueue(host, 0);
        self.note(host, now);
    }

    pub(super) fn row(&self, host: usize) -> HostRow {
        self.state.row(host)
    }

    fn note(&mut self, host: usize, now: Instant) {
        let id = HostId(host as i64);
        if !self.state.suspended.contains(&host) && self.schedule.queued(id, now) {
            self.schedule.add(&self.state.row(host), now);
        }
    }

    fn put_back(&mut self, queued: &Queued, is_first: bool, now: Instant) {
        let host = queued.url.host.0 as usize;
        let seed = queued.url.seed.unwrap_or_default();
        self.state.put(host, (queued.url.id.0, seed), is_first);
        self.note(host, now);
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

    /// The next step that is a request, or how long there is none.
    pub(super) fn next(&mut self, now: Instant) -> Result<Start, Idle> {
        loop {
            self.log.steps += 1;
            assert!(self.log.steps < 2_000_000, "busy without end");
            if self.scenario.hosts < 100 {
                assert_eq!(self.schedule.silent, self.schedule.failing().count());
            }
            self.most_silent = self.most_silent.max(self.schedule.silent);
            let most = self.scenario.limits.hosts + self.most_silent;
            let is_bounded =
                self.scenario.order == Order::RoundRobin || self.schedule.hosts.len() <= most;
            assert!(is_bounded, "too many hosts");
            match self.schedule.next(now) {
                Step::Ask(host) => {
                    if let Some(start) = self.ask(host.0 as usize, now) {
                        return Ok(start);
                    }
                }
                Step::Load => self.load(now),
                Step::Evicted(host) => {
                    let host = host.0 as usize;
                    self.state.move_to_end(host);
                    if !self.state.queues[host].is_empty() {
                        self.state.rotation.insert((self.state.ranks[host], host));
                    }
                }
                Step::Due(host, url) => {
                    let host = host.0 as usize;
                    self.state.put(host, (url.0, self.seeds[&url.0]), true);
                    self.note(host, now);
                }
                Step::Idle(idle) => return Err(idle),
            }
        }
    }

    fn load(&mut self, now: Instant) {
        self.log.hosts_loaded += 1;
        let host = if self.scenario.order == Order::RoundRobin {
            let is_next = |host: &usize| !self.schedule.is_passed_over(HostId(*host as i64), now);
            self.state.rotation.iter().map(|&(_, host)| host).find(is_next)
        } else {
            self.state.rotation.pop_first().map(|(_, host)| host)
        };
        match host {
            Some(host) => self.schedule.add(&self.state.row(host), now),
            None => self.schedule.no_more_hosts(),
        }
    }

    /// Starts the next request of a host, as the engine does.
    fn ask(&mut self, host: usize, now: Instant) -> Option<Start> {
        let (id, round_robin) = (HostId(host as i64), self.scenario.order == Order::RoundRobin);
        while let Some(queued) = self.state.take(host) {
            self.schedule.set_has_urls(id, !self.state.queues[host].is_empty());
            let due = self.attempts.get(&queued.url.id.0).and_then(|attempts| attempts.due);
            if let Some(due) = due.filter(|due| round_robin && *due > now) {
                self.schedule.wait_until(id, due);
                self.put_back(&queued, true, now);
                return None;
            }
            match self.schedule.start(queued, now) {
                Start::Wait(queued) => {
                    self.put_back(&queued, true, now);
                    return None;
                }
                Start::OverBudget(queued) => {
                    self.log.over_budget += 1;
                    self.log.done.insert(queued.url.id.0);
                    self.end_turn(host);
                    if round_robin {
                        return None;
                    }
                }
                start => return Some(start),
            }
        }
        self.schedule.set_has_urls(id, false);
        if round_robin {
            self.schedule.end_turn();
        }
        None
    }

    fn end_turn(&mut self, host: usize) {
        if self.scenario.order == Order::RoundRobin {
            self.state.move_to_end(host);
            self.schedule.end_turn();
        }
    }

    /// The next step, which must be the fetch of a page.
    pub(super) fn fetched(&mut self, now: Instant) -> Task {
        match self.next(now) {
            Ok(Start::Fetch(task)) => task,
            step => panic!("{step:?}"),
        }
    }

    /// Ends a fetch that a test has started itself.
    pub(super) fn end(&mut self, task: &Task, now: Instant) {
        let row = &task.queued.url;
        self.log.fetched.push((row.host.0 as usize, row.id.0));
        self.log.done.insert(row.id.0);
        self.schedule.finished(task, false, now);
        self.end_turn(row.host.0 as usize);
    }

    fn later(&mut self, now: Instant, millis: u64, event: Event) {
        self.event += 1;
        self.events.push(Reverse((now + Duration::from_millis(millis), self.event)));
        self.pending.insert(self.event, event);
    }

    /// Runs to the end and checks that everything was done that had to be.
    pub(super) fn run(&mut self) {
        let mut now = self.start_time();
        let mut was_out = false;
        loop {
            let idle = self.begin(now);
            let is_out = self.schedule.is_out();
            self.log.outages += usize::from(is_out && !std::mem::replace(&mut was_out, is_out));
            match idle {
                Idle::Done if self.pending.is_empty() => break,
                Idle::Until(at) => {
                    assert!(at > now, "a wait that is over before it begins");
                    let next = self.events.peek().map_or(at, |&Reverse((due, _))| due.min(at));
                    now = next.max(now);
                }
                Idle::Blocked | Idle::Done => {
                    let Some(&Reverse((due, _))) = self.events.peek() else {
                        panic!("blocked for ever: {:#?}", self.schedule)
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
        }
        self.check_end();
    }

    /// Whether all URLs are done but those that need not be.
    fn check_end(&self) {
        let spent = self.log.pages >= self.scenario.max_pages;
        let failing: BTreeSet<_> = self.schedule.failing().map(|(id, _)| id.0 as usize).collect();
        let is_left = |host: &usize| {
            !self.state.queues[*host].is_empty()
                && !self.state.suspended.contains(host)
                && !failing.contains(host)
        };
        let left: Vec<_> = (0..self.scenario.hosts).filter(is_left).collect();
        assert!(spent || self.schedule.is_out() || left.is_empty(), "left after it: {left:?}");
        let later = self.schedule.later.iter().map(|(.., host)| host.0 as usize);
        let later: Vec<_> = later.filter(|host| !failing.contains(host)).collect();
        assert!(spent || self.schedule.is_out() || later.is_empty(), "{later:?}");
        assert!(self.log.pages <= self.scenario.max_pages, "the budget is overdrawn");
        let work = self.state.last_seq as usize * 8 + self.scenario.hosts;
        assert!(self.log.steps <= 60 * work + 400, "{} steps for {work}", self.log.steps);
    }

    fn begin(&mut self, now: Instant) -> Idle {
        while self.tasks < self.scenario.concurrency {
            match self.next(now) {
                Err(idle) => return idle,
                Ok(Start::Robots(task)) => {
                    self.tasks += 1;
                    let (host, target) = (named(&task.name), named(&task.request.host()));
                    let (robots, is_followed) =
                        ((host, task.scheme.as_str()), task.request.is_redirected());
                    if !is_followed && self.robots.contains(&robots) {
                        self.later(now, 1, Event::Robots(Arc::new(task)));
                        continue;
                    }
                    self.log.asked.push(robots);
                    self.log.redirected += usize::from(target != host);
                    self.begin_request(task.id, host, target, now);
                    let end = RequestEnd::Response(self.address(target));
                    self.later(now, 7, Event::Responded(task.id, target, end));
                    self.later(now, 9, Event::Robots(Arc::new(task)));
                }
                Ok(Start::Fetch(task)) => self.fetch(Arc::new(task), now),
                Ok(start) => panic!("{start:?}"),
            }
        }
        Idle::Blocked
    }

    fn fetch(&mut self, task: Arc<Task>, now: Instant) {
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.url.id.0);
        let mut outcome = self.scenario.outcomes[self.log.answers % self.scenario.outcomes.len()];
        self.log.answers += 1;
        let tried = self.attempts.get(&seq).map_or(0, |attempts| attempts.count);
        outcome.retry &= tried < ATTEMPTS;
        self.tasks += 1;
        self.seeds.insert(seq, task.queued.url.seed.unwrap());
        assert!(self.in_flight.insert(seq), "{seq} is in flight twice");
        assert!(!self.log.done.contains(&seq), "{seq} is recorded and returned again");
        if self.scenario.order == Order::RoundRobin {
            assert_eq!(self.tasks, 1, "one after the other");
        }
        if tried == 0 {
            self.log.fetched.push((host, seq));
        }
        if !outcome.silent {
            self.begin_request(task.id, host, host, now);
            let address = self.address(host);
            let end = match outcome.load {
                _ if outcome.unanswered => RequestEnd::Unanswered,
                Load::Fine => RequestEnd::Response(address),
                Load::Overload { retry_after } => RequestEnd::Overload { address, retry_after },
            };
            self.later(now, outcome.latency.0, Event::Responded(task.id, host, end));
        }
        // A page is counted when the engine records it.
        self.later(now, outcome.latency.0 + outcome.latency.1, Event::Finished(task, outcome));
    }

    /// A request of a host starts, to `target`: all rules of politeness must hold.
    fn begin_request(&mut self, id: TaskId, host: usize, target: usize, now: Instant) {
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
        let known = self.schedule.running[&id].address;
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
            Event::Robots(task) => self.robots(&task, now),
            Event::Finished(task, outcome) => self.record(&task, outcome, now),
        }
    }

    fn robots(&mut self, task: &RobotsTask, now: Instant) {
        self.tasks -= 1;
        let (host, delays) = (named(&task.name), &self.scenario.crawl_delays);
        let redirects = &self.scenario.robots_redirects;
        let (seconds, failures) = delays[host % delays.len()];
        let seen = self.seen.entry(host).or_default();
        if seen.robots_failures < failures {
            seen.robots_failures += 1;
            seen.not_before = seen.not_before.max(Some(now + SECOND));
            self.schedule.pause_until(task.queued.url.host, now + SECOND);
            self.schedule.request_robots_again(task, None, now);
        } else if let Some(target) = redirects[host % redirects.len()]
            && !task.request.is_redirected()
        {
            let url = format!("http://{}/robots.txt", name(target, self.scenario.sites));
            let request = RobotsRequest::redirected_to(&url);
            self.schedule.request_robots_again(task, Some(request), now);
        } else {
            seen.crawl_delay = Duration::from_secs(seconds);
            let file = format!("User-agent: *\nCrawl-delay: {seconds}\nDisallow: /no");
            let robots = Arc::new(Robots::parse(file.as_bytes(), "pagesieve"));
            let cause = self.schedule.set_robots(task, robots, Duration::ZERO, now);
            self.robots.insert((host, task.scheme.as_str()));
            self.put_back(&task.queued, true, now);
            if let Some(cause) = cause {
                self.suspend(host, cause);
            }
            return;
        }
        self.put_back(&task.queued, true, now);
    }

    /// A robots.txt that a test has requested itself allows everything.
    pub(super) fn allow_all(&mut self, task: &RobotsTask, now: Instant) {
        self.schedule.set_robots(task, Arc::new(Robots::default()), Duration::ZERO, now);
        self.put_back(&task.queued, true, now);
    }

    /// The same redirects there.
    pub(super) fn redirect_robots(&mut self, task: &RobotsTask, target: &str, now: Instant) {
        let request = RobotsRequest::redirected_to(target);
        self.schedule.request_robots_again(task, Some(request), now);
        self.put_back(&task.queued, true, now);
    }

    /// A fetch that a test has started itself gets no answer, and is queued again.
    pub(super) fn silent(&mut self, task: &Task, now: Instant) {
        self.schedule.responded(task.id, RequestEnd::Unanswered, now);
        self.put_back(&task.queued, false, now);
        self.schedule.finished(task, false, now);
    }

    pub(super) fn suspend(&mut self, host: usize, _cause: SuspendCause) {
        self.schedule.remove(HostId(host as i64));
        self.state.suspended.insert(host);
        self.state.rotation.remove(&(self.state.ranks[host], host));
    }

    /// The request of a task has ended.
    fn responded(&mut self, id: TaskId, host: usize, end: RequestEnd, now: Instant) {
        let delay = self.scenario.delay;
        let goes_elsewhere = self.schedule.running[&id].goes_elsewhere;
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
        if let Some((host, cause)) = self.schedule.responded(id, end, now) {
            self.suspend(host.0 as usize, cause);
        }
    }

    /// Records what became of a URL, as the engine does.
    fn record(&mut self, task: &Task, outcome: Outcome, now: Instant) {
        let (row, round_robin) = (&task.queued.url, self.scenario.order == Order::RoundRobin);
        let (host, seq) = (row.host.0 as usize, row.id.0);
        self.in_flight.remove(&seq);
        self.tasks -= 1;
        let is_silent = outcome.unanswered && !outcome.silent;
        let attempts = self.attempts.entry(seq).or_default();
        let before = attempts.last.replace(now);
        // If the host had answered, it must have done so since the last attempt.
        let counts = !is_silent
            || self.schedule.health(row.host).is_none_or(|health| {
                let since = health.last_answer.zip(before);
                !health.had_answered || since.is_some_and(|(answer, before)| answer > before)
            });
        if outcome.retry || is_silent && (!counts || attempts.count < ATTEMPTS) {
            attempts.count += u32::from(counts);
            attempts.due = counts.then_some(now + SECOND);
            if counts && !round_robin {
                self.schedule.later(row.host, row.id, now + SECOND);
            } else {
                self.put_back(&task.queued, false, now);
            }
            self.schedule.finished(task, false, now);
            return self.end_turn(host);
        }
        self.log.done.insert(seq);
        self.log.pages += u64::from(outcome.fetched);
        if !is_silent {
            self.schedule.useful_answer(now);
        }
        for (host, seed) in outcome.links.into_iter().flatten() {
            if (self.state.last_seq as usize) < self.scenario.max_urls {
                self.state.enqueue(host, seed);
                self.note(host, now);
            }
        }
        self.schedule.finished(task, outcome.fetched, now);
        self.end_turn(host);
    }
}
