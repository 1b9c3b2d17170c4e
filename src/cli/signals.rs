//! Ctrl-C and its like.

use std::{cell::Cell, future, process};

use tokio_util::sync::CancellationToken;

use super::{Exit, progress::say};

/// The first signal stops the run in good order and is noted in `stopped`, the second ends the process.
pub(super) async fn stop_on_signals(stop: CancellationToken, stopped: &Cell<Exit>) {
    loop {
        let exit = next_signal().await;
        if stop.is_cancelled() {
            process::exit(exit as i32);
        }
        say("stopping: what is in flight is brought to its end; once more ends at once");
        stopped.set(exit);
        stop.cancel();
    }
}

/// Waits for a signal to stop, and returns how a process ends that obeys it.
#[cfg(unix)]
async fn next_signal() -> Exit {
    use futures_util::future::{Either, select};
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the system's own apply: the process ends at once, and the state is sound.
        return future::pending().await;
    };
    let first = select(Box::pin(interrupt.recv()), Box::pin(terminate.recv())).await;
    match first {
        Either::Left(_) => Exit::Interrupted,
        Either::Right(_) => Exit::Terminated,
    }
}

#[cfg(not(unix))]
async fn next_signal() -> Exit {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Exit::Interrupted,
        Err(_) => future::pending().await,
    }
}
