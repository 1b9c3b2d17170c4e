//! Numbers without structure.

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014, *Fast splittable pseudorandom number generators*).
pub(crate) fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
