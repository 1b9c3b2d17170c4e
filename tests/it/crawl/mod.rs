//! Whole crawls of servers on loopback.

mod again;
mod aside;
mod dry_run;
mod failures;
mod four_sites;
mod killing;
mod laws;
mod links;
mod outputs;
mod politeness;
mod redirects;
mod robots;
mod scope;
mod site;
mod sitemaps;
mod stopping;
mod verdicts;
