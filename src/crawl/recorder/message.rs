//! What the recorder is told and asked, and what it answers.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::{
    crawl::{
        frontier::{Loaded, Query, Task},
        sitemap::Sitemap,
    },
    extract::Truncation,
    filter::Document,
    fingerprint::Digest,
    page::{NormalUrl, Timestamp},
    sink::warc,
    state::{Cause, HostId, HostRow, Reason, RobotsRow, SkipCause},
};

/// A request to the recorder, with the way back for its answer.
#[derive(Debug)]
pub(in crate::crawl) enum Request {
    /// A URL has been dealt with, as far as this says.
    Settle(Box<Settle>, oneshot::Sender<Reply>),
    /// What is the robots.txt last received from this origin?
    Robots(String, oneshot::Sender<Option<RobotsRow>>),
    /// A robots.txt was received, or an answer that may lead to it.
    KeepRobots { origin: String, robots: Option<RobotsRow>, exchange: Option<warc::Exchange> },
    /// An answer was received after which the URL is tried again.
    Archive(warc::Exchange),
    /// Record that this host is deferred.
    Defer(HostId, Cause),
    /// Load something for the frontier.
    Load(Query, oneshot::Sender<Loaded>),
}

/// What became of a URL.
#[derive(Debug)]
pub(in crate::crawl) struct Settle {
    pub(in crate::crawl) task: Arc<Task>,
    pub(in crate::crawl) outcome: Outcome,
    /// What went over the wire, if it is archived.
    pub(in crate::crawl) exchange: Option<warc::Exchange>,
}

/// What is known of an answer besides its body.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Answered {
    pub(in crate::crawl) status: u16,
    pub(in crate::crawl) content_type: Option<String>,
    /// When it had been received.
    pub(in crate::crawl) at: Timestamp,
    /// Whether the body was cut at the limit.
    pub(in crate::crawl) cut: bool,
}

/// How it went.
#[derive(Debug)]
pub(in crate::crawl) enum Outcome {
    /// A page whose body has this digest: need it be parsed?
    Body(Answered, Digest),
    /// A page.
    Page(Answered, Box<Parsed>),
    /// A redirect, and where it leads.
    Redirect { status: u16, target: Result<NormalUrl, String> },
    /// A sitemap.
    Sitemap(Answered, Sitemap),
    /// Nothing to be judged.
    Skipped(Skipped),
    /// The budget of its seed is spent.
    OverBudget,
}

/// Why there is nothing to be judged.
#[derive(Debug)]
pub(in crate::crawl) struct Skipped {
    pub(in crate::crawl) reason: Reason,
    pub(in crate::crawl) detail: Option<String>,
    pub(in crate::crawl) cause: Option<SkipCause>,
    pub(in crate::crawl) status: Option<u16>,
    /// It is a page received with status 2xx.
    pub(in crate::crawl) counted: bool,
    /// There was no answer at all.
    pub(in crate::crawl) unanswered: bool,
}

/// A page after parsing.
#[derive(Debug)]
pub(in crate::crawl) struct Parsed {
    pub(in crate::crawl) document: Document,
    pub(in crate::crawl) title: Option<String>,
    pub(in crate::crawl) text: String,
    pub(in crate::crawl) charset: &'static str,
    pub(in crate::crawl) truncated: Option<Truncation>,
    pub(in crate::crawl) noindex: bool,
    pub(in crate::crawl) canonical: Option<NormalUrl>,
    /// The links to be followed, in page order, none of them twice.
    pub(in crate::crawl) links: Vec<NormalUrl>,
}

/// The answer to [`Request::Settle`].
#[derive(Debug)]
pub(in crate::crawl) enum Reply {
    /// The page must be parsed first; its exchange comes back.
    Parse(Option<warc::Exchange>),
    /// It is recorded.
    Settled(Settled),
}

/// What the frontier must know of a URL that is recorded.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Settled {
    pub(in crate::crawl) tick: u64,
    /// URLs that wait now because of it.
    pub(in crate::crawl) queued: Vec<HostRow>,
    /// It is a page received with status 2xx.
    pub(in crate::crawl) counted: bool,
    /// There was no answer at all.
    pub(in crate::crawl) unanswered: bool,
    /// The host's new turn, if hosts are taken in turn.
    pub(in crate::crawl) turn: Option<i64>,
    pub(in crate::crawl) counts: super::Tally,
}
