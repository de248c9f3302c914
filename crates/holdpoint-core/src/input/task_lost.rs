//! A worker had a call and brings no result, and nobody else may simply do it again.

use crate::{Call, CallLease, CallState, Event, LossCause, Rejection, Run, Timestamp};

/// A task without a result.
#[derive(Clone, Debug)]
pub struct TaskLost {
    /// The lease that ended without a result.
    pub lease: CallLease,
    /// How it was lost.
    pub cause: LossCause,
}

pub(super) fn decide(run: &Run, lost: TaskLost, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let TaskLost { lease, cause } = lost;
    let call = lease.call;
    let resumed = run.expect_task(lease.turn, call, lease.attempt)?;
    // Doing it again would be allowed and is too late: there is nothing to ask.
    let too_late = run.call(call).is_some_and(|call| may_repeat(call) && is_overdue(call, now));
    let outcome = if too_late {
        Event::CallExpired { call }
    } else {
        // A worker that said that it failed is done with it.
        let may_run = cause != LossCause::WorkerFailed && run.call(call).is_some_and(Call::is_program);
        Event::CallDoubted { call, cause: cause.doubt(), asks: None, may_run }
    };
    Ok(vec![resumed, lease.taken(), outcome])
}

fn may_repeat(call: &Call) -> bool {
    call.tool.as_ref().is_some_and(|facts| facts.repeat.may_repeat())
}

/// Whether a call that was handed out is past its deadline.
pub(super) fn is_overdue(call: &Call, now: Timestamp) -> bool {
    matches!(call.state, CallState::Deferred { deadline: Some(deadline), .. } if deadline <= now)
}
