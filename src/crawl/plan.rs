//! What a crawl is to do: the plan of all configuration tables, and why a plan cannot be carried out.

use std::{
    fs, io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{
    fetch::{self, FetchError},
    politeness,
    scope::{Scope, ScopeError, Seed, SeedLineError, Source, read_seed_file},
};
use crate::{
    cluster::{Address, ClusterError},
    extract,
    filter::{self, Mode, OptionsError, Radius, Similarity, WindowOptions},
    fingerprint::{HashSeedChoice, Segment},
    learn,
    page::{NormalUrl, UrlError, UrlOptions},
    report::{ReportError, counted},
    sink::{self, SinkError},
    state::{Difference, StateError, UrlKind, is_full},
};

/// The `[crawl]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// The `User-Agent` header: it must name a contact. Its product token selects the rules of robots.txt.
    pub user_agent: String,
    /// Requests in flight over all hosts. With 1, hosts are visited in round-robin order, and the same responses give the same decisions.
    pub concurrency: NonZeroUsize,
    /// The crawl ends after this many pages received with status 2xx.
    pub max_pages: u64,
    /// The maximum number of links between a seed and a page, over all seeds.
    pub max_depth: u32,
    /// How long the run waits if no host answers any more; then it ends, and can be continued.
    #[serde(with = "humantime_serde")]
    pub max_outage: Duration,
    /// Known pages are asked for again after this time, those that change often after a quarter of it, others after up to eight times of it.
    /// Without it, no page is.
    #[serde(with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub revisit_after: Option<Duration>,
    /// Query parameters that make no difference to the page, and are removed; `*` at the end matches any ending.
    pub tracking: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user_agent: String::new(),
            concurrency: NonZeroUsize::new(64).expect("not zero"),
            max_pages: 100_000,
            max_depth: 100_000,
            max_outage: Duration::from_hours(24),
            revisit_after: None,
            tracking: UrlOptions::default().tracking,
        }
    }
}

impl Options {
    /// How URLs are normalised.
    #[must_use]
    pub fn url_options(&self) -> UrlOptions {
        UrlOptions { tracking: self.tracking.clone() }
    }
}

/// The `[dedup]` table: how duplicates are recognised, and what happens to them.
///
/// It repeats the fields of [`filter::Options`], because serde cannot refuse unknown keys in a table that is composed of two types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Dedup {
    /// [`filter::Options::mode`].
    pub mode: Mode,
    /// [`filter::Options::radius`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
    /// [`filter::Options::hash_seed`].
    pub seed: HashSeedChoice,
    /// [`filter::Options::segment`].
    pub segment: Segment,
    /// [`filter::Options::fold_chinese`].
    pub fold_chinese: bool,
    /// [`filter::Options::min_features`].
    pub min_features: u32,
    /// [`filter::Options::article`].
    pub article: bool,
    /// How similar two pages must be: [`filter::Rule::similarity`].
    pub similarity: Similarity,
    /// [`filter::Options::memory`].
    #[serde(serialize_with = "crate::page::serialize_size")]
    pub memory: ByteSize,
    /// [`filter::Options::audit`].
    pub audit: u32,
    /// [`filter::Options::window`].
    pub window: WindowOptions,
    /// Run directories or states whose pages count as seen. A new run takes over their hash seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<PathBuf>,
    /// What happens to a duplicate of a page of the same site.
    pub same_site: Policy,
    /// What happens to a duplicate of another site's page.
    pub cross_site: Policy,
}

impl Default for Dedup {
    fn default() -> Self {
        let filter = filter::Options::default();
        Self {
            mode: filter.mode,
            radius: filter.radius,
            seed: filter.hash_seed,
            segment: filter.segment,
            fold_chinese: filter.fold_chinese,
            min_features: filter.min_features,
            article: filter.article,
            similarity: Similarity::default(),
            memory: filter.memory,
            audit: filter.audit,
            window: filter.window,
            against: Vec::new(),
            same_site: Policy::default(),
            cross_site: Policy::default(),
        }
    }
}

