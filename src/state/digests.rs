//! The digests by which the filter recognises exact duplicates: an index of them in memory, which comes back from the rows of their documents.
//!
//! It has the beginning of each digest and the number of its document, some 14 bytes; the row of the document has the whole digests.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::{
    State, StateError,
    documents::{COLUMNS, read_document},
    signed, unsigned,
};
use crate::{
    filter::{Horizon, Judgement, Key, Known},
    fingerprint::Digest,
    page::DocId,
};

/// Parts of the table, each of which grows by itself.
const PARTS: u32 = 1 << 10;
/// Of this many aliases, one remembers its document.
const MARK_EVERY: u64 = 1 << 8;
/// The bit of a tag that says whether the document is an alias.
const ALIAS: u32 = 1;

/// The known digests.
#[derive(Debug)]
pub(crate) struct DigestIndex {
    parts: Box<[HashTable<Entry>]>,
    /// Some aliases with their documents, to know which documents are before an alias.
    marks: VecDeque<(u64, DocId)>,
    left: Left,
    latest: DocId,
}

/// What has left: documents before these.
#[derive(Clone, Copy, Debug)]
struct Left {
    representative: DocId,
    alias: DocId,
}

/// A digest of a document.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Distinguishes the digests of a part, apart from [`ALIAS`].
    tag: u32,
    /// The number of the document modulo 2^32.
    document: u32,
}

impl Entry {
    /// The number of its document, which is at most `latest`.
    fn document(self, latest: DocId) -> DocId {
        let age = low(latest).wrapping_sub(self.document);
        DocId(latest.0.saturating_sub(age.into()))
    }

    fn has_left(self, left: Left, latest: DocId) -> bool {
        let is_alias = self.tag & ALIAS != 0;
        self.document(latest) < if is_alias { left.alias } else { left.representative }
    }
}

/// The number modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "entries have no more")]
fn low(document: DocId) -> u32 {
    document.0 as u32
}

/// The part of the table, and the tag.
fn split(Digest(bytes): Digest) -> (usize, u32) {
    let word = |place: usize| u32::from_le_bytes(bytes.as_chunks::<4>().0[place]);
    ((word(0) % PARTS) as usize, word(1) & !ALIAS)
}

fn spread(tag: u32) -> u64 {
    u64::from(tag & !ALIAS).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl DigestIndex {
    /// An empty index of the documents from `oldest` on.
    pub(super) fn new(oldest: DocId) -> Self {
        Self {
            parts: (0..PARTS).map(|_| HashTable::new()).collect(),
            marks: VecDeque::new(),
            left: Left { representative: oldest, alias: oldest },
            latest: DocId(0),
        }
    }

    /// Enters a document under each of these digests; `alias` is its number among aliases.
    pub(super) fn insert(&mut self, digests: &[Digest], document: DocId, alias: Option<u64>) {
        let latest = self.latest.max(document);
        self.latest = latest;
        if let Some(alias) = alias.filter(|alias| alias.is_multiple_of(MARK_EVERY)) {
            self.marks.push_back((alias, document));
        }
        for digest in digests {
            let (part, tag) = split(*digest);
            let part = &mut self.parts[part];
            if part.len() == part.capacity() {
                part.retain(|entry| !entry.has_left(self.left, latest));
                let room = part.len() / 8 + 1;
                part.reserve(room, |entry| spread(entry.tag));
            }
            let tag = tag | if alias.is_some() { ALIAS } else { 0 };
            let entry = Entry { tag, document: low(document) };
            part.insert_unique(spread(tag), entry, |entry| spread(entry.tag));
        }
    }

    /// The documents that have this digest, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(super) fn find(&self, state: &State, digest: Digest) -> Result<Vec<Known>, StateError> {
        let (part, tag) = split(digest);
        let equal = self.parts[part].iter_hash(spread(tag)).filter(|it| it.tag & !ALIAS == tag);
        let there = equal.filter(|entry| !entry.has_left(self.left, self.latest));
        let mut found: Vec<_> = there.map(|entry| entry.document(self.latest)).collect();
        found.sort_unstable();
        let known = found.into_iter().map(|document| state.known(document, digest));
        known.filter_map(Result::transpose).collect()
    }

    /// Announces what will not be matched again.
    pub(super) fn expire(&mut self, horizon: Horizon) {
        self.left.representative = horizon.representative;
        let has_left = |(alias, _): &mut (u64, _)| *alias <= horizon.alias;
        while let Some((_, document)) = self.marks.pop_front_if(has_left) {
            self.left.alias = document;
        }
    }
}

#[cfg(test)]
impl DigestIndex {
    /// How many digests it holds.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashTable::len).sum()
    }
}

impl State {
    /// The document of this number, if it has this digest.
    fn known(&self, document: DocId, digest: Digest) -> Result<Option<Known>, StateError> {
        let sql =
            format!("SELECT {COLUMNS}, d.alias, d.key, d.digests FROM documents d WHERE d.id = ?");
        let row = self.find(&sql, [signed(document.0)], |row| {
            let Judgement { id, verdict, facts, .. } = read_document(row)?.judgement;
            let (alias, key): (Option<i64>, Option<i64>) = (row.get("alias")?, row.get("key")?);
            let key = Key(key.map_or(0, unsigned));
            let known = Known { id, key, verdict, alias: alias.map(unsigned), facts: Some(facts) };
            Ok((known, row.get::<_, Option<Vec<u8>>>("digests")?.unwrap_or_default()))
        })?;
        let has = |digests: &[u8]| digests.as_chunks::<16>().0.contains(&digest.0);
        Ok(row.filter(|(_, digests)| has(digests)).map(|(known, _)| known))
    }
}
