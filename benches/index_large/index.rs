//! What is measured of the index.

use std::hint::black_box;

use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Index, TableLayout},
};

use crate::{
    measure::turns::{Spread, cpu},
    race::race,
    source::Source,
    window::{Window, replaced, resident},
};

/// How often the fullest bucket is read, and how many other queries between.
const WORST_ASKED: u64 = 1_000;
const OTHERS_BETWEEN: u64 = 64;
/// Documents with one fingerprint.
const HOT: u64 = 1_000_000;

pub(crate) fn measure_index(source: &Source, layout: TableLayout, with_scan: bool) {
    let (entries, radius) = (layout.entries(), layout.radius());
    let before = resident();
    let begin = cpu();
    let mut index = BlockIndex::with_layout(layout).expect("there is memory");
    index.insert_all((1..=entries).map(|id| (DocId(id), Fingerprint(source.fingerprint(id)))));
    let build = (cpu() - begin) * 1e9 / entries as f64;
    let (replaced, begin) = (replaced(entries), cpu());
    for id in entries + 1..=entries + replaced {
        index.expire(DocId(id - entries + 1));
        index.insert(DocId(id), Fingerprint(source.fingerprint(id)));
    }
    let roll = (cpu() - begin) * 1e9 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    println!("\n{}", index.layout());
    println!("  insert {build:.0} ns, insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    let window = Window::rolled(source, entries);
    race(&index, &window, radius, with_scan);
    worst(&index, radius, &window);
    latencies(&mut index, radius, &window);
    hot(&mut index, radius, &window);
}

/// What a million documents with one fingerprint cost: those beyond the limit do not enter.
fn hot(index: &mut BlockIndex, radius: u32, window: &Window) {
    let (first, value) =
        (window.first + 2 * window.entries, Fingerprint(window.source.fingerprint(1)));
    let (before, begin) = (resident(), cpu());
    for id in first..first + HOT {
        index.insert(DocId(id), value);
    }
    let insert = (cpu() - begin) * 1e9 / HOT as f64;
    let (mut out, begin) = (Vec::new(), cpu());
    for _ in 0..WORST_ASKED {
        index.candidates(black_box(value), radius, &mut out);
    }
    let query = (cpu() - begin) * 1e9 / WORST_ASKED as f64;
    println!(
        "  one value {HOT} times: insert {insert:.0} ns, query {query:.0} ns, which finds {}; {:.0} bytes more in all",
        out.len(),
        resident() - before
    );
}

/// Queries that end in the fullest bucket of all.
fn worst(index: &BlockIndex, radius: u32, window: &Window) {
    let last = window.first + window.entries - 1;
    let sampled = window.entries.min(10_000_000);
    let fullness = |&id: &u64| index.fullest_bucket(Fingerprint(window.source.fingerprint(id)));
    let fullest =
        (last - sampled + 1..=last).max_by_key(fullness).expect("the window is not empty");
    let fingerprint = Fingerprint(window.source.fingerprint(fullest));
    let mut out = Vec::new();
    let taken = (0..WORST_ASKED).map(|turn| {
        // Others in between displace it from the caches.
        for i in 0..OTHERS_BETWEEN {
            let (other, _) = window.question(turn * OTHERS_BETWEEN + i, radius);
            index.candidates(other, radius, &mut out);
        }
        let begin = cpu();
        index.candidates(black_box(fingerprint), radius, &mut out);
        (cpu() - begin) * 1e9
    });
    let Spread { median, greatest, .. } = Spread::of(taken);
    println!(
        "  fullest bucket: {} entries; a query there, after {OTHERS_BETWEEN} others, {median:.0} ns, the longest of {WORST_ASKED} {greatest:.0} ns; it finds {}",
        fullness(&fullest),
        out.len()
    );
}

/// The CPU time of single steps of a rolling window: look up, expire, insert. The clock itself takes some hundred nanoseconds.
fn latencies(index: &mut BlockIndex, radius: u32, window: &Window) {
    let (mut out, mut next) = (Vec::new(), window.first + window.entries);
    let mut taken: Vec<f64> = (0..200_000)
        .map(|i| {
            let (query, _) = Window { first: next - window.entries, ..*window }.question(i, radius);
            let begin = cpu();
            index.candidates(query, radius, &mut out);
            index.expire(DocId(next - window.entries + 1));
            index.insert(DocId(next), Fingerprint(window.source.fingerprint(next)));
            next += 1;
            (cpu() - begin) * 1e9
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    let at = |share: f64| taken[(taken.len() as f64 * share) as usize];
    let max = taken.last().expect("not empty");
    println!(
        "  step: p50 {:.0} ns, p99 {:.0} ns, p99.9 {:.0} ns, max {max:.0} ns",
        at(0.5),
        at(0.99),
        at(0.999)
    );
}
