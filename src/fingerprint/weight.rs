//! How much a feature counts that occurs so many times.

/// The weight of a feature that occurs once. A power of two, because such features are most and cost one addition then.
const ONCE: u64 = 16;

/// Weights of the usual numbers of occurrences.
const USUAL: [u32; 256] = {
    let mut weights = [0; 256];
    let mut occurrences = 1;
    while occurrences < weights.len() {
        weights[occurrences] = damped(occurrences as u32);
        occurrences += 1;
    }
    weights
};

/// Sixteen times `1 + ln occurrences`, rounded: 16 for one occurrence, 371 for 2^32.
///
/// Damped, because plain term frequency makes long texts alike that share no more than the frequent words of their language.
#[inline]
pub(super) fn weight(occurrences: u32) -> u32 {
    USUAL.get(occurrences as usize).copied().unwrap_or_else(|| damped(occurrences))
}

/// In whole numbers, because logarithms may differ between machines in the last digit.
const fn damped(occurrences: u32) -> u32 {
    /// `ln 2`, times 2^32.
    const LN_2: u64 = 2_977_044_472;
    let whole = occurrences.ilog2();
    // The mantissa as a fraction of 2^31; squaring it gives one binary digit of its logarithm after the other.
    let mut mantissa = (occurrences as u64) << (31 - whole);
    let mut log2 = whole as u64;
    let mut digit = 0;
    while digit < 24 {
        mantissa = (mantissa * mantissa) >> 31;
        log2 = log2 << 1 | mantissa >> 32;
        mantissa >>= mantissa >> 32;
        digit += 1;
    }
    let ln = (log2 * LN_2) >> 24;
    (((1 << 32) + ln) * ONCE + (1 << 31) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_logarithms() {
        for occurrences in (1..100_000).chain((100_000..=u32::MAX).step_by(9_973)) {
            let exact = 16.0 * (1.0 + f64::from(occurrences).ln());
            assert_eq!(f64::from(weight(occurrences)), exact.round(), "{occurrences}");
        }
        assert_eq!([1, 2, 3, 10, u32::MAX].map(weight), [16, 27, 34, 53, 371]);
    }
}
