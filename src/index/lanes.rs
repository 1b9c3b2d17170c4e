//! Comparing a cache line at once: the instructions that the processor has, found at run time.
//!
//! The one file with `unsafe` code. What is proved at each block is of three kinds: an instruction set was detected before the
//! witness of it was made; a load reads an array of just its size; a prefetch reads nothing. Every function has a safe
//! twin, [`Portable`], with which the tests compare it.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "lanes are halves of words")]
#![allow(unsafe_code, reason = "vector instructions and prefetching; a proof stands at each block")]

use super::portable::Portable;

/// Comparisons of many fingerprints, or parts of them, with one.
pub(super) trait Lanes: Copy {
    /// Does this with these instructions; where they are not those that every processor has, as a function of its own.
    fn run<W: Work>(self, work: W) -> W::Output;
    /// Which of the first ten halves of words differ from the lower half of `rest` in at most `radius` bits.
    fn near_ten(self, line: &[u32; 16], rest: u32, radius: u32) -> u32;
    /// Which of the first 30 halves of words differ from the lower half of `rest` in at most `radius` bits.
    fn near_halves(self, line: &[u32; 16], rest: u32, radius: u32) -> u32;
    /// Which of the first 28 pairs of halves, one from each line, differ from the lower and the upper half of `rest` in at most
    /// `radius` bits together.
    fn near_pairs(self, lines: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32;
    /// Which words differ from `fingerprint` in at most `radius` bits.
    fn near_fingerprints(self, words: &[u64; 8], fingerprint: u64, radius: u32) -> u32;
}

/// Work that is compiled once for each instruction set.
pub(super) trait Work {
    type Output;
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// The best instruction set of this processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// What every processor of the target has.
    Portable(Portable),
    /// Vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// Vectors of 512 bits, counted by one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Level {
    /// All that this processor has, the best first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vectors =
            [x86::Avx512::detect().map(Self::Avx512), x86::Avx2::detect().map(Self::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let vectors: [Option<Self>; 0] = [];
        vectors.into_iter().flatten().chain([Self::Portable(Portable)])
    }

    pub(super) fn best() -> Self {
        Self::all().next().unwrap_or(Self::Portable(Portable))
    }

    #[inline]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable(lanes) => lanes.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(lanes) => lanes.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(lanes) => lanes.run(work),
        }
    }
}

