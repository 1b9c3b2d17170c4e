//! What a run did over time: a point each second at first. When there are [`POINTS`], every second one is dropped, and points come half as often
//! from then on.

use std::mem;

use serde::{Deserialize, Serialize};

use crate::state::{State, StateError};

/// A series has at most this many points.
pub const POINTS: usize = 600;

/// The name in the state under which the time between two points is kept.
const EVERY: &str = "series_every";

/// A run at one time. Counts are over all starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds that the run had worked, over all starts.
    pub at: f64,
    /// Pages received with status 2xx.
    pub fetched: u64,
    /// Unique pages.
    pub unique: u64,
    /// Exact duplicates.
    pub exact: u64,
    /// Near duplicates.
    pub near: u64,
    /// URLs that could not be fetched, or whose status was not 2xx.
    pub failed: u64,
    /// URLs without an outcome.
    pub queued: u64,
    /// URLs that were deferred by what was learnt.
    pub deferred: u64,
    /// Hosts that had something to do.
    pub hosts: u64,
    /// Bytes of the bodies of pages, without their content coding.
    pub bytes: u64,
    /// Unique pages in the window.
    pub window: u64,
    /// Seconds of CPU time, over all starts.
    pub cpu: f64,
    /// Bytes of memory that the process had in use; 0 where that is not known.
    pub memory: u64,
}

/// The points so far.
#[derive(Debug)]
pub(crate) struct Series {
    points: Vec<Point>,
    /// Seconds between two points.
    every: f64,
    /// CPU time of earlier starts.
    cpu_before: f64,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), every: 1.0, cpu_before: 0.0 }
    }
}

impl Series {
    /// What the state has.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn load(state: &State) -> Result<Self, StateError> {
        let points: Vec<Point> = state.series(POINTS)?;
        let cpu_before = points.last().map_or(0.0, |point| point.cpu);
        let every = state.json(EVERY)?.unwrap_or(Self::default().every);
        Ok(Self { points, every, cpu_before })
    }

    /// Whether a point is due at this time.
    pub(crate) fn is_due(&self, at: f64) -> bool {
        self.points.last().is_none_or(|last| at >= last.at + self.every)
    }

    /// Adds a point, whose CPU time is that of this start. Returns whether every second one of the others was dropped.
    pub(crate) fn push(&mut self, point: Point) -> bool {
        let is_full = self.points.len() >= POINTS;
        if is_full {
            self.points = mem::take(&mut self.points).into_iter().step_by(2).collect();
            self.every *= 2.0;
        }
        self.points.push(Point { cpu: self.cpu_before + point.cpu, ..point });
        is_full
    }

    /// Adds a point, in the open transaction of the state.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn add(&mut self, state: &State, point: Point) -> Result<(), StateError> {
        if self.push(point) {
            state.set_json(EVERY, &self.every)?;
            return state.set_series(&self.points);
        }
        self.last(1).iter().try_for_each(|point| state.add_to_series(point))
    }

    /// The last points, at most this many.
    pub(crate) fn last(&self, most: usize) -> &[Point] {
        &self.points[self.points.len().saturating_sub(most)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_points_from_its_beginning_to_its_end() {
        let state = State::in_memory().unwrap();
        let mut series = Series::load(&state).unwrap();
        for second in 0..10_000_u32 {
            let at = f64::from(second);
            if second == 5_000 {
                series = Series::load(&state).unwrap();
            }
            if series.is_due(at) {
                let cpu = if second < 5_000 { at } else { at - 5_000.0 };
                series
                    .add(&state, Point { at, fetched: second.into(), cpu, ..Point::default() })
                    .unwrap();
            }
        }
        let points: Vec<Point> = state.series(usize::MAX).unwrap();
        assert!((POINTS / 2..=POINTS).contains(&points.len()), "{}", points.len());
        assert!(points[0].at < 0.5 && points.last().unwrap().at > 9_900.0);
        let gaps = points.windows(2).map(|pair| pair[1].at - pair[0].at);
        let (least, most) = gaps.fold((f64::MAX, 0.0_f64), |(a, b), gap| (a.min(gap), b.max(gap)));
        assert!(most <= 2.0 * least, "{least} {most}");
        assert!(
            points.iter().all(|point| (point.cpu - point.at).abs() < 33.0),
            "the starts add up"
        );
    }
}
