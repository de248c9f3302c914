//! An executor handed a call to somebody outside.

use crate::{CallIndex, Decision, Event, Rejection, Run, Timestamp};

/// A call that somebody outside will run.
#[derive(Clone, Debug)]
pub struct Deferred {
    /// Which.
    pub call: CallIndex,
    /// What policy said when it was asked again.
    pub recheck: Option<Decision>,
}

pub(super) fn decide(run: &Run, deferred: Deferred, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    run.expect_executable(deferred.call, "deferred")?;
    if let Some(held) = run.held_by_policy(deferred.call, deferred.recheck) {
        return Ok(vec![held]);
    }
    let attempt = run.calls[deferred.call.as_usize()].attempts.next();
    let deadline = run.settings.task_deadline_ms.map(|ms| now.plus_ms(ms));
    Ok(vec![Event::CallDeferred { call: deferred.call, attempt, deadline }])
}
