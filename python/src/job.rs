//! Work that takes time, on a thread of its own: Python's lock is free meanwhile, and a signal ends the waiting.
//!
//! Signals are handled by Python code on the main thread, so whoever waits there must look for them. The work itself is not stopped, unless it looks
//! at a flag: it ends by itself, and its result is there for whoever waits for it again.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long an end is waited for that must come soon.
const LINGER: Duration = Duration::from_millis(500);

/// Work that has begun, and its result when there is one.
#[derive(Debug)]
pub(crate) struct Job<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    result: Mutex<Option<thread::Result<T>>>,
    ended: Condvar,
}

impl<T: Send + 'static> Job<T> {
    pub(crate) fn start(work: impl FnOnce() -> T + Send + 'static) -> PyResult<Self> {
        let shared = Arc::new(Shared { result: Mutex::new(None), ended: Condvar::new() });
        let ours = Arc::clone(&shared);
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            *ours.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            ours.ended.notify_all();
        };
        let started = thread::Builder::new().name("pagesieve".to_owned()).spawn(work);
        started
            .map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
        Ok(Self { shared })
    }

    /// Waits for the result. After a signal, it can be waited for again.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<T> {
        loop {
            let result = py.detach(|| {
                let result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
                let waited =
                    self.shared.ended.wait_timeout_while(result, PATIENCE, |it| it.is_none());
                waited.unwrap_or_else(PoisonError::into_inner).0.take()
            });
            match result {
                Some(Ok(result)) => return Ok(result),
                Some(Err(_)) => {
                    return Err(PyRuntimeError::new_err("pagesieve failed: this is a bug"));
                }
                None => py.check_signals()?,
            }
        }
    }

    /// Waits for the end of work that was asked to end, but not for long.
    pub(crate) fn linger(&self, py: Python<'_>) {
        py.detach(|| {
            let result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.shared.ended.wait_timeout_while(result, LINGER, |it| it.is_none());
            drop(waited.unwrap_or_else(PoisonError::into_inner).0.take());
        });
    }
}

/// Does something that takes time.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    Job::start(work)?.wait(py)
}
