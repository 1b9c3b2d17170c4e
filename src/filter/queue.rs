//! A queue of representatives by number, in blocks: growth copies nothing, what has left gives its memory back, and to remove one in the
//! middle costs no more than its block.

use std::{cmp::Ordering, collections::VecDeque};

use super::representative::Packed;
use crate::page::DocId;

/// Representatives of a full block: 72 KiB.
const BLOCK: usize = 1024;

/// Representatives, oldest first.
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
    /// No representative of this block or of a later one has a lower number.
    first: DocId,
    packed: Vec<Packed>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Numbers grow from call to call.
    pub(super) fn push(&mut self, packed: Packed) {
        match self.blocks.back_mut() {
            Some(block) if block.packed.len() < BLOCK => block.packed.push(packed),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(packed);
                self.blocks.push_back(Block { first: packed.id(), packed: block });
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
        self.drop_empty(0);
        Some(front)
    }

    /// The one of this number.
    pub(super) fn find(&self, id: DocId) -> Option<&Packed> {
        let (block, place) = self.place(id)?;
        Some(&self.blocks[block].packed[place])
    }

    /// Takes out the one of this number.
    pub(super) fn take(&mut self, id: DocId) -> Option<Packed> {
        let (number, place) = self.place(id)?;
        let packed = &mut self.blocks[number].packed;
        let taken = packed.remove(place);
        if packed.capacity() > 2 * packed.len() {
            packed.shrink_to_fit();
        }
        self.len -= 1;
        self.drop_empty(number);
        Some(taken)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packed> {
        self.blocks.iter().flat_map(|block| &block.packed).skip(self.left)
    }

    /// Drops this block if nothing of it is left in the queue.
    fn drop_empty(&mut self, number: usize) {
        let left = if number == 0 { self.left } else { 0 };
        if self.blocks[number].packed.len() == left {
            self.blocks.remove(number);
            self.left -= left;
        }
    }

    /// The block and the place in it of the one of this number.
    fn place(&self, id: DocId) -> Option<(usize, usize)> {
        let block = self.blocks.partition_point(|block| block.first <= id).checked_sub(1)?;
        let left = if block == 0 { self.left } else { 0 };
        let place = place(&self.blocks[block].packed[left..], id)?;
        Some((block, left + place))
    }
}

/// Numbers grow by one at least from place to place, and so bound the place from both sides: where all are consecutive, to itself. Else it
/// is looked for in proportion, and lest numbers that lie unevenly make that slow, every other time in the middle.
fn place(packed: &[Packed], id: DocId) -> Option<usize> {
    let id_at = |place: usize| packed[place].id().0;
    let (mut from, mut until) = (0, packed.len().checked_sub(1)?);
    for halve in [false, true].into_iter().cycle() {
        let ahead = id.0.checked_sub(id_at(from))?;
        let behind = id_at(until).checked_sub(id.0)?;
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
        match id_at(guess).cmp(&id.0) {
            Ordering::Less => from = guess + 1,
            Ordering::Equal => return Some(guess),
            Ordering::Greater => until = guess - 1,
        }
    }
    None
}

/// No more places than numbers.
fn places(numbers: u64) -> usize {
    usize::try_from(numbers).unwrap_or(usize::MAX)
}

#[cfg(test)]
impl Queue {
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

    fn packed(id: u64) -> Packed {
        let (id, at) = (DocId(id), Timestamp(0));
        Packed::of(&Representative { id, at, key: Key(0), site: None, signature: None })
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_of_numbers(
            gaps in prop::collection::vec(prop_oneof![4 => Just(1), 2 => 1..4_u64, 1 => 1..1_u64 << 50], 0..6000),
            taken in prop::collection::vec((0..10_000_usize, any::<bool>()), 0..6000),
            clustered in any::<bool>(),
        ) {
            let mut queue = Queue::default();
            let mut model = std::collections::BTreeSet::new();
            let ids: Vec<u64> = gaps.iter().scan(0, |id, gap| { *id += gap; Some(*id) }).collect();
            for &id in &ids {
                queue.push(packed(id));
                model.insert(id);
            }
            for (number, &(of, pops)) in taken.iter().enumerate() {
                let of = if clustered { of / 8 + 2_000 } else { of };
                let Some(&id) = ids.get(of * ids.len() / 10_000) else { continue };
                if pops && number % 16 == 0 {
                    prop_assert_eq!(queue.pop().map(|packed| packed.id().0), model.pop_first());
                } else {
                    let taken = queue.take(DocId(id)).map(|packed| packed.id().0);
                    prop_assert_eq!(taken, model.take(&id));
                }
                prop_assert_eq!(queue.front().map(|packed| packed.id().0), model.first().copied());
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert!(queue.iter().map(|packed| packed.id().0).eq(model.iter().copied()));
            for id in ids.iter().flat_map(|&id| [id - 1, id, id + 1]).chain([0, u64::MAX]) {
                let found = queue.find(DocId(id)).map(|packed| packed.id().0);
                prop_assert_eq!(found, model.get(&id).copied());
            }
            prop_assert!(queue.room() <= 3 * queue.len() + 3 * BLOCK, "{} for {}", queue.room(), queue.len());
        }
    }
}
