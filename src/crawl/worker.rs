//! Workers: a task for each request. The engine starts one of two:
//!
//! - [`Worker::fetch`] fetches a URL, unless robots.txt forbids it. What the response is (a page, a sitemap, a redirect, ...) `receive` decides.
//! - [`Worker::fetch_robots`] gets a robots.txt, and parses one that is known.
//!
//! Each request's end is reported to the engine at once (`request`), so that politeness does not wait for parsing; the outcome follows. A worker
//! keeps no state. It leaves what costs CPU to a fixed pool of threads. If it panics, the URL is recorded as a failure.
//!
//! Whether robots.txt allows its request a worker asks, not the engine: a hostile robots.txt has 10,000 long patterns to compare with each URL,
//! and the engine would start nothing meanwhile.

use std::{
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, Span, field, trace_span};
use url::Url;

use super::{
    fetch::{
        Contact, Extent, FetchError, Fetcher, MemoryShare, Resource, Response, format_of, is_html,
    },
    plan::{CrawlError, Plan},
    politeness::RequestEnd,
    robots::{Robots, RobotsRequest, RobotsResponse, product_token},
    schedule::{RobotsTask, Task, TaskId},
    sitemap::{self, Sitemap},
};
use crate::{
    cluster::Lease,
    extract::{self, Extracted, Extractor, Truncation},
    filter::{Document, Documents},
    fingerprint::Digest,
    page::{NormalUrl, Page, Timestamp, UrlOptions, Validators},
    sink::warc::Exchange,
    state::{Reason, RobotsRow, SkipCause, UrlKind, Visit},
};

/// Of a redirect's target that is no URL, at most this many bytes are recorded.
const LONGEST_TARGET: usize = 1 << 10;

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
    /// That of a member of a shared crawl: without it, no request is made.
    lease: Option<Arc<Lease>>,
    /// Whether pages are requested, and not only what says which may be.
    requests_pages: bool,
    events: mpsc::Sender<Event>,
}

