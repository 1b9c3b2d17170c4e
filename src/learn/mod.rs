//! Predicts before a request: which URLs repeat known pages, and which URL patterns still yield new texts.
//!
//! Pure: does no I/O and has no clock. The recorder reports every page that was judged, and asks before each request.
//! docs/learning.md describes the method.

mod gain;
mod parts;
mod site;
mod trial;

use std::collections::{HashMap, HashSet};

use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use gain::Breadth;
use site::{Guess, Pattern, Site};
use trial::{CAREFUL, Trial, upper_bound};

/// Parameters that are counted for all sites.
const PARAMETERS: usize = 1 << 14;
/// What all sites together may take, in bytes.
const MEMORY: usize = 64 << 20;
/// One in this many of the URLs that a rule defers is fetched all the same, up to [`SAMPLE`] of them, and then one in 64 times as many.
const SAMPLED: u64 = 50;
const SAMPLE: u32 = 20;
/// A text is new only if at least this many bytes of it, and an eighth, are in lines not seen before.
const NOVEL: usize = 100;
/// Bits of the Bloom filter of known lines, for all sites.
const LINES: usize = 1 << 23;

/// Why a URL is deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A rule says that it repeats a known page.
    Rule,
    /// Its pattern gives too few new texts.
    Yield,
}

/// What to do with a URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    /// Fetch it in its turn.
    Now,
    /// Fetch it later; groups are ordered by their estimated gain.
    Late(u32),
    /// Do not fetch it unless that changes; why, in words.
    Deferred(By, String),
}

/// What a request gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gave {
    /// A new text, much of it in lines not seen before.
    New,
    /// A new text whose lines were seen before.
    Dull,
    /// A text that was known.
    Repeat,
    /// No text: a redirect that leads nowhere new.
    Nothing,
    /// A redirect that may lead to a new text.
    Hop,
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
    /// What it gave.
    pub(crate) gave: Gave,
    /// A redirect led to it.
    pub(crate) is_redirected: bool,
    /// Where its URL was found first.
    pub(crate) from: Option<&'a Url>,
}

/// A rule that was learnt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The site.
    pub(crate) site: String,
    /// What makes no difference.
    pub(crate) what: String,
    /// How often that was tried.
    pub(crate) trials: u32,
    /// And how often it made a difference.
    pub(crate) failures: u32,
}

/// What was learnt of all sites.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    sites: HashMap<Box<str>, Site>,
    lines: Vec<u64>,
    line_count: usize,
    clock: u64,
    /// How often a parameter made no difference, on all sites.
    parameters: HashMap<u64, Trial>,
    /// Sites of which more is wanted than before.
    changed: HashSet<Box<str>>,
}

impl Learner {
    /// Whether much of a text is in lines that no text before it had. Remembers its lines.
    pub(crate) fn is_novel(&mut self, text: &str) -> bool {
        if self.lines.is_empty() || self.line_count * 8 > LINES {
            self.lines = vec![0; LINES / 64];
            self.line_count = 0;
        }
        let (mut novel, mut all) = (0, 0);
        for line in text.lines() {
            let hash = xxh3_64_with_seed(line.as_bytes(), 11);
            let places =
                [hash, hash >> 32].map(|bits| usize::try_from(bits % LINES as u64).unwrap_or(0));
            let is_known = places.iter().all(|at| self.lines[at / 64] >> (at % 64) & 1 == 1);
            all += line.len();
            if !is_known {
                novel += line.len();
                self.line_count += 1;
                for at in places {
                    self.lines[at / 64] |= 1 << (at % 64);
                }
            }
        }
        novel >= NOVEL && novel * 8 >= all
    }

    fn site(&mut self, name: &str) -> &mut Site {
        self.clock += 1;
        if !self.sites.contains_key(name) {
            if self.clock.is_multiple_of(64) {
                self.make_room();
            }
            self.sites.insert(name.into(), Site::default());
        }
        let site = self.sites.entry(name.into()).or_default();
        site.used = self.clock;
        site
    }

    /// Forgets the sites that were not used for the longest time.
    fn make_room(&mut self) {
        let mut size: usize = self.sites.values().map(Site::size).sum();
        if size < MEMORY {
            return;
        }
        let mut all: Vec<_> =
            self.sites.iter().map(|(name, site)| (site.used, name.clone())).collect();
        all.sort();
        for (_, name) in all {
            if size * 4 < MEMORY * 3 {
                break;
            }
            size -= self.sites.remove(&name).map_or(0, |site| site.size());
        }
    }

