//! What a crawl would begin with: robots.txt and sitemaps are read, no page is fetched.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
};

use tokio::time::{Instant, sleep_until};
use url::Url;

use super::{
    directory::{STATE, check_owner, check_unclaimed},
    error::CrawlError,
    fetch::{Answer, FetchError, Fetcher, Limit},
    options::Plan,
    robots::{Inquiry, Robots, product_token},
    roots::roots,
    scope::{Refusal, Scope},
    sitemap,
};
use crate::{
    page::{NormalUrl, Origin, UrlOptions},
    report::counted,
    state::{Cause, Reason, State, UrlKind, UrlState},
};

/// Sitemaps that are read for one seed.
const MAX_SITEMAPS: usize = 1_000;

/// What a crawl would begin with.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The seeds, and what sitemaps name.
    pub urls: Vec<Outlook>,
    /// How many URLs of the run are queued, if it was begun; those among `urls` are counted as well.
    pub queued: u64,
}

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
                let (pages, sitemaps) = (counted(*pages, "page"), counted(*sitemaps, "sitemap"));
                write!(f, "read\t{url}\t{pages}, {sitemaps}")
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
pub async fn dry_run(plan: &Plan) -> Result<Forecast, CrawlError> {
    let options = plan.crawl.url_options();
    let roots = plan.seeds.iter().map(|seed| roots(&seed.source, &options));
    let roots: Vec<_> = roots.collect::<Result<_, _>>()?;
    let mut looker = Looker {
        plan,
        scope: Scope::new(&plan.seeds)?,
        state: earlier_state(plan)?,
        fetcher: Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?,
        options,
        robots: HashMap::new(),
        asked: HashMap::new(),
        seen: HashSet::new(),
        found: Vec::new(),
    };
    for (seed, (_, urls)) in roots.iter().enumerate() {
        for url in urls {
            looker.scope.add_root(seed, url);
        }
    }
    for (seed, (kind, urls)) in roots.into_iter().enumerate() {
        match kind {
            UrlKind::Page => looker.look_at_pages(seed, urls).await?,
            UrlKind::Sitemap => looker.look_at_sitemaps(urls.into()).await?,
        }
    }
    let queued = looker.state.as_ref().map_or(Ok(0), State::queue_len)?;
    Ok(Forecast { urls: looker.found, queued })
}

/// The state of the run as far as it got, if it was begun.
fn earlier_state(plan: &Plan) -> Result<Option<State>, CrawlError> {
    let path = plan.directory.join(STATE);
    if !path.is_file() {
        check_unclaimed(&plan.directory)?;
        return Ok(None);
    }
    let state = State::read(&path)?;
    check_owner(&state, &plan.directory, &plan.name)?;
    Ok(Some(state))
}

struct Looker<'a> {
    plan: &'a Plan,
    options: UrlOptions,
    scope: Scope,
    state: Option<State>,
    fetcher: Fetcher,
    robots: HashMap<String, Robots>,
    /// When each host may be asked next.
    asked: HashMap<Origin, Instant>,
    seen: HashSet<NormalUrl>,
    found: Vec<Outlook>,
}

