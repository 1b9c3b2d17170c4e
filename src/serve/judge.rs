//! The thread that owns the filter, and what it answers without judging: explain, lookup and removal.
//!
//! Requests send it what is to be done with the filter, in order. All requests that are waiting form one commit, and each caller gets its
//! answer after it: what was acknowledged is durable.

use std::{
    path::{Path, PathBuf},
    thread,
};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::trace_span;
use utoipa::ToSchema;

use super::schema::Decided;
use crate::{
    cluster::Address,
    filter::{Comparison, Filter, Key, Options, Template, WindowOptions, compare},
    fingerprint::{HashSeed, similarity},
    input::Prepared,
    page::{self, DocId},
    sink::Decision,
    state::{DurableFilter, Nearest, Restored, State, StateError},
    submission::Identity,
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
    /// Starts the thread, which opens the filter.
    pub(super) fn start(service: &super::Options) -> (Self, Ended) {
        let (path, shared) = (service.state.clone(), service.shared.clone());
        let options = service.filter.clone();
        let (tasks, receiver) = mpsc::channel(BATCH);
        let nothing = Restored { read: 0, all: 0 };
        let (phase, watched) = watch::channel(Phase::Restoring(nothing));
        let (ended, end) = oneshot::channel();
        let work = move || {
            let opened = open((&path, shared.as_ref()), &options, &phase);
            let result = opened.and_then(|filter| work(filter, receiver));
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
        let span = trace_span!("judge");
        let task: Task = Box::new(move |filter| {
            let answer = span.in_scope(|| task(filter))?;
            // The caller may not wait any more.
            Ok(Box::new(move || drop(sender.send(answer))))
        });
        self.tasks.send(task).await.map_err(|_| Gone)?;
        receiver.await.map_err(|_| Gone)
    }
}

fn open(
    (path, shared): (&Path, Option<&Address>),
    options: &Options,
    phase: &watch::Sender<Phase>,
) -> Result<DurableFilter, StateError> {
    let report = |restored| {
        phase.send_replace(Phase::Restoring(restored));
    };
    let mut filter = if let Some(address) = shared {
        DurableFilter::share_at(address, options, path)?
    } else {
        let state = State::open(path)?;
        report(Restored { read: 0, all: 0 });
        DurableFilter::of_filter(state, options, || HashSeed::PUBLIC, report)?
    };
    filter.index_keys();
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
        trace_span!("commit", tasks = replies.len()).in_scope(|| filter.commit())?;
        for reply in replies {
            reply();
        }
    }
    Ok(())
}

/// How two documents compare.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explanation {
    /// How the second is judged after the first, in a window with nothing else.
    #[schema(value_type = Decided)]
    decision: Box<RawValue>,
    /// Number of differing bits of the 64 of the fingerprint.
    distance: u32,
    /// Number of differing bits of the 256 of the signature.
    signature_distance: u32,
    /// From 0 to 1, by the measure that decides: what two pages have in common, or the cosine of two texts.
    similarity: f64,
    /// Of two pages what both have and what only one has, in words; the second page comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    comparison: Option<Comparison>,
    /// The most bits in which fingerprints may differ.
    radius: u32,
    /// With fewer distinct features than this only equal texts are duplicates.
    min_features: u32,
    /// The distinct features of both texts.
    features: [u32; 2],
    /// The characters of both texts.
    chars: [u32; 2],
}

/// A document that the file holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) number: DocId,
    /// Its decision, as JSON.
    pub(super) decision: String,
}

/// The nearest documents of the window.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Lookup {
    /// How the document would be judged.
    #[schema(value_type = Decided)]
    decision: Box<RawValue>,
    /// The documents that it was compared with.
    compared: usize,
    /// The nearest ones, the nearest first.
    nearest: Vec<Near>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Near {
    #[serde(serialize_with = "page::id::serialize")]
    id: String,
    /// Number of differing bits of the 64 of the fingerprint.
    distance: u32,
    /// Number of differing bits of the 256 of the signature.
    signature_distance: u32,
    /// The estimated similarity of the texts, from 0 to 1.
    similarity: f32,
}

