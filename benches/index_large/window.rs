//! What the measured windows hold, and what is asked of them.

use std::fs;

use pagesieve::Fingerprint;

use crate::{measure::numbers::mix, source::Source};

/// Bytes of resident memory.
pub(crate) fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("it runs on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
    line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") * 1024.0
}

/// The number of documents of a full window that are replaced before anything is measured: a tenth, or a hundredth of a very large window.
pub(crate) fn replaced(entries: u64) -> u64 {
    if entries >= 1_000_000_000 { entries / 100 } else { entries / 10 }
}

/// The documents in a window.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) source: &'a Source,
    pub(crate) entries: u64,
    pub(crate) first: u64,
}

/// A fingerprint to ask for, and the document from which it was made, if any.
pub(crate) type Question = (Fingerprint, Option<u64>);

impl<'a> Window<'a> {
    /// After the replacement.
    pub(crate) fn rolled(source: &'a Source, entries: u64) -> Self {
        Self { source, entries, first: replaced(entries) + 1 }
    }

    /// Half of the questions lie 0 to `radius` bits from a document of the window, half come from none.
    pub(crate) fn question(&self, i: u64, radius: u32) -> Question {
        let noise = mix(i ^ 0x5eed_0000_0000_0000);
        if i.is_multiple_of(2) {
            // No document has such a number.
            return (Fingerprint(self.source.fingerprint(noise | 1 << 63)), None);
        }
        let id = self.first + noise % self.entries;
        let original = self.source.fingerprint(id);
        let (mut query, mut bits) = (original, mix(noise));
        let flips = (i / 2) % u64::from(radius + 1);
        while u64::from((query ^ original).count_ones()) < flips {
            query ^= 1 << (bits % 64);
            bits = mix(bits);
        }
        (Fingerprint(query), Some(id))
    }
}
