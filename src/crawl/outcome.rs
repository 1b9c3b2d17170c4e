//! What workers report to the engine.

use std::{sync::Arc, time::Duration};

use tracing::Span;

use super::{
    fetch::MemoryShare,
    politeness::RequestEnd,
    robots::{Robots, RobotsRequest},
    schedule::{RobotsTask, Task, TaskId},
    sitemap::Sitemap,
};
use crate::{
    extract::Extracted,
    filter::Document,
    page::{NormalUrl, Timestamp, Validators},
    sink::warc,
    state::{Reason, RobotsRow, SkipCause, Visit},
};

/// A report.
#[derive(Debug)]
pub(super) enum Event {
    /// The request of a task has ended. What became of the task comes later.
    Responded(TaskId, RequestEnd),
    /// The task of a URL has ended.
    Fetched(Box<Fetched>),
    /// The task of a robots.txt has ended so, and what was sent and received, if that is archived.
    Robots(Arc<RobotsTask>, RobotsOutcome, Option<warc::Exchange>),
}

/// What became of a URL.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) task: Arc<Task>,
    pub(super) outcome: Outcome,
    /// What was sent and received, if it is archived.
    pub(super) exchange: Option<warc::Exchange>,
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
