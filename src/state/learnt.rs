//! What was learnt, kept compressed for later runs and while a site is not in memory. The learner says what it means.

use std::io::{self, Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::{State, StateError};

pub(super) fn compressed(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_ref()).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

/// The text, if it has at most `most` bytes. A longer one is not read to its end.
pub(super) fn decompressed(packed: &[u8], most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = ZlibDecoder::new(packed).take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// What is kept of a site has at most this many bytes.
const MAX_UNPACKED: u64 = 64 << 20;

/// The name of the single value that has the passages that were seen.
const PASSAGES: &str = "seen_passages";

const UNREADABLE: StateError = StateError::Damaged("what was learnt cannot be read");

impl State {
    /// Keeps what was learnt of a site, in place of what was kept before.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_learnt(&self, site: &str, known: &str) -> Result<(), StateError> {
        self.execute("REPLACE INTO learnt VALUES (?, ?)", (site, compressed(known)))
    }

    /// Keeps the filter of the passages that were seen.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_passages(&self, filter: &[u8]) -> Result<(), StateError> {
        self.set_meta(PASSAGES, compressed(filter))
    }

    /// The filter of the passages that were seen, if it is kept.
    ///
    /// # Errors
    /// If SQLite fails, or it cannot be read.
    pub(crate) fn passages(&self) -> Result<Option<Vec<u8>>, StateError> {
        let Some(packed) = self.meta::<Vec<u8>>(PASSAGES)? else { return Ok(None) };
        let mut filter = Vec::new();
        let read = ZlibDecoder::new(&*packed).take(MAX_UNPACKED).read_to_end(&mut filter);
        read.map(|_| Some(filter)).map_err(|_| UNREADABLE)
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
