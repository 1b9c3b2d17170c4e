//! The URLs that wait to be fetched, in memory: each host's in order, and the hosts in rotation.
//!
//! Some five bytes a URL, and a hundred for each host that has any.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use hashbrown::HashMap;

use super::{hosts::HostId, urls::UrlId};

/// The place of a URL that does not wait any more.
const GONE: u32 = 0;

/// The queue of each host, and the rotation of the hosts.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    hosts: HashMap<HostId, HostQueue>,
    /// Hosts with URLs that are not suspended, by rank.
    rotation: BTreeSet<(i64, HostId)>,
    suspended: HashSet<HostId>,
    /// URLs that come after those, by host and group.
    late: HashMap<HostId, BTreeMap<u32, VecDeque<u32>>>,
    len: u64,
    /// Every place so far was lower.
    next_seq: i64,
    last_rank: i64,
}

#[derive(Debug)]
struct HostQueue {
    /// The place of the first URL.
    first: i64,
    urls: VecDeque<u32>,
    rank: i64,
}

impl Queue {
    /// An empty queue. Ranks up to `last_rank` are taken, and these hosts are suspended.
    pub(super) fn new(last_rank: i64, suspended: impl Iterator<Item = HostId>) -> Self {
        Self { next_seq: 1, last_rank, suspended: suspended.collect(), ..Self::default() }
    }

    /// Fills an empty queue with these URLs, in this order, each with its host. `ranks` has the rank of each host, by number. `None` if it has
    /// not that of a host.
    pub(super) fn fill(
        &mut self,
        ranks: &[i64],
        urls: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Option<()> {
        let mut counts = vec![0_usize; ranks.len()];
        for (host, _) in urls.clone() {
            *counts.get_mut(host as usize)? += 1;
        }
        let queues = counts.into_iter().map(VecDeque::with_capacity);
        let mut queues: Vec<VecDeque<u32>> = queues.collect();
        for (host, url) in urls {
            queues[host as usize].push_back(url);
        }
        let first = self.next_seq;
        for ((host, urls), rank) in (0..).map(HostId).zip(queues).zip(ranks) {
            if urls.is_empty() {
                continue;
            }
            if !self.suspended.contains(&host) {
                self.rotation.insert((*rank, host));
            }
            self.len += urls.len() as u64;
            self.next_seq = self.next_seq.max(first.saturating_add_unsigned(urls.len() as u64));
            self.hosts.insert(host, HostQueue { first, urls, rank: *rank });
        }
        Some(())
    }

    /// How many URLs wait.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// A rank behind all others.
    pub(super) fn next_rank(&mut self) -> i64 {
        self.last_rank += 1;
        self.last_rank
    }

    /// Whether URLs of this host wait, so that its rank is known.
    pub(super) fn has(&self, host: HostId) -> bool {
        self.hosts.contains_key(&host)
    }

    /// Adds a URL at the end of its host's queue. `rank` is the host's, if it is not known.
    pub(super) fn push(&mut self, host: HostId, rank: i64, url: UrlId) {
        let first = self.next_seq;
        let queue = self.hosts.entry(host).or_insert_with(|| {
            if !self.suspended.contains(&host) {
                self.rotation.insert((rank, host));
            }
            HostQueue { first, urls: VecDeque::new(), rank }
        });
        if queue.urls.len() == queue.urls.capacity() {
            queue.urls.reserve_exact(queue.urls.len() / 4 + 2);
        }
        queue.urls.push_back(u32::try_from(url.0).unwrap_or(GONE));
        let end = queue.first.saturating_add_unsigned(queue.urls.len() as u64);
        self.next_seq = self.next_seq.max(end);
        self.len += 1;
    }

    /// Adds a URL that comes after those of the queue, to a group: to its end, or to its beginning if it was found before the first one, as a URL
    /// that was to be requested when the run was interrupted.
    pub(super) fn push_late(&mut self, host: HostId, group: u32, url: UrlId) {
        let group = self.late.entry(host).or_default().entry(group).or_default();
        let url = u32::try_from(url.0).unwrap_or(GONE);
        if group.front().is_some_and(|first| url < *first) {
            group.push_front(url);
        } else {
            group.push_back(url);
        }
        self.len += 1;
    }

    /// Moves the URLs of a group of late URLs to the end of another one.
    pub(crate) fn merge_late(&mut self, host: HostId, from: u32, into: u32) {
        let Some(groups) = self.late.get_mut(&host) else { return };
        if let Some(mut urls) = groups.remove(&from) {
            groups.entry(into).or_default().append(&mut urls);
        }
    }

    /// Takes the first URL out of a group. Its state is still [`UrlState::Queued`](super::UrlState::Queued).
    pub(crate) fn pop_late(&mut self, host: HostId, group: u32) -> Option<UrlId> {
        let groups = self.late.get_mut(&host)?;
        let urls = groups.get_mut(&group)?;
        let url = urls.pop_front();
        if urls.is_empty() {
            groups.remove(&group);
        }
        if groups.is_empty() {
            self.late.remove(&host);
        }
        self.len -= u64::from(url.is_some());
        url.map(|url| UrlId(url.into()))
    }

    /// The groups of a host's late URLs, each with its first URL.
    pub(crate) fn late_groups(&self, host: HostId) -> impl Iterator<Item = (u32, UrlId)> {
        let groups = self.late.get(&host).into_iter().flatten();
        groups.filter_map(|(group, urls)| Some((*group, UrlId((*urls.front()?).into()))))
    }

    /// Hosts with late URLs, in order.
    pub(crate) fn late_hosts(&self) -> Vec<HostId> {
        let mut hosts: Vec<_> = self.late.keys().copied().collect();
        hosts.sort_unstable();
        hosts
    }

    /// Whether fewer than `least` URLs of a host wait, apart from late ones.
    pub(crate) fn has_fewer(&self, host: HostId, least: usize) -> bool {
        let Some(queue) = self.hosts.get(&host) else { return least > 0 };
        queue.urls.len() < least
            || queue.urls.iter().filter(|url| **url != GONE).take(least).count() < least
    }

    /// Takes out the URL at this place of its host's queue.
    pub(crate) fn remove(&mut self, host: HostId, seq: i64) {
        let Some(queue) = self.hosts.get_mut(&host) else { return };
        let place = usize::try_from(seq - queue.first).ok();
        let Some(url) = place.and_then(|place| queue.urls.get_mut(place)) else { return };
        if std::mem::replace(url, GONE) != GONE {
            self.len -= 1;
        }
        while queue.urls.pop_front_if(|url| *url == GONE).is_some() {
            queue.first += 1;
        }
        if queue.urls.is_empty() {
            self.rotation.remove(&(queue.rank, host));
            self.hosts.remove(&host);
        } else if queue.urls.capacity() > 64 && queue.urls.capacity() / 4 > queue.urls.len() {
            queue.urls.shrink_to(queue.urls.len() * 2);
        }
    }

    /// Takes out all URLs but those that `stays` accepts. It is asked from the end of each queue to its beginning.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(UrlId) -> bool) {
        let mut emptied = Vec::new();
        for (&host, queue) in &mut self.hosts {
            for url in queue.urls.iter_mut().rev() {
                if !stays(UrlId((*url).into())) {
                    *url = GONE;
                }
            }
            let before = queue.urls.len();
            queue.urls.retain(|url| *url != GONE);
            let gone = (before - queue.urls.len()) as u64;
            queue.first = queue.first.saturating_add_unsigned(gone);
            queue.urls.shrink_to_fit();
            if queue.urls.is_empty() {
                emptied.push((queue.rank, host));
            }
        }
        for (rank, host) in emptied {
            self.rotation.remove(&(rank, host));
            self.hosts.remove(&host);
        }
        self.late.retain(|_, groups| {
            groups.retain(|_, urls| {
                urls.retain(|url| stays(UrlId((*url).into())));
                !urls.is_empty()
            });
            !groups.is_empty()
        });
        let late = self.late.values().flat_map(BTreeMap::values).map(|urls| urls.len() as u64);
        let first = self.hosts.values().map(|queue| queue.urls.len() as u64);
        self.len = first.chain(late).sum();
    }

