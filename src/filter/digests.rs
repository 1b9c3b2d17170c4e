//! The digests of bodies and texts by which the filter recognises exact duplicates.
//!
//! The collections here never move all their content at once, so that no document waits for them to grow: one step moves at most a
//! thousandth of it.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
};

use super::{
    article::ArticleSketch,
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
    /// The facts about its text, which a document with the same body gets.
    pub(crate) facts: Facts,
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
            shared: None,
        };
        self.verdict.matched().map_or(equal, |&of_alias| Match { step, ..of_alias })
    }

    /// Its number among aliases if it is one, else among documents.
    fn ordinal(&self) -> u64 {
        self.alias.unwrap_or(self.id.0)
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

/// The tables of known digests and of sketches. The engine looks up digests, decides which entries are still in the window, and enters new
/// documents.
pub(crate) trait Digests {
    /// Why the table could not be read or written; [`Infallible`] in memory.
    type Error: std::error::Error;

    /// Appends to `out` every document entered under this digest. Documents beyond the horizon may be among them.
    ///
    /// # Errors
    /// If the table cannot be read.
    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), Self::Error>;

    /// Enters a document under each of these digests. Ids grow from call to call, as do the numbers of aliases.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), Self::Error>;

    /// The sketch of a page in the window, if it has one.
    ///
    /// # Errors
    /// If the table cannot be read.
    fn article(&mut self, id: DocId) -> Result<Option<ArticleSketch>, Self::Error>;

    /// Keeps the sketch of a page, and the keys under which it is entered in the index. Ids grow from call to call.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn keep_article(
        &mut self,
        id: DocId,
        sketch: &ArticleSketch,
        keys: &[u64],
    ) -> Result<(), Self::Error>;

    /// Announces what will not be matched again. The table may drop it at any later time.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn expire(&mut self, horizon: Horizon) -> Result<(), Self::Error>;
}

/// Digests that leave at a time: many more than arrive.
const AT_ONCE: usize = 64;

/// The tables in memory: some 210 bytes a digest, and what the sketches take.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryDigests {
    representatives: Ledger,
    aliases: Ledger,
    articles: SteadyQueue<(DocId, Box<[u8]>)>,
    /// Bytes of the sketches.
    articles_size: usize,
}

impl MemoryDigests {
    /// Bytes of memory that the sketches of pages take.
    pub(crate) fn articles_size(&self) -> usize {
        self.articles_size
    }
}

impl Digests for MemoryDigests {
    type Error = Infallible;

    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), Infallible> {
        self.representatives.find(digest, out);
        self.aliases.find(digest, out);
        Ok(())
    }

    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), Infallible> {
        let ledger =
            if known.alias.is_some() { &mut self.aliases } else { &mut self.representatives };
        for &digest in digests {
            ledger.push(digest, known.clone());
        }
        Ok(())
    }

    fn article(&mut self, id: DocId) -> Result<Option<ArticleSketch>, Infallible> {
        let (mut from, mut to) = (0, self.articles.len);
        while from < to {
            let middle = from.midpoint(to);
            match self.articles.get(middle) {
                Some((found, _)) if *found < id => from = middle + 1,
                _ => to = middle,
            }
        }
        let found = self.articles.get(from).filter(|(found, _)| *found == id);
        Ok(found.and_then(|(_, packed)| ArticleSketch::unpack(packed)))
    }

    fn keep_article(
        &mut self,
        id: DocId,
        sketch: &ArticleSketch,
        _: &[u64],
    ) -> Result<(), Infallible> {
        let packed = sketch.pack().into_boxed_slice();
        self.articles_size += size_of::<(DocId, Box<[u8]>)>() + packed.len();
        self.articles.push((id, packed));
        Ok(())
    }

    fn expire(&mut self, horizon: Horizon) -> Result<(), Infallible> {
        for _ in 0..AT_ONCE {
            let is_past = |(id, _): &mut (DocId, _)| *id < horizon.representative;
            let Some((_, packed)) = self.articles.pop_if(is_past) else { break };
            self.articles_size -= size_of::<(DocId, Box<[u8]>)>() + packed.len();
        }
        self.representatives.drop_before(horizon.representative.0);
        self.aliases.drop_before(horizon.alias);
        Ok(())
    }
}

/// Documents in order of arrival. Those of one digest are a chain from the newest to the oldest, so that the oldest leaves
/// without a search.
#[derive(Clone, Debug, Default)]
struct Ledger {
    entries: SteadyQueue<Entry>,
    /// The ordinal of the first entry.
    first: u64,
    newest: SteadyMap<u64>,
}

#[derive(Clone, Debug)]
struct Entry {
    digest: Digest,
    /// The ordinal of the entry before this one with the same digest; it may have left.
    previous: Option<u64>,
    known: Known,
}

impl Ledger {
    fn push(&mut self, digest: Digest, known: Known) {
        let ordinal = self.first + self.entries.len as u64;
        let previous = self.newest.insert(digest, ordinal);
        self.entries.push(Entry { digest, previous, known });
    }

    fn find(&self, digest: Digest, out: &mut Vec<Known>) {
        let mut next = self.newest.get(digest).copied();
        while let Some(entry) = next.and_then(|ordinal| self.get(ordinal)) {
            out.push(entry.known.clone());
            next = entry.previous;
        }
    }

