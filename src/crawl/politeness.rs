//! When a host may get its next request, and how many requests an address may have in flight.
//!
//! Pure: the time is an argument. The delay runs from the end of a response to the start of the next request. If a host may have
//! several requests in flight, it also runs from start to start. A longer Crawl-delay of robots.txt enters through `Pace::slow_down`; the
//! schedule suspends hosts whose Crawl-delay or pause is longer than the configured limits.
//!
//! Hosts may share a pace (`Groups`). As long as the address of a host is not known, it may be any address of its site: its requests keep the
//! delay from those of the whole site, but hold up nothing while they last.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    net::{IpAddr, Ipv4Addr},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{page::site_of, state::HostId};

/// The first pause of a host that asks for one without saying how long; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_DOUBLING: u32 = 10;

/// The weight of the latest response time in the smoothed one: one of this many.
const SMOOTHING: u32 = 4;

/// Which hosts of a site (registrable domain) share the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareDelay {
    /// None: each host keeps it by itself.
    Host,
    /// Those at one address that is not a loopback address.
    #[default]
    Address,
    /// All.
    Site,
}

/// The `[politeness]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// Minimum time between the end of a response and the next request to the same host.
    #[serde(with = "humantime_serde")]
    pub delay: Duration,
    /// Which hosts of a site share the delay and what is in flight.
    pub share_delay: ShareDelay,
    /// The delay is at least this many times the smoothed response time, up to `max_crawl_delay`. Off if 0.
    pub adaptive: u32,
    /// Requests in flight to one host, or to hosts that share the delay.
    pub per_host: NonZeroUsize,
    /// Requests in flight to one address, over all hosts. Loopback is exempt.
    pub per_address: NonZeroUsize,
    /// Whether robots.txt is fetched and obeyed.
    pub obey_robots: bool,
    /// A host whose robots.txt asks for a longer delay is suspended.
    #[serde(with = "humantime_serde")]
    pub max_crawl_delay: Duration,
    /// A host that asks for a longer pause with Retry-After is suspended.
    #[serde(with = "humantime_serde")]
    pub max_retry_after: Duration,
    /// Whether a host that begins to lose its pages is suspended.
    pub pause_on_alarm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            share_delay: ShareDelay::default(),
            adaptive: 0,
            per_host: NonZeroUsize::MIN,
            per_address: NonZeroUsize::new(4).expect("not zero"),
            obey_robots: true,
            max_crawl_delay: Duration::from_mins(1),
            max_retry_after: Duration::from_mins(10),
            pause_on_alarm: false,
        }
    }
}

/// How a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestEnd {
    /// A response came from this address.
    Response(IpAddr),
    /// The same, and it refuses the request: status 401 or 403.
    Refused(IpAddr),
    /// The same, and it asks for a pause: status 429 or 503.
    Overload {
        address: IpAddr,
        /// How long, if it says so.
        retry_after: Option<Duration>,
    },
    /// The host was reached, but sent no response that can be used.
    Broken,
    /// The host was reached, but sent no response in time.
    Late,
    /// The host was not reached: it, or the network, is out of order.
    Unanswered,
    /// No request was made, because this machine is short of something.
    Local,
    /// Nothing is known of the host: its name does not exist, or no request may be made to it.
    Unknown,
}

impl RequestEnd {
    /// Where the response came from.
    pub(super) fn address(self) -> Option<IpAddr> {
        match self {
            Self::Response(address) | Self::Refused(address) | Self::Overload { address, .. } => {
                Some(address)
            }
            Self::Broken | Self::Late | Self::Unanswered | Self::Local | Self::Unknown => None,
        }
    }
}

/// The pace of one host, or of hosts that share it.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The configured delay, or a longer Crawl-delay.
    delay: Duration,
    adaptive: u32,
    longest: Duration,
    /// The smoothed response time.
    response_time: Option<Duration>,
    earliest: Instant,
    /// When the requests in flight started.
    in_flight: Vec<Instant>,
    /// Pauses in a row that the host has asked for.
    pauses: u32,
    paused_at: Option<Instant>,
    /// Until when the last of them lasts.
    paused_until: Option<Instant>,
    /// Responses in a row that refuse the request.
    refusals: u32,
}

impl Pace {
    pub(super) fn new(options: &Options, now: Instant) -> Self {
        Self {
            delay: options.delay,
            adaptive: options.adaptive,
            longest: options.max_crawl_delay,
            response_time: None,
            earliest: now,
            in_flight: Vec::new(),
            pauses: 0,
            paused_at: None,
            paused_until: None,
            refusals: 0,
        }
    }

    /// The delay without regard to response times.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    /// Uses the longer of the configured delay and the host's own.
    pub(super) fn slow_down(&mut self, crawl_delay: Duration) {
        let longer = crawl_delay.saturating_sub(self.delay);
        self.earliest += longer;
        self.delay += longer;
    }

