//! What the filter remembers of bodies and texts that it has seen, to recognise them when they come again unchanged.

use std::convert::Infallible;

use super::{
    Facts, Key, Verdict,
    steady::{SteadyMap, SteadyQueue},
};
use crate::{fingerprint::Digest, page::DocId};

/// A document that is known by the digest of its body or of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its number.
    pub id: DocId,
    /// Whose document it is.
    pub key: Key,
    /// What was found about it: unique if it is a representative, otherwise of whom it is an alias.
    pub verdict: Verdict,
    /// The number of the alias among aliases, from 0; `None` for a representative.
    pub alias: Option<u64>,
    /// What is told of its text when it comes again.
    pub facts: Facts,
}

impl Known {
    /// Its number among aliases if it is one, else among documents.
    fn ordinal(&self) -> u64 {
        self.alias.unwrap_or(self.id.0)
    }
}

/// What has left the window, by number of the document and by number of the alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The oldest representative that may still be matched.
    pub representative: DocId,
    /// The oldest alias that may still be matched.
    pub alias: u64,
}

/// The table of known digests. The filter asks it, judges what is still in the window, and enters new documents.
pub trait Digests {
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

    /// Says what will not be matched again, so that the table may drop it when it likes.
    ///
    /// # Errors
    /// If the table cannot be written.
    fn expire(&mut self, horizon: Horizon) -> Result<(), Self::Error>;
}

/// So many digests leave at a time: many more than come.
const AT_ONCE: usize = 64;

/// The table in memory: some 210 bytes a digest.
#[derive(Clone, Debug, Default)]
pub struct MemoryDigests {
    representatives: Ledger,
    aliases: Ledger,
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

    fn expire(&mut self, horizon: Horizon) -> Result<(), Infallible> {
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
        let ordinal = self.first + self.entries.len() as u64;
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

#[cfg(test)]
impl MemoryDigests {
    /// How many digests of representatives and of aliases are kept.
    pub(super) fn counts(&self) -> (usize, usize) {
        let counts = [&self.representatives, &self.aliases].map(|ledger| {
            assert!(
                ledger.newest.len() <= ledger.entries.len(),
                "a digest without an entry is kept"
            );
            ledger.entries.len()
        });
        (counts[0], counts[1])
    }
}
