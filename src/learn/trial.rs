//! Wald's sequential probability ratio test: does a part of URLs make no difference?
//!
//! After A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945). Each trial is a success (the page
//! repeats the one that the rule names) or a failure. The test stops as soon as the evidence is enough for one of two hypotheses, which
//! takes half the trials of a test of fixed length.

use serde::{Deserialize, Serialize};

/// How a page repeats the one that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Its text is the same, character by character.
    Exactly,
    /// Its text is nearly the same.
    Nearly,
    /// It has another text.
    Not,
}

impl Repeats {
    /// Whether one need not be fetched if the other is.
    pub(super) fn is_success(self) -> bool {
        self != Self::Not
    }
}

/// The two hypotheses, and how often they may be confused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// The share of successes at which a rule is not good enough.
    pub(super) p0: f32,
    /// The share of successes at which it is.
    pub(super) p1: f32,
    /// How often a rule that is not good enough may be accepted.
    pub(super) alpha: f32,
    /// The share of exact repeats that a rule which is not good enough has at most: what changes some texts changes others slightly.
    pub(super) exact: f32,
}

/// 150 trials without a failure, 44 if all repeat exactly. In parallel trees of five manuals of which 5 to 23 % of the pages differ, 39 to 81 %
/// repeat exactly.
pub(super) const SAFE: Test = Test { p0: 0.95, p1: 0.995, alpha: 0.001, exact: 0.85 };
/// 360 trials: for parts that often make a difference on a few pages.
pub(super) const CAREFUL: Test = Test { p0: 0.98, p1: 0.999, alpha: 0.001, exact: 0.98 };
/// 47 trials: for parts whose values carry no meaning, and for what other evidence supports.
pub(super) const QUICK: Test = Test { p0: 0.85, p1: 0.985, alpha: 0.001, exact: 0.85 };

/// 77 trials, 34 if all repeat exactly: for pages of parallel trees, by their counterparts.
pub(super) const PARALLEL: Test = Test { p0: 0.9, p1: 0.985, alpha: 0.001, exact: 0.8 };

/// 50 trials, 23 if all repeat exactly: for parts whose names say that they make no difference. It is [`SAFE`] with prior odds of 100 to 1, so the
/// error is as rare. A parameter of such a name that makes a difference selects pages, and changes most.
pub(super) const LIKELY: Test = Test { p0: 0.95, p1: 0.995, alpha: 0.1, exact: 0.9 };

/// Ten trials: for what nearly all servers ignore, and for spellings. The same, with prior odds of 600 to 1.
pub(super) const EXPECTED: Test = Test { alpha: 0.63, exact: 0.95, ..LIKELY };

/// One trial: for last segments that mean nothing else. The same, with prior odds of nearly 1,000 to 1.
pub(super) const CERTAIN: Test = Test { alpha: 0.98, ..EXPECTED };

impl Test {
    fn accept(self) -> f32 {
        (0.99 / self.alpha).ln()
    }

    /// What a trial says.
    fn step(self, repeats: Repeats) -> f32 {
        match repeats {
            Repeats::Exactly => (self.p1 / self.exact).ln(),
            Repeats::Nearly => (self.p1 / self.p0).ln(),
            Repeats::Not => self.failure(),
        }
    }

    fn failure(self) -> f32 {
        ((1.0 - self.p1) / (1.0 - self.p0)).ln()
    }
}

/// The evidence so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    score: f32,
    /// Trials.
    pub(super) n: u32,
    pub(super) failures: u32,
    /// Successes that are near repeats.
    #[serde(default)]
    nearly: u32,
    pub(super) accepted: bool,
    /// Trials since it was accepted last.
    pub(super) since: u32,
}

impl Trial {
    /// A rule that comes with this evidence from elsewhere: it counts as accepted, and two failures revoke it.
    pub(super) fn imported(n: u32, failures: u32) -> Self {
        let score = SAFE.accept() - 0.5 * SAFE.failure();
        Self { score, n, failures, accepted: true, ..Self::default() }
    }

