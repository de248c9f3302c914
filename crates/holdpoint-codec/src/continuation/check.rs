//! What a payload of the right shape must hold besides: nothing that the machine could not have made.

use std::collections::HashSet;

use holdpoint_core::{Asked, Call, CallId, CallState, Limits, PauseReason, Question, Siblings, Snapshot, Usage};

use super::read::Ids;
use super::wire::{ContinuationWire, TotalsWire};
use crate::arguments::digest_of;
use crate::wire::{Fault, Members};

/// Counters of a run stay far below this; above it they would overflow one day.
pub(super) const COUNT_MAX: u32 = 1_000_000_000;

/// The most answers short of a quorum.
const ANSWERS_MAX: usize = Limits::QUESTION_ANSWERS_MAX;

/// Whether the state is the one that the payload shows.
pub(super) fn agrees(wire: &ContinuationWire, ids: &Ids) -> Result<(), Fault> {
    let state = &wire.state;
    expect(&[
        ("created_at", state.created_at == wire.created_at.0),
        ("reason", state.reason == wire.reason.0),
        ("turn", state.turn == ids.batch.turn),
        ("continuation_id", state.pause == ids.continuation.pause),
        ("parent_continuation_id", state.parent == ids.parent.as_ref().map(|parent| parent.pause)),
    ])
}

/// Whether the usage of all turns adds up to the total.
pub(super) fn usage(totals: &TotalsWire) -> Result<(), Fault> {
    let sum_of = |part: fn(&Usage) -> u64| {
        let sum = totals.turns.iter().try_fold(0, |sum: u64, turn| sum.checked_add(part(turn)));
        // Later turns are added to it.
        sum.filter(|sum| *sum <= u64::MAX / 4).ok_or_else(|| Fault::at("usage.turns"))
    };
    let (input, output) = (sum_of(|turn| turn.input)?, sum_of(|turn| turn.output)?);
    expect(&[
        ("usage.input", totals.input == input),
        ("usage.output", totals.output == output),
        ("usage.total", totals.total == input + output),
        ("usage.cache_read", totals.cache_read == sum_of(|turn| turn.cache_read)?),
        ("usage.cache_write", totals.cache_write == sum_of(|turn| turn.cache_write)?),
        ("usage.reasoning", totals.reasoning == sum_of(|turn| turn.reasoning)?),
    ])
}

/// The first field that does not hold.
fn expect(checks: &[(&'static str, bool)]) -> Result<(), Fault> {
    match checks.iter().find(|(_, holds)| !holds) {
        Some((field, _)) => Err(Fault::at(*field)),
        None => Ok(()),
    }
}

/// Values above the limit were never written.
pub(super) fn context(context: &Members) -> Result<(), Fault> {
    let large = context.0.iter().find(|(_, value)| value.expose().len() > Limits::CONTEXT_VALUE_BYTES_MAX);
    match large {
        Some((name, _)) => Err(Fault::at(&**name).within("context")),
        None => Ok(()),
    }
}

/// Whether the machine could have paused like this.
pub(super) fn snapshot(snapshot: &Snapshot) -> Result<(), Fault> {
    let settings = &snapshot.settings;
    expect(&[
        ("state.calls", snapshot.calls.len() <= Limits::TOOL_CALLS_PER_TURN_MAX as usize),
        ("state.history_len", snapshot.history_len as usize <= snapshot.messages.len()),
        ("state.model_calls", snapshot.model_calls <= COUNT_MAX),
        ("state.tool_executions", snapshot.tool_executions <= COUNT_MAX),
        ("state.settings.max_turns", settings.max_turns >= 1),
        ("state.settings.max_task_attempts", settings.max_task_attempts >= 1),
        ("state.settings.max_concurrency", settings.executor.max_concurrency != Some(0)),
        ("state.completion", completion_fits(snapshot)),
        ("state.calls_seen", snapshot.calls_seen),
        ("reason", reason_fits(snapshot)),
    ])?;
    let mut ids: HashSet<&CallId> = HashSet::with_capacity(snapshot.calls.len());
    for (index, call) in snapshot.calls.iter().enumerate() {
        let fits = if ids.insert(&call.id) { call_fits(call) } else { Err(Fault::at("id")) };
        fits.map_err(|fault| fault.item("calls", index).within("state"))?;
    }
    Ok(())
}

/// Exactly the settled calls are complete, each once.
fn completion_fits(snapshot: &Snapshot) -> bool {
    let mut open: Vec<bool> = snapshot.calls.iter().map(|call| call.settlement().is_none()).collect();
    let all_settled = snapshot.completion.iter().all(|index| {
        let slot = open.get_mut(index.as_usize());
        slot.is_some_and(|seen| !std::mem::replace(seen, true))
    });
    all_settled && open.iter().all(|seen| *seen)
}

/// A pause has something to wait for, and nothing that could go on without it.
fn reason_fits(snapshot: &Snapshot) -> bool {
    let count = |state: fn(&Call) -> bool| snapshot.calls.iter().filter(|call| state(call)).count();
    let asked = count(|call| call.question().is_some());
    let deferred = count(|call| matches!(call.state, CallState::Deferred { .. }));
    let moving = count(|call| matches!(call.state, CallState::Proposed | CallState::Running { .. }));
    let allowed = count(|call| matches!(call.state, CallState::Ready) && call.asked == Asked::No);
    let ready = count(|call| matches!(call.state, CallState::Ready));
    moving == 0
        && match snapshot.reason {
            PauseReason::AwaitingToolConfirmation => {
                asked > 0 && (snapshot.settings.siblings == Siblings::Hold || allowed == 0)
            }
            PauseReason::AwaitingToolResults => asked == 0 && ready == 0 && deferred > 0,
        }
}

fn evidence_fits(question: &Question) -> bool {
    question.doubt.as_ref().is_none_or(|doubt| doubt.evidence.len() <= Limits::EVIDENCE_MAX)
}

fn call_fits(call: &Call) -> Result<(), Fault> {
    let covered = call.tool.as_ref().map_or(call.name.as_str(), |facts| facts.name.as_str());
    let digest_fits = call.canonical().is_none_or(|a| digest_of(covered, a.expose()) == a.digest());
    let runnable = call.tool.is_some() && call.canonical().is_some();
    let quorum_open = call.question().is_none_or(|question| {
        let quorum = question.terms.quorum as usize;
        quorum >= 1 && question.answers.len() <= ANSWERS_MAX && question.approvals().count() < quorum
    });
    let numbered = call.question().is_none_or(|question| question.number >= 1 && question.number == call.questions);
    expect(&[
        ("id", !call.id.as_str().is_empty()),
        ("digest", digest_fits),
        ("attempts", call.attempts.0 <= COUNT_MAX),
        ("state", runnable || call.settlement().is_some()),
        ("asked", call.question().is_none() || call.asked == Asked::Yes),
        ("question.answers", quorum_open),
        ("question.number", numbered && call.questions <= COUNT_MAX),
        ("question.doubt.evidence", call.question().is_none_or(evidence_fits)),
    ])
}
