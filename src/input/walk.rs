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
#[derive(Debug)]
pub struct Documents {
    /// What is still to be read, the next one last.
    rest: Vec<Place>,
    lines: Option<Lines>,
}

#[derive(Debug)]
enum Place {
    StandardInput,
    /// Named by the user.
    Path(PathBuf),
    /// Found in a directory.
    Found {
        path: PathBuf,
        is_directory: bool,
    },
}

impl Documents {
    /// The documents of these files; of standard input (JSON lines) if there are none, and where `-` is named.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let named = |path: PathBuf| {
            if path.as_os_str() == "-" { Place::StandardInput } else { Place::Path(path) }
        };
        let mut rest: Vec<_> = paths.into_iter().rev().map(named).collect();
        if rest.is_empty() {
            rest.push(Place::StandardInput);
        }
        Self { rest, lines: None }
    }

    /// Opens the next place and returns its document if it is a single one.
    fn begin(&mut self, place: Place) -> Result<Option<Input>, InputError> {
        match place {
            Place::StandardInput => {
                let from = BufReader::with_capacity(BUFFER, io::stdin());
                self.lines = Some(Lines::new(Box::new(from), "standard input".to_owned()));
                Ok(None)
            }
            Place::Path(path) => self.begin_named(path),
            Place::Found { path, is_directory: true } => self.enter(&path),
            Place::Found { path, .. } => read_html(path).map(Some),
        }
    }

    fn begin_named(&mut self, path: PathBuf) -> Result<Option<Input>, InputError> {
        let metadata = fs::metadata(&path).map_err(|source| read_error(&path, source))?;
        if metadata.is_dir() {
            return self.enter(&path);
        }
        if is_html(&path) {
            return read_html(path).map(Some);
        }
        if let Some(hint) = hint(&path) {
            return Err(InputError::Kind { path, hint });
        }
        let file = File::open(&path).map_err(|source| read_error(&path, source))?;
        let from = BufReader::with_capacity(BUFFER, file);
        self.lines = Some(Lines::new(Box::new(from), path.display().to_string()));
        Ok(None)
    }

    fn enter(&mut self, directory: &Path) -> Result<Option<Input>, InputError> {
        let found = list(directory).map_err(|source| read_error(directory, source))?;
        self.rest.extend(found);
        Ok(None)
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
            let place = self.rest.pop()?;
            if let Some(item) = self.begin(place).transpose() {
                return Some(item);
            }
        }
    }
}

/// The HTML files and directories in a directory, in reverse order of their names.
fn list(directory: &Path) -> io::Result<Vec<Place>> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
    let mut found = Vec::new();
    for entry in entries {
        let (path, is_directory) = (entry.path(), entry.file_type()?.is_dir());
        if is_directory || is_html(&path) {
            found.push(Place::Found { path, is_directory });
        }
    }
    Ok(found)
}

/// Whether a file's name ends in `.html`, `.htm` or `.xhtml`.
#[must_use]
pub fn is_html(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| HTML.iter().any(|html| ending.eq_ignore_ascii_case(html)))
}

/// What to do with an unsupported file.
fn hint(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let mut endings = name.split('.').skip(1);
    let known = |ending: &str| UNSUPPORTED.iter().find(|(other, _)| *other == ending);
    endings.find_map(known).map(|(_, hint)| *hint)
}

fn read_html(path: PathBuf) -> Result<Input, InputError> {
    let mut body = Vec::new();
    let limit = LONGEST as u64 + 1;
    File::open(&path)
        .and_then(|file| file.take(limit).read_to_end(&mut body))
        .map_err(|source| read_error(&path, source))?;
    if body.len() > LONGEST {
        return Err(InputError::TooLong { path });
    }
    let id = path.to_string_lossy().into_owned();
    Ok(Input { id, url: None, at: None, content: Content::Html { body, charset: None } })
}

fn read_error(path: &Path, source: io::Error) -> InputError {
    InputError::Read { file: path.display().to_string(), source }
}
