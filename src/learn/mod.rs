//! Predicts before a request: which URLs repeat known pages, and which URL patterns still yield new texts.
//!
//! Pure: does no I/O and has no clock. The engine reports every page that was judged, and asks before each request.
//! docs/learning.md describes the method.

mod exchange;
mod known;
mod numbers;
mod parts;
mod passages;
mod pattern_yield;
mod patterns;
mod ring;
mod rule;
mod site;
mod trial;

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[cfg(feature = "cli")]
pub(crate) use exchange::{from_json, to_json};
pub(crate) use known::LearntRule;
use numbers::{FULL_RATE, MAX_BYTES, SAMPLE_ONE_IN, SAVED};
use parts::Parts;
pub(crate) use passages::NewPassages;
use passages::Passages;
use pattern_yield::PatternYield;
use patterns::Pattern;
use rule::EVERYWHERE;
pub use rule::{Rule, RulePart};
use site::{Prediction, Site, text_of};

/// The `[learn]` table: what is known of sites before they are crawled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// A file with more rules. A configuration reads it and adds them to `rules`; a plan does not look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules_file: Option<PathBuf>,
    /// Rules that count as learnt from the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

impl Options {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a URL is deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeferReason {
    /// A rule says that it repeats a known page.
    Rule,
    /// Its pattern gives too few new texts.
    LowYield,
}

/// A URL as the rules reduce it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduced {
    /// The same for all URLs that are the same page by the rules.
    pub(crate) number: u32,
    /// Whether a rule leaves out a part of it.
    pub(crate) is_by_rule: bool,
}

/// What to do with a URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Placement {
    /// Fetch it in its turn.
    Now,
    /// Fetch it later; groups are ordered by their estimated yield.
    Late(u32),
    /// Do not fetch it unless that changes; why, in words.
    Deferred(DeferReason, String),
}

/// What a request yielded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Yielded {
    /// A new text, much of it in passages not seen before.
    New,
    /// A new text whose passages were seen before.
    KnownPassages,
    /// A text that was known.
    KnownText,
    /// No text: it is no page, or one that asks not to be indexed.
    Nothing,
    /// No text: a redirect that leads nowhere new.
    RedirectToKnown,
    /// A redirect that may lead to a new text.
    RedirectUndecided,
}

impl Yielded {
    fn is_new_text(self) -> bool {
        matches!(self, Self::New | Self::KnownPassages)
    }
}

/// A page that was judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    /// Its URL.
    pub(crate) url: &'a Url,
    /// The site of its host.
    pub(crate) site: &'a str,
    /// The number of the text that it has or repeats; none if it has no text, as a redirect.
    pub(crate) text: Option<u32>,
    /// A hash of its text; 0 if it is not known any more.
    pub(crate) hash: u16,
    /// What it yielded.
    pub(crate) yielded: Yielded,
    /// A redirect led to it.
    pub(crate) is_redirected: bool,
    /// Where its URL was found first.
    pub(crate) from: Option<&'a Url>,
    /// Whether it has a link to there.
    pub(crate) links_back: bool,
}

/// What a deferred or queued URL is expected to have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Its pattern.
    pub(crate) pattern: String,
    /// How likely it has a new text.
    pub(crate) new: f64,
    /// The same, at most (95 % sure).
    pub(crate) new_at_most: f64,
    /// How likely it has a text that the filter would keep, but whose passages are known.
    pub(crate) rearranged: f64,
}

/// A site and what is to be kept of it.
pub(crate) type Kept = (Box<str>, Vec<u8>);

/// What was learnt of all sites.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    sites: HashMap<Box<str>, Site>,
    /// What the sites take together, and may take, in bytes.
    size: usize,
    memory: usize,
    /// The rules of the configuration.
    imported: HashMap<String, Vec<Rule>>,
    /// Hashes of the sites of which something is kept outside.
    kept: HashSet<u64>,
    /// What was known of sites that were forgotten, to be kept outside.
    evicted: Vec<Kept>,
    /// The rules that were accepted or revoked.
    changed_rules: Vec<LearntRule>,
    /// How many observations there were, and when all was kept last.
    observations: u64,
    saved: u64,
    passages: Passages,
    clock: u64,
    /// Sites of which more is wanted than before.
    changed: HashSet<Box<str>>,
}

