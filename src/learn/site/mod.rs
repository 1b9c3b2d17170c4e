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

mod candidate;
mod class;
mod lists;
mod patterns;
mod predict;
mod redirects;
mod spellings;
mod suspects;
mod trials;

use std::{collections::VecDeque, iter};

use hashbrown::HashMap;

use super::{
    classes::Classes,
    known_pages::KnownPages,
    parts::{Meaning, Part, PartKind, Parts, Spelling, TextKind, hash, meaning, text_kind},
    pattern_yield::PatternYield,
    rule::{Counterparts, ENDING, INDEX, ORDER, SLASH, candidate_id, other_id},
    spans::{Spans, version},
    trial::{CAREFUL, EXPECTED, LIKELY, PARALLEL, QUICK, Repeats, SAFE, Test, Trial},
};
use crate::page::DocId;
pub(super) use candidate::Candidate;
use class::Class;
pub(super) use class::Text;
pub(super) use patterns::{Pattern, pattern_id};
pub(super) use predict::Prediction;
use redirects::Redirect;

/// Bytes that a site may take.
const SITE_BYTES: usize = 2 << 20;
/// Candidates of a site: as many as a table of 4,096 places takes.
const CANDIDATES: usize = 3_584;
/// Its patterns: as many as a table of 2,048 places takes, less those that one page may add.
const PATTERNS: usize = 1_760;
/// Classes that are remembered of a site, and of how many the spans of versions are.
const CLASSES: usize = 20_000;
const SPANS: usize = 1_792;
/// Different values after which those of a part that look like ids are taken for such.
const MANY_VALUES: u32 = 12;
/// From this length on, the value of a parameter for sessions is one.
const LONG_ID: usize = 16;

/// A part that may make no difference, and the class of the pages that differ in it only.
struct PartClass<'a, 'b> {
    part: &'b Part<'a>,
    class: u64,
    value: u16,
    /// Its bit in [`Class::same`].
    bit: u16,
}

/// What is learnt of a site.
#[derive(Debug, Default)]
pub(super) struct Site {
    classes: Classes<Class, CLASSES>,
    /// The pages that are known by their reduced keys, also of those whose classes are forgotten.
    known_pages: KnownPages,
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
    /// The last redirects.
    redirects: VecDeque<Redirect>,
    /// Bytes of the URLs of both.
    url_bytes: usize,
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
            + self.known_pages.size()
            + self.spans.size()
            + table(self.candidates.capacity(), size_of::<(u32, Candidate)>())
            + table(self.yields.capacity(), size_of::<(u32, PatternYield)>())
            + self.candidates.len() * 8
            + (self.page_types.capacity() + 2 * self.numbered.capacity() + self.hosts.capacity())
                * 8
            + self.recent.capacity() * size_of::<(Box<str>, Text)>()
            + self.redirects.capacity() * size_of::<Redirect>()
            + self.url_bytes
            + size_of::<(Box<str>, Self)>() * 2
    }

    /// A candidate, which is added if there is room. If there is none, the half of which least is known makes room; rules stay.
    pub(super) fn candidate(&mut self, number: u32) -> Option<&mut Candidate> {
        let has_room =
            |it: &Self| it.candidates.len() < CANDIDATES || it.candidates.contains_key(&number);
        if !has_room(self) {
            let others = self.candidates.values().filter(|it| it.part.is_none());
            let most = median(others.map(|it| it.trial.n).collect());
            self.candidates.retain(|_, it| it.part.is_some() || it.trial.n > most);
        }
        has_room(self).then(|| self.candidates.entry(number).or_default())
    }

    /// Forgets what is too much: the half of the patterns of which least is known, and the URLs of the oldest pages. Returns the bytes in memory.
    pub(super) fn shrink(&mut self) -> usize {
        if self.yields.len() >= PATTERNS {
            let most = median(self.yields.values().map(PatternYield::evidence).collect());
            self.yields.retain(|_, it| it.evidence() > most);
        }
        let mut size = self.size();
        while size > SITE_BYTES {
            let before = self.url_bytes;
            if !self.forget_page() && self.take_redirect(0).is_none() {
                break;
            }
            size -= before - self.url_bytes;
        }
        size
    }

    /// The parts of a URL with the kind of page, and without the name of an index page, the ending of a file and the slash at the end if these make no difference.
    fn spelt<'a>(&self, parts: Parts<'a>) -> Parts<'a> {
        let mut parts = parts.with_kind();
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

    /// The key of a URL as the rules reduce it, and whether one does.
    pub(in crate::learn) fn reduced(&self, parts: Parts<'_>) -> (u64, bool) {
        let own = parts.key;
        let parts = self.spelt(parts);
        let key = self.reduced_key(&parts);
        let spelling = if key == own { [ORDER].iter() } else { [INDEX, SLASH, ENDING].iter() };
        let of_parts = parts.list.iter().flat_map(|part| Self::plain_candidates(&parts, part));
        (key, of_parts.chain(spelling.copied()).any(|it| self.is_accepted(it)))
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
        iter::once(Self::candidate_of(part)).chain(other_id(parts, part))
    }

    /// The candidate that this part makes no difference anywhere.
    fn candidate_of(part: &Part<'_>) -> u32 {
        match part.kind {
            PartKind::Host => candidate_id(&[8, hash(part.value, 0)]),
            PartKind::Parameter => candidate_id(&[1, hash(part.name, 0)]),
            PartKind::Segment(place) => candidate_id(&[2, part.prefix, u64::from(place)]),
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
        let plain = Self::candidate_of(part);
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
        let state = match compared {
            _ if self.is_enclosed(part_class) => Counterparts::Enclosing,
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
            Some((candidate_id(&[3, place, part.prefix, state]), test)),
            Some((candidate_id(&[4, place, part.prefix, state, next, hash(part.value, 0)]), test)),
        ]
    }

    /// Whether the value is a version between two in which the page has the same text.
    fn is_enclosed(&self, part_class: &PartClass<'_, '_>) -> bool {
        let encloses =
            |version| self.spans.get(part_class.class).is_some_and(|spans| spans.enclose(version));
        matches!(part_class.part.kind, PartKind::Segment(_))
            && version(part_class.part.value).is_some_and(encloses)
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

    /// The class of pages that differ in this part, if there are any.
    fn class_of(&self, part_class: &PartClass<'_, '_>) -> Option<&Class> {
        self.classes.get(part_class.class).filter(|class| class.differs(part_class.value))
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

/// The value of a parameter that a page does not have.
const ABSENT: u16 = 0;

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
