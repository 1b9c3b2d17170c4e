//! WARC 1.1 files (ISO 28500:2017): what was asked and what was answered, one gzip member a record.

mod encode;

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt::{self, Write as _},
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde::Serialize;
use sha1::{Digest as _, Sha1};

use self::encode::{Fields, ended, response_head};
use crate::{
    page::Timestamp,
    sink::{
        Mark, Position, SinkError,
        append::{Appending, sync_parent},
        known_offset,
        record::Decision,
        record::rfc3339_text,
    },
};

/// The directory of the files within the run directory.
pub const DIRECTORY: &str = "warc";
/// A file longer than this many bytes is followed by the next.
const ROTATE_AT: u64 = 1 << 30;
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// What the head of every file says of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The run's name; the files are named after it.
    pub run: String,
    /// The `User-Agent` that was sent.
    pub user_agent: String,
    /// Whether robots.txt was obeyed.
    pub obey_robots: bool,
}

/// A request and its answer, as they went over the wire.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The URL that was asked for.
    pub target_uri: String,
    /// When the request was sent.
    pub at: Timestamp,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// Request line and header lines, each with its line end.
    pub request_head: Vec<u8>,
    /// Status line and header lines as received, each with its line end. A transfer coding's header is left out when the record is
    /// written, `Content-Length` is made to fit the body, and HTTP/2 is written as HTTP/1.1, which readers expect.
    pub response_head: Vec<u8>,
    /// The body as received, its content coding kept, its transfer coding removed.
    pub body: Bytes,
    /// Why the body is not whole, if it was cut.
    pub truncated: Option<Cut>,
}

/// Why a body in a WARC file is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It was longer than the limit.
    Length,
    /// It took longer than the limit.
    Time,
    /// The connection broke.
    Disconnect,
    /// Something else, such as a content coding that cannot be undone.
    Unspecified,
}

/// What an exchange is to the run, and so how it is written.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// Anything that is no duplicate (redirects, errors and robots.txt too): a request and its response.
    Response,
    /// A duplicate: a `revisit` without payload if its payload is the original's, else a `metadata` record with the verdict.
    Duplicate {
        /// The verdict.
        decision: &'a Decision<'a>,
        /// The response that it repeats, if there is one in the run's WARC files.
        original: Option<Original<'a>>,
        /// Whether a body unlike the original's is kept: then the `metadata` record follows the response, else it stands in its place.
        keep: bool,
    },
}

/// An earlier response in the run's WARC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original<'a> {
    /// The URL that was asked for.
    pub target_uri: &'a str,
    /// [`Exchange::at`] of the earlier response.
    pub at: Timestamp,
    /// [`PayloadDigest::of`] the earlier body.
    pub payload: PayloadDigest,
}

/// The SHA-1 of a body as received: what tells equal payloads apart in WARC files. Not safe against forgery; nothing rests on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PayloadDigest(pub [u8; 20]);

impl PayloadDigest {
    /// The digest of a body as received.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Self::of_parts(&[body])
    }

    fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha1::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

/// As in the header fields: `sha1:` and 32 characters of base 32 (RFC 4648).
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

impl fmt::Debug for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadDigest({self})")
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

/// Writes the WARC files of a run: `warc/<run>-00000.warc.gz` and so on, a new one after each GiB.
#[derive(Debug)]
pub struct Warc {
    directory: PathBuf,
    origin: Origin,
    number: u32,
    file: Appending,
    /// Files that are full, not yet told by [`sync`](Self::sync).
    full: VecDeque<Mark>,
    rotate_at: u64,
}

impl Warc {
    /// Opens the last file of the run, or the first, in the directory `warc` of the run directory.
    ///
    /// What lies beyond the committed offset is cut off, and files begun after the last commit are removed.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] and [`SinkError::Foreign`] if the files do not fit the marks, [`SinkError::Open`] if they cannot be opened.
    pub fn open(directory: &Path, origin: Origin, committed: &[Mark]) -> Result<Self, SinkError> {
        let folder = directory.join(DIRECTORY);
        fs::create_dir_all(&folder)
            .and_then(|()| sync_parent(&folder))
            .map_err(|source| SinkError::open(&folder, source))?;
        let mark = |number| {
            let name = file_name(&origin.run, number);
            committed.iter().find(|mark| mark.file == name).map(|mark| mark.offset)
        };
        let number = (1..u32::MAX).take_while(|next| mark(*next).is_some()).last().unwrap_or(0);
        let path = directory.join(file_name(&origin.run, number));
        let file = Appending::open(path.clone(), known_offset(&path, mark(number))?)?;
        remove_from(directory, &origin.run, number + 1)?;
        let directory = directory.to_owned();
        Ok(Self { directory, origin, number, file, full: VecDeque::new(), rotate_at: ROTATE_AT })
    }

    /// The file that is written to, and its length with what still waits in memory.
    #[must_use]
    pub fn position(&self) -> Mark {
        Mark { file: self.file_name(), offset: self.file.offset() }
    }

