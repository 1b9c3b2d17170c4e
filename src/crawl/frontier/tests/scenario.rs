//! What the hosts, the state and the limits of a simulation are like.

#![expect(clippy::struct_excessive_bools, reason = "a scenario is a list of choices")]

use std::time::Duration;

use super::{
    super::{Limits, Order},
    SECOND,
};
use crate::crawl::politeness::Signal;

/// How one fetch goes; they are used one after the other, again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// Milliseconds until the answer, and from there until the task ends.
    pub(super) latency: (u64, u64),
    pub(super) signal: Signal,
    /// No request is made, as when robots.txt forbids it.
    pub(super) silent: bool,
    pub(super) retry: bool,
    pub(super) counted: bool,
    pub(super) unanswered: bool,
    /// Hosts and seeds of the links it has.
    pub(super) links: [Option<(usize, usize)>; 3],
}

impl Default for Fate {
    fn default() -> Self {
        Self {
            latency: (20, 10),
            signal: Signal::Fine,
            silent: false,
            retry: false,
            counted: true,
            unanswered: false,
            links: [None; 3],
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) hosts: usize,
    /// Host and seed of what is queued at the start.
    pub(super) seeds: Vec<(usize, usize)>,
    pub(super) fates: Vec<Fate>,
    /// Milliseconds that the state takes to answer, in turn.
    pub(super) replies: Vec<u64>,
    pub(super) limits: Limits,
    pub(super) order: Order,
    pub(super) delay: Duration,
    pub(super) per_host: usize,
    pub(super) concurrency: usize,
    pub(super) addresses: usize,
    pub(super) loopback: bool,
    pub(super) obey_robots: bool,
    /// Seconds that robots.txt of host i, modulo the length, asks for; and how many tries of it fail.
    pub(super) crawl_delays: Vec<(u64, u32)>,
    pub(super) max_pages: u64,
    pub(super) seed_limits: Vec<u64>,
    /// No links are added beyond so many URLs.
    pub(super) max_urls: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            hosts: 1,
            seeds: Vec::new(),
            fates: vec![Fate::default()],
            replies: vec![1],
            limits: Limits { hosts: 8, urls: 4 },
            order: Order::Clock,
            delay: SECOND,
            per_host: 1,
            concurrency: 8,
            addresses: 3,
            loopback: false,
            obey_robots: true,
            crawl_delays: vec![(0, 0)],
            max_pages: u64::MAX,
            seed_limits: vec![u64::MAX, u64::MAX],
            max_urls: 100,
        }
    }
}