    /// A page was judged, or something else was received for its URL.
    pub(crate) fn judged(&mut self, page: &Page<'_>) {
        let is_gain = page.gave == Gave::New;
        let elsewhere = self.elsewhere(page.url);
        let site = self.site(page.site);
        site.elsewhere = elsewhere;
        let mut changed = match page.text {
            Some(text) => {
                site.judged(page.url, text.max(1), matches!(page.gave, Gave::New | Gave::Dull))
            }
            None => false,
        };
        let patterns = site.patterns(page.url);
        let of_referrer = page.from.map(|from| site.patterns(from)).unwrap_or_default();
        let is_own = |number: u32| of_referrer.iter().any(|it| it.number == number);
        let chain = page.from.map_or(0, |from| site.chain(from)).saturating_add(1);
        let mut longest = 0;
        for Pattern { number, breadth, .. } in &patterns {
            let chain = if is_own(*number) { chain } else { 0 };
            if *breadth != Breadth::Broad {
                longest = longest.max(chain);
            } else if !is_gain && page.gave != Gave::Dull {
                continue;
            }
            if page.gave != Gave::Hop {
                changed |= site.gains.entry(*number).or_default().add(is_gain, chain);
            }
        }
        site.set_chain(page.url, longest);
        for Pattern { number, .. } in of_referrer {
            if patterns.iter().any(|it| it.number == number) {
                continue;
            }
            let gain = site.gains.entry(number).or_default();
            if is_gain {
                changed |= gain.earn();
            } else if page.is_redirected {
                gain.blame();
            }
        }
        if site.gains.len() > 4_096 {
            site.gains.retain(|_, gain| gain.fetched > 1);
        }
        let tried = std::mem::take(&mut site.tried);
        for (name, same) in tried {
            if self.parameters.len() < PARAMETERS || self.parameters.contains_key(&name) {
                self.parameters.entry(name).or_default().add(CAREFUL, same);
            }
        }
        if changed {
            self.changed.insert(page.site.into());
        }
    }

    /// The parameters of a URL that make no difference on other sites.
    fn elsewhere(&self, url: &Url) -> Vec<u64> {
        let names = site::parameters(url);
        names.filter(|name| self.parameters.get(name).is_some_and(|it| it.accepted)).collect()
    }

    /// What to do with a URL that is known and not fetched.
    pub(crate) fn ask(&mut self, url: &Url, site: &str) -> Ask {
        let Some(known) = self.sites.get_mut(site) else { return Ask::Now };
        let chance = xxh3_64_with_seed(url.as_str().as_bytes(), 12);
        let guess = known.guess(url);
        if let Guess::Repeats(rule) = guess {
            let candidate = &known.candidates[&rule];
            let sampled = if candidate.trial.since > SAMPLE { SAMPLED * 64 } else { SAMPLED };
            if !chance.is_multiple_of(sampled) {
                let text = candidate.text.as_deref().unwrap_or_default();
                return Ask::Deferred(By::Rule, format!("{text} makes no difference"));
            }
        }
        let mut late = None;
        for Pattern { number, text, breadth } in known.patterns(url) {
            let Some(gain) = known.gains.get(&number) else { continue };
            let one_in = gain.one_in(breadth);
            if one_in > 1 && !(chance / SAMPLED).is_multiple_of(u64::from(one_in)) {
                return Ask::Deferred(By::Yield, text);
            }
            if breadth != Breadth::Broad && gain.estimate() < 0.2 {
                late = Some(number);
            }
        }
        match guess {
            Guess::Perhaps(special, general) => {
                let new = || site::Candidate { general, ..Default::default() };
                known.candidates.entry(special).or_insert_with(new);
                Ask::Late(special)
            }
            Guess::Repeats(rule) => Ask::Late(rule),
            Guess::Open => late.map_or(Ask::Now, Ask::Late),
        }
    }

    /// The group of a URL that is fetched late because only a duplicate has the link.
    pub(crate) fn group(&mut self, url: &Url, site: &str) -> u32 {
        self.site(site).patterns(url).first().map_or(0, |pattern| pattern.number)
    }

    /// How likely the next page of a group has a new text.
    pub(crate) fn gain(&self, site: &str, group: u32) -> f32 {
        let Some(site) = self.sites.get(site) else { return 1.0 };
        let of_candidate = site.failing(group);
        let of_pattern = || site.gains.get(&group).map(gain::Gain::estimate);
        of_candidate.or_else(of_pattern).unwrap_or(0.5)
    }

    /// The sites of which more is wanted than when this was called last.
    pub(crate) fn take_changed(&mut self) -> HashSet<Box<str>> {
        std::mem::take(&mut self.changed)
    }

    /// The rules that are in force.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for (name, site) in &self.sites {
            for candidate in site.candidates.values().filter(|it| it.trial.accepted) {
                rules.push(Rule {
                    site: name.to_string(),
                    what: candidate.text.as_deref().unwrap_or_default().to_owned(),
                    trials: candidate.trial.n,
                    failures: candidate.trial.failures,
                });
            }
        }
        rules.sort_by(|a, b| (&a.site, &a.what, a.trials).cmp(&(&b.site, &b.what, b.trials)));
        rules
    }

    /// The pattern of a deferred URL, and how likely it has a new text: as estimated, and at most (95 % sure).
    pub(crate) fn estimate(&mut self, url: &Url, site: &str) -> (String, f64, f64) {
        let site = self.site(site);
        let patterns = site.patterns(url);
        let shown = patterns.first().map(|it| it.text.clone()).unwrap_or_default();
        if let Guess::Repeats(rule) = site.guess(url) {
            let trial = site.candidates[&rule].trial;
            return (shown, f64::from(trial.failing()), trial.failing_at_most());
        }
        let gains =
            patterns.iter().filter_map(|it| Some((it.breadth, site.gains.get(&it.number)?)));
        let closed = gains.max_by_key(|(breadth, gain)| gain.one_in(*breadth));
        let (estimate, most) = closed.map_or((0.5, 1.0), |(_, gain)| {
            (f64::from(gain.estimate()), upper_bound(gain.misses(), 0).max(gain.estimate().into()))
        });
        (shown, estimate, most)
    }
}
