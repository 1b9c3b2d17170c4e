//! The digests of bodies and texts by which the filter recognises exact duplicates.

use std::{convert::Infallible, iter};

use super::{
    content::Content,
    incremental::{IncrementalMap, IncrementalQueue},
    key::Key,
    verdict::{Facts, Kind, Match, Step, Verdict},
};
use crate::{fingerprint::Digest, page::DocId};

/// A document that is known by the digest of its body or of its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// Its number.
    pub(crate) id: DocId,
    /// Its key.
    pub(crate) key: Key,
    /// Unique if it is a representative, otherwise what it is an alias of.
    pub(crate) verdict: Verdict,
    /// The number of the alias among aliases, from 0; `None` for a representative.
    pub(crate) alias: Option<u64>,
    /// The facts about its text, which a document with the same body gets; `None` if it has no body.
    pub(crate) facts: Option<Facts>,
}

impl Known {
    /// The representative that a document with the same digest repeats.
    pub(crate) fn representative(&self) -> DocId {
        self.verdict.matched().map_or(self.id, |matched| matched.of)
    }

    /// The match of a document that has this one's digest.
    pub(super) fn matched_at(&self, step: Step) -> Match {
        let equal = Match {
            of: self.id,
            kind: Kind::Exact,
            step,
            distance: 0,
            signature_distance: 0,
            similarity: 1.0,
        };
        self.verdict.matched().map_or(equal, |&of_alias| Match { step, ..of_alias })
    }
}

/// What has left the window, by number of the document and by number of the alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// The oldest representative that may still be matched.
    pub(crate) representative: DocId,
    /// The oldest alias that may still be matched.
    pub(crate) alias: u64,
}

/// The tables of known digests and of sketches. The engine looks up digests, and decides which entries are still in the window.
pub(crate) trait Digests {
    /// Why the tables could not be read or written; [`Infallible`] in memory.
    type Error: std::error::Error;

    /// Appends to `out` every document entered under this digest. Documents beyond the horizon may be among them.
    ///
    /// # Errors
    /// If the table cannot be read.
    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), Self::Error>;

    /// The content of a page in the window.
    ///
    /// # Errors
    /// If the table cannot be read.
    fn content(&mut self, id: DocId) -> Result<Option<Content>, Self::Error>;
}

/// The tables of a filter that remembers what it judges.
pub(crate) trait DigestsMut: Digests {
    /// Enters a document under each of these digests. Ids grow from call to call, as do the numbers of aliases.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), Self::Error>;

    /// Keeps the content of a page, and the keys under which it is entered in the index. Ids grow from call to call.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn keep_content(
        &mut self,
        id: DocId,
        content: &Content,
        keys: &[u64],
    ) -> Result<(), Self::Error>;

    /// Announces what will not be matched again. The table may drop it at any later time.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn expire(&mut self, horizon: Horizon) -> Result<(), Self::Error>;
}

/// Documents that leave at a time: many more than arrive.
const AT_ONCE: usize = 64;

/// The tables in memory, and what the sketches take. A representative takes up to 72 bytes, an alias 104, 32 more if it has a body, and each of
/// its digests but the first 46 more.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryDigests {
    representatives: Ledger<()>,
    aliases: Ledger<Alias>,
    contents: IncrementalQueue<(DocId, Box<[u8]>)>,
    /// Bytes of the contents.
    contents_size: usize,
}

/// What is known of an alias besides.
#[derive(Clone, Copy, Debug)]
struct Alias {
    number: u64,
    matched: Match,
}

impl MemoryDigests {
    /// Bytes of memory that the sketches of pages take.
    pub(crate) fn contents_size(&self) -> usize {
        self.contents_size
    }
}

impl Digests for MemoryDigests {
    type Error = Infallible;

    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), Infallible> {
        let representatives = self.representatives.find(digest);
        out.extend(
            representatives.map(|record| self.representatives.known(record, Verdict::Unique, None)),
        );
        out.extend(self.aliases.find(digest).map(|record| {
            let Alias { number, matched } = record.more;
            self.aliases.known(record, Verdict::Duplicate(matched), Some(number))
        }));
        Ok(())
    }

    fn content(&mut self, id: DocId) -> Result<Option<Content>, Infallible> {
        let found = self.contents.find(&id, |(id, _)| *id);
        Ok(found.and_then(|(_, packed)| Content::from_bytes(packed)))
    }
}

