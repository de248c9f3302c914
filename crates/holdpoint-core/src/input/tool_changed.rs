//! A tool has another schema than it had when the model asked for a call of it.

use std::sync::Arc;

use crate::texts;
use crate::{
    Asked, Attempt, Call, CallIndex, Decision, Event, Ground, Outcome, Problem, Rejection, Run, Settlement, Stage,
    ToolFacts, ToolResult, Turn,
};

/// A call that was about to run, and what its tool is by now.
#[derive(Clone, Debug)]
pub struct ToolChanged {
    /// Which call.
    pub call: CallIndex,
    /// Its turn and attempt, if a worker was about to run it.
    pub task: Option<(Turn, Attempt)>,
    /// What is registered under the name by now.
    pub tool: ToolFacts,
    /// What is to be made of the call.
    pub refit: Refit,
}

/// What the change means for a call.
#[derive(Clone, Debug)]
pub enum Refit {
    /// Its arguments do not fit any more.
    Unfit(Problem),
    /// They fit, and policy was asked anew.
    Decided(Decision),
}

pub(super) fn decide(run: &Run, changed: ToolChanged) -> Result<Vec<Event>, Rejection> {
    let not_expected = Rejection::NotExpected { input: "tool_changed" };
    let mut events = Vec::new();
    match changed.task {
        None => run.expect_executable(changed.call, "tool_changed")?,
        Some((turn, attempt)) => events.push(run.expect_task(turn, changed.call, attempt)?),
    }
    let call = run.call(changed.call).ok_or(not_expected.clone())?;
    if call.tool.as_ref() == Some(&changed.tool) {
        return Err(not_expected);
    }
    let index = changed.call;
    events.push(Event::ToolChanged { call: index, tool: changed.tool });
    events.push(match changed.refit {
        Refit::Unfit(problem) => Event::ToolEnded { call: index, settlement: unfit(problem) },
        Refit::Decided(decision) => {
            let decision = again(call, decision);
            Event::CallDecided { call: index, stage: Stage::Policy, decision, shadow: None }
        }
    });
    Ok(events)
}

/// Whoever approved the call approved it for the tool as it was.
fn again(call: &Call, decision: Decision) -> Decision {
    match (decision, call.asked) {
        (Decision::Allow(ground), Asked::Approved) => {
            let reason = Some(texts::changed_reason().into());
            Decision::Confirm(Ground { reason, ..ground }, call.terms.clone())
        }
        (decision, Asked::No | Asked::Yes | Asked::Approved) => decision,
    }
}

fn unfit(problem: Problem) -> Settlement {
    Settlement {
        outcome: Outcome::Failed,
        code: Some(problem.code),
        source: None,
        result: Arc::new(ToolResult::error(problem.text)),
        latency_us: 0,
    }
}
