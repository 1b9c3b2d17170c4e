//! Sends spans to an OpenTelemetry collector by OTLP over HTTP, as the standard variables of the environment say.

use std::{env, sync::OnceLock};

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use super::{Exit, Failure, Result};

/// Without one of these, nothing is sent.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// What sends the spans of this program, if the environment names a collector.
pub(super) fn layer<S>() -> Result<Option<impl Layer<S>>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let has = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if !ENDPOINTS.into_iter().any(has) {
        return Ok(None);
    }
    let exporter = SpanExporter::builder().with_http().build().map_err(|error| {
        let message = format!("cannot send spans: {error}");
        Failure::refused(Exit::Usage, message, "set OTEL_EXPORTER_OTLP_ENDPOINT to the URL of a collector, such as http://127.0.0.1:4318")
    })?;
    let mut resource = Resource::builder();
    let attributes = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    if !has("OTEL_SERVICE_NAME") && !attributes.contains("service.name=") {
        resource = resource.with_service_name(env!("CARGO_PKG_NAME"));
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    let tracer = PROVIDER.get_or_init(|| provider).tracer(env!("CARGO_PKG_NAME"));
    let is_ours = filter_fn(|it| it.is_span() && it.target().starts_with(env!("CARGO_PKG_NAME")));
    Ok(Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(is_ours)))
}

/// Sends what was not sent yet.
pub(super) fn finish() {
    if let Some(Err(error)) = PROVIDER.get().map(SdkTracerProvider::shutdown) {
        tracing::warn!(%error, "some spans were not sent");
    }
}
