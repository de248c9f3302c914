//! Tasks as workers see them, whichever language they are written in: lease, heartbeat, complete, fail.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_codec::decode_event;
use holdpoint_codec::tasks::{decode_delivery, encode_delivery};
use holdpoint_core::{
    AfterLoss, Attempt, Call, CallIndex, CallKey, CallState, Event, Fence, Input, LossCause, Outcome, Rejection,
    Revision, Settlement, Source, Status, TaskLate, TaskLost, ToolResult, task_loss,
};
use holdpoint_store::{
    DeliveredTask, LeaseRequest, LeaseState, LeasedTask, Release, Scope, Store, StoreError, TaskCompletion, TaskGuard,
    TaskHead, TaskLease, TaskState,
};
use holdpoint_tools::limit_output;

use crate::background::patience::Patience;
use crate::driver::{Guards, load_run};
use crate::entry::point::{Entry, EntryPoint, Then, end_orphans};
use crate::{Error, Runner};

/// How many results may wait in the background for a store that is out of reach.
const BACKGROUND_RESULTS_MAX: usize = 1_024;

/// What a worker says when it could not do a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    fn of(holder: &TaskHolder, settlement: &Settlement) -> Self {
        let TaskHolder { lease, attempt, worker } = holder.clone();
        Self { key: lease.key, attempt, worker, result: Arc::clone(&settlement.result) }
    }
}

/// The leases whose results wait in the background for a store that is out of reach, each once.
#[derive(Debug, Default)]
pub(crate) struct BackgroundResults(Mutex<HashSet<TaskLease>>);

/// While it lives, a result waits in the background.
struct WaitingResult {
    waiting: Arc<BackgroundResults>,
    lease: TaskLease,
}

impl BackgroundResults {
    /// Nothing if a result of this lease waits already, or too many do.
    fn enter(self: &Arc<Self>, lease: &TaskLease) -> Option<WaitingResult> {
        let mut leases = self.leases();
        if leases.len() >= BACKGROUND_RESULTS_MAX && !leases.contains(lease) {
            let CallKey { run, index: call, .. } = &lease.key;
            tracing::error!(target: "holdpoint", %run, %call, "result dropped: too many results wait for the store");
            return None;
        }
        let is_new = leases.insert(lease.clone());
        is_new.then(|| WaitingResult { waiting: Arc::clone(self), lease: lease.clone() })
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, HashSet<TaskLease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingResult {
    fn drop(&mut self) {
        self.waiting.leases().remove(&self.lease);
    }
}

/// What became of a result that a worker brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// The run collects it, or has.
    Accepted,
    /// The call has another result, or is not this worker's any more.
    TooLate,
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
    fn store(&self) -> &Store {
        self.runner.store()
    }

    /// Takes tasks. From now on each may have taken effect: what is not completed, failed or prolonged in time is in doubt.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, Error> {
        Ok(self.store().tasks.lease(request).await?)
    }

