//! Policy said no when a worker was about to start a call.

use std::sync::Arc;

use super::began::revoked;
use crate::{Attempt, CallIndex, Decision, Event, Rejection, Run, Timestamp, Turn};

/// A task that may not be started any more.
#[derive(Clone, Debug)]
pub struct TaskRevoked {
    /// The turn of the call.
    pub turn: Turn,
    /// Its place in the turn.
    pub call: CallIndex,
    /// The attempt that did not start.
    pub attempt: Attempt,
    /// Who was about to start it.
    pub worker: Arc<str>,
    /// Since when they had it.
    pub since: Timestamp,
    /// What policy said: a denial. Nothing else is accepted.
    pub decision: Decision,
}

pub(super) fn decide(run: &Run, task: TaskRevoked, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let resumed = run.expect_task((task.turn, task.call, task.attempt))?;
    let revoked =
        revoked(task.call, Some(task.decision), now).ok_or(Rejection::NotExpected { input: "task_revoked" })?;
    Ok(vec![resumed, revoked])
}
