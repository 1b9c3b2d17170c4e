//! The patterns of a URL, and what was counted for them.

use url::Url;

use super::{
    super::{
        Yielded,
        parts::{Part, PartKind, Parts, TextKind, hash, text_kind},
        pattern_yield::{Chain, PatternKind, PatternYield},
        rule::candidate_id,
        spans::version,
    },
    Site, value_of,
};

/// From this number of hosts on, the hosts of a site have one pattern.
const MANY_HOSTS: usize = 16;
/// Kinds of pages, as `action=history`, that have a pattern of their own: a value that is made up for each link is no kind.
const PAGE_TYPES: usize = 64;
/// Words before the numbers of files that are remembered of a site, and the numbers from which on a word has a pattern of its own: blogs have
/// titles with numbers, too.
const NUMBERED: usize = 64;
const MANY_NUMBERS: u32 = 16;
/// From this number of pages on, the branches of a pattern are counted.
const BRANCHED: u32 = 64;

impl Site {
    /// The patterns of a URL: its own first.
    pub(in crate::learn) fn patterns(&mut self, parts: &Parts<'_>) -> Vec<Pattern> {
        let host = parts.list[0].value;
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
        let types = self.page_types(parts);
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
        if let Some(view) = parts.view(&types).filter(|_| self.knows_path(parts)) {
            let has_ids = view.strip_prefix('*').is_some_and(|path| path.contains('*'));
            all.push((view, if has_ids { PatternKind::View } else { PatternKind::Path }));
        }
        if let Some(ending) = parts.ending() {
            all.push((format!("*.{ending}"), PatternKind::Ending));
        }
        if is_one_of_many {
            all.push(("*/…".into(), PatternKind::TrapShaped));
        }
        all.insert(
            0,
            (own, if is_trap_shaped { PatternKind::TrapShaped } else { PatternKind::Exact }),
        );
        let pattern = |(text, kind): (String, PatternKind)| Pattern {
            number: pattern_id(&text, kind.is_wide()),
            text,
            kind,
        };
        all.into_iter().map(pattern).collect()
    }

    /// Whether a URL is a view: one of several URLs with the same path, of which the first was requested already. If all links of a site have a parameter, each
    /// path has a page of its own all the same.
    pub(in crate::learn) fn is_view(&self, url: &Url) -> bool {
        url.query().is_some() && self.knows_path(&Parts::of(url))
    }

    pub(super) fn knows_path(&self, parts: &Parts<'_>) -> bool {
        let path = self.path_key(parts);
        self.classes.contains_key(path)
            || self.classes.contains_key(path.rotate_left(37))
            || self.known_pages.get(path).is_some()
    }

    /// Remembers the path of a URL with parameters.
    pub(in crate::learn) fn remember_path(&mut self, parts: &Parts<'_>) {
        if parts.url.query().is_some() {
            let path = self.path_key(parts);
            self.class(path.rotate_left(37));
        }
    }

    /// A key of the path of a URL, without what rules leave out of it.
    pub(super) fn path_key(&self, parts: &Parts<'_>) -> u64 {
        let is_path =
            |part: &&Part<'_>| part.kind != PartKind::Parameter && !self.is_left_out(parts, part);
        let others = parts.list.iter().filter(|part| !is_path(part));
        others.fold(parts.key, Parts::without)
    }

    /// What the parameters of a URL say of the kind of its page, if it is one of the first kinds of the site.
    pub(super) fn page_types(&mut self, parts: &Parts<'_>) -> Vec<u64> {
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
    pub(super) fn has_many_numbers(&mut self, [word, number]: [u64; 2]) -> bool {
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
    pub(super) fn branch<'a>(&self, parts: &Parts<'a>, pattern: u32) -> Option<(u32, &'a str)> {
        if self.yields.get(&pattern)?.fetched < BRANCHED {
            return None;
        }
        let segments = || parts.url.path().split('/').skip(1);
        let is_literal = segments().next().is_some_and(|it| text_kind(it) == TextKind::Word);
        let place = usize::from(is_literal);
        let value = segments().nth(place)?;
        segments().nth(place + 1)?;
        Some((candidate_id(&[13, pattern.into(), hash(value, 0)]), value))
    }

    /// Counts a page for a pattern, and for its branch if the pattern is exact. Returns whether more of either is wanted than before.
    pub(in crate::learn) fn count_yield(
        &mut self,
        parts: &Parts<'_>,
        (pattern, kind): (u32, PatternKind),
        (yielded, text): (Yielded, u32),
        chain: Chain,
    ) -> bool {
        let of_pattern = self.yields.entry(pattern).or_default();
        if kind == PatternKind::Ending {
            return of_pattern.add_file(yielded);
        }
        let is_wanted = of_pattern.add(yielded, text, kind, chain);
        if kind != PatternKind::Exact {
            return is_wanted;
        }
        let Some((branch, value)) = self.branch(parts, pattern) else { return is_wanted };
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
    pub(in crate::learn) fn is_in_open_branch(&self, parts: &Parts<'_>, pattern: u32) -> bool {
        let Some((branch, value)) = self.branch(parts, pattern) else { return false };
        let known = self.yields.get(&branch);
        if text_kind(value) == TextKind::Word && known.is_none_or(PatternYield::is_unknown) {
            return self.yields.get(&pattern).is_some_and(PatternYield::has_yielded);
        }
        known.is_some_and(PatternYield::still_yields)
    }
}

/// The number of a pattern.
pub(in crate::learn) fn pattern_id(text: &str, is_wide: bool) -> u32 {
    candidate_id(&[6, hash(text, 0), u64::from(is_wide)])
}

/// A pattern of URLs.
#[derive(Clone, Debug)]
pub(in crate::learn) struct Pattern {
    pub(in crate::learn) number: u32,
    pub(in crate::learn) text: String,
    pub(in crate::learn) kind: PatternKind,
}
