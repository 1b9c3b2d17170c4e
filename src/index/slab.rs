//! Memory in large pieces that never move.
//!
//! A piece is mapped when room is made for a window, or when it is first needed, and takes memory page by page as it is touched: growth
//! copies nothing, and a large window costs nothing before it fills. Pages of 2 MiB are asked for where the system has them: look-ups go to
//! random places, and with small pages each would miss the translation cache as well.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use std::{io, iter, marker::PhantomData};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Memory that the system refuses, though the budget allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system refuses {} of memory ({system})", bytesize::ByteSize(*.bytes).display().iec())]
pub struct RefusedError {
    /// Bytes that the index takes at most.
    pub bytes: u64,
    /// What the system says.
    pub system: io::ErrorKind,
}

/// Bytes of a piece.
const PIECE: usize = 32 << 20;
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Values without gaps, known by their place, that start as zeros.
#[derive(Debug)]
pub(super) struct Slab<T> {
    pieces: Vec<MmapMut>,
    len: usize,
    value: PhantomData<T>,
}

impl<T: Pod> Slab<T> {
    const PER_PIECE: usize = PIECE / size_of::<T>();

    pub(super) fn new() -> Self {
        const { assert!(PIECE.is_multiple_of(size_of::<T>()), "values do not straddle pieces") };
        Self { pieces: Vec::new(), len: 0, value: PhantomData }
    }

    /// So many zeros, and no room for more.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn with_len(len: usize) -> io::Result<Self> {
        let mut slab = Self::new();
        slab.len = len;
        let mut bytes = len * size_of::<T>();
        while bytes > 0 {
            slab.pieces.push(map(bytes.min(PIECE))?);
            bytes -= bytes.min(PIECE);
        }
        Ok(slab)
    }

    /// No values, and room for so many: none of it is taken until they are there, but the system can refuse it only now.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn with_room(len: usize) -> io::Result<Self> {
        let mut slab = Self::new();
        while slab.pieces.len() * Self::PER_PIECE < len {
            slab.pieces.push(map(PIECE)?);
        }
        Ok(slab)
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
        while self.pieces.len() * Self::PER_PIECE < self.len {
            self.pieces.push(map_or_panic(PIECE));
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> &T {
        let piece: &[T] = bytemuck::cast_slice(&self.pieces[place / Self::PER_PIECE]);
        &piece[place % Self::PER_PIECE]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: usize) -> &mut T {
        let piece: &mut [T] = bytemuck::cast_slice_mut(&mut self.pieces[place / Self::PER_PIECE]);
        &mut piece[place % Self::PER_PIECE]
    }

    /// `len` values from `start` on, which lie in one piece.
    pub(super) fn run(&self, start: usize, len: usize) -> &[T] {
        let piece: &[T] = bytemuck::cast_slice(&self.pieces[start / Self::PER_PIECE]);
        &piece[start % Self::PER_PIECE..][..len]
    }
}

impl<T: Pod> Clone for Slab<T> {
    fn clone(&self) -> Self {
        let mut copy = Self { len: self.len, ..Self::new() };
        copy.pieces.extend(self.pieces.iter().map(|piece| map_or_panic(piece.len())));
        let used = self.len * size_of::<T>();
        let starts = iter::successors(Some(0), |start| Some(start + PIECE));
        for ((to, from), start) in copy.pieces.iter_mut().zip(&self.pieces).zip(starts) {
            let bytes = used.saturating_sub(start).min(PIECE);
            to[..bytes].copy_from_slice(&from[..bytes]);
        }
        copy
    }
}

/// Asks whether the system would give so much: it refuses more than it could ever have, or than the process may have.
pub(super) fn probe(bytes: u64) -> io::Result<()> {
    let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    MmapMut::map_anon(bytes).map(drop)
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
