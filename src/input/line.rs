//! One document as a line of JSON.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use url::Url;

use super::{Content, Input};
use crate::page::Timestamp;

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is no JSON, or a field is missing, doubled or of another type.
    #[error("{}", plain(.0))]
    Json(serde_json::Error),
    /// It is some other JSON.
    #[error(
        "a line must be an object: {{\"id\": \"…\", \"text\": \"…\"}} or {{\"id\": \"…\", \"html\": \"…\"}}"
    )]
    NoObject,
    /// It has no content.
    #[error("either `text` or `html` is missing")]
    NoContent,
    /// It has two contents.
    #[error("there must be either `text` or `html`, not both")]
    TwoContents,
    /// Its `url` is none.
    #[error("`url`: {text:?} is not an absolute URL")]
    Url {
        /// What stands there.
        text: String,
        /// Why it is none.
        source: url::ParseError,
    },
    /// It is longer than [`LONGEST`](super::LONGEST).
    #[error("the line is longer than 64 MiB and was passed over")]
    TooLong,
}

/// The fields that are looked at; others may stand beside them.
#[derive(Deserialize)]
struct Fields {
    id: String,
    text: Option<String>,
    html: Option<String>,
    url: Option<String>,
    #[serde(default, deserialize_with = "time")]
    time: Option<Timestamp>,
}

/// The end of the year 9999, in milliseconds since 1970: what is later counts something else than milliseconds. As a time it would be one
/// after which the window forgets everything before.
const LATEST: i64 = 253_402_300_799_999;

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Result<Input, LineError> {
    // Serde would take a list for the fields in order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(LineError::NoObject);
    }
    let fields: Fields = serde_json::from_slice(line).map_err(LineError::Json)?;
    let content = match (fields.text, fields.html) {
        (Some(text), None) => Content::Text(text),
        (None, Some(html)) => Content::Html { body: html.into_bytes(), charset: Some("utf-8") },
        (None, None) => return Err(LineError::NoContent),
        (Some(_), Some(_)) => return Err(LineError::TwoContents),
    };
    let url = fields.url.map(|text| match Url::parse(&text) {
        Ok(url) => Ok(url),
        Err(source) => Err(LineError::Url { text, source }),
    });
    Ok(Input { id: fields.id, url: url.transpose()?, at: fields.time, content })
}

/// The message without the place, which is that within the line.
fn plain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("column {}: {message}", error.column()),
        None => message,
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    deserializer.deserialize_any(TimeVisitor)
}

struct TimeVisitor;

impl de::Visitor<'_> for TimeVisitor {
    type Value = Option<Timestamp>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time (RFC 3339, or whole milliseconds since 1970)")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.parse::<jiff::Timestamp>() {
            Ok(at) => Ok(Some(Timestamp(at.as_millisecond()))),
            Err(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Self::Value, E> {
        if millis > LATEST {
            return Err(E::invalid_value(de::Unexpected::Signed(millis), &self));
        }
        Ok(Some(Timestamp(millis)))
    }

    fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Self::Value, E> {
        match i64::try_from(millis) {
            Ok(millis) => self.visit_i64(millis),
            Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(millis), &self)),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