impl Looker<'_> {
    async fn look_at_pages(&mut self, seed: usize, urls: Vec<NormalUrl>) -> Result<(), CrawlError> {
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
            if let Some((reason, why)) = self.objection(&url).await {
                self.note(&url, Prospect::Skip(reason, Some(why)));
                continue;
            }
            read += 1;
            match self.get(url.as_url(), Limit::Sitemap).await {
                Ok(answer) => self.look_into_sitemap(&url, &answer, &mut waiting).await?,
                Err(error) => self.note(&url, Prospect::Failure(error.explain())),
            }
        }
        Ok(())
    }

    /// Looks at the pages that a sitemap names. Others that it names, or redirects to, are added to those that wait.
    async fn look_into_sitemap(
        &mut self,
        url: &NormalUrl,
        answer: &Answer,
        waiting: &mut VecDeque<NormalUrl>,
    ) -> Result<(), CrawlError> {
        if let Some(target) = answer.redirect_target(url.as_url()) {
            self.note(url, Prospect::Skip(Reason::Redirect, Some(target.to_string())));
            self.await_sitemaps(&[target], waiting);
            return Ok(());
        }
        if !answer.is_success() {
            let status = answer.status.as_u16().to_string();
            self.note(url, Prospect::Skip(Reason::Status, Some(status)));
            return Ok(());
        }
        let sitemap = sitemap::parse(&answer.body, url.as_url());
        let (pages, sitemaps) = (sitemap.urls.len(), sitemap.nested.len());
        self.note(url, Prospect::Read { pages, sitemaps });
        self.await_sitemaps(&sitemap.nested, waiting);
        for entry in &sitemap.urls {
            if let Ok(page) = NormalUrl::new(&entry.url, &self.options) {
                let admitted = self.scope.admit(&page, 0, |_| false);
                self.look_at_page(page, admitted).await?;
            }
        }
        Ok(())
    }

    fn await_sitemaps(&mut self, urls: &[Url], waiting: &mut VecDeque<NormalUrl>) {
        for url in urls {
            let Ok(url) = NormalUrl::new(url, &self.options) else { continue };
            match self.scope.admit_sitemap(&url, |_| false) {
                Ok(_) => waiting.push_back(url),
                Err(_) => self.note(&url, Prospect::Skip(Reason::Scope, None)),
            }
        }
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
            Ok(seed) => match self.objection(&url).await {
                Some((reason, why)) => Prospect::Skip(reason, Some(why)),
                None => Prospect::Fetch(seed),
            },
        };
        self.note(&url, prospect);
        Ok(())
    }

    /// What robots.txt has against a URL: that it is forbidden, or so long a delay that its host would be set aside.
    async fn objection(&mut self, url: &NormalUrl) -> Option<(Reason, String)> {
        if !self.plan.politeness.obey_robots {
            return None;
        }
        let origin = format!("{}://{}", url.scheme(), url.origin());
        if !self.robots.contains_key(&origin) {
            let robots = self.ask(&origin).await;
            self.robots.insert(origin.clone(), robots);
        }
        let robots = self.robots.get(&origin)?;
        let longest = self.plan.politeness.max_crawl_delay;
        if let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest) {
            return Some((Reason::Host, Cause::CrawlDelay(delay).to_string()));
        }
        robots.refusal(url.as_url()).map(|why| (Reason::Robots, why))
    }

    async fn ask(&mut self, origin: &str) -> Robots {
        let Ok(mut inquiry) = Inquiry::new(origin) else { return Robots::unreachable("no URL") };
        loop {
            let url = inquiry.url().clone();
            let got = self.get(&url, Limit::Robots).await;
            match inquiry.hear(got) {
                Some(Ok(body)) => {
                    return Robots::parse(&body, product_token(&self.plan.crawl.user_agent));
                }
                Some(Err(why)) => return Robots::unreachable(&why),
                None => {}
            }
        }
    }

    /// Asks for a URL once the delay of its host is over: the configured one, or a longer one of its robots.txt.
    async fn get(&mut self, url: &Url, limit: Limit) -> Result<Answer, FetchError> {
        let Ok(host) = NormalUrl::new(url, &self.options).map(|url| url.origin()) else {
            return self.fetcher.get(url, limit).await;
        };
        if let Some(next) = self.asked.get(&host) {
            sleep_until(*next).await;
        }
        let answer = self.fetcher.get(url, limit).await;
        let origin = format!("{}://{host}", url.scheme());
        let asked_for = self.robots.get(&origin).and_then(Robots::crawl_delay);
        let delay = self.plan.politeness.delay.max(asked_for.unwrap_or_default());
        self.asked.insert(host, Instant::now() + delay);
        answer
    }

    fn note(&mut self, url: &NormalUrl, prospect: Prospect) {
        self.found.push(Outlook { url: url.as_str().to_owned(), prospect });
    }
}
