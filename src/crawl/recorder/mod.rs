//! The one place that commits: judges pages in the order in which it receives them, and records everything.
//!
//! A page's verdict, row, fingerprint, links and lines are one transaction with those of its batch. The output files are synced before
//! the transaction that records their lengths, and cut to these lengths when the run goes on: nothing is lost or doubled,
//! whenever the process ends. Runs on a thread of its own; all others ask it by [`message`]s.

mod again;
mod begin;
mod discover;
mod finish;
mod leads;
mod message;
mod settle;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::{
    error::CrawlError,
    frontier::{Loaded, Query, Rows},
    options::Plan,
    scope::Scope,
};
use crate::{
    index::Audit,
    page::{Timestamp, UrlOptions},
    sink::{self, Outputs},
    state::{DurableFilter, HostId, HostRow, State},
};

use again::aside_until;
pub(super) use begin::Start;
use discover::Known;
pub use finish::report;
pub(super) use message::{Answered, Outcome, Parsed, Reply, Request, Settle, Settled, Skipped};

/// A batch is committed after so many pages, or after so long. The first of a start takes less, and each twice as long as the one
/// before: a process that is killed again and again gets on all the same.
const BATCH: u32 = 100;
const BATCH_TIME: Duration = Duration::from_millis(200);
const FIRST_BATCH_TIME: Duration = Duration::from_millis(10);

/// How the run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Pages received with status 2xx.
    pub fetched: u64,
    /// Pages that are unique.
    pub unique: u64,
    /// Pages whose body or text is known.
    pub exact: u64,
    /// Pages that nearly repeat another.
    pub near: u64,
    /// URLs that could not be fetched, or whose status was not 2xx.
    pub failed: u64,
    /// URLs that wait.
    pub queued: u64,
}

/// Judges and records.
pub(super) struct Recorder {
    plan: Arc<Plan>,
    scope: Scope,
    /// With the state, in which everything else is recorded too.
    filter: DurableFilter,
    sink: Outputs,
    known: Known,
    url_options: UrlOptions,
    hash_seed: u64,
    counts: Tally,
    /// Pages fetched for each seed.
    spent: Vec<u64>,
    last_seq: i64,
    /// Whether hosts are taken in turn.
    in_turn: bool,
    /// Hosts of which something was queued since the last answer.
    queued: Vec<HostRow>,
    /// Counts the answers.
    tick: u64,
    /// Pages of the batch, and when it is to be committed.
    batch: u32,
    deadline: Option<Instant>,
    batch_time: Duration,
    began: std::time::Instant,
    /// What the indexes of earlier starts counted.
    audited: Audit,
    /// How long earlier starts of the run have worked.
    worked: Duration,
}

impl Recorder {
    /// Serves requests until all who could make them are gone, then commits what is left.
    pub(super) async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
    ) -> Result<(), CrawlError> {
        let mut waiting = Vec::new();
        while self.receive(requests, &mut waiting).await? {
            for request in waiting.drain(..) {
                self.begin_batch()?;
                self.handle(request)?;
                if self.batch >= BATCH || self.deadline.is_some_and(|end| end <= Instant::now()) {
                    self.commit()?;
                }
            }
        }
        self.commit()
    }

    /// Receives what waits, or waits for a request; a batch whose time has come is committed meanwhile. `false` if no more can come.
    async fn receive(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        waiting: &mut Vec<Request>,
    ) -> Result<bool, CrawlError> {
        loop {
            let received = requests.recv_many(waiting, BATCH as usize);
            let Some(deadline) = self.deadline else { return Ok(received.await > 0) };
            match timeout_at(deadline, received).await {
                Ok(count) => return Ok(count > 0),
                Err(_) => self.commit()?,
            }
        }
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

    /// Who asked may be gone: then the answer is of no use to anybody.
    fn handle(&mut self, request: Request) -> Result<(), CrawlError> {
        self.tick += 1;
        match request {
            Request::Settle(settle, reply) => {
                let answer = self.settle(*settle)?;
                self.batch += 1;
                drop(reply.send(answer));
            }
            Request::Robots(origin, reply) => drop(reply.send(self.state().robots(&origin)?)),
            Request::KeepRobots { origin, robots, exchange } => {
                self.archive_plain(exchange)?;
                if let Some(robots) = robots {
                    self.state().set_robots(&origin, &robots)?;
                }
            }
            Request::Archive(exchange) => {
                self.archive(exchange, &sink::warc::Kind::Response)?;
            }
            Request::Defer(host, cause) => {
                tracing::warn!(host = self.state().host_name(host)?, %cause, "host deferred");
                self.state().set_aside(host, cause, aside_until(cause, Timestamp::now()))?;
                self.known.forget_hosts();
            }
            Request::Load(query, reply) => drop(reply.send(self.load(query)?)),
        }
        Ok(())
    }

    fn load(&mut self, query: Query) -> Result<Loaded, CrawlError> {
        let (rows, complete) = match query {
            Query::Urls { host, after, limit } => {
                let urls = self.state().queued(host, after, limit)?;
                let complete = urls.len() < limit;
                (Rows::Urls(host, urls), complete)
            }
            Query::Hosts { visited, limit } => {
                self.end_turns(&visited)?;
                let hosts = self.state().waiting_hosts(limit)?;
                let complete = hosts.len() < limit;
                (Rows::Hosts(hosts), complete)
            }
        };
        Ok(Loaded { rows, complete, tick: self.tick })
    }

    fn end_turns(&mut self, hosts: &[HostId]) -> Result<(), CrawlError> {
        for &host in hosts {
            self.state().end_turn(host)?;
        }
        if !hosts.is_empty() {
            self.known.forget_hosts();
        }
        Ok(())
    }

    /// Makes the batch durable: first the outputs, then the state that says how long they are.
    fn commit(&mut self) -> Result<(), CrawlError> {
        if self.deadline.take().is_none() {
            return Ok(());
        }
        for mark in self.sink.sync()? {
            self.state().set_file(&mark.file, mark.offset)?;
        }
        self.state().set_meta("audit", json(&(self.audited + self.filter.audit())))?;
        self.state().set_meta("counts", json(&self.counts))?;
        self.state().set_meta("spent", json(&self.spent))?;
        self.state().set_meta("worked", self.worked().as_secs_f64().to_string())?;
        self.filter.commit()?;
        self.batch = 0;
        Ok(())
    }

    fn state(&self) -> &State {
        self.filter.state()
    }

    /// How long the run has worked, over all its starts.
    fn worked(&self) -> Duration {
        self.worked + self.began.elapsed()
    }

    fn is_seed_spent(&self, seed: usize) -> bool {
        self.plan.seeds.get(seed).is_none_or(|options| self.spent[seed] >= options.max_pages)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and names are JSON")
}
