//! The filter as a Python class: in memory, or in a file.

use std::{
    collections::{HashMap, VecDeque},
    error::Error,
    f64::consts::PI,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use pagesieve::{
    DocId, DurableFilter,
    filter::{self, Documents, Key, Kind, Options, OptionsError, Thresholds, WindowOptions},
    fingerprint::{Feature, HashSeedChoice},
    state,
};
use pyo3::{
    exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyString},
};
use rayon::{
    ThreadPool, ThreadPoolBuilder,
    iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator},
};

use crate::{
    StateError,
    decision::Decision,
    fingerprint_dict,
    input::{Input, Preparation, Prepared, id_of},
    many::Decisions,
    options,
};

/// At most this many features of a document are explained.
const SHOWN: usize = 12;
/// `ENOSPC`.
const NO_ROOM: i32 = 28;

/// Judges documents in order of arrival, and remembers the unique ones of the window.
#[pyclass(frozen, module = "pagesieve")]
#[derive(Debug)]
pub(crate) struct Filter {
    preparation: Preparation,
    options: Options,
    path: Option<PathBuf>,
    /// The number of the next document: its id if it has no other.
    next: AtomicU64,
    /// `None` when it is closed.
    open: Mutex<Option<Open>>,
    /// The process that made it.
    process: u32,
}

#[derive(Debug)]
struct Open {
    window: Window,
    exact: u64,
    near: u64,
    unique: u64,
}

#[derive(Debug)]
enum Window {
    /// With the ids of its documents, oldest first.
    Memory(Box<filter::Filter>, VecDeque<(DocId, Box<str>)>),
    File(Box<DurableFilter>),
}

/// Why the filter cannot do what it is asked for.
#[derive(Debug)]
enum Failure {
    Closed,
    Forked,
    State(state::StateError),
}

impl From<state::StateError> for Failure {
    fn from(error: state::StateError) -> Self {
        Self::State(error)
    }
}

impl Window {
    fn in_memory(options: &Options) -> Result<Self, state::StateError> {
        Ok(Self::Memory(Box::new(filter::Filter::new(options)?), VecDeque::new()))
    }

    fn documents(&self) -> Documents {
        match self {
            Self::Memory(filter, _) => filter.documents(),
            Self::File(filter) => filter.documents(),
        }
    }

