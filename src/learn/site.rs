//! What is learnt of one site: which parts of its URLs make no difference, and which patterns still give something new.
//!
//! A part's *class* is all pages whose URLs differ in this part only:
//!
//! ```text
//!  /docs/v1/start?lang=en    class of `v1`:   /docs/…/start?lang=en    of `lang`: /docs/v1/start
//! ```
//!
//! - [`Site::judged`] learns from a page. If a class of the page is known, the page is a trial of the part (`trial.rs`): does it repeat a text of the class?
//!   A part with enough trials is a rule; failures revoke it.
//! - [`Site::predict`] looks up the same classes for a URL that was not requested.
//! - Keys leave out what a rule says makes no difference. So when rules change, the keys of the last pages are made again (`rebuild`).
//!
//! docs/learning.md has the reasons and what was measured.

use std::collections::{HashMap, VecDeque};

use hashbrown::DefaultHashBuilder;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    Page, Yielded,
    numbers::{
        CANDIDATES, CLASSES, MANY_HOSTS, MANY_TRIALS, MANY_VALUES, MIN_PAIRS, MIN_TRIALS, PAGES,
        PATHS, PATTERNS, PERHAPS, RECENT, URL_BYTES, WORDS,
    },
    parts::{Part, PartKind, Parts, Spelling, is_id},
    pattern_yield::PatternYield,
    patterns::{Level, Pattern, Words},
    ring::Ring,
    rule::{EVERYWHERE, RulePart, after_id, candidate_of, number_of},
    trial::{Prior, Repeats, Trial},
};

/// The text of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Text {
    /// The number of the text that it is or nearly repeats.
    group: u32,
    /// A hash of the text itself; 0 if it is not known any more.
    exact: u16,
}

/// Pages whose URLs are the same but for what a key leaves out.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Class {
    /// The first two texts that they have, as in [`Text`].
    groups: [u32; 2],
    exact: [u16; 2],
    members: u8,
    /// The first page's value of the part that is left out, and whether another one has another value.
    value: u16,
    varies: bool,
    /// The rule by which the first page has this key, 0 if it is its own; of a class, the candidate that the part makes no difference.
    rule: u32,
    /// A set of the values of suspects, by a hash of five bits.
    suspects: u32,
}

impl Class {
    /// Whether a page with this text repeats one of this class, if that is a trial. A page that repeats some other one says nothing about this class, and neither
    /// does a new one with the text of this class: its links lead elsewhere, as they do if they have a session.
    fn outcome(&self, text: Text, is_new: bool) -> Option<Repeats> {
        let is_exact = |it: &u16| *it == text.exact && *it != 0;
        match self.groups.iter().position(|it| *it == text.group) {
            Some(at) if is_exact(&self.exact[at]) => Some(Repeats::Exactly),
            Some(_) => Some(Repeats::Nearly),
            None => (is_new && !self.exact.iter().any(is_exact)).then_some(Repeats::Not),
        }
    }

    /// Whether a page of this class has another value of the part.
    fn differs(&self, value: u16) -> bool {
        self.members > 0 && (self.varies || self.value != value)
    }

    fn add(&mut self, text: Text, value: u16) {
        if self.members == 0 {
            self.value = value;
        }
        self.varies |= self.value != value;
        if !self.groups.contains(&text.group)
            && let Some(free) = self.groups.iter().position(|it| *it == 0)
        {
            (self.groups[free], self.exact[free]) = (text.group, text.exact);
        }
        self.members = self.members.saturating_add(1);
    }
}

/// A rule, or what may become one, with its evidence.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub(super) trial: Trial,
    /// A set of the values seen, by a hash of six bits.
    values: u64,
    ids: u32,
    /// Pages that repeat one whose URL differs in this part, and perhaps in others.
    pairs: u32,
    /// The part that it leaves out, once it was accepted.
    pub(super) part: Option<Box<RulePart>>,
    /// It comes from the configuration.
    pub(super) is_imported: bool,
    /// It is about dead links: the part makes no difference where nothing is.
    pub(super) is_dead: bool,
}

impl Candidate {
    /// Whether its values are many, and nearly all look like ids.
    fn has_ids(&self) -> bool {
        self.values.count_ones() >= MANY_VALUES && self.ids * 10 > self.trial.n * 9
    }

