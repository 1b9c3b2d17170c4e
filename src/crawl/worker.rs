//! Workers: a task for each request. The loop starts one of three:
//!
//! - [`Worker::fetch`] fetches a URL, unless robots.txt forbids it or the recorder knows that it is not worth a request (`check_and_fetch`). What
//!   the response is (a page, a sitemap, a redirect, ...) `receive` decides, and the recorder gets the outcome.
//! - [`Worker::fetch_robots`] gets a robots.txt: from the state, or by a request.
//! - [`Worker::probe`] asks a host that has failed, or any if the network is in doubt, whether it answers. Only the end of the request counts.
//!
//! Each request's end is reported to the frontier at once (`request`), so that politeness does not wait for parsing. A worker keeps no state. It
//! leaves what costs CPU to a fixed pool of threads, and what must be remembered to the recorder. If it panics, the URL is recorded as a
//! failure.
//!
//! Two questions about its own request come first: whether robots.txt allows it, and whether the recorder still wants it or knows the answer. The
//! loop does not ask them: a hostile robots.txt has 10,000 long patterns to compare with each URL, and the loop would start nothing meanwhile.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::{
    fetch::{Contact, Extent, FetchError, Fetcher, Resource, Response, format_of, is_html},
    frontier::{ProbeTask, RobotsResult, RobotsTask, Task, TaskId},
    plan::{CrawlError, Plan},
    politeness::RequestEnd,
    recorder::{Outcome, Parsed, Received, Record, Request, Skipped, Update},
    robots::{Robots, RobotsResponse, VALID, product_token},
    sitemap,
};
use crate::{
    extract::{self, Extractor, Truncation},
    filter::Documents,
    fingerprint::Digest,
    page::{NormalUrl, Page, Timestamp, UrlOptions, Validators},
    sink::warc::Exchange,
    state::{Reason, RobotsRow, SkipCause, UrlKind, Visit},
};

/// How long a host may take to show that it answers.
const PROBE_TIME: Duration = Duration::from_secs(10);

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
    retries: u32,
    /// Whether the recorder is asked if a URL is worth a request.
    learns: bool,
    requests: mpsc::Sender<Request>,
    updates: mpsc::Sender<Update>,
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
    /// A host was asked whether it answers; the request was reported.
    Probed(Arc<ProbeTask>),
}

/// The recorder has ended, and with it the run.
#[derive(Debug)]
pub(super) struct RecorderGone;

