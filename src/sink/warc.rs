//! WARC 1.1 files (ISO 28500:2017) of requests and responses, one gzip member per record.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    fs,
    io::{self, Write},
    net::IpAddr,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use sha1::{Digest as _, Sha1};

use crate::{
    page::Timestamp,
    sink::{
        Checksums, Decision, Mark, Options, RecordPosition, SinkError,
        append::{AppendFile, create_directory},
        open_known,
    },
};

/// The directory of the files within the run directory.
pub const DIRECTORY: &str = "warc";
/// A file that has reached this length in bytes is followed by a new one, or earlier by `store.rotate`.
const ROTATE_AT: u64 = 1 << 30;
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The fields of the `warcinfo` record that starts every file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFields {
    /// The run's name, also the start of the file names.
    pub name: String,
    /// The `User-Agent` that was sent.
    pub user_agent: String,
    /// Whether the run obeys robots.txt.
    pub obey_robots: bool,
}

/// A request and its response, as sent and received.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The requested URL.
    pub target_uri: String,
    /// When the request was sent.
    pub at: Timestamp,
    /// The server's address.
    pub address: Option<IpAddr>,
    /// Request line and header lines, each with its line end.
    pub request_head: Vec<u8>,
    /// Status line and header lines as received, each with its line end. In the record `Transfer-Encoding` is left out,
    /// `Content-Length` is corrected, and HTTP/2 becomes HTTP/1.1, which readers expect.
    pub response_head: Vec<u8>,
    /// The body as received: content coding kept, transfer coding removed.
    pub body: Vec<u8>,
    /// Why the body is incomplete, if it was cut.
    pub truncated: Option<Cut>,
}

/// Why a body in a WARC file is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It was longer than the limit.
    Length,
    /// It took longer than the limit.
    Time,
    /// The connection broke.
    Disconnect,
    /// Another reason, such as a content coding that cannot be decoded.
    Unspecified,
}

/// How an exchange is written.
#[derive(Clone, Copy, Debug)]
pub enum ExchangeKind<'a> {
    /// Anything but a duplicate, including redirects, errors and robots.txt: a request and its response.
    Response,
    /// A duplicate: a `revisit` without payload if its payload equals the original's, otherwise a `metadata` record with the verdict.
    Duplicate {
        /// The decision.
        decision: &'a Decision<'a>,
        /// The response that it repeats, if it is in the run's WARC files.
        original: Option<Original<'a>>,
        /// Whether a body that differs from the original's is kept: the `metadata` record then follows the response instead of replacing it.
        keep: bool,
    },
}

/// An earlier response in the run's WARC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original<'a> {
    /// The requested URL.
    pub target_uri: &'a str,
    /// [`Exchange::at`] of the earlier response.
    pub at: Timestamp,
    /// [`PayloadDigest::of`] the earlier body.
    pub payload: PayloadDigest,
}

/// The SHA-1 of a body as received, by which WARC files identify equal payloads. Not safe against forgery; no decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadDigest(pub [u8; 20]);

impl PayloadDigest {
    /// The digest of a body as received.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Self(Sha1::digest(body).into())
    }
}

/// As in header fields: `sha1:` and 32 characters of base 32 (RFC 4648).
impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha1:")?;
        for five in self.0.chunks_exact(5) {
            let bits = five.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            for place in (0..8).rev() {
                let digit = (bits >> (5 * place) & 31) as usize;
                f.write_char(char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[digit]))?;
            }
        }
        Ok(())
    }
}

impl Cut {
    fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// Writes the WARC files of a run: `warc/<run>-00000.warc.gz` and so on, a new file after each GiB.
#[derive(Debug)]
pub struct Warc {
    directory: PathBuf,
    run: RunFields,
    number: u32,
    file: AppendFile,
    /// Full files that [`sync`](Self::sync) has not yet returned.
    full: Vec<Mark>,
    checksums: Vec<(String, Checksums)>,
    rotate_at: u64,
}

impl Warc {
    /// Opens the last file of the run, or the first, in the directory `warc` of the run directory.
    ///
    /// Everything past the committed offset is cut off, and files started after the last commit are removed.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] and [`SinkError::Foreign`] if the files do not fit the marks, [`SinkError::Open`] if they cannot be opened.
    pub fn open(directory: &Path, run: RunFields, committed: &[Mark]) -> Result<Self, SinkError> {
        let folder = directory.join(DIRECTORY);
        create_directory(&folder).map_err(|source| SinkError::open(&folder, source))?;
        let is_committed = |number: &u32| {
            let name = file_name(&run.name, *number);
            committed.iter().any(|mark| mark.file == name)
        };
        let number = (1..u32::MAX).take_while(is_committed).last().unwrap_or(0);
        let file = open_known(directory, &file_name(&run.name, number), committed)?;
        remove_from(directory, &run.name, number + 1)?;
        let directory = directory.to_owned();
        let (full, checksums) = (Vec::new(), Vec::new());
        Ok(Self { directory, run, number, file, full, checksums, rotate_at: ROTATE_AT })
    }

