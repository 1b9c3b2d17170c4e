//! How a command runs and ends: exit codes, the errors that end it, signals, and the runtime and limits of the process.

use std::{
    error::Error,
    future,
    io::{self, ErrorKind},
    iter,
    path::PathBuf,
    process::ExitCode,
};

use miette::Diagnostic;
use tokio::runtime::{Builder, Runtime};

use super::notify;
use crate::{
    cluster::ClusterError,
    config::ConfigError,
    crawl::CrawlError,
    eval::CorpusError,
    filter::{JudgeError, OptionsError},
    state::{StateError, is_full},
};

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything succeeded.
    Done = 0,
    /// The command failed, at least in part.
    Failed = 1,
    /// The arguments or the configuration are wrong.
    Usage = 2,
    /// The crawl ended, but left work undone that it could have done.
    Open = 3,
    /// The disk is full.
    NoRoom = 4,
    /// The run is damaged.
    Damaged = 5,
    /// Interrupted by Ctrl-C.
    Interrupted = 130,
    /// Terminated by a signal.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What a command returns.
pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that ends a command.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum Failure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot build the index")]
    Memory(#[from] OptionsError),
    #[error("cannot use the state {}", path.display())]
    State { path: PathBuf, source: StateError },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{message}")]
    #[diagnostic(help("{help}"))]
    Refused { exit: Exit, message: String, help: String },
    #[error("cannot evaluate {}", path.display())]
    Corpus { path: PathBuf, source: CorpusError },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot delete the run in {}", path.display())]
    Delete { path: PathBuf, source: io::Error },
    #[error("cannot start the asynchronous runtime")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    #[cfg(feature = "serve")]
    #[error("cannot listen on {address}")]
    #[diagnostic(help("choose another port, or end what listens there"))]
    Listen { address: std::net::SocketAddr, source: io::Error },
    #[cfg(feature = "demo")]
    #[error("cannot serve the demo's pages")]
    Demo(#[source] io::Error),
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

impl From<JudgeError> for Failure {
    fn from(error: JudgeError) -> Self {
        StateError::from(error).into()
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        CrawlError::from(error).into()
    }
}

impl Failure {
    /// For `map_err`: the file or stream could not be read.
    pub(super) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.into(), source }
    }

    /// A command that cannot do what its arguments ask for. `help` says what to do instead.
    pub(super) fn refused(exit: Exit, message: String, help: impl Into<String>) -> Self {
        Self::Refused { exit, message, help: help.into() }
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Config(_) | Self::Memory(_) => Exit::Usage,
            Self::Refused { exit, .. } => *exit,
            Self::Crawl(error) if error.is_full() => Exit::NoRoom,
            Self::Crawl(error) if error.is_configuration() => Exit::Usage,
            Self::State { source, .. } if source.is_full() => Exit::NoRoom,
            Self::State { source, .. } if source.is_misuse() => Exit::Usage,
            // The reader of the output has stopped reading, as in `… | head`.
            Self::Output(source) if source.kind() == ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(source) | Self::Write { source, .. } if is_full(source) => Exit::NoRoom,
            _ => Exit::Failed,
        }
    }
}

/// For `map_err`: a server refused something, or there is none.
pub(super) fn cluster_failure(error: ClusterError) -> Failure {
    CrawlError::from(error).into()
}

/// Prints an error of one document, with its causes, as one line. The command continues.
pub(super) fn print_error(error: &(dyn Error + 'static)) {
    let causes = iter::successors(Some(error), |&error| error.source());
    notify(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "));
}

/// The fewest file descriptors with which a crawl makes progress.
#[cfg(unix)]
const MIN_DESCRIPTORS: u64 = 32;

/// More file descriptors than any crawl needs; a system may allow a billion, which some libraries try to close one by one.
#[cfg(unix)]
const MAX_DESCRIPTORS: u64 = 1 << 16;

/// An asynchronous runtime, in a process that may have many connections.
pub(super) fn runtime() -> Result<Runtime> {
    raise_descriptor_limit()?;
    Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)
}

/// Lets the process open as many files and connections as the system allows it; many systems start it with 1,024.
#[cfg(unix)]
fn raise_descriptor_limit() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MAX_DESCRIPTORS, |hard| hard.min(MAX_DESCRIPTORS));
    if limit.current.is_some_and(|soft| soft < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })
    {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < MIN_DESCRIPTORS => Err(Failure::refused(
            Exit::Failed,
            format!("this process may open {limit} files, too few for requests beside the state"),
            format!("raise the limit: `ulimit -n {MIN_DESCRIPTORS}`, or better `ulimit -n 1024`"),
        )),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn raise_descriptor_limit() -> Result<()> {
    Ok(())
}

/// Lets a write beyond the largest size of files (`ulimit -f`) fail as on a full disk: by default, its signal ends the process.
#[cfg(unix)]
pub(super) fn survive_file_limit() {
    use rustix::process::{Resource, Signal, getrlimit};
    use tokio::signal::unix::{SignalKind, signal};

    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    // The handler outlives the runtime. Without one, the signal ends the process, and the state stays consistent.
    if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
        let _entered = runtime.enter();
        drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw())));
    }
}

#[cfg(not(unix))]
pub(super) fn survive_file_limit() {}

/// Waits for a signal that asks to stop. Returns the exit code that goes with it.
#[cfg(unix)]
pub(super) async fn next_signal() -> Exit {
    use futures_util::future::{Either, select};
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers, a signal ends the process at once, and the state stays consistent.
        return future::pending().await;
    };
    match select(Box::pin(interrupt.recv()), Box::pin(terminate.recv())).await {
        Either::Left(_) => Exit::Interrupted,
        Either::Right(_) => Exit::Terminated,
    }
}

#[cfg(not(unix))]
pub(super) async fn next_signal() -> Exit {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Exit::Interrupted,
        Err(_) => future::pending().await,
    }
}
