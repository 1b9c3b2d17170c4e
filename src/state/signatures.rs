//! The window's representatives, packed many to a row.
//!
//! A representative takes 72 bytes, as in memory, all little endian. The log grows at its end only, and rows of what has left are dropped.

use std::time::{Duration, Instant};

use rusqlite::Row;

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Engine, Packed, Representative},
    index::Index,
    page::DocId,
};

/// Representatives in a full row.
const PER_ROW: usize = 256;
const WORDS: usize = 9;
const BYTES: usize = WORDS * 8;
/// How often progress is reported while a window is restored.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// How far a window has been restored.
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
    /// The row that is not full yet: its first number and its bytes.
    open: Option<(DocId, Vec<u8>)>,
    changed: bool,
    /// The horizon at which rows were dropped last.
    pruned: u64,
}

impl SignatureLog {
    /// Restores the window of the state into an empty engine, from its oldest entry on, and returns the log to continue with. `report` is called
    /// every two seconds with how far it is.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn restore<I: Index>(
        state: &State,
        engine: &mut Engine<I>,
        oldest: DocId,
        mut report: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        let sql = "SELECT coalesce(sum(length(packed)), 0) FROM signatures";
        let all = unsigned(state.value(sql, [])?) / BYTES as u64;
        let (began, mut reported, mut read) = (Instant::now(), Instant::now(), 0);
        let log = engine.restore(|take| {
            Self::read_rows(state, |row| {
                read += row.len() as u64;
                row.iter().copied().filter(|one| one.id >= oldest).for_each(&mut *take);
                if reported.elapsed() >= REPORT_EVERY {
                    reported = Instant::now();
                    tracing::info!(read, all, "restoring the window");
                    report(Restored { read, all });
                }
            })
        })?;
        if all > 0 {
            let seconds = began.elapsed().as_secs_f64();
            tracing::info!(entries = read, seconds, "the window is restored");
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
            .get_or_insert_with(|| (representative.id, Vec::with_capacity(PER_ROW * BYTES)));
        let words = Packed::of(representative).0;
        packed.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.changed = true;
        if packed.len() == PER_ROW * BYTES {
            self.flush(state)?;
            self.open = None;
        }
        Ok(())
    }

    /// Removes a representative.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn remove(&mut self, state: &State, id: DocId) -> Result<(), StateError> {
        let without = |packed: &[u8]| {
            let entries = packed.as_chunks::<BYTES>().0;
            entries.iter().filter(|it| it[..8] != id.0.to_le_bytes()).flatten().copied().collect()
        };
        if let Some((_, packed)) = self.open.as_mut().filter(|(first, _)| *first <= id) {
            *packed = without(packed);
            self.changed = true;
            return Ok(());
        }
        let sql =
            "SELECT first, packed FROM signatures WHERE first <= ? ORDER BY first DESC LIMIT 1";
        let row = state.find(sql, [signed(id.0)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((first, packed)): Option<(i64, Vec<u8>)> = row else { return Ok(()) };
        let packed: Vec<u8> = without(&packed);
        state.execute("REPLACE INTO signatures VALUES (?, ?)", (first, packed))
    }

    /// Writes what was pushed, and drops what is before `horizon`.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn commit(&mut self, state: &State, horizon: DocId) -> Result<(), StateError> {
        self.flush(state)?;
        self.prune(state, horizon)
    }

    /// Writes the row that is not full yet.
    pub(super) fn flush(&mut self, state: &State) -> Result<(), StateError> {
        if let (true, Some((first, packed))) = (self.changed, &self.open) {
            state.execute("REPLACE INTO signatures VALUES (?, ?)", (signed(first.0), packed))?;
        }
        self.changed = false;
        Ok(())
    }

    /// Drops rows of representatives that are all before `horizon`.
    pub(super) fn prune(&mut self, state: &State, horizon: DocId) -> Result<(), StateError> {
        if horizon.0 < self.pruned + PER_ROW as u64 {
            return Ok(());
        }
        let sql = "DELETE FROM signatures WHERE first < (SELECT max(first) FROM signatures WHERE first <= ?)";
        state.execute(sql, [signed(horizon.0)])?;
        self.pruned = horizon.0;
        Ok(())
    }

    /// Calls `visit` with every representative that is stored, oldest first.
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

    /// Calls `visit` with every row, and returns the log to continue with.
    pub(super) fn read_rows(
        state: &State,
        mut visit: impl FnMut(&[Representative]),
    ) -> Result<Self, StateError> {
        let (mut log, mut last) = (Self::default(), DocId(0));
        let mut representatives = Vec::with_capacity(PER_ROW);
        let sql = "SELECT first, packed FROM signatures ORDER BY first";
        let row = |row: &Row<'_>| Ok((DocId(unsigned(row.get(0)?)), row.get::<_, Vec<u8>>(1)?));
        state.each(sql, [], row, |(first, packed)| {
            let (entries, rest) = packed.as_chunks::<BYTES>();
            if !rest.is_empty() || entries.len() > PER_ROW {
                return Err(StateError::Damaged("a row of signatures has the wrong length"));
            }
            representatives.clear();
            for representative in entries.iter().map(unpack) {
                if representative.id <= last {
                    return Err(StateError::Damaged("the numbers of signatures do not grow"));
                }
                last = representative.id;
                representatives.push(representative);
            }
            visit(&representatives);
            log.open = (entries.len() < PER_ROW).then_some((first, packed));
            Ok(())
        })?;
        Ok(log)
    }
}

fn unpack(entry: &[u8; BYTES]) -> Representative {
    let bytes = entry.as_chunks::<8>().0;
    Packed(std::array::from_fn(|word| u64::from_le_bytes(bytes[word]))).unpacked()
}
