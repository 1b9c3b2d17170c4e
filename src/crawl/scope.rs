//! Where a crawl begins and how far it goes: the seed lists, the files of URLs that they name, and which list a URL belongs to.
//!
//! Pure: the caller reads seed files and sitemaps, and adds the URLs found in them to the scope.

use std::{collections::HashSet, error::Error, fmt, path::PathBuf};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::{
    page::{NormalUrl, UrlError, UrlOptions},
    report::counted,
    state::Reason,
};

/// The most memory that one compiled pattern may take, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// A seed list, `[[seeds]]` in the configuration: where to begin, how far to go, how to tag the pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
#[non_exhaustive]
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
    /// How many links away from a seed a page may be; as many as `crawl.max_depth` allows if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// The maximum number of pages that are received for this seed list.
    pub max_pages: u64,
    /// Whether to follow the sitemaps that the robots.txt of its URLs' hosts name.
    pub sitemaps: bool,
    /// Whether its URLs may be deferred by what was learnt.
    pub learn: bool,
    /// Written with each page of this seed list.
    pub tags: Vec<String>,
}

/// Where the URLs of a seed list come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A single URL.
    Url(Url),
    /// Some URLs.
    Urls(Vec<Url>),
    /// A file of URLs, in the format of [`read_seed_file`].
    File(PathBuf),
    /// A sitemap.
    Sitemap(Url),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) | Self::Sitemap(url) => url.fmt(f),
            Self::Urls(urls) => match &urls[..] {
                [] => f.write_str("no URL"),
                [url] => url.fmt(f),
                [first, more @ ..] => write!(f, "{first} and {}", counted(more.len(), "other")),
            },
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
    urls: Option<Vec<Url>>,
    file: Option<PathBuf>,
    sitemap: Option<Url>,
    scope: Reach,
    include: Vec<String>,
    exclude: Vec<String>,
    max_depth: Option<u32>,
    max_pages: Option<u64>,
    sitemaps: bool,
    learn: Option<bool>,
    tags: Vec<String>,
}

impl TryFrom<Fields> for Seed {
    type Error = &'static str;

    fn try_from(mut fields: Fields) -> Result<Self, &'static str> {
        let urls = fields.url.iter().chain(fields.urls.iter().flatten()).chain(&fields.sitemap);
        if urls.into_iter().any(has_credentials) {
            return Err(CREDENTIALS);
        }
        let sources = [
            fields.url.take().map(Source::Url),
            fields.urls.take().map(Source::Urls),
            fields.file.take().map(Source::File),
            fields.sitemap.take().map(Source::Sitemap),
        ];
        let mut sources = sources.into_iter().flatten();
        match (sources.next(), sources.next()) {
            (Some(source), None) => Ok(Self::of(source, fields)),
            _ => Err("a seed list needs exactly one of `url`, `urls`, `file` and `sitemap`"),
        }
    }
}

impl Seed {
    /// A list of one URL with the defaults of the configuration.
    #[must_use]
    pub fn new(url: Url) -> Self {
        Self::of(Source::Url(url), Fields::default())
    }

    fn of(source: Source, fields: Fields) -> Self {
        let Fields { scope, include, exclude, max_depth, max_pages, sitemaps, learn, tags, .. } =
            fields;
        let max_pages = max_pages.unwrap_or(100_000);
        let learn = learn.unwrap_or(true);
        Self { source, scope, include, exclude, max_depth, max_pages, sitemaps, learn, tags }
    }
}

/// Seeds are written to outputs.
const CREDENTIALS: &str = "a seed has a name or a password, which would be written to outputs: give it in [[fetch.access]], or as --header 'Authorization: Basic …'";

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// A line of a seed file is not a URL that can be fetched, or not UTF-8.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {text:?} in line {line}")]
#[non_exhaustive]
pub struct SeedLineError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The line as written.
    pub text: String,
    /// Why it cannot be used.
    pub source: Box<dyn Error + Send + Sync>,
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
    let error = |source| {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        SeedLineError { line, text, source }
    };
    let text = str::from_utf8(bytes).map_err(|source| error(source.into()))?;
    let text = without_comment(text).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(text).map_err(|source| error(UrlError::Syntax(source).into()))?;
    if has_credentials(&url) {
        return Err(error(CREDENTIALS.into()));
    }
    NormalUrl::new(&url, options).map(Some).map_err(|source| error(source.into()))
}

