//! What is measured.

use std::{
    fs,
    hint::black_box,
    num::NonZeroU32,
    thread,
    time::{Duration, Instant},
};

use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Candidate, Index, Plan},
};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    baseline::Baseline,
    source::{Source, mix},
};

const BATCH: usize = 32;

/// Nanoseconds of CPU time of this thread.
fn cpu() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Bytes of resident memory.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("it runs on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
    line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") * 1024.0
}

/// The documents in the window.
struct Window<'a> {
    source: &'a Source,
    entries: u64,
    first: u64,
}

impl Window<'_> {
    /// A fingerprint to ask for, and the document from which it was made, if any.
    fn question(&self, i: u64, radius: u32) -> (u64, Option<u64>) {
        let noise = mix(i ^ 0x5eed_0000_0000_0000);
        if i.is_multiple_of(2) {
            // No document has such a number.
            return (self.source.fingerprint(noise | 1 << 63), None);
        }
        let id = self.first + noise % self.entries;
        let original = self.source.fingerprint(id);
        let (mut query, mut bits) = (original, mix(noise));
        let flips = (i / 2) % u64::from(radius + 1);
        while u64::from((query ^ original).count_ones()) < flips {
            query ^= 1 << (bits % 64);
            bits = mix(bits);
        }
        (query, Some(id))
    }
}

/// Nanoseconds per unit of something that is done again and again for about so long.
fn ns_per(at_least: Duration, mut some: impl FnMut(u64) -> u64) -> f64 {
    let begin = cpu();
    let (mut done, mut round) = (0, 0);
    loop {
        done += some(round);
        round += 1;
        let taken = cpu() - begin;
        if taken > at_least.as_nanos() as u64 {
            return taken as f64 / done as f64;
        }
    }
}

