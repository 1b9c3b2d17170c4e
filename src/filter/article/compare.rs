//! Compares two pages: what they share, and whether one repeats the other.

use std::ops::Range;

use super::{
    ArticleSketch, Leaf,
    tokens::{Token, WORD, hash, passages},
};
use crate::filter::key::OriginKey;

/// What pages of two origins share counts in runs of at least this weight, and only if it weighs at least this much together.
const RUN: usize = 12 * WORD;
const LEAST_SHARED: usize = 25 * WORD;
/// What pages of one origin do not share counts in runs of at least this weight.
const OWN_RUN: usize = 8 * WORD;
/// Pages of one origin must share at least this much beside boilerplate.
const LEAST_KNOWN: usize = 8 * WORD;
/// The most that the page with less, and the page with more, may have of its own if both have one name: this much, or this part of what is
/// shared in the body text, whichever is more.
const SAME_NAME: [usize; 2] = [60 * WORD, 90 * WORD];
const PARTS: [usize; 2] = [4, 3];
/// The same as long as no boilerplate is known: all pages of the origin may have that name. If the names differ in digits, no more.
const COLD_SAME_NAME: [usize; 2] = [20 * WORD, 45 * WORD];
/// The share of the body text, in per cent, that must be common then; and if it is a list, or the name does not tell pages apart.
const SAME_BODY: usize = 60;
const SAME_LIST: usize = 75;
/// The share of all prose, in per cent, that must be common, whatever the names.
const SAME_PROSE: usize = 75;
/// Pages of two names differ in a single block, a heading, by at most this much, and have this share of the body text in common.
const RENAMED: usize = 12 * WORD;
const RENAMED_BODY: usize = 90;
/// As long as no boilerplate is known, they must also have no more prose of their own than this.
const COLD: usize = 8 * WORD;
/// A body text with at least this share of links, in per cent, is a list of other pages; and if the pages have long prose in common.
const LIST: u8 = 50;
const LIST_WITH_PROSE: u8 = 60;
/// The same for pages whose name does not tell them apart.
const LIST_OF_NAMESAKES: u8 = 25;
/// The share of the article, in per cent, that the page with the larger one and the other page need across sites: if what is shared is
/// shorter than this, and if it is longer. The shorter an article, the more of what is taken for it is boilerplate.
const SHARES: [[usize; 2]; 2] = [[60, 40], [60, 56]];
const LONG: usize = 100 * WORD;
/// At most this many tokens at the end of a long page may be missing in another one, beside those for which others stand there.
const CUT: usize = 50;
/// An element with this share of what is shared, in per cent, holds it.
const HOLDS: usize = 90;

/// One of two pages that are compared, with what is known of its blocks.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    sketch: &'a ArticleSketch,
    passages: Passages,
    /// For each token whether it is in a passage that the page had before: repeated words count once.
    repeated: Vec<bool>,
    boilerplate: Vec<bool>,
}

/// How a passage of a page compares with another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Both have it.
    Shared,
    /// Only this page has it.
    Own,
    /// It is a block that is boilerplate of the origin.
    Boilerplate,
}

/// A passage of a block: its words, and how they compare with another page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The number of the block.
    pub(crate) block: usize,
    pub(crate) words: Range<usize>,
    /// Whether it is all of the block.
    pub(crate) is_whole: bool,
    pub(crate) part: Part,
}

/// How two pages are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquaintance {
    /// They are of two origins.
    Strangers,
    /// They are of one origin, of which no boilerplate is known yet.
    Cold,
    /// They are of one origin, of which boilerplate is known.
    Warm,
    /// The same; and several pages of the origin have the later page's name, so it does not tell them apart.
    Namesakes,
}

impl Acquaintance {
    /// Of pages with these origins, given how well the first one's is known.
    pub(crate) fn of(origins: [Option<OriginKey>; 2], known: Self) -> Self {
        let are_of_one_site = origins[0].is_some() && origins[0] == origins[1];
        if are_of_one_site { known } else { Self::Strangers }
    }
}

