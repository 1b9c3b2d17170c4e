//! Writes the output files of a run: JSON lines, and WARC if configured.
//!
//! A new output format becomes a part of [`Outputs`]. Its key is in [`Options`], which `open_outputs` in `crawl/engine/start.rs` passes on;
//! the engine writes to it (`crawl/engine/record.rs`); `OUTPUTS` in `crawl/directory.rs` lists the names of its files (files in a folder of
//! their own are in `check_unclaimed` and `delete_run` there, as WARC is), and `crawl/upkeep.rs` says how they are checked and
//! mended. A format whose files end in a footer closes a file with each `sync`, because what a commit names must be complete.
//!
//! Files only grow; a full one is followed by a new one (`parts.rs`). [`Outputs::sync`] returns how far each one is durable; the engine commits these offsets together with the
//! documents they belong to, and passes them to [`Outputs::open`] when the run continues, so that anything a killed process wrote
//! past them is cut off. Takes plain rows; does not use the database or the network.
//!
//! The order of the fields of a line here is their order in the file. Lines borrow their strings, so that writing one copies no text; when
//! read back they own what they must.

mod append;
mod parts;
pub mod warc;

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
};

use bytesize::ByteSize;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use self::{
    parts::Parts,
    warc::{Exchange, RunFields, Warc},
};
use crate::{
    filter::{Judgement, Kind, Previous, Step},
    fingerprint::{Fingerprint, Signature},
    state::{Reason, is_full, is_read_only},
};

pub(crate) use append::check_regular;
pub use append::{AppendFile, create_directory, replace};
pub use append::{Checksum, Checksums};
pub(crate) use parts::{checksums_name, compress, lines_of, texts_of};
pub use parts::{open_part, parts};

/// A line for each stored page.
pub const PAGES: &str = "pages.jsonl";
/// A line for each duplicate that is not stored.
pub const DUPLICATES: &str = "duplicates.jsonl";
/// A line for each known page that had changed when it was asked for again.
pub const CHANGES: &str = "changes.jsonl";
/// The files of lines.
pub const LINES: [&str; 3] = [PAGES, DUPLICATES, CHANGES];

/// The `[store]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// Whether the lines of `pages.jsonl` contain the text.
    pub text: bool,
    /// Whether requests and responses are written to WARC files.
    pub warc: bool,
    /// A file that has reached this size is followed by a new one; 0 never. WARC files have at most one GiB.
    #[serde(serialize_with = "crate::page::serialize_size")]
    pub rotate: ByteSize,
    /// Whether full files of lines are compressed by zstd.
    pub compress: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { text: true, warc: false, rotate: ByteSize::gib(4), compress: false }
    }
}

impl Options {
    /// Whether a file of this many bytes is followed by a new one.
    fn is_full(&self, bytes: u64) -> bool {
        self.rotate.as_u64() > 0 && bytes >= self.rotate.as_u64()
    }
}

/// How far a file is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file, relative to the run directory, with `/` between its parts.
    pub file: String,
    /// Number of durable bytes.
    pub offset: u64,
}

/// The position of a WARC record: `length` bytes from `offset` are one whole gzip member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPosition {
    /// The file, relative to the run directory, with `/` between its parts.
    pub file: String,
    /// Start of the gzip member in bytes.
    pub offset: u64,
    /// Length of the gzip member in bytes.
    pub length: u64,
}

/// An output cannot be opened or written. Every such error ends a run; none loses what was synced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// A file or directory cannot be created, opened or replaced.
    #[error("cannot open {} for writing", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A write or sync failed.
    #[error("cannot write to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The disk is full, or the quota used up.
    #[error("no room left to write to {}: make room and run the same command again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is shorter than the state says.
    #[error(
        "{} has {found} bytes but the run had written {committed}: it was changed by another program; `pagesieve repair` keeps what is there; or restore it or start over with --fresh",
        path.display()
    )]
    Shorter {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// Its length by the state.
        committed: u64,
    },
    /// A file has content, but the run's state does not know it.
    #[error("{} does not belong to this run: move it away or start over with --fresh", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl SinkError {
    /// Whether the disk is full or the quota used up: the run can continue once there is room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Whether nothing can be written where the file is.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let Self::Open { source, .. } = self else { return false };
        is_read_only(source)
    }

    fn open(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&source) { Self::Full { path, source } } else { Self::Open { path, source } }
    }

    fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&source) { Self::Full { path, source } } else { Self::Write { path, source } }
    }
}