    fn judged(&self) -> u64 {
        match self {
            Self::Memory(filter, _) => filter.judged(),
            Self::File(filter) => filter.judged(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Memory(filter, _) => filter.len(),
            Self::File(filter) => filter.len(),
        }
    }

    fn judge(&mut self, prepared: Prepared) -> Result<Decision, state::StateError> {
        let Prepared { document, url, truncated } = prepared;
        let (judgement, of) = match self {
            Self::Memory(filter, ids) => {
                let judgement = filter.judge(&document)?;
                let oldest = filter.oldest();
                while ids.pop_front_if(|(number, _)| *number < oldest).is_some() {}
                if judgement.verdict.is_unique() {
                    ids.push_back((judgement.id, document.id().into()));
                }
                let of = judgement.verdict.matched().and_then(|found| {
                    let place = ids.binary_search_by_key(&found.of, |(number, _)| *number).ok()?;
                    Some(ids[place].1.to_string())
                });
                (judgement, of)
            }
            Self::File(filter) => {
                let judgement = filter.judge(&document)?;
                let found = judgement.verdict.matched();
                (judgement, found.map(|found| filter.id_of(found.of)).transpose()?)
            }
        };
        let id = document.id().to_owned();
        Ok(Decision { of_id: id, of_url: url, judgement, of, cut: truncated })
    }

    fn remove(&mut self, key: Key) -> Result<bool, state::StateError> {
        let versions = match self {
            Self::Memory(filter, _) => filter.versions(key),
            Self::File(filter) => filter.versions(key),
        };
        for id in &versions {
            match self {
                Self::Memory(filter, _) => filter.remove(*id)?,
                Self::File(filter) => filter.remove(*id)?,
            };
        }
        Ok(!versions.is_empty())
    }

    fn commit(&mut self) -> Result<(), state::StateError> {
        match self {
            Self::Memory(..) => Ok(()),
            Self::File(filter) => filter.commit(),
        }
    }
}

impl Filter {
    fn open(path: Option<PathBuf>, options: Options) -> Result<Self, Failure> {
        let window = match &path {
            Some(path) => Window::File(Box::new(DurableFilter::open(path, &options)?)),
            None => Window::in_memory(&options)?,
        };
        Ok(Self {
            preparation: Preparation::new(window.documents()),
            options,
            path,
            next: AtomicU64::new(window.judged()),
            process: process::id(),
            open: Mutex::new(Some(Open { window, exact: 0, near: 0, unique: 0 })),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the filter that is open. Python's lock must not be held.
    fn with<T>(
        &self,
        action: impl FnOnce(&mut Open) -> Result<T, state::StateError>,
    ) -> Result<T, Failure> {
        if self.path.is_some() && self.process != process::id() {
            return Err(Failure::Forked);
        }
        Ok(action(self.lock().as_mut().ok_or(Failure::Closed)?)?)
    }

    /// Judges documents in order, and commits.
    pub(crate) fn judge_all(&self, py: Python<'_>, inputs: Vec<Input>) -> PyResult<Vec<Decision>> {
        py.detach(|| {
            let first = self.next.fetch_add(inputs.len() as u64, Ordering::Relaxed);
            let prepared = prepare(&self.preparation, inputs, first);
            self.with(|open| {
                let mut decisions = Vec::with_capacity(prepared.len());
                for prepared in prepared {
                    let decision = open.window.judge(prepared)?;
                    *match decision.judgement.verdict.matched().map(|found| found.kind) {
                        None => &mut open.unique,
                        Some(Kind::Exact) => &mut open.exact,
                        Some(_) => &mut open.near,
                    } += 1;
                    decisions.push(decision);
                }
                open.window.commit()?;
                Ok(decisions)
            })
        })
        .map_err(|failure| self.raise(failure))
    }

    fn raise(&self, failure: Failure) -> PyErr {
        raise(self.path.as_deref(), failure)
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
        let options = options::read(options)?;
        let file = path.clone();
        py.detach(|| Self::open(path, options)).map_err(|failure| raise(file.as_deref(), failure))
    }

    /// Judges a document and remembers it. In a file, the decision is durable when this returns.
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
        let fields = PyDict::new(py);
        let names = ["text", "id", "html", "url", "time", "content_type"];
        for (name, value) in names.iter().zip([text, id, html, url, time, content_type]) {
            fields.set_item(name, value)?;
        }
        let mut decisions = self.judge_all(py, vec![Input::of_fields(&fields)?])?;
        Ok(decisions.remove(0))
    }

    /// Judges many documents, some at a time: an iterator of decisions in order.
    #[pyo3(signature = (documents, *, chunk=1024))]
    fn judge_many(
        this: Bound<'_, Self>,
        documents: &Bound<'_, PyAny>,
        chunk: usize,
    ) -> PyResult<Decisions> {
        if documents.is_instance_of::<PyString>()
            || documents.is_instance_of::<PyBytes>()
            || documents.is_instance_of::<PyDict>()
        {
            let message = "judge_many() takes many documents, and this is one: use judge()";
            return Err(PyTypeError::new_err(message));
        }
        Decisions::new(this.unbind(), documents, chunk)
    }

    /// Removes a document by its id or URL: from now on nothing repeats it. Returns whether it was in the window.
    fn remove(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let name = id_of(id)?;
        let url = url::Url::parse(&name).ok();
        let keys = [Some(Key::of(&name)), url.map(|url| self.preparation.key(&url))];
        let removed = id.py().detach(|| {
            self.with(|open| {
                let mut was_there = false;
                for key in keys.into_iter().flatten() {
                    was_there |= open.window.remove(key)?;
                }
                open.window.commit()?;
                Ok(was_there)
            })
        });
        removed.map_err(|failure| self.raise(failure))
    }

    /// How much was judged, and how large the window is.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = py.detach(|| {
            self.with(|open| {
                let (judged, window) = (open.window.judged(), open.window.len() as u64);
                Ok([judged, open.unique, open.exact, open.near, window])
            })
        });
        let counts = counts.map_err(|failure| self.raise(failure))?;
        let dict = PyDict::new(py);
        for (name, count) in ["judged", "unique", "exact", "near", "window"].iter().zip(counts) {
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
        let py = a.py();
        let inputs = [Input::of(a)?, Input::of(b)?];
        let explained = py.detach(|| explain(&self.preparation, &self.options, inputs));
        explained.map_err(|failure| self.raise(failure))?.into_dict(py)
    }