/// What two pages have in common and apart, by which one repeats the other or not. Weights are in fifths of a word. Of two figures, the
/// later page's comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figures {
    /// Of pages of two origins.
    Strangers {
        /// What each shares of its article in long runs; `None` if that is too little to be one.
        shared: Option<[Shared; 2]>,
        /// Whether what is shared is in the body text of one of them.
        is_article: bool,
    },
    /// Of pages of one origin whose body texts list different pages. Nothing else counts then.
    OtherLinks,
    /// Of other pages of one origin.
    OneSite {
        /// Whether boilerplate of the origin is known.
        is_warm: bool,
        names: Names,
        /// What both have beside boilerplate.
        both: usize,
        /// The prose that each has of its own.
        own: [usize; 2],
        /// The share of the body text, in per cent, that both have.
        body: usize,
    },
}

/// What a page shares of its article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) percent: usize,
    pub(crate) weight: usize,
}

/// Whether two pages of one origin have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// They have one name. `most` is what the page with less prose of its own, and the page with more, may have; `body` is the share of the
    /// body text, in per cent, that must be common.
    One { most: [usize; 2], body: usize },
    /// They have two names. `change` is what one block changes; `None` if more than one does.
    Two { change: Option<usize> },
}

/// Why a page does not repeat another one: a condition that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// What they share in runs of at least this weight is less than this.
    NoArticle { run: usize, least: usize },
    /// It is in the body text of neither.
    Beside,
    /// It is less than this share, in per cent, of the article of the one that shares more, and of the other.
    ShortOfArticle { needed: [usize; 2] },
    /// Their body texts list different pages.
    OtherLinks,
    /// One has more prose of its own than `most`: the limits of the page with less, and of the page with more.
    Own { own: [usize; 2], most: [usize; 2] },
    /// They have two names, no boilerplate is known yet, and one has more of its own than this.
    OwnOfNew { most: usize },
    /// They have two names and differ in more than one block.
    Blocks,
    /// They have two names, and the block in which they differ has more of its own than this.
    Change { change: usize, most: usize },
    /// Less than this share of the body text, in per cent, is common.
    Body { found: usize, needed: usize },
    /// Less than this share of all prose, in per cent, is common.
    Prose { found: usize, needed: usize },
    /// What is common is less than this.
    Little { least: usize },
}

impl Figures {
    /// The share of the article, in per cent, that the pages have in common; `None` if one does not repeat the other.
    pub(crate) fn repeats(&self) -> Option<usize> {
        self.obstacles().next().is_none().then(|| self.percent())
    }

    /// The share of the article, or of all prose for pages of one origin, in per cent, that the pages have in common.
    pub(crate) fn percent(&self) -> usize {
        match *self {
            Self::Strangers { shared, .. } => {
                shared.map_or(0, |[one, other]| one.percent.max(other.percent))
            }
            Self::OtherLinks => 0,
            Self::OneSite { both, own: [one, other], .. } => {
                100 * both / (both + one.max(other)).max(1)
            }
        }
    }

