//! Reads documents ahead on a separate thread.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
};

use super::{Input, InputError};

type Item = Result<Input, InputError>;

/// How much is read ahead: enough for all cores, little enough for any machine. A longer document is queued alone.
const MOST_BYTES: usize = 16 << 20;
/// A document counts as at least this many bytes, so that at most 1,024 are queued.
const LEAST_BYTES: usize = MOST_BYTES / 1024;

const UNBROKEN: &str = "no thread panics while it holds the lock";

/// Documents in order, as many at a time as have been read: a full chunk of a file, or a single one if they arrive one by one, so
/// that a program that waits for each decision gets it.
pub(crate) struct Chunks {
    items: Receiver<Item>,
    queued: Arc<Queued>,
}

/// The bytes in the queue.
#[derive(Default)]
struct Queued {
    bytes: Mutex<usize>,
    changed: Condvar,
}

impl Chunks {
    /// Starts reading.
    pub(crate) fn new(documents: impl Iterator<Item = Item> + Send + 'static) -> Self {
        let (sender, items) = channel();
        let queued = Arc::new(Queued::default());
        let reader = Arc::clone(&queued);
        // Not joined: it may wait forever, for a terminal or for room, when no more documents are wanted.
        thread::spawn(move || {
            for item in documents {
                reader.add(size(&item));
                if sender.send(item).is_err() {
                    return;
                }
            }
        });
        Self { items, queued }
    }
}

impl Iterator for Chunks {
    type Item = Vec<Item>;

    /// Waits for a document and returns all that have been read.
    fn next(&mut self) -> Option<Vec<Item>> {
        let first = self.items.recv().ok()?;
        let items: Vec<_> = [first].into_iter().chain(self.items.try_iter()).collect();
        self.queued.remove(items.iter().map(size).sum());
        Some(items)
    }
}

impl Queued {
    /// Waits for room.
    fn add(&self, size: usize) {
        let is_full = |bytes: &mut usize| *bytes > 0 && *bytes + size > MOST_BYTES;
        *self.changed.wait_while(self.lock(), is_full).expect(UNBROKEN) += size;
    }

    fn remove(&self, size: usize) {
        *self.lock() -= size;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().expect(UNBROKEN)
    }
}

fn size(item: &Item) -> usize {
    item.as_ref().map_or(0, Input::size).max(LEAST_BYTES)
}
