//! The duplicate filter whose window is kept in a file.
//!
//! Only the crawler, inside this crate, can add rows of its own to the filter's transactions (`of_crawl`, `begin`, `state`): a page, its
//! decision and its links are one commit. Other callers judge, commit and roll back.

use std::{ops::Deref, path::Path};

use super::{
    State, StateError,
    digests::{DigestIndex, DigestTable},
    recipe::RecordedRecipe,
    signatures::{Restored, SignatureLog},
};
use crate::{
    filter::{
        Change, Document, Documents, Engine, Facts, Judge, Judgement, Match, Options, OptionsError,
        Position,
    },
    fingerprint::{Digest, HashSeed, HashSeedChoice, Recipe},
    index::Index,
    page::DocId,
};

/// The value of `kind` in the `meta` table of a state that belongs to a filter. A crawl's state has none.
const KIND: &str = "filter";

/// A duplicate filter that keeps its window in a file and continues where it stood when the file is opened again.
///
/// It judges as [`Filter`](crate::Filter) does. What was judged since the last [`commit`](Self::commit) is forgotten if the process ends
/// before the next one. After an error, or a [`rollback`](Self::rollback), memory and file may differ: from then on every call returns an
/// error, and the file must be opened again.
///
/// ```
/// use pagesieve::{DurableFilter, filter::Options};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("seen.sqlite");
/// let mut filter = DurableFilter::open(&path, &Options::default())?;
/// let document = filter.documents().text("a", "The tide is high.");
/// assert!(filter.judge(&document)?.verdict.is_unique());
/// filter.commit()?;
/// drop(filter);
///
/// let mut filter = DurableFilter::open(&path, &Options::default())?;
/// let document = filter.documents().text("b", "the tide is high");
/// let judgement = filter.judge(&document)?;
/// let found = judgement.verdict.matched().expect("a duplicate");
/// assert_eq!(filter.id_of(found.of)?, "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DurableFilter {
    pub(super) state: State,
    engine: Engine,
    digests: DigestIndex,
    log: SignatureLog,
    kept: Kept,
    transaction: Transaction,
}

/// Which rows stay in the table of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Those of the window.
    Window,
    /// All, for the report of a crawl.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// All that was judged is committed.
    Closed,
    /// Something was judged since the last commit.
    Open,
    /// The transaction was lost, or is incomplete.
    Failed,
}

impl DurableFilter {
    /// Opens the filter in this file, or creates the file, readable by its owner only: it holds the seed of the fingerprints.
    ///
    /// A new file gets the seed that the options name, or a random one. An existing one keeps its seed.
    ///
    /// # Errors
    /// If the file cannot be opened, belongs to something else or is open in another process; if its fingerprints cannot be compared with
    /// those of these options; or if the memory of the options has no room for their window.
    pub fn open(path: &Path, options: &Options) -> Result<Self, StateError> {
        Self::of_filter(State::open(path)?, options, HashSeed::random, drop)
    }

    /// The filter in this state. `new_hash_seed` makes the seed of a new one, and `report` is called every two seconds while a large window is
    /// restored.
    pub(crate) fn of_filter(
        state: State,
        options: &Options,
        new_hash_seed: impl FnOnce() -> HashSeed,
        report: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        let is_begun = state.meta::<i64>("seed")?.is_some();
        if is_begun && state.meta::<String>("kind")?.as_deref() != Some(KIND) {
            return Err(StateError::Kind);
        }
        let mut filter = Self::new(state, options, Kept::Window, new_hash_seed, report)?;
        filter.state.set_meta("kind", KIND)?;
        filter.commit()?;
        Ok(filter)
    }

    /// The filter of a crawl, which keeps its own rows in the same state and transactions.
    pub(crate) fn of_crawl(
        state: State,
        options: &Options,
        report: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        Self::new(state, options, Kept::All, HashSeed::random, report)
    }

    fn new(
        state: State,
        options: &Options,
        kept: Kept,
        new_hash_seed: impl FnOnce() -> HashSeed,
        report: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        let recorded = RecordedRecipe::read(&state)?;
        if let Some(difference) = recorded.difference(options) {
            return Err(StateError::Recipe(difference));
        }
        let seed = options.hash_seed.seed().or(recorded.hash_seed).unwrap_or_else(new_hash_seed);
        let recipe = options.recipe(seed);
        recipe.check().map_err(OptionsError::from)?;
        let mut engine = Engine::new(options, recipe, options.index()?);
        state.begin()?;
        RecordedRecipe::write(&state, recipe)?;
        let (log, digests) = state.restore(&mut engine, report)?;
        Ok(Self { state, engine, digests, log, kept, transaction: Transaction::Open })
    }