    /// Why one does not repeat the other.
    pub(crate) fn obstacles(&self) -> impl Iterator<Item = Obstacle> {
        let unless = |is_met: bool, obstacle: Obstacle| (!is_met).then_some(obstacle);
        let mut found = [None; 5];
        match *self {
            Self::Strangers { shared: None, .. } => {
                found[0] = Some(Obstacle::NoArticle { run: RUN, least: LEAST_SHARED });
            }
            Self::Strangers { shared: Some([one, other]), is_article } => {
                let needed = SHARES[usize::from(one.weight.min(other.weight) >= LONG)];
                let [one, other] = [one.percent, other.percent];
                let are_enough = one.max(other) >= needed[0] && one.min(other) >= needed[1];
                found[0] = unless(is_article, Obstacle::Beside);
                found[1] = unless(are_enough, Obstacle::ShortOfArticle { needed });
            }
            Self::OtherLinks => found[0] = Some(Obstacle::OtherLinks),
            Self::OneSite { is_warm, names, both, own: [one, other], body } => {
                let [less, more] = [one.min(other), one.max(other)];
                let needed = match names {
                    Names::One { most, body } => {
                        let is_little = less <= most[0] && more <= most[1];
                        found[0] = unless(is_little, Obstacle::Own { own: [one, other], most });
                        body
                    }
                    Names::Two { change } => {
                        found[0] =
                            unless(is_warm || more <= COLD, Obstacle::OwnOfNew { most: COLD });
                        found[1] = match change {
                            None => Some(Obstacle::Blocks),
                            Some(change) => unless(
                                change <= RENAMED,
                                Obstacle::Change { change, most: RENAMED },
                            ),
                        };
                        RENAMED_BODY
                    }
                };
                let percent = self.percent();
                found[2] = unless(body >= needed, Obstacle::Body { found: body, needed });
                found[3] = unless(
                    percent >= SAME_PROSE,
                    Obstacle::Prose { found: percent, needed: SAME_PROSE },
                );
                found[4] = unless(both >= LEAST_KNOWN, Obstacle::Little { least: LEAST_KNOWN });
            }
        }
        found.into_iter().flatten()
    }
}

/// What a page shares with another one and what not, apart from boilerplate.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// What is shared, in or around the body text.
    shared: usize,
    /// What is shared in the body text.
    in_body: usize,
    /// What is not shared in the body text: apart from teasers, and in teasers.
    own: [usize; 2],
    /// What is not shared, apart from numbers, if it is in one block; `None` if it is in more.
    change: Option<usize>,
}

impl Tally {
    /// The share of the body text, in per cent, that is shared. Teasers that are not shared do not count, unless it is a list.
    fn share_of_body(&self, is_list: bool) -> usize {
        let own = self.own[0] + if is_list { self.own[1] } else { 0 };
        (100 * self.in_body).checked_div(self.in_body + own).unwrap_or(100)
    }
}

/// The passages of a page, in page order and by their hashes.
#[derive(Debug)]
struct Passages {
    /// Where the passage from each token on ends, and its hash.
    all: Vec<(usize, u64)>,
    /// A hash table with open addressing: the number of a passage from 1 on, or 0. At most half of it is used.
    slots: Vec<u32>,
}

impl Passages {
    /// Those of these tokens. Calls `repeats` with each that is equal to an earlier one.
    fn of(tokens: &[Token], mut repeats: impl FnMut(Range<usize>)) -> Self {
        let mut all = Vec::with_capacity(tokens.len());
        all.extend(passages(tokens).map(|passage| (passage.end, hash(&tokens[passage]))));
        let slots = vec![0; (2 * all.len()).next_power_of_two().max(2)];
        let mut found = Self { all, slots };
        for (number, start) in (1..).zip(0..found.all.len()) {
            let (end, hash) = found.all[start];
            let slot = found.slot(hash);
            if found.slots[slot] == 0 {
                found.slots[slot] = number;
            } else {
                repeats(start..end);
            }
        }
        found
    }

    fn contains(&self, hash: u64) -> bool {
        self.slots[self.slot(hash)] != 0
    }

    /// Where the number of a passage of this hash is, or a free slot if there is none.
    fn slot(&self, hash: u64) -> usize {
        let last = self.slots.len() - 1;
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (mixed >> 32) as usize & last;
        while let Some(before) = (self.slots[slot] as usize).checked_sub(1)
            && self.all[before].1 != hash
        {
            slot = (slot + 1) & last;
        }
        slot
    }
}

impl ArticleSketch {
    /// Whether it and an earlier page list different pages, so that nothing else counts. Across sites, links do not count.
    pub(crate) fn lists_others_than(&self, earlier: &Self, how: Acquaintance) -> bool {
        let [_, list_with_prose] = self.lists(earlier, how);
        how != Acquaintance::Strangers && self.has_other_links(earlier, list_with_prose)
    }

