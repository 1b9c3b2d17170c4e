//! Where the filter keeps the documents that it knows: what a store does, and the store in memory.

use std::{collections::VecDeque, iter};

use super::{
    document::Document,
    rule::Rule,
    sketch::{Content, Key},
    template::{Template, TemplateChange},
    thresholds::Thresholds,
    verdict::{Facts, Judgement, Match, Step, Verdict},
    window::{IncrementalMap, IncrementalQueue, Representative},
};
use crate::{fingerprint::Digest, page::DocId};

/// A judgement, and what it adds to what is known.
#[derive(Clone, Debug)]
pub struct Change {
    pub(crate) judgement: Judgement,
    /// The digests by which the document is known from now on.
    pub(crate) digests: Vec<Digest>,
    /// Its number among aliases, if it is a duplicate with such digests.
    pub(crate) alias: Option<u64>,
    /// The document's entry in the window, if it is unique.
    pub(crate) representative: Option<Representative>,
    pub(crate) template: Option<TemplateChange>,
}

impl Change {
    /// A judgement by which nothing enters.
    pub(super) fn nothing(judgement: Judgement) -> Self {
        let digests = Vec::new();
        Self { judgement, digests, alias: None, representative: None, template: None }
    }

    /// What a store finds by the digests.
    pub(crate) fn known(&self, document: &Document) -> Known {
        let Judgement { id, verdict, facts, .. } = self.judgement;
        let facts = document.sketch.body.map(|_| facts);
        Known { id, key: document.key, verdict, alias: self.alias, facts }
    }

    /// The content of the document, if later ones are compared with it.
    pub(crate) fn content_of<'a>(&self, document: &'a Document) -> Option<&'a Content> {
        let is_kept = self.representative.is_some_and(|representative| representative.has_content);
        document.sketch.content.as_ref().filter(|_| is_kept)
    }
}

/// A document that is known by the digest of its body or of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
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
        let of_alias = self.verdict.matched().map(|&of_alias| Match { step, ..of_alias });
        of_alias.unwrap_or_else(|| Match::exact(self.id, step))
    }
}

/// What has left the window, by number of the document and by number of the alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The oldest representative that may still be matched.
    pub(crate) representative: DocId,
    /// The oldest alias that may still be matched.
    pub(crate) alias: u64,
}

/// By what a document is compared with those of others that share the window.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) thresholds: &'a Thresholds,
    /// That of its origin.
    pub(crate) template: &'a Template,
    pub(crate) thin: bool,
}

/// Where a [`Filter`](super::Filter) keeps the documents that later ones may repeat: [`Memory`], or a file. The filter decides what is
/// remembered and when it leaves; a store keeps it and finds it again. Only this crate implements it.
#[expect(private_interfaces, reason = "only this crate calls its methods")]
pub trait Store: Sized {
    /// Why a document could not be judged.
    type Error: std::error::Error + From<JudgeError>;

    /// Appends to `found` every document that was remembered under this digest. Some of them may have left the window.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn known_by(&mut self, digest: Digest, found: &mut Vec<Known>) -> Result<(), Self::Error>;

    /// The content of a page in the window.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn content(&mut self, id: DocId) -> Result<Option<Content>, Self::Error>;

    /// Remembers a document that was judged. Its number is larger than those before; so is that of an alias.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remember(&mut self, document: &Document, change: &Change) -> Result<(), Self::Error>;

    /// Keeps the ids of unique documents from now on, if the store does not anyway.
    fn keep_names(&mut self) {}

    /// The id of a document of the window, if it is kept.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn name_of(&self, id: DocId) -> Result<Option<String>, Self::Error>;

    /// Forgets a unique document that was taken out of the window.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget(&mut self, id: DocId) -> Result<(), Self::Error>;

    /// Claims a document that is unique in this window among those who share it. If another one has a document that it repeats, returns the match;
    /// otherwise others find it from now on, unless it is only looked at. Most stores are not shared.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn claim(
        &mut self,
        _: &Document,
        _: &Ground<'_>,
        _is_looked_at: bool,
    ) -> Result<Option<Match>, Self::Error> {
        Ok(None)
    }

    /// Announces what will not be matched again. The store may drop it at any later time.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn expire(&mut self, horizon: Horizon) -> Result<(), Self::Error>;

    /// Reads something, and changes nothing. A store with transactions needs none for it.
    ///
    /// # Errors
    /// As `action`, or if an earlier change failed.
    fn consult<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        action(self)
    }

    /// Does something that belongs together. A store with transactions does it in the open one, and refuses all that follows if it fails.
    ///
    /// # Errors
    /// As `action`, or if an earlier one failed.
    fn attempt<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        action(self)
    }
}

/// A document that cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// It was made by another recipe than the filter's: another seed, for instance.
    #[error(
        "the document was made by another recipe than the filter's: make it with the filter's `documents()`"
    )]
    Recipe,
}

/// Documents that leave at a time: many more than arrive.
const AT_ONCE: usize = 64;

