//! The bits by which a table files a fingerprint, and the bits that its entries keep of it.

#![expect(clippy::cast_possible_truncation, reason = "keys have at most 32 bits")]

/// Bits of a fingerprint, gathered side by side.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    runs: Vec<Run>,
}

/// Bits that lie side by side: where they begin, as many ones, and where they go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) shift: u32,
    pub(super) mask: u64,
    pub(super) to: u32,
}

impl Bits {
    pub(super) fn new(mask: u64) -> Self {
        Self { runs: runs(mask, 0) }
    }

    /// Those of one mask, and from the 16th place on those of another.
    fn halves(low: u64, high: u64) -> Self {
        Self { runs: [runs(low, 0), runs(high, HALF)].concat() }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    #[inline]
    pub(super) fn of(&self, fingerprint: u64) -> u32 {
        self.runs
            .iter()
            .fold(0, |all, run| all | (((fingerprint >> run.shift) & run.mask) << run.to) as u32)
    }
}

/// The bits of a mask side by side from some place on.
fn runs(mut mask: u64, mut to: u32) -> Vec<Run> {
    let mut runs = Vec::new();
    while mask != 0 {
        let shift = mask.trailing_zeros();
        let width = (mask >> shift).trailing_ones();
        let run = u64::MAX >> (u64::BITS - width);
        runs.push(Run { shift, mask: run, to });
        mask &= !(run << shift);
        to += width;
    }
    runs
}

/// Bits that entries keep on a line.
pub(super) const HALF: u32 = 16;

/// How one table files fingerprints: the key says the bucket, the rest is kept in the entry.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// The bits of the key.
    pub(super) mask: u64,
    pub(super) place: Bits,
    pub(super) rest: Bits,
    /// All words of as many bits as the key has, the lightest first, up to the largest radius probed.
    patterns: Vec<u32>,
    /// How many of them have at most so many bits set.
    within: Vec<usize>,
}

impl Key {
    /// The key of these bits, at most 32. Of the others an entry keeps 16 of `first` at most, and 16 more.
    pub(super) fn new(mask: u64, first: u64, radius: u32) -> Self {
        let first = lowest(first & !mask, HALF);
        let others = lowest(!mask & !first, HALF);
        let (mut patterns, mut within) = (Vec::new(), Vec::new());
        for weight in 0..=radius {
            push_patterns(&mut patterns, mask.count_ones(), weight);
            within.push(patterns.len());
        }
        Self { mask, place: Bits::new(mask), rest: Bits::halves(first, others), patterns, within }
    }

    pub(super) fn bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// How buckets at a distance from a key differ from it.
    pub(super) fn patterns(&self, distance: u32) -> &[u32] {
        let before = distance.checked_sub(1).map_or(0, |nearer| self.within[nearer as usize]);
        &self.patterns[before..self.within[distance as usize]]
    }
}

/// The lowest `n` bits of a mask.
pub(super) fn lowest(mask: u64, n: u32) -> u64 {
    let rest = (0..n).fold(mask, |rest, _| rest & rest.wrapping_sub(1));
    mask & !rest
}

/// Adds the words of `bits` bits of which `weight` are set, in growing order: neighbours lie close together in the table.
fn push_patterns(patterns: &mut Vec<u32>, bits: u32, weight: u32) {
    if weight == 0 {
        patterns.push(0);
        return;
    }
    if weight > bits {
        return;
    }
    // Gosper's hack: the next word with as many bits set (HAKMEM, item 175).
    let mut word = (1_u64 << weight) - 1;
    while word < 1 << bits {
        patterns.push(word as u32);
        let (lowest, ripple) = (word & word.wrapping_neg(), word + (word & word.wrapping_neg()));
        word = ripple | (((word ^ ripple) / lowest) >> 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_gathered_side_by_side() {
        assert_eq!(Bits::new(0xff00_0000_0000_00f0).of(0xab00_0000_0000_00c5), 0xabc);
        assert_eq!(Bits::new(0).of(u64::MAX), 0);
    }

    #[test]
    fn key_and_rest_share_no_bit() {
        for (first, expected) in [(0xff_f000_0fff, 0xffff_3fff), (u64::MAX, u32::MAX)] {
            let key = Key::new(0x0000_ffff_c000_0000, first, 2);
            for bit in 0..64 {
                let (key, rest) = (key.place.of(1 << bit), key.rest.of(1 << bit));
                assert!(key.count_ones() + rest.count_ones() <= 1);
                assert!(rest >> HALF != 0 || rest == 0 || first >> bit & 1 == 1);
            }
            assert_eq!(key.rest.of(u64::MAX), expected);
        }
    }

    #[test]
    fn patterns_are_all_words_at_the_distance() {
        let key = Key::new(0x3ff, u64::MAX, 3);
        for distance in 0..=3 {
            let mut found = key.patterns(distance).to_vec();
            found.sort_unstable();
            let all: Vec<u32> =
                (0..1024).filter(|word: &u32| word.count_ones() == distance).collect();
            assert_eq!(found, all);
        }
    }
}
