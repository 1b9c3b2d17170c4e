//! The filter's table of digests in the file, and a cache of the latest in memory.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::{
    State, StateError,
    documents::{COLUMNS, read_document},
    signed, unsigned,
};
use crate::{
    filter::{ArticleSketch, Digests, Horizon, Judgement, Key, Known},
    fingerprint::Digest,
    page::DocId,
};

/// Digests kept in memory in front of a table that is asked again and again.
pub(crate) const CACHED_DIGESTS: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("not zero");
/// Rows beyond the horizon are dropped each time this many documents have left the window.
const SWEEP_EVERY: u64 = 1 << 20;

/// The digests seen last, in front of the table in the file.
#[derive(Debug)]
pub(crate) struct DigestCache {
    cache: LruCache<Digest, Vec<Known>>,
    /// The horizon at which rows were dropped last.
    swept: Horizon,
    sweep_every: u64,
}

impl DigestCache {
    /// A cache with room for this many digests.
    pub(crate) fn new(size: NonZeroUsize) -> Self {
        let swept = Horizon { representative: DocId(0), alias: 0 };
        Self { cache: LruCache::new(size), swept, sweep_every: SWEEP_EVERY }
    }
}

/// The state's table of digests.
#[derive(Debug)]
pub(crate) struct DigestTable<'a> {
    pub(super) state: &'a State,
    pub(super) cache: &'a mut DigestCache,
}

impl State {
    /// The documents that have this digest, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn known_by(&self, digest: Digest) -> Result<Vec<Known>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS}, g.alias, g.key FROM digests g JOIN documents d ON d.id = g.document WHERE g.digest = ? ORDER BY d.id"
        );
        self.all(&sql, [digest.0], |row| {
            let Judgement { id, verdict, facts, .. } = read_document(row)?.judgement;
            let (alias, key): (Option<i64>, _) = (row.get("alias")?, row.get("key")?);
            let (alias, key) = (alias.map(unsigned), Key(unsigned(key)));
            Ok(Known { id, key, verdict, alias, facts })
        })
    }
}

impl Digests for DigestTable<'_> {
    type Error = StateError;

    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), StateError> {
        if let Some(known) = self.cache.cache.get(&digest) {
            out.extend_from_slice(known);
            return Ok(());
        }
        let known = self.state.known_by(digest)?;
        out.extend_from_slice(&known);
        // Even if nothing is known of it: then it is most likely entered next.
        self.cache.cache.put(digest, known);
        Ok(())
    }

    fn insert(&mut self, digests: &[Digest], known: &Known) -> Result<(), StateError> {
        let sql = "INSERT OR IGNORE INTO digests VALUES (?, ?, ?, ?)";
        let (document, alias) = (signed(known.id.0), known.alias.map(signed));
        for digest in digests {
            self.state.execute(sql, (digest.0, document, alias, signed(known.key.0)))?;
            // What the cache does not know of this digest it must read, not guess.
            if let Some(cached) = self.cache.cache.get_mut(digest) {
                cached.push(known.clone());
            }
        }
        Ok(())
    }

    fn article(&mut self, id: DocId) -> Result<Option<ArticleSketch>, StateError> {
        self.state.article(id)
    }

    fn keep_article(
        &mut self,
        id: DocId,
        sketch: &ArticleSketch,
        keys: &[u64],
    ) -> Result<(), StateError> {
        self.state.keep_article(id, sketch, keys)
    }

    fn expire(&mut self, horizon: Horizon) -> Result<(), StateError> {
        let swept = self.cache.swept;
        let representatives = horizon.representative.0.saturating_sub(swept.representative.0);
        let aliases = horizon.alias.saturating_sub(swept.alias);
        if representatives.max(aliases) < self.cache.sweep_every {
            return Ok(());
        }
        let sql = "DELETE FROM digests WHERE alias < ?2 OR alias IS NULL AND document < ?1";
        self.state.execute(sql, (signed(horizon.representative.0), signed(horizon.alias)))?;
        self.cache.swept = horizon;
        Ok(())
    }
}

#[cfg(test)]
impl DigestCache {
    /// The same, but it drops rows whenever there are some to drop.
    pub(super) fn sweeping_always(self) -> Self {
        Self { sweep_every: 1, ..self }
    }
}
