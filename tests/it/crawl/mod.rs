//! Whole crawls of servers on loopback.

mod against;
mod broken;
mod damage;
mod dry_run;
mod explain;
mod failures;
mod faults;
mod four_sites;
mod killing;
mod laws;
mod learning;
mod links;
mod lookup;
mod outage;
mod outputs;
mod politeness;
mod redirects;
#[cfg(unix)]
mod reports;
mod restart;
mod revisits;
mod robots;
mod scope;
mod silent;
pub(crate) mod site;
mod sitemaps;
mod stopping;
mod suspended;
mod templates;
mod verdicts;
