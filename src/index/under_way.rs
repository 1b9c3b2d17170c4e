//! What a search has asked of memory and waits for.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use std::cell::Cell;

use super::{
    format::Spot,
    homes::Bucket,
    probing::{Route, Sought},
    runs::Page,
};

/// Entries that wait to be confirmed.
pub(super) const PENDING: usize = 16;

/// A chain of pages that is being read.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    pub(super) page: Page,
    /// Where it ends.
    pub(super) last: Page,
    /// The entries of this page, a bit each.
    pub(super) mask: u32,
    /// Those of the first page.
    pub(super) first_mask: u32,
    pub(super) sought: Sought,
}

/// An entry that may be what is asked for: where it lies, or once that has been read, its slot.
#[derive(Clone, Copy, Default)]
pub(super) struct Hit<T> {
    pub(super) at: T,
    pub(super) sought: Sought,
}

/// What a search takes beside the tables.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) route: Route,
    pub(super) under_way: UnderWay,
}

thread_local! {
    /// What the last search of a thread left for the next: to make it anew would be a part of a query's time.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    pub(super) fn take() -> Box<Self> {
        SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Leaves it for the next.
    pub(super) fn keep(self: Box<Self>) {
        debug_assert!(
            !self.under_way.waits() && self.under_way.full.is_empty(),
            "all is confirmed"
        );
        debug_assert!(self.under_way.cursors.is_empty(), "all chains were read");
        // A thread that is about to end has no next.
        let _ = SCRATCH.try_with(|scratch| scratch.set(Some(self)));
    }
}

/// What waits for memory.
#[derive(Default)]
pub(super) struct UnderWay {
    pub(super) cursors: Vec<Cursor>,
    /// Entries that are near by what was compared, by all that they keep, and those whose fingerprints are under way.
    pub(super) paged: List<Spot>,
    pub(super) slotted: List<Spot>,
    pub(super) placed: List<u32>,
    /// Homes with a chain: the line that tells where it is is under way.
    pub(super) full: List<Bucket>,
}

impl UnderWay {
    /// Whether any entry waits to be confirmed.
    #[inline(always)]
    pub(super) fn waits(&self) -> bool {
        !(self.paged.is_empty() && self.slotted.is_empty() && self.placed.is_empty())
    }
}

/// Some hits, at most as many as may wait.
pub(super) struct List<T> {
    hits: [Hit<T>; PENDING],
    len: usize,
}

impl<T: Copy + Default> Default for List<T> {
    fn default() -> Self {
        Self { hits: [Hit::default(); PENDING], len: 0 }
    }
}

impl<T> List<T> {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len == PENDING
    }

    #[inline]
    pub(super) fn push(&mut self, hit: Hit<T>) {
        self.hits[self.len] = hit;
        self.len += 1;
    }

    /// All of them, which wait no longer.
    #[inline]
    pub(super) fn drain(&mut self) -> &[Hit<T>] {
        let len = std::mem::take(&mut self.len);
        &self.hits[..len]
    }
}
