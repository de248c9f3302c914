//! Performs one call: hooks, permit, tool, settlement. The driver and the workers both perform calls here; they differ in their
//! [`Permit`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::{Attempt, Code, Outcome, Repeat, Settings, Settlement, ToolResult};
use holdpoint_tools::{
    AroundCall, Asking, Extensions, HookError, Invocation, Place, RegisteredTool, ToolCall, Unsettled,
};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, Span};

use super::lease::{Lease, NotStarted, start_attempt};
use crate::parts::Parts;

/// The handshake that makes the intent of an attempt durable before its tool starts: a driver commits the intent, for a worker the
/// lease of its task is the intent.
#[async_trait]
pub(crate) trait Permit: Send + Sync {
    /// Asks for the next attempt. `after` is the attempt that ended, when a hook runs the call again.
    async fn obtain(&self, after: Option<Attempt>) -> Result<Permitted, NoPermit>;

    /// The call goes no further here, and its hooks are not told: the caller drops the future that performs it.
    fn halted(&self, problem: NotStarted);
}

/// An attempt whose intent is durable.
#[derive(Debug)]
pub(crate) struct Permitted {
    pub(crate) attempt: Attempt,
    /// The tool is stopped then.
    pub(crate) deadline: Option<Instant>,
}

/// Why a call gets no permit. Hooks pass it on as an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPermit {
    /// Policy denies the call by now. It is settled, and its siblings go on.
    Revoked,
    /// Nothing starts any more.
    Stop,
}

/// A call that is ready to run, with everything that its attempts share.
pub(crate) struct ReadyCall<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) settings: &'a Settings,
    pub(crate) tool: &'a RegisteredTool,
    /// The call as hooks see it. Attempt and deadline of an execution come with its permit.
    pub(crate) call: ToolCall,
    pub(crate) repeat: Repeat,
    pub(crate) place: Place,
    pub(crate) asking: Asking,
    pub(crate) lease: Arc<dyn Lease>,
    pub(crate) progress: Progress,
}

/// How far the part inside the hooks came.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Reached>);

#[derive(Clone, Debug, Default)]
enum Reached {
    #[default]
    Nothing,
    Revoked,
    Started(Attempt),
    Unfinished(Attempt, Unsettled),
    Ended(EndedAttempt),
}

/// An attempt and what its tool gave.
#[derive(Clone, Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) attempt: Attempt,
    pub(crate) settlement: Settlement,
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Performed {
    /// Without an attempt its tool did not start, or its question was replaced by a hook.
    Settled {
        attempt: Option<Attempt>,
        settlement: Settlement,
    },
    /// It was started and has no result: it asks, or its outcome is unknown.
    Unfinished(Attempt, Unsettled),
    Revoked,
    /// It got no permit for its next attempt. The result of the last one stands.
    Stopped {
        last: Option<EndedAttempt>,
    },
    /// The result of the last attempt is recorded even when a hook fails after it.
    HookFailed {
        error: HookError,
        last: Option<EndedAttempt>,
    },
}

impl Progress {
    fn reached(&self) -> Reached {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, reached: Reached) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reached;
    }

    /// Whether the tool was started, and so may have taken effect.
    pub(crate) fn has_started(&self) -> bool {
        match self.reached() {
            Reached::Nothing | Reached::Revoked => false,
            Reached::Started(_) | Reached::Unfinished(..) | Reached::Ended(_) => true,
        }
    }
}

