//! Files that only grow, starting at a committed offset, and files that are replaced as a whole.
//!
//! Of every line and record there is a checksum, which is kept in the state, apart from the files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    mem,
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
    checksums: Vec<Checksum>,
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
        let (pending, checksums) = (Vec::new(), Vec::new());
        Ok(Self { path, file, pending, written: committed, synced: true, checksums })
    }

    /// The same file after it was renamed.
    pub(super) fn renamed(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// The checksums of what was appended since the last call, if something was.
    pub(super) fn take_checksums(&mut self) -> Option<Checksums> {
        let each = mem::take(&mut self.checksums);
        let length: u64 = each.iter().map(|one| u64::from(one.length)).sum();
        (!each.is_empty()).then(|| Checksums { start: self.offset() - length, each })
    }

    /// Length of the file in bytes, including buffered ones.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Appends what `fill` writes, or nothing if `fill` fails; with a URL, its checksum is to be taken. If the write fails, the bytes stay in the buffer for the next attempt.
    pub(super) fn append(
        &mut self,
        url: Option<&str>,
        fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let before = self.pending.len();
        if let Err(error) = fill(&mut self.pending) {
            self.pending.truncate(before);
            return Err(SinkError::write(&self.path, error));
        }
        let checksum = |url| Checksum::of(&self.pending[before..], Checksum::hash_of(url));
        self.checksums.extend(url.map(checksum));
        self.synced = false;
        if self.pending.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Appends bytes. They may stay in memory until [`sync`](Self::sync).
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        self.append(None, |file| {
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
        self.write_line_of(None, row)
    }

    /// The same of a line about a URL, if it is.
    pub(super) fn write_line_of(
        &mut self,
        url: Option<&str>,
        row: &impl Serialize,
    ) -> Result<(), SinkError> {
        self.append(url, |line| {
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

/// The checksum of a line or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// Its length in bytes.
    pub length: u32,
    /// The hash of its bytes.
    pub hash: u32,
    /// The hash of its URL: nothing else is left of a line that is lost.
    pub url: u64,
}

impl Checksum {
    const BYTES: usize = 16;

    /// That of these bytes, which are about this URL.
    pub(crate) fn of(bytes: &[u8], url: u64) -> Self {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // The lower half is as good a hash as the whole.
        let [a, b, c, d, ..] = xxh3_64(bytes).to_le_bytes();
        Self { length, hash: u32::from_le_bytes([a, b, c, d]), url }
    }

    /// The hash of a URL.
    pub(crate) fn hash_of(url: &str) -> u64 {
        xxh3_64(url.as_bytes())
    }
}

/// The checksums of what was appended to a file between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Where it begins in the file, in bytes.
    pub start: u64,
    /// Those of its lines or records, in order.
    pub each: Vec<Checksum>,
}

impl Checksums {
    /// As they are kept in the state.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let pack = |one: &Checksum| {
            [&one.length.to_le_bytes()[..], &one.hash.to_le_bytes(), &one.url.to_le_bytes()]
                .concat()
        };
        self.each.iter().flat_map(pack).collect()
    }

    pub(crate) fn unpack(start: u64, packed: &[u8]) -> Self {
        let unpack = |one: &[u8; Checksum::BYTES]| {
            let number = u128::from_le_bytes(*one);
            #[expect(clippy::cast_possible_truncation, reason = "the parts of the number")]
            let one = Checksum {
                length: number as u32,
                hash: (number >> 32) as u32,
                url: (number >> 64) as u64,
            };
            one
        };
        Self { start, each: packed.as_chunks().0.iter().map(unpack).collect() }
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
        lines.append(None, push(b"before\n")).unwrap();
        assert_eq!(lines.sync().unwrap(), 7);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let room = std::mem::replace(&mut lines.file, full);
        lines.append(None, push(b"after\n")).unwrap();
        assert!(lines.sync().unwrap_err().is_full());
        lines.file = room;
        assert_eq!(lines.sync().unwrap(), 13);
        assert_eq!(std::fs::read(path).unwrap(), b"before\nafter\n");
    }

    #[test]
    fn checksums_are_those_of_what_was_appended_since_the_last_call() {
        let directory = tempfile::tempdir().unwrap();
        let mut lines = AppendFile::open(directory.path().join("file"), 0).unwrap();
        let url = Checksum::hash_of("http://a.test/");
        for (start, line) in [(0, "first"), (8, "second")] {
            lines.write_line_of(Some("http://a.test/"), &line).unwrap();
            let each = vec![Checksum::of(format!("\"{line}\"\n").as_bytes(), url)];
            let expected = Checksums { start, each };
            assert_eq!(lines.take_checksums().as_ref(), Some(&expected));
            assert_eq!(Checksums::unpack(start, &expected.pack()), expected);
            assert_eq!(lines.take_checksums(), None);
        }
    }
}
