//! Wald's sequential probability ratio test: does a part of URLs make no difference?
//!
//! After A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945). Each trial is a success (the page
//! repeats the one that differs in this part) or a failure. The test stops as soon as the evidence is enough for one of two hypotheses, which
//! takes half the trials of a test of fixed length. What the name of a part says beforehand is its prior.

use serde::{Deserialize, Serialize};

use super::numbers::{BAD, BAD_EXACT, EXPECTED, GOOD, LIKELY, SURE};

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

/// What is known of a part before its first trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prior {
    /// A parameter that may change few pages, and leave all others exactly as they are.
    Selective,
    /// Nothing.
    None,
    /// It makes no difference, as a rule.
    Likely,
    /// It makes hardly ever any.
    Expected,
}

impl Prior {
    /// The evidence that is needed besides, as the logarithm of odds.
    fn accept(self) -> f32 {
        let odds = match self {
            Self::Likely => LIKELY,
            Self::Expected => EXPECTED,
            _ => 1.0,
        };
        (SURE / odds).ln()
    }

    /// What a trial says.
    fn step(self, repeats: Repeats) -> f32 {
        match repeats {
            Repeats::Exactly if self != Self::Selective => (GOOD / BAD_EXACT).ln(),
            Repeats::Exactly | Repeats::Nearly => (GOOD / BAD).ln(),
            Repeats::Not => FAILURE.ln(),
        }
    }
}

const FAILURE: f32 = (1.0 - GOOD) / (1.0 - BAD);

/// The evidence so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    /// How much speaks for the rule.
    pub(super) score: f32,
    /// Trials.
    pub(super) n: u32,
    pub(super) failures: u32,
    pub(super) accepted: bool,
    /// Trials since it was accepted last.
    pub(super) since: u32,
}

impl Trial {
    /// A rule that comes with this evidence from elsewhere: it counts as accepted, and two failures revoke it.
    pub(super) fn imported(n: u32, failures: u32) -> Self {
        let score = Prior::None.accept() - 0.5 * FAILURE.ln();
        Self { score, n, failures, accepted: true, ..Self::default() }
    }

    /// Enters one trial. Returns whether the rule was accepted or revoked by it.
    pub(super) fn add(&mut self, prior: Prior, repeats: Repeats) -> bool {
        self.n = self.n.saturating_add(1);
        self.failures += u32::from(!repeats.is_success());
        let step = prior.step(repeats);
        // Old evidence does not outweigh two failures, nor does it keep a rule from being learnt later.
        let (accept, failure) = (prior.accept(), FAILURE.ln());
        let least = (-2.0 * SURE.ln()).min(accept + 2.0 * failure);
        let most = accept - 0.5 * failure;
        self.score = (self.score.min(most) + step).clamp(least, most);
        // What differs may lie together: enough must be right of all pages, too.
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        let is_good = self.failures as f32 <= (1.0 - BAD) * self.n as f32 + 1.0;
        let is_accepted = if self.accepted {
            self.score >= accept + failure
        } else {
            self.score >= accept && is_good
        };
        let changed = std::mem::replace(&mut self.accepted, is_accepted) != is_accepted;
        self.since = if changed { 0 } else { self.since.saturating_add(1) };
        changed
    }

    /// The share of trials that failed: as estimated, with a prior of one half in one trial.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn failure_rate(&self) -> f32 {
        (self.failures as f32 + 0.5) / (self.n as f32 + 1.0)
    }

    /// The upper bound of that share, 95 % sure.
    pub(super) fn bound(&self) -> f64 {
        upper_bound(self.n.into(), self.failures.into())
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
            (Prior::None, Nearly, 360),
            (Prior::None, Exactly, 43),
            (Prior::Selective, Exactly, 360),
            (Prior::Likely, Exactly, 15),
            (Prior::Expected, Nearly, 27),
            (Prior::Expected, Exactly, 4),
        ];
        for (prior, repeats, most) in tests {
            let mut trial = Trial::default();
            let enough = (1..1000).find(|_| trial.add(prior, repeats)).unwrap();
            assert!(enough <= most && enough * 10 > most * 7, "{prior:?}: {enough}");
            trial.add(prior, Not);
            assert!(trial.accepted, "one failure is not enough");
            trial.add(prior, Not);
            assert!(!trial.accepted, "two are");
        }
    }

    #[test]
    fn what_differs_in_one_page_of_thirty_is_no_rule_although_all_others_are_the_same() {
        let mut trial = Trial::default();
        let repeats = |n| match n % 60 {
            0 => Repeats::Not,
            30 => Repeats::Nearly,
            _ if n % 30 == 15 => Repeats::Not,
            _ => Repeats::Exactly,
        };
        assert!(!(0..10_000).any(|n| trial.add(Prior::None, repeats(n))));
    }
}