impl Worker {
    pub(super) fn new(
        plan: &Plan,
        documents: Documents,
        lease: Option<Arc<Lease>>,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, CrawlError> {
        let agent = product_token(&plan.crawl.user_agent).to_owned();
        let mut fetcher = Fetcher::new(&plan.fetch, &plan.crawl.user_agent)?;
        fetcher.keep_exchanges = plan.store.warc;
        // A panic is reported by the task that waits for the result.
        let pool = ThreadPoolBuilder::new().thread_name(|n| format!("page-{n}"));
        Ok(Self {
            fetcher,
            extractor: Extractor::new(extract::Options {
                agent: Some(agent.clone()),
                rules: plan.extract.clone(),
            }),
            documents,
            pool: pool.panic_handler(|_| {}).build()?,
            url_options: plan.crawl.url_options(),
            agent,
            lease,
            requests_pages: plan.requests_pages,
            events,
        })
    }

    /// Fetches a URL and reports the outcome.
    pub(super) async fn fetch(self: Arc<Self>, task: Arc<Task>) {
        let url = task.queued.url.url.requested();
        let span = trace_span!("page", url.full = %url, verdict = field::Empty);
        let fetching = self.check_and_fetch(&task).instrument(span.clone());
        let result = AssertUnwindSafe(fetching).catch_unwind().await;
        let (outcome, exchange) = result.unwrap_or_else(|_| {
            tracing::error!(%url, "a worker panicked");
            (Outcome::failure("the worker panicked"), None)
        });
        self.report(Event::Fetched(Box::new(Fetched { task, outcome, exchange, span }))).await;
    }

    async fn check_and_fetch(self: &Arc<Self>, task: &Arc<Task>) -> (Outcome, Option<Exchange>) {
        let url = task.queued.url.url.requested();
        if let Some(robots) = &task.robots
            && let Some(refusal) = robots.refusal(url)
        {
            return (Outcome::Skipped(refused(robots, refusal)), None);
        }
        let resource = match task.queued.url.kind {
            UrlKind::Page if !self.requests_pages => {
                return (Outcome::Skipped(Skipped::new(Reason::Pending, None, None)), None);
            }
            UrlKind::Page => Resource::Page,
            UrlKind::Sitemap => Resource::Sitemap,
        };
        let known = known(task).map(|visit| &visit.validators);
        let began = Instant::now();
        let (got, exchange) =
            self.request(task.id, (url, known), resource, task.head_timeout).await;
        let took = began.elapsed();
        let outcome = match got {
            Ok(response) => self.receive(task, response, took).await,
            Err(error) => Outcome::Skipped(failed(&error)),
        };
        (outcome, exchange)
    }

    /// Reports to the engine. If it does not receive it, the run has ended.
    async fn report(&self, event: Event) {
        drop(self.events.send(event).await);
    }

    /// Makes one request, and reports when it has ended.
    async fn request(
        &self,
        id: TaskId,
        (url, known): (&Url, Option<&Validators>),
        resource: Resource,
        head_timeout: Option<Duration>,
    ) -> (Result<Response, FetchError>, Option<Exchange>) {
        if let Some(lease) = &self.lease {
            lease.held().await;
        }
        let span = trace_span!(
            "fetch",
            otel.kind = "client",
            url.full = %url,
            http.response.status_code = field::Empty,
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
        );
        let exchange = self.fetcher.exchange(url, resource, head_timeout, known);
        let (got, exchange) = exchange.instrument(span.clone()).await;
        trace(url, &got, &span);
        self.report(Event::Responded(id, request_end(&got))).await;
        (got, exchange)
    }

    /// Decides what a response is: a redirect, an error, a sitemap, a page or something else.
    async fn receive(
        self: &Arc<Self>,
        task: &Arc<Task>,
        mut response: Response,
        took: Duration,
    ) -> Outcome {
        let url = task.queued.url.url.requested();
        let status = response.status.as_u16();
        let received = Received {
            status,
            content_type: response.content_type.take(),
            at: Timestamp::now(),
            size: response.body.len() as u64,
            took,
            is_cut: response.extent == Extent::Cut,
            validators: std::mem::take(&mut response.validators),
            share: response.share.take(),
        };
        if status == 304
            && let Some(visit) = known(task)
        {
            return Outcome::Unchanged(Box::new(visit.clone()), received.at);
        }
        if response.is_redirect() {
            let target = self.redirect_target(url, &response);
            Outcome::Redirect { status, target, sets_cookie: response.sets_cookie }
        } else if !response.status.is_success() {
            let retry = may_pass(status).then_some(Retry::Answered);
            let cause = retry.map(|_| SkipCause::Incomplete);
            let skipped = Skipped::new(Reason::Status, Some(status), None);
            Outcome::Skipped(Skipped { cause, retry, ..skipped })
        } else if task.queued.url.kind == UrlKind::Sitemap {
            let url = url.clone();
            let sitemap = self.compute(move || sitemap::parse(&response.body, &url)).await;
            Outcome::Sitemap(received, sitemap)
        } else if !is_html(received.content_type.as_deref(), &response.body) {
            let named = received.content_type.filter(|named| !named.trim().is_empty());
            let named = named.unwrap_or("none".to_owned());
            let detail = match format_of(&response.body) {
                Some(format) => format!("{named}, but the body is {format}"),
                None => named,
            };
            Outcome::Skipped(Skipped::new(Reason::ContentType, Some(status), Some(detail)))
        } else {
            let page = Page {
                url: Some(url.clone()),
                content_type: received.content_type.clone(),
                x_robots_tag: response.x_robots_tag,
                link: response.link,
                refresh: response.refresh,
                body: response.body,
            };
            self.read(task, received, page).await
        }
    }

    fn redirect_target(&self, url: &Url, response: &Response) -> Result<NormalUrl, String> {
        let Some(target) = response.redirect_target(url) else {
            let location = response.location.as_deref().unwrap_or_default();
            let shown = &location[..location.floor_char_boundary(LONGEST_TARGET)];
            return Err(format!("no target: {shown}"));
        };
        NormalUrl::redirected(&target, &self.url_options).map_err(|error| error.to_string())
    }

    /// Parses a page.
    async fn read(self: &Arc<Self>, task: &Arc<Task>, received: Received, page: Page) -> Outcome {
        let (worker, parsed_task, at) = (Arc::clone(self), Arc::clone(task), received.at);
        let span = trace_span!("parse");
        let parse = move || worker.parse(&parsed_task.queued.url.url, &page, at);
        let parsed = self.compute(move || span.in_scope(parse));
        let mut parsed = parsed.await;
        if received.is_cut {
            parsed.extracted.truncated.get_or_insert(Truncation::Body);
        }
        Outcome::Page(received, Box::new(parsed))
    }

    /// Extracts a page's text and links, and makes the document to be judged.
    fn parse(&self, url: &NormalUrl, page: &Page, at: Timestamp) -> Parsed {
        let extracted = self.extractor.extract(page);
        let normal = |url| NormalUrl::new(url, &self.url_options).ok();
        let mut seen = HashSet::new();
        let followed =
            extracted.links.iter().filter(|link| !link.nofollow && !extracted.robots.nofollow);
        let links = followed.filter_map(|link| normal(&link.url));
        let body = Some(Digest::of(&page.body));
        let document =
            self.documents.extracted(url.as_str(), Some(&url.origin()), &extracted, body);
        Parsed {
            document: document.with_time(at),
            links: links.filter(|url| seen.insert(url.clone())).collect(),
            canonical: extracted.canonical.as_ref().and_then(normal),
            extracted,
        }
    }

    /// Gets a robots.txt and reports it: that which is `known`, or by one request. Its redirects go through the schedule, because the hosts that
    /// they lead to must be treated politely too.
    pub(super) async fn fetch_robots(
        self: Arc<Self>,
        task: Arc<RobotsTask>,
        known: Option<RobotsRow>,
    ) {
        let result = AssertUnwindSafe(self.robots(&task, known)).catch_unwind().await;
        let (outcome, exchange) = result.unwrap_or_else(|_| {
            tracing::error!(host = &*task.name, "a worker panicked");
            (missing(&task, "the worker panicked", Contact::Answered, None), None)
        });
        self.report(Event::Robots(task, outcome, exchange)).await;
    }

    async fn robots(
        self: &Arc<Self>,
        task: &RobotsTask,
        known: Option<RobotsRow>,
    ) -> (RobotsOutcome, Option<Exchange>) {
        if let Some(RobotsRow { at, body }) = known {
            return (RobotsOutcome::Rules(self.parse_robots(body).await, age(at), None), None);
        }
        let mut request = task.request.clone();
        let (got, exchange) =
            self.request(task.id, (request.url(), None), Resource::Robots, task.head_timeout).await;
        let retry = retry_of(&got);
        let outcome = match request.receive(got) {
            RobotsResponse::Redirect => RobotsOutcome::Redirect(request),
            RobotsResponse::Content(body) => {
                let row = RobotsRow { at: Timestamp::now(), body: body.clone() };
                RobotsOutcome::Rules(self.parse_robots(body).await, Duration::ZERO, Some(row))
            }
            RobotsResponse::Unreachable(why, contact) => missing(task, &why, contact, retry),
        };
        (outcome, exchange)
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
}

/// A robots.txt was not received.
fn missing(task: &RobotsTask, why: &str, contact: Contact, retry: Option<Retry>) -> RobotsOutcome {
    let robots = Robots::unreachable(why, contact);
    let refusal = robots.refusal(task.queued.url.url.as_url()).unwrap_or_default();
    let skipped = Skipped { retry, ..refused(&robots, refusal) };
    RobotsOutcome::Failed(skipped, Arc::new(robots))
}

/// Whether another request may go better, and how this one went.
fn retry_of(got: &Result<Response, FetchError>) -> Option<Retry> {
    match got {
        Ok(response) => may_pass(response.status.as_u16()).then_some(Retry::Answered),
        Err(error) => retry_of_error(error),
    }
}

fn retry_of_error(error: &FetchError) -> Option<Retry> {
    match error.contact() {
        Contact::Local => Some(Retry::Local),
        _ if !error.is_retryable() => None,
        Contact::Unanswered if !error.is_late() => Some(Retry::Unanswered),
        _ if error.has_head() => Some(Retry::Answered),
        _ => Some(Retry::Reached),
    }
}

/// How a request has ended, for the schedule.
fn request_end(got: &Result<Response, FetchError>) -> RequestEnd {
    let error = match got {
        Ok(response) => {
            let (address, retry_after) = (response.address.ip(), response.retry_after);
            return match response.status.as_u16() {
                401 | 403 => RequestEnd::Refused(address),
                429 | 503 => RequestEnd::Overload { address, retry_after },
                _ => RequestEnd::Response(address),
            };
        }
        Err(error) => error,
    };
    match error.contact() {
        Contact::Local => RequestEnd::Local,
        Contact::Unanswered if error.is_late() => RequestEnd::Late,
        Contact::Unanswered if error.is_retryable() => RequestEnd::Unanswered,
        Contact::Answered | Contact::Broken => RequestEnd::Broken,
        Contact::Unanswered | Contact::Forbidden => RequestEnd::Unknown,
    }
}

/// Why a URL is skipped that robots.txt refuses. Without a response of the host, that is the reason, not robots.txt.
fn refused(robots: &Robots, refusal: String) -> Skipped {
    let (reason, cause) = match robots.contact() {
        None => (Reason::Robots, None),
        Some(Contact::Answered) => (Reason::Robots, Some(SkipCause::RobotsNotReceived)),
        Some(_) => (Reason::Failure, Some(SkipCause::Unreachable)),
    };
    Skipped { cause, ..Skipped::new(reason, None, Some(refusal)) }
}

/// Why a URL is skipped whose fetch has failed.
fn failed(error: &FetchError) -> Skipped {
    let contact = error.contact();
    let cause = match contact {
        Contact::Unanswered | Contact::Forbidden if !error.is_late() => {
            Some(SkipCause::Unreachable)
        }
        _ => error.is_retryable().then_some(SkipCause::Incomplete),
    };
    let skipped = Skipped::new(Reason::Failure, None, Some(error.explain()));
    Skipped { cause, retry: retry_of_error(error), ..skipped }
}

fn age(at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(Timestamp::now().0.saturating_sub(at.0)).unwrap_or(0))
}

fn trace(url: &Url, got: &Result<Response, FetchError>, span: &Span) {
    match got {
        Ok(response) => {
            let (status, bytes) = (response.status.as_u16(), response.body.len());
            span.record("http.response.status_code", status);
            tracing::debug!(%url, status, bytes, "response");
        }
        Err(error) => {
            let error = error.explain();
            span.record("otel.status_code", "ERROR").record("otel.status_description", &*error);
            tracing::debug!(%url, error, "no response");
        }
    }
}

/// Whether the same request may get another status some hours later: the server is out of order or overloaded, rather than unable to
/// answer this request.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..600)
        && !matches!(status, 501 | 505 | 506 | 508 | 510 | 511)
}

