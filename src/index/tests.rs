//! What the block index does beyond what every index does.

use std::num::NonZeroU32;

use super::{BlockIndex, Candidate, Entry, Homes, Index, Layout, Plan, Scan};
use crate::{fingerprint::Fingerprint, page::DocId};

/// The finaliser of `SplitMix64`: fingerprints without structure.
pub(super) fn random(number: u64) -> Fingerprint {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint(x ^ (x >> 31))
}

fn layouts() -> [Layout; 7] {
    [
        Layout::covering(6, 10, Entry::Narrow),
        Layout::disjoint(&[9, 9], Entry::Narrow, 3),
        Layout::disjoint(&[9, 8, 8], Entry::Wide, 8),
        Layout::disjoint(&[9, 8, 8, 8], Entry::Wide, 8),
        Layout::disjoint(&[11], Entry::Narrow, 3),
        Layout::covering(5, 5, Entry::Narrow).with_homes(Homes::Tight),
        Layout::disjoint(&[5, 4, 5], Entry::Wide, 8).with_homes(Homes::Roomy),
    ]
}

/// An empty index.
pub(super) fn planned(plan: Plan) -> BlockIndex {
    BlockIndex::with_plan(plan).expect("there is memory")
}

fn filled(layout: Layout, documents: u64) -> BlockIndex {
    let mut index = planned(Plan::new(layout, documents)).never_scanning();
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
    for layout in layouts() {
        let mut one_by_one = planned(Plan::new(layout.clone(), 1000)).never_scanning();
        (1..=1000).for_each(|id| assert!(one_by_one.insert(DocId(id), random(id))));
        let at_once = filled(layout, 1000);
        for id in 1..=1000 {
            let found = candidates(&at_once, near(id));
            assert_eq!(found, candidates(&one_by_one, near(id)));
            assert!(found.iter().any(|candidate| candidate.id == DocId(id)));
        }
    }
}

