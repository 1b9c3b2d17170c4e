//! The bytes of a file, decompressed as they are read, and kept from a mark on, so that they can be read again.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::LONGEST;

/// Bytes that are read at a time.
const STEP: usize = 64 << 10;
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The first frame of a WARC file that is compressed with a dictionary.
const ZSTD_DICTIONARY: &[u8] = b"\x5d\x2a\x4d\x18";
/// What is not read, with what to do instead.
const UNSUPPORTED: [(&[u8], &str); 4] = [
    (b"\xfd7zXZ\0", "it is compressed by xz; write `xzcat FILE | pagesieve …`"),
    (b"BZh", "it is compressed by bzip2; write `bzcat FILE | pagesieve …`"),
    (b"PK\x03\x04", "it is a ZIP or WACZ archive; unpack it and name the files in it"),
    (b"PAR1", "Parquet files are read by the Python package only"),
];

/// Bytes with a mark, from which they are kept.
#[derive(Debug)]
pub(super) struct Replay<R> {
    from: R,
    /// What was read since the mark, and some bytes before it; from `end` on there is room for more.
    bytes: Vec<u8>,
    end: usize,
    /// The place of the mark in them, and how many were consumed.
    mark: usize,
    at: usize,
    /// How many bytes came before them.
    start: u64,
    /// Whether reading has failed.
    has_failed: bool,
}

