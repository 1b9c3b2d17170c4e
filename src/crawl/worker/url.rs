//! One URL: fetched, looked at, judged.

use std::sync::Arc;

use url::Url;

use super::{Crew, End, RecorderGone, archive, parse::parse};
use crate::{
    crawl::{
        fetch::{Answer, Extent, FetchError, Limit, is_html},
        frontier::{Task, TaskId},
        pool::Panicked,
        recorder::{Answered, Archived, Outcome, Reply, Request, Skipped},
        sitemap,
    },
    fingerprint::Digest,
    page::{NormalUrl, Page, Timestamp},
    state::{Reason, UrlKind},
};

impl Crew {
    pub(super) async fn fetch(&self, id: TaskId, task: Task) -> Result<End, RecorderGone> {
        if task.over_budget {
            return self.settle(id, task, Outcome::OverBudget, None).await;
        }
        let Ok(url) = Url::parse(&task.queued.url.url) else {
            return self.fail(id, task, "not a URL".to_owned()).await;
        };
        if let Some(refusal) = task.robots.as_deref().and_then(|robots| robots.refusal(&url)) {
            return self.forbid(id, task, refusal).await;
        }
        let limit = match task.queued.url.kind {
            UrlKind::Page => Limit::Page,
            UrlKind::Sitemap => Limit::Sitemap,
        };
        let mut got = self.fetcher.get(&url, limit).await;
        self.answered(id, &got).await;
        trace(&url, task.attempt, &got);
        let exchange = archive(&url, &mut got);
        if task.attempt < self.retries && is_passing(&got) {
            if let Some(exchange) = exchange {
                self.send(Request::Archive(exchange)).await?;
            }
            return Ok(End::Retry(id));
        }
        match got {
            Err(error) => {
                let (detail, unanswered) = (Some(error.explain()), error.is_unanswered());
                let skipped = Skipped { detail, unanswered, ..skipped(Reason::Failure) };
                self.settle(id, task, Outcome::Skipped(skipped), exchange).await
            }
            Ok(answer) => self.receive(id, task, url, answer, exchange).await,
        }
    }

    /// Looks at an answer.
    async fn receive(
        &self,
        id: TaskId,
        task: Task,
        url: Url,
        mut answer: Answer,
        exchange: Option<Archived>,
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
            return self.settle(id, task, Outcome::Redirect { status, target }, exchange).await;
        }
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
            let (detail, status, counted) = (Some(received_type(&answered)), Some(status), true);
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
                return self.panicked(id, task).await;
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
            Err(Panicked) => self.panicked(id, task).await,
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
            Err(Panicked) => self.panicked(id, task).await,
        }
    }

    /// A page that cannot be read is an outcome like any other.
    async fn panicked(&self, id: TaskId, task: Task) -> Result<End, RecorderGone> {
        self.fail(id, task, "it could not be read: a thread panicked".to_owned()).await
    }

    pub(super) async fn fail(
        &self,
        id: TaskId,
        task: Task,
        detail: String,
    ) -> Result<End, RecorderGone> {
        let skipped = Skipped { detail: Some(detail), ..skipped(Reason::Failure) };
        self.settle(id, task, Outcome::Skipped(skipped), None).await
    }

    /// robots.txt does not permit it.
    async fn forbid(&self, id: TaskId, task: Task, refusal: String) -> Result<End, RecorderGone> {
        let skipped = Skipped { detail: Some(refusal), ..skipped(Reason::Robots) };
        self.settle(id, task, Outcome::Skipped(skipped), None).await
    }
}

fn skipped(reason: Reason) -> Skipped {
    Skipped { reason, detail: None, status: None, counted: false, unanswered: false }
}

fn trace(url: &Url, attempt: u32, got: &Result<Answer, FetchError>) {
    match got {
        Ok(answer) => {
            tracing::debug!(%url, attempt, status = answer.status.as_u16(), bytes = answer.body.len(), "answered");
        }
        Err(error) => tracing::debug!(%url, attempt, error = error.explain(), "not answered"),
    }
}

/// Whether it may be better next time.
fn is_passing(got: &Result<Answer, FetchError>) -> bool {
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
