//! SQLite: B-trees in one file, with a WAL, set up as pagesieve sets up its own.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::{CACHE, Kv, NAMES, Op, Table};
use crate::Result;

pub struct Sqlite(Connection);

impl Sqlite {
    pub fn open(path: &Path) -> Result<Self> {
        let db = Connection::open(path.join("state"))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "cache_size", -(CACHE as i64 >> 10))?;
        for name in NAMES {
            let sql = format!(
                "CREATE TABLE IF NOT EXISTS {name} (key INTEGER PRIMARY KEY, value BLOB) STRICT"
            );
            db.execute_batch(&sql)?;
        }
        Ok(Self(db))
    }
}

impl Kv for Sqlite {
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>> {
        const SQL: [&str; 4] = [
            "SELECT value FROM known WHERE key = ?",
            "SELECT value FROM urls WHERE key = ?",
            "SELECT value FROM queue WHERE key = ?",
            "SELECT value FROM log WHERE key = ?",
        ];
        let mut statement = self.0.prepare_cached(SQL[table as usize])?;
        Ok(statement.query_row([key as i64], |row| row.get(0)).optional()?)
    }

    fn each(
        &self,
        table: Table,
        from: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<()> {
        const SQL: [&str; 4] = [
            "SELECT * FROM known WHERE key >= ? ORDER BY key",
            "SELECT * FROM urls WHERE key >= ? ORDER BY key",
            "SELECT * FROM queue WHERE key >= ? ORDER BY key",
            "SELECT * FROM log WHERE key >= ? ORDER BY key",
        ];
        let mut statement = self.0.prepare_cached(SQL[table as usize])?;
        let mut rows = statement.query([from as i64])?;
        while let Some(row) = rows.next()? {
            if !visit(row.get::<_, i64>(0)? as u64, row.get_ref(1)?.as_blob()?) {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, ops: Vec<Op>) -> Result<()> {
        let transaction = self.0.transaction()?;
        for (table, key, value) in ops {
            let name = NAMES[table as usize];
            match value {
                Some(value) => transaction
                    .prepare_cached(&format!("INSERT OR REPLACE INTO {name} VALUES (?, ?)"))?
                    .execute((key as i64, value))?,
                None => transaction
                    .prepare_cached(&format!("DELETE FROM {name} WHERE key = ?"))?
                    .execute([key as i64])?,
            };
        }
        Ok(transaction.commit()?)
    }
}
