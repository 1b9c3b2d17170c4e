//! What the frontier is told.

use std::{
    cmp::Reverse,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Ask, Frontier, MAX_FAILURES, MAX_RETRIES, Order, Step, TaskId, Work, host::Host};
use crate::{
    crawl::{
        politeness::{Pace, Signal, backoff},
        robots::{Inquiry, Robots},
    },
    state::{Cause, HostId, HostRow, Queued},
};

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
        rows: &[HostRow],
        tick: u64,
        all: bool,
        now: Instant,
    ) {
        self.loading_hosts = false;
        let mut taken = 0;
        for row in rows {
            if !self.enter(row, now) {
                break;
            }
            taken += 1;
            self.loaded_turn = row.turn;
        }
        self.dormant = !all || taken < rows.len() || self.left_at > tick;
        if !self.dormant {
            self.loaded_turn = i64::MAX;
        }
        self.list_all();
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

    /// A URL of this host was queued at `tick`. What a task has queued is reported before its end.
    pub(in crate::crawl) fn queued(&mut self, row: &HostRow, tick: u64, now: Instant) {
        if let Some(host) = self.hosts.get_mut(&row.id) {
            host.left(tick);
            return self.list(row.id);
        }
        if self.aside.contains(&row.id) {
            return;
        }
        if !self.dormant && self.hosts.len() >= self.limits.hosts {
            self.forget_all(|host| host.is_idle() && host.is_forgettable(now));
        }
        if self.dormant || !self.enter(row, now) {
            self.leave(row, tick);
        }
    }

    /// Leaves a host in the state, to be loaded when there is room.
    fn leave(&mut self, row: &HostRow, tick: u64) {
        self.left_at = self.left_at.max(tick);
        self.loaded_turn = self.loaded_turn.min(row.turn - 1);
        if !std::mem::replace(&mut self.dormant, true) {
            self.list_all();
        }
    }

    /// The request of a task has ended: its host answered, or the attempt came to nothing. A host that asks for too long a pause is
    /// set aside.
    pub(in crate::crawl) fn answered(
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
            self.set_aside(host, Cause::RetryAfter(pause));
        }
    }

    /// Asks nothing more of a host.
    pub(super) fn set_aside(&mut self, id: HostId, cause: Cause) {
        self.forget(id);
        if self.aside.insert(id) {
            self.errands.push_back(Step::SetAside(id, cause));
        }
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
        let Some(Ask { host, scheme, .. }) = self.end_ask(id, now) else { return };
        let longest = self.options.max_crawl_delay;
        if let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest) {
            return self.set_aside(host, Cause::CrawlDelay(delay));
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
        let Some(Ask { host, scheme, .. }) = self.end_ask(id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.give_up_asking(scheme, attempt, None);
            entry.pace.pause_until(now + backoff(attempt, chance));
        }
        self.list(host);
    }

    /// robots.txt is elsewhere: it is asked for there, a delay later.
    pub(in crate::crawl) fn moved(&mut self, id: TaskId, moved: Inquiry, now: Instant) {
        let Some(Ask { host, scheme, attempt, .. }) = self.end_ask(id, now) else { return };
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.give_up_asking(scheme, attempt, Some(moved));
        }
        self.list(host);
    }

    fn end_ask(&mut self, id: TaskId, now: Instant) -> Option<Ask> {
        self.end_request(id, now, None);
        let Work::Ask(ask) = self.running.remove(&id)?.work else { return None };
        if let Some(host) = self.hosts.get_mut(&ask.host) {
            host.unsettled = host.unsettled.saturating_sub(1);
        }
        Some(ask)
    }

    /// Ends the request of a task once; without an answer none was made.
    fn end_request(&mut self, id: TaskId, now: Instant, answer: Option<(Option<IpAddr>, Signal)>) {
        let Some(running) = self.running.get_mut(&id) else { return };
        if !std::mem::replace(&mut running.asking, false) {
            return;
        }
        let (host, started, counted) = (running.host, running.started, running.address);
        let is_own = !matches!(&running.work, Work::Ask(ask) if ask.elsewhere().is_some());
        if let Some(entry) = self.hosts.get_mut(&host) {
            match answer {
                Some((address, signal)) => {
                    entry.pace.end(started, now, signal);
                    entry.address = address.filter(|_| is_own).or(entry.address);
                }
                None => entry.pace.withdraw(started),
            }
        }
        if let Some(address) = counted {
            self.addresses.end(address);
        }
        self.list(host);
    }

    fn give_up_on_dead(&mut self, id: HostId) {
        if self.hosts.get(&id).is_some_and(|host| host.failures >= MAX_FAILURES) {
            self.set_aside(id, Cause::Unanswered(MAX_FAILURES));
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
        let crowded = self.is_crowded();
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if self.order == Order::Clock
            && let Some(moment) = host.next_moment(crowded)
            && host.listed.is_none_or(|listed| moment < listed)
        {
            host.listed = Some(moment);
            self.ready.push(Reverse((moment, id)));
        }
    }

    /// Whether hosts must make room for others has changed: some may have something else to do.
    fn list_all(&mut self) {
        let ids: Vec<_> = self.hosts.keys().copied().collect();
        for id in ids {
            self.list(id);
        }
    }

    /// Takes a host in, unless it is here or set aside; false if there is no room for it.
    fn enter(&mut self, row: &HostRow, now: Instant) -> bool {
        let &HostRow { id, ref name, turn, rests_until } = row;
        if self.hosts.contains_key(&id) || self.aside.contains(&id) {
            return true;
        }
        if self.hosts.len() >= self.limits.hosts {
            return false;
        }
        self.turns.insert((turn, id));
        let max_retries = match self.order {
            Order::Clock => MAX_RETRIES,
            Order::Turn => 1,
        };
        let mut pace = Pace::new(self.options.delay, now);
        if let Some(until) = rests_until {
            pace.pause_until(self.clock.instant_of(until));
        }
        self.hosts.insert(id, Host::new(name.as_str().into(), turn, pace, max_retries));
        self.list(id);
        true
    }

    /// Forgets a host, and gives back what was known of it: it comes again when the state gives it out.
    pub(super) fn forget(&mut self, id: HostId) -> Option<Host> {
        let host = self.hosts.remove(&id)?;
        self.turns.remove(&(host.turn, id));
        Some(host)
    }

    pub(super) fn forget_all(&mut self, gone: impl Fn(&Host) -> bool) {
        let turns = &mut self.turns;
        let leaving = self.hosts.extract_if(|_, host| gone(host));
        leaving.for_each(|(id, host)| _ = turns.remove(&(host.turn, id)));
    }
}
