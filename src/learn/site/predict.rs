//! What is known of a URL before it is fetched.

use super::{
    super::{
        parts::Parts,
        rule::{candidate_id, last_id},
    },
    Site,
    spellings::{spellings, spelt_otherwise},
    suffix_keys,
    suspects::value_bit,
};

/// What is known of a URL before it is fetched.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::learn) enum Prediction {
    /// Nothing against it.
    Open,
    /// It may repeat a page: the candidate, and a more general one.
    Perhaps(u32, u32),
    /// A rule says that it repeats a page.
    Repeats(u32),
}

impl Site {
    /// What is known of a URL that was not fetched.
    pub(in crate::learn) fn predict(&self, parts: &Parts<'_>) -> Prediction {
        let parts = self.spelt(parts.clone());
        let key = self.reduced_key(&parts);
        // The same page is known with a part that this URL does not have, and that makes no difference.
        if parts.key == key
            && let Some(rule) = self.known_pages.get(key).filter(|it| self.is_accepted(*it))
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
        if let Some(worst) = self.predict_suspects(&parts, key) {
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
        if let Some(rule) = self.known_by(&parts, key) {
            return Prediction::Repeats(rule);
        }
        best.map_or(Prediction::Open, |(_, special, general)| Prediction::Perhaps(special, general))
    }

    /// The rule by which a page is known, although its classes may be forgotten. None if only the known one has the part that makes no difference.
    fn known_by(&self, parts: &Parts<'_>, key: u64) -> Option<u32> {
        let rule_of = |part| Self::plain_candidates(parts, part).find(|it| self.is_accepted(*it));
        let left_out = || parts.list.iter().filter(|it| rule_of(*it).is_some());
        let is_left_out = |it| left_out().any(|part| Self::candidate_of(part) == it);
        let known = self.known_page(key, is_left_out)?;
        left_out().find_map(rule_of).or(Some(known).filter(|it| *it != 0))
    }

    /// The candidate by which the page of a key is known, 0 if it is by its URL itself: a rule, or that of a part that is left out here.
    pub(super) fn known_page(&self, key: u64, is_left_out: impl Fn(u32) -> bool) -> Option<u32> {
        let is_known = |it: &u32| *it == 0 || self.is_accepted(*it) || is_left_out(*it);
        self.known_pages.get(key).filter(is_known)
    }

    /// Of the suspects in which a URL differs from known ones, the one of which least is known.
    fn predict_suspects(&self, parts: &Parts<'_>, key: u64) -> Option<u32> {
        let (suspects, class) = self.suspects_of(parts, key);
        let known = self.classes.get(class).filter(|_| !suspects.is_empty())?;
        let new = suspects.iter().filter(|(_, part)| known.suspects & value_bit(part) == 0);
        new.map(|it| it.0).min_by_key(|it| self.candidates.get(it).map_or(0, |it| it.trial.n))
    }

    /// The same of a URL that is spelt differently from a known one.
    pub(super) fn predict_respelt(&self, parts: &Parts<'_>, key: u64) -> Option<Prediction> {
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
    pub(super) fn predict_last_word(&self, parts: &Parts<'_>, key: u64) -> Option<Prediction> {
        let (word, known) = self.without_last_word(parts, key)?;
        let (rule, is_known) = (last_id(word), known.is_some());
        self.is_accepted(rule).then_some(if is_known {
            Prediction::Repeats(rule)
        } else {
            Prediction::Perhaps(rule, rule)
        })
    }
}
