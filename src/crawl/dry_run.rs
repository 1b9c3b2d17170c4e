//! What a crawl would begin with: robots.txt and sitemaps are read, no page is fetched.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt, fs,
    time::Duration,
};

use tokio::time::{Instant, sleep_until};
use url::Url;

use super::{
    directory::STATE,
    error::CrawlError,
    fetch::{FetchError, Fetcher, Limit},
    options::Plan,
    robots::{Robots, product_token},
    scope::{Refusal, Scope, Source, read_seed_file},
    sitemap,
};
use crate::{
    page::{HostKey, NormalUrl, UrlOptions},
    state::{Reason, State, UrlState},
};

/// Sitemaps that are read for one seed.
const MAX_SITEMAPS: usize = 1_000;

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const MAX_ROBOTS_HOPS: usize = 5;

/// What would become of a URL.
#[derive(Clone, Debug)]
pub struct Outlook {
    url: String,
    prospect: Prospect,
}

#[derive(Clone, Debug)]
enum Prospect {
    /// It would be fetched, for this seed, by its place in the configuration.
    Fetch(usize),
    /// It would be read for more URLs.
    Read { pages: usize, sitemaps: usize },
    /// It would not be fetched.
    Skip(Reason, Option<String>),
    /// The run has dealt with it.
    Settled,
    /// It cannot be read.
    Failure(String),
}

impl Outlook {
    /// Whether the URL would be fetched.
    #[must_use]
    pub fn is_fetched(&self) -> bool {
        matches!(self.prospect, Prospect::Fetch(_))
    }
}

/// One line: what would be done, the URL, and why; separated by tabs.
impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        match &self.prospect {
            Prospect::Fetch(seed) => write!(f, "fetch\t{url}\tseed {}", seed + 1),
            Prospect::Read { pages, sitemaps } => {
                write!(f, "read\t{url}\t{pages} pages, {sitemaps} sitemaps")
            }
            Prospect::Skip(reason, None) => write!(f, "skip\t{url}\t{reason}"),
            Prospect::Skip(reason, Some(detail)) => write!(f, "skip\t{url}\t{reason}: {detail}"),
            Prospect::Settled => write!(f, "skip\t{url}\tthe run has dealt with it"),
            Prospect::Failure(why) => write!(f, "skip\t{url}\tfailure: {why}"),
        }
    }
}

/// Says what a crawl would begin with: its seeds and the pages of its sitemaps, each with why it would be fetched or not. What
/// lies behind them is not known without fetching pages. Requests to one host keep the configured delay.
///
/// # Errors
/// If seed files or an earlier state of the run cannot be read, or the fetcher cannot be set up.
pub async fn dry_run(plan: &Plan) -> Result<Vec<Outlook>, CrawlError> {
    let state = plan.directory.join(STATE);
    let mut looker = Looker {
        plan,
        options: plan.crawl.url_options(),
        scope: Scope::new(&plan.seeds)?,
        state: state.is_file().then(|| State::open(&state)).transpose()?,
        fetcher: Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?,
        robots: HashMap::new(),
        asked: HashMap::new(),
        seen: HashSet::new(),
        found: Vec::new(),
    };
    looker.add_roots()?;
    for seed in 0..plan.seeds.len() {
        looker.look(seed).await?;
    }
    Ok(looker.found)
}

struct Looker<'a> {
    plan: &'a Plan,
    options: UrlOptions,
    scope: Scope,
    state: Option<State>,
    fetcher: Fetcher,
    robots: HashMap<String, Robots>,
    /// When each host was asked last.
    asked: HashMap<HostKey, Instant>,
    seen: HashSet<NormalUrl>,
    found: Vec<Outlook>,
}

