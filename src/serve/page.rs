//! The live page: shows what runs, a crawl or the service, as it is now.
//!
//! What it shows is read once a second, and only while somebody looks, beside what runs: nothing that runs waits for a browser.

use std::{convert::Infallible, sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::header::CONTENT_SECURITY_POLICY,
    response::{
        self, IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use futures_util::{Stream, stream};
use serde_json::Value;
use tokio::{sync::watch, task, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{page::thousands, report::POINTS};

/// How often the page changes.
const EVERY: Duration = Duration::from_secs(1);
/// Pages or documents that are shown as judged last.
pub(crate) const RECENT: u64 = 20;
const SCRIPT: &str = include_str!("page.js");
/// Nothing but what is in the page, and the script with this hash.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-CPhdvunxo3G81w1qLp+YLnPfamkIJ2XyXp8fVcB1gXI='; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What runs, and is shown.
pub(crate) trait Source: Send + Sync + 'static {
    /// What the page shows now, with the last points of the series, at most this many. May read files.
    fn now(&self, points: usize) -> Value;

    /// Is called once a second, whether somebody looks or not.
    fn tick(&self) {}
}

#[derive(Clone)]
struct Page {
    source: Arc<dyn Source>,
    /// What it shows now, as JSON.
    now: watch::Receiver<Arc<str>>,
}

#[derive(Template)]
#[template(path = "page.html", config = "src/serve/askama.toml")]
struct Html {
    /// What is shown at first; without a script it is all, and the page is loaded again and again.
    now: Value,
}

impl Html {
    fn count(&self, name: &str) -> Option<String> {
        self.now["counts"][name].as_u64().map(thousands)
    }

    fn list(&self, name: &str) -> &[Value] {
        self.now[name].as_array().map_or(&[], Vec::as_slice)
    }
}

/// The routes of the page, and what keeps it up to date until the end. That is sent too; then the open pages get no more.
pub(crate) fn page(
    source: Arc<dyn Source>,
    ended: CancellationToken,
) -> (Router, impl Future<Output = ()>) {
    let (change, now) = watch::channel(Arc::from("{}"));
    let page = Page { source: Arc::clone(&source), now };
    let router = Router::new().route("/", get(html)).route("/events", get(events)).with_state(page);
    let showing = async move {
        let mut is_last = false;
        while !is_last {
            is_last = ended.run_until_cancelled(sleep(EVERY)).await.is_none();
            source.tick();
            // One receiver is that of the routes.
            if change.receiver_count() > 1 {
                change.send_replace(read(&source, 1).await.to_string().into());
            }
        }
    };
    (router, showing)
}

/// What the page shows now, with the last points of the series.
async fn read(source: &Arc<dyn Source>, points: usize) -> Value {
    let source = Arc::clone(source);
    task::spawn_blocking(move || source.now(points)).await.unwrap_or_default()
}

async fn html(State(Page { source, .. }): State<Page>) -> impl IntoResponse {
    let page = Html { now: read(&source, 1).await };
    let page = page.render().expect("the template writes into memory");
    ([(CONTENT_SECURITY_POLICY, POLICY)], response::Html(page))
}

async fn events(
    State(Page { source, mut now }): State<Page>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // What was shown while somebody looked last is over.
    now.mark_unchanged();
    let first = read(&source, POINTS).await.to_string().into();
    let events = stream::unfold((Some(first), now), |(first, mut now)| async move {
        let data = if let Some(first) = first {
            first
        } else {
            now.changed().await.ok()?;
            now.borrow_and_update().clone()
        };
        Some((Ok(Event::default().data(&data)), (None, now)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_script_of_the_page_may_run_in_it() {
        let html = Html { now: Value::Null }.render().unwrap();
        let script = html.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
        let hash = STANDARD.encode(Sha256::digest(script));
        assert!(POLICY.contains(&format!("script-src 'sha256-{hash}';")), "sha256-{hash}");
    }
}
