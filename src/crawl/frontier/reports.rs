//! What the frontier is told.

use std::{
    cmp::Reverse,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Frontier, MAX_RETRIES, Order, Scheme, Step, TaskId, Work, host::Host};
use crate::{
    crawl::{
        politeness::{Pace, Signal, backoff},
        robots::Robots,
    },
    state::{HostId, HostRow, Queued},
};

/// Fetches in a row that failed for good before a host is set aside.
const MAX_FAILURES: u32 = 10;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::crawl) enum Ending {
    /// The state knows what has become of the URL.
    Settled {
        /// It is a page received with status 2xx.
        counted: bool,
        /// There was no answer at all.
        unanswered: bool,
        /// The host's new turn.
        turn: Option<i64>,
    },
    /// It is to be tried again.
    Retry {
        /// A random number from 0 to 1.
        chance: f64,
    },
}

impl Frontier {
    /// A host is to be found in the state, or here.
    pub(in crate::crawl) fn loaded_hosts(
        &mut self,
        rows: Vec<HostRow>,
        tick: u64,
        all: bool,
        now: Instant,
    ) {
        self.loading_hosts = false;
        for row in rows {
            if self.hosts.len() < self.limits.hosts {
                self.enter(row, now);
            } else {
                self.left_at = self.left_at.max(tick + 1);
            }
        }
        self.dormant = !all || self.left_at > tick;
    }

