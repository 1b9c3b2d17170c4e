//! What was learnt, kept compressed for later runs and while a site is not in memory. The learner says what it means.

use std::io::{self, Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::{State, StateError, signed};

pub(super) fn compressed(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_ref()).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

/// The text, if it has at most `most` bytes. A longer one is not read to its end.
pub(super) fn decompressed(packed: &[u8], most: u64) -> io::Result<String> {
    let text = unpacked(packed, most)?;
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn unpacked(packed: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(packed).take(most + 1).read_to_end(&mut bytes)?;
    if read as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// What is kept of a site has at most this many bytes.
const MAX_UNPACKED: u64 = 64 << 20;

/// The name of the single value that has what is known of all sites together.
const COMMON: &str = "learnt_of_all";

fn known(packed: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StateError> {
    let known = packed.map(|packed| unpacked(&packed, MAX_UNPACKED)).transpose();
    known.map_err(|_| StateError::Damaged("what was learnt cannot be read"))
}

impl State {
    /// Keeps what was learnt of a site, in place of what was kept before.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_learnt(&self, site: &str, known: &[u8]) -> Result<(), StateError> {
        self.execute("REPLACE INTO learnt VALUES (?, ?)", (site, compressed(known)))
    }

    /// What was learnt of a site, if something is kept.
    ///
    /// # Errors
    /// If SQLite fails, or it cannot be read.
    pub(crate) fn learnt(&self, site: &str) -> Result<Option<Vec<u8>>, StateError> {
        known(self.find("SELECT known FROM learnt WHERE site = ?", [site], |row| row.get(0))?)
    }

    /// The sites of which something is kept, in order.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn learnt_sites(&self) -> Result<Vec<String>, StateError> {
        self.all("SELECT site FROM learnt ORDER BY site", [], |row| row.get(0))
    }

    /// Keeps what was learnt of all sites together.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_learnt_common(&self, known: &[u8]) -> Result<(), StateError> {
        self.set_meta(COMMON, compressed(known))
    }

    /// What was learnt of all sites together, if something is kept.
    ///
    /// # Errors
    /// If SQLite fails, or it cannot be read.
    pub(crate) fn learnt_common(&self) -> Result<Option<Vec<u8>>, StateError> {
        known(self.meta(COMMON)?)
    }

    /// Keeps observations, of which the last one has this number.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn add_observations(&self, last: u64, packed: &[u8]) -> Result<(), StateError> {
        self.execute("INSERT INTO observations VALUES (?, ?)", (signed(last), packed))
    }

    /// The observations that are kept, by batch.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn observations(&self) -> Result<Vec<Vec<u8>>, StateError> {
        self.all("SELECT packed FROM observations ORDER BY last", [], |row| row.get(0))
    }

    /// Forgets the observations: all that was learnt from them is kept.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn forget_observations(&self) -> Result<(), StateError> {
        self.execute("DELETE FROM observations", [])
    }
}
