//! Compares two pages: what they share, and whether one repeats the other.
//!
//! ```text
//!  Side: the page ─────┐                    ┌─► View: the page, with what the other has of it
//!                      ├─► Met ─► Pair ─────┤                                                   ─► Figures ─► UnmetCondition, ...
//!  an earlier sketch ──┘                    └─► View: the earlier page, the same
//! ```
//!
//! - A [`Side`] is a page with a table of its passages (five words). It is made once, and meets one earlier page after the other (`meet`):
//!   their common passages are known then. Most have too few, and are done.
//! - Of the others a [`Pair`] is made. What is common or apart is weighed in words (`View::tally`), without the boilerplate of the origin and without what
//!   a page repeats itself.
//! - [`Pair::figures`] reduces this to the numbers that decide: one set for pages of two origins (long common runs, which must be the article of
//!   both), another for pages of one origin (prose that only one of them has, their names, where their links lead).
//! - [`Figures::unmet_conditions`] is the whole rule: one page repeats the other if no condition is left. `explain` prints the conditions.
//!
//! All limits are constants below; docs/decision.md says how each was measured.

use std::{borrow::Cow, ops::Range};

use super::{
    ArticleSketch, Leaf, TargetFigures, Targets,
    sketch::{Token, WORD, hashed_passages},
};
use crate::filter::key::OriginKey;

/// What pages of two origins share counts in runs of at least this weight, and only if it weighs at least this much together.
const RUN: usize = 12 * WORD;
const MIN_SHARED: usize = 25 * WORD;
/// What pages of one origin do not share counts in runs of at least this weight.
const OWN_RUN: usize = 8 * WORD;
/// Pages of one origin must share at least this much beside boilerplate.
const MIN_SHARED_ONE_ORIGIN: usize = 8 * WORD;
/// The most that the page with less, and the page with more, may have of its own if both have one name: this much, or this part of what is
/// shared in the body text, whichever is more.
const SAME_NAME: [usize; 2] = [60 * WORD, 90 * WORD];
const PARTS: [usize; 2] = [4, 3];
/// The same as long as no boilerplate is known: all pages of the origin may have that name. If the names differ in digits, no more.
const UNLEARNT_SAME_NAME_OWN: [usize; 2] = [20 * WORD, 45 * WORD];
/// The share of the body text, in per cent, that must be common then; and if it is a list, or the name does not tell pages apart.
const SAME_BODY: usize = 60;
const SAME_LIST: usize = 75;
/// The share of all prose, in per cent, that must be common, whatever the names; and if nearly all of the body text is.
const SAME_PROSE: usize = 75;
const SAME_PROSE_AROUND: usize = 65;
/// Pages of two names differ in a single block, a heading, by at most this much, and have nearly all of the body text in common: this
/// share, in per cent.
const DIFFERENT_NAME_CHANGE: usize = 12 * WORD;
const NEARLY_ALL: usize = 90;
/// As long as no boilerplate is known, they must also have no more prose of their own than this.
const UNLEARNT_OWN: usize = 8 * WORD;
/// A body text with at least this share of links, in per cent, is a list of other pages; and if the pages have long prose in common. If only one
/// of two pages of one name is a list, its links are teasers.
const LIST: u8 = 50;
const LIST_WITH_PROSE: u8 = 60;
/// The same for pages whose name does not tell them apart.
const LIST_SHARED_NAME: u8 = 25;
/// The same for entries with excerpts: from the second heading that is a link, so much of the body text follows. Pages whose name tells them apart
/// are versions of one page, as of a manual's menu, or a thread with another answer.
const ENTRIES: u8 = 50;
/// A page with at least this share of source code, in per cent of its body text, is compared by it.
const CODE: u8 = 50;
/// The share of the article, in per cent, that the page with the larger one and the other page need across origins: if what is shared is
/// shorter than this, and if it is longer or their titles differ. The shorter an article, the more of what is taken for it is boilerplate.
const SHARES: [[usize; 2]; 2] = [[60, 40], [60, 56]];
const LONG_SHARED: usize = 100 * WORD;
/// Pages share prose, and not only labels and dates, if a block has this much in common.
const PARAGRAPH: usize = 12 * WORD;
/// At most this many tokens at the end of a long page may be missing in another one, beside those for which others stand there.
const MAX_MISSING_AT_END: usize = 50;
/// Of the titles of two pages this much must be equal.
const TITLE: usize = 3 * WORD;
/// An element with this share of what is shared, in per cent, holds it.
const ENCLOSING_SHARE: usize = 90;

/// What of a page is its own.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// For each block whether it is boilerplate of the origin, and so is not.
    pub(crate) boilerplate: Vec<bool>,
    /// Where the links lead that are not boilerplate.
    pub(crate) targets: Targets,
}

/// A page that is compared with earlier ones, with what of it is its own.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    sketch: &'a ArticleSketch,
    of_page: Own,
    /// The passage from each token on.
    passages: Vec<Hashed>,
    table: Table,
    weights: Weights,
}

/// A page and an earlier one, and what they have in common.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    later: View<'a>,
    earlier: View<'a>,
}

