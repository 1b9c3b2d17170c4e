//! Reads WARC and WET files: the pages and texts in their records.
//!
//! Any version of the format, in any compression. A damaged record is an error with its place, and ends the file: nothing says where the next
//! one begins. A record that is whole, but of which nothing can be made, is skipped.

use std::{
    collections::BTreeMap,
    io::{self, BufRead},
    sync::{Arc, Mutex},
};

use flate2::{Compression, write::GzEncoder};
use url::Url;

use super::{
    Format, Input, InputError, LONGEST, Raw, Reading,
    replay::{Coding, Members, Replay},
};
use crate::{
    crawl::fetch::{self, Archived, Extent},
    page::{Id, Timestamp},
    submission::{Payload, Submission, Value},
};

/// How a record begins.
pub(super) const MAGIC: &[u8] = b"WARC/";
/// The length in bytes of the longest header of a record.
const LONGEST_HEADER: usize = 64 << 10;

/// How many records are no documents, by what they are.
pub(crate) type Skipped = Arc<Mutex<BTreeMap<String, u64>>>;

/// The documents of a WARC file.
pub(super) struct Records {
    from: Replay<Members>,
    file: String,
    /// The number of the last record, from 1.
    number: u64,
    /// Where it is.
    offset: (u64, u64),
    reading: Reading,
    skipped: Skipped,
    is_over: bool,
}

/// The header of a record.
#[derive(Debug, Default)]
struct Header {
    /// Its length in bytes.
    length: usize,
    kind: String,
    uri: String,
    date: Option<Timestamp>,
    content_type: String,
    is_truncated: bool,
    block: u64,
}

/// Why a record cannot be read.
#[derive(Debug)]
enum Damage {
    /// Its member cannot be decompressed, or the file cannot be read.
    Member(io::Error),
    /// It is not as its header says, or has none.
    Record(&'static str),
    /// It is whole, but nothing can be made of it.
    Content(String),
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Self::Member(error)
    }
}

impl Records {
    pub(super) fn new(
        from: Replay<Members>,
        file: String,
        reading: &Reading,
        skipped: Skipped,
    ) -> Self {
        let reading = reading.clone();
        Self { from, file, number: 0, offset: (0, 0), reading, skipped, is_over: false }
    }

    /// The next record that is a document, `None` at the end.
    fn advance(&mut self) -> Result<Option<Input>, Damage> {
        loop {
            self.from.mark();
            let is_there = self.from.need(1);
            self.offset = self.from.members().place(self.from.offset());
            if !is_there? {
                return Ok(None);
            }
            if matches!(self.from.rest()[0], b'\r' | b'\n') {
                self.from.consume(1);
                continue;
            }
            let header = self.header()?;
            self.number += 1;
            let is_document = matches!(&*header.kind, "response" | "resource" | "conversion");
            if header.block > LONGEST as u64 {
                self.pass_over(&header)?;
                let why = "the record is longer than 64 MiB and was skipped";
                if is_document {
                    return Err(Damage::Content(why.to_owned()));
                }
                self.pass(&header.kind);
                continue;
            }
            self.read_block(&header)?;
            if !is_document {
                self.pass(&header.kind);
            } else if let Some(input) = self.document(&header)? {
                return Ok(Some(input));
            }
        }
    }

    /// Reads the header at the mark. Does not consume it.
    fn header(&mut self) -> Result<Header, Damage> {
        let mut count = MAGIC.len();
        loop {
            let is_there = self.from.need(count)?;
            let rest = self.from.rest();
            let start = &rest[..rest.len().min(MAGIC.len())];
            if start != MAGIC {
                return Err(Damage::Record("no record starts here"));
            }
            if let Some(length) = fetch::head_length(&rest[..rest.len().min(LONGEST_HEADER)]) {
                return parse(&rest[..length]).map_err(Damage::Record);
            }
            if !is_there {
                return Err(Damage::Record("the file ends in the header of a record"));
            }
            if rest.len() >= LONGEST_HEADER {
                return Err(Damage::Record("the header is longer than 64 KiB"));
            }
            count = rest.len() + 1;
        }
    }

