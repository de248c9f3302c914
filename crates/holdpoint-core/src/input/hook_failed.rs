//! A hook failed by itself: infrastructure, not a tool's answer.

use std::sync::Arc;

use crate::{CallIndex, Event, Phase, Rejection, Run, Work};

/// A hook that failed.
#[derive(Clone, Debug)]
pub struct HookFailed {
    /// Around which call.
    pub call: CallIndex,
    /// For people; never for the model.
    pub detail: Arc<str>,
}

pub(super) fn decide(run: &Run, failed: HookFailed) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::Working(Work::Calls) || run.call(failed.call).is_none() {
        return Err(Rejection::NotExpected { input: "hook_failed" });
    }
    Ok(vec![Event::HookFailed { call: failed.call, detail: failed.detail }])
}
