//! Somebody brought a paused run from another store.
//!
//! The codec vouches for the shape of what was brought, a signature for its origin. Here it is checked that it can be a
//! paused run at all, because everything after it relies on that.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{
    Call, CallIndex, CallState, Event, Message, PauseReason, Phase, Rejection, Run, Siblings, Snapshot, Tally,
};

pub(super) fn decide(run: &Run, snapshot: Arc<Snapshot>) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::New {
        return Err(Rejection::RunExists);
    }
    match misfit(&snapshot) {
        Some(field) => Err(Rejection::InvalidSnapshot { field }),
        None => Ok(vec![Event::Imported(snapshot)]),
    }
}

/// The part of a snapshot that does not fit the rest, if there is one.
fn misfit(snapshot: &Snapshot) -> Option<&'static str> {
    let checks = [
        ("continuation_id", snapshot.pause.0 > 0 && snapshot.pause.0 < u32::MAX),
        ("parent_continuation_id", snapshot.parent.is_none_or(|parent| parent.0 > 0 && parent < snapshot.pause)),
        ("turn", snapshot.turn.0 > 0),
        ("messages", fits_messages(snapshot)),
        ("pending", snapshot.calls.iter().all(fits_pause) && ids_differ(&snapshot.calls)),
        ("reason", fits_reason(snapshot)),
        ("completion", fits_completion(snapshot)),
    ];
    checks.into_iter().find(|(_, fits)| !fits).map(|(field, _)| field)
}

/// The last message is the one that asked for the calls.
fn fits_messages(snapshot: &Snapshot) -> bool {
    let Some(Message::Assistant(asked)) = snapshot.messages.last().map(|message| &**message) else { return false };
    let own = (snapshot.history_len as usize) < snapshot.messages.len();
    own && asked.calls.iter().map(|call| &call.id).eq(snapshot.calls.iter().map(|call| &call.id))
}

/// At a pause nothing is undecided by policy, nothing runs, and what may still run is known.
fn fits_pause(call: &Call) -> bool {
    match call.state {
        CallState::Settled(_) => true,
        CallState::Proposed | CallState::Running { .. } => false,
        CallState::AwaitingApproval(_) | CallState::Ready | CallState::Deferred { .. } => {
            call.tool.is_some() && call.canonical().is_some()
        }
    }
}

fn ids_differ(calls: &[Call]) -> bool {
    let mut seen = HashSet::new();
    calls.iter().all(|call| !call.id.as_str().trim().is_empty() && seen.insert(&call.id))
}

fn fits_reason(snapshot: &Snapshot) -> bool {
    let tally = Tally::of(&snapshot.calls);
    let held = match snapshot.settings.siblings {
        Siblings::Hold => true,
        Siblings::Run => tally.ready_allowed == 0,
    };
    match snapshot.reason {
        PauseReason::AwaitingToolConfirmation => tally.asked > 0 && held,
        PauseReason::AwaitingToolResults => {
            tally.asked == 0 && tally.deferred > 0 && tally.ready_allowed + tally.ready_approved == 0
        }
    }
}

/// Names each settled call once.
fn fits_completion(snapshot: &Snapshot) -> bool {
    let mut named: Vec<CallIndex> = snapshot.completion.clone();
    named.sort_unstable();
    let calls = snapshot.calls.iter().enumerate();
    let settled = calls.filter(|(_, call)| call.settlement().is_some()).map(|(index, _)| CallIndex::from_usize(index));
    settled.eq(named)
}
