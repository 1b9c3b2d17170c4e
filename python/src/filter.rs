//! The filter as a Python class: in memory, or in a file.

#![expect(clippy::doc_markdown, reason = "`help()` shows these comments as they are")]

use std::{
    collections::HashMap,
    error::Error,
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use pagesieve::{
    Document, DurableFilter,
    cluster::Address,
    extract::Extractor,
    filter::{self, Key, Options, OptionsError, Representative, Thresholds, WindowOptions},
    fingerprint::{Feature, HashSeed, HashSeedChoice},
    page::{GivenId, Id, UrlOptions},
    state,
    submission::{Field, Identity, Preparation, Submission, Times},
};
use pyo3::{
    exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyString},
};
use rayon::{
    ThreadPool, ThreadPoolBuilder,
    iter::{IntoParallelIterator, ParallelIterator},
};

use crate::{
    StateError,
    decision::{Decision, similarity},
    fingerprint_dict,
    input::{Columns, Reader, id_of},
    job::{self, Job},
    many::{Decisions, OnError},
    options,
};

/// At most this many features of a document are explained.
const SHOWN: usize = 12;
/// `ENOSPC`.
const NO_ROOM: i32 = 28;

/// Judges documents in order of arrival, and remembers the unique ones of the window.
///
/// Filter(path=None, **options): without a path, or with ":memory:", the window is in memory. With "postgres://USER@HOST/DATABASE#NAME" instead, all who
/// name the same share one window. The options and their defaults:
///
/// mode="balanced"        (str) what counts as near: "balanced", "classic" or "strict"
/// similarity=None        (float) instead: how similar texts and pages must be, above 0 and at most 1; 0.95 is about the default for texts
/// radius=None            (int) for experts: the bits of 64 in which fingerprints may differ, 0 to 11; by default the mode's
/// seed                   (str or int) the seed of the hashes: "public", "secret" or a number; by default that of the file, "public" if it is new
/// segment="jieba"        (str) how Chinese is split: "jieba" or "ngrams"
/// fold_chinese=True      (bool) whether traditional and simplified characters count as the same
/// min_features=10        (int) texts of fewer features (words and pairs of words) are compared by equality only
/// article=True           (bool) whether pages are compared by what they show, and not by their texts alone
/// memory="4 GiB"         (str or int) the most memory for window and index
/// audit=0                (int) compare one look-up in this many with a scan; 0 for none
/// window={...}           (dict) "entries" (5000000) and "age" ("90d" or "unlimited"): how much is remembered. "future" (False): whether
///                        times of documents are accepted that are more than a day in the future
#[pyclass(frozen, module = "pagesieve")]
#[derive(Debug)]
pub(crate) struct Filter {
    inner: Arc<Inner>,
}

/// What jobs share with the object of Python.
#[derive(Debug)]
pub(crate) struct Inner {
    preparation: Preparation,
    options: Options,
    path: Option<PathBuf>,
    /// The number of the next document: it is named by it if it has no other name.
    next: AtomicU64,
    /// `None` when it is closed.
    open: Mutex<Option<Open>>,
    /// Whether it is about to be closed: who judges many documents stops.
    closing: AtomicBool,
    /// How many callers want decisions to be committed later.
    batches: AtomicU32,
    /// The process that made it.
    process: u32,
}

#[derive(Debug)]
struct Open {
    window: Window,
}

#[derive(Debug)]
enum Window {
    Memory(Box<filter::Filter>),
    File(Box<DurableFilter>),
}

/// Does the same with either filter.
macro_rules! either {
    ($window:expr, $filter:ident => $action:expr) => {
        match $window {
            Window::Memory($filter) => $action,
            Window::File($filter) => $action,
        }
    };
}

/// Why the filter cannot do what it is asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    Closed,
    Forked,
    State(state::StateError),
}

impl From<state::StateError> for Failure {
    fn from(error: state::StateError) -> Self {
        Self::State(error)
    }
}

