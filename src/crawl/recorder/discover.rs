//! Which links are new, and which of them are queued.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::Recorder;
use crate::{
    crawl::{error::CrawlError, scope::Refusal},
    page::{NormalUrl, Timestamp},
    state::{HostRow, NewUrl, Reason, SkipCause, UrlId, UrlKind, UrlRow, UrlState},
};

/// URLs and hosts remembered in front of the state.
const KNOWN_URLS: usize = 1 << 17;
const KNOWN_HOSTS: usize = 1 << 12;

/// Where a URL was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) kind: UrlKind,
    pub(super) depth: u32,
    pub(super) hops: u32,
    pub(super) referrer: Option<UrlId>,
    /// The seed that names the URL itself, as a page to begin with.
    pub(super) seed: Option<usize>,
    /// Set if it is not to be followed from there: the kind of duplicate that it was found on.
    pub(super) cause: Option<SkipCause>,
    pub(super) at: Timestamp,
}

/// What need not be read from the state again.
#[derive(Debug)]
pub(super) struct Known {
    /// By the URL's hash: a link that is no shorter changes nothing.
    urls: LruCache<u128, Remembered>,
    /// By name and port.
    hosts: LruCache<Box<str>, (HostRow, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Remembered {
    depth: u32,
    /// It was found on duplicates only.
    withheld: bool,
}

impl Remembered {
    /// Whether finding it there may change anything.
    fn may_change(self, origin: &Origin) -> bool {
        match (self.withheld, origin.cause.is_some()) {
            _ if origin.seed.is_some() => true,
            (true, false) => true,
            (false, true) => false,
            _ => origin.depth < self.depth,
        }
    }
}

impl Default for Known {
    fn default() -> Self {
        let cache = |size| NonZeroUsize::new(size).expect("not zero");
        Self { urls: LruCache::new(cache(KNOWN_URLS)), hosts: LruCache::new(cache(KNOWN_HOSTS)) }
    }
}

impl Known {
    /// A host's turn has changed.
    pub(super) fn set_turn(&mut self, host: &str, turn: i64) {
        if let Some((row, _)) = self.hosts.peek_mut(host) {
            row.turn = turn;
        }
    }

    pub(super) fn forget_hosts(&mut self) {
        self.hosts.clear();
    }
}

impl Recorder {
    /// Enters a URL that was found, and queues it if it is new and a seed admits it. What is queued is kept for the answer.
    pub(super) fn discover(&mut self, url: &NormalUrl, origin: &Origin) -> Result<(), CrawlError> {
        let hash = xxhash_rust::xxh3::xxh3_128_with_seed(url.as_str().as_bytes(), self.hash_seed);
        if let Some(known) = self.known.urls.get(&hash)
            && !known.may_change(origin)
        {
            return Ok(());
        }
        let remembered = match self.state().url(url.as_str())? {
            Some(row) => self.rediscover(url, row, origin)?,
            None => self.enter(url, origin)?,
        };
        self.known.urls.put(hash, remembered);
        Ok(())
    }

    fn enter(&mut self, url: &NormalUrl, origin: &Origin) -> Result<Remembered, CrawlError> {
        let (host, aside) = self.host(url)?;
        let admitted = self.admit(url, origin.kind, origin.depth, origin.seed);
        let (state, cause) = match (&admitted, origin.cause) {
            (Err(refusal), _) => (UrlState::Skipped(reason(*refusal)), None),
            (Ok(_), Some(why)) => (UrlState::Skipped(Reason::DuplicateLinks), Some(why)),
            (Ok(_), None) => (UrlState::Queued, None),
        };
        let Origin { kind, depth, hops, referrer, at, .. } = *origin;
        let seed = admitted.ok();
        let new = NewUrl {
            url: url.as_str(),
            host: host.id,
            kind,
            state,
            cause,
            seed,
            depth,
            hops,
            referrer,
            at,
        };
        let id = self.state().add_url(&new)?;
        if state == UrlState::Queued {
            self.enqueue(host, aside, id)?;
        }
        Ok(Remembered {
            depth,
            withheld: matches!(state, UrlState::Skipped(Reason::DuplicateLinks)),
        })
    }

    /// A known URL was found again. A shorter path lowers its depth, and revives it if it had been too deep; a page whose links are
    /// followed revives it if it had been found on duplicates only; and a seed, if no scope or budget had admitted it.
    /// A path that is not followed is none.
    fn rediscover(
        &mut self,
        url: &NormalUrl,
        mut row: UrlRow,
        origin: &Origin,
    ) -> Result<Remembered, CrawlError> {
        let followed = origin.cause.is_none();
        let may_revive = match row.state {
            UrlState::Queued => false,
            UrlState::Skipped(Reason::DuplicateLinks | Reason::Depth) => followed,
            UrlState::Skipped(Reason::Scope | Reason::Budget) => origin.seed.is_some(),
            UrlState::Skipped(_) | UrlState::Judged => {
                return Ok(Remembered { depth: 0, withheld: false });
            }
        };
        let withheld = row.state == UrlState::Skipped(Reason::DuplicateLinks);
        if may_revive && let Ok(seed) = self.admit(url, row.kind, origin.depth, origin.seed) {
            row.depth = origin.depth;
            self.revive(&row, seed)?;
            return Ok(Remembered { depth: origin.depth, withheld: false });
        }
        if origin.depth < row.depth && (followed || withheld) {
            row.depth = origin.depth;
            self.state().set_depth(row.id, row.depth)?;
        }
        Ok(Remembered { depth: row.depth, withheld })
    }

    /// Queues a URL that had been skipped.
    pub(super) fn revive(&mut self, row: &UrlRow, seed: usize) -> Result<(), CrawlError> {
        let url = NormalUrl::parse(&row.url, &self.url_options)?;
        let (host, aside) = self.host(&url)?;
        self.state().revive_url(row.id, seed, row.depth)?;
        self.enqueue(host, aside, row.id)
    }

    pub(super) fn enqueue(
        &mut self,
        host: HostRow,
        aside: bool,
        url: UrlId,
    ) -> Result<(), CrawlError> {
        self.last_seq += 1;
        self.state().enqueue(host.id, self.last_seq, url)?;
        self.counts.queued += 1;
        if !aside && self.queued.last().is_none_or(|last| last.id != host.id) {
            self.queued.push(host);
        }
        Ok(())
    }

    /// The seed that admits a URL; `seed` names it as a page to begin with.
    pub(super) fn admit(
        &self,
        url: &NormalUrl,
        kind: UrlKind,
        depth: u32,
        seed: Option<usize>,
    ) -> Result<usize, Refusal> {
        let spent = |seed| self.is_seed_spent(seed);
        if let Some(seed) = seed {
            return self.scope.admit_seed(seed, url, spent);
        }
        if kind == UrlKind::Sitemap {
            return self.scope.admit_sitemap(url, spent);
        }
        let admitted = self.scope.admit(url, depth, spent)?;
        if depth > self.plan.crawl.max_depth { Err(Refusal::Depth) } else { Ok(admitted) }
    }

    pub(super) fn host(&mut self, url: &NormalUrl) -> Result<(HostRow, bool), CrawlError> {
        let key = url.origin();
        if let Some(known) = self.known.hosts.get(key.as_str()) {
            return Ok(known.clone());
        }
        let found = self.state().host(key.as_str())?;
        self.known.hosts.put(key.as_str().into(), found.clone());
        Ok(found)
    }
}

pub(super) fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Scope => Reason::Scope,
        Refusal::Depth => Reason::Depth,
        Refusal::Budget => Reason::Budget,
    }
}
