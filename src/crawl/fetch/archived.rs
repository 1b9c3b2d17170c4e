//! A response that was received earlier, as it is in an archive.

use std::io;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};

use super::{
    body::{self, Coding, Extent, MemoryBudget},
    response::content_type,
};

/// A response with its head, as HTTP/1 has it.
pub(crate) struct Archived<'a> {
    /// The status.
    pub(crate) status: u16,
    /// As [`Response::content_type`](super::Response::content_type).
    pub(crate) content_type: Option<String>,
    headers: HeaderMap,
    body: &'a [u8],
}

impl<'a> Archived<'a> {
    /// Splits head and body; `None` if this is no response.
    pub(crate) fn parse(block: &'a [u8]) -> Option<Self> {
        let first = block.split(|byte| *byte == b'\n').next()?;
        let mut words = str::from_utf8(first.get(..first.len().min(32))?).ok()?.split_whitespace();
        words.next().filter(|version| version.starts_with("HTTP/"))?;
        let status = words.next()?.parse().ok()?;
        let (head, body) = block.split_at(head_length(block).unwrap_or(block.len()));
        let mut headers = HeaderMap::new();
        for (name, value) in fields(head) {
            let pair = HeaderName::from_bytes(&name).ok().zip(HeaderValue::from_bytes(&value).ok());
            if let Some((name, value)) = pair {
                // A head of too many fields has no more.
                drop(headers.try_append(name, value));
            }
        }
        Some(Self { status, content_type: content_type(&headers), headers, body })
    }

    /// The body without transfer coding and content coding, at most this many bytes. Archives name codings that they have removed: a body
    /// that is not coded as the head says is taken as it is.
    ///
    /// # Errors
    /// If it can neither be decoded nor be markup.
    pub(crate) fn body(&self, limit: usize) -> io::Result<(Vec<u8>, Extent)> {
        let is_chunked = self
            .headers
            .get_all(TRANSFER_ENCODING)
            .iter()
            .any(|value| value.as_bytes().to_ascii_lowercase().ends_with(b"chunked"));
        let whole = is_chunked.then(|| without_chunks(self.body)).flatten();
        let body = whole.as_deref().unwrap_or(self.body);
        let decoded = Coding::of(&self.headers).map_err(io::Error::from).and_then(|coding| {
            let chunks = stream::iter([Ok(Bytes::copy_from_slice(body))]);
            let mut share = MemoryBudget::new(usize::MAX >> 4).share(coding.memory());
            let read = body::read(chunks, coding, limit, &mut share).now_or_never();
            read.expect("everything is in memory")
        });
        match decoded {
            Err(_) if self.headers.contains_key(CONTENT_ENCODING) && is_markup(body) => {
                let extent = if body.len() > limit { Extent::Cut } else { Extent::Whole };
                Ok((body[..body.len().min(limit)].to_vec(), extent))
            }
            decoded => decoded,
        }
    }
}

/// The length of a head with the empty line that ends it, if it is there.
pub(crate) fn head_length(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|end| match &bytes[end + 1..] {
        [b'\n', ..] => Some(end + 2),
        [b'\r', b'\n', ..] => Some(end + 3),
        _ => None,
    })
}

/// The fields after the first line of a header, with names in lower case. A line that begins with white space continues the one before.
pub(crate) fn fields(header: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for line in header.split(|byte| *byte == b'\n').skip(1) {
        if let (true, Some((_, value))) =
            (line.starts_with(b" ") || line.starts_with(b"\t"), fields.last_mut())
        {
            value.push(b' ');
            value.extend_from_slice(line.trim_ascii());
        } else if let Some(colon) = memchr::memchr(b':', line) {
            let name = line[..colon].trim_ascii().to_ascii_lowercase();
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }
    fields
}

/// The body that these chunks carry; `None` if there are no chunks. One that ends early is as long as it is.
fn without_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(1 << 10)]) {
        let size = bytes[..end].split(|byte| *byte == b';').next().unwrap_or_default();
        let size = usize::from_str_radix(str::from_utf8(size.trim_ascii()).ok()?, 16).ok()?;
        bytes = &bytes[end + 1..];
        if size == 0 {
            return Some(body);
        }
        let (chunk, rest) = bytes.split_at(size.min(bytes.len()));
        body.extend_from_slice(chunk);
        bytes = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
    (!body.is_empty()).then_some(body)
}

/// Whether these bytes begin like markup, and not like compressed data.
fn is_markup(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    body.trim_ascii_start().starts_with(b"<")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn body(head: &str, body: &[u8]) -> Result<String, String> {
        let block = [format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes(), body].concat();
        let body = Archived::parse(&block).unwrap().body(1000).map_err(|error| error.to_string());
        body.map(|(body, _)| String::from_utf8(body).unwrap())
    }

    #[test]
    fn codings_are_removed_if_they_are_there() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"<p>text").unwrap();
        let gzip = gzip.finish().unwrap();
        let chunked =
            [format!("{:x}\r\n", gzip.len()).as_bytes(), &gzip, b"\r\n0\r\n\r\n"].concat();
        let text = Ok("<p>text".to_owned());
        assert_eq!(body("", b"<p>text"), text);
        assert_eq!(body("Content-Encoding: gzip\r\n", &gzip), text);
        assert_eq!(body("Content-Encoding: gzip\r\n", b"<p>text"), text);
        assert_eq!(body("Content-Encoding: unknown\r\n", b"<p>text"), text);
        assert_eq!(
            body("Transfer-Encoding: chunked\r\n", b"3\r\n<p>\r\n4;x=y\r\ntext\r\n0\r\n\r\n"),
            text
        );
        assert_eq!(body("Transfer-Encoding: chunked\r\n", b"<p>text"), text);
        assert_eq!(body("content-encoding:gzip\nTRANSFER-ENCODING: chunked\n", &chunked), text);
        assert!(body("Content-Encoding: gzip\r\n", &gzip[..12]).is_err());
        assert!(body("Content-Encoding: br\r\n", b"\xff\xff\xff").is_err());
    }

    #[test]
    fn a_head_may_be_folded_malformed_or_alone() {
        let parse = |block: &'static [u8]| {
            Archived::parse(block).map(|it| (it.status, it.content_type, it.body))
        };
        let html = || Some("text/html; charset=x".to_owned());
        assert_eq!(
            parse(
                b"HTTP/1.0 200\nContent-Type: text/html;\n charset=x\n\xff: \xff\nnonsense\n\nbody"
            ),
            Some((200, html(), &b"body"[..]))
        );
        assert_eq!(parse(b"HTTP/1.1 404 Not Found"), Some((404, None, &b""[..])));
        assert_eq!(parse(b"HTTP/2 204\r\n\r\n"), Some((204, None, &b""[..])));
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(parse(b""), None);
    }
}
