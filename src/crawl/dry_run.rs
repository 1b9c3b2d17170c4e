//! What can be said of a crawl before it begins. `--dry-run` shows what it would fetch first: requests robots.txt and sitemaps, but no page.
//! `check` finds out whether seeds can be reached, without a request: looks up the names of their hosts.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::{
    directory::{check_owner, check_unclaimed},
    fetch::{Contact, FetchError, Fetcher, Resource, Response},
    plan::{CrawlError, Plan, STATE},
    robots::{self, Robots, RobotsRequest, RobotsResponse, product_token},
    scope::Scope,
    sitemap,
};
use crate::{
    page::{NormalUrl, Origin, Timestamp, UrlOptions},
    state::{Reason, State, SuspendCause, UrlIndex, UrlKind, UrlState},
};

/// Sitemaps that are read for one seed.
const MAX_SITEMAPS: usize = 1_000;

/// What a crawl would begin with.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The seeds, and what sitemaps name.
    pub urls: Vec<ForecastUrl>,
    /// How many URLs of the run are queued, if it was started, including those among `urls`.
    pub queued: u64,
}

/// A URL, and what a crawl would do with it.
#[derive(Clone, Debug)]
pub struct ForecastUrl {
    url: String,
    action: Action,
    /// For which seed it is fetched, what it lists, or why it is skipped.
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Fetch,
    /// Read it for more URLs.
    Read,
    Skip,
}

impl ForecastUrl {
    /// Whether the URL would be fetched.
    #[must_use]
    pub fn is_fetched(&self) -> bool {
        self.action == Action::Fetch
    }
}

/// One line: what would be done, the URL, and why; separated by tabs.
impl fmt::Display for ForecastUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::Fetch => "fetch",
            Action::Read => "read",
            Action::Skip => "skip",
        };
        write!(f, "{action}\t{}\t{}", self.url, self.detail)
    }
}

/// Finds out what a crawl would begin with: its seeds and the pages of its sitemaps, and why each would be fetched or not. What they link
/// to is not known without fetching pages. Requests to one host keep the configured delay.
///
/// # Errors
/// If seed files or an earlier state of the run cannot be read, or the fetcher cannot be set up.
pub async fn dry_run(plan: &Plan) -> Result<Forecast, CrawlError> {
    let options = plan.crawl.url_options();
    let (scope, roots) = plan.roots()?;
    let mut dry_run = DryRun {
        plan,
        scope,
        known: known_urls(plan)?,
        fetcher: Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?,
        options,
        robots: HashMap::new(),
        sitemaps: HashMap::new(),
        not_before: HashMap::new(),
        seen: HashSet::new(),
        found: Vec::new(),
    };
    for (seed, (kind, urls)) in roots.into_iter().enumerate() {
        match kind {
            UrlKind::Page => {
                for url in urls {
                    let root_url = url.root_url();
                    let admitted = dry_run.scope.admit_seed(seed, &url, |_| false);
                    dry_run.check_page(url, admitted).await?;
                    if plan.seeds[seed].sitemaps
                        && let Some(sitemaps) = dry_run.sitemaps.remove(&root_url)
                    {
                        dry_run.check_sitemaps(sitemaps).await?;
                    }
                }
            }
            UrlKind::Sitemap => dry_run.check_sitemaps(urls.into()).await?,
        }
    }
    let queued = dry_run.known.as_ref().map_or(0, |(_, known)| known.open());
    Ok(Forecast { urls: dry_run.found, queued })
}

/// The URLs that the run knows, if it was started.
fn known_urls(plan: &Plan) -> Result<Option<(State, UrlIndex)>, CrawlError> {
    let path = plan.directory.join(STATE);
    if !path.is_file() {
        check_unclaimed(&plan.directory)?;
        return Ok(None);
    }
    let state = State::read(&path)?;
    check_owner(&state, &plan.directory, &plan.name)?;
    let urls = UrlIndex::load(&state)?;
    Ok(Some((state, urls)))
}

struct DryRun<'a> {
    plan: &'a Plan,
    options: UrlOptions,
    scope: Scope,
    known: Option<(State, UrlIndex)>,
    fetcher: Fetcher,
    robots: HashMap<String, Robots>,
    /// The sitemaps that each robots.txt names, by its root URL.
    sitemaps: HashMap<String, VecDeque<NormalUrl>>,
    /// When each host may get its next request.
    not_before: HashMap<Origin, Instant>,
    seen: HashSet<NormalUrl>,
    found: Vec<ForecastUrl>,
}

