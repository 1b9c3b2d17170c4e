//! The URLs that wait to be fetched, in memory: each host's in order, and the hosts in rotation.
//!
//! Some five bytes a URL, and a hundred for each host that has any.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use hashbrown::HashMap;

use super::{hosts::HostId, urls::UrlId};

/// Why a URL comes after those of its host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Late {
    /// It was put off until another URL, which was in flight, was judged.
    Waited,
    /// It waits for the page of this number, which is in flight.
    Page(u32),
    /// Only duplicates link to it, and its pattern has this number.
    Pattern(u32),
}

/// The queue of each host, and the rotation of the hosts. A URL that is taken out is still [`UrlState::Queued`](super::UrlState::Queued) until
/// its outcome is recorded.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    hosts: HashMap<HostId, HostQueue>,
    /// Hosts with URLs that are not suspended, by rank. A host that is taken out for its turn comes back by [`put_back`](Self::put_back).
    rotation: BTreeSet<(i64, HostId)>,
    suspended: HashSet<HostId>,
    /// URLs that come after those, by host and group.
    late: HashMap<HostId, BTreeMap<Late, VecDeque<u32>>>,
    last_rank: i64,
}

#[derive(Debug)]
struct HostQueue {
    urls: VecDeque<u32>,
    rank: i64,
}

fn id(url: u32) -> UrlId {
    UrlId(url.into())
}

fn number(url: UrlId) -> u32 {
    u32::try_from(url.0).expect("numbers of URLs have 32 bits")
}

impl Queue {
    /// An empty queue. Ranks up to `last_rank` are taken, and these hosts are suspended.
    pub(super) fn new(last_rank: i64, suspended: impl Iterator<Item = HostId>) -> Self {
        Self { last_rank, suspended: suspended.collect(), ..Self::default() }
    }

    /// Fills an empty queue with these URLs, in this order, each with its host. `ranks` has the rank of each host, by number. `None` if it has
    /// not that of a host.
    pub(super) fn fill(
        &mut self,
        ranks: &[i64],
        urls: impl Iterator<Item = (HostId, UrlId)> + Clone,
    ) -> Option<()> {
        let place = |host: HostId| usize::try_from(host.0).ok();
        let mut counts = vec![0_usize; ranks.len()];
        for (host, _) in urls.clone() {
            *counts.get_mut(place(host)?)? += 1;
        }
        let queues = counts.into_iter().map(VecDeque::with_capacity);
        let mut queues: Vec<VecDeque<u32>> = queues.collect();
        for (host, url) in urls {
            queues[place(host)?].push_back(number(url));
        }
        for ((host, urls), rank) in (0..).map(HostId).zip(queues).zip(ranks) {
            if urls.is_empty() {
                continue;
            }
            if !self.suspended.contains(&host) {
                self.rotation.insert((*rank, host));
            }
            self.hosts.insert(host, HostQueue { urls, rank: *rank });
        }
        Some(())
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
        let urls = self.urls(host, rank);
        if urls.len() == urls.capacity() {
            urls.reserve_exact(urls.len() / 4 + 2);
        }
        urls.push_back(number(url));
    }

    /// Adds a URL at the beginning of its host's queue.
    pub(super) fn push_front(&mut self, host: HostId, rank: i64, url: UrlId) {
        self.urls(host, rank).push_front(number(url));
    }

    fn urls(&mut self, host: HostId, rank: i64) -> &mut VecDeque<u32> {
        let queue = self.hosts.entry(host).or_insert_with(|| {
            if !self.suspended.contains(&host) {
                self.rotation.insert((rank, host));
            }
            HostQueue { urls: VecDeque::new(), rank }
        });
        &mut queue.urls
    }

    /// Takes the first URL of a host out.
    pub(crate) fn pop(&mut self, host: HostId) -> Option<UrlId> {
        let queue = self.hosts.get_mut(&host)?;
        let url = queue.urls.pop_front()?;
        if queue.urls.is_empty() {
            self.rotation.remove(&(queue.rank, host));
            self.hosts.remove(&host);
        } else if queue.urls.capacity() > 64 && queue.urls.capacity() / 4 > queue.urls.len() {
            queue.urls.shrink_to(queue.urls.len() * 2);
        }
        Some(id(url))
    }

