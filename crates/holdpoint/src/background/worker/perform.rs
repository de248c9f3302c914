//! One task: receipt, policy once more, hooks, tool, delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint_codec::receipt::{ReceiptClaim, ReceiptKeys, ReceiptProblem};
use holdpoint_codec::tasks::{StoredTask, decode_task};
use holdpoint_core::{
    Attempt, CallKey, ClockReading, Code, Decision, Outcome, Recheck, Refit, Settlement, Source, ToolFacts, ToolResult,
};
use holdpoint_policy::{AuthorizeRequest, RunFacts};
use holdpoint_store::{LeasedTask, TaskLease, TaskState};
use holdpoint_tools::{
    AroundCall, Asking, CallFacts, HookError, Invocation, Place, RegisteredTool, ToolCall, Unsettled,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::{Bench, Ended, HeldTask};
use crate::background::patience::Patience;
use crate::background::queue::{Queue, TaskHolder, WorkerFault};
use crate::call::lease::{Lease, NotStarted, TaskHold, start_attempt};
use crate::driver::{has_changed, load_run, run_facts, unfit_arguments};
use crate::entry::point::end_orphans;
use crate::events::spans;
use crate::failpoint::Failpoint;
use crate::{Error, Runner};

/// How a task ended here.
enum Done {
    /// With something to deliver.
    Settled(Settlement),
    /// Not started: policy denies it by now, or wants people to say more than they said.
    Revoked(Decision),
    /// Not started: the tool is another one by now.
    Changed(Box<(ToolFacts, Refit)>),
    /// Without.
    Failed(WorkerFault),
}

/// While it lives, the lease is renewed.
struct Holding<'a> {
    bench: &'a Bench,
    lease: &'a TaskLease,
    held: Arc<HeldTask>,
}

impl<'a> Holding<'a> {
    fn new(bench: &'a Bench, leased: &'a LeasedTask, sent: ClockReading) -> Self {
        let lease = &leased.lease;
        let hold = TaskHold::new(&bench.store, &bench.clock, (leased, bench.lease_ms(), sent));
        let held = Arc::new(HeldTask { lease: Arc::new(hold), stop: CancellationToken::new() });
        bench.held().insert(lease.clone(), Arc::clone(&held));
        Self { bench, lease, held }
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.bench.held().remove(self.lease);
        self.held.stop.cancel();
    }
}

impl Bench {
    /// Does a task that was leased by a request sent then.
    pub(super) async fn perform(self: Arc<Self>, leased: LeasedTask, sent: ClockReading) -> Ended {
        let Some(runner) = self.runners.get(&leased.task.agent) else { return Ended::Done };
        let holder = TaskHolder::of(&leased, &self.worker);
        let holding = Holding::new(&self, &leased, sent);
        let done = match decode_task(&leased.body) {
            Ok(stored) => {
                let assignment = Assignment { runner, leased: &leased, stored };
                match self.verify.as_ref().map(|keys| assignment.verify(keys)) {
                    None | Some(Ok(())) => assignment.run(&holding.held, &self.stopping).await,
                    Some(Err(problem)) => assignment.refuse(problem),
                }
            }
            Err(error) => {
                tracing::error!(target: "holdpoint", run = %leased.lease.key.run, %error, "a task cannot be read");
                Done::Settled(unreadable())
            }
        };
        let queue = runner.queue();
        let given_back = matches!(done, Done::Failed(WorkerFault::NotStarted));
        let ended = match done {
            Done::Settled(settlement) => settled_for_sure(queue, holder, settlement).await,
            Done::Revoked(decision) => queue.revoke(&leased, decision).await,
            Done::Changed(changed) => queue.changed(&leased, *changed).await,
            Done::Failed(fault) => queue.fail(&leased.lease, fault).await,
        };
        match ended {
            Ok(()) => {}
            Err(error @ Error::Store(_)) => {
                tracing::warn!(target: "holdpoint", run = %leased.lease.key.run, code = %error.code(), "a result could not be delivered");
            }
            Err(error) => {
                tracing::info!(target: "holdpoint", run = %leased.lease.key.run, code = %error.code(), "a task was not this worker's any more");
            }
        }
        if given_back { Ended::GivenBack } else { Ended::Done }
    }
}