/// The lines of a list of URLs that are not empty, without comments.
pub(crate) fn seed_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    lines.map(|line| without_comment(line).trim()).filter(|line| !line.is_empty())
}

fn without_comment(line: &str) -> &str {
    let begins =
        |(at, _): &(usize, &str)| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// A pattern of a seed list is not a regular expression, or too large.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot compile the pattern {pattern:?} of seed list {}", .seed + 1)]
#[non_exhaustive]
pub struct ScopeError {
    /// The seed list, from 0.
    pub seed: usize,
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong with it.
    pub source: regex::Error,
}

/// All seed lists, compiled: decides which of them a URL belongs to.
#[derive(Clone, Debug)]
pub struct Scope {
    lists: Vec<List>,
}

#[derive(Clone, Debug)]
struct List {
    reach: Reach,
    /// Origins, sites or prefixes in which its pages may be, according to `reach`.
    areas: HashSet<Box<str>>,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    max_depth: u32,
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
        self.lists[seed].add_root(root);
    }

    /// A server has moved from one root to another, which is the same place with https or with or without `www.`: what lists admit there, they
    /// admit here too. Returns whether that is news.
    pub fn follow_move(&mut self, from: &NormalUrl, to: &NormalUrl) -> bool {
        let is_more = |list: &mut List| list.follow_move(from, to);
        is_same_place(from, to) && self.lists.iter_mut().map(is_more).fold(false, |a, b| a | b)
    }

    /// The first seed list that admits the URL at this depth and whose budget is not `spent`.
    ///
    /// # Errors
    ///
    /// If no list admits it, the reason of the list that came closest: [`Reason::Budget`] before [`Reason::Depth`] before
    /// [`Reason::Scope`].
    pub fn admit(
        &self,
        url: &NormalUrl,
        depth: u32,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Reason> {
        self.first(spent, |list| list.admit(url, depth))
    }

    /// The first seed list that admits a sitemap to which another one leads, and whose budget is not `spent`. The patterns of `include` do
    /// not apply, because they are about pages.
    ///
    /// # Errors
    ///
    /// As [`Scope::admit`].
    pub fn admit_sitemap(
        &self,
        url: &NormalUrl,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Reason> {
        self.first(spent, |list| if list.reaches(url) { Ok(()) } else { Err(Reason::Scope) })
    }

    fn first(
        &self,
        spent: impl Fn(usize) -> bool,
        admit: impl Fn(&List) -> Result<(), Reason>,
    ) -> Result<usize, Reason> {
        let mut closest = Reason::Scope;
        for (number, list) in self.lists.iter().enumerate() {
            match admit(list) {
                Ok(()) if !spent(number) => return Ok(number),
                Ok(()) => closest = closest.max(Reason::Budget),
                Err(reason) => closest = closest.max(reason),
            }
        }
        Err(closest)
    }

    /// The seed list that admits a seed: a URL that list number `seed` has as `url` or in its `file`. It is the first one that admits it as
    /// a page, or else its own, even if no pattern of `include` matches: the crawl could not begin without it.
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
    ) -> Result<usize, Reason> {
        let list = &self.lists[seed];
        self.admit(url, 0, &spent).or_else(|reason| match reason {
            Reason::Scope if list.excludes(url) => Err(Reason::Scope),
            Reason::Scope if spent(seed) => Err(Reason::Budget),
            Reason::Scope => Ok(seed),
            _ => Err(reason),
        })
    }
}

impl List {
    fn new(number: usize, seed: &Seed) -> Result<Self, ScopeError> {
        Ok(Self {
            reach: seed.scope,
            areas: HashSet::new(),
            include: compile(number, &seed.include)?,
            exclude: compile(number, &seed.exclude)?,
            max_depth: seed.max_depth.unwrap_or(u32::MAX),
        })
    }

    fn add_root(&mut self, root: &NormalUrl) {
        self.areas.insert(match self.reach {
            Reach::Host => root.origin().as_str().into(),
            Reach::Domain => root.site().into(),
            Reach::Prefix => directory(root).into(),
            Reach::Any => return,
        });
    }

    fn follow_move(&mut self, from: &NormalUrl, to: &NormalUrl) -> bool {
        let moved: Vec<String> = match self.reach {
            Reach::Host => {
                let is_there = self.areas.contains(from.origin().as_str());
                is_there.then(|| to.origin().as_str().to_owned()).into_iter().collect()
            }
            Reach::Prefix => {
                let [from, to] = [from, to].map(|url| &url.as_url()[..Position::BeforePath]);
                let paths = self.areas.iter().filter_map(|area| area.strip_prefix(from));
                paths
                    .filter(|path| path.starts_with('/'))
                    .map(|path| format!("{to}{path}"))
                    .collect()
            }
            Reach::Domain | Reach::Any => Vec::new(),
        };
        moved.into_iter().fold(false, |news, area| self.areas.insert(area.into()) | news)
    }

    fn is_in_area(&self, url: &NormalUrl) -> bool {
        match self.reach {
            Reach::Host => self.areas.contains(url.origin().as_str()),
            Reach::Domain => self.areas.contains(url.site()),
            Reach::Prefix => {
                let url = url.as_str();
                url.match_indices('/').any(|(slash, _)| self.areas.contains(&url[..=slash]))
            }
            Reach::Any => true,
        }
    }

    fn admit(&self, url: &NormalUrl, depth: u32) -> Result<(), Reason> {
        let is_included =
            || self.include.is_empty() || self.include.iter().any(|it| it.is_match(url.as_str()));
        if !self.reaches(url) || !is_included() {
            return Err(Reason::Scope);
        }
        if depth > self.max_depth { Err(Reason::Depth) } else { Ok(()) }
    }

    fn reaches(&self, url: &NormalUrl) -> bool {
        self.is_in_area(url) && !self.excludes(url)
    }

    fn excludes(&self, url: &NormalUrl) -> bool {
        self.exclude.iter().any(|it| it.is_match(url.as_str()))
    }
}

/// Whether one URL is on the host of the other, apart from `www.` and a change to https.
fn is_same_place(from: &NormalUrl, to: &NormalUrl) -> bool {
    fn bare(url: &NormalUrl) -> &str {
        url.host_name().strip_prefix("www.").unwrap_or(url.host_name())
    }
    bare(from) == bare(to)
        && from.as_url().port() == to.as_url().port()
        && (to.scheme() == "https" || from.scheme() == to.scheme())
}

fn compile(seed: usize, patterns: &[String]) -> Result<Vec<Regex>, ScopeError> {
    let compile = |pattern: &String| {
        RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|source| ScopeError {
            seed,
            pattern: pattern.clone(),
            source,
        })
    };
    patterns.iter().map(compile).collect()
}

/// The URL up to its path's last slash.
fn directory(url: &NormalUrl) -> &str {
    let path = &url.as_url()[..Position::AfterPath];
    path.rsplit_once('/').map_or(path, |(start, _)| &path[..=start.len()])
}

#[cfg(test)]
mod tests {
    use super::seed_lines;

    #[test]
    fn a_list_is_its_lines_without_comments() {
        let list = "\u{feff}# news\r\nhttp://a.test/b  # daily\r\n\n  http://a.test/c#d\n#";
        assert_eq!(seed_lines(list).collect::<Vec<_>>(), ["http://a.test/b", "http://a.test/c#d"]);
    }
}
