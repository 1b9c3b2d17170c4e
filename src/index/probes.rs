//! The probe plan: which buckets a query reads, in which order, and what it may leave out because it was found before.
//!
//! Keys share no bits, so however the differing bits of a near fingerprint are spread, some key has few of them. Table `t` is probed within
//! radius `r(t)` of its key. If the `r(t) + 1` add up to more than the radius of the query, nothing is missed: the general pigeonhole
//! principle (Qin, Xiao, Wang et al., *GPH: Similarity Search in Hamming Space*, ICDE 2018).
//!
//! A probe reads the buckets of one table at one distance from the query's key. What has not been found before a probe differs, in the key of
//! every other table, in more bits than that table has been probed within. So only few bits may differ in any one of these keys. The lower
//! half of a tag has bits of the next table's key, to check that. With four tables of 16 bits at radius 8 three are probed within 1, and what
//! none of them finds differs from the query in two bits or more of each of their keys. In the fourth, at distance 2, exactly two bits
//! of the next key then differ, as in one of 550 random words: half of the tag is enough, and half of the memory is read.
//!
//! The module also selects which bits of a fingerprint the keys are made of. Texts of one language share words, and so their fingerprints share
//! bits. A bit that nine of ten have carries little information, and keys of such bits make a few full buckets and many empty ones. So the bits are
//! permuted before they are cut into keys: the bits that are set in about half of a sample of the window go to the keys that are probed farthest.
//! Distances are the same in any order.

#![expect(clippy::cast_possible_truncation, reason = "a fingerprint has 64 bits")]

/// The largest radius within which a key is probed: beyond it, another table costs less.
pub(super) const MAX_PROBE: u32 = 3;

/// From this many differing bits on, half of a tag is too little: the whole tag is compared at once.
const WHOLE_TAG: u32 = 4;
/// Work of using another table, in buckets.
const TABLE_COST: u64 = 3;

/// Buckets of one table that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) table: usize,
    /// How far the buckets' keys are from the query's key.
    pub(super) distance: u32,
    /// In how many bits of the key and of the lower half of the tag an entry may differ.
    pub(super) near: u32,
    /// In how many bits an entry may differ outside the key.
    pub(super) allowed: u32,
    /// Whether the whole tag is compared at once.
    pub(super) whole: bool,
}

/// The radius within which each table is probed, if it is, so that the fewest buckets are read. `keys` has the bits of each key.
pub(super) fn radii(keys: &[u32], radius: u32) -> Vec<Option<u32>> {
    let choices = MAX_PROBE + 2;
    let tables = u32::try_from(keys.len()).expect("tables are few");
    let radii = |choice: u32| {
        (0..tables).map(move |table| (choice / choices.pow(table) % choices).checked_sub(1))
    };
    let is_exact =
        |choice: &u32| radii(*choice).flatten().map(|within| within + 1).sum::<u32>() == radius + 1;
    let cost = |choice: &u32| {
        let tables = keys.iter().zip(radii(*choice));
        let probed = tables.filter_map(|(&bits, within)| Some((bits, within?)));
        probed.map(|(bits, within)| TABLE_COST + buckets_within(bits, within)).sum::<u64>()
    };
    let best = (0..choices.pow(tables)).filter(is_exact).min_by_key(cost);
    radii(best.expect("there are enough tables for the radius")).collect()
}

/// How many keys of `bits` bits lie within a radius of one.
fn buckets_within(bits: u32, radius: u32) -> u64 {
    let choose = |k: u32| {
        (0..k).fold(1, |all, i| all * u64::from(bits.saturating_sub(i)) / u64::from(i + 1))
    };
    (0..=radius).map(choose).sum()
}

/// The probes of a query.
pub(super) fn probes(radius: u32, radii: &[Option<u32>]) -> Vec<Probe> {
    let mut looked = vec![0; radii.len()];
    let mut probes = Vec::new();
    for (table, distance) in in_order(radii) {
        let next = (table + 1) % radii.len();
        let elsewhere = |&other: &usize| other != table && other != next;
        let others: u32 = (0..radii.len()).filter(elsewhere).map(|other| looked[other]).sum();
        let allowed = radius - distance;
        let near = allowed.saturating_sub(others);
        probes.push(Probe { table, distance, near, allowed, whole: near >= WHOLE_TAG });
        looked[table] += 1;
    }
    probes
}

