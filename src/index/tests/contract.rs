//! What every index must do: find exactly what comparing with everything finds.

use std::num::NonZeroU32;

use proptest::{prelude::*, sample::Index as Pick};

use super::planned;
use crate::{
    fingerprint::Fingerprint,
    index::{BlockIndex, Candidate, Index, Pigeonhole, Scan, TableLayout, pigeonhole::MAX_RADIUS},
    page::DocId,
};

/// What happens to an index.
#[derive(Clone, Debug)]
enum Event {
    Insert(Fingerprint),
    /// Adds a document that differs from an earlier one in these bits.
    Plant(Pick, Vec<u32>),
    /// Adds documents that have all bits of one block in common with an earlier one.
    Flood(Pick, u32, u16),
    /// A document is removed before it expires.
    Remove(Pick),
    /// All but the latest documents expire.
    Keep(u16),
    /// Asks for what is near an earlier document, its bits changed in these places.
    Query(Pick, Vec<u32>),
}

/// Runs the events through an index and the reference, and asks both for every radius.
fn agrees_with_the_scan(
    mut index: impl Index,
    mut scan: Scan,
    events: &[Event],
    gap: u64,
) -> Result<(), TestCaseError> {
    let mut seen = vec![Fingerprint(0)];
    let mut next = DocId(1);
    let mut noise = 0_u64;
    for event in events {
        let mut new = Vec::new();
        match event {
            Event::Insert(fingerprint) => new.push(*fingerprint),
            Event::Plant(earlier, bits) => new.push(flip(*earlier.get(&seen), bits)),
            Event::Flood(earlier, block, n) => {
                let block = 0xffff_u64 << (16 * (block % 4));
                for _ in 0..*n {
                    noise = noise.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    new.push(Fingerprint(
                        earlier.get(&seen).0 & block | (noise ^ (noise >> 29)) & !block,
                    ));
                }
            }
            Event::Remove(of) => {
                let id = DocId(of.index(usize::MAX) as u64 % next.0 / gap * gap + 1);
                prop_assert_eq!(index.remove(id), scan.remove(id));
                prop_assert_eq!(index.remove(id), None);
            }
            Event::Keep(n) => {
                let horizon = DocId(next.0.saturating_sub(u64::from(*n) * gap));
                index.expire(horizon);
                scan.expire(horizon);
            }
            Event::Query(earlier, bits) => {
                check(&index, &scan, flip(*earlier.get(&seen), bits))?;
            }
        }
        let ids = (next.0..).step_by(usize::try_from(gap).unwrap_or(1)).map(DocId);
        let new: Vec<_> = ids.zip(new).collect();
        index.insert_all(new.iter().copied());
        for (id, fingerprint) in new {
            scan.insert(id, fingerprint);
            next = DocId(id.0 + gap);
            seen.push(fingerprint);
        }
        check(&index, &scan, *seen.last().expect("never empty"))?;
    }
    Ok(())
}

fn check(index: &impl Index, scan: &Scan, fingerprint: Fingerprint) -> Result<(), TestCaseError> {
    let (mut found, mut expected) = (vec![Candidate { id: DocId(0), distance: 99 }], Vec::new());
    prop_assert_eq!(index.len(), scan.len());
    prop_assert_eq!(index.is_empty(), scan.is_empty());
    for radius in 0..=index.max_radius() {
        index.candidates(fingerprint, radius, &mut found);
        scan.candidates(fingerprint, radius, &mut expected);
        prop_assert_eq!(&found, &expected, "radius {}", radius);
    }
    Ok(())
}

