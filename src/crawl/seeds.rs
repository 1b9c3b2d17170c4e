//! Checks whether seeds can be reached, without a request: looks up the names of their hosts.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::{
    fetch::{Contact, Fetcher},
    plan::{CrawlError, Plan},
};

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
