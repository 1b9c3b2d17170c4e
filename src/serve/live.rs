//! What the live page shows of the service. The counts are those of `/metrics`.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::{Value, json};

use super::{
    Service,
    judge::Phase,
    metrics::OfVerdict,
    page::{RECENT, Source},
};
use crate::{
    crawl::judged_last,
    page::{counted, thousands},
    report::{Point, Series},
    state::State,
};

/// The service, and what it did over time.
pub(super) struct Live {
    service: Arc<Service>,
    began: Instant,
    series: Mutex<Series>,
}

impl Live {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service, began: Instant::now(), series: Mutex::default() }
    }

    /// How many documents were new, exact and near duplicates, and unchanged. A version with another text is new.
    fn judged(&self) -> [u64; 4] {
        let judged = &self.service.metrics.judged;
        let [unique, changed, exact, near, unchanged] =
            ["unique", "changed", "exact", "near", "unchanged"]
                .map(|verdict| judged.get_or_create(&OfVerdict { verdict }).get());
        [unique + changed, exact, near, unchanged]
    }
}

impl Source for Live {
    fn now(&self, points: usize) -> Value {
        let Service { options, metrics, judge, stopping, .. } = &*self.service;
        let phase = match *judge.phase.borrow() {
            _ if stopping.is_cancelled() => "stopping".to_owned(),
            Phase::Ready => "running".to_owned(),
            Phase::Restoring(it) => format!("restoring the window: {} of {}", it.read, it.all),
            Phase::Failed => "the state cannot be used".to_owned(),
        };
        let [unique, exact, near, unchanged] = self.judged();
        let judged = unique + exact + near + unchanged;
        let window = options.filter.window.entries.get();
        let last = State::read(&options.state).and_then(|state| judged_last(&state, RECENT));
        let series = self.series.lock().expect("no thread panics while it holds the lock");
        json!({
            "name": "pagesieve serve",
            "phase": phase,
            "counts": {
                "unique": unique,
                "exact": exact,
                "near": near,
                "unchanged": unchanged,
                "queued": metrics.queued.get(),
                "window": metrics.window.get(),
            },
            "notes": {
                "unique": format!("of {} since the start", counted(judged, "document")),
                "queued": format!("of at most {}", thousands(options.limits.queue as u64)),
                "window": format!("of at most {}", thousands(window)),
            },
            "unit": "documents",
            "done": judged,
            "series": series.last(points),
            // Before the state is open there is nothing to read.
            "judged": last.unwrap_or_default(),
        })
    }

    fn tick(&self) {
        let at = self.began.elapsed().as_secs_f64();
        let mut series = self.series.lock().expect("no thread panics while it holds the lock");
        if series.is_due(at) {
            let [unique, exact, near, _] = self.judged();
            series.push(Point { at, unique, exact, near, ..Point::default() });
        }
    }
}
