//! `[server]`: where it listens, where runs are, and what it bears.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::source::Located;
use super::table::{Read, Table};

pub(super) const KEYS: &[&str] = &[
    "listen",
    "store",
    "signing_key_file",
    "worker",
    "worker_concurrency",
    "runs_max",
    "body_bytes_max",
    "requests_per_second",
    "requests_burst",
    "streams_max",
    "streams_per_token_max",
    "shutdown_ms",
    "secure_cookies",
    "otlp_endpoint",
];

/// Where runs are unless told otherwise.
pub(crate) const STORE: &str = "sqlite:holdpoint.db";
/// Where the key that signs receipts is unless told otherwise.
pub(crate) const SIGNING_KEY_FILE: &str = "holdpoint.key";
/// The most tasks that the worker inside a server does at once, and its usual number.
pub(crate) const WORKER_CONCURRENCY_MAX: u64 = 256;
const WORKER_CONCURRENCY: u64 = 8;
const RUNS_MAX: u64 = 256;
const RUNS_MOST: u64 = 100_000;
const BODY_BYTES_MOST: u64 = 64 * 1024 * 1024;
const RATE_MOST: u64 = 1_000_000;
const STREAMS_MOST: u64 = 1_000_000;
const SHUTDOWN_MS: u64 = 30_000;
const SHUTDOWN_MS_MOST: u64 = 600_000;

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct ServerTable {
    pub(crate) listen: SocketAddr,
    pub(crate) store: String,
    pub(crate) signing_key_file: PathBuf,
    /// How many tasks the worker inside does at once. Nothing: there is none.
    pub(crate) worker_concurrency: Option<usize>,
    /// How many runs are driven at once.
    pub(crate) runs_max: usize,
    /// What is absent is left to the server.
    pub(crate) body_bytes_max: Option<usize>,
    pub(crate) requests_per_second: Option<u32>,
    pub(crate) requests_burst: Option<u32>,
    pub(crate) streams_max: Option<usize>,
    pub(crate) streams_per_token_max: Option<usize>,
    pub(crate) shutdown_ms: u64,
    /// Whether browsers send the console's cookie over HTTPS only.
    pub(crate) secure_cookies: bool,
    pub(crate) otlp_endpoint: Option<Located<String>>,
}

/// Reads the table; all of it may be absent.
pub(super) fn read(root: &mut Table<'_>) -> Read<ServerTable> {
    let source = root.source();
    let Some(mut table) = root.table("server", KEYS)? else {
        let signing_key_file = source.path(SIGNING_KEY_FILE);
        return Ok(ServerTable { signing_key_file, store: store(STORE, source), ..ServerTable::default() });
    };
    let listen = listen(&mut table)?;
    let worker = table.flag("worker")?.unwrap_or(true);
    let concurrency = table.whole("worker_concurrency", 1..=WORKER_CONCURRENCY_MAX)?.unwrap_or(WORKER_CONCURRENCY);
    let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let rate = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(ServerTable {
        listen,
        store: store(table.text("store")?.map_or_else(|| STORE.to_owned(), |text| text.value).as_str(), source),
        signing_key_file: source
            .path(table.text("signing_key_file")?.map_or_else(|| SIGNING_KEY_FILE.to_owned(), |text| text.value)),
        worker_concurrency: worker.then(|| small(concurrency)),
        runs_max: table.whole("runs_max", 1..=RUNS_MOST)?.map_or(small(RUNS_MAX), small),
        body_bytes_max: table.whole("body_bytes_max", 1024..=BODY_BYTES_MOST)?.map(small),
        requests_per_second: table.whole("requests_per_second", 1..=RATE_MOST)?.map(rate),
        requests_burst: table.whole("requests_burst", 1..=RATE_MOST)?.map(rate),
        streams_max: table.whole("streams_max", 1..=STREAMS_MOST)?.map(small),
        streams_per_token_max: table.whole("streams_per_token_max", 1..=STREAMS_MOST)?.map(small),
        shutdown_ms: table.whole("shutdown_ms", 0..=SHUTDOWN_MS_MOST)?.unwrap_or(SHUTDOWN_MS),
        secure_cookies: table.flag("secure_cookies")?.unwrap_or(false),
        otlp_endpoint: otlp_endpoint(&mut table)?,
    })
}

fn listen(table: &mut Table<'_>) -> Read<SocketAddr> {
    let Some(text) = table.text("listen")? else { return Ok(usual_address()) };
    text.value.parse().map_err(|_| {
        table
            .source()
            .wrong(&text.span, "`listen` is not an address with a port")
            .hint("write it as in `127.0.0.1:7411` or `[::]:7411`")
    })
}

fn otlp_endpoint(table: &mut Table<'_>) -> Read<Option<Located<String>>> {
    let Some(text) = table.text("otlp_endpoint")? else { return Ok(None) };
    if !(text.value.starts_with("http://") || text.value.starts_with("https://")) {
        let wrong = table.source().wrong(&text.span, "`otlp_endpoint` is not an address of an OTLP receiver");
        return Err(wrong.hint("it begins with `http://` or `https://`, as in `http://127.0.0.1:4318`"));
    }
    Ok(Some(text))
}

/// The file of a database belongs to the folder of the configuration, as every path in it.
fn store(url: &str, source: &super::source::Source) -> String {
    match url.strip_prefix("sqlite:").filter(|path| !path.starts_with("//")) {
        Some(path) => format!("sqlite:{}", source.path(path).display()),
        None => url.to_owned(),
    }
}

pub(crate) fn usual_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7411))
}

impl Default for ServerTable {
    fn default() -> Self {
        Self {
            listen: usual_address(),
            store: STORE.to_owned(),
            signing_key_file: SIGNING_KEY_FILE.into(),
            worker_concurrency: Some(WORKER_CONCURRENCY as usize),
            runs_max: RUNS_MAX as usize,
            body_bytes_max: None,
            requests_per_second: None,
            requests_burst: None,
            streams_max: None,
            streams_per_token_max: None,
            shutdown_ms: SHUTDOWN_MS,
            secure_cookies: false,
            otlp_endpoint: None,
        }
    }
}
