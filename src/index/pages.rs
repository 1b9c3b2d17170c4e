//! Buckets as queues of pages: how entries lie in memory.
//!
//! A window rolls: what came first leaves first, in every bucket as in the whole. So what a bucket has beyond its home is a chain of
//! pages, a new entry goes behind the last, the one that leaves is the first, and nothing is searched or hashed
//! again. Pages come in [runs](super::runs) from one store for all tables and go back to it, so that a crowded bucket costs what it holds.
//!
//! A page's last word leads to the next page, the last page's to the first: one word tells where a chain is.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "pages are counted in 32 bits")]

use std::io;

use super::{
    format::{Format, SLOT_LINES, Spot},
    homes::Bucket,
    key::HALF,
    lanes::prefetch,
    runs::{FreeRuns, MAX_PAGES, Page},
    slab::Slab,
    view::View,
};

/// Words of a cache line.
pub(super) const WORDS: u32 = 16;
const LINE: usize = WORDS as usize;
/// A cache line.
pub(super) type Line = [u32; LINE];

pub(super) const LINK: usize = 15;

/// Where a chain of pages lies: its last page, where on the first page it begins and on the last one ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// It leads to the first.
    pub(super) last: Page,
    pub(super) first_at: u32,
    /// One past the last entry: 0 if there is none.
    pub(super) end_at: u32,
}

/// The lowest `n` bits.
#[inline(always)]
pub(super) fn low(n: u32) -> u32 {
    u32::MAX.unbounded_shr(u32::BITS - n)
}

#[inline(always)]
pub(super) fn half(line: &Line, at: u32) -> u32 {
    line[at as usize / 2] >> (16 * (at % 2)) & 0xffff
}

#[inline(always)]
fn set_half(line: &mut Line, at: u32, half: u32) {
    let word = &mut line[at as usize / 2];
    let shift = 16 * (at % 2);
    *word = *word & !(0xffff << shift) | half << shift;
}

/// All pages of all tables.
///
/// Where slots are not apart, what a slot leaves of its 32 bits holds more of the fingerprint, beyond the first 16 bits: read only for those
/// that are near by these, it spares most looks at fingerprints that turn out to be far.
#[derive(Clone, Debug)]
pub(super) struct Pages<F> {
    keys: Slab<Line>,
    more: Slab<Line>,
    slots: Slab<Line>,
    /// The bits that a slot takes.
    slot_bits: u32,
    free: FreeRuns,
    format: std::marker::PhantomData<F>,
}