    /// Enters one trial. Returns whether the rule was accepted or revoked by it.
    pub(super) fn add(&mut self, test: Test, repeats: Repeats) -> bool {
        self.n = self.n.saturating_add(1);
        self.failures += u32::from(!repeats.is_success());
        self.nearly += u32::from(repeats == Repeats::Nearly);
        // If texts differ in whole or not at all, an exact repeat says no more than a near one.
        let is_all_or_nothing = self.failures > self.nearly + 1;
        let step = test.step(match repeats {
            Repeats::Exactly if is_all_or_nothing => Repeats::Nearly,
            _ => repeats,
        });
        // Old evidence does not outweigh two failures, nor does it keep a rule from being learnt later.
        let least = (-2.0 * test.accept()).min(test.accept() + 2.0 * test.failure());
        let most = test.accept() - 0.5 * test.failure();
        self.score = (self.score.min(most) + step).clamp(least, most);
        let is_accepted = if self.accepted {
            self.score > test.accept() + test.failure()
        } else {
            self.score >= test.accept()
        };
        let changed = std::mem::replace(&mut self.accepted, is_accepted) != is_accepted;
        self.since = if changed { 0 } else { self.since.saturating_add(1) };
        changed
    }

    /// How much speaks for the rule.
    pub(super) fn score(&self) -> f32 {
        self.score
    }

    /// The share of trials that failed: as estimated, with a prior of one half in one trial.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn failure_rate(&self) -> f32 {
        (self.failures as f32 + 0.5) / (self.n as f32 + 1.0)
    }

    /// The upper bound of that share, 95 % sure.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn failure_rate_bound(&self) -> f64 {
        upper_bound(u64::from(self.n), u64::from(self.failures))
    }
}

/// The upper end of the one-sided Wilson interval, 95 %, for `found` of `n`; with none found, the exact bound.
#[allow(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn upper_bound(n: u64, found: u64) -> f64 {
    if n == 0 {
        return 1.0;
    }
    let n = n as f64;
    if found == 0 {
        return 1.0 - 0.05_f64.powf(1.0 / n);
    }
    let (z, p) = (1.645_f64, found as f64 / n);
    let centre = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    ((centre + spread) / (1.0 + z * z / n)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_without_a_failure_that_are_enough() {
        use Repeats::{Exactly, Nearly, Not};
        let tests = [
            (QUICK, Nearly, 47),
            (LIKELY, Nearly, 50),
            (LIKELY, Exactly, 23),
            (CERTAIN, Nearly, 1),
            (EXPECTED, Nearly, 10),
            (PARALLEL, Nearly, 77),
            (PARALLEL, Exactly, 34),
            (SAFE, Nearly, 150),
            (SAFE, Exactly, 44),
            (CAREFUL, Exactly, 361),
        ];
        for (test, repeats, most) in tests {
            let mut trial = Trial::default();
            let enough = (1..1000).find(|_| trial.add(test, repeats)).unwrap();
            assert!(enough <= most && enough * 10 > most * 9, "{enough}");
            trial.add(test, Not);
            assert!(trial.accepted, "one failure is not enough");
            trial.add(test, Not);
            assert!(!trial.accepted, "two are");
        }
    }

    #[test]
    fn exact_repeats_say_less_where_texts_differ_in_whole_or_not_at_all() {
        use Repeats::{Exactly, Nearly, Not};
        for (before, most) in [(vec![Not, Not, Nearly], 75), (vec![Not, Not], 251)] {
            let mut trial = Trial::default();
            for repeats in before {
                trial.add(SAFE, repeats);
            }
            let enough = (1..1000).find(|_| trial.add(SAFE, Exactly)).unwrap();
            assert!(enough <= most && enough * 10 > most * 9, "{enough}");
        }
    }

    #[test]
    fn a_rule_that_fails_once_in_ten_is_not_accepted() {
        for test in [SAFE, CAREFUL] {
            let mut trial = Trial::default();
            let repeats = |n| if n % 10 == 0 { Repeats::Not } else { Repeats::Nearly };
            assert!(!(0..100_000).any(|n| trial.add(test, repeats(n))));
        }
    }
}
