//! Reads a file of JSON lines, one document per line.

use std::{
    fmt,
    io::{self, BufRead, Read},
    path::PathBuf,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use url::Url;

use super::{Content, Format, Input, InputError, LONGEST, Raw};
use crate::page::Timestamp;

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

const NO_OBJECT: &str =
    r#"a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}"#;

/// How many lines of an input may be no objects before the first that is one.
const STRANGERS: u32 = 10;

/// Why an input is not read as lines, and what to do instead.
const PLAIN: &str = "it has no JSON lines. For plain text, write `jq -Rsc '{id: \"a\", text: .}' FILE | pagesieve …`, or with a document per \
                     line `jq -Rc '{id: input_line_number, text: .}' FILE | pagesieve …`. CSV is read by the Python package";
const ARRAY: &str = "it is a JSON array, not JSON lines: write `jq -c '.[]' FILE | pagesieve …`";

/// Why an input that begins so has no JSON lines; none if it has some, or if a single line does not show it.
pub(super) fn not_lines(start: &[u8]) -> Option<&'static str> {
    let lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty());
    let first = lines.next()?;
    let is_object = |line: &[u8]| line.starts_with(b"{");
    if first.starts_with(b"[") && !first.ends_with(b"]") {
        return Some(ARRAY);
    }
    // The last one may be the beginning of a line.
    let mut others = lines.peekable();
    let is_foreign = !is_object(first) && others.peek().is_some() && !others.any(is_object);
    is_foreign.then_some(PLAIN)
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// It is not valid JSON, or a field is missing, repeated or of the wrong type.
    #[error("{}", plain(.0))]
    Json(serde_json::Error),
    /// It does not have the form of a document.
    #[error("{0}")]
    Form(String),
    /// Its `url` is not an absolute URL.
    #[error("`url`: {text:?} is not an absolute URL")]
    Url {
        /// The value.
        text: String,
        /// Why it cannot be parsed.
        source: url::ParseError,
    },
}

/// The documents of a file of JSON lines.
pub(super) struct Lines {
    from: Box<dyn BufRead + Send>,
    file: String,
    /// Number of the last line read, from 1.
    number: u64,
    line: Vec<u8>,
    longest: usize,
    names: Names,
    keeps: bool,
    /// How many lines were no objects, until one is.
    strangers: Option<u32>,
}

impl Lines {
    /// `keeps` says whether documents have the bytes of their lines.
    pub(super) fn new(
        from: Box<dyn BufRead + Send>,
        file: String,
        names: Names,
        keeps: bool,
    ) -> Self {
        let (line, strangers) = (Vec::new(), Some(0));
        Self { from, file, number: 0, line, longest: LONGEST, names, keeps, strangers }
    }

    /// Reads the next line without its end. Returns whether it was short enough, `None` at the end of the file.
    fn advance(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let limit = self.longest as u64 + 1;
        if self.from.by_ref().take(limit).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.pop_if(|last| *last == b'\n').is_none() && self.line.len() > self.longest {
            self.from.skip_until(b'\n')?;
            return Ok(Some(false));
        }
        Ok(Some(true))
    }

    /// Whether reading ends here: too many lines were no objects, and this one is none either.
    fn is_foreign(&mut self) -> bool {
        let is_object = self.line.trim_ascii_start().starts_with(b"{");
        self.strangers = self.strangers.filter(|_| !is_object).map(|lines| lines + 1);
        self.strangers.is_some_and(|lines| lines > STRANGERS)
    }

    fn error(&self, source: LineError) -> InputError {
        InputError::Line { file: self.file.clone(), line: self.number, source }
    }
}

