//! Bits of a fingerprint gathered for all tables at once: a query needs them all, and is compiled for vectors, which hold several.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "keys have at most 32 bits")]

use super::{blocks::MAX_TABLES, key::Bits};

/// A word for each table.
type Words = [u64; MAX_TABLES];

/// What [`Bits`] do for one table, for each of several.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    runs: Vec<Runs>,
}

/// A run of bits of each table, or none.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    shift: Words,
    mask: Words,
    to: Words,
}

impl Gather {
    /// What the bits of each table gather.
    pub(super) fn new<'a>(tables: impl Iterator<Item = &'a Bits>) -> Self {
        let mut runs: Vec<Runs> = Vec::new();
        for (table, bits) in tables.enumerate() {
            for (nth, run) in bits.runs().iter().enumerate() {
                if nth == runs.len() {
                    runs.push(Runs::default());
                }
                let Runs { shift, mask, to } = &mut runs[nth];
                (shift[table], mask[table], to[table]) =
                    (u64::from(run.shift), run.mask, u64::from(run.to));
            }
        }
        Self { runs }
    }

    /// The gathered bits for each table.
    #[inline(always)]
    pub(super) fn of(&self, fingerprint: u64) -> [u32; MAX_TABLES] {
        let mut all = Words::default();
        for Runs { shift, mask, to } in &self.runs {
            for (table, all) in all.iter_mut().enumerate() {
                let run = fingerprint >> (shift[table] % 64) & mask[table];
                *all |= run << (to[table] % 64);
            }
        }
        all.map(|gathered| gathered as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::key::Key;

    proptest! {
        #[test]
        fn each_table_has_what_its_key_would_gather(
            masks in prop::collection::vec(any::<u64>(), 0..=MAX_TABLES),
            first: u64,
            fingerprint: u64,
        ) {
            // Keys have at most 32 bits.
            let short = |mask: u64| crate::index::key::lowest(mask, 32);
            let keys: Vec<Key> = masks.iter().map(|&mask| Key::new(short(mask), first, 0)).collect();
            let places = Gather::new(keys.iter().map(|key| &key.place)).of(fingerprint);
            let rests = Gather::new(keys.iter().map(|key| &key.rest)).of(fingerprint);
            for (table, key) in keys.iter().enumerate() {
                prop_assert_eq!(places[table], key.place.of(fingerprint));
                prop_assert_eq!(rests[table], key.rest.of(fingerprint));
            }
        }
    }
}