    /// Adds a URL that comes after those of the queue, to a group: to its end, or to its beginning if it was found before the first one, as a URL
    /// that was to be requested when the run was interrupted.
    pub(super) fn push_late(&mut self, host: HostId, group: Late, url: UrlId) {
        let group = self.late.entry(host).or_default().entry(group).or_default();
        let url = number(url);
        if group.front().is_some_and(|first| url < *first) {
            group.push_front(url);
        } else {
            group.push_back(url);
        }
    }

    /// Moves the URLs of a group of late URLs to the end of another one.
    pub(crate) fn merge_late(&mut self, host: HostId, from: Late, into: Late) {
        let Some(groups) = self.late.get_mut(&host) else { return };
        if let Some(mut urls) = groups.remove(&from) {
            groups.entry(into).or_default().append(&mut urls);
        }
    }

    /// Takes the first URL out of a group. Its state is still [`UrlState::Queued`](super::UrlState::Queued).
    pub(crate) fn pop_late(&mut self, host: HostId, group: Late) -> Option<UrlId> {
        let groups = self.late.get_mut(&host)?;
        let urls = groups.get_mut(&group)?;
        let url = urls.pop_front();
        if urls.is_empty() {
            groups.remove(&group);
        }
        if groups.is_empty() {
            self.late.remove(&host);
        }
        url.map(id)
    }

    /// The groups of a host's late URLs, each with its first URL.
    pub(crate) fn late_groups(&self, host: HostId) -> impl Iterator<Item = (Late, UrlId)> {
        let groups = self.late.get(&host).into_iter().flatten();
        groups.filter_map(|(group, urls)| Some((*group, id(*urls.front()?))))
    }

    /// Hosts with late URLs, in order.
    pub(crate) fn late_hosts(&self) -> Vec<HostId> {
        let mut hosts: Vec<_> = self.late.keys().copied().collect();
        hosts.sort_unstable();
        hosts
    }

    /// How many URLs of a host wait, apart from late ones.
    pub(crate) fn waiting(&self, host: HostId) -> usize {
        self.hosts.get(&host).map_or(0, |queue| queue.urls.len())
    }

    /// Takes out all URLs but those that `stays` accepts. It is asked from the end of each queue to its beginning.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(UrlId) -> bool) {
        let rotation = &mut self.rotation;
        self.hosts.retain(|host, queue| {
            queue.urls.retain(|url| stays(id(*url)));
            queue.urls.shrink_to_fit();
            let has_any = !queue.urls.is_empty();
            if !has_any {
                rotation.remove(&(queue.rank, *host));
            }
            has_any
        });
        self.late.retain(|_, groups| {
            groups.retain(|_, urls| {
                urls.retain(|url| stays(id(*url)));
                !urls.is_empty()
            });
            !groups.is_empty()
        });
    }

    /// The hosts that have URLs and are not suspended, in the order of the rotation.
    pub(crate) fn rotation(&self) -> impl Iterator<Item = HostId> {
        self.rotation.iter().map(|&(_, host)| host)
    }

    /// Takes the first host out of the rotation, for its turn.
    pub(crate) fn next_host(&mut self) -> Option<HostId> {
        self.rotation.pop_first().map(|(_, host)| host)
    }

    /// Puts a host back into the rotation, if it has URLs and is not suspended.
    pub(crate) fn put_back(&mut self, host: HostId) {
        if !self.suspended.contains(&host)
            && let Some(queue) = self.hosts.get(&host)
        {
            self.rotation.insert((queue.rank, host));
        }
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
        let waiting = |host: &HostId| {
            let late = self.late.get(host).into_iter().flat_map(BTreeMap::values);
            self.waiting(*host) + late.map(VecDeque::len).sum::<usize>()
        };
        self.suspended.iter().map(move |host| (*host, waiting(host)))
    }
}
