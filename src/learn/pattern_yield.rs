//! The yield of a URL pattern: how many of its URLs to request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Yielded, trial::upper_bound};

/// Points of a pattern after which fewer of its pages are asked for: 150 repeats in a row.
const FULL_POINTS: u32 = 150 * KNOWN_TEXT_POINTS;
/// The request rate halves after each this many further points.
const HALVING_POINTS: u32 = 8 * KNOWN_TEXT_POINTS;
/// Points of a page that repeats another one.
const KNOWN_TEXT_POINTS: u32 = 8;
/// The same if all URLs of the pattern have redirected to known pages, or if it has a form that many traps have and one text only: 50 in a row.
const SAME_ANSWER_POINTS: u32 = 24;
/// Points of a page whose text is new, but not its sentences: 240 in a row fill a pattern.
const KNOWN_SENTENCES_POINTS: u32 = 5;
/// The same if it was found outside the pattern, on a page to which it leads, as the list of a tag does, or on an index: 1,200 in a row. A site has only so many tags.
const OUTSIDE_POINTS: u32 = 1;
/// The same if it does not lead back there, as a page that says that there is none, with links to others: 150 in a row.
const ONE_WAY_POINTS: u32 = 8;
/// The same if a page of the pattern led to it, and to few others: 120 in a row.
const LINKED_POINTS: u32 = 10;
/// The same at the end of a chain of such pages: 150 in a row, of a wide pattern 100.
const CHAIN_POINTS: u32 = 8;
const BROAD_CHAIN_POINTS: u32 = 12;
/// The same of views, wherever they were found: 40 in a row.
const VIEW_POINTS: u32 = 30;
/// A view of one path that has the very text of the one before: eight in a row.
const EQUAL_VIEW_POINTS: u32 = 150;
/// A page that has the very text of one whose URL differs in one parameter, another one each time: 600 in a row. Rules are tried by such pages, and a
/// parameter that changes one page in a hundred has 400 in a row that are equal too often.
const EQUAL_PAIR_POINTS: u32 = 2;
/// A path of which fewer than one in this many pages has a new text is not chosen from by its parameters.
const BARREN: u32 = 8;
/// A page with this many links to a pattern is an index of it.
const INDEX_LINKS: u16 = 8;
/// Links in a row within a pattern from which on it feeds itself: an index of all tags or days is no chain.
const CHAIN_LINKS: u16 = 2;
/// Pages that a pattern may feed to itself, apart from those that it earns.
const MAX_SELF_LINKED: u32 = 120;
/// From this number of such pages on, other patterns come first in proportion.
const FULL_PRIORITY: u32 = 1_000;
/// What a wide pattern is allowed for each of its new texts: a site of many articles may have two lists for five of them.
const POINTS_PER_NEW_TEXT: u32 = 2;
/// Most points that a pattern with occasional new texts is allowed.
const MAX_STEADY_POINTS: u32 = 1_000 * KNOWN_TEXT_POINTS;
/// With fewer new texts, the repeats since the last one say nothing of the distance between two.
const FEW_TEXTS: u32 = 8;
/// Pages that a pattern earns with each new text elsewhere to which it leads.
const CREDIT_PER_NEW_TEXT: u32 = 3;
/// A pattern of which fewer than one in this many pages is new is lean.
const LEAN: u32 = 4;
const WIDE_LEAN: u32 = 10;
/// What views are allowed for each new text among them or elsewhere: two repeats; for two texts, one without new sentences.
const VIEW_POINTS_PER_NEW_TEXT: u32 = 16;
/// Patterns come late if a page of them is less likely to have a new text.
const LATE_ESTIMATE: f32 = 0.2;
/// The pages of a branch from which on its estimate counts, and the least that keeps it open.
const BRANCH_PAGES: u32 = 8;
const MIN_BRANCH_YIELD: f32 = 0.1;
/// Repeats in a row that end a branch: what is new in a version of a manual lies together.
const MAX_BRANCH_MISSES: u32 = 100;

/// How much a pattern has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternKind {
    /// The shape, the first segment and the names of parameters.
    Exact,
    /// The same, of a form that many traps have.
    TrapShaped,
    /// Less: only pages with hardly any text of their own count.
    Broad,
    /// All that differs in host, parameters and ids only. The same pages count.
    View,
    /// All that differs in host and parameters only. Pages that repeat others count as much.
    Path,
    /// All files of one ending: those that are no pages count, as long as none is one.
    Ending,
}

