//! The duplicate filter over HTTP: `pagesieve serve`.
//!
//! ```text
//! connection ── routes ── body, stream: documents ── pool: prepared ──► judge (a thread): filter, state
//!                 ▲                                                          │
//!                 └──────────────────── decisions, once committed ◄──────────┘
//! ```
//!
//! Documents of all requests share one queue of bounded length. What was acknowledged is committed.
//!
//! Connections have bounds in time, so that a client that sends or reads nothing does not keep its place for ever.

mod access;
mod body;
mod judge;
mod lines;
mod live;
mod metrics;
mod page;
mod routes;
mod schema;
mod stalled;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::Router;
use bytesize::ByteSize;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::trace_span;

use crate::{
    cluster::{Address, ClaimTally},
    filter,
    fingerprint::HashSeed,
    input::{Input, Prepared, prepare},
    sink::VerdictName,
    state::{DurableFilter, StateError},
    submission::{Preparation, Times},
};
pub(crate) use access::for_browsers;
use judge::{Gone, Judge, Phase};
use metrics::Metrics;
pub(crate) use metrics::{OfVerdict, plain_text};
pub(crate) use page::{RECENT, Source, page};
use stalled::Watched;

/// How the service is run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The file of the window.
    pub(crate) state: PathBuf,
    /// The server of a window that others share; the file is then new.
    pub(crate) shared: Option<Address>,
    pub(crate) filter: filter::Options,
    /// What a client must send as `Authorization: Bearer`, if anything.
    pub(crate) token: Option<String>,
    pub(crate) limits: Limits,
}

/// What clients may take.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Limits {
    /// The longest body of a request, and the longest line of a stream
    #[arg(long, value_name = "SIZE", default_value = "8 MiB", value_parser = size)]
    pub(crate) max_body: usize,
    /// Maximum number of documents in an array
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_batch: usize,
    /// Maximum number of documents being prepared or judged, over all requests; further requests get 429
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) queue: usize,
    /// Maximum number of connections; others wait
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) connections: usize,
}

fn size(text: &str) -> Result<usize, String> {
    let size: ByteSize = text.parse()?;
    Ok(usize::try_from(size.as_u64()).unwrap_or(usize::MAX))
}

/// What all requests share.
#[derive(Debug)]
struct Service {
    options: Options,
    preparation: Arc<Preparation>,
    judge: Judge,
    /// A permit for each document of the queue.
    room: Arc<Semaphore>,
    metrics: Metrics,
    /// The bodies of lines that are being answered.
    streams: Arc<Mutex<JoinSet<()>>>,
    stopping: CancellationToken,
}

/// Why the service has ended before it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot listen on {}", shown(addresses))]
    Listen { addresses: Vec<SocketAddr>, source: io::Error },
    #[error("cannot use the state")]
    State(#[from] StateError),
}