/// The growing files of a run directory: `pages.jsonl`, `duplicates.jsonl`, `changes.jsonl` and, if configured, `warc/*.warc.gz`.
///
/// Lines and records are written in the order of the calls. They need not be durable before the next [`sync`](Self::sync).
#[derive(Debug)]
pub struct Outputs {
    /// The files of [`LINES`], in their order.
    lines: [Parts; 3],
    warc: Option<Warc>,
}

impl Outputs {
    /// Opens the files of a run and cuts off what was written after the last commit.
    ///
    /// `committed` is what [`sync`](Self::sync) last returned, empty for a new run. Store what `sync` returns before the first line is
    /// written: a file that has content but no mark belongs to something else, and is an error.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] and [`SinkError::Foreign`] if the files do not fit the marks, [`SinkError::Open`] if they cannot be opened.
    pub fn open(
        directory: &Path,
        warc: Option<RunFields>,
        committed: &[Mark],
    ) -> Result<Self, SinkError> {
        create_directory(directory).map_err(|source| SinkError::open(directory, source))?;
        let [pages, duplicates, changes] =
            LINES.map(|name| Parts::open(directory, name, committed));
        Ok(Self {
            lines: [pages?, duplicates?, changes?],
            warc: warc.map(|run| Warc::open(directory, run, committed)).transpose()?,
        })
    }

    /// Sets the size at which files are full, and what becomes of them.
    pub fn set_rotation(&mut self, options: Options) {
        self.lines.iter_mut().for_each(|lines| lines.set_rotation(options));
        if let Some(warc) = &mut self.warc {
            warc.set_rotation(options);
        }
    }

    /// Writes the line of a stored page.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write_page(&mut self, line: &PageLine<'_>) -> Result<(), SinkError> {
        self.lines[0].write_line(&line.decision.id, line)
    }

    /// Writes the line of a duplicate that is not stored.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write_duplicate(&mut self, line: &DuplicateLine<'_>) -> Result<(), SinkError> {
        self.lines[1].write_line(&line.decision.id, line)
    }

    /// Writes the line of a page that has changed.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write_change(&mut self, line: &ChangeLine<'_>) -> Result<(), SinkError> {
        self.lines[2].write_line(&line.url, line)
    }

    /// Writes a request and its response, of any kind, and returns their position; `None` without WARC files. Must precede the line
    /// of the page, which contains the position.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write_exchange(
        &mut self,
        exchange: &Exchange,
        kind: &warc::ExchangeKind<'_>,
    ) -> Result<Option<RecordPosition>, SinkError> {
        self.warc.as_mut().map(|warc| warc.write(exchange, kind)).transpose()
    }

    /// Makes everything written so far durable and returns how far each file has grown. A file that is full is followed by a new one; its
    /// mark has the new name. What was returned must be committed before the next call.
    ///
    /// # Errors
    ///
    /// If a write fails. After a full disk it may be called again: nothing is lost or written twice.
    pub fn sync(&mut self) -> Result<Vec<Mark>, SinkError> {
        let mut marks = self.warc.as_mut().map(Warc::sync).transpose()?.unwrap_or_default();
        for lines in &mut self.lines {
            marks.extend(lines.sync()?);
        }
        Ok(marks)
    }

    /// To be called when what [`sync`](Self::sync) returned is committed: removes files that were needed until then.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn committed(&mut self) -> Result<(), SinkError> {
        self.lines.iter_mut().try_for_each(Parts::committed)
    }

    /// The checksums of what was synced since the last call, with the name of the file: of the current file of lines, the name that it gets
    /// when it is full. To be committed with the marks.
    pub fn take_checksums(&mut self) -> Vec<(String, Checksums)> {
        let mut checksums = self.warc.as_mut().map(Warc::take_checksums).unwrap_or_default();
        checksums.extend(self.lines.iter_mut().flat_map(Parts::take_checksums));
        checksums
    }
}

/// How a document was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    /// No document in the window is equal or nearly equal to it.
    Unique,
    /// Its body or text is equal to that of its match.
    Exact,
    /// Its article or text is nearly equal to that of its match.
    Near,
    /// The window has it with the same text or bytes.
    Unchanged,
    /// It is unique, and the window has an earlier version of it.
    Changed,
}

impl VerdictName {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Exact => "exact",
            Self::Near => "near",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
        }
    }
}

