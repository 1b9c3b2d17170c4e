//! redb: copy-on-write B-trees in Rust.

use std::path::Path;

use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use super::{CACHE, Kv, NAMES, Op, Table};
use crate::Result;

pub struct Redb {
    db: Database,
    /// As of the last commit.
    tables: Vec<ReadOnlyTable<u64, &'static [u8]>>,
}

impl Redb {
    pub fn open(path: &Path) -> Result<Self> {
        let db = Database::builder().set_cache_size(CACHE).create(path.join("state"))?;
        let mut redb = Self { db, tables: Vec::new() };
        redb.write(Vec::new())?;
        Ok(redb)
    }
}

impl Kv for Redb {
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.tables[table as usize].get(key)?.map(|value| value.value().to_vec()))
    }

    fn each(
        &self,
        table: Table,
        from: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<()> {
        for entry in self.tables[table as usize].range(from..)? {
            let (key, value) = entry?;
            if !visit(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, ops: Vec<Op>) -> Result<()> {
        // Pages of a snapshot that is being read are not used again.
        self.tables.clear();
        let transaction = self.db.begin_write()?;
        {
            let tables =
                NAMES.map(|name| transaction.open_table(TableDefinition::<u64, &[u8]>::new(name)));
            let [known, urls, queue, log] = tables;
            let mut tables = [known?, urls?, queue?, log?];
            for (table, key, value) in ops {
                match value {
                    Some(value) => tables[table as usize].insert(key, &value[..])?,
                    None => tables[table as usize].remove(key)?,
                };
            }
        }
        transaction.commit()?;
        let snapshot = self.db.begin_read()?;
        for name in NAMES {
            self.tables.push(snapshot.open_table(TableDefinition::new(name))?);
        }
        Ok(())
    }
}
