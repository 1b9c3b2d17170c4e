//! Which pages of a site are known, for many more of them than classes are remembered.

use hashbrown::HashMap;

/// Keys of a generation, as many as a table of 16,384 places takes.
const GENERATION: usize = 14_336;

/// The last pages by keys of their URLs: as they are without what rules leave out, and without each part that a rule may leave out later.
///
/// With each key is the candidate for the part that is left out, 0 if there is none. When a generation is full, the one before it is forgotten. Of a key 32 bits
/// are kept: one in 150,000 pages that are not known is taken for a known one.
#[derive(Debug, Default)]
pub(super) struct KnownPages {
    newest: HashMap<u32, u32>,
    older: HashMap<u32, u32>,
}

impl KnownPages {
    /// Enters a page under a key.
    pub(super) fn add(&mut self, key: u64, candidate: u32) {
        // A page that is known by its URL itself stays so.
        let candidate = if self.get(key) == Some(0) { 0 } else { candidate };
        if self.newest.len() >= GENERATION {
            std::mem::swap(&mut self.newest, &mut self.older);
            self.newest.clear();
        }
        self.newest.insert(short(key), candidate);
    }

    /// The candidate by which the page of this key is known.
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let key = short(key);
        self.newest.get(&key).or_else(|| self.older.get(&key)).copied()
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        let table = |capacity: usize| {
            if capacity == 0 { 0 } else { (capacity * 8 / 7).next_power_of_two() * 9 }
        };
        table(self.newest.capacity()) + table(self.older.capacity())
    }
}

fn short(key: u64) -> u32 {
    (key >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_keys_are_known_and_the_tables_do_not_grow() {
        let mut pages = KnownPages::default();
        let key = |number: u64| number << 32;
        for number in 0..10 * GENERATION as u64 {
            pages.add(key(number), 7);
            assert!((0..GENERATION as u64).all(|before| {
                before % 999 > 0 || before > number || pages.get(key(number - before)) == Some(7)
            }));
        }
        assert_eq!(pages.get(key(7 * GENERATION as u64)), None);
        assert_eq!(pages.size(), 2 * 16_384 * 9);
    }

    #[test]
    fn a_page_that_is_known_by_its_url_stays_so() {
        let mut pages = KnownPages::default();
        for (candidate, known) in [(7, 7), (8, 8), (0, 0), (7, 0)] {
            pages.add(1 << 40, candidate);
            assert_eq!(pages.get(1 << 40), Some(known));
        }
        // Also when it is entered again in the next generation.
        (0..GENERATION as u64).for_each(|number| pages.add((1_000 + number) << 32, 7));
        pages.add(1 << 40, 7);
        assert_eq!(pages.get(1 << 40), Some(0));
    }
}
