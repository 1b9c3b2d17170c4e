//! In which order a query looks, and what may be left out because it was found before.
//!
//! A step looks into the buckets of one table at one distance from the query's key. Where keys share no bits, every step leaves less to be
//! found for those after it: what has not been found differs, in the key of every other table, in more bits than that
//! table has been probed within. So few bits may differ in any one of these keys, and that is what the first 16 bits of an entry are: bits
//! of the next table's key. Four tables of 16 bits at radius 8: three are probed within 1, and what none of them finds differs from the
//! query in two bits or more of each of their keys. In the fourth, at distance 2, exactly two bits of the next key then differ, as in one
//! of 550 random words: half of what an entry keeps tells enough, and half of the memory is read.
//!
//! (The pigeonhole principle with thresholds is that of Qin, Xiao, Wang et al., *GPH: Similarity Search in Hamming Space*, ICDE 2018;
//! that the later parts may rely on the earlier ones to have failed, and entries keep what can be compared then, is ours.)

use super::layout::Probes;

/// Buckets of one table that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) table: usize,
    /// How far they are from the query's key.
    pub(super) distance: u32,
    /// How many of the first bits that entries keep may differ.
    pub(super) near: u32,
    /// How many bits may differ beside those of the key.
    pub(super) allowed: u32,
    /// Whether all that an entry keeps is compared, not its first bits alone.
    pub(super) both: bool,
}

/// The steps of a query of some radius. `both` says whether one had better compare all.
pub(super) fn steps(
    radius: u32,
    probes: &Probes,
    tables: usize,
    are_disjoint: bool,
    both: impl Fn(&Step) -> bool,
) -> Vec<Step> {
    let mut looked = vec![0; tables];
    let mut steps = Vec::new();
    for (table, distance) in in_order(probes) {
        let next = (table + 1) % tables;
        let elsewhere = |&other: &usize| other != table && other != next;
        let others: u32 = (0..tables).filter(elsewhere).map(|other| looked[other]).sum();
        let allowed = radius.saturating_sub(distance);
        let near = if are_disjoint { allowed.saturating_sub(others) } else { allowed };
        let mut step = Step { table, distance, near, allowed, both: true };
        step.both = both(&step);
        steps.push(step);
        looked[table] += 1;
    }
    steps
}

/// Tables and distances: first what is within 1, the tables that are probed no farther before the others, and then farther and farther.
fn in_order(probes: &Probes) -> Vec<(usize, u32)> {
    let mut order: Vec<(u32, u32, usize, u32)> = probes
        .iter()
        .flat_map(|&(table, within)| {
            (0..=within).map(move |distance| (distance.max(1), within, table, distance))
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, table, distance)| (table, distance)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nears(radius: u32, probes: &[(usize, u32)], tables: usize) -> Vec<(usize, u32, u32)> {
        let steps = steps(radius, &probes.to_vec(), tables, true, |_| true);
        steps.iter().map(|step| (step.table, step.distance, step.near)).collect()
    }

    #[test]
    fn what_others_would_have_found_is_left_out() {
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
        assert_eq!(nears(8, &[(0, 2), (1, 1), (2, 1), (3, 1)], 4), expected);
        assert_eq!(
            nears(3, &[(0, 1), (1, 0), (2, 0)], 3),
            [(1, 0, 3), (2, 0, 2), (0, 0, 2), (0, 1, 1)]
        );
        assert_eq!(nears(1, &[(0, 1)], 1), [(0, 0, 1), (0, 1, 0)]);
    }

    /// All ways in which at most so many errors can be spread.
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
        for (radius, probes) in [
            (8, vec![(0, 2), (1, 1), (2, 1), (3, 1)]),
            (9, vec![(0, 2), (1, 2), (2, 1), (3, 1)]),
            (11, vec![(0, 2), (1, 2), (2, 2), (3, 2)]),
            (6, vec![(0, 1), (1, 1), (2, 1), (3, 0)]),
            (8, vec![(0, 2), (1, 2), (2, 2)]),
            (9, vec![(0, 3), (1, 2), (2, 2)]),
            (5, vec![(0, 2), (1, 2)]),
            (3, vec![(1, 3)]),
        ] {
            let tables = 1 + probes.iter().map(|&(table, _)| table).max().unwrap();
            let steps = steps(radius, &probes, tables, true, |_| true);
            // Of the errors that are in no key any number may be among the first bits as well.
            for errors in spreads(tables + 1, radius) {
                let first = steps.iter().find(|step| errors[step.table] == step.distance);
                let step = first.expect("some table is probed as far");
                let left = errors.iter().sum::<u32>() - step.distance;
                let next = (step.table + 1) % tables;
                let near = if next == step.table { left } else { errors[next] + errors[tables] };
                assert!(near <= step.near && left <= step.allowed, "{errors:?} at {radius}");
            }
        }
    }
}
