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

    /// The simplified form, if it is another character.
    #[inline]
    pub(super) fn folded(&self, character: char) -> Option<char> {
        let index = u32::from(character).wrapping_sub(FIRST) as usize;
        let folded = u32::from(*self.0.get(index)?);
        if folded == u32::from(character) { None } else { char::from_u32(folded) }
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

    fn fold(character: char) -> char {
        Table::get().folded(character).unwrap_or(character)
    }

    #[test]
    fn every_pair_of_the_file_folds_and_folding_twice_changes_nothing() {
        let changed = (FIRST..=LAST).filter_map(char::from_u32).filter(|&c| fold(c) != c);
        assert_eq!(changed.clone().count(), 2_994);
        assert!(changed.map(fold).all(|simple| fold(simple) == simple));
    }

    #[test]
    fn other_characters_stay() {
        for character in ['a', 'é', 'か', '々', '\u{33ff}', '\u{a000}', '𠀀', '么', '看'] {
            assert_eq!(fold(character), character);
        }
        assert_eq!("裏裡電視著説說".chars().map(fold).collect::<String>(), "里里电视着说说");
    }
}
