//! The yield of a URL pattern: how many of its URLs to request.
//!
//! What decides is one bound: after `n` pages in a row that gave nothing, fewer than `3 / n` of the next ones give something, 95 % sure (the exact bound of a binomial share).
//! A pattern whose bound is below two in a hundred has ended, unless it has always been that lean.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Yielded,
    numbers::{ENOUGH, ENOUGH_VIEWS, GAIN, HALVING, LATE, WEAK},
    patterns::Level,
    trial::upper_bound,
};

/// For a reader who asks why a URL is deferred.
impl fmt::Display for PatternYield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fetched, gains, rearranged, run, .. } = self;
        if *fetched == 0 {
            return write!(f, "none of {run} was a page");
        }
        write!(f, "{fetched} requests gave {gains} new texts")?;
        if *rearranged > 0 {
            write!(f, ", and {rearranged} whose passages are all known")?;
        }
        write!(f, "; the last {run} gave none")
    }
}

/// What the pages of a pattern yielded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PatternYield {
    /// Pages received, and redirects.
    pub(super) fetched: u32,
    /// New texts among them, with new passages.
    gains: u32,
    /// New texts elsewhere to which its pages led.
    elsewhere: u32,
    /// New texts whose passages were known.
    rearranged: u32,
    /// Pages since the last gain.
    run: u32,
    /// What they count; a gain halves it.
    misses: f32,
}

impl PatternYield {
    /// Counts a page. `is_weak`: it says little, because it was found where there are only so many links, or was expected to repeat
    /// another page. Returns whether more of the pattern is wanted than before.
    pub(super) fn add(&mut self, yielded: Yielded, level: Level, is_weak: bool) -> bool {
        let before = self.sample_interval(level);
        if self.fetched == 0 {
            // Dead links before it.
            (self.run, self.misses) = (0, 0.0);
        }
        match yielded {
            Yielded::New => {
                self.gains += 1;
                self.gained(level);
            }
            Yielded::KnownPassages => {
                self.rearranged += 1;
                self.missed(if is_weak && level != Level::View { WEAK } else { 1.0 });
            }
            Yielded::KnownText if is_weak => self.missed(WEAK),
            // A parameter may make no difference: that is for a rule to find.
            Yielded::KnownText if level == Level::View => self.missed(ENOUGH_VIEWS / ENOUGH),
            _ => self.missed(1.0),
        }
        self.fetched = self.fetched.saturating_add(1);
        self.sample_interval(level) < before
    }

    /// Nothing is at a URL of the pattern. Many sites have that in the same patterns as pages: it counts as long as none of them has had a page.
    pub(super) fn dead(&mut self, level: Level) {
        if self.fetched == 0 && level == Level::Own {
            self.missed(1.0);
        }
    }

    pub(super) fn missed(&mut self, weight: f32) {
        self.run = self.run.saturating_add(1);
        self.misses += weight;
    }

    fn gained(&mut self, level: Level) {
        self.run = 0;
        self.misses = (self.misses.min(enough(level)) - GAIN).max(0.0);
    }

    /// A page of the pattern led to a new text elsewhere.
    pub(super) fn found_elsewhere(&mut self, level: Level) -> bool {
        let before = self.sample_interval(level);
        self.elsewhere += 1;
        self.gained(level);
        self.sample_interval(level) < before
    }

    /// One of this many URLs is to be requested.
    pub(super) fn sample_interval(&self, level: Level) -> u32 {
        let over = self.misses - enough(level);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is small and not negative"
        )]
        if over < 0.0 {
            1
        } else {
            2_u32.saturating_pow(1 + (over / enough(level) * (ENOUGH / HALVING)) as u32)
        }
    }

    /// How likely the next page has a new text, by what the last ones had.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn estimate(&self) -> f32 {
        let share = (self.gains as f32 + 0.5) / (self.fetched as f32 + 1.0);
        share.min(1.5 / (self.misses + 1.5))
    }

    /// The share of pages that had a new text of known passages.
    pub(super) fn rearranged(&self) -> f64 {
        f64::from(self.rearranged) / f64::from(self.fetched.max(1))
    }

    /// Whether its URLs come after those of other patterns.
    pub(super) fn is_late(&self, level: Level) -> bool {
        level == Level::Own && self.estimate() < LATE
    }

    /// How many URLs it is about.
    pub(super) fn evidence(&self) -> u32 {
        self.fetched.max(self.run)
    }

    /// The upper bound of the share of pages with a new text, 95 % sure: of a pattern that has ended, by the pages since the last gain, otherwise by all.
    pub(super) fn bound(&self, has_ended: bool) -> f64 {
        let (pages, new) = if has_ended { (self.run, 0) } else { (self.fetched, self.gains) };
        upper_bound(pages.into(), new.into())
    }
}

fn enough(level: Level) -> f32 {
    if level == Level::View { ENOUGH_VIEWS } else { ENOUGH }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many such pages in a row fewer are asked for.
    fn enough(yielded: Yielded, level: Level, is_weak: bool) -> Option<u32> {
        let mut of_pattern = PatternYield::default();
        (1..2_000).find(|_| {
            of_pattern.add(yielded, level, is_weak);
            of_pattern.sample_interval(level) > 1
        })
    }

    #[test]
    fn pages_in_a_row_that_are_enough() {
        let cases = [
            (Yielded::KnownText, Level::Own, false, 150),
            (Yielded::KnownText, Level::Own, true, 1_200),
            (Yielded::KnownPassages, Level::Wide, false, 150),
            (Yielded::KnownPassages, Level::Own, true, 1_200),
            (Yielded::KnownPassages, Level::View, true, 40),
            (Yielded::KnownText, Level::View, false, 150),
            (Yielded::Nothing, Level::View, false, 40),
            (Yielded::RedirectUndecided, Level::Own, false, 150),
        ];
        for (yielded, level, is_weak, count) in cases {
            let found = enough(yielded, level, is_weak).unwrap();
            assert!(found.abs_diff(count) <= 1, "{yielded:?} {level:?}: {found}");
        }
        assert_eq!(enough(Yielded::New, Level::Own, false), None);
    }

    #[test]
    fn one_gain_in_thirty_pages_ends_and_one_in_fifteen_does_not() {
        let ends = |each: u32| {
            let mut of_pattern = PatternYield::default();
            (0..5_000).any(|page| {
                let yielded = if page % each == 0 { Yielded::New } else { Yielded::KnownText };
                of_pattern.add(yielded, Level::Own, false);
                of_pattern.sample_interval(Level::Own) > 1
            })
        };
        assert!(ends(30) && !ends(15));
    }

    #[test]
    fn a_pattern_that_has_ended_is_wanted_again_after_a_gain() {
        let mut of_pattern = PatternYield::default();
        (0..200).for_each(|_| _ = of_pattern.add(Yielded::KnownText, Level::Own, false));
        assert!(of_pattern.sample_interval(Level::Own) > 60);
        assert!(of_pattern.bound(true) < 0.02);
        assert!(of_pattern.found_elsewhere(Level::Own));
        assert_eq!(of_pattern.sample_interval(Level::Own), 1);
    }
}
