//! Performs the calls of a batch for the driver. The executor decides only when and where.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::{Context, idempotency_key};
use holdpoint_core::{
    Attempt, Began, CallIndex, CallKey, Code, Decision, Given, Outcome, Recheck, Returned, Run, Settings, Settlement,
    ToolFacts, Unfinished,
};
use holdpoint_policy::{AuthorizeRequest, RunFacts};
use holdpoint_tools::{Asking, CallFacts, Place, Ran, RunOne, ToolCall, Unsettled};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::facts::run_facts;
use crate::call::lease::{Lease, NotStarted};
use crate::call::perform::{EndedAttempt, NoPermit, Performed, Permit, Permitted, Progress, ReadyCall, not_executed};
use crate::events::spans;
use crate::events::stream::{Live, StreamEvent};
use crate::parts::Parts;

/// Takes what a tool says about how far it is.
type ProgressSink = Arc<dyn Fn(&str) + Send + Sync>;

/// What a call tells the driver.
pub(super) enum Report {
    /// The hooks let it through: may its tool start? The driver answers once the intent is durable.
    Begin {
        began: Began,
        reply: oneshot::Sender<Result<Attempt, NoPermit>>,
    },
    /// A worker or the application executes it.
    Defer {
        call: CallIndex,
        recheck: Option<Decision>,
    },
    /// It has its result. Without an attempt its tool did not start.
    End {
        call: CallIndex,
        attempt: Option<Attempt>,
        settlement: Settlement,
    },
    /// It was started and has no result: it asks, or its outcome is unknown.
    Unfinished(Unfinished),
    /// It goes no further in this process.
    Halted(NotStarted),
    HookFailed {
        call: CallIndex,
        detail: Arc<str>,
        returned: Option<Box<Returned>>,
    },
}

/// A batch of calls as they were when the executor got them.
pub(super) struct Calls {
    pub(super) parts: Arc<Parts>,
    pub(super) context: Arc<Context>,
    pub(super) settings: Arc<Settings>,
    pub(super) calls: Vec<Option<AuthorizedCall>>,
    pub(super) cancellation: CancellationToken,
    pub(super) live: Option<Live>,
    pub(super) lease: Arc<dyn Lease>,
    pub(super) span: Span,
    pub(super) reports: mpsc::UnboundedSender<Report>,
}

/// One call that may run.
pub(super) struct AuthorizedCall {
    facts: CallFacts,
    tool: ToolFacts,
    rechecked: bool,
    run_facts: RunFacts,
    given: Option<Arc<Given>>,
}

impl AuthorizedCall {
    pub(super) fn new(parts: &Parts, run: &Run, index: CallIndex, context: &Arc<Context>) -> Option<Self> {
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
        let Some(authorized) = self.authorized(index) else { return Ran::Done };
        let name = &authorized.tool.name;
        let Some(tool) = self.parts.registry.find(name.as_str()) else {
            self.report(Report::End { call: index, attempt: None, settlement: gone(name.as_str()) });
            return Ran::Done;
        };
        let ready = ReadyCall {
            parts: &self.parts,
            settings: &self.settings,
            tool,
            call: self.tool_call(authorized),
            repeat: authorized.tool.repeat,
            place,
            asking: Asking::Person,
            lease: Arc::clone(&self.lease),
            progress: Progress::default(),
        };
        let permit = CommittedIntent { calls: self, index, authorized };
        let span = spans::tool_execute(&self.span, &ready.call);
        let performed = ready.perform(&permit, span).await;
        if let Performed::Unfinished(_, Unsettled::Asks(_)) = performed
            && self.reports.is_closed()
        {
            tool.tool().abandon(&authorized.facts.key);
        }
        self.conclude(index, performed)
    }

    async fn defer(&self, index: CallIndex) {
        let Some(authorized) = self.authorized(index) else { return };
        let recheck = self.recheck(authorized).await;
        self.report(Report::Defer { call: index, recheck });
    }
}

/// The driver's permit: it commits the intent.
struct CommittedIntent<'a> {
    calls: &'a Calls,
    index: CallIndex,
    authorized: &'a AuthorizedCall,
}

#[async_trait]
impl Permit for CommittedIntent<'_> {
    async fn obtain(&self, after: Option<Attempt>) -> Result<Permitted, NoPermit> {
        // Policy is asked again before the first attempt; a hook that repeats the call does not change the answer.
        let recheck = if after.is_none() { self.calls.recheck(self.authorized).await } else { None };
        let (reply, permitted) = oneshot::channel();
        self.calls.report(Report::Begin { began: Began { call: self.index, recheck, after }, reply });
        let attempt = permitted.await.unwrap_or(Err(NoPermit::Stop))?;
        Ok(Permitted { attempt, deadline: None })
    }

    fn halted(&self, problem: NotStarted) {
        self.calls.report(Report::Halted(problem));
    }
}

impl Calls {
    fn authorized(&self, index: CallIndex) -> Option<&AuthorizedCall> {
        self.calls.get(index.as_usize())?.as_ref()
    }

    fn tool_call(&self, authorized: &AuthorizedCall) -> ToolCall {
        let call = ToolCall::new(authorized.facts.clone())
            .with_cancellation(self.cancellation.child_token())
            .with_given(authorized.given.clone());
        match self.progress_sink(authorized) {
            Some(sink) => call.with_progress(sink),
            None => call,
        }
    }

    /// Tells the driver how it ended.
    fn conclude(&self, call: CallIndex, performed: Performed) -> Ran {
        match performed {
            Performed::Settled { attempt, settlement } => {
                self.report(Report::End { call, attempt, settlement });
                Ran::Done
            }
            Performed::Revoked => Ran::Done,
            Performed::Unfinished(attempt, unsettled) => {
                self.report(Report::Unfinished(unfinished(call, attempt, &unsettled)));
                Ran::Done
            }
            Performed::Stopped { last } => {
                if let Some(EndedAttempt { attempt, settlement }) = last {
                    self.report(Report::End { call, attempt: Some(attempt), settlement });
                }
                Ran::Stop
            }
            Performed::HookFailed { error, last } => {
                let returned = last.map(|EndedAttempt { attempt, settlement }| {
                    Box::new(Returned { call, attempt: Some(attempt), settlement })
                });
                self.report(Report::HookFailed { call, detail: error.to_string().into(), returned });
                Ran::Stop
            }
        }
    }

    /// Policy is asked again when a call goes from ready to running, unless its decision is on record.
    async fn recheck(&self, authorized: &AuthorizedCall) -> Option<Decision> {
        if self.settings.recheck_policy == Recheck::Off || authorized.rechecked {
            return None;
        }
        let request = AuthorizeRequest {
            tool: &authorized.tool.name,
            arguments: &authorized.facts.arguments,
            context: &self.context,
            run: &authorized.run_facts,
        };
        Some(self.parts.policy.authorize(&request).await.0)
    }

    fn progress_sink(&self, authorized: &AuthorizedCall) -> Option<ProgressSink> {
        let live = self.live.clone()?;
        let call = authorized.facts.id.clone();
        Some(Arc::new(move |text: &str| {
            live.send(StreamEvent::ToolProgress { call: call.clone(), text: text.to_owned() });
        }))
    }

    fn report(&self, report: Report) {
        // The driver let go of the run, and needs no report.
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
    not_executed(Outcome::Failed, Code::ToolNotFound, text)
}
