//! Reads a file of JSON lines, one document per line.

use std::{
    fmt,
    io::{self, BufRead, Read},
    path::PathBuf,
};

use serde::{
    Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value as Json;

use super::{Format, Input, InputError, LONGEST, Raw, Reading};
use crate::submission::{Field, Fields, Times, Value};

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

const NO_OBJECT: &str =
    r#"a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}"#;

const IS_ARRAY: &str =
    "an array is no document: write each on a line of its own, for example by `jq -c '.[]'`";

const NO_UTF8: &str =
    "the line is not in UTF-8: convert the input, for example by `iconv -f ISO-8859-1 -t UTF-8`";

/// How many lines of an input may be no objects before the first that is one.
const STRANGERS: u32 = 10;

/// Why an input is not read as lines, and what to do instead.
const PLAIN: &str = "it has no JSON lines. For plain text, write `jq -Rsc '{id: \"a\", text: .}' FILE | pagesieve …`, or with a document per \
                     line `jq -Rc '{id: input_line_number, text: .}' FILE | pagesieve …`. CSV is read by the Python package";
const BINARY: &str = "it is neither JSON lines nor HTML, and no text in UTF-8: unpack or convert it first, for example by tar, pdftotext or iconv";
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
    let is_text = str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    if !is_object(first) && (!is_text || first.contains(&0)) {
        return Some(BINARY);
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
    times: Times,
    keeps: bool,
    /// How many lines were no objects, until one is.
    strangers: Option<u32>,
}

impl Lines {
    pub(super) fn new(from: Box<dyn BufRead + Send>, file: String, reading: &Reading) -> Self {
        let Reading { names, times, keeps, .. } = reading.clone();
        let (line, strangers) = (Vec::new(), Some(0));
        Self { from, file, number: 0, line, longest: LONGEST, names, times, keeps, strangers }
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
        let goes_on = matches!(&source, LineError::Json(error) if error.is_eof());
        let whole = || format!("{source}: each document is one line, as `jq -c .` writes it");
        let source = if goes_on { LineError::Form(whole()) } else { source };
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
                        let input = self.names.parse(line, self.times);
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

impl Names {
    /// The field of this name, if it is read.
    fn field(&self, name: &str) -> Option<Field> {
        let own = [(&self.id, Field::Id), (&self.text, Field::Text), (&self.html, Field::Html)];
        let own = own.into_iter().find(|(own, _)| *own == name).map(|(_, field)| field);
        own.or(match name {
            "url" => Some(Field::Url),
            "time" => Some(Field::Time),
            "content_type" => Some(Field::ContentType),
            _ => None,
        })
    }

    fn parse(&self, line: &[u8], times: Times) -> Result<Input, LineError> {
        // Serde would accept a list of the fields in order.
        let why = match line.trim_ascii_start().first() {
            Some(b'{') => None,
            Some(b'[') => Some(IS_ARRAY),
            _ => Some(NO_OBJECT),
        };
        if let Some(why) = why {
            return Err(LineError::Form(why.to_owned()));
        }
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let fields = deserializer.deserialize_map(Object { names: self, times });
        let fields = fields.and_then(|fields| deserializer.end().map(|()| fields));
        let fields = fields.map_err(|error| match str::from_utf8(line) {
            Err(_) => LineError::Form(format!("column {}: {NO_UTF8}", error.column())),
            Ok(_) => LineError::Json(error),
        })?;
        let submission = fields.submission([&self.text, &self.html]);
        let submission = submission.map_err(|error| LineError::Form(error.to_string()))?;
        Ok(Input { submission, place: String::new(), line: 0, raw: None })
    }
}

/// Parses a document: a line, or a body. Its place is not known.
#[cfg(any(test, feature = "serve"))]
pub(crate) fn parse(line: &[u8], times: Times) -> Result<Input, LineError> {
    Names::default().parse(line, times)
}

/// Reads an object.
struct Object<'a> {
    names: &'a Names,
    times: Times,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let (mut fields, mut seen) = (Fields::new(self.times), Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let Some(field) = self.names.field(&name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen.contains(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            let value = match map.next_value::<Json>()? {
                Json::Null => None,
                Json::String(text) => Some(Value::Text(text.into())),
                Json::Number(number) => Some(match number.as_i128() {
                    Some(integer) => Value::Integer(integer),
                    None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
                }),
                other => Some(Value::Other(other.to_string())),
            };
            if let Some(value) = value {
                // The URL may be the id.
                if field == Field::Id && name == "url" {
                    fields.set(Field::Url, &name, value.clone()).map_err(A::Error::custom)?;
                }
                fields.set(field, &name, value).map_err(A::Error::custom)?;
            }
            seen.push(name);
        }
        if !fields.has_name() {
            let id = &self.names.id;
            let missing = format!("`{id}` and `url` are both missing: give one of them");
            return Err(A::Error::custom(missing));
        }
        Ok(fields)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::Payload;

    fn read(bytes: &'static [u8], longest: usize) -> Vec<Result<String, String>> {
        let lines = Lines::new(Box::new(bytes), "in".to_owned(), &Reading::default());
        let lines = Lines { longest, ..lines };
        let shown = |error: InputError| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error}: {}", source.unwrap_or_default())
        };
        lines.map(|item| item.map(|input| input.name().to_owned()).map_err(shown)).collect()
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
        let bad = b"[1]\n{\n{\"text\":\"\"}\n{\"id\":\"a\"}\n{\"id\":\"a\",\"id\":\"b\",\"text\":\"\"}\n{\"id\":\"\xFF\",\"text\":\"\"}\n\0\n{\"id\":[1],\"text\":\"\"}\n{\"id\":\"#7\",\"text\":\"\"}";
        let errors: Vec<_> = read(bad, 999).into_iter().map(Result::unwrap_err).collect();
        insta::assert_snapshot!(errors.join("\n"), @r##"
    in:1: an array is no document: write each on a line of its own, for example by `jq -c '.[]'`
    in:2: column 1: EOF while parsing an object: each document is one line, as `jq -c .` writes it
    in:3: column 11: `id` and `url` are both missing: give one of them
    in:4: `text` and `html` are both missing: give one of them
    in:5: column 14: duplicate field `id`
    in:6: column 8: the line is not in UTF-8: convert the input, for example by `iconv -f ISO-8859-1 -t UTF-8`
    in:7: a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    in:8: column 9: `id` must be a string or an integer of 64 bits, not [1]
    in:9: column 10: `id`: "#7" is the name of a document without an id: `#` and digits. Choose another
    "##);
    }

    #[test]
    fn the_time_is_a_date_or_a_number_of_milliseconds() {
        let time = |time: &str| {
            let line = format!(r#"{{"id":"a","html":"","url":null,"time":{time},"more":[{{}}]}}"#);
            parse(line.as_bytes(), Times::default()).map(|input| {
                assert!(matches!(input.submission.payload, Payload::Html { .. }));
                input.submission.at.map(|at| at.0)
            })
        };
        assert_eq!(time("1700000000123").unwrap(), Some(1_700_000_000_123));
        assert_eq!(time(r#""2023-11-14T22:13:20.123Z""#).unwrap(), Some(1_700_000_000_123));
        assert_eq!(time(r#""2023-11-14T23:13:20+01:00""#).unwrap(), Some(1_700_000_000_000));
        assert_eq!(time("null").unwrap(), None);
        assert_eq!(time("1700000000.5").unwrap(), Some(1_700_000_000_500));
        assert!(
            time("1.7e15").is_err() && time(r#""yesterday""#).is_err() && time("true").is_err()
        );
    }
}
