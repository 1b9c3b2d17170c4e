//! How much a feature counts that occurs so many times.

/// The weight of a token that occurs once. More than that of a pair: a changed word alters one token and two pairs.
const TOKEN: u128 = 21;

/// The weight of a pair that occurs once. A power of two, because such pairs are most features and cost one addition then.
const PAIR: u128 = 16;

/// Weights of the usual numbers of occurrences.
const TOKENS: [u32; 256] = usual(TOKEN);
const PAIRS: [u32; 256] = usual(PAIR);

const fn usual(once: u128) -> [u32; 256] {
    let mut weights = [0; 256];
    let mut occurrences = 1;
    while occurrences < 256 {
        weights[occurrences as usize] = damped(once, occurrences);
        occurrences += 1;
    }
    weights
}

/// The weight of a token: 21 times `1 + ln occurrences`, rounded: 21 for one occurrence, 487 for 2^32.
///
/// Damped, because plain term frequency makes long texts alike that share no more than the frequent words of their language.
#[inline]
pub(super) fn of_token(occurrences: u32) -> u32 {
    TOKENS.get(occurrences as usize).copied().unwrap_or_else(|| damped(TOKEN, occurrences))
}

/// The weight of a pair: 16 times `1 + ln occurrences`, rounded.
#[inline]
pub(super) fn of_pair(occurrences: u32) -> u32 {
    PAIRS.get(occurrences as usize).copied().unwrap_or_else(|| damped(PAIR, occurrences))
}

/// In whole numbers, because logarithms may differ between machines in the last digit.
#[expect(clippy::cast_possible_truncation, reason = "no weight is above 487")]
const fn damped(once: u128, occurrences: u32) -> u32 {
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
    // Times the weight of one, half added, and what is behind the point dropped.
    ((((1 << 64) + ln) * once + (1 << 63)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_logarithms() {
        for occurrences in (1..100_000).chain((100_000..=u32::MAX).step_by(9_973)) {
            let exact = 1.0 + f64::from(occurrences).ln();
            let off = |weight: u32, once: f64| (f64::from(weight) - once * exact).abs();
            assert!(off(of_token(occurrences), 21.0) <= 0.5, "{occurrences}");
            assert!(off(of_pair(occurrences), 16.0) <= 0.5, "{occurrences}");
        }
        assert_eq!([1, 2, 3, 10, u32::MAX].map(of_pair), [16, 27, 34, 53, 371]);
        assert_eq!([1, 2, 3, 10, u32::MAX].map(of_token), [21, 36, 44, 69, 487]);
    }
}
