//! A server of pages on loopback.

use std::{
    convert::Infallible,
    sync::{Arc, Once},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};

use crate::process::{Outcome, say};

/// Serves what `page` has for a host and a path. Says where it listens, then when it is asked for the first time.
pub(crate) async fn serve(
    page: impl Fn(&str, &str) -> Option<Bytes> + Send + Sync + 'static,
) -> Outcome<()> {
    let page = Arc::new(page);
    let asked = Arc::new(Once::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&listener.local_addr()?.to_string())?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (page, asked) = (Arc::clone(&page), Arc::clone(&asked));
        let service = service_fn(move |request: Request<Incoming>| {
            asked.call_once(|| drop(say("asked")));
            let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
            let answer = answer(page(host.unwrap_or_default(), request.uri().path()));
            async { Ok::<_, Infallible>(answer) }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

fn answer(page: Option<Bytes>) -> Response<Full<Bytes>> {
    let is_missing = page.is_none();
    let mut response = Response::new(Full::new(page.unwrap_or_default()));
    if is_missing {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
