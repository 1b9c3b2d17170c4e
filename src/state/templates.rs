//! The samples that the templates of origins are learnt from, so that the next filter knows them too.

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Engine, Key, OriginKey, TemplateChange, TemplateSample},
    index::Index,
    page::DocId,
};

impl State {
    /// Keeps a sample, and drops those that it makes outdated.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_sample(&self, change: &TemplateChange) -> Result<(), StateError> {
        let TemplateChange { sample, outdated } = change;
        let packed: Vec<u8> = sample.blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        let (origin, document) = (signed(sample.origin.get()), signed(sample.id.0));
        let insert = "INSERT OR REPLACE INTO templates VALUES (?, ?, ?, ?)";
        self.execute(insert, (origin, document, signed(sample.key.0), packed))?;
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
        let sql = "SELECT origin, document, key, blocks FROM templates WHERE origin = ?1 OR ?1 IS NULL ORDER BY document";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([origin.map(|origin| signed(origin.get()))])?;
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(3)?;
            let (blocks, rest) = packed.as_chunks::<8>();
            let origin = OriginKey::new(unsigned(row.get(0)?)).filter(|_| rest.is_empty());
            let origin =
                origin.ok_or(StateError::Damaged("a sample of a template cannot be read"))?;
            engine.add_sample(&TemplateSample {
                id: DocId(unsigned(row.get(1)?)),
                key: Key(unsigned(row.get(2)?)),
                origin,
                blocks: blocks.iter().map(|block| u64::from_le_bytes(*block)).collect(),
            });
        }
        Ok(())
    }
}
