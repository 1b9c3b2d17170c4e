//! The texts of near duplicates that are not stored, compressed, so that it can be shown in what they differ from their matches.

use super::{
    State, StateError,
    learnt::{compressed, decompressed},
    signed,
};
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
