//! Buckets that begin with pages of their own, side by side.
//!
//! Most of a bucket is read as one stretch of memory: each bucket has a *home*, a ring of as many pages as it fills on average, or some
//! more. What has no room there goes to a chain of pages, and comes home when an older entry leaves: the
//! home always has the oldest. The head of a home stands in the words of its first pages that elsewhere lead to the next one.

#![expect(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "part of a search that is compiled for each instruction set; words are halves"
)]

use super::{
    format::Format,
    pages::{Bucket, Pages},
};

/// Homes of so many pages have the word of their chain where it is read with the entries.
const MANY: u32 = 3;

/// What is in a home: a ring that begins somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    first: u32,
    pub(super) len: u32,
    capacity: u32,
}

impl Home {
    /// What the head of a home with room for so many says.
    #[inline(always)]
    pub(super) fn unpack(head: u32, capacity: u32) -> Self {
        Self { first: head >> 16, len: head & 0xffff, capacity }
    }

    pub(super) fn is_full(self) -> bool {
        self.len == self.capacity
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

    /// The chain of what has no room in a home.
    #[inline(always)]
    pub(super) fn overflow(&self, start: u32, pages: u32) -> u64 {
        if F::SPLIT && pages < MANY {
            self.spare(start)
        } else {
            u64::from(self.link(start + 1)) << 32 | u64::from(self.link(start + 2))
        }
    }

    /// The page to which the next entry comes.
    pub(super) fn next_page(&self, start: u32, pages: u32) -> u32 {
        start + self.home(start, pages).end() / F::LEN
    }

    pub(super) fn crowd_at_home(&self, start: u32, pages: u32) -> u32 {
        self.home(start, pages).len + Bucket::unpack(self.overflow(start, pages)).len
    }

    /// Adds an entry to a bucket, and says how many there are now.
    pub(super) fn push_home(&mut self, start: u32, pages: u32, rest: u32, slot: u32) -> u32 {
        let home = self.home(start, pages);
        if home.is_full() {
            let mut chain = self.overflow(start, pages);
            let chained = self.push(&mut chain, rest, slot);
            self.set_overflow(start, pages, chain);
            return home.len + chained;
        }
        let at = home.end();
        self.put(start + at / F::LEN, at % F::LEN, rest, slot);
        self.set_head(start, Home { len: home.len + 1, ..home });
        home.len + 1
    }

    /// Lets go of a bucket's first entry.
    pub(super) fn pop_home(&mut self, start: u32, pages: u32) {
        let home = self.home(start, pages);
        let first = (home.first + 1) % home.capacity;
        self.set_head(start, Home { first, len: home.len - 1, ..home });
        if home.is_full() {
            let mut chain = self.overflow(start, pages);
            if Bucket::unpack(chain).len > 0 {
                let (rest, slot) = self.front(chain);
                self.pop(&mut chain);
                self.set_overflow(start, pages, chain);
                self.push_home(start, pages, rest, slot);
            }
        }
    }

    fn set_head(&mut self, start: u32, home: Home) {
        self.set_link(start, home.first << 16 | home.len);
    }

    fn set_overflow(&mut self, start: u32, pages: u32, chain: u64) {
        if F::SPLIT && pages < MANY {
            self.set_spare(start, chain);
        } else {
            self.set_link(start + 1, (chain >> 32) as u32);
            self.set_link(start + 2, chain as u32);
        }
    }
}

/// How large homes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Homes {
    /// As many pages as a bucket fills on average. Many buckets have a chain of pages beside their home, which takes time to read.
    Tight,
    /// So many pages that few buckets exceed them: a standard deviation and a half more. For speed.
    Roomy,
}

impl Homes {
    /// Pages of a home for so many entries on average.
    pub(super) fn pages<F: Format>(self, mean: f64) -> u32 {
        let reserve = match self {
            Self::Tight => 0.0,
            Self::Roomy => 1.5 * mean.sqrt(),
        };
        (((mean + reserve) / f64::from(F::LEN)).ceil() as u32).clamp(F::MIN_PAGES, 1 << 11)
    }
}
