//! The crawler: fetches pages politely, has every page judged, and follows the links that policy allows.
//!
//! ```text
//!  loop ──── spawns ────► worker (a task per request): fetch a robots.txt, fetch and parse a page (on the pool),
//! (frontier) ◄─ Responded, Finished ──┤               or probe whether a host answers
//!    │ ▲                              │ Request
//!    │ └───── Update ──── recorder ◄──┘
//!    └──────── Request ──────►        (a thread: filter, state, outputs)
//! ```
//!
//! The loop in [`run`] owns the frontier, which decides what to do next. It never waits for room in a channel. The recorder is the only
//! part that commits; its reports arrive in the order of its work. Every channel is bounded. The run ends when the frontier has nothing
//! left and nothing runs.

mod against;
mod backup;
mod directory;
mod dry_run;
pub mod fetch;
mod frontier;
mod learnt;
mod plan;
pub mod politeness;
mod read_run;
mod recorder;
mod repair;
pub mod robots;
pub mod scope;
pub mod sitemap;
mod verify;
mod worker;

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::{JoinError, JoinSet, spawn_blocking},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{page::Timestamp, state::Restored};
use frontier::{Clock, Frontier, Idle, Limits, Order, Step};
use politeness::RequestEnd;
use recorder::{Recorder, Request, Start, Update};
use worker::{Finished, RecorderGone, Worker};

pub use crate::report::{End, Report};
#[cfg(feature = "cli")]
pub(crate) use against::{hash_seed_of, recipe_of};
pub use backup::backup;
#[cfg(feature = "cli")]
pub(crate) use directory::state_in;
pub use directory::{delete_run, is_run};
pub use dry_run::{Forecast, ForecastUrl, SeedProblem, check_seeds, dry_run};
pub use plan::{CrawlError, Dedup, Links, Options, Plan, Policy, Store};
pub use read_run::{Lookup, NearPage, PastRun, Revisits, UrlExplanation};
pub use recorder::{Standing, Tally, report, standing};
pub use repair::{Repair, repair};
pub use verify::{Damage, Verification, verify};

/// Capacity of the channels to the recorder and to the loop.
const CHANNEL: usize = 256;
/// Hosts that the frontier holds in memory, and URLs of each.
const HOSTS: usize = 4096;
const URLS: usize = 32;

/// How long requests in flight may take to finish when the run is stopped.
const STOP_TIME: Duration = Duration::from_secs(5);

/// How long after the last failure failed URLs are queued once more, if nothing else is left.
const RETRY_PAUSE: Duration = Duration::from_secs(20);

/// The shortest time between two reports of the progress.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// How a crawl is watched and stopped.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Control {
    /// Cancel it to stop: no request is started any more, those in flight finish, and the run can be continued.
    pub stop: CancellationToken,
    /// Receives the progress of the run.
    pub progress: Option<watch::Sender<Progress>>,
}

