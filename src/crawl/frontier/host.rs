//! One host of the frontier: its next URLs, its pace, its robots.txt.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    crawl::{
        politeness::Pace,
        robots::{Inquiry, Robots, VALID},
    },
    state::Queued,
};

/// The scheme of a URL: robots.txt is one per scheme, name and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) fn of(url: &str) -> Self {
        if url.starts_with("https:") { Self::Https } else { Self::Http }
    }

    pub(in crate::crawl) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// What is known of a robots.txt.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    /// It has not been asked for, or so many tries have failed, or redirects have led elsewhere.
    Unknown { attempt: u32, moved: Option<Inquiry> },
    /// A request is in flight.
    Asking,
    /// What it says, and until when that holds.
    Known { robots: Arc<Robots>, until: Instant },
}

/// A URL to be tried again.
#[derive(Debug)]
struct Retry {
    due: Instant,
    attempt: u32,
    queued: Queued,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: Arc<str>,
    pub(super) turn: i64,
    pub(super) pace: Pace,
    /// Where the last answer came from.
    pub(super) address: Option<IpAddr>,
    /// Tasks that have not ended.
    pub(super) unsettled: usize,
    /// Fetches in a row that failed for good.
    pub(super) failures: u32,
    /// Where it stands in the order of hosts, if it does.
    pub(super) listed: Option<Instant>,
    /// Whether it waits for a request to its address to end.
    pub(super) parked: bool,
    /// Whether more of its URLs are being loaded.
    pub(super) loading: bool,
    urls: VecDeque<Queued>,
    retries: Vec<Retry>,
    /// How many URLs may wait to be tried again before no other is begun.
    max_retries: usize,
    /// The place of the last URL that is or was here.
    last_seq: i64,
    /// Whether the state has more of its URLs behind that place.
    more: bool,
    /// The tick of the last look at the state, and that at which the latest URL was left there.
    loaded_at: Option<u64>,
    left_at: u64,
    rules: [Rules; 2],
}

impl Host {
    /// A host whose URLs are all in the state still.
    pub(super) fn new(name: Arc<str>, turn: i64, pace: Pace, max_retries: usize) -> Self {
        let unknown = || Rules::Unknown { attempt: 0, moved: None };
        Self {
            name,
            turn,
            pace,
            address: None,
            unsettled: 0,
            failures: 0,
            listed: None,
            parked: false,
            loading: false,
            urls: VecDeque::new(),
            retries: Vec::new(),
            max_retries,
            last_seq: 0,
            more: true,
            loaded_at: None,
            left_at: 0,
            rules: [unknown(), unknown()],
        }
    }

    /// A URL of it was queued in the state at `tick`.
    ///
    /// It is not taken in from here but loaded in its turn: of two that were queued one after the other, the later may be reported first.
    pub(super) fn left(&mut self, tick: u64) {
        self.left_at = self.left_at.max(tick);
        self.more |= self.loaded_at.is_none_or(|loaded| tick > loaded);
    }

    /// The tick at which the latest of its URLs that is known of was queued.
    pub(super) fn left_at(&self) -> u64 {
        self.left_at
    }

    /// Takes what was loaded at `tick`; `all` if the state had no more then.
    pub(super) fn loaded(&mut self, urls: Vec<Queued>, tick: u64, all: bool) {
        self.loading = false;
        self.loaded_at = Some(tick);
        self.more = !all || self.left_at > tick;
        self.last_seq = urls.last().map_or(self.last_seq, |last| last.seq);
        self.urls.extend(urls);
    }

    /// Whether more URLs should be loaded: before the last few are used up, but only once if others wait for its place.
    pub(super) fn wants_urls(&self, limit: usize, crowded: bool) -> bool {
        let in_its_turn = !crowded || self.loaded_at.is_none();
        self.more && !self.loading && in_its_turn && self.urls.len() * 4 <= limit
    }

    pub(super) fn last_seq(&self) -> i64 {
        self.last_seq
    }

