//! Looks for damage in a run: in its state, and in the files that it has written.
//!
//! SQLite checks the structure of the state. Of each line and each record the state has a checksum, with the hash of its URL: so a damaged one
//! is named even if nothing of it is left. A compressed file is checked by what it decompresses to. The reports have no checksums:
//! `pagesieve report` writes them again.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
};

use super::{
    directory::{check_unclaimed, is_run},
    plan::{CrawlError, STATE},
};
use crate::{
    report::counted,
    sink::{Checksum, Checksums, checksums_name, open_part},
    state::{State, StateError, UrlId, UrlRow, WriteLock},
};

/// URLs that a damage is shown with, at most.
const SHOWN: usize = 10;

/// A part of a file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the run directory.
    pub file: String,
    /// The damaged bytes; of a compressed file, of what it decompresses to.
    pub bytes: Range<u64>,
    /// What is affected.
    pub affected: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, bytes, affected } = self;
        write!(f, "{file}: bytes {} to {}: {affected}", bytes.start, bytes.end.saturating_sub(1))
    }
}

/// What a look at all files of a run has found.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// The damage.
    pub damage: Vec<Damage>,
    /// What could not be verified, and why.
    pub notes: Vec<String>,
    /// Bytes that were verified.
    pub bytes: u64,
}

/// Reads all files of a run, or the state of a filter, and compares them with their checksums.
///
/// # Errors
/// If there is no run, a crawl is running, or a file cannot be read.
pub fn verify(run: &Path) -> Result<Verification, CrawlError> {
    let path = state_of(run)?;
    // Where there can be no lock, nobody writes.
    let _lock = match WriteLock::take(&path) {
        Err(error @ StateError::Busy { .. }) => return Err(error.into()),
        lock => lock.ok(),
    };
    let length = path.metadata().map_or(0, |file| file.len());
    let mut found = Verification { bytes: length, ..Verification::default() };
    match read_sound(run, &path)? {
        Ok(state) => found.add_outputs(run, &state)?,
        Err(why) => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            found.damage.push(Damage { file: file.into(), bytes: 0..length, affected: why });
            let note =
                "the output files were not verified: their checksums are in the damaged state";
            found.notes.extend(run.is_dir().then(|| note.to_owned()));
        }
    }
    Ok(found)
}

/// The state's file of a run directory, or of a filter.
pub(super) fn state_of(run: &Path) -> Result<PathBuf, CrawlError> {
    let path = if run.is_file() { run.to_owned() } else { run.join(STATE) };
    // Beside output files, an empty state is a damaged one.
    let is_there = is_run(run) || run.is_file() || check_unclaimed(run).is_err();
    if path.is_file() && is_there {
        return Ok(path);
    }
    Err(if is_there { CrawlError::NoState } else { CrawlError::NoRun }(run.to_owned()))
}

