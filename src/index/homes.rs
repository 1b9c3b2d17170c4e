//! Buckets that begin with pages of their own, side by side.
//!
//! Most of a bucket is read as one stretch of memory: each bucket has a *home*, a ring of as many pages as it fills on average, or some
//! more. What has no room there goes to a chain of pages, and comes home when an older entry leaves: the
//! home always has the oldest. Its head and the last page of the chain stand on its lines, and are read with the entries.

#![expect(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "part of a search that is compiled for each instruction set; homes have few pages"
)]

use super::{
    format::Format,
    pages::{Chain, Pages},
    runs::Page,
};

/// Bits of a place in a home, and on a page.
const HOME_BITS: u32 = 10;
const PAGE_BITS: u32 = 5;

/// What is in a home, a ring that begins somewhere, and where what has no room there begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    first: u32,
    pub(super) len: u32,
    capacity: u32,
    first_at: u32,
    end_at: u32,
}

impl Home {
    /// What the head of a home with room for so many says.
    #[inline(always)]
    pub(super) fn unpack(mut head: u32, capacity: u32) -> Self {
        let mut part = |bits: u32| {
            let part = head % (1 << bits);
            head >>= bits;
            part
        };
        let (first, len) = (part(HOME_BITS), part(HOME_BITS));
        Self { first, len, capacity, first_at: part(PAGE_BITS), end_at: part(PAGE_BITS) }
    }

    fn pack(self) -> u32 {
        let ends = self.first_at | self.end_at << PAGE_BITS;
        self.first | self.len << HOME_BITS | ends << (2 * HOME_BITS)
    }

    /// The chain, given its last page.
    #[inline(always)]
    pub(super) fn chain(self, last: u32) -> Chain {
        Chain { last: Page::unpack(last), first_at: self.first_at, end_at: self.end_at }
    }

    #[inline(always)]
    pub(super) fn has_chain(self) -> bool {
        self.end_at != 0
    }

    /// The entries of a page, a bit each.
    #[inline(always)]
    pub(super) fn mask<F: Format>(self, page: u32) -> u32 {
        let until = self.first + self.len;
        let wrapped = until.saturating_sub(self.capacity);
        span::<F>(page, self.first, until.min(self.capacity)) | span::<F>(page, 0, wrapped)
    }

    fn end(self) -> u32 {
        (self.first + self.len) % self.capacity
    }
}

/// The places from `from` to `until` that are on a page.
#[inline(always)]
fn span<F: Format>(page: u32, from: u32, until: u32) -> u32 {
    let below = |place: u32| (1 << place.saturating_sub(page * F::LEN).min(F::LEN)) - 1;
    below(until) & !below(from)
}

impl<F: Format> Pages<F> {
    #[inline(always)]
    pub(super) fn home(&self, start: u32, pages: u32) -> Home {
        Home::unpack(self.link(start), pages * F::LEN)
    }

    /// The page to which the next entry comes, unless it is the first of its run.
    pub(super) fn next_page(&self, start: u32, pages: u32) -> u32 {
        let home = self.home(start, pages);
        if home.has_chain() {
            return home.chain(self.last_of_chain(start)).last.number();
        }
        start + home.end() / F::LEN
    }

    /// How many entries a bucket has.
    pub(super) fn crowd_at_home(&self, start: u32, pages: u32) -> u32 {
        let home = self.home(start, pages);
        home.len + if home.has_chain() { self.len_of_chain(start) } else { 0 }
    }

    /// Adds an entry to a bucket, and says how many there are now.
    pub(super) fn push_home(&mut self, start: u32, pages: u32, rest: u32, slot: u32) -> u32 {
        let home = self.home(start, pages);
        if home.len < home.capacity {
            let at = home.end();
            self.put(start + at / F::LEN, at % F::LEN, rest, slot);
            self.set_head(start, Home { len: home.len + 1, ..home });
            return home.len + 1;
        }
        let len = if home.has_chain() { self.len_of_chain(start) } else { 0 };
        let mut chain = home.chain(self.last_of_chain(start));
        self.push(&mut chain, len, rest, slot);
        self.set_chain(start, home, chain, len + 1);
        home.len + len + 1
    }