    /// Up to `limit` URLs of a host behind place `after`, with their places.
    pub(super) fn of_host(
        &self,
        host: HostId,
        after: i64,
        limit: usize,
    ) -> impl Iterator<Item = (i64, UrlId)> {
        let queue = self.hosts.get(&host).into_iter();
        let waiting = queue.flat_map(move |queue| {
            let skipped = usize::try_from(after + 1 - queue.first).unwrap_or(0);
            (queue.first..).zip(&queue.urls).skip(skipped)
        });
        let waiting = waiting.filter(|(_, url)| **url != GONE).take(limit);
        waiting.map(|(seq, url)| (seq, UrlId((*url).into())))
    }

    /// Up to `limit` hosts that have URLs and are not suspended, in the order of the rotation.
    pub(super) fn waiting_hosts(&self, limit: usize) -> impl Iterator<Item = (i64, HostId)> {
        self.rotation.iter().copied().take(limit)
    }

    /// Gives a host another rank.
    pub(super) fn set_rank(&mut self, host: HostId, rank: i64) {
        if let Some(queue) = self.hosts.get_mut(&host) {
            if self.rotation.remove(&(queue.rank, host)) {
                self.rotation.insert((rank, host));
            }
            queue.rank = rank;
        }
    }

    /// Whether a host is suspended.
    pub(crate) fn is_suspended(&self, host: HostId) -> bool {
        self.suspended.contains(&host)
    }

    /// Suspends a host, or ends that.
    pub(crate) fn set_suspended(&mut self, host: HostId, suspended: bool) {
        let rank = self.hosts.get(&host).map(|queue| queue.rank);
        if suspended {
            self.suspended.insert(host);
            rank.map(|rank| self.rotation.remove(&(rank, host)));
        } else {
            self.suspended.remove(&host);
            rank.map(|rank| self.rotation.insert((rank, host)));
        }
    }

    /// The suspended hosts, with how many of their URLs wait.
    pub(crate) fn suspended(&self) -> impl Iterator<Item = (HostId, usize)> {
        let waiting = |host| {
            let urls = self.hosts.get(host).into_iter().flat_map(|queue| &queue.urls);
            let late =
                self.late.get(host).into_iter().flat_map(BTreeMap::values).map(VecDeque::len);
            urls.filter(|url| **url != GONE).count() + late.sum::<usize>()
        };
        self.suspended.iter().map(move |host| (*host, waiting(host)))
    }
}