impl DryRun<'_> {
    async fn check_sitemaps(&mut self, mut queue: VecDeque<NormalUrl>) -> Result<(), CrawlError> {
        let mut read = 0;
        while let Some(url) = queue.pop_front().filter(|_| read < MAX_SITEMAPS) {
            if !self.seen.insert(url.clone()) {
                continue;
            }
            if let Some(why) = self.objection(&url).await {
                self.note(&url, Action::Skip, why);
                continue;
            }
            read += 1;
            match self.get(url.requested(), Resource::Sitemap).await {
                Ok(response) => self.check_sitemap(&url, &response, &mut queue).await?,
                Err(error) => {
                    self.note(&url, Action::Skip, because(Reason::Failure, error.explain()));
                }
            }
        }
        Ok(())
    }

    /// Checks the pages that a sitemap names. The sitemaps that it names, or redirects to, are queued.
    async fn check_sitemap(
        &mut self,
        url: &NormalUrl,
        response: &Response,
        queue: &mut VecDeque<NormalUrl>,
    ) -> Result<(), CrawlError> {
        if let Some(target) = response.redirect_target(url.requested()) {
            self.note(url, Action::Skip, because(Reason::Redirect, &target));
            self.queue_sitemaps(&[target], queue);
            return Ok(());
        }
        if !response.status.is_success() {
            self.note(url, Action::Skip, because(Reason::Status, response.status.as_u16()));
            return Ok(());
        }
        let sitemap = sitemap::parse(&response.body, url.requested());
        self.note(url, Action::Read, sitemap.counts());
        self.queue_sitemaps(&sitemap.nested, queue);
        for page in &sitemap.urls {
            if let Ok(page) = NormalUrl::new(page, &self.options) {
                let admitted = self.scope.admit(&page, 0, |_| false);
                self.check_page(page, admitted).await?;
            }
        }
        Ok(())
    }

    fn queue_sitemaps(&mut self, urls: &[Url], queue: &mut VecDeque<NormalUrl>) {
        for url in urls {
            let Ok(url) = NormalUrl::new(url, &self.options) else { continue };
            match self.scope.admit_sitemap(&url, |_| false) {
                Ok(_) => queue.push_back(url),
                Err(reason) => self.note(&url, Action::Skip, reason.to_string()),
            }
        }
    }

    async fn check_page(
        &mut self,
        url: NormalUrl,
        admitted: Result<usize, Reason>,
    ) -> Result<(), CrawlError> {
        if !self.seen.insert(url.clone()) {
            return Ok(());
        }
        let is_done = self.is_done(&url)?;
        let (action, detail) = match admitted {
            _ if is_done => (Action::Skip, "the run is done with it".to_owned()),
            Err(reason) => (Action::Skip, reason.to_string()),
            Ok(seed) => match self.objection(&url).await {
                Some(why) => (Action::Skip, why),
                None => (Action::Fetch, format!("seed {}", seed + 1)),
            },
        };
        self.note(&url, action, detail);
        Ok(())
    }

    /// Whether the run knows a URL, and its next start would not fetch it.
    fn is_done(&self, url: &NormalUrl) -> Result<bool, CrawlError> {
        let Some((state, urls)) = &self.known else { return Ok(false) };
        let known = urls.find(url.as_str()).filter(|known| known.state != UrlState::Queued);
        let row = known.map(|known| state.url(known.id)).transpose()?;
        Ok(row.is_some_and(|row| !row.is_retried(Timestamp::now())))
    }

    /// Why robots.txt would keep a URL from being fetched: it forbids it, or asks for a delay for which the host would be suspended.
    async fn objection(&mut self, url: &NormalUrl) -> Option<String> {
        if !self.plan.politeness.obey_robots {
            return None;
        }
        let root_url = url.root_url();
        if !self.robots.contains_key(&root_url) {
            let robots = self.ask(url, &root_url).await;
            self.robots.insert(root_url.clone(), robots);
        }
        let robots = self.robots.get(&root_url)?;
        let longest = self.plan.politeness.max_crawl_delay;
        if let Some(delay) = robots.crawl_delay().filter(|&delay| delay > longest) {
            return Some(because(Reason::Host, SuspendCause::CrawlDelay(delay)));
        }
        let reason = match robots.contact() {
            None | Some(Contact::Answered) => Reason::Robots,
            Some(_) => Reason::Failure,
        };
        robots.refusal(url.requested()).map(|why| because(reason, why))
    }

    async fn ask(&mut self, url: &NormalUrl, root_url: &str) -> Robots {
        let mut request = RobotsRequest::new(url);
        loop {
            let url = request.url().clone();
            let got = self.get(&url, Resource::Robots).await;
            match request.receive(got) {
                RobotsResponse::Redirect => {}
                RobotsResponse::Content(body) => {
                    let normal = |url| NormalUrl::new(&url, &self.options).ok();
                    let sitemaps = robots::sitemaps(&body).into_iter().filter_map(normal);
                    self.sitemaps.insert(root_url.to_owned(), sitemaps.collect());
                    return Robots::parse(&body, product_token(&self.plan.crawl.user_agent));
                }
                RobotsResponse::Unreachable(why, contact) => {
                    return Robots::unreachable(&why, contact);
                }
            }
        }
    }

    /// Fetches a URL after the delay of its host: the configured one, or a longer one of its robots.txt. Requests are made one by one and
    /// never again, so the pauses of `politeness::Pace` for requests in flight and overloaded hosts do not matter here.
    async fn get(&mut self, url: &Url, resource: Resource) -> Result<Response, FetchError> {
        let Ok(host) = NormalUrl::new(url, &self.options).map(|url| url.origin()) else {
            return self.fetcher.get(url, resource).await;
        };
        if let Some(next) = self.not_before.get(&host) {
            sleep_until(*next).await;
        }
        let response = self.fetcher.get(url, resource).await;
        let root_url = format!("{}://{host}", url.scheme());
        let own_delay = self.robots.get(&root_url).and_then(Robots::crawl_delay);
        let delay = self.plan.politeness.delay.max(own_delay.unwrap_or_default());
        self.not_before.insert(host, Instant::now() + delay);
        response
    }

    fn note(&mut self, url: &NormalUrl, action: Action, detail: String) {
        self.found.push(ForecastUrl { url: url.as_str().to_owned(), action, detail });
    }
}

