//! Pages that lie side by side: a chain takes them in runs of one, two or four.
//!
//! To follow a chain is to wait at each page for the number of the next. In a run they are known beforehand, and all are asked for at
//! once; the longer a chain is, the longer are its runs.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

/// Bits of a page's number; what they leave of 32 tells its place in a run.
const NUMBER_BITS: u32 = 29;
/// No index has more pages.
pub(super) const MAX_PAGES: u32 = 1 << NUMBER_BITS;

/// Runs have 1, 2 or 4 pages: as many as their class says, in bits.
const CLASSES: usize = 3;

/// A page of a chain, and where in its run it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page(u32);

impl Page {
    #[inline(always)]
    pub(super) fn unpack(word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn pack(self) -> u32 {
        self.0
    }

    /// The first page of a run.
    pub(super) fn first(number: u32, class: u32) -> Self {
        Self(number | ((1 << class) - 1) << NUMBER_BITS)
    }

    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.0 % MAX_PAGES
    }

    /// The places of runs are counted through: 0, then 1 and 2, then 3 to 6.
    #[inline(always)]
    pub(super) fn class(self) -> u32 {
        ((self.0 >> NUMBER_BITS) + 1).ilog2()
    }

    #[inline(always)]
    fn place(self) -> u32 {
        (self.0 >> NUMBER_BITS) + 1 - (1 << self.class())
    }

    /// How many pages of its run come after it.
    #[inline(always)]
    pub(super) fn left(self) -> u32 {
        (1 << self.class()) - 1 - self.place()
    }

    #[inline(always)]
    pub(super) fn begins_a_run(self) -> bool {
        self.place() == 0
    }

    /// The next page of its run, if any.
    pub(super) fn next(self) -> Option<Self> {
        (self.left() > 0).then(|| Self(self.0 + 1 + MAX_PAGES))
    }

    /// The first page of its run.
    pub(super) fn run(self) -> Self {
        Self::first(self.number() - self.place(), self.class())
    }
}

/// Runs that are in no chain: of each class the first, which leads to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FreeRuns([Option<Page>; CLASSES]);

impl FreeRuns {
    /// The class of runs for a chain that has so many pages.
    pub(super) fn class_for(pages: u32) -> u32 {
        match pages {
            0..2 => 0,
            2..8 => 1,
            _ => 2,
        }
    }

    /// A run of a class, or of a smaller one if there is no other: a larger one is not split, for nothing would join it again. `next` tells
    /// where a run leads.
    pub(super) fn take(&mut self, class: u32, next: impl Fn(Page) -> Page) -> Option<Page> {
        let first = self.0[..=class as usize].iter_mut().rev().find(|run| run.is_some())?;
        let run = (*first)?;
        let after = next(run);
        *first = (after != run).then_some(after);
        Some(run)
    }

    /// Where a run that is given back leads: to the next, or to itself.
    pub(super) fn give_back(&mut self, run: Page) -> Page {
        let first = &mut self.0[run.class() as usize];
        first.replace(run).unwrap_or(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run from its first page to its last.
    fn pages(run: Page) -> Vec<Page> {
        std::iter::successors(Some(run), |page| page.next()).collect()
    }

    #[test]
    fn a_page_knows_its_run() {
        for (class, len) in [(0, 1), (1, 2), (2, 4)] {
            let run = Page::first(MAX_PAGES - len, class);
            let pages = pages(run);
            assert_eq!(pages.len(), len as usize);
            for (page, place) in pages.iter().zip(0..) {
                assert_eq!((page.number(), page.left()), (run.number() + place, len - 1 - place));
                assert_eq!((page.run(), page.begins_a_run()), (run, place == 0));
                assert_eq!(Page::unpack(page.pack()), *page);
            }
        }
    }
}