    /// Lets go of a bucket's first entry. What comes home from the chain takes its place.
    pub(super) fn pop_home(&mut self, start: u32, pages: u32) {
        let home = self.home(start, pages);
        let left = Home { first: (home.first + 1) % home.capacity, ..home };
        if !home.has_chain() {
            self.set_head(start, Home { len: home.len - 1, ..left });
            return;
        }
        let len = self.len_of_chain(start);
        let mut chain = home.chain(self.last_of_chain(start));
        let (rest, slot) = self.front(chain);
        self.pop(&mut chain, len);
        self.put(start + home.first / F::LEN, home.first % F::LEN, rest, slot);
        self.set_chain(start, left, chain, len - 1);
    }

    fn set_head(&mut self, start: u32, home: Home) {
        self.set_link(start, home.pack());
    }

    fn set_chain(&mut self, start: u32, home: Home, chain: Chain, len: u32) {
        self.set_head(start, Home { first_at: chain.first_at, end_at: chain.end_at, ..home });
        self.set_last_of_chain(start, chain.last.pack());
        self.set_len_of_chain(start, len);
    }
}

/// How large homes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Homes {
    /// As many pages as a bucket fills on average. Many buckets have a chain of pages beside their home, which takes time to read.
    Tight,
    /// So many pages that of random fingerprints few buckets exceed them: a standard deviation and a half more. For speed.
    Roomy,
}

impl Homes {
    /// Pages of a home for so many entries on average.
    pub(super) fn pages<F: Format>(self, mean: f64) -> u32 {
        let reserve = match self {
            Self::Tight => 0.0,
            Self::Roomy => 1.5 * mean.sqrt(),
        };
        let most = ((1 << HOME_BITS) - 1) / F::LEN;
        (((mean + reserve) / f64::from(F::LEN)).ceil() as u32).clamp(F::MIN_PAGES, most)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::index::format::{Narrow, Wide};

    /// A bucket with a home of so many pages, beside a queue.
    fn agrees_with_a_queue<F: Format>(home: u32) {
        let capacity = home * F::LEN;
        let mut pages = Pages::<F>::new(home as usize, 40, 20).expect("there is memory");
        let (mut queue, mut next) = (VecDeque::new(), 0);
        // It fills, its home and a chain of more than eight pages, and empties; that again with what is left.
        for wanted in [
            capacity / 2,
            capacity,
            capacity + 12 * F::LEN + 5,
            capacity + 1,
            3,
            capacity + F::LEN,
            0,
            7,
        ] {
            while queue.len() < wanted as usize {
                queue.push_back((next % 0x1_0000, next));
                let crowd = pages.push_home(0, home, next % 0x1_0000, next);
                assert_eq!(crowd as usize, queue.len());
                next += 1;
            }
            while queue.len() > wanted as usize {
                queue.pop_front();
                pages.pop_home(0, home);
                assert_eq!(pages.crowd_at_home(0, home) as usize, queue.len());
            }
            let head = pages.home(0, home);
            let mut found = Vec::new();
            for page in 0..home {
                let mask = head.mask::<F>(page);
                let here = (0..F::LEN).filter(|at| mask >> at & 1 == 1);
                found.extend(here.map(|at| (pages.rest(page, at), pages.slot(page, at))));
            }
            found.sort_unstable_by_key(|&(_, slot)| slot);
            let at_home = queue.iter().take(capacity as usize).copied();
            assert_eq!(found, at_home.collect::<Vec<_>>());
            assert_eq!(head.has_chain(), queue.len() > capacity as usize);
        }
    }

    #[test]
    fn a_bucket_is_a_queue() {
        [3, 5, 102].into_iter().for_each(agrees_with_a_queue::<Narrow>);
        [1, 2, 36].into_iter().for_each(agrees_with_a_queue::<Wide>);
    }
}
