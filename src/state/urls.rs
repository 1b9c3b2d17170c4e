//! The rows of the known URLs. `url_log.rs` finds them, and says which of them wait.

use std::time::Duration;

use rusqlite::{Error::InvalidColumnType, Row, types::Type};

use super::{
    State, StateError,
    hosts::HostId,
    reason::{Reason, SkipCause},
    unknown_code,
};
use crate::page::{NormalUrl, Timestamp};

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

const COLUMNS: &str = "u.id, u.url, u.host, u.kind, u.state, u.detail, u.status, u.seed, u.depth, u.hops, u.referrer, u.at, u.cause";
pub(super) const QUEUED: i64 = 0;
pub(super) const JUDGED: i64 = -1;

impl State {
    /// The row of this number.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn url_by_id(&self, id: UrlId) -> Result<Option<UrlRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM urls u WHERE u.id = ?");
        self.find(&sql, [id.0], read_url)
    }

    /// Enters a URL that is not known yet.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn add_url(&self, id: UrlId, new: &NewUrl<'_>) -> Result<(), StateError> {
        let sql = "INSERT INTO urls VALUES (?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?, ?, ?, ?)";
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
        );
        self.execute(sql, parameters)
    }

    /// The number of the last URL; 0 if there is none.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn last_url(&self) -> Result<i64, StateError> {
        self.value("SELECT coalesce(max(id), 0) FROM urls", [])
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

    /// Says that a URL waits, for a seed and at a depth.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn revive_url(&self, id: UrlId, seed: usize, depth: u32) -> Result<(), StateError> {
        let sql = "UPDATE urls SET state = ?, detail = NULL, cause = NULL, seed = ?, depth = ? WHERE id = ?";
        let seed = i64::try_from(seed).unwrap_or(i64::MAX);
        self.execute(sql, (QUEUED, seed, depth, id.0))
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
            "SELECT {COLUMNS} FROM urls u INDEXED BY urls_failed WHERE u.cause IN (1, 4, 5) AND u.at <= ? ORDER BY u.id"
        );
        self.all(&sql, [until.0], read_url)
    }

    /// The URLs that are deferred by a rule or by yield, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn learnt_urls(&self) -> Result<Vec<UrlRow>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM urls u INDEXED BY urls_learnt WHERE u.state IN (14, 15) ORDER BY u.id"
        );
        self.all(&sql, [], read_url)
    }

    /// How many URLs have failed for a reason that may pass, apart from seeds and hosts that could not be reached; and the first.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn failures_to_retry(&self) -> Result<Option<(u64, UrlRow)>, StateError> {
        let failed = "FROM urls u WHERE u.cause IN (1, 4, 5) AND u.cause = 5 AND u.id NOT IN (SELECT url FROM unreachable_seeds)";
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
        let sql = "SELECT min(at) FROM urls WHERE cause IN (1, 4, 5)";
        Ok(self.value::<Option<i64>>(sql, [])?.map(Timestamp))
    }

    /// Calls `visit` with every URL whose state is selected, and what was selected of it, in the order in which they were found.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_url<T, E: From<StateError>>(
        &self,
        select: impl Fn(UrlState) -> Option<T>,
        mut visit: impl FnMut(UrlRow, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {COLUMNS} FROM urls u WHERE u.state != {JUDGED} ORDER BY u.id");
        self.each(&sql, [], read_url, |url| match select(url.state) {
            Some(selected) => visit(url, selected),
            None => Ok(()),
        })
    }
}

fn read_url(row: &Row<'_>) -> rusqlite::Result<UrlRow> {
    let state = match row.get(4)? {
        QUEUED => UrlState::Queued,
        JUDGED => UrlState::Judged,
        code => {
            let reason = u8::try_from(code).ok().and_then(Reason::from_code);
            UrlState::Skipped(reason.ok_or_else(|| unknown_code(4, code))?)
        }
    };
    let kind = match row.get(3)? {
        0 => UrlKind::Page,
        1 => UrlKind::Sitemap,
        code => return Err(unknown_code(3, code)),
    };
    let cause = row.get::<_, Option<u8>>(12)?;
    let cause =
        cause.map(|code| SkipCause::from_code(code).ok_or_else(|| unknown_code(12, code.into())));
    let cause = cause.transpose()?;
    let url = NormalUrl::stored(row.get_ref(1)?.as_str()?);
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
