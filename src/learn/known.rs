//! What is known of a site, in the form in which it is kept between runs and while the site is not in memory.

use std::collections::HashMap;

use super::{
    patterns::pattern_id,
    rule::Rule,
    site::{Candidate, Site},
    trial::Trial,
};

/// A rule with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LearntRule {
    /// The rule and its evidence.
    pub(crate) rule: Rule,
    /// It was in force, and failures have ended that.
    pub(crate) is_revoked: bool,
    /// It comes from the configuration.
    pub(crate) is_imported: bool,
    /// It is about dead links: a URL leads nowhere if one that differs in this part only leads nowhere.
    pub(crate) is_dead: bool,
}

impl LearntRule {
    pub(super) fn of(site: &str, candidate: &Candidate) -> Option<Self> {
        let part = candidate.part.as_deref()?.clone();
        let Trial { n, failures, accepted, .. } = candidate.trial;
        Some(Self {
            rule: Rule { site: site.to_owned(), part, trials: n, failures },
            is_revoked: !accepted,
            is_imported: candidate.is_imported,
            is_dead: candidate.is_dead,
        })
    }
}

impl Site {
    /// The site in bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("memory takes all bytes")
    }

    /// The site of these bytes, if they are one.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    /// What speaks for deferring a URL, by the rule or the pattern that is named as the reason.
    pub(super) fn evidence(&self, why: &str) -> Option<String> {
        let of_pattern = |is_wide| {
            let number = pattern_id(why, is_wide);
            self.yields.get(&number).map(ToString::to_string)
        };
        let is_it = |it: &&Candidate| it.part.is_some() && it.reason() == why;
        let of_rule = || {
            let rule = self.candidates.values().find(is_it)?;
            let Trial { n, failures, .. } = rule.trial;
            let (what, differed) = match rule.rule() {
                Some(_) => ("pages", "had another text"),
                None => ("dead links", "were pages"),
            };
            Some(format!(
                "{n} {what} were compared with one that differs in this only; {failures} of them {differed}"
            ))
        };
        of_pattern(false).or_else(|| of_pattern(true)).or_else(of_rule)
    }

    /// Its rules, also those that were revoked.
    pub(super) fn rules(&self, name: &str) -> impl Iterator<Item = LearntRule> {
        self.candidates.values().filter_map(move |it| LearntRule::of(name, it))
    }

    /// Takes over the rules of the configuration, and drops those that it has no more.
    pub(super) fn import<'a>(&mut self, rules: impl Iterator<Item = &'a Rule>) {
        let numbers: HashMap<_, _> = rules.map(|rule| (rule.part.candidate_id(), rule)).collect();
        let before = self.candidates.len();
        self.candidates.retain(|number, it| !it.is_imported || numbers.contains_key(number));
        self.is_stale |= self.candidates.len() < before;
        for (number, Rule { part, trials, failures, .. }) in numbers {
            let candidate = self.candidates.entry(number).or_default();
            self.is_stale |= candidate.import(part, *trials, *failures);
        }
    }
}
