//! A fixed pool of threads for what costs CPU: parsing, fingerprinting.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tokio::sync::oneshot;

/// As many threads as there are cores, apart from the reactor's.
#[derive(Debug)]
pub(super) struct Pool {
    threads: ThreadPool,
}

/// The work panicked.
#[derive(Debug)]
pub(super) struct Panicked;

impl Pool {
    pub(super) fn new() -> Result<Self, ThreadPoolBuildError> {
        let builder = ThreadPoolBuilder::new().thread_name(|n| format!("page-{n}"));
        // The panic is reported by whoever waits for the result.
        let threads = builder.panic_handler(|_| {}).build()?;
        Ok(Self { threads })
    }

    /// Does the work on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (sender, result) = oneshot::channel();
        self.threads.spawn(move || drop(sender.send(work())));
        result.await.map_err(|_| Panicked)
    }
}