impl From<&Judgement> for VerdictName {
    fn from(judgement: &Judgement) -> Self {
        match (judgement.verdict.matched().map(|matched| matched.kind), judgement.previous) {
            (Some(Kind::Exact), _) => Self::Exact,
            (Some(Kind::Near), _) => Self::Near,
            (None, None) => Self::Unique,
            (None, Some(Previous { is_unchanged: true, .. })) => Self::Unchanged,
            (None, Some(_)) => Self::Changed,
        }
    }
}

/// The document that a duplicate repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchFields<'a> {
    /// Its id; `None` if it has left the window since, or was removed.
    #[serde(borrow, serialize_with = "crate::page::id::serialize_if_any")]
    pub id: Option<Cow<'a, str>>,
    /// Number of differing bits of the 64 of the fingerprint.
    pub distance: u32,
    /// Number of differing bits of the 256 of the signature.
    pub signature_distance: u32,
    /// From 0 to 1 (an exact duplicate), by the measure that decided; written with at most four decimals.
    #[serde(serialize_with = "four_decimals")]
    pub similarity: f32,
}

/// The version of a document that the window had before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreviousFields {
    /// When it arrived, by the window's clock.
    pub time: jiff::Timestamp,
    /// Number of differing bits of the 64 of the fingerprint, if both texts are long enough.
    pub distance: Option<u32>,
    /// Number of differing bits of the 256 of the signature, if both texts are long enough.
    pub signature_distance: Option<u32>,
}

impl From<Previous> for PreviousFields {
    fn from(Previous { at, distances, .. }: Previous) -> Self {
        let (distance, signature_distance) = distances.unzip();
        Self { time: at.into(), distance, signature_distance }
    }
}

/// A decision: a line of the output of `filter`, and the first fields of the lines of `pages.jsonl` and `duplicates.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision<'a> {
    /// The caller's id, or the normal URL.
    #[serde(borrow, serialize_with = "crate::page::id::serialize")]
    pub id: Cow<'a, str>,
    /// The document's URL, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Cow<'a, str>>,
    /// The verdict.
    pub verdict: VerdictName,
    /// The step that found it, if it is a duplicate.
    pub step: Option<Step>,
    /// The document it repeats, if it is a duplicate.
    #[serde(rename = "match", borrow)]
    pub matched: Option<MatchFields<'a>>,
    /// The version that it replaces, or that is the same. Crawls have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousFields>,
    /// The fingerprint, unless the text has no features.
    pub fingerprint: Option<Fingerprint>,
    /// Number of characters of the text as on the page.
    pub chars: u64,
    /// Number of distinct features of the text.
    pub features: u32,
    /// ISO 639-1 code of the text's language, if it was detected.
    pub lang: Option<Cow<'a, str>>,
    /// Whether the page has hardly any content of its own.
    #[serde(default)]
    pub thin: bool,
}

impl<'a> Decision<'a> {
    /// The decision for a judgement; `of` is the id of the match.
    #[must_use]
    pub fn new(
        id: &'a str,
        url: Option<&'a str>,
        judgement: &'a Judgement,
        of: Option<&'a str>,
    ) -> Self {
        let Judgement { verdict, facts, .. } = judgement;
        let matched = verdict.matched();
        Self {
            id: id.into(),
            url: url.map(Cow::Borrowed),
            verdict: judgement.into(),
            step: matched.map(|matched| matched.step),
            matched: matched.map(|matched| MatchFields {
                id: of.map(Into::into),
                distance: matched.distance,
                signature_distance: matched.signature_distance,
                similarity: matched.similarity,
            }),
            previous: judgement.previous.map(Into::into),
            fingerprint: facts.fingerprint,
            chars: facts.chars.into(),
            features: facts.features,
            lang: facts.lang.as_ref().map(|lang| lang.as_str().into()),
            thin: facts.thin,
        }
    }
}

