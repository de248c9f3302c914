//! Traces for a collector, by OTLP over HTTP. One trace reaches over the request, the run, its workers and its resumes: the
//! run keeps where it began.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint::SpanParent;
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

/// What the spans of this program are listed under.
const SERVICE: &str = "holdpoint";
/// How long a collector may take to answer.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last spans are waited for.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Where a collector takes traces, unless its address says so.
const TRACES_PATH: &str = "/v1/traces";
const TRACEPARENT: &str = "traceparent";

/// Why no traces are sent.
#[derive(Debug, Error)]
pub enum OtlpError {
    /// The address is not one of a collector.
    #[error("`{0}` is not an address of a collector; hint: `http://127.0.0.1:4318`")]
    Endpoint(String),
    /// The exporter could not be made.
    #[error("traces cannot be sent")]
    Exporter(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Sends spans to a collector.
#[derive(Debug)]
pub struct Otlp {
    provider: SdkTracerProvider,
}

impl Otlp {
    /// Begins to send to a collector, such as `http://127.0.0.1:4318`. Spans are sent by a thread of their own; a collector
    /// that is not there disturbs nothing.
    ///
    /// # Errors
    /// When that is no address.
    pub fn start(endpoint: &str) -> Result<Self, OtlpError> {
        let address: http::Uri = endpoint.parse().map_err(|_| OtlpError::Endpoint(endpoint.to_owned()))?;
        if !matches!(address.scheme_str(), Some("http" | "https")) || address.host().is_none() {
            return Err(OtlpError::Endpoint(endpoint.to_owned()));
        }
        let endpoint = match address.path() {
            "" | "/" => format!("{}{TRACES_PATH}", endpoint.trim_end_matches('/')),
            _ => endpoint.to_owned(),
        };
        // Its client waits in threads, which must not be made where async code runs.
        let building = std::thread::spawn(move || build(endpoint));
        let provider = building.join().map_err(|_| OtlpError::Exporter("its thread ended".into()))??;
        Ok(Self { provider })
    }

    /// Takes the spans of runs and requests, and nothing of other libraries.
    pub fn layer<S: Subscriber + for<'span> LookupSpan<'span>>(&self) -> impl Layer<S> + use<S> {
        let ours = Targets::new().with_target("holdpoint", LevelFilter::INFO);
        let tracer = self.provider.tracer(SERVICE);
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(ours)
    }

    /// Puts the spans of an agent's runs into the traces that they began in. A server does so by itself; a worker needs it.
    pub fn span_parent(&self) -> SpanParent {
        span_parent()
    }

    /// Sends what is left. Waits a few seconds at most; not for async code.
    pub fn shutdown(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::warn!(target: "holdpoint", %error, "the last spans could not be sent");
        }
    }
}

fn build(endpoint: String) -> Result<SdkTracerProvider, OtlpError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint)
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| OtlpError::Exporter(error.into()))?;
    let resource = Resource::builder().with_service_name(SERVICE).build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// Puts spans under the one that a W3C `traceparent` names.
pub(crate) fn span_parent() -> SpanParent {
    Arc::new(join)
}

/// Puts a span under the one that a W3C `traceparent` names. Without a collector nothing happens.
pub(crate) fn join(span: &Span, traceparent: &str) {
    let carrier = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
    let parent: Context = TraceContextPropagator::new().extract(&carrier);
    if parent.span().span_context().is_valid() {
        let _ = span.set_parent(parent);
    }
}

/// The `traceparent` of a span that is sent to a collector.
pub(crate) fn traceparent(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    let known = span.span_context();
    let flags = known.trace_flags().to_u8();
    known.is_valid().then(|| format!("00-{}-{}-{flags:02x}", known.trace_id(), known.span_id()))
}
