//! Documents as Python and Arrow give them, and how they are prepared for the filter.

use pagesieve::{
    Digest, Document,
    extract::{Extractor, Truncation},
    filter::{Documents, Key},
    page::{NormalUrl, Origin, Page, Timestamp, UrlOptions},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString, PyTuple},
};
use url::Url;

/// What an id that is a number begins with inside the filter, so that 5 and "5" are two ids.
const NUMBER: char = '\u{1}';
/// The end of the year 9999 in milliseconds since 1970.
const LATEST: i64 = 253_402_300_799_999;
/// An expected form of a document, for messages.
const FORMS: &str = r#"a str, a pair (id, text), or a dict with "id" and "text" or "html""#;

/// A document as it was given.
#[derive(Debug)]
pub(crate) struct Input {
    /// As the filter keeps it; the number of the document if there is none.
    pub(crate) id: Option<String>,
    pub(crate) url: Option<Url>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    Page(Page),
}

impl Input {
    /// One of many documents.
    pub(crate) fn of(item: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = item.cast::<PyString>() {
            return Ok(Self::text(None, text.to_str()?.to_owned()));
        }
        if let Ok(fields) = item.cast::<PyDict>() {
            return Self::of_fields(fields);
        }
        let pair = item
            .cast::<PyTuple>()
            .cloned()
            .or_else(|_| item.cast::<PyList>().map(PyListMethods::to_tuple));
        if let Ok(pair) = pair.map_err(PyErr::from)
            && pair.len() == 2
        {
            let text = string(&pair.get_item(1)?, "text")?;
            return Ok(Self::text(Some(id_of(&pair.get_item(0)?)?), text));
        }
        let kind = item.get_type().name()?;
        Err(PyTypeError::new_err(format!("expected {FORMS}; found {kind}")))
    }

    pub(crate) fn text(id: Option<String>, text: String) -> Self {
        Self { id, url: None, at: None, content: Content::Text(text) }
    }

    /// A document with these fields: `id`, `text` or `html`, `url`, `time`, `content_type`. Others are ignored.
    pub(crate) fn of_fields(fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let get = |name| fields.get_item(name).map(|value| value.filter(|it| !it.is_none()));
        let url = get("url")?.map(|url| string(&url, "url")).transpose()?;
        let content_type =
            get("content_type")?.map(|it| string(&it, "content_type")).transpose()?;
        let content = match (get("text")?, get("html")?) {
            (Some(text), None) => Content::Text(string(&text, "text")?),
            (None, Some(html)) => Content::Page(Self::page(&html, url.as_deref(), content_type)?),
            (None, None) => {
                return Err(PyValueError::new_err("either `text` or `html` is missing"));
            }
            (Some(_), Some(_)) => {
                let message = "there must be either `text` or `html`, not both";
                return Err(PyValueError::new_err(message));
            }
        };
        let id = get("id")?.map(|id| id_of(&id)).transpose()?;
        let at = get("time")?.map(|time| time_of(&time)).transpose()?;
        Ok(Self { id, url: url.as_deref().map(parse_url).transpose()?, at, content })
    }

    /// A page of these bytes, or of these characters.
    pub(crate) fn page(
        html: &Bound<'_, PyAny>,
        url: Option<&str>,
        content_type: Option<String>,
    ) -> PyResult<Page> {
        let url = url.map(parse_url).transpose()?;
        if let Ok(body) = html.cast::<PyBytes>() {
            return Ok(Page {
                url,
                content_type,
                body: body.as_bytes().to_vec(),
                ..Page::default()
            });
        }
        let body = string(html, "html")?.into_bytes();
        let content_type = Some("text/html; charset=utf-8".to_owned());
        Ok(Page { url, content_type, body, ..Page::default() })
    }

    /// The bytes of its content.
    pub(crate) fn len(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.len(),
            Content::Page(page) => page.body.len(),
        }
    }
}

fn string(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let text = value.cast::<PyString>().map_err(|_| {
        let kind = value.get_type();
        PyTypeError::new_err(format!("`{name}` must be a str, not {kind}"))
    })?;
    Ok(text.to_str()?.to_owned())
}

pub(crate) fn parse_url(url: &str) -> PyResult<Url> {
    let wrong = |_| PyValueError::new_err(format!("`url`: {url:?} is not an absolute URL"));
    Url::parse(url).map_err(wrong)
}

