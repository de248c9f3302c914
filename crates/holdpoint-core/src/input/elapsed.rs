//! Time passed: questions and tasks past their deadline expire, by a resume that nobody had to make.

use super::task_lost::is_overdue;
use crate::{CallIndex, Event, Phase, Rejection, Run, Timestamp};

pub(super) fn decide(run: &Run, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let Phase::Paused(reason) = run.phase else { return Ok(Vec::new()) };
    let mut expired = run.expired(now);
    // A task expires here only: whoever commits it makes sure that no worker has it. Other resumes could not.
    expired.extend(run.deferred().filter(|(_, call)| is_overdue(call, now)).map(|(index, _)| index));
    expired.sort_unstable();
    if expired.is_empty() {
        return Ok(Vec::new());
    }
    // What people hold shows a question that is no more, so it is used up: if others are open, a new pause shows those.
    let resumed = Event::Resumed { pause: run.pauses, reason, request: None };
    let expired = expired.into_iter().map(|call| Event::CallExpired { call });
    Ok(std::iter::once(resumed).chain(expired).collect())
}

impl Run {
    /// The calls whose questions are past their deadline, in order.
    pub(super) fn expired(&self, now: Timestamp) -> Vec<CallIndex> {
        if self.tally.asked == 0 {
            return Vec::new();
        }
        let calls = self.calls.iter().enumerate();
        let late = calls.filter(|(_, call)| call.question().and_then(|q| q.deadline).is_some_and(|at| at <= now));
        late.map(|(index, _)| CallIndex::from_usize(index)).collect()
    }
}