    /// Judges a document and remembers it, as part of the open transaction. Begins one if there is none.
    ///
    /// # Errors
    /// If the file cannot be read or written, or an earlier call failed.
    ///
    /// # Panics
    /// If the document was made for a filter with another recipe.
    pub fn judge(&mut self, document: &Document) -> Result<Judgement, StateError> {
        self.attempt(|this| {
            let mut digests = DigestTable { state: &this.state, index: &mut this.digests };
            let change = this.engine.judge(&mut digests, document)?;
            this.record(&document.id, &change)?;
            Ok(change.judgement)
        })
    }

    /// Judges a document and remembers nothing.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    #[cfg(feature = "serve")]
    pub(crate) fn peek(&mut self, document: &Document) -> Result<Judgement, StateError> {
        self.attempt(|this| {
            let mut digests = DigestTable { state: &this.state, index: &mut this.digests };
            this.engine.peek(&mut digests, document)
        })
    }

    /// Remembers that a document repeats one that is not in the window, as part of the open transaction, and nothing else of it.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    #[cfg(feature = "crawl")]
    pub(crate) fn repeat(
        &mut self,
        document: &Document,
        found: Match,
        facts: Facts,
    ) -> Result<Judgement, StateError> {
        self.attempt(|this| {
            let mut digests = DigestTable { state: &this.state, index: &mut this.digests };
            let change = this.engine.repeat(&mut digests, document.at, found, facts)?;
            this.record(&document.id, &change)?;
            Ok(change.judgement)
        })
    }

    /// Removes a unique document, as part of the open transaction: from now on nothing repeats it. Returns whether it was in the window.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub fn remove(&mut self, id: DocId) -> Result<bool, StateError> {
        self.attempt(|this| {
            let was_there = this.engine.remove(id);
            if was_there {
                this.log.remove(&this.state, id)?;
                this.state.drop_document(id)?;
            }
            Ok(was_there)
        })
    }

    /// Takes a unique document out of the window, as part of the open transaction: from now on nothing repeats it, and its row stays.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    #[cfg(feature = "crawl")]
    pub(crate) fn release(&mut self, id: DocId) -> Result<(), StateError> {
        self.attempt(|this| {
            if this.engine.remove(id) {
                this.log.remove(&this.state, id)?;
                this.state.drop_article(id)?;
            }
            Ok(())
        })
    }

    /// Makes everything durable that was judged or removed.
    ///
    /// # Errors
    /// If the file cannot be written, for instance because the disk is full, or an earlier call failed.
    pub fn commit(&mut self) -> Result<(), StateError> {
        self.attempt(|this| {
            let horizon = this.engine.horizon().representative;
            this.log.commit(&this.state, horizon)?;
            this.digests.commit(&this.state, horizon)?;
            this.state.set_json("position", &this.engine.position())?;
            this.state.drop_articles(horizon)?;
            if this.kept == Kept::Window {
                this.state.drop_documents(horizon)?;
            }
            this.state.commit()
        })?;
        self.transaction = Transaction::Closed;
        Ok(())
    }

    /// Forgets everything since the last commit. The filter cannot be used afterwards: open the file again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn rollback(&mut self) -> Result<(), StateError> {
        self.transaction = Transaction::Failed;
        self.state.rollback()
    }

    /// The id of a document in the window, such as a match.
    ///
    /// # Errors
    /// If the file cannot be read, there is no such document, or an earlier call failed.
    pub fn id_of(&self, id: DocId) -> Result<String, StateError> {
        if self.transaction == Transaction::Failed {
            return Err(StateError::RolledBack);
        }
        self.state.name_of(id)
    }

    /// Notes that the text of a document is that of an earlier one with the same body, if that text is kept.
    ///
    /// # Errors
    /// If SQLite fails.
    #[cfg(feature = "crawl")]
    pub(crate) fn keep_text_of_body(
        &self,
        document: DocId,
        body: Digest,
    ) -> Result<(), StateError> {
        self.state.keep_text_of(document, &self.digests.verified(&self.state, body)?)
    }

    /// The state, in whose open transaction the caller can read and write other tables.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Begins a transaction, unless one is open.
    ///
    /// # Errors
    /// If SQLite fails, or an earlier call failed.
    pub(crate) fn begin(&mut self) -> Result<(), StateError> {
        self.attempt(|_| Ok(()))
    }

    /// Does something in the open transaction. If it fails, so does everything after it.
    fn attempt<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        // After some errors SQLite rolls the whole transaction back.
        let is_lost = self.transaction == Transaction::Open && !self.state.is_in_transaction();
        if is_lost || self.transaction == Transaction::Failed {
            self.transaction = Transaction::Failed;
            return Err(StateError::RolledBack);
        }
        self.transaction = Transaction::Failed;
        self.state.begin()?;
        let done = action(self)?;
        self.transaction = Transaction::Open;
        Ok(done)
    }

    /// Writes what a judgement changes, beside the digests.
    fn record(&mut self, id: &str, change: &Change) -> Result<(), StateError> {
        let entered = self.digests.take_entered();
        self.state.add_document(id, &change.judgement, entered.as_ref())?;
        if let Some(representative) = &change.representative {
            self.log.push(&self.state, representative)?;
        }
        if let Some(template) = &change.template {
            self.state.keep_sample(template)?;
        }
        Ok(())
    }
}