    /// Prolongs leases; one answer for each, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, Error> {
        Ok(self.store().tasks.heartbeat(leases, lease_ms).await?)
    }

    /// Delivers the result of a task. The run takes it as soon as somebody who looks after its agent is there.
    ///
    /// # Errors
    /// `lease_lost` when somebody else has the task by now, or nobody needs it any more. The result is then never merged;
    /// it is attached to the question about the call, if there is one.
    pub async fn complete(&self, holder: &TaskHolder, result: ToolResult) -> Result<(), Error> {
        let result = limit_output(result, self.runner.parts.settings.max_tool_output_bytes);
        let (outcome, code) = Outcome::of_result(&result);
        let source = Some(Source::External);
        let settlement = Settlement { outcome, code, source, result: Arc::new(result), latency_us: 0 };
        self.settle(holder, settlement, Patience::new()).await
    }

    /// Delivers how a task ended. Tries again while the store is out of reach, in the background when patience is over: the
    /// tool has run, so its result must not get lost.
    pub(crate) async fn settle(
        &self,
        holder: &TaskHolder,
        settlement: Settlement,
        patience: Patience,
    ) -> Result<(), Error> {
        match self.settle_within(&holder.lease, &settlement, patience).await {
            Ok(Settled::Accepted) => Ok(()),
            Ok(Settled::TooLate) => {
                if self.keep_late(LateResult::of(holder, &settlement), Patience::new()).await.is_err() {
                    self.settle_in_background(holder, settlement);
                }
                Err(Rejection::LeaseLost.into())
            }
            Err(error) => {
                self.settle_in_background(holder, settlement);
                Err(error)
            }
        }
    }

    fn settle_in_background(&self, holder: &TaskHolder, settlement: Settlement) {
        let waiting = &self.runner.parts.background_results;
        let Some(waits) = BackgroundResults::enter(waiting, &holder.lease) else { return };
        let (queue, holder) = (self.clone(), holder.clone());
        tokio::spawn(async move {
            let settled = queue.settle_within(&holder.lease, &settlement, Patience::for_result()).await;
            let kept = match settled {
                Ok(Settled::Accepted) => Ok(()),
                Ok(Settled::TooLate) => {
                    queue.keep_late(LateResult::of(&holder, &settlement), Patience::for_result()).await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                let CallKey { run, index: call, .. } = &holder.lease.key;
                tracing::error!(target: "holdpoint", %run, %call, code = %error.code(), "result dropped: the store stayed out of reach");
            }
            drop(waits);
        });
    }

    /// An error means that nothing is known of the result when patience is over.
    async fn settle_within(
        &self,
        lease: &TaskLease,
        settlement: &Settlement,
        mut patience: Patience,
    ) -> Result<Settled, Error> {
        loop {
            match self.try_settle(lease, settlement).await {
                // Whatever is wrong with the store may pass.
                Err(Error::Store(error)) => {
                    if !patience.wait().await {
                        return Err(error.into());
                    }
                }
                tried => return tried,
            }
        }
    }

    async fn try_settle(&self, lease: &TaskLease, settlement: &Settlement) -> Result<Settled, Error> {
        let known = match self.store().tasks.complete(lease, encode_delivery(settlement)).await? {
            TaskCompletion::Stored => return Ok(Settled::Accepted),
            TaskCompletion::Present => self.delivered(lease).await?,
            TaskCompletion::LeaseLost => None,
        };
        let known = match known {
            Some(known) => Some(known),
            None => match self.ended(lease).await? {
                Some(TaskEnd::Completed(known)) => Some(known),
                Some(TaskEnd::Lost) | None => None,
            },
        };
        let is_known = known.is_some_and(|known| known.same_as(&settlement.result));
        Ok(if is_known { Settled::Accepted } else { Settled::TooLate })
    }

    /// The result under a lease that the run has not collected.
    async fn delivered(&self, lease: &TaskLease) -> Result<Option<Arc<ToolResult>>, Error> {
        let delivered = self.store().tasks.completed(&lease.key.run).await?;
        let ours = |task: &TaskHead| {
            task.key == lease.key && matches!(task.state, TaskState::Delivered { fence, .. } if fence == lease.fence)
        };
        let Some(DeliveredTask { result, .. }) = delivered.into_iter().find(|delivered| ours(&delivered.task)) else {
            return Ok(None);
        };
        Ok(Some(decode_delivery(&result)?.result))
    }

    /// How the run recorded the end of a lease, if it did. A try whose outcome was unknown may have succeeded, and the run may
    /// have collected the result since.
    async fn ended(&self, lease: &TaskLease) -> Result<Option<TaskEnd>, Error> {
        let records = match self.store().runs.load(&Scope::All, &lease.key.run, Revision(0)).await {
            Ok(records) => records,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut events = Vec::with_capacity(records.len());
        for record in &records {
            events.push(decode_event(&record.body)?.event);
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

    /// Attaches a late result to the question about its call, if there is one. Waits while somebody may yet be asked, or the
    /// store is out of reach. An error means that neither had ended when patience was over.
    pub(crate) async fn keep_late(&self, late: LateResult, mut patience: Patience) -> Result<(), Error> {
        let LateResult { key, attempt, worker, result } = late;
        let CallKey { run, turn, index: call } = key.clone();
        let input = Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result }));
        let entry = Entry::left(EntryPoint::known(&run, input));
        loop {
            let error = match self.tell(&entry).await {
                Ok(()) => {
                    tracing::info!(target: "holdpoint", %run, %call, "late result kept as evidence");
                    return Ok(());
                }
                Err(error) => error,
            };
            let waits = match &error {
                Error::Store(StoreError::NotFound { .. }) => false,
                Error::Store(_) => true,
                Error::Rejected(Rejection::LeaseLost) => self.may_be_asked(&key).await,
                _ => false,
            };
            if !waits {
                tracing::warn!(target: "holdpoint", %run, %call, "late result dropped: the call has no open question");
                return Ok(());
            }
            if !patience.wait().await {
                return Err(error);
            }
        }
    }

    /// Whether the run is driven, and a person may yet be asked about this call.
    async fn may_be_asked(&self, key: &CallKey) -> bool {
        match load_run(&self.runner.parts, &key.run).await {
            Ok(run) => {
                let is_open = |call: &Call| !matches!(call.state, CallState::Settled(_));
                run.status() == Status::Running && run.turn() == key.turn && run.call(key.index).is_some_and(is_open)
            }
            Err(Error::Store(StoreError::NotFound { .. })) => false,
            Err(_) => true,
        }
    }

    /// Says that a task was not done.
    ///
    /// # Errors
    /// `lease_lost` when the lease is not the current one.
    pub async fn fail(&self, lease: &TaskLease, fault: WorkerFault) -> Result<(), Error> {
        let task = self.store().tasks.find(&Scope::All, &lease.key).await?;
        let held = |task: &&TaskHead| matches!(task.state, TaskState::Leased { fence, .. } if fence == lease.fence);
        let Some(task) = task.as_ref().filter(held) else {
            // The same report again, whose acknowledgement was lost.
            let known = match fault {
                WorkerFault::Started => matches!(self.ended(lease).await?, Some(TaskEnd::Lost)),
                WorkerFault::NotStarted => matches!(task, Some(TaskHead { state: TaskState::Waiting { .. }, .. })),
            };
            return if known { Ok(()) } else { Err(Rejection::LeaseLost.into()) };
        };
        match fault {
            WorkerFault::NotStarted => self.release(lease, Release::Unstarted).await,
            WorkerFault::Started => self.lost(task, LossCause::WorkerFailed, Then::Leave).await,
        }
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<(), Error> {
        match self.store().tasks.release(lease, how).await? {
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
        if lapsed {
            end_orphans().await;
        }
        let past = task.deadline.is_some_and(|deadline| deadline <= self.store().runs.now());
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
        let (run, input) = (task.key.run.clone(), Input::TaskLost(TaskLost { lease, cause }));
        self.tell(&Entry { then, ..Entry::from(EntryPoint::Known { run, input, guards }) }).await
    }

    /// Tells the run why a task was not started. One that is driven right now hears of it when it pauses.
    pub(crate) async fn withhold(&self, leased: &LeasedTask, input: Input) -> Result<(), Error> {
        let TaskHead { key, state, .. } = &leased.task;
        let TaskState::Leased { fence, .. } = state else { return Err(Rejection::LeaseLost.into()) };
        let guards = Guards::only((key.turn, key.index), TaskGuard::Leased(*fence));
        let entry = Entry::left(EntryPoint::Known { run: key.run.clone(), input, guards });
        let mut patience = Patience::new();
        loop {
            match self.tell(&entry).await {
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
        let task = self.store().tasks.find(&Scope::All, &lease.key).await?;
        Ok(task.is_some_and(|task| matches!(task.state, TaskState::Leased { fence, .. } if fence == lease.fence)))
    }

    async fn tell(&self, entry: &Entry) -> Result<(), Error> {
        self.runner.enter(entry, None).await.map(drop)
    }
}
