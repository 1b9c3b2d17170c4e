//! When each page was received last, and what is needed to ask whether it has changed.
//!
//! A row belongs to each URL that was judged. While such a URL is queued, it waits to be asked again.

use rusqlite::{Row, params};

use super::{
    State, StateError,
    reason::Reason,
    signed, unknown_code, unsigned,
    urls::{JUDGED, UrlId},
};
use crate::{
    fingerprint::Digest,
    page::{DocId, Timestamp, Validators},
};

/// What is known of a page from when it was received or asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Its latest version.
    pub(crate) document: DocId,
    /// What its server gave with it.
    pub(crate) validators: Validators,
    /// The digest of its text. `None` if it has no text, or was judged by an earlier version of the program.
    pub(crate) text: Option<Digest>,
    /// Why there was no page the last time, if there was none.
    pub(crate) lost: Option<Reason>,
    /// When it was received or asked for last.
    pub(crate) checked: Timestamp,
    /// How often it was asked for again.
    pub(crate) visits: u32,
    /// How often it had changed then.
    pub(crate) changes: u32,
    /// Milliseconds from the first time to the last.
    pub(crate) span: u64,
}

const COLUMNS: &str =
    "v.document, v.etag, v.last_modified, v.text, v.lost, v.checked, v.visits, v.changes, v.span";

impl Visit {
    /// A page that was received for the first time.
    pub(crate) fn first(document: DocId, at: Timestamp) -> Self {
        Self {
            document,
            validators: Validators::default(),
            text: None,
            lost: None,
            checked: at,
            visits: 0,
            changes: 0,
            span: 0,
        }
    }

    /// The same after the page was asked for again.
    pub(crate) fn again(&self, at: Timestamp, has_changed: bool) -> Self {
        let since = u64::try_from(at.0.saturating_sub(self.checked.0)).unwrap_or(0);
        Self {
            checked: at.max(self.checked),
            visits: self.visits.saturating_add(1),
            changes: self.changes.saturating_add(u32::from(has_changed)),
            span: self.span.saturating_add(since),
            ..self.clone()
        }
    }
}

impl State {
    /// What is known of a judged URL.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn visit(&self, url: UrlId) -> Result<Option<Visit>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM visits v WHERE v.url = ?");
        self.find(&sql, [url.0], read_visit)
    }

    /// Keeps what is known of a judged URL.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_visit(&self, url: UrlId, visit: &Visit) -> Result<(), StateError> {
        let sql = "REPLACE INTO visits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let parameters = params![
            url.0,
            signed(visit.document.0),
            visit.validators.etag(),
            visit.validators.last_modified(),
            visit.text.map(|text| text.0),
            visit.lost.map(Reason::as_code),
            visit.checked.0,
            visit.visits,
            visit.changes,
            signed(visit.span),
        ];
        self.execute(sql, parameters)
    }

    /// The judged URLs that `is_due` accepts, of those that were asked for last before this time, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn due_visits(
        &self,
        before: Timestamp,
        is_due: impl Fn(&Visit) -> bool,
    ) -> Result<Vec<UrlId>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS}, v.url FROM visits v JOIN urls u ON u.id = v.url WHERE v.checked < ? AND u.state = {JUDGED} ORDER BY v.url"
        );
        let mut due = Vec::new();
        let visit = |row: &Row<'_>| Ok((read_visit(row)?, row.get(9)?));
        self.each(&sql, [before.0], visit, |(visit, url)| {
            due.extend(Some(UrlId(url)).filter(|_| is_due(&visit)));
            Ok::<_, StateError>(())
        })?;
        Ok(due)
    }

    /// How often pages that were asked for again had not changed, and had.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn visit_counts(&self) -> Result<(u64, u64), StateError> {
        let sql = "SELECT ifnull(sum(visits - changes), 0), ifnull(sum(changes), 0) FROM visits";
        let counts =
            self.find(sql, [], |row| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?))))?;
        Ok(counts.unwrap_or_default())
    }
}

fn read_visit(row: &Row<'_>) -> rusqlite::Result<Visit> {
    let bytes = |column| {
        Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str_or_null()?.map(str::as_bytes))
    };
    let lost = row.get::<_, Option<u8>>(4)?;
    let lost = lost.map(|code| Reason::from_code(code).ok_or_else(|| unknown_code(4, code.into())));
    Ok(Visit {
        document: DocId(unsigned(row.get(0)?)),
        validators: Validators::new(bytes(1)?, bytes(2)?),
        text: row.get::<_, Option<[u8; 16]>>(3)?.map(Digest),
        lost: lost.transpose()?,
        checked: Timestamp(row.get(5)?),
        visits: row.get(6)?,
        changes: row.get(7)?,
        span: unsigned(row.get(8)?),
    })
}