impl Deref for DurableFilter {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Judge for DurableFilter {
    type Answer = Result<Judgement, StateError>;

    fn judge(&mut self, document: &Document) -> Self::Answer {
        Self::judge(self, document)
    }

    fn documents(&self) -> Documents {
        self.engine.documents()
    }
}

/// The window of a state as of its last commit. It is only read.
#[cfg(feature = "crawl")]
#[derive(Debug)]
pub(crate) struct PastWindow {
    state: State,
    engine: Engine,
    digests: DigestIndex,
}

#[cfg(feature = "crawl")]
impl PastWindow {
    /// Opens the state of a filter or crawl, whose fingerprints must be made by this recipe.
    ///
    /// # Errors
    /// As [`DurableFilter::open`], except that it may be open in another process.
    pub(crate) fn open(path: &Path, options: &Options, recipe: Recipe) -> Result<Self, StateError> {
        let state = State::read(path)?;
        let hash_seed = HashSeedChoice::Fixed(recipe.hash_seed);
        let options = Options { hash_seed, ..options.clone() };
        if let Some(difference) = RecordedRecipe::read(&state)?.difference(&options) {
            return Err(StateError::Recipe(difference));
        }
        let mut engine = Engine::new(&options, recipe, options.index()?);
        let (_, digests) = state.restore(&mut engine, drop)?;
        Ok(Self { state, engine, digests })
    }

    /// How a document repeats one of the window, and the id of that one, if it does.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn peek(
        &mut self,
        document: &Document,
    ) -> Result<Option<(Judgement, String)>, StateError> {
        let mut digests = DigestTable { state: &self.state, index: &mut self.digests };
        let judgement = self.engine.peek(&mut digests, document)?;
        let matched = judgement.verdict.matched();
        let of = matched.map(|found| self.state.name_of(found.of)).transpose()?;
        Ok(of.map(|of| (judgement, of)))
    }
}

impl State {
    /// Restores the window, the templates and the position into an empty engine, and returns the log and the digests to continue with.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    fn restore<I: Index>(
        &self,
        engine: &mut Engine<I>,
        report: impl FnMut(Restored),
    ) -> Result<(SignatureLog, DigestIndex), StateError> {
        let position = self.position()?;
        let oldest = position.map_or(DocId(0), |position| position.oldest);
        let log = SignatureLog::restore(self, engine, oldest, report)?;
        let pages = engine.pages();
        self.for_each_article(oldest, |id, keys| engine.enter_article(id, keys, pages))?;
        self.restore_templates(engine, None)?;
        if let Some(position) = position {
            engine.resume(position);
        }
        Ok((log, DigestIndex::load(self, oldest)?))
    }

    /// Where the filter stood, if there was one.
    ///
    /// # Errors
    /// If SQLite fails or it cannot be read.
    pub(crate) fn position(&self) -> Result<Option<Position>, StateError> {
        self.json("position")
    }
}

/// Callers move filters between threads.
const fn assert_send<T: Send>() {}
const _: () = assert_send::<DurableFilter>();

#[cfg(test)]
impl DurableFilter {
    /// A filter over a state of its own, with a cache and bounds for tests.
    pub(super) fn for_tests(
        state: State,
        options: &Options,
        equal_limit: std::num::NonZeroU32,
        bounds: crate::filter::Bounds,
    ) -> Self {
        let mut this = Self::of_filter(state, options, || HashSeed::PUBLIC, drop).unwrap();
        let (recipe, index) = (this.documents().fingerprinter().recipe(), options.index().unwrap());
        let index = index.with_equal_limit(equal_limit);
        this.engine = Engine::new(options, recipe, index).bounded(bounds, equal_limit);
        (this.log, this.digests) = this.state.restore(&mut this.engine, drop).unwrap();
        this
    }

    /// The state, with everything committed. The clock may have moved since the last document.
    pub(super) fn into_state(mut self) -> State {
        self.commit().unwrap();
        self.state
    }
}
