//! Hosts one after the other by their stored turn: the same answers give the same order, interrupted or not.

use std::time::Instant;

use super::{Frontier, Step};

impl Frontier {
    /// Of all hosts that have URLs waiting, here or in the state, the one whose turn is lowest. Nothing is begun while anything runs.
    pub(super) fn next_by_turn(&mut self, now: Instant) -> Option<Step> {
        if !self.running.is_empty() || self.loading_hosts {
            return None;
        }
        let is_busy = |id| self.hosts.get(id).is_some_and(|host| !host.is_idle());
        let first = self.turns.iter().find(|(_, id)| is_busy(id)).copied();
        match first.filter(|&(turn, _)| turn <= self.loaded_turn) {
            Some((_, id)) => match self.hosts.get(&id)?.next_moment(false)? {
                moment if moment > now => Some(Step::Wait(moment)),
                _ => self.step_of(id, now),
            },
            None if self.dormant => self.load_next_turns(now),
            None => None,
        }
    }

    /// A host in the state comes before all that are here: these make room, but not before their delay is over.
    fn load_next_turns(&mut self, now: Instant) -> Option<Step> {
        self.forget_all(|host| host.is_droppable(now));
        if self.hosts.len() < self.limits.hosts {
            return Some(self.load_hosts());
        }
        let paced = self.hosts.values().map(|host| host.pace.earliest());
        paced.filter(|&earliest| earliest > now).min().map(Step::Wait)
    }
}