impl Looker<'_> {
    fn add_roots(&mut self) -> Result<(), CrawlError> {
        for seed in 0..self.plan.seeds.len() {
            for url in self.urls(seed)? {
                self.scope.add_root(seed, &url);
            }
        }
        Ok(())
    }

    fn urls(&self, seed: usize) -> Result<Vec<NormalUrl>, CrawlError> {
        match &self.plan.seeds[seed].source {
            Source::Url(url) | Source::Sitemap(url) => {
                Ok(vec![NormalUrl::new(url, &self.options)?])
            }
            Source::File(path) => {
                let file = fs::read(path)
                    .map_err(|source| CrawlError::SeedFile { path: path.clone(), source })?;
                read_seed_file(&file, &self.options)
                    .map_err(|errors| CrawlError::SeedLines { path: path.clone(), errors })
            }
        }
    }

    async fn look(&mut self, seed: usize) -> Result<(), CrawlError> {
        let urls = self.urls(seed)?;
        if matches!(self.plan.seeds[seed].source, Source::Sitemap(_)) {
            return self.look_at_sitemaps(urls.into()).await;
        }
        for url in urls {
            let admitted = self.scope.admit_seed(seed, &url, |_| false);
            self.look_at_page(url, admitted).await?;
        }
        Ok(())
    }

    async fn look_at_sitemaps(
        &mut self,
        mut waiting: VecDeque<NormalUrl>,
    ) -> Result<(), CrawlError> {
        let mut read = 0;
        while let Some(url) = waiting.pop_front().filter(|_| read < MAX_SITEMAPS) {
            if !self.seen.insert(url.clone()) {
                continue;
            }
            if let Some(rule) = self.refusal(&url).await {
                self.note(&url, Prospect::Skip(Reason::Robots, Some(rule)));
                continue;
            }
            read += 1;
            let answer = match self.get(&url, Limit::Sitemap).await {
                Ok(answer) if answer.is_success() => answer,
                Ok(answer) => {
                    self.note(
                        &url,
                        Prospect::Skip(Reason::Status, Some(answer.status.as_u16().to_string())),
                    );
                    continue;
                }
                Err(error) => {
                    self.note(&url, Prospect::Failure(error.explain()));
                    continue;
                }
            };
            let sitemap = sitemap::parse(&answer.body, url.as_url());
            let (pages, sitemaps) = (sitemap.urls.len(), sitemap.nested.len());
            self.note(&url, Prospect::Read { pages, sitemaps });
            let normal = |url: &Url| NormalUrl::new(url, &self.options).ok();
            let nested: Vec<_> = sitemap.nested.iter().filter_map(normal).collect();
            let pages: Vec<_> =
                sitemap.urls.iter().filter_map(|entry| normal(&entry.url)).collect();
            for sitemap in nested {
                match self.scope.admit_sitemap(&sitemap, |_| false) {
                    Ok(_) => waiting.push_back(sitemap),
                    Err(_) => self.note(&sitemap, Prospect::Skip(Reason::Scope, None)),
                }
            }
            for page in pages {
                let admitted = self.scope.admit(&page, 0, |_| false);
                self.look_at_page(page, admitted).await?;
            }
        }
        Ok(())
    }

    async fn look_at_page(
        &mut self,
        url: NormalUrl,
        admitted: Result<usize, Refusal>,
    ) -> Result<(), CrawlError> {
        if !self.seen.insert(url.clone()) {
            return Ok(());
        }
        let known = self.state.as_ref().map(|state| state.url(url.as_str())).transpose()?.flatten();
        let prospect = match admitted {
            _ if known.is_some_and(|known| known.state != UrlState::Queued) => Prospect::Settled,
            Err(Refusal::Scope) => Prospect::Skip(Reason::Scope, None),
            Err(Refusal::Depth) => Prospect::Skip(Reason::Depth, None),
            Err(Refusal::Budget) => Prospect::Skip(Reason::Budget, None),
            Ok(seed) => match self.refusal(&url).await {
                Some(rule) => Prospect::Skip(Reason::Robots, Some(rule)),
                None => Prospect::Fetch(seed),
            },
        };
        self.note(&url, prospect);
        Ok(())
    }

    /// Why robots.txt forbids a URL, if so.
    async fn refusal(&mut self, url: &NormalUrl) -> Option<String> {
        if !self.plan.politeness.obey_robots {
            return None;
        }
        let origin = format!("{}://{}", url.scheme(), url.host_key());
        if !self.robots.contains_key(&origin) {
            let robots = self.ask(&origin).await;
            self.robots.insert(origin.clone(), robots);
        }
        self.robots.get(&origin)?.refusal(url.as_url())
    }

    async fn ask(&mut self, origin: &str) -> Robots {
        let agent = product_token(&self.plan.crawl.user_agent);
        let mut next = NormalUrl::parse(&format!("{origin}/robots.txt"), &self.options).ok();
        for _ in 0..=MAX_ROBOTS_HOPS {
            let Some(url) = next else { return Robots::unreachable("no URL") };
            let answer = match self.get(&url, Limit::Robots).await {
                Ok(answer) => answer,
                Err(error) => return Robots::unreachable(&error.explain()),
            };
            let Some(target) = answer.redirect_target(url.as_url()) else {
                return Robots::from_answer(answer.status.as_u16(), &answer.body, agent);
            };
            next = NormalUrl::new(&target, &self.options).ok();
        }
        Robots::allow_all()
    }

    async fn get(
        &mut self,
        url: &NormalUrl,
        limit: Limit,
    ) -> Result<super::fetch::Answer, FetchError> {
        let delay: Duration = self.plan.politeness.delay;
        let host = url.host_key();
        if let Some(asked) = self.asked.get(&host) {
            sleep_until(*asked + delay).await;
        }
        let answer = self.fetcher.get(url.as_url(), limit).await;
        self.asked.insert(host, Instant::now());
        answer
    }

    fn note(&mut self, url: &NormalUrl, prospect: Prospect) {
        self.found.push(Outlook { url: url.as_str().to_owned(), prospect });
    }
}
