//! A window of documents that nobody asks for.

use std::num::NonZeroU64;

use pagesieve::{
    Digest, DocId, Document, Filter, Signature, Sketch, Verdict,
    filter::{
        Digests, Facts, Key, Known, MemoryDigests, Options, Position, Representative, WindowOptions,
    },
    index::BlockIndex,
    page::Timestamp,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The default options but for a window that has room for so many documents, and its index.
pub(super) fn empty(entries: u64) -> (Options, BlockIndex) {
    let window = WindowOptions { entries: NonZeroU64::new(entries).expect("not zero"), age: None };
    let options = Options { window, ..Options::default() };
    let index = options.index().expect("the memory has room for the window");
    (options, index)
}

/// A filter whose window is full: digests and signatures are random bits.
pub(super) fn filled(entries: u64) -> Filter {
    let (options, index) = empty(entries);
    let mut filter = Filter::with(&options, index, digests(entries));
    let representatives = (1..=entries).map(|id| Representative {
        id: DocId(id),
        at: Timestamp(0),
        key: Key(random(id, 8)),
        site: None,
        signature: Some(signature(id)),
    });
    filter.restore(|take| representatives.for_each(take));
    filter.resume(Position {
        next: DocId(entries + 1),
        aliases: 0,
        clock: Timestamp(0),
        oldest: DocId(1),
    });
    filter
}

/// A copy of a full filter that is as if it had always been there: a clone has no room, and moves all that it has at its first insertion.
pub(super) fn copy(filter: &Filter) -> Filter {
    let mut copy = filter.clone();
    let id = u64::MAX;
    let sketch = Sketch { signature: signature(id), features: 700, digest: Some(digest(id, 6)) };
    let (key, body, at) = (Key(random(id, 8)), Some(digest(id, 4)), Timestamp(0));
    let subject = Document { key, body, sketch, chars: 2000, lang: None, at, blocks: None };
    let Ok(_) = copy.judge(&subject);
    copy
}

/// Two digests of each document.
pub(super) fn digests(entries: u64) -> MemoryDigests {
    let mut digests = MemoryDigests::default();
    (1..=entries).for_each(|id| enter(&mut digests, DocId(id)));
    digests
}

/// The signature of a document.
pub(super) fn signature(id: u64) -> Signature {
    Signature([0, 1, 2, 3].map(|word| random(id, word)))
}

fn enter(digests: &mut MemoryDigests, id: DocId) {
    let facts = Facts { fingerprint: None, chars: 2000, features: 700, lang: None };
    let known =
        Known { id, key: Key(random(id.0, 8)), verdict: Verdict::Unique, alias: None, facts };
    let Ok(()) = digests.insert(&[digest(id.0, 4), digest(id.0, 6)], &known);
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
