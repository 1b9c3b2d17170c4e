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
    fetch::{Answer, Extent, FetchError, Fetcher, Limit, is_html},
    frontier::{RobotsResult, RobotsTask, Task, TaskId},
    plan::{CrawlError, Links, Plan, Store},
    politeness::Signal,
    recorder::{Outcome, Parsed, Probe, Probed, Received, Record, Request, Skipped},
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
    /// The recorder has the outcome, and reports it to the loop.
    Submitted,
    /// The URL must be fetched again.
    Retry(Arc<Task>),
    /// The robots.txt was fetched, or not.
    Robots(Arc<RobotsTask>, RobotsResult),
}

/// The recorder has ended, and with it the run.
#[derive(Debug)]
pub(super) struct RecorderGone;

/// What the visit of a URL led to.
enum Visit {
    Retry,
    /// The outcome is to be recorded.
    Record(Box<Record>),
    /// The recorder has recorded the page by its body.
    Recorded,
}

impl Visit {
    fn record(task: &Arc<Task>, outcome: Outcome, exchange: Option<Exchange>) -> Self {
        Self::Record(Box::new(Record { task: Arc::clone(task), outcome, exchange }))
    }

    fn failed(task: &Arc<Task>, detail: &str) -> Self {
        let failure = Skipped::new(Reason::Failure);
        let skipped = Skipped { detail: Some(detail.to_owned()), ..failure };
        Self::record(task, Outcome::Skipped(skipped), None)
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

    /// Fetches a URL and submits the outcome to the recorder.
    pub(super) async fn fetch(self: Arc<Self>, task: Arc<Task>) -> Result<Finished, RecorderGone> {
        let visit = AssertUnwindSafe(self.visit(&task)).catch_unwind().await;
        let visit = visit.unwrap_or_else(|_| {
            tracing::error!(url = task.queued.url.url, "a worker panicked");
            Ok(Visit::failed(&task, "the worker panicked"))
        })?;
        match visit {
            Visit::Retry => return Ok(Finished::Retry(task)),
            Visit::Recorded => {}
            Visit::Record(record) => self.send(Request::Record(record)).await?,
        }
        Ok(Finished::Submitted)
    }

    async fn visit(self: &Arc<Self>, task: &Arc<Task>) -> Result<Visit, RecorderGone> {
        if task.over_budget {
            return Ok(Visit::record(task, Outcome::OverBudget, None));
        }
        let Ok(url) = Url::parse(&task.queued.url.url) else {
            return Ok(Visit::failed(task, "not a URL"));
        };
        if let Some(robots) = &task.robots
            && let Some(refusal) = robots.refusal(&url)
        {
            let unreachable = robots.unreachable_reason().map(|_| SkipCause::RobotsNotReceived);
            let (cause, detail) = (unreachable, Some(refusal));
            let skipped = Skipped { cause, detail, ..Skipped::new(Reason::Robots) };
            return Ok(Visit::record(task, Outcome::Skipped(skipped), None));
        }
        let limit = match task.queued.url.kind {
            UrlKind::Page => Limit::Page,
            UrlKind::Sitemap => Limit::Sitemap,
        };
        let mut got = self.request(task.id, &url, limit).await;
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
                let skipped = Skipped { detail, unanswered, ..Skipped::new(Reason::Failure) };
                Ok(Visit::record(task, Outcome::Skipped(skipped), exchange))
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
        let received = Received {
            status,
            content_type: answer.content_type.take(),
            at: Timestamp::now(),
            is_cut: answer.is_cut(),
        };
        let outcome = if answer.is_redirect() {
            Outcome::Redirect { status, target: self.redirect_target(&url, &answer) }
        } else if !answer.is_success() {
            Outcome::Skipped(Skipped { status: Some(status), ..Skipped::new(Reason::Status) })
        } else if task.queued.url.kind == UrlKind::Sitemap {
            let sitemap = self.compute(move || sitemap::parse(&answer.body, &url)).await;
            Outcome::Sitemap(received, sitemap)
        } else if answer.extent == Extent::Skipped
            || !is_html(received.content_type.as_deref(), &answer.body)
        {
            let named = received.content_type.filter(|named| !named.trim().is_empty());
            let (detail, status) = (named.or(Some("none".to_owned())), Some(status));
            Outcome::Skipped(Skipped { detail, status, ..Skipped::new(Reason::ContentType) })
        } else {
            let page = Page {
                url: Some(url),
                content_type: received.content_type.clone(),
                x_robots_tag: answer.x_robots_tag,
                body: answer.body,
            };
            return self.read(task, received, page, exchange).await;
        };
        Ok(Visit::record(task, outcome, exchange))
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
        received: Received,
        page: Page,
        mut exchange: Option<Exchange>,
    ) -> Result<Visit, RecorderGone> {
        let page = Arc::new(page);
        let mut body = None;
        if self.probes {
            let probed = Arc::clone(&page);
            let digest = self.compute(move || Digest::of(&probed.body)).await;
            body = Some(digest);
            let (task, received) = (Arc::clone(task), received.clone());
            let probe = Box::new(Probe { task, received, body: digest, exchange });
            match self.ask(|reply| Request::Probe(probe, reply)).await? {
                Probed::Recorded => return Ok(Visit::Recorded),
                Probed::Undecided(back) => exchange = back,
            }
        }
        let (worker, parsed_task) = (Arc::clone(self), Arc::clone(task));
        let (at, is_cut) = (received.at, received.is_cut);
        let parsed = self.compute(move || {
            let body = body.unwrap_or_else(|| Digest::of(&page.body));
            let mut parsed = worker.parse(&parsed_task.queued.url.url, &page);
            parsed.document = parsed.document.with_body(body).with_time(at);
            parsed.truncated = parsed.truncated.or(is_cut.then_some(Truncation::Body));
            parsed
        });
        let outcome = Outcome::Page(received, Box::new(parsed.await));
        Ok(Visit::record(task, outcome, exchange))
    }

    /// Extracts a page's text and links, and makes the document to be judged.
    fn parse(&self, id: &str, page: &Page) -> Parsed {
        let extracted = self.extractor.extract(page);
        let origin = page.url.as_ref().and_then(Origin::of);
        let normal = |url| NormalUrl::new(url, &self.url_options).ok();
        let mut seen = HashSet::new();
        let followed =
            extracted.links.iter().filter(|link| !link.nofollow && !extracted.robots.nofollow);
        Parsed {
            document: self.documents.extracted(id, origin.as_ref(), &extracted),
            links: followed
                .filter_map(|link| normal(&link.url))
                .filter(|url| seen.insert(url.clone()))
                .collect(),
            canonical: extracted.canonical.as_ref().and_then(normal),
            charset: extracted.charset,
            truncated: extracted.truncated,
            noindex: extracted.robots.noindex,
            title: extracted.title,
            text: extracted.text,
        }
    }

    /// Fetches a robots.txt.
    pub(super) async fn fetch_robots(
        self: Arc<Self>,
        task: Arc<RobotsTask>,
    ) -> Result<Finished, RecorderGone> {
        let result = AssertUnwindSafe(self.robots(&task)).catch_unwind().await;
        let result = result.unwrap_or_else(|_| {
            tracing::error!(host = &*task.name, "a worker panicked");
            Ok(unreachable("the worker panicked"))
        })?;
        Ok(Finished::Robots(task, result))
    }

    /// The robots.txt of a host: from the state if it is still valid, else by one request. Its redirects go through the frontier, because
    /// the hosts that they lead to must be treated politely too.
    async fn robots(self: &Arc<Self>, task: &RobotsTask) -> Result<RobotsResult, RecorderGone> {
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
        let mut got = self.request(task.id, request.url(), Limit::Robots).await;
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
