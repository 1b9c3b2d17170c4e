//! The index beside what it is compared with, at the sizes for which it is made.
//!
//!     cargo bench --bench index_large -- [ENTRIES...] [--radius 3,8] [--bytes 64,32] [--layout 21,21,22/narrow] [--no-peers]
//!
//! Prints for each window nanoseconds of CPU time of one thread. Half of the queries lie 0 to k bits from a document of the
//! window, half are random. All is measured when the window is full and a tenth of it has been replaced.
#![allow(clippy::print_stdout, reason = "it is a program that prints figures")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded"
)]

mod baseline;

use std::{env, fs, hint::black_box, num::NonZeroU32, thread, time::Duration};

use baseline::Baseline;
use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Candidate, Entry, Homes, Index, Layout, Plan},
};
use rustix::time::{ClockId, clock_gettime};

const BATCH: usize = 32;

/// The finaliser of `SplitMix64`: fingerprints without structure.
fn fingerprint(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

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

/// A fingerprint to ask for, and the document from which it was made, if any.
fn question(i: u64, radius: u32, first: u64, entries: u64) -> (u64, Option<u64>) {
    let noise = fingerprint(i ^ 0x5eed_0000_0000_0000);
    if i.is_multiple_of(2) {
        return (noise, None);
    }
    let id = first + noise % entries;
    let mut query = fingerprint(id);
    let mut bits = fingerprint(noise);
    let flips = (i / 2) % u64::from(radius + 1);
    while u64::from((query ^ fingerprint(id)).count_ones()) < flips {
        query ^= 1 << (bits % 64);
        bits = fingerprint(bits);
    }
    (query, Some(id))
}

struct Window {
    entries: u64,
    first: u64,
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

fn measure_index(plan: Plan, entries: u64, radii: &[u32], label: &str) {
    let before = resident();
    let begin = cpu();
    // Without tables, to count what is equal would take a scan for every insertion.
    let limit =
        if label == "scan" { NonZeroU32::MAX } else { NonZeroU32::new(1024).expect("not 0") };
    let mut index = BlockIndex::with_plan(plan).with_equal_limit(limit);
    index.insert_all((1..=entries).map(|id| (DocId(id), Fingerprint(fingerprint(id)))));
    let build = (cpu() - begin) as f64 / entries as f64;
    let replaced = if entries >= 1_000_000_000 { entries / 100 } else { entries / 10 };
    let begin = cpu();
    for id in entries + 1..=entries + replaced {
        index.expire(DocId(id - entries + 1));
        index.insert(DocId(id), Fingerprint(fingerprint(id)));
    }
    let roll = (cpu() - begin) as f64 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    println!("{label}: {}", index.plan());
    println!("  insert {build:.0} ns, insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    let window = Window { entries, first: replaced + 1 };
    for &radius in radii.iter().filter(|&&radius| radius <= index.max_radius()) {
        let (single, batch, missed, found) = query_times(&index, radius, &window);
        println!(
            "  radius {radius}: query {single:.0} ns, in batches of {BATCH} {batch:.0} ns; {missed} missed of {found}"
        );
    }
    if label != "scan" {
        let radius = index.max_radius();
        scaling(&index, radius, &window);
        latencies(&mut index, radius, &window);
    }
}

/// The CPU time of single steps of a rolling window: look up, expire, insert. The clock itself takes some hundred nanoseconds.
fn latencies(index: &mut BlockIndex, radius: u32, window: &Window) {
    let (mut out, mut next) = (Vec::new(), window.first + window.entries);
    let mut taken: Vec<u64> = (0..200_000)
        .map(|i| {
            let (query, _) = question(i, radius, next - window.entries, window.entries);
            let begin = cpu();
            index.candidates(Fingerprint(query), radius, &mut out);
            index.expire(DocId(next - window.entries + 1));
            index.insert(DocId(next), Fingerprint(fingerprint(next)));
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

/// Queries that two threads answer in the time in which one answers one.
fn scaling(index: &BlockIndex, radius: u32, window: &Window) {
    let work = || {
        let mut out = Vec::new();
        let queries: Vec<Fingerprint> = (0..20_000)
            .map(|i| Fingerprint(question(i, radius, window.first, window.entries).0))
            .collect();
        let begin = cpu();
        for queries in queries.chunks(BATCH) {
            index.candidates_of_all(queries, radius, &mut out);
        }
        (cpu() - begin) as f64
    };
    let alone = work();
    let both = thread::scope(|scope| {
        let other = scope.spawn(work);
        work().max(other.join().expect("it does not panic"))
    });
    println!("  two threads: {:.2} times the queries of one, by CPU time", 2.0 * alone / both);
}

fn query_times(index: &BlockIndex, radius: u32, window: &Window) -> (f64, f64, u64, u64) {
    let (mut missed, mut planted) = (0, 0);
    let mut out: Vec<Candidate> = Vec::new();
    let time = Duration::from_millis(1500);
    let single = ns_per(time, |round| {
        for i in 0..64 {
            let (query, id) = question(round * 64 + i, radius, window.first, window.entries);
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
        let asked: Vec<_> = (start..start + BATCH as u64)
            .map(|i| question(i, radius, window.first, window.entries))
            .collect();
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

fn measure_baseline(entries: u64) {
    let before = resident();
    let mut index = Baseline::new(entries);
    for id in 1..=entries {
        index.insert(fingerprint(id));
    }
    let replaced = entries / 10;
    let begin = cpu();
    for id in entries + 1..=entries + replaced {
        index.expire(fingerprint(id - entries));
        index.insert(fingerprint(id));
    }
    let roll = (cpu() - begin) as f64 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    let time = Duration::from_millis(1500);
    let single = ns_per(time, |round| {
        for i in 0..64 {
            let (query, _) = question(round * 64 + i, 3, replaced + 1, entries);
            black_box(index.count(query, 3));
        }
        64
    });
    let batch = ns_per(time, |round| {
        let start = (1 << 40) + round * 8;
        let asked: Vec<u64> =
            (start..start + 8).map(|i| question(i, 3, replaced + 1, entries).0).collect();
        black_box(index.count_all(&asked, 3));
        8
    });
    println!("4x16: insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    println!("  radius 3: query {single:.0} ns, in batches of 8 {batch:.0} ns");
}

fn layout(text: &str, radius: u32) -> Layout {
    let (bits, entry) = text.split_once('/').expect("BITS/narrow or BITS/wide");
    let (entry, homes) = entry.split_once('+').unwrap_or((entry, ""));
    let with = |layout: Layout| match homes {
        "tight" => layout.with_homes(Homes::Tight),
        "roomy" => layout.with_homes(Homes::Roomy),
        _ => layout,
    };
    let entry = if entry == "wide" { Entry::Wide } else { Entry::Narrow };
    if let Some((tables, bits)) = bits.split_once('x') {
        let (tables, bits) = (tables.parse().expect("tables"), bits.parse().expect("bits"));
        return with(Layout::covering(tables, bits, entry));
    }
    let bits: Vec<u32> = bits.split(',').map(|bits| bits.parse().expect("bits")).collect();
    with(Layout::disjoint(&bits, entry, radius))
}

fn main() {
    let arguments: Vec<String> =
        env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let list = |name: &str, default: &str| -> Vec<u32> {
        let text = value(name).unwrap_or(default.into());
        text.split(',').map(|number| number.parse().expect("a number")).collect()
    };
    let sizes: Vec<u64> = arguments.iter().map_while(|argument| argument.parse().ok()).collect();
    let radii = list("--radius", "3,8");
    let budgets = list("--bytes", "80,64,32");
    for entries in if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes } {
        println!("\n{entries} entries");
        if !arguments.iter().any(|argument| argument == "--no-peers") {
            measure_baseline(entries);
            if entries < 1_000_000_000 {
                measure_index(Plan::new(Layout::scan(8), entries), entries, &[3, 8], "scan");
            }
        }
        if let Some(text) = value("--layout") {
            for text in text.split(';') {
                let max = radii.iter().copied().max().unwrap_or(8);
                measure_index(Plan::new(layout(text, max), entries), entries, &radii, text);
            }
            continue;
        }
        for &radius in &radii {
            for bytes in &budgets {
                // Document numbers take 8 bytes, and none where they are consecutive, as here.
                match Plan::choose(radius, entries, u64::from(bytes + 8) * entries) {
                    Ok(plan) => measure_index(plan, entries, &[radius], &format!("{bytes} bytes")),
                    Err(error) => println!("{bytes} bytes: {error}"),
                }
            }
        }
    }
}
