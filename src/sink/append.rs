//! Files that only grow, starting at a committed offset, and files that are replaced as a whole.
//!
//! Of every block of 4 KiB there is a checksum, which is kept in the state, apart from the files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::SinkError;

/// Bytes that are buffered before they are written.
const BUFFER: usize = 64 * 1024;

/// A file that only grows. Buffered bytes are written at a known offset, so a write that failed half way can be repeated.
///
/// ```
/// use pagesieve::sink::AppendFile;
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("pages.jsonl");
/// let mut lines = AppendFile::open(path.clone(), 0)?;
/// lines.write_line(&serde_json::json!({"id": "a"}))?;
/// let committed = lines.sync()?;
/// lines.write_line(&serde_json::json!({"id": "never committed"}))?;
///
/// let lines = AppendFile::open(path, committed)?;
/// assert_eq!(lines.offset(), 11);
/// # Ok::<(), pagesieve::sink::SinkError>(())
/// ```
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    written: u64,
    synced: bool,
    checksums: Running,
}

/// Refuses what is no regular file: to open a FIFO waits for another process, perhaps for ever.
pub(crate) fn check_regular(path: &Path) -> io::Result<()> {
    let is_other = path.metadata().is_ok_and(|found| !found.is_file());
    let refused = || io::Error::other("it is no regular file: move it away");
    if is_other { Err(refused()) } else { Ok(()) }
}

impl AppendFile {
    /// Opens or creates the file. Everything past `committed` (the torn tail of a killed run) is cut off.
    ///
    /// # Errors
    ///
    /// [`SinkError::Shorter`] if the file has fewer bytes than `committed`, [`SinkError::Open`] if it cannot be opened.
    pub fn open(path: PathBuf, committed: u64) -> Result<Self, SinkError> {
        let error = |source| SinkError::open(&path, source);
        check_regular(&path).map_err(error)?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(error)?;
        let found = file.metadata().map_err(error)?.len();
        if found < committed {
            return Err(SinkError::Shorter { path, found, committed });
        }
        file.set_len(committed).map_err(error)?;
        sync_parent(&path).map_err(error)?;
        let checksums = Running::new(committed);
        Ok(Self { path, file, pending: Vec::new(), written: committed, synced: true, checksums })
    }

    /// The same file after it was renamed.
    pub(super) fn renamed(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// The checksums of what was written since the last call, with the `name` under which they are kept. Each part replaces the one with the
    /// same start.
    pub(super) fn take_checksums(&mut self, name: &str) -> Vec<(String, Checksums)> {
        self.checksums.take().into_iter().map(|part| (name.to_owned(), part)).collect()
    }

    /// Length of the file in bytes, including buffered ones.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Appends what `fill` writes, or nothing if `fill` fails. If the write fails, the bytes stay in the buffer for the next attempt.
    pub(super) fn append(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let before = self.pending.len();
        if let Err(error) = fill(&mut self.pending) {
            self.pending.truncate(before);
            return Err(SinkError::write(&self.path, error));
        }
        self.synced = false;
        if self.pending.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Appends bytes. They may stay in memory until [`sync`](Self::sync).
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        self.append(|file| {
            file.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Appends a line of JSON. It may stay in memory until [`sync`](Self::sync).
    ///
    /// # Errors
    ///
    /// If the write fails. A row that cannot be serialised leaves no trace in the file.
    pub fn write_line(&mut self, row: &impl Serialize) -> Result<(), SinkError> {
        self.append(|line| {
            serde_json::to_writer(&mut *line, row)?;
            line.push(b'\n');
            Ok(())
        })
    }

    /// Makes the file durable and returns its length in bytes: the offset to commit.
    ///
    /// # Errors
    ///
    /// If the write fails. After a full disk ([`SinkError::is_full`]) it may be called again.
    pub fn sync(&mut self) -> Result<u64, SinkError> {
        if !self.synced {
            self.flush()?;
            self.file.sync_data().map_err(|source| SinkError::write(&self.path, source))?;
            self.synced = true;
        }
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.file
            .seek(SeekFrom::Start(self.written))
            .and_then(|_| self.file.write_all(&self.pending))
            .map_err(|source| SinkError::write(&self.path, source))?;
        self.written = self.offset();
        self.checksums.update(&self.pending);
        self.pending.clear();
        Ok(())
    }
}

/// Creates a directory and those above it. Their names survive a loss of power.
///
/// # Errors
///
/// If it cannot be created.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<_> = path.ancestors().skip(1).take_while(|above| !above.is_dir()).collect();
    fs::create_dir_all(path)?;
    [path].into_iter().chain(missing).try_for_each(|created| match sync_parent(created) {
        // Where nothing can be listed, nothing was created just now.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    })
}

/// Makes a new or renamed directory entry durable; otherwise the file's name may be lost although its bytes are not.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Only Unix opens directories as files.
        Some(parent) if cfg!(unix) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            File::open(parent)?.sync_all()
        }
        _ => Ok(()),
    }
}

/// A new version of a file of JSON lines, which replaces the old one only when it is complete.
#[derive(Debug)]
pub struct Replacement {
    file: AppendFile,
    path: PathBuf,
}

impl Replacement {
    /// Starts a new version of the file at `path`.
    ///
    /// # Errors
    ///
    /// If the temporary file beside it cannot be created.
    pub fn create(path: PathBuf) -> Result<Self, SinkError> {
        Ok(Self { file: AppendFile::open(beside(&path), 0)?, path })
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn write(&mut self, row: &impl Serialize) -> Result<(), SinkError> {
        self.file.write_line(row)
    }

    /// Replaces the old version.
    ///
    /// # Errors
    ///
    /// If the new version cannot be synced or renamed; the old one then stays.
    pub fn commit(mut self) -> Result<(), SinkError> {
        self.file.sync()?;
        rename(&beside(&self.path), &self.path)
    }
}

/// Replaces the content of a file: a reader sees either the old or the new.
///
/// # Errors
///
/// If the new content cannot be written; the old one then stays.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), SinkError> {
    let new = beside(path);
    let mut file = File::create(&new).map_err(|source| SinkError::open(&new, source))?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(|source| SinkError::write(&new, source))?;
    rename(&new, path)
}

fn rename(new: &Path, path: &Path) -> Result<(), SinkError> {
    fs::rename(new, path)
        .and_then(|()| sync_parent(path))
        .map_err(|source| SinkError::open(path, source))
}

/// The temporary name, in the same directory, because only there a rename is atomic.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

/// Bytes that have a hash in common.
pub(crate) const BLOCK: usize = 4096;
/// Blocks of a part of a file, at most.
const BLOCKS: usize = 64;

/// The hashes of a part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    /// Where the part begins in the file, in bytes.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The hash of each block of 4096 bytes from `start`; the last one may be shorter.
    pub hashes: Vec<u64>,
}

impl Checksums {
    /// The blocks, each with the hash that it should have.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Range<u64>, u64)> {
        let end = self.start + self.length;
        let starts = (self.start..end).step_by(BLOCK);
        starts
            .map(move |start| start..(start + BLOCK as u64).min(end))
            .zip(self.hashes.iter().copied())
    }