    /// Whether it may be one of several parts that make no difference.
    fn is_suspect(&self) -> bool {
        !self.trial.accepted && self.pairs >= MIN_PAIRS && self.pairs > 10 * self.trial.failures
    }

    /// The part that it leaves out, if it is a rule about pages or was one.
    pub(super) fn rule(&self) -> Option<&RulePart> {
        self.part.as_deref().filter(|_| !self.is_dead)
    }

    /// Why a URL is deferred by it.
    pub(super) fn reason(&self) -> String {
        let part = self.part.as_ref().map(ToString::to_string).unwrap_or_default();
        let place = if self.is_dead { " where nothing is" } else { "" };
        format!("{part} makes no difference{place}")
    }

    /// It is a rule of the configuration. One that was revoked stays so. Returns whether it is a rule since then.
    pub(super) fn import(&mut self, part: &RulePart, trials: u32, failures: u32) -> bool {
        let is_new = self.part.is_none() && !self.trial.accepted;
        if is_new {
            self.trial = Trial::imported(trials, failures);
        }
        self.part.get_or_insert_with(|| Box::new(part.clone()));
        self.is_imported = true;
        is_new
    }
}

/// What is known of a URL before it is requested.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Prediction {
    /// Nothing against it.
    Open,
    /// It may repeat a page, by this candidate.
    Perhaps(u32),
    /// This rule says that it repeats a page.
    Repeats(u32),
}

/// What is learnt of a site. It is kept as it is, so that it decides as if it had never left memory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Site {
    /// The pages by their URLs, without what rules leave out.
    pages: Ring<Class, PAGES>,
    /// The classes of the parts of pages.
    classes: Ring<Class, CLASSES>,
    /// The classes of pages whose paths end alike but for the spelling, and of those that differ in several suspects.
    spelt: Ring<Class, RECENT>,
    joint: Ring<Class, RECENT>,
    /// Dead links by their URLs, without what rules leave out, and by the classes of their parts: the value of the part, 0 if there are several.
    dead: Ring<u16, CLASSES>,
    /// Known paths of URLs with parameters.
    paths: Ring<(), PATHS>,
    /// The pages that gave something.
    gains: Ring<(), PATHS>,
    /// How many URLs have had each text.
    texts: Ring<u32, RECENT>,
    pub(super) candidates: HashMap<u32, Candidate, DefaultHashBuilder>,
    pub(super) yields: HashMap<u32, PatternYield, DefaultHashBuilder>,
    words: Words<WORDS>,
    /// The first hosts, by the hashes of their names.
    pub(super) hosts: Vec<(u16, Box<str>)>,
    /// The last pages, with their texts.
    recent: VecDeque<(Box<str>, Text)>,
    /// Bytes of their URLs.
    url_bytes: usize,
    /// Candidates that were in the difference of pages with the same text, and are not refuted.
    suspects: Vec<u32>,
    /// The suspects or the rules have changed.
    pub(super) is_stale: bool,
    /// The candidates that were accepted or revoked by the page judged last.
    #[serde(skip)]
    pub(super) changed_rules: Vec<u32>,
    /// When it was used last.
    #[serde(skip)]
    pub(super) used: u64,
    /// The last observation that is part of what is known.
    pub(super) through: u64,
    /// Whether something was learnt since it was kept last.
    #[serde(skip)]
    pub(super) is_unsaved: bool,
    /// Its size when it was counted last.
    #[serde(skip)]
    pub(super) counted: usize,
}

/// Spellings that a rule may leave out, and the other ones of the same page.
const SPELLINGS: [(RulePart, Spelling, Spelling); 3] = [
    (RulePart::Index, Spelling::Index, Spelling::Slash),
    (RulePart::Slash, Spelling::Slash, Spelling::Bare),
    (RulePart::Ending, Spelling::Ending, Spelling::Bare),
];

/// What makes no difference if URLs with these two spellings have the same page.
fn spelt_otherwise(one: u16, other: u16) -> Option<RulePart> {
    let is = |a: Spelling, b: Spelling| one == 1 + a as u16 && other == 1 + b as u16;
    SPELLINGS.into_iter().find_map(|(part, a, b)| (is(a, b) || is(b, a)).then_some(part))
}

