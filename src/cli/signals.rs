//! Ctrl-C and its like.

use std::{future, process};

use tokio_util::sync::CancellationToken;

use super::progress::say;

/// The first signal stops the run in good order, the second ends the process.
pub(super) async fn stop_on_signals(stop: CancellationToken) {
    loop {
        let code = next_signal().await;
        if stop.is_cancelled() {
            process::exit(code);
        }
        say("stopping: what is in flight is brought to its end; once more ends at once");
        stop.cancel();
    }
}

/// Waits for a signal to stop, and returns the exit code that it stands for.
#[cfg(unix)]
async fn next_signal() -> i32 {
    use futures_util::future::{Either, select};
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the system's own apply: the process ends at once, and the state is sound.
        return future::pending().await;
    };
    let first = select(Box::pin(interrupt.recv()), Box::pin(terminate.recv())).await;
    match first {
        Either::Left(_) => 130,
        Either::Right(_) => 143,
    }
}

#[cfg(not(unix))]
async fn next_signal() -> i32 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => future::pending().await,
    }
}
