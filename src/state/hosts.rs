//! Hosts: their rotation, which of them are suspended, and their robots.txt.

use std::{fmt, time::Duration};

use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::{State, StateError, unknown_code};
use crate::page::Timestamp;

/// The number of a host in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub i64);

/// A host that has URLs waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRow {
    /// Its number.
    pub(crate) id: HostId,
    /// Its name and port.
    pub(crate) name: String,
    /// No requests are sent before this time, because the host asked for a pause.
    pub(crate) not_before: Option<Timestamp>,
    /// Whether a robots.txt of it is known, so that it has answered.
    pub(crate) has_answered: bool,
}

/// Why a host is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SuspendCause {
    /// Its robots.txt requests this delay between requests.
    CrawlDelay(Duration),
    /// It requested a pause of this length, by Retry-After.
    RetryAfter(Duration),
    /// It has never answered: this many requests in a row got no response.
    Unanswered(u32),
    /// It had answered, and then this many requests in a row got no response.
    Stopped(u32),
    /// It began to lose its pages.
    Alarm,
}

impl SuspendCause {
    /// Whether the host has asked for it.
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Self::CrawlDelay(_) | Self::RetryAfter(_))
    }
}

/// The explanation for people, with the key that decides.
impl fmt::Display for SuspendCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrawlDelay(requested) => {
                let seconds = requested.as_secs_f64();
                write!(
                    f,
                    "robots.txt asks for a delay of {seconds} s, more than politeness.max_crawl_delay"
                )
            }
            Self::RetryAfter(requested) => {
                let seconds = requested.as_secs();
                write!(
                    f,
                    "it asks for a pause of {seconds} s, more than politeness.max_retry_after"
                )
            }
            Self::Alarm => {
                f.write_str("it began to lose its pages, and politeness.pause_on_alarm is set")
            }
            Self::Stopped(1) => write!(f, "it had answered, but its last request got no response"),
            Self::Unanswered(times) => write!(f, "it did not answer ({times} requests in a row)"),
            Self::Stopped(times) => {
                write!(f, "it had answered, but then {times} requests in a row got no response")
            }
        }
    }
}

/// A suspended host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuspendedRow {
    /// Its number.
    pub(crate) host: HostId,
    /// Its name and port.
    pub(crate) name: String,
    /// Why.
    pub(crate) cause: SuspendCause,
    /// Before this nothing is asked of it again, unless the cause no longer holds.
    pub(crate) until: Timestamp,
}

/// The explanation for people: why, and until when.
impl fmt::Display for SuspendedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = jiff::Timestamp::from_millisecond(self.until.0).unwrap_or(jiff::Timestamp::MAX);
        let until = until.strftime("%Y-%m-%d %H:%M UTC");
        match self.cause {
            SuspendCause::Unanswered(_) | SuspendCause::Stopped(_) | SuspendCause::Alarm => {
                write!(f, "{}; asked again by the next start", self.cause)
            }
            _ => write!(f, "{}; asked again by a start after {until}", self.cause),
        }
    }
}

/// A robots.txt as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RobotsRow {
    /// When.
    pub(crate) at: Timestamp,
    /// Its content; empty if there is none and all is allowed.
    pub(crate) body: Vec<u8>,
}

const NO_HOST: StateError = StateError::Damaged("a queue is of no host");

const HOST: &str = "id, name, until, \
    EXISTS (SELECT 1 FROM robots WHERE root_url IN ('http://' || name, 'https://' || name))";

impl State {
    /// The number of the host of this name, if it is known.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn host_named(&self, name: &str) -> Result<Option<HostId>, StateError> {
        self.find("SELECT id FROM hosts WHERE name = ?", [name], |row| Ok(HostId(row.get(0)?)))
    }

    /// Adds a host.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn add_host(&self, name: &str, rank: i64) -> Result<HostId, StateError> {
        self.execute("INSERT INTO hosts (name, rank) VALUES (?, ?)", (name, rank))?;
        Ok(HostId(self.db.last_insert_rowid()))
    }

    /// The positions of all hosts, by number.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn ranks(&self) -> Result<Vec<i64>, StateError> {
        let mut ranks = Vec::new();
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?));
        self.each("SELECT id, rank FROM hosts ORDER BY id", [], read, |(id, rank)| {
            ranks.resize(usize::try_from(id).unwrap_or(0), 0);
            ranks.push(rank);
            Ok::<_, StateError>(())
        })?;
        Ok(ranks)
    }

    /// Gives a host another position in the rotation.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn set_rank(&self, host: HostId, rank: i64) -> Result<(), StateError> {
        self.execute("UPDATE hosts SET rank = ? WHERE id = ?", (rank, host.0))
    }

    /// Suspends a host: its URLs stay queued, but are not fetched.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn suspend_host(
        &self,
        host: HostId,
        cause: SuspendCause,
        until: Timestamp,
    ) -> Result<(), StateError> {
        let cause = serde_json::to_string(&cause).expect("a cause is JSON");
        self.execute("UPDATE hosts SET cause = ?, until = ? WHERE id = ?", (cause, until.0, host.0))
    }

    /// Ends the suspension of a host. A pause that it asked for still applies.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn resume_host(&self, suspended: &SuspendedRow) -> Result<(), StateError> {
        let not_before =
            matches!(suspended.cause, SuspendCause::RetryAfter(_)).then_some(suspended.until.0);
        let sql = "UPDATE hosts SET cause = NULL, until = ? WHERE id = ?";
        self.execute(sql, (not_before, suspended.host.0))
    }

    /// The host of this number.
    ///
    /// # Errors
    /// If SQLite fails or there is none.
    pub(crate) fn host_by_id(&self, host: HostId) -> Result<HostRow, StateError> {
        let found =
            self.find(&format!("SELECT {HOST} FROM hosts WHERE id = ?"), [host.0], read_host)?;
        found.ok_or(NO_HOST)
    }

    /// The suspended hosts, by name.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn suspended_hosts(&self) -> Result<Vec<SuspendedRow>, StateError> {
        let sql = "SELECT id, name, until, cause FROM hosts WHERE cause IS NOT NULL ORDER BY name";
        self.all(sql, [], |row| {
            let cause = serde_json::from_str(row.get_ref(3)?.as_str()?);
            Ok(SuspendedRow {
                host: HostId(row.get(0)?),
                name: row.get(1)?,
                cause: cause.map_err(|_| unknown_code(3, 0))?,
                until: Timestamp(row.get(2)?),
            })
        })
    }

    /// The robots.txt last received from a root URL: scheme, name and port.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn robots(&self, root_url: &str) -> Result<Option<RobotsRow>, StateError> {
        self.find("SELECT at, body FROM robots WHERE root_url = ?", [root_url], |row| {
            Ok(RobotsRow { at: Timestamp(row.get(0)?), body: row.get(1)? })
        })
    }

    /// Keeps a robots.txt.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_robots(&self, root_url: &str, robots: &RobotsRow) -> Result<(), StateError> {
        let sql = "REPLACE INTO robots VALUES (?, ?, ?)";
        self.execute(sql, (root_url, robots.at.0, &robots.body))
    }
}

/// Reads the columns [`HOST`] of a host that is not suspended.
fn read_host(row: &Row<'_>) -> rusqlite::Result<HostRow> {
    let not_before = row.get::<_, Option<i64>>(2)?.map(Timestamp);
    Ok(HostRow {
        id: HostId(row.get(0)?),
        name: row.get(1)?,
        not_before,
        has_answered: row.get(3)?,
    })
}
