//! The rows of the known URLs. `url_index.rs` finds them, and has those that wait in order.
//!
//! Each URL that was judged also has a row in `visits`: when its page was received last, and what is needed to ask whether it has changed.
//! While such a URL is queued, it waits to be asked again.

use std::time::Duration;

use rusqlite::{Error::InvalidColumnType, Row, params, types::Type};

use super::{
    State, StateError,
    hosts::HostId,
    reason::{Reason, SkipCause},
    signed, unknown_code, unsigned,
};
use crate::{
    fingerprint::Digest,
    page::{DocId, NormalUrl, Timestamp, Validators},
};

/// How long after a failure that may pass a URL is fetched again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_hours(6);

/// The number of a URL in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlId(pub i64);

/// What a URL leads to. The numbers are kept in the state of runs and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlKind {
    /// A page.
    Page = 0,
    /// A sitemap.
    Sitemap = 1,
}

/// What has become of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlState {
    /// It waits to be fetched, or is being fetched.
    Queued,
    /// It was fetched and judged.
    Judged,
    /// It was skipped.
    Skipped(Reason),
}

/// A URL to be entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewUrl<'a> {
    /// In normal form.
    pub(crate) url: &'a str,
    /// The spelling to request, if it is another one.
    pub(crate) given: Option<&'a str>,
    /// Its host.
    pub(crate) host: HostId,
    /// What it leads to.
    pub(crate) kind: UrlKind,
    /// Queued, or why it is not.
    pub(crate) state: UrlState,
    /// More about why.
    pub(crate) cause: Option<SkipCause>,
    /// The seed to which it belongs, by its place in the configuration.
    pub(crate) seed: Option<usize>,
    /// Links from the seed.
    pub(crate) depth: u32,
    /// Redirects that led here.
    pub(crate) hops: u32,
    /// Where it was found.
    pub(crate) referrer: Option<UrlId>,
    /// When it was found.
    pub(crate) at: Timestamp,
}

/// What has become of a URL, and more about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrlOutcome<'a> {
    pub(crate) state: UrlState,
    pub(crate) cause: Option<SkipCause>,
    pub(crate) detail: Option<&'a str>,
    /// The status of the answer.
    pub(crate) status: Option<u16>,
    pub(crate) at: Timestamp,
}

/// A known URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRow {
    /// Its number.
    pub id: UrlId,
    /// The URL.
    pub url: NormalUrl,
    /// Its host.
    pub host: HostId,
    /// What it leads to.
    pub kind: UrlKind,
    /// What has become of it.
    pub state: UrlState,
    /// More about that, for the output files.
    pub detail: Option<String>,
    /// More about why it was skipped, for the program.
    pub cause: Option<SkipCause>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The seed to which it belongs.
    pub seed: Option<usize>,
    /// Links from the seed.
    pub depth: u32,
    /// Redirects that led here.
    pub hops: u32,
    /// Where it was found first.
    pub referrer: Option<UrlId>,
    /// When its state changed last.
    pub at: Timestamp,
}

impl UrlState {
    /// Why it was skipped, if it was.
    pub(crate) fn skipped(self) -> Option<Reason> {
        match self {
            Self::Skipped(reason) => Some(reason),
            Self::Queued | Self::Judged => None,
        }
    }
}

impl UrlRow {
    /// Why it was not judged: `pending` if it waits. `None` if it was.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self.state {
            UrlState::Judged => None,
            UrlState::Skipped(reason) => Some(reason),
            UrlState::Queued => Some(Reason::Pending),
        }
    }

    /// When it is fetched again while the run lasts, if it has failed for a reason that may pass.
    pub(crate) fn due_at(&self) -> Timestamp {
        self.at + RETRY_AFTER
    }

    /// Whether it has failed, and a start at this time fetches it again: a seed at once.
    pub(crate) fn is_retried(&self, now: Timestamp) -> bool {
        match self.cause {
            Some(SkipCause::RobotsNotReceived | SkipCause::Unreachable) => true,
            Some(SkipCause::Incomplete) => self.referrer.is_none() || self.due_at() <= now,
            Some(SkipCause::SameSite | SkipCause::CrossSite) | None => false,
        }
    }
}

