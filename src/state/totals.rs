//! What a report counts of the URLs.

use super::{State, StateError, reason::Reason, unknown_code, unsigned};

impl State {
    /// How many URLs were skipped, by reason.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn skipped_counts(&self) -> Result<Vec<(Reason, u64)>, StateError> {
        let sql = "SELECT state, count(*) FROM urls WHERE state > 0 GROUP BY state";
        self.all(sql, [], |row| {
            let code = row.get::<_, i64>(0)?;
            let reason = u8::try_from(code).ok().and_then(Reason::from_code);
            Ok((reason.ok_or_else(|| unknown_code(0, code))?, unsigned(row.get(1)?)))
        })
    }
}
