//! Every document judged, with its verdict.

use rusqlite::{OptionalExtension, Row};

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Facts, Judgement, Kind, Match, Step, Verdict},
    fingerprint::Fingerprint,
    page::{DocId, Lang, Timestamp},
};

/// A document and what was found about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedDocument {
    /// The caller's id; the normal URL in a crawl.
    pub name: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether its body is stored.
    pub stored: bool,
    /// Number, time, verdict and facts.
    pub judgement: Judgement,
    /// How it stands in the WARC files, if they are written.
    pub capture: Option<Capture>,
}

/// A body as received, by which it is found in WARC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The body's SHA-1.
    pub payload: [u8; 20],
    /// When it was asked for.
    pub at: Timestamp,
}

pub(super) const COLUMNS: &str = "d.id, d.name, d.title, d.at, d.stored, d.kind, d.step, d.match, d.distance, \
                                  d.signature_distance, d.fingerprint, d.chars, d.features, d.lang, d.payload, d.asked";

impl State {
    /// Adds a document.
    pub(super) fn add_document(&self, name: &str, judgement: &Judgement) -> Result<(), StateError> {
        let Judgement { id, at, verdict, facts } = judgement;
        let found = verdict.matched();
        let mut statement = self.db.prepare_cached(
            "INSERT INTO documents VALUES (?, ?, NULL, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
        )?;
        statement.execute((
            signed(id.0),
            name,
            at.0,
            found.map_or(0, |found| kind_code(found.kind)),
            found.map(|found| step_code(found.step)),
            found.map(|found| signed(found.of.0)),
            found.map(|found| found.distance),
            found.map(|found| found.signature_distance),
            facts.fingerprint.map(|fingerprint| signed(fingerprint.0)),
            facts.chars,
            facts.features,
            facts.lang.as_ref().map(Lang::as_str),
        ))?;
        Ok(())
    }

    /// Adds what a crawl knows of a document.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn describe_document(
        &self,
        id: DocId,
        title: Option<&str>,
        stored: bool,
        capture: Option<Capture>,
    ) -> Result<(), StateError> {
        let sql = "UPDATE documents SET title = ?, stored = ?, payload = ?, asked = ? WHERE id = ?";
        let (payload, asked) =
            (capture.map(|capture| capture.payload), capture.map(|capture| capture.at.0));
        self.db.prepare_cached(sql)?.execute((title, stored, payload, asked, signed(id.0)))?;
        Ok(())
    }

    /// The document of this number.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<JudgedDocument>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM documents d WHERE d.id = ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        statement.query_row([signed(id.0)], read_document).optional()?.transpose()
    }

    /// The latest document of this name.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn document_named(&self, name: &str) -> Result<Option<JudgedDocument>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM documents d WHERE d.name = ? ORDER BY d.id DESC LIMIT 1"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        statement.query_row([name], read_document).optional()?.transpose()
    }

    /// The name of the document of this number.
    ///
    /// # Errors
    /// If SQLite fails or there is none.
    pub(crate) fn name_of(&self, id: DocId) -> Result<String, StateError> {
        let mut statement = self.db.prepare_cached("SELECT name FROM documents WHERE id = ?")?;
        let name = statement.query_row([signed(id.0)], |row| row.get(0)).optional()?;
        name.ok_or(StateError::Damaged("a match is no document"))
    }

    /// Drops the documents before the horizon: they will not be matched again.
    pub(super) fn drop_documents(&self, horizon: DocId) -> Result<(), StateError> {
        let sql = "DELETE FROM documents WHERE id < ?";
        self.db.prepare_cached(sql)?.execute([signed(horizon.0)])?;
        Ok(())
    }

    /// Calls `visit` with every document, in order of arrival.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_document(
        &self,
        mut visit: impl FnMut(JudgedDocument) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let sql = format!("SELECT {COLUMNS} FROM documents d ORDER BY d.id");
        let mut statement = self.db.prepare_cached(&sql)?;
        for document in statement.query_map([], read_document)? {
            visit(document??)?;
        }
        Ok(())
    }
}

/// Reads the [`COLUMNS`].
pub(super) fn read_document(row: &Row<'_>) -> rusqlite::Result<Result<JudgedDocument, StateError>> {
    let facts = Facts {
        fingerprint: row.get::<_, Option<i64>>(10)?.map(|bits| Fingerprint(unsigned(bits))),
        chars: row.get(11)?,
        features: row.get(12)?,
        lang: row.get_ref(13)?.as_str_or_null()?.and_then(Lang::new),
    };
    let Ok(verdict) = read_verdict(row)? else {
        return Ok(Err(StateError::Damaged("a verdict of an unknown kind")));
    };
    let (id, at) = (DocId(unsigned(row.get(0)?)), Timestamp(row.get(3)?));
    let judgement = Judgement { id, at, verdict, facts };
    Ok(Ok(JudgedDocument {
        name: row.get(1)?,
        title: row.get(2)?,
        stored: row.get(4)?,
        judgement,
        capture: read_capture(row)?,
    }))
}

fn read_capture(row: &Row<'_>) -> rusqlite::Result<Option<Capture>> {
    let (payload, at): (Option<_>, Option<_>) = (row.get(14)?, row.get(15)?);
    Ok(payload.zip(at).map(|(payload, at)| Capture { payload, at: Timestamp(at) }))
}

fn read_verdict(row: &Row<'_>) -> rusqlite::Result<Result<Verdict, UnknownCode>> {
    let kind = match row.get(5)? {
        0 => return Ok(Ok(Verdict::Unique)),
        1 => Kind::Exact,
        2 => Kind::Near,
        _ => return Ok(Err(UnknownCode)),
    };
    let step = match row.get(6)? {
        1 => Step::Body,
        2 => Step::Text,
        3 => Step::Near,
        _ => return Ok(Err(UnknownCode)),
    };
    let (of, distance, signature_distance) =
        (DocId(unsigned(row.get(7)?)), row.get(8)?, row.get(9)?);
    Ok(Ok(Verdict::Duplicate(Match { of, kind, step, distance, signature_distance })))
}

struct UnknownCode;

fn kind_code(kind: Kind) -> i64 {
    match kind {
        Kind::Exact => 1,
        Kind::Near => 2,
    }
}

fn step_code(step: Step) -> i64 {
    match step {
        Step::Body => 1,
        Step::Text => 2,
        Step::Near => 3,
    }
}