impl Iterator for Lines {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance() {
                Ok(None) => return None,
                Ok(Some(false)) => {
                    // A long line may have left a large buffer.
                    self.line = Vec::new();
                    let why = "the line is longer than 64 MiB and was skipped";
                    return Some(Err(self.error(LineError::Form(why.to_owned()))));
                }
                Ok(Some(true)) if !self.line.trim_ascii().is_empty() && self.is_foreign() => {
                    self.from = Box::new(io::empty());
                    let path = PathBuf::from(&self.file);
                    return Some(Err(InputError::Refused { path, why: PLAIN }));
                }
                Ok(Some(true)) => {
                    let line = match self.line.strip_prefix(BOM) {
                        Some(line) if self.number == 1 => line,
                        _ => &self.line,
                    };
                    if !line.trim_ascii().is_empty() {
                        let input = self.names.parse(line);
                        let raw = || Raw { bytes: [line, b"\n"].concat(), format: Format::Lines };
                        return Some(input.map_err(|error| self.error(error)).map(|input| Input {
                            place: format!("{}:{}", self.file, self.number),
                            line: self.number,
                            raw: self.keeps.then(raw),
                            ..input
                        }));
                    }
                }
                Err(source) => {
                    self.from = Box::new(io::empty());
                    return Some(Err(InputError::Read { file: self.file.clone(), source }));
                }
            }
        }
    }
}

/// The heading of the options in help.
const FIELDS: &str = "Fields of JSON lines";

/// The names of the fields that are read; others are ignored.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Names {
    /// The field with the id, a string or a whole number
    #[arg(long = "id-field", value_name = "NAME", default_value = "id", help_heading = FIELDS)]
    id: String,
    /// The field with the text
    #[arg(long = "text-field", value_name = "NAME", default_value = "text", help_heading = FIELDS)]
    text: String,
    /// The field with the HTML of a page
    #[arg(long = "html-field", value_name = "NAME", default_value = "html", help_heading = FIELDS)]
    html: String,
}

impl Default for Names {
    fn default() -> Self {
        let [id, text, html] = ["id", "text", "html"].map(str::to_owned);
        Self { id, text, html }
    }
}

/// What a line has in the fields that are read.
#[derive(Default)]
pub(crate) struct Fields {
    id: Option<String>,
    text: Option<String>,
    html: Option<String>,
    url: Option<String>,
    time: Option<Timestamp>,
}

impl<'de> DeserializeSeed<'de> for &Names {
    type Value = Fields;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Names {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let (mut fields, mut seen) = (Fields::default(), Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let is_read = [&self.id, &self.text, &self.html].contains(&&name)
                || ["url", "time"].contains(&&*name);
            if !is_read {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if seen.contains(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            if name == self.id {
                let id = map.next_value_seed(Id)?;
                fields.url = fields.url.or((name == "url").then(|| id.clone()));
                fields.id = Some(id);
            } else if name == self.text {
                fields.text = map.next_value()?;
            } else if name == self.html {
                fields.html = map.next_value()?;
            } else if name == "url" {
                fields.url = map.next_value()?;
            } else {
                fields.time = map.next_value_seed(Time)?;
            }
            seen.push(name);
        }
        if fields.id.is_none() {
            return Err(A::Error::custom(format!("missing field `{}`", self.id)));
        }
        Ok(fields)
    }
}

/// The end of the year 9999 in milliseconds since 1970. A larger number is not in milliseconds; taken as a time it would make the window
/// forget everything before it.
const LATEST: i64 = 253_402_300_799_999;

/// Parses a document: a line, or a body. Its place is not known.
#[cfg(any(test, feature = "serve"))]
pub(crate) fn parse(line: &[u8]) -> Result<Input, LineError> {
    Names::default().parse(line)
}

impl Names {
    fn parse(&self, line: &[u8]) -> Result<Input, LineError> {
        // Serde would accept a list of the fields in order.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(LineError::Form(NO_OBJECT.to_owned()));
        }
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let fields = self.deserialize(&mut deserializer);
        let fields = fields.and_then(|fields| deserializer.end().map(|()| fields));
        let fields = fields.map_err(LineError::Json)?;
        let Self { text, html, .. } = self;
        let content = match (fields.text, fields.html) {
            (Some(text), None) => Content::Text(text),
            (None, Some(html)) => Content::Html {
                body: html.into_bytes(),
                content_type: Some("text/html; charset=utf-8".to_owned()),
            },
            (None, None) => {
                let why = format!("either `{text}` or `{html}` is missing");
                return Err(LineError::Form(why));
            }
            (Some(_), Some(_)) => {
                let why = format!("there must be either `{text}` or `{html}`, not both");
                return Err(LineError::Form(why));
            }
        };
        let parse =
            |text: String| Url::parse(&text).map_err(|source| LineError::Url { text, source });
        let url = fields.url.map(parse).transpose()?;
        let id = fields.id.unwrap_or_default();
        Ok(Input { url, at: fields.time, ..Input::new(id, content) })
    }
}

/// The message with the column within the line, but without serde's line number, which is always 1.
fn plain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("column {}: {message}", error.column()),
        None => message,
    }
}

