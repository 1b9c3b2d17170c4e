//! The window's representatives, packed many to a row.
//!
//! A representative takes 72 bytes, as in memory, all little endian. The log only grows at its end: a representative that is refreshed is
//! appended anew, with its new turn, and what was read of it before no longer counts. Rows of what has left are dropped, and a log of
//! which more than half no longer counts is written anew.

use std::time::{Duration, Instant};

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Digests, Filter, Packed, Representative},
    index::Index,
    page::DocId,
};

/// Representatives in a full row.
const PER_ROW: usize = 256;
const WORDS: usize = 9;
const BYTES: usize = WORDS * 8;
/// So many that no longer count are always left in the log.
const SPARED: u64 = 4 * PER_ROW as u64;
/// How often it is told how far a window has been brought back.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// How far a window has been brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Representatives read so far.
    pub read: u64,
    /// Representatives to be read.
    pub all: u64,
}

/// Appends to the packed representatives. What is pushed is written by [`commit`](Self::commit).
#[derive(Debug, Default)]
pub(crate) struct SignatureLog {
    /// The row that is not full yet: its first turn and its bytes.
    open: Option<(DocId, Vec<u8>)>,
    changed: bool,
    /// The horizon at which rows were dropped last.
    pruned: u64,
    /// Representatives in the log, those that no longer count among them.
    len: u64,
}

impl SignatureLog {
    /// Brings the window of the state back into an empty filter, from its oldest turn on, and gives the log to go on with. `tell` is told
    /// how far it is, every two seconds.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn restore<I: Index, D: Digests>(
        state: &State,
        filter: &mut Filter<I, D>,
        oldest: DocId,
        mut tell: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        let all = Self::stored(state)?;
        let (began, mut told, mut read) = (Instant::now(), Instant::now(), 0);
        let log = filter.restore(|take| {
            Self::read_rows(state, |row| {
                read += row.len() as u64;
                row.iter().copied().filter(|one| one.turn >= oldest).for_each(&mut *take);
                if told.elapsed() >= TELL_EVERY {
                    told = Instant::now();
                    tracing::info!(read, all, "the window is being brought back");
                    tell(Restored { read, all });
                }
            })
        })?;
        if all > 0 {
            let seconds = began.elapsed().as_secs_f64();
            tracing::info!(entries = filter.len(), seconds, "the window is back");
        }
        Ok(log)
    }

    /// Adds a representative; a row that becomes full is written.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn push(
        &mut self,
        state: &State,
        representative: &Representative,
    ) -> Result<(), StateError> {
        let (_, packed) = self
            .open
            .get_or_insert_with(|| (representative.turn, Vec::with_capacity(PER_ROW * BYTES)));
        let words = Packed::of(representative).0;
        packed.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.changed = true;
        self.len += 1;
        if packed.len() == PER_ROW * BYTES {
            self.flush(state)?;
            self.open = None;
        }
        Ok(())
    }

    /// Writes what was pushed, and drops what the filter no longer needs.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn commit<I: Index, D: Digests>(
        &mut self,
        state: &State,
        filter: &Filter<I, D>,
    ) -> Result<(), StateError> {
        self.flush(state)?;
        self.prune(state, filter.horizon().representative)?;
        if self.len <= 2 * filter.len() as u64 + SPARED {
            return Ok(());
        }
        state.db.prepare_cached("DELETE FROM signatures")?.execute([])?;
        *self = Self { pruned: self.pruned, ..Self::default() };
        for representative in filter.representatives() {
            self.push(state, &representative)?;
        }
        self.flush(state)
    }

    /// Writes the row that is not full yet.
    pub(super) fn flush(&mut self, state: &State) -> Result<(), StateError> {
        if let (true, Some((first, packed))) = (self.changed, &self.open) {
            let mut statement = state.db.prepare_cached("REPLACE INTO signatures VALUES (?, ?)")?;
            statement.execute((signed(first.0), packed))?;
        }
        self.changed = false;
        Ok(())
    }

    /// Drops rows all of whose turns are before `horizon`.
    pub(super) fn prune(&mut self, state: &State, horizon: DocId) -> Result<(), StateError> {
        if horizon.0 < self.pruned + PER_ROW as u64 {
            return Ok(());
        }
        let sql = "DELETE FROM signatures WHERE first < (SELECT max(first) FROM signatures WHERE first <= ?)";
        let rows = state.db.prepare_cached(sql)?.execute([signed(horizon.0)])?;
        // Only the last row is not full, and that is not dropped.
        self.len = self.len.saturating_sub((rows * PER_ROW) as u64);
        self.pruned = horizon.0;
        Ok(())
    }

    /// Calls `visit` with every representative that is stored, in the order of turns: one that was refreshed comes with its earlier
    /// turns too.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn read(
        state: &State,
        mut visit: impl FnMut(Representative),
    ) -> Result<(), StateError> {
        Self::read_rows(state, |row| row.iter().copied().for_each(&mut visit))?;
        Ok(())
    }

    /// How many representatives are stored.
    fn stored(state: &State) -> Result<u64, StateError> {
        let sql = "SELECT coalesce(sum(length(packed)), 0) FROM signatures";
        let bytes: i64 = state.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(unsigned(bytes) / BYTES as u64)
    }

    /// Calls `visit` with every row, and returns the log to go on with.
    pub(super) fn read_rows(
        state: &State,
        mut visit: impl FnMut(&[Representative]),
    ) -> Result<Self, StateError> {
        let mut statement =
            state.db.prepare_cached("SELECT first, packed FROM signatures ORDER BY first")?;
        let mut rows = statement.query([])?;
        let (mut log, mut last) = (Self::default(), DocId(0));
        let mut representatives = Vec::with_capacity(PER_ROW);
        while let Some(row) = rows.next()? {
            let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let (entries, rest) = packed.as_chunks::<BYTES>();
            if !rest.is_empty() || entries.len() > PER_ROW {
                return Err(StateError::Damaged(
                    "a row of signatures has no whole number of entries",
                ));
            }
            representatives.clear();
            for entry in entries {
                let representative = unpack(entry);
                if representative.turn <= last {
                    return Err(StateError::Damaged("the turns of signatures do not grow"));
                }
                last = representative.turn;
                representatives.push(representative);
            }
            visit(&representatives);
            log.len += entries.len() as u64;
            log.open = if entries.len() < PER_ROW {
                Some((DocId(unsigned(row.get(0)?)), packed.to_vec()))
            } else {
                None
            };
        }
        Ok(log)
    }
}

fn unpack(entry: &[u8; BYTES]) -> Representative {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(entry.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Packed(words).unpacked()
}
