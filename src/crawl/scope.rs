//! Where a crawl begins and how far it goes: the seed lists, the files of URLs that they name, and which list a URL belongs to.
//!
//! Pure: the caller reads seed files and sitemaps, and adds the URLs found in them to the scope.

use std::{collections::HashSet, fmt, path::PathBuf, str::Utf8Error};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::{
    page::{NormalUrl, Origin, UrlError, UrlOptions},
    state::Reason,
};

/// The most memory that one compiled pattern may take, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// A seed list, `[[seeds]]` in the configuration: where to begin, how far to go, how to tag the pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Seed {
    /// Where its URLs come from.
    #[serde(flatten)]
    pub source: Source,
    /// How far from the seeds a URL may lie.
    pub scope: Reach,
    /// Regular expressions over the normal URL: at least one must match, if there are any.
    pub include: Vec<String>,
    /// Regular expressions over the normal URL: none may match.
    pub exclude: Vec<String>,
    /// How many links away from a seed a page may be.
    pub max_depth: u32,
    /// The maximum number of pages that are received for this seed list.
    pub max_pages: u64,
    /// Written with each page of this seed list.
    pub tags: Vec<String>,
}

/// Where the URLs of a seed list come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A single URL.
    Url(Url),
    /// A file of URLs, in the format of [`read_seed_file`].
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
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    url: Option<Url>,
    file: Option<PathBuf>,
    sitemap: Option<Url>,
    scope: Reach,
    include: Vec<String>,
    exclude: Vec<String>,
    max_depth: Option<u32>,
    max_pages: Option<u64>,
    tags: Vec<String>,
}

/// A seed list with no source, or with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a seed list needs exactly one of `url`, `file` and `sitemap`")]
struct SourceError;

impl TryFrom<Fields> for Seed {
    type Error = SourceError;

    fn try_from(mut fields: Fields) -> Result<Self, SourceError> {
        let source = match (fields.url.take(), fields.file.take(), fields.sitemap.take()) {
            (Some(url), None, None) => Source::Url(url),
            (None, Some(file), None) => Source::File(file),
            (None, None, Some(sitemap)) => Source::Sitemap(sitemap),
            _ => return Err(SourceError),
        };
        Ok(Self::of(source, fields))
    }
}

impl Seed {
    /// A list of one URL with the defaults of the configuration.
    #[must_use]
    pub fn new(url: Url) -> Self {
        Self::of(Source::Url(url), Fields::default())
    }

    fn of(source: Source, fields: Fields) -> Self {
        let Fields { scope, include, exclude, max_depth, max_pages, tags, .. } = fields;
        let (max_depth, max_pages) = (max_depth.unwrap_or(20), max_pages.unwrap_or(100_000));
        Self { source, scope, include, exclude, max_depth, max_pages, tags }
    }
}

/// A line of a seed file that is not a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedLineError {
    /// It is not UTF-8.
    #[error("read line {line} of the seed file")]
    Encoding {
        /// The line, from 1.
        line: usize,
        /// Where the error is.
        source: Utf8Error,
    },
    /// It is not a URL that can be fetched.
    #[error("read {text:?} in line {line} of the seed file")]
    Url {
        /// The line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
        /// Why it cannot be used.
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

/// Reads a seed file: UTF-8, one URL per line. Skips empty lines and comments, which begin with `#` at the start of a line or after
/// white space.
///
/// # Errors
///
/// All lines that are not URLs, in order.
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

/// A seed list that cannot be compiled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// A pattern is not a regular expression, or too large.
    #[error("compile the pattern {pattern:?} of seed list {}", .seed + 1)]
    Pattern {
        /// The seed list, from 0.
        seed: usize,
        /// The pattern as written.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
}

/// Why no seed list admits a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// No list's scope admits it.
    Scope,
    /// It is too many links away from the seeds of the lists that would admit it.
    Depth,
    /// The lists that admit it have received all the pages they may.
    Budget,
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Scope => Self::Scope,
            Refusal::Depth => Self::Depth,
            Refusal::Budget => Self::Budget,
        }
    }
}

/// All seed lists, compiled: decides which of them a URL belongs to.
#[derive(Clone, Debug)]
pub struct Scope {
    lists: Vec<List>,
}

#[derive(Clone, Debug)]
struct List {
    area: Area,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    max_depth: u32,
}

/// Where the pages of a list may be, given its roots.
#[derive(Clone, Debug)]
enum Area {
    Hosts(HashSet<Origin>),
    Domains(HashSet<Box<str>>),
    /// URLs up to a slash.
    Prefixes(HashSet<Box<str>>),
    Any,
}

impl Scope {
    /// Compiles the seed lists. Except for [`Reach::Any`], they admit nothing until their roots are added.
    ///
    /// # Errors
    ///
    /// If a pattern is not a regular expression or compiles to more than a mebibyte.
    pub fn new(seeds: &[Seed]) -> Result<Self, ScopeError> {
        let lists = seeds.iter().enumerate().map(|(number, seed)| List::new(number, seed));
        Ok(Self { lists: lists.collect::<Result<_, _>>()? })
    }

