//! The links that a recorded URL leads to: which are new, and which are queued.

use std::num::NonZeroUsize;

use super::{Parsed, Received, Recorder, Skipped};
use crate::{
    crawl::{frontier::Task, plan::CrawlError, sitemap::Sitemap},
    page::{NormalUrl, Timestamp, site_of},
    report::counted,
    state::{HostRow, NewUrl, Reason, SkipCause, UrlId, UrlKind, UrlRow, UrlState},
};

/// Redirects in a row that are followed.
const MAX_REDIRECTS: u32 = 10;

/// URLs that are cached in front of the state.
pub(super) const KNOWN_URLS: NonZeroUsize = NonZeroUsize::new(1 << 17).expect("not zero");

/// Where a URL was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) kind: UrlKind,
    pub(super) depth: u32,
    /// Redirects in a row that led to it: the `hops` of the row.
    pub(super) hops: u32,
    pub(super) referrer: Option<UrlId>,
    /// The seed list that names it as a seed.
    pub(super) seed: Option<usize>,
    /// Why it is not followed from there, if it is not.
    pub(super) skip: Option<SkipCause>,
    pub(super) at: Timestamp,
}

impl Found {
    /// A page found at this time and depth, without anything special about it.
    pub(super) fn page(referrer: Option<UrlId>, depth: u32, at: Timestamp) -> Self {
        let (kind, hops) = (UrlKind::Page, 0);
        Self { kind, depth, hops, referrer, seed: None, skip: None, at }
    }
}

/// A URL of the state, cached by its hash: a link to it that is not shorter changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownUrl {
    depth: u32,
    /// Whether it was found on duplicates only, whose links are skipped.
    skipped: bool,
}

impl KnownUrl {
    /// Whether finding it there may change anything.
    fn may_change(self, found: &Found) -> bool {
        match (self.skipped, found.skip) {
            _ if found.seed.is_some() => true,
            (true, None) => true,
            (false, Some(_)) => false,
            _ => found.depth < self.depth,
        }
    }
}

impl Recorder {
    /// Enters the links of a page, unless they are skipped. Its canonical link within the same site is followed in any case.
    pub(super) fn follow_links(
        &mut self,
        from: &UrlRow,
        parsed: &Parsed,
        skip: Option<SkipCause>,
        at: Timestamp,
    ) -> Result<(), CrawlError> {
        let found = Found::page(Some(from.id), self.state().depth(from.id)? + 1, at);
        if let Some(canonical) = &parsed.canonical
            && same_site(from.url.as_str(), canonical.as_str())
        {
            self.discover(canonical, &found)?;
        }
        for link in &parsed.links {
            self.discover(link, &Found { skip, ..found })?;
        }
        Ok(())
    }

    /// Enters the target of a redirect.
    pub(super) fn follow_redirect(
        &mut self,
        task: &Task,
        status: u16,
        target: &Result<NormalUrl, String>,
    ) -> Result<Skipped, CrawlError> {
        let row = &task.queued.url;
        let hops = row.hops + 1;
        let detail = match target {
            Ok(target) if *target == row.url => {
                "to itself, as some servers do until a cookie comes back; nothing else to follow"
                    .to_owned()
            }
            Ok(target) if hops <= MAX_REDIRECTS => {
                let depth = self.state().depth(row.id)?;
                let found = Found::page(Some(row.id), depth, Timestamp::now());
                self.discover(target, &Found { kind: row.kind, hops, ..found })?;
                target.as_str().to_owned()
            }
            Ok(target) => format!(
                "{} (not followed: more than {MAX_REDIRECTS} redirects in a row)",
                target.as_str()
            ),
            Err(why) => why.clone(),
        };
        Ok(Skipped::new(Reason::Redirect, Some(status), Some(detail)))
    }

    /// Enters the pages and sitemaps that a sitemap lists.
    pub(super) fn follow_sitemap(
        &mut self,
        task: &Task,
        received: &Received,
        sitemap: &Sitemap,
    ) -> Result<Skipped, CrawlError> {
        let row = &task.queued.url;
        let found = Found::page(Some(row.id), 0, received.at);
        let pages = sitemap.urls.iter().map(|url| (url, UrlKind::Page));
        let nested = sitemap.nested.iter().map(|url| (url, UrlKind::Sitemap));
        for (url, kind) in pages.chain(nested) {
            if let Ok(url) = NormalUrl::new(url, &self.url_options) {
                self.discover(&url, &Found { kind, ..found })?;
            }
        }
        for problem in &sitemap.problems {
            tracing::warn!(url = %row.url, %problem, "sitemap");
        }
        let mut detail = sitemap.counts();
        let problems = sitemap.problems.len() + sitemap.more_problems;
        if problems > 0 {
            detail = format!("{detail}, {}", counted(problems, "problem"));
        }
        Ok(Skipped::new(Reason::Sitemap, Some(received.status), Some(detail)))
    }