/// One of two pages that are compared.
#[derive(Debug)]
struct View<'a> {
    sketch: &'a ArticleSketch,
    of_page: Cow<'a, Own>,
    weights: Cow<'a, Weights>,
    /// The tokens that are in a passage of the other page: runs in page order, with tokens between them.
    covered: Vec<Range<usize>>,
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
pub(crate) enum OriginRelation {
    /// They are of two origins.
    Different,
    /// They are of one origin, of which no boilerplate is known yet.
    SameUnlearnt,
    /// They are of one origin, of which boilerplate is known.
    SameLearnt,
    /// The same; and several pages of the origin have the later page's name, so it does not tell them apart.
    SameNameShared,
}

impl OriginRelation {
    /// Of pages with these origins, given how well the first one's is known.
    pub(crate) fn of(origins: [Option<OriginKey>; 2], known: Self) -> Self {
        let are_of_one_origin = origins[0].is_some() && origins[0] == origins[1];
        if are_of_one_origin { known } else { Self::Different }
    }
}

/// What two pages have in common and apart, by which one repeats the other or not. Weights are in fifths of a word. Of two figures, the
/// later page's comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figures {
    /// Of pages of two origins.
    TwoOrigins {
        /// What each shares of its article in long runs; `None` if that is too little to be one.
        shared: Option<[Shared; 2]>,
        /// Whether what is shared is in the body text of one of them.
        is_article: bool,
        /// Whether they may have one title: only then an element of the body text may be the article.
        have_one_title: bool,
    },
    /// Of pages of one origin whose body texts list different pages. Nothing else counts then.
    OtherLinks,
    /// Of pages of one origin that are mostly source code, and not the same. Nothing else counts then.
    OtherCode,
    /// Of other pages of one origin.
    OneOrigin {
        /// Whether boilerplate of the origin is known.
        is_learnt: bool,
        names: Names,
        /// What both have beside boilerplate.
        both: usize,
        /// The prose that each has of its own.
        own: [usize; 2],
        /// The share of the body text, in per cent, that both have.
        body: usize,
        targets: TargetFigures,
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
    Same { most: [usize; 2], body: usize },
    /// They have two names. `change` is what one block changes; `None` if more than one does.
    Different { change: Option<usize> },
}

/// Why a page does not repeat another one: a condition that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnmetCondition {
    /// What they share in runs of at least this weight is less than this.
    SharedTooShort { run: usize, least: usize },
    /// It is in the body text of neither.
    OutsideBody,
    /// It is less than this share, in per cent, of the article of the one that shares more, and of the other.
    ShareTooSmall { needed: [usize; 2] },
    /// Their body texts list different pages.
    OtherLinks,
    /// They are mostly source code, and it differs.
    OtherCode,
    /// One has more prose of its own than `most`: the limits of the page with less, and of the page with more.
    TooMuchOwn { own: [usize; 2], most: [usize; 2] },
    /// They have two names, no boilerplate is known yet, and one has more of its own than this.
    TooMuchOwnUnlearnt { most: usize },
    /// They have two names and differ in more than one block.
    SeveralBlocks,
    /// They have two names, and the block in which they differ has more of its own than this.
    ChangeTooLarge { change: usize, most: usize },
    /// Less than this share of the body text, in per cent, is common.
    BodyShareTooSmall { found: usize, needed: usize },
    /// Less than this share of all prose, in per cent, is common.
    ProseShareTooSmall { found: usize, needed: usize },
    /// What is common is less than this.
    SharedTooLittle { least: usize },
    /// The links of their contents lead to other pages, whatever the texts of the links.
    OtherTargets(TargetFigures),
}

impl Figures {
    /// The share of the article, in per cent, that the pages have in common; `None` if one does not repeat the other.
    pub(crate) fn repeats(&self) -> Option<usize> {
        self.unmet_conditions().next().is_none().then(|| self.percent())
    }

    /// The share of the article, or of all prose for pages of one origin, in per cent, that the pages have in common.
    pub(crate) fn percent(&self) -> usize {
        match *self {
            Self::TwoOrigins { shared, .. } => {
                shared.map_or(0, |[one, other]| one.percent.max(other.percent))
            }
            Self::OtherLinks | Self::OtherCode => 0,
            Self::OneOrigin { both, own: [one, other], .. } => {
                100 * both / (both + one.max(other)).max(1)
            }
        }
    }

