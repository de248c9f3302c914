//! Runs one call: hooks, policy once more, intent, tool, result. The executor decides only when and where.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::{Context, idempotency_key};
use holdpoint_core::{
    Attempt, Began, CallIndex, CallKey, Code, Decision, Given, Outcome, Recheck, Returned, Run, RunId, Settings,
    Settlement, ToolFacts, ToolResult, Unfinished,
};
use holdpoint_policy::{AuthorizeRequest, RunFacts};
use holdpoint_tools::{
    AroundCall, Asking, CallFacts, HookError, HookFault, Invocation, Place, Ran, RunOne, Tool, ToolCall, Unsettled,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::facts::run_facts;
use crate::call::lease::{Lease, NotStarted, start_attempt};
use crate::events::spans;
use crate::events::stream::{Live, StreamEvent};
use crate::failpoint::Failpoint;
use crate::parts::Parts;

/// Takes what a tool says about how far it is.
type ProgressSink = Arc<dyn Fn(&str) + Send + Sync>;

/// What a call tells the driver.
pub(super) enum Report {
    /// The hooks let it through: may its tool start?
    Begin { began: Began, reply: oneshot::Sender<Grant> },
    /// Somebody outside is to run it.
    Defer { call: CallIndex, recheck: Option<Decision> },
    /// It has its result. Without an attempt its tool did not start.
    End { call: CallIndex, attempt: Option<Attempt>, settlement: Settlement },
    /// It was started and has no result: it asks, or nobody knows what became of it.
    Unfinished(Unfinished),
    /// A failpoint after a tool's effect was reached.
    Died,
    /// Its tool did not start, and starts nowhere in this process.
    NotStarted(NotStarted),
    /// A hook failed.
    HookFailed { call: CallIndex, detail: Arc<str>, returned: Option<Box<Returned>> },
}

/// The driver's answer to a call that wants to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// Its intent is durable.
    Start(Attempt),
    /// Policy took its word back; the call is settled.
    Revoked,
    /// The run stops.
    Stop,
}

/// A batch of calls as they were when the executor got them.
pub(super) struct Calls {
    pub(super) parts: Arc<Parts>,
    pub(super) context: Arc<Context>,
    pub(super) settings: Arc<Settings>,
    pub(super) run: RunId,
    pub(super) calls: Vec<Option<Prepared>>,
    pub(super) cancellation: CancellationToken,
    pub(super) live: Option<Live>,
    pub(super) lease: Arc<dyn Lease>,
    pub(super) span: Span,
    pub(super) reports: mpsc::UnboundedSender<Report>,
}

/// One call, ready to run.
pub(super) struct Prepared {
    facts: CallFacts,
    tool: ToolFacts,
    rechecked: bool,
    run_facts: RunFacts,
    given: Option<Arc<Given>>,
}

impl Prepared {
    pub(super) fn new(parts: &Parts, run: &Run, (index, context): (CallIndex, &Arc<Context>)) -> Option<Self> {
        let call = run.call(index)?;
        let tool = call.tool.clone()?;
        let arguments = call.canonical()?.clone();
        let facts = CallFacts {
            id: call.id.clone(),
            key: CallKey { run: run.id().clone(), turn: run.turn(), index },
            requested: call.name.clone(),
            tool: tool.name.clone(),
            idempotency_key: idempotency_key(run.id(), run.turn(), index, arguments.digest()),
            arguments,
            context: Arc::clone(context),
            attempt: call.attempts.next(),
        };
        let run_facts = run_facts(parts, run, index, &[]);
        Some(Self { facts, tool, rechecked: call.rechecked, run_facts, given: call.given.clone() })
    }
}

