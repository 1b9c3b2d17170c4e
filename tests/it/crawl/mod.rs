//! Whole crawls of servers on loopback.

mod four_sites;
mod site;
