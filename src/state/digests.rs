//! The digests by which the filter recognises exact duplicates: an index of them in memory, and the log from which it comes back.
//!
//! The index has the beginning of each digest and the number of its document, some 14 bytes; the row of the document has the whole digests.
//! The log grows at its end only, so that what is written does not depend on how many digests are known.

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

/// Parts of a table, each of which grows by itself.
const PARTS: u64 = 1 << 10;
/// Of this many aliases, one remembers its document.
const MARK_EVERY: u64 = 1 << 8;
/// Bytes of an entry of the log: the number of the document, that of the alias, and the beginning of the digest.
const ENTRY: usize = 24;
const NO_ALIAS: u64 = u64::MAX;

/// The known digests.
#[derive(Debug)]
pub(crate) struct DigestIndex {
    representatives: Table,
    aliases: Table,
    /// Some aliases with their documents, to know which documents are before an alias.
    marks: VecDeque<(u64, DocId)>,
    /// What has left, by number of the document: representatives, and aliases.
    left: (DocId, DocId),
    latest: DocId,
    /// What was entered since the last commit.
    pending: Vec<u8>,
}

/// A set of pairs of digest and document.
#[derive(Debug)]
struct Table {
    parts: Box<[HashTable<Entry>]>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    tag: u32,
    /// The number of the document modulo 2^32.
    document: u32,
}

impl Table {
    fn new() -> Self {
        Self { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }

    /// Adds a pair. Pairs of documents before `left` are dropped when their part is full.
    fn insert(&mut self, beginning: u64, document: DocId, left: DocId, latest: DocId) {
        let (part, tag) = split(beginning);
        let part = &mut self.parts[part];
        if part.len() == part.capacity() {
            part.retain(|entry| number(*entry, latest) >= left);
            let room = part.len() / 8 + 1;
            part.reserve(room, |entry| spread(entry.tag));
        }
        let entry = Entry { tag, document: low(document) };
        part.insert_unique(spread(tag), entry, |entry| spread(entry.tag));
    }

    /// The documents from `left` on that may have this digest.
    fn find(&self, digest: Digest, left: DocId, latest: DocId) -> impl Iterator<Item = DocId> {
        let (part, tag) = split(beginning(digest));
        let equal = self.parts[part].iter_hash(spread(tag)).filter(move |entry| entry.tag == tag);
        equal.map(move |entry| number(*entry, latest)).filter(move |document| *document >= left)
    }
}

/// The number of the document of an entry, which is at most `latest`.
fn number(entry: Entry, latest: DocId) -> DocId {
    let age = low(latest).wrapping_sub(entry.document);
    DocId(latest.0.saturating_sub(age.into()))
}

fn beginning(Digest(bytes): Digest) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("a digest is longer"))
}

/// The part of the table, and the tag that distinguishes the digests of a part.
fn split(beginning: u64) -> (usize, u32) {
    ((beginning % PARTS) as usize, (beginning >> 32) as u32)
}

/// The number modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "entries have no more")]
fn low(document: DocId) -> u32 {
    document.0 as u32
}