    /// Why one does not repeat the other.
    pub(crate) fn unmet_conditions(&self) -> impl Iterator<Item = UnmetCondition> {
        use UnmetCondition as Unmet;

        let unless = |is_met: bool, condition: Unmet| (!is_met).then_some(condition);
        let mut found = [None; 6];
        match *self {
            Self::TwoOrigins { shared: None, .. } => {
                found[0] = Some(Unmet::SharedTooShort { run: RUN, least: MIN_SHARED });
            }
            Self::TwoOrigins { shared: Some([one, other]), is_article, have_one_title } => {
                let is_long = one.weight.min(other.weight) >= LONG_SHARED;
                let needed = SHARES[usize::from(is_long || !have_one_title)];
                let [one, other] = [one.percent, other.percent];
                let are_enough = one.max(other) >= needed[0] && one.min(other) >= needed[1];
                found[0] = unless(is_article, Unmet::OutsideBody);
                found[1] = unless(are_enough, Unmet::ShareTooSmall { needed });
            }
            Self::OtherLinks => found[0] = Some(Unmet::OtherLinks),
            Self::OtherCode => found[0] = Some(Unmet::OtherCode),
            Self::OneOrigin { is_learnt, names, both, own: [one, other], body, targets } => {
                let [less, more] = [one.min(other), one.max(other)];
                let needed = match names {
                    Names::Same { most, body } => {
                        let is_little = less <= most[0] && more <= most[1];
                        found[0] = unless(is_little, Unmet::TooMuchOwn { own: [one, other], most });
                        body
                    }
                    Names::Different { change } => {
                        found[0] = unless(
                            is_learnt || more <= UNLEARNT_OWN,
                            Unmet::TooMuchOwnUnlearnt { most: UNLEARNT_OWN },
                        );
                        found[1] = match change {
                            None => Some(Unmet::SeveralBlocks),
                            Some(change) => unless(
                                change <= DIFFERENT_NAME_CHANGE,
                                Unmet::ChangeTooLarge { change, most: DIFFERENT_NAME_CHANGE },
                            ),
                        };
                        NEARLY_ALL
                    }
                };
                found[2] = unless(body >= needed, Unmet::BodyShareTooSmall { found: body, needed });
                let percent = self.percent();
                let needed = if body >= NEARLY_ALL { SAME_PROSE_AROUND } else { SAME_PROSE };
                found[3] =
                    unless(percent >= needed, Unmet::ProseShareTooSmall { found: percent, needed });
                found[4] = unless(
                    both >= MIN_SHARED_ONE_ORIGIN,
                    Unmet::SharedTooLittle { least: MIN_SHARED_ONE_ORIGIN },
                );
                found[5] = unless(!targets.differ, Unmet::OtherTargets(targets));
            }
        }
        found.into_iter().flatten()
    }
}

/// What a page shares with another one and what not, apart from boilerplate.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// What is shared, in or around the body text, and whether a block shares enough to be prose.
    shared: usize,
    has_prose: bool,
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

/// A passage of a page.
#[derive(Clone, Copy, Debug)]
struct Hashed {
    end: usize,
    hash: u64,
    /// The number of the first passage of the page that is equal.
    first: usize,
}

/// Finds the passages of a page by their hashes: open addressing, at most half full.
#[derive(Debug)]
struct Table {
    /// The number of a passage, from 1 on; 0 in a free slot. The hash is in the list of passages that is given.
    slots: Vec<u32>,
}

impl Table {
    /// An empty table for this many passages.
    fn new(passages: usize) -> Self {
        Self { slots: vec![0; (2 * passages).next_power_of_two().max(2)] }
    }

    /// Enters a passage. Returns the number of the one with its hash that was entered first: its own, if it was not.
    fn enter(&mut self, number: usize, hash_of: impl Fn(usize) -> u64) -> usize {
        let slot = self.slot(hash_of(number), hash_of);
        if let Some(first) = self.number(slot) {
            return first;
        }
        self.slots[slot] = u32::try_from(number + 1).unwrap_or(u32::MAX);
        number
    }

    /// The number of the passage of this hash.
    fn find(&self, hash: u64, hash_of: impl Fn(usize) -> u64) -> Option<usize> {
        self.number(self.slot(hash, hash_of))
    }

    fn number(&self, slot: usize) -> Option<usize> {
        (self.slots[slot] as usize).checked_sub(1)
    }

    /// Where the passage of this hash is, or a free slot if there is none.
    fn slot(&self, hash: u64, hash_of: impl Fn(usize) -> u64) -> usize {
        let last = self.slots.len() - 1;
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (mixed >> 32) as usize & last;
        while self.number(slot).is_some_and(|number| hash_of(number) != hash) {
            slot = (slot + 1) & last;
        }
        slot
    }
}

/// For each token the sums over all before it, so that the sum of any run is a difference.
#[derive(Clone, Debug)]
struct Weights(Vec<Sums>);

/// What is summed.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// The weights of all tokens.
    all: u32,
    /// Without those in a passage that the page had before: repeated words count once.
    once: u32,
    /// Without numbers too.
    words: u32,
}

impl Weights {
    /// Those of these tokens; of each passage is given where it ends, and whether the page had it before.
    fn of(tokens: &[Token], passages: impl Iterator<Item = (usize, bool)>) -> Self {
        let mut passages = passages.fuse();
        let (mut sums, mut until) = (Sums::default(), 0);
        let mut all = Vec::with_capacity(tokens.len() + 1);
        all.push(sums);
        for (at, token) in tokens.iter().enumerate() {
            if let Some((end, true)) = passages.next() {
                until = end;
            }
            let weight = u32::try_from(token.weight()).unwrap_or(0);
            let once = if at < until { 0 } else { weight };
            sums.all += weight;
            sums.once += once;
            sums.words += if token.is_number() { 0 } else { once };
            all.push(sums);
        }
        Self(all)
    }