impl PatternKind {
    /// Whether its URLs show choices of other pages.
    pub(super) fn is_of_views(self) -> bool {
        matches!(self, Self::View | Self::Path)
    }

    /// Whether only pages without much text of their own count.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::Broad | Self::View | Self::Path)
    }
}

/// Links in a row within a pattern that led to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) links: u16,
    /// A hash of the page with the last of them.
    pub(super) from: u32,
    /// Whether the last of them is on a page without a new text.
    pub(super) from_known: bool,
    /// Whether the page leads back there.
    pub(super) is_mutual: bool,
}

/// For a reader who asks why a URL is deferred.
impl fmt::Display for PatternYield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fetched, new, known_sentences, misses, .. } = self;
        if *fetched == 0 {
            return write!(f, "none of {misses} was a page");
        }
        write!(f, "{fetched} requests gave {new} new texts")?;
        if *known_sentences > 0 {
            write!(f, ", and {known_sentences} whose sentences are all known")?;
        }
        write!(f, "; the last {misses} gave none")
    }
}

/// What the pages of a pattern yielded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PatternYield {
    /// Pages received, and redirects.
    pub(super) fetched: u32,
    /// New texts among them, with new sentences.
    pub(super) new: u32,
    /// New texts whose sentences were known.
    #[serde(rename = "known_lines")]
    known_sentences: u32,
    /// Known texts, each time another one: versions of a manual repeat each other, and ids that are not there have one page.
    varied: u32,
    /// Since the last new text, or the last one elsewhere to which a page of this pattern led.
    misses: u32,
    /// What they count.
    points: u32,
    /// The text that all its pages have had, 0 if they had none.
    only_text: Option<u32>,
    /// That of the last page.
    last_text: u32,
    /// Where the last page was found, and how many before it were found there too.
    from: u32,
    fan: u16,
    /// Pages to which only pages of the pattern itself led.
    #[serde(rename = "own")]
    self_linked: u32,
    /// New texts elsewhere to which pages of the pattern led.
    #[serde(rename = "earned")]
    found_elsewhere: u32,
    /// Redirects to others of the pattern that were not received yet.
    undecided: u16,
}

impl PatternYield {
    /// Nothing is at a URL of the pattern. That says little of the others, because many sites have both in the same patterns: it counts as long as
    /// none of them has had a page.
    pub(super) fn record_dead(&mut self) {
        if self.fetched == 0 {
            self.missed(KNOWN_TEXT_POINTS);
        }
    }

    /// A file was received. Returns whether more of its ending are wanted than before.
    pub(super) fn add_file(&mut self, yielded: Yielded) -> bool {
        match yielded {
            Yielded::Nothing => {
                self.record_dead();
                false
            }
            Yielded::RedirectToKnown | Yielded::RedirectUndecided => false,
            _ => {
                self.fetched = self.fetched.saturating_add(1);
                std::mem::take(&mut self.points) >= FULL_POINTS
            }
        }
    }

    /// A page was judged, to which this number of links in a row within the pattern led. Returns whether more of the pattern is wanted than
    /// before.
    pub(super) fn add(
        &mut self,
        yielded: Yielded,
        text: u32,
        kind: PatternKind,
        chain: Chain,
    ) -> bool {
        let before = self.sample_interval(kind);
        let is_same = std::mem::replace(&mut self.last_text, text) == text;
        self.varied += u32::from(yielded == Yielded::KnownText && !is_same);
        let is_only_text = self.count(yielded, text, kind, chain);
        match (yielded, kind) {
            (Yielded::New, _) => {
                self.new += 1;
                self.gained();
            }
            (Yielded::EqualText, PatternKind::Path) if is_same && self.is_barren() => {
                self.missed(EQUAL_VIEW_POINTS);
            }
            (Yielded::EqualText, _) if !is_same => self.missed(EQUAL_PAIR_POINTS),
            (Yielded::KnownText | Yielded::Nothing, PatternKind::Path) if self.is_barren() => {
                self.missed(VIEW_POINTS);
            }
            (Yielded::KnownSentences, PatternKind::View | PatternKind::Path) => {
                self.missed(VIEW_POINTS);
            }
            (Yielded::KnownText | Yielded::EqualText, PatternKind::TrapShaped)
            | (Yielded::RedirectToKnown, PatternKind::TrapShaped | PatternKind::Exact)
                if is_only_text =>
            {
                self.missed(SAME_ANSWER_POINTS);
            }
            (Yielded::KnownSentences, _) if chain.links == 0 => {
                let is_listed = chain.is_mutual || self.fan >= INDEX_LINKS || kind.is_wide();
                self.missed(if is_listed { OUTSIDE_POINTS } else { ONE_WAY_POINTS });
            }
            (Yielded::KnownSentences, _) if !(chain.from_known && chain.links >= CHAIN_LINKS) => {
                self.missed(if self.fan < INDEX_LINKS {
                    LINKED_POINTS
                } else {
                    KNOWN_SENTENCES_POINTS
                });
            }
            (Yielded::KnownSentences, PatternKind::Broad) => self.missed(BROAD_CHAIN_POINTS),
            (Yielded::KnownSentences, _) => self.missed(CHAIN_POINTS),
            (
                Yielded::Nothing
                | Yielded::KnownText
                | Yielded::EqualText
                | Yielded::RedirectToKnown
                | Yielded::RedirectUndecided,
                _,
            ) => {
                self.missed(KNOWN_TEXT_POINTS);
            }
        }
        self.sample_interval(kind) < before
    }

