//! RocksDB: log-structured merge trees in C++.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, DB, DBCompressionType, Direction, IteratorMode,
    Options, WriteBatch, WriteOptions,
};

use super::{CACHE, Kv, NAMES, Op, Table};
use crate::Result;

pub struct Rocks(DB);

impl Rocks {
    pub fn open(path: &Path) -> Result<Self> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&Cache::new_lru_cache(CACHE));
        blocks.set_bloom_filter(10.0, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_write_buffer_size(CACHE / 2);
        let tables = NAMES.map(|name| (name, options.clone()));
        Ok(Self(DB::open_cf_with_opts(&options, path, tables)?))
    }

    fn table(&self, table: Table) -> Result<&ColumnFamily> {
        Ok(self.0.cf_handle(NAMES[table as usize]).ok_or("a column family is missing")?)
    }
}

impl Kv for Rocks {
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get_cf(self.table(table)?, key.to_be_bytes())?)
    }

    fn each(
        &self,
        table: Table,
        from: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<()> {
        let from = from.to_be_bytes();
        for entry in
            self.0.iterator_cf(self.table(table)?, IteratorMode::From(&from, Direction::Forward))
        {
            let (key, value) = entry?;
            if !visit(u64::from_be_bytes((*key).try_into()?), &value) {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, ops: Vec<Op>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (table, key, value) in ops {
            let table = self.table(table)?;
            match value {
                Some(value) => batch.put_cf(table, key.to_be_bytes(), value),
                None => batch.delete_cf(table, key.to_be_bytes()),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        Ok(self.0.write_opt(batch, &options)?)
    }
}
