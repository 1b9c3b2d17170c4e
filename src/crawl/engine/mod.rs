//! The engine: owns the schedule, the filter, the state and the outputs, on one thread.
//!
//! ```text
//!            ┌── spawns ──► worker (a task per request): fetch a robots.txt; fetch and parse a page (on the pool)
//!  engine ───┤                │
//!   schedule │ ◄── Event ─────┘
//!   filter, state, outputs
//! ```
//!
//! It starts what the schedule says, and records what the workers report, in order of arrival. It is the only part that commits: the verdict,
//! row, fingerprint and links of a page are one transaction, together with those of the other URLs of its batch and with the lengths of the
//! output files. These are synced before, and cut to these lengths when the run continues. So nothing is lost or doubled, whenever the
//! process ends. The run ends when the schedule has nothing left, or nothing that is waited for, and nothing runs.

mod alarm;
mod learn;
mod record;
mod retry;
mod revisit;
mod start;

#[cfg(test)]
mod tests;

use std::{
    env, process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    sync::mpsc,
    task::{JoinSet, spawn_blocking},
    time::{self, sleep_until},
};
use tracing::{Span, trace_span};

use self::alarm::Alarms;
use super::{
    against::Others,
    cluster::{Cluster, member_report},
    control::{Control, Progress, SlowHosts, Tally, Waits},
    directory::keep_marks,
    plan::{CrawlError, Plan},
    politeness::RequestEnd,
    read_run::{facts, summarise},
    robots::VALID,
    schedule::{Budget, Idle, Schedule, Start, Step, Wait},
    scope::Scope,
    worker::{Event, Worker},
};
use crate::{
    cluster::Lease,
    index::{Audit, Index},
    page::{Timestamp, UrlOptions},
    report::{Builder, End, Point, Report, SEEDS, Series, UnreachableSeed},
    sink::Outputs,
    state::{
        DurableFilter, HostId, KnownUrl, Reason, RobotsRow, State, SuspendCause, SuspendedRow,
        UrlId, UrlIndex, UrlState,
    },
};

use learn::UrlSelection;
use record::Sitemaps;
use retry::Retries;

/// A batch is committed after this many URLs, or after this time. The first batch after a start gets less time, and each one twice as
/// much as the one before: so even a process that is killed again and again makes progress.
const BATCH: u32 = 100;
const BATCH_TIME: Duration = Duration::from_secs(1);
const FIRST_BATCH_TIME: Duration = Duration::from_millis(10);

/// Capacity of the channel from the workers.
const CHANNEL: usize = 256;

/// How long requests in flight may take to finish when the run is stopped.
const STOP_TIME: Duration = Duration::from_secs(5);

/// How often a member of a shared crawl that has nothing to do looks whether there is something.
const REST: Duration = Duration::from_millis(200);

/// The shortest time between two reports of the progress, and the longest while the run waits.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
const PUBLISH_WAIT: Duration = Duration::from_secs(1);
/// The shortest pause of hosts that the progress names.
const LONG_PAUSE: Duration = Duration::from_secs(3);

/// The engine; see the [module](self).
pub(super) struct Engine {
    plan: Arc<Plan>,
    scope: Scope,
    schedule: Schedule,
    /// The filter, in whose state and transactions everything else is kept too.
    filter: DurableFilter,
    sink: Outputs,
    /// The known URLs and the queue.
    urls: UrlIndex,
    url_options: UrlOptions,
    counts: Tally,
    /// Pages fetched for each seed.
    spent: Vec<u64>,
    sitemaps: Sitemaps,
    batch: Batch,
    retries: Retries,
    /// When the batch is to be committed, if one has begun.
    deadline: Option<Instant>,
    batch_time: Duration,
    started: std::time::Instant,
    /// What the indexes of earlier starts counted.
    audited: Audit,
    /// Seconds that earlier starts of the run have worked.
    worked: f64,
    /// Counts for the report.
    builder: Builder,
    alarms: Alarms,
    series: Series,
    /// Whether it is recorded how this start judges.
    has_judged: bool,
    /// Other runs whose pages count as seen.
    others: Others,
    selection: UrlSelection,
    /// The crawl that it is a part of.
    cluster: Option<Cluster>,
    /// What was logged of the network and of this machine.
    is_out: bool,
    is_short: bool,
}

/// What is to be committed.
#[derive(Debug, Default)]
struct Batch {
    /// How many URLs had an outcome, or another attempt.
    urls: u32,
    /// The ways of pages, which end with the commit.
    spans: Vec<Span>,
}

