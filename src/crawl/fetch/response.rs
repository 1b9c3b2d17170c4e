//! One response: what the crawler needs of its head, its decoded body, and on request the exchange for the archive; also a
//! response that was received earlier, as it is in an archive.

use std::{
    fmt::Write as _,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use jiff::{fmt::strtime::BrokenDownTime, tz::TimeZone};
use reqwest::{
    StatusCode,
    header::{
        CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, LINK, LOCATION,
        REFRESH, RETRY_AFTER, SET_COOKIE, TRANSFER_ENCODING,
    },
};
use url::{Position, Url};

use super::body::{self, Extent, MemoryBudget, MemoryShare};
use crate::{
    page::{Timestamp, Validators},
    sink::warc::Exchange,
};

/// A longer `Retry-After` is shortened to this, so that the caller can add it to any instant.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(366 * 24);

/// A longer content type is ignored: it would be stored with the page.
const LONGEST_TYPE: usize = 1 << 10;

/// The three forms of a date in HTTP (RFC 9110, section 5.6.7).
const HTTP_DATES: [&str; 3] =
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// The response to one request, which may be a redirect.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The address that was connected to; behind a proxy, the one that the host's name resolved to.
    pub address: SocketAddr,
    /// The last `Content-Type` header. One of more than 1 KiB is ignored.
    pub content_type: Option<String>,
    /// The `Location` header, with bytes that are not ASCII percent-encoded.
    pub location: Option<String>,
    /// How long to wait from now on, by the `Retry-After` header: at most 366 days, zero for a date in the past.
    pub retry_after: Option<Duration>,
    /// What is sent with a later request to ask whether the page has changed; nothing unless the status is 200.
    pub validators: Validators,
    /// The `X-Robots-Tag` headers.
    pub x_robots_tag: Vec<String>,
    /// The `Link` headers.
    pub link: Vec<String>,
    /// The `Refresh` header.
    pub refresh: Option<String>,
    /// The `Set-Cookie` headers of a redirect.
    pub(super) cookies: Vec<String>,
    /// Whether it only redirects its URL to itself with a cookie, which the next request of its host has.
    pub sets_cookie: bool,
    /// The body without its content coding, or as much of it as `extent` says.
    pub body: Vec<u8>,
    /// How much of the body was kept.
    pub extent: Extent,
    /// The memory that the body holds of the budget for all.
    pub(in crate::crawl) share: Option<Arc<MemoryShare>>,
}

impl Response {
    /// The response of this head, with an empty body.
    pub(super) fn of_head(response: &reqwest::Response, address: SocketAddr) -> Self {
        let headers = response.headers();
        let texts = |name: &HeaderName| {
            headers.get_all(name).iter().map(|value| text_of(value.as_bytes())).collect::<Vec<_>>()
        };
        Self {
            status: response.status(),
            address,
            content_type: content_type(headers),
            location: headers.get(LOCATION).map(|value| ascii_of(value.as_bytes())),
            retry_after: texts(&RETRY_AFTER)
                .pop()
                .and_then(|value| retry_after(&value, jiff::Timestamp::now())),
            validators: if response.status() == StatusCode::OK {
                validators(headers)
            } else {
                Validators::default()
            },
            x_robots_tag: texts(&HeaderName::from_static("x-robots-tag")),
            link: texts(&LINK),
            refresh: texts(&REFRESH).into_iter().next(),
            cookies: if response.status().is_redirection() {
                texts(&SET_COOKIE)
            } else {
                Vec::new()
            },
            sets_cookie: false,
            body: Vec::new(),
            extent: Extent::Skipped,
            share: None,
        }
    }

    /// Whether it is a redirect: the status is one that leads elsewhere, and there is a `Location`.
    #[must_use]
    pub fn is_redirect(&self) -> bool {
        matches!(self.status.as_u16(), 301 | 302 | 303 | 307 | 308) && self.location.is_some()
    }

    /// The target of a redirect: its `Location` resolved against `base`, the URL of the request.
    ///
    /// `None` if it is [not a redirect](Self::is_redirect), or the target is malformed or neither http nor https.
    #[must_use]
    pub fn redirect_target(&self, base: &Url) -> Option<Url> {
        if !self.is_redirect() {
            return None;
        }
        let target = base.join(self.location.as_deref()?).ok()?;
        matches!(target.scheme(), "http" | "https").then_some(target)
    }
}

/// The last `Content-Type` of these headers. One of more than 1 KiB is ignored.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let last = headers.get_all(CONTENT_TYPE).iter().next_back();
    last.map(|value| text_of(value.as_bytes())).filter(|it| it.len() <= LONGEST_TYPE)
}