impl Site {
    /// A candidate, which is added if there is room. If there is none, the half of which least is known makes room; rules stay.
    fn candidate(&mut self, number: u32) -> Option<&mut Candidate> {
        if self.candidates.len() >= CANDIDATES && !self.candidates.contains_key(&number) {
            let known = self.candidates.values().filter(|it| it.part.is_none());
            let most = median(known.map(|it| it.trial.n));
            self.candidates.retain(|_, it| it.part.is_some() || it.trial.n > most);
            if self.candidates.len() >= CANDIDATES {
                return None;
            }
        }
        Some(self.candidates.entry(number).or_default())
    }

    fn is_accepted(&self, candidate: u32) -> bool {
        self.candidates.get(&candidate).is_some_and(|it| it.trial.accepted)
    }

    /// The rule that leaves out this part, if there is one.
    fn rule_of(&self, part: &Part<'_>) -> Option<u32> {
        candidates_of(part).find(|it| self.is_accepted(*it))
    }

    /// The parts of a URL as the rules for spellings leave them, and its key without what the other rules leave out, and all rules that were used.
    fn reduce<'a>(&self, mut parts: Parts<'a>) -> (Parts<'a>, u64, Vec<u32>) {
        let mut rules = Vec::new();
        if self.is_one_of_many(&parts.list[0]) {
            parts.list[0].name = EVERYWHERE;
        }
        for (part, spelling, _) in &SPELLINGS {
            let rule = part.candidate_id();
            if parts.spelling() == Some(*spelling) && self.is_accepted(rule) {
                parts.respell(*spelling);
                rules.push(rule);
            }
        }
        let mut key = parts.key;
        for part in &parts.list {
            if let Some(rule) = self.rule_of(part) {
                key = Parts::without(key, part);
                rules.push(rule);
            }
        }
        (parts, key, rules)
    }

    /// The key of a URL as the rules reduce it, and whether one does.
    pub(super) fn reduced(&self, parts: Parts<'_>) -> (u64, bool) {
        let has_order =
            parts.parameters().count() > 1 && self.is_accepted(RulePart::Order.candidate_id());
        let (_, key, rules) = self.reduce(parts);
        (key, has_order || !rules.is_empty())
    }

    /// The class of the pages that differ from one in this part, if there are any.
    fn class_of(&self, key: u64, part: &Part<'_>) -> Option<Class> {
        let key = Parts::without(key, part);
        let class = self.classes.get(key).filter(|it| it.differs(part.short_value()));
        // A page that does not have the parameter.
        class.or_else(|| self.pages.get(key).filter(|_| part.kind == PartKind::Parameter)).copied()
    }

    /// What is known of a URL that was not requested.
    pub(super) fn predict(&self, parts: &Parts<'_>) -> Prediction {
        let (parts, key, rules) = self.reduce(parts.clone());
        let known =
            self.pages.get(key).or_else(|| self.classes.get(key).filter(|_| !rules.is_empty()));
        if let Some(known) = known {
            let order = RulePart::Order.candidate_id();
            let or_by = |rule: u32| Some(rule).filter(|it| self.is_accepted(*it));
            let by = rules.first().copied().or_else(|| or_by(known.rule)).or_else(|| or_by(order));
            return by.map_or(Prediction::Perhaps(order), Prediction::Repeats);
        }
        if let Some(number) = self.predict_dead(&parts, key) {
            return Prediction::Repeats(number);
        }
        if let (Some(own), Some(class)) = (parts.spelling(), self.spelt.get(parts.bare_key(key)))
            && let Some(part) = spelt_otherwise(class.value, 1 + own as u16)
        {
            return Prediction::Perhaps(part.candidate_id());
        }
        let (suspects, class) = self.suspects_of(&parts, key);
        if let Some(known) = self.joint.get(class).filter(|_| !suspects.is_empty()) {
            let new = suspects.iter().filter(|(_, part)| known.suspects & value_bit(part) == 0);
            let least = new
                .map(|it| it.0)
                .min_by_key(|it| self.candidates.get(it).map_or(0, |it| it.trial.n));
            if let Some(least) = least {
                return Prediction::Perhaps(least);
            }
        }
        let known = parts.list.iter().filter(|it| self.class_of(key, it).is_some());
        let rate = |number: u32| {
            let it = self.candidates.get(&number).filter(|it| it.trial.n >= MIN_TRIALS)?;
            Some((it.trial.failure_rate(), number)).filter(|it| it.0 < PERHAPS)
        };
        let best =
            known.flat_map(candidates_of).filter_map(rate).min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Prediction::Open, |(_, number)| Prediction::Perhaps(number))
    }

    /// Whether a candidate of which much is known expects a page to repeat another one.
    pub(super) fn expects_repeat(&self, parts: &Parts<'_>) -> bool {
        match self.predict(parts) {
            Prediction::Open => false,
            Prediction::Perhaps(it) | Prediction::Repeats(it) => {
                self.candidates.get(&it).is_some_and(|it| it.trial.n >= MANY_TRIALS)
            }
        }
    }

    /// Tries rules by the text of a page. Returns whether a rule was learnt or revoked.
    pub(super) fn judged(&mut self, parts: &Parts<'_>, text: Text, is_new: bool) -> bool {
        let url = parts.url;
        let (parts, key, rules) = self.reduce(parts.clone());
        let mut changed = self.try_known(&parts, key, &rules, (text, is_new));
        changed |= self.try_dead(&parts, key, false);
        let tried = self.try_parts(&parts, key, (text, is_new), &mut changed);
        if let Some(own) = parts.spelling()
            && let Some(class) = self.spelt.get(parts.bare_key(key)).copied()
            && let Some(part) = spelt_otherwise(class.value, 1 + own as u16)
            && let Some(repeats) = class.outcome(text, is_new)
        {
            changed |= self.try_rule(part, Prior::Expected, repeats);
        }
        changed |= self.try_suspects(&parts, key, (text, is_new), &tried);
        self.enter(&parts, key, &rules, text);
        if !is_new {
            self.suspect(&parts, text);
        }
        self.remember(url, text);
        if std::mem::take(&mut self.is_stale) {
            self.rebuild();
        }
        changed
    }

    /// A page that is known by its reduced URL is a trial of the rules that reduced it, or of the order of its parameters. A failure counts for the one for which
    /// least speaks.
    fn try_known(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        rules: &[u32],
        (text, is_new): (Text, bool),
    ) -> bool {
        let Some(known) = self.pages.get(key).copied() else { return false };
        let Some(repeats) = known.outcome(text, is_new) else { return false };
        let mut all: Vec<u32> = rules.to_vec();
        if known.rule != 0 && !all.contains(&known.rule) {
            all.push(known.rule);
        }
        if all.is_empty() {
            let is_order = parts.parameters().count() > 1;
            return is_order && self.try_rule(RulePart::Order, Prior::Expected, repeats);
        }
        if !repeats.is_success() {
            all.sort_by(|a, b| self.score(*a).total_cmp(&self.score(*b)));
            all.truncate(1);
        }
        let mut changed = false;
        for number in all {
            let Some(part) = self.candidates.get(&number).and_then(|it| it.rule().cloned()) else {
                continue;
            };
            changed |= self.try_rule(part, Prior::Likely, repeats);
        }
        changed
    }

    fn score(&self, number: u32) -> f32 {
        self.candidates.get(&number).map_or(0.0, |it| it.trial.score)
    }

    /// Tries each part by the pages that differ in it only. Returns the candidates that were tried.
    fn try_parts(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        (text, is_new): (Text, bool),
        changed: &mut bool,
    ) -> Vec<(u32, Repeats)> {
        let outcome = |part: &Part<'_>| {
            if self.rule_of(part).is_some() {
                return None;
            }
            let class = self.class_of(key, part)?;
            Some((class, class.outcome(text, is_new)?))
        };
        let outcomes: Vec<_> =
            parts.list.iter().filter_map(|part| Some((part, outcome(part)?))).collect();
        let is_known = self
            .pages
            .get(key)
            .is_some_and(|it| it.outcome(text, is_new).is_some_and(Repeats::is_success));
        let is_copy = is_known
            || outcomes.iter().any(|(part, it)| it.1 == Repeats::Exactly && !part.is_segment());
        let last = parts.segments().iter().rfind(|it| !it.value.is_empty()).copied();
        let mut tried = Vec::new();
        for (part, (class, repeats)) in outcomes {
            tried.extend(candidates_of(part).map(|number| (number, repeats)));
            if repeats.is_success() && part.is_segment() {
                let is_last = last.is_some_and(|it| it.hash == part.hash);
                let most = if is_id(part.value) { u32::MAX } else { MIN_PAIRS };
                // The page of which it is a copy was the trial of the segments.
                if is_copy
                    || u32::from(class.members) > most
                    || is_last && u32::from(class.members) >= MANY_VALUES
                {
                    continue;
                }
            }
            *changed |= self.try_part(parts, part, repeats);
            if part.kind == PartKind::Host
                && !class.varies
                && let Some((_, other)) = self.hosts.iter().find(|it| it.0 == class.value)
            {
                let other = RulePart::Host(other.to_string());
                *changed |= self.try_rule(other, Prior::None, repeats);
            }
        }
        tried
    }

    /// A page repeats one that differs from it in this part, or not.
    fn try_part(&mut self, parts: &Parts<'_>, part: &Part<'_>, repeats: Repeats) -> bool {
        let mut changed = false;
        for number in candidates_of(part) {
            let Some(candidate) = self.candidate(number) else { continue };
            candidate.values |= 1 << (part.short_value() & 63);
            candidate.ids += u32::from(is_id(part.value));
            // That `latest` and `stable` repeat two versions says nothing of the others.
            let has_few = part.is_segment()
                && candidate.values.count_ones() < MIN_PAIRS
                && candidate.trial.n >= MIN_TRIALS;
            if has_few && repeats.is_success() {
                continue;
            }
            let prior = part.prior(candidate.has_ids());
            changed |=
                self.try_number(number, prior, repeats, || RulePart::of(number, part, parts));
        }
        changed
    }

    fn try_rule(&mut self, part: RulePart, prior: Prior, repeats: Repeats) -> bool {
        self.try_number(part.candidate_id(), prior, repeats, || part)
    }

    fn try_number(
        &mut self,
        number: u32,
        prior: Prior,
        repeats: Repeats,
        part: impl FnOnce() -> RulePart,
    ) -> bool {
        let is_suspect = self.suspects.contains(&number);
        let Some(candidate) = self.candidate(number) else { return false };
        let changed = candidate.trial.add(prior, repeats);
        if changed {
            candidate.part.get_or_insert_with(|| Box::new(part()));
            self.changed_rules.push(number);
        }
        self.is_stale |= changed || is_suspect && !repeats.is_success();
        changed
    }

    /// Enters a page under all of its keys.
    fn enter(&mut self, parts: &Parts<'_>, key: u64, rules: &[u32], text: Text) {
        let page = self.pages.entry(key);
        if page.members == 0 {
            page.rule = rules.first().copied().unwrap_or(0);
        } else if rules.is_empty() {
            page.rule = 0;
        }
        page.add(text, 1);
        for part in &parts.list {
            if self.rule_of(part).is_none() {
                let class = self.classes.entry(Parts::without(key, part));
                class.add(text, part.short_value());
                class.rule = candidate_of(part);
            }
        }
        if let Some(spelling) = parts.spelling() {
            self.spelt.entry(parts.bare_key(key)).add(text, 1 + spelling as u16);
        }
        let (suspects, class) = self.suspects_of(parts, key);
        if !suspects.is_empty() {
            let bits = suspects.iter().fold(0, |all, (_, part)| all | value_bit(part));
            let class = self.joint.entry(class);
            class.add(text, 0);
            class.suspects |= bits;
        }
    }

    /// The page repeats a known one: the parts in which their URLs differ may make no difference.
    fn suspect(&mut self, parts: &Parts<'_>, text: Text) {
        let Some((url, _)) = self.recent.iter().rev().find(|(_, of)| of.group == text.group) else {
            return;
        };
        let Ok(url) = Url::parse(url) else { return };
        let known = Parts::of(&url);
        if known.segments().len() != parts.segments().len() {
            return;
        }
        let differ = |parts: &Parts<'_>, other: &Parts<'_>| -> Vec<u32> {
            let new = parts.list.iter().filter(|part| {
                may_be_suspect(part) && !other.list.iter().any(|it| it.hash == part.hash)
            });
            new.flat_map(candidates_of).collect()
        };
        let mut all = differ(parts, &known);
        all.extend(differ(&known, parts));
        all.sort_unstable();
        all.dedup();
        for number in all {
            let Some(candidate) = self.candidate(number) else { continue };
            candidate.pairs = candidate.pairs.saturating_add(1);
            if candidate.is_suspect() && !self.suspects.contains(&number) {
                self.suspects.push(number);
                self.is_stale = true;
            }
        }
    }

    /// The suspects among the parts of a URL, and the key of the URLs that differ in them only.
    fn suspects_of<'a, 'b>(
        &self,
        parts: &'b Parts<'a>,
        key: u64,
    ) -> (Vec<(u32, &'b Part<'a>)>, u64) {
        if self.suspects.is_empty() {
            return (Vec::new(), key);
        }
        let open = parts.list.iter().filter(|part| self.rule_of(part).is_none());
        let suspect = |part: &'b Part<'a>| {
            candidates_of(part).find(|it| self.suspects.contains(it)).map(|it| (it, part))
        };
        let suspects: Vec<_> = open.filter_map(suspect).collect();
        let key = suspects.iter().fold(key, |key, (_, part)| Parts::without(key, part));
        (suspects, key)
    }

    /// Tries the suspects among the parts of a page together: if it repeats a page whose URL differs in several of them, that is a success for
    /// each. A failure counts for the one for which least speaks, unless one of them failed alone.
    fn try_suspects(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        (text, is_new): (Text, bool),
        tried: &[(u32, Repeats)],
    ) -> bool {
        let (suspects, class) = self.suspects_of(parts, key);
        let Some(known) = self.joint.get(class).filter(|_| !suspects.is_empty()).copied() else {
            return false;
        };
        let Some(repeats) = known.outcome(text, is_new) else { return false };
        let mut new: Vec<_> = suspects
            .into_iter()
            .filter(|(_, part)| known.suspects & value_bit(part) == 0)
            .collect();
        if !repeats.is_success() {
            if new.iter().any(|(it, _)| tried.contains(&(*it, Repeats::Not))) {
                return false;
            }
            new.sort_by(|a, b| self.score(a.0).total_cmp(&self.score(b.0)));
            new.truncate(1);
        }
        new.retain(|(it, _)| !tried.iter().any(|tried| tried.0 == *it));
        new.into_iter()
            .fold(false, |changed, (_, part)| self.try_part(parts, part, repeats) || changed)
    }

    /// Remembers the URL of a page, so that its keys can be made again.
    fn remember(&mut self, url: &Url, text: Text) {
        if self.recent.len() >= RECENT {
            self.forget();
        }
        self.url_bytes += url.as_str().len();
        self.recent.push_back((url.as_str().into(), text));
    }

    fn forget(&mut self) {
        self.url_bytes -= self.recent.pop_front().map_or(0, |(url, _)| url.len());
    }

    /// Makes the keys of the last pages again.
    fn rebuild(&mut self) {
        let candidates = &self.candidates;
        self.suspects.retain(|it| candidates.get(it).is_some_and(Candidate::is_suspect));
        let recent = std::mem::take(&mut self.recent);
        for (url, text) in &recent {
            let Ok(url) = Url::parse(url) else { continue };
            let (parts, key, rules) = self.reduce(Parts::of(&url));
            if !rules.is_empty() || !self.suspects_of(&parts, key).0.is_empty() {
                self.enter(&parts, key, &rules, *text);
            }
        }
        self.recent = recent;
    }

    /// The patterns of a URL: its own first.
    pub(super) fn patterns(&self, parts: &Parts<'_>) -> Vec<Pattern> {
        let host = &parts.list[0];
        let host = if self.is_one_of_many(host) { EVERYWHERE } else { host.value };
        let is_view = self.knows_path(parts);
        self.words.patterns(parts, host, is_view)
    }

    /// Remembers the host and the words of a URL. Returns whether something is new.
    pub(super) fn meet(&mut self, parts: &Parts<'_>) -> bool {
        let host = &parts.list[0];
        let value = host.short_value();
        let is_new = self.hosts.len() < MANY_HOSTS && !self.hosts.iter().any(|it| it.0 == value);
        if is_new {
            self.hosts.push((value, host.value.into()));
        }
        self.words.add(parts) || is_new
    }

    /// Whether the site has very many hosts, and this is none of the first.
    fn is_one_of_many(&self, host: &Part<'_>) -> bool {
        let value = host.short_value();
        self.hosts.len() >= MANY_HOSTS && !self.hosts[..2].iter().any(|it| it.0 == value)
    }

    /// Whether a URL is a view: one of several URLs with the same path, of which the first was requested already.
    pub(super) fn knows_path(&self, parts: &Parts<'_>) -> bool {
        let path = self.path_of(parts);
        parts.url.query().is_some()
            && (self.paths.get(path).is_some() || self.pages.get(path).is_some())
    }

    fn path_of(&self, parts: &Parts<'_>) -> u64 {
        let is_out =
            |part: &&Part<'_>| part.kind != PartKind::Parameter && self.rule_of(part).is_some();
        parts.list.iter().filter(is_out).fold(parts.path_key(), Parts::without)
    }

    /// Counts what a page gave for its patterns. Returns whether more of one is wanted than before.
    pub(super) fn count(
        &mut self,
        page: &Page<'_>,
        parts: &Parts<'_>,
        from: Option<&Parts<'_>>,
        is_expected: bool,
    ) -> bool {
        self.meet(parts);
        let patterns = self.patterns(parts);
        let of_referrer = from.map(|from| self.patterns(from)).unwrap_or_default();
        let is_own =
            patterns.first().map(|it| it.number) == of_referrer.first().map(|it| it.number);
        let is_common = page.text.is_some_and(|text| {
            let urls = self.texts.entry(text.into());
            *urls += 1;
            *urls > MANY_VALUES
        });
        let from_gain = from.is_some_and(|from| self.gains.get(from.key).is_some());
        let has_parameters = parts.parameters().next().is_some();
        let mut changed = false;
        for Pattern { number, level, .. } in &patterns {
            // Of other paths a known text says nothing, unless it is the answer to all of them.
            let counts = match level {
                Level::Own | Level::View => true,
                Level::Wide => is_common || has_parameters || page.yielded.is_new_text(),
                Level::Host => is_common || page.yielded == Yielded::New,
            };
            if !counts {
                continue;
            }
            let is_weak = match page.yielded {
                Yielded::KnownText => is_expected && !is_common,
                _ => page.links_back && (from_gain || !is_own),
            };
            changed |= self.yields.entry(*number).or_default().add(page.yielded, *level, is_weak);
        }
        for Pattern { number, level, .. } in &of_referrer {
            if patterns.iter().any(|it| it.number == *number) {
                continue;
            }
            let of_referrer = self.yields.entry(*number).or_default();
            if page.yielded == Yielded::New {
                changed |= of_referrer.found_elsewhere(*level);
            } else if page.is_redirected {
                of_referrer.missed(1.0);
            }
        }
        if page.yielded == Yielded::New {
            self.gains.entry(parts.key);
        }
        if parts.url.query().is_some() {
            let path = self.path_of(parts);
            self.paths.entry(path);
        }
        changed
    }

    /// Nothing is at a URL. Returns whether that changes what is to be requested.
    pub(super) fn dead(&mut self, parts: &Parts<'_>) -> bool {
        self.meet(parts);
        for Pattern { number, level, .. } in self.patterns(parts) {
            self.yields.entry(number).or_default().dead(level);
        }
        let (parts, key, _) = self.reduce(parts.clone());
        let changed = self.try_dead(&parts, key, true);
        *self.dead.entry(key) = 1;
        changed
    }

    /// Trees of a site that differ in their texts may lack the same pages. So each part has a second test: does a URL lead nowhere if one that differs in this part
    /// leads nowhere? Each class is one trial; a page at one of two such URLs, and none at the other, is a failure.
    fn try_dead(&mut self, parts: &Parts<'_>, key: u64, is_dead: bool) -> bool {
        let mut changed = false;
        for part in parts.list.iter().filter(|it| self.rule_of(it).is_none()).collect::<Vec<_>>() {
            let (class, value) = (Parts::without(key, part), part.short_value());
            let known = self.dead.get(class).copied();
            let repeats = match known.filter(|it| *it != value) {
                Some(first) if is_dead => (first != 0).then_some(Repeats::Exactly),
                Some(_) => Some(Repeats::Not),
                None => (is_dead && self.class_of(key, part).is_some()).then_some(Repeats::Not),
            };
            if let Some(repeats) = repeats {
                let number = dead_of(part);
                let rule = || RulePart::of(candidate_of(part), part, parts);
                changed |= self.try_number(number, part.prior(false), repeats, rule);
                self.candidates.entry(number).and_modify(|it| it.is_dead = true);
            }
            if is_dead {
                *self.dead.entry(class) =
                    if known.is_none_or(|it| it == value) { value } else { 0 };
            }
        }
        changed
    }

    /// The candidate that expects nothing at a URL, because nothing is where it differs from others.
    fn predict_dead(&self, parts: &Parts<'_>, key: u64) -> Option<u32> {
        let is_other = |part: &&Part<'_>| {
            let known = self.dead.get(Parts::without(key, part));
            known.is_some_and(|it| *it != part.short_value())
        };
        let mut dead = parts.list.iter().filter(is_other).map(dead_of);
        dead.find(|it| self.is_accepted(*it))
    }

    /// Forgets what is too much: the half of the patterns of which least is known, and the URLs of the oldest pages. Returns the bytes in memory.
    pub(super) fn shrink(&mut self) -> usize {
        if self.yields.len() >= PATTERNS {
            let most = median(self.yields.values().map(PatternYield::evidence));
            self.yields.retain(|_, it| it.evidence() > most);
        }
        while self.url_bytes > URL_BYTES {
            self.forget();
        }
        self.size()
    }

    /// Bytes in memory: of its tables as they are, and of the words of its rules, about.
    fn size(&self) -> usize {
        // A table has a byte more for each place, and is at most seven eighths full.
        let table = |capacity: usize, entry: usize| {
            if capacity == 0 { 0 } else { (capacity * 8 / 7).next_power_of_two() * (entry + 1) }
        };
        let rings = [
            self.pages.size(),
            self.classes.size(),
            self.spelt.size(),
            self.joint.size(),
            self.dead.size(),
            self.paths.size(),
            self.gains.size(),
            self.texts.size(),
        ];
        rings.iter().sum::<usize>()
            + table(self.candidates.capacity(), size_of::<(u32, Candidate)>())
            + table(self.yields.capacity(), size_of::<(u32, PatternYield)>())
            + self.words.size()
            + self.hosts.capacity() * 32
            + self.recent.capacity() * size_of::<(Box<str>, Text)>()
            + self.url_bytes
            + size_of::<(Box<str>, Self)>() * 2
    }
}