/// Opens a state to read it, or says how it is damaged. What is in the place of a run's state is a damaged one, whatever it is.
pub(super) fn read_sound(run: &Path, path: &Path) -> Result<Result<State, String>, CrawlError> {
    let read = State::read(path).and_then(|state| Ok((state.structure()?, state)));
    match read {
        Ok((None, state)) => Ok(Ok(state)),
        Ok((Some(why), _)) => Ok(Err(format!("the state: {why}"))),
        Err(error @ StateError::Damaged(_)) => Ok(Err(error.to_string())),
        Err(error @ StateError::Foreign { .. }) if run.is_dir() => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// An output file, and what its state says of it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) file: String,
    /// The name that it has when it is full, without the ending of a compressed one.
    pub(super) name: String,
    pub(super) size: u64,
    /// Whether it is full: it may have been moved away.
    pub(super) is_full: bool,
}

impl Known {
    /// All output files of a run.
    pub(super) fn all(state: &State) -> Result<Vec<Self>, StateError> {
        let (files, writes_warc) = (state.files()?, state.meta("warc")?.unwrap_or(false));
        let known = |(place, (file, size)): (usize, &(String, u64))| {
            let name = checksums_name(file, files.iter().map(|(file, _)| file.as_str()));
            // By name, the current WARC file is the last of all files.
            let is_current = writes_warc && place + 1 == files.len();
            let is_full = file.starts_with(&name) && !is_current;
            Self { file: file.clone(), name, size: *size, is_full }
        };
        Ok(files.iter().enumerate().map(known).collect())
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.file.len() > self.name.len() && self.is_full
    }

    pub(super) fn has_records(&self) -> bool {
        self.file.ends_with(".warc.gz")
    }

    /// The checksums of its lines or records, each with the place where it begins.
    pub(super) fn checksums(&self, state: &State) -> Result<Vec<(u64, Checksum)>, StateError> {
        let mut all = Vec::new();
        for (start, packed) in state.checksums(&self.name)? {
            let mut at = start;
            for one in Checksums::unpack(start, &packed).each {
                all.push((at, one));
                at += u64::from(one.length);
            }
        }
        Ok(all)
    }

    /// Reads the file, and calls `visit` with each line or record that it should have, and its bytes if they are as they were written. Returns
    /// how many bytes it has beyond.
    pub(super) fn check(
        &self,
        run: &Path,
        checksums: &[(u64, Checksum)],
        mut visit: impl FnMut(u64, Checksum, Option<&[u8]>) -> io::Result<()>,
    ) -> io::Result<u64> {
        let path = run.join(&self.file);
        let mut file: Box<dyn Read> =
            if path.exists() { Box::new(open_part(&path)?) } else { Box::new(io::empty()) };
        let mut bytes = Vec::new();
        for &(at, one) in checksums {
            bytes.clear();
            match (&mut file).take(one.length.into()).read_to_end(&mut bytes) {
                // What cannot be decompressed is damaged.
                Err(error) if !self.is_compressed() => return Err(error),
                _ => {}
            }
            visit(at, one, (Checksum::of(&bytes, one.url) == one).then_some(&*bytes))?;
        }
        let more = io::copy(&mut file, &mut io::sink());
        if self.is_compressed() { Ok(more.unwrap_or(1)) } else { more }
    }
}

/// Damaged lines or records in a row: their bytes, how many they are, and the hashes of their URLs.
struct Gap {
    bytes: Range<u64>,
    count: usize,
    urls: Vec<u64>,
}

impl Verification {
    fn add_outputs(&mut self, run: &Path, state: &State) -> Result<(), CrawlError> {
        let files = Known::all(state)?;
        let mut gaps = Vec::new();
        for known in files.iter().filter(|_| run.is_dir()) {
            let path = run.join(&known.file);
            if known.is_full && !path.exists() {
                self.notes.push(format!("{} is not there: moved away?", known.file));
            } else if path.exists() && !path.is_file() {
                self.add(known, 0..known.size, "it is no regular file: move it away".to_owned());
            } else {
                let found = self.check(run, state, known)?;
                gaps.extend(found.into_iter().map(|gap| (known, gap)));
            }
        }
        let urls = gaps.iter().flat_map(|(_, gap)| gap.urls.iter().copied()).collect();
        let rows = rows(state, &urls)?;
        for (known, gap) in gaps {
            let named: Vec<_> = gap.urls.iter().filter_map(|url| rows.get(url)).collect();
            let what = if known.has_records() { "record" } else { "line" };
            let affected = format!("{} of {}", counted(gap.count, what), shown(&named));
            self.add(known, gap.bytes, affected);
        }
        Ok(())
    }

    fn add(&mut self, known: &Known, bytes: Range<u64>, affected: String) {
        self.damage.push(Damage { file: known.file.clone(), bytes, affected });
    }

    fn check(&mut self, run: &Path, state: &State, known: &Known) -> Result<Vec<Gap>, CrawlError> {
        let mut gaps: Vec<Gap> = Vec::new();
        let (checksums, mut end) = (known.checksums(state)?, 0);
        let more = known.check(run, &checksums, |at, one, sound| {
            end = at + u64::from(one.length);
            if sound.is_some() {
                return Ok(());
            }
            if gaps.last().is_none_or(|gap| gap.bytes.end != at) {
                gaps.push(Gap { bytes: at..at, count: 0, urls: Vec::new() });
            }
            if let Some(gap) = gaps.last_mut() {
                (gap.bytes.end, gap.count) = (end, gap.count + 1);
                gap.urls.extend((!gap.urls.contains(&one.url)).then_some(one.url));
            }
            Ok(())
        });
        let more = more.map_err(CrawlError::file(&run.join(&known.file)))?;
        self.bytes += end;
        if more > 0 && known.is_full && gaps.is_empty() {
            self.add(known, end..end + more, "bytes that do not belong to it".to_owned());
        } else if more > 0 && !known.is_full {
            let file = &known.file;
            self.notes
                .push(format!("{file}: {more} bytes behind its end: the next start cuts them off"));
        }
        Ok(gaps)
    }
}

/// The URLs that have these hashes.
pub(super) fn rows(
    state: &State,
    hashes: &HashSet<u64>,
) -> Result<HashMap<u64, UrlRow>, StateError> {
    let mut found = HashMap::new();
    // Their numbers have no gap.
    for id in 1.. {
        if found.len() == hashes.len() {
            break;
        }
        let Some(row) = state.url_by_id(UrlId(id))? else { break };
        // Records have the spelling that was requested.
        for url in [row.url.as_str(), row.url.requested().as_str()] {
            let hash = Checksum::hash_of(url);
            if hashes.contains(&hash) {
                found.insert(hash, row.clone());
            }
        }
    }
    Ok(found)
}

fn shown(urls: &[&UrlRow]) -> String {
    let first = urls.iter().take(SHOWN).map(|row| row.url.as_str()).collect::<Vec<_>>().join(", ");
    match urls.len() {
        0 => "robots.txt, or the head of the file".to_owned(),
        1..=SHOWN => first,
        all => format!("{first} and {} more", all - SHOWN),
    }
}
