//! The live page of a crawl: `pagesieve crawl --live`.
//!
//! It shows the progress, and the state as of its last commit: so it has the numbers of the report.

mod metrics;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path as InPath, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Mutex, watch},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;

use crate::{
    crawl::{CrawlError, PastRun, Progress, SlowHosts, running_report},
    page::{counted, thousands},
    report::{End, HTML, Warning},
    serve::{RECENT, Source, accept, for_browsers, page},
};

/// Suspended hosts that are named.
const SUSPENDED: usize = 20;
/// The most connections.
const CONNECTIONS: usize = 64;
/// A report that was made less than this ago is sent again.
const FRESH: Duration = Duration::from_secs(10);

/// A crawl that is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) progress: watch::Receiver<Progress>,
    /// The hosts that hold it up.
    pub(crate) slow: watch::Receiver<SlowHosts>,
    /// How it has ended, if it has: `None` with an error.
    pub(crate) end: Arc<OnceLock<Option<End>>>,
    /// Pauses it.
    pub(crate) pause: watch::Sender<bool>,
    /// Stops it.
    pub(crate) stop: CancellationToken,
    /// What a browser must send, and without which nobody can pause or stop it.
    pub(crate) token: Option<String>,
    /// The report that was made last, and when.
    pub(crate) report: Mutex<Option<(Instant, Bytes)>>,
}

/// Serves the page until the crawl has ended, and the open pages show its end.
pub(crate) async fn serve(listener: TcpListener, shown: Shown, ended: CancellationToken) {
    let shown = Arc::new(shown);
    let (page, showing) = page(Arc::clone(&shown) as Arc<dyn Source>, ended.clone());
    let live = Router::new()
        .route("/metrics", get(metrics))
        .route("/report", get(report))
        .route("/{command}", post(command))
        .with_state(Arc::clone(&shown))
        .merge(page);
    let router = for_browsers(live, shown.token.as_deref());
    tokio::join!(accept(listener, router, CONNECTIONS, &ended), showing);
}

impl Source for Shown {
    fn now(&self, points: usize) -> Value {
        let read = || {
            let run = PastRun::open(&self.directory)?;
            Ok::<_, CrawlError>((run.series(points)?, run.recent(RECENT)?))
        };
        // Before its first commit there is nothing to read.
        let (series, recent) = read().unwrap_or_default();
        let Progress { counts, max_pages, active_hosts, in_flight, waits, .. } =
            *self.progress.borrow();
        let SlowHosts { left, hosts: mut slow, .. } = self.slow.borrow().clone();
        let alarm = |it: &Warning| json!({"text": it.to_string(), "evidence": it.evidence()});
        let more = recent.suspended.len().saturating_sub(SUSPENDED);
        slow.extend(recent.suspended.into_iter().take(SUSPENDED));
        slow.extend((more > 0).then(|| format!("and {}", counted(more, "more suspended host"))));
        let (paused, active_hosts) = (*self.pause.borrow(), thousands(active_hosts as u64));
        let end = self.end.get().map(|end| match end {
            Some(end) => {
                let report = self.directory.join(HTML);
                (end.to_string(), format!("report: {}", report.display()))
            }
            None => ("failed".to_owned(), "it has ended with an error".to_owned()),
        });
        let (ended, end) = end.unzip();
        let phase = ended.or(waits.filter(|_| !paused).map(|waits| waits.to_string()));
        let phase = phase.unwrap_or(if paused { "paused" } else { "running" }.to_owned());
        json!({
            "name": self.name,
            "phase": phase,
            "paused": paused,
            "end": end,
            "controlled": self.token.is_some() && end.is_none(),
            "counts": counts,
            "in_flight": in_flight,
            "notes": {
                "fetched": format!("of at most {}", thousands(max_pages)),
                "queued": format!("active hosts: {active_hosts}, in flight: {in_flight}"),
                "suspended": "URLs at suspended hosts",
            },
            "unit": "pages",
            "done": counts.fetched + counts.asked_again,
            "budget": max_pages.saturating_sub(counts.fetched),
            "slowest": left.as_secs(),
            "series": series,
            "judged": recent.judged,
            "slow": slow,
            "alarms": recent.alarms.iter().map(alarm).collect::<Vec<_>>(),
        })
    }
}

async fn metrics(State(shown): State<Arc<Shown>>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let progress = *shown.progress.borrow();
    let last = move || PastRun::open(&shown.directory).ok()?.series(1).ok()?.pop();
    let last = spawn_blocking(last).await.ok().flatten().unwrap_or_default();
    ([(header::CONTENT_TYPE, kind)], metrics::text(progress, &last))
}

/// The report as of the last commit. One at a time is made.
async fn report(State(shown): State<Arc<Shown>>) -> Response {
    let mut last = shown.report.lock().await;
    let fresh = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
    if let Some((_, html)) = fresh {
        return Html(html.clone()).into_response();
    }
    let directory = shown.directory.clone();
    let made = spawn_blocking(move || running_report(&directory).map(|it| it.html())).await;
    match made.unwrap_or(Err(CrawlError::Panicked)) {
        Ok(html) => {
            let (_, html) = last.insert((Instant::now(), html.into()));
            Html(html.clone()).into_response()
        }
        Err(CrawlError::NoRun(_)) => {
            (StatusCode::NOT_FOUND, "nothing is committed yet: load it again\n").into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn command(State(shown): State<Arc<Shown>>, InPath(command): InPath<String>) -> Response {
    if shown.token.is_none() {
        let help = "start the crawl with PAGESIEVE_TOKEN to pause or stop it from here\n";
        return (StatusCode::FORBIDDEN, help).into_response();
    }
    match &*command {
        "pause" => drop(shown.pause.send_replace(true)),
        "resume" => drop(shown.pause.send_replace(false)),
        "stop" => shown.stop.cancel(),
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    StatusCode::NO_CONTENT.into_response()
}
