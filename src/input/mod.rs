//! Reads the documents that the commands judge, fingerprint and extract: JSON lines, HTML, WARC and WET files, and directories of HTML files.
//!
//! `Documents` yields one document after another from files and standard input; `Chunks` reads them ahead on a thread. An input
//! that cannot be read is an error item with its place, and reading continues after it. Memory is bounded, whatever the input holds.

mod lines;
mod prepare;
mod replay;
mod warc;

use std::{
    fs::{self, File},
    hash::{Hash, Hasher},
    io::{self, BufReader, Cursor, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::{
    page::Id,
    submission::{Payload, Submission, Times},
};
use lines::Lines;
#[cfg(feature = "serve")]
pub(crate) use lines::parse as document;
pub(crate) use lines::{LineError, Names};
pub(crate) use prepare::{Chunks, Prepared, prepare, prepare_with_text};
use replay::{Members, Replay};
use warc::Records;
pub(crate) use warc::Skipped;

/// The length in bytes of the longest line, HTML file and record that is read.
pub(crate) const LONGEST: usize = 64 << 20;

/// A document as given by the user. It has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) submission: Submission,
    /// Where it was read, for messages: its file, or file and line.
    pub(crate) place: String,
    /// The number of its line or record in the file, from 1.
    pub(crate) line: u64,
    /// Its line or record, if it may have to be written again.
    pub(crate) raw: Option<Raw>,
}

/// A line or record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
}

/// What files of lines or records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Lines,
    Warc,
    WarcGzip,
    WarcZstd,
}

impl Format {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines of JSON",
            Self::Warc => "WARC records",
            Self::WarcGzip => "WARC records compressed by gzip",
            Self::WarcZstd => "WARC records compressed by zstd",
        }
    }
}

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A file or directory cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// The file as given.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not a document.
    #[error("{file}:{line}")]
    Line {
        /// The file as given, or `standard input`.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        source: LineError,
    },
    /// A record of a WARC file cannot be read.
    #[error("{file}: record at byte {offset}{}: {why}", plus(*.more))]
    Record {
        /// The file as given, or `standard input`.
        file: String,
        /// Where the record starts, or the member or frame of a compressed file that has it.
        offset: u64,
        /// Where it starts within that, decompressed.
        more: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is too long or of a kind that is not supported.
    #[error("{} is not read: {why}", path.display())]
    Refused {
        /// The file as given.
        path: PathBuf,
        /// Why, and what to do instead.
        why: &'static str,
    },
}

/// How many documents a file of JSON lines has, and how many of its lines cannot be read. For fuzzing.
#[must_use]
pub fn count_lines(file: Vec<u8>) -> [usize; 2] {
    let mut counts = [0, 0];
    let file = Box::new(io::Cursor::new(file));
    for line in lines::Lines::new(file, String::new(), &Reading::default()) {
        counts[usize::from(line.is_err())] += 1;
    }
    counts
}

/// How many documents a file of any kind has, and how many of its lines and records cannot be read. For fuzzing.
#[must_use]
pub fn count_documents(file: Vec<u8>) -> [usize; 2] {
    let reading = Reading { keeps: true, ..Reading::default() };
    let mut counts = [0, 0];
    for document in Documents::of_bytes(file, reading) {
        if let Ok(Input { raw: Some(raw), .. }) = &document {
            assert!(!raw.bytes.is_empty(), "a document has bytes");
        }
        counts[usize::from(document.is_err())] += 1;
    }
    counts
}

fn plus(more: u64) -> String {
    if more > 0 { format!("+{more}") } else { String::new() }
}