#[async_trait]
impl RunOne for Calls {
    async fn run(&self, index: CallIndex, place: Place) -> Ran {
        let Some(prepared) = self.calls.get(index.as_usize()).and_then(Option::as_ref) else { return Ran::Done };
        let name = &prepared.tool.name;
        let Some(registered) = self.parts.registry.find(name.as_str()) else {
            self.report(Report::End { call: index, attempt: None, settlement: gone(name.as_str()) });
            return Ran::Done;
        };
        let call = ToolCall::new(prepared.facts.clone()).with_cancellation(self.cancellation.child_token());
        let call = call.with_given(prepared.given.clone());
        let call = match self.progress_sink(prepared) {
            Some(sink) => call.with_progress(sink),
            None => call,
        };
        let around = AroundCall::new(Arc::clone(registered.definition()), call.clone());
        let attempt = Attempted::default();
        let tool = Arc::clone(registered.tool());
        let innermost = |extensions| {
            let call = call.clone().with_extensions(extensions);
            self.start((index, prepared), (&tool, call, &place), &attempt)
        };
        let span = spans::tool_execute(&self.span, self.run.as_str(), (&prepared.facts.id, name));
        let result = self.parts.hooks.run(&around, innermost).instrument(span).await;
        let begun = attempt.take();
        // A hook put something else in the place of what the tool asks, or nobody listens any more.
        let passed_on = matches!(&result, Err(error) if error.fault() == HookFault::Interrupted);
        let unheard = !passed_on || self.reports.is_closed();
        if unheard && matches!(begun, Begun::Unfinished(_, Unsettled::Asks(_))) {
            tool.abandon(&prepared.facts.key);
        }
        self.conclude(index, result, begun)
    }

    async fn defer(&self, index: CallIndex) {
        let Some(prepared) = self.calls.get(index.as_usize()).and_then(Option::as_ref) else { return };
        let recheck = self.recheck(prepared).await;
        self.report(Report::Defer { call: index, recheck });
    }
}

/// What became of the innermost part of the hooks.
#[derive(Default)]
struct Attempted(Mutex<Begun>);

/// How far the innermost part came.
#[derive(Default)]
enum Begun {
    /// Not at all, or the run stops.
    #[default]
    No,
    /// Policy revoked the call: it is settled, and its siblings go on.
    Revoked,
    /// The tool was started, and gave this if it ended.
    Started(Attempt, Option<Settlement>),
    /// The tool was started, and has no result.
    Unfinished(Attempt, Unsettled),
}

