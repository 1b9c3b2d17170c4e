//! A server of pages on loopback.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue, LOCATION},
    http::uri::PathAndQuery,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};

use crate::process::Outcome;

/// What is answered to a request.
#[allow(dead_code, reason = "each bench uses what it needs")]
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Page(Bytes),
    Redirect(String),
    /// A file of this content type.
    File(&'static str),
    Missing,
}

/// Serves what `reply` has for a host and a path with its query.
pub(crate) async fn serve(
    listener: TcpListener,
    reply: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
) -> Outcome<()> {
    let reply = Arc::new(reply);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let reply = Arc::clone(&reply);
        let service = service_fn(move |request: Request<Incoming>| {
            let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
            let target = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
            let response = response(reply(host.unwrap_or_default(), target));
            async { Ok::<_, Infallible>(response) }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let mut content_type = "text/html";
    match reply {
        Reply::Page(body) => *response.body_mut() = Full::new(body),
        Reply::Redirect(to) => {
            *response.status_mut() = StatusCode::FOUND;
            if let Ok(to) = to.try_into() {
                response.headers_mut().insert(LOCATION, to);
            }
        }
        Reply::File(of) => content_type = of,
        Reply::Missing => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