    pub(super) fn set_rotation(&mut self, options: Options) {
        let size = options.rotate.as_u64();
        self.rotate_at = if size == 0 { ROTATE_AT } else { size.min(ROTATE_AT) };
    }

    pub(super) fn take_checksums(&mut self) -> Vec<(String, Checksums)> {
        std::mem::take(&mut self.checksums)
    }

    fn collect_checksums(&mut self) {
        let added = self.file.take_checksums();
        self.checksums.extend(added.map(|added| (self.file_name(), added)));
    }

    /// Writes an exchange: its request, then response, revisit or metadata. Returns the position of the latter (of the response, if
    /// both response and metadata are written).
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write(
        &mut self,
        exchange: &Exchange,
        kind: &ExchangeKind<'_>,
    ) -> Result<RecordPosition, SinkError> {
        self.begin(exchange.at)?;
        let url = &exchange.target_uri;
        let request = Fields::new("request", exchange.at).of(exchange);
        let request_id = request.id.clone();
        let answer = |kind| {
            Fields::new(kind, exchange.at).of(exchange).field("WARC-Concurrent-To", &request_id)
        };
        let head = response_head(exchange);
        let payload = PayloadDigest::of(&exchange.body);
        let response = || {
            answer("response")
                .field("WARC-Payload-Digest", payload)
                .optional("WARC-Truncated", exchange.truncated.map(Cut::as_str))
                .encode(HTTP_RESPONSE, &[&head[..], &exchange.body].concat())
        };
        self.append(url, request.encode(HTTP_REQUEST, &ended_head(&exchange.request_head)))?;
        match kind {
            ExchangeKind::Response => self.append(url, response()),
            ExchangeKind::Duplicate { original: Some(original), .. }
                if original.payload == payload =>
            {
                let revisit = answer("revisit")
                    .field("WARC-Payload-Digest", payload)
                    .field("WARC-Profile", IDENTICAL_PAYLOAD)
                    .field("WARC-Refers-To-Target-URI", original.target_uri)
                    .field("WARC-Refers-To-Date", jiff::Timestamp::from(original.at));
                self.append(url, revisit.encode(HTTP_RESPONSE, &head))
            }
            ExchangeKind::Duplicate { decision, keep, .. } => {
                let kept = keep.then(|| self.append(url, response())).transpose()?;
                let block = Metadata { decision, response_head: String::from_utf8_lossy(&head) };
                let block = serde_json::to_vec(&block).map_err(io::Error::from);
                let metadata =
                    block.and_then(|block| answer("metadata").encode("application/json", &block));
                let metadata = self.append(url, metadata)?;
                Ok(kept.unwrap_or(metadata))
            }
        }
    }

    /// Makes everything durable. Returns the marks of the files filled since the last call, then that of the current one.
    ///
    /// # Errors
    ///
    /// If a write fails. After a full disk it may be called again.
    pub fn sync(&mut self) -> Result<Vec<Mark>, SinkError> {
        let offset = self.file.sync()?;
        self.collect_checksums();
        let current = Mark { file: self.file_name(), offset };
        Ok(self.full.drain(..).chain([current]).collect())
    }

    fn file_name(&self) -> String {
        file_name(&self.run.name, self.number)
    }

    /// Starts the next file if this one is full, and writes the first record of a new file.
    fn begin(&mut self, at: Timestamp) -> Result<(), SinkError> {
        if self.file.offset() >= self.rotate_at {
            let offset = self.file.sync()?;
            self.collect_checksums();
            let path = self.directory.join(file_name(&self.run.name, self.number + 1));
            let next = AppendFile::open(path, 0)?;
            self.full.push(Mark { file: self.file_name(), offset });
            self.file = next;
            self.number += 1;
        }
        if self.file.offset() == 0 {
            let file = self.file_name();
            let name = file.rsplit('/').next().unwrap_or_default();
            let head = Fields::new("warcinfo", at).field("WARC-Filename", name);
            let block = warcinfo(&self.run);
            self.append("", head.encode("application/warc-fields", block.as_bytes()))?;
        }
        Ok(())
    }

    fn append(
        &mut self,
        url: &str,
        member: io::Result<Vec<u8>>,
    ) -> Result<RecordPosition, SinkError> {
        let offset = self.file.offset();
        self.file.append(Some(url), |file| member.map(|member| file.extend_from_slice(&member)))?;
        Ok(RecordPosition { file: self.file_name(), offset, length: self.file.offset() - offset })
    }
}

/// The block of a `metadata` record: the decision, and the response without its body.
#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    decision: &'a Decision<'a>,
    response_head: Cow<'a, str>,
}

fn warcinfo(run: &RunFields) -> String {
    let robots = if run.obey_robots { "obey" } else { "ignore" };
    let line = |value: &str| value.replace(char::is_control, " ");
    format!(
        "software: pagesieve/{}\r\nformat: WARC File Format 1.1\r\n\
         conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
         isPartOf: {}\r\nrobots: {robots}\r\nhttp-header-user-agent: {}\r\n",
        env!("CARGO_PKG_VERSION"),
        line(&run.name),
        line(&run.user_agent),
    )
}