    /// URLs of a host, loaded at `tick`; `all` if the state had no more of them then.
    pub(in crate::crawl) fn loaded_urls(
        &mut self,
        id: HostId,
        urls: Vec<Queued>,
        tick: u64,
        all: bool,
    ) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.loaded(urls, tick, all);
            self.list(id);
        }
    }

    /// A URL was queued at `tick`.
    pub(in crate::crawl) fn queued(
        &mut self,
        row: &HostRow,
        queued: Queued,
        tick: u64,
        now: Instant,
    ) {
        let room = 2 * self.limits.urls;
        if let Some(host) = self.hosts.get_mut(&row.id) {
            host.add(queued, tick, room);
            self.list(row.id);
            return;
        }
        if self.hosts.len() >= self.limits.hosts {
            self.forget_idle(now);
        }
        if self.dormant || self.hosts.len() >= self.limits.hosts {
            self.dormant = true;
            self.left_at = tick;
            return;
        }
        self.enter(row.clone(), now);
    }

    /// The request of a task has ended: its host answered, or the attempt came to nothing.
    pub(in crate::crawl) fn answered(
        &mut self,
        id: TaskId,
        address: Option<IpAddr>,
        signal: Signal,
        now: Instant,
    ) {
        self.end_request(id, now, Some((address, signal)));
    }

    /// A host asks for too long a pause.
    pub(in crate::crawl) fn set_aside(&mut self, id: HostId, why: String) {
        self.forget(id);
        self.errands.push_back(Step::SetAside(id, why));
    }

    /// A task has ended. If its request has not, none was made.
    pub(in crate::crawl) fn finished(&mut self, id: TaskId, ending: Ending, now: Instant) {
        self.end_request(id, now, None);
        let Some(running) = self.running.remove(&id) else { return };
        let Work::Fetch(task) = running.work else { return };
        if !task.over_budget {
            let counted = matches!(ending, Ending::Settled { counted: true, .. });
            self.budget.settle(task.queued.url.seed, counted);
        }
        if let Some(host) = self.hosts.get_mut(&running.host) {
            host.unsettled = host.unsettled.saturating_sub(1);
            match ending {
                Ending::Retry { chance } => {
                    let attempt = task.attempt + 1;
                    host.retry(task.queued, attempt, now + backoff(attempt, chance));
                }
                Ending::Settled { unanswered, turn, .. } => {
                    host.failures = if unanswered { host.failures + 1 } else { 0 };
                    self.take_turn(running.host, turn);
                }
            }
        }
        self.give_up_on_dead(running.host);
        self.list(running.host);
        for stalled in std::mem::take(&mut self.stalled) {
            self.list(stalled);
        }
    }

    /// What robots.txt of a host says, received so long ago.
    pub(in crate::crawl) fn learned(
        &mut self,
        id: TaskId,
        robots: Arc<Robots>,
        age: Duration,
        now: Instant,
    ) {
        let Some((host, scheme)) = self.end_ask(id, now) else { return };
        let longest = self.options.max_crawl_delay;
        if let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest) {
            let why = format!(
                "robots.txt asks for a delay of {} s, politeness.max_crawl_delay is {} s",
                delay.as_secs_f64(),
                longest.as_secs_f64()
            );
            return self.set_aside(host, why);
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.learn(scheme, robots, now, age);
        }
        self.list(host);
    }

    /// robots.txt could not be had this time: it is asked for again, a little later.
    pub(in crate::crawl) fn ask_again(
        &mut self,
        id: TaskId,
        attempt: u32,
        chance: f64,
        now: Instant,
    ) {
        let Some((host, scheme)) = self.end_ask(id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.ask_again(scheme, attempt);
            entry.pace.pause_until(now + backoff(attempt, chance));
        }
        self.list(host);
    }

    fn end_ask(&mut self, id: TaskId, now: Instant) -> Option<(HostId, Scheme)> {
        self.end_request(id, now, None);
        let Work::Ask(ask) = self.running.remove(&id)?.work else { return None };
        if let Some(host) = self.hosts.get_mut(&ask.host) {
            host.unsettled = host.unsettled.saturating_sub(1);
        }
        Some((ask.host, ask.scheme))
    }

    /// Ends the request of a task once; without an answer none was made.
    fn end_request(&mut self, id: TaskId, now: Instant, answer: Option<(Option<IpAddr>, Signal)>) {
        let Some(running) = self.running.get_mut(&id) else { return };
        if !std::mem::replace(&mut running.asking, false) {
            return;
        }
        let (host, started, counted) = (running.host, running.started, running.address);
        if let Some(entry) = self.hosts.get_mut(&host) {
            match answer {
                Some((address, signal)) => {
                    entry.pace.end(started, now, signal);
                    entry.address = address.or(entry.address);
                }
                None => entry.pace.withdraw(),
            }
        }
        if let Some(address) = counted {
            self.free(address);
        }
        self.list(host);
    }

    fn free(&mut self, address: IpAddr) {
        if let Some(n) = self.addresses.get_mut(&address) {
            *n -= 1;
            if *n == 0 {
                self.addresses.remove(&address);
            }
        }
        for parked in self.parked.remove(&address).unwrap_or_default() {
            self.list(parked);
        }
    }

    fn give_up_on_dead(&mut self, id: HostId) {
        if self.hosts.get(&id).is_some_and(|host| host.failures >= MAX_FAILURES) {
            self.set_aside(id, format!("{MAX_FAILURES} URLs in a row got no answer"));
        }
    }

    fn take_turn(&mut self, id: HostId, turn: Option<i64>) {
        if let (Some(host), Some(turn)) = (self.hosts.get_mut(&id), turn) {
            self.turns.remove(&(host.turn, id));
            host.turn = turn;
            self.turns.insert((turn, id));
        }
    }

    /// Puts a host into the order, at the instant at which it is worth looking at.
    pub(super) fn list(&mut self, id: HostId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if self.order == Order::Clock
            && !host.listed
            && let Some(moment) = host.next_moment()
        {
            host.listed = true;
            self.ready.push(Reverse((moment, id)));
        }
    }

    fn enter(&mut self, row: HostRow, now: Instant) {
        let HostRow { id, name, turn } = row;
        if self.hosts.contains_key(&id) {
            return;
        }
        self.turns.insert((turn, id));
        let max_retries = match self.order {
            Order::Clock => MAX_RETRIES,
            Order::Turn => 1,
        };
        let pace = Pace::new(self.options.delay, now);
        self.hosts.insert(id, Host::new(name.into(), turn, pace, max_retries));
        self.list(id);
    }

    /// Forgets a host: it comes again when the state gives it out.
    pub(super) fn forget(&mut self, id: HostId) {
        if let Some(host) = self.hosts.remove(&id) {
            self.turns.remove(&(host.turn, id));
        }
    }

    fn forget_idle(&mut self, now: Instant) {
        let idle: Vec<_> = self
            .hosts
            .iter()
            .filter(|(_, host)| host.is_idle() && host.is_forgettable(now))
            .map(|(&id, _)| id)
            .collect();
        idle.into_iter().for_each(|id| self.forget(id));
    }
}