impl Worker {
    pub(super) fn new(
        plan: &Plan,
        documents: Documents,
        requests: mpsc::Sender<Request>,
        updates: mpsc::Sender<Update>,
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
            retries: plan.fetch.retries,
            learns: plan.dedup.learns(),
            requests,
            updates,
        })
    }

    /// Fetches a URL and submits the outcome to the recorder.
    pub(super) async fn fetch(self: Arc<Self>, task: Arc<Task>) -> Result<Finished, RecorderGone> {
        let visit = AssertUnwindSafe(self.check_and_fetch(&task)).catch_unwind().await;
        if let Ok(finished) = visit {
            return finished;
        }
        tracing::error!(url = %task.queued.url.url, "a worker panicked");
        self.record(&task, Outcome::failure("the worker panicked"), None).await
    }

    async fn check_and_fetch(self: &Arc<Self>, task: &Arc<Task>) -> Result<Finished, RecorderGone> {
        let url = task.queued.url.url.requested();
        if let Some(robots) = &task.robots
            && let Some(refusal) = robots.refusal(url)
        {
            return self.record(task, Outcome::Skipped(refused(robots, refusal)), None).await;
        }
        if self.learns
            && task.attempt == 0
            && task.queued.visit.is_none()
            && !self.ask(|reply| Request::Ask(Arc::clone(task), reply)).await?
        {
            return Ok(Finished::Submitted);
        }
        let resource = match task.queued.url.kind {
            UrlKind::Page => Resource::Page,
            UrlKind::Sitemap => Resource::Sitemap,
        };
        let known = known(task).map(|visit| &visit.validators);
        let (got, exchange) =
            self.request(task.id, (url, known), resource, task.head_timeout).await;
        trace(url, task.attempt, &got);
        // A host that sends no head holds a slot until the time limit, and a core if it sends responses of status 1xx without end. Its
        // failure is taken back when it answers for another URL; else it is asked again before the run ends.
        let is_late = got.as_ref().is_err_and(FetchError::is_late);
        if !is_late && self.may_retry(task.attempt, &got) {
            if task.queued.url.referrer.is_none() {
                let host = task.queued.url.url.origin().as_str().to_owned();
                let why = why(&got);
                self.send(Request::Tried(host, why)).await?;
            }
            self.archive(exchange).await?;
            return Ok(Finished::Retry(Arc::clone(task)));
        }
        match got {
            Ok(response) => self.receive(task, response, exchange).await,
            Err(error) => {
                let outcome = Outcome::Skipped(failed(&error));
                self.record(task, outcome, exchange).await
            }
        }
    }

    /// Makes one request, and reports to the frontier when it has ended.
    async fn request(
        &self,
        id: TaskId,
        (url, known): (&Url, Option<&Validators>),
        resource: Resource,
        head_timeout: Option<Duration>,
    ) -> (Result<Response, FetchError>, Option<Exchange>) {
        let (got, exchange) = self.fetcher.exchange(url, resource, head_timeout, known).await;
        // If nobody receives it, the run has ended.
        drop(self.updates.send(Update::Responded(id, request_end(&got))).await);
        (got, exchange)
    }

    /// Decides what a response is: a redirect, an error, a sitemap, a page or something else.
    async fn receive(
        self: &Arc<Self>,
        task: &Arc<Task>,
        mut response: Response,
        exchange: Option<Exchange>,
    ) -> Result<Finished, RecorderGone> {
        let url = task.queued.url.url.requested();
        let status = response.status.as_u16();
        let received = Received {
            status,
            content_type: response.content_type.take(),
            at: Timestamp::now(),
            is_cut: response.extent == Extent::Cut,
            validators: std::mem::take(&mut response.validators),
            share: response.share.take(),
        };
        if status == 304
            && let Some(visit) = known(task)
        {
            let outcome = (Box::new(visit.clone()), received.at);
            return self.submit(Request::Unchanged, task, outcome, exchange).await;
        }
        let outcome = if response.is_redirect() {
            Outcome::Redirect { status, target: self.redirect_target(url, &response) }
        } else if !response.status.is_success() {
            let cause = may_pass(status).then_some(SkipCause::Incomplete);
            Outcome::Skipped(Skipped { cause, ..Skipped::new(Reason::Status, Some(status), None) })
        } else if task.queued.url.kind == UrlKind::Sitemap {
            let url = url.clone();
            let sitemap = self.compute(move || sitemap::parse(&response.body, &url)).await;
            return self.submit(Request::Sitemap, task, (received, sitemap), exchange).await;
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
            return self.read(task, received, page, exchange).await;
        };
        self.record(task, outcome, exchange).await
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
    async fn read(
        self: &Arc<Self>,
        task: &Arc<Task>,
        received: Received,
        page: Page,
        exchange: Option<Exchange>,
    ) -> Result<Finished, RecorderGone> {
        let (worker, parsed_task, at) = (Arc::clone(self), Arc::clone(task), received.at);
        let parsed = self.compute(move || worker.parse(&parsed_task.queued.url.url, &page, at));
        let mut parsed = parsed.await;
        if received.is_cut {
            parsed.extracted.truncated.get_or_insert(Truncation::Body);
        }
        let outcome = Outcome::Page(received, Box::new(parsed));
        self.record(task, outcome, exchange).await
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

    /// Asks a host whether it answers.
    pub(super) async fn probe(
        self: Arc<Self>,
        task: Arc<ProbeTask>,
    ) -> Result<Finished, RecorderGone> {
        let request = self.request(task.id, (&task.url, None), Resource::Robots, Some(PROBE_TIME));
        let (_, exchange) = request.await;
        self.archive(exchange).await?;
        Ok(Finished::Probed(task))
    }

    /// Fetches a robots.txt.
    pub(super) async fn fetch_robots(
        self: Arc<Self>,
        task: Arc<RobotsTask>,
    ) -> Result<Finished, RecorderGone> {
        let result = AssertUnwindSafe(self.robots(&task)).catch_unwind().await;
        let result = result.unwrap_or_else(|_| {
            tracing::error!(host = &*task.name, "a worker panicked");
            Ok(unreachable("the worker panicked", Contact::Answered))
        })?;
        Ok(Finished::Robots(task, result))
    }

    /// The robots.txt of a host: from the state if it is still valid, else by one request. Its redirects go through the frontier, because
    /// the hosts that they lead to must be treated politely too.
    async fn robots(self: &Arc<Self>, task: &RobotsTask) -> Result<RobotsResult, RecorderGone> {
        let root_url = format!("{}://{}", task.scheme.as_str(), task.name);
        let mut request = task.request.clone();
        if !request.is_redirected()
            && let Some(RobotsRow { at, body }) =
                self.ask(|reply| Request::Robots(root_url.clone(), reply)).await?
            && age(at) < VALID
        {
            return Ok(RobotsResult::Rules(self.parse_robots(body).await, age(at)));
        }
        let (got, exchange) =
            self.request(task.id, (request.url(), None), Resource::Robots, task.head_timeout).await;
        let may_retry = self.may_retry(task.attempt, &got);
        self.archive(exchange).await?;
        Ok(match request.receive(got) {
            RobotsResponse::Redirect => RobotsResult::Redirect(request),
            RobotsResponse::Content(body) => {
                let row = RobotsRow { at: Timestamp::now(), body: body.clone() };
                self.send(Request::KeepRobots(root_url, row)).await?;
                RobotsResult::Rules(self.parse_robots(body).await, Duration::ZERO)
            }
            RobotsResponse::Unreachable(why, _) if may_retry => {
                self.send(Request::Tried(task.name.to_string(), why)).await?;
                RobotsResult::Retry { chance: rand::random() }
            }
            RobotsResponse::Unreachable(why, contact) => unreachable(&why, contact),
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

    /// Sends the recorder a request and waits for the response.
    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, RecorderGone> {
        let (reply, answer) = oneshot::channel();
        self.send(request(reply)).await?;
        answer.await.map_err(|_| RecorderGone)
    }

    /// Whether a request is made again. The frontier does not count attempts that failed because of this machine.
    fn may_retry(&self, attempt: u32, got: &Result<Response, FetchError>) -> bool {
        match got {
            Err(error) if error.contact() == Contact::Local => attempt <= self.retries,
            got => attempt < self.retries && is_retryable(got),
        }
    }

    /// Has an exchange archived that does not come with the outcome of a URL.
    async fn archive(&self, exchange: Option<Exchange>) -> Result<(), RecorderGone> {
        match exchange {
            Some(exchange) => self.send(Request::Archive(exchange)).await,
            None => Ok(()),
        }
    }

    /// Submits what became of a URL.
    async fn record(
        &self,
        task: &Arc<Task>,
        outcome: Outcome,
        exchange: Option<Exchange>,
    ) -> Result<Finished, RecorderGone> {
        self.submit(Request::Record, task, outcome, exchange).await
    }

    /// Submits what became of a URL, by the request for outcomes of this kind.
    async fn submit<T>(
        &self,
        request: impl FnOnce(Box<Record<T>>) -> Request,
        task: &Arc<Task>,
        outcome: T,
        exchange: Option<Exchange>,
    ) -> Result<Finished, RecorderGone> {
        let record = Record { task: Arc::clone(task), outcome, exchange };
        self.send(request(Box::new(record))).await?;
        Ok(Finished::Submitted)
    }

    async fn send(&self, request: Request) -> Result<(), RecorderGone> {
        self.requests.send(request).await.map_err(|_| RecorderGone)
    }
}

fn unreachable(why: &str, contact: Contact) -> RobotsResult {
    RobotsResult::Rules(Arc::new(Robots::unreachable(why, contact)), Duration::ZERO)
}

/// How a request has ended, for the frontier.
fn request_end(got: &Result<Response, FetchError>) -> RequestEnd {
    let error = match got {
        Ok(response) => {
            let (address, retry_after) = (response.address.ip(), response.retry_after);
            return match response.status.as_u16() {
                429 | 503 => RequestEnd::Overload { address, retry_after },
                _ => RequestEnd::Response(address),
            };
        }
        Err(error) => error,
    };
    match error.contact() {
        Contact::Local => RequestEnd::Local,
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
    let unanswered = robots.contact() == Some(Contact::Unanswered);
    Skipped { cause, unanswered, ..Skipped::new(reason, None, Some(refusal)) }
}

/// Why a URL is skipped whose fetch has failed.
fn failed(error: &FetchError) -> Skipped {
    let contact = error.contact();
    let cause = match contact {
        Contact::Unanswered | Contact::Forbidden => Some(SkipCause::Unreachable),
        _ => error.is_retryable().then_some(SkipCause::Incomplete),
    };
    let unanswered = contact == Contact::Unanswered;
    let skipped = Skipped::new(Reason::Failure, None, Some(error.explain()));
    Skipped { cause, unanswered, ..skipped }
}

/// Why a request is made again.
fn why(got: &Result<Response, FetchError>) -> String {
    match got {
        Ok(response) => format!("status {}", response.status.as_u16()),
        Err(error) => error.explain(),
    }
}

fn age(at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(Timestamp::now().0.saturating_sub(at.0)).unwrap_or(0))
}

fn trace(url: &Url, attempt: u32, got: &Result<Response, FetchError>) {
    match got {
        Ok(response) => {
            let (status, bytes) = (response.status.as_u16(), response.body.len());
            tracing::debug!(%url, attempt, status, bytes, "response");
        }
        Err(error) => tracing::debug!(%url, attempt, error = error.explain(), "no response"),
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

/// Whether another attempt may succeed.
fn is_retryable(got: &Result<Response, FetchError>) -> bool {
    match got {
        Ok(response) => matches!(response.status.as_u16(), 429 | 500..600),
        Err(error) => error.is_retryable(),
    }
}
