//! Tasks as workers see them, whichever language they are written in: lease, heartbeat, complete, fail.

use std::sync::Arc;

use holdpoint_codec::decode_event;
use holdpoint_codec::tasks::encode_delivery;
use holdpoint_core::{
    AfterLoss, Attempt, CallIndex, CallKey, Decision, Event, Fence, Input, LossCause, Outcome, Refit, Rejection,
    Revision, RunId, Settlement, Source, Status, TaskLate, TaskLost, TaskRevoked, ToolChanged, ToolFacts, ToolResult,
    task_loss,
};
use holdpoint_store::{
    LeaseRequest, LeaseState, LeasedTask, Release, Store, StoreError, TaskGuard, TaskHead, TaskLease, TaskState,
};
use holdpoint_tools::limit_output;

use crate::driver::Guards;
use crate::opening::{Opening, QueueFinding, Then};
use crate::patience::Patience;
use crate::{Error, Runner};

/// What a worker says when it could not do a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerFault {
    /// It had not started: anybody may have the task at once, and the attempt does not count.
    NotStarted,
    /// It had started: what the tool says about repetition decides.
    Started,
}

/// A worker and the lease that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHolder {
    /// The lease.
    pub lease: TaskLease,
    /// Which attempt of the call it is.
    pub attempt: Attempt,
    /// Who has it, as people see it.
    pub worker: Arc<str>,
}

impl TaskHolder {
    /// The holder of a task that was just leased.
    pub fn of(leased: &LeasedTask, worker: &Arc<str>) -> Self {
        Self { lease: leased.lease.clone(), attempt: leased.task.attempts, worker: Arc::clone(worker) }
    }
}

/// A result whose process no longer holds its call.
#[derive(Clone, Debug)]
pub(crate) struct LateResult {
    pub(crate) key: CallKey,
    pub(crate) attempt: Attempt,
    pub(crate) worker: Arc<str>,
    pub(crate) result: Arc<ToolResult>,
}

impl LateResult {
    fn of(holder: &TaskHolder, settlement: Settlement) -> Self {
        let TaskHolder { lease, attempt, worker } = holder.clone();
        Self { key: lease.key, attempt, worker, result: settlement.result }
    }
}

/// How the run recorded the end of a lease.
#[derive(Debug)]
enum TaskEnd {
    /// With the worker's result.
    Completed(Arc<ToolResult>),
    /// Without one: a person is asked, or it was too late.
    Lost,
}

/// The queue of deferred calls, as one worker uses it.
#[derive(Clone, Debug)]
pub struct Queue {
    runner: Runner,
}

impl Runner {
    /// The queue of calls that this runner's agent hands out.
    pub fn queue(&self) -> Queue {
        Queue { runner: self.clone() }
    }
}

impl Queue {
    fn store(&self) -> &Arc<dyn Store> {
        self.runner.store()
    }