impl Dedup {
    /// Whether the crawl learns which URLs repeat known pages.
    #[must_use]
    pub fn learns(&self) -> bool {
        [self.same_site, self.cross_site].iter().any(|policy| policy.links == Links::Learn)
    }

    /// How duplicates are recognised.
    #[must_use]
    pub fn filter(&self) -> filter::Options {
        filter::Options {
            mode: self.mode,
            radius: self.radius,
            similarity: None,
            hash_seed: self.seed,
            segment: self.segment,
            fold_chinese: self.fold_chinese,
            min_features: self.min_features,
            article: self.article,
            rule: filter::Rule { similarity: self.similarity.get(), ..filter::Rule::default() },
            memory: self.memory,
            audit: self.audit,
            window: self.window.clone(),
        }
    }
}

/// What happens to a duplicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Whether the page is stored.
    pub store: Store,
    /// Whether the links that only it has are followed.
    pub links: Links,
}

impl Policy {
    /// A policy of both.
    #[must_use]
    pub const fn new(store: Store, links: Links) -> Self {
        Self { store, links }
    }
}

/// Whether a duplicate is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Only the decision is recorded.
    #[default]
    Skip,
    /// It is stored like a unique page, with its verdict and match.
    Keep,
}

/// Whether a duplicate's links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Links {
    /// They are followed after those of unique pages, unless the crawl has learnt that they lead to no new texts.
    #[default]
    Learn,
    /// They are kept in the state, with the reason.
    Skip,
    /// They are followed like a unique page's.
    Follow,
}

/// A crawl that several machines share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cluster {
    /// The server.
    pub address: Address,
    /// The member that the run directory is, from 0; a free one if it is not given.
    pub member: Option<u32>,
    /// The number of members, if this is the first one.
    pub members: u32,
}

impl Cluster {
    /// A member of the crawl on this server.
    #[must_use]
    pub fn new(address: Address, member: Option<u32>, members: u32) -> Self {
        Self { address, member, members }
    }
}

/// A crawl to be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The run directory: created if it does not exist, continued if it does.
    pub directory: PathBuf,
    /// Whether the start asks for all URLs again whose failure may have passed, not only for those that failed some hours ago.
    pub retry_failed: bool,
    /// Whether pages are requested: a dry run only finds out which would be.
    pub(crate) requests_pages: bool,
    /// The crawl of several machines that it is a part of, if it is.
    pub cluster: Option<Cluster>,
    /// The `[crawl]` table.
    pub crawl: Options,
    /// The `[politeness]` table.
    pub politeness: politeness::Options,
    /// The `[fetch]` table.
    pub fetch: fetch::Options,
    /// The `[dedup]` table.
    pub dedup: Dedup,
    /// The `[learn]` table: rules that are known before. They need `links = "learn"` of one policy.
    pub learn: learn::Options,
    /// The `[store]` table.
    pub store: sink::Options,
    /// The `[[extract]]` tables: extraction rules for certain sites.
    pub extract: Vec<extract::Rules>,
    /// The `[[seeds]]` tables, in order. Paths of files are used as they are.
    pub seeds: Vec<Seed>,
}

impl Plan {
    /// A crawl from these seeds, with the defaults of all tables. `crawl.user_agent` must still say how to reach whoever runs it.
    #[must_use]
    pub fn new(name: impl Into<String>, directory: impl Into<PathBuf>, seeds: Vec<Seed>) -> Self {
        Self {
            name: name.into(),
            directory: directory.into(),
            cluster: None,
            crawl: Options::default(),
            retry_failed: false,
            requests_pages: true,
            politeness: politeness::Options::default(),
            fetch: fetch::Options::default(),
            dedup: Dedup::default(),
            learn: learn::Options::default(),
            store: sink::Options::default(),
            extract: Vec::new(),
            seeds,
        }
    }

