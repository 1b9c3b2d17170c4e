//! Files of lines that are followed by a new one when they are full.
//!
//! The current file keeps its name, such as `pages.jsonl`. A full one is renamed to `pages-00001.jsonl` and so on, or compressed to
//! `pages-00001.jsonl.zst`.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    Checksums, LINES, Mark, Options, PAGES, PageLine, SinkError,
    append::{AppendFile, beside, check_regular, sync_parent},
    open_known,
};

/// The ending of a compressed file.
const COMPRESSED: &str = ".zst";

/// The files of one name.
#[derive(Debug)]
pub(super) struct Parts {
    directory: PathBuf,
    name: &'static str,
    file: AppendFile,
    /// The number of the next file that is full.
    number: u32,
    rotation: Options,
    checksums: Vec<(String, Checksums)>,
    /// A file that is needed only until its compressed version is committed.
    obsolete: Option<PathBuf>,
}

impl Parts {
    /// Opens the current file at its mark. A file that was full, but not committed as such, becomes the current one again.
    pub(super) fn open(
        directory: &Path,
        name: &'static str,
        committed: &[Mark],
    ) -> Result<Self, SinkError> {
        let numbers = committed.iter().filter_map(|mark| number(name, &mark.file));
        let number = numbers.max().unwrap_or(0) + 1;
        let path = directory.join(name);
        let next = directory.join(part(name, number));
        let wanted = committed.iter().find(|mark| mark.file == name).map_or(0, |mark| mark.offset);
        let length = |path: &Path| path.metadata().map_or(0, |found| found.len());
        if next.exists() && (length(&path) < wanted || wanted == 0) && length(&next) >= wanted {
            fs::rename(&next, &path).map_err(|source| SinkError::open(&path, source))?;
        }
        remove(&beside(&path))?;
        remove(&next.with_added_extension("zst"))?;
        let last = directory.join(part(name, number - 1));
        if number > 1 && last.with_added_extension("zst").exists() {
            remove(&last)?;
        }
        let (checksums, rotation, obsolete) = (Vec::new(), Options::default(), None);
        let file = open_known(directory, name, committed)?;
        let directory = directory.to_owned();
        Ok(Self { directory, name, file, number, rotation, checksums, obsolete })
    }

    pub(super) fn set_rotation(&mut self, rotation: Options) {
        self.rotation = rotation;
    }

    pub(super) fn write_line(&mut self, url: &str, row: &impl Serialize) -> Result<(), SinkError> {
        self.file.write_line_of(Some(url), row)
    }

    /// Makes everything durable. Returns the mark of the file that has become full, if one has, and that of the current one.
    pub(super) fn sync(&mut self) -> Result<Vec<Mark>, SinkError> {
        let offset = self.file.sync()?;
        let full = self.rotation.is_full(offset).then(|| self.start_next(offset)).transpose()?;
        self.collect_checksums();
        let current = Mark { file: self.name.to_owned(), offset: self.file.offset() };
        Ok(full.into_iter().chain([current]).collect())
    }

    /// Removes what was needed until the commit.
    pub(super) fn committed(&mut self) -> Result<(), SinkError> {
        self.obsolete.take().map_or(Ok(()), |path| remove(&path))
    }

    /// The checksums of what was synced since the last call. Those of the current file have the name that it gets when it is full.
    pub(super) fn take_checksums(&mut self) -> Vec<(String, Checksums)> {
        std::mem::take(&mut self.checksums)
    }

    fn collect_checksums(&mut self) {
        let added = self.file.take_checksums();
        self.checksums.extend(added.map(|added| (part(self.name, self.number), added)));
    }

    /// Starts a new file. Until the mark of the full one is committed, all that it had is on the disk under either name.
    fn start_next(&mut self, offset: u64) -> Result<Mark, SinkError> {
        let full = part(self.name, self.number);
        let (path, target) = (self.directory.join(self.name), self.directory.join(&full));
        let mut mark = Mark { file: full, offset };
        if self.rotation.compress {
            mark.file.push_str(COMPRESSED);
            let compressed = self.directory.join(&mark.file);
            mark.offset = compress(&path, &compressed)?;
            self.obsolete = Some(target.clone());
        }
        let next = AppendFile::open(beside(&path), 0)?;
        // Each name is durable before the next one changes: otherwise only the second change may survive a loss of power.
        fs::rename(&path, &target)
            .and_then(|()| sync_parent(&path))
            .and_then(|()| fs::rename(beside(&path), &path))
            .and_then(|()| sync_parent(&path))
            .map_err(|source| SinkError::open(&path, source))?;
        self.collect_checksums();
        self.file = next.renamed(path);
        self.number += 1;
        Ok(mark)
    }
}