    fn sum(&self, tokens: &Range<usize>, of: impl Fn(&Sums) -> u32) -> usize {
        (of(&self.0[tokens.end]) - of(&self.0[tokens.start])) as usize
    }
}

/// The runs of tokens that are in one of some passages, given in page order.
#[derive(Debug, Default)]
struct Runs(Vec<Range<usize>>);

impl Runs {
    fn add(&mut self, passage: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if passage.start <= last.end => last.end = passage.end,
            _ => self.0.push(passage),
        }
    }
}

impl ArticleSketch {
    /// Whether it and an earlier page list different pages, so that nothing else counts. Across origins, links do not count.
    pub(crate) fn lists_other_pages(&self, earlier: &Self, relation: OriginRelation) -> bool {
        // The share of links from which on a body text is a list.
        let is_distinctive = self.has_distinctive_name(earlier, relation);
        let list = match is_distinctive {
            true => LIST_WITH_PROSE,
            false if self.name.letters == earlier.name.letters => LIST_SHARED_NAME,
            false => 0,
        };
        let share = self.links.share.max(earlier.links.share);
        let entries = self.entries.share.max(earlier.entries.share);
        let has_entries = !is_distinctive && entries >= ENTRIES;
        let has_others = share >= list && self.has_other_links(earlier)
            || has_entries && self.entries.hash != earlier.entries.hash;
        relation != OriginRelation::Different && has_others
    }

    /// Whether it and an earlier page are mostly source code that is not the same, so that nothing else counts. Across origins it may differ.
    pub(crate) fn has_other_code(&self, earlier: &Self, relation: OriginRelation) -> bool {
        let share = self.code.share.min(earlier.code.share);
        let are_code = relation != OriginRelation::Different && share >= CODE;
        are_code && self.code.hash != earlier.code.hash
    }

    /// Whether they have one name, and it tells pages apart. Pages of a list, or versions of a page, often have names that differ in their
    /// digits.
    fn has_distinctive_name(&self, earlier: &Self, relation: OriginRelation) -> bool {
        relation != OriginRelation::SameNameShared && self.name == earlier.name
    }

    /// Whether a title or first heading of one of them may be the other's: both have three words of it in a row, or all of a shorter one.
    fn may_have_title_of(&self, other: &Self) -> bool {
        let [mine, theirs] = [&self.title, &other.title];
        if mine.is_empty() || theirs.is_empty() {
            return true;
        }
        let least = TITLE.min(weight(mine)).min(weight(theirs));
        (0..mine.len()).any(|start| {
            let of_other = |at: usize| {
                let same = mine[start..].iter().zip(&theirs[at..]).take_while(|(a, b)| a == b);
                same.map(|(token, _)| token.weight()).sum::<usize>() >= least
            };
            (0..theirs.len()).any(of_other)
        })
    }

    /// The share of the body text, in per cent, that is not links that an earlier page lacks.
    pub(crate) fn text_beside_links(&self, earlier: &Self) -> u32 {
        let links = self.links.share.max(earlier.links.share).min(100);
        if self.has_other_links(earlier) { u32::from(100 - links) } else { 100 }
    }

    /// Whether the links in the body texts differ.
    fn has_other_links(&self, other: &Self) -> bool {
        self.links.hash != other.links.hash
    }
}

impl<'a> Side<'a> {
    /// This page, given what of it is its own.
    pub(crate) fn new(sketch: &'a ArticleSketch, of_page: Own) -> Self {
        let mut table = Table::new(sketch.tokens.len());
        let mut passages = Vec::with_capacity(sketch.tokens.len());
        for (number, (end, hash)) in hashed_passages(&sketch.tokens).enumerate() {
            passages.push(Hashed { end, hash, first: number });
            passages[number].first = table.enter(number, |number| passages[number].hash);
        }
        let again = passages.iter().enumerate();
        let again = again.map(|(number, passage)| (passage.end, passage.first != number));
        let weights = Weights::of(&sketch.tokens, again);
        Self { sketch, of_page, passages, table, weights }
    }

    /// The share of its article, in per cent, that it has in common with an earlier page that it repeats; `None` if it does not repeat it.
    /// `own` returns what of the earlier page is its own.
    pub(crate) fn repeats(
        &self,
        earlier: &ArticleSketch,
        own: impl FnOnce() -> Own,
        relation: OriginRelation,
    ) -> Option<usize> {
        if self.sketch.lists_other_pages(earlier, relation)
            || self.sketch.has_other_code(earlier, relation)
        {
            return None;
        }
        let met = self.meet(earlier);
        // Most have too little in common, whatever else there is.
        if met.most(earlier, relation)
            < if relation == OriginRelation::Different { MIN_SHARED } else { MIN_SHARED_ONE_ORIGIN }
        {
            return None;
        }
        self.pair(earlier, met, own()).repeats(relation)
    }

    /// It and an earlier page, given what of that one is its own.
    pub(crate) fn beside<'b>(&'b self, earlier: &'b ArticleSketch, own: Own) -> Pair<'b> {
        self.pair(earlier, self.meet(earlier), own)
    }