    /// The seed lists, compiled, and the URLs that each of them names.
    pub(crate) fn roots(&self) -> Result<(Scope, Vec<Root>), CrawlError> {
        let options = self.crawl.url_options();
        let roots = |seed: &Seed| match &seed.source {
            Source::Url(url) => Ok((UrlKind::Page, vec![NormalUrl::new(url, &options)?])),
            Source::Sitemap(url) => Ok((UrlKind::Sitemap, vec![NormalUrl::new(url, &options)?])),
            Source::Urls(urls) => {
                let normal = urls.iter().map(|url| NormalUrl::new(url, &options));
                Ok((UrlKind::Page, normal.collect::<Result<_, _>>()?))
            }
            Source::File(path) => {
                let unread = |source| CrawlError::SeedFile { path: path.clone(), source };
                let file = fs::read(path).map_err(unread)?;
                let bad = |errors| CrawlError::SeedLines { path: path.clone(), errors };
                Ok((UrlKind::Page, read_seed_file(&file, &options).map_err(bad)?))
            }
        };
        let roots = self.seeds.iter().map(roots).collect::<Result<Vec<Root>, CrawlError>>()?;
        let mut scope = Scope::new(&self.seeds)?;
        for (seed, (_, urls)) in roots.iter().enumerate() {
            for url in urls {
                scope.add_root(seed, url);
            }
        }
        Ok((scope, roots))
    }
}

/// The URLs of a seed list, and whether each is a page or a sitemap.
pub(crate) type Root = (UrlKind, Vec<NormalUrl>);

/// The name of the state in a run directory.
pub(super) const STATE: &str = "state.sqlite";

/// Why there is no run.
fn why_no_run(path: &Path) -> String {
    let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match (path.metadata(), path.join(STATE).metadata()) {
        (Err(error), _) if is_absent(&error) => "there is no such directory".to_owned(),
        (Err(error), _) => error.to_string(),
        (Ok(found), _) if !found.is_dir() => "it is a file; `pagesieve clusters`, `explain` and `lookup` also read the state of a filter".to_owned(),
        (_, Err(error)) if !is_absent(&error) => format!("its {STATE} cannot be read: {error}"),
        _ => format!("its {STATE} is missing or empty"),
    }
}

