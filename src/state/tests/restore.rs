//! What it costs to restore a large window of texts. It needs 80 bytes of disk and some 130 bytes of memory per entry:
//!
//!     ENTRIES=100000000 cargo test --profile bench --lib -- --ignored --nocapture a_large_window_comes_back

#![expect(clippy::print_stderr, reason = "it is asked for its figures")]

use std::{env, fs};

use bytesize::ByteSize;
use rustix::time::{ClockId, clock_gettime};

use super::super::*;
use crate::{
    filter::{Key, Options, Position, Representative, WindowOptions},
    fingerprint::Signature,
    index::tests::texts::of_a_text,
    page::{DocId, Timestamp},
};

/// Seconds of CPU time of this process.
#[expect(clippy::cast_precision_loss, reason = "a figure is rounded")]
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that the process has had so far.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap_or("VmHWM: unknown").split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn mix(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Every fifth document repeats another, so that numbers are not consecutive.
fn representative(place: u64) -> Representative {
    let id = DocId(place + place / 4);
    // The fingerprint is as skewed as those of texts; the index reads nothing else.
    let signature = [of_a_text(place).0, mix(3 * place), mix(3 * place + 1), mix(3 * place + 2)];
    let at = Timestamp(id.0.cast_signed());
    Representative::new(id, at, Key(mix(id.0)), Some(Signature(signature)))
}

#[test]
#[ignore = "it takes minutes and much memory; the head of the file has its command"]
fn a_large_window_comes_back() {
    let entries: u64 = env::var("ENTRIES").map_or(1_000_000, |text| text.parse().unwrap());
    let window = WindowOptions { entries: entries.try_into().unwrap(), age: None, future: false };
    // Not all of what the filter counts is used: it reckons with a body and an article for each.
    let memory = ByteSize(entries * (364 + 60));
    let options = Options { memory, window, ..Options::default() };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite");
    {
        let state = DurableFilter::open(&path, &options).unwrap().into_state();
        for place in 1..=entries {
            state.begin().unwrap();
            super::remember(&state, &representative(place));
            if place.is_multiple_of(1 << 18) {
                state.commit().unwrap();
            }
        }
        let next = DocId(representative(entries).id.0 + 1);
        let clock = Timestamp(next.0.cast_signed());
        let position =
            Position { next, aliases: 0, clock, oldest: DocId(1), ..Position::default() };
        state.set_meta("position", serde_json::to_string(&position).unwrap()).unwrap();
        state.commit().unwrap();
    }
    eprintln!(
        "{entries} entries, {}",
        ByteSize(fs::metadata(&path).unwrap().len()).display().iec()
    );
    let (before, began) = (cpu(), std::time::Instant::now());
    let filter = DurableFilter::open(&path, &options).unwrap();
    let (cpu, all) = (cpu() - before, began.elapsed().as_secs_f64());
    eprintln!("{cpu:.1} s of CPU time, {all:.1} s in all, at most {} of memory", peak());
    eprintln!("{}", filter.index().layout());
    assert_eq!(filter.len() as u64, entries);
}
