//! Buckets that begin with lines of their own, side by side.
//!
//! Most of a bucket is read as one stretch of memory: each bucket has a *home*, a ring of as many places as it fills on average, or some
//! more. What has no room there goes to a chain of pages, and comes home when an older entry leaves: the
//! home always has the oldest. Its head stands on its first line, and is read with the entries.

#![expect(
    clippy::inline_always,
    reason = "part of a search that is compiled for each instruction set"
)]

use super::{
    format::{Format, Spot},
    pages::{Chain, Pages},
    runs::Page,
};

/// Bits of a place in a home, and on a page.
const HOME_BITS: u32 = 10;
const PAGE_BITS: u32 = 5;

/// Where the home of a bucket lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// Its first page.
    pub(super) start: u32,
    pub(super) home: Size,
}

/// How large a home is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// The pages of which it consists.
    pub(super) pages: u32,
    /// The lines that are compared: its first.
    pub(super) compared: u32,
    /// For how many entries there is room.
    pub(super) room: u32,
}

/// What is in a home, a ring that begins somewhere, and where what has no room there begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    first: u32,
    pub(super) len: u32,
    room: u32,
    first_at: u32,
    end_at: u32,
}

impl Home {
    /// What the head of a home with room for so many says.
    #[inline(always)]
    pub(super) fn unpack(mut head: u32, room: u32) -> Self {
        let mut part = |bits: u32| {
            let part = head % (1 << bits);
            head >>= bits;
            part
        };
        let (first, len) = (part(HOME_BITS), part(HOME_BITS));
        Self { first, len, room, first_at: part(PAGE_BITS), end_at: part(PAGE_BITS) }
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

    /// The entries of a line, a bit each.
    #[inline(always)]
    pub(super) fn mask<F: Format>(self, line: u32) -> u32 {
        let until = self.first + self.len;
        let wrapped = until.saturating_sub(self.room);
        span::<F>(line, self.first, until.min(self.room)) | span::<F>(line, 0, wrapped)
    }

    fn end(self) -> u32 {
        (self.first + self.len) % self.room
    }
}

/// The places from `from` to `until` that are on a line.
#[inline(always)]
fn span<F: Format>(line: u32, from: u32, until: u32) -> u32 {
    let len = F::LEN_AT_HOME;
    let below = |place: u32| (1 << place.saturating_sub(line * len).min(len)) - 1;
    below(until) & !below(from)
}

impl<F: Format> Pages<F> {
    #[inline(always)]
    pub(super) fn home(&self, bucket: Bucket) -> Home {
        Home::unpack(self.link(bucket.start), bucket.home.room)
    }

    /// Where the next entry comes, or the last one if the next begins a page.
    pub(super) fn next_spot(&self, bucket: Bucket) -> Spot {
        let home = self.home(bucket);
        if home.has_chain() {
            let Chain { last, end_at, .. } = self.chain(bucket, home);
            return F::on_page(last.number(), end_at.min(F::LEN - 1));
        }
        F::at_home(bucket, home.end())
    }

    /// What has no room in a home.
    #[inline(always)]
    pub(super) fn chain(&self, bucket: Bucket, home: Home) -> Chain {
        home.chain(self.last_of_chain(bucket))
    }

    /// How many entries a bucket has.
    pub(super) fn crowd_at_home(&self, bucket: Bucket) -> u32 {
        let home = self.home(bucket);
        home.len + if home.has_chain() { self.len_of_chain(bucket) } else { 0 }
    }

    /// Adds an entry to a bucket, and says how many there are now.
    pub(super) fn push_home(&mut self, bucket: Bucket, rest: u32, slot: u32) -> u32 {
        let home = self.home(bucket);
        if home.len < home.room {
            self.put(F::at_home(bucket, home.end()), rest, slot);
            self.set_head(bucket, Home { len: home.len + 1, ..home });
            return home.len + 1;
        }
        let len = if home.has_chain() { self.len_of_chain(bucket) } else { 0 };
        let mut chain = self.chain(bucket, home);
        self.push(&mut chain, len, rest, slot);
        self.set_chain(bucket, home, chain, len + 1);
        home.len + len + 1
    }

    /// Lets go of a bucket's first entry. What comes home from the chain takes its place.
    pub(super) fn pop_home(&mut self, bucket: Bucket) {
        let home = self.home(bucket);
        let left = Home { first: (home.first + 1) % home.room, ..home };
        if !home.has_chain() {
            self.set_head(bucket, Home { len: home.len - 1, ..left });
            return;
        }
        let len = self.len_of_chain(bucket);
        let mut chain = self.chain(bucket, home);
        let (rest, slot) = self.front(chain);
        self.pop(&mut chain, len);
        self.put(F::at_home(bucket, home.first), rest, slot);
        self.set_chain(bucket, left, chain, len - 1);
    }

    fn set_head(&mut self, bucket: Bucket, home: Home) {
        self.set_link(bucket.start, home.pack());
    }

    fn set_chain(&mut self, bucket: Bucket, home: Home, chain: Chain, len: u32) {
        self.set_head(bucket, Home { first_at: chain.first_at, end_at: chain.end_at, ..home });
        self.set_last_of_chain(bucket, chain.last.pack());
        self.set_len_of_chain(bucket, len);
    }
}

/// How large homes are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Homes {
    /// For as many entries as a bucket has on average. Many buckets have a chain of pages beside their home, which takes time to read.
    Tight,
    /// For so many that of random fingerprints few buckets exceed them: a standard deviation and a half more. For speed.
    Roomy,
}