impl DigestsMut for MemoryDigests {
    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), Infallible> {
        match (known.alias, known.verdict) {
            (Some(number), Verdict::Duplicate(matched)) => {
                self.aliases.push(digests, known, Alias { number, matched });
            }
            _ => self.representatives.push(digests, known, ()),
        }
        Ok(())
    }

    fn keep_content(&mut self, id: DocId, content: &Content, _: &[u64]) -> Result<(), Infallible> {
        let packed = content.to_bytes().into_boxed_slice();
        self.contents_size += size_of::<(DocId, Box<[u8]>)>() + packed.len();
        self.contents.push((id, packed));
        Ok(())
    }

    fn expire(&mut self, horizon: Horizon) -> Result<(), Infallible> {
        for _ in 0..AT_ONCE {
            let is_past = |(id, _): &mut (DocId, _)| *id < horizon.representative;
            let Some((_, packed)) = self.contents.pop_if(is_past) else { break };
            self.contents_size -= size_of::<(DocId, Box<[u8]>)>() + packed.len();
        }
        self.representatives.drop_while(|record| record.id < horizon.representative);
        self.aliases.drop_while(|record| record.more.number < horizon.alias);
        Ok(())
    }
}

/// Documents in order of arrival, and their digests in the same order. Digests that begin alike are a chain from the newest to the oldest, so
/// that the oldest leaves without a search. Ordinals are counted modulo 2^32: fewer are kept.
#[derive(Clone, Debug)]
struct Ledger<M> {
    records: IncrementalQueue<Record<M>>,
    /// The ordinal of the first record.
    first_record: u32,
    /// The facts of the records that have some.
    facts: IncrementalQueue<Facts>,
    /// The ordinal of the first facts.
    first_facts: u32,
    entries: IncrementalQueue<Entry>,
    /// The ordinal of the first entry.
    first: u32,
    /// The newest entry of each chain.
    newest: IncrementalMap<u32, u32>,
}

/// What is known of a document, in few bytes.
#[derive(Clone, Debug)]
struct Record<M> {
    id: DocId,
    key: Key,
    /// The ordinal of its facts, if it has some.
    facts: u32,
    has_facts: bool,
    /// How many digests it is known by.
    digests: u8,
    more: M,
}

const _: () = assert!(size_of::<Record<()>>() == 24);

#[derive(Clone, Debug)]
struct Entry {
    digest: Digest,
    /// How many entries ago the one before this in the chain was added; 0 if there was none. It may have left.
    back: u32,
    /// The ordinal of the record.
    record: u32,
}

impl<M> Default for Ledger<M> {
    fn default() -> Self {
        let (records, facts, entries, newest) = Default::default();
        Self { records, first_record: 0, facts, first_facts: 0, entries, first: 0, newest }
    }
}

impl<M> Ledger<M> {
    fn push(&mut self, digests: &[Digest], known: &Known, more: M) {
        // What is known by nothing is never found.
        let Ok(count @ 1..) = u8::try_from(digests.len()) else { return };
        let record = self.first_record.wrapping_add(ordinal(self.records.len()));
        let Known { id, key, facts: its_facts, .. } = *known;
        let facts = self.first_facts.wrapping_add(ordinal(self.facts.len()));
        let has_facts = its_facts.is_some();
        self.records.push(Record { id, key, facts, has_facts, digests: count, more });
        if let Some(facts) = its_facts {
            self.facts.push(facts);
        }
        for &digest in digests {
            let entry = self.first.wrapping_add(ordinal(self.entries.len()));
            let (part, chain) = beginning(digest);
            let previous = self.newest.part(part).insert(chain, entry);
            let back = previous.map_or(0, |previous| entry.wrapping_sub(previous));
            self.entries.push(Entry { digest, back, record });
        }
    }

    fn find(&self, digest: Digest) -> impl Iterator<Item = &Record<M>> {
        let (part, chain) = beginning(digest);
        let newest = self.newest.get(part, &chain);
        let place = newest.map(|newest| newest.wrapping_sub(self.first));
        let chain = iter::successors(place, |&place| {
            let back = self.entries.get(place as usize)?.back;
            place.checked_sub(back).filter(|_| back > 0)
        });
        let entries = chain.filter_map(|place| self.entries.get(place as usize));
        entries.filter(move |entry| entry.digest == digest).filter_map(|entry| {
            self.records.get(entry.record.wrapping_sub(self.first_record) as usize)
        })
    }

