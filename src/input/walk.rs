//! Walks over files, directories and standard input, one document after another.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{Content, Input, InputError, LONGEST, lines::Lines};

/// Bytes read from a file at a time.
const BUFFER: usize = 256 << 10;

const HTML: [&str; 3] = ["html", "htm", "xhtml"];

/// Unsupported files by any of the name's extensions, with what to do instead.
const UNSUPPORTED: [(&str, &str); 6] = [
    (
        "warc",
        "WARC files are not read yet; write their pages as JSON lines {\"id\", \"url\", \"html\"}",
    ),
    ("wet", "WET files are not read yet; write their texts as JSON lines {\"id\", \"text\"}"),
    ("gz", "it is compressed; write `zcat FILE | pagesieve …`"),
    ("zst", "it is compressed; write `zstdcat FILE | pagesieve …`"),
    ("xz", "it is compressed; write `xzcat FILE | pagesieve …`"),
    ("bz2", "it is compressed; write `bzcat FILE | pagesieve …`"),
];

/// The documents of files and directories, in order.
///
/// A file whose name ends in `.html`, `.htm` or `.xhtml` is a document; its id is its path. Any other file is read as JSON lines. Of a
/// directory all HTML files are read, recursively and sorted by name; symbolic links to directories are not followed.
pub(crate) struct Documents {
    /// The paths that are still to be read, the next one last.
    rest: Vec<PathBuf>,
    lines: Option<Lines>,
}

impl Documents {
    /// The documents of these files; of standard input (JSON lines) if there are none, and where `-` is named.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let mut rest = if paths.is_empty() { vec!["-".into()] } else { paths };
        rest.reverse();
        Self { rest, lines: None }
    }

    /// Opens a file or directory and returns its document if it is a single one.
    fn open(&mut self, path: PathBuf) -> Result<Option<Input>, InputError> {
        if path.as_os_str() == "-" {
            self.read_lines(io::stdin(), "standard input".to_owned());
            return Ok(None);
        }
        let metadata = fs::metadata(&path).map_err(|source| read_error(&path, source))?;
        if metadata.is_dir() {
            self.rest.extend(list(&path).map_err(|source| read_error(&path, source))?);
            return Ok(None);
        }
        if is_html(&path) {
            return read_html(path).map(Some);
        }
        if let Some(why) = unsupported(&path) {
            return Err(InputError::Refused { path, why });
        }
        let file = File::open(&path).map_err(|source| read_error(&path, source))?;
        self.read_lines(file, path.display().to_string());
        Ok(None)
    }

    fn read_lines(&mut self, from: impl Read + Send + 'static, name: String) {
        let from = BufReader::with_capacity(BUFFER, from);
        self.lines = Some(Lines::new(Box::new(from), name));
    }
}

impl Iterator for Documents {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.lines.as_mut().and_then(Iterator::next) {
                return Some(item);
            }
            self.lines = None;
            let path = self.rest.pop()?;
            if let Some(item) = self.open(path).transpose() {
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

/// Why a file is not supported, and what to do instead.
fn unsupported(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let mut endings = name.split('.').skip(1);
    let known = |ending: &str| UNSUPPORTED.iter().find(|(other, _)| *other == ending);
    endings.find_map(known).map(|(_, why)| *why)
}

fn read_html(path: PathBuf) -> Result<Input, InputError> {
    let mut body = Vec::new();
    let limit = LONGEST as u64 + 1;
    File::open(&path)
        .and_then(|file| file.take(limit).read_to_end(&mut body))
        .map_err(|source| read_error(&path, source))?;
    if body.len() > LONGEST {
        return Err(InputError::Refused { path, why: "it is longer than 64 MiB" });
    }
    let id = path.to_string_lossy().into_owned();
    let place = id.clone();
    Ok(Input { id, place, url: None, at: None, content: Content::Html { body, charset: None } })
}

fn read_error(path: &Path, source: io::Error) -> InputError {
    InputError::Read { file: path.display().to_string(), source }
}
