//! Policy said no when a worker was about to start a call.

use super::began::revoked;
use crate::{CallLease, Decision, Event, Rejection, Run, Timestamp};

/// A task that may not be started any more.
#[derive(Clone, Debug)]
pub struct TaskRevoked {
    /// The lease under which it was about to start.
    pub lease: CallLease,
    /// What policy said: a denial. Nothing else is accepted.
    pub decision: Decision,
}

pub(super) fn decide(run: &Run, task: TaskRevoked, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let CallLease { turn, call, attempt, .. } = task.lease;
    let resumed = run.expect_task((turn, call, attempt))?;
    let revoked = revoked(call, Some(task.decision), now).ok_or(Rejection::NotExpected { input: "task_revoked" })?;
    Ok(vec![resumed, revoked])
}