/// A document that is ready to be judged.
#[derive(Debug)]
struct Prepared {
    document: Document,
    url: Option<String>,
    /// Why the page is truncated, if it is.
    cut: Option<String>,
}

/// The same options with this seed.
fn with_seed(options: &Options, seed: HashSeed) -> Options {
    let mut options = options.clone();
    options.hash_seed = HashSeedChoice::Fixed(seed);
    options
}

impl Window {
    fn in_memory(options: &Options) -> Result<Self, state::StateError> {
        Ok(Self::Memory(Box::new(filter::Filter::new(options)?)))
    }

    /// Judges a document. `looks`: only says how it would be judged.
    fn judge(&mut self, prepared: Prepared, looks: bool) -> Result<Decision, state::StateError> {
        let Prepared { document, url, cut } = prepared;
        let (judgement, of) = either!(self, filter => {
            let judgement = if looks { filter.peek(&document)? } else { filter.judge(&document)? };
            (judgement, filter.match_of(&judgement)?)
        });
        Ok(Decision { of_id: document.id().to_owned(), of_url: url, judgement, of, cut })
    }

    /// The document that is meant, if it is in the window.
    fn find(&self, identities: &[Identity]) -> Option<Representative> {
        identities.iter().find_map(|it| either!(self, filter => filter.find(it.key)))
    }

    /// Removes the document that is meant, in all its versions.
    fn remove(&mut self, identities: &[Identity]) -> Result<bool, state::StateError> {
        for identity in identities {
            let versions = either!(self, filter => filter.versions(identity.key));
            for id in &versions {
                either!(self, filter => filter.remove(*id)?);
            }
            if !versions.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn commit(&mut self) -> Result<(), state::StateError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(filter) => filter.commit(),
        }
    }
}