#[test]
fn many_inserted_at_once_are_those_of_a_hot_value_that_enter_one_by_one() {
    for layout in layouts() {
        let limit = NonZeroU32::new(100).unwrap();
        let plan = Plan::new(layout, 20_000);
        let mut one_by_one = planned(plan).with_equal_limit(limit);
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
fn many_queries_at_once_are_answered_like_one_after_the_other() {
    for layout in layouts() {
        let index = filled(layout, 1000);
        let queries: Vec<Fingerprint> = (900..1100).map(near).collect();
        let mut out = vec![vec![Candidate { id: DocId(0), distance: 99 }]; 300];
        index.candidates_of_all(&queries, index.max_radius(), &mut out);
        assert_eq!(out.len(), queries.len());
        for (&query, out) in queries.iter().zip(&out) {
            assert_eq!(out, &candidates(&index, query));
        }
    }
}

#[test]
fn the_nearest_is_the_first_of_all() {
    for layout in layouts() {
        let mut index = filled(layout, 1000);
        for id in 1001..=1100 {
            index.insert(DocId(id), near(id - 1000));
        }
        for number in 1..=1200 {
            for query in [random(number), near(number), near(number + 13)] {
                let first = candidates(&index, query).first().copied();
                assert_eq!(index.nearest(query, index.max_radius()), first);
            }
        }
    }
}

#[test]
fn of_a_hot_value_the_oldest_are_held_and_the_others_counted() {
    for layout in layouts() {
        let limit = NonZeroU32::new(10).unwrap();
        let plan = Plan::new(layout, 1000);
        let mut index = planned(plan).never_scanning().with_equal_limit(limit);
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
    for layout in layouts() {
        let mut index = filled(layout, 1000).with_audit(NonZeroU32::new(10).unwrap());
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
    for layout in layouts() {
        for (window, gap) in [(1000, 1), (1000, 3), (20_000, 1)] {
            let mut index = planned(Plan::new(layout.clone(), window));
            let mut roll = |from: u64, until: u64| {
                for number in from..until {
                    // Every other one is a member of a crowd that shares half of its bits.
                    let crowd = random(number).0 & 0xffff_ffff;
                    let fingerprint =
                        if number % 2 == 0 { random(number) } else { Fingerprint(crowd) };
                    index.insert(DocId(number * gap), fingerprint);
                    index.expire(DocId((number * gap).saturating_sub((window - 1) * gap)));
                }
                (index.len(), index.pages(), index.places())
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
    for layout in layouts() {
        let radius = layout.max_radius();
        let mut index = planned(Plan::new(layout, 3000)).never_scanning();
        let limit = NonZeroU32::new(BlockIndex::EQUAL_LIMIT).unwrap();
        let mut scan = Scan::default().with_equal_limit(limit);
        // Places come in stretches of 2^14: each is used three times.
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
fn what_is_refreshed_and_removed_is_found_as_by_a_scan() {
    for layout in layouts() {
        let radius = layout.max_radius();
        let mut index = planned(Plan::new(layout, 1000)).never_scanning();
        let mut scan = Scan::default();
        let (mut next, mut expected) = (1, Vec::new());
        for step in 0..40_000_u64 {
            let dice = random(!step).0;
            // Those of a tenth of the window are repeated again and again, in some phases most, in others none.
            let some =
                DocId(next - next.min(1 + (dice >> 8) % if dice & 16 == 0 { 1000 } else { 100 }));
            let phase = step / 3000 % 4;
            match dice % 8 {
                0..=3 if phase % 2 == 1 => {
                    assert_eq!(index.refresh(some, DocId(next)), scan.refresh(some, DocId(next)));
                }
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
                assert!(index.places() <= 4 << 14);
            }
        }
    }
}

#[test]
fn what_a_window_that_fills_is_asked_is_answered_as_by_a_scan() {
    for (layout, smaller) in layouts().into_iter().zip(layouts().into_iter().cycle().skip(2)) {
        let radius = layout.max_radius().min(smaller.max_radius());
        let stage = |entries| Plan::new(smaller.clone(), entries);
        let plan = Plan::new(layout, 20_000).growing_through(vec![stage(9_000), stage(6_000)]);
        let (mut index, mut scan) = (planned(plan), Scan::default());
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
            to_come.push(index.tables.to_come());
        }
        to_come.dedup();
        assert_eq!(to_come, [3, 2, 1, 0]);
    }
}

#[test]
fn a_window_may_outgrow_its_plan() {
    // Entries have more of the fingerprint while their places are few: first all of them must, then none.
    for layout in [
        Layout::disjoint(&[9, 9], Entry::Narrow, 3),
        Layout::disjoint(&[7, 7], Entry::Narrow, 3).with_homes(Homes::Tight),
    ]
    .into_iter()
    .flat_map(|layout| [10, 5_000].map(|entries| Plan::new(layout.clone(), entries)))
    {
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
fn a_document_made_the_newest_leaves_last() {
    let mut index = filled(Layout::disjoint(&[9, 8, 8], Entry::Wide, 8), 100);
    assert!(index.refresh(DocId(1), DocId(101)));
    assert!(!index.refresh(DocId(1), DocId(102)));
    index.expire(DocId(101));
    assert_eq!(candidates(&index, random(1)), [Candidate { id: DocId(101), distance: 0 }]);
    assert_eq!(index.len(), 1);
}

#[test]
fn documents_made_the_newest_again_and_again_take_no_more_room() {
    for layout in layouts() {
        let mut index = filled(layout, 1000);
        let mut roll = |from: u64, until: u64| {
            // The first is never made the newest, so that nothing leaves in its turn.
            for id in from..until {
                assert!(index.refresh(DocId(id - 500), DocId(id)));
            }
            assert_eq!(candidates(&index, random(1))[0], Candidate { id: DocId(1), distance: 0 });
            (index.len(), index.places())
        };
        let before = roll(1001, 20_000);
        assert_eq!(before.0, 1000);
        assert_eq!(roll(20_000, 60_000), before);
    }
}

#[test]
fn memory_that_the_system_refuses_is_an_error() {
    // More addresses than a process has.
    let plan = Plan::new(Layout::disjoint(&[9, 9], Entry::Narrow, 3), 1 << 50);
    let error = BlockIndex::with_plan(plan.clone()).unwrap_err();
    assert_eq!(error.bytes, plan.certain_bytes());
    assert!(error.to_string().ends_with(" PiB (out of memory)"), "{error}");
}
