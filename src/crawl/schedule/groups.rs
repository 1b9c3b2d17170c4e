//! Which hosts share a pace, and the hosts that wait for it. Pure, like the schedule.
//!
//! As long as the address of a host is not known, it may be any address of its site: its requests keep the delay from those of the whole
//! site, but hold up nothing while they last.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    crawl::politeness::{Options, Pace, RequestEnd, ShareDelay},
    page::site_of,
    state::HostId,
};

/// Groups up to this number are not looked through for those that are not needed any more.
const MIN_TO_SWEEP: usize = 1024;

/// The hosts that share a pace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// This one, by name and port.
    Host(Arc<str>),
    /// Those of a site at this address.
    Address(Arc<str>, IpAddr),
    /// Those of a site whose address is not known.
    Unknown(Arc<str>),
    /// All of a site.
    Site(Arc<str>),
}

#[derive(Debug)]
struct Shared {
    pace: Pace,
    waiting: VecDeque<HostId>,
}

/// The paces of all groups.
#[derive(Debug)]
pub(super) struct Groups {
    options: Options,
    paces: BTreeMap<Group, Shared>,
    /// When groups for which hosts wait are looked at. The end of a request adds a group that is full.
    due: BTreeSet<(Instant, Group)>,
    /// How many groups there may be before those that are not needed any more are removed.
    most: usize,
}

impl Groups {
    pub(super) fn new(options: Options) -> Self {
        Self { options, paces: BTreeMap::new(), due: BTreeSet::new(), most: MIN_TO_SWEEP }
    }

    /// The group of a host, by its name and port and its address.
    pub(super) fn of(&self, name: &str, address: Option<IpAddr>) -> Group {
        let site = || site_of(name.rsplit_once(':').map_or(name, |(host, _)| host)).into();
        match (self.options.share_delay, address) {
            (ShareDelay::Host, _) => Group::Host(name.into()),
            (ShareDelay::Site, _) => Group::Site(site()),
            (ShareDelay::Address, None) => Group::Unknown(site()),
            (ShareDelay::Address, Some(ip)) if ip.is_loopback() => Group::Host(name.into()),
            (ShareDelay::Address, Some(ip)) => Group::Address(site(), ip),
        }
    }

    /// The earliest instant of the next request to the host of this name, if its pace is known by that: under its own name it is if its
    /// address was known before.
    pub(super) fn earliest_by_name(&self, name: &str) -> Option<Instant> {
        self.earliest(&Group::Host(name.into()))
    }

    /// The earliest instant of the next request to a host of this group, if there has been one.
    pub(super) fn earliest(&self, group: &Group) -> Option<Instant> {
        let own = self.paces.get(group);
        let unknown = match group {
            Group::Address(site, _) => self.paces.get(&Group::Unknown(Arc::clone(site))),
            Group::Host(_) | Group::Site(_) | Group::Unknown(_) => None,
        };
        let all = own.into_iter().chain(unknown).chain(self.known(group));
        all.map(|shared| shared.pace.earliest()).max()
    }

    /// The groups of the known addresses of an unknown one's site.
    fn known(&self, group: &Group) -> impl Iterator<Item = &Shared> {
        let site = match group {
            Group::Unknown(site) => Some(site),
            Group::Host(_) | Group::Address(..) | Group::Site(_) => None,
        };
        site.into_iter().flat_map(|site| {
            let first = Group::Address(Arc::clone(site), Ipv4Addr::UNSPECIFIED.into());
            let known = self.paces.range(first..);
            let of_site = move |it: &Group| matches!(it, Group::Address(its, _) if its == site);
            known.take_while(move |(it, _)| of_site(it)).map(|(_, shared)| shared)
        })
    }

    /// Whether as many requests are in flight as may be.
    pub(super) fn is_full(&self, group: &Group) -> bool {
        let is_limited = !matches!(group, Group::Unknown(_));
        let in_flight = self.paces.get(group).map_or(0, |shared| shared.pace.in_flight());
        is_limited && in_flight >= self.options.per_host.get()
    }

    /// A request starts, to a host that asks for this delay.
    pub(super) fn start(&mut self, group: &Group, delay: Duration, now: Instant) {
        let pace = self.pace(group, now);
        pace.start(now);
        self.slow_down(group, delay);
    }

    /// A host of this group has asked for a longer delay.
    pub(super) fn slow_down(&mut self, group: &Group, crawl_delay: Duration) {
        if let Some(shared) = self.paces.get_mut(group)
            && !matches!(group, Group::Unknown(_))
        {
            shared.pace.slow_down(crawl_delay);
        }
    }

    /// A request that started in this group has ended. It went to a host of the group `to`; `None` if no request was made.
    pub(super) fn end(
        &mut self,
        group: &Group,
        to: &Group,
        started: Instant,
        now: Instant,
        end: Option<RequestEnd>,
    ) {
        let delay = self.options.delay;
        if let Some(shared) = self.paces.get_mut(group) {
            shared.pace.withdraw(started);
            if end.is_some() && to == group && matches!(to, Group::Unknown(_)) {
                shared.pace.pause_until(started + delay);
            }
        }
        // A host that asks for a longer pause is suspended; the others of its group are not.
        let end = end.map(|end| match end {
            RequestEnd::Overload { address, retry_after } => {
                let retry_after = retry_after.map(|pause| pause.min(self.options.max_retry_after));
                RequestEnd::Overload { address, retry_after }
            }
            end => end,
        });
        if let Some(end) = end.filter(|_| !matches!(to, Group::Unknown(_))) {
            self.pace(to, now).end(started, now, end);
        }
        if self.paces.get(group).is_some_and(|shared| !shared.waiting.is_empty()) {
            self.due.insert((now, group.clone()));
        }
    }

    fn pace(&mut self, group: &Group, now: Instant) -> &mut Pace {
        if self.paces.len() >= self.most {
            let is_over = |pace: &Pace| pace.in_flight() == 0 && pace.earliest() <= now;
            self.paces.retain(|_, shared| !shared.waiting.is_empty() || !is_over(&shared.pace));
            self.most = (self.paces.len() * 2).max(MIN_TO_SWEEP);
        }
        let new = || Shared { pace: Pace::new(&self.options, now), waiting: VecDeque::new() };
        &mut self.paces.entry(group.clone()).or_insert_with(new).pace
    }

    /// Makes a host wait until this instant, or until a request of this full group has ended.
    pub(super) fn wait_for(
        &mut self,
        group: &Group,
        host: HostId,
        until: Option<Instant>,
        now: Instant,
    ) {
        self.pace(group, now);
        if let Some(shared) = self.paces.get_mut(group) {
            shared.waiting.push_back(host);
        }
        if let Some(until) = until {
            self.due.insert((until, group.clone()));
        }
    }

    /// When the next host is released, unless the end of a request releases one.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|&(at, _)| at)
    }

    /// The host that has waited longest for a group that may get a request now. Call it until it returns `None`: a released host may turn
    /// out to need no request.
    pub(super) fn release(&mut self, now: Instant) -> Option<HostId> {
        while self.next_due()? <= now {
            let (at, group) = self.due.pop_first()?;
            if self.is_full(&group) {
                continue;
            }
            if let Some(earliest) = self.earliest(&group).filter(|&earliest| earliest > now) {
                self.due.insert((earliest, group));
                continue;
            }
            let Some(shared) = self.paces.get_mut(&group) else { continue };
            if let Some(host) = shared.waiting.pop_front() {
                if !shared.waiting.is_empty() {
                    self.due.insert((at, group));
                }
                return Some(host);
            }
        }
        None
    }
}