fn flip(fingerprint: Fingerprint, bits: &[u32]) -> Fingerprint {
    Fingerprint(bits.iter().fold(fingerprint.0, |all, bit| all ^ 1 << bit))
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // All distances from 0 to k+2.
    let bits = || prop::collection::vec(0..64_u32, 0..=13);
    let event = prop_oneof![
        4 => prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..4_u64].prop_map(|bits| Event::Insert(Fingerprint(bits))),
        8 => (any::<Pick>(), bits()).prop_map(|(of, bits)| Event::Plant(of, bits)),
        1 => (any::<Pick>(), 0..4_u32, prop_oneof![0..400_u16, 0..900_u16]).prop_map(|(of, block, n)| Event::Flood(of, block, n)),
        2 => any::<Pick>().prop_map(Event::Remove),
        2 => prop_oneof![0..20_u16, 0..1500_u16].prop_map(Event::Keep),
        8 => (any::<Pick>(), bits()).prop_map(|(of, bits)| Event::Query(of, bits)),
    ];
    prop::collection::vec(event, 0..60)
}

/// The keys of tables, and the largest radius that they are to serve.
fn tables() -> impl Strategy<Value = (Vec<u32>, u32)> {
    let keys = prop_oneof![
        prop::collection::vec(1..=16_u32, 1..=4),
        prop::collection::vec(8..=21_u32, 2..=3),
        Just(vec![])
    ];
    (keys, 0..=crate::index::MAX_RADIUS)
        .prop_filter("enough tables for the radius", |(keys, radius)| {
            keys.is_empty() || 4 * keys.len() > *radius as usize
        })
}

/// Tables through which a window grows: the bits of their keys, and for how many entries they are made.
fn smaller() -> impl Strategy<Value = Vec<(Vec<u32>, u64)>> {
    let keys = prop::collection::vec(1..=8_u32, 3..=4);
    prop::collection::vec((keys, 1..600_u64), 0..=3)
}

proptest! {
    #[test]
    fn recall_is_total(events in events(), radius in 0..=MAX_RADIUS, gap in 1..4_u64) {
        agrees_with_the_scan(Pigeonhole::new(radius), Scan::default(), &events, gap)?;
    }

    #[test]
    fn recall_is_total_where_ordinals_wrap_around(events in events(), radius in 0..=MAX_RADIUS, before in 0..1200_u32) {
        agrees_with_the_scan(Pigeonhole::starting_at(radius, u32::MAX - before), Scan::default(), &events, 1)?;
    }

    #[test]
    fn recall_is_total_with_any_tables((keys, radius) in tables(), smaller in smaller(), events in events(), gap in 1..4_u64, entries in 1..3000_u64, limit in 1..300_u32, portable: bool) {
        let limit = NonZeroU32::new(limit).unwrap();
        let smaller = smaller.into_iter().filter(|_| !keys.is_empty());
        let smaller = smaller.map(|(keys, entries)| TableLayout::with_keys(&keys, radius, entries));
        let layout = TableLayout::with_keys(&keys, radius, entries).growing_through(smaller.collect());
        let index = planned(layout).with_equal_limit(limit);
        let index = if portable { index.portable() } else { index };
        prop_assert_eq!(index.max_radius(), radius);
        let scan = Scan::default().with_equal_limit(limit);
        agrees_with_the_scan(index.clone(), scan.clone(), &events, gap)?;
        agrees_with_the_scan(index.never_scanning(), scan, &events, gap)?;
    }

    #[test]
    fn recall_is_total_with_the_tables_that_are_chosen(radius in 0..=crate::index::MAX_RADIUS, size in 1..40_u32, per_entry in 24..200_u64, events in events()) {
        let entries = 1 << size;
        let layout = TableLayout::choose(radius, entries, per_entry * entries);
        // Tables of larger windows take longer to clear than to search.
        if let Ok(layout) = layout && entries < 1 << 24 {
            let index = planned(layout).never_scanning();
            let scan = Scan::default().with_equal_limit(NonZeroU32::new(BlockIndex::EQUAL_LIMIT).unwrap());
            agrees_with_the_scan(index, scan, &events, 1)?;
        }
    }

    #[test]
    fn the_scan_agrees_with_itself_at_every_radius(events in events()) {
        agrees_with_the_scan(Scan::default(), Scan::default(), &events, 1)?;
    }

    #[test]
    fn distance_is_symmetric(a: u64, b: u64) {
        let (a, b) = (Fingerprint(a), Fingerprint(b));
        prop_assert_eq!(a.distance(b), b.distance(a));
        prop_assert_eq!(a.distance(b) == 0, a == b);
    }

    #[test]
    fn distance_obeys_the_triangle_inequality(a: u64, b: u64, c: u64) {
        let (a, b, c) = (Fingerprint(a), Fingerprint(b), Fingerprint(c));
        prop_assert!(a.distance(c) <= a.distance(b) + b.distance(c));
    }
}