    /// Writes an exchange: its request, then response, revisit or metadata. Returns where the latter lies (the response, if both
    /// response and metadata are written).
    ///
    /// # Errors
    ///
    /// If the system refuses the write.
    pub fn write(&mut self, exchange: &Exchange, kind: &Kind<'_>) -> Result<Position, SinkError> {
        self.begin(exchange.at)?;
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
                .encode(HTTP_RESPONSE, &[&head, &exchange.body])
        };
        self.append(request.encode(HTTP_REQUEST, &[&ended(&exchange.request_head)]))?;
        match kind {
            Kind::Response => self.append(response()),
            Kind::Duplicate { original: Some(original), .. } if original.payload == payload => {
                let revisit = answer("revisit")
                    .field("WARC-Payload-Digest", payload)
                    .field("WARC-Profile", IDENTICAL_PAYLOAD)
                    .field("WARC-Refers-To-Target-URI", original.target_uri)
                    .field("WARC-Refers-To-Date", rfc3339_text(original.at));
                self.append(revisit.encode(HTTP_RESPONSE, &[&head]))
            }
            Kind::Duplicate { decision, keep, .. } => {
                let kept = keep.then(|| self.append(response())).transpose()?;
                let block = Metadata { decision, response_head: String::from_utf8_lossy(&head) };
                let block = serde_json::to_vec(&block).map_err(io::Error::from);
                let metadata = block
                    .and_then(|block| answer("metadata").encode("application/json", &[&block]));
                let metadata = self.append(metadata)?;
                Ok(kept.unwrap_or(metadata))
            }
        }
    }

    /// Makes everything durable; returns the file's mark, after those of files that were filled since the last call.
    ///
    /// # Errors
    ///
    /// If the system refuses; after a full disk it may be called again.
    pub fn sync(&mut self) -> Result<Vec<Mark>, SinkError> {
        let offset = self.file.sync()?;
        let current = Mark { file: self.file_name(), offset };
        Ok(self.full.drain(..).chain([current]).collect())
    }

    fn file_name(&self) -> String {
        file_name(&self.origin.run, self.number)
    }

    /// Goes on to the next file if this one is full, and gives a new file its head.
    fn begin(&mut self, at: Timestamp) -> Result<(), SinkError> {
        if self.file.offset() >= self.rotate_at {
            let offset = self.file.sync()?;
            let path = self.directory.join(file_name(&self.origin.run, self.number + 1));
            let next = Appending::open(path, 0)?;
            self.full.push_back(Mark { file: self.file_name(), offset });
            self.file = next;
            self.number += 1;
        }
        if self.file.offset() == 0 {
            let file = self.file_name();
            let name = file.rsplit('/').next().unwrap_or_default();
            let head = Fields::new("warcinfo", at).field("WARC-Filename", name);
            let block = warcinfo(&self.origin);
            self.append(head.encode("application/warc-fields", &[block.as_bytes()]))?;
        }
        Ok(())
    }

    fn append(&mut self, member: io::Result<Vec<u8>>) -> Result<Position, SinkError> {
        let offset = self.file.offset();
        self.file.append(|file| member.map(|member| file.extend_from_slice(&member)))?;
        Ok(Position { file: self.file_name(), offset, length: self.file.offset() - offset })
    }
}

/// What a `metadata` record holds: the verdict, and of the answer what is not its body.
#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    decision: &'a Decision<'a>,
    response_head: Cow<'a, str>,
}

fn warcinfo(origin: &Origin) -> String {
    let robots = if origin.obey_robots { "obey" } else { "ignore" };
    let line = |value: &str| value.replace(char::is_control, " ");
    format!(
        "software: pagesieve/{}\r\nformat: WARC File Format 1.1\r\n\
         conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
         isPartOf: {}\r\nrobots: {robots}\r\nhttp-header-user-agent: {}\r\n",
        env!("CARGO_PKG_VERSION"),
        line(&origin.run),
        line(&origin.user_agent),
    )
}

fn file_name(run: &str, number: u32) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let run: String = run.chars().map(safe).collect();
    format!("{DIRECTORY}/{run}-{number:05}.warc.gz")
}

/// Removes the files from `number` on, which were begun after the last commit.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_followed_by_the_next_and_both_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let origin = || Origin { run: "r".into(), user_agent: String::new(), obey_robots: false };
        let mut warc = Warc::open(directory.path(), origin(), &[]).unwrap();
        warc.rotate_at = 1;
        let mut marks = vec![warc.position()];
        let exchange = Exchange::default();
        let first = warc.write(&exchange, &Kind::Response).unwrap();
        let second = warc.write(&exchange, &Kind::Response).unwrap();
        assert_eq!([&*first.file, &second.file], ["warc/r-00000.warc.gz", "warc/r-00001.warc.gz"]);
        let committed = warc.sync().unwrap();
        assert_eq!(committed[0].offset, first.offset + first.length);
        assert_eq!(committed[1].offset, second.offset + second.length);
        assert_eq!(warc.sync().unwrap(), committed[1..]);

        assert_eq!(
            Warc::open(directory.path(), origin(), &committed).unwrap().position(),
            committed[1]
        );
        marks[0].offset = first.offset;
        assert_eq!(Warc::open(directory.path(), origin(), &marks).unwrap().position(), marks[0]);
        assert!(!directory.path().join(&second.file).exists());
    }
}
