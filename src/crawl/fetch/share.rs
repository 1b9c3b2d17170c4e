//! The memory of bodies in flight: one budget in bytes for all downloads, so that no number of hosts exhausts it.
//!
//! A short body needs no share of it and never waits. A longer one takes its share as it grows, and holds it until the page is recorded.
//! When nothing is left, it waits. One of those that wait may go on beyond the budget, so downloads never wait for each other in a circle.

use std::{pin::pin, sync::Arc};

use futures_util::future::{Either, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bytes of a body that need no share: most pages have fewer.
const FREE: usize = 256 << 10;

/// The budget of pages and robots.txt files, for what their bodies have beyond that. With 64 requests in flight and the default of
/// `fetch.max_body`, all bodies together take at most 64 MiB.
pub(super) const PAGES: usize = 40 << 20;

/// That of sitemaps, which may have 50 MiB: only one at a time is long.
pub(super) const SITEMAPS: usize = 0;

/// The bytes of a permit.
const UNIT: usize = 1 << 10;

/// A budget for some kinds of bodies. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    permits: Arc<Semaphore>,
    /// Who may go on beyond the budget.
    beyond: Arc<Semaphore>,
}

/// The share of the budget that a body has; it ends when it is dropped.
#[derive(Debug)]
pub(in crate::crawl) struct Share {
    budget: Budget,
    /// Bytes of memory for each byte of the body.
    factor: usize,
    bytes: usize,
    permits: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(bytes / UNIT)),
            beyond: Arc::new(Semaphore::new(1)),
        }
    }

    /// The share of a body that takes `factor` bytes of memory for each of its own.
    pub(super) fn share(&self, factor: usize) -> Share {
        Share { budget: self.clone(), factor, bytes: FREE, permits: None, beyond: None }
    }
}

impl Share {
    /// Waits until the body may have this length.
    pub(super) async fn grow(&mut self, length: usize) {
        let bytes = length.saturating_mul(self.factor);
        if bytes <= self.bytes || self.beyond.is_some() {
            return;
        }
        let units = (bytes - self.bytes).div_ceil(UNIT);
        let more = u32::try_from(units).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.budget.permits).acquire_many_owned(more);
        let beyond = Arc::clone(&self.budget.beyond).acquire_owned();
        match select(pin!(permits), pin!(beyond)).await {
            Either::Left((permits, _)) => {
                let permits = permits.expect("the budget is never closed");
                match &mut self.permits {
                    Some(held) => held.merge(permits),
                    held => *held = Some(permits),
                }
                self.bytes += units * UNIT;
            }
            Either::Right((beyond, _)) => {
                self.beyond = Some(beyond.expect("the budget is never closed"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn bodies_in_flight_have_one_budget_and_one_goes_on_beyond_it() {
        let budget = Budget::new(PAGES);
        let mut shares: Vec<Share> = Vec::new();
        for _ in 0..9 {
            let mut share = budget.share(1);
            for length in [FREE, 1 << 20, 4 << 20, 8 << 20] {
                if share.grow(length).now_or_never().is_none() {
                    break;
                }
            }
            shares.push(share);
        }
        let held: usize = shares.iter().map(|it| it.bytes - FREE).sum();
        assert!(held <= PAGES, "{held}");
        assert_eq!(shares.iter().filter(|it| it.beyond.is_some()).count(), 1);
        let mut short = budget.share(1);
        assert!(short.grow(FREE).now_or_never().is_some(), "short bodies never wait");
        assert!(short.grow(4 << 20).now_or_never().is_none());
        shares.retain(|it| it.beyond.is_none());
        assert!(short.grow(4 << 20).now_or_never().is_some());
        drop((shares, short));
        assert_eq!(budget.permits.available_permits(), PAGES / UNIT);
    }
}
