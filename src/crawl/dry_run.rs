//! What can be said of a crawl before it begins. `--dry-run` runs its engine in a directory of its own, without requests for pages.
//! `check` finds out whether seeds can be reached, without a request: looks up the names of their hosts.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::{
    control::Control,
    directory::{check_owner, check_unclaimed},
    engine,
    fetch::{self, Contact, Fetcher},
    plan::{self, CrawlError, Dedup, Links, Plan, Policy, STATE},
};
use crate::{
    page::Timestamp,
    sink,
    state::{Home, Reason, State, StateError, UrlIndex, UrlKind, UrlRow, UrlState},
};

/// How long hosts are waited for that do not answer, if nothing else is left.
const PATIENCE: Duration = Duration::from_secs(5);

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
/// to is not known without fetching pages. Each robots.txt and sitemap is requested once, and as politely as by a crawl.
///
/// # Errors
/// If seed files or an earlier state of the run cannot be read, or the crawl could not start.
pub async fn dry_run(plan: &Plan) -> Result<Forecast, CrawlError> {
    let known = known_urls(plan)?;
    let queued = known.as_ref().map_or(0, |(_, urls)| urls.open());
    let home = Home::make()?;
    let follows = Policy { links: Links::Follow, ..Policy::default() };
    let dry = Plan {
        directory: home.directory().to_owned(),
        cluster: None,
        requests_pages: false,
        crawl: plan::Options { max_outage: PATIENCE, revisit_after: None, ..plan.crawl.clone() },
        fetch: fetch::Options { retries: 0, give_up_after: PATIENCE, ..plan.fetch.clone() },
        dedup: Dedup {
            against: Vec::new(),
            same_site: follows,
            cross_site: follows,
            ..plan.dedup.clone()
        },
        store: sink::Options { warc: false, ..plan.store },
        ..plan.clone()
    };
    let urls = engine::run(Arc::new(dry), Control::default(), move |mut engine, end| {
        engine.leave_work(end)?;
        forecast(engine.state(), known.as_ref())
    });
    Ok(Forecast { urls: urls.await?, queued })
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

/// What was found: each seed, and what it led to.
fn forecast(
    state: &State,
    known: Option<&(State, UrlIndex)>,
) -> Result<Vec<ForecastUrl>, CrawlError> {
    let suspended = state.suspended_hosts()?.into_iter();
    let suspended: HashMap<_, _> = suspended.map(|it| (it.host, it.cause)).collect();
    let (mut roots, mut found) = (HashMap::new(), Vec::new());
    state.for_each_url(
        |_, _, _| Some(()),
        |row, ()| {
            let root = row.referrer.and_then(|from| roots.get(&from).copied()).unwrap_or(row.id);
            roots.insert(row.id, root);
            let (action, detail) = match (row.state, suspended.get(&row.host)) {
                _ if is_done(&row, known)? => (Action::Skip, "the run is done with it".to_owned()),
                (UrlState::Queued, Some(cause)) => (Action::Skip, because(Reason::Host, cause)),
                (UrlState::Queued | UrlState::Skipped(Reason::Pending) | UrlState::Judged, _) => {
                    (Action::Fetch, format!("seed {}", row.seed.unwrap_or_default() + 1))
                }
                (UrlState::Skipped(Reason::Sitemap), _) => {
                    (Action::Read, row.detail.unwrap_or_default())
                }
                (UrlState::Skipped(reason), _) => {
                    let detail = row.detail.or(row.status.map(|status| status.to_string()));
                    let because = |detail| because(reason, detail);
                    (Action::Skip, detail.map_or_else(|| reason.to_string(), because))
                }
            };
            found.push((root, ForecastUrl { url: row.url.to_string(), action, detail }));
            Ok::<_, StateError>(())
        },
    )?;
    found.sort_by_key(|(root, _)| *root);
    Ok(found.into_iter().map(|(_, url)| url).collect())
}

/// Whether the run knows a page, and its next start would not fetch it.
fn is_done(row: &UrlRow, known: Option<&(State, UrlIndex)>) -> Result<bool, StateError> {
    let Some((state, urls)) = known.filter(|_| row.kind == UrlKind::Page) else { return Ok(false) };
    let known = urls.find(row.url.as_str()).filter(|known| known.state != UrlState::Queued);
    let row = known.map(|known| state.url(known.id)).transpose()?;
    Ok(row.is_some_and(|row| !row.is_retried(Timestamp::now())))
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