    /// Consumes a record and what ends it.
    fn read_block(&mut self, header: &Header) -> Result<(), Damage> {
        let length = header.length + usize::try_from(header.block).expect("it is at most 64 MiB");
        if !self.from.need(length)? {
            return Err(Damage::Record("the file ends in this record"));
        }
        self.from.consume(length);
        self.end_record()
    }

    /// Consumes the two line ends after a record. At the end of a file or member they may be missing.
    fn end_record(&mut self) -> Result<(), Damage> {
        for _ in 0..4 {
            if self.from.is_member_over()? || !self.from.need(1)? {
                return Ok(());
            }
            let next = self.from.rest()[0];
            match next {
                b'\r' | b'\n' => self.from.consume(1),
                _ if self.from.consumed().ends_with(b"\n")
                    && self.from.begins_with(&[MAGIC])?.is_some() =>
                {
                    return Ok(());
                }
                _ => return Err(Damage::Record("its length is not what its header says")),
            }
        }
        self.from.is_member_over()?;
        Ok(())
    }

    /// Passes over a record that is too long to be kept in memory.
    fn pass_over(&mut self, header: &Header) -> Result<(), Damage> {
        let mut left = header.length as u64 + header.block;
        while left > 0 {
            if !self.from.need(1)? {
                return Err(Damage::Record("the file ends in this record"));
            }
            let step = left.min(self.from.rest().len() as u64);
            self.from.consume(usize::try_from(step).expect("it is in memory"));
            self.from.mark();
            left -= step;
        }
        self.end_record()
    }

    fn pass(&self, what: &str) {
        let mut skipped = self.skipped.lock().expect("no thread panics while it holds the lock");
        *skipped.entry(what.to_owned()).or_default() += 1;
    }

    /// The document in the record since the mark, if it has one.
    fn document(&mut self, header: &Header) -> Result<Option<Input>, Damage> {
        let end = header.length + usize::try_from(header.block).expect("it is at most 64 MiB");
        let block = &self.from.consumed()[header.length..end];
        let named = &*header.content_type;
        let (content, is_cut) = match &*header.kind {
            "conversion" if named.starts_with("text/plain") => {
                (Payload::Text(String::from_utf8_lossy(block).into_owned()), false)
            }
            "resource" if fetch::is_html(Some(named), block) => {
                let content_type = Some(named.to_owned());
                (Payload::Html { body: block.to_vec(), content_type }, false)
            }
            "response" if !named.starts_with("application/http") => {
                self.pass("responses that are not HTTP");
                return Ok(None);
            }
            "response" => match self.response(block)? {
                Some(found) => found,
                None => return Ok(None),
            },
            kind => {
                self.pass(&format!("{kind} of type {}", shown(named)));
                return Ok(None);
            }
        };
        if header.uri.is_empty() {
            return Err(Damage::Content("WARC-Target-URI is missing".to_owned()));
        }
        let at = header.date.map(|date| self.reading.times.read("WARC-Date", &Value::Time(date)));
        let at = at.transpose().map_err(|error| Damage::Content(error.to_string()))?;
        let is_cut = is_cut || header.is_truncated;
        let submission = Submission {
            id: Id::text(&*header.uri).ok(),
            url: Url::parse(&header.uri).ok(),
            at,
            is_cut,
            ..Submission::new(content)
        };
        let raw = self.reading.keeps.then(|| self.raw());
        Ok(Some(Input { submission, place: self.place(), line: self.number, raw }))
    }

