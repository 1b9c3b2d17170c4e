//! The yield of a URL pattern: how many of its URLs to request.

use serde::{Deserialize, Serialize};

use super::Gave;

/// Points of a pattern after which fewer of its pages are asked for: 150 repeats in a row.
const FULL: u32 = 150 * REPEAT;
/// The request rate halves after each this many further points.
const HALF: u32 = 8 * REPEAT;
/// Points of a page that repeats another one.
const REPEAT: u32 = 8;
/// Points of a page whose text is new, but not its lines: 240 in a row fill a pattern.
const DULL: u32 = 5;
/// The same if a page of the pattern led to it, and to few others: 120 in a row.
const DULL_LINKED: u32 = 10;
/// The same at the end of a chain of such pages: 150 in a row, of a wide pattern 100.
const DULL_CHAIN: u32 = 8;
const DULL_WIDE: u32 = 12;
/// A page with this many links to a pattern is an index of it.
const INDEX: u32 = 8;
/// Links in a row within a pattern from which on it feeds itself: an index of all tags or days is no chain.
const CHAIN: u16 = 2;
/// Pages that a pattern may feed to itself, apart from those that it earns.
const OWN: u32 = 120;
/// Most points that a pattern with occasional new texts is allowed.
const STEADY: u32 = 1_000 * REPEAT;
/// Pages that a pattern earns with each new text elsewhere to which it leads.
const EARNED: u32 = 2;

/// How much a pattern has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breadth {
    /// The shape, the first segment and the names of parameters.
    Own,
    /// The same, of a form that many traps have.
    Odd,
    /// Less: only pages with hardly any text of their own count.
    Broad,
}

/// Links in a row within a pattern that led to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) links: u16,
    /// A hash of the page with the last of them.
    pub(super) from: u32,
    /// Whether the last of them is on a page without a new text.
    pub(super) is_dull: bool,
}

/// What the pages of a pattern gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Gain {
    /// Pages received, and redirects.
    pub(super) fetched: u32,
    /// New texts among them.
    pub(super) new: u32,
    /// Since the last new text, or the last one elsewhere to which a page of this pattern led.
    misses: u32,
    /// What they count.
    points: u32,
    /// Where the last page was found, and how many before it were found there too.
    from: u32,
    fan: u32,
    /// Pages to which only pages of the pattern itself led.
    own: u32,
    /// New texts elsewhere to which pages of the pattern led.
    earned: u32,
}

impl Gain {
    /// A page was judged, to which this number of links in a row within the pattern led. Returns whether more of the pattern is wanted than
    /// before.
    pub(super) fn add(&mut self, gave: Gave, breadth: Breadth, chain: Chain) -> bool {
        let before = self.one_in(breadth);
        self.fetched = self.fetched.saturating_add(1);
        self.own += u32::from(chain.links >= CHAIN);
        self.fan = if self.from == chain.from { self.fan + 1 } else { 0 };
        self.from = chain.from;
        match (gave, breadth) {
            (Gave::New, _) => {
                self.new += 1;
                self.gained();
            }
            (Gave::Dull, _) if !(chain.is_dull && chain.links >= CHAIN) => {
                self.missed(if chain.links > 0 && self.fan < INDEX { DULL_LINKED } else { DULL });
            }
            (Gave::Dull, Breadth::Broad) => self.missed(DULL_WIDE),
            (Gave::Dull, _) => self.missed(DULL_CHAIN),
            (Gave::Repeat | Gave::Nothing | Gave::Hop, _) => self.missed(REPEAT),
        }
        self.one_in(breadth) < before
    }

    fn missed(&mut self, points: u32) {
        self.misses += 1;
        self.points = self.points.saturating_add(points);
    }

    fn gained(&mut self) {
        self.misses = self.misses.min(FULL / REPEAT) / 2;
        self.points = self.points.min(FULL) / 2;
    }

