//! What was learnt of sites, kept for later runs and while a site is not in memory. The learner says what it means.

use super::{
    State, StateError,
    texts::{compressed, decompressed},
};

/// What is kept of a site has at most so many bytes.
const MAX_UNPACKED: u64 = 64 << 20;

const UNREADABLE: StateError = StateError::Damaged("what was learnt of a site cannot be read");

impl State {
    /// Keeps what was learnt of a site, in place of what was kept before.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_learnt(&self, site: &str, known: &str) -> Result<(), StateError> {
        self.execute("REPLACE INTO learnt VALUES (?, ?)", (site, compressed(known)))
    }

    /// What was learnt of a site, if something is kept.
    ///
    /// # Errors
    /// If SQLite fails, or it cannot be read.
    pub(crate) fn learnt(&self, site: &str) -> Result<Option<String>, StateError> {
        let sql = "SELECT known FROM learnt WHERE site = ?";
        let packed = self.find(sql, [site], |row| row.get::<_, Vec<u8>>(0))?;
        packed.map(|packed| decompressed(&packed, MAX_UNPACKED).map_err(|_| UNREADABLE)).transpose()
    }

    /// The sites of which something is kept, in order.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn learnt_sites(&self) -> Result<Vec<String>, StateError> {
        self.all("SELECT site FROM learnt ORDER BY site", [], |row| row.get(0))
    }
}
