//! The log (`state.sqlite-wal`) that a killed process leaves: what it has committed, and whether it is damaged.
//!
//! SQLite reads it up to the first frame that does not match its checksum, and takes the rest for what was never committed. That is right
//! after a loss of power. But each commit is synced before the next one is written, so a loss of power leaves parts of one commit only: if
//! frames of another one follow, the log was damaged. So it was if a change of one byte makes the frame match, and the commit complete.
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
    /// The bytes of the file.
    pub(crate) length: u64,
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
        let mut log = Self { length: bytes.len() as u64, ..Self::default() };
        let Some((header, frames)) = bytes.split_at_checked(HEADER) else { return (log, (0, 0)) };
        let Some(mut sum) = header_sum(header) else {
            // A header is synced before frames are written.
            log.damage = (!frames.is_empty()).then_some(0..HEADER as u64);
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
        let is_followed =
            rest.any(|frame| is_ours(frame) && word(frame, 4) != 0) && rest.any(is_ours);
        if is_followed || is_commit_but_for_a_byte(header, sum, bytes[end..].to_vec()) {
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
                restore(header, 0..HEADER, |header| is_followed(header, header_sum(header), next))
            }
            Some(damage) => {
                let start = usize::try_from(damage.start).unwrap_or(usize::MAX) - HEADER;
                restore_frame(header, sum, &mut frames[start..])
            }
        }
    }
}

/// Whether these frames are those of a commit, with one byte of the first one changed. A loss of power may leave a frame half written over one of an earlier log
/// that has nearly the same page, but not all frames up to the end of the commit.
fn is_commit_but_for_a_byte(header: &[u8], mut sum: Sum, mut frames: Vec<u8>) -> bool {
    restore_frame(header, sum, &mut frames)
        && frames
            .chunks_exact(FRAME)
            .map_while(|frame| {
                sum = frame_sum(header, sum, frame)?;
                Some(word(frame, 4) != 0)
            })
            .any(|is_last| is_last)
}

/// Restores the first of these frames if one byte of it was changed. Returns whether it did.
fn restore_frame(header: &[u8], before: Sum, frames: &mut [u8]) -> bool {
    let Some((frame, next)) = frames.split_at_mut_checked(FRAME) else { return false };
    let next = next.get(..FRAME).filter(|next| next[8..16] == header[16..24]);
    let is_sound = |frame: &[u8]| is_followed(header, frame_sum(header, before, frame), next);
    let (salts_and_sum, is_big_endian) = (8..FRAME_HEADER, is_big_endian(header));
    if restore(frame, salts_and_sum, is_sound) {
        return true;
    }
    // The checksum is linear: a change of a word counts with a weight that depends only on how many follow.
    let sum = content_sum(before, frame, is_big_endian);
    let missing = (word(frame, 16).wrapping_sub(sum.0), word(frame, 20).wrapping_sub(sum.1));
    let (mut first, mut second): (Sum, Sum) = ((1, 1), (0, 1));
    for pair in (FRAME_HEADER..FRAME).step_by(8).rev().chain([0]) {
        for at in pair..pair + 8 {
            let weight = if at < pair + 4 { first } else { second };
            let place = if is_big_endian { 3 - at % 4 } else { at % 4 };
            let was = frame[at];
            for byte in 0..=u8::MAX {
                let change = u32::from(byte).wrapping_sub(u32::from(was)) << (8 * place);
                let counts = (weight.0.wrapping_mul(change), weight.1.wrapping_mul(change));
                if counts == missing {
                    frame[at] = byte;
                    if is_sound(frame) {
                        return true;
                    }
                }
            }
            frame[at] = was;
        }
        for (a, b) in [&mut first, &mut second] {
            *a = a.wrapping_add(*b);
            *b = b.wrapping_add(*a);
        }
    }
    false
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
    if frame[8..16] != header[16..24] {
        return None;
    }
    let sum = content_sum(before, frame, is_big_endian(header));
    (sum == (word(frame, 16), word(frame, 20))).then_some(sum)
}

/// The checksum up to the end of a frame, without its salts and its own checksum.
fn content_sum(before: Sum, frame: &[u8], is_big_endian: bool) -> Sum {
    let sum = checksum(before, &frame[..8], is_big_endian);
    checksum(sum, &frame[FRAME_HEADER..], is_big_endian)
}

fn is_big_endian(header: &[u8]) -> bool {
    word(header, 0) & 1 == 1
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