    /// Whether it has had its turn and can be forgotten until the state gives it out again.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        self.may_rest() && self.pace.earliest() <= now
    }

    /// Whether all that was loaded of it is done.
    fn may_rest(&self) -> bool {
        self.loaded_at.is_some() && self.is_used_up() && self.pace.in_flight() == 0
    }

    /// Whether it can be forgotten though it has URLs here: no request is due to it, and the state still has them all.
    pub(super) fn is_droppable(&self, now: Instant) -> bool {
        self.unsettled == 0 && !self.loading && self.pace.earliest() <= now
    }

    /// Whether nothing of it is here or under way, though the state may have more.
    pub(super) fn is_used_up(&self) -> bool {
        self.urls.is_empty() && self.retries.is_empty() && self.unsettled == 0 && !self.loading
    }

    /// Whether it has nothing to do, here or in the state.
    pub(super) fn is_idle(&self) -> bool {
        self.is_used_up() && !self.more
    }

    /// Whether so many of its URLs in a row would be without an answer if what is under way brought none. As long as it answers, more
    /// may be under way.
    pub(super) fn may_be_dead(&self, limit: u32) -> bool {
        let is_doubtful = self.failures > 0 || self.address.is_none();
        is_doubtful && self.failures as usize + self.unsettled >= limit as usize
    }

    /// The instant at which it is worth looking at, as far as time is concerned: to go on with its URLs, or, if others wait for its
    /// place, to let it go.
    pub(super) fn next_moment(&self, crowded: bool) -> Option<Instant> {
        let has_fresh = !self.urls.is_empty() && self.is_open();
        let wants_first = self.urls.is_empty() && self.wants_urls(0, crowded);
        let fresh =
            (has_fresh || wants_first || crowded && self.may_rest()).then(|| self.pace.earliest());
        let again = self.retries.iter().map(|retry| retry.due.max(self.pace.earliest())).min();
        fresh.into_iter().chain(again).min()
    }

    /// The URL to be fetched now, and how often that was tried: what is due to be tried again goes first.
    pub(super) fn head(&self, now: Instant) -> Option<(&Queued, u32)> {
        let due =
            self.retries.iter().filter(|retry| retry.due <= now).min_by_key(|retry| retry.due);
        if let Some(retry) = due {
            return Some((&retry.queued, retry.attempt));
        }
        self.urls.front().filter(|_| self.is_open()).map(|queued| (queued, 0))
    }

    /// Whether another URL may be begun while some wait to be tried again.
    fn is_open(&self) -> bool {
        self.retries.len() < self.max_retries
    }

    /// Takes the URL of this place out.
    pub(super) fn take(&mut self, seq: i64) -> Option<Queued> {
        if let Some(place) = self.retries.iter().position(|retry| retry.queued.seq == seq) {
            return Some(self.retries.swap_remove(place).queued);
        }
        self.urls.pop_front_if(|queued| queued.seq == seq)
    }

    /// Puts a URL back to be tried again.
    pub(super) fn retry(&mut self, queued: Queued, attempt: u32, due: Instant) {
        self.retries.push(Retry { due, attempt, queued });
    }

    /// What robots.txt of this scheme says, as far as it is known and still valid.
    pub(super) fn rules(&mut self, scheme: Scheme, now: Instant) -> &mut Rules {
        let rules = &mut self.rules[scheme as usize];
        if matches!(rules, Rules::Known { until, .. } if *until <= now) {
            *rules = Rules::Unknown { attempt: 0, moved: None };
        }
        rules
    }

    /// Learns what robots.txt says; `age` is how long ago it was received.
    pub(super) fn learn(
        &mut self,
        scheme: Scheme,
        robots: Arc<Robots>,
        now: Instant,
        age: Duration,
    ) {
        if let Some(delay) = robots.crawl_delay() {
            self.pace.slow_down(delay);
        }
        self.rules[scheme as usize] =
            Rules::Known { robots, until: now + VALID.saturating_sub(age) };
    }

    /// Gives robots.txt of this scheme up for now: it is asked for again after so many tries, or where redirects have led to.
    pub(super) fn give_up_asking(&mut self, scheme: Scheme, attempt: u32, moved: Option<Inquiry>) {
        self.rules[scheme as usize] = Rules::Unknown { attempt, moved };
    }
}
