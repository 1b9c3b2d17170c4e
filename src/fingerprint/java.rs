//! Fingerprints as computed by the well-known Java class `SimHashUtil`, for comparison with existing ones.
//!
//! Its hash mixes poorly: bit i depends only on the bits up to i of the characters. Do not use it for anything new.

use super::{accumulate::Accumulator, bits::Fingerprint};

/// The hash of a token, over its UTF-16 units; 0 for an empty one.
///
/// ```
/// use pagesieve::fingerprint::java;
///
/// assert_eq!(java::hash(""), 0);
/// assert_eq!(java::hash("a"), (97 << 7) * 1_000_003 ^ 97 ^ 1);
/// ```
#[must_use]
pub fn hash(token: &str) -> u64 {
    let Some(first) = token.encode_utf16().next() else {
        return 0;
    };
    let (hash, length) =
        token.encode_utf16().fold((u64::from(first) << 7, 0), |(hash, length), unit| {
            (hash.wrapping_mul(1_000_003) ^ u64::from(unit), length + 1)
        });
    hash ^ length
}

/// The fingerprint of a segmented text: each occurrence weighs 1, and a tie gives 1. Without tokens all bits are 1.
#[must_use]
pub fn fingerprint<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Fingerprint {
    let mut accumulator = Accumulator::new();
    for token in tokens {
        accumulator.add([hash(token)], 1);
    }
    let sums = accumulator.finish();
    Fingerprint((0..64).filter(|&bit| sums.sum(bit) >= 0).fold(0, |bits, bit| bits | 1 << bit))
}

/// The fingerprint as the class prints it: 64 digits, bit 0 first.
///
/// ```
/// use pagesieve::fingerprint::{Fingerprint, java};
///
/// assert!(java::to_digits(Fingerprint(0b1011)).starts_with("11010000"));
/// ```
#[must_use]
pub fn to_digits(fingerprint: Fingerprint) -> String {
    format!("{:064b}", fingerprint.0.reverse_bits())
}

/// The `radius + 1` blocks by which the class looks up fingerprints: `64 / (radius + 1)` digits each, from bit 0 on, read as a binary
/// number with the first digit highest. Remaining digits (for a radius of 4, 5 or 6) are in no block.
///
/// # Panics
///
/// If `radius` is above 63.
#[must_use]
pub fn blocks(fingerprint: Fingerprint, radius: u32) -> Vec<u64> {
    let width = 64 / (radius + 1);
    assert!(width > 0, "64 bits have at most 64 blocks");
    let digits = fingerprint.0.reverse_bits();
    (0..=radius).map(|block| digits << (block * width) >> (64 - width)).collect()
}
