//! The probe plan: which buckets a query reads, in which order, and what it may leave out because it was found before.
//!
//! Keys share no bits, so however the differing bits of a near fingerprint are spread, some key has few of them: if table `t` is probed within
//! radius `r(t)` of its key and the `r(t) + 1` add up to more than the radius of the query, nothing is missed (the general pigeonhole
//! principle: Qin, Xiao, Wang et al., *GPH: Similarity Search in Hamming Space*, ICDE 2018).
//!
//! A probe reads the buckets of one table at one distance from the query's key. What has not been found before a probe differs, in the key of
//! every other table, in more bits than that table has been probed within. So only few bits may differ in any one of these keys. The lower
//! half of a tag has bits of the next table's key, to check that. With four tables of 16 bits at radius 8 three are probed within 1, and what
//! none of them finds differs from the query in two bits or more of each of their keys. In the fourth, at distance 2, exactly two bits
//! of the next key then differ, as in one of 550 random words: half of the tag is enough, and half of the memory is read.

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
