//! Hosts and a clock for the frontier, and the rules that must hold at every instant.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
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
    super::{Budget, Clock, Ending, Frontier, Order, Step, Task, TaskId},
    SECOND,
    fake::FakeState,
    scenario::{Fate, Scenario},
};
use crate::{
    crawl::{
        politeness::{Options, Signal},
        robots::Robots,
    },
    page::Timestamp,
    state::{HostId, HostRow, Queued},
};

#[derive(Debug, Default)]
pub(super) struct Log {
    /// Host and number of each URL, as often as it was handed out.
    pub(super) fetched: Vec<(usize, i64)>,
    pub(super) asked: Vec<(i64, &'static str)>,
    pub(super) set_aside: Vec<HostId>,
    pub(super) over_budget: usize,
    pub(super) hosts_loaded: usize,
    pub(super) urls_loaded: usize,
    pub(super) steps: usize,
    counted: u64,
    retried: BTreeMap<i64, u32>,
    answers: usize,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few at a time")]
enum Event {
    Answered(TaskId, i64, Option<IpAddr>, Signal),
    Finished(TaskId, Task, Fate),
    Asked(TaskId, usize, u32),
    Hosts(Vec<HostRow>, u64, bool),
    Urls(HostId, Vec<Queued>, u64, bool),
    SetAside(HostId),
    /// The report of a task that the state has settled already.
    Report(TaskId, Ending, Vec<HostRow>, u64),
}

/// The pace of a host as an onlooker sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    in_flight: usize,
    not_before: Option<Instant>,
    address_known: bool,
}

pub(super) struct World {
    pub(super) frontier: Frontier,
    pub(super) log: Log,
    scenario: Scenario,
    pub(super) state: FakeState,
    replies: usize,
    events: BinaryHeap<Reverse<(Instant, usize)>>,
    pending: BTreeMap<usize, Event>,
    event: usize,
    seen: Vec<Seen>,
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
            obey_robots: scenario.obey_robots,
            ..Options::default()
        };
        let seeds = scenario.seed_limits.iter().map(|&limit| (limit, 0));
        let budget = Budget::new(scenario.max_pages, 0, seeds);
        let clock = Clock { instant: Instant::now(), time: Timestamp(0) };
        let frontier = Frontier::new(options, scenario.order, scenario.limits, budget, clock);
        Self {
            frontier,
            log: Log::default(),
            state: FakeState::new(scenario.hosts, &scenario.seeds),
            replies: 0,
            events: BinaryHeap::new(),
            pending: BTreeMap::new(),
            event: 0,
            seen: vec![Seen::default(); scenario.hosts],
            to_address: BTreeMap::new(),
            counted_as: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            tasks: 0,
            scenario,
        }
    }

    /// Queues a URL of this host, as the recorder does, and returns its tick.
    pub(super) fn queue(&mut self, host: usize) -> u64 {
        self.state.tick += 1;
        self.state.enqueue(host, 0);
        self.state.tick
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

    /// The next step that is no question to the state; those are answered at once.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        loop {
            match self.frontier.next(now) {
                step @ (Step::LoadHosts { .. } | Step::LoadUrls { .. }) => self.step(step, now),
                step => return step,
            }
            self.events.clear();
            for (_, event) in std::mem::take(&mut self.pending) {
                self.deliver(event, now);
            }
        }
    }

    /// Ends a page that a test has begun itself.
    pub(super) fn forget_running(&mut self, id: TaskId, now: Instant) {
        let running = &self.frontier.running[&id];
        if let super::super::Work::Fetch(task) = &running.work {
            let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
            self.log.fetched.push((host, seq));
            self.state.dequeue(host, seq);
        }
        let ending = Ending::Settled { counted: false, unanswered: false, turn: None };
        self.frontier.finished(id, ending, now);
    }

    fn later(&mut self, now: Instant, millis: u64, event: Event) {
        self.event += 1;
        self.events.push(Reverse((now + Duration::from_millis(millis), self.event)));
        self.pending.insert(self.event, event);
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
                Step::Done if self.pending.is_empty() => break Step::Done,
                Step::Wait(at) => {
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
        assert!(matches!(end, Step::Done));
        self.check_end();
    }

    fn check_end(&self) {
        let spent = self.log.counted >= self.scenario.max_pages;
        let left = self.state.waiting(usize::MAX);
        assert!(spent || left.is_empty(), "left behind: {left:?}");
        assert!(self.log.counted <= self.scenario.max_pages, "the budget is overdrawn");
        let work = self.state.last_seq as usize * 8 + self.scenario.hosts;
        assert!(self.log.steps <= 40 * work + 200, "{} steps for {work}", self.log.steps);
    }

    fn begin(&mut self, now: Instant) -> Step {
        while self.tasks < self.scenario.concurrency {
            let step = self.frontier.next(now);
            self.log.steps += 1;
            assert!(self.log.steps < 200_000, "busy without end");
            assert!(self.frontier.hosts.len() <= self.scenario.limits.hosts, "too many hosts");
            assert!(
                self.frontier.ready.len()
                    <= 8 * (self.frontier.hosts.len() + self.log.steps.min(64)),
                "the order of hosts grows"
            );
            match step {
                Step::Wait(_) | Step::Blocked | Step::Done => return step,
                step => self.step(step, now),
            }
        }
        Step::Blocked
    }

    fn step(&mut self, step: Step, now: Instant) {
        match step {
            Step::LoadHosts { ended, limit } => {
                self.log.hosts_loaded += 1;
                self.state.tick += 1;
                for host in ended {
                    self.state.end_turn(host.0 as usize);
                }
                let rows = self.state.waiting(limit);
                let (all, delay) = (rows.len() < limit, self.reply_time());
                self.later(now, delay, Event::Hosts(rows, self.state.tick, all));
            }
            Step::LoadUrls { host, after, limit } => {
                self.log.urls_loaded += 1;
                self.state.tick += 1;
                let urls = self.state.urls(host.0 as usize, after, limit);
                let (all, delay) = (urls.len() < limit, self.reply_time());
                self.later(now, delay, Event::Urls(host, urls, self.state.tick, all));
            }
            Step::SetAside(host, _) => {
                let delay = self.reply_time();
                self.later(now, delay, Event::SetAside(host));
            }
            Step::Ask(id, ask) => {
                self.tasks += 1;
                let host = ask.host.0 as usize;
                self.log.asked.push((ask.host.0, ask.scheme.as_str()));
                self.start(id, host, now);
                let address = self.address(host);
                self.later(now, 7, Event::Answered(id, ask.host.0, Some(address), Signal::Fine));
                self.later(now, 9, Event::Asked(id, host, ask.attempt));
            }
            Step::Fetch(id, task) => self.fetch(id, task, now),
            Step::Wait(_) | Step::Blocked | Step::Done => unreachable!("nothing to do"),
        }
    }

    fn fetch(&mut self, id: TaskId, task: Task, now: Instant) {
        self.tasks += 1;
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
        assert!(self.in_flight.insert(seq), "{seq} is in flight twice");
        assert!(self.state.waits(host, seq), "{seq} is settled and handed out again");
        assert_eq!(self.log.retried.get(&seq).copied().unwrap_or(0), task.attempt);
        if self.scenario.order == Order::Turn {
            assert_eq!(self.tasks, 1, "one after the other");
        }
        let mut fate = self.scenario.fates[self.log.answers % self.scenario.fates.len()];
        self.log.answers += 1;
        fate.retry &= task.attempt < 2 && !task.over_budget;
        if task.over_budget {
            self.log.over_budget += 1;
            fate = Fate { silent: true, counted: false, ..Fate::default() };
        } else if !fate.silent {
            self.start(id, host, now);
            let address = (!fate.unanswered).then(|| self.address(host));
            let answered = Event::Answered(id, host as i64, address, fate.signal);
            self.later(now, fate.latency.0, answered);
        }
        if task.attempt == 0 {
            self.log.fetched.push((host, seq));
        }
        // What is counted is counted when the state settles it, which is before the frontier hears of it.
        self.later(now, fate.latency.0 + fate.latency.1, Event::Finished(id, task, fate));
    }

    /// A request starts: all rules of politeness must hold.
    fn start(&mut self, id: TaskId, host: usize, now: Instant) {
        let address = self.address(host);
        let seen = &mut self.seen[host];
        assert!(
            seen.not_before.is_none_or(|instant| instant <= now),
            "host {host} is asked too early"
        );
        seen.in_flight += 1;
        seen.not_before = seen.not_before.max(Some(now + self.scenario.delay));
        assert!(seen.in_flight <= self.scenario.per_host, "too many requests to host {host}");
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
            Event::Answered(id, host, address, signal) => {
                let delay = self.scenario.delay;
                let seen = &mut self.seen[host as usize];
                seen.in_flight -= 1;
                let pause = match signal {
                    Signal::Fine => delay,
                    Signal::Overload { retry_after } => delay.max(retry_after.unwrap_or(SECOND)),
                };
                seen.not_before = seen.not_before.max(Some(now + pause));
                seen.address_known |= address.is_some();
                if let Some(address) = self.counted_as.remove(&id) {
                    *self.to_address.get_mut(&address).unwrap() -= 1;
                }
                self.frontier.answered(id, address, signal, now);
            }
            Event::Asked(id, host, attempt) => {
                self.tasks -= 1;
                let delays = &self.scenario.crawl_delays;
                let (seconds, failures) = delays[host % delays.len()];
                if attempt < failures {
                    self.seen[host].not_before = self.seen[host].not_before.max(Some(now + SECOND));
                    return self.frontier.ask_again(id, attempt + 1, 0.0, now);
                }
                let file = format!("User-agent: *\nCrawl-delay: {seconds}\nDisallow: /no");
                let robots = Arc::new(Robots::parse(file.as_bytes(), "pagesieve"));
                self.frontier.learned(id, robots, Duration::ZERO, now);
            }
            Event::Finished(id, task, fate) => self.settle(id, &task, fate, now),
            Event::Report(id, ending, queued, tick) => {
                self.tasks -= 1;
                for row in &queued {
                    self.frontier.queued(row, tick, now);
                }
                self.frontier.finished(id, ending, now);
            }
            Event::Hosts(rows, tick, all) => self.frontier.loaded_hosts(&rows, tick, all, now),
            Event::Urls(host, urls, tick, all) => self.frontier.loaded_urls(host, urls, tick, all),
            Event::SetAside(host) => {
                self.state.aside.insert(host.0 as usize);
                self.log.set_aside.push(host);
            }
        }
    }

    /// The recorder settles a URL; its report takes its own way.
    fn settle(&mut self, id: TaskId, task: &Task, fate: Fate, now: Instant) {
        let (host, seq) = (task.queued.url.host.0 as usize, task.queued.seq);
        self.in_flight.remove(&seq);
        if fate.retry {
            *self.log.retried.entry(seq).or_default() += 1;
            self.tasks -= 1;
            return self.frontier.finished(id, Ending::Retry { chance: 0.5 }, now);
        }
        self.state.tick += 1;
        self.state.dequeue(host, seq);
        self.log.counted += u64::from(fate.counted);
        let mut queued = Vec::new();
        for (host, seed) in fate.links.into_iter().flatten() {
            if (self.state.last_seq as usize) < self.scenario.max_urls {
                self.state.enqueue(host, seed);
                if !self.state.aside.contains(&host) {
                    queued.push(self.row(host));
                }
            }
        }
        let turn = (self.scenario.order == Order::Turn).then(|| self.state.end_turn(host));
        let ending = Ending::Settled { counted: fate.counted, unanswered: fate.unanswered, turn };
        let (tick, delay) = (self.state.tick, self.reply_time());
        self.later(now, delay, Event::Report(id, ending, queued, tick));
    }
}