/// What is known of a page that can be asked whether it has changed.
fn known(task: &Task) -> Option<&Visit> {
    task.queued.visit.as_deref().filter(|visit| !visit.validators.is_empty())
}

/// A report.
#[derive(Debug)]
pub(super) enum Event {
    /// The request of a task has ended. What became of the task comes later.
    Responded(TaskId, RequestEnd),
    /// The task of a URL has ended.
    Fetched(Box<Fetched>),
    /// The task of a robots.txt has ended so, and what was sent and received, if that is archived.
    Robots(Arc<RobotsTask>, RobotsOutcome, Option<Exchange>),
}

/// What became of a URL.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) task: Arc<Task>,
    pub(super) outcome: Outcome,
    /// What was sent and received, if it is archived.
    pub(super) exchange: Option<Exchange>,
    /// The way of the page, for tracing.
    pub(super) span: Span,
}

/// What became of a URL that is new, or of a known page that was asked for again.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A page to be judged.
    Page(Received, Box<Parsed>),
    /// A known page has not changed since its validators were received, as its server says at this time.
    Unchanged(Box<Visit>, Timestamp),
    /// A sitemap.
    Sitemap(Received, Sitemap),
    /// A redirect, and its target or why there is none; or only a cookie for the next request.
    Redirect { status: u16, target: Result<NormalUrl, String>, sets_cookie: bool },
    /// Nothing to be judged.
    Skipped(Skipped),
}