pub(crate) fn measure_index(source: &Source, plan: Plan, radii: &[u32], label: &str) {
    let entries = plan.entries();
    let before = resident();
    let begin = cpu();
    // Without tables, to count what is equal would take a scan for every insertion.
    let mut index = BlockIndex::with_plan(plan).expect("there is memory");
    if label == "scan" {
        index = index.with_equal_limit(NonZeroU32::MAX);
    }
    index.insert_all((1..=entries).map(|id| (DocId(id), Fingerprint(source.fingerprint(id)))));
    let build = (cpu() - begin) as f64 / entries as f64;
    let replaced = if entries >= 1_000_000_000 { entries / 100 } else { entries / 10 };
    let begin = cpu();
    for id in entries + 1..=entries + replaced {
        index.expire(DocId(id - entries + 1));
        index.insert(DocId(id), Fingerprint(source.fingerprint(id)));
    }
    let roll = (cpu() - begin) as f64 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    println!("{label}: {}", index.plan());
    println!("  insert {build:.0} ns, insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    let window = Window { source, entries, first: replaced + 1 };
    for &radius in radii.iter().filter(|&&radius| radius <= index.max_radius()) {
        let (single, batch, missed, found) = query_times(&index, radius, &window);
        println!(
            "  radius {radius}: query {single:.0} ns, in batches of {BATCH} {batch:.0} ns; {missed} missed of {found}"
        );
    }
    if label != "scan" {
        let radius = index.max_radius();
        worst(&index, radius, &window);
        scaling(&index, radius, &window);
        latencies(&mut index, radius, &window);
    }
}

/// What is asked of the fullest bucket of all.
fn worst(index: &BlockIndex, radius: u32, window: &Window) {
    let last = window.first + window.entries - 1;
    let sampled = window.entries.min(10_000_000);
    let crowd = |&id: &u64| index.crowd(Fingerprint(window.source.fingerprint(id)));
    let fullest = (last - sampled + 1..=last).max_by_key(crowd).expect("the window is not empty");
    let fingerprint = Fingerprint(window.source.fingerprint(fullest));
    let mut out = Vec::new();
    let ns = ns_per(Duration::from_millis(300), |_| {
        index.candidates(black_box(fingerprint), radius, &mut out);
        1
    });
    println!(
        "  fullest bucket: {} entries; a query there {ns:.0} ns, which finds {}",
        crowd(&fullest),
        out.len()
    );
}

/// The CPU time of single steps of a rolling window: look up, expire, insert. The clock itself takes some hundred nanoseconds.
fn latencies(index: &mut BlockIndex, radius: u32, window: &Window) {
    let (mut out, mut next) = (Vec::new(), window.first + window.entries);
    let mut taken: Vec<u64> = (0..200_000)
        .map(|i| {
            let (query, _) = Window { first: next - window.entries, ..*window }.question(i, radius);
            let begin = cpu();
            index.candidates(Fingerprint(query), radius, &mut out);
            index.expire(DocId(next - window.entries + 1));
            index.insert(DocId(next), Fingerprint(window.source.fingerprint(next)));
            next += 1;
            cpu() - begin
        })
        .collect();
    taken.sort_unstable();
    let at = |share: f64| taken[(taken.len() as f64 * share) as usize];
    let max = taken.last().expect("not empty");
    println!(
        "  step: p50 {} ns, p99 {} ns, p99.9 {} ns, max {max} ns",
        at(0.5),
        at(0.99),
        at(0.999)
    );
}

/// Queries that two threads answer in the time in which one answers one, by wall time: what they wait for one another counts.
fn scaling(index: &BlockIndex, radius: u32, window: &Window) {
    let work = || {
        let mut out = Vec::new();
        let queries: Vec<Fingerprint> =
            (0..20_000).map(|i| Fingerprint(window.question(i, radius).0)).collect();
        let begin = Instant::now();
        for queries in queries.chunks(BATCH) {
            index.candidates_of_all(queries, radius, &mut out);
        }
        begin.elapsed().as_secs_f64()
    };
    let alone = work();
    let both = thread::scope(|scope| {
        let other = scope.spawn(work);
        work().max(other.join().expect("it does not panic"))
    });
    println!("  two threads: {:.2} times the queries of one, by wall time", 2.0 * alone / both);
}

fn query_times(index: &BlockIndex, radius: u32, window: &Window) -> (f64, f64, u64, u64) {
    let (mut missed, mut planted) = (0, 0);
    let mut out: Vec<Candidate> = Vec::new();
    let time = Duration::from_millis(1500);
    let single = ns_per(time, |round| {
        for i in 0..64 {
            let (query, id) = window.question(round * 64 + i, radius);
            index.candidates(Fingerprint(query), radius, &mut out);
            if let Some(id) = id {
                planted += 1;
                missed += u64::from(!out.iter().any(|candidate| candidate.id == DocId(id)));
            }
        }
        64
    });
    let mut outs = Vec::new();
    let batch = ns_per(time, |round| {
        let start = (1 << 40) + round * BATCH as u64;
        let asked: Vec<_> =
            (start..start + BATCH as u64).map(|i| window.question(i, radius)).collect();
        let queries: Vec<Fingerprint> =
            asked.iter().map(|&(query, _)| Fingerprint(query)).collect();
        index.candidates_of_all(&queries, radius, &mut outs);
        for ((_, id), out) in asked.iter().zip(&outs) {
            if let Some(id) = id {
                planted += 1;
                missed += u64::from(!out.iter().any(|candidate| candidate.id == DocId(*id)));
            }
        }
        BATCH as u64
    });
    (single, batch, missed, planted)
}

pub(crate) fn measure_baseline(source: &Source, entries: u64) {
    let before = resident();
    let mut index = Baseline::new(entries);
    for id in 1..=entries {
        index.insert(source.fingerprint(id));
    }
    let replaced = entries / 10;
    let begin = cpu();
    for id in entries + 1..=entries + replaced {
        index.expire(source.fingerprint(id - entries));
        index.insert(source.fingerprint(id));
    }
    let roll = (cpu() - begin) as f64 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    let window = Window { source, entries, first: replaced + 1 };
    let time = Duration::from_millis(1500);
    let single = ns_per(time, |round| {
        for i in 0..64 {
            let (query, _) = window.question(round * 64 + i, 3);
            black_box(index.count_all(&[query], 3));
        }
        64
    });
    let batch = ns_per(time, |round| {
        let start = (1 << 40) + round * BATCH as u64;
        let asked: Vec<u64> =
            (start..start + BATCH as u64).map(|i| window.question(i, 3).0).collect();
        black_box(index.count_all(&asked, 3));
        BATCH as u64
    });
    println!("4x16: insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    println!("  radius 3: query {single:.0} ns, in batches of {BATCH} {batch:.0} ns");
}
