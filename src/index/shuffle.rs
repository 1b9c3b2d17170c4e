//! Which bits of a fingerprint the keys are made of.
//!
//! Texts of one language share words, and so their fingerprints share bits: one that is set in nine of ten tells hardly anything, and a key made
//! of such bits has few full buckets and many empty ones. So the bits are put in another order before they are cut into keys, by what those
//! tell that the window has when its tables are made: the most telling go to the keys around which a query looks farthest, and those that tell
//! least to none, where the keys leave some. Distances are the same in any order.

#![expect(clippy::cast_possible_truncation, reason = "a fingerprint has 64 bits")]

use std::ops::Range;

/// Bits of a byte and values of it: the order is looked up by the byte.
const BYTE: usize = 8;
const VALUES: usize = 1 << BYTE;
const BITS: u32 = u64::BITS;

/// Puts the bits of fingerprints in another order.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    bytes: Box<[[u64; VALUES]; BITS as usize / BYTE]>,
}

impl Shuffle {
    /// All stay where they are.
    pub(super) fn none() -> Self {
        Self::new(&std::array::from_fn(|bit| bit as u32))
    }

    /// Where each bit goes.
    fn new(to: &[u32; BITS as usize]) -> Self {
        let mut bytes = Box::new([[0; VALUES]; BITS as usize / BYTE]);
        for (byte, table) in bytes.iter_mut().enumerate() {
            for (value, word) in table.iter_mut().enumerate() {
                let set = (0..BYTE).filter(|bit| value >> bit & 1 == 1);
                *word = set.fold(0, |word, bit| word | 1 << to[byte * BYTE + bit]);
            }
        }
        Self { bytes }
    }

    /// The bits that tell most about these fingerprints go to the first of these places, which are all there are.
    pub(super) fn telling(fingerprints: impl Iterator<Item = u64>, places: &[u32]) -> Self {
        debug_assert_eq!(places.len(), BITS as usize, "each bit has a place");
        let (mut set, mut all) = ([0_usize; BITS as usize], 0);
        for fingerprint in fingerprints {
            all += 1;
            for (bit, set) in set.iter_mut().enumerate() {
                *set += usize::from(fingerprint >> bit & 1 == 1);
            }
        }
        let mut bits: [usize; BITS as usize] = std::array::from_fn(|bit| bit);
        bits.sort_by_key(|&bit| (2 * set[bit]).abs_diff(all));
        let mut to = [0; BITS as usize];
        for (bit, &place) in bits.into_iter().zip(places) {
            to[bit] = place;
        }
        Self::new(&to)
    }

    #[inline]
    pub(super) fn of(&self, fingerprint: u64) -> u64 {
        let bytes = self.bytes.iter().zip(fingerprint.to_le_bytes());
        bytes.fold(0, |word, (table, byte)| word | table[byte as usize])
    }
}

/// So many of what a window has tell how often a bit is set.
const SAMPLED: usize = 1024;

/// Some of so many things, evenly spread: no more are looked at.
pub(super) fn sample(all: usize) -> impl Iterator<Item = usize> {
    (0..all.min(SAMPLED)).map(move |i| i * all / all.min(SAMPLED))
}

/// The places of all these ranges, dealt to one after the other and back again, so that what comes first is spread evenly.
pub(super) fn deal(ranges: &[Range<u32>]) -> Vec<u32> {
    let longest = ranges.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    let mut places = Vec::new();
    for round in 0..longest as u32 {
        let mut of_round: Vec<u32> = ranges
            .iter()
            .map(|range| range.start + round)
            .zip(ranges)
            .filter_map(|(place, range)| range.contains(&place).then_some(place))
            .collect();
        if round % 2 == 1 {
            of_round.reverse();
        }
        places.extend(of_round);
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distances_stay(fingerprints in prop::collection::vec(any::<u64>(), 2..50), order in Just((0..64).collect::<Vec<u32>>()).prop_shuffle()) {
            let shuffle = Shuffle::telling(fingerprints.iter().copied(), &order);
            for (a, b) in fingerprints.iter().zip(&fingerprints[1..]) {
                let shuffled = shuffle.of(*a) ^ shuffle.of(*b);
                prop_assert_eq!(shuffled.count_ones(), (a ^ b).count_ones());
                prop_assert_eq!(shuffled, shuffle.of(a ^ b));
            }
        }
    }

    #[test]
    fn what_tells_most_comes_first() {
        // Bit 5 is set in every other, bit 9 in one of four, bit 2 in one of eight, and no other ever.
        let fingerprints =
            (0..8_u64).map(|i| (i & 1) << 5 | u64::from(i % 4 == 0) << 9 | u64::from(i == 0) << 2);
        let places: Vec<u32> = (0..64).rev().collect();
        let shuffle = Shuffle::telling(fingerprints.collect::<Vec<_>>().into_iter(), &places);
        assert_eq!([5, 9, 2].map(|bit| shuffle.of(1 << bit)), [63, 62, 61].map(|bit| 1 << bit));
        assert_eq!(Shuffle::none().of(0x1234_5678_9abc_def0), 0x1234_5678_9abc_def0);
    }

    #[test]
    fn a_sample_is_small_and_spread_evenly() {
        assert_eq!(sample(3).collect::<Vec<_>>(), [0, 1, 2]);
        let of_many: Vec<usize> = sample(1_000_000_000).collect();
        assert_eq!((of_many.len(), of_many[0], of_many[1023]), (1024, 0, 999_023_437));
        assert_eq!(sample(0).count(), 0);
    }

    #[test]
    fn places_are_dealt_evenly() {
        assert_eq!(deal(&[0..3, 3..5, 5..8]), [0, 3, 5, 6, 4, 1, 2, 7]);
        assert_eq!(deal(&[]), [0_u32; 0]);
    }
}
