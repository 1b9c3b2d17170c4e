//! Judges an iterable of documents, or a table of Arrow, some documents at a time.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchReader, StringViewArray, cast::AsArray,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyIterator},
};
use pyo3_arrow::input::AnyRecordBatch;

use crate::{
    decision::Decision,
    filter::Filter,
    input::{Input, number_id},
};

/// At most this many bytes of documents are judged together.
const MOST_BYTES: usize = 16 << 20;
/// The columns that are read.
const COLUMNS: [&str; 4] = ["id", "text", "html", "url"];

/// The decisions about many documents, in order.
#[pyclass(module = "pagesieve")]
pub(crate) struct Decisions {
    filter: Py<Filter>,
    source: Mutex<Source>,
    /// How many documents are judged together.
    chunk: usize,
    /// How many documents were read.
    read: u64,
    ready: std::vec::IntoIter<Decision>,
    /// Why the next document cannot be read; what came before it is judged.
    failed: Option<PyErr>,
}

enum Source {
    Items(Py<PyIterator>),
    Batches(Box<dyn RecordBatchReader + Send>, Option<Rows>),
}

/// The rest of a batch.
struct Rows {
    /// The [`COLUMNS`] that it has.
    columns: [Option<Arc<StringViewArray>>; 4],
    ids_are_numbers: bool,
    next: usize,
    len: usize,
}

impl Decisions {
    pub(crate) fn new(
        filter: Py<Filter>,
        documents: &Bound<'_, PyAny>,
        chunk: usize,
    ) -> PyResult<Self> {
        let is_table =
            documents.hasattr("__arrow_c_stream__")? || documents.hasattr("__arrow_c_array__")?;
        let source = if is_table {
            let batches = documents.extract::<AnyRecordBatch>()?.into_reader()?;
            let schema = batches.schema();
            if ["text", "html"].iter().all(|name| schema.column_with_name(name).is_none()) {
                let found: Vec<&str> =
                    schema.fields().iter().map(|it| it.name().as_str()).collect();
                let found = found.join(", ");
                let message = format!(
                    "the table has no column `text` or `html`, but {found}; rename the one with the texts: \
                     `table.rename_columns({{\"content\": \"text\"}})` in pyarrow, `frame.rename` in polars and pandas"
                );
                return Err(PyValueError::new_err(message));
            }
            Source::Batches(batches, None)
        } else {
            Source::Items(documents.try_iter()?.unbind())
        };
        Ok(Self {
            filter,
            source: Mutex::new(source),
            chunk: chunk.max(1),
            read: 0,
            ready: Vec::new().into_iter(),
            failed: None,
        })
    }

    /// Reads documents until there are enough to be judged together, the source ends, or one cannot be read.
    fn gather(&mut self, py: Python<'_>) -> Vec<Input> {
        let source = self.source.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (mut inputs, mut bytes) = (Vec::new(), 0);
        while inputs.len() < self.chunk && bytes < MOST_BYTES {
            match source.next(py) {
                Ok(Some(input)) => {
                    bytes += input.len();
                    inputs.push(input);
                    self.read += 1;
                }
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(placed(py, error, self.read));
                    self.read += 1;
                    break;
                }
            }
        }
        inputs
    }
}

/// An error of ours, with the place of the document. What the caller's iterator raises stays as it is.
fn placed(py: Python<'_>, error: PyErr, place: u64) -> PyErr {
    let message = || format!("document {place}: {}", error.value(py));
    if error.traceback(py).is_some() {
        error
    } else if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message())
    } else {
        PyValueError::new_err(message())
    }
}

#[pymethods]
impl Decisions {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Decision>> {
        loop {
            if let Some(decision) = self.ready.next() {
                return Ok(Some(decision));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let inputs = self.gather(py);
            if inputs.is_empty() && self.failed.is_none() {
                return Ok(None);
            }
            self.ready = self.filter.get().judge_all(py, inputs)?.into_iter();
        }
    }
}

impl Source {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Input>> {
        match self {
            Self::Items(items) => {
                let item = items.bind(py).clone().next().transpose()?;
                item.map(|item| Input::of(&item)).transpose()
            }
            Self::Batches(batches, rows) => loop {
                if let Some(rows) = rows.as_mut().filter(|rows| rows.next < rows.len) {
                    return rows.take(py).map(Some);
                }
                let Some(batch) = batches.next() else { return Ok(None) };
                *rows = Some(Rows::of(&batch.map_err(wrong)?)?);
            },
        }
    }
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Rows {
    fn of(batch: &RecordBatch) -> PyResult<Self> {
        let is_number = |column: &ArrayRef| column.data_type().is_integer();
        let text = |name: &str| -> PyResult<Option<Arc<StringViewArray>>> {
            let Some(column) = batch.column_by_name(name) else { return Ok(None) };
            let known = match column.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
                DataType::Dictionary(_, value) => value.is_string(),
                kind => kind.is_integer() && name == "id",
            };
            if !known {
                let kind = column.data_type();
                let message = format!("the column `{name}` must hold strings, not {kind}");
                return Err(PyTypeError::new_err(message));
            }
            let strings = cast(column, &DataType::Utf8View).map_err(wrong)?;
            Ok(Some(Arc::new(strings.as_string_view().clone())))
        };
        let [id, body, html, url] = COLUMNS;
        Ok(Self {
            columns: [text(id)?, text(body)?, text(html)?, text(url)?],
            ids_are_numbers: batch.column_by_name(id).is_some_and(is_number),
            next: 0,
            len: batch.num_rows(),
        })
    }

    fn take(&mut self, py: Python<'_>) -> PyResult<Input> {
        let row = self.next;
        self.next += 1;
        let values = self.columns.each_ref().map(|column| {
            let column = column.as_ref().filter(|column| column.is_valid(row));
            column.map(|column| column.value(row))
        });
        let [id, fields @ ..] = values;
        let id = id.map(|id| if self.ids_are_numbers { number_id(id) } else { id.to_owned() });
        if let [Some(text), None, None] = fields {
            return Ok(Input::text(id, text.to_owned()));
        }
        let given = PyDict::new(py);
        for (name, value) in COLUMNS[1..].iter().zip(fields) {
            given.set_item(name, value)?;
        }
        Ok(Input { id, ..Input::of_fields(&given)? })
    }
}