/// Why a run cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// The crawl cannot be shared.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The run directory cannot be created.
    #[error("cannot create the run directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no run.
    #[error("{} is no run directory: {}", .0.display(), why_no_run(.0))]
    NoRun(PathBuf),
    /// The state of a run is missing.
    #[error(
        "{} has the output files of a run, but its state.sqlite is missing: restore it from a backup; without it the files can be read, but the run cannot be verified, repaired or continued",
        .0.display()
    )]
    NoState(PathBuf),
    /// There is the report of another run.
    #[error(
        "{} is the report of another run, `{name}`, which was started at {started}: restore the state.sqlite of that run, or move its report away",
        path.display()
    )]
    OtherReport {
        /// The report.
        path: PathBuf,
        /// The name of its run.
        name: String,
        /// When its run was started.
        started: jiff::Timestamp,
    },
    /// The directory holds another run.
    #[error(
        "{} holds the run `{found}`, not `{wanted}`: choose another directory with --out, delete that run with --fresh, or continue it with name = \"{found}\"",
        path.display()
    )]
    OtherRun {
        /// The directory.
        path: PathBuf,
        /// The run that is there.
        found: String,
        /// The run that was expected.
        wanted: String,
    },
    /// The state in the directory belongs to a filter.
    #[error("{} holds the state of `pagesieve filter`, not of a crawl: choose another directory with --out", .0.display())]
    NotACrawl(PathBuf),
    /// A seed file cannot be read.
    #[error("cannot read the seed file {}", path.display())]
    SeedFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Lines of a seed file are not URLs.
    #[error("{}: {}, the first: {}", path.display(), counted(errors.len(), "bad line"), errors[0])]
    SeedLines {
        /// The file.
        path: PathBuf,
        /// The errors, line by line.
        errors: Vec<SeedLineError>,
    },
    /// A seed is not a URL that can be fetched.
    #[error("cannot use a seed")]
    Url(#[from] UrlError),
    /// Patterns cannot be compiled.
    #[error("cannot compile the patterns of the seeds")]
    Scope(#[from] ScopeError),
    /// The directory holds no run, but a file or folder where the run would write.
    #[error("the directory holds no run, but {} exists: move it away, or choose another directory with --out", .0.display())]
    Claimed(PathBuf),
    /// The window does not fit into the memory that it is given.
    #[error("cannot build the index")]
    Memory(#[from] OptionsError),
    /// Fingerprints of this configuration cannot be compared with those of the run.
    #[error(
        "{} has changed: the run's fingerprints were made with {}, the configuration has {}; change it back, or start over with --fresh",
        .0.key, .0.stored, .0.wanted
    )]
    Recipe(Difference),
    /// Texts to be compared with the run's would be fingerprinted in another way.
    #[error(
        "{} would be {}, but the run's fingerprints were made with {}, and only fingerprints made with the same settings can be compared: leave the key out, or set it as in the run (without the key, a configuration has the default)",
        .0.key, .0.wanted, .0.stored
    )]
    Unlike(Difference),
    /// A run of `dedup.against` cannot be used.
    #[error("cannot use {}, which dedup.against names", path.display())]
    Against {
        /// The run.
        path: PathBuf,
        /// The cause.
        source: StateError,
    },
    /// `dedup.against` names the run itself.
    #[error("dedup.against names {}, which is this run itself: name other runs", .0.display())]
    AgainstItself(PathBuf),
    /// The HTTP client cannot be set up.
    #[error("cannot set up the fetcher")]
    Fetcher(#[from] FetchError),
    /// The threads for parsing cannot be started.
    #[error("cannot start the threads for parsing")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The state failed.
    #[error(transparent)]
    State(StateError),
    /// An output failed.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A backup would be written between other files.
    #[error("{} is not empty: name a new directory", .0.display())]
    Occupied(PathBuf),
    /// A backup would be written into the run itself.
    #[error("{} is in the run that is to be copied: name a directory outside of it", .0.display())]
    Inside(PathBuf),
    /// A file of the run cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The report cannot be written.
    #[error("cannot write the report")]
    Report(#[from] ReportError),
    /// The engine panicked.
    #[error("the engine panicked: this is a defect; run the same command again to continue")]
    Panicked,
}

impl From<StateError> for CrawlError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Recipe(difference) => Self::Recipe(difference),
            error => Self::State(error),
        }
    }
}

impl CrawlError {
    /// For `map_err`: this file cannot be read or written.
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// Whether a file could not be read or written: what was committed is kept.
    #[must_use]
    pub fn is_io(&self) -> bool {
        match self {
            Self::State(error) | Self::Against { source: error, .. } => error.is_io(),
            Self::Sink(error) => {
                !matches!(error, SinkError::Shorter { .. } | SinkError::Foreign { .. })
            }
            Self::Directory { .. } | Self::File { .. } | Self::Report(ReportError::Write(_)) => {
                true
            }
            _ => false,
        }
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::State(error) => error.is_full(),
            Self::Sink(error) | Self::Report(ReportError::Write(error)) => error.is_full(),
            Self::Directory { source, .. } | Self::File { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Whether the configuration is the cause, or a file that is not what was asked for.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::State(error) | Self::Against { source: error, .. } => error.is_misuse(),
            Self::Directory { .. }
            | Self::Fetcher(_)
            | Self::Threads(_)
            | Self::Sink(_)
            | Self::File { .. }
            | Self::Report(_)
            | Self::Panicked => false,
            _ => true,
        }
    }
}