/// The middle one of these numbers, 0 of none.
fn median(all: impl Iterator<Item = u32>) -> u32 {
    let mut all: Vec<u32> = all.collect();
    let middle = all.len() / 2;
    if all.is_empty() { 0 } else { *all.select_nth_unstable(middle).1 }
}

/// The text of a page.
pub(super) fn text_of(group: u32, exact: u16) -> Text {
    Text { group: group.max(1), exact }
}

/// The candidates that this part makes no difference: there, and a segment that looks like an id wherever it follows this word.
fn candidates_of(part: &Part<'_>) -> impl Iterator<Item = u32> + use<> {
    let after = part.is_segment() && !part.name.is_empty();
    after.then(|| after_id(part.name)).into_iter().chain([candidate_of(part)])
}

/// The candidate that this part makes no difference where nothing is.
fn dead_of(part: &Part<'_>) -> u32 {
    number_of(&[32, candidate_of(part).into()])
}

/// Whether several parts like this may make no difference together: words in a path rarely do.
fn may_be_suspect(part: &Part<'_>) -> bool {
    !part.is_segment() || is_id(part.value)
}

/// The bit of a suspect's value in [`Class::suspects`].
fn value_bit(part: &Part<'_>) -> u32 {
    1 << (part.short_value() & 31)
}
