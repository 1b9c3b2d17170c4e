//! What the block index does beyond what every index does.

mod contract;
pub(crate) mod texts;

use std::num::NonZeroU32;

use super::{BlockIndex, Candidate, Index, Scan, TableLayout};
use crate::{fingerprint::Fingerprint, page::DocId};

/// The finaliser of `SplitMix64`: fingerprints without structure.
pub(super) fn random(number: u64) -> Fingerprint {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint(x ^ (x >> 31))
}

/// Keys of tables, and the largest radius that each is to serve.
const TABLES: [(&[u32], u32); 6] =
    [(&[9, 9], 3), (&[9, 8, 8], 8), (&[9, 8, 8, 8], 9), (&[11], 3), (&[5, 4], 7), (&[5, 4, 5], 11)];

fn layouts(entries: u64) -> impl Iterator<Item = TableLayout> {
    TABLES.into_iter().map(move |(keys, radius)| TableLayout::with_keys(keys, radius, entries))
}

/// An empty index.
pub(super) fn planned(layout: TableLayout) -> BlockIndex {
    BlockIndex::with_layout(layout).expect("there is memory")
}

fn filled(layout: TableLayout) -> BlockIndex {
    let documents = layout.entries();
    let mut index = planned(layout).never_scanning();
    index.insert_all((1..=documents).map(|id| (DocId(id), random(id))));
    index
}

fn near(number: u64) -> Fingerprint {
    Fingerprint(random(number).0 ^ 1 << (number % 64) ^ 1 << (number * 7 % 64))
}

fn candidates(index: &BlockIndex, fingerprint: Fingerprint) -> Vec<Candidate> {
    let mut found = Vec::new();
    index.candidates(fingerprint, index.max_radius(), &mut found);
    found
}

#[test]
fn many_inserted_at_once_are_found_like_one_after_the_other() {
    for layout in layouts(1000) {
        let mut one_by_one = planned(layout.clone()).never_scanning();
        (1..=1000).for_each(|id| assert!(one_by_one.insert(DocId(id), random(id))));
        let at_once = filled(layout);
        for id in 1..=1000 {
            let found = candidates(&at_once, near(id));
            assert_eq!(found, candidates(&one_by_one, near(id)));
            assert!(found.iter().any(|candidate| candidate.id == DocId(id)));
        }
    }
}

#[test]
fn equal_fingerprints_inserted_at_once_are_kept_as_one_by_one() {
    for layout in layouts(20_000) {
        let limit = NonZeroU32::new(100).unwrap();
        let mut one_by_one = planned(layout).with_equal_limit(limit);
        let mut at_once = one_by_one.clone();
        let mut next = 1;
        for round in 0..6 {
            // Crowds that share half of their bits, and four values each of which comes again and again.
            let documents: Vec<(DocId, Fingerprint)> = (next..next + 5000)
                .map(|number| {
                    let fingerprint = match number % 5 {
                        0 => Fingerprint(random(number).0 & 0xffff_ffff),
                        1 => Fingerprint(random(number).0 | 0xffff_ffff),
                        2 => random(number % 4),
                        _ => random(number),
                    };
                    (DocId(3 * number), fingerprint)
                })
                .collect();
            next += 5000;
            for &(id, fingerprint) in &documents {
                one_by_one.insert(id, fingerprint);
            }
            at_once.insert_all(documents.iter().copied());
            for index in [&mut one_by_one, &mut at_once] {
                index.expire(DocId(3 * 2000 * round));
                index.remove(DocId(3 * (2000 * round + 2)));
            }
            assert_eq!(at_once.len(), one_by_one.len());
            assert_eq!(at_once.audit(), one_by_one.audit());
            assert!(at_once.audit().over > 0);
            for (_, fingerprint) in &documents[..200] {
                assert_eq!(
                    candidates(&at_once, *fingerprint),
                    candidates(&one_by_one, *fingerprint)
                );
            }
        }
    }
}

#[test]
fn the_oldest_equal_fingerprints_are_kept_and_the_rest_counted() {
    for layout in layouts(1000) {
        let limit = NonZeroU32::new(10).unwrap();
        let mut index = planned(layout).never_scanning().with_equal_limit(limit);
        let (hot, pages) = (random(0), index.pages());
        (1..=50_000).for_each(|id| assert_eq!(index.insert(DocId(id), hot), id <= 10));
        let held: Vec<DocId> = candidates(&index, hot).into_iter().map(|found| found.id).collect();
        assert_eq!(held, (1..=10).map(DocId).collect::<Vec<_>>());
        assert_eq!((index.len(), index.audit().over), (10, 49_990));
        assert!(index.pages() <= pages + 8);
        index.expire(DocId(3));
        assert_eq!(index.remove(DocId(5)), Some(hot));
        (50_001..=50_010).for_each(|id| assert_eq!(index.insert(DocId(id), hot), id <= 50_003));
        assert_eq!((index.len(), index.audit().over), (10, 49_997));
    }
}

