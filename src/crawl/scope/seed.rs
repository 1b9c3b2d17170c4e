//! Where a crawl begins: the seed lists of the configuration, and the files of URLs they may name.

use std::{fmt, path::PathBuf, str::Utf8Error};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::page::{NormalUrl, UrlError, UrlOptions};

/// A seed list, `[[seeds]]` of the configuration: where to begin, how far to go, what to write on the pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Seed {
    /// Where the list comes from.
    pub source: Source,
    /// How far from the seeds a URL may lie.
    pub scope: Reach,
    /// Regular expressions over the normal URL: at least one must match, if there are any.
    pub include: Vec<String>,
    /// Regular expressions over the normal URL: none may match.
    pub exclude: Vec<String>,
    /// How many links away from a seed a page may be.
    pub max_depth: u32,
    /// How many pages are received for this seed list at most.
    pub max_pages: u64,
    /// Written on each page that belongs to this seed list.
    pub tags: Vec<String>,
}

/// Where a seed list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A single URL.
    Url(Url),
    /// A file of URLs, as [`read_seed_file`] takes it.
    File(PathBuf),
    /// A sitemap.
    Sitemap(Url),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) | Self::Sitemap(url) => url.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// How far from its seeds a list's pages may lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// On the same name and port as a seed.
    #[default]
    Host,
    /// In the same registrable domain as a seed.
    Domain,
    /// Below a seed's directory: the URL begins as the seed does up to its last slash.
    Prefix,
    /// Anywhere.
    Any,
}

/// The keys of a `[[seeds]]` table.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Url>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sitemap: Option<Url>,
    scope: Reach,
    include: Vec<String>,
    exclude: Vec<String>,
    max_depth: u32,
    max_pages: u64,
    tags: Vec<String>,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            url: None,
            file: None,
            sitemap: None,
            scope: Reach::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_depth: 20,
            max_pages: 100_000,
            tags: Vec::new(),
        }
    }
}

/// A seed list that does not say where it comes from, or says it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a seed list needs exactly one of `url`, `file` and `sitemap`")]
struct SourceError;

impl TryFrom<Fields> for Seed {
    type Error = SourceError;

    fn try_from(fields: Fields) -> Result<Self, SourceError> {
        let source = match (fields.url, fields.file, fields.sitemap) {
            (Some(url), None, None) => Source::Url(url),
            (None, Some(file), None) => Source::File(file),
            (None, None, Some(sitemap)) => Source::Sitemap(sitemap),
            _ => return Err(SourceError),
        };
        let Fields { scope, include, exclude, max_depth, max_pages, tags, .. } = fields;
        Ok(Self { source, scope, include, exclude, max_depth, max_pages, tags })
    }
}

impl From<Seed> for Fields {
    fn from(seed: Seed) -> Self {
        let Seed { source, scope, include, exclude, max_depth, max_pages, tags } = seed;
        let rest = Self { scope, include, exclude, max_depth, max_pages, tags, ..Self::default() };
        match source {
            Source::Url(url) => Self { url: Some(url), ..rest },
            Source::File(file) => Self { file: Some(file), ..rest },
            Source::Sitemap(sitemap) => Self { sitemap: Some(sitemap), ..rest },
        }
    }
}

impl Seed {
    /// A list of one URL with the defaults of the configuration.
    #[must_use]
    pub fn new(url: Url) -> Self {
        let Fields { scope, include, exclude, max_depth, max_pages, tags, .. } = Fields::default();
        Self { source: Source::Url(url), scope, include, exclude, max_depth, max_pages, tags }
    }
}

/// A line of a seed file that is no URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedLineError {
    /// It is not UTF-8.
    #[error("read line {line} of the seed file")]
    Encoding {
        /// The line, from 1.
        line: usize,
        /// Where it goes wrong.
        source: Utf8Error,
    },
    /// It is no URL that can be fetched.
    #[error("read {text:?} in line {line} of the seed file")]
    Url {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// Why it will not do.
        source: UrlError,
    },
}

impl SeedLineError {
    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::Encoding { line, .. } | Self::Url { line, .. } => *line,
        }
    }
}

/// Reads a seed file: UTF-8, one URL a line; empty lines and comments, from a `#` at the start of a line or after white
/// space, are passed over.
///
/// # Errors
///
/// All lines that are no URLs, in order.
///
/// ```
/// use pagesieve::{crawl::scope::read_seed_file, page::UrlOptions};
///
/// let file = b"# news\nhttp://example.org/ # daily\n";
/// let urls = read_seed_file(file, &UrlOptions::default()).expect("all are URLs");
/// assert_eq!(urls[0].as_str(), "http://example.org/");
/// ```
pub fn read_seed_file(
    file: &[u8],
    options: &UrlOptions,
) -> Result<Vec<NormalUrl>, Vec<SeedLineError>> {
    let (mut urls, mut errors) = (Vec::new(), Vec::new());
    let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
    for (line, bytes) in (1..).zip(file.split(|byte| *byte == b'\n')) {
        match read_line(bytes, line, options) {
            Ok(url) => urls.extend(url),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(urls) } else { Err(errors) }
}

fn read_line(
    bytes: &[u8],
    line: usize,
    options: &UrlOptions,
) -> Result<Option<NormalUrl>, SeedLineError> {
    let text = str::from_utf8(bytes).map_err(|source| SeedLineError::Encoding { line, source })?;
    let text = without_comment(text).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let url = NormalUrl::parse(text, options);
    url.map(Some).map_err(|source| SeedLineError::Url { line, text: text.to_owned(), source })
}

fn without_comment(line: &str) -> &str {
    let begins =
        |(at, _): &(usize, &str)| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}
