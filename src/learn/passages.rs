//! Which passages were seen: a Bloom filter for all sites (B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, Communications of the ACM 13, 1970).

use serde::{Deserialize, Serialize};

use super::numbers::{BITS, BITS_PER_PASSAGE, MIN_NEW_PASSAGES, NEW_RUN, NEW_SHARE};

/// The passages that were seen.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Passages {
    bits: Vec<u64>,
    /// How many passages there are.
    count: usize,
}

/// The passages of a page that no page before had.
#[derive(Debug)]
pub(crate) struct NewPassages {
    /// Whether they are much of the page, however it is arranged.
    pub(crate) are_many: bool,
    /// Their hashes.
    pub(crate) all: Vec<u32>,
}

impl Passages {
    /// Remembers the passages of a page. Where known text is only arranged anew, single passages are new, those across the seams. So a passage counts if the ones
    /// before it are new, too.
    pub(super) fn add(&mut self, passages: &[u32]) -> NewPassages {
        if self.bits.is_empty() || self.count * BITS_PER_PASSAGE > BITS {
            (self.bits, self.count) = (vec![0; BITS / 64], 0);
        }
        let (mut new, mut run, mut all) = (0, NEW_RUN, Vec::new());
        for passage in passages {
            if self.is_new(*passage) {
                all.push(*passage);
                run += 1;
            } else {
                run = 0;
            }
            new += usize::from(run > NEW_RUN);
        }
        let are_many = new >= MIN_NEW_PASSAGES && new * NEW_SHARE >= passages.len();
        NewPassages { are_many, all }
    }

    /// Enters a passage; returns whether it was not there. Its two bits are in one word, so that one place of memory is read
    /// (F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters, 2007).
    fn is_new(&mut self, passage: u32) -> bool {
        let hash = u64::from(passage).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = usize::try_from(hash >> 40).unwrap_or(0) % self.bits.len();
        let (word, mask) = (&mut self.bits[place], 1 << (hash >> 34 & 63) | 1 << (hash >> 28 & 63));
        let is_new = *word & mask != mask;
        *word |= mask;
        self.count += usize::from(is_new);
        is_new
    }

    /// These, if they are a filter of this size.
    pub(super) fn checked(self) -> Option<Self> {
        (self.bits.is_empty() || self.bits.len() * 64 == BITS).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_passages_in_another_order_are_no_gain_and_other_words_are() {
        let mut passages = Passages::default();
        // Sixty products of four sampled passages each, and one across each seam.
        let product = |it: u32| (it * 4..it * 4 + 4).collect::<Vec<_>>();
        for it in 0..60 {
            assert!(passages.add(&(it * 4..it * 4 + 12).collect::<Vec<_>>()).are_many || it > 0);
        }
        for page in 0..200_u32 {
            let shown = (0..12).flat_map(|it| {
                let seam = 1_000 + page * 12 + it;
                product((page * 7 + it * 13) % 60).into_iter().chain([seam])
            });
            assert!(!passages.add(&shown.collect::<Vec<_>>()).are_many, "{page}");
        }
        assert!(passages.add(&(50_000..50_020).collect::<Vec<_>>()).are_many);
        assert!(!passages.add(&(50_000..50_020).collect::<Vec<_>>()).are_many);
        assert!(!passages.add(&[]).are_many, "a page without text");
    }

    #[test]
    fn the_new_passages_alone_lead_to_the_same_filter() {
        let (mut one, mut other) = (Passages::default(), Passages::default());
        for page in 0..50_u32 {
            let shown: Vec<u32> = (0..40).map(|it| (page * 13 + it * 7) % 300).collect();
            other.add(&one.add(&shown).all);
        }
        assert_eq!((one.bits, one.count), (other.bits, other.count));
    }
}
