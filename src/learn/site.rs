//! The rules and patterns learnt for one site: which URL parts make no difference, and which patterns still yield new texts.
//!
//! A URL has parts (`parts.rs`): host, path segments, parameters. A part's *class* is all pages whose URLs differ in this part only:
//!
//! ```text
//!  /docs/v1/start?lang=en    class of `v1`:   /docs/…/start?lang=en    of `lang`: /docs/v1/start
//! ```
//!
//! - [`Site::judged`] learns from a page and the number of its text. If a class of the page has another value of the part, the page is a trial:
//!   does it repeat a text of the class? The trial counts for several candidates (`candidates_of`), from "this part makes no difference" to
//!   "it makes none for this value, in this place, if the counterparts are the same". A candidate with enough trials (`trial.rs`) is a
//!   rule; a failure may revoke it. Then the page enters its classes.
//! - [`Site::predict`] looks up the same classes for a URL that was not fetched: a rule says that it repeats a page, or a candidate that it
//!   perhaps does.
//! - Keys leave out what a rule says makes no difference (`reduced_key`). So when rules change, the keys of the last pages are made again
//!   (`rebuild`).
//! - Some differences are not one part: several at once (`try_suspects`), another order of the parameters or the name of an index page
//!   (`try_spellings`), a path of which the end is the same (`try_suffixes`), one more segment (`try_last_word`), a redirect (`redirects`).
//! - [`Site::patterns`] returns the patterns of a URL, whose yield `pattern_yield.rs` counts.
//!
//! docs/learning.md has the reasons and what was measured.

use std::{
    collections::{HashMap, VecDeque},
    iter,
};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    Page, Yielded,
    classes::Classes,
    parts::{
        Meaning, Part, PartKind, Parts, Spelling, TextKind, chooses_page, hash, meaning, text_kind,
    },
    pattern_yield::{Chain, PatternKind, PatternYield},
    rule::{Counterparts, ENDING, INDEX, RulePart, SLASH, candidate_id, last_id, other_id},
    spans::{Spans, version},
    trial::{CAREFUL, EXPECTED, LIKELY, PARALLEL, QUICK, Repeats, SAFE, Test, Trial},
};
use crate::page::DocId;

/// Candidates of a site, and patterns: as many as a table of 4,096 places takes.
pub(super) const CANDIDATES: usize = 3_584;
/// Classes that are remembered of a site, and of how many the spans of versions are.
const CLASSES: usize = 20_000;
const SPANS: usize = 2_048;
/// From this number of hosts on, the hosts of a site have one pattern.
const MANY_HOSTS: usize = 16;
/// Kinds of pages, as `action=history`, that have a pattern of their own: a value that is made up for each link is no kind.
const PAGE_TYPES: usize = 64;
/// Words before the numbers of files that are remembered of a site, and the numbers from which on a word has a pattern of its own: blogs have
/// titles with numbers, too.
const NUMBERED: usize = 64;
const MANY_NUMBERS: u32 = 16;
/// The last pages of a site of which the URL is remembered, and how long it may be.
const RECENT: usize = 2_048;
const RECENT_LENGTH: usize = 256;
/// The last redirects of a site that are remembered.
const REDIRECTS: usize = 512;
/// The mark of a page without a new text in its chain.
const KNOWN_PAGE: u16 = 1 << 15;
/// Different values after which those of a part that look like ids are taken for such.
const MANY_VALUES: u32 = 12;
/// The pages of a class that are trials of their last segment, if they repeat one of it.
const MAX_TRIALS: u8 = 12;
/// The same for the rule that a segment makes no difference whatever its value is: a page that is the same in three versions is so in most.
const MAX_TRIALS_OF_ALL: u8 = 3;
/// Successes of one value of a segment that are not outweighed by others.
const MAX_LEAD: u32 = 8;
/// From this number of pages on, the branches of a pattern are counted.
const BRANCHED: u32 = 64;
/// Pages of a list that are fetched for each new text to which it led.
const PAGES_PER_NEW_TEXT: u8 = 1;
/// From this length on, the value of a parameter for sessions is one.
const LONG_ID: usize = 16;

/// The text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The number of the text that it is or nearly repeats.
    pub(super) group: u32,
    /// A hash of the text itself; 0 if it is not known any more.
    pub(super) hash: u16,
}

/// The pages that are the same but for one part.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// The texts that they have, the first two.
    groups: [u32; 2],
    /// Hashes of the first pages with them.
    hashes: [u16; 2],
    members: u8,
    /// The first page's value of the part in which they differ.
    value: u16,
    /// Whether another one has another value.
    varies: bool,
    /// Whether all have exactly the same text.
    is_unanimous: bool,
    /// For each place: a page of this class repeats exactly one that differs from it there.
    identical: u16,
    /// The same, but it repeats it nearly.
    same: u16,
    /// The same, but it does not repeat it.
    different: u16,
    /// Links in a row within the pattern that led to the page of this key, and whether it had no new text.
    chain: u16,
    /// A set of the values of suspects that its pages have, by a hash of five bits.
    suspects: u32,
    /// A rule that leaves out a part of a page whose reduced key this is; 0 if there is none.
    reduced_by: u32,
    /// Pages of the list of this key that are fetched although its pattern gives little.
    pages: u8,
}

impl Class {
    /// Whether a page with this text repeats one of this class.
    fn repeats(&self, text: Text) -> Repeats {
        match self.groups.iter().position(|group| *group == text.group) {
            None => Repeats::Not,
            Some(place) if text.hash != 0 && self.hashes[place] == text.hash => Repeats::Exactly,
            Some(_) => Repeats::Nearly,
        }
    }

    /// The same as a trial, if it is one. A page that repeats some other one says nothing about this class, and neither does a new one with the text of this class: its
    /// links lead elsewhere, as they do if they have a session.
    fn outcome(&self, text: Text, is_new: bool) -> Option<Repeats> {
        let has_text = text.hash != 0 && self.hashes.contains(&text.hash);
        Some(self.repeats(text)).filter(|it| it.is_success() || is_new && !has_text)
    }

    /// How its pages repeat those that differ from them at the place of this bit: exactly, nearly, not.
    fn compared(&self, bit: u16) -> [bool; 3] {
        [self.identical, self.same, self.different].map(|it| it & bit != 0)
    }

    /// Whether all its pages have the same text.
    fn agrees(&self) -> bool {
        self.members > 1 && self.groups[1] == 0
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
        self.is_unanimous = match self.repeats(text) {
            Repeats::Exactly => self.is_unanimous,
            Repeats::Nearly => false,
            Repeats::Not => {
                if let Some(free) = self.groups.iter().position(|known| *known == 0) {
                    (self.groups[free], self.hashes[free]) = (text.group, text.hash);
                }
                self.members == 0
            }
        };
        self.members = self.members.saturating_add(1);
    }
}