/// The validators of these headers. Several of one kind contradict each other, and all of them are ignored.
fn validators(headers: &HeaderMap) -> Validators {
    let only = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).map(HeaderValue::as_bytes)
    };
    Validators::new(only(&ETAG), only(&LAST_MODIFIED))
}

/// The exchange of this head, with an empty body.
///
/// The heads are written in the form of HTTP/1.1, whatever the version, from what the client sent and understood: header names are in
/// lower case, and `Transfer-Encoding` is left out because the body is without it.
pub(super) fn exchange_of_head(
    at: Timestamp,
    url: &Url,
    sent: &HeaderMap,
    response: &reqwest::Response,
    address: Option<IpAddr>,
) -> Exchange {
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let status_line = format!("HTTP/1.1 {} {reason}", status.as_u16());
    Exchange {
        target_uri: url.as_str().to_owned(),
        at,
        address,
        request_head: head(&format!("GET {path} HTTP/1.1\r\nhost: {host}"), sent),
        response_head: head(&status_line, response.headers()),
        ..Exchange::default()
    }
}

/// A head: its first lines, then the headers, then the empty line.
fn head(first: &str, headers: &HeaderMap) -> Vec<u8> {
    let mut head = format!("{first}\r\n").into_bytes();
    for (name, value) in headers.iter().filter(|(name, _)| *name != TRANSFER_ENCODING) {
        head.extend_from_slice(name.as_ref());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// A header's value as text; bytes that are not UTF-8 are replaced.
fn text_of(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// A header's value with bytes that are not ASCII percent-encoded: browsers read a `Location` of any charset so.
fn ascii_of(value: &[u8]) -> String {
    value.iter().fold(String::with_capacity(value.len()), |mut text, &byte| {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("writing to a string cannot fail");
        }
        text
    })
}

/// The delay that a `Retry-After` header asks for: seconds, or the time until a date. `None` for anything else.
fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    let delay = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to parse is a very long time.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = HTTP_DATES.iter().find_map(|form| {
            let mut time = BrokenDownTime::parse(form, value).ok()?;
            // A wrong day of the week makes the rest no less clear.
            time.set_weekday(None);
            time.to_datetime().ok()
        })?;
        // The last days of the year 9999 are dates, but no timestamps.
        let instant =
            date.to_zoned(TimeZone::UTC).map_or(jiff::Timestamp::MAX, |at| at.timestamp());
        Duration::try_from(instant.duration_since(now)).unwrap_or_default()
    };
    Some(delay.min(MAX_RETRY_AFTER))
}

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

    /// The body without transfer coding and content codings, at most this many bytes, as a crawl would read it.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub(crate) fn body(&self, limit: usize) -> io::Result<(Vec<u8>, Extent)> {
        let is_chunked = self
            .headers
            .get_all(TRANSFER_ENCODING)
            .iter()
            .any(|value| value.as_bytes().to_ascii_lowercase().ends_with(b"chunked"));
        let whole = is_chunked.then(|| without_chunks(self.body)).flatten();
        let body = whole.as_deref().unwrap_or(self.body);
        let codings = body::codings(&self.headers);
        let chunks = stream::iter([Ok(Bytes::copy_from_slice(body))]);
        let mut share = MemoryBudget::new(usize::MAX >> 4).share(body::memory(&codings));
        let read = body::read(chunks, &codings, limit, &mut share).now_or_never();
        read.expect("everything is in memory")
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

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    use super::*;

    #[test]
    fn retry_after_reads_seconds_and_the_three_forms_of_a_date() {
        let now = "1994-11-06T08:49:07Z".parse().unwrap();
        let seconds = |value| retry_after(value, now).map(|delay| delay.as_secs());
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(30));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), Some(30));
        assert_eq!(seconds("Sun Nov  6 08:49:37 1994"), Some(30));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
    }

    #[test]
    fn a_retry_after_beyond_a_year_is_capped_and_garbage_is_ignored() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        for long in ["99999999999", "999999999999999999999999", "Thu, 31 Dec 9998 23:59:59 GMT"]
            .into_iter()
            .chain(["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 2500 00:00:00 GMT"])
        {
            assert_eq!(retry_after(long, now), Some(MAX_RETRY_AFTER), "{long}");
        }
        for garbage in
            ["", "-1", "1.5", "soon", "12 s", "Sun, 99 Nov 1994 08:49:37 GMT", "\u{1d7d9}"]
        {
            assert_eq!(retry_after(garbage, now), None, "{garbage}");
        }
    }

    #[test]
    fn a_location_keeps_its_bytes_whatever_its_charset() {
        assert_eq!(ascii_of("/ä?q=x y".as_bytes()), "/%C3%A4?q=x y");
        assert_eq!(ascii_of(b"/\xe4"), "/%E4");
    }

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
