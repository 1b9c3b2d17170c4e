//! A queue of representatives by turn, in blocks that never move: growth copies nothing, and what has left gives its memory back.

use std::collections::VecDeque;

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

    fn place(&self, turn: DocId) -> Option<usize> {
        let (mut from, mut until) = (0, self.len);
        while from < until {
            let middle = from.midpoint(until);
            match self.get(middle).turn().cmp(&turn) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => until = middle,
            }
        }
        None
    }
}
