//! What goes to standard error, and to a collector, while something runs for long.

use std::io;

use clap::ValueEnum;
use holdpoint_server::Otlp;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::config::ServerTable;
use crate::failure::{Failure, Outcome};

/// What is logged unless `HOLDPOINT_LOG` says otherwise.
const USUAL: &str = "warn";

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// For people.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// Begins to log to standard error.
pub(crate) fn to_stderr(form: LogForm) {
    begin(form, None);
}

/// Begins to log to standard error, and to send traces where the configuration says so.
pub(crate) fn with_traces(form: LogForm, table: &ServerTable) -> Outcome<Option<Otlp>> {
    let started = table.otlp_endpoint.as_ref().map(|endpoint| Otlp::start(endpoint)).transpose();
    let otlp = started.map_err(|error| Failure::usage(error.to_string()))?;
    begin(form, otlp.as_ref());
    Ok(otlp)
}

/// Sends what is left of the traces.
pub(crate) async fn end(otlp: Option<Otlp>) {
    if let Some(otlp) = otlp {
        // It waits in a thread of its own.
        let _ = tokio::task::spawn_blocking(move || otlp.shutdown()).await;
    }
}

fn begin(form: LogForm, otlp: Option<&Otlp>) {
    let filter = EnvFilter::try_from_env("HOLDPOINT_LOG").unwrap_or_else(|_| EnvFilter::new(USUAL));
    let subscriber = tracing_subscriber::registry().with(otlp.map(Otlp::layer));
    let lines = fmt::layer().with_writer(io::stderr);
    // A subscriber that was set before is kept.
    let _ = match form {
        LogForm::Human => subscriber.with(lines.with_filter(filter)).try_init(),
        LogForm::Json => subscriber.with(lines.json().flatten_event(true).with_filter(filter)).try_init(),
    };
}