    /// Counts a page and the links that led to it. Returns whether the pattern has had its text only.
    fn count(&mut self, yielded: Yielded, text: u32, kind: PatternKind, chain: Chain) -> bool {
        if self.fetched == 0 {
            // Dead links before it.
            (self.misses, self.points) = (0, 0);
        }
        self.fetched = self.fetched.saturating_add(1);
        self.known_sentences += u32::from(yielded == Yielded::KnownSentences);
        // Repeats end an exact pattern by themselves: a chain of ids has gaps.
        let counts = kind != PatternKind::Exact || yielded.is_new_text();
        self.self_linked += u32::from(counts && chain.links >= CHAIN_LINKS);
        self.fan = if self.from == chain.from { self.fan.saturating_add(1) } else { 0 };
        self.from = chain.from;
        if self.fetched == 1 {
            self.only_text = Some(text);
        } else if self.only_text != Some(text) {
            self.only_text = None;
        }
        self.only_text.is_some()
    }

    /// Whether hardly any of its pages has had a new text: the parameters of a forum choose its pages, although many show the same one.
    fn is_barren(&self) -> bool {
        self.new * BARREN < self.fetched
    }

    fn missed(&mut self, points: u32) {
        self.misses += 1;
        self.points = self.points.saturating_add(points);
    }

    fn gained(&mut self) {
        self.misses = self.misses.min(FULL_POINTS / KNOWN_TEXT_POINTS) / 2;
        self.points = self.points.min(FULL_POINTS) / 2;
    }

    /// A page of the pattern redirected to a page without a new text.
    pub(super) fn record_redirect_to_known(&mut self) {
        self.missed(KNOWN_TEXT_POINTS);
    }

    /// A page of the pattern led to a new text elsewhere.
    pub(super) fn record_new_text_elsewhere(&mut self) -> bool {
        let before = self.sample_interval(PatternKind::TrapShaped);
        self.found_elsewhere += 1;
        self.gained();
        self.sample_interval(PatternKind::TrapShaped) < before
    }

    /// A URL redirects to another one of the pattern, and may lead to a new text.
    pub(super) fn record_undecided_redirect(&mut self) {
        self.undecided = self.undecided.saturating_add(1);
    }

    /// The other one was received.
    pub(super) fn settle_redirect(&mut self) {
        self.undecided = self.undecided.saturating_sub(1);
    }

    /// Whether it is not known of so many redirects where they end.
    pub(super) fn has_undecided_redirects(&self, least: u16) -> bool {
        self.undecided >= least
    }

    /// One of this many URLs is to be fetched. A pattern whose form many traps have may be without an end in all directions.
    pub(super) fn sample_interval(&self, kind: PatternKind) -> u32 {
        // What gives little, but steadily, is not ended by chance: a few texts at the beginning are no steady yield.
        let through = if self.new < FEW_TEXTS {
            self.fetched.saturating_sub(self.misses)
        } else {
            self.fetched
        };
        let each = through.checked_div(self.new).unwrap_or(0);
        let steady = each.saturating_mul(4 * KNOWN_TEXT_POINTS).min(MAX_STEADY_POINTS);
        let most = match kind {
            PatternKind::View | PatternKind::Path => {
                let texts = self.new.saturating_add(self.found_elsewhere);
                let earned = texts.saturating_mul(VIEW_POINTS_PER_NEW_TEXT);
                FULL_POINTS.max(earned.min(MAX_STEADY_POINTS))
            }
            PatternKind::Broad => FULL_POINTS.max(self.new.saturating_mul(POINTS_PER_NEW_TEXT)),
            _ => FULL_POINTS.max(steady),
        };
        let of_misses = match self.points.checked_sub(most) {
            Some(more) => 2_u32.saturating_pow(1 + more / HALVING_POINTS),
            None => 1,
        };
        of_misses.max(self.self_link_interval(kind))
    }

