//! Compressed texts: those of near duplicates that are not stored, so that it can be shown in what they differ from their matches; and what
//! was learnt, kept for later runs and while a site is not in memory. The learner says what it means.

use std::io::{self, Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::{State, StateError, signed};
use crate::page::DocId;

/// A text, and how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptText {
    /// The text itself.
    pub text: String,
    /// The encoding of its page.
    pub charset: String,
    /// Why it is not whole, if a guard cut its page.
    pub truncated: Option<String>,
}

/// UTF-8 has no more bytes for a character.
const BYTES_OF_A_CHARACTER: u64 = 4;

impl State {
    /// Keeps the text of the document of this number.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_text(
        &self,
        document: DocId,
        text: &str,
        charset: &str,
        truncated: Option<&str>,
    ) -> Result<(), StateError> {
        let sql = "INSERT INTO texts VALUES (?, NULL, ?, ?, ?)";
        self.execute(sql, (signed(document.0), compressed(text), charset, truncated))
    }

    /// Notes that the text of the document of this number is that of one of these, which have the same body, if one of them has a text.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_text_of(&self, document: DocId, equal: &[DocId]) -> Result<(), StateError> {
        let sql =
            "INSERT INTO texts (document, same) SELECT ?1, document FROM texts WHERE document = ?2";
        for same in equal {
            if self.change(sql, (signed(document.0), signed(same.0)))? > 0 {
                break;
            }
        }
        Ok(())
    }

    /// The text of the document of this number, if it is kept.
    ///
    /// # Errors
    /// If SQLite fails, or what is kept is no text of as many characters as its document has.
    pub(crate) fn text_of(&self, document: DocId) -> Result<Option<KeptText>, StateError> {
        let sql = "SELECT t.text, t.charset, t.truncated, d.chars FROM texts asked \
                   JOIN texts t ON t.document = coalesce(asked.same, asked.document) \
                   JOIN documents d ON d.id = t.document WHERE asked.document = ?";
        let row = self.find(sql, [signed(document.0)], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get(2)?, row.get::<_, u32>(3)?))
        })?;
        let Some((packed, charset, truncated, chars)) = row else { return Ok(None) };
        let text = decompressed(&packed, u64::from(chars) * BYTES_OF_A_CHARACTER);
        let text = text.ok().filter(|text| text.chars().count() == chars as usize);
        let text =
            text.ok_or(StateError::Damaged("the text of a near duplicate cannot be read"))?;
        Ok(Some(KeptText { text, charset, truncated }))
    }
}

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

/// The name of the single value that has the sentences that were seen.
const SENTENCES: &str = "seen_sentences";

const UNREADABLE: StateError = StateError::Damaged("what was learnt cannot be read");

impl State {
    /// Keeps what was learnt of a site, in place of what was kept before.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_learnt(&self, site: &str, known: &str) -> Result<(), StateError> {
        self.execute("REPLACE INTO learnt VALUES (?, ?)", (site, compressed(known)))
    }

    /// Keeps the filter of the sentences that were seen. It is compressed, because most of it may be zeros: after a loss of power, a part of the log that was
    /// not written would look as if a single byte of it was damaged.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_sentences(&self, filter: &[u8]) -> Result<(), StateError> {
        self.set_meta(SENTENCES, compressed(filter))
    }

    /// The filter of the sentences that were seen, if it is kept.
    ///
    /// # Errors
    /// If SQLite fails, or it cannot be read.
    pub(crate) fn sentences(&self) -> Result<Option<Vec<u8>>, StateError> {
        let Some(packed) = self.meta::<Vec<u8>>(SENTENCES)? else { return Ok(None) };
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
