//! The only part that commits: judges pages in order of arrival, and records what became of every URL.
//!
//! The verdict, row, fingerprint and links of a page are one transaction, together with those of the other URLs of its batch and with the
//! lengths of the output files. These are synced before, and cut to these lengths when the run continues. So nothing is lost or doubled,
//! whenever the process ends. The recorder runs on a thread of its own and serves [`Request`]s.
//!
//! A start opens the run directory, continues where an earlier start stopped, and queues the seeds. It also queues again what was skipped for
//! reasons that no longer hold: URLs that the seeds, budgets, policies or limits admit now, hosts whose suspension has expired, and URLs that
//! failed for a reason that may have passed.

mod in_flight;
mod record;
mod report;
mod retry;
mod revisit;
mod select;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    env, process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{
    against::{Others, adopt},
    directory::{STATE, check_owner, check_unclaimed, keep_marks},
    fetch::MemoryShare,
    frontier::{Budget, FailuresSince, Loaded, Query, Recorded, Task, TaskId},
    plan::{CrawlError, Dedup, Links, Plan, Root, Store},
    politeness::RequestEnd,
    robots::{self, product_token},
    scope::Scope,
    sitemap::Sitemap,
};
use crate::{
    extract::Extracted,
    filter::{Document, Documents, Options},
    index::Audit,
    page::{NormalUrl, Timestamp, UrlOptions, Validators},
    report::{Builder, End},
    sink::{Mark, Outputs, create_directory, warc},
    state::{
        DurableFilter, HostId, HostRow, Reason, Restored, RobotsRow, SkipCause, State,
        SuspendCause, UrlLog, UrlRow, UrlState, Visit,
    },
};

use record::{Found, Sitemaps};
use report::judged_by;
pub use report::{Standing, report, standing};
use retry::Failures;
use select::UrlSelection;

/// A batch is committed after this many URLs, or after this time. The first batch after a start gets less time, and each one twice as
/// much as the one before: so even a process that is killed again and again makes progress.
const BATCH: u32 = 100;
const BATCH_TIME: Duration = Duration::from_secs(1);
const FIRST_BATCH_TIME: Duration = Duration::from_millis(10);

/// How long a host that did not respond is left alone after its run is finished.
const DEAD_FOR: Duration = Duration::from_hours(24);

/// Failures that are remembered while their hosts are asked again, at most.
const TRIED: usize = 10_000;

/// A request to the recorder. If a worker needs the answer, it comes with its sender; the loop gets an [`Update`].
#[derive(Debug)]
pub(super) enum Request {
    /// Say whether a URL is worth a request. If it is not, that is recorded.
    Ask(Arc<Task>, oneshot::Sender<bool>),
    /// Record what became of a URL.
    Record(Box<Record<Outcome>>),
    /// Record a sitemap.
    Sitemap(Box<Record<(Received, Sitemap)>>),
    /// Record that a known page has not changed since its validators were received, as its server says at this time.
    Unchanged(Box<Record<(Box<Visit>, Timestamp)>>),
    /// A URL is not fetched because the budget of its seed is spent: another seed may admit it.
    OverBudget(Arc<Task>),
    /// Note that a host gave no answer, and is asked again: its name, and why.
    Tried(String, String),
    /// Archive a response that decides nothing about a URL: the URL is fetched again, or it is a robots.txt.
    Archive(warc::Exchange),
    /// Look up the robots.txt that was last received from this root URL.
    Robots(String, oneshot::Sender<Option<RobotsRow>>),
    /// Keep the robots.txt of a root URL: scheme, name and port.
    KeepRobots(String, RobotsRow),
    /// Record that this host is suspended.
    Suspend(HostId, SuspendCause),
    /// Record that this host is not suspended any more.
    Resume(HostId),
    /// Queue failed URLs again.
    TakeBackFailures(FailuresSince),
    /// Nothing else is left: queue failed URLs once more.
    RetryBeforeEnd,
    /// Load something for the frontier.
    Load(Query),
}

/// What is reported to the loop; by the recorder in the order of its work.
#[derive(Debug)]
pub(super) enum Update {
    /// The request of a worker has ended.
    Responded(TaskId, RequestEnd),
    /// A URL is recorded.
    Recorded(Arc<Task>, Recorded, Tally),
    /// URLs of these hosts that had failed are queued again.
    FailuresTakenBack(Vec<HostRow>, Tally),
    /// A host is resumed; without its row, it has nothing to be fetched.
    Resumed(HostId, Option<HostRow>),
    /// A query is answered.
    Loaded(Loaded),
}