    /// The share of links, in per cent, from which on a body text is a list: in general, and if the pages have long prose in common.
    fn lists(&self, earlier: &Self, how: Acquaintance) -> [u8; 2] {
        match self.is_told_by_name(earlier, how) {
            true => [LIST, LIST_WITH_PROSE],
            false if self.name.letters == earlier.name.letters => [LIST_OF_NAMESAKES; 2],
            false => [0; 2],
        }
    }

    /// Whether they have one name, and it tells pages apart. Pages of a list, or versions of a page, often have names that differ in their
    /// digits.
    fn is_told_by_name(&self, earlier: &Self, how: Acquaintance) -> bool {
        how != Acquaintance::Namesakes && self.name == earlier.name
    }

    /// Whether the body text of one of them lists other pages, and not the same ones as the other's. It is a list if at least this share of it,
    /// in per cent, is links.
    fn has_other_links(&self, other: &Self, list: u8) -> bool {
        self.links.share.max(other.links.share) >= list && self.links.hash != other.links.hash
    }
}

impl<'a> Side<'a> {
    /// This page, given which of its blocks are boilerplate.
    pub(crate) fn new(sketch: &'a ArticleSketch, boilerplate: Vec<bool>) -> Self {
        let (mut repeated, mut until) = (vec![false; sketch.tokens.len()], 0);
        let passages = Passages::of(&sketch.tokens, |passage| {
            repeated[passage.start.max(until)..passage.end].fill(true);
            until = passage.end;
        });
        Self { sketch, passages, repeated, boilerplate }
    }

    /// The share of its article, in per cent, that it has in common with an earlier page that it repeats; `None` if it does not repeat it.
    pub(crate) fn repeats(&self, earlier: &Side<'_>, how: Acquaintance) -> Option<usize> {
        self.figures(earlier, how).repeats()
    }

    /// What it and an earlier page have in common and apart.
    pub(crate) fn figures(&self, earlier: &Side<'_>, how: Acquaintance) -> Figures {
        if self.sketch.lists_others_than(earlier.sketch, how) {
            return Figures::OtherLinks;
        }
        let [mine, theirs] = [self.covered(earlier), earlier.covered(self)];
        if how == Acquaintance::Strangers {
            let shared =
                self.share(&mine).and_then(|shared| Some([shared, earlier.share(&theirs)?]));
            let is_article =
                shared.is_some() && (self.is_in_body(&mine) || earlier.is_in_body(&theirs));
            return Figures::Strangers { shared, is_article };
        }
        let is_telling = self.sketch.is_told_by_name(earlier.sketch, how);
        let [one, other] = [self.tally(&mine), earlier.tally(&theirs)];
        let links = self.sketch.links.share.max(earlier.sketch.links.share);
        let is_list = !is_telling || links >= LIST;
        let names = if self.sketch.name.letters == earlier.sketch.name.letters {
            let known = one.in_body.min(other.in_body);
            let [list, _] = self.sketch.lists(earlier.sketch, how);
            if known < LONG && self.sketch.has_other_links(earlier.sketch, list) {
                return Figures::OtherLinks;
            }
            let part = |at: usize| known / PARTS[at];
            let most = match how {
                Acquaintance::Cold if !is_telling => COLD_SAME_NAME,
                Acquaintance::Cold => [0, 1].map(|at| COLD_SAME_NAME[at].max(part(at))),
                _ => [0, 1].map(|at| SAME_NAME[at].max(part(at))),
            };
            Names::One { most, body: if is_list { SAME_LIST } else { SAME_BODY } }
        } else {
            let changes = one.change.zip(other.change);
            Names::Two { change: changes.map(|(one, other)| one.max(other)) }
        };
        Figures::OneSite {
            is_warm: how != Acquaintance::Cold,
            names,
            both: one.shared.min(other.shared),
            own: [self.own(&mine, earlier, &theirs), earlier.own(&theirs, self, &mine)],
            body: one.share_of_body(is_list).min(other.share_of_body(is_list)),
        }
    }

