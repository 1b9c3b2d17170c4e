//! A queue of representatives by turn, in blocks that never move: growth copies nothing, and what has left gives its memory back.

use std::{cmp::Ordering, collections::VecDeque};

use super::representative::Packed;
use crate::page::DocId;

/// Representatives of a block: 72 KiB.
const BLOCK: usize = 1024;

/// Representatives, oldest turn first.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// All but the last are full.
    blocks: VecDeque<Vec<Packed>>,
    /// How many of the first block have left.
    first: usize,
    len: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Turns grow from call to call.
    pub(super) fn push(&mut self, packed: Packed) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push(packed),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(packed);
                self.blocks.push_back(block);
            }
        }
        self.len += 1;
    }

    pub(super) fn front(&self) -> Option<&Packed> {
        (self.len > 0).then(|| self.get(0))
    }

    pub(super) fn pop(&mut self) -> Option<Packed> {
        let front = *self.front()?;
        self.first += 1;
        self.len -= 1;
        if self.first == BLOCK {
            self.blocks.pop_front();
            self.first = 0;
        }
        Some(front)
    }

    /// The one of this turn, gone or not.
    pub(super) fn find(&self, turn: DocId) -> Option<&Packed> {
        self.place(turn).map(|place| self.get(place))
    }

    pub(super) fn find_mut(&mut self, turn: DocId) -> Option<&mut Packed> {
        let place = self.first + self.place(turn)?;
        self.blocks.get_mut(place / BLOCK)?.get_mut(place % BLOCK)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packed> {
        self.blocks.iter().flatten().skip(self.first)
    }

    fn get(&self, place: usize) -> &Packed {
        let place = self.first + place;
        &self.blocks[place / BLOCK][place % BLOCK]
    }

    /// Turns grow by one at least from place to place, and so bound the place from both sides: where all are consecutive, to itself. Else it
    /// is looked for in proportion, and lest turns that lie unevenly make that slow, every other time in the middle.
    fn place(&self, turn: DocId) -> Option<usize> {
        let turn_at = |place| self.get(place).turn().0;
        let (mut from, mut until) = (0, self.len.checked_sub(1)?);
        for halve in [false, true].into_iter().cycle() {
            let ahead = turn.0.checked_sub(turn_at(from))?;
            let behind = turn_at(until).checked_sub(turn.0)?;
            let least = from.max(until.saturating_sub(places(behind)));
            let most = until.min(from.saturating_add(places(ahead)));
            if least > most {
                return None;
            }
            let guess = if halve {
                least.midpoint(most)
            } else {
                let share = (until - from) as u128 * u128::from(ahead);
                let steps = share / (u128::from(ahead) + u128::from(behind)).max(1);
                (from + usize::try_from(steps).unwrap_or(0)).clamp(least, most)
            };
            match turn_at(guess).cmp(&turn.0) {
                Ordering::Less => from = guess + 1,
                Ordering::Equal => return Some(guess),
                Ordering::Greater => until = guess - 1,
            }
        }
        None
    }
}

/// No more places than turns.
fn places(turns: u64) -> usize {
    usize::try_from(turns).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        filter::{Key, Representative},
        page::Timestamp,
    };

    fn packed(turn: u64) -> Packed {
        let id = DocId(turn);
        let at = Timestamp(0);
        Packed::of(&Representative { id, turn: id, at, key: Key(0), site: None, signature: None })
    }

    proptest! {
        #[test]
        fn every_turn_is_found_and_no_other(
            gaps in prop::collection::vec(prop_oneof![4 => Just(1), 2 => 1..4_u64, 1 => 1..1_u64 << 50], 0..3000),
            left in 0..40_usize,
        ) {
            let mut queue = Queue::default();
            let turns = gaps.iter().scan(0, |turn, gap| { *turn += gap; Some(*turn) });
            let mut turns: Vec<u64> = turns.collect();
            for &turn in &turns {
                queue.push(packed(turn));
            }
            for turn in turns.drain(..left.min(turns.len())) {
                prop_assert_eq!(queue.pop().map(|packed| packed.turn()), Some(DocId(turn)));
            }
            let around = turns.iter().flat_map(|&turn| [turn - 1, turn, turn + 1]).chain([0, u64::MAX]);
            for turn in around {
                let found = queue.place(DocId(turn));
                prop_assert_eq!(found, turns.binary_search(&turn).ok(), "{}", turn);
            }
        }
    }
}