impl Learner {
    /// Knows nothing but these rules.
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut imported: HashMap<String, Vec<Rule>> = HashMap::new();
        for rule in rules {
            imported.entry(rule.site.clone()).or_default().push(rule.clone());
        }
        Self { memory: MAX_BYTES, imported, ..Self::default() }
    }

    /// The same without a limit of memory.
    pub(crate) fn unlimited(imported: &[Rule]) -> Self {
        Self { memory: usize::MAX, ..Self::new(imported) }
    }

    /// Remembers the passages of a page, those of [`Document::passages`](crate::filter::Document::passages). To give the new ones instead of all leads to the same.
    pub(crate) fn add_passages(&mut self, passages: &[u32]) -> NewPassages {
        self.passages.add(passages)
    }

    fn site(&mut self, name: &str) -> &mut Site {
        self.clock += 1;
        if !self.sites.contains_key(name) {
            let mut site = Site::default();
            site.import(self.imported(name));
            self.sites.insert(name.into(), site);
        }
        let site = self.sites.get_mut(name).expect("it is there");
        site.used = self.clock;
        site
    }

    /// The rules of the configuration for a site.
    fn imported(&self, site: &str) -> impl Iterator<Item = &Rule> {
        [site, EVERYWHERE].into_iter().filter_map(|it| self.imported.get(it)).flatten()
    }

    /// Counts what a site takes now, and forgets the sites that were not used for the longest time if all take too much.
    fn count(&mut self, name: &str) {
        let Some(site) = self.sites.get_mut(name) else { return };
        let now = site.shrink();
        self.size = self.size + now - std::mem::replace(&mut site.counted, now);
        if self.size < self.memory {
            return;
        }
        let mut all: Vec<_> =
            self.sites.iter().map(|(name, site)| (site.used, name.clone())).collect();
        all.sort();
        for (_, name) in all {
            if self.size < self.memory / 4 * 3 {
                break;
            }
            let Some(site) = self.sites.remove(&name) else { continue };
            self.size -= site.counted;
            if site.is_unsaved {
                self.kept.insert(hash_of(&name));
                self.evicted.push((name, site.to_bytes()));
            }
        }
    }

    /// The site of the next observation, unless that is part of what is known of it.
    fn observe(&mut self, name: &str) -> Option<&mut Site> {
        self.observations += 1;
        let number = self.observations;
        let site = self.site(name);
        (site.through < number).then(|| {
            (site.through, site.is_unsaved) = (number, true);
            site
        })
    }

    /// A page was judged, or something else was received for its URL.
    pub(crate) fn judged(&mut self, page: &Page<'_>) {
        let Some(site) = self.observe(page.site) else { return };
        let (parts, from) = (Parts::of(page.url), page.from.map(Parts::of));
        let text = page.text.map(|text| text_of(text, page.hash));
        // What a candidate expects to repeat another page is for its test to judge.
        let is_expected = site.expects_repeat(&parts);
        let mut changed =
            text.is_some_and(|text| site.judged(&parts, text, page.yielded.is_new_text()));
        changed |= site.count(page, &parts, from.as_ref(), is_expected);
        let numbers = std::mem::take(&mut site.changed_rules);
        let rules = numbers.iter().filter_map(|number| site.candidates.get(number));
        let rules: Vec<_> = rules.filter_map(|it| LearntRule::of(page.site, it)).collect();
        self.changed_rules.extend(rules);
        if changed {
            self.changed.insert(page.site.into());
        }
        self.count(page.site);
    }

    /// A URL is to be asked about: its words say of which kinds there are pages. Returns whether that is an observation, as it is if something is new.
    pub(crate) fn meet(&mut self, url: &Url, name: &str) -> bool {
        let is_new = self.sites.get_mut(name).is_some_and(|site| site.meet(&Parts::of(url)));
        if is_new {
            self.observe(name);
        }
        is_new
    }

    /// A URL was asked about, and that was an observation.
    pub(crate) fn met(&mut self, url: &Url, name: &str) {
        if let Some(site) = self.observe(name) {
            site.meet(&Parts::of(url));
        }
    }

    /// The next observation is left out.
    pub(crate) fn skip(&mut self) {
        self.observations += 1;
    }

    /// Nothing is at a URL.
    pub(crate) fn dead(&mut self, url: &Url, name: &str) {
        let Some(site) = self.observe(name) else { return };
        if site.dead(&Parts::of(url)) {
            self.changed.insert(name.into());
        }
        self.count(name);
    }

    /// What to do with a URL that is known and not fetched.
    pub(crate) fn decide(&mut self, url: &Url, site: &str) -> Placement {
        let Some(known) = self.sites.get_mut(site) else { return Placement::Now };
        known.used = self.clock;
        let chance = xxh3_64_with_seed(url.as_str().as_bytes(), 12);
        let parts = Parts::of(url);
        let prediction = known.predict(&parts);
        if let Prediction::Repeats(rule) = prediction
            && let Some(candidate) = known.candidates.get(&rule)
        {
            let is_known = candidate.trial.since > FULL_RATE;
            let interval = if is_known { SAMPLE_ONE_IN * 64 } else { SAMPLE_ONE_IN };
            if !chance.is_multiple_of(interval) {
                return Placement::Deferred(DeferReason::Rule, candidate.reason());
            }
        }
        let mut late = None;
        for Pattern { number, text, level } in known.patterns(&parts) {
            let Some(of_pattern) = known.yields.get(&number) else { continue };
            let interval = of_pattern.sample_interval(level);
            if interval > 1 && !(chance / SAMPLE_ONE_IN).is_multiple_of(u64::from(interval)) {
                return Placement::Deferred(DeferReason::LowYield, text);
            }
            if late.is_none() && of_pattern.is_late(level) {
                late = Some(number);
            }
        }
        let repeats = if let Prediction::Repeats(rule) = prediction { Some(rule) } else { None };
        repeats.or(late).map_or(Placement::Now, Placement::Late)
    }

    /// A URL as the rules reduce it.
    pub(crate) fn reduced(&self, url: &Url, site: &str) -> Reduced {
        let parts = Parts::of(url);
        let (key, is_by_rule) =
            self.sites.get(site).map_or((parts.key, false), |it| it.reduced(parts));
        Reduced { number: (key >> 32) as u32, is_by_rule }
    }

    /// The group of a URL that is fetched late because only a duplicate has the link.
    pub(crate) fn group(&self, url: &Url, site: &str) -> u32 {
        let of = |site: &Site| site.patterns(&Parts::of(url)).first().map(|it| it.number);
        self.sites.get(site).map_or_else(|| of(&Site::default()), of).unwrap_or(0)
    }

    /// How likely the next page of a group has a new text.
    pub(crate) fn estimated_yield(&self, site: &str, group: u32) -> f32 {
        let Some(site) = self.sites.get(site) else { return 1.0 };
        // Where a rule is wrong, a page that it would defer is a new text.
        let of_candidate = site.candidates.get(&group).map(|it| it.trial.failure_rate());
        let of_pattern = || site.yields.get(&group).map(PatternYield::estimate);
        of_candidate.or_else(of_pattern).unwrap_or(0.5)
    }

    /// The sites of which more is wanted than when this was called last.
    pub(crate) fn take_sites_to_requeue(&mut self) -> HashSet<Box<str>> {
        std::mem::take(&mut self.changed)
    }

    /// The rules of the sites in memory, also those that were revoked.
    pub(crate) fn rules(&self) -> Vec<LearntRule> {
        self.sites.iter().flat_map(|(name, site)| site.rules(name)).collect()
    }

    /// What speaks for deferring a URL of a site, by the rule or the pattern that is named as the reason.
    pub(crate) fn evidence(&self, site: &str, why: &str) -> Option<String> {
        self.sites.get(site)?.evidence(why)
    }

    /// The rules that were accepted or revoked since this was called last.
    pub(crate) fn take_changed_rules(&mut self) -> Vec<LearntRule> {
        std::mem::take(&mut self.changed_rules)
    }

    /// Whether a site is in memory.
    pub(crate) fn has(&self, site: &str) -> bool {
        self.sites.contains_key(site)
    }

    /// Whether something is kept of a site that is not in memory: it is to be restored before the site is used.
    pub(crate) fn needs(&self, site: &str) -> bool {
        !self.has(site) && self.kept.contains(&hash_of(site))
    }

    /// Something is kept of these sites.
    pub(crate) fn set_kept<'a>(&mut self, sites: impl IntoIterator<Item = &'a str>) {
        self.kept.extend(sites.into_iter().map(hash_of));
    }

    /// Takes back what was kept of a site. Returns whether it could be read.
    pub(crate) fn restore(&mut self, name: &str, kept: &[u8]) -> bool {
        let Some(mut site) = Site::from_bytes(kept) else { return false };
        site.import(self.imported(name));
        site.used = self.clock;
        if let Some(before) = self.sites.insert(name.into(), site) {
            self.size -= before.counted;
        }
        self.count(name);
        true
    }

    /// Takes back what was kept of all sites together. Returns whether it could be read.
    pub(crate) fn restore_common(&mut self, kept: &[u8]) -> bool {
        let read: Option<(u64, Passages)> = postcard::from_bytes(kept).ok();
        let Some((observations, passages)) = read else { return false };
        (self.observations, self.saved) = (observations, observations);
        passages.checked().map(|it| self.passages = it).is_some()
    }

    /// Whether so much was observed since all was kept last that it is to be kept again.
    pub(crate) fn is_due(&self) -> bool {
        self.observations - self.saved >= SAVED
    }

    /// How many observations there were.
    pub(crate) fn observations(&self) -> u64 {
        self.observations
    }

    /// The sites that were forgotten, to be kept.
    pub(crate) fn take_evicted(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.evicted)
    }

    /// All that is not kept: of sites, and of all together. Observations before need not be repeated to it after that.
    pub(crate) fn take_unsaved(&mut self) -> (Vec<Kept>, Vec<u8>) {
        let mut sites = self.take_evicted();
        for (name, site) in self.sites.iter_mut().filter(|it| it.1.is_unsaved) {
            site.is_unsaved = false;
            self.kept.insert(hash_of(name));
            sites.push((name.clone(), site.to_bytes()));
        }
        self.saved = self.observations;
        let common = postcard::to_allocvec(&(self.observations, &self.passages));
        (sites, common.expect("memory takes all bytes"))
    }

    /// Whether sites were forgotten, and what was known of them is to be kept.
    pub(crate) fn has_evicted(&self) -> bool {
        !self.evicted.is_empty()
    }

    /// What a deferred or a queued URL is expected to have.
    pub(crate) fn estimate(&mut self, url: &Url, site: &str, is_deferred: bool) -> Estimate {
        let site = &*self.site(site);
        let parts = Parts::of(url);
        let patterns = site.patterns(&parts);
        let pattern = patterns.first().map(|it| it.text.clone()).unwrap_or_default();
        let candidate = match site.predict(&parts) {
            Prediction::Repeats(rule) => site.candidates.get(&rule),
            Prediction::Perhaps(candidate) if !is_deferred => site.candidates.get(&candidate),
            Prediction::Perhaps(_) | Prediction::Open => None,
        };
        if let Some(candidate) = candidate {
            let (new, new_at_most) =
                (candidate.trial.failure_rate().into(), candidate.trial.bound());
            return Estimate { pattern, new, new_at_most, rearranged: 0.0 };
        }
        let mut yields =
            patterns.iter().filter_map(|it| Some((it.level, site.yields.get(&it.number)?)));
        // Wider patterns do not count pages that repeat others.
        let rearranged = yields.clone().next().map_or(0.0, |(_, it)| it.rearranged());
        let by = if is_deferred {
            yields.max_by_key(|(level, it)| it.sample_interval(*level))
        } else {
            yields.next()
        };
        let new = by.map_or(0.5, |(_, it)| f64::from(it.estimate()));
        let bound = by.map_or(1.0, |(_, it)| it.bound(is_deferred));
        Estimate { pattern, new, new_at_most: bound.max(new), rearranged }
    }
}

/// The rules of a site as it was kept, also those that were revoked; none if it cannot be read.
pub(crate) fn rules_of(site: &str, kept: &[u8]) -> Option<Vec<LearntRule>> {
    Some(Site::from_bytes(kept)?.rules(site).collect())
}

fn hash_of(site: &str) -> u64 {
    xxh3_64_with_seed(site.as_bytes(), 13)
}