#[test]
fn the_audit_finds_nothing_missed_and_would_find_it() {
    for layout in layouts(1000) {
        let mut index = filled(layout).with_audit(NonZeroU32::new(10).unwrap());
        (1..=1000).for_each(|id| drop(candidates(&index, near(id))));
        assert_eq!((index.audit().checked, index.audit().missed), (100, 0));
        index.lose_the_tables();
        (1..=1000).for_each(|id| drop(candidates(&index, random(id))));
        assert_eq!(index.audit().checked, 200);
        assert!(index.audit().missed >= 100);
    }
}

#[test]
fn a_block_index_that_rolls_does_not_grow() {
    for (keys, radius) in TABLES {
        for (window, gap) in [(1000, 1), (1000, 3), (20_000, 1)] {
            let mut index = planned(TableLayout::with_keys(keys, radius, window));
            let mut roll = |from: u64, until: u64| {
                for number in from..until {
                    // Every other one shares half of its bits with many.
                    let skewed = random(number).0 & 0xffff_ffff;
                    let fingerprint =
                        if number % 2 == 0 { random(number) } else { Fingerprint(skewed) };
                    index.insert(DocId(number * gap), fingerprint);
                    index.expire(DocId((number * gap).saturating_sub((window - 1) * gap)));
                }
                (index.len(), index.pages(), index.capacity())
            };
            let (_, most, places) = roll(1, 100_000);
            let (len, pages, later) = roll(100_000, 200_000);
            assert_eq!((len as u64, later), (window, places));
            // What is in use varies with the fingerprints by some pages.
            assert!(pages <= most + most / 10, "{most} pages grew to {pages}");
        }
    }
}

#[test]
fn recall_is_total_where_places_are_used_again() {
    for layout in layouts(3000) {
        let radius = layout.radius();
        let mut index = planned(layout).never_scanning();
        let limit = NonZeroU32::new(BlockIndex::EQUAL_LIMIT).unwrap();
        let mut scan = Scan::default().with_equal_limit(limit);
        // Slots come in stretches of 2^11: each is used many times.
        for number in 1..=100_000 {
            let (id, horizon) = (DocId(number), DocId(number.saturating_sub(2999)));
            let earlier = number.saturating_sub(1 + random(!number).0 % 3500);
            let fingerprint = if number % 3 == 0 { near(earlier) } else { random(number) };
            index.expire(horizon);
            scan.expire(horizon);
            assert_eq!(index.insert(id, fingerprint), scan.insert(id, fingerprint));
            if number % 101 == 0 {
                let mut expected = Vec::new();
                scan.candidates(near(earlier), radius, &mut expected);
                assert_eq!(candidates(&index, near(earlier)), expected, "{number}");
            }
        }
    }
}

#[test]
fn what_is_removed_and_moved_is_found_as_by_a_scan() {
    for layout in layouts(1000) {
        let radius = layout.radius();
        let mut index = planned(layout).never_scanning();
        let mut scan = Scan::default();
        let (mut next, mut expected) = (1, Vec::new());
        for step in 0..40_000_u64 {
            let dice = random(!step).0;
            // In some phases most documents of the window's newest tenth are removed again and again, in others none.
            let some =
                DocId(next - next.min(1 + (dice >> 8) % if dice & 16 == 0 { 1000 } else { 100 }));
            let phase = step / 3000 % 4;
            match dice % 8 {
                0..=3 if phase % 2 == 1 => assert_eq!(index.remove(some), scan.remove(some)),
                0..=2 if phase == 2 => assert_eq!(index.remove(some), scan.remove(some)),
                _ => {
                    let fingerprint = if dice & 64 == 0 { near(next / 2) } else { random(next) };
                    assert_eq!(
                        index.insert(DocId(next), fingerprint),
                        scan.insert(DocId(next), fingerprint)
                    );
                }
            }
            next += 1;
            // Now and then nothing leaves for long, and then much at once.
            if step % 5000 < 4000 || step % 5000 == 4999 {
                let horizon = DocId(next.saturating_sub(if phase == 3 { 300 } else { 1000 }));
                index.expire(horizon);
                scan.expire(horizon);
            }
            if step % 61 == 0 {
                assert_eq!(index.len(), scan.len(), "{step}");
                scan.candidates(near(next / 2 - next.min(dice % 700) / 2), radius, &mut expected);
                let query = near(next / 2 - next.min(dice % 700) / 2);
                assert_eq!(candidates(&index, query), expected, "{step}");
                assert!(index.capacity() <= 4 << 10);
            }
        }
    }
}