impl InputError {
    /// The line that it is about, if it is about one.
    pub(crate) fn line(&self) -> Option<u64> {
        match self {
            Self::Line { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// What is wrong, where.
    pub(crate) fn answer(&self) -> ErrorLine {
        let causes = std::iter::successors(Some(self as &dyn std::error::Error), |it| it.source());
        let mut said: Vec<_> = causes.map(ToString::to_string).collect();
        let (file, line, offset) = match self {
            Self::Read { file, .. } => (file.clone(), None, None),
            Self::Line { file, line, .. } => {
                said.remove(0);
                (file.clone(), Some(*line), None)
            }
            Self::Record { file, offset, why, .. } => {
                said = vec![why.clone()];
                (file.clone(), None, Some(*offset))
            }
            Self::Refused { path, .. } => (path.display().to_string(), None, None),
        };
        ErrorLine { error: said.join(": "), file, line, offset }
    }
}

/// The line of the output in place of a document that cannot be read.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorLine {
    error: String,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl Input {
    /// A document of which nothing else is known.
    pub(crate) fn new(id: String, payload: Payload) -> Self {
        let submission = Submission { id: Id::text(&*id).ok(), ..Submission::new(payload) };
        Self { submission, place: id, line: 0, raw: None }
    }

    /// Its id or URL.
    pub(crate) fn name(&self) -> &str {
        self.submission.name().unwrap_or(&self.place)
    }

    /// Its approximate size in memory, in bytes.
    fn size(&self) -> usize {
        let raw = self.raw.as_ref().map_or(0, |raw| raw.bytes.len());
        size_of::<Self>() + self.name().len() + self.submission.len() + raw
    }

    /// A hash of all that a document depends on.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        self.submission.hash(&mut hasher);
        hasher.finish()
    }
}

/// Bytes read from a file at a time.
const BUFFER: usize = 256 << 10;

const HTML: [&str; 3] = ["html", "htm", "xhtml"];
const STANDARD_INPUT: &str = "standard input";

/// How documents are read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// The fields of lines.
    pub(crate) names: Names,
    /// Which times are believed.
    pub(crate) times: Times,
    /// Of a page in a record, at most this many bytes are read.
    pub(crate) max_body: usize,
    /// Whether documents have the bytes of their lines and records. HTML files are then refused.
    pub(crate) keeps: bool,
    /// Whether all pages below a directory that is named are of one site. Otherwise, their canonical links say it.
    pub(crate) directories_are_sites: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            names: Names::default(),
            times: Times::default(),
            max_body: LONGEST,
            keeps: false,
            directories_are_sites: false,
        }
    }
}

/// The documents of files and directories, in order.
///
/// A file whose name ends in `.html`, `.htm` or `.xhtml` is a document; its id is its path. What any other file is, and how it is compressed, its
/// first bytes say: a page, a WARC file, or else JSON lines. Of a directory all HTML files are read, recursively and sorted by name;
/// symbolic links to directories are not followed.
pub(crate) struct Documents {
    /// The paths that are still to be read, the next one last, and the directory that was named for each.
    rest: Vec<(PathBuf, Option<Arc<Path>>)>,
    current: Option<Box<dyn Iterator<Item = Result<Input, InputError>> + Send>>,
    reading: Reading,
    skipped: Skipped,
}

impl Documents {
    /// The documents of these files; of standard input if there are none, and where `-` is named.
    pub(crate) fn new(paths: Vec<PathBuf>, reading: Reading) -> Self {
        let paths = if paths.is_empty() { vec!["-".into()] } else { paths };
        let rest = paths.into_iter().rev().map(|path| (path, None)).collect();
        Self { rest, current: None, reading, skipped: Skipped::default() }
    }

    /// A single document.
    pub(crate) fn one(input: Input) -> Self {
        let current: Box<dyn Iterator<Item = _> + Send> = Box::new(std::iter::once(Ok(input)));
        let (reading, skipped) = (Reading::default(), Skipped::default());
        Self { rest: Vec::new(), current: Some(current), reading, skipped }
    }

    /// The documents of a file.
    pub(super) fn of_bytes(file: Vec<u8>, reading: Reading) -> Self {
        let mut this = Self { rest: Vec::new(), ..Self::new(Vec::new(), reading) };
        let opened = this.open_stream(Box::new(Cursor::new(file)), "file".to_owned());
        if let Some(item) = opened.transpose() {
            this.current = Some(Box::new(std::iter::once(item)));
        }
        this
    }

    /// The records that are no documents, counted while they are read.
    pub(crate) fn skipped(&self) -> Skipped {
        Skipped::clone(&self.skipped)
    }