    /// What an earlier page has of its passages.
    fn meet(&self, earlier: &ArticleSketch) -> Met {
        let mut passages = Vec::with_capacity(earlier.tokens.len());
        let (mut is_shared, mut covered) = (vec![false; self.passages.len()], Runs::default());
        for (start, (end, hash)) in hashed_passages(&earlier.tokens).enumerate() {
            let found = self.table.find(hash, |number| self.passages[number].hash);
            let again = found.map(|number| {
                covered.add(start..end);
                std::mem::replace(&mut is_shared[number], true)
            });
            passages.push((end, hash, again));
        }
        Met { passages, is_shared, covered: covered.0 }
    }

    fn pair<'b>(&'b self, earlier: &'b ArticleSketch, met: Met, own: Own) -> Pair<'b> {
        let Met { passages, is_shared, covered } = met;
        let mut mine = Runs::default();
        for (start, passage) in self.passages.iter().enumerate() {
            if is_shared[passage.first] {
                mine.add(start..passage.end);
            }
        }
        let others = passages.iter().filter(|(_, _, again)| again.is_none()).count();
        let mut table = Table::new(others);
        let again = passages.iter().enumerate().map(|(number, &(end, _, again))| {
            let is_again = || table.enter(number, |number| passages[number].1) != number;
            (end, again.unwrap_or_else(is_again))
        });
        let weights = Weights::of(&earlier.tokens, again);
        Pair {
            later: View {
                sketch: self.sketch,
                of_page: Cow::Borrowed(&self.of_page),
                weights: Cow::Borrowed(&self.weights),
                covered: mine.0,
            },
            earlier: View {
                sketch: earlier,
                of_page: Cow::Owned(own),
                weights: Cow::Owned(weights),
                covered,
            },
        }
    }
}

/// What an earlier page has of a page's passages.
struct Met {
    /// Of each passage of the earlier page where it ends, its hash, and, if the page has it too, whether the earlier one had it before.
    passages: Vec<(usize, u64, Option<bool>)>,
    /// For each passage of the page whether the earlier one has it; of equal ones only the first counts.
    is_shared: Vec<bool>,
    /// The tokens of the earlier page that are in a passage of both.
    covered: Vec<Range<usize>>,
}

impl Met {
    /// The most that counts as shared, if nothing is boilerplate or repeated.
    fn most(&self, earlier: &ArticleSketch, relation: OriginRelation) -> usize {
        let weight = |run: &Range<usize>| weight(&earlier.tokens[run.clone()]);
        let least = if relation == OriginRelation::Different { RUN } else { 0 };
        self.covered.iter().map(weight).filter(|&weight| weight >= least).sum()
    }
}

fn weight(tokens: &[Token]) -> usize {
    tokens.iter().map(|token| token.weight()).sum()
}

impl Pair<'_> {
    /// The share of the article, in per cent, that the later page has in common with the earlier one; `None` if it does not repeat it.
    pub(crate) fn repeats(&self, relation: OriginRelation) -> Option<usize> {
        self.figures(relation).repeats()
    }

    /// What the pages have in common and apart.
    pub(crate) fn figures(&self, relation: OriginRelation) -> Figures {
        let Self { later, earlier } = self;
        if later.sketch.lists_other_pages(earlier.sketch, relation) {
            return Figures::OtherLinks;
        }
        if later.sketch.has_other_code(earlier.sketch, relation) {
            return Figures::OtherCode;
        }
        if relation == OriginRelation::Different {
            let [mine, theirs] = [later, earlier].map(View::in_long_runs);
            let have_one_title = later.sketch.may_have_title_of(earlier.sketch);
            let share = |page: &View<'_>, shared| page.share(shared, have_one_title);
            let shared =
                share(later, &mine).and_then(|shared| Some([shared, share(earlier, &theirs)?]));
            let is_article =
                shared.is_some() && (later.is_in_body(&mine) || earlier.is_in_body(&theirs));
            return Figures::TwoOrigins { shared, is_article, have_one_title };
        }
        let is_distinctive = later.sketch.has_distinctive_name(earlier.sketch, relation);
        let are_lists = self.are_lists();
        let [one, other] = self.tallies();
        let share_prose = one.has_prose && other.has_prose;
        let is_list = !is_distinctive || are_lists;
        let names = if later.sketch.name.letters == earlier.sketch.name.letters {
            let known = one.in_body.min(other.in_body);
            let have_little_prose = !share_prose || known < LONG_SHARED && are_lists;
            if have_little_prose && later.sketch.has_other_links(earlier.sketch) {
                return Figures::OtherLinks;
            }
            let part = |at: usize| known / PARTS[at];
            let most = match relation {
                OriginRelation::SameUnlearnt if !is_distinctive => UNLEARNT_SAME_NAME_OWN,
                OriginRelation::SameUnlearnt => {
                    [0, 1].map(|at| UNLEARNT_SAME_NAME_OWN[at].max(part(at)))
                }
                _ => [0, 1].map(|at| SAME_NAME[at].max(part(at))),
            };
            Names::Same { most, body: if is_list { SAME_LIST } else { SAME_BODY } }
        } else {
            let changes = one.change.zip(other.change);
            Names::Different { change: changes.map(|(one, other)| one.max(other)) }
        };
        Figures::OneOrigin {
            is_learnt: relation != OriginRelation::SameUnlearnt,
            names,
            both: one.shared.min(other.shared),
            own: self.own(),
            body: one.share_of_body(is_list).min(other.share_of_body(is_list)),
            targets: self.targets(share_prose),
        }
    }

    /// Where the links of both lead, given whether they have prose in common.
    fn targets(&self, share_prose: bool) -> TargetFigures {
        self.later.of_page.targets.compare(&self.earlier.of_page.targets, share_prose)
    }

    /// The prose that each page has of its own.
    fn own(&self) -> [usize; 2] {
        let are_lists = self.are_lists();
        [self.later.own(&self.earlier, are_lists), self.earlier.own(&self.later, are_lists)]
    }

    /// What each page has in common with the other one, and what not.
    fn tallies(&self) -> [Tally; 2] {
        let are_lists = self.are_lists();
        [&self.later, &self.earlier].map(|page| page.tally(are_lists))
    }

    /// Whether both body texts are lists of links.
    fn are_lists(&self) -> bool {
        [&self.later, &self.earlier].iter().all(|page| page.sketch.links.share >= LIST)
    }

    /// The passages of each page in page order, and how they compare with the other one.
    #[cfg(feature = "cli")]
    pub(crate) fn passages(&self) -> [Vec<Passage>; 2] {
        [&self.later, &self.earlier].map(View::passages)
    }

    /// Whether pages of one origin with the same body text may be two, by their names, by prose that is in no body text, or by where their
    /// links lead.
    pub(crate) fn differ_outside_body(&self, relation: OriginRelation) -> bool {
        let [later, earlier] = [&self.later, &self.earlier];
        let are_of_one_name = later.sketch.name.letters == earlier.sketch.name.letters;
        // A text that is too short for prose is judged by equality: pages that say that nothing was found may each lead back elsewhere.
        let share_prose = later.is_short()
            || earlier.is_short()
            || self.tallies().iter().all(|tally| tally.has_prose);
        let are_equal =
            self.own() == [0, 0] && are_of_one_name && !self.targets(share_prose).differ;
        !are_equal && self.repeats(relation).is_none()
    }
}