    /// Enters a URL that was found, and queues it if it is new and a seed admits it.
    pub(super) fn discover(&mut self, url: &NormalUrl, found: &Found) -> Result<(), CrawlError> {
        let hash = xxhash_rust::xxh3::xxh3_128_with_seed(url.as_str().as_bytes(), self.hash_seed);
        if let Some(known) = self.known_urls.get(&hash)
            && !known.may_change(found)
        {
            return Ok(());
        }
        let known = match self.state().url(url.as_str())? {
            Some(row) => self.rediscover(url, row, found)?,
            None => self.add(url, found)?,
        };
        self.known_urls.put(hash, known);
        Ok(())
    }

    /// A new URL was found.
    fn add(&mut self, url: &NormalUrl, found: &Found) -> Result<KnownUrl, CrawlError> {
        let (host, deferred) = self.state().host(url.origin().as_str())?;
        let admitted = self.admit(url, found.kind, found.depth, found.seed);
        let (state, cause) = match (&admitted, found.skip) {
            (Err(reason), _) => (UrlState::Skipped(*reason), None),
            (Ok(_), Some(cause)) => (UrlState::Skipped(Reason::DuplicateLinks), Some(cause)),
            (Ok(_), None) => (UrlState::Queued, None),
        };
        let &Found { kind, depth, hops, referrer, at, .. } = found;
        let seed = admitted.ok();
        let (url, id) = (url.as_str(), host.id);
        let row = NewUrl { url, host: id, kind, state, cause, seed, depth, hops, referrer, at };
        let id = self.state().add_url(&row)?;
        match state {
            UrlState::Skipped(reason) => {
                self.builder.skipped(self.filter.state(), (id, url), reason, cause)?;
            }
            UrlState::Queued | UrlState::Judged => self.enqueue(host, deferred, id)?,
        }
        Ok(KnownUrl { depth, skipped: state == UrlState::Skipped(Reason::DuplicateLinks) })
    }

    /// A known URL was found again. A shorter path lowers its depth, and queues it if it was too deep. A page whose links are followed
    /// queues it if it was found on duplicates only; a seed does if no scope or budget had admitted it. Paths of skipped links do not count.
    fn rediscover(
        &mut self,
        url: &NormalUrl,
        mut row: UrlRow,
        found: &Found,
    ) -> Result<KnownUrl, CrawlError> {
        let followed = found.skip.is_none();
        let may_requeue = match row.state {
            UrlState::Queued => false,
            UrlState::Skipped(Reason::DuplicateLinks | Reason::Depth) => followed,
            UrlState::Skipped(Reason::Scope | Reason::Budget) => found.seed.is_some(),
            UrlState::Skipped(
                Reason::Robots
                | Reason::Redirect
                | Reason::Status
                | Reason::Failure
                | Reason::ContentType
                | Reason::Noindex
                | Reason::Sitemap
                | Reason::Host
                | Reason::Pending,
            )
            | UrlState::Judged => return Ok(KnownUrl { depth: 0, skipped: false }),
        };
        let skipped = row.state == UrlState::Skipped(Reason::DuplicateLinks);
        if may_requeue && let Ok(seed) = self.admit(url, row.kind, found.depth, found.seed) {
            row.depth = found.depth;
            self.requeue(&row, seed)?;
            return Ok(KnownUrl { depth: found.depth, skipped: false });
        }
        if found.depth < row.depth && (followed || skipped) {
            row.depth = found.depth;
            self.state().set_depth(row.id, row.depth)?;
        }
        Ok(KnownUrl { depth: row.depth, skipped })
    }

    /// Queues a URL that had been skipped.
    pub(super) fn requeue(&mut self, row: &UrlRow, seed: usize) -> Result<(), CrawlError> {
        let (host, deferred) = self.state().host(row.url.origin().as_str())?;
        self.state().revive_url(row.id, seed, row.depth)?;
        if let UrlState::Skipped(reason) = row.state {
            self.builder.requeued(self.filter.state(), (row.id, row.url.as_str()), reason)?;
        }
        self.enqueue(host, deferred, row.id)
    }

    fn enqueue(&mut self, host: HostRow, deferred: bool, url: UrlId) -> Result<(), CrawlError> {
        self.last_seq += 1;
        self.state().enqueue(host.id, self.last_seq, url)?;
        self.counts.queued += 1;
        if !deferred && self.queued.last().is_none_or(|last| last.id != host.id) {
            self.queued.push(host);
        }
        Ok(())
    }

    /// The seed list that admits a URL. `seed` is the list that names it as a seed.
    pub(super) fn admit(
        &self,
        url: &NormalUrl,
        kind: UrlKind,
        depth: u32,
        seed: Option<usize>,
    ) -> Result<usize, Reason> {
        let seeds = &self.plan.seeds;
        let spent = |seed: usize| {
            seeds.get(seed).is_none_or(|options| self.spent[seed] >= options.max_pages)
        };
        if let Some(seed) = seed {
            return self.scope.admit_seed(seed, url, spent);
        }
        if kind == UrlKind::Sitemap {
            return self.scope.admit_sitemap(url, spent);
        }
        let admitted = self.scope.admit(url, depth, spent)?;
        if depth > self.plan.crawl.max_depth { Err(Reason::Depth) } else { Ok(admitted) }
    }
}

/// Whether two URLs are of one site.
pub(super) fn same_site(a: &str, b: &str) -> bool {
    let site = |url: &str| Some(site_of(url::Url::parse(url).ok()?.host_str()?).to_owned());
    site(a) == site(b)
}
