//! What is known of a site, in the form in which it is kept between runs and while the site is not in memory.
//!
//! It has rules, trials and patterns, but not the classes of URLs: a site that comes back fetches one page of each class again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{
    numbers::{MANY_TRIALS, MIN_TRIALS},
    pattern_yield::PatternYield,
    patterns::pattern_id,
    rule::Rule,
    site::{Candidate, Site},
    trial::Trial,
};
use crate::page::DocId;

/// What is known of a site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The last document that is part of it.
    through: DocId,
    hosts: Vec<(u16, Box<str>)>,
    candidates: Vec<(u32, Candidate)>,
    yields: Vec<(u32, PatternYield)>,
}

/// A rule with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LearntRule {
    /// The rule and its evidence.
    pub(crate) rule: Rule,
    /// It was in force, and failures have ended that.
    pub(crate) is_revoked: bool,
    /// It comes from the configuration.
    pub(crate) is_imported: bool,
}

impl LearntRule {
    pub(super) fn of(site: &str, candidate: &Candidate) -> Option<Self> {
        let part = candidate.part.as_deref()?.clone();
        let Trial { n, failures, accepted, .. } = candidate.trial;
        Some(Self {
            rule: Rule { site: site.to_owned(), part, trials: n, failures },
            is_revoked: !accepted,
            is_imported: candidate.is_imported,
        })
    }
}

impl Known {
    pub(super) fn of(site: &Site) -> Self {
        let candidates = site.candidates.iter();
        let candidates = candidates.filter(|(_, it)| it.part.is_some() || it.trial.n >= MIN_TRIALS);
        let mut candidates: Vec<_> = candidates.map(|(number, it)| (*number, it.clone())).collect();
        candidates.sort_by_key(|(number, _)| *number);
        let yields = site.yields.iter().filter(|(_, pattern_yield)| pattern_yield.evidence() > 1);
        let mut yields: Vec<_> =
            yields.map(|(number, pattern_yield)| (*number, *pattern_yield)).collect();
        yields.sort_by_key(|(number, _)| *number);
        let (through, hosts) = (site.through, site.hosts.clone());
        Self { through, hosts, candidates, yields }
    }

    pub(super) fn into_site(self) -> Site {
        let mut site = Site::default();
        (site.through, site.hosts) = (self.through, self.hosts);
        site.candidates = self.candidates.into_iter().collect();
        site.yields = self.yields.into_iter().collect();
        site
    }

    /// What speaks for deferring a URL, by the rule or the pattern that is named as the reason.
    pub(crate) fn evidence(&self, why: &str) -> Option<String> {
        let of_pattern = |is_wide| {
            let number = pattern_id(why, is_wide);
            self.yields.iter().find(|(known, _)| *known == number).map(|(_, it)| it.to_string())
        };
        let is_it = |it: &&Candidate| it.part.as_ref().is_some_and(|part| part.reason() == why);
        let of_rule = || {
            let Trial { n, failures, .. } =
                self.candidates.iter().map(|it| &it.1).find(is_it)?.trial;
            Some(format!(
                "{n} pages were compared with one that differs in this only; {failures} of them had another text"
            ))
        };
        of_pattern(false).or_else(|| of_pattern(true)).or_else(of_rule)
    }

    /// The rules among it, of this site.
    pub(crate) fn rules(&self, site: &str) -> Vec<LearntRule> {
        self.candidates.iter().filter_map(|(_, it)| LearntRule::of(site, it)).collect()
    }
}

impl Site {
    /// Whether more is known than a few pages teach again.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.candidates.values().any(|it| it.part.is_some() || it.trial.n >= MANY_TRIALS)
            || self.yields.values().any(|pattern_yield| pattern_yield.fetched >= MANY_TRIALS)
    }

    /// Takes over the rules of the configuration, and drops those that it has no more.
    pub(super) fn import<'a>(&mut self, rules: impl Iterator<Item = &'a Rule>) {
        let numbers: HashMap<_, _> = rules.map(|rule| (rule.part.candidate_id(), rule)).collect();
        self.candidates.retain(|number, it| !it.is_imported || numbers.contains_key(number));
        for (number, Rule { part, trials, failures, .. }) in numbers {
            self.candidates.entry(number).or_default().import(part, *trials, *failures);
        }
    }
}
