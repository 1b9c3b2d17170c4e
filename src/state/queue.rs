//! The URLs that wait to be fetched, in memory: each host's in order, and the hosts in rotation.
//!
//! Some five bytes a URL, eight a host, and a hundred for each host that has any.

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
    hosts: HashMap<HostId, VecDeque<u32>>,
    /// The place of each host in the rotation, by its number.
    ranks: Vec<i64>,
    last_rank: i64,
    /// Hosts with URLs that are not suspended, by rank. A host that is taken out for its turn comes back by [`put_back`](Self::put_back).
    rotation: BTreeSet<(i64, HostId)>,
    suspended: HashSet<HostId>,
    /// URLs that come after those, by host and group.
    late: HashMap<HostId, BTreeMap<Late, VecDeque<u32>>>,
}

fn id(url: u32) -> UrlId {
    UrlId(url.into())
}

fn number(url: UrlId) -> u32 {
    u32::try_from(url.0).expect("numbers of URLs have 32 bits")
}

impl Queue {
    /// An empty queue of hosts with these ranks, by number, of which some are suspended.
    pub(super) fn new(ranks: Vec<i64>, suspended: impl Iterator<Item = HostId>) -> Self {
        let last_rank = ranks.iter().copied().max().unwrap_or(0);
        Self { ranks, last_rank, suspended: suspended.collect(), ..Self::default() }
    }

    /// A rank behind all others.
    pub(super) fn next_rank(&mut self) -> i64 {
        self.last_rank += 1;
        self.last_rank
    }

    /// The rank of a host; `None` if there is no such host.
    pub(super) fn rank(&self, host: HostId) -> Option<i64> {
        self.ranks.get(usize::try_from(host.0).ok()?).copied()
    }

    /// The queue of a host. If there is none, it takes part in the rotation from now on.
    fn urls(&mut self, host: HostId) -> &mut VecDeque<u32> {
        if !self.hosts.contains_key(&host) && !self.suspended.contains(&host) {
            self.rotation.extend(self.rank(host).map(|rank| (rank, host)));
        }
        self.hosts.entry(host).or_default()
    }

    /// Adds a URL at the end of its host's queue.
    pub(crate) fn push(&mut self, host: HostId, url: UrlId) {
        let urls = self.urls(host);
        if urls.len() == urls.capacity() {
            urls.reserve_exact(urls.len() / 4 + 2);
        }
        urls.push_back(number(url));
    }

    /// Adds a URL at the beginning of its host's queue.
    pub(crate) fn push_front(&mut self, host: HostId, url: UrlId) {
        self.urls(host).push_front(number(url));
    }

    /// Takes a host out of the rotation.
    fn pause(&mut self, host: HostId) {
        if let Some(rank) = self.rank(host) {
            self.rotation.remove(&(rank, host));
        }
    }

    /// Takes the first URL of a host out.
    pub(crate) fn pop(&mut self, host: HostId) -> Option<UrlId> {
        let urls = self.hosts.get_mut(&host)?;
        let url = urls.pop_front()?;
        if urls.is_empty() {
            self.hosts.remove(&host);
            self.pause(host);
        } else if urls.capacity() > 64 && urls.capacity() / 4 > urls.len() {
            urls.shrink_to(urls.len() * 2);
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
        self.hosts.get(&host).map_or(0, VecDeque::len)
    }

    /// Takes out all URLs but those that `stays` accepts. It is asked from the end of each queue to its beginning.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(UrlId) -> bool) {
        self.hosts.retain(|_, urls| {
            urls.retain(|url| stays(id(*url)));
            urls.shrink_to_fit();
            !urls.is_empty()
        });
        self.rotation.retain(|(_, host)| self.hosts.contains_key(host));
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
        if self.hosts.contains_key(&host) && !self.suspended.contains(&host) {
            self.rotation.extend(self.rank(host).map(|rank| (rank, host)));
        }
    }

    /// Gives a host a rank, also a new one.
    pub(super) fn set_rank(&mut self, host: HostId, rank: i64) {
        let is_in_rotation =
            self.rank(host).is_some_and(|rank| self.rotation.remove(&(rank, host)));
        let place = usize::try_from(host.0).unwrap_or(0);
        self.ranks.resize(self.ranks.len().max(place + 1), 0);
        self.ranks[place] = rank;
        if is_in_rotation {
            self.rotation.insert((rank, host));
        }
    }

    /// Whether a host is suspended.
    pub(crate) fn is_suspended(&self, host: HostId) -> bool {
        self.suspended.contains(&host)
    }

    /// Suspends a host, or ends that.
    pub(crate) fn set_suspended(&mut self, host: HostId, suspended: bool) {
        if suspended {
            self.suspended.insert(host);
            self.pause(host);
        } else {
            self.suspended.remove(&host);
            self.put_back(host);
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