    /// Takes tasks. From now on each may have taken effect: what is not completed, failed or prolonged in time is in doubt.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, Error> {
        Ok(self.store().lease(request).await?)
    }

    /// Prolongs leases; one answer for each, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, Error> {
        Ok(self.store().heartbeat(leases, lease_ms).await?)
    }

    /// Delivers the result of a task. The run takes it as soon as somebody who looks after its agent is there.
    ///
    /// # Errors
    /// `lease_lost` when somebody else has the task by now, or nobody needs it any more. The result is then never merged;
    /// it is attached to the question about the call, if there is one.
    pub async fn complete(&self, holder: &TaskHolder, result: ToolResult) -> Result<(), Error> {
        let result = limit_output(result, self.runner.parts.settings.tool_output_bytes_max);
        let (outcome, code) = Outcome::of_result(&result);
        let source = Some(Source::External);
        self.settle(holder, Settlement { outcome, code, source, result: Arc::new(result), latency_us: 0 }).await
    }

    /// Delivers how a task ended. Tries again while the store is out of reach.
    pub(crate) async fn settle(&self, holder: &TaskHolder, settlement: Settlement) -> Result<(), Error> {
        let delivery = encode_delivery(&settlement);
        let mut patience = Patience::new();
        let state = loop {
            match self.store().deliver(&holder.lease, delivery.clone()).await {
                Ok(state) => break state,
                // The tool has already run: whatever is wrong with the store may pass, its result must not get lost.
                Err(error) => {
                    if !patience.wait().await {
                        self.keep_late_in_background(holder, settlement);
                        return Err(error.into());
                    }
                }
            }
        };
        if state == LeaseState::Held {
            return Ok(());
        }
        match self.ended(&holder.lease).await? {
            Some(TaskEnd::Completed(known)) if known.same_as(&settlement.result) => return Ok(()),
            Some(TaskEnd::Completed(_) | TaskEnd::Lost) | None => {}
        }
        self.keep_late(LateResult::of(holder, settlement), Patience::new()).await;
        Err(Rejection::LeaseLost.into())
    }

    fn keep_late_in_background(&self, holder: &TaskHolder, settlement: Settlement) {
        let (queue, late) = (self.clone(), LateResult::of(holder, settlement));
        tokio::spawn(async move { queue.keep_late(late, Patience::for_result()).await });
    }

    /// How the run recorded the end of a lease, if it did. A try whose outcome was unknown may have succeeded, and the run may
    /// have collected the result since.
    async fn ended(&self, lease: &TaskLease) -> Result<Option<TaskEnd>, Error> {
        let records = match self.store().load(&lease.key.run, Revision(0)).await {
            Ok(records) => records,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut events = Vec::with_capacity(records.len());
        for record in &records {
            events.push(decode_event(&record.body)?);
        }
        // The tasks of one lease request share its fence; a call is in it once.
        let is_ours = |call: CallIndex, fence: Fence| call == lease.key.index && fence == lease.fence;
        let taken = |event: &Event| matches!(event, Event::TaskTaken { call, fence, .. } if is_ours(*call, *fence));
        let after = events.iter().position(taken).and_then(|taken| events.get(taken + 1));
        Ok(after.and_then(|event| match event {
            Event::ToolEnded { settlement, .. } => Some(TaskEnd::Completed(Arc::clone(&settlement.result))),
            Event::CallDoubted { .. } | Event::CallExpired { .. } => Some(TaskEnd::Lost),
            _ => None,
        }))
    }

    /// Attaches a late result to the question about its call. Waits while the run is driven or the store is out of reach.
    pub(crate) async fn keep_late(&self, late: LateResult, mut patience: Patience) {
        let LateResult { key, attempt, worker, result } = late;
        let CallKey { run, turn, index: call } = key;
        let input = Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result }));
        let finding = QueueFinding { run: run.clone(), input, guards: Guards::none(), then: Then::Leave };
        loop {
            let waits = match self.tell(finding.clone()).await {
                Ok(()) => {
                    tracing::info!(target: "holdpoint", %run, %call, "late result kept as evidence");
                    return;
                }
                Err(Error::Store(_)) => true,
                Err(Error::Rejected(Rejection::LeaseLost)) => self.is_driven(&run).await,
                Err(_) => false,
            };
            if !waits || !patience.wait().await {
                tracing::warn!(target: "holdpoint", %run, %call, "late result dropped: the call has no open question");
                return;
            }
        }
    }

    async fn is_driven(&self, run: &RunId) -> bool {
        match self.store().head(run).await {
            Ok(head) => head.is_some_and(|head| head.status == Status::Running),
            Err(_) => true,
        }
    }

    /// Says that a task was not done.
    ///
    /// # Errors
    /// `lease_lost` when the lease is not the current one.
    pub async fn fail(&self, lease: &TaskLease, fault: WorkerFault) -> Result<(), Error> {
        let task = self.store().task(&lease.key).await?;
        let held = task.filter(|task| matches!(task.state, TaskState::Leased { fence, .. } if fence == lease.fence));
        let Some(task) = held else {
            // The same report again, whose acknowledgement was lost.
            let known = fault == WorkerFault::Started && matches!(self.ended(lease).await?, Some(TaskEnd::Lost));
            return if known { Ok(()) } else { Err(Rejection::LeaseLost.into()) };
        };
        match fault {
            WorkerFault::NotStarted => self.release(lease, Release::Unstarted).await,
            WorkerFault::Started => self.lost(&task, LossCause::WorkerFailed, Then::Leave).await,
        }
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<(), Error> {
        match self.store().release(lease, how).await? {
            LeaseState::Held => Ok(()),
            LeaseState::Lost => Err(Rejection::LeaseLost.into()),
        }
    }

    /// A task was started and will have no result: it is tried again, or a person is asked.
    pub(crate) async fn lost(&self, task: &TaskHead, cause: LossCause, then: Then) -> Result<(), Error> {
        let lease = task.lease().ok_or(Rejection::LeaseLost)?;
        let fence = lease.fence;
        let (guard, lapsed) = match cause {
            LossCause::LeaseLapsed => (TaskGuard::Lapsed(fence), true),
            LossCause::WorkerFailed | LossCause::OutOfAttempts => (TaskGuard::Leased(fence), false),
        };
        let past = task.deadline.is_some_and(|deadline| deadline <= self.store().now());
        let cause = match task_loss(task.repeat, task.attempts, task.attempts_max) {
            AfterLoss::Retry { delay_ms } if !past => {
                let lease = TaskLease { key: task.key.clone(), fence };
                let how = if lapsed { Release::Lapsed { delay_ms } } else { Release::Retry { delay_ms } };
                return self.release(&lease, how).await;
            }
            AfterLoss::Retry { .. } => cause,
            AfterLoss::Ask(LossCause::OutOfAttempts) => LossCause::OutOfAttempts,
            AfterLoss::Ask(LossCause::LeaseLapsed | LossCause::WorkerFailed) => cause,
        };
        let guards = Guards::only((lease.turn, lease.call), guard);
        let run = task.key.run.clone();
        self.tell(QueueFinding { run, input: Input::TaskLost(TaskLost { lease, cause }), guards, then }).await
    }

    /// Policy said no when the worker was about to start.
    pub(crate) async fn revoke(&self, leased: &LeasedTask, decision: Decision) -> Result<(), Error> {
        let lease = leased.task.lease().ok_or(Rejection::LeaseLost)?;
        let input = Input::TaskRevoked(TaskRevoked { lease, decision });
        self.unstarted(leased, input).await
    }

    /// The tool was another one when the worker was about to start.
    pub(crate) async fn changed(&self, leased: &LeasedTask, (tool, refit): (ToolFacts, Refit)) -> Result<(), Error> {
        let TaskHead { key, attempts, .. } = &leased.task;
        let task = Some((key.turn, *attempts));
        let input = Input::ToolChanged(Box::new(ToolChanged { call: key.index, task, tool, refit }));
        self.unstarted(leased, input).await
    }

    /// Tells the run why a task was not started. One that is driven right now hears of it when it pauses.
    async fn unstarted(&self, leased: &LeasedTask, input: Input) -> Result<(), Error> {
        let TaskHead { key, state, .. } = &leased.task;
        let TaskState::Leased { fence, .. } = state else { return Err(Rejection::LeaseLost.into()) };
        let guards = Guards::only((key.turn, key.index), TaskGuard::Leased(*fence));
        let finding = QueueFinding { run: key.run.clone(), input, guards, then: Then::Leave };
        let mut patience = Patience::new();
        loop {
            match self.tell(finding.clone()).await {
                Err(Error::Rejected(Rejection::LeaseLost)) if self.holds(&leased.lease).await? => {}
                Err(Error::Store(error)) if error.may_pass() => {}
                told => return told,
            }
            if !patience.wait().await {
                return self.release(&leased.lease, Release::Unstarted).await;
            }
        }
    }

    async fn holds(&self, lease: &TaskLease) -> Result<bool, Error> {
        let task = self.store().task(&lease.key).await?;
        Ok(task.is_some_and(|task| matches!(task.state, TaskState::Leased { fence, .. } if fence == lease.fence)))
    }

    async fn tell(&self, finding: QueueFinding) -> Result<(), Error> {
        self.runner.open(Opening::Queue(Box::new(finding)), None).await.map(drop)
    }
}
