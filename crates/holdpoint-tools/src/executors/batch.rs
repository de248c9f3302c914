//! The calls of a turn as an executor sees them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdpoint_core::{CallIndex, ExecutorChoice, Parallel, ToolName};

use crate::{Place, ToolDefinition, ToolMetadata};

/// Calls that may run now, in the order in which the model asked. Cheap to clone.
#[derive(Clone)]
#[must_use]
pub struct Batch {
    calls: Arc<[BatchCall]>,
    parallel: Parallel,
    max_concurrency: Option<u32>,
    run_one: Arc<dyn RunOne>,
    stopped: Arc<AtomicBool>,
}

/// What an executor knows of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchCall {
    /// Its place in the turn.
    pub index: CallIndex,
    /// The registered tool.
    pub tool: ToolName,
    /// Whether the tool may run beside others; `None` when nobody said.
    pub parallelizable: Option<bool>,
    /// Where the tool comes from.
    pub source: Arc<str>,
}

/// Runs or defers one call. The driver implements it: hooks, timeout, intent and the record of the result are inside.
#[async_trait]
pub trait RunOne: Send + Sync {
    /// Runs a call in a place, and returns when its result is recorded.
    async fn run(&self, call: CallIndex, place: Place) -> Ran;

    /// Leaves a call to somebody outside.
    async fn defer(&self, call: CallIndex);
}

/// What follows from having run a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The next may start.
    Done,
    /// The run stops: what was started may end, nothing more is started.
    Stop,
}

impl Batch {
    /// These calls, in the order in which the model asked.
    pub fn new(calls: impl Into<Arc<[BatchCall]>>, choice: &ExecutorChoice, run_one: Arc<dyn RunOne>) -> Self {
        let ExecutorChoice { parallel, max_concurrency, .. } = *choice;
        Self { calls: calls.into(), parallel, max_concurrency, run_one, stopped: Arc::default() }
    }

    /// The calls.
    pub fn calls(&self) -> &[BatchCall] {
        &self.calls
    }

    /// How many calls may run at once; `None` is no limit.
    pub fn max_concurrency(&self) -> Option<u32> {
        self.max_concurrency
    }

    /// Whether this call may run beside others.
    pub fn may_run_beside_others(&self, call: &BatchCall) -> bool {
        match (call.parallelizable, self.parallel) {
            (Some(marked), _) => marked,
            (None, Parallel::Marked) => false,
            (None, Parallel::All) => !call.source.starts_with("mcp:"),
        }
    }

    /// Runs a call as a task.
    pub async fn run(&self, call: CallIndex) -> Ran {
        self.run_in(call, Place::Task).await
    }

    /// Runs a call in a place. Once one call said stop, this starts nothing more. A tool that only workers do is deferred,
    /// whatever the executor: there is nothing here that could do it.
    pub async fn run_in(&self, call: CallIndex, place: Place) -> Ran {
        if self.is_stopped() {
            return Ran::Stop;
        }
        if self.is_of_workers(call) {
            self.run_one.defer(call).await;
            return Ran::Done;
        }
        let ran = self.run_one.run(call, place).await;
        if ran == Ran::Stop {
            self.stopped.store(true, Ordering::Release);
        }
        ran
    }

    fn is_of_workers(&self, call: CallIndex) -> bool {
        // In the order in which the model asked, so that their numbers rise.
        let found = self.calls.binary_search_by_key(&call, |call| call.index);
        found.is_ok_and(|at| &*self.calls[at].source == ToolMetadata::WORKER)
    }

    /// Leaves a call to somebody outside.
    pub async fn defer(&self, call: CallIndex) {
        if !self.is_stopped() {
            self.run_one.defer(call).await;
        }
    }

    /// Whether a call said that nothing more may start.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The same batch with only some of its calls; a stop in one part stops all.
    pub fn part(&self, calls: Vec<BatchCall>) -> Self {
        Self { calls: calls.into(), ..self.clone() }
    }
}

impl BatchCall {
    /// A call of a tool.
    pub fn new(index: CallIndex, definition: &ToolDefinition) -> Self {
        Self {
            index,
            tool: definition.name.clone(),
            parallelizable: definition.metadata.parallelizable,
            source: Arc::clone(&definition.metadata.source),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("calls", &self.calls)
            .field("parallel", &self.parallel)
            .field("max_concurrency", &self.max_concurrency)
            .finish_non_exhaustive()
    }
}
