//! The crawler: fetches pages politely, has every page judged, and follows the links that the verdict lets it follow.
//!
//! ```text
//! frontier ── Step ──► worker (JoinSet): robots ─► fetch ─► parse, fingerprint (pool)
//!    ▲ ▲                  │    │                                    │
//!    │ └──── Event ───────┘    └── Request ──► recorder ◄───────────┘
//!    └────── End ◄──────────────── Reply ──────┘   (filter, state, outputs)
//! ```
//!
//! The frontier lives in [`run`]'s loop, which receives and spawns and never sends: the way back cannot jam. The recorder is the one
//! place that commits. Every channel is bounded; the run ends when the frontier has nothing left and nothing runs.

mod directory;
mod dry_run;
mod error;
pub mod fetch;
mod frontier;
mod options;
mod past;
pub mod politeness;
mod pool;
mod recipe;
mod recorder;
pub mod robots;
mod roots;
pub mod scope;
pub mod sitemap;
mod worker;

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::{Id, JoinError, JoinSet, spawn_blocking},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    extract::{self, Extractor},
    filter::{self, Links, Store},
    fingerprint::Fingerprinter,
    page::Timestamp,
    report,
    state::Restored,
};
use fetch::Fetcher;
use frontier::{Clock, Ending, Frontier, Limits, Order, Step, Task, TaskId};
use pool::Pool;
use recorder::{Recorder, Request, Start};
use worker::{Crew, End, Event};

pub use directory::{delete_run, is_run};
pub use dry_run::{Forecast, Outlook, dry_run};
pub use error::CrawlError;
pub use options::{Options, Plan};
pub use past::{Account, Neighbour, Neighbourhood, PastRun};
pub use recorder::{Tally, report};

/// Requests to the recorder and events for the frontier that may wait.
const CHANNEL: usize = 256;
/// Hosts, and URLs of each, that the frontier holds in memory.
const HOSTS: usize = 4096;
const URLS: usize = 32;

/// How often progress is told at most.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// How a crawl is watched and stopped.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// When it is cancelled nothing more is begun; what runs is brought to its end, and the run can be continued.
    pub stop: CancellationToken,
    /// Told how the run stands.
    pub progress: Option<watch::Sender<Progress>>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What has been found so far, over all starts of the run.
    pub counts: Tally,
    /// Hosts with something to do.
    pub active_hosts: usize,
    /// URLs on their way.
    pub in_flight: usize,
    /// How far the window of an earlier start has been brought back; before that is done, nothing else is known.
    pub restored: Option<Restored>,
}

/// Runs a crawl, or continues it: until nothing is left to fetch, a budget is spent, or it is stopped.
///
/// Must be called within a tokio runtime with time and network enabled.
///
/// # Errors
/// If the run directory, its state or its outputs cannot be used, or the plan does not fit an earlier start of the run. A page that
/// fails is none: it is recorded.
pub async fn run(plan: Plan, control: Control) -> Result<report::Report, CrawlError> {
    let plan = Arc::new(plan);
    let (requests, recorder_requests) = mpsc::channel(CHANNEL);
    let (started, start) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    let (handle, recorder_plan) = (Handle::current(), Arc::clone(&plan));
    let progress = control.progress.clone();
    let tell = move |restored| {
        if let Some(progress) = &progress {
            progress.send_replace(Progress { restored: Some(restored), ..Progress::default() });
        }
    };
    let recorder = spawn_blocking(move || {
        handle.block_on(record(recorder_plan, tell, recorder_requests, started, end))
    });
    if let Ok(start) = start.await {
        let end = Loop::new(&plan, start, requests, control)?.run().await;
        // If the recorder has ended, its error says why.
        let _ = ended.send(end);
    }
    recorder.await.map_err(|_| CrawlError::Panicked)?
}

async fn record(
    plan: Arc<Plan>,
    tell: impl FnMut(Restored),
    mut requests: mpsc::Receiver<Request>,
    started: oneshot::Sender<Start>,
    end: oneshot::Receiver<report::End>,
) -> Result<report::Report, CrawlError> {
    let (mut recorder, start) = Recorder::begin(plan, tell)?;
    drop(started.send(start));
    recorder.serve(&mut requests).await?;
    recorder.finish(end.await.unwrap_or(report::End::Interrupted))
}

/// The loop around the frontier.
struct Loop {
    frontier: Frontier,
    crew: Arc<Crew>,
    events: mpsc::Receiver<Event>,
    control: Control,
    tasks: JoinSet<End>,
    /// What runs on which task, in case it panics.
    fetches: HashMap<Id, (TaskId, Option<Task>)>,
    concurrency: usize,
    counts: Tally,
    /// The recorder's tick when it counted so.
    counted_at: u64,
    publish_at: Instant,
    recorder_gone: bool,
}

impl Loop {
    fn new(
        plan: &Plan,
        start: Start,
        requests: mpsc::Sender<Request>,
        control: Control,
    ) -> Result<Self, CrawlError> {
        let (events, received) = mpsc::channel(CHANNEL);
        let agent = robots::product_token(&plan.crawl.user_agent).to_owned();
        let fetcher = Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?;
        let crew = Crew {
            fetcher: if plan.store.warc { fetcher.keeping_exchanges() } else { fetcher },
            extractor: Arc::new(Extractor::new(extract::Options {
                agent: Some(agent.clone()),
                rules: plan.extract.clone(),
            })),
            fingerprinter: Arc::new(Fingerprinter::new(start.recipe)),
            pool: Pool::new()?,
            url_options: Arc::new(plan.crawl.url_options()),
            agent,
            retries: plan.fetch.retries,
            asks_first: asks_first(&plan.dedup),
            requests,
            events,
        };
        let concurrency = plan.crawl.concurrency.get();
        let order = if concurrency == 1 { Order::Turn } else { Order::Clock };
        let limits = Limits { hosts: HOSTS, urls: URLS };
        let clock = Clock { instant: Instant::now().into_std(), time: Timestamp::now() };
        Ok(Self {
            frontier: Frontier::new(plan.politeness.clone(), order, limits, start.budget, clock),
            crew: Arc::new(crew),
            events: received,
            control,
            tasks: JoinSet::new(),
            fetches: HashMap::new(),
            concurrency,
            counts: start.counts,
            counted_at: 0,
            publish_at: Instant::now(),
            recorder_gone: false,
        })
    }

