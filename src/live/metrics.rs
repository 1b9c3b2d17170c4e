//! Counts of a crawl for Prometheus.

use prometheus_client::{
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
    },
    registry::Registry,
};

use crate::{
    crawl::Progress,
    report::{ALARMS, Point},
    serve::{OfVerdict, plain_text},
};

/// The counts of a crawl as they are now, over all its starts, and its last point, in the older format of Prometheus.
pub(super) fn text(progress: Progress, last: &Point) -> String {
    let Progress { counts: it, active_hosts, in_flight, alarms, .. } = progress;
    let mut registry = Registry::with_prefix("pagesieve_crawl");
    let judged = Family::<OfVerdict, Counter>::default();
    for (verdict, count) in [("unique", it.unique), ("exact", it.exact), ("near", it.near)] {
        judged.get_or_create(&OfVerdict { verdict }).inc_by(count);
    }
    registry.register("pages_judged", "Pages that were judged, by verdict", judged);
    let raised = Family::<[(&str, &str); 1], Counter>::default();
    for (kind, count) in ALARMS.into_iter().zip(alarms) {
        raised.get_or_create(&[("kind", kind)]).inc_by(count);
    }
    registry.register("alarms", "How often a host began to lose its pages, by kind", raised);
    for (name, help, count) in [
        ("pages_fetched", "Pages that were received with status 2xx", it.fetched),
        ("urls_failed", "URLs that got no response of status 2xx", it.failed),
        ("pages_asked_again", "Known pages asked for again without a new text", it.asked_again),
        ("pages_bytes", "Bytes of the bodies of pages, without their content coding", it.bytes),
    ] {
        registry.register(name, help, ConstCounter::new(count));
    }
    for (name, help, count) in [
        ("urls_queued", "Queued URLs, apart from those of suspended hosts", it.queued),
        ("urls_suspended", "URLs that wait at suspended hosts", it.suspended),
        ("urls_deferred", "URLs that were deferred by what was learnt", last.deferred),
        ("hosts_active", "Hosts that have something to do", active_hosts as u64),
        ("requests_in_flight", "Requests in flight", in_flight as u64),
        ("window_documents", "Unique pages in the window", last.window),
        ("memory_bytes", "Bytes of memory in use", last.memory),
    ] {
        registry.register(name, help, ConstGauge::new(count));
    }
    registry.register("cpu_seconds", "CPU time", ConstCounter::new(last.cpu));
    plain_text(&registry)
}
