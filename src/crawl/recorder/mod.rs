//! The only part that commits: judges pages in order of arrival, and records what became of every URL.
//!
//! The verdict, row, fingerprint, links and output lines of a page are one transaction, together with those of the other URLs of its
//! batch. Output files are synced before the transaction that records their lengths, and cut to these lengths when the run continues. So
//! nothing is lost or doubled, whenever the process ends. The recorder runs on a thread of its own and serves [`Request`]s.

mod links;
mod record;
mod report;
mod retry;
mod revisit;
mod select;
mod start;

#[cfg(test)]
mod scale;

use std::{
    collections::HashMap,
    env,
    net::IpAddr,
    process,
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
    against::Others,
    fetch::Share,
    frontier::{FailuresSince, Loaded, Query, Recorded, Task, TaskId},
    plan::{CrawlError, Plan},
    politeness::Signal,
    scope::Scope,
    sitemap::Sitemap,
};
use crate::{
    extract::Extracted,
    filter::Document,
    fingerprint::Digest,
    index::Audit,
    page::{NormalUrl, Timestamp, UrlOptions, Validators},
    report::Builder,
    sink::{Outputs, warc},
    state::{
        DeferCause, DurableFilter, HostId, HostRow, Reason, RobotsRow, SkipCause, State, UrlLog,
    },
};

use super::directory::keep_marks;
use links::Sitemaps;
pub use report::{Standing, report, standing};
use retry::Failures;
use select::UrlSelection;
pub(super) use start::Start;

/// A batch is committed after this many URLs, or after this time. The first batch after a start gets less time, and each one twice as
/// much as the one before: so even a process that is killed again and again makes progress.
const BATCH: u32 = 100;
const BATCH_TIME: Duration = Duration::from_secs(1);
const FIRST_BATCH_TIME: Duration = Duration::from_millis(10);

/// Failures that are remembered while their hosts are asked again, at most.
const TRIED: usize = 10_000;

/// A request to the recorder. If a worker needs the answer, it comes with its sender; the loop gets an [`Update`].
#[derive(Debug)]
pub(super) enum Request {
    /// Record this page if its body is enough; otherwise it comes back, to be parsed.
    Probe(Box<Probe>, oneshot::Sender<Option<Box<Probe>>>),
    /// Say whether a URL is worth a request. If it is not, that is recorded.
    Ask(Arc<Task>, oneshot::Sender<bool>),
    /// Record what became of a URL.
    Record(Box<Record>),
    /// Note that a host gave no answer, and is asked again: its name, and why.
    Tried(String, String),
    /// Archive a response that decides nothing about a URL: the URL is fetched again, or it is a robots.txt.
    Archive(warc::Exchange),
    /// Look up the robots.txt that was last received from this origin.
    Robots(String, oneshot::Sender<Option<RobotsRow>>),
    /// Keep the robots.txt of an origin.
    KeepRobots(String, RobotsRow),
    /// Record that this host is deferred.
    Defer(HostId, DeferCause),
    /// Record that this host is not deferred any more.
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
    /// The request of a worker has ended. If there was a response, it came from this address.
    Responded(TaskId, Option<IpAddr>, Signal),
    /// A URL is recorded.
    Recorded(Arc<Task>, Recorded, Tally),
    /// URLs of these hosts that had failed are queued again.
    FailuresTakenBack(Vec<HostRow>, Tally),
    /// A host is resumed; without its row, it has nothing to be fetched.
    Resumed(HostId, Option<HostRow>),
    /// A query is answered.
    Loaded(Loaded),
}

/// A page of which only the digest of its body is known.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) task: Arc<Task>,
    pub(super) received: Received,
    pub(super) body: Digest,
    pub(super) exchange: Option<warc::Exchange>,
}

/// What became of a URL.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) task: Arc<Task>,
    pub(super) outcome: Outcome,
    /// What was sent and received, if it is archived.
    pub(super) exchange: Option<warc::Exchange>,
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// A page to be judged.
    Page(Received, Box<Parsed>),
    /// A redirect, and its target or why there is none.
    Redirect { status: u16, target: Result<NormalUrl, String> },
    /// A known page has not changed since its validators were received, says its server now.
    Unchanged(Timestamp),
    /// A sitemap.
    Sitemap(Received, Sitemap),
    /// Nothing to be judged.
    Skipped(Skipped),
    /// It was not fetched because the budget of its seed is spent.
    OverBudget,
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
            Self::Redirect { .. } | Self::Unchanged(_) | Self::Sitemap(..) | Self::OverBudget => {
                false
            }
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
    pub(super) share: Option<Arc<Share>>,
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
    /// Exact duplicates: pages with a known body or text.
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
    /// Whether hosts are visited in round-robin order.
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
            Request::Probe(probe, reply) => {
                let update = self.probe(&probe)?;
                drop(reply.send(update.is_none().then_some(probe)));
                return Ok(update);
            }
            Request::Ask(task, reply) => {
                let update = self.defer_or_postpone(&task)?;
                _ = reply.send(update.is_none());
                return Ok(update);
            }
            Request::Record(record) => return self.record(*record).map(Some),
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
            Request::Archive(exchange) => {
                self.sink.write_exchange(&exchange, &warc::Kind::Response)?;
            }
            Request::Robots(origin, reply) => drop(reply.send(self.state().robots(&origin)?)),
            Request::KeepRobots(origin, robots) => {
                self.state().set_robots(&origin, &robots)?;
                self.follow_robots(&origin, &robots)?;
            }
            Request::Defer(host, cause) => {
                tracing::warn!(host = self.state().host_by_id(host)?.name, %cause, "host deferred");
                let until = start::deferred_until(cause);
                self.urls.defer_host(self.filter.state(), host, cause, until)?;
            }
        }
        Ok(None)
    }

    fn load(&mut self, query: Query) -> Result<Loaded, CrawlError> {
        match query {
            Query::Urls { host, after, limit } => {
                Ok(Loaded::Urls(host, self.urls.queued(self.state(), host, after, limit)?))
            }
            Query::Hosts { visited, limit } => {
                for host in visited {
                    self.move_to_back(host)?;
                }
                Ok(Loaded::Hosts(self.urls.waiting_hosts(self.state(), limit)?))
            }
        }
    }

    /// Moves a host to the end of the rotation. The order of the next start depends on it only if hosts are visited one after the other.
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
        self.state().set_meta("audit", json(&(self.audited + self.filter.audit())))?;
        self.state().set_meta("counts", json(&self.counts))?;
        self.state().set_meta("spent", json(&self.spent))?;
        self.state().set_meta("worked", json(&self.worked()))?;
        self.keep_learnt()?;
        let state = self.filter.state();
        if self.builder.is_due(self.filter.position().next) {
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
