//! Whole crawls of servers on loopback.

mod failures;
mod four_sites;
mod laws;
mod links;
mod redirects;
mod robots;
mod site;