/// Tables and distances: first what is within 1, the tables that are probed no farther before the others, and then farther and farther.
fn in_order(radii: &[Option<u32>]) -> Vec<(usize, u32)> {
    let probed = radii.iter().enumerate().filter_map(|(table, within)| Some((table, (*within)?)));
    let distances = |(table, within)| (0..=within).map(move |d: u32| (d.max(1), within, table, d));
    let mut order: Vec<_> = probed.flat_map(distances).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, table, distance)| (table, distance)).collect()
}

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
    use super::*;

    fn nears(radius: u32, radii: &[Option<u32>]) -> Vec<(usize, u32, u32)> {
        let probes = probes(radius, radii);
        probes.iter().map(|probe| (probe.table, probe.distance, probe.near)).collect()
    }

    #[test]
    fn the_fewest_buckets_are_probed() {
        assert_eq!(radii(&[16; 4], 3), [Some(0); 4]);
        assert_eq!(radii(&[20, 20, 19], 9), [Some(2), Some(2), Some(3)]);
        assert_eq!(radii(&[16; 4], 0), [Some(0), None, None, None]);
        assert_eq!(radii(&[22, 22], 3), [Some(1); 2]);
        for keys in [&[16; 4][..], &[21, 20, 20], &[19, 15, 15, 15]] {
            for radius in 0..=11 {
                let sum: u32 =
                    radii(keys, radius).into_iter().flatten().map(|within| within + 1).sum();
                assert_eq!(sum, radius + 1, "{keys:?} at {radius}");
            }
        }
    }

    #[test]
    fn probes_that_another_table_covers_are_skipped() {
        let expected = [
            (1, 0, 8),
            (1, 1, 7),
            (2, 0, 6),
            (2, 1, 5),
            (3, 0, 4),
            (3, 1, 3),
            (0, 0, 4),
            (0, 1, 3),
            (0, 2, 2),
        ];
        assert_eq!(nears(8, &[Some(2), Some(1), Some(1), Some(1)]), expected);
        assert_eq!(
            nears(3, &[Some(1), Some(0), Some(0)]),
            [(1, 0, 3), (2, 0, 2), (0, 0, 2), (0, 1, 1)]
        );
        assert_eq!(nears(1, &[Some(1)]), [(0, 0, 1), (0, 1, 0)]);
    }

    /// All ways to spread at most this many errors.
    fn spreads(tables: usize, errors: u32) -> Vec<Vec<u32>> {
        if tables == 0 {
            return vec![Vec::new()];
        }
        let with = |here| {
            spreads(tables - 1, errors - here).into_iter().map(move |mut rest| {
                rest.insert(0, here);
                rest
            })
        };
        (0..=errors).flat_map(with).collect()
    }

    #[test]
    fn nothing_is_left_out_that_was_not_found_before() {
        for (radius, radii) in [
            (8, vec![Some(2), Some(1), Some(1), Some(1)]),
            (9, vec![Some(2), Some(2), Some(1), Some(1)]),
            (11, vec![Some(2), Some(2), Some(2), Some(2)]),
            (6, vec![Some(1), Some(1), Some(1), Some(0)]),
            (8, vec![Some(2), Some(2), Some(2)]),
            (9, vec![Some(3), Some(2), Some(2)]),
            (5, vec![Some(2), Some(2)]),
            (3, vec![None, Some(3)]),
        ] {
            let (tables, probes) = (radii.len(), probes(radius, &radii));
            // Of the errors that are in no key any number may be in the lower half of the tag as well.
            for errors in spreads(tables + 1, radius) {
                let first = probes.iter().find(|probe| errors[probe.table] == probe.distance);
                let probe = first.expect("some table is probed as far");
                let left = errors.iter().sum::<u32>() - probe.distance;
                let next = (probe.table + 1) % tables;
                let near = if next == probe.table { left } else { errors[next] + errors[tables] };
                assert!(near <= probe.near && left <= probe.allowed, "{errors:?} at {radius}");
            }
        }
    }
}

#[cfg(test)]
mod bit_tests {
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
