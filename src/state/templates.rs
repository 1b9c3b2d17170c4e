//! What the templates of sites are learnt from, so that a filter that goes on knows them as the one before did.

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Key, Lesson, Site, Taught},
    page::DocId,
};

impl State {
    /// Keeps a lesson, and drops those that it outdates.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_lesson(&self, taught: &Taught) -> Result<(), StateError> {
        let Taught { lesson, outdated } = taught;
        let packed: Vec<u8> = lesson.blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        let (site, document) = (signed(lesson.site.get()), signed(lesson.id.0));
        let mut insert =
            self.db.prepare_cached("INSERT OR REPLACE INTO templates VALUES (?, ?, ?, ?)")?;
        insert.execute((site, document, signed(lesson.key.0), packed))?;
        let mut delete =
            self.db.prepare_cached("DELETE FROM templates WHERE site = ? AND document < ?")?;
        for outdated in outdated {
            delete.execute((signed(outdated.site.get()), signed(outdated.before.0)))?;
        }
        Ok(())
    }

    /// Calls `visit` with every lesson that is kept, or with those about one site, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn for_each_lesson(
        &self,
        site: Option<Site>,
        mut visit: impl FnMut(&Lesson),
    ) -> Result<(), StateError> {
        let sql = "SELECT site, document, key, blocks FROM templates WHERE site = ?1 OR ?1 IS NULL ORDER BY document";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([site.map(|site| signed(site.get()))])?;
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(3)?;
            let (blocks, rest) = packed.as_chunks::<8>();
            let site = Site::new(unsigned(row.get(0)?)).filter(|_| rest.is_empty());
            let site = site.ok_or(StateError::Damaged("a lesson about a template is none"))?;
            visit(&Lesson {
                id: DocId(unsigned(row.get(1)?)),
                key: Key(unsigned(row.get(2)?)),
                site,
                blocks: blocks.iter().map(|block| u64::from_le_bytes(*block)).collect(),
            });
        }
        Ok(())
    }
}