impl Inner {
    /// Opens the filter, unless that is `cancelled` meanwhile.
    fn open(
        path: Option<PathBuf>,
        options: Options,
        seed: HashSeed,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut window = match &path {
            Some(path) => {
                let address = path.to_str().filter(|path| Address::is_meant(path));
                let filter = match address {
                    Some(address) => {
                        let address: Address = address.parse().map_err(state::StateError::from)?;
                        DurableFilter::share(&address, &options)?
                    }
                    None => DurableFilter::open_or_create(path, &options, seed, cancelled)?,
                };
                Window::File(Box::new(filter))
            }
            None => Window::in_memory(&with_seed(&options, seed))?,
        };
        either!(&mut window, filter => filter.index_keys());
        let documents = either!(&window, filter => filter.documents());
        let preparation = Preparation::new(Extractor::default(), UrlOptions::default(), documents);
        let next = either!(&window, filter => filter.numbered());
        Ok(Self {
            preparation,
            options,
            path,
            next: AtomicU64::new(next),
            process: process::id(),
            open: Mutex::new(Some(Open { window })),
            closing: AtomicBool::new(false),
            batches: AtomicU32::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the filter that is open. Python's lock must not be held.
    fn with<T>(
        &self,
        action: impl FnOnce(&mut Window) -> Result<T, state::StateError>,
    ) -> Result<T, Failure> {
        if self.path.is_some() && self.process != process::id() {
            return Err(Failure::Forked);
        }
        Ok(action(&mut self.lock().as_mut().ok_or(Failure::Closed)?.window)?)
    }

    /// Reserves numbers for documents that may have no name. Returns the first.
    pub(crate) fn reserve(&self, count: u64) -> u64 {
        self.next.fetch_add(count, Ordering::Relaxed)
    }

    /// Judges documents, of which each has the place that was reserved for it, and commits. If the filter is closed meanwhile, the decisions are
    /// those of the first ones.
    pub(crate) fn judge_all(
        &self,
        submissions: Vec<(u64, Submission)>,
    ) -> Result<Vec<Decision>, Failure> {
        let prepared = self.prepare_all(submissions);
        let decisions = self.with(|window| {
            let mut decisions = Vec::with_capacity(prepared.len());
            for prepared in prepared {
                if self.closing.load(Ordering::Relaxed) {
                    break;
                }
                decisions.push(window.judge(prepared, false)?);
            }
            let numbered = self.next.load(Ordering::Relaxed);
            either!(window, filter => filter.reserve_numbers(numbered));
            self.commit(window)?;
            Ok(decisions)
        })?;
        if self.closing.load(Ordering::Relaxed) {
            self.close()?;
        }
        Ok(decisions)
    }

    /// Closes the file, if it is open. Who is told that the filter is closed can open it again at once.
    fn close(&self) -> Result<(), Failure> {
        let mut open = self.lock();
        // What was judged in a batch that is open is kept.
        let is_ours = self.process == process::id();
        let is_deferred = is_ours && self.batches.load(Ordering::Relaxed) > 0;
        if let Some(Open { window }) = open.as_mut().filter(|_| is_deferred) {
            window.commit()?;
        }
        drop(open.take());
        Ok(())
    }

    /// Commits, unless a caller wants that later.
    fn commit(&self, window: &mut Window) -> Result<(), state::StateError> {
        if self.batches.load(Ordering::Relaxed) > 0 { Ok(()) } else { window.commit() }
    }

    fn check(&self, submission: Submission) -> Result<Decision, Failure> {
        let number = self.next.load(Ordering::Relaxed);
        let (prepared, _) = self.prepare(submission, number);
        self.with(|window| window.judge(prepared, true))
    }

    fn prepare(&self, submission: Submission, number: u64) -> (Prepared, String) {
        let url = submission.url.as_ref().map(ToString::to_string);
        let (document, extracted) = self.preparation.prepare(submission, number);
        let cut = extracted.truncated.map(|why| why.as_str().to_owned());
        (Prepared { document, url, cut }, extracted.text)
    }

    /// Prepares documents on all cores.
    fn prepare_all(&self, submissions: Vec<(u64, Submission)>) -> Vec<Prepared> {
        let one = |(number, submission)| self.prepare(submission, number).0;
        match pool().filter(|_| submissions.len() > 1) {
            Some(pool) => pool.install(|| submissions.into_par_iter().map(one).collect()),
            None => submissions.into_iter().map(one).collect(),
        }
    }

    pub(crate) fn raise(&self, failure: Failure) -> PyErr {
        raise(self.path.as_deref(), failure)
    }
}

/// Documents from this size on are worked on beside the thread of Python, so that a signal ends the waiting.
const LONG: usize = 128 << 10;

impl Filter {
    pub(crate) fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.inner)
    }

    pub(crate) fn times(&self) -> Times {
        Times::of(&self.inner.options.window)
    }

    /// Does something with the filter. `size` is that of the documents in bytes. Where it may take long, a signal ends the waiting.
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        size: usize,
        work: impl FnOnce(&Inner) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let is_free = self.inner.open.try_lock().is_ok();
        let result = if size < LONG && is_free {
            py.detach(|| work(&self.inner))
        } else {
            let inner = self.inner();
            job::run(py, move || work(&inner))?
        };
        result.map_err(|failure| self.inner.raise(failure))
    }