    /// The delay with regard to response times, and how long a response takes.
    pub(super) fn times(&self) -> (Duration, Duration) {
        (self.adapted_delay(), self.response_time.unwrap_or_default())
    }

    /// The delay with regard to response times.
    fn adapted_delay(&self) -> Duration {
        let times = self.response_time.map(|time| time.saturating_mul(self.adaptive));
        self.delay.max(times.unwrap_or_default().min(self.longest))
    }

    /// The earliest instant of the next request.
    pub(super) fn earliest(&self) -> Instant {
        let latest = self.in_flight.iter().max();
        latest.map_or(self.earliest, |&started| self.earliest.max(started + self.adapted_delay()))
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether the host has asked for a pause that is not over.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    /// How many requests in a row it has refused.
    pub(super) fn refusals(&self) -> u32 {
        self.refusals
    }

    /// A request starts.
    pub(super) fn start(&mut self, now: Instant) {
        self.in_flight.push(now);
    }

    /// A request that started at `started` has ended at `now`. Responses of requests in flight together that ask for a pause are one event:
    /// the first one doubles the pause, and only a request that started after it ends the doubling.
    pub(super) fn end(&mut self, started: Instant, now: Instant, end: RequestEnd) {
        self.withdraw(started);
        let is_news = self.paused_at.is_none_or(|paused| started >= paused);
        let wait = match end {
            RequestEnd::Response(_) | RequestEnd::Refused(_) | RequestEnd::Broken => {
                let is_refused = matches!(end, RequestEnd::Refused(_));
                self.refusals = if is_refused { self.refusals + 1 } else { 0 };
                if is_news {
                    self.pauses = 0;
                }
                let time = now.saturating_duration_since(started);
                let last = self.response_time.unwrap_or(time);
                self.response_time = Some((last * (SMOOTHING - 1) + time) / SMOOTHING);
                Duration::ZERO
            }
            RequestEnd::Late | RequestEnd::Unanswered | RequestEnd::Local | RequestEnd::Unknown => {
                Duration::ZERO
            }
            RequestEnd::Overload { retry_after, .. } => {
                if is_news {
                    self.pauses = (self.pauses + 1).min(LONGEST_DOUBLING);
                    self.paused_at = Some(now);
                }
                let pause = retry_after.unwrap_or_default().max(doubled(self.pauses));
                self.paused_until = self.paused_until.max(Some(now + pause));
                pause
            }
        };
        self.pause_until(now + wait.max(self.adapted_delay()));
    }

    /// Allows no request before this instant.
    pub(super) fn pause_until(&mut self, instant: Instant) {
        self.earliest = self.earliest.max(instant);
    }

    /// The host had asked for a pause until this instant before an earlier start of the run ended.
    pub(super) fn resume_pause(&mut self, until: Instant) {
        self.paused_until = Some(until);
        self.pause_until(until);
    }

    /// Forgets what started at `started`: no request was made.
    pub(super) fn withdraw(&mut self, started: Instant) {
        if let Some(place) = self.in_flight.iter().position(|&instant| instant == started) {
            self.in_flight.swap_remove(place);
        }
    }
}

/// Limits the requests in flight to each address, whichever hosts they are for, and holds the hosts that wait for an address.
#[derive(Debug)]
pub(super) struct Addresses {
    limit: usize,
    busy: HashMap<IpAddr, Address>,
    /// Addresses at which a request has ended while hosts were waiting.
    freed: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Address {
    in_flight: usize,
    waiting: VecDeque<HostId>,
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
        if !busy.waiting.is_empty() {
            self.freed.push(address);
        } else if busy.in_flight == 0 {
            self.busy.remove(&address);
        }
    }

    /// Makes a host wait until a request to this full address has ended.
    pub(super) fn wait_for(&mut self, address: IpAddr, host: HostId) {
        self.busy.entry(address).or_default().waiting.push_back(host);
    }

