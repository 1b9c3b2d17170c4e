//! Judges an iterable of documents, or a table of Arrow, some documents at a time.
//!
//! Whatever may block or call back into Python runs on a thread of its own, without Python's lock. A signal ends the waiting; what was read and
//! judged by then is not lost: whoever goes on with the iterator gets it.

use std::{
    collections::VecDeque,
    ffi::CString,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field as Column, Schema};
use pagesieve::{
    page::{GivenId, Id},
    submission::Submission,
};
use pyo3::{
    exceptions::{PyException, PyTypeError, PyUserWarning, PyValueError},
    prelude::*,
    types::PyIterator,
};
use pyo3_arrow::PyTable;

use crate::{
    arrow::{self, Batches, Rows},
    decision::Decision,
    filter::{Failure, Filter},
    input::{Problem, Reader},
    job::Job,
};

/// At most this many bytes of documents are judged together.
const MOST_BYTES: usize = 16 << 20;

/// What is done with a document that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    Raise,
    Skip,
    Report,
}

impl OnError {
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        match name {
            "raise" => Ok(Self::Raise),
            "skip" => Ok(Self::Skip),
            "report" => Ok(Self::Report),
            other => Err(PyValueError::new_err(format!(
                "`on_error`: {other:?} is unknown; write \"raise\", \"skip\" or \"report\""
            ))),
        }
    }
}

/// The decisions about many documents, in order.
#[pyclass(module = "pagesieve")]
pub(crate) struct Decisions {
    filter: Py<Filter>,
    source: Source,
    reader: Reader,
    /// How many documents are judged together.
    chunk: usize,
    on_error: OnError,
    /// Whether the ids of documents are their places, whatever ids they have.
    by_place: bool,
    /// How many documents were read.
    read: u64,
    /// What was read and is not being judged yet.
    gathered: Vec<(u64, Slot)>,
    /// What is being judged, and the places of the documents among errors.
    judging: Option<(Judging, Vec<Option<Item>>)>,
    ready: VecDeque<Item>,
    is_over: bool,
}

type Judging = Job<Result<Vec<Decision>, Failure>>;
type Reading = Job<(Batches, Option<Result<ArrayRef, ArrowError>>)>;

/// A document, or why there is none.
enum Slot {
    Document(Submission),
    Wrong(Wrong),
}

/// Why there is no document.
enum Wrong {
    /// It cannot be read.
    Document(Problem),
    /// The caller's iterator raised it.
    Source(PyErr),
}

enum Item {
    Decision(Box<Decision>),
    /// A document that cannot be read, and its place.
    Wrong(Problem, u64),
    /// An error that is raised whatever is done with documents.
    Raised(PyErr),
}

/// Where documents come from: one item after another, of which each may be a table, which is read batch by batch.
struct Source {
    items: Option<Py<PyIterator>>,
    /// Used by one thread at a time.
    batches: Option<Mutex<Batches>>,
    reading: Option<Reading>,
    rows: Option<Rows>,
}

impl Source {
    fn of(documents: &Bound<'_, PyAny>, reader: &mut Reader) -> PyResult<Self> {
        if arrow::is_arrow(documents)? {
            match arrow::batches(documents, reader) {
                // Arrow does not take all objects of Python.
                Err(error)
                    if error.is_instance_of::<PyException>(documents.py())
                        && is_of_objects(documents)? => {}
                batches => return Ok(Self::new(None, Some(batches?))),
            }
        }
        // A LazyFrame of polars.
        if documents.hasattr("collect_batches")? {
            let names = documents.call_method0("collect_schema")?.call_method0("names")?;
            let names = arrow::read_names(&names.extract::<Vec<String>>()?, reader)?;
            let frames = documents.call_method1("select", (names,))?;
            let more = Some(frames.call_method0("collect_batches")?.try_iter()?.unbind());
            return Ok(Self::new(more, None));
        }
        // A Dataset of PyArrow, or a Scanner of one.
        let scanner = if documents.hasattr("scanner")? {
            let names = documents.getattr("schema")?.getattr("names")?;
            let names = arrow::read_names(&names.extract::<Vec<String>>()?, reader)?;
            Some(documents.call_method1("scanner", (names,))?)
        } else {
            documents.hasattr("to_reader")?.then(|| documents.clone())
        };
        if let Some(scanner) = scanner {
            let batches = arrow::batches(&scanner.call_method0("to_reader")?, reader)?;
            return Ok(Self::new(None, Some(batches)));
        }
        // A ParquetFile.
        let items = if documents.hasattr("iter_batches")? {
            documents.call_method0("iter_batches")?.try_iter()?
        } else {
            documents.try_iter().map_err(|error| not_many(documents, error))?
        };
        Ok(Self::new(Some(items.unbind()), None))
    }

