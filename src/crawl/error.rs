//! What ends a run.

use std::{io, path::PathBuf};

use super::{
    fetch::FetchError,
    scope::{ScopeError, SeedLineError},
};
use crate::{
    filter::OptionsError,
    page::UrlError,
    report::{ReportError, counted},
    sink::SinkError,
    state::StateError,
};

/// A run that cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// The run directory cannot be made.
    #[error("create the run directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no run.
    #[error("{} is no run directory: it has no state.sqlite", path.display())]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds another run.
    #[error(
        "{} holds the run `{found}`, this one is `{wanted}`: name another directory by --out, delete that run with --fresh, or, if it is to go on, set name = \"{found}\"",
        path.display()
    )]
    OtherRun {
        /// The directory.
        path: PathBuf,
        /// The run that is there.
        found: String,
        /// The run that was to be there.
        wanted: String,
    },
    /// The directory's state is that of a filter.
    #[error("{} holds the state of `pagesieve filter`, not of a crawl: name another directory by --out", path.display())]
    NotACrawl {
        /// The directory.
        path: PathBuf,
    },
    /// A seed file cannot be read.
    #[error("read the seed file {}", path.display())]
    SeedFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Lines of a seed file are no URLs.
    #[error("{}: {}, the first: {}", path.display(), counted(errors.len(), "bad line"), errors[0])]
    SeedLines {
        /// The file.
        path: PathBuf,
        /// What is wrong, line by line.
        errors: Vec<SeedLineError>,
    },
    /// A seed is no URL that can be fetched.
    #[error("bring a URL into its normal form")]
    Url(#[from] UrlError),
    /// Patterns cannot be compiled.
    #[error("compile the seeds' patterns")]
    Scope(#[from] ScopeError),
    /// The directory holds no run, and a file or folder where the run would write.
    #[error("there is no run in the directory, and {} is in the way: move it away, or name another directory with --out", path.display())]
    Claimed {
        /// What is in the way.
        path: PathBuf,
    },
    /// The window has no room in the memory that it is given.
    #[error("build the index")]
    Memory(#[from] OptionsError),
    /// Fingerprints of this configuration cannot be compared with those of the run.
    #[error(
        "{key} was changed: the run's fingerprints are of {stored}, the configuration's of {configured}; change it back, or start over with --fresh"
    )]
    Recipe {
        /// What was changed.
        key: &'static str,
        /// As the run has it.
        stored: String,
        /// As it is configured.
        configured: String,
    },
    /// Texts that are compared with the run's would be fingerprinted in another way.
    #[error(
        "{key} would be {wanted}, but the run's fingerprints are of {stored}, and only those of one kind can be compared: leave the key out, or set it as the run has it (a configuration that does not name it has the default)"
    )]
    Unlike {
        /// What is not as the run has it.
        key: &'static str,
        /// As the run has it.
        stored: String,
        /// As it was to be.
        wanted: String,
    },
    /// The HTTP client cannot be set up.
    #[error("set up the fetcher")]
    Fetcher(#[from] FetchError),
    /// The threads for parsing cannot be started.
    #[error("start the threads for parsing")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The state failed.
    #[error(transparent)]
    State(#[from] StateError),
    /// An output failed.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The report cannot be written.
    #[error("write the report")]
    Report(#[from] ReportError),
    /// The recorder panicked.
    #[error("the recorder panicked: this is a defect; run the same command again to continue")]
    Panicked,
}

impl CrawlError {
    /// Whether there is no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::State(error) => error.is_full(),
            Self::Sink(error) => error.is_full(),
            _ => false,
        }
    }

    /// Whether the configuration is to blame.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        let configuration = [
            matches!(
                self,
                Self::SeedFile { .. } | Self::SeedLines { .. } | Self::Url(_) | Self::Scope(_)
            ),
            matches!(
                self,
                Self::Claimed { .. } | Self::Memory(_) | Self::Recipe { .. } | Self::NoRun { .. }
            ),
            matches!(self, Self::OtherRun { .. } | Self::NotACrawl { .. } | Self::Unlike { .. }),
        ];
        configuration.contains(&true)
    }
}
