//! The crawler: fetches pages politely, has every page judged, and follows the links that policy allows.
//!
//! ```text
//! frontier ── Step ──► worker (JoinSet): robots.txt, fetch, parse (pool)
//!    ▲ ▲                  │      │
//!    │ └─── Responded ────┘      └─── Request ──► recorder (filter, state, outputs)
//!    └───── Finished ◄───────────────── reply ──────┘
//! ```
//!
//! The loop in [`run`] owns the frontier. It spawns a worker for each request, and its own queries to the recorder are futures that it
//! polls beside the workers: it never waits for room in a channel. The recorder is the only part that commits. Every channel is bounded.
//! The run ends when the frontier has nothing left and nothing runs.

mod directory;
mod dry_run;
mod error;
pub mod fetch;
mod frontier;
mod options;
mod past;
pub mod politeness;
mod recorder;
pub mod robots;
pub mod scope;
pub mod sitemap;
mod worker;

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::{JoinError, JoinSet, spawn_blocking},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{page::Timestamp, report, state::Restored};
use frontier::{Clock, Frontier, Limits, Loaded, Order, Recorded, Step};
use recorder::{Recorder, Request, Start};
use worker::{Finished, RecorderGone, Responded, Worker};

pub use directory::{delete_run, is_run};
pub use dry_run::{Forecast, Outlook, dry_run};
pub use error::CrawlError;
pub use options::{Dedup, Links, Options, Plan, Policy, Store};
pub use past::{Account, Neighbour, Neighbourhood, PastRun};
pub use recorder::{Tally, report};

/// Capacity of the channels to the recorder and to the loop.
const CHANNEL: usize = 256;
/// Hosts that the frontier holds in memory, and URLs of each.
const HOSTS: usize = 4096;
const URLS: usize = 32;

/// The shortest time between two reports of the progress.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// How a crawl is watched and stopped.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Cancel it to stop: no request is started any more, those in flight finish, and the run can be continued.
    pub stop: CancellationToken,
    /// Receives the progress of the run.
    pub progress: Option<watch::Sender<Progress>>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What was found so far, over all starts of the run.
    pub counts: Tally,
    /// Hosts that have something to do.
    pub active_hosts: usize,
    /// Requests in flight.
    pub in_flight: usize,
    /// How much of an earlier window is restored. Until that is complete, the other fields are empty.
    pub restored: Option<Restored>,
}

/// Runs a crawl, or continues it, until nothing is left to fetch, a budget is spent, or it is stopped.
///
/// Must be called within a tokio runtime with time and network enabled.
///
/// # Errors
/// If the run directory, its state or its outputs cannot be used, or the plan does not fit an earlier start of the run. A page that
/// cannot be fetched is not an error: it is recorded.
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
    worker: Arc<Worker>,
    tasks: JoinSet<Result<Finished, RecorderGone>>,
    responses: mpsc::Receiver<Responded>,
    requests: mpsc::Sender<Request>,
    /// What the recorder has been asked to load or record for the frontier.
    queries: FuturesUnordered<BoxFuture<'static, Result<Option<Loaded>, RecorderGone>>>,
    control: Control,
    concurrency: usize,
    counts: Tally,
    /// The recorder's tick when it counted them.
    counted_at: u64,
    publish_at: Instant,
    stopping: bool,
}

impl Loop {
    fn new(
        plan: &Plan,
        start: Start,
        requests: mpsc::Sender<Request>,
        control: Control,
    ) -> Result<Self, CrawlError> {
        let (responded, responses) = mpsc::channel(CHANNEL);
        let worker = Worker::new(plan, start.documents, requests.clone(), responded)?;
        let concurrency = plan.crawl.concurrency.get();
        let order = if concurrency == 1 { Order::RoundRobin } else { Order::Earliest };
        let limits = Limits { hosts: HOSTS, urls: URLS };
        let clock = Clock { instant: Instant::now().into_std(), time: Timestamp::now() };
        Ok(Self {
            frontier: Frontier::new(plan.politeness.clone(), order, limits, start.budget, clock),
            worker: Arc::new(worker),
            tasks: JoinSet::new(),
            responses,
            requests,
            queries: FuturesUnordered::new(),
            stopping: control.stop.is_cancelled(),
            control,
            concurrency,
            counts: start.counts,
            counted_at: 0,
            publish_at: Instant::now(),
        })
    }