/// Compares two documents. None if they are not two, or the options cannot be used.
pub(super) fn explain(pair: &[Prepared], options: &Options) -> Option<Explanation> {
    let [a, b] = pair else { return None };
    let window = WindowOptions { entries: 2.try_into().ok()?, age: None, future: false };
    let recipe = a.document.recipe;
    let mut filter = Filter::of_recipe(&Options { window, ..options.clone() }, recipe).ok()?;
    filter.judge(&a.document).ok()?;
    // They may have the same id, and are compared all the same.
    let second = b.document.clone().with_key(Key(!a.document.key.0));
    let judged = filter.judge(&second).ok()?;
    let of = judged.verdict.matched().map(|_| a.document.id());
    let [a_sketch, b_sketch] = [a, b].map(|side| side.document.sketch());
    let none = Template::default();
    let compared = compare(&options.rule, (b_sketch, &none), (a_sketch, &none));
    let are_pages = options.compares_content() && a_sketch.is_page() && b_sketch.is_page();
    let [one, other] = [&a_sketch.text, &b_sketch.text];
    let signature_distance = one.signature.distance(&other.signature);
    Some(Explanation {
        decision: to_raw_value(&b.line(&judged, of, None)).ok()?,
        distance: one.signature.fingerprint().distance(other.signature.fingerprint()),
        signature_distance,
        similarity: if are_pages {
            compared.similarity
        } else {
            similarity(signature_distance).into()
        },
        comparison: are_pages.then_some(compared),
        radius: options.radius(),
        min_features: options.min_features,
        features: [one.features, other.features],
        chars: [a, b].map(|side| side.document.facts().chars),
    })
}

/// Finds the documents of the window that are nearest to one. The answer is JSON.
pub(super) fn lookup(
    filter: &mut DurableFilter,
    document: &Prepared,
    limit: usize,
) -> Result<String, StateError> {
    let Nearest { judgement: judged, documents: near, .. } =
        filter.nearest(&document.document, limit)?;
    let of = filter.match_of(&judged)?;
    let near = near.into_iter().map(|(id, distance, signature_distance)| {
        let (id, similarity) = (filter.id_of(id)?, similarity(signature_distance));
        Ok::<_, StateError>(Near { id, distance, signature_distance, similarity })
    });
    let found = Lookup {
        decision: to_raw_value(&document.line(&judged, of.as_deref(), None))
            .expect("a decision is JSON"),
        compared: filter.len(),
        nearest: near.collect::<Result<_, _>>()?,
    };
    Ok(serde_json::to_string(&found).expect("it is JSON"))
}

/// The documents that the file holds of the first of these identities that it knows, beside the thread that owns the filter: this reads the whole
/// table.
pub(super) async fn named(
    state: PathBuf,
    identities: Vec<Identity>,
) -> Result<Vec<Held>, StateError> {
    let (found, finding) = oneshot::channel();
    let find = move || {
        let state = State::read(&state)?;
        let held = |number| {
            let document =
                state.document(number)?.ok_or(StateError::Damaged("a document is gone"))?;
            let matched = document.judgement.verdict.matched();
            // The match may have left the window.
            let of = matched.map(|found| state.document(found.of)).transpose()?.flatten();
            let of = of.map(|of| of.name);
            let decision = Decision::new(&document.name, None, &document.judgement, of.as_deref());
            let decision = serde_json::to_string(&decision).expect("a decision is JSON");
            Ok(Held { number, decision })
        };
        state.first_of(&identities)?.into_iter().map(held).collect()
    };
    // The request may be gone.
    rayon::spawn(move || drop(found.send(find())));
    finding.await.unwrap_or(Err(StateError::Damaged("reading it panicked")))
}
