//! Entries whose documents have another number than that by which they stand in the queue.
//!
//! A document that is made newer keeps its entry, and has a new number from then on. When the entry is the oldest of the queue, though the
//! document is not to leave yet, it goes to the end, where all have larger numbers. So the queue is always in the order of the numbers by which entries
//! stand in it, and nothing ever waits for the whole of it to be put in order.

use std::collections::BTreeMap;

use crate::page::DocId;

/// The numbers of documents that differ from those of their entries. Trees: their growth makes nobody wait, as that of a hash table would.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    ids: BTreeMap<u32, DocId>,
    slots: BTreeMap<DocId, u32>,
}

impl Turns {
    /// The number of the document whose entry stands in this slot by that number.
    pub(super) fn id(&self, slot: u32, standing: DocId) -> DocId {
        if self.ids.is_empty() { standing } else { *self.ids.get(&slot).unwrap_or(&standing) }
    }

    /// Whether all entries stand by the numbers of their documents.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether the entry stands by a number that is not its document's.
    pub(super) fn differs(&self, slot: u32) -> bool {
        self.ids.contains_key(&slot)
    }

    /// The slot of the document of this number, if its entry stands by another.
    pub(super) fn slot(&self, id: DocId) -> Option<u32> {
        self.slots.get(&id).copied()
    }

    /// The slot of the oldest document, if it is older than `horizon`.
    pub(super) fn oldest_before(&self, horizon: DocId) -> Option<u32> {
        let (id, slot) = self.slots.first_key_value()?;
        (*id < horizon).then_some(*slot)
    }

    /// From now on the document of this slot has that number.
    pub(super) fn set(&mut self, slot: u32, id: DocId) {
        self.forget(slot);
        self.ids.insert(slot, id);
        self.slots.insert(id, slot);
    }

    /// From now on the entry in this slot stands by the number of its document, or is none.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(id) = self.ids.remove(&slot) {
            self.slots.remove(&id);
        }
    }
}
