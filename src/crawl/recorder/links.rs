//! The links that a recorded URL leads to: which are new, and which are queued.

use std::collections::{BTreeMap, HashMap};

use super::{Parsed, Received, Recorder, Skipped};
use crate::{
    crawl::{
        frontier::Task,
        plan::{CrawlError, Root},
        robots,
        scope::Seed,
        sitemap::Sitemap,
    },
    page::{NormalUrl, Origin, Timestamp, site_of},
    report::counted,
    state::{
        HostId, KnownUrl, NewUrl, Reason, RobotsRow, SkipCause, UrlId, UrlKind, UrlLog, UrlRow,
        UrlState,
    },
};

/// Redirects in a row that are followed.
const MAX_REDIRECTS: u32 = 10;

/// Sitemaps of one host that are queued by one start of a run; further ones are a trap for crawlers.
const MAX_SITEMAPS: usize = 1_000;

/// Which sitemaps are followed.
#[derive(Debug, Default)]
pub(super) struct Sitemaps {
    /// The origins, with their scheme, whose robots.txt names sitemaps for a seed list.
    seeds: BTreeMap<String, usize>,
    /// How many sitemaps of each host were found.
    found: HashMap<Origin, usize>,
}

impl Sitemaps {
    pub(super) fn new(seeds: &[Seed], roots: &[Root]) -> Self {
        let lists = seeds.iter().zip(roots).enumerate().filter(|(_, (seed, _))| seed.sitemaps);
        let origin = |url: &NormalUrl| format!("{}://{}", url.scheme(), url.origin());
        let seeds = lists
            .rev()
            .flat_map(|(seed, (_, (_, urls)))| urls.iter().map(move |url| (origin(url), seed)));
        Self { seeds: seeds.collect(), found: HashMap::new() }
    }

    /// Whether one more sitemap of this host may be queued.
    fn admit(&mut self, url: &NormalUrl) -> bool {
        let count = self.found.entry(url.origin()).or_default();
        *count += 1;
        *count <= MAX_SITEMAPS
    }
}

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
    /// Whether it is fetched after others.
    pub(super) late: bool,
    pub(super) at: Timestamp,
}

impl Found {
    /// A page found at this time and depth, without anything special about it.
    pub(super) fn page(referrer: Option<UrlId>, depth: u32, at: Timestamp) -> Self {
        let (kind, hops) = (UrlKind::Page, 0);
        Self { kind, depth, hops, referrer, seed: None, skip: None, late: false, at }
    }
}