    /// The page of a response, and whether it was cut.
    fn response(&self, block: &[u8]) -> Result<Option<(Payload, bool)>, Damage> {
        let Some(found) = Archived::parse(block) else {
            return Err(Damage::Content("the block has no HTTP response".to_owned()));
        };
        if !(200..300).contains(&found.status) {
            self.pass("responses with another status than 2xx");
            return Ok(None);
        }
        // What its type says need not be decoded.
        let may_be_html = found.content_type.is_none()
            || fetch::is_html(found.content_type.as_deref(), b"<html>");
        let decoded = may_be_html.then(|| found.body(self.reading.max_body)).transpose();
        let decoded = decoded.map_err(|error| Damage::Content(explained(&error)))?;
        match decoded {
            Some((body, extent)) if fetch::is_html(found.content_type.as_deref(), &body) => {
                let content_type = found.content_type;
                Ok(Some((Payload::Html { body, content_type }, extent == Extent::Cut)))
            }
            _ => {
                self.pass("responses that are not HTML");
                Ok(None)
            }
        }
    }

    /// The record since the mark as it is in the file, or compressed again if it shares its member with others.
    fn raw(&self) -> Raw {
        let coding = self.from.members().coding();
        let record = self.from.consumed();
        let member = self.from.member().map(<[u8]>::to_vec);
        let again = || match coding {
            Coding::None => record.to_vec(),
            Coding::Gzip => gzip(record),
            Coding::Zstd => zstd::encode_all(record, 0).expect("memory can be written"),
        };
        let format = match coding {
            Coding::None => Format::Warc,
            Coding::Gzip => Format::WarcGzip,
            Coding::Zstd => Format::WarcZstd,
        };
        Raw { bytes: member.unwrap_or_else(again), format }
    }

    fn place(&self) -> String {
        let (start, more) = self.offset;
        let more = if more > 0 { format!("+{more}") } else { String::new() };
        format!("{}: byte {start}{more}", self.file)
    }

    fn error(&self, why: String) -> InputError {
        let (offset, more) = self.offset;
        InputError::Record { file: self.file.clone(), offset, more, why }
    }
}

impl Iterator for Records {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let why = match self.advance() {
            Ok(input) => return input.map(Ok),
            Err(Damage::Content(why)) => return Some(Err(self.error(why))),
            Err(Damage::Member(source)) if self.from.members().has_failed() => {
                self.is_over = true;
                return Some(Err(InputError::Read { file: self.file.clone(), source }));
            }
            Err(Damage::Member(error)) => {
                format!("it cannot be decompressed: {}", explained(&error))
            }
            Err(Damage::Record(why)) => why.to_owned(),
        };
        // Nothing says where the next record begins.
        self.is_over = true;
        Some(Err(self.error(format!("{why}; the rest of the file is not read"))))
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::default());
    io::Write::write_all(&mut member, bytes).expect("memory can be written");
    member.finish().expect("memory can be written")
}

/// An error with its causes.
fn explained(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(std::error::Error::source);
    inner.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// The beginning of a content type, for messages.
fn shown(named: &str) -> &str {
    let named = named.split(';').next().unwrap_or_default().trim();
    if named.is_empty() || named.len() > 60 { "unknown" } else { named }
}

fn parse(bytes: &[u8]) -> Result<Header, &'static str> {
    let mut header = Header { length: bytes.len(), ..Header::default() };
    let mut block = None;
    for (name, value) in fetch::fields(bytes) {
        let text = || String::from_utf8_lossy(&value).into_owned();
        match &*name {
            b"warc-type" => header.kind = text().to_ascii_lowercase(),
            b"warc-target-uri" => text().trim_matches(['<', '>']).clone_into(&mut header.uri),
            b"warc-date" => {
                let at = text().parse().ok().map(jiff::Timestamp::as_millisecond);
                header.date = at.map(Timestamp);
            }
            b"warc-truncated" => header.is_truncated = true,
            b"content-type" => header.content_type = text().to_ascii_lowercase(),
            b"content-length" => block = text().parse().ok(),
            _ => {}
        }
    }
    header.block = block.ok_or("Content-Length is missing or no number")?;
    if header.kind.is_empty() || header.kind.len() > 60 {
        return Err("WARC-Type is missing or too long");
    }
    Ok(header)
}
