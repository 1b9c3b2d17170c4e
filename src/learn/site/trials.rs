//! What a judged page says of the rules: the trials that it is.

use url::Url;

use super::{
    super::{
        Page, Yielded,
        parts::{Meaning, Part, PartKind, Parts, hash, meaning},
        rule::{RulePart, last_id},
        spans::version,
        trial::{CERTAIN, EXPECTED, LIKELY, Repeats, SAFE, Test},
    },
    ABSENT, Candidate, Class, PartClass, Site, Text, is_id,
    spellings::{spellings, spelt_otherwise},
    suffix_keys,
    suspects::value_bit,
};

/// The pages of a class that are trials of their last segment, if they repeat one of it.
const MAX_TRIALS: u8 = 12;
/// The same for the rule that a segment makes no difference whatever its value is.
const MAX_TRIALS_OF_ALL: u8 = 3;
/// The last pages of a site of which the URL is remembered, and how long it may be.
const RECENT: usize = 2_048;
pub(super) const RECENT_LENGTH: usize = 256;

/// How a page compares with those that differ from it in this part only.
struct Outcome<'a, 'b, 'c> {
    part_class: &'c PartClass<'a, 'b>,
    class: Class,
    repeats: Repeats,
}

impl Outcome<'_, '_, '_> {
    fn kind(&self) -> PartKind {
        self.part_class.part.kind
    }

    fn is_of_segment(&self) -> bool {
        matches!(self.kind(), PartKind::Segment(_))
    }
}

impl Site {
    /// Tries rules by the text of a page, or by an answer without one. Returns whether a rule was learnt or revoked.
    pub(in crate::learn) fn try_rules(&mut self, page: &Page<'_>, parts: &Parts<'_>) -> bool {
        let mut changed = page.text.is_some_and(|text| {
            let text = Text { group: text.max(1), hash: page.hash };
            self.judged(parts, text, page.yielded.is_new_text(), page.equals)
        });
        let leads_on = page.yielded == Yielded::RedirectUndecided;
        changed |= page.to.is_some_and(|to| self.redirects(parts, to, leads_on));
        if matches!(page.yielded, Yielded::Nothing | Yielded::RedirectToKnown) {
            changed |= self.gave_nothing(parts, page.to);
        }
        changed
    }