    /// Opens a file or directory and returns its document if it is a single one.
    fn open(
        &mut self,
        path: &Path,
        within: Option<Arc<Path>>,
    ) -> Result<Option<Input>, InputError> {
        if path.as_os_str() == "-" {
            return self.open_stream(Box::new(io::stdin()), STANDARD_INPUT.to_owned());
        }
        let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
        if metadata.is_dir() {
            let found = list(path).map_err(|source| read_error(path, source))?;
            let within = within.unwrap_or_else(|| path.into());
            self.rest.extend(found.into_iter().map(|path| (path, Some(Arc::clone(&within)))));
            return Ok(None);
        }
        let file = File::open(path).map_err(|source| read_error(path, source))?;
        let name = path.display().to_string();
        if is_html(path) {
            let mut input = self.page(file, name)?;
            let site = within.filter(|_| self.reading.directories_are_sites);
            input.submission.origin = site.map(|site| site.display().to_string());
            Ok(Some(input))
        } else {
            self.open_stream(Box::new(file), name)
        }
    }

    /// Finds out what these bytes are, and returns the document if they are a single one.
    fn open_stream(
        &mut self,
        from: Box<dyn Read + Send>,
        file: String,
    ) -> Result<Option<Input>, InputError> {
        let failed = |source| InputError::Read { file: file.clone(), source };
        let members = Members::open(from).map_err(failed)?;
        let refused = |why| InputError::Refused { path: PathBuf::from(&file), why };
        let mut content = Replay::new(members.map_err(refused)?);
        let is_warc = match content.begins_with(&[warc::MAGIC]) {
            Ok(found) => found.is_some(),
            // It is said where the first record is damaged.
            Err(_) if file.contains(".warc") && !content.members().has_failed() => true,
            Err(source) => return Err(failed(source)),
        };
        if is_warc {
            let skipped = self.skipped();
            self.current = Some(Box::new(Records::new(content, file, &self.reading, skipped)));
            return Ok(None);
        }
        let start = content.rest();
        let start = start.strip_prefix(lines::BOM).unwrap_or(start);
        let is_page = start.trim_ascii_start().starts_with(b"<");
        if !is_page && let Some(why) = lines::not_lines(start) {
            return Err(refused(why));
        }
        let (read, rest) = content.into_rest();
        let mut from = Cursor::new(read).chain(BufReader::with_capacity(BUFFER, rest));
        if is_page {
            return self.page(&mut from, file).map(Some);
        }
        self.current = Some(Box::new(Lines::new(Box::new(from), file, &self.reading)));
        Ok(None)
    }

    /// Reads a file that is a page.
    fn page(&self, from: impl Read, file: String) -> Result<Input, InputError> {
        let refused = |why| InputError::Refused { path: PathBuf::from(&file), why };
        if self.reading.keeps {
            return Err(refused("--kept writes lines and records, and this file is a page"));
        }
        let mut body = Vec::new();
        let read = from.take(LONGEST as u64 + 1).read_to_end(&mut body);
        read.map_err(|source| InputError::Read { file: file.clone(), source })?;
        if body.len() > LONGEST {
            return Err(refused("it is longer than 64 MiB"));
        }
        Ok(Input::new(file, Payload::Html { body, content_type: None }))
    }
}

impl Iterator for Documents {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.current.as_mut().and_then(Iterator::next) {
                return Some(item);
            }
            self.current = None;
            let (path, within) = self.rest.pop()?;
            if let Some(item) = self.open(&path, within).transpose() {
                return Some(item);
            }
        }
    }
}

/// The HTML files and directories in a directory, in reverse order of their names.
fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let links_to_directory = kind.is_symlink() && path.is_dir();
        if kind.is_dir() || (is_html(&path) && !links_to_directory) {
            found.push(path);
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

/// Whether a file's name ends in `.html`, `.htm` or `.xhtml`.
pub(crate) fn is_html(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| HTML.iter().any(|html| ending.eq_ignore_ascii_case(html)))
}

fn read_error(path: &Path, source: io::Error) -> InputError {
    InputError::Read { file: path.display().to_string(), source }
}
