//! What workers may bring, by dice.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, Call, CallIndex, CallLease, CallState, Code, Fence, Input, LossCause, Problem, Refit, Repeat, Run, Source,
    TaskLate, TaskLost, TaskReturned, TaskRevoked, TasksReturned, Timestamp, ToolChanged, ToolFacts, Turn,
};

use super::inputs::{Dice, result};
use crate::support::{decision, settlement};

/// Whether workers have anything to do with what the run waits for.
pub(super) fn concerns(run: &Run) -> bool {
    run.calls().iter().any(|call| matches!(call.state, CallState::Deferred { .. }) || call.is_uncertain())
}

/// Something that a worker, or whoever watches over it, would say.
pub(super) fn any(run: &Run, dice: &mut Dice) -> Input {
    let turn = if dice.throw(12) == 0 { Turn(dice.throw(3).into()) } else { run.turn() };
    let call = chosen(run, dice);
    let attempt = attempt(run.call(call), dice);
    let worker: Arc<str> = dice.one_of(&["w1", "w2"]).into();
    let (since, fence) = (Timestamp(0), Fence(1));
    match dice.throw(9) {
        8 => changed(run, call, Some((turn, attempt)), dice),
        0 => Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result: Arc::new(result(dice)) })),
        1 if run.call(call).is_some_and(Call::is_uncertain) => {
            Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result: Arc::new(result(dice)) }))
        }
        1 | 2 => {
            let cause = LossCause::ALL[usize::from(dice.throw(3))];
            Input::TaskLost(TaskLost { lease: CallLease { turn, call, attempt, fence, worker, since }, cause })
        }
        3 => {
            let decision = decision(dice.one_of(&["deny", "deny", "allow"]));
            Input::TaskRevoked(TaskRevoked { lease: CallLease { turn, call, attempt, fence, worker, since }, decision })
        }
        _ => {
            let more = (0..dice.throw(3)).map(|_| chosen(run, dice)).collect::<Vec<_>>();
            let tasks = std::iter::once(call).chain(more).map(|call| {
                let settlement = settlement(result(dice), Source::External);
                let worker = Arc::clone(&worker);
                TaskReturned { lease: CallLease { turn, call, attempt, fence, worker, since }, settlement }
            });
            Input::TasksReturned(Box::new(TasksReturned { tasks: tasks.collect() }))
        }
    }
}

/// The tool of a call takes other arguments by now.
pub(super) fn changed(run: &Run, call: CallIndex, task: Option<(Turn, Attempt)>, dice: &mut Dice) -> Input {
    let nothing = ToolFacts { name: "t".into(), repeat: Repeat::Never, source: "native".into(), definition: None };
    let mut tool = run.call(call).and_then(|call| call.tool.clone()).unwrap_or(nothing);
    tool.definition = Some(dice.one_of(&["v1", "v2", "v3"]).into());
    let refit = match dice.throw(6) {
        0 => Refit::Unfit(Problem { code: Code::InvalidArguments, text: "it fits no more".into() }),
        1 => Refit::Decided(decision("deny")),
        2 => Refit::Decided(decision("confirm by=board")),
        _ => Refit::Decided(decision("allow")),
    };
    Input::ToolChanged(Box::new(ToolChanged { call, task, tool, refit }))
}

/// Mostly a call that is out or in doubt.
fn chosen(run: &Run, dice: &mut Dice) -> CallIndex {
    let calls = run.calls().iter().enumerate();
    let concerned = calls.filter(|(_, call)| matches!(call.state, CallState::Deferred { .. }) || call.is_uncertain());
    let concerned: Vec<usize> = concerned.map(|(index, _)| index).collect();
    match concerned.get(usize::from(dice.throw(4))) {
        Some(index) => CallIndex::from_usize(*index),
        None => CallIndex(dice.throw(5).into()),
    }
}

/// Mostly the attempt that is out, sometimes one before or after it.
fn attempt(call: Option<&Call>, dice: &mut Dice) -> Attempt {
    let attempts = call.map_or(1, |call| call.attempts.0);
    Attempt(match dice.throw(6) {
        0 => attempts.saturating_sub(1),
        1 => attempts + 1,
        _ => attempts,
    })
}
