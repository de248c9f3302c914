//! One task: receipt, policy once more, hooks, tool, delivery.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::receipt::{ReceiptClaim, ReceiptKeys, ReceiptProblem};
use holdpoint_codec::tasks::{StoredTask, decode_task};
use holdpoint_core::{
    Attempt, CallKey, ClockReading, Code, Decision, Input, Outcome, Recheck, Refit, Rejection, Settlement, Source,
    TaskRevoked, ToolChanged,
};
use holdpoint_policy::{AuthorizeRequest, RunFacts};
use holdpoint_store::{LeasedTask, TaskHead, TaskLease, TaskState};
use holdpoint_tools::{Asking, CallFacts, Place, RegisteredTool, ToolCall};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::{Bench, Ended, HeldTask};
use crate::background::patience::Patience;
use crate::background::queue::{Queue, TaskHolder, WorkerFault};
use crate::call::lease::{Lease, NotStarted, TaskHold};
use crate::call::perform::{NoPermit, Performed, Permit, Permitted, Progress, ReadyCall, not_executed};
use crate::driver::{has_changed, load_run, run_facts, unfit_arguments};
use crate::entry::point::end_orphans;
use crate::events::spans;
use crate::{Error, Runner};

/// How a task ended here.
enum Done {
    /// With something to deliver.
    Settled(Settlement),
    /// Not started, and the run is told why: policy denies it by now or wants people to say more than they said, or the tool is
    /// another one by now.
    Withheld(Box<Input>),
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
        let hold = TaskHold::new(&bench.store, &bench.clock, leased, bench.lease_ms(), sent);
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
            Done::Withheld(input) => queue.withhold(&leased, *input).await,
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
        match assignment.admitted().await {
            Ok(_) => return Ok(Some(leased)),
            Err(Done::Withheld(input)) => queue.withhold(&leased, *input).await?,
            Err(Done::Settled(_) | Done::Failed(_)) => queue.fail(&leased.lease, WorkerFault::NotStarted).await?,
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
        let text = "The worker could not verify that this call may run. It was not executed.";
        Done::Settled(not_executed(Outcome::Failed, Code::ReceiptInvalid, text))
    }

    fn key(&self) -> CallKey {
        let StoredTask { run, turn, task, .. } = &self.stored;
        CallKey { run: run.clone(), turn: *turn, index: task.index }
    }

