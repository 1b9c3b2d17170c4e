//! The one place that commits: judges pages in the order in which it receives them, and records everything.
//!
//! A page's verdict, row, fingerprint, links and lines are one transaction with those of its batch. The output files are synced before
//! the transaction that records their lengths, and cut to these lengths when the run goes on: nothing is lost or doubled,
//! whenever the process ends. Runs on a thread of its own; all others ask it by [`message`]s.

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

use super::{error::CrawlError, options::Plan, scope::Scope};
use crate::{
    filter::Filter,
    index::BlockIndex,
    page::UrlOptions,
    sink::{self, Outputs, Sink},
    state::{DigestTable, HostId, HostRow, SignatureLog, State},
};

pub(super) use begin::Start;
use discover::Known;
pub use finish::report;
pub(super) use message::{
    Answered, Archived, Loaded, Outcome, Parsed, Reply, Request, Settle, Settled, Skipped,
};

/// A batch is committed after so many pages, or after so long.
const BATCH: u32 = 100;
const BATCH_TIME: Duration = Duration::from_millis(200);

/// How the run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
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
    state: State,
    filter: Filter<BlockIndex, DigestTable>,
    signatures: SignatureLog,
    sink: Outputs,
    known: Known,
    url_options: UrlOptions,
    hash_seed: u64,
    counts: Counts,
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
    began: std::time::Instant,
    /// How long earlier starts of the run have worked.
    worked: Duration,
}

impl Recorder {
    /// Serves requests until all who could make them are gone, then commits what is left.
    pub(super) async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
    ) -> Result<(), CrawlError> {
        while let Some(request) = self.next_request(requests).await? {
            if self.deadline.is_none() {
                self.state.begin()?;
                self.deadline = Some(Instant::now() + BATCH_TIME);
            }
            self.handle(request)?;
            if self.batch >= BATCH {
                self.commit()?;
            }
        }
        self.commit()
    }

    /// The next request; a batch whose time has come is committed meanwhile.
    async fn next_request(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
    ) -> Result<Option<Request>, CrawlError> {
        loop {
            let Some(deadline) = self.deadline else { return Ok(requests.recv().await) };
            match requests.try_recv() {
                Ok(request) => return Ok(Some(request)),
                Err(mpsc::error::TryRecvError::Disconnected) => return Ok(None),
                Err(mpsc::error::TryRecvError::Empty) => {}
            }
            match timeout_at(deadline, requests.recv()).await {
                Ok(request) => return Ok(request),
                Err(_) => self.commit()?,
            }
        }
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
            Request::Robots(origin, reply) => drop(reply.send(self.state.robots(&origin)?)),
            Request::KeepRobots { origin, robots, exchanges } => {
                for archived in exchanges {
                    self.archive(archived, &sink::warc::Kind::Response)?;
                }
                if let Some(robots) = robots {
                    self.state.set_robots(&origin, &robots)?;
                }
            }
            Request::Archive(archived) => {
                self.archive(archived, &sink::warc::Kind::Response)?;
            }
            Request::SetAside(host, why, reply) => {
                tracing::warn!(host = self.state.host_name(host)?, why, "host set aside");
                self.state.set_aside(host, &why)?;
                self.known.forget_hosts();
                let _ = reply.send(());
            }
            Request::LoadUrls { host, after, limit, reply } => {
                let rows = self.state.queued(host, after, limit)?;
                drop(reply.send(Loaded { all: rows.len() < limit, rows, tick: self.tick }));
            }
            Request::LoadHosts { ended, limit, reply } => {
                self.end_turns(&ended)?;
                let rows = self.state.waiting_hosts(limit)?;
                drop(reply.send(Loaded { all: rows.len() < limit, rows, tick: self.tick }));
            }
        }
        Ok(())
    }

    fn end_turns(&mut self, hosts: &[HostId]) -> Result<(), CrawlError> {
        for &host in hosts {
            self.state.end_turn(host)?;
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
            self.state.set_file(&mark.file, mark.offset)?;
        }
        self.signatures.flush(&self.state)?;
        self.signatures.prune(&self.state, self.filter.horizon().representative)?;
        self.state.set_meta("position", json(&self.filter.position()))?;
        self.state.set_meta("counts", json(&self.counts))?;
        self.state.set_meta("spent", json(&self.spent))?;
        self.state.commit()?;
        self.batch = 0;
        Ok(())
    }

    fn is_seed_spent(&self, seed: usize) -> bool {
        self.plan.seeds.get(seed).is_none_or(|options| self.spent[seed] >= options.max_pages)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and names are JSON")
}
