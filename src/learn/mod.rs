//! Predicts before a request: which URLs repeat known pages, and which URL patterns still yield new texts.
//!
//! Pure: does no I/O and has no clock. The engine reports every page that was judged, and asks before each request.
//! docs/learning.md describes the method.

mod classes;
mod exchange;
mod known;
mod known_pages;
mod parts;
mod pattern_yield;
mod rule;
mod sentences;
mod site;
mod spans;
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

use crate::page::DocId;
#[cfg(feature = "cli")]
pub(crate) use exchange::{from_json, to_json};
pub(crate) use known::{Known, LearntRule};
use parts::{Parts, hash};
use pattern_yield::{Chain, PatternKind, PatternYield};
use rule::EVERYWHERE;
pub use rule::{Counterparts, Only, Rule, RulePart};
use sentences::Sentences;
pub(crate) use sentences::link_lines;
use site::{Candidate, Pattern, Prediction, Site, Text};
use trial::{CAREFUL, Repeats, Trial};

/// Parameters that are counted for all sites.
const PARAMETERS: usize = 1 << 14;
/// What all sites together may take, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// One in this many of the URLs that a rule defers is fetched all the same, up to [`FULL_RATE_SAMPLES`] of them, and then one in 64 times as many.
const SAMPLE_ONE_IN: u64 = 50;
const FULL_RATE_SAMPLES: u32 = 20;
/// What is known of a site is saved after this many of its pages, and what is known of parameters and which sentences were seen after this many of all.
const SAVED: u32 = 256;
const SAVED_OF_ALL: u64 = 4_096;
const SAVED_SENTENCES: u64 = 65_536;
/// The name under which what is known of all sites together is saved.
const ALL: &str = "";

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Yielded {
    /// A new text, much of it in sentences not seen before.
    New,
    /// A new text whose sentences were seen before.
    KnownSentences,
    /// A text that was known.
    KnownText,
    /// The same, and exactly that of a page whose URL differs in one parameter only: the learner finds that.
    EqualText,
    /// No text: it is no page, or one that asks not to be indexed.
    Nothing,
    /// No text: a redirect that leads nowhere new.
    RedirectToKnown,
    /// A redirect that may lead to a new text.
    RedirectUndecided,
}

impl Yielded {
    fn is_new_text(self) -> bool {
        matches!(self, Self::New | Self::KnownSentences)
    }

    /// A known text that is exactly that of a page whose URL differs in one parameter only, if it is.
    fn exactly(self, is_equal: bool) -> Self {
        if is_equal && self == Self::KnownText { Self::EqualText } else { self }
    }
}

/// A page that was judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    /// Its URL.
    pub(crate) url: &'a Url,
    /// The site of its host.
    pub(crate) site: &'a str,
    /// Its document, if it has a text.
    pub(crate) document: Option<DocId>,
    /// The number of the text that it has or repeats; none if it has no text, as a redirect.
    pub(crate) text: Option<u32>,
    /// A hash of its text, as [`Learner::has_new_sentences`] returns it; 0 if it is not known any more.
    pub(crate) hash: u16,
    /// What it yielded.
    pub(crate) yielded: Yielded,
    /// A redirect led to it.
    pub(crate) is_redirected: bool,
    /// Where it redirects.
    pub(crate) to: Option<&'a Url>,
    /// Where its URL was found first.
    pub(crate) from: Option<&'a Url>,
    /// Whether it has a link to there.
    pub(crate) links_back: bool,
    /// The first page that has exactly its text, if its URL has parameters.
    pub(crate) equals: Option<&'a Url>,
}

impl Page<'_> {
    /// Whether the first page that has exactly its text has the same URL but for a parameter.
    fn differs_in_a_parameter(&self, parts: &Parts<'_>) -> bool {
        self.equals.is_some_and(|of| parts.differ_in_a_parameter(&Parts::of(of)))
    }
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
    /// How likely it has a text that the filter would keep, but whose sentences are known.
    pub(crate) rearranged: f64,
}