fn because(reason: Reason, detail: impl fmt::Display) -> String {
    format!("{reason}: {detail}")
}

/// Names that are looked up, and the time for all of them.
const MAX_NAMES: usize = 1_000;
const TIME: Duration = Duration::from_secs(5);
/// Names that are looked up at a time.
const AT_A_TIME: usize = 64;

/// A seed that cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedProblem {
    /// The first seed of the host.
    pub url: String,
    /// The error, its kind first.
    pub why: String,
    /// Whether the crawler refuses its address. Otherwise its name cannot be resolved now.
    pub is_refused: bool,
}

/// Finds seeds that cannot be reached: one for each host, in the order of the seeds. Unless `offline`, looks up at most 1,000 names for at
/// most five seconds; names without an answer by then are not reported.
///
/// # Errors
/// If seed files cannot be read, or the fetcher cannot be set up.
pub async fn check_seeds(plan: &Plan, offline: bool) -> Result<Vec<SeedProblem>, CrawlError> {
    let fetcher = Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?;
    let (_, roots) = plan.roots()?;
    let mut hosts = HashSet::new();
    let seeds = roots.iter().flat_map(|(_, urls)| urls);
    let seeds: Vec<_> = seeds.filter(|url| hosts.insert(url.origin())).collect();
    let has_name = |place: &usize| seeds[*place].as_url().domain().is_some();
    let looked_up: HashSet<usize> = (0..seeds.len()).filter(has_name).take(MAX_NAMES).collect();
    let checks = seeds.iter().enumerate().map(async |(place, url)| {
        let url = url.as_url();
        let checked = if !offline && looked_up.contains(&place) {
            fetcher.look_up(url).await
        } else {
            fetcher.admit(url)
        };
        (place, checked)
    });
    let mut checks = std::pin::pin!(stream::iter(checks).buffer_unordered(AT_A_TIME));
    let (until, mut problems) = (Instant::now() + TIME, HashMap::new());
    while let Ok(Some((place, checked))) = timeout_at(until, checks.next()).await {
        if let Err(error) = checked {
            let is_refused = error.contact() == Contact::Forbidden;
            let url = seeds[place].to_string();
            problems.insert(place, SeedProblem { url, why: error.explain(), is_refused });
        }
    }
    Ok((0..seeds.len()).filter_map(|place| problems.remove(&place)).collect())
}
