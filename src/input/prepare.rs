//! Reads inputs ahead on a separate thread, and turns them into documents for the filter.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
};

use serde::Serialize;

use super::{Input, InputError, Raw};
use crate::{
    extract::{Extracted, Truncation},
    filter::{Document, Judgement},
    sink::Decision,
    submission::Preparation,
};

/// A document that is ready to be judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Where it was read, for messages.
    pub(crate) place: String,
    /// A hash of the input.
    pub(crate) hash: u64,
    /// The number of its line or record.
    pub(crate) line: u64,
    pub(crate) raw: Option<Raw>,
    pub(crate) url: Option<String>,
    pub(crate) document: Document,
    /// Why the document is truncated, if it is.
    pub(crate) truncated: Option<Truncation>,
}

/// The document of an input.
pub(crate) fn prepare(preparation: &Preparation, input: Input) -> Prepared {
    prepare_with_text(preparation, input).0
}

/// Also returns what was extracted.
pub(crate) fn prepare_with_text(preparation: &Preparation, input: Input) -> (Prepared, Extracted) {
    let hash = input.hash();
    let Input { submission, place, line, raw } = input;
    let url = submission.url.as_ref().map(ToString::to_string);
    // An input has a name, so its number does not matter.
    let (document, extracted) = preparation.prepare(submission, line);
    let truncated = extracted.truncated;
    (Prepared { place, hash, line, raw, url, document, truncated }, extracted)
}

/// A decision, whether it is about the whole document, and where the match is.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    decision: Decision<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a str>,
}

impl Prepared {
    /// The decision as a line of the output; `of` is the id of the match, and `against` names the state that has it, if it is another one.
    pub(crate) fn line<'a>(
        &'a self,
        judged: &'a Judgement,
        of: Option<&'a str>,
        against: Option<&'a str>,
    ) -> impl Serialize + 'a {
        let decision = Decision::new(self.document.id(), self.url.as_deref(), judged, of);
        Line { decision, truncated: self.truncated, against }
    }
}

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