/// An id as the filter keeps it.
pub(crate) fn id_of(id: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(id) = id.cast::<PyString>() {
        let id = id.to_str()?;
        if id.starts_with(NUMBER) {
            return Err(PyValueError::new_err("an id must not begin with U+0001"));
        }
        return Ok(id.to_owned());
    }
    let wrong =
        |_| PyTypeError::new_err(format!("an id must be a str or an int, not {}", id.get_type()));
    id.extract::<i128>().map(number_id).map_err(wrong)
}

/// A number as an id.
pub(crate) fn number_id(number: impl std::fmt::Display) -> String {
    format!("{NUMBER}{number}")
}

/// An id as it was given.
pub(crate) fn original_id<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
    match id.strip_prefix(NUMBER).and_then(|digits| digits.parse::<i128>().ok()) {
        Some(number) => Ok(number.into_pyobject(py)?.into_any()),
        None => Ok(PyString::new(py, id).into_any()),
    }
}

/// A time: milliseconds since 1970, RFC 3339, or a `datetime` with a time zone.
fn time_of(time: &Bound<'_, PyAny>) -> PyResult<Timestamp> {
    let wrong = || {
        let expected = "RFC 3339, whole milliseconds since 1970, or a datetime with a time zone";
        PyValueError::new_err(format!("`time`: {time} is no time; expected {expected}"))
    };
    if let Ok(millis) = time.extract::<i64>() {
        return if millis <= LATEST { Ok(Timestamp(millis)) } else { Err(wrong()) };
    }
    let datetime = match time.cast::<PyString>() {
        Ok(text) => {
            // Before Python 3.11, `fromisoformat` does not know the letter.
            let text = text.to_str()?.replace(['Z', 'z'], "+00:00");
            let class = time.py().import("datetime")?.getattr("datetime")?;
            class.call_method1("fromisoformat", (text,)).map_err(|_| wrong())?
        }
        Err(_) => time.clone(),
    };
    if datetime.getattr("tzinfo").map_or(true, |zone| zone.is_none()) {
        return Err(wrong());
    }
    let seconds: f64 = datetime.call_method0("timestamp")?.extract()?;
    #[expect(clippy::cast_possible_truncation, reason = "a datetime ends with the year 9999")]
    Ok(Timestamp((seconds * 1000.0).round() as i64))
}

/// Turns inputs into documents. Threads share one.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) documents: Documents,
    extractor: Extractor,
    urls: UrlOptions,
}

/// A document that is ready to be judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) document: Document,
    pub(crate) url: Option<String>,
    /// Why the page is truncated, if it is.
    pub(crate) truncated: Option<Truncation>,
}

impl Preparation {
    pub(crate) fn new(documents: Documents) -> Self {
        Self { documents, extractor: Extractor::default(), urls: UrlOptions::default() }
    }

    /// The key of a URL: that of its normal form, if it has one.
    pub(crate) fn key(&self, url: &Url) -> Key {
        let normal = NormalUrl::new(url, &self.urls);
        Key::of(normal.as_ref().map_or(url.as_str(), |normal| normal.as_str()))
    }

    /// The document, and its text. Without an id it gets its URL or else its number as id.
    pub(crate) fn prepare(&self, input: Input, number: u64) -> (Prepared, String) {
        let Input { id, url, at, content } = input;
        let of_url = || url.as_ref().map(ToString::to_string);
        let id = id.or_else(of_url).unwrap_or_else(|| number_id(number));
        let mut origin = url.as_ref().map_or_else(|| Origin::named(&id), Origin::of);
        let (document, text, truncated) = match content {
            Content::Text(text) => {
                let document = match &origin {
                    Some(origin) => self.documents.text_from(origin.as_str(), &id, &text),
                    None => self.documents.text(&id, &text),
                };
                (document, text, None)
            }
            Content::Page(page) => {
                let found = self.extractor.extract(&page);
                let body = Some(Digest::of(&page.body));
                // A saved page has no URL, but it may name its own.
                if url.is_none() {
                    origin = origin.or_else(|| found.canonical.as_ref().and_then(Origin::of));
                }
                let document = self.documents.extracted(&id, origin.as_ref(), &found, body);
                (document, found.text, found.truncated)
            }
        };
        let document = match &url {
            Some(url) => document.with_key(self.key(url)),
            None => document,
        };
        let document = document.with_time(at.unwrap_or_else(Timestamp::now));
        (Prepared { document, url: url.map(String::from), truncated }, text)
    }
}