    /// The fingerprint and the signature of a text, as this filter makes them.
    fn fingerprint<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
        let (py, text) = (text.py(), text.to_str()?);
        let sketch = py.detach(|| self.preparation.documents.fingerprinter().sketch(text));
        fingerprint_dict(py, &sketch)
    }

    /// Closes the file, which another process can then open.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        match &self.path {
            Some(path) => format!("Filter({:?})", path.display().to_string()),
            None => "Filter()".to_owned(),
        }
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
        let similarity = (PI * f64::from(self.signature_distance) / 256.0).cos().max(0.0);
        let [a, b] = self.more;
        let dict = PyDict::new(py);
        dict.set_item("decision", Bound::new(py, self.decision)?)?;
        dict.set_item("rule", self.rule)?;
        dict.set_item("distance", self.distance)?;
        dict.set_item("signature_distance", self.signature_distance)?;
        dict.set_item("similarity", (similarity * 1e4).round() / 1e4)?;
        dict.set_item("more_in_a", a)?;
        dict.set_item("more_in_b", b)?;
        Ok(dict)
    }
}

fn explain(
    preparation: &Preparation,
    options: &Options,
    inputs: [Input; 2],
) -> Result<Explanation, Failure> {
    let fingerprinter = preparation.documents.fingerprinter();
    let mut two = options.clone();
    two.hash_seed = HashSeedChoice::Fixed(fingerprinter.recipe().hash_seed);
    two.window = WindowOptions::new(std::num::NonZeroU64::MIN, None);
    let mut window = Window::in_memory(&two)?;
    let [(mut a, text_a), (mut b, text_b)] = inputs.map(|input| preparation.prepare(input, 0));
    // No document repeats itself, whatever their ids are.
    (a.document, b.document) = (a.document.with_key(Key(1)), b.document.with_key(Key(2)));
    let [sketch_a, sketch_b] = [a.document.sketch().clone(), b.document.sketch().clone()];
    window.judge(a)?;
    let (signature_a, signature_b) = (sketch_a.text.signature, sketch_b.text.signature);
    Ok(Explanation {
        decision: window.judge(b)?,
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

/// Prepares documents on all cores.
fn prepare(preparation: &Preparation, inputs: Vec<Input>, first: u64) -> Vec<Prepared> {
    let one = |(place, input)| preparation.prepare(input, first + place as u64).0;
    match pool().filter(|_| inputs.len() > 1) {
        Some(pool) => pool.install(|| inputs.into_par_iter().enumerate().map(one).collect()),
        None => inputs.into_iter().enumerate().map(one).collect(),
    }
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
            return PyRuntimeError::new_err(message);
        }
        Failure::State(error) => error,
    };
    let mut message = error.to_string();
    if let Some(path) = path.map(|path| path.display().to_string())
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
        _ if error.is_misuse() => PyValueError::new_err(message),
        _ => StateError::new_err(message),
    }
}