/// An id is text; a whole number is taken as text.
struct Id;

impl<'de> DeserializeSeed<'de> for Id {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(text),
            Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
            other => Err(D::Error::custom(format!(
                "invalid id: {other}, expected a string or a whole number"
            ))),
        }
    }
}

struct Time;

impl<'de> DeserializeSeed<'de> for Time {
    type Value = Option<Timestamp>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let millis = match &value {
            Value::Null => return Ok(None),
            Value::String(text) => text.parse().ok().map(jiff::Timestamp::as_millisecond),
            value => value.as_i64().filter(|millis| *millis <= LATEST),
        };
        let expected = "a time (RFC 3339, or whole milliseconds since 1970)";
        let kind = if value.is_string() { "string" } else { "value" };
        let invalid = || format!("invalid value: {kind} {value}, expected {expected}");
        millis.map(|millis| Some(Timestamp(millis))).ok_or_else(|| D::Error::custom(invalid()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8], longest: usize) -> Vec<Result<String, String>> {
        let lines = Lines::new(Box::new(bytes), "in".to_owned(), Names::default(), false);
        let lines = Lines { longest, ..lines };
        let shown = |error: InputError| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error}: {}", source.unwrap_or_default())
        };
        lines.map(|item| item.map(|input| input.id).map_err(shown)).collect()
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_counted() {
        let long = br#"{"id":"a","text":""}
{"id":"b","text":"                    "}
{"id":"c","text":""}"#;
        let skipped = "in:2: the line is longer than 64 MiB and was skipped".to_owned();
        assert_eq!(read(long, 20), [Ok("a".to_owned()), Err(skipped), Ok("c".to_owned())]);
    }

    #[test]
    fn line_ends_byte_order_mark_and_empty_lines_do_not_matter() {
        let odd = b"\xEF\xBB\xBF{\"id\":\"a\",\"text\":\"\"}\r\n\r\n  \n{\"id\":\"b\",\"text\":\"\"}\r\n\n";
        assert_eq!(read(odd, 99), [Ok("a".to_owned()), Ok("b".to_owned())]);
    }

    #[test]
    fn a_line_that_is_not_a_document_is_an_error_with_its_number() {
        let bad = b"[1]\n{\n{\"text\":\"\"}\n{\"id\":\"a\"}\n{\"id\":\"a\",\"id\":\"b\",\"text\":\"\"}\n{\"id\":\"\xFF\",\"text\":\"\"}\n\0\n{\"id\":[1],\"text\":\"\"}";
        let errors: Vec<_> = read(bad, 999).into_iter().map(Result::unwrap_err).collect();
        insta::assert_snapshot!(errors.join("\n"), @r#"
    in:1: a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    in:2: column 1: EOF while parsing an object
    in:3: column 11: missing field `id`
    in:4: either `text` or `html` is missing
    in:5: column 14: duplicate field `id`
    in:6: column 8: invalid unicode code point
    in:7: a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    in:8: column 9: invalid id: [1], expected a string or a whole number
    "#);
    }

    #[test]
    fn the_time_is_a_date_or_a_number_of_milliseconds() {
        let time = |time: &str| {
            let line = format!(r#"{{"id":"a","html":"","url":null,"time":{time},"more":[{{}}]}}"#);
            parse(line.as_bytes()).map(|input| {
                assert!(matches!(input.content, Content::Html { .. }));
                input.at.map(|at| at.0)
            })
        };
        assert_eq!(time("1700000000123").unwrap(), Some(1_700_000_000_123));
        assert_eq!(time(r#""2023-11-14T22:13:20.123Z""#).unwrap(), Some(1_700_000_000_123));
        assert_eq!(time(r#""2023-11-14T23:13:20+01:00""#).unwrap(), Some(1_700_000_000_000));
        assert_eq!(time("null").unwrap(), None);
        assert!(time("1.5").is_err() && time(r#""yesterday""#).is_err() && time("true").is_err());
    }
}
