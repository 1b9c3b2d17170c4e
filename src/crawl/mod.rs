//! The crawler: fetches pages politely, has every page judged, and follows the links that policy allows.
//!
//! [`run`] starts the engine on a thread of its own. It owns the schedule, the filter, the state and the outputs; for each request it spawns a
//! worker on the runtime, whose reports it records.

mod against;
mod cluster;
mod control;
mod directory;
mod dry_run;
mod engine;
pub mod fetch;
mod learnt;
mod plan;
pub mod politeness;
mod read_run;
pub mod robots;
mod schedule;
pub mod scope;
pub mod sitemap;
mod upkeep;
mod worker;

use std::sync::Arc;

pub use crate::report::{End, Report};
#[cfg(feature = "cli")]
pub(crate) use against::{hash_seed_of, recipe_of};
pub use control::{Control, Progress, SlowHosts, Tally, Waits};
pub use directory::{delete_run, is_run};
#[cfg(feature = "cli")]
pub(crate) use directory::{may_have_state, state_in};
pub use dry_run::{Forecast, ForecastUrl, SeedProblem, check_seeds, dry_run};
pub use plan::{Cluster, CrawlError, Dedup, Links, Options, Plan, Policy, Store};
#[cfg(feature = "cli")]
pub(crate) use read_run::NearDuplicate;
pub use read_run::{
    JudgedPage, Link, Lookup, NearPage, Outcome, PastRun, Recent, Revisits, RunWindow, Standing,
    UrlExplanation, report, standing,
};
#[cfg(feature = "serve")]
pub(crate) use read_run::{judged_last, running_report};
pub use upkeep::{Damage, Repair, Verification, backup, repair, verify};

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
    engine::run(Arc::new(plan), control, |mut engine, end| engine.finish(end)).await
}
