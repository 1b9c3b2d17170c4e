//! What is kept of pages to compare their articles.

use super::{State, StateError, signed, unsigned};
use crate::{filter::ArticleSketch, page::DocId};

impl State {
    /// The sketch of a page, if it has one.
    ///
    /// # Errors
    /// If SQLite fails or the row is damaged.
    pub(crate) fn article(&self, id: DocId) -> Result<Option<ArticleSketch>, StateError> {
        let sql = "SELECT sketch FROM articles WHERE document = ?";
        let packed: Option<Vec<u8>> = self.find(sql, [signed(id.0)], |row| row.get(0))?;
        let damaged = StateError::Damaged("the sketch of a page cannot be read");
        packed.map(|packed| ArticleSketch::unpack(&packed).ok_or(damaged)).transpose()
    }

    /// How many pages have one.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn articles(&self) -> Result<usize, StateError> {
        let count: i64 = self.value("SELECT count(*) FROM keys", [])?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Keeps the sketch of a page, and the keys of its article.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_article(
        &self,
        id: DocId,
        sketch: &ArticleSketch,
        keys: &[u64],
    ) -> Result<(), StateError> {
        let document = signed(id.0);
        self.execute("INSERT INTO articles VALUES (?, ?)", (document, sketch.pack()))?;
        let keys: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        self.execute("INSERT INTO keys VALUES (?, ?)", (document, keys))
    }

    /// Calls `visit` with the keys of each page from `oldest` on, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn for_each_article(
        &self,
        oldest: DocId,
        mut visit: impl FnMut(DocId, &[u64]),
    ) -> Result<(), StateError> {
        let sql = "SELECT document, keys FROM keys WHERE document >= ? ORDER BY document";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([signed(oldest.0)])?;
        let mut keys = Vec::new();
        while let Some(row) = rows.next()? {
            let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let (packed, rest) = packed.as_chunks::<8>();
            if !rest.is_empty() {
                return Err(StateError::Damaged("the keys of a page have the wrong length"));
            }
            keys.clear();
            keys.extend(packed.iter().map(|key| u64::from_le_bytes(*key)));
            visit(DocId(unsigned(row.get(0)?)), &keys);
        }
        Ok(())
    }

    /// Drops what is kept of pages before the horizon: they will not be matched again.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn drop_articles(&self, horizon: DocId) -> Result<(), StateError> {
        let horizon = [signed(horizon.0)];
        self.execute("DELETE FROM articles WHERE document < ?", horizon)?;
        self.execute("DELETE FROM keys WHERE document < ?", horizon)
    }
}
