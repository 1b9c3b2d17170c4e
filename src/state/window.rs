//! The window of the filter, as the state keeps it: its representatives, where it stands, what it learnt of templates.

use super::{Restored, SignatureLog, State, StateError};
use crate::{
    filter::{Digests, Filter, Position},
    index::Index,
    page::DocId,
};

impl State {
    /// Brings the window back into an empty filter, and gives the log to go on with. `tell` is told how far it is, every two seconds.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn restore<I: Index, D: Digests>(
        &self,
        filter: &mut Filter<I, D>,
        tell: impl FnMut(Restored),
    ) -> Result<SignatureLog, StateError> {
        let position = self.position()?;
        let oldest = position.map_or(DocId(0), |position| position.oldest);
        let log = SignatureLog::restore(self, filter, oldest, tell)?;
        self.for_each_lesson(None, |lesson| filter.relearn(lesson))?;
        if let Some(position) = position {
            filter.resume(position);
        }
        Ok(log)
    }

    /// Keeps where the filter stands, and its representatives: what was pushed to the log, without those that have left.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn keep_window<I: Index, D: Digests>(
        &self,
        filter: &Filter<I, D>,
        log: &mut SignatureLog,
    ) -> Result<(), StateError> {
        log.commit(self, filter)?;
        let position = serde_json::to_string(&filter.position()).expect("numbers are JSON");
        self.set_meta("position", position)
    }

    /// Where the filter stood, if there was one.
    ///
    /// # Errors
    /// If SQLite fails or it cannot be read.
    pub(crate) fn position(&self) -> Result<Option<Position>, StateError> {
        let text: Option<String> = self.meta("position")?;
        let position = text.map(|text| serde_json::from_str(&text)).transpose();
        position.map_err(|_| StateError::Damaged("the filter's position cannot be read"))
    }
}
