//! Several parts at once that may make no difference.

use url::Url;

use super::{
    super::{
        parts::{Part, PartKind, Parts, hash},
        trial::Repeats,
    },
    Site, Text, is_id,
};

impl Site {
    /// The page repeats a known one: the parts in which their URLs differ may make no difference.
    pub(super) fn suspect(&mut self, parts: &Parts<'_>, group: u32) {
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
            let Some(candidate) = self.candidate(number) else { continue };
            candidate.pairs = candidate.pairs.saturating_add(1);
            if candidate.is_suspect() && !self.suspects.contains(&number) {
                self.suspects.push(number);
                self.is_stale = true;
            }
        }
    }

    /// The suspects among the parts of a URL, and the class of the URLs that differ in them only.
    pub(super) fn suspects_of<'a, 'b>(
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
    pub(super) fn try_suspects(
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
}

/// Whether several parts like this may make no difference together: words in a path rarely do.
fn may_be_suspect(part: &Part<'_>) -> bool {
    !matches!(part.kind, PartKind::Segment(_)) || is_id(part.value)
}

/// The bit of a suspect's value in [`Class::values`].
pub(super) fn value_bit(part: &Part<'_>) -> u32 {
    1 << (hash(part.value, hash(part.name, 14)) & 31)
}
