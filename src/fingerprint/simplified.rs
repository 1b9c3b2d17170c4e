//! Traditional Chinese characters folded to simplified ones, character by character.
//!
//! Several characters may fold to one; for comparison that does no harm.

use std::sync::LazyLock;

/// The first character the table covers: the CJK Unified Ideographs and their Extension A.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

/// What each character from [`FIRST`] to [`LAST`] folds to: 54 KiB.
#[derive(Debug)]
pub(super) struct Table(Box<[u16]>);

impl Table {
    /// The one table, built when it is first asked for.
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    fn build() -> Self {
        let mut folded: Box<[u16]> = (FIRST..=LAST).map(low).collect();
        for line in include_str!("simplified.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut characters = line.chars().map(u32::from);
            while let (Some(from), Some(to)) = (characters.next(), characters.next()) {
                folded[(from - FIRST) as usize] = low(to);
            }
        }
        Self(folded)
    }

    /// The simplified form, or the character itself.
    #[inline]
    pub(super) fn fold(&self, character: char) -> char {
        let index = u32::from(character).wrapping_sub(FIRST) as usize;
        self.0.get(index).and_then(|&folded| char::from_u32(folded.into())).unwrap_or(character)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the table lies in the Basic Multilingual Plane"
)]
fn low(character: u32) -> u16 {
    character as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_the_file_folds_and_folding_twice_changes_nothing() {
        let table = Table::get();
        let changed = (FIRST..=LAST).filter_map(char::from_u32).filter(|&c| table.fold(c) != c);
        assert_eq!(changed.clone().count(), 2_994);
        assert!(changed.map(|c| table.fold(c)).all(|simple| table.fold(simple) == simple));
    }

    #[test]
    fn other_characters_stay() {
        let table = Table::get();
        for character in ['a', 'é', 'か', '々', '\u{33ff}', '\u{a000}', '𠀀', '么', '看'] {
            assert_eq!(table.fold(character), character);
        }
        assert_eq!(
            "裏裡電視著説說".chars().map(|c| table.fold(c)).collect::<String>(),
            "里里电视着说说"
        );
    }
}