/// Asks for the cache line of a value before it is needed.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses nothing that the program could see, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(clippy::wildcard_imports, reason = "the names of instructions")]

    use std::arch::x86_64::*;

    use super::{Lanes, Work};

    /// The first 28 and the first 30 of 32 bits.
    const FIRST_28: u32 = (1 << 28) - 1;
    const FIRST_30: u32 = (1 << 30) - 1;

    /// The processor has AVX2, POPCNT and BMI.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) struct Avx2(());

    /// The processor has AVX-512 with population counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) struct Avx512(());

    impl Avx2 {
        pub(super) fn detect() -> Option<Self> {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("bmi1");
            all.then_some(Self(()))
        }
    }

    impl Avx512 {
        pub(super) fn detect() -> Option<Self> {
            let all = Avx2::detect().is_some()
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bitalg")
                && is_x86_feature_detected!("avx512vpopcntdq");
            all.then_some(Self(()))
        }
    }

    #[target_feature(enable = "avx2,popcnt,bmi1")]
    fn with_avx2<W: Work>(lanes: Avx2, work: W) -> W::Output {
        work.run(lanes)
    }

    #[target_feature(
        enable = "avx2,popcnt,bmi1,avx512f,avx512bw,avx512vl,avx512bitalg,avx512vpopcntdq"
    )]
    fn with_avx512<W: Work>(lanes: Avx512, work: W) -> W::Output {
        work.run(lanes)
    }

    /// How many bits of each byte are set: twice a look-up of four bits (Muła, Kurz, Lemire 2018, *Faster population counts*).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn count_bytes(words: __m256i) -> __m256i {
        let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        ));
        let low = _mm256_set1_epi8(0x0f);
        let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(words, low));
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(words), low);
        _mm256_add_epi8(lower, _mm256_shuffle_epi8(table, upper))
    }

    /// In how many bits each half of these words differs from one.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn differing(words: &[u32; 8], half: u32) -> __m256i {
        // SAFETY: the array has the 32 bytes that are read.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        count_bytes(_mm256_xor_si256(words, _mm256_set1_epi16((half as u16).cast_signed())))
    }

    /// Which of 32 halves have two bytes that add up to at most `radius`: a bit each.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn halves_within(low: __m256i, high: __m256i, radius: u32) -> u32 {
        let ones = _mm256_set1_epi8(1);
        let (low, high) = (_mm256_maddubs_epi16(low, ones), _mm256_maddubs_epi16(high, ones));
        // Packing leaves the quarters in the order 0, 2, 1, 3.
        let counts = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
        let beyond = _mm256_cmpgt_epi8(counts, _mm256_set1_epi8((radius as u8).cast_signed()));
        !_mm256_movemask_epi8(beyond).cast_unsigned()
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn near_four(words: &[u64; 4], fingerprint: u64, radius: u32) -> u32 {
        // SAFETY: the array has the 32 bytes that are read.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let difference = _mm256_xor_si256(words, _mm256_set1_epi64x(fingerprint.cast_signed()));
        let counts = _mm256_sad_epu8(count_bytes(difference), _mm256_setzero_si256());
        let beyond = _mm256_cmpgt_epi64(counts, _mm256_set1_epi64x(i64::from(radius)));
        !_mm256_movemask_pd(_mm256_castsi256_pd(beyond)).cast_unsigned() & 0xf
    }

    impl Lanes for Avx2 {
        #[inline]
        fn run<W: Work>(self, work: W) -> W::Output {
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { with_avx2(self, work) }
        }

        #[inline(always)]
        fn near_ten(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx2,popcnt,bmi1")]
            #[inline]
            fn near(line: &[u32; 8], rest: u32, radius: u32) -> u32 {
                let counts = _mm256_maddubs_epi16(differing(line, rest), _mm256_set1_epi8(1));
                let counts = _mm_packs_epi16(
                    _mm256_castsi256_si128(counts),
                    _mm256_extracti128_si256::<1>(counts),
                );
                let beyond = _mm_cmpgt_epi8(counts, _mm_set1_epi8((radius as u8).cast_signed()));
                !_mm_movemask_epi8(beyond).cast_unsigned() & 0x3ff
            }
            let (low, _) = halves(line);
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(low, rest, radius) }
        }

        #[inline(always)]
        fn near_halves(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx2,popcnt,bmi1")]
            #[inline]
            fn near(line: &[u32; 16], rest: u32, radius: u32) -> u32 {
                let (low, high) = halves(line);
                halves_within(differing(low, rest), differing(high, rest), radius) & FIRST_30
            }
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(line, rest, radius) }
        }

        #[inline(always)]
        fn near_pairs(self, lines: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx2,popcnt,bmi1")]
            #[inline]
            fn near(lines: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32 {
                let [(low, high), (more_low, more_high)] = lines.map(halves);
                let low = _mm256_add_epi8(differing(low, rest), differing(more_low, rest >> 16));
                let high = _mm256_add_epi8(differing(high, rest), differing(more_high, rest >> 16));
                halves_within(low, high, radius) & FIRST_28
            }
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(lines, rest, radius) }
        }

        #[inline(always)]
        fn near_fingerprints(self, words: &[u64; 8], fingerprint: u64, radius: u32) -> u32 {
            let (low, high) = quarters(words);
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe {
                near_four(low, fingerprint, radius) | near_four(high, fingerprint, radius) << 4
            }
        }
    }

    /// In how many bits each half of the words of a line differs from one.
    #[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
    #[inline]
    fn differing_of_line(line: &[u32; 16], half: u32) -> __m512i {
        // SAFETY: the array has the 64 bytes that are read.
        let words = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        let asked = _mm512_set1_epi16((half as u16).cast_signed());
        _mm512_popcnt_epi16(_mm512_xor_si512(words, asked))
    }

    /// A bit for each of 32 halves that counts at most `radius`.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn counts_within(counts: __m512i, radius: u32) -> u32 {
        let radius = _mm512_set1_epi16((radius as u16).cast_signed());
        _mm512_cmple_epu16_mask(counts, radius)
    }

    impl Lanes for Avx512 {
        #[inline]
        fn run<W: Work>(self, work: W) -> W::Output {
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { with_avx512(self, work) }
        }

        #[inline(always)]
        fn near_ten(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512bitalg")]
            #[inline]
            fn near(line: &[u32; 8], rest: u32, radius: u32) -> u32 {
                // SAFETY: the array has the 32 bytes that are read.
                let halves = unsafe { _mm256_loadu_si256(line.as_ptr().cast()) };
                let asked = _mm256_set1_epi16((rest as u16).cast_signed());
                let counts = _mm256_popcnt_epi16(_mm256_xor_si256(halves, asked));
                let radius = _mm256_set1_epi16((radius as u16).cast_signed());
                u32::from(_mm256_cmple_epu16_mask(counts, radius)) & 0x3ff
            }
            let (low, _) = halves(line);
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(low, rest, radius) }
        }

        #[inline(always)]
        fn near_halves(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
            #[inline]
            fn near(line: &[u32; 16], rest: u32, radius: u32) -> u32 {
                counts_within(differing_of_line(line, rest), radius) & FIRST_30
            }
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(line, rest, radius) }
        }

        #[inline(always)]
        fn near_pairs(self, lines: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32 {
            #[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
            #[inline]
            fn near([low, high]: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32 {
                let (low, high) =
                    (differing_of_line(low, rest), differing_of_line(high, rest >> 16));
                counts_within(_mm512_add_epi16(low, high), radius) & FIRST_28
            }
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(lines, rest, radius) }
        }

        #[inline(always)]
        fn near_fingerprints(self, words: &[u64; 8], fingerprint: u64, radius: u32) -> u32 {
            #[target_feature(enable = "avx512f,avx512vpopcntdq")]
            #[inline]
            fn near(words: &[u64; 8], fingerprint: u64, radius: u32) -> u32 {
                // SAFETY: the array has the 64 bytes that are read.
                let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
                let asked = _mm512_set1_epi64(fingerprint.cast_signed());
                let counts = _mm512_popcnt_epi64(_mm512_xor_si512(words, asked));
                let radius = _mm512_set1_epi64(i64::from(radius));
                u32::from(_mm512_cmple_epu64_mask(counts, radius))
            }
            // SAFETY: the witness `self` proves that the processor has these instructions.
            unsafe { near(words, fingerprint, radius) }
        }
    }

    #[inline(always)]
    fn halves(line: &[u32; 16]) -> (&[u32; 8], &[u32; 8]) {
        let (halves, _) = line.as_chunks();
        (&halves[0], &halves[1])
    }

    #[inline(always)]
    fn quarters(words: &[u64; 8]) -> (&[u64; 4], &[u64; 4]) {
        let (halves, _) = words.as_chunks();
        (&halves[0], &halves[1])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Compare<'a>([&'a [u64; 8]; 2], u64, u32);

    impl Work for Compare<'_> {
        type Output = [u32; 4];

        fn run<L: Lanes>(self, lanes: L) -> [u32; 4] {
            let pair: [&[u32; 16]; 2] = self.0.map(bytemuck::cast_ref);
            [
                lanes.near_ten(pair[0], self.1 as u32, self.2),
                lanes.near_halves(pair[0], self.1 as u32, self.2),
                lanes.near_pairs(pair, self.1 as u32, self.2),
                lanes.near_fingerprints(self.0[0], self.1, self.2),
            ]
        }
    }

    proptest! {
        #[test]
        fn every_instruction_set_finds_what_plain_rust_finds(base: u64, noise: [[u64; 16]; 3], radius in 0..=64_u32) {
            // Few bits are set in the conjunction of three words, so that some are near.
            let word = |i| base ^ noise[0][i] & noise[1][i] & noise[2][i];
            let words = [std::array::from_fn(word), std::array::from_fn(|i| word(8 + i))];
            let pair = [&words[0], &words[1]];
            let expected = Compare(pair, base, radius).run(Portable);
            for level in Level::all() {
                prop_assert_eq!(level.run(Compare(pair, base, radius)), expected, "{:?}", level);
            }
        }
    }
}
