//! Compares a cache line of tags at once, with the instructions that the processor has.
//!
//! One of two files with `unsafe` code: calls of functions for instructions that were detected before, and prefetches, which read nothing.
//! Every kernel has a portable twin, with which the tests compare it.

#![allow(unsafe_code, reason = "SIMD instructions and prefetching; a proof is at each block")]

/// A cache line: 28 tags of 16 bits, and two words for the page.
pub(super) type Line = [u32; 16];

/// Tags on a line.
pub(super) const TAGS: u32 = 28;
const ALL_TAGS: u32 = (1 << TAGS) - 1;

/// The kernels for the instructions of this processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Simd {
    /// It has AVX2, POPCNT and BMI.
    avx2: bool,
}

impl Simd {
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        Self { avx2 }
    }

    /// Which tags of a line differ from the lower half of `tag` in at most `radius` bits: a bit each.
    #[inline]
    pub(super) fn near(self, line: &Line, tag: u32, radius: u32) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: the instructions were detected.
            return unsafe { x86::near(line, tag, radius) };
        }
        portable::near(line, tag, radius)
    }

    /// The same for tags of 32 bits, whose lower halves are on one line and upper halves on the other.
    #[inline]
    pub(super) fn near_both(self, low: &Line, high: &Line, tag: u32, radius: u32) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: the instructions were detected.
            return unsafe { x86::near_both(low, high, tag, radius) };
        }
        portable::near_both(low, high, tag, radius)
    }

    /// Passes on the place and the distance of each entry whose fingerprint, its first word, lies within `radius`.
    pub(super) fn scan(
        self,
        entries: &[[u64; 2]],
        fingerprint: u64,
        radius: u32,
        found: impl FnMut(usize, u32),
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: the instructions were detected.
            return unsafe { x86::scan(entries, fingerprint, radius, found) };
        }
        portable::scan(entries, fingerprint, radius, found);
    }
}

#[cfg(test)]
impl Simd {
    /// What every processor of the target has.
    pub(super) const PORTABLE: Self = Self { avx2: false };
}

/// Requests the cache line of a value before it is needed.
#[inline]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing that the program could see, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Half of a word of a line.
#[inline]
pub(super) fn half(line: &Line, at: u32) -> u32 {
    line[at as usize / 2] >> (16 * (at % 2)) & 0xffff
}

mod portable {
    use super::{Line, TAGS, half};

    pub(super) fn near(line: &Line, tag: u32, radius: u32) -> u32 {
        let near = |at| (half(line, at) ^ tag & 0xffff).count_ones() <= radius;
        (0..TAGS).fold(0, |all, at| all | u32::from(near(at)) << at)
    }

    pub(super) fn near_both(low: &Line, high: &Line, tag: u32, radius: u32) -> u32 {
        let near = |at| ((half(low, at) | half(high, at) << 16) ^ tag).count_ones() <= radius;
        (0..TAGS).fold(0, |all, at| all | u32::from(near(at)) << at)
    }

    #[inline]
    pub(super) fn scan(
        entries: &[[u64; 2]],
        fingerprint: u64,
        radius: u32,
        mut found: impl FnMut(usize, u32),
    ) {
        for (chunk, start) in entries.chunks(8).zip((0..).step_by(8)) {
            // Most chunks have none: whether any is near takes no branch for each.
            let distance = |[word, _]: &[u64; 2]| (word ^ fingerprint).count_ones();
            if chunk.iter().fold(false, |any, entry| any | (distance(entry) <= radius)) {
                let distances = chunk.iter().map(distance).zip(start..);
                for (distance, place) in distances.filter(|&(distance, _)| distance <= radius) {
                    found(place, distance);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(clippy::wildcard_imports, reason = "the names of instructions")]

    use std::arch::x86_64::*;

    use super::{ALL_TAGS, Line, portable};

    #[target_feature(enable = "avx2,popcnt,bmi1")]
    pub(super) fn near(line: &Line, tag: u32, radius: u32) -> u32 {
        let [low, high] = differences(line, tag);
        within(low, high, radius)
    }

    #[target_feature(enable = "avx2,popcnt,bmi1")]
    pub(super) fn near_both(low: &Line, high: &Line, tag: u32, radius: u32) -> u32 {
        let ([a, b], [c, d]) = (differences(low, tag), differences(high, tag >> 16));
        within(_mm256_add_epi8(a, c), _mm256_add_epi8(b, d), radius)
    }

    #[target_feature(enable = "avx2,popcnt,bmi1")]
    pub(super) fn scan(
        entries: &[[u64; 2]],
        fingerprint: u64,
        radius: u32,
        found: impl FnMut(usize, u32),
    ) {
        portable::scan(entries, fingerprint, radius, found);
    }

    /// In how many bits each byte of a line differs from its part of the lower half of `tag`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn differences(line: &Line, tag: u32) -> [__m256i; 2] {
        let tag = _mm256_set1_epi32((tag & 0xffff | tag << 16).cast_signed());
        let halves: [__m256i; 2] = bytemuck::cast(*line);
        halves.map(|half| count_bits(_mm256_xor_si256(half, tag)))
    }

    /// How many bits of each byte are set, by looking up four at a time (Muła, Kurz, Lemire 2018, *Faster population counts*).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn count_bits(words: __m256i) -> __m256i {
        let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        ));
        let four = _mm256_set1_epi8(0x0f);
        let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(words, four));
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(words), four);
        _mm256_add_epi8(lower, _mm256_shuffle_epi8(table, upper))
    }

    /// Which of 28 tags have two bytes that add up to at most `radius`: a bit each.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn within(low: __m256i, high: __m256i, radius: u32) -> u32 {
        let ones = _mm256_set1_epi8(1);
        let (low, high) = (_mm256_maddubs_epi16(low, ones), _mm256_maddubs_epi16(high, ones));
        // Packing leaves the quarters in the order 0, 2, 1, 3.
        let counts = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
        let radius = _mm256_set1_epi8(i8::try_from(radius).unwrap_or(i8::MAX));
        !_mm256_movemask_epi8(_mm256_cmpgt_epi8(counts, radius)).cast_unsigned() & ALL_TAGS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn kernels_find_what_portable_code_finds(base: u64, noise: [[u64; 16]; 3], radius in 0..=64_u32) {
            // Few bits are set in the conjunction of three words, so that some are near.
            let word = |i| base ^ noise[0][i] & noise[1][i] & noise[2][i];
            let words: [u64; 16] = std::array::from_fn(word);
            let [low, high]: [Line; 2] = bytemuck::cast(words);
            let [tag, _]: [u32; 2] = bytemuck::cast(base);
            let results = [Simd::detect(), Simd::PORTABLE].map(|simd| {
                let mut found = Vec::new();
                simd.scan(&words.map(|word| [word, 0])[1..], base, radius, |place, distance| found.push((place, distance)));
                (simd.near(&low, tag, radius), simd.near_both(&low, &high, tag, radius), found)
            });
            prop_assert_eq!(&results[0], &results[1]);
            let (near, _, found) = &results[0];
            for at in 0..TAGS {
                let distance = (half(&low, at) ^ tag & 0xffff).count_ones();
                prop_assert_eq!(near >> at & 1 == 1, distance <= radius);
            }
            let expected = words[1..].iter().map(|word| (word ^ base).count_ones()).enumerate();
            prop_assert_eq!(found, &expected.filter(|(_, distance)| *distance <= radius).collect::<Vec<_>>());
        }
    }
}
