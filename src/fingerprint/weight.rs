//! How much a feature counts that occurs so many times.

/// The weight of a feature that occurs once. A power of two, because such features are most and cost one addition then.
const ONCE: u128 = 16;

/// Weights of the usual numbers of occurrences.
const USUAL: [u32; 256] = {
    let mut weights = [0; 256];
    let mut occurrences = 1;
    while occurrences < 256 {
        weights[occurrences as usize] = damped(occurrences);
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
#[expect(clippy::cast_possible_truncation, reason = "no weight is above 371")]
const fn damped(occurrences: u32) -> u32 {
    /// `ln 2`, times 2^64.
    const LN_2: u128 = 12_786_308_645_202_655_660;
    let whole = occurrences.ilog2();
    // The mantissa, times 2^63: each time it is squared, it yields a binary digit of the logarithm behind the point.
    let mut mantissa = (occurrences as u128) << (63 - whole);
    let mut log2 = whole as u128;
    let mut digits = 0;
    while digits < 40 {
        mantissa = (mantissa * mantissa) >> 63;
        let digit = mantissa >> 64;
        mantissa >>= digit;
        log2 = log2 << 1 | digit;
        digits += 1;
    }
    let ln = (log2 * LN_2) >> 40;
    // Times 16, half added, and what is behind the point dropped.
    ((((1 << 64) + ln) * ONCE + (1 << 63)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_logarithms() {
        for occurrences in (1..100_000).chain((100_000..=u32::MAX).step_by(9_973)) {
            let exact = 16.0 * (1.0 + f64::from(occurrences).ln());
            assert!((f64::from(weight(occurrences)) - exact).abs() <= 0.5, "{occurrences}");
        }
        assert_eq!([1, 2, 3, 10, u32::MAX].map(weight), [16, 27, 34, 53, 371]);
    }
}