/// A rule, or what may become one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub(super) trial: Trial,
    /// A more general one, whose trials count a little for this one too.
    pub(super) general: u32,
    /// A set of the values seen, by a hash of six bits.
    pub(super) values: u64,
    /// Pages that repeat one whose URL differs in this part, and perhaps in others.
    #[serde(default)]
    pub(super) pairs: u32,
    pub(super) ids: u32,
    /// The value that more than half of the successes may have had, and how many more they are than the others (R. S. Boyer and J S. Moore, MJRTY, 1981).
    #[serde(default)]
    pub(super) majority: (u16, u32),
    /// In words, once it was accepted.
    pub(super) text: Option<Box<str>>,
    /// The part that it leaves out, once it was accepted.
    #[serde(default)]
    pub(super) part: Option<Box<RulePart>>,
    /// It comes from the configuration.
    #[serde(default)]
    pub(super) is_imported: bool,
}

impl Candidate {
    /// Whether it may be one of several parts that make no difference.
    fn is_suspect(&self) -> bool {
        !self.trial.accepted && self.pairs > 2 && self.pairs > 10 * self.trial.failures
    }

    /// Counts a success with this value, unless those of the same value outweigh all others: `latest` repeats the last version, and that says nothing of
    /// the others.
    fn is_one_sided(&mut self, value: u16) -> bool {
        let (majority, lead) = &mut self.majority;
        match *lead {
            0 => (*majority, *lead) = (value, 1),
            _ if *majority != value => *lead -= 1,
            MAX_LEAD => return true,
            _ => *lead += 1,
        }
        false
    }

    /// It was accepted now, if it is new.
    fn name(&mut self, part: impl FnOnce() -> RulePart) {
        if self.part.is_none() {
            let part = part();
            self.text = Some(part.to_string().into());
            self.part = Some(Box::new(part));
        }
    }

    /// It is a rule of the configuration. One that was revoked stays so.
    pub(super) fn import(&mut self, part: &RulePart, trials: u32, failures: u32) {
        if self.part.is_none() && !self.trial.accepted {
            self.trial = Trial::imported(trials, failures);
        }
        self.name(|| part.clone());
        self.is_imported = true;
    }
}

/// A part that may make no difference, and the class of the pages that differ in it only.
struct PartClass<'a, 'b> {
    part: &'b Part<'a>,
    class: u64,
    value: u16,
    /// Its bit in [`Class::same`].
    bit: u16,
}

/// A URL that redirects.
#[derive(Debug)]
struct Redirect {
    url: Box<str>,
    /// The key of the target.
    target: u64,
    /// Nothing else has led to the target.
    leads_on: bool,
}

/// What is known of a URL before it is fetched.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Prediction {
    /// Nothing against it.
    Open,
    /// It may repeat a page: the candidate, and a more general one.
    Perhaps(u32, u32),
    /// A rule says that it repeats a page.
    Repeats(u32),
}

/// What is learnt of a site.
#[derive(Debug, Default)]
pub(super) struct Site {
    classes: Classes<Class, CLASSES>,
    /// Which versions of a page have the same text.
    spans: Classes<Spans, SPANS>,
    pub(super) candidates: HashMap<u32, Candidate>,
    pub(super) yields: HashMap<u32, PatternYield>,
    pub(super) hosts: Vec<u64>,
    /// Their names, by hashes as in [`Class::value`].
    host_names: Vec<(u16, Box<str>)>,
    /// Kinds of its pages, by hashes of a parameter.
    page_types: Vec<u64>,
    /// Hashes of words before the numbers of files, each with a bit for each number by its hash.
    numbered: Vec<(u64, u64)>,
    /// Parameters of the page judged last that make no difference on other sites.
    pub(super) elsewhere: Vec<u64>,
    /// Parameters of the page judged last that were tried, and with what success.
    pub(super) tried: Vec<(u64, Repeats)>,
    /// Whether the page judged last has exactly the text of one that differs in one parameter only.
    pub(super) repeats_exactly: bool,
    /// When it was used last.
    pub(super) used: u64,
    /// The candidates that were accepted or revoked by the page judged last.
    pub(super) changed_rules: Vec<u32>,
    /// The last document that is part of what is known.
    pub(super) through: DocId,
    /// Pages since it was saved last.
    pub(super) unsaved: u32,
    /// Its size when it was counted last.
    pub(super) counted: usize,
    /// The page that is judged is known already, and no trial.
    pub(super) is_replay: bool,
    /// The last pages, with their texts.
    recent: VecDeque<(Box<str>, Text)>,
    recent_bytes: usize,
    /// The last redirects.
    redirects: VecDeque<Redirect>,
    /// Candidates that were in the difference of pages with the same text, and are not refuted.
    suspects: Vec<u32>,
    /// The suspects or the rules have changed.
    is_stale: bool,
}

/// The middle one of these numbers.
fn median(mut numbers: Vec<u32>) -> u32 {
    let middle = numbers.len() / 2;
    if numbers.is_empty() { 0 } else { *numbers.select_nth_unstable(middle).1 }
}

impl Site {
    /// Bytes in memory: of its tables as they are, and of the words of its rules, about.
    pub(super) fn size(&self) -> usize {
        // A table has a byte more for each place, and is at most seven eighths full.
        let table = |capacity: usize, entry: usize| {
            if capacity == 0 { 0 } else { (capacity * 8 / 7).next_power_of_two() * (entry + 1) }
        };
        self.classes.size()
            + self.spans.size()
            + table(self.candidates.capacity(), size_of::<(u32, Candidate)>())
            + table(self.yields.capacity(), size_of::<(u32, PatternYield)>())
            + self.candidates.len() * 8
            + (self.page_types.capacity() + 2 * self.numbered.capacity() + self.hosts.capacity())
                * 8
            + self.recent.capacity() * size_of::<(Box<str>, Text)>()
            + self.recent_bytes
            + self.redirects.capacity() * size_of::<Redirect>()
            + self.redirects.iter().map(|it| it.url.len()).sum::<usize>()
            + size_of::<(Box<str>, Self)>() * 2
    }

    /// Drops the half of the candidates and patterns of which least is known, if there are too many. Rules stay.
    pub(super) fn trim(&mut self) {
        if self.candidates.len() >= CANDIDATES {
            let others = self.candidates.values().filter(|it| it.part.is_none());
            let most = median(others.map(|it| it.trial.n).collect());
            self.candidates.retain(|_, it| it.part.is_some() || it.trial.n > most);
        }
        if self.yields.len() >= CANDIDATES {
            let most = median(self.yields.values().map(|it| it.fetched).collect());
            self.yields.retain(|_, it| it.fetched > most);
        }
    }

