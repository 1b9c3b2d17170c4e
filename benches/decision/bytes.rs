//! What the filter keeps of a page, by the memory that is resident.

use std::{fs, hint::black_box};

use pagesieve::{
    DocId, Index, Signature,
    filter::{Key, Representative},
    page::Timestamp,
};

use super::{Outcome, say, window};

/// Prints bytes an entry of a filter of so many: its tables as measured, and of what an entry of the window consists.
pub(super) fn print(entries: u64) -> Outcome<()> {
    let per_entry = |bytes: u64| bytes as f64 / entries as f64;
    let begin = resident()?;
    let (_, mut index) = window::empty(entries);
    for id in 1..=entries {
        index.insert(DocId(id), window::signature(id).fingerprint());
    }
    let with_index = resident()?;
    let digests = black_box(window::digests(entries));
    let with_digests = resident()?;
    let filter = black_box(window::filled(entries));
    let whole = resident()? - with_digests;
    // Not before, because memory that is free already would not be counted.
    drop((index, digests));
    let (of_index, of_digests) = (with_index - begin, with_digests - with_index);
    let of_window = whole.saturating_sub(of_index + of_digests);
    say(&format!(
        "{} entries: {:.1} bytes an entry resident\n  window  {:6.1}: signature {} (fingerprint {}), number {}, time {}, key {}; a representative, unpacked, {}\n  \
         index   {:6.1}\n  digests {:6.1}: two digests, with number, key, verdict and facts of their document",
        filter.len(),
        per_entry(whole),
        per_entry(of_window),
        size_of::<Signature>(),
        size_of::<u64>(),
        size_of::<DocId>(),
        size_of::<Timestamp>(),
        size_of::<Key>(),
        size_of::<Representative>(),
        per_entry(of_index),
        per_entry(of_digests),
    ))
}

/// Bytes of memory that this process has.
fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no size")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