    async fn run(self, held: &HeldTask, stopping: &CancellationToken) -> Done {
        let parts = &self.runner.parts;
        let registered = match self.admitted().await {
            Ok(registered) => registered,
            Err(done) => return done,
        };
        // The worker that had it before may have died on this machine, and left its program running.
        if self.leased.task.attempts > Attempt(1) && registered.facts().is_program() {
            end_orphans().await;
        }
        let ready = ReadyCall {
            parts,
            settings: &self.stored.settings,
            tool: &registered,
            call: self.call(&registered, held),
            repeat: self.leased.task.repeat,
            place: Place::Task,
            asking: Asking::Nobody,
            lease: Arc::clone(&held.lease) as Arc<dyn Lease>,
            progress: Progress::default(),
        };
        let span = spans::tool_execute(&Span::current(), &ready.call);
        parts.join_trace(&span, self.stored.trace.as_ref());
        let (halts, mut halted) = mpsc::unbounded_channel();
        let permit = LeasedIntent { assignment: &self, halts };
        let fault = || if ready.progress.has_started() { WorkerFault::Started } else { WorkerFault::NotStarted };
        let performed = tokio::select! {
            performed = ready.perform(&permit, span) => performed,
            Some(_) = halted.recv() => return Done::Failed(fault()),
            // A call that waits in its hooks when the worker stops was not started: another worker may take it.
            () = stopped(stopping, &ready.progress) => return Done::Failed(WorkerFault::NotStarted),
        };
        match performed {
            Performed::Settled { settlement, .. } => Done::Settled(from_outside(settlement)),
            Performed::Stopped { last: Some(ended) } => Done::Settled(from_outside(ended.settlement)),
            Performed::Stopped { last: None } | Performed::Revoked | Performed::Unfinished(..) => Done::Failed(fault()),
            Performed::HookFailed { error, .. } => {
                tracing::warn!(target: "holdpoint", run = %self.leased.lease.key.run, %error, "a hook of a task failed");
                Done::Failed(fault())
            }
        }
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

    /// The tool of the call, if it is here and nothing keeps the call from running.
    async fn admitted(&self) -> Result<Arc<RegisteredTool>, Done> {
        let name = self.stored.task.executed_name.as_str();
        let Some(registered) = self.runner.parts.registry.find(name) else {
            return Err(Done::Failed(WorkerFault::NotStarted));
        };
        match self.objection(registered).await {
            Ok(None) => Ok(Arc::clone(registered)),
            Ok(Some(input)) => Err(Done::Withheld(Box::new(input))),
            Err(error) => {
                tracing::warn!(target: "holdpoint", run = %self.leased.lease.key.run, code = %error.code(), "policy cannot be asked");
                Err(Done::Failed(WorkerFault::NotStarted))
            }
        }
    }

    /// What keeps the call from running: the tool is another one by now, or policy says no.
    async fn objection(&self, registered: &RegisteredTool) -> Result<Option<Input>, Error> {
        let StoredTask { task, settings, tool, approved, .. } = &self.stored;
        if has_changed(tool, registered) {
            let refit = match unfit_arguments(registered, &task.arguments) {
                Some(problem) => Refit::Unfit(problem),
                None => Refit::Decided(self.ask_policy().await?),
            };
            let TaskHead { key, attempts, .. } = &self.leased.task;
            let (tool, task) = (registered.facts().clone(), Some((key.turn, *attempts)));
            return Ok(Some(Input::ToolChanged(Box::new(ToolChanged { call: key.index, task, tool, refit }))));
        }
        // Policy is asked again when a call goes from waiting to running: a denial counts, and so do terms that nobody met.
        if settings.recheck_policy == Recheck::Off {
            return Ok(None);
        }
        let decision = self.ask_policy().await?;
        if !matches!(decision, Decision::Deny(_)) && decision.asks_again(approved.as_ref()).is_none() {
            return Ok(None);
        }
        let lease = self.leased.task.lease().ok_or(Rejection::LeaseLost)?;
        Ok(Some(Input::TaskRevoked(TaskRevoked { lease, decision })))
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
}

/// A worker's permit: the lease of the task is the intent.
struct LeasedIntent<'a> {
    assignment: &'a Assignment<'a>,
    halts: mpsc::UnboundedSender<NotStarted>,
}

#[async_trait]
impl Permit for LeasedIntent<'_> {
    async fn obtain(&self, _after: Option<Attempt>) -> Result<Permitted, NoPermit> {
        let leased = self.assignment.leased;
        let left = self.assignment.time_left();
        if left.is_some_and(|left| left.is_zero()) {
            tracing::info!(target: "holdpoint", run = %leased.lease.key.run, "the deadline of a task passed before its tool started");
            return Err(NoPermit::Stop);
        }
        Ok(Permitted { attempt: leased.task.attempts, deadline: left.map(|left| Instant::now() + left) })
    }

    fn halted(&self, problem: NotStarted) {
        // The worker stopped and reads no halt any more.
        let _ = self.halts.send(problem);
    }
}

/// Ends when the worker stops before the tool started.
async fn stopped(stopping: &CancellationToken, progress: &Progress) {
    stopping.cancelled().await;
    if progress.has_started() {
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

fn unreadable() -> Settlement {
    let text = "The worker could not read the call. It was not executed.";
    not_executed(Outcome::Failed, Code::ExecutorFailed, text)
}