/// The workers, and their reports.
struct Workers {
    worker: Arc<Worker>,
    tasks: JoinSet<()>,
    events: mpsc::Receiver<Event>,
}

impl Workers {
    fn new(
        plan: &Plan,
        filter: &DurableFilter,
        lease: Option<Arc<Lease>>,
    ) -> Result<Self, CrawlError> {
        let (sender, events) = mpsc::channel(CHANNEL);
        let worker = Arc::new(Worker::new(plan, filter.documents(), lease, sender)?);
        Ok(Self { worker, tasks: JoinSet::new(), events })
    }

    fn are_done(&self) -> bool {
        self.tasks.is_empty() && self.events.is_empty()
    }
}

/// Starts the engine of a plan on a thread of its own, runs it, and then does this.
pub(super) async fn run<T: Send + 'static>(
    plan: Arc<Plan>,
    control: Control,
    then: impl FnOnce(Engine, End) -> Result<T, CrawlError> + Send + 'static,
) -> Result<T, CrawlError> {
    let handle = Handle::current();
    let engine = spawn_blocking(move || {
        handle.block_on(async move {
            let mut engine = Engine::start(plan, control.stop.clone(), |restored| {
                if let Some(progress) = &control.progress {
                    let restored = Some(restored);
                    progress.send_replace(Progress { restored, ..Progress::default() });
                }
            })?;
            let end = engine.run(&control).await?;
            engine.publish(&control, Idle::Done, &mut now());
            then(engine, end)
        })
    });
    engine.await.map_err(|_| CrawlError::Panicked)?
}