const COLUMNS: &str = "u.id, u.url, u.host, u.kind, u.state, u.detail, u.status, u.seed, u.depth, u.hops, u.referrer, u.at, u.cause, u.given";
pub(super) const NO_URL: StateError = StateError::Damaged("a number is of no URL");
const QUEUED: i64 = 0;
const JUDGED: i64 = -1;

impl State {
    /// The row of this number.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn url_by_id(&self, id: UrlId) -> Result<Option<UrlRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM urls u WHERE u.id = ?");
        self.find(&sql, [id.0], read_url)
    }

    /// The row of this number, of which there must be one.
    ///
    /// # Errors
    /// If SQLite fails, or there is none or it makes no sense.
    pub(crate) fn url(&self, id: UrlId) -> Result<UrlRow, StateError> {
        self.url_by_id(id)?.ok_or(NO_URL)
    }

    /// Enters a URL that is not known yet.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn add_url(
        &self,
        id: UrlId,
        new: &NewUrl<'_>,
        late: Option<u32>,
    ) -> Result<(), StateError> {
        let sql =
            "INSERT INTO urls VALUES (?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL)";
        let parameters = (
            id.0,
            new.url,
            new.host.0,
            new.kind as u8,
            state_code(new.state),
            new.seed.map(|seed| i64::try_from(seed).unwrap_or(i64::MAX)),
            new.depth,
            new.hops,
            new.referrer.map(|id| id.0),
            new.at.0,
            new.cause.map(SkipCause::as_code),
            new.given,
            late,
        );
        self.execute(sql, parameters)
    }

    /// Says what has become of a URL, and how many links it is from its seed.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn set_url_state(
        &self,
        id: UrlId,
        depth: u32,
        outcome: &UrlOutcome<'_>,
    ) -> Result<(), StateError> {
        let &UrlOutcome { state, cause, detail, status, at } = outcome;
        let sql = "UPDATE urls SET state = ?, detail = ?, status = ?, depth = ?, at = ?, cause = ? WHERE id = ?";
        let cause = cause.map(SkipCause::as_code);
        self.execute(sql, (state_code(state), detail, status, depth, at.0, cause, id.0))
    }

    /// The URLs that got no answer yet, how often they were asked for, and why the last time.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn attempts(&self) -> Result<Vec<(UrlId, u32, String)>, StateError> {
        let sql = "SELECT url, attempts, why FROM attempts ORDER BY url";
        self.all(sql, [], |row| Ok((UrlId(row.get(0)?), row.get(1)?, row.get(2)?)))
    }

    /// Keeps how often a URL was asked for without an answer, and why the last time.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_attempts(
        &self,
        url: UrlId,
        attempts: u32,
        why: &str,
    ) -> Result<(), StateError> {
        self.execute("REPLACE INTO attempts VALUES (?, ?, ?)", (url.0, attempts, why))
    }

    /// A URL has an outcome.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn end_attempts(&self, url: UrlId) -> Result<(), StateError> {
        self.execute("DELETE FROM attempts WHERE url = ?", [url.0])
    }

    /// Says that a URL waits, for a seed, at the depth, after the redirects and in the spelling of the row.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn revive_url(&self, row: &UrlRow, seed: usize) -> Result<(), StateError> {
        let sql = "UPDATE urls SET state = ?, detail = NULL, cause = NULL, seed = ?, depth = ?, hops = ?, given = ? WHERE id = ?";
        let seed = i64::try_from(seed).unwrap_or(i64::MAX);
        let given = row.url.other_spelling();
        self.execute(sql, (QUEUED, seed, row.depth, row.hops, given, row.id.0))
    }

    /// Says when it is the turn of a URL that is queued, and in which group of late URLs.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn set_turn(
        &self,
        id: UrlId,
        late: Option<u32>,
        turn: i64,
    ) -> Result<(), StateError> {
        self.execute("UPDATE urls SET late = ?, turn = ? WHERE id = ?", (late, turn, id.0))
    }

    /// Gives the URLs of each seed to the seed at its new place; those of a seed that has none any more belong to none.
    ///
    /// # Errors
    /// If SQLite fails.
    ///
    /// # Panics
    /// Never: numbers can be written as JSON.
    pub(crate) fn move_seeds(&self, places: &[Option<usize>]) -> Result<(), StateError> {
        let places = serde_json::to_string(places).expect("numbers are JSON");
        let sql = "UPDATE urls SET seed = (SELECT value FROM json_each(?1) WHERE key = seed) WHERE seed IS NOT NULL";
        self.execute(sql, [places])
    }

    /// Sets the seed list of a URL.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_seed(&self, id: UrlId, seed: Option<usize>) -> Result<(), StateError> {
        let seed = seed.and_then(|seed| i64::try_from(seed).ok());
        self.execute("UPDATE urls SET seed = ? WHERE id = ?", (seed, id.0))
    }

    /// The URL of the first of these names that is known. Looks at all URLs: the index of them is in the memory of a crawl only.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn url_named(&self, name: &str, other: &str) -> Result<Option<UrlRow>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM urls u WHERE u.url IN (?1, ?2) ORDER BY u.url != ?1 LIMIT 1"
        );
        self.find(&sql, [name, other], read_url)
    }

    /// The first URL in this state, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn first_url(&self, state: UrlState) -> Result<Option<UrlRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM urls u WHERE u.state = ? ORDER BY u.id LIMIT 1");
        self.find(&sql, [state_code(state)], read_url)
    }

    /// The URLs whose failure may have passed, and that failed at this time or earlier.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn failed_urls(&self, until: Timestamp) -> Result<Vec<UrlRow>, StateError> {
        // Left to itself, SQLite reads the whole table, because it is in this order.
        let sql = format!(
            "SELECT {COLUMNS} FROM urls u INDEXED BY urls_failed WHERE (u.cause = 1 OR u.cause > 3) AND u.at <= ? ORDER BY u.id"
        );
        self.all(&sql, [until.0], read_url)
    }

    /// The URLs from this number on that are deferred by a rule or by yield, at most `most`, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn deferred_urls(&self, from: UrlId, most: u32) -> Result<Vec<UrlRow>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM urls u INDEXED BY urls_learnt WHERE u.state IN (14, 15) AND u.id >= ? ORDER BY u.id LIMIT ?"
        );
        self.all(&sql, (from.0, most), read_url)
    }

    /// How many URLs have failed for a reason that may pass, apart from seeds and hosts that could not be reached; and the first.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn failures_to_retry(&self) -> Result<Option<(u64, UrlRow)>, StateError> {
        let failed = "FROM urls u WHERE (u.cause = 1 OR u.cause > 3) AND u.cause = 5 AND NOT (u.referrer IS NULL OR u.depth = 0 AND u.hops > 0)";
        let urls = self.value::<i64>(&format!("SELECT count(*) {failed}"), [])?.unsigned_abs();
        let first =
            self.find(&format!("SELECT {COLUMNS} {failed} ORDER BY u.at LIMIT 1"), [], read_url)?;
        Ok(first.map(|first| (urls, first)))
    }

    /// When the first of the URLs failed whose failure may have passed, if there are any.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn first_failure(&self) -> Result<Option<Timestamp>, StateError> {
        let sql = "SELECT min(at) FROM urls WHERE cause = 1 OR cause > 3";
        Ok(self.value::<Option<i64>>(sql, [])?.map(Timestamp))
    }

    /// Calls `visit` with every URL that is selected by its number, state and host, and what was selected of it, in the order in which they were found.
    /// Those that were judged are not asked about.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_url<T, E: From<StateError>>(
        &self,
        mut select: impl FnMut(UrlId, UrlState, HostId) -> Option<T>,
        mut visit: impl FnMut(UrlRow, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {COLUMNS} FROM urls u WHERE u.state != {JUDGED} ORDER BY u.id");
        let read = |row: &Row<'_>| {
            let selected = select(UrlId(row.get(0)?), read_state(row)?, HostId(row.get(2)?));
            selected.map(|selected| Ok((read_url(row)?, selected))).transpose()
        };
        self.each(&sql, [], read, |url| url.map_or(Ok(()), |(url, selected)| visit(url, selected)))
    }
}