/// The store in memory. A representative takes up to 72 bytes, an alias 104, 32 more if it has a body, and each of its digests but the first
/// 46 more; the content of a page comes on top.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    representatives: Ledger<()>,
    aliases: Ledger<Alias>,
    contents: IncrementalQueue<(DocId, Box<[u8]>)>,
    /// Bytes of the contents.
    pub(super) contents_size: usize,
    /// The ids of unique documents, if they are kept.
    names: Option<Names>,
}

/// What is known of an alias besides.
#[derive(Clone, Copy, Debug)]
struct Alias {
    number: u64,
    matched: Match,
}

impl Memory {
    /// Enters a document under each of these digests.
    pub(crate) fn insert(&mut self, digests: &[Digest], known: &Known) {
        match (known.alias, known.verdict) {
            (Some(number), Verdict::Duplicate(matched)) => {
                self.aliases.push(digests, known, Alias { number, matched });
            }
            _ => self.representatives.push(digests, known, ()),
        }
    }

    /// Keeps the content of a page. Ids grow from call to call.
    pub(crate) fn keep_content(&mut self, id: DocId, content: &Content) {
        let packed = content.to_bytes().into_boxed_slice();
        self.contents_size += size_of::<(DocId, Box<[u8]>)>() + packed.len();
        self.contents.push((id, packed));
    }
}

#[expect(private_interfaces, reason = "only this crate calls its methods")]
impl Store for Memory {
    type Error = JudgeError;

    fn known_by(&mut self, digest: Digest, found: &mut Vec<Known>) -> Result<(), JudgeError> {
        let representatives = self.representatives.find(digest);
        found.extend(
            representatives.map(|record| self.representatives.known(record, Verdict::Unique, None)),
        );
        found.extend(self.aliases.find(digest).map(|record| {
            let Alias { number, matched } = record.more;
            self.aliases.known(record, Verdict::Duplicate(matched), Some(number))
        }));
        Ok(())
    }

    fn content(&mut self, id: DocId) -> Result<Option<Content>, JudgeError> {
        let found = self.contents.find(&id, |(id, _)| *id);
        Ok(found.and_then(|(_, packed)| Content::from_bytes(packed)))
    }

    fn remember(&mut self, document: &Document, change: &Change) -> Result<(), JudgeError> {
        self.insert(&change.digests, &change.known(document));
        if let Some(content) = change.content_of(document) {
            self.keep_content(change.judgement.id, content);
        }
        if let Some(names) = self.names.as_mut().filter(|_| change.representative.is_some()) {
            names.push(change.judgement.id, &document.id);
        }
        Ok(())
    }

    fn keep_names(&mut self) {
        self.names.get_or_insert_default();
    }

    fn name_of(&self, id: DocId) -> Result<Option<String>, JudgeError> {
        Ok(self.names.as_ref().and_then(|names| names.get(id)).map(str::to_owned))
    }

    /// What it knows of the document leaves with the window.
    fn forget(&mut self, _: DocId) -> Result<(), JudgeError> {
        Ok(())
    }

    fn expire(&mut self, horizon: Horizon) -> Result<(), JudgeError> {
        for _ in 0..AT_ONCE {
            let is_past = |(id, _): &mut (DocId, _)| *id < horizon.representative;
            let Some((_, packed)) = self.contents.pop_if(is_past) else { break };
            self.contents_size -= size_of::<(DocId, Box<[u8]>)>() + packed.len();
        }
        self.representatives.drop_while(|record| record.id < horizon.representative);
        self.aliases.drop_while(|record| record.more.number < horizon.alias);
        if let Some(names) = &mut self.names {
            names.expire(horizon.representative);
        }
        Ok(())
    }
}

/// The ids of unique documents, oldest first, in blocks: a block is one allocation for many.
#[derive(Clone, Debug, Default)]
struct Names(VecDeque<NameBlock>);

#[derive(Clone, Debug, Default)]
struct NameBlock {
    numbers: Vec<DocId>,
    /// Where each id ends in the text.
    ends: Vec<usize>,
    text: String,
}

impl Names {
    const BLOCK: usize = 1024;

    /// Numbers grow from call to call.
    fn push(&mut self, number: DocId, name: &str) {
        if let Some(last) = self.0.back_mut().filter(|last| last.numbers.len() == Self::BLOCK) {
            last.text.shrink_to_fit();
        }
        if self.0.back().is_none_or(|last| last.numbers.len() == Self::BLOCK) {
            self.0.push_back(NameBlock::default());
        }
        let block = self.0.back_mut().expect("there is one");
        block.text.push_str(name);
        block.numbers.push(number);
        block.ends.push(block.text.len());
    }

    fn get(&self, number: DocId) -> Option<&str> {
        let after = self.0.partition_point(|block| block.numbers[0] <= number);
        let block = &self.0[after.checked_sub(1)?];
        let place = block.numbers.binary_search(&number).ok()?;
        let start = place.checked_sub(1).map_or(0, |before| block.ends[before]);
        Some(&block.text[start..block.ends[place]])
    }

    /// Drops blocks in which all are older.
    fn expire(&mut self, oldest: DocId) {
        let is_past =
            |block: &mut NameBlock| block.numbers.last().is_some_and(|last| *last < oldest);
        while self.0.pop_front_if(is_past).is_some() {}
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
impl Memory {
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