    fn read(
        &self,
        arguments: [Option<Bound<'_, PyAny>>; 6],
        py: Python<'_>,
    ) -> PyResult<Submission> {
        let fields = PyDict::new(py);
        let names = ["text", "id", "html", "url", "time", "content_type"];
        for (name, value) in names.iter().zip(arguments) {
            fields.set_item(name, value)?;
        }
        let read = Reader::new(Columns::default(), self.times()).read_dict(&fields);
        read.map_err(|problem| problem.raise(None))
    }
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (path=None, **options))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, seed) = options::read(py, options)?;
        let path = path.filter(|path| path.as_os_str() != ":memory:");
        if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            let message =
                "the path is empty: name a file, or leave the path out for a window in memory";
            return Err(PyValueError::new_err(message));
        }
        let file = path.clone();
        let cancelled = Arc::new(AtomicBool::new(false));
        let ours = Arc::clone(&cancelled);
        let job = Job::start(move || Inner::open(path, options, seed, ours))?;
        let opened = job.wait(py).inspect_err(|_| {
            cancelled.store(true, Ordering::Relaxed);
            job.linger(py);
        })?;
        let inner = opened.map_err(|failure| raise(file.as_deref(), failure))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Judges a document and remembers it. In a file, the decision is durable when this returns, unless `batch()` is open.
    ///
    /// text: its text, or html: a page, as str or as the bytes that were received
    /// id: a str or an int that names it; without one its url names it, or else "#5" for the sixth document
    /// url: its absolute URL: links and what pages have in common are those of its site
    /// time: when it arrived: a datetime with a time zone, RFC 3339, or seconds or milliseconds since 1970 (int or float); by default now
    /// content_type: the header that came with the bytes of a page
    #[pyo3(signature = (text=None, *, id=None, html=None, url=None, time=None, content_type=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn judge<'py>(
        &self,
        py: Python<'py>,
        text: Option<Bound<'py, PyAny>>,
        id: Option<Bound<'py, PyAny>>,
        html: Option<Bound<'py, PyAny>>,
        url: Option<Bound<'py, PyAny>>,
        time: Option<Bound<'py, PyAny>>,
        content_type: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Decision> {
        let submission = self.read([text, id, html, url, time, content_type], py)?;
        let size = submission.len();
        let mut decisions = self.work(py, size, move |inner| {
            let number = inner.reserve(1);
            inner.judge_all(vec![(number, submission)])
        })?;
        decisions.pop().ok_or_else(|| self.inner.raise(Failure::Closed))
    }

    /// How a document would be judged now. Nothing is remembered. The arguments are those of `judge`.
    #[pyo3(signature = (text=None, *, id=None, html=None, url=None, time=None, content_type=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn check<'py>(
        &self,
        py: Python<'py>,
        text: Option<Bound<'py, PyAny>>,
        id: Option<Bound<'py, PyAny>>,
        html: Option<Bound<'py, PyAny>>,
        url: Option<Bound<'py, PyAny>>,
        time: Option<Bound<'py, PyAny>>,
        content_type: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Decision> {
        let submission = self.read([text, id, html, url, time, content_type], py)?;
        self.work(py, submission.len(), move |inner| inner.check(submission))
    }

    /// Judges many documents, some at a time: an iterator of decisions in order.
    ///
    /// documents: an iterable of texts, pairs (id, text), dicts or tables; or a table or column of pyarrow, pandas, polars or DuckDB, a
    ///     pyarrow.dataset.Dataset or a polars.LazyFrame, which is read in batches
    /// text, html, id, url, time, content_type: what the fields or columns are called
    /// on_error: what is done with a document that cannot be read: "raise" an exception, "skip" it, or "report": give the exception in its place
    /// as_table: return a pyarrow.Table with a row for each document instead: id, verdict, match, similarity, and is_unique, which is a mask
    /// chunk: how many documents are judged together
    #[pyo3(signature = (documents, *, text=None, html=None, id=None, url=None, time=None, content_type=None, on_error="raise", as_table=false, chunk=1024))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn judge_many<'py>(
        this: Bound<'py, Self>,
        documents: &Bound<'py, PyAny>,
        text: Option<String>,
        html: Option<String>,
        id: Option<String>,
        url: Option<String>,
        time: Option<String>,
        content_type: Option<String>,
        on_error: &str,
        as_table: bool,
        chunk: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        refuse_one(documents)?;
        let chunk = usize::try_from(chunk).ok().and_then(NonZeroUsize::new).ok_or_else(|| {
            PyValueError::new_err(format!("`chunk`: {chunk} is too small: write 1 or more"))
        })?;
        let py = this.py();
        let mut columns = Columns::default();
        let names = [
            (Field::Text, text),
            (Field::Html, html),
            (Field::Id, id),
            (Field::Url, url),
            (Field::Time, time),
            (Field::ContentType, content_type),
        ];
        columns.rename_all(&names);
        let reader = Reader::new(columns, this.get().times());
        let on_error = OnError::named(on_error)?;
        let mut decisions =
            Decisions::new(this.unbind(), documents, reader, (chunk.get(), on_error))?;
        if as_table {
            return decisions.into_table(py);
        }
        decisions.warn(py)?;
        Ok(Bound::new(py, decisions)?.into_any())
    }

    /// The same, with the places of documents as their ids: for `clusters`.
    #[pyo3(signature = (documents, *, text=None, html=None, url=None, content_type=None, on_error="raise"))]
    fn _judge_rows(
        this: Bound<'_, Self>,
        documents: &Bound<'_, PyAny>,
        text: Option<String>,
        html: Option<String>,
        url: Option<String>,
        content_type: Option<String>,
        on_error: &str,
    ) -> PyResult<Decisions> {
        refuse_one(documents)?;
        let mut columns = Columns::default();
        let names = [
            (Field::Text, text),
            (Field::Html, html),
            (Field::Url, url),
            (Field::ContentType, content_type),
        ];
        columns.rename_all(&names);
        let reader = Reader::new(columns, this.get().times());
        let how = (1024, OnError::named(on_error)?);
        Ok(Decisions::new(this.unbind(), documents, reader, how)?.by_place())
    }

    /// Removes a document by its id or URL: from now on nothing repeats it. Returns whether it was in the window.
    fn remove(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let identities = self.identities(id)?;
        self.work(id.py(), 0, move |inner| {
            inner.with(|window| {
                let was_there = window.remove(&identities)?;
                inner.commit(window)?;
                Ok(was_there)
            })
        })
    }

    /// What the window has of a document, by its id or URL: a dict with `id`, `time` (milliseconds since 1970), `fingerprint` and `signature` (None
    /// if the text is too short for one), or None if it is not there.
    fn get<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = id.py();
        let identities = self.identities(id)?;
        let found =
            self.work(py, 0, move |inner| inner.with(|window| Ok(window.find(&identities))))?;
        let Some(held) = found else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("id", id)?;
        dict.set_item("time", held.at.0)?;
        dict.set_item("fingerprint", held.signature().map(|it| it.fingerprint().to_string()))?;
        dict.set_item("signature", held.signature().map(|it| it.to_string()))?;
        Ok(Some(dict))
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let identities = self.identities(id)?;
        self.work(id.py(), 0, move |inner| {
            inner.with(|window| Ok(window.find(&identities).is_some()))
        })
    }

    /// The unique documents in the window.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.work(py, 0, |inner| inner.with(|window| Ok(either!(window, filter => filter.len()))))
    }

    /// An empty filter is a filter.
    #[expect(clippy::unused_self, reason = "Python calls it as a method")]
    fn __bool__(&self) -> bool {
        true
    }

    /// Commits later: with `with f.batch():`, the decisions of `judge` are durable together at its end, also if it ends with an exception; a kill
    /// within it forgets them. Without it, each is by itself.
    fn batch(this: Bound<'_, Self>) -> Batch {
        Batch { filter: this.unbind() }
    }

    /// How much was judged since the window was begun: `judged`, which is the sum of `unique` (with changed versions), `exact`, `near` and
    /// `unchanged`; and how large the window is (`window`).
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.work(py, 0, |inner| {
            inner.with(|window| {
                Ok(either!(window, filter => {
                    let [exact, near] = filter.duplicates();
                    let unchanged = filter.unchanged();
                    let unique = filter.judged() - exact - near - unchanged;
                    [filter.judged(), unique, exact, near, unchanged, filter.len() as u64]
                }))
            })
        })?;
        let dict = PyDict::new(py);
        let names = ["judged", "unique", "exact", "near", "unchanged", "window"];
        for (name, count) in names.iter().zip(counts) {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// How the second document would be judged after the first, and in what the two differ. The filter stays as it is.
    fn explain<'py>(
        &self,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut reader = Reader::new(Columns::default(), self.times());
        let mut read = |document| reader.read(document).map_err(|problem| problem.raise(None));
        let submissions = [read(a)?, read(b)?];
        let size = submissions.iter().map(Submission::len).sum();
        let explained = self.work(a.py(), size, move |inner| explain(inner, submissions))?;
        explained.into_dict(a.py())
    }

    /// The fingerprint and the signature of a text, as this filter makes them.
    fn fingerprint<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
        let (py, text) = (text.py(), text.to_str()?.to_owned());
        let sketch = self.work(py, text.len(), move |inner| {
            Ok(inner.preparation.documents().fingerprinter().sketch(&text))
        })?;
        fingerprint_dict(py, &sketch)
    }

    /// Closes the file, which another process can then open. Who is judging many documents stops.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.closing.store(true, Ordering::Relaxed);
        self.work(py, 0, Inner::close)
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match &self.inner.path {
            Some(path) => format!("Filter({:?})", path.display().to_string()),
            None => "Filter()".to_owned(),
        }
    }
}

