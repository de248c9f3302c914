//! The changes of a transition to the queue, at most one for each call.

use std::collections::BTreeMap;

use holdpoint_core::{CallIndex, Turn};
use holdpoint_store::{Fence, TaskChange, TaskGuard, TaskOpening};

/// What becomes of the task of one call.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) turn: Turn,
    pub(super) index: CallIndex,
    /// What must be true of the task that is there before. Nothing: it is not closed, only replaced.
    pub(super) guard: Option<TaskGuard>,
    /// The task that is there afterwards.
    pub(super) opening: Option<Box<TaskOpening>>,
}

impl Folded {
    pub(super) fn wants_lease(&self) -> bool {
        self.guard.is_some_and(TaskGuard::wants_lease)
    }

    /// The guard as a number, and the fence that it names.
    pub(super) fn guard_columns(&self) -> (i16, i64) {
        // A fence above what the database can hold is that of no lease.
        let number = |fence: Fence| i64::try_from(fence.0).unwrap_or(-1);
        match self.guard {
            None | Some(TaskGuard::Any) => (0, 0),
            Some(TaskGuard::Waiting) => (1, 0),
            Some(TaskGuard::NoResult) => (2, 0),
            Some(TaskGuard::Leased(fence)) => (3, number(fence)),
            Some(TaskGuard::Lapsed(fence)) => (4, number(fence)),
            Some(TaskGuard::Delivered(fence)) => (5, number(fence)),
        }
    }
}

/// Goes through the changes in order. A guard that can only be about an earlier change of the same transition is decided
/// here: what it opened nobody has leased, and what it closed is gone. Nothing when such a guard does not hold.
pub(super) fn fold(changes: Vec<TaskChange>) -> Option<Vec<Folded>> {
    let mut calls: BTreeMap<(Turn, CallIndex), Folded> = BTreeMap::new();
    for change in changes {
        match change {
            TaskChange::Open(opening) => {
                let (turn, index) = (opening.turn, opening.index);
                let folded = calls.entry((turn, index));
                let folded = folded.or_insert(Folded { turn, index, guard: None, opening: None });
                folded.opening = Some(opening);
            }
            TaskChange::Close { turn, index, guard } => match calls.get_mut(&(turn, index)) {
                None => {
                    calls.insert((turn, index), Folded { turn, index, guard: Some(guard), opening: None });
                }
                Some(_) if guard.wants_lease() => return None,
                Some(folded) => folded.opening = None,
            },
        }
    }
    Some(calls.into_values().collect())
}

#[cfg(test)]
mod tests;
