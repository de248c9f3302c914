use std::sync::Arc;

use holdpoint_core::{Attempt, Repeat, ToolName};

use super::*;

fn open(index: u32, body: &[u8]) -> TaskChange {
    TaskChange::Open(Box::new(TaskOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new(Arc::from("tool")),
        attempts: Attempt(0),
        attempts_max: Attempt(3),
        repeat: Repeat::Never,
        deadline: None,
        body: body.to_vec(),
    }))
}

fn close(index: u32, guard: TaskGuard) -> TaskChange {
    TaskChange::Close { turn: Turn(1), index: CallIndex(index), guard }
}

#[test]
fn a_close_before_an_open_keeps_its_guard() {
    let folded = fold(vec![close(0, TaskGuard::Leased(Fence(7))), open(0, b"new")]).unwrap();
    assert_eq!(folded.len(), 1);
    assert_eq!(folded[0].guard_columns(), (3, 7));
    assert_eq!(folded[0].opening.as_ref().unwrap().body, b"new");
}

#[test]
fn the_last_opening_counts() {
    let folded = fold(vec![open(0, b"one"), open(1, b"other"), open(0, b"two")]).unwrap();
    let bodies: Vec<&[u8]> = folded.iter().filter_map(|call| Some(&*call.opening.as_ref()?.body)).collect();
    assert_eq!(bodies, [&b"two"[..], b"other"]);
}

#[test]
fn what_was_opened_and_closed_is_not_there() {
    let folded = fold(vec![open(0, b"one"), close(0, TaskGuard::Waiting)]).unwrap();
    assert!(folded[0].opening.is_none());
}

#[test]
fn nobody_has_a_lease_of_what_the_same_transition_opened_or_closed() {
    for first in [open(0, b"one"), close(0, TaskGuard::Any)] {
        let folded = fold(vec![first, close(0, TaskGuard::Leased(Fence(1)))]);
        assert!(folded.is_none());
    }
}