    /// Adds a root to list number `seed`: its URL, a URL of its file, or the URL of its sitemap.
    ///
    /// # Panics
    ///
    /// If there is no list of this number.
    pub fn add_root(&mut self, seed: usize, root: &NormalUrl) {
        self.lists[seed].area.add(root);
    }

    /// The first seed list that admits the URL at this depth and whose budget is not `spent`.
    ///
    /// # Errors
    ///
    /// If all lists refuse, the most favourable refusal: a spent budget before depth, and depth before scope.
    pub fn admit(
        &self,
        url: &NormalUrl,
        depth: u32,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        self.first(spent, |list| list.admit(url, depth))
    }

    /// The same for a sitemap that another one names or redirects to. The patterns of `include` do not apply, because they are about pages.
    ///
    /// # Errors
    ///
    /// As [`Scope::admit`].
    pub fn admit_sitemap(
        &self,
        url: &NormalUrl,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        self.first(spent, |list| if list.reaches(url) { Ok(()) } else { Err(Refusal::Scope) })
    }

    fn first(
        &self,
        spent: impl Fn(usize) -> bool,
        admit: impl Fn(&List) -> Result<(), Refusal>,
    ) -> Result<usize, Refusal> {
        let mut refusal = Refusal::Scope;
        for (number, list) in self.lists.iter().enumerate() {
            match admit(list) {
                Ok(()) if !spent(number) => return Ok(number),
                Ok(()) => refusal = refusal.max(Refusal::Budget),
                Err(reason) => refusal = refusal.max(reason),
            }
        }
        Err(refusal)
    }

    /// The same for a seed: a URL that the user gave by `url` or in a `file`, for list number `seed`. If no list admits it otherwise, its
    /// own does even if no pattern of `include` matches, because the crawl could not begin without it.
    ///
    /// # Errors
    ///
    /// As [`Scope::admit`].
    ///
    /// # Panics
    ///
    /// If there is no list of this number.
    pub fn admit_seed(
        &self,
        seed: usize,
        url: &NormalUrl,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        let list = &self.lists[seed];
        self.admit(url, 0, &spent).or_else(|refusal| match refusal {
            Refusal::Scope if list.excludes(url) => Err(Refusal::Scope),
            Refusal::Scope if spent(seed) => Err(Refusal::Budget),
            Refusal::Scope => Ok(seed),
            _ => Err(refusal),
        })
    }
}

impl List {
    fn new(number: usize, seed: &Seed) -> Result<Self, ScopeError> {
        Ok(Self {
            area: Area::new(seed.scope),
            include: compile(number, &seed.include)?,
            exclude: compile(number, &seed.exclude)?,
            max_depth: seed.max_depth,
        })
    }

    fn admit(&self, url: &NormalUrl, depth: u32) -> Result<(), Refusal> {
        let is_included =
            || self.include.is_empty() || self.include.iter().any(|it| it.is_match(url.as_str()));
        if !self.reaches(url) || !is_included() {
            return Err(Refusal::Scope);
        }
        if depth > self.max_depth { Err(Refusal::Depth) } else { Ok(()) }
    }

    fn reaches(&self, url: &NormalUrl) -> bool {
        self.area.contains(url) && !self.excludes(url)
    }

    fn excludes(&self, url: &NormalUrl) -> bool {
        self.exclude.iter().any(|it| it.is_match(url.as_str()))
    }
}

fn compile(seed: usize, patterns: &[String]) -> Result<Vec<Regex>, ScopeError> {
    let compile = |pattern: &String| {
        RegexBuilder::new(pattern)
            .size_limit(PATTERN_SIZE)
            .build()
            .map_err(|source| ScopeError::Pattern { seed, pattern: pattern.clone(), source })
    };
    patterns.iter().map(compile).collect()
}

impl Area {
    fn new(reach: Reach) -> Self {
        match reach {
            Reach::Host => Self::Hosts(HashSet::new()),
            Reach::Domain => Self::Domains(HashSet::new()),
            Reach::Prefix => Self::Prefixes(HashSet::new()),
            Reach::Any => Self::Any,
        }
    }

    fn add(&mut self, root: &NormalUrl) {
        match self {
            Self::Hosts(hosts) => {
                hosts.insert(root.origin());
            }
            Self::Domains(domains) => {
                if !domains.contains(root.site()) {
                    domains.insert(root.site().into());
                }
            }
            Self::Prefixes(prefixes) => {
                prefixes.insert(directory(root).into());
            }
            Self::Any => {}
        }
    }

    fn contains(&self, url: &NormalUrl) -> bool {
        match self {
            Self::Hosts(hosts) => hosts.contains(&url.origin()),
            Self::Domains(domains) => domains.contains(url.site()),
            Self::Prefixes(prefixes) => {
                let url = url.as_str();
                url.match_indices('/').any(|(slash, _)| prefixes.contains(&url[..=slash]))
            }
            Self::Any => true,
        }
    }
}

/// The URL up to its path's last slash.
fn directory(url: &NormalUrl) -> &str {
    let path = &url.as_url()[..Position::AfterPath];
    path.rsplit_once('/').map_or(path, |(start, _)| &path[..=start.len()])
}
