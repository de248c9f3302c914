//! Time passed: questions past their deadline expire.

use crate::{CallIndex, Event, Phase, Rejection, Run, Timestamp};

pub(super) fn decide(run: &Run, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let Phase::Paused(reason) = run.phase else { return Ok(Vec::new()) };
    let expired = run.expired(now);
    if expired.is_empty() {
        return Ok(Vec::new());
    }
    let all = expired.len() == run.tally.asked as usize;
    let mut events: Vec<Event> = expired.into_iter().map(|call| Event::CallExpired { call }).collect();
    // As long as another question is open nothing moves, and the continuation that people hold stays good.
    if all {
        events.push(Event::Resumed { pause: run.pauses, reason });
    }
    Ok(events)
}

impl Run {
    /// The calls whose questions are past their deadline.
    pub(super) fn expired(&self, now: Timestamp) -> Vec<CallIndex> {
        if self.tally.asked == 0 {
            return Vec::new();
        }
        let calls = self.calls.iter().enumerate();
        let late = calls.filter(|(_, call)| call.question().and_then(|q| q.deadline).is_some_and(|at| at <= now));
        late.map(|(index, _)| CallIndex::from_usize(index)).collect()
    }
}
