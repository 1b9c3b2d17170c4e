//! The crawler: fetches pages politely, has every page judged, and follows the links that policy allows.
//!
//! [`run`] starts the engine on a thread of its own. It owns the schedule, the filter, the state and the outputs; for each request it spawns a
//! worker on the runtime, whose reports it records.

mod against;
mod backup;
mod directory;
mod dry_run;
mod engine;
pub mod fetch;
mod learnt;
mod outcome;
mod plan;
pub mod politeness;
mod read_run;
mod repair;
pub mod robots;
mod schedule;
pub mod scope;
pub mod sitemap;
mod verify;
mod worker;

use std::{sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::state::Restored;
use engine::Engine;

pub use crate::report::{End, Report};
#[cfg(feature = "cli")]
pub(crate) use against::{hash_seed_of, recipe_of};
pub use backup::backup;
#[cfg(feature = "cli")]
pub(crate) use directory::state_in;
pub use directory::{delete_run, is_run};
pub use dry_run::{Forecast, ForecastUrl, SeedProblem, check_seeds, dry_run};
pub use engine::{Standing, Tally, report, standing};
pub use plan::{CrawlError, Dedup, Links, Options, Plan, Policy, Store};
pub use read_run::{Lookup, NearPage, PastRun, Revisits, UrlExplanation};
pub use repair::{Repair, repair};
pub use verify::{Damage, Verification, verify};

/// How a crawl is watched and stopped.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Control {
    /// Cancel it to stop: no request is started any more, those in flight finish, and the run can be continued.
    pub stop: CancellationToken,
    /// Receives the progress of the run.
    pub progress: Option<watch::Sender<Progress>>,
}

impl Control {
    /// The same, with this token to stop the run.
    #[must_use]
    pub fn with_stop(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
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
    /// Hosts that have something to do.
    pub active_hosts: usize,
    /// Requests in flight.
    pub in_flight: usize,
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
    /// For the next attempt at URLs that failed.
    Retries {
        /// How many they are.
        urls: usize,
    },
}

/// Runs a crawl, or continues it, until nothing is left to fetch, a budget is spent, or it is stopped.
///
/// Must be called within a tokio runtime with time and network enabled.
///
/// # Errors
/// If the run directory, its state or its outputs cannot be used, or the plan does not fit an earlier start of the run. A page that
/// cannot be fetched is not an error: it is recorded.
///
/// ```no_run
/// use pagesieve::crawl::{self, Control, Plan, scope::Seed};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let seed = Seed::new("https://example.org/".parse()?);
/// let mut plan = Plan::new("tides", "runs/tides", vec![seed]);
/// plan.crawl.user_agent = "tides-bot/1.0 (+https://example.org/bot)".to_owned();
/// let report = crawl::run(plan, Control::default()).await?;
/// println!("{} unique pages", report.counts.unique);
/// # Ok(())
/// # }
/// ```
pub async fn run(plan: Plan, control: Control) -> Result<Report, CrawlError> {
    let (plan, handle) = (Arc::new(plan), Handle::current());
    let engine = spawn_blocking(move || {
        handle.block_on(async move {
            let mut engine = Engine::start(plan, |restored| {
                if let Some(progress) = &control.progress {
                    let restored = Some(restored);
                    progress.send_replace(Progress { restored, ..Progress::default() });
                }
            })?;
            let end = engine.run(&control).await?;
            engine.finish(end)
        })
    });
    engine.await.map_err(|_| CrawlError::Panicked)?
}
