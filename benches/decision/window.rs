//! A window of documents that nobody asks for.

use std::num::NonZeroU64;

use pagesieve::{
    Digest, Document, Filter, Signature, Sketch,
    filter::{Documents, Key, Options, WindowOptions},
    fingerprint::Segment,
    page::{Outline, Timestamp},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The default options, with a window for `entries` documents.
fn options(entries: u64, segment: Segment, article: bool) -> Options {
    let entries = NonZeroU64::new(entries).expect("not zero");
    let mut options = Options::default();
    options.window = WindowOptions::new(entries, None);
    options.segment = segment;
    options.article = article;
    options
}

/// A filter whose window is full: digests and signatures are random bits.
pub(super) fn filled(entries: u64, segment: Segment, article: bool) -> Filter {
    let options = options(entries, segment, article);
    let mut filter = Filter::new(&options).expect("the memory has room for the window");
    let documents = filter.documents();
    for id in 1..=entries {
        filter.judge(&document(&documents, id)).expect("the filter's recipe made it");
    }
    filter
}

/// A copy of a full filter that is as if it had always been there: a clone has no room, and moves all that it has at its first insertion.
/// The first article gives the index of passages its size.
pub(super) fn copy(filter: &Filter) -> Filter {
    let mut copy = filter.clone();
    let text = "One page that has an article.";
    let mut outline = Outline::new("");
    outline.line(Outline::PAGE, text, 0, true);
    let page = filter.documents().outlined("", None, text, &outline).with_time(Timestamp(0));
    copy.judge(&page).expect("the filter's recipe made it");
    copy
}

/// The signature of a document.
pub(super) fn signature(id: u64) -> Signature {
    Signature([0, 1, 2, 3].map(|word| random(id, word)))
}

fn document(documents: &Documents, id: u64) -> Document {
    let sketch = Sketch { signature: signature(id), features: 700, digest: Some(digest(id, 6)) };
    let document = documents.sketched("", sketch, 2000).with_body(digest(id, 4));
    document.with_key(Key(random(id, 8))).with_time(Timestamp(0))
}

fn digest(id: u64, which: u64) -> Digest {
    let mut digest = [0; 16];
    let halves = [which, which + 1].map(|half| random(id, half).to_le_bytes());
    digest.copy_from_slice(&halves.concat());
    Digest(digest)
}

fn random(number: u64, which: u64) -> u64 {
    xxh3_64_with_seed(&number.to_le_bytes(), which)
}
