//! Programs that take turns, their CPU time, and ratios of it.
#![allow(dead_code, reason = "each bench uses what it needs")]

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread in seconds.
pub(crate) fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Where the values of several rounds lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Self {
            least: values[0],
            median: values[values.len() / 2],
            greatest: values[values.len() - 1],
        }
    }

    pub(crate) fn show(&self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$}-{:.digits$})", self.median, self.least, self.greatest)
    }
}

/// The CPU seconds of each program in each round: first each program once, uncounted, then round after round all of them in order.
pub(crate) fn take_turns<const N: usize>(
    rounds: usize,
    programs: [&mut dyn FnMut(); N],
) -> [Vec<f64>; N] {
    let mut times = [const { Vec::new() }; N];
    let mut programs = programs;
    for round in 0..=rounds {
        for (program, times) in programs.iter_mut().zip(&mut times) {
            let before = cpu();
            program();
            if round > 0 {
                times.push(cpu() - before);
            }
        }
    }
    times
}

/// The time of one by that of the other in the same round.
pub(crate) fn ratio(one: &[f64], other: &[f64]) -> Spread {
    Spread::of(one.iter().zip(other).map(|(one, other)| one / other))
}

/// What a ratio has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    /// The target in words, and whether a ratio meets it.
    pub(crate) fn judge(self, ratio: &Spread) -> String {
        let (words, bound, met) = match self {
            Self::AtMost(bound) => ("at most", bound, ratio.median <= bound),
            Self::AtLeast(bound) => ("at least", bound, ratio.median >= bound),
        };
        format!("{words} {bound}: {}", if met { "met" } else { "MISSED" })
    }
}
