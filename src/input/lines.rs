//! A file of JSON lines.

use std::{
    fmt,
    io::{self, BufRead},
};

use super::{Input, InputError, LONGEST, LineError, line};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The documents of a file of JSON lines.
pub(super) struct Lines {
    from: Box<dyn BufRead + Send>,
    file: String,
    /// The line read last, from 1.
    number: u64,
    line: Vec<u8>,
    longest: usize,
    broken: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("file", &self.file)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Lines {
    pub(super) fn new(from: Box<dyn BufRead + Send>, file: String) -> Self {
        Self { from, file, number: 0, line: Vec::new(), longest: LONGEST, broken: false }
    }

    /// Takes in the next line without its end: whether it was short enough, `None` at the end of the file.
    fn advance(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let (mut read, mut fits) = (false, true);
        loop {
            let bytes = match self.from.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(read.then_some(fits));
            }
            if !read {
                self.number += 1;
                read = true;
            }
            let end = memchr::memchr(b'\n', bytes);
            let (part, used) = end.map_or((bytes, bytes.len()), |end| (&bytes[..end], end + 1));
            fits &= self.line.len() + part.len() <= self.longest;
            if fits {
                self.line.extend_from_slice(part);
            }
            self.from.consume(used);
            if end.is_some() {
                return Ok(Some(fits));
            }
        }
    }

    fn error(&self, source: LineError) -> InputError {
        InputError::Line { file: self.file.clone(), line: self.number, source }
    }
}

impl Iterator for Lines {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.broken {
            match self.advance() {
                Ok(None) => return None,
                Ok(Some(false)) => {
                    // A long line may have left much room behind it.
                    self.line = Vec::new();
                    return Some(Err(self.error(LineError::TooLong)));
                }
                Ok(Some(true)) => {
                    let line = match self.line.strip_prefix(BOM) {
                        Some(line) if self.number == 1 => line,
                        _ => &self.line,
                    };
                    if !line.trim_ascii().is_empty() {
                        return Some(line::parse(line).map_err(|error| self.error(error)));
                    }
                }
                Err(source) => {
                    self.broken = true;
                    return Some(Err(InputError::Read { file: self.file.clone(), source }));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Content;

    fn read(bytes: &'static [u8], longest: usize) -> Vec<Result<String, String>> {
        let lines = Lines { longest, ..Lines::new(Box::new(bytes), "in".to_owned()) };
        let told = |error: InputError| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error}: {}", source.unwrap_or_default())
        };
        lines.map(|item| item.map(|input| input.id).map_err(told)).collect()
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_counted() {
        let long = br#"{"id":"a","text":""}
{"id":"b","text":"                    "}
{"id":"c","text":""}"#;
        let told = "in:2: the line is longer than 64 MiB and was passed over".to_owned();
        assert_eq!(read(long, 20), [Ok("a".to_owned()), Err(told), Ok("c".to_owned())]);
    }

    #[test]
    fn line_ends_a_byte_order_mark_and_empty_lines_do_not_matter() {
        let odd = b"\xEF\xBB\xBF{\"id\":\"a\",\"text\":\"\"}\r\n\r\n  \n{\"id\":\"b\",\"text\":\"\"}\r\n\n";
        assert_eq!(read(odd, 99), [Ok("a".to_owned()), Ok("b".to_owned())]);
    }

    #[test]
    fn what_is_no_document_is_an_error_with_its_line() {
        let bad = b"[1]\n{\n{\"text\":\"\"}\n{\"id\":\"a\"}\n{\"id\":\"a\",\"id\":\"b\",\"text\":\"\"}\n{\"id\":\"\xFF\",\"text\":\"\"}\n\0\n{\"id\":1,\"text\":\"\"}";
        let errors: Vec<_> = read(bad, 999).into_iter().map(Result::unwrap_err).collect();
        insta::assert_snapshot!(errors.join("\n"), @r#"
    in:1: a line must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    in:2: column 1: EOF while parsing an object
    in:3: column 11: missing field `id`
    in:4: either `text` or `html` is missing
    in:5: column 14: duplicate field `id`
    in:6: column 8: invalid unicode code point
    in:7: a line must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    in:8: column 7: invalid type: integer `1`, expected a string
    "#);
    }

    #[test]
    fn the_time_is_a_date_or_a_number_of_milliseconds() {
        let time = |time: &str| {
            let line = format!(r#"{{"id":"a","html":"","url":null,"time":{time},"more":[{{}}]}}"#);
            line::parse(line.as_bytes()).map(|input| {
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
