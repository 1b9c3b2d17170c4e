//! The life of one URL, from the frontier to the recorder: robots.txt, fetch, parse, report.
//!
//! Workers are stateless tasks. What costs CPU they give to the pool; what is to be remembered, to the recorder.

mod ask;
mod parse;
mod url;

use std::{net::IpAddr, sync::Arc, time::Duration};

use ::url::Url;
use tokio::sync::{mpsc, oneshot};

use super::{
    fetch::{Answer, FetchError, Fetcher},
    frontier::{Step, Task, TaskId},
    politeness::Signal,
    pool::Pool,
    recorder::{Archived, Loaded, Outcome, Reply, Request, Settle, Settled},
    robots::{Inquiry, Robots},
};
use crate::{
    extract::Extractor,
    fingerprint::Fingerprinter,
    page::UrlOptions,
    state::{HostId, HostRow, Queued},
};

/// What all workers share.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) fetcher: Fetcher,
    pub(super) extractor: Arc<Extractor>,
    pub(super) fingerprinter: Arc<Fingerprinter>,
    pub(super) pool: Pool,
    pub(super) url_options: Arc<UrlOptions>,
    /// Our product token.
    pub(super) agent: String,
    pub(super) retries: u32,
    /// Whether a page whose body is known may be left unparsed.
    pub(super) asks_first: bool,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) events: mpsc::Sender<Event>,
}

/// A request has ended.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: TaskId,
    pub(super) address: Option<IpAddr>,
    pub(super) signal: Signal,
}

/// How a worker ended.
#[derive(Debug)]
pub(super) enum End {
    /// The URL is recorded.
    Settled(TaskId, Settled),
    /// It is to be tried again.
    Retry(TaskId),
    /// What robots.txt says, received so long ago.
    Learned(TaskId, Arc<Robots>, Duration),
    /// robots.txt is to be asked for elsewhere.
    Moved(TaskId, Inquiry),
    /// robots.txt is to be asked for again, after so many tries that failed.
    AskAgain(TaskId, u32),
    Urls(HostId, Loaded<Queued>),
    Hosts(Loaded<HostRow>),
    SetAside,
    /// The recorder has ended: so does the run.
    RecorderGone,
}

/// The recorder has ended.
pub(super) struct RecorderGone;

impl Crew {
    /// Does what the frontier says.
    pub(super) async fn work(self: Arc<Self>, step: Step) -> End {
        let end = match step {
            Step::Fetch(id, task) => self.fetch(id, task).await,
            Step::Ask(id, ask) => self.ask(id, ask).await,
            Step::SetAside(host, cause) => self
                .request(|reply| Request::SetAside(host, cause, reply))
                .await
                .map(|()| End::SetAside),
            Step::LoadUrls { host, after, limit } => self
                .request(|reply| Request::LoadUrls { host, after, limit, reply })
                .await
                .map(|loaded| End::Urls(host, loaded)),
            Step::LoadHosts { ended, limit } => self
                .request(|reply| Request::LoadHosts { ended, limit, reply })
                .await
                .map(End::Hosts),
            Step::Wait(_) | Step::Blocked | Step::Done => Ok(End::SetAside),
        };
        end.unwrap_or(End::RecorderGone)
    }

    /// Records that a worker has panicked.
    pub(super) async fn bury(self: Arc<Self>, id: TaskId, task: Task) -> End {
        self.fail(id, task, "the worker panicked".to_owned()).await.unwrap_or(End::RecorderGone)
    }

    /// Tells the frontier that a request has ended.
    async fn answered(&self, id: TaskId, got: &Result<Answer, FetchError>) {
        let (address, signal) = match got {
            Ok(answer) if matches!(answer.status.as_u16(), 429 | 503) => {
                (Some(answer.address.ip()), Signal::Overload { retry_after: answer.retry_after })
            }
            Ok(answer) => (Some(answer.address.ip()), Signal::Fine),
            Err(_) => (None, Signal::Fine),
        };
        // If nobody listens the run is over.
        drop(self.events.send(Event { id, address, signal }).await);
    }

    async fn settle(
        &self,
        id: TaskId,
        task: Task,
        outcome: Outcome,
        exchange: Option<Archived>,
    ) -> Result<End, RecorderGone> {
        match self.report(task, outcome, exchange).await? {
            Reply::Settled(settled) => Ok(End::Settled(id, settled)),
            Reply::Parse(_) => Err(RecorderGone),
        }
    }

    async fn report(
        &self,
        task: Task,
        outcome: Outcome,
        exchange: Option<Archived>,
    ) -> Result<Reply, RecorderGone> {
        let settle = Box::new(Settle { task, outcome, exchange });
        self.request(|reply| Request::Settle(settle, reply)).await
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, RecorderGone> {
        let (reply, answer) = oneshot::channel();
        self.send(request(reply)).await?;
        answer.await.map_err(|_| RecorderGone)
    }

    async fn send(&self, request: Request) -> Result<(), RecorderGone> {
        self.requests.send(request).await.map_err(|_| RecorderGone)
    }
}

/// What goes into the archive, if anything does: also of an answer that did not come whole. A body without content coding is
/// copied, for the page needs it too.
fn archive(url: &Url, got: &mut Result<Answer, FetchError>) -> Option<Archived> {
    let (exchange, body) = match got {
        Ok(answer) => {
            let exchange = answer.exchange.take()?;
            let body = exchange.body.is_none().then(|| answer.body.clone());
            (exchange, body)
        }
        Err(error) => (error.take_exchange()?, None),
    };
    Some(Archived { url: url.as_str().to_owned(), exchange, body })
}
