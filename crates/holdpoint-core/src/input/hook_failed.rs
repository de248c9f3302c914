//! A hook failed by itself: infrastructure, not a tool's answer.

use std::sync::Arc;

use super::Returned;
use crate::{CallIndex, Event, Failure, Phase, Rejection, Run, StopReason, Work};

/// A hook that failed.
#[derive(Clone, Debug)]
pub struct HookFailed {
    /// Around which call.
    pub call: CallIndex,
    /// For people; never for the model.
    pub detail: Arc<str>,
    /// What the tool gave before its hook failed, if it came so far: it is recorded, so that nobody runs the call again.
    pub returned: Option<Box<Returned>>,
}

pub(super) fn decide(run: &Run, failed: HookFailed) -> Result<Vec<Event>, Rejection> {
    let not_expected = Rejection::NotExpected { input: "hook_failed" };
    match run.phase {
        Phase::Working(Work::Calls) => {}
        // The hook of a sibling failed at the same time, and the run stopped for that.
        Phase::Failed(Failure::HookFailed, _) => return Ok(Vec::new()),
        Phase::Ended(StopReason::Cancelled) => return Err(Rejection::RunCancelled),
        _ => return Err(not_expected),
    }
    let index = failed.call;
    let call = run.call(index).ok_or(not_expected.clone())?;
    let of_call = match failed.returned {
        Some(returned) if returned.call == index => super::returned::decide(run, *returned)?,
        Some(_) => return Err(not_expected),
        // A hook that fails around a started call brings no result of it. Nobody else will: it is in doubt.
        None => super::recovered::in_doubt(index, call).into_iter().collect(),
    };
    Ok(std::iter::once(Event::HookFailed { call: index, detail: failed.detail }).chain(of_call).collect())
}
