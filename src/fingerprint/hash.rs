//! Token to 64 bits, two tokens to 64, 64 bits to 256. See the recipe in [`super`].

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::seed::HashSeed;

/// 2^64 divided by the golden ratio, odd: the step of `SplitMix64`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a token.
#[inline]
pub(super) fn token(token: &str, seed: HashSeed) -> u64 {
    xxh3_64_with_seed(token.as_bytes(), seed.0)
}

/// The hash of two tokens in this order.
#[inline]
pub(super) fn pair(first: u64, second: u64) -> u64 {
    mix(first.wrapping_mul(STEP).rotate_left(32).wrapping_add(second))
}

/// A feature's hash as 256 bits, the hash itself first.
#[inline]
pub(super) fn expand(hash: u64) -> [u64; 4] {
    [0, 1, 2, 3]
        .map(|word| if word == 0 { hash } else { mix(hash.wrapping_add(STEP.wrapping_mul(word))) })
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