impl<F: Format> Pages<F> {
    /// So many lines that are not given as pages, and room for as many as there are to be with the pages.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(reserved: usize, room: usize, slot_bits: u32) -> io::Result<Self> {
        let slab = |lines| {
            let mut slab = Slab::with_room(room * lines)?;
            slab.grow(reserved * lines);
            io::Result::Ok(slab)
        };
        let (more, slots) = if F::SPLIT { (1, SLOT_LINES as usize) } else { (0, 0) };
        Ok(Self {
            keys: slab(1)?,
            more: slab(more)?,
            slots: slab(slots)?,
            slot_bits: if F::SPLIT { u32::BITS } else { slot_bits },
            free: FreeRuns::default(),
            format: std::marker::PhantomData,
        })
    }

    /// Takes the `nth` large page of what is there, and says whether there are so many.
    pub(super) fn take_large_page(&mut self, mut nth: usize) -> bool {
        for lines in [&mut self.keys, &mut self.more, &mut self.slots] {
            match nth.checked_sub(lines.large_pages()) {
                None => {
                    lines.take_large_page(nth);
                    return true;
                }
                Some(left) => nth = left,
            }
        }
        false
    }

    #[inline(always)]
    pub(super) fn view(&self) -> View<'_, F> {
        View::new(self)
    }

    #[inline(always)]
    pub(super) fn keys(&self, page: u32) -> &Line {
        self.keys.get(page as usize)
    }

    #[inline(always)]
    pub(super) fn more(&self, page: u32) -> &Line {
        self.more.get(page as usize)
    }

    #[inline(always)]
    pub(super) fn slots(&self, line: u32) -> &Line {
        if F::SPLIT { &self.slots } else { &self.keys }.get(line as usize)
    }

    /// The lines that were planned: of the first bits, of the others, and of slots.
    #[inline(always)]
    pub(super) fn planned(&self) -> [&[Line]; 3] {
        let slots = if F::SPLIT { &self.slots } else { &self.keys };
        [self.keys.planned(), self.more.planned(), slots.planned()]
    }

    #[inline(always)]
    pub(super) fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    #[inline(always)]
    fn slots_mut(&mut self) -> &mut Slab<Line> {
        if F::SPLIT { &mut self.slots } else { &mut self.keys }
    }

    /// Asks for the first line of a page.
    #[inline(always)]
    pub(super) fn prefetch_keys(&self, page: u32) {
        prefetch(self.keys(page));
    }

    /// Asks for all of an entry.
    #[inline(always)]
    pub(super) fn prefetch(&self, spot: Spot) {
        self.prefetch_keys(spot.line);
        self.view().prefetch_rest(spot);
        self.view().prefetch_slot(spot);
    }

    #[inline(always)]
    pub(super) fn link(&self, page: u32) -> u32 {
        self.keys(page)[LINK]
    }

    /// Adds an entry to a chain that has so many.
    pub(super) fn push(&mut self, chain: &mut Chain, len: u32, rest: u32, slot: u32) {
        if chain.end_at == 0 {
            let page = self.take(FreeRuns::class_for(0));
            self.lead(page, page);
            *chain = Chain { last: page, first_at: 0, end_at: 0 };
        } else if chain.end_at == F::LEN {
            let class = FreeRuns::class_for(len / F::LEN);
            let page = chain.last.next().unwrap_or_else(|| self.take(class));
            self.lead(page, self.view().after(chain.last));
            self.lead(chain.last, page);
            *chain = Chain { last: page, end_at: 0, ..*chain };
        }
        self.put(F::on_page(chain.last.number(), chain.end_at), rest, slot);
        chain.end_at += 1;
    }

    /// Writes an entry.
    pub(super) fn put(&mut self, to: Spot, rest: u32, slot: u32) {
        let (line, at) = (to.line as usize, to.at);
        set_half(self.keys.get_mut(line), at, rest & low(HALF));
        if F::SPLIT {
            set_half(self.more.get_mut(line), at, rest >> HALF);
        }
        let more = (rest >> HALF).unbounded_shl(self.slot_bits);
        *self.slot_mut(to) = more | slot;
    }

    #[inline(always)]
    fn slot_mut(&mut self, spot: Spot) -> &mut u32 {
        &mut self.slots_mut().get_mut(spot.slot_line as usize)[spot.slot_at as usize]
    }

    /// Makes room for slots of 32 bits, of those in homes at these places and of those in chains: they leave nothing for more of the
    /// fingerprint from now on.
    pub(super) fn widen_slots(&mut self, at_home: impl Iterator<Item = Spot>, homes: u32) {
        let mask = low(self.slot_bits);
        self.slot_bits = u32::BITS;
        let in_chains = (homes..self.keys.len() as u32)
            .flat_map(|page| (0..F::LEN).map(move |at| F::on_page(page, at)));
        for spot in at_home.chain(in_chains) {
            *self.slot_mut(spot) &= mask;
        }
    }

    /// Whether a slot has room.
    #[inline(always)]
    pub(super) fn holds(&self, slot: u32) -> bool {
        slot <= low(self.slot_bits)
    }

    /// The first entry of a chain: what it keeps of the fingerprint, and its slot.
    pub(super) fn front(&self, chain: Chain) -> (u32, u32) {
        let spot = F::on_page(self.view().after(chain.last).number(), chain.first_at);
        (self.view().rest(spot), self.view().slot(spot))
    }

    /// Lets go of the first entry of a chain that has so many.
    pub(super) fn pop(&mut self, chain: &mut Chain, len: u32) {
        chain.first_at += 1;
        if len == 1 {
            self.give_back(chain.last.run());
            *chain = Chain::default();
        } else if chain.first_at == F::LEN {
            let first = self.view().after(chain.last);
            self.lead(chain.last, self.view().after(first));
            if first.left() == 0 {
                self.give_back(first.run());
            }
            chain.first_at = 0;
        }
    }

    fn lead(&mut self, page: Page, to: Page) {
        self.set_link(page.number(), to.pack());
    }

    pub(super) fn set_link(&mut self, page: u32, link: u32) {
        self.keys.get_mut(page as usize)[LINK] = link;
    }

    /// The last page of a home's chain.
    #[inline(always)]
    pub(super) fn last_of_chain(&self, bucket: Bucket) -> u32 {
        let (line, word) = F::last_of_chain(bucket);
        self.keys(line)[word]
    }

    pub(super) fn set_last_of_chain(&mut self, bucket: Bucket, last: u32) {
        let (line, word) = F::last_of_chain(bucket);
        self.keys.get_mut(line as usize)[word] = last;
    }

    pub(super) fn len_of_chain(&self, bucket: Bucket) -> u32 {
        let (line, word) = F::len_of_chain(bucket);
        self.slots(line)[word]
    }

    pub(super) fn set_len_of_chain(&mut self, bucket: Bucket, len: u32) {
        let (line, word) = F::len_of_chain(bucket);
        self.slots_mut().get_mut(line as usize)[word] = len;
    }

    fn take(&mut self, class: u32) -> Page {
        let keys = &self.keys;
        let next = |run: Page| Page::unpack(keys.get(run.number() as usize)[LINK]);
        self.free.take(class, next).unwrap_or_else(|| self.add(class))
    }

    fn add(&mut self, class: u32) -> Page {
        let (number, pages) = (self.keys.len(), 1 << class);
        let fits = number + pages <= MAX_PAGES as usize;
        assert!(fits, "the index has at most {MAX_PAGES} pages");
        self.keys.grow(pages);
        if F::SPLIT {
            self.more.grow(pages);
            self.slots.grow(pages * SLOT_LINES as usize);
        }
        Page::first(number as u32, class)
    }

    fn give_back(&mut self, run: Page) {
        let next = self.free.give_back(run);
        self.lead(run, next);
    }

    /// How many pages there are, free ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::index::format::{Narrow, Wide};

    /// Fills and empties some chains of one store, each beside a queue.
    fn agrees_with_queues<F: Format>(steps: &[(usize, bool, u16)]) -> Result<(), TestCaseError> {
        let mut pages = Pages::<F>::new(3, 20, 20).expect("there is memory");
        let mut chains: [(Chain, VecDeque<(u32, u32)>); 3] = Default::default();
        let (mut next, mut most) = (0, 0);
        for &(which, grows, n) in steps {
            let (chain, queue) = &mut chains[which];
            for _ in 0..n {
                let len = queue.len() as u32;
                if grows {
                    let entry = (if F::SPLIT { next } else { next % 0x1_0000 }, next);
                    pages.push(chain, len, entry.0, entry.1);
                    queue.push_back(entry);
                    next += 1;
                } else if let Some(expected) = queue.pop_front() {
                    prop_assert_eq!(pages.front(*chain), expected);
                    pages.pop(chain, len);
                }
            }
            let filled: usize = chains.iter().map(|(_, queue)| queue.len()).sum();
            most = most.max(filled);
        }
        // A page of each chain at its beginning is partly empty, and the run at its end: a third, and what was given back is used again.
        let needed = most / F::LEN as usize;
        prop_assert!(pages.len() <= 3 + 3 * 8 + 3 * needed, "{} pages for {needed}", pages.len());
        for (mut chain, mut queue) in chains {
            while let Some(expected) = queue.pop_front() {
                prop_assert_eq!(pages.front(chain), expected);
                pages.pop(&mut chain, queue.len() as u32 + 1);
            }
            prop_assert_eq!(chain, Chain::default());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn chains_are_queues(steps in prop::collection::vec((0..3_usize, any::<bool>(), 0..600_u16), 0..60)) {
            agrees_with_queues::<Narrow>(&steps)?;
            agrees_with_queues::<Wide>(&steps)?;
        }
    }

    #[test]
    fn a_long_chain_keeps_its_long_runs() {
        let mut pages = Pages::<Narrow>::new(0, 1000, 20).expect("there is memory");
        let mut chains = [(Chain::default(), 0); 8];
        for step in 0..50_000_u32 {
            // They grow and shrink by turns, between 30 and 230 entries.
            for ((chain, len), phase) in chains.iter_mut().zip(0..) {
                let wanted = 30 + (step + phase * 50) % 400;
                let wanted = if wanted > 230 { 460 - wanted } else { wanted };
                pages.push(chain, *len, 0, 0);
                *len += 1;
                while *len > wanted {
                    pages.pop(chain, *len);
                    *len -= 1;
                }
            }
        }
        let runs_of_four = |chain: &Chain| {
            let mut page = chain.last;
            let mut four = 0;
            loop {
                four += u32::from(page.class() == 2);
                page = pages.view().after(page);
                if page == chain.last {
                    return four;
                }
            }
        };
        let four: u32 = chains.iter().map(|(chain, _)| runs_of_four(chain)).sum();
        let all: u32 = chains.iter().map(|(_, len)| len / Narrow::LEN).sum();
        assert!(2 * four > all, "{four} of {all} pages are in runs of four");
    }
}