    fn new(items: Option<Py<PyIterator>>, batches: Option<Batches>) -> Self {
        Self { items, batches: batches.map(Mutex::new), reading: None, rows: None }
    }

    /// The next document. The outer error is a signal or the end of the process: it says nothing of the documents.
    fn next(&mut self, py: Python<'_>, reader: &mut Reader) -> PyResult<Option<Slot>> {
        loop {
            if let Some(row) = self.rows.as_mut().and_then(|rows| rows.take(reader)) {
                return Ok(Some(Slot::of(row)));
            }
            self.rows = None;
            if let Some(reading) = &self.reading {
                let (batches, batch) = reading.wait(py)?;
                self.reading = None;
                match batch {
                    Some(Ok(batch)) => {
                        self.batches = Some(Mutex::new(batches));
                        match Rows::of(&batch, &reader.columns) {
                            Ok(rows) => self.rows = Some(rows),
                            Err(error) => return Ok(Some(Slot::Wrong(Wrong::Source(error)))),
                        }
                    }
                    Some(Err(error)) => {
                        py.detach(|| drop(batches));
                        let error = PyValueError::new_err(error.to_string());
                        return Ok(Some(Slot::Wrong(Wrong::Source(error))));
                    }
                    None => py.detach(|| drop(batches)),
                }
                continue;
            }
            if let Some(batches) = self.batches.take() {
                let mut batches = batches.into_inner().unwrap_or_else(PoisonError::into_inner);
                self.reading = Some(Job::start(move || {
                    let batch = batches.next();
                    (batches, batch)
                })?);
                continue;
            }
            let item = self.items.as_ref().and_then(|items| items.bind(py).clone().next());
            let read = match item {
                None => return Ok(None),
                Some(Ok(item)) => match reader.read(&item) {
                    Err(_) if arrow::is_arrow(&item)? => arrow::batches(&item, reader),
                    read => return Ok(Some(Slot::of(read))),
                },
                Some(Err(error)) => Err(error),
            };
            match read {
                Ok(batches) => self.batches = Some(Mutex::new(batches)),
                Err(error) if error.is_instance_of::<PyException>(py) => {
                    return Ok(Some(Slot::Wrong(Wrong::Source(error))));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Why these are not many documents, if Python cannot iterate over them; else what their own code raised.
fn not_many(documents: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let (py, kind) = (documents.py(), documents.get_type());
    if !error.is_instance_of::<PyTypeError>(py) || kind.hasattr("__iter__").unwrap_or(true) {
        return error;
    }
    let kind = kind.name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "judge_many() takes a table, a column or an iterable of documents, not {kind}; it opens no files: read them first, such as by pyarrow.dataset.dataset(path)"
    ))
}

/// Whether it is a column whose values are any objects, of pandas or Polars.
fn is_of_objects(column: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(column.hasattr("dtype")?
        && column.getattr("dtype")?.str()?.to_str()?.eq_ignore_ascii_case("object"))
}

impl Slot {
    fn of(read: Result<Submission, Problem>) -> Self {
        match read {
            Ok(submission) => Self::Document(submission),
            Err(error) => Self::Wrong(Wrong::Document(error)),
        }
    }
}

/// Whoever gives batches may wait for a thread that needs Python's lock, also when it is dropped.
impl Drop for Source {
    fn drop(&mut self) {
        let (batches, reading) = (self.batches.take(), self.reading.take());
        if batches.is_some() || reading.is_some() {
            Python::attach(|py| py.detach(|| drop((batches, reading))));
        }
    }
}

impl Decisions {
    pub(crate) fn new(
        filter: Py<Filter>,
        documents: &Bound<'_, PyAny>,
        mut reader: Reader,
        (chunk, on_error): (usize, OnError),
    ) -> PyResult<Self> {
        let source = Source::of(documents, &mut reader)?;
        Ok(Self {
            filter,
            source,
            reader,
            chunk,
            on_error,
            by_place: false,
            read: 0,
            gathered: Vec::new(),
            judging: None,
            ready: VecDeque::new(),
            is_over: false,
        })
    }

    /// The same, with the places of the documents as their ids.
    pub(crate) fn by_place(self) -> Self {
        Self { by_place: true, ..self }
    }

    /// Names what is not read, once.
    pub(crate) fn warn(&mut self, py: Python<'_>) -> PyResult<()> {
        let unknown = std::mem::take(&mut self.reader.unknown);
        if unknown.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = unknown.iter().map(|name| format!("`{name}`")).collect();
        let read: Vec<_> =
            self.reader.columns.0.iter().map(|(_, name)| format!("`{name}`")).collect();
        let message = format!(
            "not read: {}. The fields and columns that are read are {}; name others as in `judge_many(…, text=\"content\")`",
            names.join(", "),
            read.join(", ")
        );
        let message = CString::new(message).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)
    }

    /// Reads documents until there are enough to be judged together, the source ends, or one cannot be read.
    fn gather(&mut self, py: Python<'_>) -> PyResult<()> {
        let size = |slot: &Slot| match slot {
            Slot::Document(submission) => submission.len(),
            Slot::Wrong(_) => 0,
        };
        let mut bytes: usize = self.gathered.iter().map(|(_, slot)| size(slot)).sum();
        while self.gathered.len() < self.chunk && bytes < MOST_BYTES && !self.is_over {
            let Some(slot) = self.source.next(py, &mut self.reader)? else {
                self.is_over = true;
                break;
            };
            bytes += size(&slot);
            let place = self.read;
            self.read += 1;
            let ends = match &slot {
                Slot::Wrong(Wrong::Document(_)) => self.on_error == OnError::Raise,
                Slot::Wrong(Wrong::Source(_)) => true,
                Slot::Document(_) => false,
            };
            let slot = match slot {
                Slot::Document(submission) if self.by_place => {
                    Slot::Document(submission.with_id(Some(Id::integer(place.into()))))
                }
                slot => slot,
            };
            self.gathered.push((place, slot));
            if ends {
                break;
            }
        }
        Ok(())
    }

    /// Begins to judge what was read.
    fn judge(&mut self, py: Python<'_>) -> PyResult<()> {
        let inner = self.filter.bind(py).get().inner();
        let gathered = std::mem::take(&mut self.gathered);
        let first = inner.reserve(gathered.len() as u64);
        let (mut submissions, mut places) = (Vec::new(), Vec::new());
        for (number, (place, slot)) in (first..).zip(gathered) {
            places.push(match slot {
                Slot::Document(submission) => {
                    submissions.push((number, submission));
                    None
                }
                Slot::Wrong(Wrong::Document(problem)) => Some(Item::Wrong(problem, place)),
                Slot::Wrong(Wrong::Source(error)) => Some(Item::Raised(error)),
            });
        }
        let job = Job::start(move || {
            if submissions.is_empty() { Ok(Vec::new()) } else { inner.judge_all(submissions) }
        })?;
        self.judging = Some((job, places));
        Ok(())
    }

    /// The next decision, or what is in its place.
    fn next_item(&mut self, py: Python<'_>) -> PyResult<Option<Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            if let Some((job, _)) = &self.judging {
                let judged = job.wait(py)?;
                let places = self.judging.take().map(|(_, places)| places).unwrap_or_default();
                let inner = self.filter.bind(py).get().inner();
                let decisions = judged.map_err(|failure| inner.raise(failure))?;
                let mut decisions = decisions.into_iter();
                for place in places {
                    self.ready.push_back(place.unwrap_or_else(|| match decisions.next() {
                        Some(decision) => Item::Decision(Box::new(decision)),
                        // It was closed meanwhile.
                        None => Item::Raised(inner.raise(Failure::Closed)),
                    }));
                }
                continue;
            }
            py.check_signals()?;
            self.gather(py)?;
            self.warn(py)?;
            if self.gathered.is_empty() {
                return Ok(None);
            }
            self.judge(py)?;
        }
    }

