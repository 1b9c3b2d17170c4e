//! Comparing a cache line in plain Rust: the twin of what vector instructions do.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]

use super::lanes::{Lanes, Work};

/// A half of a word, in the order in which they lie on a line.
#[inline(always)]
fn half(line: &[u32; 16], i: usize) -> u32 {
    line[i / 2] >> (16 * (i % 2)) & 0xffff
}

/// Plain Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portable;

impl Lanes for Portable {
    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }

    #[inline(always)]
    fn near_ten(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
        let near = |i| (half(line, i) ^ rest & 0xffff).count_ones() <= radius;
        (0..10).fold(0, |all, i| all | u32::from(near(i)) << i)
    }

    #[inline(always)]
    fn near_halves(self, line: &[u32; 16], rest: u32, radius: u32) -> u32 {
        let near = |i| (half(line, i) ^ rest & 0xffff).count_ones() <= radius;
        (0..30).fold(0, |all, i| all | u32::from(near(i)) << i)
    }

    #[inline(always)]
    fn near_pairs(self, [low, high]: [&[u32; 16]; 2], rest: u32, radius: u32) -> u32 {
        let near = |i| ((half(low, i) | half(high, i) << 16) ^ rest).count_ones() <= radius;
        (0..28).fold(0, |all, i| all | u32::from(near(i)) << i)
    }

    #[inline(always)]
    fn near_fingerprints(self, words: &[u64; 8], fingerprint: u64, radius: u32) -> u32 {
        (0..8)
            .fold(0, |all, i| all | u32::from((words[i] ^ fingerprint).count_ones() <= radius) << i)
    }
}