/// What became of a URL.
#[derive(Debug)]
pub(super) struct Record<T> {
    pub(super) task: Arc<Task>,
    pub(super) outcome: T,
    /// What was sent and received, if it is archived.
    pub(super) exchange: Option<warc::Exchange>,
}

/// What became of a URL that is new, or of a known page that was asked for again.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A page to be judged.
    Page(Received, Box<Parsed>),
    /// A redirect, and its target or why there is none.
    Redirect { status: u16, target: Result<NormalUrl, String> },
    /// Nothing to be judged.
    Skipped(Skipped),
}

impl Outcome {
    pub(super) fn failure(detail: &str) -> Self {
        Self::Skipped(Skipped::new(Reason::Failure, None, Some(detail.to_owned())))
    }

    /// Whether a page was received with status 2xx.
    fn is_page(&self) -> bool {
        match self {
            Self::Page(..) => true,
            Self::Skipped(skipped) => skipped.reason == Reason::ContentType,
            Self::Redirect { .. } => false,
        }
    }
}

/// What is known of a response besides its body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) at: Timestamp,
    /// Whether the body was cut at the limit.
    pub(super) is_cut: bool,
    /// With what its server can be asked for changes.
    pub(super) validators: Validators,
    /// The memory that the body holds of the budget for all, until the outcome is recorded.
    #[expect(dead_code, reason = "it ends with the value")]
    pub(super) share: Option<Arc<MemoryShare>>,
}

/// Why there is nothing to be judged.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) reason: Reason,
    pub(super) cause: Option<SkipCause>,
    pub(super) detail: Option<String>,
    pub(super) status: Option<u16>,
    /// There was no response at all.
    pub(super) unanswered: bool,
}

impl Skipped {
    pub(super) fn new(reason: Reason, status: Option<u16>, detail: Option<String>) -> Self {
        Self { reason, cause: None, detail, status, unanswered: false }
    }

    /// Whether the URL has something else than a page.
    pub(super) fn is_no_page(&self) -> bool {
        self.reason == Reason::ContentType
    }

    /// Whether nothing is at the URL. A server that refuses all requests for a while answers 401, 403 or 429 rather.
    pub(super) fn is_dead(&self) -> bool {
        self.reason == Reason::Status && matches!(self.status, Some(404 | 405 | 410))
    }
}

/// A page after parsing.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) document: Document,
    pub(super) extracted: Extracted,
    /// Its canonical URL, normalised.
    pub(super) canonical: Option<NormalUrl>,
    /// The links to be followed, in page order, each once.
    pub(super) links: Vec<NormalUrl>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Pages received with status 2xx.
    pub fetched: u64,
    /// Unique pages.
    pub unique: u64,
    /// Exact duplicates: pages with the body or text of a unique one.
    pub exact: u64,
    /// Near duplicates.
    pub near: u64,
    /// URLs that could not be fetched, or whose status was not 2xx.
    pub failed: u64,
    /// Queued URLs.
    pub queued: u64,
    /// How often a known page was asked for again and had no new text.
    pub asked_again: u64,
}

/// What the loop must know of a run that starts.
#[derive(Debug)]
pub(super) struct Start {
    /// Makes the documents to be judged.
    pub(super) documents: Documents,
    pub(super) budget: Budget,
    pub(super) counts: Tally,
}

/// Judges and records.
pub(super) struct Recorder {
    plan: Arc<Plan>,
    scope: Scope,
    /// The filter, in whose state and transactions everything else is kept too.
    filter: DurableFilter,
    sink: Outputs,
    /// The known URLs and the queue.
    urls: UrlLog,
    url_options: UrlOptions,
    counts: Tally,
    /// Pages fetched for each seed.
    spent: Vec<u64>,
    sitemaps: Sitemaps,
    /// Whether hosts are asked in round-robin order.
    round_robin: bool,
    /// Hosts of which a URL was queued since the last [`Update::Recorded`].
    queued: Vec<HostRow>,
    /// URLs of the batch.
    batch: u32,
    failures: Failures,
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
    /// Whether it is recorded how this start judges.
    has_judged: bool,
    /// Other runs whose pages count as seen.
    others: Others,
    selection: UrlSelection,
    /// The last failures that are followed by another attempt, by host.
    tried: HashMap<String, String>,
}

