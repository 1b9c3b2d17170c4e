//! A queue of representatives by turn, in blocks: growth copies nothing, what has left gives its memory back, and to let go of one in the
//! middle costs no more than its block.

use std::{cmp::Ordering, collections::VecDeque};

use super::representative::Packed;
use crate::page::DocId;

/// Representatives of a full block: 72 KiB.
const BLOCK: usize = 1024;

/// Representatives, oldest turn first. The first is never gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// None is empty.
    blocks: VecDeque<Block>,
    /// How many of the first block have left.
    left: usize,
    /// How many are in the queue.
    len: usize,
}

#[derive(Clone, Debug)]
struct Block {
    /// No representative of this block or of a later one has a lower turn.
    first: DocId,
    packed: Vec<Packed>,
    /// How many of them are gone.
    gone: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Turns grow from call to call.
    pub(super) fn push(&mut self, packed: Packed) {
        match self.blocks.back_mut() {
            Some(block) if block.packed.len() < BLOCK => block.packed.push(packed),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(packed);
                self.blocks.push_back(Block { first: packed.turn(), packed: block, gone: 0 });
            }
        }
        self.len += 1;
    }

    pub(super) fn front(&self) -> Option<&Packed> {
        self.blocks.front()?.packed.get(self.left)
    }

    pub(super) fn pop(&mut self) -> Option<Packed> {
        let front = *self.front()?;
        self.len -= 1;
        self.left += 1;
        self.leave_gone();
        Some(front)
    }

    /// The one of this turn.
    pub(super) fn find(&self, turn: DocId) -> Option<&Packed> {
        let (block, place) = self.place(turn)?;
        let packed = &self.blocks[block].packed[place];
        (!packed.is_gone()).then_some(packed)
    }

    /// Takes out the one of this turn.
    pub(super) fn take(&mut self, turn: DocId) -> Option<Packed> {
        let (number, place) = self.place(turn)?;
        let block = &mut self.blocks[number];
        let taken = block.packed[place];
        if taken.is_gone() {
            return None;
        }
        block.packed[place].set_gone();
        block.gone += 1;
        self.len -= 1;
        if block.gone > block.packed.len() / 4 {
            self.close_ranks(number);
        }
        self.leave_gone();
        Some(taken)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packed> {
        let packed = self.blocks.iter().flat_map(|block| &block.packed);
        packed.skip(self.left).filter(|packed| !packed.is_gone())
    }

    /// Lets go of what is gone in a block, and makes one of two that have become small.
    fn close_ranks(&mut self, number: usize) {
        let left = if number == 0 { std::mem::take(&mut self.left) } else { 0 };
        let block = &mut self.blocks[number];
        block.packed.drain(..left);
        block.packed.retain(|packed| !packed.is_gone());
        block.gone = 0;
        for number in [number + 1, number] {
            self.join(number);
        }
        if self.blocks.get(number).is_some_and(|block| block.packed.is_empty()) {
            self.blocks.remove(number);
        }
        if let Some(block) = self.blocks.get_mut(number)
            && block.packed.capacity() > 2 * block.packed.len()
        {
            block.packed.shrink_to_fit();
        }
    }

    /// Puts this block behind the one before it, if both together are small.
    fn join(&mut self, number: usize) {
        let sizes = |number: usize| self.blocks.get(number).map(|block| block.packed.len());
        let before = number.checked_sub(1).and_then(sizes);
        if let (Some(before), Some(size)) = (before, sizes(number))
            && before + size <= BLOCK / 2
            && let Some(block) = self.blocks.remove(number)
        {
            let before = &mut self.blocks[number - 1];
            before.packed.extend(block.packed);
            before.gone += block.gone;
        }
    }

    /// Lets go of those that are gone and lie foremost.
    fn leave_gone(&mut self) {
        while let Some(block) = self.blocks.front() {
            match block.packed.get(self.left) {
                Some(packed) if packed.is_gone() => self.left += 1,
                Some(_) => return,
                None => {
                    self.blocks.pop_front();
                    self.left = 0;
                }
            }
        }
    }

    /// The block and the place in it of the one of this turn, gone or not.
    fn place(&self, turn: DocId) -> Option<(usize, usize)> {
        let block = self.blocks.partition_point(|block| block.first <= turn).checked_sub(1)?;
        let left = if block == 0 { self.left } else { 0 };
        let place = place(&self.blocks[block].packed[left..], turn)?;
        Some((block, left + place))
    }
}

/// Turns grow by one at least from place to place, and so bound the place from both sides: where all are consecutive, to itself. Else it
/// is looked for in proportion, and lest turns that lie unevenly make that slow, every other time in the middle.
fn place(packed: &[Packed], turn: DocId) -> Option<usize> {
    let turn_at = |place: usize| packed[place].turn().0;
    let (mut from, mut until) = (0, packed.len().checked_sub(1)?);
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

/// No more places than turns.
fn places(turns: u64) -> usize {
    usize::try_from(turns).unwrap_or(usize::MAX)
}

#[cfg(test)]
impl Queue {
    /// How many are held, those that are gone among them.
    pub(super) fn held(&self) -> usize {
        self.blocks.iter().map(|block| block.packed.len()).sum()
    }

    /// For how many there is room.
    fn room(&self) -> usize {
        self.blocks.iter().map(|block| block.packed.capacity()).sum()
    }
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
        fn it_is_a_sorted_map_of_turns(
            gaps in prop::collection::vec(prop_oneof![4 => Just(1), 2 => 1..4_u64, 1 => 1..1_u64 << 50], 0..6000),
            taken in prop::collection::vec((0..10_000_usize, any::<bool>()), 0..6000),
            clustered in any::<bool>(),
        ) {
            let mut queue = Queue::default();
            let mut model = std::collections::BTreeSet::new();
            let turns: Vec<u64> = gaps.iter().scan(0, |turn, gap| { *turn += gap; Some(*turn) }).collect();
            for &turn in &turns {
                queue.push(packed(turn));
                model.insert(turn);
            }
            for (number, &(of, pops)) in taken.iter().enumerate() {
                let of = if clustered { of / 8 + 2_000 } else { of };
                let Some(&turn) = turns.get(of * turns.len() / 10_000) else { continue };
                if pops && number % 16 == 0 {
                    prop_assert_eq!(queue.pop().map(|packed| packed.turn().0), model.pop_first());
                } else {
                    let taken = queue.take(DocId(turn)).map(|packed| packed.turn().0);
                    prop_assert_eq!(taken, model.take(&turn));
                }
                prop_assert_eq!(queue.front().map(|packed| packed.turn().0), model.first().copied());
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert!(queue.iter().map(|packed| packed.turn().0).eq(model.iter().copied()));
            for turn in turns.iter().flat_map(|&turn| [turn - 1, turn, turn + 1]).chain([0, u64::MAX]) {
                let found = queue.find(DocId(turn)).map(|packed| packed.turn().0);
                prop_assert_eq!(found, model.get(&turn).copied());
            }
            // The first block and the last are not full.
            prop_assert!(queue.held() <= queue.len() + queue.len() / 3 + 2 * BLOCK, "{} of {}", queue.held(), queue.len());
            prop_assert!(queue.room() <= 3 * queue.len() + 3 * BLOCK, "{} for {}", queue.room(), queue.len());
        }
    }
}
