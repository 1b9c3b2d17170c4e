//! The documents' numbers by slot.

#![expect(clippy::cast_possible_truncation, reason = "a stretch is small")]

use super::slots::STRETCH;
use crate::page::DocId;

/// The number of each entry. Where numbers grow by one they cost nothing, elsewhere 8 bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    stretches: Vec<Stretch>,
}

#[derive(Clone, Debug)]
enum Stretch {
    /// The first number.
    Consecutive(u64),
    Listed(Box<[u64]>),
}

impl Ids {
    pub(super) fn get(&self, slot: u32) -> DocId {
        let (stretch, offset) = place(slot);
        DocId(match &self.stretches[stretch] {
            Stretch::Consecutive(first) => first + offset as u64,
            Stretch::Listed(ids) => ids[offset],
        })
    }

    /// Sets the number of a slot. Within a stretch, slots are set in order, beginning with the first.
    pub(super) fn set(&mut self, slot: u32, id: DocId) {
        let (stretch, offset) = place(slot);
        if stretch == self.stretches.len() {
            self.stretches.push(Stretch::Consecutive(id.0));
        }
        let ids = &mut self.stretches[stretch];
        match ids {
            _ if offset == 0 => *ids = Stretch::Consecutive(id.0),
            Stretch::Consecutive(first) if *first + offset as u64 == id.0 => {}
            Stretch::Consecutive(first) => {
                let mut list = vec![0; STRETCH as usize].into_boxed_slice();
                for (place, id) in list[..offset].iter_mut().zip(*first..) {
                    *place = id;
                }
                list[offset] = id.0;
                *ids = Stretch::Listed(list);
            }
            Stretch::Listed(list) => list[offset] = id.0,
        }
    }
}

fn place(slot: u32) -> (usize, usize) {
    let slot = slot as usize;
    (slot / STRETCH as usize, slot % STRETCH as usize)
}
