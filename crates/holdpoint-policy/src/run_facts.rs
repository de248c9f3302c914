//! What a policy may know of a run.

use std::fmt;
use std::sync::{Arc, OnceLock};

use holdpoint_core::{Arguments, RunId, ToolName, Turn};

/// What a policy may know of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunFacts {
    /// The run.
    pub run: RunId,
    /// The turn of the call.
    pub turn: Turn,
    past: Option<Arc<Past>>,
}

impl RunFacts {
    /// A run in one of its turns. Of its earlier calls nothing is known: a rule that asks for them cannot decide.
    pub fn new(run: RunId, turn: Turn) -> Self {
        Self { run, turn, past: None }
    }

    /// Says what came before: the calls of the run that were let through before the one that is asked about, those of
    /// the same turn included. `recall` is asked when a policy wants to know, and at most once.
    #[must_use]
    pub fn with_past(mut self, recall: impl Fn() -> Vec<PastCall> + Send + Sync + 'static) -> Self {
        self.past = Some(Arc::new(Past { recall: Box::new(recall), calls: OnceLock::new() }));
        self
    }

    /// The earlier calls that were let through, in order. Nothing if nobody said.
    pub fn past(&self) -> Option<&[PastCall]> {
        let past = self.past.as_deref()?;
        Some(past.calls.get_or_init(|| (past.recall)()))
    }
}

/// Two are equal if they are about the same turn of the same run: what came before it is then the same.
impl PartialEq for RunFacts {
    fn eq(&self, other: &Self) -> bool {
        self.run == other.run && self.turn == other.turn
    }
}

impl Eq for RunFacts {}

/// A call that was let through earlier in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PastCall {
    /// The registered name.
    pub tool: ToolName,
    /// What ran, or will.
    pub arguments: Arguments,
}

impl PastCall {
    /// A call of a tool with these arguments.
    pub fn new(tool: ToolName, arguments: Arguments) -> Self {
        Self { tool, arguments }
    }
}

/// Remembered when it is first asked for.
struct Past {
    recall: Box<dyn Fn() -> Vec<PastCall> + Send + Sync>,
    calls: OnceLock<Vec<PastCall>>,
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls.get() {
            Some(calls) => write!(f, "Past({} calls)", calls.len()),
            None => f.write_str("Past(not asked for)"),
        }
    }
}
