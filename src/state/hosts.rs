//! Hosts, whose turn it is, and their robots.txt.

use rusqlite::OptionalExtension;

use super::{State, StateError};
use crate::page::Timestamp;

/// The number of a host in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub i64);

/// A host that has URLs waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// Its number.
    pub id: HostId,
    /// Its name and port.
    pub name: String,
    /// Whose turn it is next: the lowest.
    pub turn: i64,
}

/// A robots.txt as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRow {
    /// When.
    pub at: Timestamp,
    /// Its content; empty if there is none and all is allowed.
    pub body: Vec<u8>,
}

impl State {
    /// The host of this name; a new one gets the last turn. And whether it is set aside.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn host(&self, name: &str) -> Result<(HostRow, bool), StateError> {
        let sql = "SELECT id, turn, aside IS NOT NULL FROM hosts WHERE name = ?";
        let mut known = self.db.prepare_cached(sql)?;
        let row = |id, turn| HostRow { id: HostId(id), name: name.to_owned(), turn };
        let found =
            known.query_row([name], |found| Ok((row(found.get(0)?, found.get(1)?), found.get(2)?)));
        if let Some(found) = found.optional()? {
            return Ok(found);
        }
        let turn = self.next_turn()?;
        self.db
            .prepare_cached("INSERT INTO hosts (name, turn) VALUES (?, ?)")?
            .execute((name, turn))?;
        Ok((row(self.db.last_insert_rowid(), turn), false))
    }

    /// Up to `limit` hosts that have URLs waiting and are not set aside, in turn.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn waiting_hosts(&self, limit: usize) -> Result<Vec<HostRow>, StateError> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, name, turn FROM hosts h WHERE aside IS NULL \
             AND EXISTS (SELECT 1 FROM queue q WHERE q.host = h.id) ORDER BY turn LIMIT ?",
        )?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(HostRow { id: HostId(row.get(0)?), name: row.get(1)?, turn: row.get(2)? })
        };
        let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Gives the host the last turn.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn end_turn(&self, host: HostId) -> Result<i64, StateError> {
        let turn = self.next_turn()?;
        self.db
            .prepare_cached("UPDATE hosts SET turn = ? WHERE id = ?")?
            .execute((turn, host.0))?;
        Ok(turn)
    }

    /// Sets a host aside: its URLs wait, but are not given out.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn set_aside(&self, host: HostId, why: &str) -> Result<(), StateError> {
        self.db
            .prepare_cached("UPDATE hosts SET aside = ? WHERE id = ?")?
            .execute((why, host.0))?;
        Ok(())
    }

    /// Takes all hosts back that were set aside.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn take_back_hosts(&self) -> Result<(), StateError> {
        self.db.execute("UPDATE hosts SET aside = NULL WHERE aside IS NOT NULL", [])?;
        Ok(())
    }

    /// The name of a host.
    ///
    /// # Errors
    /// If SQLite fails or there is none.
    pub fn host_name(&self, host: HostId) -> Result<String, StateError> {
        let mut statement = self.db.prepare_cached("SELECT name FROM hosts WHERE id = ?")?;
        Ok(statement.query_row([host.0], |row| row.get(0))?)
    }

    /// The hosts that are set aside, and why.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn hosts_aside(&self) -> Result<Vec<(HostId, String)>, StateError> {
        let mut statement =
            self.db.prepare_cached("SELECT id, aside FROM hosts WHERE aside IS NOT NULL")?;
        let rows = statement.query_map([], |row| Ok((HostId(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The robots.txt last received from an origin.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn robots(&self, origin: &str) -> Result<Option<RobotsRow>, StateError> {
        let mut statement =
            self.db.prepare_cached("SELECT at, body FROM robots WHERE origin = ?")?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(RobotsRow { at: Timestamp(row.get(0)?), body: row.get(1)? })
        };
        Ok(statement.query_row([origin], read).optional()?)
    }

    /// Keeps a robots.txt.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn set_robots(&self, origin: &str, robots: &RobotsRow) -> Result<(), StateError> {
        let mut statement = self.db.prepare_cached("REPLACE INTO robots VALUES (?, ?, ?)")?;
        statement.execute((origin, robots.at.0, &robots.body))?;
        Ok(())
    }

    fn next_turn(&self) -> Result<i64, StateError> {
        let mut statement =
            self.db.prepare_cached("SELECT coalesce(max(turn), 0) + 1 FROM hosts")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}