    /// Its passages in page order, and how each compares with another page.
    pub(crate) fn passages(&self, other: &Side<'_>) -> Vec<Passage> {
        let covered = self.covered(other);
        let mut found = Vec::new();
        for (block, leaf) in self.sketch.leaves.iter().enumerate() {
            let tokens = &covered[leaf.range()];
            if self.boilerplate[block] {
                let (words, part) = (0..tokens.len(), Part::Boilerplate);
                found.push(Passage { block, words, is_whole: true, part });
                continue;
            }
            let mut start = 0;
            for run in tokens.chunk_by(|a, b| a == b) {
                let words = start..start + run.len();
                start = words.end;
                let part = if run[0] { Part::Shared } else { Part::Own };
                found.push(Passage { block, is_whole: run.len() == tokens.len(), words, part });
            }
        }
        found
    }

    /// Whether a page of the same origin with the same body text may be another one, by prose that is in no body text.
    pub(crate) fn differs_beside(&self, earlier: &Side<'_>, how: Acquaintance) -> bool {
        let [mine, theirs] = [self.covered(earlier), earlier.covered(self)];
        let own = [self.own(&mine, earlier, &theirs), earlier.own(&theirs, self, &mine)];
        let are_equal = own == [0, 0] && self.sketch.name.letters == earlier.sketch.name.letters;
        !are_equal && self.repeats(earlier, how).is_none()
    }

    /// What is covered and what is not, apart from boilerplate. Numbers count.
    fn tally(&self, covered: &[bool]) -> Tally {
        let mut sums = Tally { change: Some(0), ..Tally::default() };
        let blocks = self.sketch.leaves.iter().zip(&self.boilerplate);
        for (leaf, _) in blocks.filter(|(_, boilerplate)| !**boilerplate) {
            let [mut shared, mut own, mut change] = [0; 3];
            for at in leaf.range().filter(|&at| !self.repeated[at]) {
                let token = self.sketch.tokens[at];
                if covered[at] {
                    shared += token.weight();
                } else {
                    own += token.weight();
                    change += if token.is_number() { 0 } else { token.weight() };
                }
            }
            sums.shared += shared;
            if leaf.is_body {
                sums.in_body += shared;
                sums.own[usize::from(leaf.is_linked)] += own;
            }
            if change > 0 {
                sums.change = sums.change.filter(|before| *before == 0).map(|_| change);
            }
        }
        sums
    }

    /// For each token whether it is in a passage of the other page.
    fn covered(&self, other: &Side<'_>) -> Vec<bool> {
        let (mut covered, mut until) = (vec![false; self.sketch.tokens.len()], 0);
        for (start, &(end, hash)) in self.passages.all.iter().enumerate() {
            if other.passages.contains(hash) {
                covered[start.max(until)..end].fill(true);
                until = end;
            }
        }
        covered
    }

    /// For each token whether it is in a run that is covered, or not covered, and that weighs at least `least`.
    fn in_runs(&self, covered: &[bool], wanted: bool, least: usize) -> Vec<bool> {
        let mut counts = vec![false; covered.len()];
        let mut start = 0;
        for run in covered.chunk_by(|a, b| a == b) {
            let range = start..start + run.len();
            start = range.end;
            let tokens = &self.sketch.tokens[range.clone()];
            let weight: usize = tokens.iter().map(|token| token.weight()).sum();
            counts[range].fill(run[0] == wanted && weight >= least);
        }
        counts
    }

    /// The weight of the tokens of a block that count.
    fn weight(&self, leaf: &Leaf, counts: impl Fn(usize) -> bool) -> usize {
        let counts = |at| counts(at) && !self.repeated[at];
        leaf.range().filter(|&at| counts(at)).map(|at| self.sketch.tokens[at].weight()).sum()
    }

    /// For each block the weight of its tokens that count.
    fn by_block(&self, counts: impl Fn(usize) -> bool) -> Vec<usize> {
        self.sketch.leaves.iter().map(|leaf| self.weight(leaf, &counts)).collect()
    }