    fn known(&self, record: &Record<M>, verdict: Verdict, alias: Option<u64>) -> Known {
        let place = record.facts.wrapping_sub(self.first_facts) as usize;
        let facts = self.facts.get(place).copied().filter(|_| record.has_facts);
        Known { id: record.id, key: record.key, verdict, alias, facts }
    }

    /// Drops what is past: some at a time, so that no document waits for many others.
    fn drop_while(&mut self, is_past: impl Fn(&Record<M>) -> bool) {
        for _ in 0..AT_ONCE {
            let Some(record) = self.records.pop_if(|record| is_past(record)) else { return };
            self.first_record = self.first_record.wrapping_add(1);
            if record.has_facts {
                self.facts.pop_if(|_| true);
                self.first_facts = self.first_facts.wrapping_add(1);
            }
            for _ in 0..record.digests {
                let Some(entry) = self.entries.pop_if(|_| true) else { return };
                let (part, chain) = beginning(entry.digest);
                let part = self.newest.part(part);
                if part.get(&chain) == Some(&self.first) {
                    part.remove(&chain);
                }
                self.first = self.first.wrapping_add(1);
            }
        }
    }
}

/// The part and the chain of a digest: its first six bytes.
#[expect(clippy::cast_possible_truncation, reason = "only the beginning is wanted")]
fn beginning(digest: Digest) -> (u16, u32) {
    let bits = u128::from_le_bytes(digest.0);
    (bits as u16, (bits >> 16) as u32)
}

/// A count modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "ordinals are counted so")]
fn ordinal(count: usize) -> u32 {
    count as u32
}

#[cfg(test)]
impl MemoryDigests {
    /// How many digests of representatives and of aliases are kept.
    pub(super) fn counts(&self) -> (usize, usize) {
        fn count<M>(ledger: &Ledger<M>) -> usize {
            let count = ledger.entries.len();
            assert!(ledger.newest.len() <= count, "a digest without an entry is kept");
            count
        }
        (count(&self.representatives), count(&self.aliases))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(id: u64) -> Known {
        let facts = Facts { features: 7, thin: id.is_multiple_of(2), ..Facts::default() };
        let facts = (!id.is_multiple_of(3)).then_some(facts);
        Known { id: DocId(id), key: Key(id), verdict: Verdict::Unique, alias: None, facts }
    }

    proptest! {
        #[test]
        fn digests_that_begin_alike_are_told_apart(
            steps in prop::collection::vec((prop::collection::vec((0..3_u8, 0..4_u8), 0..3), 0..4_u64), 0..300),
            first in prop_oneof![Just(0), Just(u32::MAX - 60)],
        ) {
            let digest = |(chain, end): (u8, u8)| {
                let mut digest = [0; 16];
                (digest[4], digest[15]) = (chain, end);
                Digest(digest)
            };
            let mut ledger: Ledger<()> =
                Ledger { first, first_record: first, first_facts: first, ..Ledger::default() };
            let (mut all, mut horizon) = (Vec::new(), 0);
            for (id, (digests, leave)) in (0..).zip(steps) {
                let digests: Vec<_> = digests.into_iter().map(digest).collect();
                ledger.push(&digests, &known(id), ());
                all.push((id, digests));
                horizon = (horizon + leave).min(id);
                ledger.drop_while(|record| record.id.0 < horizon);
                for asked in (0..12).map(|number| digest((number / 4, number % 4))) {
                    let found = ledger.find(asked).map(|record| ledger.known(record, Verdict::Unique, None));
                    let inside = all.iter().rev().filter(|(id, _)| *id >= horizon);
                    let expected = inside.flat_map(|(id, digests)| {
                        digests.iter().filter(|digest| **digest == asked).map(|_| known(*id))
                    });
                    prop_assert!(found.eq(expected));
                }
            }
            let entries: usize = ledger.entries.len();
            prop_assert!(ledger.newest.len() <= entries.min(3), "a digest without an entry is kept");
        }
    }
}
