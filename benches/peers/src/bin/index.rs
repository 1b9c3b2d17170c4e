//! The index beside other exact indexes, in one run: a scan, the plain scheme of four blocks of 16 bits, gaoya's `SimHashIndex` and mih-rs.
//!
//!     cargo run --release --bin index -- [ENTRIES...] [--radius 3,5,6,8]
//!
//! Each holds the same random fingerprints and is asked for what lies within the radius; half of the queries lie 0 to k bits from an entry, half
//! from none. Prints nanoseconds of CPU time of one thread, bytes of resident memory an entry, and how much of what was planted was
//! found. After each comes the fastest index of pagesieve that takes no more memory (after the scan, the fastest of all), in the rolling
//! state: full, and a tenth of the window replaced. The others hold what they were given first: mih-rs cannot insert, and neither it nor
//! gaoya has a window.

#[path = "../baseline.rs"]
#[allow(dead_code, reason = "here it neither rolls nor answers many at once")]
mod baseline;

use std::{env, fs, num::NonZeroU32, process::Command, time::Duration};

use baseline::Baseline;
use gaoya::simhash::SimHashIndex;
use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Index, TableLayout},
};
use rustix::time::{ClockId, clock_gettime};

/// A name, for up to which radius and how many entries, and what measures it and returns its bytes an entry.
type Peer = (&'static str, u32, u64, fn(u64, u32) -> f64);
const PEERS: [Peer; 6] = [
    ("scan", 64, u64::MAX, scan),
    ("plain", 3, u64::MAX, plain),
    ("mih", 64, u64::MAX, |entries, radius| mih(entries, radius, None)),
    ("mih4", 64, u64::MAX, |entries, radius| mih(entries, radius, Some(4))),
    // The fewest blocks that find everything.
    ("gaoya", 64, u64::MAX, |entries, radius| gaoya(entries, radius, radius as usize + 2)),
    // 12 µs an insertion and a kilobyte an entry.
    ("gaoya6", 3, 1_000_000, |entries, radius| gaoya(entries, radius, 6)),
];
/// For how long each is asked.
const ASKED_FOR: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().expect("a number");
    if let [name, entries, radius] = &arguments[..]
        && let Some(peer) = PEERS.iter().find(|peer| peer.0 == name)
    {
        let (entries, radius) = (number(entries), number(radius) as u32);
        beside(entries, radius, (peer.3)(entries, radius));
        return;
    }
    let place = arguments.iter().position(|argument| argument == "--radius");
    let radii = place.and_then(|place| arguments.get(place + 1)).map_or("3", String::as_str);
    let radii: Vec<u32> =
        radii.split(',').map(|radius| radius.parse().expect("a radius")).collect();
    let sizes: Vec<u64> =
        arguments[..place.unwrap_or(arguments.len())].iter().map(number).collect();
    let program = env::current_exe().expect("it runs on Linux");
    for entries in if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes } {
        for &radius in &radii {
            println!("\n{entries} entries, radius {radius}");
            for (name, ..) in PEERS.iter().filter(|peer| radius <= peer.1 && entries <= peer.2) {
                // In a process of its own, whose memory is nobody else's.
                let arguments = [*name, &entries.to_string(), &radius.to_string()];
                let status = Command::new(&program).args(arguments).status();
                assert!(status.expect("this program can be started").success(), "{name} failed");
            }
        }
    }
}

/// Measures pagesieve in as many bytes as a peer took.
fn beside(entries: u64, radius: u32, peer_bytes: f64) {
    let budget = (peer_bytes * entries as f64) as u64;
    match TableLayout::choose(radius, entries, budget) {
        Ok(layout) => pagesieve(&format!("    pagesieve, {layout}"), entries, radius, layout),
        Err(error) => println!("    pagesieve: {error}"),
    }
}

fn pagesieve(label: &str, entries: u64, radius: u32, layout: TableLayout) {
    let (before, begin) = (resident(), cpu());
    let mut index =
        BlockIndex::with_layout(layout).expect("there is memory").with_equal_limit(NonZeroU32::MAX);
    let replaced = entries / 10;
    for id in 1..=entries + replaced {
        index.expire(DocId((id + 1).saturating_sub(entries)));
        index.insert(DocId(id), Fingerprint(fingerprint(id)));
    }
    let built = Built::since(begin, before, entries + replaced, entries);
    let mut out = Vec::new();
    ask(label, &built, replaced + 1, entries, radius, |query, id| {
        index.candidates(Fingerprint(query), radius, &mut out);
        out.iter().any(|candidate| candidate.id.0 == id)
    });
}

