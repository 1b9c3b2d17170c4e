//! Counts of a crawl for Prometheus.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::{
    crawl::Progress,
    report::ALARMS,
    serve::{OfVerdict, plain_text},
};

/// The kind of a warning.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// The counts of a crawl as they are now, over all its starts, in the older format of Prometheus.
pub(super) fn text(progress: Progress) -> String {
    let Progress { counts: it, active_hosts, in_flight, alarms, .. } = progress;
    let mut registry = Registry::with_prefix("pagesieve_crawl");
    let judged = Family::<OfVerdict, Counter>::default();
    for (verdict, count) in [("unique", it.unique), ("exact", it.exact), ("near", it.near)] {
        judged.get_or_create(&OfVerdict { verdict }).inc_by(count);
    }
    registry.register("pages_judged", "Pages that were judged, by verdict", judged);
    let raised = Family::<OfKind, Counter>::default();
    for (kind, count) in ALARMS.into_iter().zip(alarms) {
        raised.get_or_create(&OfKind { kind }).inc_by(count);
    }
    registry.register("alarms", "How often a host began to lose its pages, by kind", raised);
    let mut counter = |name, help, count| {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        registry.register(name, help, counter);
    };
    counter("pages_fetched", "Pages that were received with status 2xx", it.fetched);
    counter("urls_failed", "URLs that got no response of status 2xx", it.failed);
    counter(
        "pages_asked_again",
        "Known pages that were asked for again without a new text",
        it.asked_again,
    );
    counter("pages_bytes", "Bytes of the bodies of pages, without their content coding", it.bytes);
    let mut gauge = |name, help, count: u64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    };
    gauge("urls_queued", "Queued URLs, apart from those of suspended hosts", it.queued);
    gauge("urls_suspended", "URLs that wait at suspended hosts", it.suspended);
    gauge("hosts_active", "Hosts that have something to do", active_hosts as u64);
    gauge("requests_in_flight", "Requests in flight", in_flight as u64);
    plain_text(&registry)
}