    /// The parts of a URL, without the name of an index page, the ending of a file and the slash at the end if these make no difference.
    fn parts_of<'a>(&self, url: &'a Url) -> Parts<'a> {
        let mut parts = Parts::of(url).with_kind();
        for (candidate, spelling) in
            [(INDEX, Spelling::Index), (SLASH, Spelling::Slash), (ENDING, Spelling::Ending)]
        {
            if self.is_accepted(candidate) {
                parts.respell(spelling);
            }
        }
        parts
    }

    /// The key of a URL without the parts that rules leave out.
    fn reduced_key(&self, parts: &Parts<'_>) -> u64 {
        let is_left_out = |part: &&Part<'_>| self.is_left_out(parts, part);
        let left_out = parts.list.iter().filter(is_left_out);
        left_out.fold(parts.key, |key, part| Parts::without(key, part))
    }

    /// A page without a part that a rule leaves out of a known one has another text: that is a failure of the rule. Returns whether it was revoked.
    fn try_reduced(&mut self, parts: &Parts<'_>, key: u64, text: Text, is_new: bool) -> bool {
        let known = self.classes.get(key).filter(|_| parts.key == key);
        let known = known.filter(|class| class.outcome(text, is_new) == Some(Repeats::Not));
        let Some(rule) = known.map(|class| class.reduced_by).filter(|it| self.is_accepted(*it))
        else {
            return false;
        };
        let part = self.candidates.get(&rule).and_then(|it| it.part.as_deref().cloned());
        part.is_some_and(|part| self.try_number(rule, EXPECTED, Repeats::Not, part))
    }

    /// Enters a page under its reduced key.
    fn add_reduced(&mut self, parts: &Parts<'_>, key: u64, text: Text) {
        let all = || parts.list.iter().flat_map(|part| Self::plain_candidates(parts, part));
        let is_reduced = parts.key != key;
        let rule = is_reduced.then(|| all().find(|it| self.is_accepted(*it))).flatten();
        // Pages with one more parameter differ from this one in that.
        let class = self.class(key);
        class.add(text, ABSENT);
        class.reduced_by = rule.unwrap_or(class.reduced_by);
    }

    fn is_accepted(&self, candidate: u32) -> bool {
        self.candidates.get(&candidate).is_some_and(|it| it.trial.accepted)
    }

    /// Whether a rule says that this part makes no difference, anywhere or on pages of this kind.
    fn is_left_out(&self, parts: &Parts<'_>, part: &Part<'_>) -> bool {
        Self::plain_candidates(parts, part).any(|it| self.is_accepted(it))
    }

    /// The candidates that this part makes no difference: anywhere, and a parameter on pages of this kind, or a segment after this word.
    fn plain_candidates(parts: &Parts<'_>, part: &Part<'_>) -> impl Iterator<Item = u32> + use<> {
        iter::once(Self::candidate_of(parts, part)).chain(other_id(parts, part))
    }

    /// The candidate that this part makes no difference anywhere.
    fn candidate_of(parts: &Parts<'_>, part: &Part<'_>) -> u32 {
        match part.kind {
            PartKind::Host => candidate_id(&[8, hash(part.value, 0)]),
            PartKind::Parameter => candidate_id(&[1, hash(part.name, 0)]),
            PartKind::Segment(place) => {
                candidate_id(&[2, parts.prefixes[usize::from(place)], u64::from(place)])
            }
        }
    }

    /// The parts that may make no difference, with the classes.
    fn part_classes<'a, 'b>(&self, parts: &'b Parts<'a>, key: u64) -> Vec<PartClass<'a, 'b>> {
        let part_class = |part: &'b Part<'a>| {
            let left_out = self.is_left_out(parts, part);
            let class = if left_out { key } else { Parts::without(key, part) };
            let bit = match part.kind {
                PartKind::Host => 1,
                PartKind::Segment(place) => 2_u16.checked_shl(place.into()).unwrap_or(0),
                PartKind::Parameter => 0,
            };
            let value = value_of(part);
            PartClass { part, class, value, bit }
        };
        parts.list.iter().map(part_class).collect()
    }

    /// The candidates to which a page belongs that differs from a known one in this part, the most general first.
    fn candidates_of(
        &self,
        parts: &Parts<'_>,
        all: &[PartClass<'_, '_>],
        part_class: &PartClass<'_, '_>,
    ) -> [Option<(u32, Test)>; 4] {
        let part = part_class.part;
        let plain = Self::candidate_of(parts, part);
        let tested = |it| (it, self.test_of(it, part));
        let place = match part.kind {
            PartKind::Parameter => {
                // Where it makes no difference at all, that of each kind is not asked for.
                let of_kind = other_id(parts, part).filter(|_| !self.is_accepted(plain));
                return [Some(tested(plain)), of_kind.map(tested), None, None];
            }
            PartKind::Host => 0,
            PartKind::Segment(place) => u64::from(place) + 1,
        };
        let prefix =
            if place == 0 { 0 } else { parts.prefixes[usize::try_from(place).unwrap_or(1) - 1] };
        // Pages that differ from this one in another part: what came of leaving out this one there?
        let others = all.iter().filter(|other| other.bit != 0 && other.bit != part_class.bit);
        let class = self.classes.get(part_class.class).copied().unwrap_or_default();
        let compared = others.filter_map(|other| {
            let other = self.classes.get(other.class)?;
            Some((other.members, other.compared(part_class.bit)))
        });
        let compared = compared.filter(|(_, it)| *it != [false; 3]);
        // The fewer pages it has, the more they have in common with this one.
        let nearest = compared.min_by_key(|(members, _)| *members);
        let compared = nearest.map_or([false; 3], |it| it.1);
        let encloses =
            |version| self.spans.get(part_class.class).is_some_and(|spans| spans.enclose(version));
        let is_enclosed = place > 0 && version(part.value).is_some_and(encloses);
        let state = match compared {
            _ if is_enclosed => Counterparts::Enclosing,
            [true, false, false] => Counterparts::Identical,
            [_, true, false] => Counterparts::Same,
            [false, false, true] => Counterparts::Different,
            [_, _, true] => Counterparts::Mixed,
            [false, false, false] if !class.agrees() => Counterparts::Unknown,
            [false, false, false] if class.is_unanimous => Counterparts::Unanimous,
            [false, false, false] => Counterparts::Agreeing,
        };
        // Where they are only nearly the same, one page in fifteen of a manual had another text.
        let is_supported = matches!(state, Counterparts::Identical | Counterparts::Enclosing);
        let (test, state) = (if is_supported { PARALLEL } else { SAFE }, state as u64);
        let next = parts.segments().nth(usize::try_from(place).unwrap_or(0));
        let next = next.map_or(0, |part| hash(part.value, 0));
        [
            other_id(parts, part).map(tested),
            Some(tested(plain)),
            Some((candidate_id(&[3, place, prefix, state]), test)),
            Some((candidate_id(&[4, place, prefix, state, next, hash(part.value, 0)]), test)),
        ]
    }

    /// How much evidence is needed to leave out this part everywhere.
    fn test_of(&self, candidate: u32, part: &Part<'_>) -> Test {
        let candidate = self.candidates.get(&candidate);
        let has_many = candidate.is_some_and(|it| it.values.count_ones() >= MANY_VALUES);
        let has_ids = has_many && candidate.is_some_and(|it| it.ids * 10 > it.trial.n * 9);
        let meaning = meaning(part.name);
        match part.kind {
            PartKind::Parameter if meaning == Some(Meaning::Content) => CAREFUL,
            PartKind::Parameter | PartKind::Segment(_) if meaning == Some(Meaning::Session) => {
                if part.value.len() >= LONG_ID {
                    EXPECTED
                } else {
                    LIKELY
                }
            }
            PartKind::Parameter if meaning == Some(Meaning::Origin) => EXPECTED,
            PartKind::Parameter if meaning == Some(Meaning::Circumstance) => LIKELY,
            PartKind::Parameter if has_many || self.elsewhere.contains(&hash(part.name, 0)) => {
                QUICK
            }
            PartKind::Parameter => CAREFUL,
            _ if has_ids => QUICK,
            _ => SAFE,
        }
    }

    /// Tries rules by the text of a page, or by an answer without one. Returns whether a rule was learnt or revoked.
    pub(super) fn try_rules(&mut self, page: &Page<'_>) -> bool {
        let mut changed = page.text.is_some_and(|text| {
            let text = Text { group: text.max(1), hash: page.hash };
            self.judged(page.url, text, page.yielded.is_new_text())
        });
        let leads_on = page.yielded == Yielded::RedirectUndecided;
        changed |= page.to.is_some_and(|to| self.redirects(page.url, to, leads_on));
        if matches!(page.yielded, Yielded::Nothing | Yielded::RedirectToKnown) {
            changed |= self.gave_nothing(page.url, page.to);
        }
        changed
    }

    /// A page was judged: its text has this number. Returns whether a rule was learnt or revoked.
    pub(super) fn judged(&mut self, url: &Url, text: Text, is_new: bool) -> bool {
        let parts = self.parts_of(url);
        let key = self.reduced_key(&parts);
        let part_classes = self.part_classes(&parts, key);
        let mut changed = false;
        let mut outcomes = Vec::new();
        let mut tried = Vec::new();
        self.repeats_exactly = false;
        for part_class in &part_classes {
            let Some(class) = self.class_of(part_class).copied() else { continue };
            let Some(repeats) = class.outcome(text, is_new) else { continue };
            self.repeats_exactly |=
                repeats == Repeats::Exactly && part_class.part.kind == PartKind::Parameter;
            outcomes.push((part_class.bit, repeats));
            let numbers = Self::plain_candidates(&parts, part_class.part);
            tried.extend(numbers.map(|number| (number, repeats)));
            if part_class.part.kind == PartKind::Parameter && !self.is_replay {
                self.tried.push((hash(part_class.part.name, 0), repeats));
            }
            changed |= self.try_part(&parts, &part_classes, part_class, &class, repeats);
        }
        changed |= self.try_suffixes(&parts, text, is_new);
        changed |= self.try_last_word(&parts, key, text, is_new);
        changed |= self.try_suspects(&parts, key, text, is_new, &tried);
        self.remember_versions(&part_classes, text.group);
        changed |= self.try_reduced(&parts, key, text, is_new);
        self.add_reduced(&parts, key, text);
        for part_class in &part_classes {
            let class = self.class(part_class.class);
            class.add(text, part_class.value);
            for (bit, repeats) in outcomes.iter().filter(|it| it.0 != part_class.bit) {
                match repeats {
                    Repeats::Exactly => class.identical |= bit,
                    Repeats::Nearly => class.same |= bit,
                    Repeats::Not => class.different |= bit,
                }
            }
        }
        changed |= self.try_spellings(&parts, key, text, is_new);
        if !is_new {
            self.suspect(&parts, text.group);
        }
        self.remember(url, text);
        changed |= self.remember_redirects(parts.key, text, is_new);
        if std::mem::take(&mut self.is_stale) {
            self.rebuild();
        }
        changed
    }

    /// A page repeats one that differs from it in this part only, or not.
    fn try_part(
        &mut self,
        parts: &Parts<'_>,
        all: &[PartClass<'_, '_>],
        part_class: &PartClass<'_, '_>,
        class: &Class,
        repeats: Repeats,
    ) -> bool {
        let part = part_class.part;
        let last = parts.segments().filter(|it| !it.value.is_empty()).last();
        let is_last = last.is_some_and(|it| it.is_same(part));
        // One text under very many values is an error page rather than a part that makes no difference.
        if repeats.is_success() && is_last && class.members >= MAX_TRIALS {
            return false;
        }
        let mut changed = false;
        let plain = Self::candidate_of(parts, part);
        for (number, test) in self.candidates_of(parts, all, part_class).into_iter().flatten() {
            if part.kind == PartKind::Parameter && number != plain && self.is_accepted(plain) {
                break;
            }
            let is_segment = matches!(part.kind, PartKind::Segment(_)) && number == plain;
            if repeats.is_success()
                && is_segment
                && !self.speaks_for_all(number, class.members, part_class.value)
            {
                continue;
            }
            changed |= self.try_candidate(number, test, part, repeats, parts);
        }
        if part.kind == PartKind::Host && !class.varies {
            changed |= self.try_other_host(class.value, repeats);
        }
        changed
    }

    /// Whether the success of a page says something of all values of a segment: it is one of the first of its class, and those of the same value do not
    /// outweigh all others.
    fn speaks_for_all(&mut self, number: u32, members: u8, value: u16) -> bool {
        members <= MAX_TRIALS_OF_ALL
            && self.has_room_for(number)
            && !self.candidates.entry(number).or_default().is_one_sided(value)
    }

    /// Remembers which version of a page has this text.
    fn remember_versions(&mut self, part_classes: &[PartClass<'_, '_>], group: u32) {
        for PartClass { part, class, .. } in part_classes {
            if matches!(part.kind, PartKind::Segment(_))
                && let Some(version) = version(part.value)
            {
                self.spans.entry(*class).add(group, version);
            }
        }
    }

    /// The page repeats a known one: the parts in which their URLs differ may make no difference.
    fn suspect(&mut self, parts: &Parts<'_>, group: u32) {
        let Some((url, _)) = self.recent.iter().rev().find(|(_, of)| of.group == group) else {
            return;
        };
        let Ok(url) = Url::parse(url) else { return };
        let known = Parts::of(&url);
        if known.segments().count() != parts.segments().count() {
            return;
        }
        // A parameter may be on one side only, but each has a host.
        let differ = |parts: &Parts<'_>, other: &Parts<'_>, is_any: bool| {
            let mut all = Vec::new();
            for part in &parts.list {
                let is_wanted = is_any || part.kind == PartKind::Host;
                if is_wanted
                    && may_be_suspect(part)
                    && !other.list.iter().any(|it| it.is_same(part))
                {
                    all.extend(Self::plain_candidates(parts, part));
                }
            }
            all
        };
        let mut differ_in = differ(parts, &known, true);
        differ_in.extend(differ(&known, parts, false));
        for number in differ_in {
            if self.candidates.len() < CANDIDATES || self.candidates.contains_key(&number) {
                let candidate = self.candidates.entry(number).or_default();
                candidate.pairs = candidate.pairs.saturating_add(1);
                if candidate.is_suspect() && !self.suspects.contains(&number) {
                    self.suspects.push(number);
                    self.is_stale = true;
                }
            }
        }
    }

    /// The suspects among the parts of a URL, and the class of the URLs that differ in them only.
    fn suspects_of<'a, 'b>(
        &self,
        parts: &'b Parts<'a>,
        key: u64,
    ) -> (Vec<(u32, &'b Part<'a>)>, u64) {
        let number = |part: &'b Part<'a>| {
            if self.is_left_out(parts, part) {
                return None;
            }
            let mut numbers = Self::plain_candidates(parts, part);
            numbers.find(|it| self.suspects.contains(it)).map(|number| (number, part))
        };
        let suspects: Vec<_> = parts.list.iter().filter_map(number).collect();
        let key = suspects.iter().fold(key, |key, (_, part)| Parts::without(key, part));
        (suspects, key.rotate_left(29))
    }

    /// Tries the suspects among the parts of a page together: if it repeats a page whose URL differs in several of them, that is a success for
    /// each. A failure counts for the one for which least speaks, unless one of them failed alone. `tried` are the candidates that this page has
    /// tried alone.
    fn try_suspects(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        text: Text,
        is_new: bool,
        tried: &[(u32, Repeats)],
    ) -> bool {
        if self.suspects.is_empty() {
            return false;
        }
        let mut changed = false;
        let (suspects, class) = self.suspects_of(parts, key);
        if let Some(known) = self.classes.get(class).copied()
            && let Some(repeats) = known.outcome(text, is_new)
        {
            let new = suspects.iter().filter(|(_, part)| known.suspects & value_bit(part) == 0);
            let mut new: Vec<_> = new.copied().collect();
            let is_explained = new.iter().any(|(it, _)| tried.contains(&(*it, Repeats::Not)));
            if !repeats.is_success() {
                // Which of them makes the difference? The one for which least speaks.
                new.sort_by(|a, b| {
                    let score =
                        |number| self.candidates.get(&number).map_or(0.0, |it| it.trial.score());
                    score(a.0).total_cmp(&score(b.0))
                });
                new.truncate(1);
            }
            new.retain(|(it, _)| !tried.iter().any(|tried| tried.0 == *it));
            if !is_explained {
                for (number, part) in new {
                    if part.kind == PartKind::Parameter && !self.is_replay {
                        self.tried.push((hash(part.name, 0), repeats));
                    }
                    let needed = self.test_of(number, part);
                    changed |= self.try_candidate(number, needed, part, repeats, parts);
                }
            }
        }
        let bits = suspects.iter().fold(0, |all, (_, part)| all | value_bit(part));
        let class = self.class(class);
        class.add(text, 0);
        class.suspects |= bits;
        changed
    }

    /// A URL redirects to one that differs in one parameter only, or is spelt otherwise: that makes no difference. Returns whether a rule was
    /// learnt by that. The text of the target says more if nothing else has led to it (`leads_on`).
    fn redirects(&mut self, url: &Url, to: &Url, leads_on: bool) -> bool {
        let (parts, target) = (Parts::of(url), Parts::of(to));
        if url.as_str().len() <= RECENT_LENGTH {
            if self.redirects.len() >= REDIRECTS {
                self.redirects.pop_front();
            }
            let url = url.as_str().into();
            self.redirects.push_back(Redirect { url, target: target.key, leads_on });
        }
        if let Some(part) = respelt(&parts, &target) {
            return self.try_number(part.candidate_id(), EXPECTED, Repeats::Exactly, part);
        }
        let other = |part: &&Part<'_>| {
            let of_target = target.parameters().find(|it| it.name == part.name);
            of_target.is_some_and(|it| {
                !it.is_same(part)
                    && Parts::without(parts.key, part) == Parts::without(target.key, it)
            })
        };
        let Some(part) = parts.parameters().find(other) else { return false };
        let number = Self::candidate_of(&parts, part);
        self.try_candidate(number, self.test_of(number, part), part, Repeats::Exactly, &parts)
    }

    /// The URLs that redirect to a page have its text. If it is new and nothing else has led there, their last segments make a difference. Returns
    /// whether a rule was revoked by that.
    fn remember_redirects(&mut self, target: u64, text: Text, is_new: bool) -> bool {
        let (mut key, mut changed) = (target, false);
        while let Some(place) = self.redirects.iter().rposition(|it| it.target == key) {
            let Some(Redirect { url, leads_on, .. }) = self.redirects.remove(place) else { break };
            let Ok(url) = Url::parse(&url) else { break };
            let parts = self.parts_of(&url);
            let reduced = self.reduced_key(&parts);
            if leads_on
                && is_new
                && let Some((word, Some(_))) = self.without_last_word(&parts, reduced)
                && self.candidates.contains_key(&last_id(word))
            {
                changed |= self.try_last(word, Repeats::Not);
            }
            self.add(&parts, reduced, text);
            self.remember(&url, text);
            key = parts.key;
        }
        changed
    }

    /// Adds a page to the classes of its parts.
    fn add(&mut self, parts: &Parts<'_>, key: u64, text: Text) {
        let part_classes: Vec<_> =
            self.part_classes(parts, key).iter().map(|it| (it.class, it.value)).collect();
        self.add_reduced(parts, key, text);
        for (class, value) in part_classes {
            self.class(class).add(text, value);
        }
        for (class, spelling) in spellings(parts, key) {
            self.class(class).add(text, spelling);
        }
    }

    /// Remembers the URL of a page, so that its keys can be computed again.
    fn remember(&mut self, url: &Url, text: Text) {
        if url.as_str().len() > RECENT_LENGTH {
            return;
        }
        if self.recent.len() >= RECENT
            && let Some((old, _)) = self.recent.pop_front()
        {
            self.recent_bytes -= old.len();
        }
        self.recent_bytes += url.as_str().len();
        self.recent.push_back((url.as_str().into(), text));
    }

    /// Computes the keys of the last pages again.
    fn rebuild(&mut self) {
        let candidates = &self.candidates;
        self.suspects.retain(|it| candidates.get(it).is_some_and(Candidate::is_suspect));
        let recent = std::mem::take(&mut self.recent);
        for (url, text) in &recent {
            let Ok(url) = Url::parse(url) else { continue };
            let parts = self.parts_of(&url);
            let key = self.reduced_key(&parts);
            if !self.suspects.is_empty() {
                let (suspects, class) = self.suspects_of(&parts, key);
                let bits = suspects.iter().fold(0, |all, (_, part)| all | value_bit(part));
                let class = self.class(class);
                class.add(*text, 0);
                class.suspects |= bits;
            }
            if key == Parts::of(&url).key {
                continue;
            }
            self.add(&parts, key, *text);
        }
        self.recent = recent;
    }

    /// The class of pages that differ in this part, if there are any.
    fn class_of(&self, part_class: &PartClass<'_, '_>) -> Option<&Class> {
        self.classes.get(part_class.class).filter(|class| class.differs(part_class.value))
    }

    /// Whether it is a candidate, or may become one.
    fn has_room_for(&mut self, number: u32) -> bool {
        if self.candidates.len() >= CANDIDATES && !self.candidates.contains_key(&number) {
            self.trim();
        }
        self.candidates.len() < CANDIDATES || self.candidates.contains_key(&number)
    }

    fn try_number(&mut self, number: u32, test: Test, repeats: Repeats, part: RulePart) -> bool {
        if self.is_replay || !self.has_room_for(number) {
            return false;
        }
        let candidate = self.candidates.entry(number).or_default();
        let changed = candidate.trial.add(test, repeats);
        if changed {
            candidate.name(|| part);
            self.changed_rules.push(number);
            self.is_stale = true;
        }
        changed
    }

    /// How often a candidate fails; with few trials, by a more general one.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn failure_rate(&self, number: u32) -> Option<f32> {
        let candidate = self.candidates.get(&number)?;
        let general = self.candidates.get(&candidate.general).filter(|it| it.trial.n > 0);
        let prior = general.map_or(0.5, |it| it.trial.failure_rate());
        let Trial { n, failures, .. } = candidate.trial;
        Some((failures as f32 + 4.0 * prior) / (n as f32 + 4.0))
    }

    fn try_candidate(
        &mut self,
        number: u32,
        test: Test,
        part: &Part<'_>,
        repeats: Repeats,
        parts: &Parts<'_>,
    ) -> bool {
        if self.is_replay {
            return false;
        }
        if !self.has_room_for(number) {
            return false;
        }
        let candidate = self.candidates.entry(number).or_default();
        candidate.values |= 1 << (hash(part.value, 5) & 63);
        candidate.ids += u32::from(is_id(part.value));
        let changed = candidate.trial.add(test, repeats);
        let is_failure = !repeats.is_success();
        self.is_stale |= changed || is_failure && self.suspects.contains(&number);
        if changed {
            candidate.name(|| RulePart::of(number, part, parts));
            self.changed_rules.push(number);
        }
        changed
    }

    /// A page of one host repeats that of another one, or not: that is a trial for both.
    fn try_other_host(&mut self, other: u16, repeats: Repeats) -> bool {
        let Some((_, name)) = self.host_names.iter().find(|(value, _)| *value == other) else {
            return false;
        };
        let part = RulePart::Host { name: Some(name.to_string()), only: None };
        self.try_number(part.candidate_id(), SAFE, repeats, part)
    }

    /// Tries whether pages whose URLs are only spelt otherwise are the same.
    fn try_spellings(&mut self, parts: &Parts<'_>, key: u64, text: Text, is_new: bool) -> bool {
        let mut changed = false;
        for (class, spelling) in spellings(parts, key) {
            if let Some(known) = self.classes.get(class).filter(|it| it.members > 0).copied()
                && let Some(part) = spelt_otherwise(known.value, spelling)
                && let Some(repeats) = known.outcome(text, is_new)
            {
                changed |= self.try_number(part.candidate_id(), EXPECTED, repeats, part);
            }
            self.class(class).add(text, spelling);
        }
        changed
    }

    /// Tries whether pages with the same last segments are the same.
    fn try_suffixes(&mut self, parts: &Parts<'_>, text: Text, is_new: bool) -> bool {
        let mut changed = false;
        for (length, class) in suffix_keys(parts) {
            let is_longer = parts.segments().count() > length;
            if let Some(known) = self.classes.get(class).filter(|_| is_longer)
                && let Some(repeats) = known.outcome(text, is_new)
            {
                let part = RulePart::Tail(u8::try_from(length).unwrap_or(u8::MAX));
                let (number, before) = (part.candidate_id(), parts.segments().count() - length);
                let value = (parts.prefixes[before] >> 48) as u16;
                let members = known.members;
                if !repeats.is_success() || self.speaks_for_all(number, members, value) {
                    changed |= self.try_number(number, SAFE, repeats, part);
                }
            }
            self.class(class).add(text, 0);
        }
        changed
    }

    /// Tries whether the page without the last segment is the same. The first page that is begins the trials.
    fn try_last_word(&mut self, parts: &Parts<'_>, key: u64, text: Text, is_new: bool) -> bool {
        let Some((word, known)) = self.without_last_word(parts, key) else { return false };
        let is_candidate = self.candidates.contains_key(&last_id(word));
        let repeats = known.and_then(|known| known.outcome(text, is_new && is_candidate));
        repeats.is_some_and(|repeats| self.try_last(word, repeats))
    }

    /// A URL gave no text that a known page does not have: it redirects there, or is no page to be indexed. If the page without its last segment is known,
    /// that is a success for leaving out the segment. Returns whether a rule was learnt by that.
    fn gave_nothing(&mut self, url: &Url, to: Option<&Url>) -> bool {
        let parts = self.parts_of(url);
        let key = self.reduced_key(&parts);
        let Some((word, Some(_))) = self.without_last_word(&parts, key) else { return false };
        // A redirect that keeps the segment, as to another host, says nothing of it.
        let keeps =
            |to: &Url| Parts::of(to).segments().any(|it| it.value.eq_ignore_ascii_case(word));
        !to.is_some_and(keeps) && self.try_last(word, Repeats::Exactly)
    }

    fn try_last(&mut self, word: &str, repeats: Repeats) -> bool {
        let test = if meaning(word) == Some(Meaning::Circumstance) { LIKELY } else { SAFE };
        self.try_number(last_id(word), test, repeats, RulePart::Last(word.to_owned()))
    }

    /// The last segment of a URL if it is a word, and the class of the page without it, if that is known.
    fn without_last_word<'a>(
        &self,
        parts: &Parts<'a>,
        key: u64,
    ) -> Option<(&'a str, Option<&Class>)> {
        let (word, keys) = parts.last_word(key)?;
        Some((word, keys.iter().find_map(|key| self.classes.get(*key))))
    }

    fn class(&mut self, key: u64) -> &mut Class {
        self.classes.entry(key)
    }

    /// What is known of a URL that was not fetched.
    pub(super) fn predict(&self, url: &Url) -> Prediction {
        let parts = self.parts_of(url);
        let key = self.reduced_key(&parts);
        // The same page is known with a part that this URL does not have, and that makes no difference.
        if parts.key == key
            && let Some(rule) = self.classes.get(key).map(|class| class.reduced_by)
            && self.is_accepted(rule)
        {
            return Prediction::Repeats(rule);
        }
        let part_classes = self.part_classes(&parts, key);
        let mut best: Option<(f32, u32, u32)> = None;
        for part_class in &part_classes {
            if self.class_of(part_class).is_none() {
                continue;
            }
            let all = self.candidates_of(&parts, &part_classes, part_class);
            let all = || all.iter().flatten().map(|it| it.0);
            if let Some(rule) = all().find(|it| self.is_accepted(*it)) {
                return Prediction::Repeats(rule);
            }
            // The most special one with some evidence says how likely it is.
            let known = all().rev().find_map(|it| {
                let candidate = self.candidates.get(&it).filter(|it| it.trial.n >= 4)?;
                Some((candidate.trial.failure_rate(), all().next_back().unwrap_or(it)))
            });
            if let Some((failure_rate, special)) = known
                && failure_rate < best.map_or(0.6, |best| best.0)
            {
                let general = all().rev().nth(1).unwrap_or(special);
                best = Some((failure_rate, special, general));
            }
        }
        let (suspects, class) = self.suspects_of(&parts, key);
        let known = self.classes.get(class).filter(|_| !suspects.is_empty());
        let new = known
            .map(|known| suspects.iter().filter(|(_, part)| known.suspects & value_bit(part) == 0));
        if let Some(worst) = new.and_then(|new| {
            new.map(|it| it.0).min_by_key(|it| self.candidates.get(it).map_or(0, |it| it.trial.n))
        }) {
            best = Some((0.0, worst, worst));
        }
        let respelt = || self.predict_respelt(&parts, key);
        if let Some(prediction) = respelt().or_else(|| self.predict_last_word(&parts, key)) {
            return prediction;
        }
        for (length, class) in suffix_keys(&parts) {
            let rule = candidate_id(&[5, length as u64]);
            if parts.segments().count() > length
                && self.classes.contains_key(class)
                && self.is_accepted(rule)
            {
                return Prediction::Repeats(rule);
            }
        }
        best.map_or(Prediction::Open, |(_, special, general)| Prediction::Perhaps(special, general))
    }

    /// The same of a URL that is spelt differently from a known one.
    fn predict_respelt(&self, parts: &Parts<'_>, key: u64) -> Option<Prediction> {
        let respelt = spellings(parts, key).find_map(|(class, spelling)| {
            let known = self.classes.get(class).filter(|it| it.members > 0)?;
            spelt_otherwise(known.value, spelling)
        });
        let number = respelt?.candidate_id();
        Some(if self.is_accepted(number) {
            Prediction::Repeats(number)
        } else {
            Prediction::Perhaps(number, number)
        })
    }

    /// The same by the last segment, if a rule leaves it out: perhaps the page without it is found before this one is asked for.
    fn predict_last_word(&self, parts: &Parts<'_>, key: u64) -> Option<Prediction> {
        let (word, known) = self.without_last_word(parts, key)?;
        let (rule, is_known) = (last_id(word), known.is_some());
        self.is_accepted(rule).then_some(if is_known {
            Prediction::Repeats(rule)
        } else {
            Prediction::Perhaps(rule, rule)
        })
    }

    /// The patterns of a URL: its own first.
    pub(super) fn patterns(&mut self, url: &Url) -> Vec<Pattern> {
        let parts = Parts::of(url);
        let host = url.host_str().unwrap_or_default();
        let name = hash(host, 1);
        if self.hosts.len() < MANY_HOSTS && !self.hosts.contains(&name) {
            self.hosts.push(name);
        }
        if self.host_names.len() < MANY_HOSTS {
            let value = value_of(&parts.list[0]);
            if !self.host_names.iter().any(|(known, _)| *known == value) {
                self.host_names.push((value, host.into()));
            }
        }
        let is_one_of_many = self.hosts.len() >= MANY_HOSTS && !self.hosts[..2].contains(&name);
        let shown = if is_one_of_many { "*" } else { host };
        let repeats = parts.repeats_segments();
        let is_trap_shaped = repeats || parts.segments().count() > 10 || is_one_of_many;
        let types = self.page_types(&parts);
        let numbered = parts.numbered();
        let word = numbered.filter(|(_, hashes)| self.has_many_numbers(*hashes));
        let word = word.map_or("", |(word, _)| word);
        let own = parts.pattern(shown, repeats, Some(&types), word);
        let shape = parts.pattern(shown, repeats, None, word);
        let mut all = Vec::with_capacity(4);
        if shape != own {
            all.push((
                shape,
                if is_trap_shaped { PatternKind::TrapShaped } else { PatternKind::Broad },
            ));
        }
        let mut segments = parts.segments();
        if let (Some(first), Some(next)) = (segments.next(), segments.next())
            && !next.value.is_empty()
            && text_kind(first.value) == TextKind::Word
        {
            all.push((format!("{shown}/{}/…", first.value), PatternKind::Broad));
        }
        if let Some(view) = parts.view(&types).filter(|_| self.knows_path(&parts)) {
            let has_ids = view.strip_prefix('*').is_some_and(|path| path.contains('*'));
            all.push((view, if has_ids { PatternKind::View } else { PatternKind::Path }));
        }
        if is_one_of_many {
            all.push(("*/…".into(), PatternKind::TrapShaped));
        }
        all.insert(
            0,
            (own, if is_trap_shaped { PatternKind::TrapShaped } else { PatternKind::Exact }),
        );
        let pattern = |(text, kind): (String, PatternKind)| Pattern {
            number: candidate_id(&[6, hash(&text, 0), u64::from(kind.is_wide())]),
            text,
            kind,
        };
        all.into_iter().map(pattern).collect()
    }

    /// Whether a URL is a view: one of several URLs with the same path, of which the first was requested already. If all links of a site have a parameter, each
    /// path has a page of its own all the same.
    pub(super) fn is_view(&self, url: &Url) -> bool {
        url.query().is_some() && self.knows_path(&Parts::of(url))
    }

    fn knows_path(&self, parts: &Parts<'_>) -> bool {
        let path = self.path_key(parts);
        self.classes.contains_key(path) || self.classes.contains_key(path.rotate_left(37))
    }

    /// Remembers the path of a URL with parameters.
    pub(super) fn remember_path(&mut self, url: &Url) {
        if url.query().is_some() {
            let path = self.path_key(&Parts::of(url));
            self.class(path.rotate_left(37));
        }
    }

    /// A key of the path of a URL, without what rules leave out of it.
    fn path_key(&self, parts: &Parts<'_>) -> u64 {
        let is_path = |part: &&Part<'_>| {
            part.kind != PartKind::Parameter && !self.is_left_out(parts, part)
        };
        let others = parts.list.iter().filter(|part| !is_path(part));
        others.fold(parts.key, Parts::without)
    }

    /// What the parameters of a URL say of the kind of its page, if it is one of the first kinds of the site.
    fn page_types(&mut self, parts: &Parts<'_>) -> Vec<u64> {
        let has_parameters = parts.parameters().next().is_some();
        let of = |part: &Part<'_>| part.page_type(has_parameters);
        let mut types: Vec<u64> = parts.list.iter().filter_map(of).collect();
        types.retain(|it| {
            let is_known = self.page_types.contains(it);
            let is_kept = is_known || self.page_types.len() < PAGE_TYPES;
            if is_kept && !is_known {
                self.page_types.push(*it);
            }
            is_kept
        });
        types
    }

    /// Whether this word stands before many numbers, of which this is one. Words of single files make room for others.
    fn has_many_numbers(&mut self, [word, number]: [u64; 2]) -> bool {
        let bit = 1 << (number % 64);
        if let Some((_, seen)) = self.numbered.iter_mut().find(|(it, _)| *it == word) {
            *seen |= bit;
            return seen.count_ones() >= MANY_NUMBERS;
        }
        if self.numbered.len() == NUMBERED {
            let Some(single) = self.numbered.iter().position(|(_, seen)| seen.is_power_of_two())
            else {
                return false;
            };
            self.numbered.remove(single);
        }
        self.numbered.push((word, bit));
        false
    }

    /// The branch of a pattern to which a URL belongs: those with the same value of the first segment that the pattern leaves open, as of a version.
    fn branch<'a>(&self, url: &'a Url, pattern: u32) -> Option<(u32, &'a str)> {
        if self.yields.get(&pattern)?.fetched < BRANCHED {
            return None;
        }
        let segments = || url.path().split('/').skip(1);
        let is_literal = segments().next().is_some_and(|it| text_kind(it) == TextKind::Word);
        let place = usize::from(is_literal);
        let value = segments().nth(place)?;
        segments().nth(place + 1)?;
        Some((candidate_id(&[13, pattern.into(), hash(value, 0)]), value))
    }

    /// Counts a page for a pattern, and for its branch if the pattern is exact. Returns whether more of either is wanted than before.
    pub(super) fn count_yield(
        &mut self,
        url: &Url,
        (pattern, kind): (u32, PatternKind),
        (yielded, text): (Yielded, u32),
        chain: Chain,
    ) -> bool {
        let is_wanted = self.yields.entry(pattern).or_default().add(yielded, text, kind, chain);
        if kind != PatternKind::Exact {
            return is_wanted;
        }
        let Some((branch, value)) = self.branch(url, pattern) else { return is_wanted };
        let branch = self.yields.entry(branch).or_default();
        let before = branch.still_yields();
        // Another version of a page has most of its sentences.
        let is_version = value.contains('.') && version(value).is_some();
        let yielded = if is_version && yielded.is_new_text() { Yielded::New } else { yielded };
        branch.add(yielded, text, kind, chain);
        is_wanted || branch.still_yields() && !before
    }

    /// Whether the branch of an exact pattern to which a URL belongs still yields. If the branch is new and a word, as the name of a project, it does if the
    /// pattern did; there is no end of numbers and ids.
    pub(super) fn is_in_open_branch(&self, url: &Url, pattern: u32) -> bool {
        let Some((branch, value)) = self.branch(url, pattern) else { return false };
        let known = self.yields.get(&branch);
        if text_kind(value) == TextKind::Word && known.is_none_or(PatternYield::is_unknown) {
            return self.yields.get(&pattern).is_some_and(PatternYield::has_yielded);
        }
        known.is_some_and(PatternYield::still_yields)
    }

    /// Links in a row within its pattern that led to a page.
    pub(super) fn chain(&self, url: &Url) -> Chain {
        let key = Parts::of(url).key;
        let chain = self.classes.get(!key).map_or(0, |class| class.chain);
        #[allow(clippy::cast_possible_truncation, reason = "a hash")]
        let from = key as u32;
        Chain { links: chain & !KNOWN_PAGE, from, from_known: chain & KNOWN_PAGE != 0 }
    }

    /// Links in a row that led to this page, if they are all within its pattern, and whether a redirect from outside of it did. A redirect is
    /// no further link.
    pub(super) fn chain_to(&self, page: &Page<'_>) -> (Chain, bool) {
        let mut chain = page.from.map_or(Chain::default(), |from| self.chain(from));
        let is_outside = page.is_redirected && chain.links == 0;
        chain.links = chain.links.saturating_add(u16::from(!page.is_redirected));
        (chain, is_outside)
    }

    /// The key of the list of which this may be a page, and whether the URL says which page.
    fn list(url: &Url) -> (u64, bool) {
        let parts = Parts::of(url);
        let page = parts.parameters().find(|part| chooses_page(part));
        let key = page.map_or(parts.key, |page| Parts::without(parts.key, page));
        (key.rotate_left(23), page.is_some())
    }

    /// A page led to a new text: if it is one of a list, the others may as well. Returns whether more of them are wanted than before.
    pub(super) fn earn_pages(&mut self, from: &Url) -> bool {
        let pages = &mut self.class(Self::list(from).0).pages;
        let had_none = *pages == 0;
        *pages = pages.saturating_add(PAGES_PER_NEW_TEXT);
        had_none && from.query().is_some()
    }

    /// A page of a list had no new text.
    pub(super) fn spend_page(&mut self, url: &Url) {
        if let (key, true) = Self::list(url)
            && self.classes.contains_key(key)
        {
            let pages = &mut self.class(key).pages;
            *pages = pages.saturating_sub(1);
        }
    }

    /// Whether a URL is a further page of a list that has led to new texts.
    pub(super) fn is_page_of_list(&self, url: &Url) -> bool {
        let (key, is_page) = Self::list(url);
        is_page && self.classes.get(key).is_some_and(|class| class.pages > 0)
    }

    /// Remembers the longest chain that led to a page, and whether it had no new text.
    pub(super) fn set_chain(&mut self, url: &Url, links: u16, from_known: bool) {
        let mark = if from_known { KNOWN_PAGE } else { 0 };
        self.class(!Parts::of(url).key).chain = links.min(!KNOWN_PAGE) | mark;
    }
}

