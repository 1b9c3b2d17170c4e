//! Documents as Python gives them: what a str, a pair or a dict has in the fields that the filter reads.

use std::borrow::Cow;

use pagesieve::{
    page::{GivenId, Id, Page, Timestamp},
    submission::{Field, FieldError, Fields, Payload, Submission, Times, Value},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{
        PyBool, PyByteArray, PyBytes, PyDateTime, PyDict, PyInt, PyList, PyString, PyTuple,
        PyTzInfoAccess,
    },
};

/// An expected form of a document, for messages.
const FORMS: &str = r#"a str, a pair (id, text), or a dict with "id" and "text" or "html""#;

/// The fields of a document, and how its container names them.
#[derive(Clone, Debug)]
pub(crate) struct Columns(pub(crate) Vec<(Field, String)>);

impl Default for Columns {
    fn default() -> Self {
        let names = [
            (Field::Id, "id"),
            (Field::Text, "text"),
            (Field::Html, "html"),
            (Field::Url, "url"),
            (Field::Time, "time"),
            (Field::ContentType, "content_type"),
        ];
        Self(names.map(|(field, name)| (field, name.to_owned())).into())
    }
}

impl Columns {
    /// Names fields otherwise, as far as names are given. Of text and HTML, only the one is read that is named alone.
    pub(crate) fn rename_all(&mut self, names: &[(Field, Option<String>)]) {
        let is_named = |field| names.iter().any(|(own, name)| *own == field && name.is_some());
        let [text, html] = [Field::Text, Field::Html].map(is_named);
        let is_read = |field| match field {
            Field::Text => text || !html,
            Field::Html => html || !text,
            _ => true,
        };
        self.0.retain(|(field, _)| is_read(*field));
        for (field, name) in names {
            let own = self.0.iter_mut().find(|(own, _)| own == field);
            if let (Some((_, own)), Some(name)) = (own, name) {
                own.clone_from(name);
            }
        }
    }

    pub(crate) fn name(&self, field: Field) -> &str {
        let other = if field == Field::Html { "html" } else { "text" };
        self.0.iter().find(|(own, _)| *own == field).map_or(other, |(_, name)| name)
    }

    /// The field of this name, if it is read.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.0.iter().find(|(_, own)| own == name).map(|(field, _)| *field)
    }

    /// The document that has these fields.
    pub(crate) fn submission(&self, fields: Fields) -> Result<Submission, FieldError> {
        fields.submission([self.name(Field::Text), self.name(Field::Html)])
    }
}

/// Why a document cannot be read. It is made an exception when it is raised: to print one in Python looks for signals, and would lose them.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Something is of the wrong kind.
    Kind(String),
    Value(String),
}

impl Problem {
    fn of_field(self, name: &str) -> Self {
        match self {
            Self::Kind(message) => Self::Kind(format!("`{name}`: {message}")),
            Self::Value(message) => Self::Value(format!("`{name}`: {message}")),
        }
    }

    /// The exception, with the place of the document if it is one of many.
    pub(crate) fn raise(self, place: Option<u64>) -> PyErr {
        let placed = |message: String| match place {
            Some(place) => format!("document {place}: {message}"),
            None => message,
        };
        match self {
            Self::Kind(message) => PyTypeError::new_err(placed(message)),
            Self::Value(message) => PyValueError::new_err(placed(message)),
        }
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        let message = error.to_string();
        if error.is_kind() { Self::Kind(message) } else { Self::Value(message) }
    }
}

/// What Python says of a value, such as a string with half of a character.
impl From<PyErr> for Problem {
    fn from(error: PyErr) -> Self {
        let message = Python::attach(|py| {
            let text = error.value(py).str().ok()?;
            text.to_str().ok().map(str::to_owned)
        });
        Self::Value(message.unwrap_or_else(|| "it cannot be read".to_owned()))
    }
}

/// Reads documents.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) columns: Columns,
    pub(crate) times: Times,
    /// Names that were not read, and are still to be reported.
    pub(crate) unknown: Vec<String>,
    /// Whether the last table has a column of integers as ids.
    pub(crate) has_integers: bool,
    /// Names that were reported.
    known_unknown: Vec<String>,
}

impl Reader {
    pub(crate) fn new(columns: Columns, times: Times) -> Self {
        Self { columns, times, ..Self::default() }
    }

    /// One of many documents.
    pub(crate) fn read(&mut self, item: &Bound<'_, PyAny>) -> Result<Submission, Problem> {
        if let Ok(text) = item.cast::<PyString>() {
            return Ok(Submission::new(Payload::Text(text.to_str()?.to_owned())));
        }
        if let Ok(fields) = item.cast::<PyDict>() {
            return self.read_dict(fields);
        }
        let pair = item
            .cast::<PyTuple>()
            .cloned()
            .or_else(|_| item.cast::<PyList>().map(PyListMethods::to_tuple));
        if let Ok(pair) = pair.map_err(PyErr::from)
            && pair.len() == 2
        {
            let mut fields = Fields::new(self.times);
            for (place, field) in [Field::Id, Field::Text].into_iter().enumerate() {
                self.set(&mut fields, field, &pair.get_item(place)?)?;
            }
            return Ok(self.columns.submission(fields)?);
        }
        Err(Problem::Kind(format!("expected {FORMS}; found {}", kind_of(item))))
    }

