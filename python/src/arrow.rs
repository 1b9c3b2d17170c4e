//! Documents as Arrow tables and arrays give them.

use std::{borrow::Cow, str::Utf8Error};

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Float64Array, Int64Array, RecordBatch, UInt64Array,
    cast::AsArray,
    types::{Float64Type, Int64Type, UInt64Type},
};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use pagesieve::{
    page::Timestamp,
    submission::{Field, Fields, Submission, Value},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use pyo3_arrow::{ffi::ArrayReader, input::AnyArray};

use crate::input::{Columns, Problem, Reader};

/// Batches, one after another. Whoever gives them may need Python's lock for it, so it must not be held when one is asked for.
pub(crate) type Batches = Box<dyn ArrayReader + Send>;

/// The rest of a batch.
#[derive(Debug)]
pub(crate) struct Rows {
    columns: Vec<(Field, Column)>,
    next: usize,
    len: usize,
}

#[derive(Debug)]
enum Column {
    /// Strings as they came: nothing has checked that they are UTF-8, as files of others need not be.
    Text(BinaryViewArray),
    Bytes(BinaryViewArray),
    Integers(Int64Array),
    Unsigned(UInt64Array),
    Floats(Float64Array),
    /// In milliseconds since 1970.
    Times(Int64Array),
}

/// Whether an object gives Arrow arrays.
pub(crate) fn is_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")?)
}

/// The batches of a table, or of an array of texts.
pub(crate) fn batches(table: &Bound<'_, PyAny>, reader: &mut Reader) -> PyResult<Batches> {
    let batches = table.extract::<AnyArray>()?.into_reader()?;
    let field = batches.field();
    let DataType::Struct(fields) = field.data_type() else { return Ok(batches) };
    let id = fields.find(reader.columns.name(Field::Id));
    reader.has_integers = id.is_some_and(|(_, id)| id.data_type().is_integer());
    let names: Vec<&str> = fields.iter().map(|it| it.name().as_str()).collect();
    check_names(&names, &reader.columns)?;
    for name in names {
        if reader.columns.field(name).is_none() {
            reader.note_unknown(name);
        }
    }
    Ok(batches)
}