impl Filter {
    /// The documents that may be meant by an id. The number of one without name is written as it is printed.
    fn identities(&self, id: &Bound<'_, PyAny>) -> PyResult<Vec<Identity>> {
        let urls = self.inner.preparation.urls();
        let id = id_of(id)?;
        let mut meant = Identity::meant_by(&id, urls);
        let printed = Id::printed_as(id.as_str()).into_iter();
        let unnamed = printed.filter(|it| matches!(it.given(), GivenId::Unnamed(_)));
        meant.extend(unnamed.map(|it| Identity::of_id(&it)));
        Ok(meant)
    }
}

/// Many documents are no text, no dict and no path.
fn refuse_one(documents: &Bound<'_, PyAny>) -> PyResult<()> {
    if documents.is_instance_of::<PyString>()
        || documents.is_instance_of::<PyBytes>()
        || documents.is_instance_of::<PyDict>()
    {
        let message = "judge_many() takes many documents, and this is one: use judge()";
        return Err(PyTypeError::new_err(message));
    }
    Ok(())
}

/// Defers commits until its end.
#[pyclass(frozen, module = "pagesieve")]
#[derive(Debug)]
pub(crate) struct Batch {
    filter: Py<Filter>,
}

#[pymethods]
impl Batch {
    fn __enter__(&self, py: Python<'_>) -> Py<Filter> {
        self.filter.get().inner.batches.fetch_add(1, Ordering::Relaxed);
        self.filter.clone_ref(py)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        let filter = self.filter.get();
        filter.inner.batches.fetch_sub(1, Ordering::Relaxed);
        filter.work(py, 0, |inner| inner.with(|window| inner.commit(window)))
    }
}