    /// The same without regard to misses.
    pub(super) fn self_link_interval(&self, kind: PatternKind) -> u32 {
        let own = self.net_self_linked();
        let over = if kind == PatternKind::TrapShaped {
            own.checked_sub(MAX_SELF_LINKED)
        } else if kind.is_wide() {
            let is_lean = self.new.saturating_mul(WIDE_LEAN) < self.fetched;
            own.checked_sub(MAX_SELF_LINKED).filter(|_| is_lean)
        } else {
            let is_lean = self.new.saturating_mul(LEAN) < self.fetched - self.varied;
            own.checked_sub(MAX_SELF_LINKED).filter(|_| is_lean)
        };
        over.map_or(1, |over| 64 << (over / 16).min(16))
    }

    /// Pages that the pattern feeds to itself, less what it earned elsewhere.
    fn net_self_linked(&self) -> u32 {
        self.self_linked.saturating_sub(self.found_elsewhere.saturating_mul(CREDIT_PER_NEW_TEXT))
    }

    /// Whether a branch of a pattern gives new texts, although the pattern may not.
    pub(super) fn still_yields(&self) -> bool {
        !self.is_unknown() && self.has_yielded() && self.misses < MAX_BRANCH_MISSES
    }

    /// Whether too few pages of a branch are known.
    pub(super) fn is_unknown(&self) -> bool {
        self.fetched < BRANCH_PAGES
    }

    /// Whether enough of all pages had new texts.
    pub(super) fn has_yielded(&self) -> bool {
        self.share() > MIN_BRANCH_YIELD
    }

    /// Whether mostly pages of the pattern itself lead to its pages.
    fn feeds_itself(&self) -> bool {
        self.net_self_linked() >= MAX_SELF_LINKED
    }