#[test]
fn every_fingerprint_of_the_ball_is_found() {
    finds_the_ball(Pigeonhole::new(3));
    for (keys, radius) in [
        (&[20, 20, 20][..], 8),
        (&[16, 16, 16, 16], 9),
        (&[20, 20], 3),
        (&[10, 10], 7),
        (&[15, 15, 15], 11),
    ] {
        finds_the_ball(planned(TableLayout::with_keys(keys, radius, 100_000)).never_scanning());
    }
}

fn finds_the_ball(mut index: impl Index) {
    let centre = Fingerprint(0x0123_4567_89ab_cdef);
    let (mut next, mut found) = (1, Vec::new());
    for a in 0..64 {
        for b in 0..a {
            for c in 0..b {
                index.insert(DocId(next), flip(centre, &[a, b, c]));
                next += 1;
            }
        }
    }
    index.candidates(centre, 3, &mut found);
    assert_eq!(found.len(), 41_664);
    assert!(
        found
            .iter()
            .zip(1..)
            .all(|(candidate, id)| candidate.id == DocId(id) && candidate.distance == 3)
    );
    index.candidates(centre, 2, &mut found);
    assert!(found.is_empty());
}

#[test]
fn links_left_by_an_earlier_round_of_ordinals_lead_nowhere() {
    let lonely = Fingerprint(0xffff_0000_ffff_0000);
    let mut index = Pigeonhole::starting_at(3, u32::MAX - 3);
    index.insert(DocId(1), lonely);
    index.expire(DocId(2));
    // As after 2^32 insertions elsewhere: the ordinal to which the chain still leads is given again, to a stranger.
    let mut later = index.clone().restarted_at(u32::MAX - 3);
    let stranger = Fingerprint(0);
    for id in 2..9 {
        later.insert(DocId(id), stranger);
    }
    let mut found = Vec::new();
    later.candidates(lonely, 3, &mut found);
    assert!(found.is_empty());
    later.candidates(stranger, 3, &mut found);
    assert_eq!(found.len(), 7);
    // One of the chain, linked to the stranger: each is found once, and the walk ends.
    later.insert(DocId(9), lonely);
    later.candidates(lonely, 3, &mut found);
    assert_eq!(found, [Candidate { id: DocId(9), distance: 0 }]);
}

#[test]
fn an_index_that_rolls_does_not_grow() {
    let mut index = Pigeonhole::new(3);
    for id in 1..50_000 {
        index.insert(DocId(id), Fingerprint(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        index.expire(DocId(id.saturating_sub(999)));
    }
    assert_eq!((index.len(), index.capacity()), (1000, 1024));
}

#[test]
#[should_panic(expected = "ids grow")]
fn ids_that_do_not_grow_are_refused() {
    let mut index = Pigeonhole::new(3);
    index.insert(DocId(2), Fingerprint(0));
    index.insert(DocId(2), Fingerprint(0));
}

#[test]
#[should_panic(expected = "radius 3 asked of an index for 2")]
fn a_radius_beyond_the_largest_is_refused() {
    Pigeonhole::new(2).candidates(Fingerprint(0), 3, &mut Vec::new());
}

#[test]
#[should_panic(expected = "radius 4 is larger than 3")]
fn a_radius_that_the_layout_cannot_serve_is_refused() {
    let _ = Pigeonhole::new(4);
}
