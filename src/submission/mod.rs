//! A document as somebody submits it: fields of a line, a row of a table, a dict or the body of a request.
//!
//! Whatever holds the fields, they are read here: what they may be, which of them belong together, and what is wrong with them.

mod identity;
mod preparation;

use std::{borrow::Cow, time::Duration};

use url::Url;

use crate::{
    extract::{Extracted, Extractor, Truncation},
    filter::WindowOptions,
    fingerprint::Digest,
    page::{Id, IdError, Page, Timestamp, language},
};

pub use identity::Identity;
pub use preparation::Preparation;

/// The fields of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "containers name each of them")]
pub enum Field {
    /// Its name: a string or an integer.
    Id,
    /// Its text, without markup.
    Text,
    /// A page, as text or as the bytes that were received.
    Html,
    /// Its absolute URL.
    Url,
    /// When it arrived.
    Time,
    /// The `Content-Type` that came with the bytes of a page.
    ContentType,
}

/// The value of a field, as its container has it.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "containers make each of them")]
pub enum Value<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// An integer.
    Integer(i128),
    /// A number with a fraction, or one that is too large for an integer of its container.
    Float(f64),
    /// A point in time.
    Time(Timestamp),
    /// Anything else, as messages show it.
    Other(String),
}

/// A document that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Submission {
    /// Its id, if it has one.
    pub id: Option<Id>,
    /// Its URL, if it has one.
    pub url: Option<Url>,
    /// The name of what it shares a template with, if neither its URL nor its id nor its canonical link says it.
    pub origin: Option<String>,
    /// When it arrived, if that is known.
    pub at: Option<Timestamp>,
    /// Its content.
    pub payload: Payload,
    /// Whether there was more of the content.
    pub is_cut: bool,
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a document is one or the other")]
pub enum Payload {
    /// Text without markup.
    Text(String),
    /// A page.
    Html {
        /// Its bytes.
        body: Vec<u8>,
        /// Its `Content-Type`, if that is known.
        content_type: Option<String>,
    },
}

/// A field that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// It is of another kind.
    #[error("`{name}` must be {expected}, not {found}")]
    Kind {
        /// The field, as its container names it.
        name: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Its string cannot be an id.
    #[error("`{name}`: {source}")]
    Id {
        /// The field, as its container names it.
        name: String,
        /// Why not.
        source: IdError,
    },
    /// Documents without an id are called like this.
    #[error(
        "`{name}`: {text:?} is the name of a document without an id: `#` and digits. Choose another"
    )]
    Reserved {
        /// The field, as its container names it.
        name: String,
        /// Its value.
        text: String,
    },
    /// It is not an absolute URL.
    #[error("`{name}`: {text:?} is not an absolute URL: {source}")]
    Url {
        /// The field, as its container names it.
        name: String,
        /// Its value.
        text: String,
        /// Why it is none.
        source: url::ParseError,
    },
    /// It is no time.
    #[error(
        "`{name}`: {text} is no time; expected RFC 3339 with a time zone, or seconds or milliseconds since 1970"
    )]
    Time {
        /// The field, as its container names it.
        name: String,
        /// Its value.
        text: String,
    },
    /// It is a time in the future.
    #[error(
        "`{name}`: {text} is more than a day in the future, and would make the window forget what came before; set `future` of the window to replay such times"
    )]
    Future {
        /// The field, as its container names it.
        name: String,
        /// Its value.
        text: String,
    },
    /// There is nothing to judge.
    #[error("`{}` and `{}` are both missing: give one of them", names[0], names[1])]
    Missing {
        /// How the container names text and HTML.
        names: [String; 2],
    },
    /// There is both text and HTML.
    #[error("there must be either `{}` or `{}`, not both", names[0], names[1])]
    Both {
        /// How the container names text and HTML.
        names: [String; 2],
    },
}

impl FieldError {
    /// Whether a value is of another kind than its field.
    #[must_use]
    pub fn is_kind(&self) -> bool {
        matches!(self, Self::Kind { .. })
    }
}

/// Which times are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Times {
    /// Those until a day from now: what arrived later than now by another clock has arrived now.
    #[default]
    UntilTomorrow,
    /// All: what was recorded elsewhere is judged again.
    Any,
}

/// How far clocks may differ.
const TOLERANCE: Duration = Duration::from_hours(24);
/// Smaller numbers are seconds (until the year 5138), others milliseconds (from March 1973 on).
const FIRST_MILLISECONDS: u128 = 100_000_000_000;
/// The end of the year 9999 in milliseconds since 1970.
const LATEST: i64 = 253_402_300_799_999;

impl Times {
    /// Those that a filter with this window believes.
    #[must_use]
    pub fn of(window: &WindowOptions) -> Self {
        if window.future { Self::Any } else { Self::UntilTomorrow }
    }