/// The second of two documents, judged after the first.
struct Explanation {
    decision: Decision,
    rule: String,
    distance: u32,
    signature_distance: u32,
    /// What weighs more in either document: feature, its weight there, and in the other.
    more: [Vec<(String, u32, u32)>; 2],
}

impl Explanation {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let [a, b] = self.more;
        let dict = PyDict::new(py);
        dict.set_item("decision", Bound::new(py, self.decision)?)?;
        dict.set_item("rule", self.rule)?;
        dict.set_item("distance", self.distance)?;
        dict.set_item("signature_distance", self.signature_distance)?;
        dict.set_item("similarity", similarity(self.signature_distance))?;
        dict.set_item("more_in_a", a)?;
        dict.set_item("more_in_b", b)?;
        Ok(dict)
    }
}

fn explain(inner: &Inner, submissions: [Submission; 2]) -> Result<Explanation, Failure> {
    let fingerprinter = inner.preparation.documents().fingerprinter();
    let mut two = with_seed(&inner.options, fingerprinter.recipe().hash_seed);
    two.window = WindowOptions::new(NonZeroU64::MIN, None);
    let mut window = Window::in_memory(&two)?;
    either!(&mut window, filter => filter.index_keys());
    let [(mut a, text_a), (mut b, text_b)] = submissions.map(|it| inner.prepare(it, 0));
    // No document repeats itself, whatever their ids are.
    (a.document, b.document) = (a.document.with_key(Key(1)), b.document.with_key(Key(2)));
    let [sketch_a, sketch_b] = [a.document.sketch().clone(), b.document.sketch().clone()];
    window.judge(a, false)?;
    let (signature_a, signature_b) = (sketch_a.text.signature, sketch_b.text.signature);
    Ok(Explanation {
        decision: window.judge(b, false)?,
        rule: rule(&two, [sketch_a.text.features, sketch_b.text.features]),
        distance: signature_a.fingerprint().distance(signature_b.fingerprint()),
        signature_distance: signature_a.distance(&signature_b),
        more: more([&text_a, &text_b].map(|text| fingerprinter.features(text))),
    })
}

