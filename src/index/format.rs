//! How entries lie on the lines of a page, and how a page is compared.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use super::{
    homes::{Bucket, Size},
    lanes::Lanes,
    pages::{LINK, WORDS},
    probing::Sought,
    view::View,
};

/// Where an entry lies: the line of its first 16 bits and the place on it, and the line and the word of its slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub(super) line: u32,
    pub(super) at: u32,
    pub(super) slot_line: u32,
    pub(super) slot_at: u32,
}

/// How the entries of a page are laid out.
///
/// An entry keeps 32 bits of the fingerprint: 16 that many errors cannot hit where all that other tables find is left out (see
/// [`steps`](super::steps)), and 16 others.
pub(super) trait Format: Sized {
    /// Entries of a page.
    const LEN: u32;
    /// Entries of a home whose first 16 bits share a line.
    const LEN_AT_HOME: u32;
    /// Whether the other 16 bits and the slots lie in stores of their own.
    const SPLIT: bool;

    /// The homes that there are, from the smallest on.
    fn size(nth: u32) -> Size;
    /// Where an entry of a page lies.
    fn on_page(page: u32, at: u32) -> Spot;
    /// Where an entry of a home lies.
    fn at_home(bucket: Bucket, place: u32) -> Spot;
    /// The line and the word of a home that tell the last page of its chain.
    fn last_of_chain(bucket: Bucket) -> (u32, usize);
    /// The line and the word of a home that tell the length of its chain, among the slots.
    fn len_of_chain(bucket: Bucket) -> (u32, usize);
    /// Which entries of a page are near: a bit each; those of entries that are none may be set.
    fn near<L: Lanes>(lanes: L, view: &View<Self>, page: u32, sought: &Sought) -> u32;
    /// The same of a line of a home.
    fn near_at_home<L: Lanes>(lanes: L, view: &View<Self>, line: u32, sought: &Sought) -> u32;
}

/// Ten entries on a line: 16 bits and the slot. In a home the first 16 bits of all come first, on lines that alone are read where
/// they tell enough, and the slots on those behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow;

/// 28 entries on four lines: 16 bits each on the first, which alone is read where they tell enough, 16 more on the second, and
/// the slots on two that only a hit reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide;

/// Lines of slots of a page, where they are apart.
pub(super) const SLOT_LINES: u32 = 2;

impl Format for Narrow {
    const LEN: u32 = 10;
    const LEN_AT_HOME: u32 = 30;
    const SPLIT: bool = false;

    fn size(nth: u32) -> Size {
        // Half a line of first bits more each time, and lines for as many slots; two words are for the chain.
        let compared = nth / 2 + 1;
        let full = compared * Self::LEN_AT_HOME;
        let room = if nth % 2 == 1 { full } else { full - Self::LEN_AT_HOME / 2 - 1 };
        let slots = (room + 2).div_ceil(WORDS);
        Size { pages: compared + slots, compared, room: (slots * WORDS - 2).min(full) }
    }

    #[inline(always)]
    fn on_page(page: u32, at: u32) -> Spot {
        Spot { line: page, at, slot_line: page, slot_at: at + 5 }
    }

    #[inline(always)]
    fn at_home(bucket: Bucket, place: u32) -> Spot {
        let (line, at) = (bucket.start + place / Self::LEN_AT_HOME, place % Self::LEN_AT_HOME);
        let word = place + 2;
        let slot_line = bucket.start + bucket.home.compared + word / WORDS;
        Spot { line, at, slot_line, slot_at: word % WORDS }
    }

    #[inline(always)]
    fn last_of_chain(bucket: Bucket) -> (u32, usize) {
        (bucket.start + bucket.home.compared, 0)
    }

    #[inline(always)]
    fn len_of_chain(bucket: Bucket) -> (u32, usize) {
        (bucket.start + bucket.home.compared, 1)
    }

    #[inline(always)]
    fn near<L: Lanes>(lanes: L, view: &View<Self>, page: u32, sought: &Sought) -> u32 {
        lanes.near_ten(view.keys(page), sought.rest, sought.near)
    }

    #[inline(always)]
    fn near_at_home<L: Lanes>(lanes: L, view: &View<Self>, line: u32, sought: &Sought) -> u32 {
        lanes.near_halves(view.keys(line), sought.rest, sought.near)
    }
}

impl Format for Wide {
    const LEN: u32 = 28;
    const LEN_AT_HOME: u32 = 28;
    const SPLIT: bool = true;

    fn size(nth: u32) -> Size {
        let pages = nth + 1;
        Size { pages, compared: pages, room: pages * Self::LEN }
    }

    #[inline(always)]
    fn on_page(page: u32, at: u32) -> Spot {
        let (slot_line, slot_at) = (page * SLOT_LINES + at / WORDS, at % WORDS);
        Spot { line: page, at, slot_line, slot_at }
    }

    #[inline(always)]
    fn at_home(bucket: Bucket, place: u32) -> Spot {
        Self::on_page(bucket.start + place / Self::LEN, place % Self::LEN)
    }

    #[inline(always)]
    fn last_of_chain(bucket: Bucket) -> (u32, usize) {
        (bucket.start, LINK - 1)
    }

    #[inline(always)]
    fn len_of_chain(bucket: Bucket) -> (u32, usize) {
        ((bucket.start + 1) * SLOT_LINES - 1, LINK)
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

    #[inline(always)]
    fn near_at_home<L: Lanes>(lanes: L, view: &View<Self>, line: u32, sought: &Sought) -> u32 {
        Self::near(lanes, view, line, sought)
    }
}
