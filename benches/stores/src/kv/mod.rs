//! What a store has to be able to do: tables with numbers as keys, in order.

#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "rusqlite")]
pub mod sqlite;

use crate::Result;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Hash of a URL: its number.
    Known,
    /// Number of a URL: its row.
    Urls,
    /// Host and number of a URL that waits.
    Queue,
    Log,
}

pub const NAMES: [&str; 4] = ["known", "urls", "queue", "log"];
/// Bytes that a store may cache.
pub const CACHE: usize = 32 << 20;

/// A new value of a key; without one it goes.
pub type Op = (Table, u64, Option<Vec<u8>>);

pub trait Kv {
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>>;
    /// Visits the entries from this key on, until `visit` says no.
    fn each(
        &self,
        table: Table,
        from: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<()>;
    /// Writes all or nothing. It is durable then.
    fn write(&mut self, ops: Vec<Op>) -> Result<()>;
}