#[test]
fn a_growing_window_answers_as_a_scan_does() {
    for ((keys, a), (smaller, b)) in TABLES.into_iter().zip(TABLES.into_iter().cycle().skip(2)) {
        let radius = a.min(b);
        let stage = |entries| TableLayout::with_keys(smaller, radius, entries);
        let layout = TableLayout::with_keys(keys, radius, 20_000);
        let layout = layout.growing_through(vec![stage(6_000), stage(9_000)]);
        let (mut index, mut scan) = (planned(layout), Scan::default());
        let (mut window, mut to_come, mut found, mut expected) =
            (0_u64, vec![], Vec::new(), Vec::new());
        for number in 1..=30_000_u64 {
            let near_another = number % 3 == 0;
            let fingerprint = if near_another { near(number / 2) } else { random(number) };
            index.insert(DocId(number), fingerprint);
            scan.insert(DocId(number), fingerprint);
            // Some leave while the next tables are filled, and at one time nearly all.
            window = if number == 10_000 { 200 } else { window + u64::from(number % 5 != 0) };
            index.expire(DocId(number.saturating_sub(window)));
            scan.expire(DocId(number.saturating_sub(window)));
            if number % 101 == 0 {
                let query = near(number - random(number).0 % number.min(window + 100));
                index.candidates(query, radius, &mut found);
                scan.candidates(query, radius, &mut expected);
                assert_eq!(found, expected, "{number}");
            }
            to_come.push(index.tables_to_come());
        }
        to_come.dedup();
        assert_eq!(to_come, [3, 2, 1, 0]);
    }
}

#[test]
fn a_restored_window_has_the_tables_of_its_plan() {
    let layout = TableLayout::choose(3, 200_000, u64::MAX).unwrap();
    let mut index = planned(layout);
    for (start, made_for) in [(1, 25_000), (20_001, 200_000), (150_001, 200_000)] {
        let end = if start < 20_000 { 20_000 } else { start + 40_000 };
        index.insert_all((start..=end).map(|id| (DocId(id), random(id))));
        assert_eq!(index.tables_made_for(), Some(made_for), "from {start}");
    }
}

#[test]
fn a_window_may_outgrow_its_plan() {
    for layout in [10, 5_000].map(|entries| TableLayout::with_keys(&[7, 7], 3, entries)) {
        let mut index = planned(layout).never_scanning();
        for id in 1..=150_000 {
            index.insert(DocId(id), random(id));
            if id % 1000 == 1 {
                index.expire(DocId(id / 20));
                for of in [id, id.div_ceil(2), id / 20 + 1] {
                    let found = candidates(&index, near(of));
                    assert!(
                        found.iter().any(|candidate| candidate.id == DocId(of)),
                        "{of} of {id}"
                    );
                }
            }
        }
    }
}

#[test]
fn tombstones_do_not_pile_up() {
    for layout in layouts(1000) {
        let mut index = filled(layout);
        let mut roll = |from: u64, until: u64| {
            // The first is never removed, so that nothing leaves before it.
            for id in from..until {
                assert!(index.remove(DocId(id - 500)).is_some());
                assert!(index.insert(DocId(id), random(id)));
            }
            assert_eq!(candidates(&index, random(1))[0], Candidate { id: DocId(1), distance: 0 });
            (index.len(), index.capacity())
        };
        let before = roll(1001, 20_000);
        assert_eq!(before.0, 1000);
        assert_eq!(roll(20_000, 60_000), before);
        // Moved entries expire like all others.
        index.expire(DocId(2));
        assert_eq!(candidates(&index, random(1)).first(), None);
        assert_eq!((index.len(), index.remove(DocId(1))), (999, None));
        index.expire(DocId(59_900));
        assert_eq!(index.len(), 100);
    }
}

#[test]
fn memory_that_the_system_refuses_is_an_error() {
    // More addresses than a process has.
    let layout = TableLayout::with_keys(&[9, 9], 3, 1 << 50);
    let error = BlockIndex::with_layout(layout.clone()).unwrap_err();
    assert_eq!(error.bytes, layout.certain_bytes());
    assert!(error.to_string().ends_with(" PiB (out of memory)"), "{error}");
}
