//! What a resume names, and what it does about calls that it does not mention.

use crate::{BatchId, ContinuationId, PauseReason, Phase, Rejection, Run, StopReason};

/// What a resume names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One pause: works once.
    Continuation(ContinuationId),
    /// The turn's batch, for people and workers who answer different calls. Needs `Missing::Wait`.
    Batch(BatchId),
}

/// What a resume does about calls that it does not mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is rejected.
    Reject,
    /// The run pauses again.
    Wait,
}

impl Run {
    /// Whether answers that name this can be looked at in this state.
    ///
    /// # Errors
    /// When the continuation was used, is not known, or waits for something else.
    pub fn expect_answers(&self, target: &Target, missing: Missing) -> Result<(), Rejection> {
        self.expect_target(target, missing, PauseReason::AwaitingToolConfirmation)
    }

    /// Whether a resume of this kind may be looked at in this state.
    pub(crate) fn expect_target(
        &self,
        target: &Target,
        missing: Missing,
        brought: PauseReason,
    ) -> Result<(), Rejection> {
        match target {
            Target::Continuation(id) if id.run != self.id => return Err(Rejection::ContinuationNotFound),
            Target::Batch(id) if id.run != self.id => return Err(Rejection::ContinuationNotFound),
            Target::Continuation(_) | Target::Batch(_) => {}
        }
        if self.phase == Phase::Ended(StopReason::Cancelled) {
            return Err(Rejection::RunCancelled);
        }
        let stale = || Rejection::StaleContinuation { current: self.continuation() };
        match target {
            Target::Continuation(id) => {
                if id.pause > self.pauses || id.pause.0 == 0 {
                    return Err(Rejection::ContinuationNotFound);
                }
                if id.pause < self.pauses {
                    return Err(stale());
                }
                let waits_for = self.pause_reason().ok_or_else(stale)?;
                if waits_for != brought {
                    return Err(Rejection::WrongPause { waits_for, brought });
                }
            }
            Target::Batch(_) if missing == Missing::Reject => return Err(Rejection::BatchNeedsPartial),
            Target::Batch(id) => {
                if id.turn > self.turn || id.turn.0 == 0 {
                    return Err(Rejection::ContinuationNotFound);
                }
                let waits_for = self.pause_reason().filter(|_| id.turn == self.turn).ok_or_else(stale)?;
                // Answers and results of one batch do not collide: each is guarded by its own call.
                let open = match brought {
                    PauseReason::AwaitingToolConfirmation => self.tally.asked > 0,
                    PauseReason::AwaitingToolResults => self.tally.deferred > 0,
                };
                if waits_for != brought && !open {
                    return Err(Rejection::WrongPause { waits_for, brought });
                }
            }
        }
        Ok(())
    }
}
