//! What is measured, each in a process of its own: the crawl, and the two loops.

use std::{fs, hint::black_box, net::SocketAddr, path::PathBuf, time::Duration};

use pagesieve::crawl::{self, Control, Links, Plan, Policy, Store, scope::Seed};
use reqwest::{Client, redirect};
use scraper::Html;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use url::Url;

use super::Outcome;

/// Requests in flight in all: of the crawl, and of the loops.
const CONCURRENCY: usize = 64;
/// Requests in flight to each host, enough for all of them together.
const PER_HOST: usize = 4;
const USER_AGENT: &str = "pagesieve-bench/1 (bench@example.org)";

/// The unit in which Linux reports CPU time to programs.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) const FETCH: &str = "fetch";
pub(super) const PARSE: &str = "fetch and parse";
pub(super) const CRAWL: &str = "crawl";

/// What such a process prints at its end: CPU in seconds, memory in MiB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) pages: u64,
    pub(super) cpu: f64,
    pub(super) memory: f64,
}

pub(super) async fn crawl(
    seeds: Vec<Url>,
    address: SocketAddr,
    directory: PathBuf,
) -> Outcome<u64> {
    let policy = Policy::new(Store::Keep, Links::Follow);
    let mut plan = Plan::new("bench", directory, Vec::new());
    (plan.dedup.same_site, plan.dedup.cross_site) = (policy, policy);
    plan.crawl.user_agent = USER_AGENT.into();
    plan.crawl.concurrency = CONCURRENCY.try_into()?;
    plan.politeness.delay = Duration::ZERO;
    plan.politeness.per_host = PER_HOST.try_into()?;
    plan.politeness.obey_robots = false;
    plan.fetch.resolve = hosts_of(&seeds).map(|host| (host.to_owned(), address)).collect();
    plan.seeds = seeds.into_iter().map(Seed::new).collect();
    let counts = crawl::run(plan, Control::default()).await?.counts;
    if counts.unique + counts.near != counts.stored {
        return Err("two pages have the same text".into());
    }
    Ok(counts.stored)
}

/// Fetches with a client that is set as the crawler's.
pub(super) async fn fetch_all(urls: Vec<Url>, address: SocketAddr, parses: bool) -> Outcome<u64> {
    let builder =
        Client::builder().no_proxy().redirect(redirect::Policy::none()).pool_max_idle_per_host(8);
    let builder = builder.user_agent(USER_AGENT).timeout(Duration::from_secs(30));
    let client =
        hosts_of(&urls).fold(builder, |builder, host| builder.resolve(host, address)).build()?;
    let (mut urls, mut tasks, mut pages) = (urls.into_iter(), JoinSet::new(), 0);
    loop {
        for url in urls.by_ref().take(CONCURRENCY - tasks.len()) {
            let client = client.clone();
            tasks.spawn(async move {
                let body = client.get(url).send().await?.error_for_status()?.bytes().await?;
                if parses {
                    black_box(Html::parse_document(&String::from_utf8_lossy(&body)));
                }
                reqwest::Result::Ok(())
            });
        }
        let Some(ended) = tasks.join_next().await else { return Ok(pages) };
        ended??;
        pages += 1;
    }
}

fn hosts_of(urls: &[Url]) -> impl Iterator<Item = &str> {
    urls.iter().filter_map(Url::host_str)
}

/// User and system time of a process in seconds.
pub(super) fn cpu(process: &str) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields = stat.rsplit_once(')').ok_or("no name")?.1.split_ascii_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// The peak memory of this process, in MiB.
pub(super) fn peak_memory() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}