    /// Runs until nothing is left, or until the run is stopped and everything that ran has finished.
    async fn run(mut self) -> report::End {
        let stop = self.control.stop.clone();
        loop {
            let wake = if self.stopping { Wake::Finished } else { self.start() };
            self.publish();
            let is_idle = self.tasks.is_empty() && self.queries.is_empty();
            if is_idle && matches!(wake, Wake::Finished) {
                break;
            }
            let timer = async {
                match wake {
                    Wake::At(instant) => sleep_until(instant).await,
                    Wake::OnReport | Wake::Finished => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(Responded { id, address, signal }) = self.responses.recv() => {
                    self.frontier.responded(id, address, signal, Instant::now().into_std());
                }
                Some(loaded) = self.queries.next() => self.loaded(loaded),
                Some(finished) = self.tasks.join_next() => self.finished(finished),
                () = stop.cancelled(), if !self.stopping => {}
                () = timer => {}
            }
            self.stopping |= stop.is_cancelled();
        }
        match () {
            () if self.stopping => report::End::Interrupted,
            () if self.frontier.is_budget_spent() && self.counts.queued > 0 => report::End::Budget,
            () => report::End::Done,
        }
    }

    /// Starts everything that may be started now.
    fn start(&mut self) -> Wake {
        while self.tasks.len() < self.concurrency {
            match self.frontier.next(Instant::now().into_std()) {
                Step::Fetch(id, task) => {
                    self.tasks.spawn(Arc::clone(&self.worker).fetch(id, task));
                }
                Step::FetchRobots(id, task) => {
                    self.tasks.spawn(Arc::clone(&self.worker).fetch_robots(id, task));
                }
                Step::Load(query) => {
                    let (reply, answer) = oneshot::channel();
                    self.query(Request::Load(query, reply), async {
                        answer.await.map(Some).map_err(|_| RecorderGone)
                    });
                }
                Step::Defer(host, cause) => {
                    self.query(Request::Defer(host, cause), async { Ok(None) });
                }
                Step::Wait(instant) => return Wake::At(Instant::from_std(instant)),
                Step::Blocked => return Wake::OnReport,
                Step::Done => return Wake::Finished,
            }
        }
        Wake::OnReport
    }

    /// Sends the recorder a request, as soon as it has room, and waits for the answer beside the workers.
    fn query(
        &mut self,
        request: Request,
        answer: impl Future<Output = Result<Option<Loaded>, RecorderGone>> + Send + 'static,
    ) {
        let requests = self.requests.clone();
        self.queries.push(Box::pin(async move {
            requests.send(request).await.map_err(|_| RecorderGone)?;
            answer.await
        }));
    }

    fn loaded(&mut self, loaded: Result<Option<Loaded>, RecorderGone>) {
        match loaded {
            Ok(Some(loaded)) => self.frontier.loaded(loaded, Instant::now().into_std()),
            Ok(None) => {}
            Err(RecorderGone) => self.stopping = true,
        }
    }

    fn finished(&mut self, finished: Result<Result<Finished, RecorderGone>, JoinError>) {
        let now = Instant::now().into_std();
        match finished {
            Ok(Ok(Finished::Recorded(id, task, settled))) => {
                // Workers may finish in another order than the recorder answered them.
                if settled.tick > self.counted_at {
                    (self.counts, self.counted_at) = (settled.counts, settled.tick);
                }
                for host in &settled.queued {
                    self.frontier.queued(host, settled.tick, now);
                }
                let (fetched, unanswered) = (settled.counted, settled.unanswered);
                let recorded = Recorded { fetched, unanswered, rank: settled.turn };
                self.frontier.recorded(id, &task, recorded, now);
            }
            Ok(Ok(Finished::Retry(id, task))) => {
                self.frontier.retry(id, &task, rand::random(), now);
            }
            Ok(Ok(Finished::Robots(id, task, result))) => {
                self.frontier.robots_fetched(id, &task, result, now);
            }
            Ok(Err(RecorderGone)) => self.stopping = true,
            Err(error) => {
                tracing::error!(%error, "a worker did not finish: the run stops");
                self.stopping = true;
            }
        }
    }

    fn publish(&mut self) {
        let now = Instant::now();
        if let Some(progress) = &self.control.progress
            && now >= self.publish_at
        {
            self.publish_at = now + PUBLISH_EVERY;
            progress.send_replace(Progress {
                counts: self.counts,
                active_hosts: self.frontier.active_hosts(),
                in_flight: self.tasks.len(),
                restored: None,
            });
        }
    }
}

/// What the loop waits for, beside a stop.
enum Wake {
    /// This instant, or a report.
    At(Instant),
    /// A report of a worker or the recorder.
    OnReport,
    /// What still runs, after which the run ends.
    Finished,
}
