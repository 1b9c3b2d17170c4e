//! What the filter keeps of a page, by the memory that is resident.

use std::{fs, hint::black_box};

use pagesieve::{
    DocId, Index, Signature,
    fingerprint::Segment,
    index::{BlockIndex, TableLayout},
};

use super::{Outcome, say, window};

/// Prints the bytes an entry of a full filter, and how much of it is the index.
pub(super) fn print(entries: u64) -> Outcome<()> {
    let per_entry = |bytes: u64| bytes as f64 / entries as f64;
    let begin = resident()?;
    let filter = black_box(window::filled(entries, Segment::Jieba, true));
    let whole = resident()? - begin;
    let before = resident()?;
    let mut index = BlockIndex::with_layout(TableLayout::clone(filter.index().layout()))?;
    for id in 1..=entries {
        index.insert(DocId(id), window::signature(id).fingerprint());
    }
    let of_index = resident()? - before;
    drop(black_box(index));
    say(&format!(
        "{} entries: {:.1} bytes an entry resident\n  index   {:6.1}\n  others  {:6.1}: the signature of {}, number, time and key; two digests, with number, key, verdict and \
         facts of their document",
        filter.len(),
        per_entry(whole),
        per_entry(of_index),
        per_entry(whole.saturating_sub(of_index)),
        size_of::<Signature>(),
    ))
}

/// Bytes of memory that this process has.
fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no size")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
