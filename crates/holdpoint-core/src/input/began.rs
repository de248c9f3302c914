//! An executor is about to start a call: the hooks let it through, the tool has not started.

use crate::{Attempt, Call, CallIndex, Decision, Event, Failure, Phase, Rejection, Run, Stage, Work};

/// A call that is about to start.
#[derive(Clone, Debug)]
pub struct Began {
    /// Which.
    pub call: CallIndex,
    /// What policy said when it was asked again.
    pub recheck: Option<Decision>,
    /// The attempt that ended just now, when a hook starts the call once more. Only for tools that may be repeated.
    pub after: Option<Attempt>,
}

pub(super) fn decide(run: &Run, began: Began) -> Result<Vec<Event>, Rejection> {
    match began.after {
        None => run.expect_executable(began.call, "began")?,
        Some(attempt) => run.expect_repeatable(began.call, attempt)?,
    }
    if let Some(held) = run.held_by_policy(began.call, began.recheck) {
        return Ok(vec![held]);
    }
    let attempt = run.calls[began.call.as_usize()].attempts.next();
    Ok(vec![Event::ToolStarted { call: began.call, attempt }])
}

impl Run {
    /// What keeps a call from starting when policy is asked again: a denial, or terms that nobody met. What it allows now is
    /// no more than was allowed before.
    pub(super) fn held_by_policy(&self, index: CallIndex, recheck: Option<Decision>) -> Option<Event> {
        let decision = recheck?;
        let approved = self.call(index).and_then(Call::approved_terms);
        let holds = match &decision {
            Decision::Allow(_) => false,
            Decision::Deny(_) => true,
            Decision::Confirm(..) => decision.asks_again(approved).is_some(),
        };
        holds.then_some(Event::CallDecided { call: index, stage: Stage::Recheck, decision, shadow: None })
    }

    /// A hook may start a call again whose attempt it saw end, without anything in between.
    fn expect_repeatable(&self, index: CallIndex, ended: Attempt) -> Result<(), Rejection> {
        let not_expected = Rejection::NotExpected { input: "began" };
        match self.phase {
            Phase::Working(Work::Calls) if self.stopping.is_none() => {}
            Phase::Working(Work::Calls) | Phase::Failed(Failure::HookFailed, _) => return Err(Rejection::Stopping),
            _ => return Err(not_expected),
        }
        let call = self.call(index).ok_or(not_expected.clone())?;
        let may_repeat = call.tool.as_ref().is_some_and(|facts| facts.repeat.may_repeat());
        if may_repeat && self.is_running(index, ended) { Ok(()) } else { Err(not_expected) }
    }

    pub(super) fn expect_executable(&self, index: CallIndex, input: &'static str) -> Result<(), Rejection> {
        match self.phase {
            Phase::Working(Work::Calls) if self.stopping.is_none() => {}
            // The executor may not have heard yet that the hook of a sibling failed.
            Phase::Working(Work::Calls) | Phase::Failed(Failure::HookFailed, _) => return Err(Rejection::Stopping),
            _ => return Err(Rejection::NotExpected { input }),
        }
        let call = self.call(index).ok_or(Rejection::NotExpected { input })?;
        if self.is_executable(call) { Ok(()) } else { Err(Rejection::NotExpected { input }) }
    }
}
