//! How a request of a host begins.

use std::{net::IpAddr, sync::Arc, time::Instant};

use super::{Ask, Frontier, Order, Running, Scheme, Step, Task, TaskId, Work, host::Rules};
use crate::state::HostId;

impl Frontier {
    /// Begins the next fetch of a host, or asks for the robots.txt that must be known first.
    pub(super) fn begin(
        &mut self,
        id: HostId,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Option<Step> {
        let host = self.hosts.get_mut(&id)?;
        let (queued, attempt) = host.head(now)?;
        let (seq, seed, scheme) = (queued.seq, queued.url.seed, Scheme::of(&queued.url.url));
        let over_budget = seed.is_some_and(|seed| self.budget.is_seed_spent(seed));
        let robots = match host.rules(scheme, now) {
            _ if over_budget || !self.options.obey_robots => None,
            Rules::Known { robots, .. } => Some(Arc::clone(robots)),
            Rules::Asking => return None,
            rules @ Rules::Unknown { .. } => {
                let Rules::Unknown { attempt, moved } = std::mem::replace(rules, Rules::Asking)
                else {
                    return None;
                };
                let name = Arc::clone(&host.name);
                return self.ask(Ask { host: id, name, scheme, attempt, moved }, address, now);
            }
        };
        if !over_budget && !self.budget.reserve(seed) {
            self.stalled.push(id);
            return None;
        }
        let queued = host.take(seq)?;
        let task = Task { queued, host: Arc::clone(&host.name), attempt, robots, over_budget };
        Some(Step::Fetch(self.run(id, address, now, Work::Fetch(task.clone())), task))
    }

    /// Asks for a robots.txt; where redirects have led to another host that is here, not before that may be asked.
    fn ask(&mut self, ask: Ask, own: Option<IpAddr>, now: Instant) -> Option<Step> {
        let mut address = own;
        if let Some(elsewhere) = ask.elsewhere() {
            let other = self.hosts.values_mut().find(|other| *other.name == *elsewhere);
            address = other.as_ref().and_then(|other| other.address).filter(|it| !it.is_loopback());
            match other {
                Some(other) if other.pace.earliest() > now => {
                    let earliest = other.pace.earliest();
                    return self.ask_later(ask, earliest);
                }
                Some(other) => other.pace.touch(now),
                None => {}
            }
        }
        Some(Step::Ask(self.run(ask.host, address, now, Work::Ask(ask.clone())), ask))
    }

    fn ask_later(&mut self, ask: Ask, earliest: Instant) -> Option<Step> {
        let host = self.hosts.get_mut(&ask.host)?;
        host.pace.pause_until(earliest);
        host.give_up_asking(ask.scheme, ask.attempt, ask.moved);
        self.list(ask.host);
        (self.order == Order::Turn).then_some(Step::Wait(earliest))
    }

    fn run(&mut self, host: HostId, address: Option<IpAddr>, now: Instant, work: Work) -> TaskId {
        self.last_task += 1;
        let id = TaskId(self.last_task);
        if let Some(host) = self.hosts.get_mut(&host) {
            host.pace.start(now);
            host.unsettled += 1;
        }
        if let Some(address) = address {
            self.addresses.start(address);
        }
        self.running.insert(id, Running { host, started: now, address, asking: true, work });
        id
    }
}