impl Recorder {
    /// Enters the links of a page, unless they are skipped. Its canonical link within the same site is followed in any case.
    pub(super) fn follow_links(
        &mut self,
        from: &UrlRow,
        parsed: &Parsed,
        skip: Option<SkipCause>,
        late: bool,
        at: Timestamp,
    ) -> Result<(), CrawlError> {
        let found = Found::page(Some(from.id), self.urls.depth(from.id)? + 1, at);
        if let Some(canonical) = &parsed.canonical
            && same_site(from.url.as_str(), canonical.as_str())
        {
            self.discover(canonical, &found)?;
        }
        for link in &parsed.links {
            self.discover(link, &Found { skip, late, ..found })?;
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
                let depth = self.urls.depth(row.id)?;
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
        let mut problems = sitemap.problems.len() + sitemap.more_problems;
        for url in &sitemap.urls {
            if let Ok(url) = NormalUrl::new(url, &self.url_options) {
                self.discover(&url, &found)?;
            }
        }
        for url in &sitemap.nested {
            match NormalUrl::new(url, &self.url_options) {
                Ok(url) if self.sitemaps.admit(&url) => {
                    self.discover(&url, &Found { kind: UrlKind::Sitemap, ..found })?;
                }
                _ => problems += 1,
            }
        }
        for problem in &sitemap.problems {
            tracing::warn!(url = %row.url, %problem, "sitemap");
        }
        let mut detail = sitemap.counts();
        if problems > 0 {
            detail = format!("{detail}, {}", counted(problems, "problem"));
        }
        Ok(Skipped::new(Reason::Sitemap, Some(received.status), Some(detail)))
    }

    /// Enters the sitemaps that a robots.txt names, if a seed list asks for them.
    pub(super) fn follow_robots(
        &mut self,
        origin: &str,
        robots: &RobotsRow,
    ) -> Result<(), CrawlError> {
        let Some(&seed) = self.sitemaps.seeds.get(origin) else { return Ok(()) };
        let found = Found { seed: Some(seed), ..Found::page(None, 0, robots.at) };
        for url in robots::sitemaps(&robots.body) {
            if let Ok(url) = NormalUrl::new(&url, &self.url_options)
                && self.sitemaps.admit(&url)
            {
                self.discover(&url, &Found { kind: UrlKind::Sitemap, ..found })?;
            }
        }
        Ok(())
    }

    /// The same for the robots.txt files that earlier starts have received.
    pub(super) fn follow_known_robots(&mut self) -> Result<(), CrawlError> {
        let origins: Vec<String> = self.sitemaps.seeds.keys().cloned().collect();
        for origin in origins {
            if let Some(robots) = self.state().robots(&origin)? {
                self.follow_robots(&origin, &robots)?;
            }
        }
        Ok(())
    }

    /// Enters a URL that was found, and queues it if it is new and a seed admits it.
    pub(super) fn discover(&mut self, url: &NormalUrl, found: &Found) -> Result<(), CrawlError> {
        match self.urls.find(url.as_str()) {
            Some(known) => self.rediscover(url, known, found),
            None => self.add(url, found),
        }
    }

    /// A new URL was found.
    fn add(&mut self, url: &NormalUrl, found: &Found) -> Result<(), CrawlError> {
        let host = self.urls.host(self.filter.state(), url.origin().as_str())?;
        let admitted = self.admit(url, found.kind, found.depth, found.seed);
        let (state, cause) = match (&admitted, found.skip) {
            (Err(reason), _) => (UrlState::Skipped(*reason), None),
            (Ok(_), Some(cause)) => (UrlState::Skipped(Reason::DuplicateLinks), Some(cause)),
            (Ok(_), None) => (UrlState::Queued, None),
        };
        let &Found { kind, depth, hops, referrer, at, .. } = found;
        let found_url = url;
        let (url, seed) = (url.as_str(), admitted.ok());
        let new = NewUrl { url, host, kind, state, cause, seed, depth, hops, referrer, at };
        let late = if found.late && kind == UrlKind::Page && state == UrlState::Queued {
            Some(self.group(found_url)?)
        } else {
            None
        };
        let id = self.urls.add(self.filter.state(), &new, late)?;
        if late.is_some() {
            self.selection.late_hosts.insert(host);
            self.counts.queued += 1;
            return Ok(());
        }
        match state {
            UrlState::Skipped(reason) => {
                Ok(self.builder.skipped(self.filter.state(), (id, url), reason, cause)?)
            }
            UrlState::Queued | UrlState::Judged => self.count_queued(host),
        }
    }

    /// A known URL was found again. A shorter path lowers its depth, and queues it if it was too deep. A page whose links are followed
    /// queues it if it was found on duplicates only; a seed does if no scope or budget had admitted it. Paths of skipped links do not count.
    fn rediscover(
        &mut self,
        url: &NormalUrl,
        known: KnownUrl,
        found: &Found,
    ) -> Result<(), CrawlError> {
        let (followed, is_nearer) = (found.skip.is_none(), found.depth < known.depth);
        let may_requeue = match known.state {
            UrlState::Queued => false,
            UrlState::Skipped(Reason::DuplicateLinks) => followed,
            UrlState::Skipped(Reason::Depth) => followed && (is_nearer || found.seed.is_some()),
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
                | Reason::Pending
                | Reason::Rule
                | Reason::LowYield,
            )
            | UrlState::Judged => return Ok(()),
        };
        if may_requeue {
            let row = UrlLog::row(self.state(), known)?;
            if let Ok(seed) = self.admit(url, row.kind, found.depth, found.seed) {
                return self.requeue(&UrlRow { depth: found.depth, ..row }, seed);
            }
        }
        let skipped = known.state == UrlState::Skipped(Reason::DuplicateLinks);
        if is_nearer && (followed || skipped) {
            self.urls.set_depth(known.id, found.depth)?;
        }
        Ok(())
    }

    /// Queues a URL that had been skipped.
    pub(super) fn requeue(&mut self, row: &UrlRow, seed: usize) -> Result<(), CrawlError> {
        self.urls.requeue(self.filter.state(), row, seed, None)?;
        if let UrlState::Skipped(reason) = row.state {
            self.builder.requeued(self.filter.state(), (row.id, row.url.as_str()), reason)?;
        }
        self.count_queued(row.host)
    }

    /// Counts a URL that was queued, and remembers its host for the report to the loop.
    fn count_queued(&mut self, host: HostId) -> Result<(), CrawlError> {
        self.counts.queued += 1;
        self.report_queued(host)
    }

    /// Remembers a host of which a URL was queued, for the report to the loop.
    pub(super) fn report_queued(&mut self, host: HostId) -> Result<(), CrawlError> {
        let is_reported = self.queued.last().is_some_and(|last| last.id == host);
        if !is_reported && !self.urls.is_deferred(host) {
            self.queued.push(self.state().host_by_id(host)?);
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
