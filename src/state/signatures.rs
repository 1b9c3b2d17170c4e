//! The window's representatives, packed many to a row.
//!
//! A representative takes 64 bytes: number, time, key, signature and whether it has one, all little endian.

use super::{State, StateError, signed, unsigned};
use crate::{
    filter::{Key, Representative},
    fingerprint::Signature,
    page::{DocId, Timestamp},
};

/// Representatives in a full row.
const PER_ROW: usize = 256;
const WORDS: usize = 8;
const BYTES: usize = WORDS * 8;

/// Appends to the packed representatives. What is pushed is written by [`flush`](Self::flush).
#[derive(Debug, Default)]
pub(crate) struct SignatureLog {
    /// The row that is not full yet: its first document and its bytes.
    open: Option<(DocId, Vec<u8>)>,
    changed: bool,
    /// The horizon at which rows were dropped last.
    pruned: u64,
}

impl SignatureLog {
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
        pack(representative, packed);
        self.changed = true;
        if packed.len() == PER_ROW * BYTES {
            self.flush(state)?;
            self.open = None;
        }
        Ok(())
    }

    /// Writes the row that is not full yet.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn flush(&mut self, state: &State) -> Result<(), StateError> {
        if let (true, Some((first, packed))) = (self.changed, &self.open) {
            let mut statement = state.db.prepare_cached("REPLACE INTO signatures VALUES (?, ?)")?;
            statement.execute((signed(first.0), packed))?;
        }
        self.changed = false;
        Ok(())
    }

    /// Drops rows all of whose documents are older than `horizon`.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn prune(&mut self, state: &State, horizon: DocId) -> Result<(), StateError> {
        if horizon.0 < self.pruned + PER_ROW as u64 {
            return Ok(());
        }
        let sql = "DELETE FROM signatures WHERE first < (SELECT max(first) FROM signatures WHERE first <= ?)";
        state.db.prepare_cached(sql)?.execute([signed(horizon.0)])?;
        self.pruned = horizon.0;
        Ok(())
    }

    /// Calls `visit` with every representative that is stored, oldest first, and returns the log to go on with.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn read(
        state: &State,
        mut visit: impl FnMut(Representative),
    ) -> Result<Self, StateError> {
        let mut statement =
            state.db.prepare_cached("SELECT first, packed FROM signatures ORDER BY first")?;
        let mut rows = statement.query([])?;
        let mut log = Self::default();
        let mut last = DocId(0);
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(1)?;
            let (representatives, rest) = packed.as_chunks::<BYTES>();
            if !rest.is_empty() || packed.len() > PER_ROW * BYTES {
                return Err(StateError::Damaged(
                    "a row of signatures has no whole number of entries",
                ));
            }
            for representative in representatives.iter().map(unpack) {
                if representative.id <= last {
                    return Err(StateError::Damaged("the numbers of signatures do not grow"));
                }
                last = representative.id;
                visit(representative);
            }
            let first = DocId(unsigned(row.get(0)?));
            log.open = (representatives.len() < PER_ROW).then_some((first, packed));
        }
        Ok(log)
    }
}

fn pack(representative: &Representative, out: &mut Vec<u8>) {
    let signature = representative.signature.map_or([0; 4], |signature| signature.0);
    let has_signature = u64::from(representative.signature.is_some());
    let head =
        [representative.id.0, unsigned(representative.at.0), representative.key.0, has_signature];
    head.iter().chain(&signature).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn unpack(packed: &[u8; BYTES]) -> Representative {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(packed.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let [id, at, key, has_signature, signature @ ..] = words;
    Representative {
        id: DocId(id),
        at: Timestamp(signed(at)),
        key: Key(key),
        signature: (has_signature == 1).then_some(Signature(signature)),
    }
}