impl ReadyCall<'_> {
    /// Runs the hooks, and inside them the tool under its permit.
    pub(crate) async fn perform(&self, permit: &dyn Permit, span: Span) -> Performed {
        let around = AroundCall::new(Arc::clone(self.tool.definition()), self.call.clone());
        let innermost = |extensions| self.start(permit, extensions);
        let result = self.parts.hooks.run(&around, innermost).instrument(span).await;
        let reached = self.progress.reached();
        match result {
            Ok(settlement) => {
                self.abandon_question(&reached);
                Performed::Settled { attempt: reached.attempt(), settlement }
            }
            Err(HookError::Interrupted) => match reached {
                Reached::Revoked => Performed::Revoked,
                Reached::Unfinished(attempt, unsettled) => Performed::Unfinished(attempt, unsettled),
                Reached::Nothing | Reached::Started(_) | Reached::Ended(_) => {
                    Performed::Stopped { last: reached.ended() }
                }
            },
            Err(error) => {
                self.abandon_question(&reached);
                Performed::HookFailed { error, last: reached.ended() }
            }
        }
    }

    /// Inside all hooks: the permit, then the tool.
    async fn start(&self, permit: &dyn Permit, extensions: Extensions) -> Result<Settlement, HookError> {
        let before = self.progress.reached();
        let after = match &before {
            Reached::Nothing => None,
            // A hook that runs the call again starts a new attempt.
            Reached::Ended(ended) if self.repeat.may_repeat() => Some(ended.attempt),
            Reached::Ended(_) => return Err(HookError::new("a hook ran a call again that may not be repeated")),
            // An attempt without a result may have taken effect.
            Reached::Revoked | Reached::Started(_) | Reached::Unfinished(..) => return Err(HookError::Interrupted),
        };
        let Permitted { attempt, deadline } = match permit.obtain(after).await {
            Ok(permitted) => permitted,
            Err(NoPermit::Revoked) => {
                self.progress.set(Reached::Revoked);
                return Err(HookError::Interrupted);
            }
            Err(NoPermit::Stop) => return Err(HookError::Interrupted),
        };
        self.progress.set(Reached::Started(attempt));
        let invoked = match self.invoke(attempt, deadline, extensions).await {
            Ok(invoked) => invoked,
            Err(problem) => {
                self.progress.set(before);
                permit.halted(problem);
                return std::future::pending().await;
            }
        };
        match invoked {
            Ok(settlement) => {
                self.progress.set(Reached::Ended(EndedAttempt { attempt, settlement: settlement.clone() }));
                Ok(settlement)
            }
            Err(unsettled) => {
                self.progress.set(Reached::Unfinished(attempt, unsettled));
                Err(HookError::Interrupted)
            }
        }
    }

    async fn invoke(
        &self,
        attempt: Attempt,
        deadline: Option<Instant>,
        extensions: Extensions,
    ) -> Result<Result<Settlement, Unsettled>, NotStarted> {
        let call = self.call.clone().with_extensions(extensions);
        let invocation = Invocation {
            tool: Arc::clone(self.tool.tool()),
            call: call.with_attempt(attempt).with_deadline(deadline),
            timeout: Duration::from_millis(self.settings.tool_timeout_ms),
            place: self.place.clone(),
            output_bytes_max: self.settings.max_tool_output_bytes,
            error_detail: self.settings.error_detail,
        };
        let starting = start_attempt(&self.lease, invocation, self.asking);
        match deadline {
            None => starting.await,
            Some(deadline) => timeout_at(deadline, starting).await.unwrap_or_else(|_| Ok(Ok(overdue(self.repeat)))),
        }
    }

    /// A hook put something else in the place of what the tool asks.
    fn abandon_question(&self, reached: &Reached) {
        if let Reached::Unfinished(_, Unsettled::Asks(_)) = reached {
            self.tool.tool().abandon(self.call.key());
        }
    }
}

impl Reached {
    fn attempt(&self) -> Option<Attempt> {
        match self {
            Reached::Started(attempt) | Reached::Ended(EndedAttempt { attempt, .. }) => Some(*attempt),
            Reached::Nothing | Reached::Revoked | Reached::Unfinished(..) => None,
        }
    }

    fn ended(self) -> Option<EndedAttempt> {
        match self {
            Reached::Ended(ended) => Some(ended),
            Reached::Nothing | Reached::Revoked | Reached::Started(_) | Reached::Unfinished(..) => None,
        }
    }
}

fn overdue(repeat: Repeat) -> Settlement {
    let text = if repeat.may_repeat() {
        "The call was not done by its deadline."
    } else {
        "The call was not done by its deadline. It may have taken effect."
    };
    not_executed(Outcome::TimedOut, Code::TimedOut, text)
}

/// How a call ended that has no result of its tool.
pub(crate) fn not_executed(outcome: Outcome, code: Code, text: impl Into<Arc<str>>) -> Settlement {
    Settlement { outcome, code: Some(code), source: None, result: Arc::new(ToolResult::error(text)), latency_us: 0 }
}