    /// The time that a field has.
    ///
    /// # Errors
    /// If it is no time, or one that is not believed.
    pub fn read(self, name: &str, value: &Value<'_>) -> Result<Timestamp, FieldError> {
        let (at, text) = match value {
            Value::Text(text) => (of_text(text), text.to_string()),
            Value::Integer(number) => (of_number(*number), number.to_string()),
            Value::Float(number) => (of_float(*number), format!("{number:?}")),
            Value::Time(at) => (Some(*at), at.to_string()),
            Value::Bytes(_) => (None, "bytes".to_owned()),
            Value::Other(shown) => (None, shown.clone()),
        };
        let name = name.to_owned();
        let Some(at) = at.filter(|at| at.0 <= LATEST) else {
            return Err(FieldError::Time { name, text });
        };
        let now = Timestamp::now();
        match self {
            Self::UntilTomorrow if at > now + TOLERANCE => Err(FieldError::Future { name, text }),
            // The clock of a window never goes back: it would stand still until then.
            Self::UntilTomorrow => Ok(at.min(now)),
            Self::Any => Ok(at),
        }
    }
}

fn of_text(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok().map(|at: jiff::Timestamp| Timestamp(at.as_millisecond()))
}

fn of_number(number: i128) -> Option<Timestamp> {
    let is_seconds = number.unsigned_abs() < FIRST_MILLISECONDS;
    let millis = if is_seconds { number * 1000 } else { number };
    i64::try_from(millis).ok().map(Timestamp)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "bounds and times are far below 2^53"
)]
fn of_float(number: f64) -> Option<Timestamp> {
    let is_seconds = number.abs() < FIRST_MILLISECONDS as f64;
    let millis = (if is_seconds { number * 1000.0 } else { number }).round();
    // What is no number is in no range.
    (-LATEST as f64..=LATEST as f64).contains(&millis).then_some(Timestamp(millis as i64))
}

/// The fields of a document, one after another.
///
/// ```
/// use pagesieve::submission::{Field, Fields, Value};
///
/// let mut fields = Fields::default();
/// fields.set(Field::Id, "id", Value::Integer(7))?;
/// let wrong = fields.set(Field::Url, "link", Value::Text("tea".into())).unwrap_err();
/// assert_eq!(wrong.to_string(), "`link`: \"tea\" is not an absolute URL: relative URL without a base");
/// fields.set(Field::Text, "text", Value::Text("Green tea.".into()))?;
/// assert!(fields.submission(["text", "html"])?.url.is_none());
/// # Ok::<(), pagesieve::submission::FieldError>(())
/// ```
#[derive(Debug, Default)]
pub struct Fields {
    times: Times,
    id: Option<Id>,
    text: Option<String>,
    html: Option<(Vec<u8>, Option<&'static str>)>,
    url: Option<Url>,
    at: Option<Timestamp>,
    content_type: Option<String>,
}

/// The `Content-Type` of a page that is given as text.
const DECODED: &str = "text/html; charset=utf-8";

impl Fields {
    /// None yet. `times` says which times are believed.
    #[must_use]
    pub fn new(times: Times) -> Self {
        Self { times, ..Self::default() }
    }

    /// Sets a field that its container names `name`.
    ///
    /// # Errors
    /// If the value is not what the field must be.
    pub fn set(&mut self, field: Field, name: &str, value: Value<'_>) -> Result<(), FieldError> {
        match field {
            Field::Id => self.id = Some(id(name, value)?),
            Field::Text => self.text = Some(string(name, value)?),
            Field::Html => {
                self.html = Some(match value {
                    Value::Bytes(bytes) => (bytes.into_owned(), None),
                    value => (string(name, value)?.into_bytes(), Some(DECODED)),
                });
            }
            Field::Url => {
                let text = string(name, value)?;
                let wrong =
                    |source| FieldError::Url { name: name.to_owned(), text: text.clone(), source };
                self.url = Some(Url::parse(&text).map_err(wrong)?);
            }
            Field::Time => self.at = Some(self.times.read(name, &value)?),
            Field::ContentType => self.content_type = Some(string(name, value)?),
        }
        Ok(())
    }

    /// Whether the document can be named: it has an id or a URL.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.id.is_some() || self.url.is_some()
    }

    /// The document that has these fields. `names` are those of text and HTML in messages.
    ///
    /// # Errors
    /// If there is neither text nor HTML, or both.
    pub fn submission(self, names: [&str; 2]) -> Result<Submission, FieldError> {
        let names = || names.map(str::to_owned);
        let payload = match (self.text, self.html) {
            (Some(text), None) => Payload::Text(text),
            (None, Some((body, decoded))) => {
                let content_type = decoded.map(str::to_owned).or(self.content_type);
                Payload::Html { body, content_type }
            }
            (None, None) => return Err(FieldError::Missing { names: names() }),
            (Some(_), Some(_)) => return Err(FieldError::Both { names: names() }),
        };
        let (id, url, at) = (self.id, self.url, self.at);
        Ok(Submission { id, url, at, ..Submission::new(payload) })
    }
}