    /// The share of pages that had a new text.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    fn share(&self) -> f32 {
        (self.new as f32 + 0.5) / (self.fetched as f32 + 1.0)
    }

    /// How likely the next page has a new text, by what the last ones had.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn estimate(&self) -> f32 {
        self.share().min(1.5 / (self.misses as f32 + 1.5))
    }

    /// The share of pages that had a new text of known sentences.
    pub(super) fn rearranged(&self) -> f64 {
        f64::from(self.known_sentences) / f64::from(self.fetched.max(1))
    }

    /// Its place among the patterns that come late: the estimate, and less if the pattern has fed many pages to itself. A maze of new texts would
    /// win against every other pattern otherwise.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn priority(&self) -> f32 {
        let own = self.net_self_linked().max(FULL_PRIORITY);
        self.estimate() * FULL_PRIORITY as f32 / own as f32
    }

    /// Whether its URLs come after those of other patterns: it gives little, or leads mostly to itself.
    pub(super) fn is_late(&self, kind: PatternKind) -> bool {
        match kind {
            PatternKind::Exact | PatternKind::TrapShaped => {
                self.estimate() < LATE_ESTIMATE || self.feeds_itself()
            }
            PatternKind::Broad => self.feeds_itself(),
            PatternKind::View | PatternKind::Path | PatternKind::Ending => false,
        }
    }

    /// How many URLs it is about.
    pub(super) fn evidence(&self) -> u32 {
        self.fetched.max(self.misses)
    }

    /// The upper bound of the same, 95 % sure: of a pattern that has ended, by the pages since the last new text, otherwise by all.
    pub(super) fn estimate_bound(&self, has_ended: bool) -> f64 {
        let (pages, new) = if has_ended { (self.misses, 0) } else { (self.fetched, self.new) };
        upper_bound(pages.into(), new.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many such pages in a row fewer are asked for.
    fn enough(yielded: Yielded, kind: PatternKind, chain: impl Fn(u32) -> Chain) -> Option<u32> {
        let mut pattern_yield = PatternYield::default();
        (1..2_000).find(|page| {
            pattern_yield.add(yielded, *page, kind, chain(*page));
            pattern_yield.sample_interval(kind) > 1
        })
    }

    #[test]
    fn pages_in_a_row_that_are_enough() {
        let one_way = |page| Chain { from: page, ..Chain::default() };
        let from_elsewhere = |page| Chain { is_mutual: true, ..one_way(page) };
        let of_an_own_index = |_| Chain { links: 1, ..one_way(7) };
        let one_by_one = |page| Chain { links: 1, ..one_way(page) };
        let of_an_index = |_| Chain { links: 1, from_known: true, ..one_way(7) };
        let in_a_chain = |page| Chain { links: 2, from_known: true, ..one_way(page) };
        assert_eq!(enough(Yielded::KnownText, PatternKind::Exact, from_elsewhere), Some(150));
        assert_eq!(enough(Yielded::Nothing, PatternKind::Exact, from_elsewhere), Some(150));
        assert_eq!(enough(Yielded::Nothing, PatternKind::Path, from_elsewhere), Some(40));
        assert_eq!(
            enough(Yielded::KnownSentences, PatternKind::Exact, from_elsewhere),
            Some(1_200)
        );
        assert_eq!(enough(Yielded::KnownSentences, PatternKind::Exact, one_way), Some(150));
        let of_own_index =
            enough(Yielded::KnownSentences, PatternKind::Exact, of_an_own_index).unwrap();
        assert!((230..=240).contains(&of_own_index), "{of_own_index}");
        assert_eq!(enough(Yielded::KnownSentences, PatternKind::Broad, one_by_one), Some(120));
        let of_index = enough(Yielded::KnownSentences, PatternKind::Broad, of_an_index).unwrap();
        assert!((230..=240).contains(&of_index), "{of_index}");
        assert_eq!(enough(Yielded::KnownSentences, PatternKind::Broad, in_a_chain), Some(100));
        assert_eq!(enough(Yielded::KnownSentences, PatternKind::View, from_elsewhere), Some(40));
        assert_eq!(enough(Yielded::EqualText, PatternKind::Exact, from_elsewhere), Some(600));
        assert_eq!(enough(Yielded::EqualText, PatternKind::View, from_elsewhere), Some(600));
        assert_eq!(enough(Yielded::KnownText, PatternKind::Path, from_elsewhere), Some(40));
        assert_eq!(enough(Yielded::EqualText, PatternKind::Path, from_elsewhere), Some(600));
        let same_text = |kind| {
            let mut views = PatternYield::default();
            views.add(Yielded::New, 7, kind, Chain::default());
            (1..2_000).find(|_| {
                views.add(Yielded::EqualText, 7, kind, Chain::default());
                views.sample_interval(kind) > 1
            })
        };
        assert_eq!(same_text(PatternKind::Exact), Some(150));
        assert_eq!(same_text(PatternKind::Path), Some(15), "from the eighth on hardly any is new");
        let mut blog = PatternYield { new: 1_000, fetched: 1_000, ..PatternYield::default() };
        let lists = (1..2_000).find(|page| {
            blog.add(Yielded::KnownSentences, *page, PatternKind::Broad, of_an_index(*page));
            blog.sample_interval(PatternKind::Broad) > 1
        });
        assert!(lists.is_some_and(|lists| (390..=400).contains(&lists)), "{lists:?}");
        let mut forum = PatternYield { new: 30, fetched: 100, ..PatternYield::default() };
        let mut repeats = 0..100;
        repeats.find(|_| {
            forum.add(Yielded::EqualText, 0, PatternKind::Path, Chain::default());
            forum.sample_interval(PatternKind::Path) > 1
        });
        assert!(repeats.is_empty(), "its parameters choose");
    }

    #[test]
    fn a_new_text_at_the_beginning_is_no_steady_yield() {
        let repeats = |texts: u32, distance: u32| {
            let mut pages = PatternYield::default();
            for page in 0..texts * distance {
                let yielded = if page % distance == 0 { Yielded::New } else { Yielded::KnownText };
                pages.add(yielded, page, PatternKind::Exact, Chain::default());
            }
            (1..2_000).find(|page| {
                pages.add(Yielded::KnownText, 9_000 + page, PatternKind::Exact, Chain::default());
                pages.sample_interval(PatternKind::Exact) > 1
            })
        };
        assert_eq!(repeats(1, 1), Some(150), "a page that says that there is none");
        assert!(repeats(10, 100).is_some_and(|pages| pages > 300), "one in a hundred");
    }

    #[test]
    fn a_chain_of_new_texts_has_no_end_unless_its_form_is_trap_shaped() {
        let chain = |page: u32| Chain {
            links: u16::try_from(page).unwrap(),
            from: page,
            ..Chain::default()
        };
        assert_eq!(enough(Yielded::New, PatternKind::Exact, chain), None);
        assert!(
            enough(Yielded::New, PatternKind::TrapShaped, chain).is_some_and(|pages| pages < 130)
        );
    }

    #[test]
    fn dead_links_end_a_pattern_that_has_had_no_page() {
        let mut pattern_yield = PatternYield::default();
        for _ in 0..150 {
            assert_eq!(pattern_yield.sample_interval(PatternKind::Exact), 1);
            pattern_yield.record_dead();
        }
        assert_eq!(pattern_yield.sample_interval(PatternKind::Exact), 2);
        let more_is_wanted =
            pattern_yield.add(Yielded::KnownText, 7, PatternKind::Exact, Chain::default());
        assert!(more_is_wanted);
        for _ in 0..1_000 {
            pattern_yield.record_dead();
        }
        assert_eq!(pattern_yield.sample_interval(PatternKind::Exact), 1);
    }

    #[test]
    fn a_pattern_that_only_redirects_to_known_pages_ends_sooner() {
        let enough = |first: Yielded, then: Yielded, kind: PatternKind| {
            let mut log_in = PatternYield::default();
            log_in.add(first, 0, kind, Chain::default());
            (2..2_000).find(|_| {
                log_in.add(then, 0, kind, Chain::default());
                log_in.sample_interval(kind) > 1
            })
        };
        let redirect = Yielded::RedirectToKnown;
        assert_eq!(enough(redirect, redirect, PatternKind::Exact), Some(50));
        assert_eq!(enough(Yielded::Nothing, redirect, PatternKind::Exact), Some(51));
        assert_eq!(enough(redirect, Yielded::KnownText, PatternKind::Exact), Some(148));
        assert_eq!(enough(redirect, Yielded::KnownText, PatternKind::TrapShaped), Some(50));
    }

    #[test]
    fn a_maze_of_new_texts_comes_after_patterns_that_give_less() {
        let mut maze = PatternYield::default();
        let mut page = |links: u16| {
            maze.add(Yielded::New, 0, PatternKind::Broad, Chain { links, ..Chain::default() });
            maze
        };
        let new = page(1);
        assert!(!new.is_late(PatternKind::Broad) && new.priority() > 0.5);
        for links in 2..1_000 {
            page(links);
        }
        let known = page(1_000);
        assert!(known.is_late(PatternKind::Broad), "it leads to itself");
        assert!(!known.is_late(PatternKind::View), "views may be the only way to what they show");
        assert!(known.priority() > 0.9, "as long as it may be a long chain of posts");
        for _ in 0..9_000 {
            page(1_000);
        }
        let lists = PatternYield { fetched: 100, new: 11, ..PatternYield::default() };
        assert!(page(1_000).priority() < lists.priority());
    }

    #[test]
    fn views_that_have_led_to_texts_are_asked_for_longer() {
        let mut cars = PatternYield { found_elsewhere: 400, ..PatternYield::default() };
        let misses = (1..2_000).find(|_| {
            cars.add(Yielded::KnownSentences, 0, PatternKind::Path, Chain::default());
            cars.sample_interval(PatternKind::Path) > 1
        });
        assert!(misses.is_some_and(|misses| (200..=220).contains(&misses)), "{misses:?}");
    }

    #[test]
    fn a_chain_of_ids_with_gaps_is_followed_if_one_in_three_is_there() {
        let pages = |one_in: u32| {
            let mut ids = PatternYield::default();
            (1..5_000).find(|page| {
                let is_there = page % 60 < 60 / one_in;
                let yielded = if is_there { Yielded::New } else { Yielded::EqualText };
                let links = u16::try_from(*page).unwrap();
                ids.add(
                    yielded,
                    *page,
                    PatternKind::Exact,
                    Chain { links, from: *page, from_known: !is_there, is_mutual: false },
                );
                ids.sample_interval(PatternKind::Exact) > 1
            })
        };
        assert_eq!(pages(3), None);
        assert!(pages(6).is_some_and(|page| page > 700));
    }
}
