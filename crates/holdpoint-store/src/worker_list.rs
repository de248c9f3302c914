//! Who does tasks.

use std::sync::Arc;

use holdpoint_core::{Timestamp, ToolName};

/// The most workers that a list names: those last seen.
pub const WORKERS_MAX: usize = 1_000;
/// The most tools that are kept of a worker.
pub const WORKER_TOOLS_MAX: usize = 256;
/// How long a worker that nobody sees is remembered.
pub const WORKER_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;

/// A worker says that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSeen {
    /// Its name, as leases have it.
    pub name: Arc<str>,
    /// The tenant whose tasks it does. None: everybody's.
    pub tenant: Option<Arc<str>>,
    /// The tools that it has.
    pub tools: Vec<ToolName>,
}

/// A worker, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Its name.
    pub name: Arc<str>,
    /// The tenant whose tasks it does. None: everybody's.
    pub tenant: Option<Arc<str>>,
    /// The tools that it has, in order.
    pub tools: Vec<ToolName>,
    /// When it was seen first.
    pub since: Timestamp,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// How many tasks it has leased now.
    pub leases: u64,
}

/// How much of what is there, for those who watch over a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTally {
    /// Runs that go on.
    pub runs_running: u64,
    /// Runs that wait for people.
    pub runs_awaiting_confirmation: u64,
    /// Runs that wait for results.
    pub runs_awaiting_results: u64,
    /// Questions that wait for people.
    pub questions_pending: u64,
    /// When the oldest of them was asked.
    pub question_oldest: Option<Timestamp>,
    /// Tasks that can be leased, now or later.
    pub tasks_waiting: u64,
    /// Tasks that a worker has.
    pub tasks_leased: u64,
    /// Tasks whose result waits for its run.
    pub tasks_delivered: u64,
}

/// What [`crate::ServerState::sweep`] threw away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Responses past their time.
    pub responses: u64,
    /// Workers that nobody has seen for long.
    pub workers: u64,
}
