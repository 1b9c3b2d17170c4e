//! Walks over files, directories and standard input, one document after another.

use std::{
    fs::{self, File},
    io::{self, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use super::{
    Content, Input, InputError, LONGEST, Names, Skipped,
    lines::{self, Lines},
    replay::{Members, Replay},
    warc::{self, Records},
};

/// Bytes read from a file at a time.
const BUFFER: usize = 256 << 10;

const HTML: [&str; 3] = ["html", "htm", "xhtml"];
const STANDARD_INPUT: &str = "standard input";

/// How documents are read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// The fields of lines.
    pub(crate) names: Names,
    /// Of a page in a record, at most this many bytes are read.
    pub(crate) max_body: usize,
    /// Whether documents have the bytes of their lines and records. HTML files are then refused.
    pub(crate) keeps: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { names: Names::default(), max_body: LONGEST, keeps: false }
    }
}

/// The documents of files and directories, in order.
///
/// A file whose name ends in `.html`, `.htm` or `.xhtml` is a document; its id is its path. What any other file is, and how it is compressed, its
/// first bytes say: a page, a WARC file, or else JSON lines. Of a directory all HTML files are read, recursively and sorted by name;
/// symbolic links to directories are not followed.
pub(crate) struct Documents {
    /// The paths that are still to be read, the next one last.
    rest: Vec<PathBuf>,
    current: Option<Box<dyn Iterator<Item = Result<Input, InputError>> + Send>>,
    reading: Reading,
    skipped: Skipped,
}

impl Documents {
    /// The documents of these files; of standard input if there are none, and where `-` is named.
    pub(crate) fn new(paths: Vec<PathBuf>, reading: Reading) -> Self {
        let mut rest = if paths.is_empty() { vec!["-".into()] } else { paths };
        rest.reverse();
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
    fn open(&mut self, path: &Path) -> Result<Option<Input>, InputError> {
        if path.as_os_str() == "-" {
            return self.open_stream(Box::new(io::stdin()), STANDARD_INPUT.to_owned());
        }
        let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
        if metadata.is_dir() {
            self.rest.extend(list(path).map_err(|source| read_error(path, source))?);
            return Ok(None);
        }
        let file = File::open(path).map_err(|source| read_error(path, source))?;
        let name = path.display().to_string();
        if is_html(path) {
            self.page(file, name).map(Some)
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
            // Records can be read after a damaged one.
            Err(_) if file.contains(".warc") && !content.members().has_failed() => true,
            Err(source) => return Err(failed(source)),
        };
        if is_warc {
            let Reading { max_body, keeps, .. } = self.reading;
            let skipped = self.skipped();
            self.current = Some(Box::new(Records::new(content, file, max_body, keeps, skipped)));
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
        let Reading { names, keeps, .. } = self.reading.clone();
        self.current = Some(Box::new(Lines::new(Box::new(from), file, names, keeps)));
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
        Ok(Input::new(file, Content::Html { body, content_type: None }))
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
            let path = self.rest.pop()?;
            if let Some(item) = self.open(&path).transpose() {
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
