//! The duplicate filter whose window is kept in a file.
//!
//! Only the crawler, inside this crate, can add rows of its own to the filter's transactions (`of_crawl`, `begin`, `state`): a page, its
//! decision and its links are one commit. Other callers judge, commit and roll back.
//!
//! How the texts are fingerprinted is recorded when the state is created, and never changed later. What is kept of the content of
//! pages, and the samples that the templates of origins are learnt from, are kept so that the next filter knows them too.

#[cfg(feature = "cluster")]
use std::path::PathBuf;
use std::{
    collections::BinaryHeap,
    num::NonZeroU64,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use rusqlite::Row;
#[cfg(feature = "cluster")]
use tokio_util::sync::CancellationToken;

use super::{
    State, StateError,
    documents::{Entered, JudgedDocument},
    packed, signed, unsigned,
};
#[cfg(feature = "crawl")]
use crate::fingerprint::Segment;
#[cfg(feature = "cluster")]
use crate::{
    cluster::{self, Address, Claim, ClaimTally, Claims, Found, Run, Server, Terms},
    filter::{Ground, Match},
};
use crate::{
    filter::{
        Change, Content, Document, Engine, Filter, IN_FILE, Judgement, Key, Kind, Known, Options,
        OptionsError, OriginKey, Position, Store, TemplateChange, TemplateSample,
    },
    fingerprint::{Digest, HashSeed, HashSeedChoice, Recipe},
    page::DocId,
};

/// The value of `kind` in the `meta` table of a state that belongs to a filter. A crawl's state has none.
const KIND: &str = "filter";

/// The name of the run whose pages are those of others that share the window.
#[cfg(feature = "cluster")]
pub(crate) const SHARED: &str = "cluster";

/// A duplicate filter that keeps its window in a file and continues where it stood when the file is opened again.
///
/// It judges as a filter in memory does. What was judged since the last [`commit`](Self::commit) is forgotten if the process ends
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
pub type DurableFilter = Filter<Durable>;

/// The store in a file.
#[derive(Debug)]
pub struct Durable {
    pub(super) state: State,
    kept: Kept,
    transaction: Transaction,
    /// What others have that share the window, if it is shared.
    #[cfg(feature = "cluster")]
    claims: Option<Claims>,
    /// The directory of the file, if it is removed with the filter.
    #[cfg(feature = "cluster")]
    home: Option<Home>,
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

impl Filter<Durable> {
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

    /// The same as [`open`](Self::open), but a new file gets this seed unless the options name one, and the opening ends with an error if another
    /// thread sets `cancelled` meanwhile.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`StateError::Cancelled`].
    pub fn open_or_create(
        path: &Path,
        options: &Options,
        new_hash_seed: HashSeed,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Self, StateError> {
        let state = State::open(path)?.until(cancelled);
        Self::of_filter(state, options, || new_hash_seed, drop)
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
        let mut filter = Self::restored(state, options, Kept::Window, new_hash_seed, report)?;
        filter.state().set_meta("kind", KIND)?;
        filter.commit()?;
        Ok(filter)
    }

    /// The filter of a crawl, which keeps its own rows in the same state and transactions.
    pub(crate) fn of_crawl(
        state: State,
        options: &Options,
        report: impl FnMut(Restored),
    ) -> Result<Self, StateError> {
        Self::restored(state, options, Kept::All, HashSeed::random, report)
    }

    fn restored(
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
        let mut engine = Engine::new(options, recipe, options.index(IN_FILE)?);
        state.begin()?;
        RecordedRecipe::write(&state, recipe)?;
        state.restore(&mut engine, true, report)?;
        Ok(Self { engine, store: Durable::new(state, kept, Transaction::Open) })
    }

    /// Removes a document: these are the numbers of all its versions, also of those that repeated other documents. Returns whether one of them was in
    /// the window; otherwise nothing is removed.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    #[cfg(any(feature = "serve", test))]
    pub(crate) fn remove_versions(&mut self, ids: &[DocId]) -> Result<bool, StateError> {
        let mut others = Vec::new();
        for &id in ids {
            if !self.remove(id)? {
                others.push(id);
            }
        }
        if others.len() == ids.len() {
            return Ok(false);
        }
        self.store.begin()?;
        for id in others {
            self.store.state.drop_document(id)?;
        }
        self.store.end();
        Ok(true)
    }

    /// Takes a unique document out of the window, as part of the open transaction: from now on nothing repeats it, and its row stays.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    #[cfg(feature = "crawl")]
    pub(crate) fn release(&mut self, id: DocId) -> Result<(), StateError> {
        self.store.begin()?;
        if self.engine.remove(id) {
            self.store.state.release_document(id)?;
        }
        self.store.end();
        Ok(())
    }

    /// Makes everything durable that was judged or removed.
    ///
    /// # Errors
    /// If the file cannot be written, for instance because the disk is full, or an earlier call failed.
    pub fn commit(&mut self) -> Result<(), StateError> {
        self.store.begin()?;
        let Durable { state, kept, transaction, .. } = &mut self.store;
        let horizon = self.engine.horizon().representative;
        state.set_json("position", &self.engine.position())?;
        state.drop_contents(horizon)?;
        if *kept == Kept::Window {
            state.drop_documents(horizon)?;
            state.drop_others()?;
        }
        state.commit()?;
        *transaction = Transaction::Closed;
        Ok(())
    }

    /// Forgets everything since the last commit. The filter cannot be used afterwards: open the file again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn rollback(&mut self) -> Result<(), StateError> {
        self.store.transaction = Transaction::Failed;
        self.state().rollback()
    }

    /// The id of a document in the window, such as a match.
    ///
    /// # Errors
    /// If the file cannot be read, there is no such document, or an earlier call failed.
    pub fn id_of(&self, id: DocId) -> Result<String, StateError> {
        self.store.name(id)
    }

    /// The documents of the window whose signatures differ least from that of a document, at most so many. Compares with all of the window.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub(crate) fn nearest(
        &mut self,
        document: &Document,
        limit: usize,
    ) -> Result<Nearest, StateError> {
        let judgement = self.peek(document)?;
        let text = &document.sketch.text;
        let (mut nearest, mut compared) = (BinaryHeap::new(), 0);
        let others = self.engine.window.iter().filter_map(|it| Some((it.id, it.signature()?)));
        for (id, other) in others.filter(|_| text.features > 0) {
            let distance = text.signature.fingerprint().distance(other.fingerprint());
            nearest.push((text.signature.distance(&other), id, distance));
            compared += 1;
            if nearest.len() > limit {
                nearest.pop();
            }
        }
        let nearest = nearest.into_sorted_vec().into_iter();
        let mut documents: Vec<_> =
            nearest.map(|(signature, id, fingerprint)| (id, fingerprint, signature)).collect();
        // A short text has no signature, but may be that of a document.
        if let Some(found) = judgement.verdict.matched().filter(|it| it.kind == Kind::Exact)
            && limit > 0
            && documents.iter().all(|(id, ..)| *id != found.of)
        {
            documents.truncate(limit - 1);
            documents.insert(0, (found.of, found.distance, found.signature_distance));
        }
        Ok(Nearest { judgement, documents, compared })
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
        let found = self.engine.known_by(body).into_iter();
        let known = found.filter_map(|id| self.state().known(id, body).transpose());
        let known: Vec<_> = known.map(|it| Ok(it?.id)).collect::<Result<_, StateError>>()?;
        self.state().keep_text_of(document, &known)
    }

    /// The state, in whose open transaction the caller can read and write other tables.
    pub(crate) fn state(&self) -> &State {
        &self.store.state
    }

    /// Begins a transaction, unless one is open.
    ///
    /// # Errors
    /// If SQLite fails, or an earlier call failed.
    pub(crate) fn begin(&mut self) -> Result<(), StateError> {
        self.store.begin()?;
        self.store.end();
        Ok(())
    }
}

#[cfg(feature = "cluster")]
impl Filter<Durable> {
    /// Opens a window that others share, on a PostgreSQL server, or begins it. Documents are judged in a window of this filter's own first, which it
    /// keeps in a temporary file; a document that is unique there is compared with those of the others, and kept by one of them.
    ///
    /// A decision is durable when it is made, except for those of the last second before a crash of the server. While the server does not answer, a
    /// call waits, up to 30 seconds. A new window gets the seed that the options name, or the public one.
    ///
    /// ```no_run
    /// use pagesieve::{DurableFilter, filter::Options};
    ///
    /// let address = "postgres://crawler@db.example.org/crawls#news".parse()?;
    /// let mut filter = DurableFilter::share(&address, &Options::default())?;
    /// let document = filter.documents().text("a", "The tide is high.");
    /// assert!(filter.judge(&document)?.verdict.is_unique());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the server does not answer or refuses it, others share the window with other options, or no temporary file can be made.
    pub fn share(address: &Address, options: &Options) -> Result<Self, StateError> {
        let home = Home::make()?;
        let path = home.path();
        let mut filter = Self::share_at(address, options, &path)?;
        filter.store.home = Some(home);
        Ok(filter)
    }

    /// The same with its own window in this file, which is new.
    pub(crate) fn share_at(
        address: &Address,
        options: &Options,
        path: &Path,
    ) -> Result<Self, StateError> {
        let server = Server::new(address, Some(PATIENCE), CancellationToken::new());
        let (scheme, hash_seed) =
            (options.recipe(HashSeed::PUBLIC).scheme(), options.hash_seed.seed());
        let Options { mode, radius, similarity, min_features, article, rule, window, .. } = options;
        let compared = (mode, radius, similarity, min_features, article, rule);
        let digest = xxhash_rust::xxh3::xxh3_64(format!("{compared:?}").as_bytes());
        let terms = Terms {
            scheme,
            hash_seed,
            new_hash_seed: HashSeed::PUBLIC,
            configuration: format!("{digest:016x}"),
            members: 0,
            entries: window.entries.get(),
            age: window.age,
            pages: 0,
        };
        let run = cluster::open(&server, &terms)?;
        let options =
            Options { hash_seed: HashSeedChoice::Fixed(run.hash_seed), ..options.clone() };
        let mut filter = Self::of_filter(State::open(path)?, &options, || run.hash_seed, drop)?;
        filter.claim_with(&server, &run);
        Ok(filter)
    }

    /// What it has claimed since the start, if the window is shared.
    pub(crate) fn claimed(&self) -> Option<ClaimTally> {
        self.store.claims.as_ref().map(Claims::tally)
    }

    /// Claims what is unique from now on.
    pub(crate) fn claim_with(&mut self, server: &Arc<Server>, run: &Run) {
        self.engine.documents = self.engine.documents.clone().shared();
        self.store.claims = Some(Claims::new(server, run));
    }
}

/// How long the server of a shared window is waited for.
#[cfg(feature = "cluster")]
const PATIENCE: Duration = Duration::from_secs(30);

/// A temporary directory, for what does not outlive the process.
#[cfg(feature = "cluster")]
#[derive(Debug)]
pub(crate) struct Home(PathBuf);

#[cfg(feature = "cluster")]
impl Home {
    pub(crate) fn make() -> Result<Self, StateError> {
        let name = format!("pagesieve-{:016x}", HashSeed::random().0);
        let path = std::env::temp_dir().join(name);
        let made = std::fs::create_dir(&path);
        made.map_err(|source| StateError::File { path: path.clone(), source })?;
        Ok(Self(path))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.join("state.sqlite")
    }
}

#[cfg(feature = "cluster")]
impl Drop for Home {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Durable {
    fn new(state: State, kept: Kept, transaction: Transaction) -> Self {
        Self {
            state,
            kept,
            transaction,
            #[cfg(feature = "cluster")]
            claims: None,
            #[cfg(feature = "cluster")]
            home: None,
        }
    }

    fn name(&self, id: DocId) -> Result<String, StateError> {
        if self.transaction == Transaction::Failed {
            return Err(StateError::RolledBack);
        }
        self.state.name_of(id)
    }
}

#[expect(private_interfaces, reason = "only this crate calls its methods")]
impl Store for Durable {
    type Error = StateError;

    fn known(&self, id: DocId, digest: Digest) -> Result<Option<Known>, StateError> {
        self.state.known(id, digest)
    }

    fn content(&self, id: DocId) -> Result<Option<Content>, StateError> {
        self.state.content(id)
    }

    fn name_of(&self, id: DocId) -> Result<Option<String>, StateError> {
        self.name(id).map(Some)
    }

    fn remember(&mut self, document: &Document, change: &Change) -> Result<(), StateError> {
        let Change { judgement, digests, alias, representative, template } = change;
        if judgement.verdict.is_unique() && !judgement.is_new() {
            return Ok(());
        }
        let is_known = representative.is_some() || alias.is_some();
        let entered = is_known.then(|| Entered {
            digests,
            key: document.key,
            alias: *alias,
            representative: representative.as_ref(),
        });
        self.state.add_document(&document.id, judgement, entered.as_ref())?;
        if let Some(content) = change.content_of(document) {
            self.state.keep_content(judgement.id, content, &document.sketch.keys)?;
        }
        if let Some(template) = template {
            self.state.keep_sample(template)?;
        }
        Ok(())
    }

    #[cfg(feature = "cluster")]
    fn claim(
        &mut self,
        document: &Document,
        ground: &Ground<'_>,
        is_looked_at: bool,
    ) -> Result<Option<Match>, StateError> {
        let Some(claims) = &mut self.claims else { return Ok(None) };
        let found = claims.claim(&Claim::of(document, ground), is_looked_at)?;
        let of = |found: Found| {
            let of = self.state.repeat_other(SHARED, DocId(found.key.0), &found.url)?;
            Ok(Match { of, ..found.matched })
        };
        found.map(of).transpose()
    }

    fn forget(&mut self, id: DocId) -> Result<(), StateError> {
        #[cfg(feature = "cluster")]
        if let Some(claims) = &mut self.claims
            && let Some(key) = self.state.key_of(id)?
        {
            claims.forget(key)?;
        }
        self.state.drop_document(id)
    }

    /// The file must be as the memory says.
    fn check(&self) -> Result<(), StateError> {
        self.state.check_owner()?;
        // After some errors SQLite rolls the whole transaction back.
        let is_lost = self.transaction == Transaction::Open && !self.state.is_in_transaction();
        if is_lost || self.transaction == Transaction::Failed {
            return Err(StateError::RolledBack);
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), StateError> {
        let checked = self.check();
        self.transaction = Transaction::Failed;
        checked?;
        self.state.begin()
    }

    fn end(&mut self) {
        self.transaction = Transaction::Open;
    }
}

/// The documents of a window that are nearest to one.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    /// How that one would be judged.
    pub(crate) judgement: Judgement,
    /// The nearest first, with the bits in which fingerprints and signatures differ; of equally near ones, the oldest first. One with the same text is
    /// among them.
    pub(crate) documents: Vec<(DocId, u32, u32)>,
    /// With how many it was compared: those whose texts have enough features.
    pub(crate) compared: u64,
}

/// The window of a state as of its last commit. It is only read.
#[cfg(feature = "crawl")]
#[derive(Debug)]
pub(crate) struct PastWindow(DurableFilter);

#[cfg(feature = "crawl")]
impl PastWindow {
    /// Opens the state of a filter or crawl, whose fingerprints must be made by this recipe. Copies of its near duplicates are judged again unless
    /// its verdicts `hold`.
    ///
    /// # Errors
    /// As [`DurableFilter::open`], except that it may be open in another process.
    pub(crate) fn open(
        path: &Path,
        options: &Options,
        recipe: Recipe,
        hold: bool,
    ) -> Result<Self, StateError> {
        let state = State::read(path)?;
        let hash_seed = HashSeedChoice::Fixed(recipe.hash_seed);
        let options = Options { hash_seed, ..options.clone() };
        if let Some(difference) = RecordedRecipe::read(&state)?.difference(&options) {
            return Err(StateError::Recipe(difference));
        }
        let mut engine = Engine::new(&options, recipe, options.index(IN_FILE)?);
        state.restore(&mut engine, hold, drop)?;
        let store = Durable::new(state, Kept::All, Transaction::Closed);
        Ok(Self(DurableFilter { engine, store }))
    }

    /// How a document repeats one of the window, and the id of that one, if it does.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn peek(
        &mut self,
        document: &Document,
    ) -> Result<Option<(Judgement, String)>, StateError> {
        let judgement = self.0.peek(document)?;
        let matched = judgement.verdict.matched();
        let of = matched.map(|found| self.0.id_of(found.of)).transpose()?;
        Ok(of.map(|of| (judgement, of)))
    }

    /// [`DurableFilter::nearest`].
    pub(crate) fn nearest(
        &mut self,
        document: &Document,
        limit: usize,
    ) -> Result<Nearest, StateError> {
        self.0.nearest(document, limit)
    }

    /// The document of this number, of which there must be one.
    pub(crate) fn document(&self, id: DocId) -> Result<JudgedDocument, StateError> {
        self.0.state().document(id)?.ok_or(StateError::Damaged("a match is no document"))
    }
}

/// How far a window has been restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Documents read so far.
    pub read: u64,
    /// Documents to be read.
    pub all: u64,
}