/// When the second text is a near duplicate of the first.
fn rule(options: &Options, features: [u32; 2]) -> String {
    let (least, thresholds) = (options.min_features, Thresholds::new(options));
    if features.iter().any(|features| *features < least) {
        return format!(
            "only equal texts are duplicates, because one has fewer than {least} features (min_features)"
        );
    }
    let (radius, most) = (thresholds.radius(), thresholds.signature_radius(features[1]));
    format!(
        "fingerprints differ in at most {radius} of 64 bits, signatures in at most {most} of 256"
    )
}

/// The features that weigh more in either document, the largest differences first.
fn more(features: [Vec<Feature>; 2]) -> [Vec<(String, u32, u32)>; 2] {
    let weights = features.each_ref().map(|features| {
        let weights = features.iter().map(|it| (it.text.clone(), it.weight));
        weights.collect::<HashMap<_, _>>()
    });
    let [a, b] = features;
    [(a, &weights[1]), (b, &weights[0])].map(|(features, others)| {
        let other = |text: &str| others.get(text).copied().unwrap_or(0);
        let all = features.into_iter().map(|it| (other(&it.text), it));
        let mut more: Vec<_> = all
            .filter(|(other, it)| it.weight > *other)
            .map(|(other, it)| (it.text, it.weight, other))
            .collect();
        more.sort_by_key(|(_, own, other)| std::cmp::Reverse(own - other));
        more.truncate(SHOWN);
        more
    })
}

/// The threads of this process; `None` if it gets none. A fork has none of its parent's threads, and makes its own.
fn pool() -> Option<Arc<ThreadPool>> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = pool.as_ref().filter(|(process, _)| *process == process::id()) {
        return Some(Arc::clone(pool));
    }
    let made = Arc::new(ThreadPoolBuilder::new().build().ok()?);
    // Dropping the parent's would wait for its threads.
    std::mem::forget(pool.replace((process::id(), Arc::clone(&made))));
    Some(made)
}

/// The exception for a failure of the filter in this file.
fn raise(path: Option<&Path>, failure: Failure) -> PyErr {
    let error = match failure {
        Failure::Closed => return PyValueError::new_err("the filter is closed: open it again"),
        Failure::Forked => {
            let message = "the filter in a file belongs to the process that opened it: open another file in a new process";
            return StateError::new_err(message);
        }
        Failure::State(error @ state::StateError::Forked) => {
            return StateError::new_err(error.to_string());
        }
        Failure::State(state::StateError::Busy { path }) => {
            let message =
                "is in use by another process, or by another Filter of this one: close it";
            return StateError::new_err(format!("{} {message}", path.display()));
        }
        Failure::State(error) => error,
    };
    let mut message = error.to_string();
    // An address may have a password.
    let path = path.map(|path| path.display().to_string()).filter(|path| !Address::is_meant(path));
    if let Some(path) = path
        && !message.contains(&path)
    {
        message = format!("{path}: {message}");
    }
    let mut source = error.source();
    while let Some(error) = source {
        message = format!("{message}: {error}");
        source = error.source();
    }
    match error {
        state::StateError::Memory(OptionsError::Refused(_)) => PyMemoryError::new_err(message),
        _ if error.is_full() => PyOSError::new_err((NO_ROOM, message)),
        state::StateError::Linked { .. } => StateError::new_err(message),
        _ if error.is_misuse() => PyValueError::new_err(message),
        _ => StateError::new_err(message),
    }
}
