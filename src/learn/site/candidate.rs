//! A rule, or what may become one, with its evidence.

use serde::{Deserialize, Serialize};

use super::super::{rule::RulePart, trial::Trial};

/// Successes of one value of a segment that are not outweighed by others.
const MAX_LEAD: u16 = 8;

/// A rule, or what may become one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::learn) struct Candidate {
    pub(in crate::learn) trial: Trial,
    /// A more general one, whose trials count a little for this one too.
    pub(in crate::learn) general: u32,
    /// A set of the values seen, by a hash of six bits.
    pub(in crate::learn) values: u64,
    /// Pages that repeat one whose URL differs in this part, and perhaps in others.
    #[serde(default)]
    pub(in crate::learn) pairs: u32,
    pub(in crate::learn) ids: u32,
    /// The two values that most of the successes may have had, and how many more they are than the others (J. Misra and D. Gries, Finding repeated elements, 1982).
    #[serde(default)]
    pub(in crate::learn) majorities: [(u16, u16); 2],
    /// The part that it leaves out, once it was accepted.
    #[serde(default)]
    pub(in crate::learn) part: Option<Box<RulePart>>,
    /// It comes from the configuration.
    #[serde(default)]
    pub(in crate::learn) is_imported: bool,
}

impl Candidate {
    /// Whether nothing is known of it.
    pub(in crate::learn) fn is_new(&self) -> bool {
        self.trial.n == 0 && self.general == 0
    }

    /// Whether it may be one of several parts that make no difference.
    pub(super) fn is_suspect(&self) -> bool {
        !self.trial.accepted && self.pairs > 2 && self.pairs > 10 * self.trial.failures
    }

    /// Counts a success with this value, unless those of two values outweigh all others: `latest` and `stable` repeat versions, and that says nothing of the
    /// others.
    pub(super) fn is_one_sided(&mut self, value: u16) -> bool {
        let leads = &mut self.majorities;
        let own = leads.iter().position(|it| it.0 == value && it.1 > 0);
        match own.or_else(|| leads.iter().position(|it| it.1 == 0)) {
            Some(place) if leads[place].1 == MAX_LEAD => return true,
            Some(place) => leads[place] = (value, leads[place].1 + 1),
            None => leads.iter_mut().for_each(|it| it.1 -= 1),
        }
        false
    }

    /// It was accepted now, if it is new.
    pub(super) fn name(&mut self, part: impl FnOnce() -> RulePart) {
        self.part.get_or_insert_with(|| Box::new(part()));
    }

    /// It is a rule of the configuration. One that was revoked stays so.
    pub(in crate::learn) fn import(&mut self, part: &RulePart, trials: u32, failures: u32) {
        if self.part.is_none() && !self.trial.accepted {
            self.trial = Trial::imported(trials, failures);
        }
        self.name(|| part.clone());
        self.is_imported = true;
    }
}