fn spread(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl DigestIndex {
    /// Loads the digests of the documents from `oldest` on.
    ///
    /// # Errors
    /// If SQLite fails or the log is damaged.
    pub(super) fn load(state: &State, oldest: DocId) -> Result<Self, StateError> {
        let mut this = Self {
            representatives: Table::new(),
            aliases: Table::new(),
            marks: VecDeque::new(),
            left: (oldest, oldest),
            latest: DocId(0),
            pending: Vec::new(),
        };
        state.for_each_digest(|document, alias, beginning| {
            if document >= oldest {
                this.enter(document, alias, beginning);
            }
        })?;
        Ok(this)
    }

    fn enter(&mut self, document: DocId, alias: Option<u64>, beginning: u64) {
        self.latest = self.latest.max(document);
        let Some(alias) = alias else {
            self.representatives.insert(beginning, document, self.left.0, self.latest);
            return;
        };
        let is_new = self.marks.back().is_none_or(|(last, _)| *last < alias);
        if alias.is_multiple_of(MARK_EVERY) && is_new {
            self.marks.push_back((alias, document));
        }
        self.aliases.insert(beginning, document, self.left.1, self.latest);
    }

    /// The documents that may have this digest, oldest first.
    fn candidates(&self, digest: Digest) -> Vec<DocId> {
        let (left, latest) = (self.left, self.latest);
        let representatives = self.representatives.find(digest, left.0, latest);
        let mut found: Vec<_> =
            representatives.chain(self.aliases.find(digest, left.1, latest)).collect();
        found.sort_unstable();
        found
    }

    /// The documents that have this digest, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(super) fn find(&self, state: &State, digest: Digest) -> Result<Vec<Known>, StateError> {
        let known = self.candidates(digest).into_iter();
        known.filter_map(|document| state.known(document, digest).transpose()).collect()
    }

    /// Enters a document under each of these digests; `alias` is its number among aliases.
    pub(super) fn insert(&mut self, digests: &[Digest], document: DocId, alias: Option<u64>) {
        for digest in digests {
            let beginning = beginning(*digest);
            self.enter(document, alias, beginning);
            for word in [document.0, alias.unwrap_or(NO_ALIAS), beginning] {
                self.pending.extend(word.to_le_bytes());
            }
        }
    }

    /// Announces what will not be matched again.
    pub(super) fn expire(&mut self, horizon: Horizon) {
        self.left.0 = horizon.representative;
        let has_left = |(alias, _): &mut (u64, _)| *alias <= horizon.alias;
        while let Some((_, document)) = self.marks.pop_front_if(has_left) {
            self.left.1 = document;
        }
    }

    /// Writes what was entered, and drops what is before `horizon`.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn commit(&mut self, state: &State, horizon: DocId) -> Result<(), StateError> {
        if !self.pending.is_empty() {
            let sql = "INSERT INTO digests VALUES (?, ?)";
            state.execute(sql, (signed(self.latest.0), &self.pending))?;
            self.pending.clear();
        }
        state.execute("DELETE FROM digests WHERE last < ?", [signed(horizon.0)])
    }
}

#[cfg(test)]
impl DigestIndex {
    /// How many digests it holds.
    pub(super) fn len(&self) -> usize {
        let tables = [&self.representatives, &self.aliases];
        tables.iter().flat_map(|table| &table.parts).map(HashTable::len).sum()
    }
}

impl State {
    /// The documents that have this digest, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    #[cfg(feature = "crawl")]
    pub(crate) fn known_by(&self, digest: Digest) -> Result<Vec<Known>, StateError> {
        let mut found = Vec::new();
        self.for_each_digest(|document, _, other| {
            if other == beginning(digest) {
                found.push(document);
            }
        })?;
        let known = found.into_iter().map(|document| self.known(document, digest));
        known.filter_map(Result::transpose).collect()
    }

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

    /// Calls `visit` with document, alias and beginning of each digest, in the order in which they were entered.
    fn for_each_digest(
        &self,
        mut visit: impl FnMut(DocId, Option<u64>, u64),
    ) -> Result<(), StateError> {
        let sql = "SELECT packed FROM digests ORDER BY last";
        self.each(
            sql,
            [],
            |row| row.get::<_, Vec<u8>>(0),
            |packed| {
                let (entries, rest) = packed.as_chunks::<ENTRY>();
                if !rest.is_empty() {
                    return Err(StateError::Damaged("a row of digests has the wrong length"));
                }
                for entry in entries {
                    let words = entry.as_chunks::<8>().0;
                    let [document, alias, beginning] =
                        std::array::from_fn(|word| u64::from_le_bytes(words[word]));
                    visit(DocId(document), Some(alias).filter(|it| *it != NO_ALIAS), beginning);
                }
                Ok(())
            },
        )
    }
}