impl Homes {
    /// The home for so many entries on average.
    pub(super) fn size<F: Format>(self, mean: f64) -> Size {
        let reserve = match self {
            Self::Tight => 0.0,
            Self::Roomy => 1.5 * mean.sqrt(),
        };
        let is_enough = |size: &Size| f64::from(size.room) >= mean + reserve;
        let sizes = || (0..).map(F::size).take_while(|size| size.room < 1 << HOME_BITS);
        sizes().find(is_enough).or_else(|| sizes().last()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;
    use crate::index::{
        format::{Narrow, SLOT_LINES, Wide},
        pages::LINK,
    };

    /// No word of a home is used for two things, and none beyond it.
    fn has_room_for_all<F: Format>(home: Size) {
        let bucket = Bucket { start: 5, home };
        let slots_of_line = if F::SPLIT { SLOT_LINES } else { 1 };
        let (lines, slot_lines) =
            (5..5 + home.pages, 5 * slots_of_line..(5 + home.pages) * slots_of_line);
        let store = u32::from(F::SPLIT);
        let mut words = HashMap::from([((0, 5, LINK), "head")]);
        let (last, len) = (F::last_of_chain(bucket), F::len_of_chain(bucket));
        for (word, what) in [((0, last.0, last.1), "last"), ((store, len.0, len.1), "len")] {
            assert!(words.insert(word, what).is_none(), "{what} of {home:?}");
        }
        for place in 0..home.room {
            let Spot { line, at, slot_line, slot_at } = F::at_home(bucket, place);
            assert!(
                lines.contains(&line) && slot_lines.contains(&slot_line),
                "{place} of {home:?}"
            );
            assert!(line - 5 < home.compared && at < F::LEN_AT_HOME && slot_at < 16);
            // Two halves share a word.
            let key = words.insert((0, line, at as usize / 2), "key");
            assert_eq!(key, (at % 2 == 1).then_some("key"), "{place} of {home:?}");
            let slot = words.insert((store, slot_line, slot_at as usize), "slot");
            assert_eq!(slot, None, "{place} of {home:?}");
        }
    }

    #[test]
    fn homes_have_room_for_what_they_promise() {
        let rooms = |size: fn(u32) -> Size| [0, 1, 2, 3, 4, 5].map(|nth| size(nth).room);
        assert_eq!(rooms(Narrow::size), [14, 30, 46, 60, 78, 90]);
        assert_eq!(rooms(Wide::size), [28, 56, 84, 112, 140, 168]);
        (0..68).map(Narrow::size).for_each(has_room_for_all::<Narrow>);
        (0..36).map(Wide::size).for_each(has_room_for_all::<Wide>);
    }

    /// A bucket with a home of this size, beside a queue.
    fn agrees_with_a_queue<F: Format>(home: Size) {
        let Size { compared, room, .. } = home;
        let bucket = Bucket { start: 0, home };
        let mut pages = Pages::<F>::new(home.pages as usize, 40, 20).expect("there is memory");
        let (mut queue, mut next) = (VecDeque::new(), 0);
        // It fills, its home and a chain of more than eight pages, and empties; that again with what is left.
        for wanted in [room / 2, room, room + 12 * F::LEN + 5, room + 1, 3, room + F::LEN, 0, 7] {
            while queue.len() < wanted as usize {
                queue.push_back((next % 0x1_0000, next));
                let crowd = pages.push_home(bucket, next % 0x1_0000, next);
                assert_eq!(crowd as usize, queue.len());
                next += 1;
            }
            while queue.len() > wanted as usize {
                queue.pop_front();
                pages.pop_home(bucket);
                assert_eq!(pages.crowd_at_home(bucket) as usize, queue.len());
            }
            let head = pages.home(bucket);
            let mut found = Vec::new();
            for line in 0..compared {
                let mask = head.mask::<F>(line);
                let here = (0..F::LEN_AT_HOME).filter(|at| mask >> at & 1 == 1);
                let spots = here.map(|at| F::at_home(bucket, line * F::LEN_AT_HOME + at));
                found.extend(spots.map(|spot| (pages.view().rest(spot), pages.view().slot(spot))));
            }
            found.sort_unstable_by_key(|&(_, slot)| slot);
            let at_home = queue.iter().take(room as usize).copied();
            assert_eq!(found, at_home.collect::<Vec<_>>());
            assert_eq!(head.has_chain(), queue.len() > room as usize);
        }
    }

    #[test]
    fn a_bucket_is_a_queue() {
        let largest = Homes::Tight.size::<Narrow>(1e9);
        assert_eq!(largest.room, 1020);
        let sizes = [0, 1, 2, 3, 4].map(Narrow::size).into_iter().chain([largest]);
        sizes.for_each(agrees_with_a_queue::<Narrow>);
        let largest = Homes::Tight.size::<Wide>(1e9);
        assert_eq!(largest.room, 36 * 28);
        [0, 1].map(Wide::size).into_iter().chain([largest]).for_each(agrees_with_a_queue::<Wide>);
    }
}