impl<R: Read> Replay<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, bytes: Vec::new(), end: 0, mark: 0, at: 0, start: 0, has_failed: false }
    }

    /// How many bytes were consumed.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The offset of the mark.
    pub(super) fn marked(&self) -> u64 {
        self.start + self.mark as u64
    }

    /// What was consumed since the mark.
    pub(super) fn consumed(&self) -> &[u8] {
        &self.bytes[self.mark..self.at]
    }

    /// What was read and not consumed.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// Forgets what was consumed.
    pub(super) fn mark(&mut self) {
        self.mark = self.at;
        // Moving fewer bytes than are dropped costs little, however many marks there are.
        if self.mark > self.end / 2 {
            self.start = self.offset();
            self.bytes.copy_within(self.at..self.end, 0);
            (self.end, self.mark, self.at) = (self.end - self.at, 0, 0);
            if self.end < STEP {
                self.bytes.truncate(16 * STEP);
                self.bytes.shrink_to(16 * STEP);
            }
        }
    }

    /// Reads until there are this many bytes, which may be fewer at the end. Returns whether there are.
    pub(super) fn need(&mut self, count: usize) -> io::Result<bool> {
        while self.rest().len() < count {
            if !self.more(R::read)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads some bytes. Returns whether there were any.
    fn more(&mut self, read: impl Fn(&mut R, &mut [u8]) -> io::Result<usize>) -> io::Result<bool> {
        let room = self.end..self.end + STEP;
        if self.bytes.len() < room.end {
            self.bytes.resize(room.end, 0);
        }
        let read = loop {
            match read(&mut self.from, &mut self.bytes[room.clone()]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.end += read.as_ref().unwrap_or(&0);
        self.has_failed |= read.is_err();
        Ok(read? > 0)
    }

    /// Which of these beginnings the bytes have. Reads no more than it takes to know: more may come only after an answer.
    pub(super) fn begins_with(&mut self, beginnings: &[&[u8]]) -> io::Result<Option<usize>> {
        loop {
            let rest = self.rest();
            let found = beginnings.iter().position(|beginning| rest.starts_with(beginning));
            let is_open = beginnings.iter().any(|beginning| beginning.starts_with(rest));
            if found.is_some() || !is_open || !self.more(R::read)? {
                return Ok(found);
            }
        }
    }

    /// The bytes that were not consumed, and all that follow.
    pub(super) fn into_rest(self) -> (Vec<u8>, R) {
        (self.rest().to_vec(), self.from)
    }
}

impl<R: Read> Read for Replay<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Replay<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest().is_empty() {
            self.more(R::read)?;
        }
        Ok(self.rest())
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

type Raw = Replay<Box<dyn Read + Send>>;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    None,
    Gzip,
    Zstd,
}

/// The content of a file without its compression: the members or frames of which it consists, one after the other.
pub(super) struct Members {
    coding: Coding,
    decoder: Option<Decoder>,
    /// How many bytes were decompressed, and how many before the current member.
    total: u64,
    member_start: u64,
    /// Whether the bytes of the current member are kept from its beginning.
    is_kept: bool,
}

enum Decoder {
    /// Between two members, or not compressed.
    Raw(Raw),
    Gzip(GzDecoder<Raw>),
    Zstd(ZstdDecoder<'static, Raw>),
}

impl Members {
    /// Finds out how the bytes are compressed. The error says why they are not read.
    pub(super) fn open(from: Box<dyn Read + Send>) -> io::Result<Result<Self, &'static str>> {
        let mut raw = Replay::new(from);
        let mut magic = vec![GZIP, ZSTD, ZSTD_DICTIONARY];
        magic.extend(UNSUPPORTED.map(|(magic, _)| magic));
        let coding = match raw.begins_with(&magic)? {
            None => Coding::None,
            Some(0) => Coding::Gzip,
            Some(1 | 2) => Coding::Zstd,
            Some(other) => return Ok(Err(UNSUPPORTED[other - 3].1)),
        };
        let decoder = Some(Decoder::Raw(raw));
        Ok(Ok(Self { coding, decoder, total: 0, member_start: 0, is_kept: false }))
    }

    pub(super) fn coding(&self) -> Coding {
        self.coding
    }

    fn raw(&self) -> &Raw {
        match self.decoder.as_ref().expect("it is taken out for a moment only") {
            Decoder::Raw(raw) => raw,
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
        }
    }

    fn raw_mut(&mut self) -> &mut Raw {
        match self.decoder.as_mut().expect("it is taken out for a moment only") {
            Decoder::Raw(raw) => raw,
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Zstd(decoder) => decoder.get_mut(),
        }
    }

    /// Whether the file itself cannot be read.
    pub(super) fn has_failed(&self) -> bool {
        self.raw().has_failed
    }

    /// The place in the file of a byte of the content: where its member starts, and how far it is from there.
    pub(super) fn place(&self, offset: u64) -> (u64, u64) {
        match self.coding {
            Coding::None => (offset, 0),
            _ => (self.raw().marked(), offset.saturating_sub(self.member_start)),
        }
    }

    /// The bytes of the member that starts at this byte of the content, if it was read whole.
    fn member(&self, start: u64) -> Option<&[u8]> {
        let is_over = self.coding != Coding::None && matches!(self.decoder, Some(Decoder::Raw(_)));
        let is_whole = is_over && self.is_kept && self.member_start == start;
        is_whole.then(|| self.raw().consumed())
    }

    fn take_raw(&mut self) -> Raw {
        match self.decoder.take().expect("it is taken out for a moment only") {
            Decoder::Raw(raw) => raw,
            Decoder::Gzip(decoder) => decoder.into_inner(),
            Decoder::Zstd(decoder) => decoder.finish(),
        }
    }

    /// Starts the next member.
    fn start(&mut self, mut raw: Raw) -> io::Result<()> {
        raw.mark();
        (self.member_start, self.is_kept) = (self.total, true);
        self.decoder = Some(match self.coding {
            Coding::None => Decoder::Raw(raw),
            Coding::Gzip => Decoder::Gzip(GzDecoder::new(raw)),
            Coding::Zstd => Decoder::Zstd(ZstdDecoder::with_buffer(raw)?.single_frame()),
        });
        Ok(())
    }

    /// Reads from the current member; nothing at its end.
    fn read_member(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.decoder.as_mut().expect("it is taken out for a moment only") {
            Decoder::Raw(raw) if self.coding == Coding::None => {
                raw.mark();
                raw.read(buffer)?
            }
            Decoder::Raw(_) => 0,
            Decoder::Gzip(decoder) => decoder.read(buffer)?,
            Decoder::Zstd(decoder) => decoder.read(buffer)?,
        };
        self.total += read as u64;
        if read == 0 {
            let raw = self.take_raw();
            self.decoder = Some(Decoder::Raw(raw));
        } else if self.raw().consumed().len() > LONGEST {
            self.raw_mut().mark();
            self.is_kept = false;
        }
        Ok(read)
    }
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.read_member(buffer)?;
            if read > 0 || self.coding == Coding::None {
                return Ok(read);
            }
            let mut raw = self.take_raw();
            let is_over = raw.fill_buf().map(<[u8]>::is_empty);
            if !matches!(is_over, Ok(false)) {
                self.decoder = Some(Decoder::Raw(raw));
                return is_over.map(|_| 0);
            }
            self.start(raw)?;
        }
    }
}

impl Replay<Members> {
    pub(super) fn members(&self) -> &Members {
        &self.from
    }

    /// Whether all of the current member was consumed. Verifies its checksum, and does not wait for what follows.
    pub(super) fn is_member_over(&mut self) -> io::Result<bool> {
        let is_compressed = self.from.coding != Coding::None;
        Ok(is_compressed && self.rest().is_empty() && !self.more(Members::read_member)?)
    }

    /// The compressed bytes of what was consumed since the mark, if that is exactly one member.
    pub(super) fn member(&self) -> Option<&[u8]> {
        self.from.member(self.marked()).filter(|_| self.rest().is_empty())
    }
}
