//! A crawl of a world, and what it found.

use std::{
    collections::{HashMap, HashSet},
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use pagesieve::{
    crawl::{self, Control, Links, Plan, Policy, Store, scope::Seed},
    fingerprint::{HashSeed, HashSeedChoice},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet};
use url::Url;

use crate::{
    numbers::mix,
    process::Outcome,
    prose::Dice,
    serve::{self, Reply},
    world::World,
};

/// How a world is crawled.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The policy for the links of duplicates.
    pub(crate) links: Links,
    /// Requests in flight.
    pub(crate) flight: usize,
    /// It chooses the hash seed and the order of the starting pages; 0 is the public hash seed and the order of the world.
    pub(crate) seed: u64,
    pub(crate) max_pages: u64,
    /// Links between a seed and a page, if the default is not wanted.
    pub(crate) max_depth: Option<u32>,
    /// Where the run is kept, if it is.
    pub(crate) keep: Option<PathBuf>,
}

/// A request as the server saw it, without robots.txt.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) url: String,
    /// Whether it got a page.
    pub(crate) is_page: bool,
    /// The number of the page, if it is one to be found.
    pub(crate) page: Option<usize>,
    /// How many of the next ones it has as well.
    pub(crate) more: usize,
}

/// A finished crawl.
#[derive(Debug)]
pub(crate) struct Crawled {
    pub(crate) requests: Vec<Request>,
    /// Pages that the filter judged unique.
    pub(crate) stored: u64,
    /// For each URL that was judged, the URL of the unique page that it is or repeats.
    pub(crate) unique_of: HashMap<String, String>,
    pub(crate) seconds: f64,
}

impl Crawled {
    /// Pages received.
    pub(crate) fn fetched(&self) -> usize {
        self.requests.iter().filter(|request| request.is_page).count()
    }

    /// The texts that were found; `text_of` gives the text of a page.
    pub(crate) fn texts(&self, text_of: impl Fn(usize) -> Option<usize>) -> HashSet<usize> {
        let pages = |request: &Request| request.page.map(|page| page..=page + request.more);
        self.requests.iter().filter_map(pages).flatten().filter_map(text_of).collect()
    }
}

/// Crawls a world.
pub(crate) fn crawl(world: &Arc<World>, settings: &Settings) -> Outcome<Crawled> {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
    let run = settings.keep.clone().unwrap_or_else(|| directory.path().join("run"));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let began = Instant::now();
    let stored = Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let plan = plan(world, settings, listener.local_addr()?, &run)?;
        let (served, noted) = (Arc::clone(world), Arc::clone(&requests));
        let mut serving = JoinSet::new();
        serving.spawn(serve::serve(listener, move |host, target| {
            let answer = (served.answer)(host, target);
            let request = Request {
                url: format!("http://{host}{target}"),
                is_page: matches!(answer.reply, Reply::Page(_)),
                page: answer.page,
                more: answer.more,
            };
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            answer.reply
        }));
        let report = crawl::run(plan, Control::default()).await?;
        Outcome::Ok(report.counts.unique)
    })?;
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Crawled { requests, stored, unique_of: unique_of(&run)?, seconds })
}

fn plan(
    world: &World,
    settings: &Settings,
    address: SocketAddr,
    directory: &Path,
) -> Outcome<Plan> {
    let policy = Policy::new(Store::Skip, settings.links);
    let mut plan = Plan::new("bench", directory, Vec::new());
    (plan.dedup.same_site, plan.dedup.cross_site) = (policy, policy);
    plan.crawl.user_agent = "pagesieve-bench/1 (bench@example.org)".into();
    plan.crawl.concurrency = settings.flight.try_into()?;
    plan.crawl.max_pages = settings.max_pages;
    plan.politeness.delay = Duration::ZERO;
    plan.politeness.per_host = settings.flight.try_into()?;
    plan.politeness.per_address = settings.flight.try_into()?;
    plan.politeness.obey_robots = false;
    plan.fetch.resolve = world.hosts.iter().map(|host| (host.clone(), address)).collect();
    plan.dedup.seed = match settings.seed {
        0 => HashSeedChoice::Public,
        seed => HashSeedChoice::Fixed(HashSeed(mix(seed))),
    };
    plan.store.text = false;
    let mut starts = world.seeds.clone();
    if settings.seed > 0 {
        Dice::of(&settings.seed.to_string()).shuffle(&mut starts);
    }
    for url in &starts {
        let mut seed = Seed::new(url.parse::<Url>()?);
        seed.scope = world.reach;
        if let Some(depth) = settings.max_depth {
            plan.crawl.max_depth = depth;
        }
        plan.seeds.push(seed);
    }
    Ok(plan)
}

fn unique_of(run: &Path) -> Outcome<HashMap<String, String>> {
    let mut unique_of = HashMap::new();
    for (file, field) in [("pages.jsonl", "/url"), ("duplicates.jsonl", "/match/id")] {
        let lines = fs::read_to_string(run.join(file)).unwrap_or_default();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line)?;
            let text = |field| line.pointer(field).and_then(Value::as_str).map(str::to_owned);
            if let (Some(url), Some(unique)) = (text("/url"), text(field)) {
                unique_of.insert(url, unique);
            }
        }
    }
    Ok(unique_of)
}