impl Control {
    /// The same, with this token to stop the run.
    #[must_use]
    pub fn with_stop(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    /// The same, with a receiver of the progress.
    #[must_use]
    pub fn with_progress(self, progress: watch::Sender<Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }
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
    /// Whether no host answers, and the run waits until one does.
    pub is_out: bool,
    /// Whether nothing is left but failed URLs, which the run waits to try once more.
    pub awaits_retry: bool,
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
///
/// ```no_run
/// use pagesieve::crawl::{self, Control, Plan, scope::Seed};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let seed = Seed::new("https://example.org/".parse()?);
/// let mut plan = Plan::new("tides", "runs/tides", vec![seed]);
/// plan.crawl.user_agent = "tides-bot/1.0 (+https://example.org/bot)".to_owned();
/// let report = crawl::run(plan, Control::default()).await?;
/// println!("{} unique pages", report.counts.unique);
/// # Ok(())
/// # }
/// ```
pub async fn run(plan: Plan, control: Control) -> Result<Report, CrawlError> {
    let plan = Arc::new(plan);
    let (requests, received) = mpsc::channel(CHANNEL);
    let (updates, reports) = mpsc::channel(CHANNEL);
    let (started, start) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    let (handle, recorder_plan, reporting) =
        (Handle::current(), Arc::clone(&plan), updates.clone());
    let progress = control.progress.clone();
    let restoring = move |restored| {
        if let Some(progress) = &progress {
            progress.send_replace(Progress { restored: Some(restored), ..Progress::default() });
        }
    };
    let recorder = spawn_blocking(move || {
        handle.block_on(async move {
            let (mut recorder, start) = Recorder::start(recorder_plan, restoring)?;
            drop(started.send(start));
            recorder.serve(received, &reporting).await?;
            recorder.finish(end.await.unwrap_or(End::Interrupted))
        })
    });
    if let Ok(start) = start.await {
        let end = Loop::new(&plan, start, requests, updates, reports, control)?.run().await;
        // If the recorder has ended, its error says why.
        _ = ended.send(end);
    }
    recorder.await.map_err(|_| CrawlError::Panicked)?
}

/// The URLs that have failed and are queued once more when nothing else is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastRound {
    /// Failed URLs are not retried.
    Off,
    /// None has failed.
    Empty,
    /// Some have. They are queued at this instant or later.
    Due(Instant),
    /// The recorder was asked to queue them, and has not answered.
    Requested,
}

/// The loop around the frontier.
struct Loop {
    frontier: Frontier,
    worker: Arc<Worker>,
    tasks: JoinSet<Result<Finished, RecorderGone>>,
    requests: mpsc::Sender<Request>,
    /// Requests for which the recorder has no room yet.
    outbox: VecDeque<Request>,
    reports: mpsc::Receiver<Update>,
    control: Control,
    concurrency: usize,
    counts: Tally,
    publish_at: Instant,
    /// When the tasks that still run are given up, after the run was stopped.
    stop_by: Option<Instant>,
    recorder_gone: bool,
    last_round: LastRound,
    /// What was reported of the network and of this machine.
    is_out: bool,
    is_short: bool,
}

impl Loop {
    fn new(
        plan: &Plan,
        start: Start,
        requests: mpsc::Sender<Request>,
        updates: mpsc::Sender<Update>,
        reports: mpsc::Receiver<Update>,
        control: Control,
    ) -> Result<Self, CrawlError> {
        let worker = Worker::new(plan, start.documents, requests.clone(), updates)?;
        let concurrency = plan.crawl.concurrency.get();
        let order = if concurrency == 1 { Order::RoundRobin } else { Order::Earliest };
        let limits = Limits { hosts: HOSTS, urls: URLS, requests: concurrency };
        let clock = Clock { instant: Instant::now().into_std(), time: Timestamp::now() };
        Ok(Self {
            frontier: Frontier::new(
                plan.politeness.clone(),
                order,
                limits,
                start.budget,
                plan.crawl.max_outage,
                clock,
            ),
            worker: Arc::new(worker),
            tasks: JoinSet::new(),
            requests,
            outbox: VecDeque::new(),
            reports,
            control,
            concurrency,
            counts: start.counts,
            publish_at: Instant::now(),
            stop_by: None,
            recorder_gone: false,
            last_round: if plan.fetch.retries > 0 { LastRound::Empty } else { LastRound::Off },
            is_out: false,
            is_short: false,
        })
    }