/// Reads the state in the fifth column.
pub(super) fn read_state(row: &Row<'_>) -> rusqlite::Result<UrlState> {
    Ok(match row.get(4)? {
        QUEUED => UrlState::Queued,
        JUDGED => UrlState::Judged,
        code => {
            let reason = u8::try_from(code).ok().and_then(Reason::from_code);
            UrlState::Skipped(reason.ok_or_else(|| unknown_code(4, code))?)
        }
    })
}

fn read_url(row: &Row<'_>) -> rusqlite::Result<UrlRow> {
    let state = read_state(row)?;
    let kind = match row.get(3)? {
        0 => UrlKind::Page,
        1 => UrlKind::Sitemap,
        code => return Err(unknown_code(3, code)),
    };
    let cause = row.get::<_, Option<u8>>(12)?;
    let cause =
        cause.map(|code| SkipCause::from_code(code).ok_or_else(|| unknown_code(12, code.into())));
    let cause = cause.transpose()?;
    let given = row.get_ref(13)?.as_str_or_null()?;
    let url = NormalUrl::stored(row.get_ref(1)?.as_str()?);
    let url = url.map(|url| url.spelt(given));
    let url = url.ok_or_else(|| InvalidColumnType(1, "url".to_owned(), Type::Text))?;
    let detail = row.get::<_, Option<String>>(5)?;
    let of_cause = || cause.and_then(SkipCause::detail).map(str::to_owned);
    Ok(UrlRow {
        id: UrlId(row.get(0)?),
        url,
        host: HostId(row.get(2)?),
        kind,
        state,
        detail: detail.or_else(of_cause),
        cause,
        status: row.get(6)?,
        seed: row.get::<_, Option<i64>>(7)?.and_then(|seed| usize::try_from(seed).ok()),
        depth: row.get(8)?,
        hops: row.get(9)?,
        referrer: row.get::<_, Option<i64>>(10)?.map(UrlId),
        at: Timestamp(row.get(11)?),
    })
}