    /// A host that need not wait any longer, of its address the one that has waited longest. Call it until it returns `None`: a released host may turn out
    /// to need no request.
    pub(super) fn release(&mut self) -> Option<HostId> {
        while let Some(&address) = self.freed.last() {
            if !self.is_full(address)
                && let Some(busy) = self.busy.get_mut(&address)
            {
                if let Some(host) = busy.waiting.pop_front() {
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

/// The pause after so many failures in a row: 1 s after the first, twice as long after each further one.
pub(super) fn doubled(times: u32) -> Duration {
    FIRST_PAUSE * (1 << times.saturating_sub(1).min(20))
}

/// How long to wait before a retry: 1 s, doubled with each attempt, plus jitter of up to half of it.
///
/// `chance` is a random number from 0 to 1.
pub(super) fn backoff(attempt: u32, chance: f64) -> Duration {
    let base = doubled(attempt.min(LONGEST_DOUBLING + 1));
    base.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const RESPONSE: RequestEnd = RequestEnd::Response(ADDRESS);

    fn overload(retry_after: Option<Duration>) -> RequestEnd {
        RequestEnd::Overload { address: ADDRESS, retry_after }
    }

    fn pace(delay: Duration, now: Instant) -> Pace {
        Pace::new(&Options { delay, ..Options::default() }, now)
    }

    #[test]
    fn the_delay_runs_from_the_end_of_the_response() {
        let start = Instant::now();
        let mut pace = pace(SECOND, start);
        pace.start(start);
        pace.end(start, start + 5 * SECOND, RESPONSE);
        assert_eq!(pace.earliest(), start + 6 * SECOND);
    }

    #[test]
    fn requests_in_flight_together_start_a_delay_apart() {
        let start = Instant::now();
        let mut pace = pace(SECOND, start);
        pace.start(start);
        assert_eq!(pace.earliest(), start + SECOND);
        pace.withdraw(start);
        assert_eq!(pace.earliest(), start);
    }

    #[test]
    fn a_burst_of_refusals_counts_once() {
        let start = Instant::now();
        let mut pace = pace(Duration::ZERO, start);
        (0..8).for_each(|_| pace.start(start));
        (0..8).for_each(|_| pace.end(start, start + SECOND, overload(None)));
        assert_eq!(pace.earliest(), start + 2 * SECOND);
        assert_eq!(pace.in_flight(), 0);
    }

    #[test]
    fn each_burst_of_mixed_responses_doubles_the_pause_once() {
        let mut now = Instant::now();
        let mut pace = pace(Duration::ZERO, now);
        for pause in [1, 2, 4, 8] {
            let start = now;
            (0..9).for_each(|_| pace.start(start));
            now += SECOND;
            for seconds in [None, Some(0), Some(1)] {
                let retry_after = seconds.map(Duration::from_secs);
                pace.end(start, now, overload(retry_after));
                // Its request started before the pause.
                pace.end(start, now, RESPONSE);
                pace.end(start, now, RequestEnd::Unanswered);
            }
            assert_eq!(pace.earliest(), now + pause * SECOND);
            now = pace.earliest();
        }
    }

    #[test]
    fn an_adaptive_delay_follows_the_response_times_up_to_a_limit() {
        let start = Instant::now();
        let options = Options { delay: SECOND, adaptive: 5, ..Options::default() };
        let mut pace = Pace::new(&options, start);
        let mut now = start;
        let mut delay_after = |time: Duration, end| {
            pace.start(now);
            pace.end(now, now + time, end);
            now += time;
            let delay = pace.earliest() - now;
            now = pace.earliest();
            delay
        };
        assert_eq!(delay_after(SECOND / 10, RESPONSE), SECOND, "never less than `delay`");
        assert_eq!(delay_after(SECOND * 41 / 10, RESPONSE), SECOND * 55 / 10);
        assert_eq!(
            delay_after(SECOND * 30, RequestEnd::Unanswered),
            SECOND * 55 / 10,
            "it has sent no response"
        );
        assert_eq!(delay_after(SECOND * 1000, RESPONSE), SECOND * 60);
        let delays: Vec<_> = (0..40).map(|_| delay_after(SECOND / 10, RESPONSE)).collect();
        assert!(delays.is_sorted_by(|a, b| a >= b), "{delays:?}");
        assert_eq!(delays[39], SECOND);
    }

    #[test]
    fn a_retry_after_of_zero_does_not_end_the_pause() {
        let start = Instant::now();
        let mut pace = pace(Duration::ZERO, start);
        pace.end(start, start, overload(Some(Duration::ZERO)));
        pace.end(start + SECOND, start + SECOND, overload(Some(Duration::ZERO)));
        assert_eq!(pace.earliest(), start + 3 * SECOND);
    }

    #[test]
    fn a_response_without_complaint_ends_the_doubling() {
        let start = Instant::now();
        let mut pace = pace(Duration::ZERO, start);
        for second in 0..4 {
            pace.end(start + second * SECOND, start + second * SECOND, overload(None));
        }
        let now = start + 100 * SECOND;
        pace.end(now, now, RESPONSE);
        pace.end(now, now, overload(None));
        assert_eq!(pace.earliest(), now + SECOND);
    }

    #[test]
    fn backoff_doubles_and_jitters_upwards() {
        assert_eq!(backoff(1, 0.0), SECOND);
        assert_eq!(backoff(3, 0.0), 4 * SECOND);
        assert_eq!(backoff(3, 1.0), 6 * SECOND);
    }
}