    /// A page was judged: its text has this number, and is exactly that of the page that it equals. Returns whether a rule was learnt or revoked.
    pub(in crate::learn) fn judged(
        &mut self,
        parts: &Parts<'_>,
        text: Text,
        is_new: bool,
        equals: Option<&Url>,
    ) -> bool {
        let url = parts.url;
        let parts = self.spelt(parts.clone());
        let key = self.reduced_key(&parts);
        let part_classes = self.part_classes(&parts, key);
        let mut changed = false;
        let outcomes = self.outcomes(&parts, &part_classes, (text, is_new), equals);
        let is_equal = |it: &Outcome<'_, '_, '_>| it.repeats == Repeats::Exactly;
        self.repeats_exactly =
            outcomes.iter().any(|it| is_equal(it) && it.kind() == PartKind::Parameter);
        let is_copy = outcomes.iter().any(|it| is_equal(it) && !it.is_of_segment());
        let mut tried = Vec::new();
        for outcome in &outcomes {
            let (part, repeats) = (outcome.part_class.part, outcome.repeats);
            let numbers = Self::plain_candidates(&parts, part);
            tried.extend(numbers.map(|number| (number, repeats)));
            if part.kind == PartKind::Parameter && !self.is_replay {
                self.tried.push((hash(part.name, 0), repeats));
            }
            // The page of which it is a copy was the trial of the segments. Copies would be further successes, but never failures.
            if is_copy && outcome.is_of_segment() && repeats.is_success() {
                continue;
            }
            changed |= self.try_part(&parts, &part_classes, outcome);
        }
        changed |= self.try_suffixes(&parts, text, is_new);
        changed |= self.try_last_word(&parts, key, text, is_new);
        changed |= self.try_suspects(&parts, key, text, is_new, &tried);
        self.remember_versions(&part_classes, text.group);
        changed |= self.try_reduced(&parts, key, text, is_new);
        self.add_reduced(&parts, key, text);
        self.enter(&part_classes, text, &outcomes);
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

    /// Enters a page into the classes of its parts, and what came of comparing it.
    fn enter(
        &mut self,
        part_classes: &[PartClass<'_, '_>],
        text: Text,
        outcomes: &[Outcome<'_, '_, '_>],
    ) {
        for part_class in part_classes {
            let class = self.class(part_class.class);
            class.add(text, part_class.value);
            let of_others = outcomes.iter().map(|it| (it.part_class.bit, it.repeats));
            for (bit, repeats) in of_others.filter(|it| it.0 != part_class.bit) {
                match repeats {
                    Repeats::Exactly => class.identical |= bit,
                    Repeats::Nearly => class.same |= bit,
                    Repeats::Not => class.different |= bit,
                }
            }
        }
    }

    /// How a page compares with those that differ from it in one part only.
    fn outcomes<'a, 'b, 'c>(
        &self,
        parts: &Parts<'a>,
        part_classes: &'c [PartClass<'a, 'b>],
        (text, is_new): (Text, bool),
        equals: Option<&Url>,
    ) -> Vec<Outcome<'a, 'b, 'c>> {
        let outcome = |part_class: &'c PartClass<'a, 'b>| {
            let Some(class) = self.classes.get(part_class.class) else {
                let repeats = self.repeats_forgotten(parts, part_class, is_new, equals)?;
                return Some(Outcome { part_class, class: Class::default(), repeats });
            };
            let class = *Some(class).filter(|it| it.differs(part_class.value))?;
            Some(Outcome { part_class, class, repeats: class.outcome(text, is_new)? })
        };
        part_classes.iter().filter_map(outcome).collect()
    }

    /// The same if the pages that differ from it in this part are known, but their class is forgotten. A known text may be that of any page, so it says
    /// something of a parameter for which there is no rule only if the page that it equals is one of them.
    fn repeats_forgotten(
        &self,
        parts: &Parts<'_>,
        PartClass { part, class, .. }: &PartClass<'_, '_>,
        is_new: bool,
        equals: Option<&Url>,
    ) -> Option<Repeats> {
        self.known_page(*class, |it| it == Self::candidate_of(part))?;
        let is_of_class = |equal: &Url| {
            let equal = self.spelt(Parts::of(equal));
            let key = self.reduced_key(&equal);
            let other = equal.parameters().find(|it| it.name == part.name);
            other.map_or(key, |it| Parts::without(key, it)) == *class
        };
        match part.kind {
            _ if self.is_left_out(parts, part) => {
                Some(if is_new { Repeats::Not } else { Repeats::Nearly })
            }
            PartKind::Parameter if is_new => Some(Repeats::Not),
            PartKind::Parameter if equals.is_some_and(is_of_class) => Some(Repeats::Exactly),
            _ => None,
        }
    }

    /// A page repeats one that differs from it in this part only, or not.
    fn try_part(
        &mut self,
        parts: &Parts<'_>,
        all: &[PartClass<'_, '_>],
        outcome: &Outcome<'_, '_, '_>,
    ) -> bool {
        if self.is_replay {
            return false;
        }
        let Outcome { part_class, class, repeats } = *outcome;
        let part = part_class.part;
        let last = parts.segments().rfind(|it| !it.value.is_empty());
        let is_last = last.is_some_and(|it| it.is_same(part));
        // One text under very many values is an error page rather than a part that makes no difference.
        if repeats.is_success() && is_last && class.members >= MAX_TRIALS {
            return false;
        }
        let mut changed = false;
        let plain = Self::candidate_of(part);
        let candidates = self.candidates_of(parts, all, part_class);
        // What lies between two versions is about one value at a time.
        let by_counterparts = candidates[2].filter(|_| !self.is_enclosed(part_class));
        let by_counterparts = by_counterparts.map(|it| it.0);
        for (number, test) in candidates.into_iter().flatten() {
            if part.kind == PartKind::Parameter && number != plain && self.is_accepted(plain) {
                break;
            }
            let is_of_all =
                outcome.is_of_segment() && (number == plain || Some(number) == by_counterparts);
            // Each id is made anew, but a page that is the same in three versions is so in most.
            let members = if number != plain || is_id(part.value) { 0 } else { class.members };
            if repeats.is_success()
                && is_of_all
                && !self.speaks_for_all(number, members, part_class.value)
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
    pub(super) fn speaks_for_all(&mut self, number: u32, members: u8, value: u16) -> bool {
        members <= MAX_TRIALS_OF_ALL
            && self.candidate(number).is_some_and(|it| !it.is_one_sided(value))
    }

    /// Remembers which version of a page has this text.
    pub(super) fn remember_versions(&mut self, part_classes: &[PartClass<'_, '_>], group: u32) {
        for PartClass { part, class, .. } in part_classes {
            if matches!(part.kind, PartKind::Segment(_))
                && let Some(version) = version(part.value)
            {
                self.spans.entry(*class).add(group, version);
            }
        }
    }

    pub(super) fn try_number(
        &mut self,
        number: u32,
        test: Test,
        repeats: Repeats,
        part: RulePart,
    ) -> bool {
        if self.is_replay {
            return false;
        }
        let Some(candidate) = self.candidate(number) else { return false };
        let changed = candidate.trial.add(test, repeats);
        if changed {
            candidate.name(|| part);
            self.changed_rules.push(number);
            self.is_stale = true;
        }
        changed
    }

    pub(super) fn try_candidate(
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
        let Some(candidate) = self.candidate(number) else { return false };
        candidate.values |= 1 << (hash(part.value, 5) & 63);
        candidate.ids += u32::from(is_id(part.value));
        let changed = candidate.trial.add(test, repeats);
        if changed {
            candidate.name(|| RulePart::of(number, part, parts));
            self.changed_rules.push(number);
        }
        let is_failure = !repeats.is_success();
        self.is_stale |= changed || is_failure && self.suspects.contains(&number);
        changed
    }

    /// A page without a part that a rule leaves out of a known one has another text: that is a failure of the rule. Returns whether it was revoked.
    pub(super) fn try_reduced(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        text: Text,
        is_new: bool,
    ) -> bool {
        let known = self.classes.get(key).filter(|_| parts.key == key);
        let known = known.filter(|class| class.outcome(text, is_new) == Some(Repeats::Not));
        let rule = known.and_then(|_| self.known_pages.get(key)).filter(|it| self.is_accepted(*it));
        let Some(rule) = rule else { return false };
        let part = self.candidates.get(&rule).and_then(|it| it.part.as_deref().cloned());
        part.is_some_and(|part| self.try_number(rule, EXPECTED, Repeats::Not, part))
    }

    /// Enters a page under its reduced key.
    pub(super) fn add_reduced(&mut self, parts: &Parts<'_>, key: u64, text: Text) {
        let all = || parts.list.iter().flat_map(|part| Self::plain_candidates(parts, part));
        let is_reduced = parts.key != key;
        let rule = is_reduced.then(|| all().find(|it| self.is_accepted(*it))).flatten();
        self.known_pages.add(key, rule.unwrap_or(0));
        for part in &parts.list {
            if self.may_be_left_out(part) && !self.is_left_out(parts, part) {
                self.known_pages.add(Parts::without(key, part), Self::candidate_of(part));
            }
        }
        // Pages with one more parameter differ from this one in that.
        self.class(key).add(text, ABSENT);
    }

    /// Whether a rule for the part is likely enough to enter each page without it.
    fn may_be_left_out(&self, part: &Part<'_>) -> bool {
        match part.kind {
            PartKind::Parameter => true,
            PartKind::Host => self.host_names.len() > 1,
            PartKind::Segment(_) => false,
        }
    }

    /// A page of one host repeats that of another one, or not: that is a trial for both.
    pub(super) fn try_other_host(&mut self, other: u16, repeats: Repeats) -> bool {
        let Some((_, name)) = self.host_names.iter().find(|(value, _)| *value == other) else {
            return false;
        };
        let part = RulePart::Host { name: Some(name.to_string()), only: None };
        self.try_number(part.candidate_id(), SAFE, repeats, part)
    }

    /// Tries whether pages whose URLs are only spelt otherwise are the same.
    pub(super) fn try_spellings(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        text: Text,
        is_new: bool,
    ) -> bool {
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
    pub(super) fn try_suffixes(&mut self, parts: &Parts<'_>, text: Text, is_new: bool) -> bool {
        let mut changed = false;
        let depth = u16::try_from(parts.segments().count()).unwrap_or(u16::MAX);
        for (length, class) in suffix_keys(parts) {
            let is_longer = parts.segments().count() > length;
            if let Some(known) = self.classes.get(class).filter(|_| is_longer)
                && let Some(repeats) = known.outcome(text, is_new)
            {
                let part = RulePart::Tail(u8::try_from(length).unwrap_or(u8::MAX));
                let (number, before) = (part.candidate_id(), parts.segments().count() - length);
                let last = parts.segments().nth(before);
                let value = last.map_or(0, |it| (it.prefix >> 48) as u16);
                // Versions of a page are equally deep; paths that grow have as many as they like.
                let members = if known.differs(depth) { 0 } else { known.members };
                if !repeats.is_success() || self.speaks_for_all(number, members, value) {
                    changed |= self.try_number(number, SAFE, repeats, part);
                }
            }
            self.class(class).add(text, depth);
        }
        changed
    }

    /// Tries whether the page without the last segment is the same. The first page that is begins the trials.
    pub(super) fn try_last_word(
        &mut self,
        parts: &Parts<'_>,
        key: u64,
        text: Text,
        is_new: bool,
    ) -> bool {
        let Some((word, known)) = self.without_last_word(parts, key) else { return false };
        let is_candidate = self.candidates.contains_key(&last_id(word));
        let repeats = known.and_then(|known| known.outcome(text, is_new && is_candidate));
        repeats.is_some_and(|repeats| self.try_last(word, repeats))
    }

    /// A URL gave no text that a known page does not have: it redirects there, or is no page to be indexed. If the page without its last segment is known,
    /// that is a success for leaving out the segment. Returns whether a rule was learnt by that.
    pub(super) fn gave_nothing(&mut self, parts: &Parts<'_>, to: Option<&Url>) -> bool {
        let parts = self.spelt(parts.clone());
        let key = self.reduced_key(&parts);
        let Some((word, Some(_))) = self.without_last_word(&parts, key) else { return false };
        // A redirect that keeps the segment, as to another host, says nothing of it.
        let keeps =
            |to: &Url| Parts::of(to).segments().any(|it| it.value.eq_ignore_ascii_case(word));
        !to.is_some_and(keeps) && self.try_last(word, Repeats::Exactly)
    }

    pub(super) fn try_last(&mut self, word: &str, repeats: Repeats) -> bool {
        let test = match meaning(word) {
            Some(Meaning::View) => CERTAIN,
            Some(Meaning::Circumstance) => LIKELY,
            _ => SAFE,
        };
        self.try_number(last_id(word), test, repeats, RulePart::Last(word.to_owned()))
    }

    /// Adds a page to the classes of its parts.
    pub(super) fn add(&mut self, parts: &Parts<'_>, key: u64, text: Text) {
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
    pub(super) fn remember(&mut self, url: &Url, text: Text) {
        if url.as_str().len() > RECENT_LENGTH {
            return;
        }
        if self.recent.len() >= RECENT {
            self.forget_page();
        }
        self.url_bytes += url.as_str().len();
        self.recent.push_back((url.as_str().into(), text));
    }

    /// Forgets the URL of the oldest page, if there is one.
    pub(super) fn forget_page(&mut self) -> bool {
        let oldest = self.recent.pop_front();
        self.url_bytes -= oldest.as_ref().map_or(0, |(url, _)| url.len());
        oldest.is_some()
    }

    /// Computes the keys of the last pages again.
    pub(super) fn rebuild(&mut self) {
        let candidates = &self.candidates;
        self.suspects.retain(|it| candidates.get(it).is_some_and(Candidate::is_suspect));
        let recent = std::mem::take(&mut self.recent);
        for (url, text) in &recent {
            let Ok(url) = Url::parse(url) else { continue };
            let parts = Parts::of(&url);
            let own = parts.key;
            let parts = self.spelt(parts);
            let key = self.reduced_key(&parts);
            if !self.suspects.is_empty() {
                let (suspects, class) = self.suspects_of(&parts, key);
                let bits = suspects.iter().fold(0, |all, (_, part)| all | value_bit(part));
                let class = self.class(class);
                class.add(*text, 0);
                class.suspects |= bits;
            }
            if key == own {
                continue;
            }
            self.add(&parts, key, *text);
        }
        self.recent = recent;
    }
}