/// How often that is reported.
const REPORT_EVERY: Duration = Duration::from_secs(2);

impl State {
    /// Restores the window, the templates and the position into an empty engine. The digests of near duplicates are left out unless verdicts
    /// `hold`. `report` is called every two seconds with how far it is.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    fn restore(
        &self,
        engine: &mut Engine,
        hold: bool,
        mut report: impl FnMut(Restored),
    ) -> Result<(), StateError> {
        let Some(position) = self.position()? else { return Ok(()) };
        let (oldest, began, mut reported) = (position.oldest, Instant::now(), Instant::now());
        self.for_each_remembered(oldest, |one| {
            if hold || !one.is_near {
                engine.enter_digests(&one.digests, one.id, one.alias);
            }
            one.representative.iter().for_each(|it| engine.restore(it));
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                report(Restored { read: one.id.0 - oldest.0, all: position.next.0 - oldest.0 });
            }
        })?;
        engine.resume(position, || self.is_cancelled());
        if self.is_cancelled() {
            return Err(StateError::Cancelled);
        }
        let pages = engine.window.pages;
        self.for_each_page(oldest, |id, keys| engine.enter_page(id, keys, pages))?;
        self.restore_templates(engine, None)?;
        let (entries, seconds) = (engine.window.len(), began.elapsed().as_secs_f64());
        tracing::info!(entries, seconds, "the window is restored");
        Ok(())
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
impl Filter<Durable> {
    /// A filter over a state of its own, with bounds for tests.
    pub(super) fn for_tests(
        state: State,
        options: &Options,
        equal_limit: std::num::NonZeroU32,
    ) -> Self {
        let mut this = Self::of_filter(state, options, || HashSeed::PUBLIC, drop).unwrap();
        let (recipe, index) =
            (this.documents().fingerprinter().recipe(), options.index(IN_FILE).unwrap());
        let index = index.with_equal_limit(equal_limit);
        this.engine = Engine::new(options, recipe, index).bounded(equal_limit);
        this.store.state.restore(&mut this.engine, true, drop).unwrap();
        this
    }