pub(super) fn state_code(state: UrlState) -> i64 {
    match state {
        UrlState::Queued => QUEUED,
        UrlState::Judged => JUDGED,
        UrlState::Skipped(reason) => i64::from(reason.as_code()),
    }
}

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

/// In the place of the digest of a text whose line is lost.
const LOST: Digest = Digest([0; 16]);

const VISIT_COLUMNS: &str =
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

    /// The same of a page whose line is lost: it is no page that is known, so that it is judged and stored again.
    pub(crate) fn without_line(self) -> Self {
        Self { text: Some(LOST), validators: Validators::default(), ..self }
    }

    /// Whether its line is lost.
    pub(crate) fn has_lost_line(&self) -> bool {
        self.text == Some(LOST)
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
        let sql = format!("SELECT {VISIT_COLUMNS} FROM visits v WHERE v.url = ?");
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
            "SELECT {VISIT_COLUMNS}, v.url FROM visits v JOIN urls u ON u.id = v.url WHERE v.checked < ? AND u.state = {JUDGED} ORDER BY v.url"
        );
        let mut due = Vec::new();
        let visit = |row: &Row<'_>| Ok((read_visit(row)?, row.get(9)?));
        self.each(&sql, [before.0], visit, |(visit, url)| {
            due.extend(Some(UrlId(url)).filter(|_| is_due(&visit)));
            Ok::<_, StateError>(())
        })?;
        Ok(due)
    }

    /// The pages that had a status which says that they are gone when they were asked for again, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn gone_pages(&self) -> Result<Vec<UrlId>, StateError> {
        let sql = "SELECT url FROM visits WHERE lost = ? ORDER BY url";
        self.all(sql, [Reason::Status.as_code()], |row| Ok(UrlId(row.get(0)?)))
    }

    /// The pages that had changed or are gone, at most this many, the one that was asked for last first.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn changed_pages(&self, most: usize) -> Result<Vec<(String, Visit)>, StateError> {
        let sql = format!(
            "SELECT {VISIT_COLUMNS}, u.url FROM visits v JOIN urls u ON u.id = v.url WHERE v.changes > 0 OR v.lost IS NOT NULL \
             ORDER BY v.checked DESC, v.url LIMIT ?"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.all(&sql, [most], |row| Ok((row.get(9)?, read_visit(row)?)))
    }

    /// How many these are in all.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn count_changed_pages(&self) -> Result<u64, StateError> {
        let sql = "SELECT count(*) FROM visits WHERE changes > 0 OR lost IS NOT NULL";
        Ok(self.find(sql, [], |row| Ok(unsigned(row.get(0)?)))?.unwrap_or_default())
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
