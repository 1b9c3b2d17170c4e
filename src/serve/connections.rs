//! Accepts connections, and ends them.
//!
//! Each has bounds in time, so that a client that sends or reads nothing does not keep its place for ever.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// How long the head of a request may take, and the pause before it on a connection that was used.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may read nothing of its answer.
const STALLED: Duration = Duration::from_secs(30);
/// How long open requests may take after the service was asked to stop.
const STOP: Duration = Duration::from_secs(8);
/// The pause after a connection that could not be accepted, usually because of too many open files.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until it is asked to stop; then lets open requests end, for some seconds.
pub(super) async fn accept(
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
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    let watched = ending.watch(connection);
    async move {
        let _place = place;
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection failed");
        }
    }
}
