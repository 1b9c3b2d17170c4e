//! The yield of a URL pattern: how many of its URLs to request.

use serde::{Deserialize, Serialize};

/// Pages in a row without a new text after which fewer are asked for.
const MISSES: u32 = 150;
/// The same for pages with hardly any text of their own.
const POOR: u32 = 60;
/// The request rate halves after each this many further misses.
const HALF: u32 = 14;
/// Pages that a pattern may feed to itself, apart from those that it earns.
const OWN: u32 = 200;
/// Pages of a wide pattern after which a tenth must be gains.
const LEAN: u32 = 120;
/// Most misses in a row that a pattern with occasional new texts is allowed.
const STEADY: u32 = 1_000;
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

/// What the pages of a pattern gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gain {
    /// Pages received, and redirects.
    pub(super) fetched: u32,
    /// New texts among them.
    pub(super) new: u32,
    /// Since the last new text, or the last one elsewhere to which a page of this pattern led.
    misses: u32,
    /// Pages to which only pages of the pattern itself led.
    own: u32,
    /// New texts elsewhere to which pages of the pattern led.
    earned: u32,
    /// The longest chain of links within the pattern.
    chain: u32,
}

impl Gain {
    /// A page was judged, to which this number of links in a row within the pattern led. Returns whether more of the pattern is wanted than
    /// before.
    pub(super) fn add(&mut self, is_new: bool, chain: u16) -> bool {
        let before = self.one_in(Breadth::Own);
        self.fetched = self.fetched.saturating_add(1);
        self.new += u32::from(is_new);
        self.misses = if is_new { self.misses.min(MISSES) / 2 } else { self.misses + 1 };
        self.own += u32::from(chain > 0);
        self.chain = self.chain.max(chain.into());
        self.one_in(Breadth::Own) < before
    }

    /// A page of the pattern redirected to a page without a new text.
    pub(super) fn blame(&mut self) {
        self.misses += 1;
    }

    /// A page of the pattern led to a new text elsewhere.
    pub(super) fn earn(&mut self) -> bool {
        let before = self.one_in(Breadth::Odd);
        self.earned += 1;
        self.misses = self.misses.min(MISSES) / 2;
        self.one_in(Breadth::Odd) < before
    }

    /// One of this many URLs is to be fetched. If the form of the pattern `is_odd`, it may be without an end in all directions.
    pub(super) fn one_in(&self, breadth: Breadth) -> u32 {
        let is_odd = breadth == Breadth::Odd;
        // What gives little, but steadily, is not ended by chance.
        let steady = self.fetched.checked_div(self.new).map_or(0, |each| (4 * each).min(STEADY));
        let most = if breadth == Breadth::Broad { POOR } else { MISSES.max(steady) };
        let of_misses = match self.misses.checked_sub(most) {
            Some(more) => 2_u32.saturating_pow(1 + more / HALF),
            None => 1,
        };
        let own = self.own.saturating_sub(self.earned * EARNED);
        // Each page leads to the next one only, or the form is that of a growing path.
        let is_narrow = self.chain.saturating_mul(8) >= self.own;
        let is_lean = self.new * 10 < self.fetched;
        let over = match breadth {
            Breadth::Broad => self.fetched.checked_sub(LEAN).filter(|_| is_lean),
            _ => own.checked_sub(OWN).filter(|_| is_odd || is_narrow || is_lean),
        };
        of_misses.max(over.map_or(1, |over| 64 << (over / 16).min(16)))
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
