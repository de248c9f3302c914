//! What a server takes at most. Every queue, body, wait and list has its number here.

use std::time::Duration;

/// How deep JSON may be nested. The codec refuses what is deeper.
pub(crate) const JSON_DEPTH_MAX: usize = 100;
/// How long a body may take to arrive.
pub(crate) const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the headers of a request may take to arrive, and how long a connection may be idle before them.
pub(crate) const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(75);
/// How large the headers of a request may be together.
pub(crate) const HEADER_BYTES_MAX: usize = 64 * 1024;
/// How many headers a request may have.
pub(crate) const HEADERS_MAX: usize = 64;
/// How long a client may take to read something before its connection is closed.
pub(crate) const WRITE_STALL_MAX: Duration = Duration::from_secs(30);
/// How many connections are open at once.
pub(crate) const CONNECTIONS_MAX: usize = 10_000;
/// How long a request may ask to wait, in milliseconds.
pub(crate) const WAIT_MS_MAX: u64 = 60_000;
/// How long a request really waits for a run or a task: less than the store remembers that it is under way.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(50);
/// How often a stream that has nothing to say says so.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon after its end a session of the console is looked at again at the earliest.
pub(crate) const SESSION_CHECK_MIN: Duration = Duration::from_millis(100);
/// How many transient events may wait for a slow reader of a stream. Older ones are dropped; durable ones are read again.
pub(crate) const LIVE_EVENTS_MAX: usize = 256;
/// How many events of a run one JSON answer has.
pub(crate) const EVENTS_MAX: usize = 1_000;
/// How many decisions or results one request may bring.
pub(crate) const ANSWERS_MAX: usize = 1_000;
/// How many tools one lease may name.
pub(crate) const LEASE_PATTERNS_MAX: usize = 100;
/// How long a session's name may be.
pub(crate) const SESSION_BYTES_MAX: usize = 200;
/// How long a reason may be.
pub(crate) const REASON_BYTES_MAX: usize = 4_000;
/// How long an id in a path may be.
pub(crate) const ID_BYTES_MAX: usize = 600;
/// How many digits the number of an event may have: fewer than any number that would not fit.
pub(crate) const LAST_EVENT_DIGITS_MAX: usize = 18;
/// How long an idempotency key may be.
pub(crate) const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// How long a session of the console holds.
pub(crate) const CONSOLE_SESSION: Duration = Duration::from_secs(12 * 60 * 60);
/// How many places that requests come from are told apart, when they say wrongly who they are.
pub(crate) const PEERS_MAX: usize = 10_000;
/// How large the body of a login may be.
pub(crate) const LOGIN_BYTES_MAX: usize = 8 * 1024;
/// How many workers of one token are told apart.
pub(crate) const WORKER_NAMES_MAX: usize = 1_000;
/// How often a worker elsewhere is noted at most.
pub(crate) const WORKER_NOTED_EVERY: Duration = Duration::from_secs(5);
/// How long readiness and metrics wait for the store.
pub(crate) const READY_TIMEOUT: Duration = Duration::from_secs(2);
/// How short a token's secret may be.
pub(crate) const SECRET_BYTES_MIN: usize = 16;

/// What a server takes at most, as far as operators may want to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// How many requests a token may send per second, on average.
    pub requests_per_second: u32,
    /// How many of them at once.
    pub requests_burst: u32,
    /// How many event streams are open at once.
    pub streams_max: usize,
    /// How many of them one token may have.
    pub streams_per_token_max: usize,
    /// How many runs requests drive at once, and how many the keeper. What requests start or resume beyond that is left to
    /// the keeper.
    pub runs_max: usize,
    /// How many tasks the worker of this process does at once.
    pub worker_concurrency: usize,
    /// How long a server that is told to stop waits for what it does.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 4 * 1024 * 1024,
            requests_per_second: 100,
            requests_burst: 200,
            streams_max: 4_096,
            streams_per_token_max: 2_048,
            runs_max: 256,
            worker_concurrency: 8,
            shutdown: Duration::from_secs(30),
        }
    }
}