/// A pattern of URLs.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) number: u32,
    pub(super) text: String,
    pub(super) kind: PatternKind,
}

/// The parameters of a URL, by name.
pub(super) fn parameters(url: &Url) -> impl Iterator<Item = u64> {
    let parts = Parts::of(url);
    let names: Vec<u64> = parts.parameters().map(|part| hash(part.name, 0)).collect();
    names.into_iter()
}

/// Whether a value looks like an id.
fn is_id(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    text_kind(value) == TextKind::Id || value.len() >= 5 && has_digit
}

/// A hash of a part's value, as in [`Class::value`].
fn value_of(part: &Part<'_>) -> u16 {
    (hash(part.value, 9) >> 48) as u16
}

/// Whether several parts like this may make no difference together: words in a path rarely do.
fn may_be_suspect(part: &Part<'_>) -> bool {
    !matches!(part.kind, PartKind::Segment(_)) || is_id(part.value)
}

/// The bit of a suspect's value in [`Class::values`].
fn value_bit(part: &Part<'_>) -> u32 {
    1 << (hash(part.value, hash(part.name, 14)) & 31)
}

/// The value of a parameter that a page does not have.
const ABSENT: u16 = 0;

/// The classes of URLs that are spelt differently, each with the spelling of this one: with the same parameters in any order, if there are several, and
/// with the same path but for a slash, an index page or an ending.
fn spellings(parts: &Parts<'_>, key: u64) -> impl Iterator<Item = (u64, u16)> {
    let order = (parts.parameters().count() > 1).then(|| (key.rotate_left(17), ABSENT));
    let bare = key.wrapping_add(parts.to_bare()).rotate_left(41);
    order.into_iter().chain(parts.spelling.map(|spelling| (bare, 1 + spelling as u16)))
}

