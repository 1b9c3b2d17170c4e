//! Reads documents ahead on a separate thread.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::{Documents, Input, InputError};

type Item = Result<Input, InputError>;

/// How much is read ahead: enough for all cores, little enough for any machine. A longer document is queued alone.
const MOST_BYTES: usize = 16 << 20;
const MOST_ITEMS: usize = 1024;

/// Documents in order, as many at a time as have been read: a full chunk of a file, or a single one if they arrive one by one, so
/// that a program that waits for each decision gets it.
#[derive(Debug)]
pub struct Chunks(End);

/// One end of the queue. Dropping it closes the queue, on the reader's side even by a panic.
#[derive(Debug)]
struct End(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    items: Vec<Item>,
    bytes: usize,
    /// The reader has ended, or its documents are no longer wanted.
    closed: bool,
}

impl Chunks {
    /// Starts reading.
    #[must_use]
    pub fn new(documents: Documents) -> Self {
        let shared = Arc::new(Shared::default());
        let reader = End(Arc::clone(&shared));
        // Not joined: it may wait for a terminal forever when no more documents are wanted.
        thread::spawn(move || {
            for item in documents {
                if !reader.0.push(item) {
                    return;
                }
            }
        });
        Self(End(shared))
    }
}

impl Iterator for Chunks {
    type Item = Vec<Item>;

    /// Waits for a document and returns all that have been read.
    fn next(&mut self) -> Option<Vec<Item>> {
        let shared = &self.0.0;
        let mut queue = shared.lock();
        while queue.items.is_empty() && !queue.closed {
            queue = shared.wait(queue);
        }
        queue.bytes = 0;
        let items = mem::take(&mut queue.items);
        shared.changed.notify_all();
        (!items.is_empty()).then_some(items)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    /// Waits for room; `false` if no more documents are wanted.
    fn push(&self, item: Item) -> bool {
        let size = item.as_ref().map_or(0, Input::size);
        let mut queue = self.lock();
        while !queue.has_room(size) && !queue.closed {
            queue = self.wait(queue);
        }
        queue.bytes += size;
        queue.items.push(item);
        self.changed.notify_all();
        !queue.closed
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn has_room(&self, size: usize) -> bool {
        self.items.is_empty() || (self.items.len() < MOST_ITEMS && self.bytes + size <= MOST_BYTES)
    }
}
