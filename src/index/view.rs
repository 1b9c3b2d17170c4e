//! Reading entries.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use super::{
    format::{Format, Spot},
    key::HALF,
    lanes::prefetch,
    pages::{LINK, Line, Pages, half, low},
    runs::Page,
};

/// The lines of all pages, where they were planned to be: found with less ado than those of a window that has outgrown its plan.
#[derive(Debug)]
pub(super) struct View<'a, F> {
    keys: &'a [Line],
    more: &'a [Line],
    slots: &'a [Line],
    slot_bits: u32,
    pages: &'a Pages<F>,
}

impl<F> Clone for View<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for View<'_, F> {}

impl<'a, F: Format> View<'a, F> {
    #[inline(always)]
    pub(super) fn new(pages: &'a Pages<F>) -> Self {
        let [keys, more, slots] = pages.planned();
        Self { keys, more, slots, slot_bits: pages.slot_bits(), pages }
    }

    /// The first line of a page.
    #[inline(always)]
    pub(super) fn keys(&self, page: u32) -> &'a Line {
        match self.keys.get(page as usize) {
            Some(line) => line,
            None => self.pages.keys(page),
        }
    }

    /// The line of the other bits.
    #[inline(always)]
    pub(super) fn more(&self, page: u32) -> &'a Line {
        match self.more.get(page as usize) {
            Some(line) => line,
            None => self.pages.more(page),
        }
    }

    /// A line of slots.
    #[inline(always)]
    fn slots(&self, line: u32) -> &'a Line {
        match self.slots.get(line as usize) {
            Some(line) => line,
            None => self.pages.slots(line),
        }
    }

    #[inline(always)]
    pub(super) fn link(&self, page: u32) -> u32 {
        self.keys(page)[LINK]
    }

    /// Where a page leads.
    #[inline(always)]
    pub(super) fn after(&self, page: Page) -> Page {
        Page::unpack(self.link(page.number()))
    }

    #[inline(always)]
    fn slot_word(&self, spot: Spot) -> u32 {
        self.slots(spot.slot_line)[spot.slot_at as usize]
    }

    #[inline(always)]
    pub(super) fn slot(&self, spot: Spot) -> u32 {
        self.slot_word(spot) & low(self.slot_bits)
    }

    /// All that an entry keeps of the fingerprint.
    #[inline(always)]
    pub(super) fn rest(&self, spot: Spot) -> u32 {
        let more = if F::SPLIT {
            half(self.more(spot.line), spot.at)
        } else {
            self.slot_word(spot).unbounded_shr(self.slot_bits)
        };
        half(self.keys(spot.line), spot.at) | more << HALF
    }

    /// In how many of the bits that entries keep two parts of fingerprints differ.
    #[inline(always)]
    pub(super) fn distance(&self, a: u32, b: u32) -> u32 {
        let kept = if F::SPLIT { HALF } else { u32::BITS - self.slot_bits };
        ((a ^ b) & low(HALF + kept)).count_ones()
    }

    /// Asks for what is compared of a page and of those that follow in its run.
    #[inline(always)]
    pub(super) fn prefetch_run(&self, page: Page, both: bool) {
        (page.number()..=page.number() + page.left()).for_each(|page| self.prefetch(page, both));
    }

    /// Asks for what is compared of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, page: u32, both: bool) {
        prefetch(self.keys(page));
        if F::SPLIT && both {
            prefetch(self.more(page));
        }
    }

    /// Asks for what an entry keeps beyond its first bits.
    #[inline(always)]
    pub(super) fn prefetch_rest(&self, spot: Spot) {
        prefetch(if F::SPLIT { self.more(spot.line) } else { self.keys(spot.slot_line) });
    }

    /// Asks for the slot of an entry of which the rest has come.
    #[inline(always)]
    pub(super) fn prefetch_slot(&self, spot: Spot) {
        if F::SPLIT {
            prefetch(self.slots(spot.slot_line));
        }
    }
}