    /// All decisions as a table with a row for each document.
    pub(crate) fn into_table(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let mut rows = Vec::new();
        self.warn(py)?;
        while let Some(item) = self.next_item(py)? {
            rows.push(match item {
                Item::Decision(decision) => Ok(decision),
                Item::Wrong(problem, place) if self.on_error == OnError::Raise => {
                    return Err(problem.raise(Some(place)));
                }
                Item::Wrong(Problem::Kind(message) | Problem::Value(message), _) => Err(message),
                Item::Raised(error) => return Err(error),
            });
        }
        let wrong = |error: ArrowError| PyValueError::new_err(error.to_string());
        let has_integers = self.reader.has_integers;
        let batch = table(&rows, self.on_error == OnError::Report, has_integers).map_err(wrong)?;
        let lost = |it: &Decision| it.of.as_deref().is_some_and(|id| integer(id).is_none());
        if batch.column(0).data_type() == &DataType::Int64
            && rows.iter().flatten().any(|it| lost(it))
        {
            let message = c"`match` is null where a document repeats one whose id is no integer";
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 2)?;
        }
        let schema = batch.schema();
        PyTable::try_new(vec![batch], schema)?.into_pyarrow(py)
    }
}

/// An id in a column of integers.
fn integer(id: &str) -> Option<i64> {
    match GivenId::of(id) {
        GivenId::Integer(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

/// A row for each document. Ids and matches are integers if all ids are; without any, as `has_integers` says.
fn table(
    rows: &[Result<Box<Decision>, String>],
    reports: bool,
    has_integers: bool,
) -> Result<RecordBatch, ArrowError> {
    let each = |of: &dyn Fn(&Decision) -> Option<String>| -> ArrayRef {
        let values = rows.iter().map(|row| of(row.as_ref().ok()?));
        Arc::new(values.collect::<StringArray>())
    };
    let mut judged = rows.iter().flatten().map(|it| integer(&it.of_id)).peekable();
    let are_integers =
        judged.peek().map_or(has_integers, |_| true) && judged.all(|id| id.is_some());
    let ids = |of: &dyn Fn(&Decision) -> Option<&str>| -> ArrayRef {
        let kept = || rows.iter().map(|row| of(row.as_ref().ok()?));
        if are_integers {
            return Arc::new(kept().map(|id| integer(id?)).collect::<Int64Array>());
        }
        let printed = kept().map(|id| Some(GivenId::of(id?).to_string()));
        Arc::new(printed.collect::<StringArray>())
    };
    let similarities = rows.iter().map(|row| row.as_ref().ok()?.similarity());
    let mask = rows.iter().map(|row| Some(row.as_ref().is_ok_and(|it| it.is_unique())));
    let mut columns = vec![
        ("id", ids(&|it| Some(&it.of_id))),
        ("verdict", each(&|it| Some(it.verdict().to_owned()))),
        ("match", ids(&|it| it.of.as_deref())),
        ("similarity", Arc::new(similarities.collect::<Float64Array>()) as ArrayRef),
        ("is_unique", Arc::new(mask.collect::<BooleanArray>()) as ArrayRef),
    ];
    if reports {
        let errors = rows.iter().map(|row| row.as_ref().err());
        columns.push(("error", Arc::new(errors.collect::<StringArray>())));
    }
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, column)| {
            Column::new(*name, column.data_type().clone(), *column.data_type() != DataType::Boolean)
        })
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

#[pymethods]
impl Decisions {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            return Ok(match self.next_item(py)? {
                None => None,
                Some(Item::Decision(decision)) => Some(Bound::new(py, *decision)?.into_any()),
                Some(Item::Raised(error)) => return Err(error),
                Some(Item::Wrong(problem, place)) => match self.on_error {
                    OnError::Raise => return Err(problem.raise(Some(place))),
                    OnError::Skip => continue,
                    OnError::Report => {
                        Some(problem.raise(Some(place)).value(py).clone().into_any())
                    }
                },
            });
        }
    }
}
