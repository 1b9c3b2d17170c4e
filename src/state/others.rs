//! Pages of other runs that pages of this one repeat. They have numbers too, so that each match is a number, and a row of their own.

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Facts, Judgement, Verdict},
    page::{DocId, Timestamp},
    state::JudgedDocument,
};

/// The number of the first of them. A run does not judge so many documents.
const FIRST: u64 = 1 << 62;

/// Whether this is the number of a page of another run.
pub(crate) fn is_of_another_run(id: DocId) -> bool {
    id.0 >= FIRST
}

impl State {
    /// One more page repeats the document of this number and URL in another run. Returns its number here.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn repeat_other(
        &self,
        run: &str,
        document: DocId,
        url: &str,
    ) -> Result<DocId, StateError> {
        let sql = "INSERT INTO others (id, run, document, url, pages) \
                   VALUES ((SELECT ifnull(max(id) + 1, ?) FROM others), ?, ?, ?, 1) \
                   ON CONFLICT (run, document) DO UPDATE SET pages = pages + 1 RETURNING id";
        let parameters = (signed(FIRST), run, signed(document.0), url);
        self.value(sql, parameters).map(|id: i64| DocId(unsigned(id)))
    }

    /// The page of another run that has this number: its URL, its run, and how many pages repeat it here.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn other(&self, id: DocId) -> Result<Option<(String, String, u64)>, StateError> {
        if !is_of_another_run(id) {
            return Ok(None);
        }
        let sql = "SELECT url, run, pages FROM others WHERE id = ?";
        self.find(sql, [signed(id.0)], |row| Ok((row.get(0)?, row.get(1)?, unsigned(row.get(2)?))))
    }

    /// The same as a document, of which nothing else is known.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn other_document(&self, id: DocId) -> Result<Option<JudgedDocument>, StateError> {
        let (verdict, facts, at) = (Verdict::Unique, Facts::default(), Timestamp(0));
        Ok(self.other(id)?.map(|(name, ..)| JudgedDocument {
            name,
            title: None,
            stored: false,
            judgement: Judgement { id, at, verdict, facts },
            capture: None,
            needs_scripts: false,
        }))
    }

    /// How many pages repeat pages of each other run, by the names of the runs.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn repeated_others(&self) -> Result<Vec<(String, u64)>, StateError> {
        let sql = "SELECT run, sum(pages) FROM others GROUP BY run ORDER BY run";
        self.all(sql, [], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))
    }
}