    pub(crate) fn read_dict(&mut self, given: &Bound<'_, PyDict>) -> Result<Submission, Problem> {
        let mut fields = Fields::new(self.times);
        for (name, value) in given {
            let name = name
                .cast::<PyString>()
                .map_err(|_| PyTypeError::new_err("the keys of a document must be of type str"))?;
            match self.columns.field(name.to_str()?) {
                Some(field) => self.set(&mut fields, field, &value)?,
                None => self.note_unknown(name.to_str()?),
            }
        }
        Ok(self.columns.submission(fields)?)
    }

    /// Remembers a field that is not read, once.
    pub(crate) fn note_unknown(&mut self, name: &str) {
        // The index of pandas is no field.
        let is_index = name.starts_with("__index_level_");
        if !is_index && !self.known_unknown.iter().any(|known| known == name) {
            self.known_unknown.push(name.to_owned());
            self.unknown.push(name.to_owned());
        }
    }

    fn set(
        &self,
        fields: &mut Fields,
        field: Field,
        value: &Bound<'_, PyAny>,
    ) -> Result<(), Problem> {
        let name = self.columns.name(field);
        let value = value_of(value).map_err(|error| Problem::from(error).of_field(name))?;
        match value {
            None => Ok(()),
            // In rows of pandas, it stands for a missing value.
            Some(Value::Float(number)) if number.is_nan() && field != Field::Time => Ok(()),
            Some(value) => Ok(fields.set(field, name, value)?),
        }
    }
}

/// The name of the type of a value.
fn kind_of(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .name()
        .map_or_else(|_| "something else".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A value as the filter reads it; `None` if it is missing.
fn value_of<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<Value<'a>>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(Value::Text(Cow::Borrowed(text.to_str()?))));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(Value::Bytes(Cow::Borrowed(bytes.as_bytes()))));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Some(Value::Bytes(Cow::Owned(bytes.to_vec()))));
    }
    if let Ok(time) = value.cast::<PyDateTime>() {
        return Ok(Some(time_of(time)?));
    }
    let shown = || value.str().map_or_else(|_| kind_of(value), |it| it.to_string_lossy().into());
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Value::Other(shown())));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        // Of 64 bits, as in JSON and in tables.
        let number = value.extract::<i64>().map(i128::from);
        let number = number.or_else(|_| value.extract::<u64>().map(i128::from));
        return Ok(Some(number.map_or_else(|_| Value::Other(shown()), Value::Integer)));
    }
    // Also the floats of NumPy.
    let real = value.py().import("numbers")?.getattr("Real")?;
    Ok(Some(match value.extract::<f64>() {
        Ok(number) if value.is_instance(&real)? => Value::Float(number),
        _ => Value::Other(kind_of(value)),
    }))
}

fn time_of(time: &Bound<'_, PyDateTime>) -> PyResult<Value<'static>> {
    if time.get_tzinfo().is_none() {
        return Ok(Value::Other(time.str()?.to_str()?.to_owned()));
    }
    let seconds: f64 = time.call_method0("timestamp")?.extract()?;
    #[expect(clippy::cast_possible_truncation, reason = "a datetime ends with the year 9999")]
    Ok(Value::Time(Timestamp((seconds * 1000.0).round() as i64)))
}

/// An id as Python gives it.
pub(crate) fn id_of(id: &Bound<'_, PyAny>) -> PyResult<Id> {
    match value_of(id)? {
        Some(Value::Text(text)) => {
            Id::text(text).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        Some(Value::Integer(number)) => Ok(Id::integer(number)),
        _ => {
            let kind = kind_of(id);
            Err(PyTypeError::new_err(format!(
                "an id must be a str or an int of 64 bits, not {kind}"
            )))
        }
    }
}

/// An id as it was given.
pub(crate) fn given<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match GivenId::of(id) {
        GivenId::Text(text) => PyString::new(py, text).into_any(),
        GivenId::Integer(number) => number.into_pyobject(py)?.into_any(),
        unnamed @ GivenId::Unnamed(_) => PyString::new(py, &unnamed.to_string()).into_any(),
    })
}

/// A page of these bytes, or of these characters.
pub(crate) fn page(
    html: &Bound<'_, PyAny>,
    url: Option<String>,
    content_type: Option<String>,
) -> PyResult<Page> {
    let mut fields = Fields::default();
    let reader = Reader::default();
    let raise = |problem: Problem| problem.raise(None);
    reader.set(&mut fields, Field::Html, html).map_err(raise)?;
    let more = [(Field::Url, url), (Field::ContentType, content_type)];
    for (field, value) in more {
        if let Some(value) = value {
            let value = Value::Text(value.into());
            let set = fields.set(field, reader.columns.name(field), value);
            set.map_err(|error| raise(error.into()))?;
        }
    }
    let submission = reader.columns.submission(fields);
    let submission = submission.map_err(|error| raise(error.into()))?;
    let (url, payload) = (submission.url, submission.payload);
    Ok(match payload {
        Payload::Html { body, content_type } => Page { url, content_type, body, ..Page::default() },
        Payload::Text(_) => Page::default(),
    })
}
