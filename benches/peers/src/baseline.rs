//! What is compared with: the plain scheme of four blocks of 16 bits, as fast as it can be made.
//!
//! Whole fingerprints lie side by side in each bucket, so that a bucket is read as one stretch of memory, on pages of 2 MiB; the
//! window rolls, because every bucket is a ring whose oldest fingerprint leaves first. It does not say which document was
//! found: a real index must, and pays for it.

use memmap2::{Advice, MmapMut};

const BUCKETS: usize = 1 << 16;

pub(crate) struct Baseline {
    /// All buckets of all blocks, each of `capacity`.
    words: MmapMut,
    capacity: usize,
    /// Where each ring begins, and how many fingerprints it has.
    rings: Vec<(u32, u32)>,
    instructions: Instructions,
}

impl Baseline {
    /// For as many random fingerprints.
    pub(crate) fn new(entries: u64) -> Self {
        // No bucket of random fingerprints ever exceeds its mean by 7 standard deviations.
        let mean = entries as f64 / BUCKETS as f64;
        let capacity = ((mean + 7.0 * mean.sqrt()) as usize + 16).next_multiple_of(8);
        let words = MmapMut::map_anon(4 * BUCKETS * capacity * 8).expect("there is memory");
        words.advise(Advice::HugePage).expect("there are large pages");
        let rings = vec![(0, 0); 4 * BUCKETS];
        Self { words, capacity, rings, instructions: Instructions::detect() }
    }

    fn places(fingerprint: u64) -> [usize; 4] {
        std::array::from_fn(|i| i * BUCKETS + (fingerprint >> (16 * i) & 0xffff) as usize)
    }

    pub(crate) fn insert(&mut self, fingerprint: u64) {
        let words: &mut [u64] = bytemuck::cast_slice_mut(&mut self.words);
        for place in Self::places(fingerprint) {
            let (first, len) = &mut self.rings[place];
            let at = (*first + *len) as usize % self.capacity;
            words[place * self.capacity + at] = fingerprint;
            *len += 1;
            assert!(*len as usize <= self.capacity, "the fingerprints are not random");
        }
    }

    pub(crate) fn expire(&mut self, fingerprint: u64) {
        for place in Self::places(fingerprint) {
            let (first, len) = &mut self.rings[place];
            *first = (*first + 1) % self.capacity as u32;
            *len -= 1;
        }
    }

    /// How many fingerprints lie within `radius` of each of these. Those found in several blocks count once.
    pub(crate) fn count_all(&self, fingerprints: &[u64], radius: u32) -> u64 {
        for &fingerprint in fingerprints {
            for place in Self::places(fingerprint) {
                prefetch(&self.rings[place]);
            }
        }
        for &fingerprint in fingerprints {
            for place in Self::places(fingerprint) {
                let (older, newer) = self.bucket(place);
                for line in older.chunks(8).chain(newer.chunks(8)).take(4) {
                    prefetch(&line[0]);
                }
            }
        }
        fingerprints.iter().map(|&fingerprint| self.count(fingerprint, radius)).sum()
    }

    fn count(&self, fingerprint: u64, radius: u32) -> u64 {
        let mut count = 0;
        for (block, place) in Self::places(fingerprint).into_iter().enumerate() {
            let (older, newer) = self.bucket(place);
            for words in [older, newer] {
                count += count_in(self.instructions, words, fingerprint, radius, block);
            }
        }
        count
    }

    fn bucket(&self, place: usize) -> (&[u64], &[u64]) {
        let words: &[u64] = bytemuck::cast_slice(&self.words);
        let (first, len) = self.rings[place];
        let (first, len) = (first as usize, len as usize);
        let ring = &words[place * self.capacity..][..self.capacity];
        let older = len.min(self.capacity - first);
        (&ring[first..][..older], &ring[..len - older])
    }
}

/// Instructions with which fingerprints are compared: the same that the index uses, found at run time in the same way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instructions {
    Plain,
    Avx2,
    Avx512,
}

impl Instructions {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("popcnt") && has!("bmi1");
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            let counts = has!("avx512dq") && has!("avx512bitalg") && has!("avx512vpopcntdq");
            if avx2 && avx512 && counts {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Plain
    }
}

/// The fingerprints of `words` within the radius that no block before `block` has found.
fn count_in(
    instructions: Instructions,
    words: &[u64],
    fingerprint: u64,
    radius: u32,
    block: usize,
) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,popcnt,bmi1"
        )]
        fn avx512(words: &[u64], fingerprint: u64, radius: u32, block: usize) -> u64 {
            count_plain(words, fingerprint, radius, block)
        }
        #[target_feature(enable = "avx2,popcnt,bmi1")]
        fn avx2(words: &[u64], fingerprint: u64, radius: u32, block: usize) -> u64 {
            count_plain(words, fingerprint, radius, block)
        }
        #[expect(unsafe_code, reason = "the instructions were detected before")]
        // SAFETY: the processor has these instructions.
        match instructions {
            Instructions::Avx512 => return unsafe { avx512(words, fingerprint, radius, block) },
            Instructions::Avx2 => return unsafe { avx2(words, fingerprint, radius, block) },
            Instructions::Plain => {}
        }
    }
    count_plain(words, fingerprint, radius, block)
}

#[expect(clippy::inline_always, reason = "part of what is compiled for each instruction set")]
#[inline(always)]
fn count_plain(words: &[u64], fingerprint: u64, radius: u32, block: usize) -> u64 {
    let mut count = 0;
    for words in words.chunks(32) {
        let near = |word: &u64| u64::from((word ^ fingerprint).count_ones() <= radius);
        if words.iter().map(near).sum::<u64>() > 0 {
            for word in words {
                let difference = word ^ fingerprint;
                let found_before =
                    (0..block).any(|i| (difference >> (16 * i)).trailing_zeros() >= 16);
                count += u64::from(difference.count_ones() <= radius && !found_before);
            }
        }
    }
    count
}

fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "a prefetch accesses nothing that the program could see")]
    // SAFETY: as said.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