    /// The hash of a block.
    pub(crate) fn hash(block: &[u8]) -> u64 {
        xxh3_64(block)
    }

    /// The checksums of these bytes of a file as it is.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter.
    pub(crate) fn of_file(path: &Path, bytes: Range<u64>) -> io::Result<Vec<Self>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(bytes.start))?;
        let mut running = Running::new(bytes.start);
        let mut block = Vec::new();
        for start in bytes.clone().step_by(BLOCK) {
            let length = (BLOCK as u64).min(bytes.end - start);
            block.clear();
            if (&mut file).take(length).read_to_end(&mut block)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            running.update(&block);
        }
        Ok(running.take())
    }
}

/// The checksums of a file that grows.
#[derive(Debug)]
pub(super) struct Running {
    full: Vec<Checksums>,
    part: Checksums,
    /// The last block, if it is not whole.
    block: Vec<u8>,
    is_new: bool,
}

impl Running {
    /// Those of the bytes from `start` on.
    pub(super) fn new(start: u64) -> Self {
        let part = Checksums { start, ..Checksums::default() };
        Self { full: Vec::new(), part, block: Vec::new(), is_new: false }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BLOCK - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            self.part.length += now.len() as u64;
            self.is_new = true;
            if now.len() == room {
                self.part.hashes.push(Checksums::hash(&self.block));
                self.block.clear();
            }
            if self.part.hashes.len() == BLOCKS {
                let start = self.part.start + self.part.length;
                let next = Checksums { start, ..Checksums::default() };
                self.full.push(std::mem::replace(&mut self.part, next));
                self.is_new = false;
            }
            bytes = later;
        }
    }

    /// The parts that have grown since the last call; each replaces the one with the same start.
    pub(super) fn take(&mut self) -> Vec<Checksums> {
        let mut parts = std::mem::take(&mut self.full);
        if std::mem::take(&mut self.is_new) {
            let mut part = self.part.clone();
            if !self.block.is_empty() {
                part.hashes.push(Checksums::hash(&self.block));
            }
            parts.push(part);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn bytes_refused_by_a_full_disk_are_written_once_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let push = |text: &'static [u8]| {
            move |file: &mut Vec<u8>| {
                file.extend_from_slice(text);
                Ok(())
            }
        };
        let mut lines = AppendFile::open(path.clone(), 0).unwrap();
        lines.append(push(b"before\n")).unwrap();
        assert_eq!(lines.sync().unwrap(), 7);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let room = std::mem::replace(&mut lines.file, full);
        lines.append(push(b"after\n")).unwrap();
        assert!(lines.sync().unwrap_err().is_full());
        lines.file = room;
        assert_eq!(lines.sync().unwrap(), 13);
        assert_eq!(std::fs::read(path).unwrap(), b"before\nafter\n");
    }

    #[test]
    fn checksums_do_not_depend_on_how_the_bytes_arrive() {
        let bytes: Vec<u8> = (0..=250).cycle().take(700_000).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        for step in [1_000, 4_096, 300_000] {
            let mut running = Running::new(100);
            let mut parts = std::collections::BTreeMap::new();
            for piece in bytes[100..].chunks(step) {
                running.update(piece);
                parts.extend(running.take().into_iter().map(|part| (part.start, part)));
            }
            let parts: Vec<_> = parts.into_values().collect();
            assert_eq!(parts, Checksums::of_file(&path, 100..700_000).unwrap());
            let blocks: Vec<_> = parts.iter().flat_map(Checksums::blocks).collect();
            assert_eq!((blocks[0].0.start, blocks.last().unwrap().0.end), (100, 700_000));
            for (range, hash) in blocks {
                let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
                assert_eq!(Checksums::hash(&bytes[start..end]), hash);
            }
        }
    }
}