/// What is to be kept outside.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// What is known of sites.
    pub(crate) sites: Vec<(Box<str>, Known)>,
    /// The sentences that were seen, if it is time to keep them.
    pub(crate) sentences: Option<Vec<u8>>,
}

/// What was learnt of all sites.
#[derive(Debug)]
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
    evicted: Vec<(Box<str>, Known)>,
    /// Sites to be saved.
    unsaved: HashSet<Box<str>>,
    /// The rules that were accepted or revoked.
    changed_rules: Vec<LearntRule>,
    /// Up to which document the trials of parameters on all sites were restored, and are saved.
    through: DocId,
    saved: DocId,
    /// The same of the sentences.
    saved_sentences: DocId,
    /// The last document.
    last: DocId,
    sentences: Sentences,
    clock: u64,
    /// How often a parameter made no difference, on all sites.
    parameters: HashMap<u64, Trial>,
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
        Self {
            sites: HashMap::new(),
            size: 0,
            memory: MAX_BYTES,
            imported,
            kept: HashSet::new(),
            evicted: Vec::new(),
            unsaved: HashSet::new(),
            changed_rules: Vec::new(),
            through: DocId(0),
            saved: DocId(0),
            saved_sentences: DocId(0),
            last: DocId(0),
            sentences: Sentences::default(),
            clock: 0,
            parameters: HashMap::new(),
            changed: HashSet::new(),
        }
    }

    /// The same without a limit of memory.
    #[cfg(feature = "cli")]
    pub(crate) fn unlimited(imported: &[Rule]) -> Self {
        Self { memory: usize::MAX, ..Self::new(imported) }
    }

    /// Whether much of a text is in sentences that no text before it had, and a hash of the text. Remembers them. Lines of `links` are text of
    /// links only, and never new.
    pub(crate) fn has_new_sentences(&mut self, text: &str, links: &HashSet<u64>) -> (bool, u16) {
        self.sentences.are_new_in(text, links)
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
            self.unsaved.remove(&name);
            if site.is_worth_keeping() && site.unsaved > 0 {
                self.kept.insert(hash_of(&name));
                self.evicted.push((name, Known::of(&site)));
            }
        }
    }

    /// A page was judged, or something else was received for its URL. A page that is part of what was restored is no trial again: only its
    /// URL is remembered.
    pub(crate) fn judged(&mut self, page: &Page<'_>) {
        let site = self.site(page.site);
        site.is_replay = page.document.is_some_and(|it| it <= site.through);
        if site.is_replay {
            let text = Text { group: page.text.unwrap_or_default().max(1), hash: page.hash };
            let parts = Parts::of(page.url);
            site.judged(&parts, text, page.yielded.is_new_text(), None);
            site.remember_path(&parts);
        } else {
            self.learn(page);
        }
        self.count(page.site);
    }

    /// Nothing is at a URL.
    pub(crate) fn dead(&mut self, url: &Url, name: &str) {
        let site = self.site(name);
        let patterns = site.patterns(&Parts::of(url));
        let own = patterns.iter().take(1);
        for pattern in own.chain(patterns.iter().filter(|it| it.kind == PatternKind::Ending)) {
            site.yields.entry(pattern.number).or_default().record_dead();
        }
        self.count(name);
    }

    /// Remembers what is to be reported or saved of a site.
    fn note(&mut self, page: &Page<'_>) {
        let Some(site) = self.sites.get_mut(page.site) else { return };
        let changed_rules = std::mem::take(&mut site.changed_rules);
        site.unsaved += 1;
        if let Some(document) = page.document {
            site.through = site.through.max(document);
            self.last = self.last.max(document);
        }
        if !changed_rules.is_empty() || site.unsaved >= SAVED {
            self.unsaved.insert(page.site.into());
        }
        let changed_rules = changed_rules.iter().filter_map(|number| site.candidates.get(number));
        self.changed_rules.extend(changed_rules.filter_map(|it| LearntRule::of(page.site, it)));
    }

    fn learn(&mut self, page: &Page<'_>) {
        let is_gain = page.yielded == Yielded::New;
        let (parts, from) = (Parts::of(page.url), page.from.map(Parts::of));
        let elsewhere = self.parameters_of_other_sites(&parts);
        let is_counted = page.document.is_some_and(|it| it <= self.through);
        let site = self.site(page.site);
        site.elsewhere = elsewhere;
        let has_new_text = page.yielded.is_new_text();
        let patterns = site.patterns(&parts);
        site.remember_path(&parts);
        let mut changed = site.try_rules(page, &parts);
        let yielded =
            page.yielded.exactly(site.repeats_exactly || page.differs_in_a_parameter(&parts));
        let of_referrer = from.as_ref().map(|from| site.patterns(from)).unwrap_or_default();
        let is_own = |number: u32| of_referrer.iter().any(|it| it.number == number);
        let (chain, is_outside) = site.chain_to(page, from.as_ref());
        let mut longest = 0;
        for Pattern { number, kind, .. } in &patterns {
            let chain = if !is_outside && is_own(*number) {
                chain
            } else {
                Chain { links: 0, from_known: false, ..chain }
            };
            longest = longest.max(chain.links);
            if kind.is_wide() && *kind != PatternKind::Path && !has_new_text {
                continue;
            }
            if yielded != Yielded::RedirectUndecided {
                let yielded = (yielded, page.text.unwrap_or_default());
                changed |= site.count_yield(&parts, (*number, *kind), yielded, chain);
            }
        }
        site.set_chain(&parts, longest, !is_gain);
        match &from {
            Some(from) if is_gain => changed |= site.earn_pages(from),
            _ => site.spend_page(&parts),
        }
        let before = of_referrer.first().map(|it| it.number);
        site.count_redirects(page, patterns.first().map_or(0, |it| it.number), before);
        for Pattern { number, .. } in of_referrer {
            if patterns.iter().any(|it| it.number == number) {
                continue;
            }
            let pattern_yield = site.yields.entry(number).or_default();
            if is_gain {
                changed |= pattern_yield.record_new_text_elsewhere();
            } else if page.is_redirected {
                pattern_yield.record_redirect_to_known();
            }
        }
        let tried = std::mem::take(&mut site.tried);
        if !is_counted {
            self.try_parameters(tried);
        }
        if changed {
            self.changed.insert(page.site.into());
        }
        self.note(page);
    }

    /// Counts trials of parameters for all sites.
    fn try_parameters(&mut self, tried: Vec<(u64, Repeats)>) {
        for (name, repeats) in tried {
            if self.parameters.len() < PARAMETERS || self.parameters.contains_key(&name) {
                self.parameters.entry(name).or_default().add(CAREFUL, repeats);
            }
        }
    }

    /// The parameters of a URL that make no difference on other sites.
    fn parameters_of_other_sites(&self, parts: &Parts<'_>) -> Vec<u64> {
        let names = parts.parameters().map(|part| hash(part.name, 0));
        names.filter(|name| self.parameters.get(name).is_some_and(|it| it.accepted)).collect()
    }

    /// What to do with a URL that is known and not fetched.
    pub(crate) fn decide(&mut self, url: &Url, site: &str) -> Placement {
        let Some(known) = self.sites.get_mut(site) else { return Placement::Now };
        known.used = self.clock;
        let chance = xxh3_64_with_seed(url.as_str().as_bytes(), 12);
        let parts = Parts::of(url);
        let prediction = known.predict(&parts);
        if let Prediction::Repeats(rule) = prediction {
            let candidate = &known.candidates[&rule];
            let sampled = if candidate.trial.since > FULL_RATE_SAMPLES {
                SAMPLE_ONE_IN * 64
            } else {
                SAMPLE_ONE_IN
            };
            if !chance.is_multiple_of(sampled) {
                let reason = candidate.part.as_ref().map(|it| it.reason()).unwrap_or_default();
                return Placement::Deferred(DeferReason::Rule, reason);
            }
        }
        let (mut late, mut is_known, mut is_open) = (None, false, false);
        let is_page = known.is_page_of_list(&parts);
        for Pattern { number, text, kind } in known.patterns(&parts) {
            let Some(pattern_yield) = known.yields.get(&number) else { continue };
            is_open |= kind == PatternKind::Exact && known.is_in_open_branch(&parts, number);
            let sample_interval =
                if is_open && matches!(kind, PatternKind::Exact | PatternKind::Broad) {
                    pattern_yield.self_link_interval(kind)
                } else if is_page && kind.is_of_views() {
                    1
                } else {
                    pattern_yield.sample_interval(kind)
                };
            if sample_interval > 1
                && !(chance / SAMPLE_ONE_IN).is_multiple_of(u64::from(sample_interval))
            {
                return Placement::Deferred(DeferReason::LowYield, text);
            }
            if late.is_none() && !is_known && known.is_late(&parts, pattern_yield, kind) {
                late = Some(number);
            }
            // A wider pattern only counts as long as nothing is known of the URL's own.
            is_known |= kind == PatternKind::Exact;
        }
        match prediction {
            Prediction::Perhaps(special, general) => {
                if let Some(new) = known.candidate(special).filter(|it| it.is_new()) {
                    new.general = general;
                }
                Placement::Late(special)
            }
            Prediction::Repeats(rule) => Placement::Late(rule),
            Prediction::Open => late.map_or(Placement::Now, Placement::Late),
        }
    }

    /// A URL as the rules reduce it.
    pub(crate) fn reduced(&self, url: &Url, site: &str) -> Reduced {
        let parts = Parts::of(url);
        let (key, is_by_rule) =
            self.sites.get(site).map_or((parts.key, false), |it| it.reduced(parts));
        Reduced { number: (key >> 32) as u32, is_by_rule }
    }

    /// Whether a URL is a further one of a known path: it shows a choice of other pages, or the same.
    pub(crate) fn is_view(&self, url: &Url, site: &str) -> bool {
        self.sites.get(site).is_some_and(|site| site.is_view(url))
    }

    /// The group of a URL that is fetched late because only a duplicate has the link.
    pub(crate) fn group(&mut self, url: &Url, site: &str) -> u32 {
        self.site(site).patterns(&Parts::of(url)).first().map_or(0, |pattern| pattern.number)
    }

    /// How likely the next page of a group has a new text; less for a pattern that has fed many pages to itself.
    pub(crate) fn estimated_yield(&self, site: &str, group: u32) -> f32 {
        let Some(site) = self.sites.get(site) else { return 1.0 };
        // Where a rule is wrong, a page that it would defer is a new text.
        let of_candidate = site.failure_rate(group);
        let of_pattern = || site.yields.get(&group).map(PatternYield::priority);
        of_candidate.or_else(of_pattern).unwrap_or(0.5)
    }

    /// The sites of which more is wanted than when this was called last.
    pub(crate) fn take_sites_to_requeue(&mut self) -> HashSet<Box<str>> {
        std::mem::take(&mut self.changed)
    }

    /// The rules of the sites in memory, also those that were revoked.
    pub(crate) fn rules(&self) -> Vec<LearntRule> {
        let all = self.sites.iter();
        let all = all.flat_map(|(name, site)| site.candidates.values().map(move |it| (name, it)));
        all.filter_map(|(name, candidate)| LearntRule::of(name, candidate)).collect()
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

    /// Takes back what was kept of a site, or of all together.
    pub(crate) fn restore(&mut self, name: &str, known: Known) {
        if name == ALL {
            let (through, parameters) = known.into_all();
            self.parameters = parameters.collect();
            (self.through, self.saved) = (through, through);
            return;
        }
        let mut site = known.into_site();
        site.import(self.imported(name));
        site.used = self.clock;
        if let Some(before) = self.sites.insert(name.into(), site) {
            self.size -= before.counted;
        }
        self.count(name);
    }

    /// Takes back the sentences that were kept.
    pub(crate) fn restore_sentences(&mut self, kept: &[u8]) {
        self.sentences = Sentences::from_bytes(kept);
    }

    /// What is to be kept now: of sites that were forgotten, of those whose rules have changed, and of those of which much was learnt since
    /// it was kept last; or of all.
    pub(crate) fn take_unsaved(&mut self, all: bool) -> Unsaved {
        let mut sites = std::mem::take(&mut self.evicted);
        let mut names: Vec<_> = std::mem::take(&mut self.unsaved).into_iter().collect();
        if all {
            names.extend(self.sites.iter().filter(|it| it.1.unsaved > 0).map(|it| it.0.clone()));
            names.dedup();
        }
        for name in names {
            let Some(site) = self.sites.get_mut(&name) else { continue };
            if std::mem::take(&mut site.unsaved) > 0 && site.is_worth_keeping() {
                self.kept.insert(hash_of(&name));
                sites.push((name, Known::of(site)));
            }
        }
        let last = self.last;
        let is_due = |saved: DocId, most| last > saved && (all || last.0 - saved.0 >= most);
        if is_due(self.saved, SAVED_OF_ALL) && !self.parameters.is_empty() {
            let parameters = self.parameters.iter().map(|(name, trial)| (*name, *trial));
            sites.push((ALL.into(), Known::of_all(last, parameters)));
            self.saved = last;
        }
        let sentences = is_due(self.saved_sentences, SAVED_SENTENCES).then(|| {
            self.saved_sentences = last;
            self.sentences.to_bytes()
        });
        Unsaved { sites, sentences }
    }

    /// Whether sites were forgotten, and what was known of them is to be kept.
    pub(crate) fn has_evicted(&self) -> bool {
        !self.evicted.is_empty()
    }

    /// What a deferred or a queued URL is expected to have.
    pub(crate) fn estimate(&mut self, url: &Url, site: &str, is_deferred: bool) -> Estimate {
        let site = self.site(site);
        let parts = Parts::of(url);
        let patterns = site.patterns(&parts);
        let pattern = patterns.first().map(|it| it.text.clone()).unwrap_or_default();
        let candidate = match site.predict(&parts) {
            Prediction::Repeats(rule) => site.candidates.get(&rule),
            Prediction::Perhaps(candidate, _) if !is_deferred => site.candidates.get(&candidate),
            Prediction::Perhaps(..) | Prediction::Open => None,
        };
        if let Some(Candidate { trial, .. }) = candidate {
            let (new, new_at_most) = (trial.failure_rate().into(), trial.failure_rate_bound());
            return Estimate { pattern, new, new_at_most, rearranged: 0.0 };
        }
        let mut yields =
            patterns.iter().filter_map(|it| Some((it.kind, site.yields.get(&it.number)?)));
        // Wider patterns do not count pages that repeat others.
        let rearranged = yields.clone().next().map_or(0.0, |(_, it)| it.rearranged());
        let by = if is_deferred {
            yields.max_by_key(|(kind, it)| it.sample_interval(*kind))
        } else {
            yields.next()
        };
        let new = by.map_or(0.5, |(_, it)| f64::from(it.estimate()));
        let bound = by.map_or(1.0, |(_, it)| it.estimate_bound(is_deferred));
        Estimate { pattern, new, new_at_most: bound.max(new), rearranged }
    }
}

fn hash_of(site: &str) -> u64 {
    xxh3_64_with_seed(site.as_bytes(), 13)
}