/// Refuses a table without texts.
fn check_names(names: &[&str], columns: &Columns) -> PyResult<()> {
    let [text, html] = [Field::Text, Field::Html].map(|field| columns.name(field));
    let found = names.join(", ");
    if [text, html].iter().all(|name| !names.contains(name)) {
        return Err(PyValueError::new_err(format!(
            "the table has no column `{text}` or `{html}`, but {found}; name the one with the texts, as in \
             `judge_many(table, text=\"content\")`"
        )));
    }
    let defaults = Columns::default();
    for (field, name) in &columns.0 {
        if defaults.name(*field) != name && !names.contains(&name.as_str()) {
            let message = format!("the table has no column `{name}`, but {found}");
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(())
}

impl Rows {
    /// The rows of a batch, or of an array: texts, or pages if it has bytes.
    pub(crate) fn of(array: &ArrayRef, columns: &Columns) -> PyResult<Self> {
        let len = array.len();
        let Some(batch) = array.as_struct_opt() else {
            let is_bytes = matches!(
                array.data_type(),
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView
            );
            let field = if is_bytes { Field::Html } else { Field::Text };
            let columns = Column::of(field, columns.name(field), array)?;
            let columns = columns.into_iter().map(|column| (field, column)).collect();
            return Ok(Self { columns, next: 0, len });
        };
        let batch = RecordBatch::from(batch.clone());
        let mut found = Vec::new();
        for (field, name) in &columns.0 {
            let column = batch.column_by_name(name);
            let column = column.map(|column| Column::of(*field, name, column)).transpose()?;
            found.extend(column.flatten().map(|column| (*field, column)));
        }
        Ok(Self { columns: found, next: 0, len })
    }

    /// The next row, if there is one.
    pub(crate) fn take(&mut self, reader: &Reader) -> Option<Result<Submission, Problem>> {
        let row = self.next;
        if row >= self.len {
            return None;
        }
        self.next += 1;
        let mut fields = Fields::new(reader.times);
        for (field, column) in &self.columns {
            let name = reader.columns.name(*field);
            let value = match column.value(row).transpose() {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(error) => return Some(Err(Problem::Value(format!("`{name}`: {error}")))),
            };
            if let Err(error) = fields.set(*field, name, value) {
                return Some(Err(error.into()));
            }
        }
        Some(reader.columns.submission(fields).map_err(Into::into))
    }
}

impl Column {
    /// The values of a column; `None` if all are missing.
    fn of(field: Field, name: &str, column: &ArrayRef) -> PyResult<Option<Self>> {
        let to = |kind: &DataType| {
            cast(column, kind).map_err(|error| PyValueError::new_err(error.to_string()))
        };
        let kind = match column.data_type() {
            DataType::Dictionary(_, kind) => kind,
            kind => kind,
        };
        Ok(Some(match (field, kind) {
            (_, DataType::Null) => return Ok(None),
            (_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
                Self::Text(to(&DataType::Utf8View)?.as_string_view().clone().to_binary_view())
            }
            (Field::Html, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
                Self::Bytes(to(&DataType::BinaryView)?.as_binary_view().clone())
            }
            (Field::Id | Field::Time, DataType::UInt64) => {
                Self::Unsigned(to(&DataType::UInt64)?.as_primitive::<UInt64Type>().clone())
            }
            (Field::Id | Field::Time, kind) if kind.is_integer() => {
                Self::Integers(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            (Field::Time, kind) if kind.is_floating() => {
                Self::Floats(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            (Field::Time, DataType::Timestamp(_, Some(zone))) => {
                let times = DataType::Timestamp(TimeUnit::Millisecond, Some(zone.clone()));
                let times = cast(&to(&times)?, &DataType::Int64);
                let times = times.map_err(|error| PyValueError::new_err(error.to_string()))?;
                Self::Times(times.as_primitive::<Int64Type>().clone())
            }
            (field, kind) => {
                let expected = match field {
                    Field::Id if kind.is_floating() => {
                        "strings or integers (pandas: `astype(\"Int64\")` keeps integers beside missing values)"
                    }
                    Field::Id => "strings or integers",
                    Field::Html => "strings or bytes",
                    Field::Time => "times with a time zone, strings (RFC 3339) or numbers",
                    _ => "strings",
                };
                let message = format!("the column `{name}` must hold {expected}, not {kind}");
                return Err(PyTypeError::new_err(message));
            }
        }))
    }

    /// The value of a row, if it has one; an error if it is no string though the column is one of strings.
    fn value(&self, row: usize) -> Option<Result<Value<'_>, Utf8Error>> {
        Some(Ok(match self {
            Self::Text(it) if it.is_valid(row) => match str::from_utf8(it.value(row)) {
                Ok(text) => Value::Text(Cow::Borrowed(text)),
                Err(error) => return Some(Err(error)),
            },
            Self::Bytes(it) if it.is_valid(row) => Value::Bytes(Cow::Borrowed(it.value(row))),
            Self::Integers(it) if it.is_valid(row) => Value::Integer(it.value(row).into()),
            Self::Unsigned(it) if it.is_valid(row) => Value::Integer(it.value(row).into()),
            Self::Floats(it) if it.is_valid(row) => Value::Float(it.value(row)),
            Self::Times(it) if it.is_valid(row) => Value::Time(Timestamp(it.value(row))),
            _ => return None,
        }))
    }
}

/// Which of these columns are read. The others are noted.
pub(crate) fn read_names(names: &[String], reader: &mut Reader) -> PyResult<Vec<String>> {
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    check_names(&all, &reader.columns)?;
    let (read, unknown): (Vec<_>, Vec<_>) =
        names.iter().cloned().partition(|name| reader.columns.field(name).is_some());
    for name in unknown {
        reader.note_unknown(&name);
    }
    Ok(read)
}