    /// Runs until nothing is left, or the run is stopped and everything that ran has ended.
    async fn run(mut self) -> report::End {
        let stop = self.control.stop.clone();
        let mut stopping = stop.is_cancelled();
        loop {
            let next = if stopping { None } else { self.begin() };
            self.publish();
            if self.tasks.is_empty() && (stopping || next.is_none()) {
                break;
            }
            let timer = async {
                match next {
                    Some(Next::At(instant)) => sleep_until(instant).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.answered(event),
                Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.ended(ended),
                () = stop.cancelled(), if !stopping => stopping = true,
                () = timer => {}
            }
            stopping |= self.recorder_gone || stop.is_cancelled();
        }
        match () {
            () if stopping => report::End::Interrupted,
            () if self.frontier.is_budget_spent() && self.counts.queued > 0 => report::End::Budget,
            () => report::End::Done,
        }
    }

    /// Begins all that may be begun now. `None` if nothing is left.
    fn begin(&mut self) -> Option<Next> {
        while self.fetches.len() < self.concurrency {
            match self.frontier.next(Instant::now().into_std()) {
                Step::Wait(instant) => return Some(Next::At(Instant::from_std(instant))),
                Step::Blocked => return Some(Next::Report),
                Step::Done => return None,
                step => self.spawn(step),
            }
        }
        Some(Next::Report)
    }

    fn spawn(&mut self, step: Step) {
        let fetch = match &step {
            Step::Fetch(id, task) => Some((*id, Some(task.clone()))),
            Step::Ask(id, _) => Some((*id, None)),
            _ => None,
        };
        let handle = self.tasks.spawn(Arc::clone(&self.crew).work(step));
        if let Some(fetch) = fetch {
            self.fetches.insert(handle.id(), fetch);
        }
    }

    fn answered(&mut self, Event { id, address, signal }: Event) {
        self.frontier.answered(id, address, signal, Instant::now().into_std());
    }

    fn ended(&mut self, ended: Result<(Id, End), JoinError>) {
        let now = Instant::now().into_std();
        let (task, end) = match ended {
            Ok(ended) => ended,
            Err(panic) => return self.panicked(&panic),
        };
        self.fetches.remove(&task);
        match end {
            End::Settled(id, settled) => {
                // Workers may end in another order than the recorder answered them.
                if settled.tick > self.counted_at {
                    (self.counts, self.counted_at) = (settled.counts, settled.tick);
                }
                for host in settled.queued {
                    self.frontier.queued(&host, settled.tick, now);
                }
                let (counted, unanswered, turn) =
                    (settled.counted, settled.unanswered, settled.turn);
                self.frontier.finished(id, Ending::Settled { counted, unanswered, turn }, now);
            }
            End::Retry(id) => {
                self.frontier.finished(id, Ending::Retry { chance: rand::random() }, now);
            }
            End::Learned(id, robots, age) => self.frontier.learned(id, robots, age, now),
            End::Moved(id, inquiry) => self.frontier.moved(id, inquiry, now),
            End::AskAgain(id, attempt) => self.frontier.ask_again(id, attempt, rand::random(), now),
            End::Urls(host, loaded) => {
                self.frontier.loaded_urls(host, loaded.rows, loaded.tick, loaded.all);
            }
            End::Hosts(loaded) => {
                self.frontier.loaded_hosts(&loaded.rows, loaded.tick, loaded.all, now);
            }
            End::SetAside => {}
            End::RecorderGone => self.recorder_gone = true,
        }
    }

    /// A worker that panics counts as an outcome: otherwise the run would never end.
    fn panicked(&mut self, panic: &JoinError) {
        tracing::error!(%panic, "a worker panicked");
        match self.fetches.remove(&panic.id()) {
            Some((id, Some(task))) => {
                let handle = self.tasks.spawn(Arc::clone(&self.crew).bury(id, task));
                self.fetches.insert(handle.id(), (id, None));
            }
            Some((id, None)) => {
                let robots = robots::Robots::unreachable("the worker panicked");
                self.frontier.learned(
                    id,
                    Arc::new(robots),
                    Duration::ZERO,
                    Instant::now().into_std(),
                );
            }
            None => self.recorder_gone = true,
        }
    }

    fn publish(&mut self) {
        let now = Instant::now();
        if let Some(progress) = &self.control.progress
            && now >= self.publish_at
        {
            self.publish_at = now + PUBLISH_EVERY;
            let (active_hosts, in_flight) = (self.frontier.active_hosts(), self.fetches.len());
            progress.send_replace(Progress {
                counts: self.counts,
                active_hosts,
                in_flight,
                restored: None,
            });
        }
    }
}

/// When the loop goes on.
enum Next {
    /// At this instant, or when something is reported.
    At(Instant),
    /// When something is reported.
    Report,
}

/// Whether there may be duplicates that need not be parsed.
fn asks_first(options: &filter::Options) -> bool {
    [options.same_site, options.cross_site]
        .iter()
        .any(|policy| policy.store == Store::Skip && policy.links == Links::Skip)
}