/// Delivers a result, also when the worker is told to stop and does not wait any longer. While it waits the lease is renewed, so
/// that nobody does the task again while its result waits for the store.
async fn settled_for_sure(queue: Queue, holder: TaskHolder, settlement: Settlement) -> Result<(), Error> {
    let settling = async move { queue.settle(&holder, settlement, Patience::for_result()).await };
    // A task of the runtime ends early only with the runtime itself.
    tokio::spawn(settling).await.unwrap_or(Err(Error::NoRuntime))
}

impl Runner {
    /// Asks once more whether a task that was just leased may be started, for workers that are not in this process. A task
    /// that may not is settled or given back, and there is nothing to do.
    ///
    /// # Errors
    /// When the store failed, or somebody else has the task by now.
    pub async fn admit(&self, leased: LeasedTask) -> Result<Option<LeasedTask>, Error> {
        let queue = self.queue();
        let TaskState::Leased { worker, .. } = &leased.task.state else { return Ok(None) };
        let Ok(stored) = decode_task(&leased.body) else {
            queue.settle(&TaskHolder::of(&leased, worker), unreadable(), Patience::new()).await?;
            return Ok(None);
        };
        let assignment = Assignment { runner: self, leased: &leased, stored };
        let tool = assignment.stored.task.executed_name.as_str();
        let done = match self.parts.registry.find(tool).cloned() {
            Some(registered) => assignment.decided(&registered).await,
            None => Ok(Some(Done::Failed(WorkerFault::NotStarted))),
        };
        match done {
            Ok(None) => return Ok(Some(leased)),
            Ok(Some(Done::Revoked(decision))) => queue.revoke(&leased, decision).await?,
            Ok(Some(Done::Changed(changed))) => queue.changed(&leased, *changed).await?,
            Ok(Some(Done::Settled(_) | Done::Failed(_))) => {
                queue.fail(&leased.lease, WorkerFault::NotStarted).await?;
            }
            Err(error) => {
                tracing::warn!(target: "holdpoint", run = %leased.lease.key.run, code = %error.code(), "policy cannot be asked");
                queue.fail(&leased.lease, WorkerFault::NotStarted).await?;
            }
        }
        Ok(None)
    }
}

/// A task with everything that doing it needs.
struct Assignment<'a> {
    runner: &'a Runner,
    leased: &'a LeasedTask,
    stored: StoredTask,
}

