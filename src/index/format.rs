//! How entries lie on the lines of a page, and how a page is compared.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use super::{
    homes::Home,
    lanes::{Lanes, prefetch},
    pages::{Chain, LINK, Line, Pages},
    probing::Sought,
    runs::Page,
};

/// How the entries of a page are laid out.
///
/// An entry keeps 32 bits of the fingerprint: 16 that many errors cannot hit where all that other tables find is left out (see
/// [`steps`](super::steps)), and 16 others.
pub(super) trait Format: Sized {
    /// Entries of a page.
    const LEN: u32;
    /// Whether the other 16 bits and the slots lie on lines of their own.
    const SPLIT: bool;
    /// Pages that a home has at least: they have room for its head, and for the last page and the length of its chain.
    const MIN_PAGES: u32;
    /// On which page of a home, and where on its first line, the last page of its chain stands.
    const LAST_OF_CHAIN: (u32, usize);

    /// Where on its lines the slot of an entry lies.
    fn slot_at(at: u32) -> usize;
    /// Which entries of a page are near: a bit each; those of entries that are none may be set.
    fn near<L: Lanes>(lanes: L, view: &View<Self>, page: u32, sought: &Sought) -> u32;
}

/// Ten entries on a line: 16 bits and the slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow;

/// 28 entries on four lines: 16 bits each on the first, which alone is read where they tell enough, 16 more on the second, and
/// the slots on two that only a hit reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide;

impl Format for Narrow {
    const LEN: u32 = 10;
    const SPLIT: bool = false;
    const MIN_PAGES: u32 = 3;
    const LAST_OF_CHAIN: (u32, usize) = (1, LINK);

    #[inline(always)]
    fn slot_at(at: u32) -> usize {
        at as usize + 5
    }

    #[inline(always)]
    fn near<L: Lanes>(lanes: L, view: &View<Self>, page: u32, sought: &Sought) -> u32 {
        lanes.near_ten(view.keys(page), sought.rest, sought.near)
    }
}

impl Format for Wide {
    const LEN: u32 = 28;
    const SPLIT: bool = true;
    const MIN_PAGES: u32 = 1;
    const LAST_OF_CHAIN: (u32, usize) = (0, LINK - 1);

    #[inline(always)]
    fn slot_at(at: u32) -> usize {
        at as usize
    }

    #[inline(always)]
    fn near<L: Lanes>(lanes: L, view: &View<Self>, page: u32, sought: &Sought) -> u32 {
        let &Sought { rest, near, allowed, both, .. } = sought;
        if both == 0 {
            lanes.near_halves(view.keys(page), rest, near)
        } else {
            lanes.near_pairs([view.keys(page), view.more(page)], rest, allowed)
        }
    }
}

/// The lines that are compared, where they were planned to be: found with less ado than those of a window that has outgrown its plan.
pub(super) struct View<'a, F> {
    keys: &'a [Line],
    more: &'a [Line],
    pages: &'a Pages<F>,
}

impl<'a, F: Format> View<'a, F> {
    #[inline(always)]
    pub(super) fn new(keys: &'a [Line], more: &'a [Line], pages: &'a Pages<F>) -> Self {
        Self { keys, more, pages }
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
    fn more(&self, page: u32) -> &'a Line {
        match self.more.get(page as usize) {
            Some(line) => line,
            None => self.pages.more(page),
        }
    }

    #[inline(always)]
    pub(super) fn link(&self, page: u32) -> u32 {
        self.keys(page)[LINK]
    }

    /// What has no room in a home.
    #[inline(always)]
    pub(super) fn chain(&self, start: u32, home: Home) -> Chain {
        let (page, at) = F::LAST_OF_CHAIN;
        home.chain(self.keys(start + page)[at])
    }

    /// Where a page leads.
    #[inline(always)]
    pub(super) fn after(&self, page: Page) -> Page {
        Page::unpack(self.link(page.number()))
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
}