    /// A page of the pattern redirected to a page without a new text.
    pub(super) fn blame(&mut self) {
        self.missed(REPEAT);
    }

    /// A page of the pattern led to a new text elsewhere.
    pub(super) fn earn(&mut self) -> bool {
        let before = self.one_in(Breadth::Odd);
        self.earned += 1;
        self.gained();
        self.one_in(Breadth::Odd) < before
    }

    /// One of this many URLs is to be fetched. If the form of the pattern `is_odd`, it may be without an end in all directions.
    pub(super) fn one_in(&self, breadth: Breadth) -> u32 {
        let is_odd = breadth == Breadth::Odd;
        // What gives little, but steadily, is not ended by chance.
        let each = self.fetched.checked_div(self.new).unwrap_or(0);
        let steady = each.saturating_mul(4 * REPEAT).min(STEADY);
        let most = if breadth == Breadth::Broad { FULL } else { FULL.max(steady) };
        let of_misses = match self.points.checked_sub(most) {
            Some(more) => 2_u32.saturating_pow(1 + more / HALF),
            None => 1,
        };
        let own = self.own.saturating_sub(self.earned * EARNED);
        let least = if breadth == Breadth::Broad { 10 } else { 4 };
        let is_lean = self.new.saturating_mul(least) < self.fetched;
        let over = match breadth {
            Breadth::Broad => own.checked_sub(OWN).filter(|_| is_lean),
            _ => own.checked_sub(OWN).filter(|_| is_odd || is_lean),
        };
        of_misses.max(over.map_or(1, |over| 64 << (over / 16).min(16)))
    }

    /// Whether mostly pages of the pattern itself lead to its pages.
    pub(super) fn feeds_itself(&self) -> bool {
        self.own.saturating_sub(self.earned * EARNED) >= OWN
    }

    /// How likely the next page has a new text, by what the last ones had.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn estimate(&self) -> f32 {
        let all = (self.new as f32 + 0.5) / (self.fetched as f32 + 1.0);
        all.min(1.5 / (self.misses as f32 + 1.5))
    }

    /// Pages since the last new text.
    pub(super) fn misses(&self) -> u64 {
        self.misses.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many such pages in a row fewer are asked for.
    fn enough(gave: Gave, breadth: Breadth, chain: impl Fn(u32) -> Chain) -> Option<u32> {
        let mut gain = Gain::default();
        (1..2_000).find(|page| {
            gain.add(gave, breadth, chain(*page));
            gain.one_in(breadth) > 1
        })
    }

    #[test]
    fn pages_in_a_row_that_are_enough() {
        let from_elsewhere = |page| Chain { from: page, ..Chain::default() };
        let one_by_one = |page| Chain { links: 1, from: page, is_dull: false };
        let of_an_index = |_| Chain { links: 1, from: 7, is_dull: true };
        let in_a_chain = |page| Chain { links: 2, from: page, is_dull: true };
        assert_eq!(enough(Gave::Repeat, Breadth::Own, from_elsewhere), Some(150));
        assert_eq!(enough(Gave::Dull, Breadth::Own, from_elsewhere), Some(240));
        assert_eq!(enough(Gave::Dull, Breadth::Broad, one_by_one), Some(120));
        let of_index = enough(Gave::Dull, Breadth::Broad, of_an_index).unwrap();
        assert!((230..=240).contains(&of_index), "{of_index}");
        assert_eq!(enough(Gave::Dull, Breadth::Broad, in_a_chain), Some(100));
    }

    #[test]
    fn a_chain_of_new_texts_has_no_end_unless_its_form_is_odd() {
        let chain =
            |page: u32| Chain { links: u16::try_from(page).unwrap(), from: page, is_dull: false };
        assert_eq!(enough(Gave::New, Breadth::Own, chain), None);
        assert!(enough(Gave::New, Breadth::Odd, chain).is_some_and(|pages| pages < 130));
    }
}
