//! The live page of a crawl: `pagesieve crawl --live`.
//!
//! It shows the progress, and the state as of its last commit: so it has the numbers of the report, and the crawl waits for no browser. The state is read
//! once a second, and only while somebody looks.

mod metrics;

use std::{convert::Infallible, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path as InPath, Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{
        Html, IntoResponse, Redirect, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::{get, post},
};
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, task, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    crawl::{CrawlError, PastRun, Progress},
    report::POINTS,
    serve::{accept, is_token},
};

/// How often the page changes.
const EVERY: Duration = Duration::from_secs(1);
/// The most connections.
const CONNECTIONS: usize = 64;
/// Pages that are shown as judged last.
const RECENT: u64 = 20;
/// The cookie that has the token.
const COOKIE: &str = "pagesieve=";
/// Nothing but what this address serves.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A crawl that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) progress: watch::Receiver<Progress>,
    /// Pauses it.
    pub(crate) pause: watch::Sender<bool>,
    /// Stops it.
    pub(crate) stop: CancellationToken,
    /// What a browser must send, and without which nobody can pause or stop it.
    pub(crate) token: Option<String>,
}

#[derive(Clone)]
struct Live {
    shown: Shown,
    /// What the page shows now, as JSON.
    now: watch::Receiver<Arc<str>>,
}

/// Serves the page until the crawl has ended.
pub(crate) async fn serve(listener: TcpListener, shown: Shown, ended: CancellationToken) {
    let (change, now) = watch::channel(Arc::from("{}"));
    let live = Live { shown: shown.clone(), now };
    let router = Router::new()
        .route("/", get(page))
        .route("/live.js", get(text("text/javascript", include_str!("live.js"))))
        .route("/live.css", get(text("text/css", include_str!("live.css"))))
        .route("/report.css", get(text("text/css", include_str!("../report/report.css"))))
        .route("/events", get(events))
        .route("/metrics", get(metrics))
        .route("/{command}", post(command))
        .layer(middleware::from_fn_with_state(live.clone(), allowed))
        .with_state(live);
    let showing = async {
        loop {
            sleep(EVERY).await;
            // One receiver is that of the service itself.
            if change.receiver_count() > 1 {
                change.send_replace(snapshot(&shown, 1).await.into());
            }
        }
    };
    let serving = async { tokio::join!(accept(listener, router, CONNECTIONS, &ended), showing) };
    ended.run_until_cancelled(serving).await;
}

/// What the page shows now as JSON, with the last points of the series.
async fn snapshot(shown: &Shown, points: usize) -> String {
    let directory = shown.directory.clone();
    let reading = task::spawn_blocking(move || {
        let run = PastRun::open(&directory)?;
        Ok::<_, CrawlError>((run.series(points)?, run.recent(RECENT)?))
    });
    // Before its first commit there is nothing to read.
    let (series, recent) = reading.await.ok().and_then(Result::ok).unwrap_or_default();
    let Progress { counts, max_pages, active_hosts, in_flight, waits, .. } =
        *shown.progress.borrow();
    let now = json!({
        "name": shown.name,
        "counts": counts,
        "max_pages": max_pages,
        "active_hosts": active_hosts,
        "in_flight": in_flight,
        "paused": *shown.pause.borrow(),
        "controlled": shown.token.is_some(),
        "waits": waits.map(|waits| waits.to_string()),
        "series": series,
        "judged": recent.judged,
        "suspended": recent.suspended,
        "alarms": recent.alarms,
    });
    now.to_string()
}

fn text(kind: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    ([(header::CONTENT_TYPE, kind)], text)
}

async fn page() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(include_str!("live.html")))
}

async fn events(State(live): State<Live>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = snapshot(&live.shown, POINTS).await;
    let events = stream::unfold((Some(first), live.now), |(first, mut now)| async move {
        let data = if let Some(first) = first {
            first
        } else {
            now.changed().await.ok()?;
            now.borrow_and_update().to_string()
        };
        Some((Ok(Event::default().data(data)), (None, now)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn metrics(State(live): State<Live>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics::text(*live.shown.progress.borrow()))
}

async fn command(State(live): State<Live>, InPath(command): InPath<String>) -> Response {
    if live.shown.token.is_none() {
        let help = "start the crawl with PAGESIEVE_TOKEN to pause or stop it from here\n";
        return (StatusCode::FORBIDDEN, help).into_response();
    }
    match &*command {
        "pause" => drop(live.shown.pause.send_replace(true)),
        "resume" => drop(live.shown.pause.send_replace(false)),
        "stop" => live.shown.stop.cancel(),
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    StatusCode::NO_CONTENT.into_response()
}

#[derive(Deserialize)]
struct Login {
    token: Option<String>,
}

/// Refuses who does not have the token; and, without one, pages of other sites whose name was made to lead here.
async fn allowed(
    State(live): State<Live>,
    Query(login): Query<Login>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let value =
        |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let Some(token) = &live.shown.token else {
        let host = value(header::HOST).unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if is_address || name == "localhost" {
            return next.run(request).await;
        }
        return (StatusCode::FORBIDDEN, "open it by its address\n").into_response();
    };
    if let Some(given) = login.token.filter(|given| is_token(token, given.as_bytes())) {
        let cookie = format!("{COOKIE}{given}; HttpOnly; SameSite=Strict; Path=/");
        return ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response();
    }
    let bearer = value(header::AUTHORIZATION).and_then(|it| it.split_once(' ')).map(|(_, it)| it);
    let cookie = value(header::COOKIE)
        .and_then(|all| all.split("; ").find_map(|cookie| cookie.strip_prefix(COOKIE)));
    if bearer.or(cookie).is_some_and(|given| is_token(token, given.as_bytes())) {
        return next.run(request).await;
    }
    let help = "send the token: `Authorization: Bearer TOKEN`, or open /?token=TOKEN\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], help).into_response()
}
