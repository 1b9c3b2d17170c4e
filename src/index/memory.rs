//! Memory that starts as zeros and is taken when it is first written.
//!
//! A large window costs nothing before it fills. Huge pages (2 MiB) are requested where the system has them: queries read random places,
//! and with small pages each read would also miss the address translation cache.

use std::{
    io,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::Pod;
use memmap2::MmapMut;

/// The system refuses memory that the budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system refused to allocate an index of at least {} ({system})", bytesize::ByteSize(*.bytes).display().iec())]
#[non_exhaustive]
pub struct RefusedError {
    /// Bytes that the index takes at least.
    pub bytes: u64,
    /// The system's reason.
    pub system: io::ErrorKind,
}

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes that are copied at a time.
const SMALL_PAGE: usize = 4 << 10;

/// A fixed number of values in a mapping of their own.
#[derive(Debug)]
pub(super) struct Region<T> {
    bytes: MmapMut,
    values: PhantomData<T>,
}

impl<T: Pod> Region<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let bytes = MmapMut::map_anon(bytes)?;
        #[cfg(target_os = "linux")]
        if bytes.len() >= HUGE_PAGE {
            // Without huge pages queries only take longer.
            let _ = bytes.advise(memmap2::Advice::HugePage);
        }
        Ok(Self { bytes, values: PhantomData })
    }

    /// Takes the huge page with this number from the system now, as the first write to it would. If there are fewer, subtracts
    /// their number from it.
    pub(super) fn touch(&mut self, nth: &mut usize) -> bool {
        let pages = self.bytes.len().div_ceil(HUGE_PAGE);
        if *nth >= pages {
            *nth -= pages;
            return false;
        }
        touch(&mut self.bytes[*nth * HUGE_PAGE]);
        true
    }
}

impl<T: Pod> Deref for Region<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Pod> DerefMut for Region<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}

impl<T: Pod> Clone for Region<T> {
    /// What is still zero is not written, and takes no memory.
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len()).expect("the system has memory for a copy");
        let zeros = [0; SMALL_PAGE];
        for (to, from) in copy.bytes.chunks_mut(SMALL_PAGE).zip(self.bytes.chunks(SMALL_PAGE)) {
            if *from != zeros[..from.len()] {
                to.copy_from_slice(from);
            }
        }
        copy
    }
}

/// Takes the memory of a value from the system, as the first write to it would.
pub(super) fn touch<T: Pod>(value: &mut T) {
    *value = std::hint::black_box(*value);
}

/// Asks whether the system would give `bytes` bytes.
pub(super) fn probe(bytes: u64) -> io::Result<()> {
    // More than any address space has is refused with the same error.
    let bytes = isize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    MmapMut::map_anon(bytes.unsigned_abs()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_and_copying_change_nothing() {
        let per_page = HUGE_PAGE / size_of::<u64>();
        let mut region = Region::<u64>::new(2 * per_page + 1).expect("there is memory");
        (region[0], region[2 * per_page]) = (3, 5);
        let touched: Vec<bool> = (0..4).map(|nth| region.touch(&mut { nth })).collect();
        assert_eq!(touched, [true, true, true, false]);
        for region in [&region, &region.clone()] {
            let set: Vec<usize> = (0..region.len()).filter(|&place| region[place] != 0).collect();
            assert_eq!(set, [0, 2 * per_page]);
        }
    }
}
