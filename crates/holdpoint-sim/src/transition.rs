//! What a process writes: its events, what is true of the run afterwards, and what that does to the queue.

use std::collections::BTreeMap;

use holdpoint_codec::tasks::encode_task;
use holdpoint_codec::{audit, encode_grant, encode_question};
use holdpoint_core::{Attempt, CallIndex, CallState, Event, LogEntry, Run, Status, Timestamp, Turn};
use holdpoint_store::{
    GrantOpening, HeadUpdate, Hold, OwnerId, QuestionChange, QuestionEnd, QuestionOpening, TaskChange, TaskGuard,
    TaskOpening, Transition,
};

use crate::process::ProcessId;
use crate::storage::Place;
use crate::stored;

/// How long a process holds a run without renewing. Some steps of the world take a third of it.
pub(crate) const HOLD_MS: u64 = 10_000;

/// What must be true of the tasks that a commit closes.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    pub(crate) each: Vec<(Place, TaskGuard)>,
    /// Of all others.
    pub(crate) others: TaskGuard,
}

/// What a commit is made of.
pub(crate) struct Step<'a> {
    /// The run as it was durable.
    pub(crate) before: &'a Run,
    /// The run as it will be.
    pub(crate) after: &'a Run,
    pub(crate) log: &'a [LogEntry],
    pub(crate) guards: &'a Guards,
    pub(crate) by: ProcessId,
    pub(crate) at: Timestamp,
}

/// Says who holds a run.
pub(crate) fn hold(by: ProcessId) -> Hold {
    Hold { owner: OwnerId::new(format!("process_{}", by.0)), lease_ms: HOLD_MS }
}

/// The whole of a commit.
pub(crate) fn transition(step: &Step<'_>) -> Transition {
    let run = step.after;
    let head = HeadUpdate {
        status: run.status(),
        agent: run.agent().cloned(),
        tenant: run.actor().tenant.clone(),
        continuation: run.continuation(),
        deadline: run.next_deadline(),
        session: run.session().cloned(),
    };
    let records = step.log.iter().map(stored::write).collect();
    let mut transition = Transition::new(records, head, step.at);
    transition.hold = (run.status() == Status::Running).then(|| hold(step.by));
    transition.tasks = changes(step);
    transition.audit = audit::encode(run, step.log, step.at);
    transition.grants = step.log.iter().filter_map(|entry| granted(&entry.event)).collect();
    transition.questions = questions(step);
    transition
}

/// What people are asked: what a run shows while it goes on.
pub(crate) fn asked(run: &Run) -> BTreeMap<(Turn, CallIndex), Vec<u8>> {
    let goes_on = !matches!(run.status(), Status::Finished | Status::Failed | Status::Cancelled);
    let places = (0..run.calls().len()).map(CallIndex::from_usize).filter(|_| goes_on);
    places.filter_map(|index| Some(((run.turn(), index), encode_question(run, index)?))).collect()
}

fn questions(step: &Step<'_>) -> Vec<QuestionChange> {
    let (before, after) = (asked(step.before), asked(step.after));
    let ended = before.keys().filter(|place| !after.contains_key(*place));
    let ended = ended.map(|(turn, index)| {
        let (how, note) = (QuestionEnd::Gone, Vec::new());
        QuestionChange::Close { turn: *turn, index: *index, how, note }
    });
    let shown = after.iter().filter(|(place, body)| before.get(*place) != Some(*body));
    let shown = shown.filter_map(|((turn, index), body)| {
        let call = step.after.call(*index)?;
        let question = call.question()?;
        Some(QuestionChange::Open(Box::new(QuestionOpening {
            turn: *turn,
            index: *index,
            tool: call.tool.as_ref()?.name.clone(),
            kind: question.kind(),
            deadline: question.deadline,
            body: body.clone(),
        })))
    });
    ended.chain(shown).collect()
}

/// What people said about calls that are yet to come.
fn granted(event: &Event) -> Option<GrantOpening> {
    let Event::GrantGiven { grant, .. } = event else { return None };
    let (id, tool) = (grant.id.as_str().into(), grant.tool.clone());
    Some(GrantOpening { id, tool, until: grant.until, body: encode_grant(grant) })
}

fn changes(step: &Step<'_>) -> Vec<TaskChange> {
    let (out, stays) = (deferred(step.before), deferred(step.after));
    let closed = out.iter().filter(|(call, attempt)| stays.get(call) != Some(attempt));
    let closed = closed.map(|((turn, index), _)| {
        let guard = step.guards.of(*turn, *index);
        TaskChange::Close { turn: *turn, index: *index, guard }
    });
    let opened = stays.iter().filter(|(call, attempt)| out.get(call) != Some(attempt));
    let opened = opened.filter_map(|((_, index), attempt)| opening(step.after, *index, *attempt));
    closed.chain(opened.map(|opening| TaskChange::Open(Box::new(opening)))).collect()
}

/// The calls that are out.
pub(crate) fn deferred(run: &Run) -> BTreeMap<(Turn, CallIndex), Attempt> {
    let out = run.deferred().map(|(index, call)| ((run.turn(), index), call.attempts));
    out.collect()
}

fn opening(run: &Run, index: CallIndex, attempt: Attempt) -> Option<TaskOpening> {
    let call = run.call(index)?;
    let CallState::Deferred { deadline, .. } = call.state else { return None };
    let tool = call.tool.as_ref()?;
    let before = attempt.0.saturating_sub(1);
    Some(TaskOpening {
        turn: run.turn(),
        index,
        tool: tool.name.clone(),
        attempts: Attempt(before),
        attempts_max: Attempt(before + run.settings().max_task_attempts),
        repeat: tool.repeat,
        deadline,
        body: encode_task(run, index, None)?,
    })
}

impl Guards {
    /// Nothing.
    pub(crate) fn none() -> Self {
        Self::others(TaskGuard::Any)
    }

    /// The same of all tasks.
    pub(crate) fn others(others: TaskGuard) -> Self {
        Self { each: Vec::new(), others }
    }

    /// Something of one task, nothing of others.
    pub(crate) fn only(place: Place, guard: TaskGuard) -> Self {
        Self { each: vec![(place, guard)], others: TaskGuard::Any }
    }

    fn of(&self, turn: Turn, call: CallIndex) -> TaskGuard {
        let wanted = self.each.iter().find(|(place, _)| place.turn == turn && place.call == call);
        wanted.map_or(self.others, |(_, guard)| *guard)
    }
}
