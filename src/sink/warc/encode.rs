//! One record as one gzip member: its header fields, and HTTP heads as readers expect them.

use std::{
    fmt,
    io::{self, Write},
};

use flate2::{Compression, write::GzEncoder};

use crate::{
    page::Timestamp,
    sink::{
        record::rfc3339_text,
        warc::{Exchange, PayloadDigest},
    },
};

/// The header fields of a record.
pub(super) struct Fields {
    pub(super) id: String,
    text: String,
}

impl Fields {
    pub(super) fn new(kind: &str, at: Timestamp) -> Self {
        let id = record_id();
        let text = String::from("WARC/1.1\r\n");
        Self { id: id.clone(), text }
            .field("WARC-Type", kind)
            .field("WARC-Record-ID", id)
            .field("WARC-Date", rfc3339_text(at))
    }

    pub(super) fn of(self, exchange: &Exchange) -> Self {
        self.field("WARC-Target-URI", &exchange.target_uri)
            .optional("WARC-IP-Address", exchange.address)
    }

    /// A value that would end the line early loses its control characters.
    pub(super) fn field(mut self, name: &str, value: impl fmt::Display) -> Self {
        let value = value.to_string().replace(char::is_control, "");
        self.text.extend([name, ": ", &value, "\r\n"]);
        self
    }

    pub(super) fn optional(self, name: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// The whole record as one gzip member; the block is given in parts.
    pub(super) fn encode(self, content_type: &str, block: &[&[u8]]) -> io::Result<Vec<u8>> {
        let length: usize = block.iter().map(|part| part.len()).sum();
        let head = self
            .field("WARC-Block-Digest", PayloadDigest::of_parts(block))
            .field("Content-Type", content_type)
            .field("Content-Length", length)
            .text;
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        member.write_all(head.as_bytes())?;
        member.write_all(b"\r\n")?;
        block.iter().try_for_each(|part| member.write_all(part))?;
        member.write_all(b"\r\n\r\n")?;
        member.finish()
    }
}

/// A UUID of version 4 (RFC 9562): random but for six bits.
fn record_id() -> String {
    let random: u128 = rand::random();
    let uuid = random & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{uuid:032x}");
    let [low, mid, high, node] = [&hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("<urn:uuid:{}-{low}-{mid}-{high}-{node}>", &hex[..8])
}

/// The head as it is written: complete, in HTTP/1.1, and true of the body that follows.
pub(super) fn response_head(exchange: &Exchange) -> Vec<u8> {
    let mut head = Vec::with_capacity(exchange.response_head.len() + 32);
    let mut dechunked = false;
    let mut has_length = false;
    for line in lines(&exchange.response_head) {
        match header_name(line).to_ascii_lowercase().as_slice() {
            b"transfer-encoding" => dechunked = true,
            b"content-length" => has_length = true,
            _ => push_line(&mut head, line),
        }
    }
    if dechunked || has_length {
        push_line(&mut head, format!("Content-Length: {}", exchange.body.len()).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// A head's lines, complete with the empty one that ends it.
pub(super) fn ended(head: &[u8]) -> Vec<u8> {
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

/// Readers know HTTP/1 only; a status or request line of a later version is written as if it had been HTTP/1.1.
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
