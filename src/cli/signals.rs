//! Process setup of long-running commands: the async runtime, resource limits, signals.

use std::future;

use tokio::runtime::{Builder, Runtime};

use super::{Exit, Failure, Result};

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
