//! Workers: a task for each request, of a URL or of a robots.txt.
//!
//! A worker keeps no state. It leaves what costs CPU to a fixed pool of threads, and what must be remembered to the recorder. If it
//! panics, the URL is recorded as a failure.

use std::{collections::HashSet, net::IpAddr, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::{
    error::CrawlError,
    fetch::{Answer, Extent, FetchError, Fetcher, Limit, is_html},
    frontier::{RobotsResult, RobotsTask, Task, TaskId},
    options::{Links, Plan, Store},
    politeness::Signal,
    recorder::{Answered, Outcome, Parsed, Reply, Request, Settle, Settled, Skipped},
    robots::{Robots, RobotsRequest, RobotsResponse, VALID, product_token},
    sitemap,
};
use crate::{
    extract::{self, Extractor, Truncation},
    filter::Documents,
    fingerprint::Digest,
    page::{NormalUrl, Origin, Page, Timestamp, UrlOptions},
    sink::warc::Exchange,
    state::{Reason, RobotsRow, SkipCause, UrlKind},
};

/// What all workers share.
#[derive(Debug)]
pub(super) struct Worker {
    fetcher: Fetcher,
    extractor: Extractor,
    documents: Documents,
    /// A thread for each core, apart from the threads of the runtime.
    pool: ThreadPool,
    url_options: UrlOptions,
    /// Our product token.
    agent: String,
    retries: u32,
    /// Whether the recorder is asked about a page's body before the page is parsed.
    probes: bool,
    requests: mpsc::Sender<Request>,
    responses: mpsc::Sender<Responded>,
}

/// A request has ended.
#[derive(Debug)]
pub(super) struct Responded {
    pub(super) id: TaskId,
    /// Where the response came from, if there was one.
    pub(super) address: Option<IpAddr>,
    pub(super) signal: Signal,
}

/// How a task ended.
#[derive(Debug)]
pub(super) enum Finished {
    /// The URL is recorded.
    Recorded(TaskId, Arc<Task>, Settled),
    /// The URL must be fetched again.
    Retry(TaskId, Arc<Task>),
    /// The robots.txt was fetched, or not.
    Robots(TaskId, RobotsTask, RobotsResult),
}

/// The recorder has ended, and with it the run.
#[derive(Debug)]
pub(super) struct RecorderGone;

/// What the visit of a URL led to.
enum Visit {
    Retry,
    Record(Outcome, Option<Exchange>),
    /// The recorder has recorded the page by its body.
    Recorded(Settled),
}

impl Visit {
    /// A URL about which there is nothing to record but why it is skipped.
    fn skipped(reason: Reason, detail: impl Into<String>) -> Self {
        Self::Record(
            Outcome::Skipped(Skipped { detail: Some(detail.into()), ..skipped(reason) }),
            None,
        )
    }
}

impl Worker {
    pub(super) fn new(
        plan: &Plan,
        documents: Documents,
        requests: mpsc::Sender<Request>,
        responses: mpsc::Sender<Responded>,
    ) -> Result<Self, CrawlError> {
        let agent = product_token(&plan.crawl.user_agent).to_owned();
        let fetcher = Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?;
        // A panic is reported by the task that waits for the result.
        let pool = ThreadPoolBuilder::new().thread_name(|n| format!("page-{n}"));
        Ok(Self {
            fetcher: if plan.store.warc { fetcher.keeping_exchanges() } else { fetcher },
            extractor: Extractor::new(extract::Options {
                agent: Some(agent.clone()),
                rules: plan.extract.clone(),
            }),
            documents,
            pool: pool.panic_handler(|_| {}).build()?,
            url_options: plan.crawl.url_options(),
            agent,
            retries: plan.fetch.retries,
            probes: [plan.dedup.same_site, plan.dedup.cross_site]
                .iter()
                .any(|policy| policy.store == Store::Skip && policy.links == Links::Skip),
            requests,
            responses,
        })
    }

    /// Fetches a URL and has the outcome recorded.
    pub(super) async fn fetch(
        self: Arc<Self>,
        id: TaskId,
        task: Arc<Task>,
    ) -> Result<Finished, RecorderGone> {
        let visit = AssertUnwindSafe(self.visit(id, &task)).catch_unwind().await;
        let visit = visit.unwrap_or_else(|_| {
            tracing::error!(url = task.queued.url.url, "a worker panicked");
            Ok(Visit::skipped(Reason::Failure, "the worker panicked"))
        })?;
        let recorded = match visit {
            Visit::Retry => return Ok(Finished::Retry(id, task)),
            Visit::Recorded(recorded) => recorded,
            Visit::Record(outcome, exchange) => {
                match self.settle(&task, outcome, exchange).await? {
                    Reply::Settled(settled) => settled,
                    Reply::Parse(_) => return Err(RecorderGone),
                }
            }
        };
        Ok(Finished::Recorded(id, task, recorded))
    }

    async fn visit(self: &Arc<Self>, id: TaskId, task: &Arc<Task>) -> Result<Visit, RecorderGone> {
        if task.over_budget {
            return Ok(Visit::Record(Outcome::OverBudget, None));
        }
        let Ok(url) = Url::parse(&task.queued.url.url) else {
            return Ok(Visit::skipped(Reason::Failure, "not a URL"));
        };
        if let Some(refusal) = task.robots.as_deref().and_then(|robots| robots.refusal(&url)) {
            let robots = task.robots.as_deref();
            let cause =
                robots.and_then(Robots::unreachable_reason).map(|_| SkipCause::RobotsNotReceived);
            let skipped = Skipped { detail: Some(refusal), cause, ..skipped(Reason::Robots) };
            return Ok(Visit::Record(Outcome::Skipped(skipped), None));
        }
        let limit = match task.queued.url.kind {
            UrlKind::Page => Limit::Page,
            UrlKind::Sitemap => Limit::Sitemap,
        };
        let mut got = self.request(id, &url, limit).await;
        trace(&url, task.attempt, &got);
        let exchange = take_exchange(&mut got);
        if task.attempt < self.retries && is_retryable(&got) {
            if let Some(exchange) = exchange {
                self.send(Request::Archive(exchange)).await?;
            }
            return Ok(Visit::Retry);
        }
        match got {
            Ok(answer) => self.receive(task, url, answer, exchange).await,
            Err(error) => {
                let (detail, unanswered) = (Some(error.explain()), error.is_unanswered());
                let skipped = Skipped { detail, unanswered, ..skipped(Reason::Failure) };
                Ok(Visit::Record(Outcome::Skipped(skipped), exchange))
            }
        }
    }

    /// Makes one request, and reports to the frontier when it has ended.
    async fn request(&self, id: TaskId, url: &Url, limit: Limit) -> Result<Answer, FetchError> {
        let got = self.fetcher.get(url, limit).await;
        let (address, signal) = match &got {
            Ok(answer) if matches!(answer.status.as_u16(), 429 | 503) => {
                (Some(answer.address.ip()), Signal::Overload { retry_after: answer.retry_after })
            }
            Ok(answer) => (Some(answer.address.ip()), Signal::Fine),
            Err(_) => (None, Signal::Fine),
        };
        // If nobody receives it, the run has ended.
        drop(self.responses.send(Responded { id, address, signal }).await);
        got
    }

    /// Decides what a response is: a redirect, an error, a sitemap, a page or something else.
    async fn receive(
        self: &Arc<Self>,
        task: &Arc<Task>,
        url: Url,
        mut answer: Answer,
        exchange: Option<Exchange>,
    ) -> Result<Visit, RecorderGone> {
        let status = answer.status.as_u16();
        let answered = Answered {
            status,
            content_type: answer.content_type.take(),
            at: Timestamp::now(),
            cut: answer.is_cut(),
        };
        let outcome = if answer.is_redirect() {
            Outcome::Redirect { status, target: self.redirect_target(&url, &answer) }
        } else if !answer.is_success() {
            Outcome::Skipped(Skipped { status: Some(status), ..skipped(Reason::Status) })
        } else if task.queued.url.kind == UrlKind::Sitemap {
            let sitemap = self.compute(move || sitemap::parse(&answer.body, &url)).await;
            Outcome::Sitemap(answered, sitemap)
        } else if answer.extent == Extent::Skipped
            || !is_html(answered.content_type.as_deref(), &answer.body)
        {
            let (detail, status, counted) = (Some(received_type(&answered)), Some(status), true);
            Outcome::Skipped(Skipped { detail, status, counted, ..skipped(Reason::ContentType) })
        } else {
            let page = Page {
                url: Some(url),
                content_type: answered.content_type.clone(),
                x_robots_tag: answer.x_robots_tag,
                body: answer.body,
            };
            return self.read(task, answered, page, exchange).await;
        };
        Ok(Visit::Record(outcome, exchange))
    }

    fn redirect_target(&self, url: &Url, answer: &Answer) -> Result<NormalUrl, String> {
        let location = || answer.location.as_deref().unwrap_or_default();
        let target =
            answer.redirect_target(url).ok_or_else(|| format!("no target: {}", location()))?;
        NormalUrl::new(&target, &self.url_options).map_err(|error| error.to_string())
    }

    /// Parses a page, unless the recorder can decide it by its body.
    async fn read(
        self: &Arc<Self>,
        task: &Arc<Task>,
        answered: Answered,
        page: Page,
        mut exchange: Option<Exchange>,
    ) -> Result<Visit, RecorderGone> {
        let page = Arc::new(page);
        let mut body = None;
        if self.probes {
            let probed = Arc::clone(&page);
            let digest = self.compute(move || Digest::of(&probed.body)).await;
            body = Some(digest);
            let outcome = Outcome::Body(answered.clone(), digest);
            match self.settle(task, outcome, exchange).await? {
                Reply::Settled(settled) => return Ok(Visit::Recorded(settled)),
                Reply::Parse(back) => exchange = back,
            }
        }
        let (worker, task) = (Arc::clone(self), Arc::clone(task));
        let (at, cut) = (answered.at, answered.cut);
        let parsed = self.compute(move || {
            let parsed = worker.parse(&task.queued.url.url, &page, body, cut);
            Parsed { document: parsed.document.with_time(at), ..parsed }
        });
        let parsed = parsed.await;
        Ok(Visit::Record(Outcome::Page(answered, Box::new(parsed)), exchange))
    }

    /// Extracts and fingerprints a page.
    fn parse(&self, id: &str, page: &Page, body: Option<Digest>, cut: bool) -> Parsed {
        let extracted = self.extractor.extract(page);
        let origin = page.url.as_ref().and_then(Origin::of);
        let document = self.documents.extracted(id, origin.as_ref(), &extracted);
        let mut seen = HashSet::new();
        let followed =
            extracted.links.iter().filter(|link| !link.nofollow && !extracted.robots.nofollow);
        let normal = followed.filter_map(|link| NormalUrl::new(&link.url, &self.url_options).ok());
        let links = normal.filter(|url| seen.insert(url.clone())).collect();
        let canonical = extracted.canonical;
        Parsed {
            document: document.with_body(body.unwrap_or_else(|| Digest::of(&page.body))),
            charset: extracted.charset,
            truncated: extracted.truncated.or(cut.then_some(Truncation::Body)),
            noindex: extracted.robots.noindex,
            canonical: canonical.and_then(|url| NormalUrl::new(&url, &self.url_options).ok()),
            title: extracted.title,
            text: extracted.text,
            links,
        }
    }

    /// Fetches a robots.txt.
    pub(super) async fn fetch_robots(
        self: Arc<Self>,
        id: TaskId,
        task: RobotsTask,
    ) -> Result<Finished, RecorderGone> {
        let result = AssertUnwindSafe(self.robots(id, &task)).catch_unwind().await;
        let result = result.unwrap_or_else(|_| {
            tracing::error!(host = &*task.name, "a worker panicked");
            Ok(unreachable("the worker panicked"))
        })?;
        Ok(Finished::Robots(id, task, result))
    }

    /// The robots.txt of a host: from the state if it is still valid, else by one request. Its redirects go through the frontier, because
    /// the hosts that they lead to must be treated politely too.
    async fn robots(
        self: &Arc<Self>,
        id: TaskId,
        task: &RobotsTask,
    ) -> Result<RobotsResult, RecorderGone> {
        let origin = format!("{}://{}", task.scheme.as_str(), task.name);
        let mut request = match &task.redirect {
            Some(request) => request.clone(),
            None => match self.ask(|reply| Request::Robots(origin.clone(), reply)).await? {
                Some(RobotsRow { at, body }) if age(at) < VALID => {
                    return Ok(RobotsResult::Rules(self.parse_robots(body).await, age(at)));
                }
                _ => match RobotsRequest::new(&origin) {
                    Ok(request) => request,
                    Err(_) => return Ok(unreachable("its URL is invalid")),
                },
            },
        };
        let mut got = self.request(id, request.url(), Limit::Robots).await;
        let exchange = take_exchange(&mut got);
        let response = request.receive(got);
        let robots = match &response {
            RobotsResponse::Content(body) => {
                Some(RobotsRow { at: Timestamp::now(), body: body.clone() })
            }
            RobotsResponse::Redirect | RobotsResponse::Unreachable(_) => None,
        };
        self.send(Request::KeepRobots { origin, robots, exchange }).await?;
        Ok(match response {
            RobotsResponse::Redirect => RobotsResult::Redirect(request),
            RobotsResponse::Content(body) => {
                RobotsResult::Rules(self.parse_robots(body).await, Duration::ZERO)
            }
            RobotsResponse::Unreachable(_) if task.attempt < self.retries => {
                RobotsResult::Retry { chance: rand::random() }
            }
            RobotsResponse::Unreachable(why) => unreachable(&why),
        })
    }

    /// Parses a robots.txt, which may have 500 KiB, on the pool.
    async fn parse_robots(self: &Arc<Self>, body: Vec<u8>) -> Arc<Robots> {
        let worker = Arc::clone(self);
        Arc::new(self.compute(move || Robots::parse(&body, &worker.agent)).await)
    }

    /// Runs something that costs CPU on the pool. Panics if that panics.
    async fn compute<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, result) = oneshot::channel();
        self.pool.spawn(move || drop(sender.send(work())));
        result.await.expect("the work on the pool does not panic")
    }

    async fn settle(
        &self,
        task: &Arc<Task>,
        outcome: Outcome,
        exchange: Option<Exchange>,
    ) -> Result<Reply, RecorderGone> {
        let settle = Box::new(Settle { task: Arc::clone(task), outcome, exchange });
        self.ask(|reply| Request::Settle(settle, reply)).await
    }

    /// Sends the recorder a request and waits for the answer.
    async fn ask<T>(
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

fn skipped(reason: Reason) -> Skipped {
    Skipped { reason, detail: None, cause: None, status: None, counted: false, unanswered: false }
}

fn unreachable(why: &str) -> RobotsResult {
    RobotsResult::Rules(Arc::new(Robots::unreachable(why)), Duration::ZERO)
}

fn age(at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(Timestamp::now().0 - at.0).unwrap_or(0))
}

/// Takes out what arrived, if exchanges are kept: also of a response that did not arrive whole.
fn take_exchange(got: &mut Result<Answer, FetchError>) -> Option<Exchange> {
    match got {
        Ok(answer) => answer.exchange.take(),
        Err(error) => error.take_exchange(),
    }
}

fn trace(url: &Url, attempt: u32, got: &Result<Answer, FetchError>) {
    match got {
        Ok(answer) => {
            let (status, bytes) = (answer.status.as_u16(), answer.body.len());
            tracing::debug!(%url, attempt, status, bytes, "response");
        }
        Err(error) => tracing::debug!(%url, attempt, error = error.explain(), "no response"),
    }
}

/// Whether another attempt may succeed.
fn is_retryable(got: &Result<Answer, FetchError>) -> bool {
    match got {
        Ok(answer) => matches!(answer.status.as_u16(), 429 | 500..600),
        Err(error) => error.is_retryable(),
    }
}

/// The content type as received, or that there was none.
fn received_type(answered: &Answered) -> String {
    let named = answered.content_type.as_deref().filter(|named| !named.trim().is_empty());
    named.unwrap_or("none").to_owned()
}