    /// The sum over the blocks that count.
    fn sum(&self, weights: &[usize], counts: impl Fn(&Leaf, bool) -> bool) -> usize {
        let blocks = self.sketch.leaves.iter().zip(&self.boilerplate).zip(weights);
        blocks
            .filter(|((leaf, boilerplate), _)| counts(leaf, **boilerplate))
            .map(|(_, weight)| weight)
            .sum()
    }

    /// The same weights without those of boilerplate.
    fn own_blocks(&self, mut weights: Vec<usize>) -> Vec<usize> {
        let boilerplate =
            weights.iter_mut().zip(&self.boilerplate).filter(|(_, boilerplate)| **boilerplate);
        boilerplate.for_each(|(weight, _)| *weight = 0);
        weights
    }

    /// The prose that is not shared, apart from boilerplate, numbers and teasers.
    fn own(&self, covered: &[bool], other: &Side<'_>, others: &[bool]) -> usize {
        let end = Self::comparable(covered, other, others);
        let runs = self.in_runs(&covered[..end], false, OWN_RUN);
        let counts = |at: usize| at < end && runs[at] && !self.sketch.tokens[at].is_number();
        let blocks = self.sketch.leaves.iter().zip(&self.boilerplate);
        let prose = blocks.filter(|(leaf, boilerplate)| !**boilerplate && !leaf.is_linked);
        prose.map(|(leaf, _)| self.weight(leaf, counts)).sum()
    }

    /// How many tokens the other page would show too if it were this one. Of a long page less of the end is known, the more it has before.
    fn comparable(covered: &[bool], other: &Side<'_>, others: &[bool]) -> usize {
        let last =
            |covered: &[bool]| covered.iter().rposition(|&covered| covered).map_or(0, |at| at + 1);
        let (end, end_of_other) = (last(covered), last(others));
        let before = others[..end_of_other].iter().filter(|covered| !**covered).count();
        let is_cut = other.sketch.is_truncated && covered.len() - end <= before + CUT;
        if is_cut { end } else { covered.len() }
    }

    /// Whether half of what is shared in long runs is in the body text.
    fn is_in_body(&self, covered: &[bool]) -> bool {
        let runs = self.in_runs(covered, true, RUN);
        let shared = self.by_block(|at| runs[at]);
        self.sum(&shared, |leaf, _| leaf.is_body) * 2 >= self.sum(&shared, |_, _| true)
    }

    /// The share of the article, in per cent, that is shared in long runs, if that is enough to be an article: the body text is the article,
    /// or the element that holds what is shared, whichever has the larger share.
    fn share(&self, covered: &[bool]) -> Option<Shared> {
        let runs = self.in_runs(covered, true, RUN);
        let shared = self.by_block(|at| runs[at]);
        let all = self.own_blocks(self.by_block(|_| true));
        let shared = self.own_blocks(shared);
        let sum: usize = shared.iter().sum();
        if sum < LEAST_SHARED {
            return None;
        }
        let in_body = |weights: &[usize]| self.sum(weights, |leaf, _| leaf.is_body);
        let of_body = 100 * in_body(&shared) / in_body(&all).max(1);
        let holder = self.holder(&shared, sum);
        let of_holder = 100 * sum / all[holder].iter().sum::<usize>().max(1);
        Some(Shared { percent: of_body.max(of_holder).min(100), weight: sum })
    }

