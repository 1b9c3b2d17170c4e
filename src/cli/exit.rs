//! How a command ends, and what is said if it fails.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind, Write},
    path::PathBuf,
    process::ExitCode,
};

use miette::{Diagnostic, MietteHandlerOpts, ReportHandler};

use crate::{
    config::ConfigError, crawl::CrawlError, eval::CorpusError, filter::OptionsError,
    state::StateError,
};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All was done.
    Done = 0,
    /// Some or all of it failed.
    Failed = 1,
    /// The arguments or the configuration are wrong.
    Usage = 2,
    /// There is no room on the disk.
    NoRoom = 4,
    /// Somebody interrupted it.
    Interrupted = 130,
    /// It was told to end.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command cannot go on.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum Failure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    #[error("build the index")]
    Memory(#[from] OptionsError),
    #[error("use the state {}", path.display())]
    State { path: PathBuf, source: StateError },
    #[error("read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the run in {} never heard of {url}", run.display())]
    #[diagnostic(help(
        "URLs are looked for in their normal form; pages.jsonl, duplicates.jsonl and skipped.jsonl have all that are known"
    ))]
    Unheard { url: String, run: PathBuf },
    #[error("{url} was not judged: there is nothing to compare")]
    #[diagnostic(help("`pagesieve explain {url} --run {}` says why", run.display()))]
    NotJudged { url: String, run: PathBuf },
    #[error("{url} is a URL, and no run is named that knows it")]
    #[diagnostic(help("add `--run DIR`, the run's directory"))]
    NoRun { url: String },
    #[error("two documents are compared, but one is named")]
    #[diagnostic(help("name the other; or a URL with `--run DIR`, to see what became of it"))]
    OneDocument,
    #[error("{file} is a file, and no other document is named")]
    #[diagnostic(help("`pagesieve lookup --run {} {file}` lists the run's pages that are nearest to it", run.display()))]
    OneFile { file: String, run: PathBuf },
    #[error("{file} holds lines of JSON, and of a file one document is explained")]
    #[diagnostic(help(
        "save the text or the page of one line in a file of its own; `pagesieve filter` and `pagesieve lookup` read lines of JSON"
    ))]
    Lines { file: String },
    #[cfg(feature = "demo")]
    #[error("{} holds something else than a demo: name another directory by --out", path.display())]
    NoDemo { path: PathBuf },
    #[error("evaluate {}", path.display())]
    Corpus { path: PathBuf, source: CorpusError },
    #[error("write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("delete the run in {}", path.display())]
    Delete { path: PathBuf, source: io::Error },
    #[error("start the asynchronous runtime")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    #[cfg(feature = "demo")]
    #[error("serve the demo's pages")]
    Demo(#[from] super::demo::DemoError),
    #[error("write to standard output")]
    Output(#[source] io::Error),
}

impl Failure {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Config(_)
            | Self::Memory(_)
            | Self::NoRun { .. }
            | Self::OneDocument
            | Self::OneFile { .. }
            | Self::Lines { .. } => Exit::Usage,
            #[cfg(feature = "demo")]
            Self::NoDemo { .. } => Exit::Usage,
            Self::Crawl(error) if error.is_full() => Exit::NoRoom,
            Self::Crawl(error) if error.is_configuration() => Exit::Usage,
            Self::State { source, .. } if source.is_full() => Exit::NoRoom,
            Self::State { source, .. } if source.is_misuse() => Exit::Usage,
            // Whoever reads the output has seen enough, as in `… | head`.
            Self::Output(source) if source.kind() == ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(source) if source.kind() == ErrorKind::StorageFull => Exit::NoRoom,
            _ => Exit::Failed,
        }
    }
}

/// Says on standard error why a command cannot go on, and what to do about it.
pub(super) fn complain(failure: &Failure) {
    if failure.exit() != Exit::Done {
        let handler = MietteHandlerOpts::new().build();
        tell(format_args!("{}", Drawn(&handler, failure)));
    }
}

/// Says on standard error in one line what is wrong with one document; the command goes on.
pub(super) fn mention(error: &dyn Error) {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        line = format!("{line}: {error}");
        source = error.source();
    }
    tell(format_args!("{line}"));
}

/// Nobody can be told that standard error is closed.
fn tell(line: fmt::Arguments<'_>) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

struct Drawn<'a>(&'a miette::MietteHandler, &'a Failure);

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}
