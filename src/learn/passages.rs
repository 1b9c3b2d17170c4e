//! Which passages were seen: a Bloom filter for all sites (B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, Communications of the ACM 13, 1970).

use super::numbers::{BITS, BITS_PER_PASSAGE, MIN_NEW_PASSAGES, NEW_RUN, NEW_SHARE};

/// The passages that were seen.
#[derive(Debug, Default)]
pub(super) struct Passages {
    bits: Vec<u64>,
    /// How many passages there are.
    count: usize,
}

impl Passages {
    /// Whether much of a page is in passages that no page before had, however it is arranged; remembers them. Where known text is only arranged anew, single passages
    /// are new, those across the seams. So a passage counts if the one before it is new, too.
    pub(super) fn are_new(&mut self, passages: &[u32]) -> bool {
        if self.bits.is_empty() || self.count * BITS_PER_PASSAGE > BITS {
            (self.bits, self.count) = (vec![0; BITS / 64], 0);
        }
        let (mut new, mut run) = (0, NEW_RUN);
        for passage in passages {
            let is_new = self.is_new(*passage);
            run = if is_new { run + 1 } else { 0 };
            new += usize::from(run > NEW_RUN);
        }
        new >= MIN_NEW_PASSAGES && new * NEW_SHARE >= passages.len()
    }

    fn is_new(&mut self, passage: u32) -> bool {
        let hash = u64::from(passage).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let places = [hash >> 41, hash & (BITS as u64 - 1)];
        let places = places.map(|bit| usize::try_from(bit).unwrap_or(0) % BITS);
        let is_new = places.iter().any(|at| self.bits[at / 64] >> (at % 64) & 1 == 0);
        for at in places {
            self.bits[at / 64] |= 1 << (at % 64);
        }
        self.count += usize::from(is_new);
        is_new
    }

    /// The filter as bytes, none if it is empty.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.bits.iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    /// The filter of these bytes; an empty one if they are none of its size.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() * 8 != BITS {
            return Self::default();
        }
        let (words, _) = bytes.as_chunks();
        let bits: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let ones: usize = bits.iter().map(|bits| bits.count_ones() as usize).sum();
        Self { bits, count: ones / 2 }
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
            assert!(passages.are_new(&(it * 4..it * 4 + 12).collect::<Vec<_>>()) || it > 0);
        }
        for page in 0..200_u32 {
            let shown = (0..12).flat_map(|it| {
                let seam = 1_000 + page * 12 + it;
                product((page * 7 + it * 13) % 60).into_iter().chain([seam])
            });
            assert!(!passages.are_new(&shown.collect::<Vec<_>>()), "{page}");
        }
        assert!(passages.are_new(&(50_000..50_020).collect::<Vec<_>>()));
        assert!(!passages.are_new(&(50_000..50_020).collect::<Vec<_>>()));
        assert!(!passages.are_new(&[]), "a page without text");
    }

    #[test]
    fn passages_are_kept_and_come_back() {
        let mut passages = Passages::default();
        assert!(passages.to_bytes().is_empty());
        let page: Vec<u32> = (0..40).collect();
        assert!(passages.are_new(&page));
        let kept = passages.to_bytes();
        for (kept, is_new) in [(&kept[..], false), (&kept[1..], true), (&[], true)] {
            assert_eq!(Passages::from_bytes(kept).are_new(&page), is_new);
        }
    }
}