fn id(name: &str, value: Value<'_>) -> Result<Id, FieldError> {
    match value {
        Value::Integer(number) => Ok(Id::integer(number)),
        Value::Text(text) if is_reserved(&text) => {
            Err(FieldError::Reserved { name: name.to_owned(), text: text.into_owned() })
        }
        Value::Text(text) => {
            Id::text(text).map_err(|source| FieldError::Id { name: name.to_owned(), source })
        }
        value => Err(kind(name, "a string or an integer of 64 bits", &value)),
    }
}

/// Whether a document that was given no id may be called so.
fn is_reserved(id: &str) -> bool {
    let digits = id.strip_prefix('#').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn string(name: &str, value: Value<'_>) -> Result<String, FieldError> {
    match value {
        Value::Text(text) => Ok(text.into_owned()),
        value => Err(kind(name, "a string", &value)),
    }
}

fn kind(name: &str, expected: &'static str, found: &Value<'_>) -> FieldError {
    let found = match found {
        Value::Text(_) => "a string".to_owned(),
        Value::Bytes(_) => "bytes".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Time(_) => "a time".to_owned(),
        Value::Other(shown) => shown.clone(),
    };
    FieldError::Kind { name: name.to_owned(), expected, found }
}

impl Submission {
    /// A document of which nothing else is known.
    #[must_use]
    pub fn new(payload: Payload) -> Self {
        Self { id: None, url: None, origin: None, at: None, payload, is_cut: false }
    }

    /// The same document with this id.
    #[must_use]
    pub fn with_id(self, id: Option<Id>) -> Self {
        Self { id, ..self }
    }

    /// What it is called, if it has a name: its id, or else its URL.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let url = self.url.as_ref().map(Url::as_str);
        self.id.as_ref().map(Id::as_str).or(url)
    }

    /// The bytes of its content.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.payload {
            Payload::Text(text) => text.len(),
            Payload::Html { body, .. } => body.len(),
        }
    }

    /// Whether its content has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it shows, and the digest of a page's bytes. A plain text has no title and no links.
    #[must_use]
    pub fn extracted(self, extractor: &Extractor) -> (Extracted, Option<Digest>) {
        let cut = self.is_cut.then_some(Truncation::Body);
        let (mut extracted, digest) = match self.payload {
            Payload::Text(text) => {
                let lang = language(&text);
                (Extracted { text, lang, charset: "UTF-8", ..Extracted::default() }, None)
            }
            Payload::Html { body, content_type } => {
                let digest = Digest::of(&body);
                let page = Page { url: self.url, content_type, body, ..Page::default() };
                (extractor.extract(&page), Some(digest))
            }
        };
        extracted.truncated = extracted.truncated.or(cut);
        (extracted, digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_believed_until_tomorrow() {
        let read = |times: Times, value: Value<'_>| times.read("time", &value);
        let (now, day) = (Timestamp::now(), Duration::from_hours(24));
        let [soon, late] = [now + day / 2, now + day * 2].map(Value::Time);
        assert!(read(Times::UntilTomorrow, soon).unwrap() <= Timestamp::now());
        let refused = read(Times::UntilTomorrow, late.clone()).unwrap_err();
        assert!(matches!(refused, FieldError::Future { .. }), "{refused}");
        assert!(read(Times::Any, late).is_ok());
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_told_apart() {
        let read = |value: Value<'_>| Times::UntilTomorrow.read("time", &value).map(|at| at.0).ok();
        let instant = 1_700_000_000_000;
        for value in [
            Value::Integer(1_700_000_000),
            Value::Integer(instant.into()),
            Value::Float(1_700_000_000.000_4),
            Value::Float(1_699_999_999_999.6),
            Value::Text("2023-11-14T22:13:20Z".into()),
            Value::Text("2023-11-14T23:13:20+01:00".into()),
        ] {
            assert_eq!(read(value.clone()), Some(instant), "{value:?}");
        }
        assert_eq!([0, -5].map(|number| read(Value::Integer(number))), [Some(0), Some(-5_000)]);
        for value in [
            Value::Integer(1_700_000_000_000_000),
            Value::Integer(i128::MAX),
            Value::Integer(i128::MIN),
            Value::Text("2023-11-14".into()),
            Value::Float(f64::NAN),
            Value::Float(f64::NEG_INFINITY),
            Value::Float(1.7e15),
            Value::Other("true".into()),
            Value::Bytes(b"2023".as_slice().into()),
        ] {
            assert_eq!(read(value.clone()), None, "{value:?}");
        }
    }
}