impl Attempted {
    fn set(&self, begun: Begun) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }

    /// The attempt that ended, if one did.
    fn ended(&self) -> Option<Attempt> {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Begun::Started(attempt, Some(_)) => Some(attempt),
            Begun::Started(_, None) | Begun::No | Begun::Revoked | Begun::Unfinished(..) => None,
        }
    }

    fn take(&self) -> Begun {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Calls {
    /// Inside all hooks: policy once more, the intent, the tool.
    async fn start(
        &self,
        (index, prepared): (CallIndex, &Prepared),
        (tool, call, place): (&Arc<dyn Tool>, ToolCall, &Place),
        attempted: &Attempted,
    ) -> Result<Settlement, HookError> {
        // A hook that runs what is inside it again starts a new attempt; policy was asked for the first one.
        let after = attempted.ended();
        if after.is_some() && !prepared.tool.repeat.may_repeat() {
            return Err(HookError::new("a hook ran a call again that may not be repeated"));
        }
        let recheck = if after.is_none() { self.recheck(prepared).await } else { None };
        let (reply, granted) = oneshot::channel();
        self.report(Report::Begin { began: Began { call: index, recheck, after }, reply });
        let attempt = match granted.await {
            Ok(Grant::Start(attempt)) => attempt,
            // The call is settled, or stays as it is: hooks pass the interruption on.
            Ok(Grant::Revoked) => {
                attempted.set(Begun::Revoked);
                return Err(HookError::interrupted());
            }
            Ok(Grant::Stop) | Err(_) => return Err(HookError::interrupted()),
        };
        attempted.set(Begun::Started(attempt, None));
        let invocation = Invocation {
            tool: Arc::clone(tool),
            call: call.with_attempt(attempt),
            timeout: Duration::from_millis(self.settings.tool_timeout_ms),
            place: place.clone(),
            output_bytes_max: self.settings.max_tool_output_bytes,
            error_detail: self.settings.error_detail,
        };
        let invoked = match start_attempt(&self.lease, invocation, Asking::Person).await {
            Ok(invoked) => invoked,
            Err(problem) => {
                // The driver lets go of the run, and of this call with it.
                self.report(Report::NotStarted(problem));
                return std::future::pending().await;
            }
        };
        if self.parts.failpoints.reach(Failpoint::AfterEffect).await.is_err() {
            self.report(Report::Died);
            return std::future::pending().await;
        }
        match invoked {
            Ok(settlement) => {
                attempted.set(Begun::Started(attempt, Some(settlement.clone())));
                Ok(settlement)
            }
            // Nothing ended: hooks pass it on like an interruption.
            Err(unsettled) => {
                attempted.set(Begun::Unfinished(attempt, unsettled));
                Err(HookError::interrupted())
            }
        }
    }

    /// Tells the driver how it ended. What the tool gave is recorded even when a hook fails after it.
    fn conclude(&self, call: CallIndex, result: Result<Settlement, HookError>, begun: Begun) -> Ran {
        match result {
            Ok(settlement) => {
                let attempt = match begun {
                    Begun::Started(attempt, _) => Some(attempt),
                    Begun::No | Begun::Revoked | Begun::Unfinished(..) => None,
                };
                self.report(Report::End { call, attempt, settlement });
                Ran::Done
            }
            Err(error) if error.fault() == HookFault::Interrupted => match begun {
                Begun::Revoked => Ran::Done,
                Begun::Unfinished(attempt, unsettled) => {
                    self.report(Report::Unfinished(unfinished(call, attempt, &unsettled)));
                    Ran::Done
                }
                // The run stops before the next attempt: what the last one gave stands.
                Begun::Started(attempt, Some(settlement)) => {
                    self.report(Report::End { call, attempt: Some(attempt), settlement });
                    Ran::Stop
                }
                Begun::No | Begun::Started(_, None) => Ran::Stop,
            },
            Err(error) => {
                let returned = match begun {
                    Begun::Started(attempt, Some(settlement)) => {
                        Some(Box::new(Returned { call, attempt: Some(attempt), settlement }))
                    }
                    Begun::Started(_, None) | Begun::No | Begun::Revoked | Begun::Unfinished(..) => None,
                };
                self.report(Report::HookFailed { call, detail: error.to_string().into(), returned });
                Ran::Stop
            }
        }
    }

    /// Policy is asked again when a call goes from ready to running, unless its word is on record.
    async fn recheck(&self, prepared: &Prepared) -> Option<Decision> {
        if self.settings.recheck_policy == Recheck::Off || prepared.rechecked {
            return None;
        }
        let request = AuthorizeRequest {
            tool: &prepared.tool.name,
            arguments: &prepared.facts.arguments,
            context: &self.context,
            run: &prepared.run_facts,
        };
        Some(self.parts.policy.authorize(&request).await.0)
    }

    fn progress_sink(&self, prepared: &Prepared) -> Option<ProgressSink> {
        let live = self.live.clone()?;
        let call = prepared.facts.id.clone();
        Some(Arc::new(move |text: &str| {
            live.send(StreamEvent::ToolProgress { call: call.clone(), text: text.to_owned() });
        }))
    }

    fn report(&self, report: Report) {
        // The driver let go of the run: nobody wants to know any more.
        let _ = self.reports.send(report);
    }
}

fn unfinished(call: CallIndex, attempt: Attempt, unsettled: &Unsettled) -> Unfinished {
    let asks = match unsettled {
        Unsettled::Asks(inquiry) => Some(Arc::new(inquiry.to_result())),
        Unsettled::Unknown | Unsettled::NotStarted => None,
    };
    Unfinished { call, attempt, asks }
}

/// The tool was registered when the model asked for it, and is not any more.
fn gone(name: &str) -> Settlement {
    let text = format!("There is no tool `{name}` any more. The call was not executed.");
    Settlement {
        outcome: Outcome::Failed,
        code: Some(Code::ToolNotFound),
        source: None,
        result: Arc::new(ToolResult::error(text)),
        latency_us: 0,
    }
}
