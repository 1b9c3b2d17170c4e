//! fjall: log-structured merge trees in Rust.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{CACHE, Kv, NAMES, Op, Table};
use crate::Result;

pub struct Fjall {
    db: Database,
    tables: Vec<Keyspace>,
}

impl Fjall {
    pub fn open(path: &Path) -> Result<Self> {
        let db = Database::builder(path).cache_size(CACHE as u64).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(CACHE as u64 / 2);
        let tables = NAMES.iter().map(|name| db.keyspace(name, options));
        Ok(Self { tables: tables.collect::<std::result::Result<_, _>>()?, db })
    }
}

impl Kv for Fjall {
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.tables[table as usize].get(key.to_be_bytes())?.map(|value| value.to_vec()))
    }

    fn each(
        &self,
        table: Table,
        from: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<()> {
        for entry in self.tables[table as usize].range(from.to_be_bytes()..) {
            let (key, value) = entry.into_inner()?;
            if !visit(u64::from_be_bytes((*key).try_into()?), &value) {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, ops: Vec<Op>) -> Result<()> {
        let mut batch = self.db.batch().durability(Some(PersistMode::SyncAll));
        for (table, key, value) in ops {
            let table = &self.tables[table as usize];
            match value {
                Some(value) => batch.insert(table, key.to_be_bytes(), value),
                None => batch.remove(table, key.to_be_bytes()),
            }
        }
        Ok(batch.commit()?)
    }
}
