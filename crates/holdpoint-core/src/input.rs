//! What a run can be told, in the past tense: one file per kind, each with the decision that it leads to.
//!
//! Every decision has the same shape: `decide(run, input, now) -> Result<Vec<Event>, Rejection>`, without `now` where time
//! does not matter. It reads the run and changes nothing.

use std::sync::Arc;

use crate::{Event, Rejection, Run, Snapshot, Timestamp};

mod answered;
mod authorized;
mod began;
mod cancelled;
mod deferred;
mod delivered;
mod elapsed;
mod grant_revoked;
mod hook_failed;
mod imported;
mod measured;
mod model_failed;
mod recovered;
mod replied;
mod retried;
mod returned;
mod started;
mod target;
mod task_late;
mod task_lost;
mod task_revoked;
mod tasks_returned;
mod tool_changed;
mod unfinished;

pub use answered::{Answered, GivenAnswer};
pub use authorized::Authorized;
pub use began::Began;
pub use cancelled::Cancelled;
pub use deferred::Deferred;
pub use delivered::Delivered;
pub use grant_revoked::GrantRevoked;
pub use hook_failed::HookFailed;
pub use measured::Measured;
pub use model_failed::ModelFailed;
pub use recovered::Recovered;
pub use replied::{Problem, ProposedCall, Replied, Reply, Usage};
pub use retried::Retried;
pub use returned::Returned;
pub use started::Started;
pub use target::{Missing, Target};
pub use task_late::TaskLate;
pub use task_lost::TaskLost;
pub use task_revoked::TaskRevoked;
pub use tasks_returned::{TaskReturned, TasksReturned};
pub use tool_changed::{Refit, ToolChanged};
pub use unfinished::Unfinished;

/// Something that happened outside.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody started the run.
    Started(Box<Started>),
    /// Somebody brought a paused run from another store.
    Imported(Arc<Snapshot>),
    /// The next request was measured.
    Measured(Measured),
    /// The model replied.
    Replied(Box<Replied>),
    /// The provider failed.
    ModelFailed(ModelFailed),
    /// Policy decided.
    Authorized(Authorized),
    /// The tool of a call that was about to run has changed.
    ToolChanged(Box<ToolChanged>),
    /// An executor is about to start a call.
    Began(Began),
    /// An executor handed a call to somebody outside.
    Deferred(Deferred),
    /// A started call returned.
    Returned(Box<Returned>),
    /// A started call has no result: it asks a person, or nobody knows what became of it.
    Unfinished(Unfinished),
    /// A hook failed.
    HookFailed(HookFailed),
    /// A person answered.
    Answered(Box<Answered>),
    /// Somebody outside delivered results.
    Delivered(Box<Delivered>),
    /// Workers brought results of what they had leased.
    TasksReturned(Box<TasksReturned>),
    /// A worker had a task and brings no result.
    TaskLost(TaskLost),
    /// Policy said no when a worker was about to start a task.
    TaskRevoked(TaskRevoked),
    /// A worker brought a result after it had lost the task.
    TaskLate(Box<TaskLate>),
    /// Somebody took a grant back that was given in this run.
    GrantRevoked(GrantRevoked),
    /// Time passed.
    Elapsed,
    /// A process takes over a run whose owner died.
    Recovered(Recovered),
    /// Somebody cancelled the run.
    Cancelled(Cancelled),
    /// Somebody wants a failed run to go on.
    Retried(Retried),
}

impl Input {
    /// Its name, for tables and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Input::Started(_) => "started",
            Input::Imported(_) => "imported",
            Input::Measured(_) => "measured",
            Input::Replied(_) => "replied",
            Input::ModelFailed(_) => "model_failed",
            Input::Authorized(_) => "authorized",
            Input::ToolChanged(_) => "tool_changed",
            Input::Began(_) => "began",
            Input::Deferred(_) => "deferred",
            Input::Returned(_) => "returned",
            Input::Unfinished(_) => "unfinished",
            Input::HookFailed(_) => "hook_failed",
            Input::Answered(_) => "answered",
            Input::Delivered(_) => "delivered",
            Input::TasksReturned(_) => "tasks_returned",
            Input::TaskLost(_) => "task_lost",
            Input::TaskRevoked(_) => "task_revoked",
            Input::TaskLate(_) => "task_late",
            Input::GrantRevoked(_) => "grant_revoked",
            Input::Elapsed => "elapsed",
            Input::Recovered(_) => "recovered",
            Input::Cancelled(_) => "cancelled",
            Input::Retried(_) => "retried",
        }
    }
}

pub(crate) fn decide(run: &Run, input: Input, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    match input {
        Input::Started(started) => started::decide(run, *started),
        Input::Imported(snapshot) => imported::decide(run, snapshot),
        Input::Measured(measured) => measured::decide(run, measured),
        Input::Replied(replied) => replied::decide(run, *replied),
        Input::ModelFailed(failed) => model_failed::decide(run, failed),
        Input::Authorized(authorized) => authorized::decide(run, authorized, now),
        Input::ToolChanged(changed) => tool_changed::decide(run, *changed),
        Input::Began(began) => began::decide(run, began),
        Input::Deferred(deferred) => deferred::decide(run, deferred, now),
        Input::Returned(returned) => returned::decide(run, *returned),
        Input::Unfinished(unfinished) => unfinished::decide(run, unfinished),
        Input::HookFailed(failed) => hook_failed::decide(run, failed),
        Input::Answered(answered) => answered::decide(run, *answered, now),
        Input::Delivered(delivered) => delivered::decide(run, *delivered, now),
        Input::TasksReturned(returned) => tasks_returned::decide(run, *returned, now),
        Input::TaskLost(lost) => task_lost::decide(run, lost, now),
        Input::TaskRevoked(revoked) => task_revoked::decide(run, revoked),
        Input::TaskLate(late) => task_late::decide(run, *late, now),
        Input::GrantRevoked(revoked) => grant_revoked::decide(run, revoked),
        Input::Elapsed => elapsed::decide(run, now),
        Input::Recovered(recovered) => recovered::decide(run, &recovered),
        Input::Cancelled(cancelled) => cancelled::decide(run, cancelled),
        Input::Retried(retried) => retried::decide(run, retried),
    }
}