fn shown(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

/// Serves on the first of these addresses that is free until `stopping` is cancelled. `prepare` makes what turns inputs into documents; `listening` gets the address
/// once the state is open.
pub(crate) async fn run(
    addresses: Vec<SocketAddr>,
    options: Options,
    prepare: impl FnOnce(filter::Documents) -> Preparation,
    listening: impl FnOnce(SocketAddr),
    stopping: CancellationToken,
) -> Result<(), ServeError> {
    let failed = |source| ServeError::Listen { addresses: addresses.clone(), source };
    let listener = TcpListener::bind(&*addresses).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let recipe = options.filter.recipe(options.filter.hash_seed.seed().unwrap_or(HashSeed::PUBLIC));
    let mut documents = filter::Documents::new(recipe, options.filter.compares_content());
    if options.shared.is_some() {
        documents = documents.shared();
    }
    let (judge, ended) = Judge::start(&options);
    let mut phase = judge.phase.clone();
    let streams = Arc::<Mutex<JoinSet<()>>>::default();
    let service = Service {
        preparation: Arc::new(prepare(documents)),
        judge,
        room: Arc::new(Semaphore::new(options.limits.queue)),
        metrics: Metrics::new(options.shared.is_some()),
        streams: Arc::clone(&streams),
        stopping: stopping.clone(),
        options,
    };
    let service = Arc::new(service);
    let counted = Arc::clone(&service);
    let (page, showing) = page(Arc::new(live::Live::new(Arc::clone(&service))), stopping.clone());
    let page = for_browsers(page, service.options.token.as_deref());
    let (most, router) = (service.options.limits.connections, routes::router(service, page));
    let serving = async {
        accept(listener, router, most, &stopping).await;
        streams.lock().expect("no thread panics while it holds the lock").abort_all();
    };
    // The judge ends by itself only if the state fails; otherwise when the last request is gone.
    let judging = async {
        let ended = ended.await;
        stopping.cancel();
        ended.unwrap_or(Ok(()))
    };
    // A state that cannot be opened, because another process uses it, is no service.
    let announcing = async move {
        if phase.changed().await.is_ok() && *phase.borrow() != Phase::Failed {
            listening(bound);
        }
        // It fails only if the state cannot be opened, which is said elsewhere.
        drop(counted.judge.ask(counted.metrics.window_of()).await);
        drop(counted);
    };
    let ((), ended, (), ()) = tokio::join!(serving, judging, announcing, showing);
    Ok(ended?)
}

impl Service {
    /// Which times of documents are believed.
    fn times(&self) -> Times {
        Times::of(&self.options.filter.window)
    }

    /// Takes room in the queue for documents.
    fn room(&self, documents: usize) -> Option<OwnedSemaphorePermit> {
        let documents = u32::try_from(documents).ok()?;
        Arc::clone(&self.room).try_acquire_many_owned(documents).ok()
    }

    /// Prepares documents on the pool.
    async fn prepare(&self, inputs: Vec<Input>) -> Vec<Prepared> {
        let (prepared, preparing) = oneshot::channel();
        let (preparation, span) = (Arc::clone(&self.preparation), trace_span!("prepare"));
        rayon::spawn(move || {
            let _preparing = span.entered();
            let all = inputs.into_par_iter().map(|input| prepare(&preparation, input));
            // The request may be gone.
            drop(prepared.send(all.collect()));
        });
        preparing.await.unwrap_or_default()
    }

    /// Judges documents when there is room in the queue. The decisions are in their order.
    async fn judge_all(&self, inputs: Vec<Input>, dry: bool) -> Result<Vec<String>, Gone> {
        let most = u32::try_from(inputs.len().min(self.options.limits.queue)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(most).await.map_err(|_| Gone)?;
        self.judge_in(room, inputs, dry).await
    }

    async fn judge_in(
        &self,
        room: OwnedSemaphorePermit,
        inputs: Vec<Input>,
        dry: bool,
    ) -> Result<Vec<String>, Gone> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let count = i64::try_from(inputs.len()).unwrap_or(i64::MAX);
        self.metrics.queued.inc_by(count);
        let prepared = self.prepare(inputs).await;
        let count_window = self.metrics.window_of();
        let judged = self.judge.ask(move |filter| {
            // The queue has room again when this is judged, whether the client waits or not.
            let _room = room;
            let all = prepared.iter().map(|document| judge(filter, document, dry));
            let all = all.collect::<Result<Vec<_>, _>>()?;
            count_window(filter)?;
            Ok((all, filter.claimed()))
        });
        let judged = judged.await;
        self.metrics.queued.dec_by(count);
        let (judged, claimed) = judged?;
        if let Some(ClaimTally { claims, repeats, seconds }) = claimed {
            let milliseconds = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_millis();
            let values = [u128::from(claims), u128::from(repeats), milliseconds];
            for (gauge, value) in self.metrics.claims.iter().zip(values) {
                gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
        if !dry {
            for (verdict, _) in &judged {
                self.metrics.judged.get_or_create(&OfVerdict { verdict }).inc();
            }
        }
        Ok(judged.into_iter().map(|(_, decision)| decision).collect())
    }
}

/// Judges a document, or finds how it would be judged. Returns the verdict's name and the decision.
fn judge(
    filter: &mut DurableFilter,
    document: &Prepared,
    dry: bool,
) -> Result<(&'static str, String), StateError> {
    let judged =
        if dry { filter.peek(&document.document)? } else { filter.judge(&document.document)? };
    let of = filter.match_of(&judged)?;
    let line = serde_json::to_string(&document.line(&judged, of.as_deref(), None));
    Ok((VerdictName::from(&judged).as_str(), line.expect("a decision is JSON")))
}

/// How long the head of a request may take, and the pause before it on a connection that was used.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may neither read its answer nor send anything.
const STALLED: Duration = Duration::from_secs(30);
/// How long open requests may take after the service was asked to stop.
const STOP: Duration = Duration::from_secs(8);
/// The pause after a connection that could not be accepted, usually because of too many open files.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until it is asked to stop; then lets open requests end, for some seconds.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    most: usize,
    stopping: &CancellationToken,
) {
    let (places, ending) = (Arc::new(Semaphore::new(most)), GracefulShutdown::new());
    let mut connections = JoinSet::new();
    while let Some((stream, place)) = stopping.run_until_cancelled(next(&listener, &places)).await {
        connections.spawn(serve(stream, router.clone(), place, &ending));
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    if timeout(STOP, ending.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time; their connections are closed");
    }
}

/// The next connection, as soon as there is a place for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("it is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Serves a connection. The returned task ends with it.
fn serve(
    stream: TcpStream,
    router: Router,
    place: OwnedSemaphorePermit,
    ending: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    let no_delay: io::Result<()> = stream.set_nodelay(true);
    if let Err(error) = no_delay {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let stream = Watched::new(stream, STALLED);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let watched = ending.watch(connection);
    async move {
        let _place = place;
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection failed");
        }
    }
}
