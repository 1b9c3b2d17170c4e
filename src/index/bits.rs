//! Bit selection: which bits of a fingerprint the keys are made of.
//!
//! Texts of one language share words, and so their fingerprints share bits. A bit that nine of ten have carries little information, and keys of such
//! bits make a few full buckets and many empty ones. So the bits are permuted before they are cut into keys: the bits that are set in about
//! half of a sample of the window go to the keys that are probed farthest. Distances are the same in any order.

#![expect(clippy::cast_possible_truncation, reason = "a fingerprint has 64 bits")]

/// Bits of a byte and values of it: the permutation is looked up by the byte.
const BYTE: usize = 8;
const VALUES: usize = 1 << BYTE;
const BITS: usize = u64::BITS as usize;

/// The most fingerprints that are sampled.
const SAMPLE: usize = 1024;

/// Puts the bits of fingerprints in another order.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    bytes: Box<[[u64; VALUES]; BITS / BYTE]>,
}

impl Permutation {
    /// `to` has the new place of each bit.
    fn new(to: &[u32; BITS]) -> Self {
        let mut bytes = Box::new([[0; VALUES]; BITS / BYTE]);
        for (byte, table) in bytes.iter_mut().enumerate() {
            for (value, word) in table.iter_mut().enumerate() {
                let set = (0..BYTE).filter(|bit| value >> bit & 1 == 1);
                *word = set.fold(0, |word, bit| word | 1 << to[byte * BYTE + bit]);
            }
        }
        Self { bytes }
    }

    /// Moves the most informative bits of these fingerprints to the first of `places`, which are all there are.
    pub(super) fn informative_first(
        fingerprints: impl Iterator<Item = u64>,
        places: &[u32],
    ) -> Self {
        debug_assert_eq!(places.len(), BITS, "each bit has a place");
        let (mut set, mut all) = ([0_usize; BITS], 0);
        for fingerprint in fingerprints {
            all += 1;
            for (bit, set) in set.iter_mut().enumerate() {
                *set += usize::from(fingerprint >> bit & 1 == 1);
            }
        }
        let mut bits: [usize; BITS] = std::array::from_fn(|bit| bit);
        bits.sort_by_key(|&bit| (2 * set[bit]).abs_diff(all));
        let mut to = [0; BITS];
        for (bit, &place) in bits.into_iter().zip(places) {
            to[bit] = place;
        }
        Self::new(&to)
    }

    #[inline]
    pub(super) fn apply(&self, fingerprint: u64) -> u64 {
        let bytes = self.bytes.iter().zip(fingerprint.to_le_bytes());
        bytes.fold(0, |word, (table, byte)| word | table[byte as usize])
    }
}

/// The places of the 64 bits, those first that should get the most informative bits: in the keys that are probed farthest, alternating between
/// keys that are probed equally far, and last in no key. `keys` has the number of bits of each key.
pub(super) fn places(keys: &[u32], within: &[Option<u32>]) -> Vec<u32> {
    let mut places = Vec::new();
    let mut start = 0;
    for (&bits, within) in keys.iter().zip(within) {
        places.extend((0..bits).map(|nth| (std::cmp::Reverse(*within), nth, start + nth)));
        start += bits;
    }
    places.sort_unstable();
    places.into_iter().map(|(_, _, place)| place).chain(start..BITS as u32).collect()
}

/// The places of a sample of `all` things, evenly spread.
pub(super) fn sample(all: usize) -> impl Iterator<Item = usize> {
    (0..all.min(SAMPLE)).map(move |i| i * all / all.min(SAMPLE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distances_stay(fingerprints in prop::collection::vec(any::<u64>(), 2..50), order in Just((0..64).collect::<Vec<u32>>()).prop_shuffle()) {
            let permutation = Permutation::informative_first(fingerprints.iter().copied(), &order);
            for (a, b) in fingerprints.iter().zip(&fingerprints[1..]) {
                let permuted = permutation.apply(*a) ^ permutation.apply(*b);
                prop_assert_eq!(permuted.count_ones(), (a ^ b).count_ones());
                prop_assert_eq!(permuted, permutation.apply(a ^ b));
            }
        }
    }

    #[test]
    fn the_most_informative_bits_come_first() {
        // Bit 5 is set in every other, bit 9 in one of four, bit 2 in one of eight, and no other ever.
        let fingerprints =
            (0..8_u64).map(|i| (i & 1) << 5 | u64::from(i % 4 == 0) << 9 | u64::from(i == 0) << 2);
        let places: Vec<u32> = (0..64).rev().collect();
        let permutation = Permutation::informative_first(fingerprints, &places);
        let moved = [5, 9, 2].map(|bit| permutation.apply(1 << bit));
        assert_eq!(moved, [63, 62, 61].map(|bit| 1 << bit));
    }

    #[test]
    fn a_sample_is_small_and_spread_evenly() {
        assert_eq!(sample(3).collect::<Vec<_>>(), [0, 1, 2]);
        let of_many: Vec<usize> = sample(1_000_000_000).collect();
        assert_eq!((of_many.len(), of_many[0], of_many[1023]), (1024, 0, 999_023_437));
        assert_eq!(sample(0).count(), 0);
    }

    #[test]
    fn keys_that_are_probed_farthest_get_the_most_informative_bits() {
        let all = places(&[3, 2, 3], &[Some(1), Some(2), Some(1)]);
        assert_eq!(all[..8], [3, 4, 0, 5, 1, 6, 2, 7]);
        assert_eq!(all[8..], (8..64).collect::<Vec<u32>>());
        assert_eq!(places(&[], &[]), (0..64).collect::<Vec<u32>>());
    }
}