fn scan(entries: u64, radius: u32) -> f64 {
    pagesieve("scan by popcount", entries, radius, TableLayout::with_keys(&[], radius, entries));
    f64::INFINITY
}

fn plain(entries: u64, radius: u32) -> f64 {
    let (before, begin) = (resident(), cpu());
    let mut index = Baseline::new(entries);
    for id in 1..=entries {
        index.insert(fingerprint(id));
    }
    let built = Built::since(begin, before, entries, entries);
    ask("4x16", &built, 1, entries, radius, |query, _| index.count_all(&[query], radius) > 0);
    built.bytes
}

fn mih(entries: u64, radius: u32, blocks: Option<usize>) -> f64 {
    let (before, begin) = (resident(), cpu());
    let codes: Vec<u64> = (1..=entries).map(fingerprint).collect();
    let index = match blocks {
        Some(blocks) => mih_rs::Index::with_blocks(codes, blocks),
        None => mih_rs::Index::new(codes),
    };
    let index = index.expect("there are codes, and not too many");
    let built = Built::since(begin, before, entries, entries);
    let mut searcher = index.range_searcher();
    let label = format!("mih-rs, {} blocks", index.num_blocks());
    ask(&label, &built, 1, entries, radius, |query, id| {
        searcher.run(query, radius as usize).iter().any(|&found| u64::from(found) + 1 == id)
    });
    built.bytes
}

fn gaoya(entries: u64, radius: u32, blocks: usize) -> f64 {
    let (before, begin) = (resident(), cpu());
    // It finds what is nearer than its distance, not what is as near.
    let mut index = SimHashIndex::<u64, u32>::new(blocks, radius as usize + 1);
    for id in 1..=entries {
        index.insert(u32::try_from(id).expect("a small number"), fingerprint(id));
    }
    let built = Built::since(begin, before, entries, entries);
    ask(&format!("gaoya, {blocks} blocks"), &built, 1, entries, radius, |query, id| {
        index.query(&query).into_iter().any(|&found| u64::from(found) == id)
    });
    built.bytes
}

/// What it took to fill an index.
struct Built {
    /// Nanoseconds an insertion.
    insert: f64,
    /// Bytes an entry.
    bytes: f64,
}

impl Built {
    fn since(begin: u64, before: f64, inserted: u64, entries: u64) -> Self {
        Self {
            insert: (cpu() - begin) as f64 / inserted as f64,
            bytes: (resident() - before) / entries as f64,
        }
    }
}

/// Asks again and again. `find` says whether an entry was found, and is asked for 0 where none was planted.
fn ask(
    label: &str,
    built: &Built,
    first: u64,
    entries: u64,
    radius: u32,
    mut find: impl FnMut(u64, u64) -> bool,
) {
    let (mut asked, mut planted, mut found) = (0_u64, 0_u64, 0_u64);
    let begin = cpu();
    while cpu() - begin < u64::try_from(ASKED_FOR.as_nanos()).expect("it is short") {
        for _ in 0..16 {
            let (query, id) = question(asked, first, entries, radius);
            let hit = find(query, id);
            planted += u64::from(id != 0);
            found += u64::from(hit && id != 0);
            asked += 1;
        }
    }
    let query = (cpu() - begin) as f64 / asked as f64;
    let Built { insert, bytes } = built;
    println!(
        "{label}: query {query:.0} ns, insert {insert:.0} ns, {bytes:.1} bytes an entry, found {found} of {planted}"
    );
}

/// A fingerprint to ask for, and the entry from which it was made, or 0.
fn question(i: u64, first: u64, entries: u64, radius: u32) -> (u64, u64) {
    let noise = fingerprint(i | 1 << 62);
    if i.is_multiple_of(2) {
        return (noise, 0);
    }
    let id = first + noise % entries;
    let original = fingerprint(id);
    let (mut query, mut bits) = (original, fingerprint(noise));
    while u64::from((query ^ original).count_ones()) < (i / 2) % u64::from(radius + 1) {
        query ^= 1 << (bits % 64);
        bits = fingerprint(bits);
    }
    (query, id)
}

/// The finaliser of `SplitMix64`.
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
