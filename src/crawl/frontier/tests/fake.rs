//! The state as the frontier sees it, in memory.

#![expect(clippy::cast_possible_wrap, reason = "the numbers are small")]

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    page::Timestamp,
    state::{HostId, HostRow, Queued, UrlId, UrlKind, UrlRow, UrlState},
};

/// URLs that wait, by host and place, with their seeds; whose turn it is; who is set aside.
#[derive(Debug)]
pub(super) struct FakeState {
    queues: BTreeMap<usize, BTreeMap<i64, usize>>,
    turns: Vec<i64>,
    pub(super) aside: BTreeSet<usize>,
    pub(super) last_seq: i64,
    pub(super) tick: u64,
}

impl FakeState {
    pub(super) fn new(hosts: usize, seeds: &[(usize, usize)]) -> Self {
        let mut state = Self {
            queues: BTreeMap::new(),
            turns: (1..=hosts as i64).collect(),
            aside: BTreeSet::new(),
            last_seq: 0,
            tick: 0,
        };
        for &(host, seed) in seeds {
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

    /// Hosts that have URLs waiting and are not set aside, in turn.
    pub(super) fn waiting(&self, limit: usize) -> Vec<HostRow> {
        let waiting = self.queues.iter().filter(|(_, queue)| !queue.is_empty());
        let hosts = waiting.map(|(&host, _)| host).filter(|host| !self.aside.contains(host));
        let mut rows: Vec<_> = hosts.map(|host| self.row(host)).collect();
        rows.sort_by_key(|row| row.turn);
        rows.truncate(limit);
        rows
    }

    pub(super) fn urls(&self, host: usize, after: i64, limit: usize) -> Vec<Queued> {
        let queue = self.queues.get(&host).into_iter();
        let behind = queue.flat_map(|queue| queue.range(after + 1..)).take(limit);
        behind.map(|(&seq, &seed)| queued(host, seq, seed)).collect()
    }

    pub(super) fn row(&self, host: usize) -> HostRow {
        let (id, name) = (HostId(host as i64), format!("h{host}:80"));
        HostRow { id, name, turn: self.turns[host], rests_until: None }
    }

    pub(super) fn end_turn(&mut self, host: usize) -> i64 {
        self.turns[host] = self.turns.iter().max().unwrap() + 1;
        self.turns[host]
    }
}

/// Every fifth URL has the other scheme.
fn queued(host: usize, seq: i64, seed: usize) -> Queued {
    let scheme = if seq % 5 == 4 { "https" } else { "http" };
    let url = UrlRow {
        id: UrlId(seq),
        url: format!("{scheme}://h{host}/{seq}"),
        host: HostId(host as i64),
        kind: UrlKind::Page,
        state: UrlState::Queued,
        detail: None,
        status: None,
        seed: Some(seed),
        depth: 0,
        hops: 0,
        referrer: None,
        at: Timestamp(0),
    };
    Queued { seq, url }
}