    /// The state, with everything committed. The clock may have moved since the last document.
    pub(super) fn into_state(mut self) -> State {
        self.commit().unwrap();
        self.store.state
    }
}

impl State {
    /// What is kept of the content of a page, if it is one.
    ///
    /// # Errors
    /// If SQLite fails or the row is damaged.
    pub(crate) fn content(&self, id: DocId) -> Result<Option<Content>, StateError> {
        let sql = "SELECT content FROM contents WHERE document = ?";
        let packed: Option<Vec<u8>> = self.find(sql, [signed(id.0)], |row| row.get(0))?;
        let damaged = StateError::Damaged("the content of a page cannot be read");
        packed.map(|packed| Content::from_bytes(&packed).ok_or(damaged)).transpose()
    }

    /// Keeps the content of a page, and its keys.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_content(
        &self,
        id: DocId,
        content: &Content,
        keys: &[u64],
    ) -> Result<(), StateError> {
        let document = signed(id.0);
        self.execute("INSERT INTO contents VALUES (?, ?)", (document, content.to_bytes()))?;
        self.execute("INSERT INTO keys VALUES (?, ?)", (document, packed(keys)))
    }

    /// Calls `visit` with the keys of each page from `oldest` on, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn for_each_page(
        &self,
        oldest: DocId,
        mut visit: impl FnMut(DocId, &[u64]),
    ) -> Result<(), StateError> {
        let sql = "SELECT document, keys FROM keys WHERE document >= ? ORDER BY document";
        let row = |row: &Row<'_>| Ok((DocId(unsigned(row.get(0)?)), row.get::<_, Vec<u8>>(1)?));
        let mut keys = Vec::new();
        self.each(sql, [signed(oldest.0)], row, |(id, packed)| {
            let damaged = StateError::Damaged("the keys of a page have the wrong length");
            keys.clear();
            keys.extend(words(&packed).ok_or(damaged)?);
            visit(id, &keys);
            Ok(())
        })
    }

    /// Drops what is kept of pages before the horizon: they will not be matched again.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn drop_contents(&self, horizon: DocId) -> Result<(), StateError> {
        let horizon = [signed(horizon.0)];
        self.execute("DELETE FROM contents WHERE document < ?", horizon)?;
        self.execute("DELETE FROM keys WHERE document < ?", horizon)
    }
}

