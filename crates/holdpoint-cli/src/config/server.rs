//! `[server]`: where it listens, where runs are, and its limits.

use std::net::SocketAddr;
use std::path::PathBuf;

use holdpoint_config::{Document, Problem, within};
use holdpoint_server::Limits;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The most tasks that a worker does at once.
const MAX_WORKER_CONCURRENCY: usize = 256;
const MAX_RUNS: usize = 100_000;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
const MAX_RATE: u32 = 1_000_000;
const MAX_STREAMS: usize = 1_000_000;
const MAX_SHUTDOWN_MS: u64 = 600_000;

/// The table; all of it may be absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct ServerTable {
    #[serde(deserialize_with = "address")]
    pub(crate) listen: SocketAddr,
    pub(crate) store: String,
    /// The key that signs receipts.
    pub(crate) signing_key_file: PathBuf,
    /// Whether the server does deferred calls itself.
    pub(crate) worker: bool,
    pub(crate) worker_concurrency: usize,
    /// How many runs are driven at once.
    pub(crate) max_runs: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) requests_per_second: u32,
    pub(crate) requests_burst: u32,
    pub(crate) max_streams: usize,
    pub(crate) max_streams_per_token: usize,
    pub(crate) shutdown_ms: u64,
    /// Whether browsers send the console's cookie over HTTPS only.
    pub(crate) secure_cookies: bool,
    #[serde(deserialize_with = "receiver")]
    pub(crate) otlp_endpoint: Option<String>,
}

impl Default for ServerTable {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7411)),
            store: "sqlite:holdpoint.db".to_owned(),
            signing_key_file: "holdpoint.key".into(),
            worker: true,
            worker_concurrency: limits.worker_concurrency,
            max_runs: limits.runs_max,
            max_body_bytes: limits.body_bytes_max,
            requests_per_second: limits.requests_per_second,
            requests_burst: limits.requests_burst,
            max_streams: limits.streams_max,
            max_streams_per_token: limits.streams_per_token_max,
            shutdown_ms: u64::try_from(limits.shutdown.as_millis()).unwrap_or(MAX_SHUTDOWN_MS),
            secure_cookies: false,
            otlp_endpoint: None,
        }
    }
}

impl ServerTable {
    pub(super) fn check(&self) -> Result<(), Problem> {
        within("worker_concurrency", self.worker_concurrency, 1..=MAX_WORKER_CONCURRENCY)?;
        within("max_runs", self.max_runs, 1..=MAX_RUNS)?;
        within("max_body_bytes", self.max_body_bytes, 1024..=MAX_BODY_BYTES)?;
        within("requests_per_second", self.requests_per_second, 1..=MAX_RATE)?;
        within("requests_burst", self.requests_burst, 1..=MAX_RATE)?;
        within("max_streams", self.max_streams, 1..=MAX_STREAMS)?;
        within("max_streams_per_token", self.max_streams_per_token, 1..=MAX_STREAMS)?;
        within("shutdown_ms", self.shutdown_ms, 0..=MAX_SHUTDOWN_MS)
    }

    /// Relative paths, that of an SQLite file included, begin at the folder of the configuration.
    pub(super) fn in_folder(mut self, document: &Document) -> Self {
        if let Some(path) = self.store.strip_prefix("sqlite:").filter(|path| !path.starts_with("//")) {
            self.store = format!("sqlite:{}", document.path(path).display());
        }
        self.signing_key_file = document.path(&self.signing_key_file);
        self
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let problem = "is not an address with a port\nhint: write it as in `127.0.0.1:7411` or `[::]:7411`";
    String::deserialize(deserializer)?.parse().map_err(|_| D::Error::custom(problem))
}

fn receiver<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(deserializer)?;
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(Some(url));
    }
    Err(D::Error::custom(
        "is not an address of an OTLP receiver\nhint: it begins with `http://` or `https://`, as in `http://127.0.0.1:4318`",
    ))
}