/// Waits until this time, or for ever.
async fn sleep_until_any(wake_at: Option<Instant>) {
    match wake_at {
        Some(instant) => sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

/// The time by the clock of the runtime, which tests turn.
fn now() -> Instant {
    time::Instant::now().into_std()
}

impl Engine {
    /// Runs until nothing is left to fetch, a budget is spent, or the run is stopped and everything that ran has finished.
    async fn run(&mut self, control: &Control) -> Result<End, CrawlError> {
        let lease = self.cluster.as_ref().map(|it| Arc::clone(&it.member.lease));
        let mut workers = Workers::new(&self.plan, &self.filter, lease)?;
        let (mut stop_by, mut publish_at) = (None, now());
        let concurrency = self.plan.crawl.concurrency.get();
        let mut pause = control.pause.clone();
        loop {
            let stopping = control.stop.is_cancelled();
            let idle = match control.is_paused() {
                _ if stopping => Idle::Done,
                true => Idle::Blocked,
                false => self.start_requests(&mut workers, concurrency)?,
            };
            if stopping {
                stop_by.get_or_insert_with(|| now() + STOP_TIME);
            }
            let published = self.publish(control, idle, &mut publish_at);
            let mut poll_at = self.cluster.as_ref().and_then(Cluster::poll_at);
            if idle == Idle::Done && workers.are_done() {
                if stopping || self.is_over()? {
                    break;
                }
                poll_at = Some(now() + REST);
            }
            let due = match idle {
                Idle::Until(instant) => Some(instant),
                Idle::Blocked | Idle::Done => None,
            };
            let due = [due, published, stop_by, self.deadline, poll_at];
            let wake_at = due.into_iter().flatten().min();
            tokio::select! {
                biased;
                Some(event) = workers.events.recv() => self.handle(event)?,
                Some(ended) = workers.tasks.join_next() => {
                    if let Err(error) = ended && !error.is_cancelled() {
                        tracing::error!(%error, "a worker did not finish: the run stops");
                        control.stop.cancel();
                    }
                }
                () = control.stop.cancelled(), if !stopping => {}
                Some(Ok(())) = async { Some(pause.as_mut()?.changed().await) } => {}
                () = sleep_until_any(wake_at) => if stop_by.is_some_and(|at| at <= now()) {
                    // Their URLs stay queued.
                    workers.tasks.abort_all();
                }
            }
            if !stopping {
                self.receive_links()?;
            }
            if self.batch.urls >= BATCH || self.deadline.is_some_and(|end| end <= now()) {
                self.commit()?;
            }
        }
        self.begin_batch()?;
        self.keep_learnt(true)?;
        self.commit()?;
        Ok(self.end(control))
    }

    /// Whether the run is over when this process has nothing to do: if it is shared, when that holds for all members.
    fn is_over(&mut self) -> Result<bool, CrawlError> {
        if self.cluster.is_none() || self.schedule.is_out() {
            return Ok(true);
        }
        self.commit()?;
        let report = member_report(self.counts, self.filter.claimed());
        let has_budget_left = !self.schedule.is_budget_spent() || self.urls.open() == 0;
        let Some(cluster) = &mut self.cluster else { return Ok(true) };
        if !has_budget_left && cluster.take_pages(self.plan.crawl.max_pages)? {
            self.set_budget();
            return Ok(false);
        }
        cluster.rest(&report)
    }

    /// The budget of this process: of a crawl that is shared, what it has taken so far.
    fn set_budget(&mut self) {
        let limits = self.plan.seeds.iter().map(|seed| seed.max_pages);
        let seeds = limits.zip(self.spent.iter().copied());
        let pages = self.cluster.as_ref().map_or(self.plan.crawl.max_pages, |it| it.granted);
        self.schedule.set_budget(Budget::new(pages, self.counts.fetched, seeds));
    }

    /// How the run has ended.
    fn end(&self, control: &Control) -> End {
        if control.stop.is_cancelled() {
            End::Interrupted
        } else if self.schedule.is_out() && self.urls.open() > 0 {
            End::Open
        } else if self.schedule.is_budget_spent() && self.urls.open() > 0 {
            End::Budget
        } else {
            End::Done
        }
    }

    /// Starts everything that may be started now. Returns how long nothing more can be done.
    fn start_requests(
        &mut self,
        workers: &mut Workers,
        concurrency: usize,
    ) -> Result<Idle, CrawlError> {
        if let Some(cluster) = &self.cluster
            && let Some(at) = cluster.wait(now())?
        {
            return Ok(Idle::Until(at));
        }
        while self.schedule.in_flight() < concurrency {
            match self.schedule.next(now()) {
                Step::Ask(host) => self.ask(host, workers)?,
                Step::Load => self.load()?,
                Step::Evicted(host) => {
                    self.move_to_back(host)?;
                    self.urls.queue.put_back(host);
                }
                Step::Due(host, url) => {
                    // A host that does not answer is asked for others of its URLs first.
                    let answers = self.schedule.health(host).is_none_or(|it| it.failures == 0);
                    self.put_back((host, url), answers)?;
                }
                Step::Idle(idle) => return Ok(idle),
            }
        }
        Ok(Idle::Blocked)
    }

    /// Gives the schedule another host.
    fn load(&mut self) -> Result<(), CrawlError> {
        let host = if self.schedule.takes_turns() {
            let at = now();
            self.urls.queue.rotation().find(|host| !self.schedule.is_passed_over(*host, at))
        } else {
            self.urls.queue.next_host()
        };
        match host {
            Some(host) => self.schedule.add(&self.state().host_by_id(host)?, now()),
            None => self.schedule.no_more_hosts(),
        }
        Ok(())
    }

    /// Starts the next request of a host.
    fn ask(&mut self, host: HostId, workers: &mut Workers) -> Result<(), CrawlError> {
        self.begin_batch()?;
        let at = now();
        while let Some(queued) = self.urls.take(self.filter.state(), host)? {
            self.schedule.set_has_urls(host, self.urls.queue.waiting(host) > 0);
            let due = self.retries.of(queued.url.id).and_then(|attempts| attempts.due);
            if let Some(due) = due.filter(|due| *due > at) {
                self.schedule.wait_until(host, due);
                return self.put_back(queued.key(), true);
            }
            if !self.is_put_off(&queued)? {
                match self.schedule.start(queued, at) {
                    Start::Fetch(task) => {
                        let worker = Arc::clone(&workers.worker);
                        workers.tasks.spawn(worker.fetch(Arc::new(task)));
                        return Ok(());
                    }
                    Start::Robots(task) => {
                        let known = if task.request.is_redirected() {
                            None
                        } else {
                            self.state().robots(&task.root_url())?.filter(is_valid)
                        };
                        let worker = Arc::clone(&workers.worker);
                        workers.tasks.spawn(worker.fetch_robots(Arc::new(task), known));
                        return Ok(());
                    }
                    Start::Wait(queued) => return self.put_back(queued.key(), true),
                    Start::OverBudget(queued) => self.move_to_another_seed(&queued)?,
                }
            }
            if self.schedule.takes_turns() {
                return Ok(());
            }
            if self.batch.urls >= BATCH {
                self.commit()?;
                self.begin_batch()?;
            }
        }
        self.schedule.set_has_urls(host, false);
        if self.schedule.takes_turns() {
            self.schedule.end_turn();
        }
        Ok(())
    }

    /// Puts a URL back into the queue of its host, at its beginning or at its end.
    fn put_back(&mut self, (host, url): (HostId, UrlId), is_first: bool) -> Result<(), CrawlError> {
        if is_first {
            self.urls.queue.push_front(host, url);
        } else {
            self.urls.queue.push(host, url);
        }
        self.note_queued(host)
    }

    /// Tells the schedule that a URL of a host is queued.
    fn note_queued(&mut self, host: HostId) -> Result<(), CrawlError> {
        if !self.urls.queue.is_suspended(host) && self.schedule.queued(host, now()) {
            self.schedule.add(&self.state().host_by_id(host)?, now());
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), CrawlError> {
        self.begin_batch()?;
        match event {
            Event::Responded(id, end) => {
                if end == RequestEnd::Local && !std::mem::replace(&mut self.is_short, true) {
                    tracing::warn!(
                        "no file descriptors, ports or memory left: the run pauses and goes on with fewer requests"
                    );
                }
                match self.schedule.responded(id, end, now()) {
                    Some((host, cause)) => self.suspend(host, cause),
                    None => Ok(()),
                }
            }
            Event::Fetched(fetched) => {
                let span = fetched.span.clone();
                span.in_scope(|| self.record_fetched(*fetched))?;
                self.batch.spans.push(span);
                Ok(())
            }
            Event::Robots(task, outcome, exchange) => {
                self.record_robots(&task, outcome, exchange.as_ref())
            }
        }
    }

    /// Makes no more requests to a host, unless the cause ceases: its URLs stay queued.
    fn suspend(&mut self, host: HostId, cause: SuspendCause) -> Result<(), CrawlError> {
        let pause = match cause {
            SuspendCause::CrawlDelay(_) => VALID,
            SuspendCause::RetryAfter(pause) => pause,
            // Every start asks it again.
            SuspendCause::Unanswered(_) | SuspendCause::Stopped(_) | SuspendCause::Alarm => {
                Duration::ZERO
            }
        };
        tracing::warn!(host = self.state().host_by_id(host)?.name, %cause, "host suspended");
        self.schedule.remove(host);
        let until = Timestamp::now() + pause;
        Ok(self.urls.suspend_host(self.filter.state(), host, cause, until)?)
    }

    /// Publishes the progress. If that is due later, returns when.
    fn publish(
        &mut self,
        control: &Control,
        idle: Idle,
        publish_at: &mut Instant,
    ) -> Option<Instant> {
        let (now, is_out) = (now(), self.schedule.is_out_for_long());
        let waits = match idle {
            Idle::Until(at) if self.schedule.in_flight() == 0 => Some(at),
            _ => None,
        };
        match (std::mem::replace(&mut self.is_out, is_out), is_out) {
            (false, true) => {
                tracing::warn!("no host answers any more: the run pauses until one does");
            }
            (true, false) => tracing::warn!("the pause has ended"),
            _ => {}
        }
        let progress = control.progress.as_ref()?;
        if now < *publish_at {
            return Some(*publish_at);
        }
        *publish_at = now + PUBLISH_EVERY;
        if let Some(slow) = &control.slow
            && let Some(slowest) = self.schedule.slowest(|host| self.urls.queue.waiting(host), now)
        {
            slow.send_replace(SlowHosts {
                left: slowest.first().map(|host| host.left).unwrap_or_default(),
                hosts: slowest.iter().map(ToString::to_string).collect(),
            });
        }
        self.count_urls();
        let current = Progress {
            counts: self.counts,
            max_pages: self.plan.crawl.max_pages,
            active_hosts: self.schedule.active_hosts(),
            in_flight: self.schedule.in_flight(),
            waits: waits
                .and_then(|at| self.schedule.wait().and_then(|wait| waits_for(wait, at, now))),
            alarms: self.builder.alarms().0,
            restored: None,
        };
        progress.send_if_modified(|known| {
            let is_new = *known != current;
            *known = current;
            is_new
        });
        // While it waits for a host, how long is shown.
        let is_shown = current.waits.is_some() || waits.is_some() && control.slow.is_some();
        is_shown.then(|| now + PUBLISH_WAIT)
    }

    /// Counts the URLs without an outcome.
    fn count_urls(&mut self) {
        self.counts.suspended = self.urls.suspended();
        self.counts.queued = self.urls.open().saturating_sub(self.counts.suspended);
    }

    /// Begins a batch, unless one has begun.
    fn begin_batch(&mut self) -> Result<(), CrawlError> {
        if self.deadline.is_none() {
            self.filter.begin()?;
            self.deadline = Some(now() + self.batch_time);
            self.batch_time = (self.batch_time * 2).min(BATCH_TIME);
        }
        Ok(())
    }

    /// Moves a host to the end of the rotation. The order of the next start depends on it only if hosts are asked one after the other.
    fn move_to_back(&mut self, host: HostId) -> Result<(), CrawlError> {
        Ok(self.urls.move_to_back(self.filter.state(), host, self.schedule.takes_turns())?)
    }

    /// Makes the batch durable: first the outputs, then the state, which records their lengths.
    fn commit(&mut self) -> Result<(), CrawlError> {
        if self.deadline.take().is_none() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        let span = trace_span!("commit", urls = batch.urls);
        for page in &batch.spans {
            span.follows_from(page);
        }
        let _committing = span.entered();
        die_if_asked("begun");
        let marks = self.sink.sync()?;
        let checksums = self.sink.take_checksums();
        die_if_asked("outputs synced");
        keep_marks(self.state(), &marks, &checksums)?;
        self.state().set_json("audit", &(self.audited + self.filter.index().audit()))?;
        self.count_urls();
        self.state().set_json("counts", &self.counts)?;
        self.state().set_json("spent", &self.spent)?;
        self.state().set_json("worked", &self.worked())?;
        self.keep_learnt(false)?;
        if self.series.is_due(self.worked()) {
            self.add_point()?;
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.flush()?;
            die_if_asked("links sent");
        }
        let state = self.filter.state();
        self.urls.commit(state)?;
        self.builder.save(state)?;
        die_if_asked("state written");
        self.filter.commit()?;
        die_if_asked("state committed");
        self.sink.committed()?;
        if let Some(cluster) = &mut self.cluster {
            cluster.committed()?;
        }
        Ok(())
    }

    /// Adds what the run is now to the series.
    fn add_point(&mut self) -> Result<(), CrawlError> {
        let Tally { fetched, unique, exact, near, failed, queued, bytes, .. } = self.counts;
        let point = Point {
            at: (self.worked() * 1000.0).round() / 1000.0,
            fetched,
            unique,
            exact,
            near,
            failed,
            queued,
            deferred: self.urls.deferred(),
            hosts: self.schedule.active_hosts() as u64,
            bytes,
            window: self.filter.len() as u64,
            cpu: cpu(),
            memory: memory(),
        };
        Ok(self.series.add(self.filter.state(), point)?)
    }

    pub(super) fn state(&self) -> &State {
        self.filter.state()
    }

    /// Seconds that the run has worked, over all its starts.
    fn worked(&self) -> f64 {
        self.worked + self.started.elapsed().as_secs_f64()
    }
}

impl Engine {
    /// Records how the run ends, and writes the report.
    pub(super) fn finish(&mut self, end: End) -> Result<Report, CrawlError> {
        self.filter.state().begin()?;
        self.leave_work(end)?;
        let state = self.filter.state();
        state.set_json("worked", &self.worked())?;
        state.set_meta("finished", Timestamp::now().0)?;
        let end =
            if end == End::Done && self.has_work_at_stopped_hosts()? { End::Open } else { end };
        state.set_json("end", &end)?;
        self.end_pass(end)?;
        let learnt = self.summarise_learning()?;
        self.note_unasked(end)?;
        self.count_urls();
        let state = self.filter.state();
        state.set_json("learnt", &learnt)?;
        state.set_json("counts", &self.counts)?;
        self.builder.save(state)?;
        self.add_point()?;
        let state = self.filter.state();
        state.commit()?;
        tracing::info!(name = self.plan.name, ?end, "the run ends");
        let report = summarise(state, &self.builder, facts(state)?, &self.plan.directory)?;
        report.write(&self.plan.directory)?;
        if let Some(cluster) = &mut self.cluster {
            cluster.report(&member_report(self.counts, self.filter.claimed()))?;
        }
        Ok(report)
    }

    /// Puts URLs that wait for another attempt back into their queues. If the run ends by itself, hosts that do not answer are left with theirs,
    /// and the report names them.
    pub(super) fn leave_work(&mut self, end: End) -> Result<(), CrawlError> {
        for (host, url) in self.schedule.take_later() {
            self.urls.queue.push_front(host, url);
        }
        if !matches!(end, End::Done | End::Open) {
            return Ok(());
        }
        let failing: Vec<_> = self.schedule.failing().map(|(id, health)| (id, *health)).collect();
        for (host, health) in failing {
            if self.urls.queue.waiting(host) > 0 {
                let is_new = !health.had_answered;
                let cause = if is_new { SuspendCause::Unanswered } else { SuspendCause::Stopped };
                self.suspend(host, cause(health.failures))?;
            }
        }
        Ok(())
    }

    /// Notes the seeds that were not fetched because a budget was spent.
    fn note_unasked(&mut self, end: End) -> Result<(), CrawlError> {
        let (mut count, mut seeds) = (0, Vec::new());
        let is_skipped = UrlState::Skipped(Reason::Budget);
        let has_skipped = self.state().first_url(is_skipped)?.is_some();
        // A list that cannot be read any more does not keep the run from its end.
        let lists = (end == End::Budget || has_skipped).then(|| self.plan.roots().ok()).flatten();
        let urls = lists.iter().flat_map(|(_, lists)| lists).flat_map(|(_, urls)| urls);
        for url in urls {
            let known = self.urls.find(url.as_str());
            let is_waiting = |known: &KnownUrl| {
                matches!(known.state, UrlState::Queued | UrlState::Skipped(Reason::Budget))
            };
            let Some(known) = known.filter(is_waiting) else { continue };
            if seeds.len() < SEEDS {
                let row = self.state().url(known.id)?;
                if self.state().visit(row.id)?.is_some() || self.urls.queue.is_suspended(row.host) {
                    continue;
                }
                let why = self.retries.of(row.id).map(|it| it.why.clone()).unwrap_or_default();
                seeds.push(UnreachableSeed {
                    url: url.to_string(),
                    why,
                    ..UnreachableSeed::default()
                });
            }
            count += 1;
        }
        self.builder.note_unasked(count, seeds);
        Ok(())
    }

    /// Whether URLs wait at hosts that had answered and do not any more.
    fn has_work_at_stopped_hosts(&self) -> Result<bool, CrawlError> {
        let stopped = |host: &SuspendedRow| {
            matches!(host.cause, SuspendCause::Stopped(_) | SuspendCause::Alarm)
        };
        let hosts = self.state().suspended_hosts()?;
        let stopped: Vec<_> = hosts.into_iter().filter(stopped).map(|host| host.host).collect();
        let mut suspended = self.urls.queue.suspended();
        Ok(suspended.any(|(host, urls)| urls > 0 && stopped.contains(&host)))
    }
}

/// Seconds of CPU time of the process; 0 where that is not known.
fn cpu() -> f64 {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};

        let time = clock_gettime(ClockId::ProcessCPUTime);
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Duration::new(time.tv_sec.unsigned_abs(), nanoseconds).as_secs_f64()
    }
    #[cfg(not(unix))]
    0.0
}

/// Bytes of memory that the process has in use (Linux); 0 elsewhere.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// Whether the robots.txt that was received last still holds.
fn is_valid(robots: &RobotsRow) -> bool {
    robots.at + VALID > Timestamp::now()
}

/// What the progress says of a wait, if nothing is done until `at`.
fn waits_for(wait: Wait, at: Instant, now: Instant) -> Option<Waits> {
    let left = |until: Instant| Duration::from_secs(until.saturating_duration_since(now).as_secs());
    match wait {
        Wait::Outage { until } => Some(Waits::Outage { left: left(until) }),
        Wait::Hosts { hosts, until } => Some(Waits::Hosts { hosts, left: left(until) }),
        Wait::Attempts { urls } => Some(Waits::Retries { urls }),
        Wait::Pace => {
            Some(left(at)).filter(|left| *left >= LONG_PAUSE).map(|left| Waits::Pace { left })
        }
    }
}

/// For tests of the program as a whole: ends the process at once if the environment names this step of a commit, the fifth time it is reached.
fn die_if_asked(step: &str) {
    static REACHED: AtomicU32 = AtomicU32::new(0);
    if cfg!(debug_assertions)
        && env::var("PAGESIEVE_DIE_AT").is_ok_and(|name| name == step)
        && REACHED.fetch_add(1, Ordering::Relaxed) == 4
    {
        process::abort();
    }
}
