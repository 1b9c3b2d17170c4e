//! The log (`state.sqlite-wal`) that a killed process leaves: what it has committed, and whether it is damaged.
//!
//! SQLite reads it up to the first frame that does not match its checksum, and takes the rest for what was never committed. Frames of the same
//! log behind such a one show that it was damaged. Of the very last frame, nobody can say, unless the file ends with it.
//!
//! The format: <https://sqlite.org/fileformat.html#the_write_ahead_log>.

use std::{
    collections::HashSet,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use super::pages::{PAGE, restore};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const FRAME: usize = FRAME_HEADER + PAGE;
/// The magic number; its last bit says in which order the bytes of the checksums are.
const MAGIC: u32 = 0x377f_0682;

/// What a log has.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The numbers of the pages that it has committed.
    pub(crate) pages: HashSet<u32>,
    /// The bytes up to the last commit.
    pub(crate) committed: u64,
    /// The first part that is damaged.
    pub(crate) damage: Option<Range<u64>>,
}

impl Log {
    /// The log of this state, if it has one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn of(state: &Path) -> io::Result<Option<Self>> {
        match fs::read(Self::path(state)) {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => Ok(Some(Self::parse(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file of the log.
    #[must_use]
    pub(crate) fn path(state: &Path) -> PathBuf {
        beside(state, "-wal")
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        Self::parse_with_sum(bytes).0
    }

    /// The log, and the checksum of what is before its damage.
    fn parse_with_sum(bytes: &[u8]) -> (Self, Sum) {
        let mut log = Self::default();
        let Some((header, frames)) = bytes.split_at_checked(HEADER) else { return (log, (0, 0)) };
        let Some(mut sum) = header_sum(header) else {
            log.damage = Some(0..HEADER as u64);
            return (log, (0, 0));
        };
        let (mut uncommitted, mut end) = (Vec::new(), HEADER);
        for frame in frames.chunks_exact(FRAME) {
            let Some(next) = frame_sum(header, sum, frame) else { break };
            (sum, end) = (next, end + FRAME);
            uncommitted.push(word(frame, 0));
            if word(frame, 4) != 0 {
                log.pages.extend(uncommitted.drain(..));
                log.committed = end as u64;
            }
        }
        // A frame of an earlier log has neither salt.
        let is_ours =
            |frame: &[u8]| frame[8..12] == header[16..20] || frame[12..16] == header[20..24];
        let mut rest = bytes[end..].chunks_exact(FRAME);
        let first = rest.next().is_some_and(is_ours);
        if rest.any(is_ours) || first && end + FRAME == bytes.len() {
            log.damage = Some(end as u64..(end + FRAME) as u64);
        }
        (log, sum)
    }

    /// Restores the damaged part of a log if one byte of it was changed. Returns whether it did.
    pub(crate) fn restore(bytes: &mut [u8]) -> bool {
        let (log, sum) = Self::parse_with_sum(bytes);
        let (header, frames) = bytes.split_at_mut(HEADER);
        match log.damage {
            None => false,
            Some(damage) if damage.start == 0 => {
                let next = frames.get(..FRAME);
                restore(header, |header| is_followed(header, header_sum(header), next))
            }
            Some(damage) => {
                let start = usize::try_from(damage.start).unwrap_or(usize::MAX) - HEADER;
                let (frame, next) = frames[start..].split_at_mut(FRAME);
                let next = next.get(..FRAME).filter(|next| next[8..16] == header[16..24]);
                restore(frame, |frame| is_followed(header, frame_sum(header, sum, frame), next))
            }
        }
    }
}

/// A file beside the state.
pub(super) fn beside(state: &Path, suffix: &str) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The running checksum.
type Sum = (u32, u32);

/// Whether a part has a checksum from which that of the next frame follows. Some changes of one byte leave its own as it is.
fn is_followed(header: &[u8], sum: Option<Sum>, next: Option<&[u8]>) -> bool {
    sum.is_some_and(|sum| next.is_none_or(|next| frame_sum(header, sum, next).is_some()))
}

/// The checksum of a header, if it matches.
fn header_sum(header: &[u8]) -> Option<Sum> {
    let magic = word(header, 0);
    let sum = checksum((0, 0), &header[..24], magic & 1 == 1);
    (magic & !1 == MAGIC && sum == (word(header, 24), word(header, 28))).then_some(sum)
}

/// The checksum up to the end of a frame, if it matches and the frame is of this log.
fn frame_sum(header: &[u8], before: Sum, frame: &[u8]) -> Option<Sum> {
    let is_big_endian = word(header, 0) & 1 == 1;
    if frame[8..16] != header[16..24] {
        return None;
    }
    let sum = checksum(before, &frame[..8], is_big_endian);
    let sum = checksum(sum, &frame[FRAME_HEADER..], is_big_endian);
    (sum == (word(frame, 16), word(frame, 20))).then_some(sum)
}

/// The number of four bytes at this place; 0 if there are fewer.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |word| u32::from_be_bytes(*word))
}

fn checksum(start: Sum, bytes: &[u8], is_big_endian: bool) -> Sum {
    let (words, _) = bytes.as_chunks::<4>();
    let read = |word: [u8; 4]| {
        if is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    let (pairs, _) = words.as_chunks::<2>();
    pairs.iter().fold(start, |(a, b), [first, second]| {
        let a = a.wrapping_add(read(*first)).wrapping_add(b);
        (a, b.wrapping_add(read(*second)).wrapping_add(a))
    })
}