impl State {
    /// Keeps a sample, and drops those that it makes outdated.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn keep_sample(&self, change: &TemplateChange) -> Result<(), StateError> {
        let TemplateChange { sample, outdated } = change;
        let packed: Vec<u8> =
            sample.features.iter().flat_map(|feature| feature.to_le_bytes()).collect();
        let (origin, document) = (signed(sample.origin.0.get()), signed(sample.id.0));
        let insert = "INSERT OR REPLACE INTO templates VALUES (?, ?, ?, ?)";
        self.execute(insert, (origin, document, signed(sample.key.0), packed))?;
        outdated.iter().try_for_each(|outdated| {
            let delete = "DELETE FROM templates WHERE origin = ? AND document < ?";
            self.execute(delete, (signed(outdated.origin.0.get()), signed(outdated.before.0)))
        })
    }

    /// Restores the templates of all origins, or of one, into an engine that has none.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn restore_templates(
        &self,
        engine: &mut Engine,
        origin: Option<OriginKey>,
    ) -> Result<(), StateError> {
        let sql = "SELECT origin, document, key, features FROM templates WHERE origin = ?1 OR ?1 IS NULL ORDER BY document";
        let sample = |row: &Row<'_>| {
            let (origin, packed) =
                (NonZeroU64::new(unsigned(row.get(0)?)), row.get::<_, Vec<u8>>(3)?);
            let (id, key) = (DocId(unsigned(row.get(1)?)), Key(unsigned(row.get(2)?)));
            let (features, rest) = packed.as_chunks::<4>();
            let features: Vec<_> = features.iter().map(|it| u32::from_le_bytes(*it)).collect();
            let is_whole = rest.is_empty() && features.is_sorted_by(|a, b| a < b);
            let origin = origin.filter(|_| is_whole);
            Ok(origin.map(|origin| TemplateSample { id, key, origin: OriginKey(origin), features }))
        };
        self.each(sql, [origin.map(|origin| signed(origin.0.get()))], sample, |sample| {
            let damaged = StateError::Damaged("a sample of a template cannot be read");
            engine.templates.add(sample.ok_or(damaged)?);
            Ok(())
        })
    }
}

