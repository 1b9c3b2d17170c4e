//! The filter's table of digests, with the latest in memory in front of the file.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::{
    State, StateError,
    documents::{COLUMNS, read_document},
    signed, unsigned,
};
use crate::{
    filter::{Digests, Horizon, Key, Known},
    fingerprint::Digest,
};

/// Digests kept in memory in front of a table that is asked again and again.
pub(crate) const CACHED_DIGESTS: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("not zero");
/// Rows beyond the horizon are dropped once so many documents have come since the last time.
const SWEEP_EVERY: u64 = 1 << 20;

/// The state's table of digests behind a cache of those seen last.
///
/// Entering a document here enters its digests only: the document itself is [added](State::add_document) by whoever owns the state,
/// in the same batch.
#[derive(Debug)]
pub(crate) struct DigestTable {
    state: State,
    cache: LruCache<Digest, Vec<Known>>,
    swept: Horizon,
    sweep_every: u64,
}

impl DigestTable {
    /// The table of this state, with room for so many digests in memory.
    #[must_use]
    pub(crate) fn new(state: State, cached: NonZeroUsize) -> Self {
        let swept = Horizon { representative: crate::page::DocId(0), alias: 0 };
        Self { state, cache: LruCache::new(cached), swept, sweep_every: SWEEP_EVERY }
    }

    fn read(&self, digest: Digest) -> Result<Vec<Known>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS}, g.alias, g.key FROM digests g JOIN documents d ON d.id = g.document WHERE g.digest = ? ORDER BY d.id"
        );
        let mut statement = self.state.db.prepare_cached(&sql)?;
        let mut rows = statement.query([digest.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let document = read_document(row)??;
            let alias: Option<i64> = row.get("alias")?;
            found.push(Known {
                id: document.judgement.id,
                key: Key(unsigned(row.get("key")?)),
                verdict: document.judgement.verdict,
                alias: alias.map(unsigned),
                facts: document.judgement.facts,
            });
        }
        Ok(found)
    }
}

impl Digests for DigestTable {
    type Error = StateError;

    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), StateError> {
        if let Some(known) = self.cache.get(&digest) {
            out.extend_from_slice(known);
            return Ok(());
        }
        let known = self.read(digest)?;
        out.extend_from_slice(&known);
        // Though nothing is known of it: then it is most likely entered next.
        self.cache.put(digest, known);
        Ok(())
    }

    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), StateError> {
        let mut statement =
            self.state.db.prepare_cached("INSERT OR IGNORE INTO digests VALUES (?, ?, ?, ?)")?;
        for digest in digests {
            let (document, alias) = (signed(known.id.0), known.alias.map(signed));
            statement.execute((digest.0, document, alias, signed(known.key.0)))?;
            // What the cache does not know of this digest it must read, not guess.
            if let Some(cached) = self.cache.get_mut(digest) {
                cached.push(known.clone());
            }
        }
        Ok(())
    }

    fn expire(&mut self, horizon: Horizon) -> Result<(), StateError> {
        let representatives =
            horizon.representative.0 - self.swept.representative.0.min(horizon.representative.0);
        let aliases = horizon.alias - self.swept.alias.min(horizon.alias);
        if representatives.max(aliases) < self.sweep_every {
            return Ok(());
        }
        let sql = "DELETE FROM digests WHERE alias < ?2 OR alias IS NULL AND document < ?1";
        let mut statement = self.state.db.prepare_cached(sql)?;
        statement.execute((signed(horizon.representative.0), signed(horizon.alias)))?;
        self.swept = horizon;
        Ok(())
    }
}

#[cfg(test)]
impl DigestTable {
    /// The same, but it drops rows whenever there is something to drop.
    pub(super) fn sweeping_always(self) -> Self {
        Self { sweep_every: 1, ..self }
    }
}
