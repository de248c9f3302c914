//! Workers brought results of calls that were handed out. Any number of them, in any order, in one step.

use std::collections::HashSet;

use crate::{
    Attempt, CallIndex, CallLease, CallState, Event, Phase, Rejection, Run, Settlement, StopReason, Timestamp, Turn,
};

/// Results of workers.
#[derive(Clone, Debug)]
pub struct TasksReturned {
    /// In the order in which they are recorded.
    pub tasks: Vec<TaskReturned>,
}

/// The result of one task.
#[derive(Clone, Debug)]
pub struct TaskReturned {
    /// The lease under which the worker completed it.
    pub lease: CallLease,
    /// How it ended.
    pub settlement: Settlement,
}

pub(super) fn decide(run: &Run, returned: TasksReturned, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let reason = match run.phase {
        Phase::Paused(reason) => reason,
        Phase::Ended(StopReason::Cancelled) => return Err(Rejection::RunCancelled),
        Phase::New | Phase::Between | Phase::Working(_) | Phase::Failed(..) | Phase::Ended(_) => {
            return Err(Rejection::NotExpected { input: "tasks_returned" });
        }
    };
    let collected = run.collect(returned.tasks);
    if collected.is_empty() {
        return Ok(Vec::new());
    }
    let mut events = vec![Event::Resumed { pause: run.pauses, reason, request: None }];
    // Questions expire at whatever comes next. What workers had in hand was done in time: a lease ends at the deadline.
    let expired = run.expired(now);
    events.extend(expired.into_iter().map(|call| Event::CallExpired { call }));
    events.extend(collected);
    Ok(events)
}

impl CallLease {
    /// Records that the worker had the call.
    pub(super) fn taken(self) -> Event {
        let CallLease { turn: _, call, attempt, fence, worker, since } = self;
        Event::TaskTaken { call, attempt, fence, worker, since }
    }
}

impl Run {
    /// Records the results of tasks. Those of calls that are not out under that lease are left out.
    pub(super) fn collect(&self, tasks: Vec<TaskReturned>) -> Vec<Event> {
        let mut seen = HashSet::new();
        let mut events = Vec::with_capacity(2 * tasks.len());
        for TaskReturned { lease, settlement } in tasks {
            let call = lease.call;
            if self.has_task(lease.turn, call, lease.attempt) && seen.insert(call) {
                events.push(lease.taken());
                events.push(Event::ToolEnded { call, settlement });
            }
        }
        events
    }

    /// Whether this attempt is of the call as it is handed out now. The queue counts on from the attempt that was
    /// handed out, so that a higher one is of the same task and a lower one of an earlier task.
    pub(super) fn has_task(&self, turn: Turn, index: CallIndex, taken: Attempt) -> bool {
        let call = self.call(index).filter(|_| turn == self.turn);
        match call.map(|call| &call.state) {
            Some(CallState::Deferred { attempt, .. }) => taken >= *attempt,
            _ => false,
        }
    }

    /// The pause that a task of this call belongs to.
    pub(super) fn expect_task(&self, turn: Turn, call: CallIndex, attempt: Attempt) -> Result<Event, Rejection> {
        match self.phase {
            Phase::Ended(StopReason::Cancelled) => Err(Rejection::RunCancelled),
            Phase::Paused(reason) if self.has_task(turn, call, attempt) => {
                Ok(Event::Resumed { pause: self.pauses, reason, request: None })
            }
            Phase::Paused(_)
            | Phase::New
            | Phase::Between
            | Phase::Working(_)
            | Phase::Failed(..)
            | Phase::Ended(_) => Err(Rejection::LeaseLost),
        }
    }
}