    /// Runs until nothing is left, or until the run is stopped and everything that ran has finished.
    async fn run(mut self) -> End {
        let (stop, requests) = (self.control.stop.clone(), self.requests.clone());
        let mut is_out = false;
        loop {
            let stopping = is_out || self.recorder_gone || stop.is_cancelled();
            let idle = if stopping { Idle::Done } else { self.start_tasks() };
            let publish_at = self.publish();
            let nothing_runs = self.tasks.is_empty() && self.outbox.is_empty();
            let mut retry_at = None;
            if idle == Idle::Done && nothing_runs {
                match self.nothing_left(stopping, &mut is_out) {
                    ControlFlow::Continue(at) => retry_at = at,
                    ControlFlow::Break(()) => break,
                }
            }
            if stopping {
                self.stop_by.get_or_insert_with(|| Instant::now() + STOP_TIME);
            }
            let due = match idle {
                Idle::Until(instant) => Some(Instant::from_std(instant)),
                Idle::Blocked | Idle::Done => self.stop_by,
            };
            let wake_at = due.into_iter().chain(publish_at).chain(retry_at).min();
            let timer = async {
                match wake_at {
                    Some(instant) => sleep_until(instant).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(update) = self.reports.recv() => self.reported(update),
                () = requests.closed(), if !self.recorder_gone => self.recorder_gone = true,
                room = requests.reserve(), if !self.outbox.is_empty() => {
                    match (room, self.outbox.pop_front()) {
                        (Ok(room), Some(request)) => room.send(request),
                        _ => self.recorder_gone = true,
                    }
                }
                Some(finished) = self.tasks.join_next() => self.finished(finished),
                () = stop.cancelled(), if !stopping => {}
                () = timer => self.give_up_late_tasks(),
            }
        }
        self.end(is_out)
    }

    /// Nothing is left to do: the run ends, or goes on after an outage or with failed URLs, these at the instant that is returned.
    fn nothing_left(
        &mut self,
        stopping: bool,
        is_out: &mut bool,
    ) -> ControlFlow<(), Option<Instant>> {
        if self.last_round == LastRound::Requested && !stopping {
            return ControlFlow::Continue(None);
        }
        if let Some(failures) = self.frontier.end_outage() {
            *is_out = true;
            self.outbox.push_back(Request::TakeBackFailures(failures));
            return ControlFlow::Continue(None);
        }
        match self.last_round {
            LastRound::Due(at) if !stopping && !self.frontier.is_budget_spent() => {
                if at > Instant::now() {
                    return ControlFlow::Continue(Some(at));
                }
                self.last_round = LastRound::Requested;
                self.outbox.push_back(Request::RetryBeforeEnd);
                ControlFlow::Continue(None)
            }
            _ => ControlFlow::Break(()),
        }
    }

    /// How the run has ended; `is_out` if an outage has lasted too long.
    fn end(&self, is_out: bool) -> End {
        if self.recorder_gone || self.control.stop.is_cancelled() {
            End::Interrupted
        } else if is_out {
            End::Open
        } else if self.frontier.is_budget_spent() && self.counts.queued > 0 {
            End::Budget
        } else {
            End::Done
        }
    }

    /// Starts everything that may be started now. Returns how long nothing more can be done.
    fn start_tasks(&mut self) -> Idle {
        while self.frontier.in_flight() < self.concurrency {
            match self.frontier.next(Instant::now().into_std()) {
                Step::Fetch(task) => {
                    self.tasks.spawn(Arc::clone(&self.worker).fetch(task));
                }
                Step::FetchRobots(task) => {
                    self.tasks.spawn(Arc::clone(&self.worker).fetch_robots(task));
                }
                Step::Probe(task) => {
                    self.tasks.spawn(Arc::clone(&self.worker).probe(task));
                }
                Step::OverBudget(task) => self.outbox.push_back(Request::OverBudget(task)),
                Step::Load(query) => self.outbox.push_back(Request::Load(query)),
                Step::Resume(host) => self.outbox.push_back(Request::Resume(host)),
                Step::TakeBackFailures(failures) => {
                    self.outbox.push_back(Request::TakeBackFailures(failures));
                }
                Step::Suspend(host, cause) => self.outbox.push_back(Request::Suspend(host, cause)),
                Step::Idle(idle) => return idle,
            }
        }
        Idle::Blocked
    }

    fn reported(&mut self, update: Update) {
        let now = Instant::now().into_std();
        match update {
            Update::Responded(id, end) => {
                if end == RequestEnd::Local && !std::mem::replace(&mut self.is_short, true) {
                    tracing::warn!(
                        "no file descriptors, ports or memory left: the run pauses and goes on with fewer requests"
                    );
                }
                self.frontier.responded(id, end, now);
            }
            Update::Recorded(task, recorded, counts) => {
                self.counts = counts;
                if recorded.failed && self.last_round != LastRound::Off {
                    self.last_round = LastRound::Due(Instant::now() + RETRY_PAUSE);
                }
                self.frontier.recorded(&task, &recorded, now);
            }
            Update::FailuresTakenBack(hosts, counts) => {
                self.counts = counts;
                if self.last_round == LastRound::Requested {
                    self.last_round = LastRound::Empty;
                }
                self.frontier.failures_taken_back(&hosts, now);
            }
            Update::Resumed(id, host) => self.frontier.resumed(id, host.as_ref(), now),
            Update::Loaded(loaded) => self.frontier.loaded(loaded, now),
        }
    }

    fn finished(&mut self, finished: Result<Result<Finished, RecorderGone>, JoinError>) {
        let now = Instant::now().into_std();
        match finished {
            Ok(Ok(Finished::Submitted)) => {}
            Ok(Ok(Finished::Retry(task))) => self.frontier.retry(&task, rand::random(), now),
            Ok(Ok(Finished::Robots(task, result))) => {
                self.frontier.robots_fetched(&task, result, now);
            }
            Ok(Ok(Finished::Probed(task))) => self.frontier.probed(&task, now),
            Ok(Err(RecorderGone)) => self.recorder_gone = true,
            // It was given up: its URL is still queued.
            Err(error) if error.is_cancelled() => {}
            Err(error) => {
                tracing::error!(%error, "a worker did not finish: the run stops");
                self.control.stop.cancel();
            }
        }
    }

    /// Gives up what still runs some time after a stop. Its URLs stay queued.
    fn give_up_late_tasks(&mut self) {
        if self.stop_by.is_some_and(|at| at <= Instant::now()) {
            self.tasks.abort_all();
        }
    }

    /// Publishes the progress. If it has changed but it is too early for that, returns when to do it.
    fn publish(&mut self) -> Option<Instant> {
        let (now, is_out) = (Instant::now(), self.frontier.is_out());
        match (std::mem::replace(&mut self.is_out, is_out), is_out) {
            (false, true) => {
                tracing::warn!("no host answers any more: the run pauses until one does");
            }
            (true, false) => tracing::warn!("the pause has ended"),
            _ => {}
        }
        let progress = self.control.progress.as_ref()?;
        let (active_hosts, in_flight) = (self.frontier.active_hosts(), self.frontier.in_flight());
        let is_idle = active_hosts == 0 && in_flight == 0;
        let current = Progress {
            counts: self.counts,
            active_hosts,
            in_flight,
            is_out,
            awaits_retry: is_idle && matches!(self.last_round, LastRound::Due(_)),
            restored: None,
        };
        if *progress.borrow() == current {
            return None;
        }
        if now < self.publish_at {
            return Some(self.publish_at);
        }
        self.publish_at = now + PUBLISH_EVERY;
        progress.send_replace(current);
        None
    }
}