/// A line of `pages.jsonl`: a stored page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageLine<'a> {
    /// The decision, whose fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The run of the match, if it is a page of another run (`dedup.against`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Cow<'a, str>>,
    /// The page's title.
    pub title: Option<Cow<'a, str>>,
    /// Its first `h1`.
    pub heading: Option<Cow<'a, str>>,
    /// How it describes itself.
    pub description: Option<Cow<'a, str>>,
    /// The body text, unless the configuration leaves texts out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header as received.
    pub content_type: Option<Cow<'a, str>>,
    /// Name of the encoding used, as in the Encoding Standard.
    pub charset: Cow<'a, str>,
    /// When the response was received.
    pub fetched_at: Timestamp,
    /// The length of the body in bytes, without its content coding.
    pub size: u64,
    /// Milliseconds from the beginning of the request to the end of the body.
    pub time: Option<u64>,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// The URLs whose redirects led to it, the first one first.
    pub redirects: Vec<Cow<'a, str>>,
    /// The seed that the URL belongs to.
    pub seed: Option<Cow<'a, str>>,
    /// The tags of that seed.
    pub tags: Vec<Cow<'a, str>>,
    /// The 256-bit signature, unless the text has no features.
    pub signature: Option<Signature>,
    /// The canonical link that the page names.
    pub canonical: Option<Cow<'a, str>>,
    /// Why the page is incomplete, if it was cut.
    pub truncated: Option<Cow<'a, str>>,
    /// Position of its response, if the run writes WARC files.
    pub warc: Option<RecordPosition>,
}

/// A line of `duplicates.jsonl`: a duplicate that is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicateLine<'a> {
    /// The decision, whose fields come first.
    #[serde(flatten, borrow)]
    pub decision: Decision<'a>,
    /// The run of the match, if it is a page of another run (`dedup.against`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Cow<'a, str>>,
    /// The HTTP status.
    pub status: u16,
    /// When the response was received.
    pub fetched_at: Timestamp,
    /// The length of the body in bytes, without its content coding.
    pub size: u64,
    /// Milliseconds from the beginning of the request to the end of the body.
    pub time: Option<u64>,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// The URLs whose redirects led to it, the first one first.
    pub redirects: Vec<Cow<'a, str>>,
    /// The seed that the URL belongs to.
    #[serde(default)]
    pub seed: Option<Cow<'a, str>>,
}

/// How a known page had changed when it was asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeName {
    /// It has another text.
    Text,
    /// There is no page any more.
    Gone,
    /// There is a page again, with the text that was known.
    Back,
}

/// A line of `changes.jsonl`: a known page that had changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeLine<'a> {
    /// The URL.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// When it was asked for.
    pub at: Timestamp,
    /// How it had changed.
    pub change: ChangeName,
    /// When it was received or asked for before.
    pub since: Timestamp,
    /// The fingerprint of the text that was known, unless that has no features.
    pub before: Option<Fingerprint>,
    /// The fingerprint of the text that it has now, unless there is none or it has no features.
    pub after: Option<Fingerprint>,
    /// Number of differing bits of the two fingerprints, if there are two.
    pub distance: Option<u32>,
    /// How the new text was judged.
    pub verdict: Option<VerdictName>,
    /// The page that the new text repeats, if it is a duplicate.
    #[serde(rename = "match")]
    pub matched: Option<Cow<'a, str>>,
    /// Why there is no page any more.
    pub reason: Option<Reason>,
    /// Details of the reason.
    pub detail: Option<Cow<'a, str>>,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// How often it was asked for since it was received first.
    pub visits: u32,
    /// How often it had changed then.
    pub changes: u32,
}

/// A line that `export` prints: a known URL that is neither stored nor a duplicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedLine<'a> {
    /// The URL.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// Why it was skipped.
    pub reason: Reason,
    /// Details of the reason: the robots rule and its line, the redirect's target, the error.
    pub detail: Option<Cow<'a, str>>,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The page on which the URL was first found; `None` for a seed.
    pub referrer: Option<Cow<'a, str>>,
    /// Number of links from the seed, which has depth 0.
    pub depth: u32,
    /// When it was decided, if that was at a single moment.
    pub at: Option<Timestamp>,
}

/// Opens a file of the run at its mark, or a file without a mark if it is new or empty.
fn open_known(directory: &Path, file: &str, marks: &[Mark]) -> Result<AppendFile, SinkError> {
    let path = directory.join(file);
    match marks.iter().find(|mark| mark.file == file) {
        Some(mark) => AppendFile::open(path, mark.offset),
        None if path.metadata().is_ok_and(|found| found.len() > 0) => {
            Err(SinkError::Foreign { path })
        }
        None => AppendFile::open(path, 0),
    }
}

/// Writes 0.9909, and 1 (without a point) for equal documents.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
pub(crate) fn four_decimals<S: Serializer>(similarity: &f32, to: S) -> Result<S::Ok, S::Error> {
    let rounded = (f64::from(*similarity) * 1e4).round() / 1e4;
    if rounded >= 1.0 { to.serialize_u8(1) } else { to.serialize_f64(rounded) }
}