    /// The blocks of the smallest element that holds most of these weights. If it has one block only, it is the element around it.
    fn holder(&self, weights: &[usize], sum: usize) -> Range<usize> {
        let leaves = &self.sketch.leaves;
        let (mut holder, mut level) = (0..leaves.len(), 0);
        loop {
            level += 1;
            let inside = leaves[holder.clone()].iter().enumerate();
            let starts: Vec<usize> = inside
                .filter(|&(at, leaf)| at == 0 || leaf.shared < level)
                .map(|(at, _)| holder.start + at)
                .collect();
            let ends = starts.iter().skip(1).copied().chain([holder.end]);
            let mut parts = starts.iter().zip(ends).map(|(&start, end)| start..end);
            let holds = |part: &Range<usize>| {
                100 * weights[part.clone()].iter().sum::<usize>() >= HOLDS * sum
            };
            match parts.find(holds) {
                Some(part) if part.len() > 1 => holder = part,
                _ => return holder,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::{
        super::{
            Article,
            sketch::{Links, Name},
            tokens::Token,
        },
        *,
    };
    use crate::{
        fingerprint::{Fingerprinter, Recipe},
        page::Outline,
    };

    const ALL: [Acquaintance; 4] =
        [Acquaintance::Strangers, Acquaintance::Cold, Acquaintance::Warm, Acquaintance::Namesakes];

    /// A page and which of its blocks are boilerplate.
    type Known = (ArticleSketch, Vec<bool>);

    /// Tokens unlike those of other numbers.
    fn text(number: u64, length: usize) -> impl Iterator<Item = Token> {
        (0..length as u64).map(move |place| {
            let word = (number * 1000 + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Token((word >> 56) as u8)
        })
    }

    fn name() -> impl Strategy<Value = Name> {
        prop::array::uniform2(0..2_u32).prop_map(|[letters, digits]| Name { letters, digits })
    }

    /// Pages that have some of few texts in common, each whole or its beginning.
    fn page() -> impl Strategy<Value = Known> {
        let flags =
            (prop::bool::weighted(0.7), prop::bool::weighted(0.1), prop::bool::weighted(0.2));
        let block = (0..8_u64, select(vec![0, 3, 9, 30, 70, 150]), 0..4_u8, flags);
        let links = (0..2_u32, select(vec![0, 30, 55, 100]))
            .prop_map(|(hash, share)| Links { hash, share });
        let page = (prop::collection::vec(block, 0..7), prop::bool::weighted(0.3), name(), links);
        page.prop_map(|(blocks, is_truncated, name, links)| {
            let mut sketch =
                ArticleSketch { is_truncated, name, links, ..ArticleSketch::default() };
            let mut known = Vec::new();
            for (number, length, shared, (is_body, is_linked, is_boilerplate)) in blocks {
                let start = sketch.tokens.len();
                sketch.tokens.extend(text(number, length));
                let end = sketch.tokens.len();
                sketch.leaves.push(Leaf { start, end, shared, is_body, is_linked });
                known.push(is_boilerplate);
            }
            (sketch, known)
        })
    }

    fn side((sketch, boilerplate): &Known) -> Side<'_> {
        Side::new(sketch, boilerplate.clone())
    }

    /// A page of one block with these tokens.
    fn block(bytes: &[u8]) -> ArticleSketch {
        let end = bytes.len();
        let leaf = Leaf { start: 0, end, shared: 0, is_body: true, is_linked: false };
        let tokens = bytes.iter().map(|&byte| Token(byte)).collect();
        ArticleSketch { tokens, leaves: vec![leaf], ..ArticleSketch::default() }
    }

    /// Where the passages of five words start and end, by trying each start.
    fn all_passages(tokens: &[Token]) -> Vec<Range<usize>> {
        let weight =
            |range: Range<usize>| tokens[range].iter().map(|token| token.weight()).sum::<usize>();
        let from = |start: usize| {
            (start + 1..=tokens.len())
                .find(|&end| weight(start..end) >= 5 * WORD)
                .map(|end| start..end)
        };
        (0..tokens.len()).filter_map(from).collect()
    }

    proptest! {
            #[test]
            fn two_pages_repeat_each_other_or_do_not(a in page(), b in page()) {
                for how in ALL {
                    let law = "the order of two pages changes nothing";
                    prop_assert_eq!(side(&a).repeats(&side(&b), how), side(&b).repeats(&side(&a), how), "{}", law);
                    prop_assert_eq!(side(&a).differs_beside(&side(&b), how), side(&b).differs_beside(&side(&a), how), "{}", law);
                }
            }

            #[test]
            fn a_page_repeats_itself(
                blocks in prop::collection::vec((0..9_u64, 50..120_usize, 0..4_u8, any::<bool>()), 6..12),
                is_truncated in any::<bool>(),
            ) {
                let mut page = ArticleSketch { is_truncated, ..ArticleSketch::default() };
                for (at, (number, length, shared, is_linked)) in blocks.into_iter().enumerate() {
                    let start = page.tokens.len();
                    page.tokens.extend(text(number, length));
                    let end = page.tokens.len();
                    // Most is body text.
                    page.leaves.push(Leaf { start, end, shared, is_body: at % 3 < 2 || length < 90, is_linked });
                }
                let known = vec![false; page.leaves.len()];
                let [one, other] = [(); 2].map(|()| Side::new(&page, known.clone()));
                let body: usize = one.sum(&one.by_block(|_| true), |leaf, _| leaf.is_body);
                // The last word of a run need not count as shared.
                prop_assume!(2 * body >= one.by_block(|_| true).iter().sum::<usize>() + 2 * WORD);
                for how in ALL {
                    // The last word need not be in a passage.
                    prop_assert!(one.repeats(&other, how) >= Some(98), "{:?}", how);
                    prop_assert!(!one.differs_beside(&other, how));
                }
            }

            #[test]
            fn what_is_covered_is_in_a_passage_of_both(
                [a, b] in prop::array::uniform2(prop::collection::vec(select(vec![0_u8, 20, 21, 130, 131]), 0..60)),
            ) {
                let (a, b) = (block(&a), block(&b));
                let [mine, theirs] = [&a, &b].map(|page| Side::new(page, vec![false]));
                let mut expected = vec![false; a.tokens.len()];
                for passage in all_passages(&a.tokens) {
                    let wanted = &a.tokens[passage.clone()];
                    if b.tokens.windows(wanted.len()).any(|tokens| tokens == wanted) {
                        expected[passage].fill(true);
                    }
                }
                prop_assert_eq!(mine.covered(&theirs), expected);
            }

            #[test]
            fn what_holds_most_is_found_as_in_the_tree(
                steps in prop::collection::vec(0..5_u8, 1..60),
                weights in prop::collection::vec(select(vec![0_usize, 0, 0, 1, 5, 100]), 60),
            ) {
                let mut outline = Outline::new("");
                // The open elements, the leaves of each element, and the block of the latest line.
                let (mut open, mut holds, mut latest) = (vec![Outline::PAGE], vec![vec![]], None);
                let mut leaves = 0;
                for (number, step) in steps.into_iter().enumerate() {
                    let here = *open.last().unwrap();
                    match step {
                        0 if open.len() < 20 => {
                            open.push(outline.block(here));
                            holds.push(Vec::new());
                        }
                        1 if open.len() > 1 => {
                            open.pop();
                        }
                        _ => {
                            outline.line(here, &format!("word{number} and "), 0, true);
                            if latest != Some(here) {
                                for &element in &open {
     holds[element as usize].push(leaves);
    }
                                leaves += 1;
                            }
                            latest = Some(here);
                        }
                    }
                }
                let article = Article::of(&outline, &Fingerprinter::new(Recipe::default()));
                let sketch = article.sketch();
                prop_assert_eq!(sketch.leaves.len(), leaves);
                let weights = &weights[..leaves];
                let sum: usize = weights.iter().sum();
                prop_assume!(sum > 0);
                let holds_most = |inside: &&Vec<usize>| {
                    let weight: usize = inside.iter().map(|&leaf| weights[leaf]).sum();
                    inside.len() > 1 && 100 * weight >= HOLDS * sum
                };
                let smallest = holds.iter().filter(holds_most).min_by_key(|inside| inside.len());
                let expected = smallest.map_or(0..leaves, |inside| inside[0]..inside[0] + inside.len());
                prop_assert_eq!(Side::new(sketch, vec![false; leaves]).holder(weights, sum), expected);
            }
        }
}