impl View<'_> {
    /// Its passages in page order, and how each compares with the other page.
    #[cfg(feature = "cli")]
    fn passages(&self) -> Vec<Passage> {
        let mut found = Vec::new();
        for (block, leaf) in self.sketch.leaves.iter().enumerate() {
            if self.of_page.boilerplate[block] {
                let (words, part) = (0..leaf.tokens(), Part::Boilerplate);
                found.push(Passage { block, words, is_whole: true, part });
                continue;
            }
            let mut push = |tokens: Range<usize>, part| {
                let (words, is_whole) =
                    (tokens.start - leaf.start..tokens.end - leaf.start, tokens == leaf.range());
                if !words.is_empty() {
                    found.push(Passage { block, words, is_whole, part });
                }
            };
            let mut at = leaf.start;
            for run in &self.covered {
                let shared = run.start.max(leaf.start)..run.end.min(leaf.end);
                if shared.start < shared.end {
                    push(at..shared.start, Part::Own);
                    at = shared.end;
                    push(shared, Part::Shared);
                }
            }
            push(at..leaf.end, Part::Own);
        }
        found
    }

    /// Whether the body text is shorter than a paragraph.
    fn is_short(&self) -> bool {
        let weights = self
            .sketch
            .leaves
            .iter()
            .map(|leaf| self.weights.sum(&leaf.range(), |sums| sums.words));
        self.sum(&weights.collect::<Vec<_>>(), |leaf| leaf.is_body) < PARAGRAPH
    }

    /// What is covered and what is not, apart from boilerplate, given whether both pages are lists. Numbers count.
    fn tally(&self, are_lists: bool) -> Tally {
        let mut sums = Tally { change: Some(0), ..Tally::default() };
        let shared = self.by_block(&self.covered, |sums| sums.once);
        let shared_words = self.by_block(&self.covered, |sums| sums.words);
        let leaves = self.sketch.leaves.iter().zip(&self.of_page.boilerplate);
        let blocks = leaves.zip(shared.into_iter().zip(shared_words));
        for ((leaf, _), (shared, words)) in blocks.filter(|((_, boilerplate), _)| !**boilerplate) {
            let own = self.weights.sum(&leaf.range(), |sums| sums.once) - shared;
            let change = self.weights.sum(&leaf.range(), |sums| sums.words) - words;
            sums.shared += shared;
            sums.has_prose |= shared >= PARAGRAPH && !(are_lists && leaf.is_entry());
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

    /// For each block the sum over those of its tokens that are in one of these runs.
    fn by_block(&self, runs: &[Range<usize>], of: impl Fn(&Sums) -> u32) -> Vec<usize> {
        let mut runs = runs.iter().peekable();
        let sum = |leaf: &Leaf| {
            let mut sum = 0;
            while let Some(&run) = runs.peek()
                && run.start < leaf.end
            {
                sum += self.weights.sum(&(run.start.max(leaf.start)..run.end.min(leaf.end)), &of);
                if run.end > leaf.end {
                    break;
                }
                runs.next();
            }
            sum
        };
        self.sketch.leaves.iter().map(sum).collect()
    }

    /// The sum over the blocks that count.
    fn sum(&self, weights: &[usize], counts: impl Fn(&Leaf) -> bool) -> usize {
        let blocks = self.sketch.leaves.iter().zip(weights);
        blocks.filter(|(leaf, _)| counts(leaf)).map(|(_, weight)| weight).sum()
    }

    /// The same weights without those of boilerplate.
    fn own_blocks(&self, mut weights: Vec<usize>) -> Vec<usize> {
        let boilerplate = weights
            .iter_mut()
            .zip(&self.of_page.boilerplate)
            .filter(|(_, boilerplate)| **boilerplate);
        boilerplate.for_each(|(weight, _)| *weight = 0);
        weights
    }

    /// The prose that is not shared, apart from boilerplate, numbers and teasers, given whether both pages are lists.
    fn own(&self, other: &View<'_>, are_lists: bool) -> usize {
        let end = self.comparable(other);
        let starts = [0].into_iter().chain(self.covered.iter().map(|run| run.end));
        let ends = self.covered.iter().map(|run| run.start).chain([end]);
        let runs = starts.zip(ends).map(|(start, next)| start..next.min(end));
        let is_long = |run: &Range<usize>| {
            run.start < run.end && self.weights.sum(run, |sums| sums.all) >= OWN_RUN
        };
        let runs: Vec<_> = runs.filter(is_long).collect();
        let own = self.own_blocks(self.by_block(&runs, |sums| sums.words));
        self.sum(&own, |leaf| !leaf.is_linked || are_lists && leaf.is_entry())
    }

    /// How many tokens the other page would show too if it were this one. Of a long page less of the end is known, the more it has before.
    fn comparable(&self, other: &View<'_>) -> usize {
        let tokens = self.sketch.tokens.len();
        let [end, end_of_other] =
            [self, other].map(|page| page.covered.last().map_or(0, |last| last.end));
        let before = end_of_other - other.covered.iter().map(ExactSizeIterator::len).sum::<usize>();
        let is_cut = other.sketch.is_truncated && tokens - end <= before + MAX_MISSING_AT_END;
        if is_cut { end } else { tokens }
    }

    /// For each block what is shared in long runs.
    fn in_long_runs(&self) -> Vec<usize> {
        let is_long = |run: &&Range<usize>| self.weights.sum(run, |sums| sums.all) >= RUN;
        let runs: Vec<_> = self.covered.iter().filter(is_long).cloned().collect();
        self.by_block(&runs, |sums| sums.once)
    }

    /// Whether half of what is shared in long runs is in the body text.
    fn is_in_body(&self, shared: &[usize]) -> bool {
        self.sum(shared, |leaf| leaf.is_body) * 2 >= shared.iter().sum()
    }

    /// The share of the article, in per cent, that is shared in long runs, if that is enough to be an article: the body text is the article,
    /// or the element that holds what is shared, whichever has the larger share. If the pages have different titles, only the body text is:
    /// else what the one quotes in an element of its own, and the other says only, would be the article of both.
    fn share(&self, shared: &[usize], have_one_title: bool) -> Option<Shared> {
        let shared = self.own_blocks(shared.to_vec());
        let sum: usize = shared.iter().sum();
        if sum < MIN_SHARED {
            return None;
        }
        let all = self.sketch.leaves.iter();
        let all = all.map(|leaf| self.weights.sum(&leaf.range(), |sums| sums.once)).collect();
        let all = self.own_blocks(all);
        let in_body = |weights: &[usize]| self.sum(weights, |leaf| leaf.is_body);
        let of_body = 100 * in_body(&shared) / in_body(&all).max(1);
        let enclosing_block = enclosing_block(&self.sketch.leaves, &shared, sum);
        let of_element = 100 * sum / all[enclosing_block].iter().sum::<usize>().max(1);
        let of_element = if have_one_title { of_element } else { 0 };
        Some(Shared { percent: of_body.max(of_element).min(100), weight: sum })
    }
}

/// The blocks of the smallest element that holds most of these weights. If it has one block only, it is the element around it.
fn enclosing_block(leaves: &[Leaf], weights: &[usize], sum: usize) -> Range<usize> {
    let (mut enclosing_block, mut level) = (0..leaves.len(), 0);
    loop {
        level += 1;
        let inside = leaves[enclosing_block.clone()].iter().enumerate();
        let starts: Vec<usize> = inside
            .filter(|&(at, leaf)| at == 0 || leaf.shared < level)
            .map(|(at, _)| enclosing_block.start + at)
            .collect();
        let ends = starts.iter().skip(1).copied().chain([enclosing_block.end]);
        let mut parts = starts.iter().zip(ends).map(|(&start, end)| start..end);
        let holds = |part: &Range<usize>| {
            100 * weights[part.clone()].iter().sum::<usize>() >= ENCLOSING_SHARE * sum
        };
        match parts.find(holds) {
            Some(part) if part.len() > 1 => enclosing_block = part,
            _ => return enclosing_block,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::{
        super::{
            Article,
            sketch::{BodyPart, Name, Token},
        },
        *,
    };
    use crate::{
        fingerprint::{Fingerprinter, Recipe},
        page::Outline,
    };

    const ALL: [OriginRelation; 4] = [
        OriginRelation::Different,
        OriginRelation::SameUnlearnt,
        OriginRelation::SameLearnt,
        OriginRelation::SameNameShared,
    ];

    /// A page and what of it is its own.
    type Known = (ArticleSketch, Own);

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
            .prop_map(|(hash, share)| BodyPart { hash, share });
        let code = (0..2_u32, select(vec![0, 0, 0, 49, 50, 100]))
            .prop_map(|(hash, share)| BodyPart { hash, share });
        let entries = (0..2_u32, select(vec![0, 0, 0, 49, 50, 100]))
            .prop_map(|(hash, share)| BodyPart { hash, share });
        let targets = prop::collection::vec(0..12_u32, 0..9);
        let blocks = prop::collection::vec(block, 0..7);
        let page = (blocks, prop::bool::weighted(0.3), name(), links, code, entries, targets);
        page.prop_map(|(blocks, is_truncated, name, links, code, entries, targets)| {
            let mut sketch = ArticleSketch {
                is_truncated,
                name,
                links,
                code,
                entries,
                ..ArticleSketch::default()
            };
            let mut known = Vec::new();
            for (number, length, shared, (is_body, is_linked, is_boilerplate)) in blocks {
                let start = sketch.tokens.len();
                sketch.tokens.extend(text(number, length));
                let end = sketch.tokens.len();
                sketch.leaves.push(Leaf { start, end, shared, is_body, is_linked });
                known.push(is_boilerplate);
            }
            (sketch, Own { boilerplate: known, targets: Targets::of(&targets) })
        })
    }

    fn side((sketch, own): &Known) -> Side<'_> {
        Side::new(sketch, own.clone())
    }

    fn repeats(one: &Known, other: &Known, relation: OriginRelation) -> Option<usize> {
        side(one).repeats(&other.0, || other.1.clone(), relation)
    }

    fn differ(one: &Known, other: &Known, relation: OriginRelation) -> bool {
        side(one).beside(&other.0, other.1.clone()).differ_outside_body(relation)
    }

    fn all_own(sketch: &ArticleSketch) -> Own {
        Own { boilerplate: vec![false; sketch.leaves.len()], targets: Targets::default() }
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
            for relation in ALL {
                let law = "the order of two pages changes nothing";
                prop_assert_eq!(repeats(&a, &b, relation), repeats(&b, &a, relation), "{}", law);
                prop_assert_eq!(differ(&a, &b, relation), differ(&b, &a, relation), "{}", law);
                let both = side(&a);
                let whole = both.beside(&b.0, b.1.clone()).repeats(relation);
                prop_assert_eq!(repeats(&a, &b, relation), whole, "what is too little is found early");
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
            let page: Known = (page.clone(), all_own(&page));
            let one = side(&page);
            let pair = one.beside(&page.0, page.1.clone());
            let all: Vec<_> = page.0.leaves.iter().map(Leaf::range).collect();
            let all = pair.later.by_block(&all, |sums| sums.once);
            let body: usize = pair.later.sum(&all, |leaf| leaf.is_body);
            // The last word of a run need not count as shared.
            prop_assume!(2 * body >= all.iter().sum::<usize>() + 2 * WORD);
            for relation in ALL {
                // The last word need not be in a passage.
                prop_assert!(pair.repeats(relation) >= Some(98), "{:?}", relation);
                prop_assert!(!pair.differ_outside_body(relation));
            }
        }

        #[test]
        fn what_is_covered_is_in_a_passage_of_both(
            [a, b] in prop::array::uniform2(prop::collection::vec(select(vec![0_u8, 20, 21, 130, 131]), 0..60)),
        ) {
            let (a, b) = (block(&a), block(&b));
            let one = Side::new(&a, all_own(&a));
            let pair = one.beside(&b, all_own(&b));
            let mut expected = vec![false; a.tokens.len()];
            for passage in all_passages(&a.tokens) {
                let wanted = &a.tokens[passage.clone()];
                if b.tokens.windows(wanted.len()).any(|tokens| tokens == wanted) {
                    expected[passage].fill(true);
                }
            }
            let mut covered = vec![false; a.tokens.len()];
            pair.later.covered.iter().for_each(|run| covered[run.clone()].fill(true));
            prop_assert_eq!(covered, expected);
            prop_assert!(pair.later.covered.iter().zip(pair.later.covered.iter().skip(1)).all(|(a, b)| a.end < b.start));
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
                inside.len() > 1 && 100 * weight >= ENCLOSING_SHARE * sum
            };
            let smallest = holds.iter().filter(holds_most).min_by_key(|inside| inside.len());
            let expected = smallest.map_or(0..leaves, |inside| inside[0]..inside[0] + inside.len());
            prop_assert_eq!(enclosing_block(&sketch.leaves, weights, sum), expected);
        }
    }
}
