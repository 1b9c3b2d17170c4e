//! The life of one URL, from the frontier to the recorder: robots.txt, fetch, parse, report.
//!
//! Workers are stateless tasks. What costs CPU they give to the pool; what is to be remembered, to the recorder.

use std::{collections::HashSet, error::Error, iter, net::IpAddr, sync::Arc, time::Duration};

use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::{
    fetch::{Answer, Extent, FetchError, Fetcher, Limit, is_html},
    frontier::{Ask, Step, Task, TaskId},
    politeness::Signal,
    pool::Pool,
    recorder::{
        Answered, Archived, Loaded, Outcome, Parsed, Reply, Request, Settle, Settled, Skipped,
    },
    robots::{Availability, Robots},
    sitemap,
};
use crate::{
    extract::{Extractor, Truncation},
    fingerprint::{Digest, Fingerprinter},
    page::{Lang, NormalUrl, Page, Timestamp, UrlOptions},
    state::{HostId, HostRow, Queued, Reason, RobotsRow, UrlKind},
};

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const MAX_ROBOTS_HOPS: usize = 5;
/// For how long a robots.txt is valid.
const ROBOTS_VALID: Duration = Duration::from_secs(24 * 60 * 60);

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
            Step::SetAside(host, why) => self
                .request(|reply| Request::SetAside(host, why, reply))
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
        self.fail(id, task, None, "the worker panicked".to_owned())
            .await
            .unwrap_or(End::RecorderGone)
    }

    async fn fetch(&self, id: TaskId, task: Task) -> Result<End, RecorderGone> {
        if task.over_budget {
            return self.settle(id, task, Outcome::OverBudget, None).await;
        }
        let Ok(url) = Url::parse(&task.queued.url.url) else {
            return self.fail(id, task, None, "not a URL".to_owned()).await;
        };
        if let Some(refusal) = task.robots.as_deref().and_then(|robots| robots.refusal(&url)) {
            return self.skip(id, task, Reason::Robots, Some(refusal), None).await;
        }
        let limit = match task.queued.url.kind {
            UrlKind::Page => Limit::Page,
            UrlKind::Sitemap => Limit::Sitemap,
        };
        let got = self.fetcher.get(&url, limit).await;
        self.answered(id, &got).await;
        trace(&url, task.attempt, &got);
        let may_retry = task.attempt < self.retries;
        match got {
            Err(error) if may_retry && error.is_retryable() => Ok(End::Retry(id)),
            Err(error) => self.fail(id, task, Some(&error), chain(&error)).await,
            Ok(mut answer) if may_retry && is_passing(answer.status.as_u16()) => {
                if let Some(exchange) = archive(&url, &mut answer) {
                    self.send(Request::Archive(exchange)).await?;
                }
                Ok(End::Retry(id))
            }
            Ok(answer) => self.receive(id, task, url, answer).await,
        }
    }

    /// Looks at an answer.
    async fn receive(
        &self,
        id: TaskId,
        task: Task,
        url: Url,
        mut answer: Answer,
    ) -> Result<End, RecorderGone> {
        let status = answer.status.as_u16();
        let answered = Answered {
            status,
            content_type: answer.content_type.take(),
            at: Timestamp::now(),
            cut: answer.is_cut(),
        };
        if answer.is_redirect() {
            let target = match answer.redirect_target(&url) {
                Some(target) => {
                    NormalUrl::new(&target, &self.url_options).map_err(|error| error.to_string())
                }
                None => {
                    Err(format!("no target: {}", answer.location.as_deref().unwrap_or_default()))
                }
            };
            let exchange = archive(&url, &mut answer);
            return self.settle(id, task, Outcome::Redirect { status, target }, exchange).await;
        }
        let exchange = archive(&url, &mut answer);
        if !answer.is_success() {
            let skipped = Skipped { status: Some(status), ..skipped(Reason::Status) };
            return self.settle(id, task, Outcome::Skipped(skipped), exchange).await;
        }
        if task.queued.url.kind == UrlKind::Sitemap {
            return self.read_sitemap(id, task, url, answered, answer.body, exchange).await;
        }
        if answer.extent == Extent::Skipped
            || !is_html(answered.content_type.as_deref(), &answer.body)
        {
            let (detail, status, counted) = (answered.content_type, Some(status), true);
            let skipped = Skipped { detail, status, counted, ..skipped(Reason::ContentType) };
            return self.settle(id, task, Outcome::Skipped(skipped), exchange).await;
        }
        let page = Page {
            url: Some(url),
            content_type: answered.content_type.clone(),
            x_robots_tag: answer.x_robots_tag,
            body: answer.body,
        };
        self.judge(id, task, answered, page, exchange).await
    }

    /// Has a page judged: by its body first, where that may be enough.
    async fn judge(
        &self,
        id: TaskId,
        task: Task,
        answered: Answered,
        page: Page,
        mut exchange: Option<Archived>,
    ) -> Result<End, RecorderGone> {
        let page = Arc::new(page);
        let mut digest = None;
        if self.asks_first {
            let body = Arc::clone(&page);
            let Ok(of_body) = self.pool.run(move || Digest::of(&body.body)).await else {
                return self
                    .fail(
                        id,
                        task,
                        None,
                        "the page could not be read: a thread panicked".to_owned(),
                    )
                    .await;
            };
            digest = Some(of_body);
            let outcome = Outcome::Body(answered.clone(), of_body);
            match self.report(task.clone(), outcome, exchange).await? {
                Reply::Settled(settled) => return Ok(End::Settled(id, settled)),
                Reply::Parse(back) => exchange = back,
            }
        }
        let (extractor, fingerprinter) =
            (Arc::clone(&self.extractor), Arc::clone(&self.fingerprinter));
        let (options, cut) = (Arc::clone(&self.url_options), answered.cut);
        let parsed = self
            .pool
            .run(move || parse(&extractor, &fingerprinter, &options, &page, digest, cut))
            .await;
        match parsed {
            Ok(parsed) => {
                self.settle(id, task, Outcome::Page(answered, Box::new(parsed)), exchange).await
            }
            Err(_) => {
                self.fail(
                    id,
                    task,
                    None,
                    "the page could not be parsed: a thread panicked".to_owned(),
                )
                .await
            }
        }
    }

    async fn read_sitemap(
        &self,
        id: TaskId,
        task: Task,
        url: Url,
        answered: Answered,
        body: Vec<u8>,
        exchange: Option<Archived>,
    ) -> Result<End, RecorderGone> {
        match self.pool.run(move || sitemap::parse(&body, &url)).await {
            Ok(sitemap) => {
                self.settle(id, task, Outcome::Sitemap(answered, sitemap), exchange).await
            }
            Err(_) => {
                self.fail(
                    id,
                    task,
                    None,
                    "the sitemap could not be read: a thread panicked".to_owned(),
                )
                .await
            }
        }
    }

    /// Finds out what a host's robots.txt says: from the state, if it is not too old, or from the host.
    async fn ask(&self, id: TaskId, ask: Ask) -> Result<End, RecorderGone> {
        let origin = format!("{}://{}", ask.scheme.as_str(), ask.name);
        let kept = self.request(|reply| Request::Robots(origin.clone(), reply)).await?;
        if let Some(RobotsRow { at, body }) = kept {
            let age = Duration::from_millis(u64::try_from(Timestamp::now().0 - at.0).unwrap_or(0));
            if age < ROBOTS_VALID {
                return Ok(End::Learned(id, Arc::new(Robots::parse(&body, &self.agent)), age));
            }
        }
        let mut exchanges = Vec::new();
        let found = self.fetch_robots(id, &origin, &mut exchanges).await;
        let robots =
            found.as_ref().ok().map(|body| RobotsRow { at: Timestamp::now(), body: body.clone() });
        self.send(Request::KeepRobots { origin, robots, exchanges }).await?;
        Ok(match found {
            Ok(body) => {
                End::Learned(id, Arc::new(Robots::parse(&body, &self.agent)), Duration::ZERO)
            }
            Err(_) if ask.attempt < self.retries => End::AskAgain(id, ask.attempt + 1),
            Err(why) => End::Learned(id, Arc::new(Robots::unreachable(&why)), Duration::ZERO),
        })
    }

    /// The content of robots.txt, empty if there is none; or why it could not be had.
    async fn fetch_robots(
        &self,
        id: TaskId,
        origin: &str,
        exchanges: &mut Vec<Archived>,
    ) -> Result<Vec<u8>, String> {
        let mut url =
            Url::parse(&format!("{origin}/robots.txt")).map_err(|error| error.to_string())?;
        for _ in 0..=MAX_ROBOTS_HOPS {
            let got = self.fetcher.get(&url, Limit::Robots).await;
            self.answered(id, &got).await;
            let mut answer = got.map_err(|error| chain(&error))?;
            exchanges.extend(archive(&url, &mut answer));
            if let Some(target) = answer.redirect_target(&url) {
                url = target;
                continue;
            }
            let status = answer.status.as_u16();
            return match Availability::of_status(status) {
                Availability::Found => Ok(answer.body),
                Availability::Unavailable => Ok(Vec::new()),
                Availability::Unreachable => Err(format!("status {status}")),
            };
        }
        Ok(Vec::new())
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

    async fn fail(
        &self,
        id: TaskId,
        task: Task,
        error: Option<&FetchError>,
        detail: String,
    ) -> Result<End, RecorderGone> {
        let unanswered = error
            .is_some_and(|error| matches!(error.kind(), "timeout" | "dns" | "connect" | "tls"));
        let skipped = Skipped { detail: Some(detail), unanswered, ..skipped(Reason::Failure) };
        self.settle(id, task, Outcome::Skipped(skipped), None).await
    }

    async fn skip(
        &self,
        id: TaskId,
        task: Task,
        reason: Reason,
        detail: Option<String>,
        status: Option<u16>,
    ) -> Result<End, RecorderGone> {
        let skipped = Skipped { detail, status, ..skipped(reason) };
        self.settle(id, task, Outcome::Skipped(skipped), None).await
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

/// Parses and fingerprints a page.
fn parse(
    extractor: &Extractor,
    fingerprinter: &Fingerprinter,
    options: &UrlOptions,
    page: &Page,
    digest: Option<Digest>,
    cut: bool,
) -> Parsed {
    let document = extractor.extract(page);
    let mut seen = HashSet::new();
    let followed = document.links.iter().filter(|link| !link.nofollow && !document.robots.nofollow);
    let normal = followed.filter_map(|link| NormalUrl::new(&link.url, options).ok());
    let links = normal.filter(|url| seen.insert(url.clone())).collect();
    Parsed {
        body: digest.unwrap_or_else(|| Digest::of(&page.body)),
        chars: u32::try_from(document.text.chars().count()).unwrap_or(u32::MAX),
        sketch: fingerprinter.sketch(&document.text),
        lang: document.lang.and_then(Lang::new),
        charset: document.charset,
        truncated: document.truncated.or(cut.then_some(Truncation::Body)),
        noindex: document.robots.noindex,
        canonical: document.canonical.and_then(|url| NormalUrl::new(&url, options).ok()),
        title: document.title,
        text: document.text,
        links,
    }
}

fn skipped(reason: Reason) -> Skipped {
    Skipped { reason, detail: None, status: None, counted: false, unanswered: false }
}

fn trace(url: &Url, attempt: u32, got: &Result<Answer, FetchError>) {
    match got {
        Ok(answer) => {
            tracing::debug!(%url, attempt, status = answer.status.as_u16(), bytes = answer.body.len(), "answered")
        }
        Err(error) => tracing::debug!(%url, attempt, error = chain(error), "not answered"),
    }
}

/// A status that may pass.
fn is_passing(status: u16) -> bool {
    status == 429 || (500..600).contains(&status)
}

/// What goes into the archive, if anything does; a body without content coding is copied, for the page needs it too.
fn archive(url: &Url, answer: &mut Answer) -> Option<Archived> {
    let exchange = answer.exchange.take()?;
    let body = exchange.body.is_none().then(|| answer.body.clone());
    Some(Archived { url: url.as_str().to_owned(), address: answer.address.ip(), exchange, body })
}

/// An error and its causes in one line, its kind first.
fn chain(error: &FetchError) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    let mut text = format!("{}: {error}", error.kind());
    for cause in causes {
        let cause = cause.to_string();
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}