impl Assignment<'_> {
    /// Checks that the receipt is for exactly what would run under this lease.
    fn verify(&self, keys: &ReceiptKeys) -> Result<(), ReceiptProblem> {
        let task = &self.stored.task;
        let leased = &self.leased.lease.key;
        let claim = ReceiptClaim {
            key: leased,
            id: &task.tool_call_id,
            tool: &task.executed_name,
            arguments: &task.arguments,
            at: self.runner.store().runs.now(),
        };
        keys.verify(task.receipt.as_deref(), &claim)?;
        // The tool is told the call of the task, and derives its idempotency key from it.
        if self.key() == *leased { Ok(()) } else { Err(ReceiptProblem::OtherCall) }
    }

    fn refuse(&self, problem: ReceiptProblem) -> Done {
        let CallKey { run, turn, index } = &self.leased.lease.key;
        tracing::warn!(target: "holdpoint", %run, %turn, %index, %problem, "security: a task was refused");
        Done::Settled(settled(
            (Outcome::Failed, Code::ReceiptInvalid),
            "The worker could not verify that this call may run. It was not executed.".to_owned(),
        ))
    }

    fn key(&self) -> CallKey {
        let StoredTask { run, turn, task, .. } = &self.stored;
        CallKey { run: run.clone(), turn: *turn, index: task.index }
    }

    async fn run(self, held: &HeldTask, stopping: &CancellationToken) -> Done {
        let parts = &self.runner.parts;
        let task = &self.stored.task;
        let Some(registered) = parts.registry.find(task.executed_name.as_str()).cloned() else {
            return Done::Failed(WorkerFault::NotStarted);
        };
        match self.decided(&registered).await {
            Ok(None) => {}
            Ok(Some(done)) => return done,
            Err(error) => {
                tracing::warn!(target: "holdpoint", run = %self.leased.lease.key.run, code = %error.code(), "policy cannot be asked");
                return Done::Failed(WorkerFault::NotStarted);
            }
        }
        // The worker that had it before may have died on this machine, and left its program running.
        if self.leased.task.attempts > Attempt(1) && registered.facts().is_program() {
            end_orphans().await;
        }
        let started = AtomicBool::new(false);
        let span = spans::tool_execute(
            &Span::current(),
            self.leased.lease.key.run.as_str(),
            (&task.tool_call_id, &task.executed_name),
        );
        parts.join_trace(&span, self.stored.trace.as_ref());
        let around = AroundCall::new(Arc::clone(registered.definition()), self.call(&registered, held));
        let lease: Arc<dyn Lease> = Arc::clone(&held.lease) as Arc<dyn Lease>;
        let innermost = |extensions| {
            let call = self.call(&registered, held).with_extensions(extensions);
            self.start(&registered, call, (&lease, &started))
        };
        let hooks = parts.hooks.run(&around, innermost).instrument(span);
        let result = tokio::select! {
            result = hooks => result,
            // What waits in its hooks when the worker stops was not started: somebody else may have it.
            () = stopped(stopping, &started) => return Done::Failed(WorkerFault::NotStarted),
        };
        match result {
            Ok(settlement) => Done::Settled(from_outside(settlement)),
            Err(error) => {
                tracing::warn!(target: "holdpoint", run = %self.leased.lease.key.run, %error, "a hook of a task failed");
                let started = started.load(Ordering::Acquire);
                Done::Failed(if started { WorkerFault::Started } else { WorkerFault::NotStarted })
            }
        }
    }

    /// Inside all hooks: the lease is the intent.
    async fn start(
        &self,
        registered: &RegisteredTool,
        call: ToolCall,
        (lease, started): (&Arc<dyn Lease>, &AtomicBool),
    ) -> Result<Settlement, HookError> {
        let parts = &self.runner.parts;
        let again = started.swap(true, Ordering::AcqRel);
        if again && !self.leased.task.repeat.may_repeat() {
            return Err(HookError::new("a hook ran a call again that may not be repeated"));
        }
        let not_started = |problem: &str| {
            started.store(again, Ordering::Release);
            HookError::new(problem)
        };
        if self.time_left().is_some_and(|left| left.is_zero()) {
            return Err(not_started("the deadline of the task passed before its tool started"));
        }
        let died = |_| HookError::new("a failpoint was reached");
        parts.failpoints.reach(Failpoint::AfterIntent).await.map_err(died)?;
        let settings = &self.stored.settings;
        let invocation = Invocation {
            tool: Arc::clone(registered.tool()),
            call,
            timeout: Duration::from_millis(settings.tool_timeout_ms),
            place: Place::Task,
            output_bytes_max: settings.max_tool_output_bytes,
            error_detail: settings.error_detail,
        };
        let starting = start_attempt(lease, invocation, Asking::Nobody);
        let invoked = match self.time_left() {
            None => starting.await,
            Some(left) => tokio::time::timeout(left, starting).await.unwrap_or_else(|_| Ok(Ok(self.overdue()))),
        };
        let settlement = match invoked {
            Ok(Ok(settlement)) => settlement,
            Ok(Err(Unsettled::Unknown | Unsettled::Asks(_) | Unsettled::NotStarted)) => {
                return Err(HookError::new("the tool does not know what became of the call"));
            }
            Err(NotStarted::LeaseLost) => {
                return Err(not_started("the lease of the task was lost before its tool started"));
            }
            Err(NotStarted::Store(_)) => return Err(not_started("the lease of the task could not be renewed")),
        };
        parts.failpoints.reach(Failpoint::AfterEffect).await.map_err(died)?;
        Ok(settlement)
    }

    fn call(&self, registered: &RegisteredTool, held: &HeldTask) -> ToolCall {
        let StoredTask { task, context, .. } = &self.stored;
        let facts = CallFacts {
            id: task.tool_call_id.clone(),
            key: self.key(),
            requested: task.name.clone(),
            tool: registered.definition().name.clone(),
            arguments: task.arguments.clone(),
            context: Arc::new(context.clone()),
            attempt: self.leased.task.attempts,
            idempotency_key: task.idempotency_key.clone(),
        };
        let deadline = self.time_left().map(|left| Instant::now() + left);
        ToolCall::new(facts).with_cancellation(held.stop.child_token()).with_deadline(deadline)
    }

    fn time_left(&self) -> Option<Duration> {
        let deadline = self.leased.task.deadline?;
        let left_us = deadline.0.saturating_sub(self.runner.store().runs.now().0);
        Some(Duration::from_micros(u64::try_from(left_us).unwrap_or(0)))
    }

    /// What keeps the call from running: the tool is another one by now, or policy says no.
    async fn decided(&self, registered: &RegisteredTool) -> Result<Option<Done>, Error> {
        let StoredTask { task, settings, tool, approved, .. } = &self.stored;
        if has_changed(tool, registered) {
            let refit = match unfit_arguments(registered, &task.arguments) {
                Some(problem) => Refit::Unfit(problem),
                None => Refit::Decided(self.ask_policy().await?),
            };
            return Ok(Some(Done::Changed(Box::new((registered.facts().clone(), refit)))));
        }
        // Policy is asked again when a call goes from waiting to running: a denial counts, and so do terms that nobody met.
        if settings.recheck_policy == Recheck::Off {
            return Ok(None);
        }
        let decision = self.ask_policy().await?;
        let holds = matches!(decision, Decision::Deny(_)) || decision.asks_again(approved.as_ref()).is_some();
        Ok(holds.then_some(Done::Revoked(decision)))
    }

    async fn ask_policy(&self) -> Result<Decision, Error> {
        let StoredTask { run, turn, task, context, .. } = &self.stored;
        let parts = &self.runner.parts;
        let facts = if parts.policy.needs_history() {
            run_facts(parts, &load_run(parts, run).await?, task.index, &[])
        } else {
            RunFacts::new(run.clone(), *turn)
        };
        let request = AuthorizeRequest { tool: &task.executed_name, arguments: &task.arguments, context, run: &facts };
        Ok(parts.policy.authorize(&request).await.0)
    }

    fn overdue(&self) -> Settlement {
        let text = if self.leased.task.repeat.may_repeat() {
            "The call was not done by its deadline."
        } else {
            "The call was not done by its deadline. It may have taken effect."
        };
        settled((Outcome::TimedOut, Code::TimedOut), text.to_owned())
    }
}

/// Ends when the worker stops before the tool started.
async fn stopped(stopping: &CancellationToken, started: &AtomicBool) {
    stopping.cancelled().await;
    if started.load(Ordering::Acquire) {
        std::future::pending::<()>().await;
    }
}

/// What a tool gave here came from outside for the run; what a hook gave is a hook's.
fn from_outside(mut settlement: Settlement) -> Settlement {
    if settlement.source == Some(Source::Tool) {
        settlement.source = Some(Source::External);
    }
    settlement
}

fn settled((outcome, code): (Outcome, Code), text: String) -> Settlement {
    Settlement { outcome, code: Some(code), source: None, result: Arc::new(ToolResult::error(text)), latency_us: 0 }
}

fn unreadable() -> Settlement {
    settled(
        (Outcome::Failed, Code::ExecutorFailed),
        "The worker could not read the call. It was not executed.".to_owned(),
    )
}
