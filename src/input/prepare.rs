//! Reads inputs ahead on a separate thread, and turns them into documents for the filter.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
};

use serde::Serialize;
use url::Url;

use super::{Content, Input, InputError, Raw};
use crate::{
    extract::{Extracted, Extractor, Truncation},
    filter::{self, Document, Judgement, Key},
    fingerprint::Digest,
    page::{NormalUrl, Origin, Page, Timestamp, UrlOptions, language},
    sink::Decision,
};

/// Extracts the text of an input. A plain text has no title and no links.
pub(crate) fn extracted(extractor: &Extractor, input: Input) -> (Extracted, Option<Digest>) {
    let cut = input.is_cut.then_some(Truncation::Body);
    let (mut extracted, digest) = match input.content {
        Content::Text(text) => {
            let lang = language(&text);
            (Extracted { text, lang, charset: "UTF-8", ..Extracted::default() }, None)
        }
        Content::Html { body, content_type } => {
            let digest = Digest::of(&body);
            let page = Page { url: input.url, content_type, body, ..Page::default() };
            (extractor.extract(&page), Some(digest))
        }
    };
    extracted.truncated = extracted.truncated.or(cut);
    (extracted, digest)
}

/// Turns inputs into documents. Threads can share one.
#[derive(Debug)]
pub(crate) struct Preparation {
    extractor: Extractor,
    pub(crate) documents: filter::Documents,
    urls: UrlOptions,
}

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

impl Preparation {
    pub(crate) fn new(
        extractor: Extractor,
        urls: UrlOptions,
        documents: filter::Documents,
    ) -> Self {
        Self { extractor, documents, urls }
    }

    pub(crate) fn prepare(&self, input: Input) -> Prepared {
        self.prepare_with_text(input).0
    }

    /// Also returns what was extracted.
    pub(crate) fn prepare_with_text(&self, mut input: Input) -> (Prepared, Extracted) {
        let hash = input.hash();
        let (id, place) = (std::mem::take(&mut input.id), std::mem::take(&mut input.place));
        let (line, raw) = (input.line, input.raw.take());
        let (url, at) = (input.url.clone(), input.at.unwrap_or_else(Timestamp::now));
        let normal = url.as_ref().and_then(|url| NormalUrl::new(url, &self.urls).ok());
        let key = normal.as_ref().map(NormalUrl::as_str).or(url.as_ref().map(Url::as_str));
        let key = Key::of(key.unwrap_or(&id));
        let (extracted, body) = extracted(&self.extractor, input);
        let origin = match &url {
            Some(url) => Origin::of(url),
            // A saved page has no URL, but it may name its own.
            None => {
                Origin::named(&id).or_else(|| extracted.canonical.as_ref().and_then(Origin::of))
            }
        };
        let document = self.documents.extracted(&id, origin.as_ref(), &extracted, body);
        let document = document.with_key(key).with_time(at);
        let (url, truncated) = (url.map(String::from), extracted.truncated);
        (Prepared { place, hash, line, raw, url, document, truncated }, extracted)
    }
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
    /// The decision as a line of the output; `of` is the id of the match.
    pub(crate) fn line<'a>(
        &'a self,
        judged: &'a Judgement,
        of: Option<&'a str>,
    ) -> impl Serialize + 'a {
        self.line_against(judged, of, None)
    }

    /// The same for a match in the state that `against` names.
    pub(crate) fn line_against<'a>(
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