impl Outcome {
    pub(super) fn failure(detail: &str) -> Self {
        Self::Skipped(Skipped::new(Reason::Failure, None, Some(detail.to_owned())))
    }

    /// Whether a page was received with status 2xx.
    pub(super) fn is_page(&self) -> bool {
        match self {
            Self::Page(..) => true,
            Self::Skipped(skipped) => skipped.reason == Reason::ContentType,
            Self::Unchanged(..) | Self::Sitemap(..) | Self::Redirect { .. } => false,
        }
    }
}

/// What became of the request for a robots.txt.
#[derive(Debug)]
pub(super) enum RobotsOutcome {
    /// The rules, the time since they were received, and the file if it is new.
    Rules(Arc<Robots>, Duration, Option<RobotsRow>),
    /// It must be requested elsewhere.
    Redirect(RobotsRequest),
    /// It was not received: why the URL that needs it would be skipped, and what it then means for others.
    Failed(Skipped, Arc<Robots>),
}

/// What is known of a response besides its body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) at: Timestamp,
    /// The length of the body, without its content coding.
    pub(super) size: u64,
    /// The time from the beginning of the request to the end of the body.
    pub(super) took: Duration,
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
    /// How the request went, if another one may go better.
    pub(super) retry: Option<Retry>,
}

/// How a request went after which another one may go better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// A response came, at least its head.
    Answered,
    /// None came, though the host was reached.
    Reached,
    /// The host was not reached.
    Unanswered,
    /// This machine is short of something.
    Local,
}

impl Skipped {
    pub(super) fn new(reason: Reason, status: Option<u16>, detail: Option<String>) -> Self {
        Self { reason, cause: None, detail, status, retry: None }
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
