//! Memory in large pieces that never move.
//!
//! What a window is planned to need is one piece, mapped when room is made for it; a window that outgrows its plan takes others. A piece
//! takes memory page by page as it is touched: growth copies nothing, and a large window costs nothing before it fills. Pages of 2 MiB are
//! asked for where the system has them: look-ups go to random places, and with small pages each would miss the translation cache as well.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use std::{io, marker::PhantomData};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Memory that the system refuses, though the budget allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system refuses memory for an index of at least {} ({system})", bytesize::ByteSize(*.bytes).display().iec())]
pub struct RefusedError {
    /// Bytes that the index takes at least.
    pub bytes: u64,
    /// What the system says.
    pub system: io::ErrorKind,
}

/// Bytes of a piece beyond the first.
const PIECE: usize = 32 << 20;
/// Bytes that the system gives at a time where it has large pages.
const LARGE_PAGE: usize = 2 << 20;

/// Values without gaps, known by their place, that start as zeros.
#[derive(Debug)]
pub(super) struct Slab<T> {
    planned: MmapMut,
    others: Vec<MmapMut>,
    len: usize,
    value: PhantomData<T>,
}

impl<T: Pod> Slab<T> {
    const PER_PIECE: usize = PIECE / size_of::<T>();

    /// No values, and room for so many: none of it is taken until they are there, but the system can refuse it only now.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn with_room(len: usize) -> io::Result<Self> {
        const { assert!(PIECE.is_multiple_of(size_of::<T>()), "values do not straddle pieces") };
        let bytes = len.max(1).checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { planned: map(bytes)?, others: Vec::new(), len: 0, value: PhantomData })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds `n` zeros.
    ///
    /// # Panics
    /// If there is no room and the system refuses more, like every allocation.
    pub(super) fn grow(&mut self, n: usize) {
        self.len += n;
        while self.planned().len() + self.others.len() * Self::PER_PIECE < self.len {
            self.others.push(map_or_panic(PIECE));
        }
    }

    /// On how many large pages those values lie at most for which room was made at first. (They may begin in the middle of one.)
    pub(super) fn large_pages(&self) -> usize {
        if self.planned_len() == 0 { 0 } else { self.planned_len() / LARGE_PAGE + 2 }
    }

    /// Takes one of them from the system, as the first value on it would.
    pub(super) fn take_large_page(&mut self, nth: usize) {
        let last = self.planned_len() - 1;
        let byte = &mut self.planned[last.min(nth * LARGE_PAGE)];
        *byte = std::hint::black_box(*byte);
    }

    /// Bytes that are in use of those for which room was made at first.
    fn planned_len(&self) -> usize {
        (self.len * size_of::<T>()).min(self.planned.len())
    }

    /// The values for which room was made at first, or zeros.
    #[inline(always)]
    pub(super) fn planned(&self) -> &[T] {
        bytemuck::cast_slice(&self.planned)
    }

    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> &T {
        let planned = self.planned();
        match planned.get(place) {
            Some(value) => value,
            None => self.beyond(place - planned.len()),
        }
    }

    #[cold]
    fn beyond(&self, place: usize) -> &T {
        let piece: &[T] = bytemuck::cast_slice(&self.others[place / Self::PER_PIECE]);
        &piece[place % Self::PER_PIECE]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: usize) -> &mut T {
        let planned = self.planned().len();
        let (piece, place) = match place.checked_sub(planned) {
            None => (&mut self.planned, place),
            Some(beyond) => (&mut self.others[beyond / Self::PER_PIECE], beyond % Self::PER_PIECE),
        };
        &mut bytemuck::cast_slice_mut(piece)[place]
    }

    /// `len` values from `start` on, which lie in one piece.
    pub(super) fn run(&self, start: usize, len: usize) -> &[T] {
        match start.checked_sub(self.planned().len()) {
            None => &self.planned()[start..][..len],
            Some(beyond) => {
                let piece = bytemuck::cast_slice(&self.others[beyond / Self::PER_PIECE]);
                &piece[beyond % Self::PER_PIECE..][..len]
            }
        }
    }
}

impl<T: Pod> Clone for Slab<T> {
    fn clone(&self) -> Self {
        let copied = |piece: &MmapMut, values: usize| {
            let mut copy = map_or_panic(piece.len());
            let bytes = (values * size_of::<T>()).min(piece.len());
            copy[..bytes].copy_from_slice(&piece[..bytes]);
            copy
        };
        let beyond = self.len.saturating_sub(self.planned().len());
        let left = |nth: usize| beyond.saturating_sub(nth * Self::PER_PIECE);
        let others = self.others.iter().enumerate().map(|(nth, piece)| copied(piece, left(nth)));
        Self {
            planned: copied(&self.planned, self.len),
            others: others.collect(),
            len: self.len,
            value: PhantomData,
        }
    }
}

/// Asks whether the system would give so much: it refuses more than it could ever have, or than the process may have.
pub(super) fn probe(bytes: u64) -> io::Result<()> {
    // More than any address space has is refused in the same words.
    let bytes = isize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    MmapMut::map_anon(bytes.unsigned_abs()).map(drop)
}

fn map(bytes: usize) -> io::Result<MmapMut> {
    let piece = MmapMut::map_anon(bytes)?;
    #[cfg(target_os = "linux")]
    if bytes >= LARGE_PAGE
        && let Err(error) = piece.advise(memmap2::Advice::HugePage)
    {
        tracing::debug!(%error, "the system has no large pages");
    }
    Ok(piece)
}

fn map_or_panic(bytes: usize) -> MmapMut {
    map(bytes).unwrap_or_else(|error| {
        panic!("the system refuses the index {bytes} bytes more of memory: {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_large_pages_changes_nothing() {
        let per_page = LARGE_PAGE / size_of::<u64>();
        let mut slab = Slab::<u64>::with_room(4 * per_page).expect("there is memory");
        assert_eq!(slab.large_pages(), 0);
        slab.grow(2 * per_page + 1);
        *slab.get_mut(0) = 3;
        *slab.get_mut(2 * per_page) = 5;
        // The last is one more, for a piece that begins in the middle of a page.
        assert_eq!(slab.large_pages(), 4);
        (0..4).for_each(|nth| slab.take_large_page(nth));
        let set = (0..slab.len()).filter(|&place| *slab.get(place) != 0);
        assert_eq!(set.collect::<Vec<_>>(), [0, 2 * per_page]);
    }

    #[test]
    fn what_was_not_planned_is_not_taken_beforehand() {
        let mut slab = Slab::<u64>::with_room(10).expect("there is memory");
        slab.grow(100_000_000);
        assert_eq!(slab.large_pages(), 2);
        (0..2).for_each(|nth| slab.take_large_page(nth));
    }
}
