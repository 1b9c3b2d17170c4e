//! The thread that owns the filter.
//!
//! Requests send it what is to be done with the filter, in order. All requests that are waiting form one commit, and each caller gets its
//! answer after it: what was acknowledged is durable.

use std::{
    path::{Path, PathBuf},
    thread,
};

use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    filter::Options,
    fingerprint::HashSeed,
    state::{DurableFilter, Restored, State, StateError},
};

/// Tasks of one commit, at most.
const BATCH: usize = 256;

/// Something to be done with the filter. It returns what answers the caller after the commit.
type Task = Box<dyn FnOnce(&mut DurableFilter) -> Result<Reply, StateError> + Send>;
type Reply = Box<dyn FnOnce() + Send>;

/// How far the filter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// The window is being restored: entries read, and entries in all.
    Restoring(Restored),
    Ready,
    /// Nothing can be judged any more: the state cannot be written.
    Failed,
}

/// Passes tasks to the thread.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    tasks: mpsc::Sender<Task>,
    pub(super) phase: watch::Receiver<Phase>,
}

/// The thread ends when all of these are dropped, with what the state said if it failed.
pub(super) type Ended = oneshot::Receiver<Result<(), StateError>>;

/// The filter cannot answer: it is not there any more.
#[derive(Debug)]
pub(super) struct Gone;

impl Judge {
    /// Starts the thread, which opens the filter in this file.
    pub(super) fn start(path: PathBuf, options: Options) -> (Self, Ended) {
        let (tasks, receiver) = mpsc::channel(BATCH);
        let nothing = Restored { read: 0, all: 0 };
        let (phase, watched) = watch::channel(Phase::Restoring(nothing));
        let (ended, end) = oneshot::channel();
        let work = move || {
            let result = open(&path, &options, &phase).and_then(|filter| work(filter, receiver));
            if result.is_err() {
                phase.send_replace(Phase::Failed);
            }
            drop(ended.send(result));
        };
        let builder = thread::Builder::new().name("judge".to_owned());
        builder.spawn(work).expect("a thread can be started");
        (Self { tasks, phase: watched }, end)
    }

    /// Does something with the filter, after everything that was asked before. The answer comes after the commit.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut DurableFilter) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, Gone> {
        let (sender, receiver) = oneshot::channel();
        let task: Task = Box::new(move |filter| {
            let answer = task(filter)?;
            // The caller may not wait any more.
            Ok(Box::new(move || drop(sender.send(answer))))
        });
        self.tasks.send(task).await.map_err(|_| Gone)?;
        receiver.await.map_err(|_| Gone)
    }
}

fn open(
    path: &Path,
    options: &Options,
    phase: &watch::Sender<Phase>,
) -> Result<DurableFilter, StateError> {
    let report = |restored| {
        phase.send_replace(Phase::Restoring(restored));
    };
    let state = State::open(path)?;
    report(Restored { read: 0, all: 0 });
    let filter = DurableFilter::of_filter(state, options, || HashSeed::PUBLIC, report)?;
    phase.send_replace(Phase::Ready);
    Ok(filter)
}

fn work(mut filter: DurableFilter, mut tasks: mpsc::Receiver<Task>) -> Result<(), StateError> {
    while let Some(first) = tasks.blocking_recv() {
        let mut replies = vec![first(&mut filter)?];
        while replies.len() < BATCH
            && let Ok(task) = tasks.try_recv()
        {
            replies.push(task(&mut filter)?);
        }
        filter.commit()?;
        for reply in replies {
            reply();
        }
    }
    Ok(())
}
