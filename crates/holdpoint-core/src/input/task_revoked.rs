//! Policy was asked again when a worker was about to start a call, and the call may not start.

use crate::{CallLease, Decision, Event, Rejection, Run};

/// A task that may not be started as it is.
#[derive(Clone, Debug)]
pub struct TaskRevoked {
    /// The lease under which it was about to start.
    pub lease: CallLease,
    /// What policy said: a denial, or a confirmation on terms that nobody met. Nothing else is accepted.
    pub decision: Decision,
}

pub(super) fn decide(run: &Run, task: TaskRevoked) -> Result<Vec<Event>, Rejection> {
    let CallLease { turn, call, attempt, .. } = task.lease;
    let resumed = run.expect_task(turn, call, attempt)?;
    let held = run.held_by_policy(call, Some(task.decision));
    Ok(vec![resumed, held.ok_or(Rejection::NotExpected { input: "task_revoked" })?])
}