/// The files of one name in a run directory, oldest first, the current one last.
///
/// # Errors
/// If the directory cannot be read.
pub fn parts(directory: &Path, name: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file = entry?.file_name();
        let is_part = |file: &str| file == name || number(name, file).is_some();
        found.extend(file.to_str().is_some_and(is_part).then(|| directory.join(&file)));
    }
    // A hyphen sorts before a point.
    found.sort();
    let is_compressed = |path: &PathBuf| found.contains(&path.with_added_extension("zst"));
    Ok(found.iter().filter(|path| !is_compressed(path)).cloned().collect())
}

/// Reads one of [`parts`], compressed or not.
///
/// # Errors
/// If it cannot be opened.
pub fn open_part(path: &Path) -> io::Result<Box<dyn BufRead>> {
    check_regular(path)?;
    let file = File::open(path)?;
    Ok(if path.extension().is_some_and(|ending| ending == "zst") {
        Box::new(BufReader::new(zstd::Decoder::new(file)?))
    } else {
        Box::new(BufReader::new(file))
    })
}

/// The lines of these URLs in the files of one name: of each the last one, that of its latest version.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn lines_of(
    directory: &Path,
    name: &str,
    urls: &HashSet<&str>,
) -> io::Result<HashMap<String, Vec<u8>>> {
    // The id is the first field of a line, so most need not be parsed.
    let start = |url: &&str| (format!("{{\"id\":{}", serde_json::json!(url)), (*url).to_owned());
    let starts: HashMap<String, String> = urls.iter().map(start).collect();
    let mut found = HashMap::new();
    for path in if urls.is_empty() { Vec::new() } else { parts(directory, name)? } {
        let (mut file, mut line) = (open_part(&path)?, Vec::new());
        while file.read_until(b'\n', &mut line)? > 0 {
            let id = memchr::memmem::find(&line, b"\",").map(|end| &line[..=end]);
            if let Some(url) = id.and_then(|id| starts.get(str::from_utf8(id).ok()?)) {
                found.insert(url.clone(), std::mem::take(&mut line));
            }
            line.clear();
        }
    }
    Ok(found)
}

/// The texts of stored pages with these URLs, as far as texts are stored.
///
/// # Errors
/// If a file cannot be read, or a line is none of ours.
pub(crate) fn texts_of(
    directory: &Path,
    urls: &HashSet<&str>,
) -> io::Result<HashMap<String, String>> {
    let mut texts = HashMap::new();
    for (url, line) in lines_of(directory, PAGES, urls)? {
        let page: PageLine<'_> = serde_json::from_slice(&line)?;
        texts.extend(page.text.map(|text| (url, text.into_owned())));
    }
    Ok(texts)
}

/// The name under which the checksums of a file are kept: that which it has when it is full, without the ending of a compressed one.
#[must_use]
pub(crate) fn checksums_name<'a>(file: &str, files: impl Iterator<Item = &'a str>) -> String {
    if !LINES.contains(&file) {
        return file.strip_suffix(COMPRESSED).unwrap_or(file).to_owned();
    }
    part(file, files.filter_map(|other| number(file, other)).max().unwrap_or(0) + 1)
}

/// The name of the full file with this number.
fn part(name: &str, number: u32) -> String {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("{stem}-{number:05}.{ending}")
}

/// The number of a full file of this name.
fn number(name: &str, file: &str) -> Option<u32> {
    let found = number_in(file)?;
    let whole = part(name, found);
    (file.strip_suffix(COMPRESSED).unwrap_or(file) == whole).then_some(found)
}

/// The number in a name that may be that of a full file.
fn number_in(file: &str) -> Option<u32> {
    let (_, end) = file.rsplit_once('-')?;
    end.split('.').next()?.parse().ok()
}

/// Compresses a file to another, which appears when it is complete. Returns its length.
pub(crate) fn compress(from: &Path, to: &Path) -> Result<u64, SinkError> {
    let unreadable = |source| SinkError::open(from, source);
    let source = File::open(from).map_err(unreadable)?;
    let mut encoder = zstd::stream::read::Encoder::new(source, 0).map_err(unreadable)?;
    let mut file = AppendFile::open(beside(to), 0)?;
    let mut chunk = vec![0; 1 << 16];
    loop {
        let length = encoder.read(&mut chunk).map_err(unreadable)?;
        if length == 0 {
            file.sync()?;
            fs::rename(beside(to), to).map_err(|source| SinkError::open(to, source))?;
            return Ok(file.offset());
        }
        file.append_bytes(&chunk[..length])?;
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), SinkError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SinkError::open(path, error)),
        _ => Ok(()),
    }
}
