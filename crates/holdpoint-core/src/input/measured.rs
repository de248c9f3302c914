//! The next request was measured against the model's context window.

use crate::{Completeness, Event, Failure, Phase, Rejection, Run, StopReason, Work};

/// How large the next request is.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Messages, arguments of calls, and tool definitions.
    pub tokens: u64,
}

pub(super) fn decide(run: &Run, measured: Measured) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::Working(Work::Model) {
        return Err(Rejection::NotExpected { input: "measured" });
    }
    let Some(window) = run.settings.context_window else { return Ok(Vec::new()) };
    let room = window.tokens.saturating_sub(window.reserved_output_tokens);
    if measured.tokens <= room {
        return Ok(Vec::new());
    }
    let detail = format!("the request has about {} tokens, and the window has room for {room}", measured.tokens);
    Ok(run.failed(Failure::ContextWindowExceeded, detail.into()))
}

impl Run {
    /// The events of a run that fails in its model call.
    pub(super) fn failed(&self, failure: Failure, detail: std::sync::Arc<str>) -> Vec<Event> {
        vec![
            self.turn_ended(Completeness::Interrupted),
            Event::Failed { failure, detail },
            Event::Done { stop: StopReason::Failed(failure) },
        ]
    }
}