    fn get(&self, ordinal: u64) -> Option<&Entry> {
        let place = usize::try_from(ordinal.checked_sub(self.first)?).ok()?;
        self.entries.get(place)
    }

    /// Drops what is before this number, of documents or of aliases: some at a time, so that no document waits for many others.
    fn drop_before(&mut self, horizon: u64) {
        for _ in 0..AT_ONCE {
            let is_past = |entry: &mut Entry| entry.known.ordinal() < horizon;
            let Some(entry) = self.entries.pop_if(is_past) else { return };
            if self.newest.get(entry.digest) == Some(&self.first) {
                self.newest.remove(entry.digest);
            }
            self.first += 1;
        }
    }
}

/// Values of a full block.
const BLOCK: usize = 1024;
/// Parts of a map. Each grows by itself, and moves so small a share of the whole.
const PARTS: usize = 1024;

/// A queue in blocks: growth moves no value, only now and then the list of blocks, and what has left gives its memory back.
#[derive(Clone, Debug)]
struct SteadyQueue<T> {
    /// None is empty, and all but the first and the last are full.
    blocks: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for SteadyQueue<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), len: 0 }
    }
}

impl<T> SteadyQueue<T> {
    fn get(&self, place: usize) -> Option<&T> {
        let first = self.blocks.front()?.len();
        match place.checked_sub(first) {
            None => self.blocks.front()?.get(place),
            Some(beyond) => self.blocks.get(1 + beyond / BLOCK)?.get(beyond % BLOCK),
        }
    }

    fn push(&mut self, value: T) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push_back(value),
            _ => {
                let mut block = VecDeque::with_capacity(BLOCK);
                block.push_back(value);
                self.blocks.push_back(block);
            }
        }
        self.len += 1;
    }

    fn pop_if(&mut self, leaves: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let value = block.pop_front_if(leaves)?;
        self.len -= 1;
        if block.is_empty() {
            self.blocks.pop_front();
        }
        Some(value)
    }
}

/// A map by digests in parts: digests are spread evenly over them.
#[derive(Clone, Debug)]
struct SteadyMap<V> {
    parts: Box<[HashMap<Digest, V>]>,
}

impl<V> Default for SteadyMap<V> {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| HashMap::new()).collect() }
    }
}

impl<V> SteadyMap<V> {
    fn part(digest: Digest) -> usize {
        usize::from(u16::from_le_bytes([digest.0[0], digest.0[1]])) % PARTS
    }

    fn get(&self, digest: Digest) -> Option<&V> {
        self.parts[Self::part(digest)].get(&digest)
    }

    /// The value that was there before.
    fn insert(&mut self, digest: Digest, value: V) -> Option<V> {
        self.parts[Self::part(digest)].insert(digest, value)
    }

    fn remove(&mut self, digest: Digest) {
        self.parts[Self::part(digest)].remove(&digest);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }
}

#[cfg(test)]
impl MemoryDigests {
    /// How many digests of representatives and of aliases are kept.
    pub(super) fn counts(&self) -> (usize, usize) {
        let counts = [&self.representatives, &self.aliases].map(|ledger| {
            assert!(ledger.newest.len() <= ledger.entries.len, "a digest without an entry is kept");
            ledger.entries.len
        });
        (counts[0], counts[1])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_queue_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..3000_usize), 0..12)) {
            let (mut steady, mut plain) = (SteadyQueue::default(), VecDeque::new());
            let mut next = 0;
            for (grows, n) in steps {
                for _ in 0..n {
                    if grows {
                        steady.push(next);
                        plain.push_back(next);
                        next += 1;
                    } else {
                        prop_assert_eq!(steady.pop_if(|_| true), plain.pop_front());
                    }
                }
                prop_assert_eq!(steady.len, plain.len());
                prop_assert!(steady.blocks.iter().all(|block| (1..=1024).contains(&block.len())));
                prop_assert!(steady.blocks.iter().all(|block| block.capacity() == 1024), "none has grown");
                prop_assert!(steady.pop_if(|_| false).is_none());
                for place in [0, 1, plain.len() / 2, plain.len().saturating_sub(1), plain.len()] {
                    prop_assert_eq!(steady.get(place), plain.get(place));
                }
            }
        }
    }

    #[test]
    fn a_map_is_a_map() {
        let mut map = SteadyMap::default();
        let digest =
            |n: u32| Digest(*blake3::hash(&n.to_le_bytes()).as_bytes().first_chunk().unwrap());
        for n in 0..5000 {
            assert_eq!(map.insert(digest(n), n), None);
            assert_eq!(map.insert(digest(n), n + 1), Some(n));
        }
        for n in (0..5000).step_by(2) {
            map.remove(digest(n));
        }
        assert_eq!(map.len(), 2500);
        assert!((0..5000).all(|n| map.get(digest(n)).copied() == (n % 2 == 1).then_some(n + 1)));
    }

    #[test]
    fn no_part_of_a_map_holds_much_of_it() {
        let mut map = SteadyMap::default();
        for n in 0..100_000_u32 {
            map.insert(
                Digest(*blake3::hash(&n.to_le_bytes()).as_bytes().first_chunk().unwrap()),
                (),
            );
        }
        assert!(map.parts.iter().all(|part| part.len() < 250), "97 on average");
    }
}
