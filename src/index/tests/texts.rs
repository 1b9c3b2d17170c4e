//! Fingerprints that are skewed, as those of texts are.

use super::{planned, random};
use crate::{
    fingerprint::Fingerprint,
    index::{Index, Scan, TableLayout},
    page::DocId,
};

/// Bits as those of texts in two languages, each of which leans to one side more or less: two differ in 28 or 29 bits.
pub(crate) fn of_a_text(number: u64) -> Fingerprint {
    let language = random(number).0 % 2;
    let bit = |bit: u64| {
        let lean = random(1 << 40 | language << 6 | bit).0 % 1000;
        let tossed = random(1 << 50 | number << 6 | bit).0 % 1000;
        u64::from(tossed < 195 + lean * 61 / 100) << bit
    };
    Fingerprint((0..64).map(bit).sum())
}

#[test]
fn skewed_fingerprints_are_found_in_the_planned_memory() {
    let (entries, rolled) = (30_000, 60_000);
    let texts: Vec<Fingerprint> = (1..=entries + rolled).map(of_a_text).collect();
    let differ = texts.windows(2).map(|two| u64::from((two[0].0 ^ two[1].0).count_ones()));
    assert!((27..31).contains(&(differ.sum::<u64>() / (entries + rolled))));
    let documents = || (1..).map(DocId).zip(texts.iter().copied());
    for radius in [3, 8] {
        let mut scan = Scan::default();
        documents().for_each(|(id, text)| assert!(scan.insert(id, text)));
        scan.expire(DocId(rolled + 1));
        for bytes in [60, 80, 120, 160] {
            let layout = TableLayout::choose(radius, entries, (bytes + 8) * entries).unwrap();
            let mut index = planned(layout.clone());
            for (id, text) in documents() {
                index.insert(id, text);
                index.expire(DocId(id.0.saturating_sub(entries - 1)));
            }
            let (pages, most) = (index.pages(), layout.pages());
            assert!(pages <= most, "{pages} pages of {most}: {layout}");
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            for (text, number) in texts.iter().skip(60_000).step_by(97).zip(0..) {
                let near = Fingerprint(text.0 ^ 1 << (number % 64));
                for asked in [near, of_a_text(1 << 30 | number)] {
                    index.candidates(asked, radius, &mut found);
                    scan.candidates(asked, radius, &mut expected);
                    assert_eq!(found, expected, "{layout}");
                }
            }
        }
    }
}

#[test]
fn no_window_exceeds_its_plan_however_skewed_it_is() {
    let entries = 20_000_u64;
    for rare in 0..=4 {
        // Three of four bits are set in one of 2, 4, 8, 16 or 32 fingerprints.
        let skewed = |id: u64| {
            let lean = (0..rare).fold(u64::MAX, |bits, nth| bits & random(id << 3 | nth).0);
            let even = random(id << 3 | 7).0;
            Fingerprint(even & (lean | 0xffff))
        };
        for bytes in [50, 60, 80, 120, 160] {
            let layout = TableLayout::choose(9, entries, bytes * entries).unwrap();
            let mut index = planned(layout.clone()).never_scanning();
            for id in 1..=3 * entries {
                index.insert(DocId(id), skewed(id));
                index.expire(DocId(id.saturating_sub(entries - 1)));
            }
            let (pages, most) = (index.pages(), layout.pages());
            assert!(pages <= most, "{pages} pages of {most} at 1 in {}: {layout}", 2 << rare);
        }
    }
}

#[test]
fn keys_avoid_bits_that_never_change() {
    // A quarter of the bits never changes: as they come they would be the first key, and all entries in one of its buckets.
    let documents = (1..=20_000).map(|id| (DocId(id), Fingerprint(random(id).0 & !0xffff)));
    let layout = TableLayout::with_keys(&[16, 14, 14, 14], 8, 20_000);
    let [mut one_by_one, mut at_once] = [(); 2].map(|()| planned(layout.clone()));
    documents.clone().for_each(|(id, fingerprint)| assert!(one_by_one.insert(id, fingerprint)));
    at_once.insert_all(documents.clone());
    for index in [one_by_one, at_once] {
        let fullest =
            documents.clone().map(|(_, fingerprint)| index.fullest_bucket(fingerprint)).max();
        assert!(fullest.is_some_and(|fullest| (2..200).contains(&fullest)), "{fullest:?}");
    }
}
