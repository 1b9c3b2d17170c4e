//! Requests in flight to each address, and the hosts that wait for one of them to end.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
};

use crate::state::HostId;

/// At most so many requests at a time to one address, whatever the hosts.
#[derive(Debug)]
pub(super) struct Addresses {
    limit: usize,
    busy: HashMap<IpAddr, Address>,
    /// Where a request has ended while hosts were waiting.
    freed: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Address {
    in_flight: usize,
    parked: VecDeque<HostId>,
}

impl Addresses {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, busy: HashMap::new(), freed: Vec::new() }
    }

    /// Whether no further request may start.
    pub(super) fn is_full(&self, address: IpAddr) -> bool {
        self.busy.get(&address).is_some_and(|busy| busy.in_flight >= self.limit)
    }

    /// A request starts.
    pub(super) fn start(&mut self, address: IpAddr) {
        self.busy.entry(address).or_default().in_flight += 1;
    }

    /// A request has ended.
    pub(super) fn end(&mut self, address: IpAddr) {
        let Some(busy) = self.busy.get_mut(&address) else { return };
        busy.in_flight = busy.in_flight.saturating_sub(1);
        if !busy.parked.is_empty() {
            self.freed.push(address);
        } else if busy.in_flight == 0 {
            self.busy.remove(&address);
        }
    }

    /// Lets a host wait until a request to this address, which is full, has ended.
    pub(super) fn park(&mut self, address: IpAddr, host: HostId) {
        self.busy.entry(address).or_default().parked.push_back(host);
    }

    /// A host that need not wait any longer: the one that has waited longest. It is asked again until there is none, because a host
    /// that is let go may do without the request.
    pub(super) fn release(&mut self) -> Option<HostId> {
        while let Some(&address) = self.freed.last() {
            if !self.is_full(address)
                && let Some(busy) = self.busy.get_mut(&address)
            {
                if let Some(host) = busy.parked.pop_front() {
                    return Some(host);
                }
                if busy.in_flight == 0 {
                    self.busy.remove(&address);
                }
            }
            self.freed.pop();
        }
        None
    }
}
