//! How a crawl is watched and stopped, and its counts.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    page::{about, counted},
    report::ALARMS,
    state::Restored,
};

/// How a crawl is watched and stopped.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Control {
    /// Cancel it to stop: no request is started any more, those in flight finish, and the run can be continued.
    pub stop: CancellationToken,
    /// Receives the progress of the run.
    pub progress: Option<watch::Sender<Progress>>,
    /// While it is true no request is started; those in flight finish.
    pub pause: Option<watch::Receiver<bool>>,
    /// Receives which hosts hold the run up or refuse requests.
    pub slow: Option<watch::Sender<SlowHosts>>,
}

/// The hosts that hold a run up or refuse requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlowHosts {
    /// About how long the slowest of them needs for its queued URLs.
    pub left: Duration,
    /// Their names, how long each needs, and why; the slowest first.
    pub hosts: Vec<String>,
}

impl Control {
    /// The same, with this token to stop the run.
    #[must_use]
    pub fn with_stop(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    /// The same, paused while this is true.
    #[must_use]
    pub fn with_pause(self, pause: watch::Receiver<bool>) -> Self {
        Self { pause: Some(pause), ..self }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| *pause.borrow())
    }

    /// The same, with a receiver of which hosts are slow.
    #[must_use]
    pub fn with_slow(self, slow: watch::Sender<SlowHosts>) -> Self {
        Self { slow: Some(slow), ..self }
    }

    /// The same, with a receiver of the progress.
    #[must_use]
    pub fn with_progress(self, progress: watch::Sender<Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What was found so far, over all starts of the run.
    pub counts: Tally,
    /// The budget of pages, over all starts of the run.
    pub max_pages: u64,
    /// Hosts that have something to do.
    pub active_hosts: usize,
    /// Requests in flight.
    pub in_flight: usize,
    /// How often something was noticed while pages were judged, by kind, in the order of [`ALARMS`].
    pub alarms: [u64; ALARMS.len()],
    /// What the run waits for, if it has nothing else to do.
    pub waits: Option<Waits>,
    /// How much of an earlier window is restored. Until that is complete, the other fields are empty.
    pub restored: Option<Restored>,
}

/// What a run waits for that has nothing else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// For any host to answer: those that had answered have stopped together. The run ends `open` after this time.
    Outage {
        /// How long it still waits.
        left: Duration,
    },
    /// For hosts that do not answer. The run ends after this time.
    Hosts {
        /// How many they are.
        hosts: usize,
        /// How long it still waits.
        left: Duration,
    },
    /// For the pace of the hosts that are left: their delay, or a pause that they asked for.
    Pace {
        /// How long it still waits for the first of them.
        left: Duration,
    },
    /// For the next attempt at URLs that failed.
    Retries {
        /// How many they are.
        urls: usize,
    },
}

/// For what, and for how long.
impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Outage { left } => {
                write!(f, "no host answers: asking again, for up to {}", about(left))
            }
            Self::Hosts { hosts, left } => {
                let verb = if hosts == 1 { "does" } else { "do" };
                let (left, hosts) = (about(left), counted(hosts, "host"));
                write!(f, "waiting up to {left} for {hosts} that {verb} not answer")
            }
            Self::Pace { left } => {
                write!(f, "waiting {} for the pause of the next host", about(left))
            }
            Self::Retries { urls } => {
                write!(f, "waiting to ask again for {}", counted(urls, "URL"))
            }
        }
    }
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Pages received with status 2xx.
    pub fetched: u64,
    /// Unique pages.
    pub unique: u64,
    /// Exact duplicates: pages with the body or text of a unique one.
    pub exact: u64,
    /// Near duplicates.
    pub near: u64,
    /// URLs that could not be fetched, or whose status was not 2xx.
    pub failed: u64,
    /// URLs without an outcome, apart from those of suspended hosts.
    pub queued: u64,
    /// URLs without an outcome whose hosts are suspended.
    pub suspended: u64,
    /// How often a known page was asked for again and had no new text.
    pub asked_again: u64,
    /// Bytes of the bodies of pages, without their content coding.
    pub bytes: u64,
}