fn file_name(run: &str, number: u32) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let run: String = run.chars().map(safe).collect();
    format!("{DIRECTORY}/{run}-{number:05}.warc.gz")
}

/// Removes the files from `number` on, which were started after the last commit.
fn remove_from(directory: &Path, run: &str, number: u32) -> Result<(), SinkError> {
    for number in number.. {
        let path = directory.join(file_name(run, number));
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(source) => return Err(SinkError::open(&path, source)),
        }
    }
    Ok(())
}

/// The header fields of a record under construction.
struct Fields {
    id: String,
    text: String,
}

impl Fields {
    fn new(kind: &str, at: Timestamp) -> Self {
        let id = record_id();
        let text = String::from("WARC/1.1\r\n");
        Self { id: id.clone(), text }
            .field("WARC-Type", kind)
            .field("WARC-Record-ID", id)
            .field("WARC-Date", jiff::Timestamp::from(at))
    }

    fn of(self, exchange: &Exchange) -> Self {
        self.field("WARC-Target-URI", &exchange.target_uri)
            .optional("WARC-IP-Address", exchange.address)
    }

    /// Adds a field. Control characters are removed from the value, because a line break would end the field.
    fn field(mut self, name: &str, value: impl fmt::Display) -> Self {
        let value = value.to_string().replace(char::is_control, "");
        self.text.extend([name, ": ", &value, "\r\n"]);
        self
    }

    fn optional(self, name: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// Encodes the whole record as one gzip member.
    fn encode(self, content_type: &str, block: &[u8]) -> io::Result<Vec<u8>> {
        let head = self
            .field("WARC-Block-Digest", PayloadDigest::of(block))
            .field("Content-Type", content_type)
            .field("Content-Length", block.len())
            .text;
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        member.write_all(head.as_bytes())?;
        member.write_all(b"\r\n")?;
        member.write_all(block)?;
        member.write_all(b"\r\n\r\n")?;
        member.finish()
    }
}

/// A random UUID (version 4, RFC 9562).
fn record_id() -> String {
    let random: u128 = rand::random();
    let uuid = random & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{uuid:032x}");
    let [low, mid, high, node] = [&hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("<urn:uuid:{}-{low}-{mid}-{high}-{node}>", &hex[..8])
}

/// The response's head as written: in HTTP/1.1, ended by an empty line, with the length of the body that follows.
fn response_head(exchange: &Exchange) -> Vec<u8> {
    let mut head = Vec::with_capacity(exchange.response_head.len() + 32);
    let mut is_framed = false;
    for line in lines(&exchange.response_head) {
        match header_name(line).to_ascii_lowercase().as_slice() {
            b"transfer-encoding" | b"content-length" => is_framed = true,
            _ => push_line(&mut head, line),
        }
    }
    if is_framed {
        push_line(&mut head, format!("Content-Length: {}", exchange.body.len()).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// A head's lines with the empty line that ends it.
fn ended_head(head: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(head.len() + 2);
    lines(head).for_each(|line| push_line(&mut whole, line));
    whole.extend_from_slice(b"\r\n");
    whole
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
}

fn header_name(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| *byte == b':').unwrap_or(0);
    line[..end].trim_ascii()
}

/// Appends a line. Readers only know HTTP/1, so a status or request line of a later version is written as HTTP/1.1.
fn push_line(head: &mut Vec<u8>, line: &[u8]) {
    let later = |word: &[u8]| word.starts_with(b"HTTP/2") || word.starts_with(b"HTTP/3");
    let words = line.split(|byte| *byte == b' ');
    let first = head.is_empty();
    for (place, word) in words.enumerate() {
        if place > 0 {
            head.push(b' ');
        }
        head.extend_from_slice(if first && later(word) { b"HTTP/1.1" } else { word });
    }
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_followed_by_the_next_and_both_are_marked() {
        let directory = tempfile::tempdir().unwrap();
        let run = || RunFields { name: "r".into(), user_agent: String::new(), obey_robots: false };
        let mut warc = Warc::open(directory.path(), run(), &[]).unwrap();
        warc.rotate_at = 1;
        let mut marks = warc.sync().unwrap();
        let exchange = Exchange::default();
        let first = warc.write(&exchange, &ExchangeKind::Response).unwrap();
        let second = warc.write(&exchange, &ExchangeKind::Response).unwrap();
        assert_eq!([&*first.file, &second.file], ["warc/r-00000.warc.gz", "warc/r-00001.warc.gz"]);
        let committed = warc.sync().unwrap();
        assert_eq!(committed[0].offset, first.offset + first.length);
        assert_eq!(committed[1].offset, second.offset + second.length);
        assert_eq!(warc.sync().unwrap(), committed[1..]);

        let reopened = |marks: &[Mark]| {
            Warc::open(directory.path(), run(), marks).and_then(|mut warc| warc.sync()).unwrap()
        };
        assert_eq!(reopened(&committed), committed[1..]);
        marks[0].offset = first.offset;
        assert_eq!(reopened(&marks), marks);
        assert!(!directory.path().join(&second.file).exists());
    }
}