impl Recorder {
    /// Opens the run directory and queues the seeds. `report` is called while a large window is restored.
    pub(super) fn start(
        plan: Arc<Plan>,
        report: impl FnMut(Restored),
    ) -> Result<(Self, Start), CrawlError> {
        let directory = &plan.directory;
        create_directory(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        check_unclaimed(directory)?;
        let options = adopt(&plan)?;
        let state = State::open(&directory.join(STATE))?;
        check_owner(&state, directory, &plan.name)?;
        let filter = open_filter(state, &plan, &options, report)?;
        let others = Others::open(&plan, filter.documents().fingerprinter().recipe())?;
        let state = filter.state();
        let sink = open_outputs(&plan, state)?;
        let (scope, roots) = plan.roots()?;
        let mut recorder = Self {
            builder: Builder::load(state)?,
            has_judged: false,
            others,
            tried: HashMap::new(),
            selection: UrlSelection::new(&plan),
            scope,
            url_options: plan.crawl.url_options(),
            counts: state.json("counts")?.unwrap_or_default(),
            spent: state.json("spent")?.unwrap_or_default(),
            sitemaps: Sitemaps::new(&plan.seeds, &roots),
            round_robin: plan.crawl.concurrency.get() == 1,
            urls: UrlLog::load(state)?,
            queued: Vec::new(),
            failures: Failures::default(),
            batch: 0,
            deadline: None,
            batch_time: FIRST_BATCH_TIME,
            started: std::time::Instant::now(),
            audited: state.json("audit")?.unwrap_or_default(),
            worked: state.json("worked")?.unwrap_or_default(),
            plan,
            filter,
            sink,
        };
        recorder.follow_known_moves(&roots)?;
        recorder.queue_what_is_due(&roots)?;
        let (name, counts) = (&recorder.plan.name, recorder.counts);
        tracing::info!(name, fetched = counts.fetched, queued = counts.queued, "the run starts");
        let limits = recorder.plan.seeds.iter().map(|seed| seed.max_pages);
        let seeds = limits.zip(recorder.spent.iter().copied());
        let budget = Budget::new(recorder.plan.crawl.max_pages, counts.fetched, seeds);
        let documents = recorder.filter.documents();
        Ok((recorder, Start { documents, budget, counts }))
    }

    /// Queues the seeds, and what had been skipped for reasons that no longer hold.
    fn queue_what_is_due(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        self.filter.begin()?;
        self.deadline = Some(tokio::time::Instant::now());
        let ended = self.state().json::<End>("end")?;
        self.record_start()?;
        self.warn_of_policy_change()?;
        self.resume_hosts(ended)?;
        let seeds_moved = self.update_seed_lists()?;
        self.queue_seeds(roots)?;
        self.follow_known_robots()?;
        if seeds_moved {
            self.reassign_queued()?;
        }
        self.requeue_skipped(roots)?;
        self.queue_visits()?;
        self.learn_again()?;
        self.queued.clear();
        self.commit()
    }

    /// Records what a report needs even if the run does not end.
    fn record_start(&self) -> Result<(), CrawlError> {
        let (plan, state) = (&self.plan, self.state());
        state.set_meta("name", plan.name.as_str())?;
        state.set_meta("warc", plan.store.warc)?;
        state.set_json("end", &End::Interrupted)?;
        state.set_json("rules", &plan.learn.rules)?;
        if state.meta::<i64>("started")?.is_none() {
            state.set_meta("started", Timestamp::now().0)?;
            self.record_method()?;
        }
        Ok(())
    }

    /// Records how pages are judged. A start that judges none leaves the record of those before it.
    fn record_method(&self) -> Result<(), CrawlError> {
        let (dedup, state) = (&self.plan.dedup, self.state());
        state.set_json("judged_by", &judged_by(&dedup.filter(), state)?)?;
        state.set_json("dedup", dedup)?;
        Ok(state.set_meta("index", self.filter.layout().to_string())?)
    }

    /// Records whether duplicates are stored, for the report. Warns if earlier ones were not stored that would be now: an
    /// unchanged URL gets no second line, so they stay without their pages.
    fn warn_of_policy_change(&self) -> Result<(), CrawlError> {
        let dedup = &self.plan.dedup;
        let keeps = [dedup.same_site, dedup.cross_site].map(|policy| policy.store == Store::Keep);
        if !has_changed(self.state(), "keeps", &json(&keeps))? {
            return Ok(());
        }
        let not_stored = self.builder.unstored(keeps);
        if not_stored > 0 {
            tracing::warn!(
                duplicates = not_stored,
                "duplicates found before `store = \"keep\"` stay recorded without their pages; to have these, start over with --fresh"
            );
        }
        Ok(())
    }

    /// Resumes suspended hosts that may get requests again, after a run that `ended` so.
    fn resume_hosts(&mut self, ended: Option<End>) -> Result<(), CrawlError> {
        let (now, limits) = (Timestamp::now(), self.plan.politeness.clone());
        for suspended in self.state().suspended_hosts()? {
            let is_allowed = match suspended.cause {
                SuspendCause::CrawlDelay(delay) => {
                    !limits.obey_robots || delay <= limits.max_crawl_delay
                }
                SuspendCause::RetryAfter(pause) => pause <= limits.max_retry_after,
                SuspendCause::Unanswered(_) => ended != Some(End::Done),
                SuspendCause::Stopped(_) => true,
            };
            if is_allowed || suspended.until <= now {
                tracing::info!(host = suspended.name, cause = %suspended.cause, "host resumed");
                self.state().resume_host(&suspended)?;
                self.urls.queue.set_suspended(suspended.host, false);
            }
        }
        Ok(())
    }

    /// Seed lists are identified by their position. If they were added, removed or moved since the last start, their URLs and budgets
    /// move with them. Returns whether they did.
    fn update_seed_lists(&mut self) -> Result<bool, CrawlError> {
        let lists: Vec<_> = self.plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
        let known = self.state().json::<Vec<String>>("seed_lists")?.unwrap_or_default();
        let moved = !lists.starts_with(&known);
        if moved {
            let position = |list| lists.iter().position(|other| other == list);
            let positions: Vec<_> = known.iter().map(position).collect();
            self.state().move_seeds(&positions)?;
            let spent = std::mem::replace(&mut self.spent, vec![0; lists.len()]);
            for (position, spent) in positions.into_iter().zip(spent) {
                if let Some(position) = position {
                    self.spent[position] += spent;
                }
            }
        }
        self.spent.resize(lists.len(), 0);
        self.state().set_json("seed_lists", &lists)?;
        Ok(moved)
    }

    fn queue_seeds(&mut self, lists: &[Root]) -> Result<(), CrawlError> {
        for (seed, (kind, urls)) in lists.iter().enumerate() {
            let found = Found::page(None, 0, Timestamp::now());
            for url in urls {
                self.discover(url, &Found { kind: *kind, seed: Some(seed), ..found })?;
            }
        }
        Ok(())
    }

    /// Queued URLs whose seed list is gone move to another that admits them, or are skipped.
    fn reassign_queued(&mut self) -> Result<(), CrawlError> {
        let mut without_seed = Vec::new();
        self.urls.for_each(
            self.state(),
            |state| (state == UrlState::Queued).then_some(()),
            |row, ()| {
                without_seed.extend(Some(row).filter(|row| row.seed.is_none()));
                Ok::<_, CrawlError>(())
            },
        )?;
        for row in without_seed {
            match self.admit(&row.url, row.kind, row.depth, None) {
                Ok(seed) => self.state().revive_url(&row, seed)?,
                Err(_) if self.state().visit(row.id)?.is_some() => self.record_known(&row)?,
                Err(reason) => self.record_skipped(&row, &Skipped::new(reason, None, None))?,
            }
        }
        self.urls.dequeue_settled();
        self.counts.queued = self.urls.queue.len();
        Ok(())
    }

    /// Queues URLs again whose host could not be reached or whose robots.txt was not received, other failures after some hours, and those that
    /// are admitted now because the configuration has changed.
    fn requeue_skipped(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        let admission_changed = has_changed(self.state(), "policy", &admission(&self.plan, roots))?;
        let policy_changed = has_changed(self.state(), "robots", &robots_policy(&self.plan))?;
        let Dedup { same_site, cross_site, .. } = &self.plan.dedup;
        let learns = self.plan.dedup.learns();
        let mut failed = self.state().failed_urls(now)?;
        failed.retain(|row| row.is_retried(now));
        let has_ceased = |row: &UrlRow, reason: Reason| match (reason, row.cause) {
            (_, Some(SkipCause::SameSite)) => same_site.links != Links::Skip,
            (_, Some(SkipCause::CrossSite)) => cross_site.links != Links::Skip,
            (reason, None) if reason.is_learnt() => !learns || self.never_defers(row.seed),
            (Reason::Robots, None) => policy_changed,
            (Reason::Scope | Reason::Depth | Reason::Budget, None) => admission_changed,
            _ => false,
        };
        let mut admitted = Vec::new();
        if admission_changed || policy_changed {
            self.urls.for_each(self.state(), UrlState::skipped, |row, reason| {
                if has_ceased(&row, reason)
                    && let Ok(seed) = self.admit(&row.url, row.kind, row.depth, None)
                {
                    admitted.push((row, seed));
                }
                Ok::<_, CrawlError>(())
            })?;
        }
        for (row, seed) in admitted {
            self.requeue(&row, seed, None)?;
        }
        self.failures.checked();
        failed.iter().try_for_each(|row| self.retry_failure(row))
    }

    /// Serves requests until all senders are gone, then commits the rest.
    pub(super) async fn serve(
        &mut self,
        mut requests: mpsc::Receiver<Request>,
        reports: &mpsc::Sender<Update>,
    ) -> Result<(), CrawlError> {
        while let Some(request) = self.receive(&mut requests).await? {
            self.begin_batch()?;
            if let Some(report) = self.handle(request)? {
                // After a stop nobody may receive it.
                drop(reports.send(report).await);
            }
            if self.batch >= BATCH || self.deadline.is_some_and(|end| end <= Instant::now()) {
                self.commit()?;
            }
        }
        self.keep_all_learnt()?;
        self.commit()
    }

    /// The next request, if there will be one. Commits the batch when its time has come.
    async fn receive(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
    ) -> Result<Option<Request>, CrawlError> {
        let Some(deadline) = self.deadline else { return Ok(requests.recv().await) };
        if let Ok(request) = timeout_at(deadline, requests.recv()).await {
            return Ok(request);
        }
        self.commit()?;
        Ok(requests.recv().await)
    }

    /// Begins a batch, unless one has begun.
    fn begin_batch(&mut self) -> Result<(), CrawlError> {
        if self.deadline.is_none() {
            self.filter.begin()?;
            self.deadline = Some(Instant::now() + self.batch_time);
            self.batch_time = (self.batch_time * 2).min(BATCH_TIME);
        }
        Ok(())
    }

    fn handle(&mut self, request: Request) -> Result<Option<Update>, CrawlError> {
        match request {
            Request::Ask(task, reply) => {
                let update = self.defer_or_postpone(&task)?;
                _ = reply.send(update.is_none());
                return Ok(update);
            }
            Request::Record(record) => return self.record(*record).map(Some),
            Request::Sitemap(record) => return self.record_sitemap(*record).map(Some),
            Request::Unchanged(record) => return self.record_same(*record).map(Some),
            Request::OverBudget(task) => return self.move_to_another_seed(task).map(Some),
            Request::Resume(host) => return self.resume(host).map(Some),
            Request::TakeBackFailures(failures) => {
                return self.take_back_failures(&failures).map(Some);
            }
            Request::RetryBeforeEnd => return self.retry_before_end().map(Some),
            Request::Load(query) => return self.load(query).map(Update::Loaded).map(Some),
            Request::Tried(host, why) => {
                if self.tried.len() < TRIED {
                    self.tried.insert(host, why);
                }
            }
            Request::Archive(exchange) => self.archive(Some(&exchange))?,
            Request::Robots(root_url, reply) => drop(reply.send(self.state().robots(&root_url)?)),
            Request::KeepRobots(root_url, robots) => {
                self.state().set_robots(&root_url, &robots)?;
                self.follow_robots(&root_url, &robots)?;
            }
            Request::Suspend(host, cause) => {
                tracing::warn!(host = self.state().host_by_id(host)?.name, %cause, "host suspended");
                let until = suspended_until(cause);
                self.urls.suspend_host(self.filter.state(), host, cause, until)?;
            }
        }
        Ok(None)
    }

    fn load(&mut self, query: Query) -> Result<Loaded, CrawlError> {
        match query {
            Query::Urls { host, after, limit } => {
                Ok(Loaded::Urls(host, self.urls.queued(self.state(), host, after, limit)?))
            }
            Query::Hosts { evicted, limit } => {
                for host in evicted {
                    self.move_to_back(host)?;
                }
                Ok(Loaded::Hosts(self.urls.waiting_hosts(self.state(), limit)?))
            }
        }
    }

    /// Moves a host to the end of the rotation. The order of the next start depends on it only if hosts are asked one after the other.
    fn move_to_back(&mut self, host: HostId) -> Result<i64, CrawlError> {
        Ok(self.urls.move_to_back(self.filter.state(), host, self.round_robin)?)
    }

    /// Makes the batch durable: first the outputs, then the state, which records their lengths.
    fn commit(&mut self) -> Result<(), CrawlError> {
        if self.deadline.take().is_none() {
            return Ok(());
        }
        die_if_asked("begun");
        let marks = self.sink.sync()?;
        let checksums = self.sink.take_checksums();
        die_if_asked("outputs synced");
        keep_marks(self.state(), &marks, &checksums)?;
        self.state().set_json("audit", &(self.audited + self.filter.audit()))?;
        self.state().set_json("counts", &self.counts)?;
        self.state().set_json("spent", &self.spent)?;
        self.state().set_json("worked", &self.worked())?;
        self.keep_learnt()?;
        let state = self.filter.state();
        if self.builder.is_due(self.filter.engine.position().next) {
            self.builder.catch_up(state)?;
        }
        self.builder.save(state)?;
        self.urls.commit(self.filter.state())?;
        die_if_asked("state written");
        self.filter.commit()?;
        die_if_asked("state committed");
        self.sink.committed()?;
        self.batch = 0;
        Ok(())
    }

    fn state(&self) -> &State {
        self.filter.state()
    }

    /// Seconds that the run has worked, over all its starts.
    fn worked(&self) -> f64 {
        self.worked + self.started.elapsed().as_secs_f64()
    }
}

/// The time up to which a host that is suspended now gets no request, unless the cause ceases earlier: the pause that it asked for, the
/// validity of its robots.txt, or a day.
fn suspended_until(cause: SuspendCause) -> Timestamp {
    let pause = match cause {
        SuspendCause::CrawlDelay(_) => robots::VALID,
        SuspendCause::RetryAfter(pause) => pause,
        SuspendCause::Unanswered(_) => DEAD_FOR,
        // Every start asks it again.
        SuspendCause::Stopped(_) => Duration::ZERO,
    };
    Timestamp::now() + pause
}

/// Opens the filter. A new one gets the hash seed that was adopted, which is as secret as one that is drawn.
fn open_filter(
    state: State,
    plan: &Plan,
    adopted: &Options,
    report: impl FnMut(Restored),
) -> Result<DurableFilter, CrawlError> {
    let recorded = crate::state::RecordedRecipe::read(&state)?;
    if recorded.drawn.is_none() {
        state.begin()?;
        state.set_meta("seed_drawn", plan.dedup.seed.seed().is_none())?;
        return Ok(DurableFilter::of_crawl(state, adopted, report)?);
    }
    Ok(DurableFilter::of_crawl(state, &plan.dedup.filter(), report)?)
}

fn open_outputs(plan: &Plan, state: &State) -> Result<Outputs, CrawlError> {
    let run = plan.store.warc.then(|| warc::RunFields {
        name: plan.name.clone(),
        user_agent: plan.crawl.user_agent.clone(),
        obey_robots: plan.politeness.obey_robots,
    });
    let files = state.files()?;
    let marks: Vec<Mark> = files.into_iter().map(|(file, offset)| Mark { file, offset }).collect();
    let mut sink = Outputs::open(&plan.directory, run, &marks)?;
    let marks = sink.sync()?;
    keep_marks(state, &marks, &sink.take_checksums())?;
    sink.set_rotation(plan.store);
    Ok(sink)
}

/// Whether this value differs from that of the last start, if there was one. Keeps it for the next start.
fn has_changed(state: &State, name: &str, value: &str) -> Result<bool, CrawlError> {
    let known = state.meta::<String>(name)?;
    state.set_meta(name, value)?;
    Ok(known.is_some_and(|known| known != value))
}

/// Changes if what seeds, budgets and policies admit may have changed.
fn admission(plan: &Plan, roots: &[Root]) -> String {
    let Plan { crawl, dedup, seeds, .. } = plan;
    let policies = (dedup.same_site, dedup.cross_site);
    let rules = (crawl.max_pages, crawl.max_depth, &crawl.tracking, policies, seeds);
    let roots: Vec<_> = roots.iter().flat_map(|(_, urls)| urls).map(NormalUrl::as_str).collect();
    let digest = xxhash_rust::xxh3::xxh3_128(json(&(rules, roots)).as_bytes());
    format!("{digest:032x}")
}

/// Changes if what robots.txt forbids may have changed although robots.txt has not.
fn robots_policy(plan: &Plan) -> String {
    json(&(plan.politeness.obey_robots, product_token(&plan.crawl.user_agent)))
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

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and names are JSON")
}
