//! An HTTP/1.1 server on loopback that answers for all of the demo's hosts.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION},
    http::uri::Authority,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time,
};
use tokio_util::sync::CancellationToken;

use super::{DemoError, Site, site::Answer};

const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// After a connection that could not be accepted; the cause, too many open files, passes.
const PAUSE: Duration = Duration::from_millis(10);

/// A server at work. Dropping it breaks its connections off; cancel its token and await [`Server::stopped`] to end in peace.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tasks: JoinSet<()>,
}

impl Server {
    /// Where it listens: what every name of [`Site::hosts`] must resolve to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the token given to [`serve`] is cancelled and the answers begun are sent.
    pub async fn stopped(self) {
        self.tasks.join_all().await;
    }
}

/// Serves `site` on a free port of 127.0.0.1 until `token` is cancelled.
///
/// # Errors
///
/// If no port can be had.
pub async fn serve(site: Site, token: CancellationToken) -> Result<Server, DemoError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(DemoError::Listen)?;
    let address = listener.local_addr().map_err(DemoError::Listen)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(accept(listener, Arc::new(site), token));
    Ok(Server { address, tasks })
}

async fn accept(listener: TcpListener, site: Arc<Site>, token: CancellationToken) {
    let mut connections = JoinSet::new();
    while let Some(accepted) = token.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, Arc::clone(&site), token.clone()));
            }
            Err(error) => rest(&error).await,
        }
        while connections.try_join_next().is_some() {}
    }
    while connections.join_next().await.is_some() {}
}

async fn rest(error: &io::Error) {
    tracing::warn!(%error, "accept a connection");
    time::sleep(PAUSE).await;
}

/// Answers the requests of one connection; a cancelled token ends it after the answer it is at.
async fn converse(stream: TcpStream, site: Arc<Site>, token: CancellationToken) {
    let service = service_fn(|request| {
        let response = respond(&site, &request);
        async { Ok::<_, Infallible>(response) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = if let Some(ended) = token.run_until_cancelled(connection.as_mut()).await {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "serve a connection");
    }
}

fn respond<B>(site: &Site, request: &Request<B>) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return response(StatusCode::METHOD_NOT_ALLOWED, (ALLOW, "GET, HEAD"), Bytes::new());
    }
    match site.answer(&host(request), request.uri().path()) {
        Answer::Page(page) => response(StatusCode::OK, (CONTENT_TYPE, HTML), page),
        Answer::Robots(rules) => response(StatusCode::OK, (CONTENT_TYPE, PLAIN), rules.into()),
        Answer::Moved(path) => response(StatusCode::FOUND, (LOCATION, path), Bytes::new()),
        Answer::Missing => response(
            StatusCode::NOT_FOUND,
            (CONTENT_TYPE, HTML),
            "<!DOCTYPE html><title>404 Not Found</title><h1>Not Found</h1>".into(),
        ),
    }
}

fn response(
    status: StatusCode,
    (name, value): (HeaderName, &'static str),
    body: Bytes,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

/// The name in the `Host` header, without the port and in lower case; empty if there is none.
fn host<B>(request: &Request<B>) -> String {
    let authority = request.headers().get(HOST).map(HeaderValue::as_bytes);
    authority
        .and_then(|authority| Authority::try_from(authority).ok())
        .map(|authority| authority.host().to_ascii_lowercase())
        .unwrap_or_default()
}
