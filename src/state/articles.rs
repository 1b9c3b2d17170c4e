//! What is kept of pages to compare their articles, and the samples that the templates of origins are learnt from, so that the next filter
//! knows them too.

use rusqlite::Row;

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{ArticleSketch, Engine, Key, OriginKey, TemplateChange, TemplateSample},
    index::Index,
    page::DocId,
};

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
        let row = |row: &Row<'_>| Ok((DocId(unsigned(row.get(0)?)), row.get::<_, Vec<u8>>(1)?));
        let mut keys = Vec::new();
        self.each(sql, [signed(oldest.0)], row, |(id, packed)| {
            let damaged = StateError::Damaged("the keys of a page have the wrong length");
            keys.clear();
            keys.extend(words(&packed).ok_or(damaged)?);
            visit(id, &keys);
            Ok(())
        })
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

impl State {
    /// Keeps a sample, and drops those that it makes outdated.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_sample(&self, change: &TemplateChange) -> Result<(), StateError> {
        let TemplateChange { sample, outdated } = change;
        let packed: Vec<u8> = sample.blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        let (origin, document) = (signed(sample.origin.get()), signed(sample.id.0));
        let insert = "INSERT OR REPLACE INTO templates VALUES (?, ?, ?, ?, ?)";
        self.execute(insert, (origin, document, signed(sample.key.0), packed, sample.name))?;
        outdated.iter().try_for_each(|outdated| {
            let delete = "DELETE FROM templates WHERE origin = ? AND document < ?";
            self.execute(delete, (signed(outdated.origin.get()), signed(outdated.before.0)))
        })
    }

    /// Restores the templates of all origins, or of one, into an engine that has none.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn restore_templates<I: Index>(
        &self,
        engine: &mut Engine<I>,
        origin: Option<OriginKey>,
    ) -> Result<(), StateError> {
        let sql = "SELECT origin, document, key, blocks, name FROM templates WHERE origin = ?1 OR ?1 IS NULL ORDER BY document";
        let sample = |row: &Row<'_>| {
            let (origin, blocks) =
                (OriginKey::new(unsigned(row.get(0)?)), row.get::<_, Vec<u8>>(3)?);
            let (id, key) = (DocId(unsigned(row.get(1)?)), Key(unsigned(row.get(2)?)));
            let name = row.get(4)?;
            let parts = origin.zip(words(&blocks).map(Iterator::collect));
            Ok(parts.map(|(origin, blocks)| TemplateSample { id, key, origin, name, blocks }))
        };
        self.each(sql, [origin.map(|origin| signed(origin.get()))], sample, |sample| {
            let damaged = StateError::Damaged("a sample of a template cannot be read");
            engine.add_sample(&sample.ok_or(damaged)?);
            Ok(())
        })
    }
}

/// Packed numbers, unless bytes are missing.
fn words(packed: &[u8]) -> Option<impl Iterator<Item = u64>> {
    let (words, rest) = packed.as_chunks::<8>();
    rest.is_empty().then(|| words.iter().map(|word| u64::from_le_bytes(*word)))
}