/// What makes no difference if URLs with these two spellings have the same page.
fn spelt_otherwise(known: u16, own: u16) -> Option<RulePart> {
    let is = |a: Spelling, b: Spelling| {
        let (a, b) = (1 + a as u16, 1 + b as u16);
        (known, own) == (a, b) || (known, own) == (b, a)
    };
    match (known, own) {
        (ABSENT, ABSENT) => Some(RulePart::Order),
        _ if is(Spelling::Slash, Spelling::Index) => Some(RulePart::Index),
        _ if is(Spelling::Bare, Spelling::Slash) => Some(RulePart::Slash),
        _ if is(Spelling::Bare, Spelling::Ending) => Some(RulePart::Ending),
        _ => None,
    }
}

/// What makes no difference if these URLs, which are the same but for their spelling, have the same page.
fn respelt(a: &Parts<'_>, b: &Parts<'_>) -> Option<RulePart> {
    let bare = |parts: &Parts<'_>| parts.key.wrapping_add(parts.to_bare());
    let (of_a, of_b) = (a.spelling?, b.spelling?);
    if bare(a) != bare(b) {
        return None;
    }
    spelt_otherwise(1 + of_a as u16, 1 + of_b as u16)
}

/// The classes of the pages with the same last one and two segments, on the same host and with the same parameters.
fn suffix_keys(parts: &Parts<'_>) -> Vec<(usize, u64)> {
    let segments: Vec<&str> = parts.segments().map(|part| part.value).collect();
    let host = parts.list.first().map_or(0, |part| hash(part.value, 1));
    let names = parts
        .parameters()
        .fold(host, |all, part| all.wrapping_add(hash(part.value, hash(part.name, 8))));
    let of = |length: usize| {
        let tail = segments.len().checked_sub(length)?;
        let is_empty = segments[tail..].iter().all(|it| it.is_empty());
        let key = segments[tail..].iter().fold(names, |all, it| hash(it, all ^ length as u64));
        (!is_empty).then_some((length, key))
    };
    [2, 1].into_iter().filter_map(of).collect()
}
