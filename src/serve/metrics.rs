//! Counts for Prometheus: `GET /metrics`.

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::state::{DurableFilter, StateError};

/// The limits of the histogram, in seconds.
const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfVerdict {
    pub(crate) verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfRequest {
    pub(super) route: String,
    pub(super) status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfRoute {
    pub(super) route: String,
}

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    /// Documents that were judged and remembered.
    pub(super) judged: Family<OfVerdict, Counter>,
    pub(super) requests: Family<OfRequest, Counter>,
    pub(super) seconds: Family<OfRoute, Histogram, fn() -> Histogram>,
    pub(super) queued: Gauge,
    pub(super) window: Gauge,
    /// Of a shared window: documents that were claimed, those that repeated one of others, and the milliseconds that this took.
    pub(super) claims: [Gauge; 3],
}

impl Metrics {
    pub(super) fn new(is_shared: bool) -> Self {
        let mut registry = Registry::with_prefix("pagesieve");
        let (judged, requests) = (Family::default(), Family::default());
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let seconds = Family::new_with_constructor(histogram);
        let (queued, window) = (Gauge::default(), Gauge::default());
        registry.register(
            "documents_judged",
            "Documents that were judged, by verdict",
            judged.clone(),
        );
        registry.register("http_requests", "Requests, by route and status", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from the head of a request to the head of its answer",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register(
            "queue_documents",
            "Documents that are being prepared or judged",
            queued.clone(),
        );
        registry.register("window_documents", "Unique documents in the window", window.clone());
        let claims = <[Gauge; 3]>::default();
        if is_shared {
            let names = [
                ("claims", "Documents that were compared with those of others since the start"),
                ("claims_repeated", "Those of them that repeated a document of others"),
                ("claims_milliseconds", "How long the server of the window was waited for"),
            ];
            for ((name, help), gauge) in names.into_iter().zip(&claims) {
                registry.register(name, help, gauge.clone());
            }
        }
        Self { registry, judged, requests, seconds, queued, window, claims }
    }

    /// Counts the window of a filter.
    pub(super) fn window_of(
        &self,
    ) -> impl FnOnce(&mut DurableFilter) -> Result<(), StateError> + Send + use<> {
        let window = self.window.clone();
        move |filter| {
            window.set(i64::try_from(filter.len()).unwrap_or(i64::MAX));
            Ok(())
        }
    }

    /// The same in the older format of Prometheus.
    pub(super) fn plain_text(&self) -> String {
        plain_text(&self.registry)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes all");
        text
    }
}

/// In the older format of Prometheus, where a counter has its full name, and there are no units and no end.
pub(crate) fn plain_text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).expect("a string takes all");
    plain(&text)
}

fn plain(text: &str) -> String {
    let counter = |line: &str| {
        let name = line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?;
        Some(name.to_owned())
    };
    let counters: Vec<_> = text.lines().filter_map(counter).collect();
    let plain = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let named = match (words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT" | "EOF"), _) => return None,
            (Some("#"), Some(what), Some(name)) => {
                counters.iter().find(|it| *it == name).map(|name| (what, name))
            }
            _ => None,
        };
        Some(match named {
            Some((what, name)) => {
                format!("# {what} {name}_total {}\n", words.next().unwrap_or_default())
            }
            None => format!("{line}\n"),
        })
    };
    text.lines().filter_map(plain).collect()
}