/// Packed numbers, unless bytes are missing.
fn words(packed: &[u8]) -> Option<impl Iterator<Item = u64>> {
    let (words, rest) = packed.as_chunks::<8>();
    rest.is_empty().then(|| words.iter().map(|word| u64::from_le_bytes(*word)))
}

/// What a state records of its recipe: nothing before the first start.
#[derive(Debug)]
pub(crate) struct RecordedRecipe {
    pub(crate) hash_seed: Option<HashSeed>,
    /// Whether the seed was drawn, and not configured. Only crawls record it.
    pub(crate) drawn: Option<bool>,
    scheme: Option<String>,
}

/// A key by which texts would be fingerprinted in another way than those of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: &'static str,
    /// The state's value. Seeds are named by their ids.
    pub stored: String,
    /// The value in the options.
    pub wanted: String,
}

/// The parts of a scheme, in their order.
const PARTS: [&str; 3] = ["the version of the recipe", "dedup.segment", "dedup.fold_chinese"];

impl RecordedRecipe {
    /// What this state records.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(state: &State) -> Result<Self, StateError> {
        let seed = state.meta::<i64>("seed")?;
        let hash_seed = seed.map(|seed| HashSeed(seed.cast_unsigned()));
        Ok(Self { hash_seed, drawn: state.meta("seed_drawn")?, scheme: state.meta("scheme")? })
    }

    /// Records the recipe.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(super) fn write(state: &State, recipe: Recipe) -> Result<(), StateError> {
        state.set_meta("seed", recipe.hash_seed.0.cast_signed())?;
        state.set_meta("scheme", recipe.scheme())
    }

    /// In what these options ask for another recipe, if they do.
    #[must_use]
    pub(crate) fn difference(&self, options: &Options) -> Option<Difference> {
        self.other_scheme(options).or_else(|| self.other_hash_seed(options))
    }

    /// How Chinese is split, and whether its characters are folded.
    #[cfg(feature = "crawl")]
    pub(crate) fn segment_and_folding(&self) -> Option<(Segment, bool)> {
        let mut parts = self.scheme.as_deref()?.split(':').skip(1);
        let segment = serde_json::from_value(serde_json::json!(parts.next()?)).ok()?;
        Some((segment, value(parts.next()?) == "true"))
    }

    fn other_scheme(&self, options: &Options) -> Option<Difference> {
        let stored = self.scheme.as_deref()?;
        // A scheme does not depend on the seed.
        let wanted = options.recipe(HashSeed::PUBLIC).scheme();
        let parts = PARTS.iter().zip(stored.split(':').zip(wanted.split(':')));
        let mut parts = parts.filter(|(_, (stored, wanted))| stored != wanted);
        parts.next().map(|(key, (stored, wanted))| Difference {
            key,
            stored: value(stored).to_owned(),
            wanted: value(wanted).to_owned(),
        })
    }

    fn other_hash_seed(&self, options: &Options) -> Option<Difference> {
        let known = self.hash_seed?;
        let wanted = match options.hash_seed.seed() {
            Some(seed) if seed != known => format!("a seed of id {}", seed.id()),
            None if self.drawn == Some(false) => "a secret seed".to_owned(),
            _ => return None,
        };
        Some(Difference {
            key: "dedup.seed",
            stored: format!("a seed of id {}", known.id()),
            wanted,
        })
    }
}

/// A part of a scheme as it stands in a configuration.
fn value(part: &str) -> &str {
    match part {
        "fold" => "true",
        "keep" => "false",
        other => other,
    }
}
