//! Hands calls to the executor and listens to what becomes of them.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::{
    Attempt, CallIndex, CallKey, CallState, Code, Deferred, HookFailed, Input, Outcome, Rejection, Returned,
    Settlement, Source, Step,
};
use holdpoint_tools::{Batch, BatchCall};
use tokio::sync::{mpsc, oneshot};

use super::run_one::{AuthorizedCall, Calls, Report};
use super::{Cancelled, Driver, Interrupted};
use crate::Error;
use crate::background::queue::LateResult;
use crate::call::lease::{Lease, NotStarted};
use crate::call::perform::{NoPermit, not_executed};

/// What a wave knows of its calls beyond the run's state.
#[derive(Default)]
struct Wave {
    /// Calls that asked to start and wait for their intent to be durable.
    waiting: HashMap<CallIndex, oneshot::Sender<Result<Attempt, NoPermit>>>,
    /// Calls whose hook went away while they waited: their tools did not start, and will not.
    abandoned: HashSet<CallIndex>,
    /// Calls that were started and have no result: they run again, or a person is asked.
    unfinished: HashSet<CallIndex>,
}

impl Wave {
    fn permit(&mut self, call: CallIndex, attempt: Attempt) {
        let Some(reply) = self.waiting.remove(&call) else { return };
        if reply.send(Ok(attempt)).is_err() {
            self.abandoned.insert(call);
        }
    }

    /// Whether a call that ended has an attempt that nobody started.
    fn is_abandoned(&mut self, call: CallIndex) -> bool {
        let closed = self.waiting.get(&call).is_some_and(oneshot::Sender::is_closed);
        self.abandoned.remove(&call) || (closed && self.waiting.remove(&call).is_some())
    }
}

impl Driver {
    /// Runs a wave of calls to its end, or until the run is cancelled.
    pub(super) async fn execute(&mut self, calls: Vec<CallIndex>) -> Result<Cancelled, Interrupted> {
        if self.take_changes(&calls).await? {
            self.conductor.executor_ended();
            return Ok(Cancelled::No);
        }
        // Hooks are other people's code: they run for what is durable only, and never for a resume that somebody else won.
        if !self.parts.hooks.is_empty() && !self.conductor.outbox().is_empty() {
            self.commit().await?;
            if !self.conductor.is_executing() {
                return Ok(Cancelled::No);
            }
        }
        let started = Instant::now();
        let (reports, mut inbox) = mpsc::unbounded_channel();
        let mut executor = self.executor(&calls, reports)?;
        let outcome = self.run_wave(&calls, &mut executor, &mut inbox).await;
        self.meter.spent.durations.tools += started.elapsed();
        // What ended while this process lost the run is evidence for whoever is asked about it.
        while let Ok(report) = inbox.try_recv() {
            match report {
                Report::End { call, attempt, settlement } => self.note_unsaved(call, attempt, &settlement),
                Report::HookFailed { call, returned: Some(returned), .. } => {
                    self.note_unsaved(call, returned.attempt, &returned.settlement);
                }
                Report::HookFailed { returned: None, .. }
                | Report::Begin { .. }
                | Report::Defer { .. }
                | Report::Unfinished(_)
                | Report::Halted(_) => {}
            }
        }
        if outcome.is_err() {
            self.keep_results();
        }
        outcome
    }

    async fn run_wave(
        &mut self,
        calls: &[CallIndex],
        mut executor: &mut BoxFuture<'static, ()>,
        inbox: &mut mpsc::UnboundedReceiver<Report>,
    ) -> Result<Cancelled, Interrupted> {
        let mut wave = Wave::default();
        // The first poll makes the executor start what it can, so that the intents share the commit of the reply.
        let mut ended = (&mut executor).now_or_never().is_some();
        loop {
            while let Ok(report) = inbox.try_recv() {
                self.take(report, &mut wave)?;
            }
            if ended {
                self.conductor.executor_ended();
                self.settle_left(calls, &wave)?;
                return Ok(Cancelled::No);
            }
            match self.conductor.next() {
                Step::Commit => self.commit().await?,
                Step::Start(intents) => {
                    for (call, attempt) in intents {
                        wave.permit(call, attempt);
                    }
                }
                Step::Wait => tokio::select! {
                    biased;
                    () = self.live.token().cancelled() => return Ok(Cancelled::Yes),
                    // An executor may let go of its batch before it ends.
                    Some(report) = inbox.recv() => self.take(report, &mut wave)?,
                    () = &mut executor => ended = true,
                    () = self.lost() => return Ok(Cancelled::Yes),
                    // What waits in its hooks has not started, and does not start here any more.
                    () = self.parts.stopping.on(), if !self.runs_any(calls) => {
                        self.conductor.executor_ended();
                        return Ok(Cancelled::No);
                    }
                },
                // Somebody cancelled the run, and the commit saw it: the main loop does the rest.
                Step::CallModel { .. }
                | Step::Authorize { .. }
                | Step::Execute { .. }
                | Step::Pause { .. }
                | Step::Finish { .. } => return Ok(Cancelled::No),
            }
        }
    }

    fn executor(
        &self,
        indices: &[CallIndex],
        reports: mpsc::UnboundedSender<Report>,
    ) -> Result<BoxFuture<'static, ()>, Interrupted> {
        let run = self.conductor.run();
        let settings = run.settings();
        let executor = self.parts.executors.choose(&settings.executor).map_err(Error::from)?;
        let last = indices.iter().map(|index| index.as_usize() + 1).max().unwrap_or(0);
        let mut calls: Vec<Option<AuthorizedCall>> = (0..last).map(|_| None).collect();
        for index in indices {
            calls[index.as_usize()] = AuthorizedCall::new(&self.parts, run, *index, self.context());
        }
        let batch_calls: Vec<BatchCall> = indices.iter().filter_map(|index| self.batch_call(*index)).collect();
        let run_one = Calls {
            parts: Arc::clone(&self.parts),
            context: Arc::clone(self.context()),
            settings: Arc::clone(settings),
            calls,
            cancellation: self.live.token().child_token(),
            live: self.listeners.live(),
            lease: Arc::clone(&self.lease) as Arc<dyn Lease>,
            span: self.turn.1.clone(),
            reports,
        };
        let batch = Batch::new(batch_calls, &settings.executor, Arc::new(run_one));
        let guarded = AssertUnwindSafe(async move { executor.execute(batch).await });
        Ok(Box::pin(guarded.catch_unwind().map(|ended| {
            if ended.is_err() {
                tracing::error!(target: "holdpoint", "an executor panicked");
            }
        })))
    }

    fn batch_call(&self, index: CallIndex) -> Option<BatchCall> {
        let facts = self.conductor.run().call(index)?.tool.as_ref()?;
        let registered = self.parts.registry.find(facts.name.as_str());
        let parallelizable = registered.and_then(|tool| tool.definition().metadata.parallelizable);
        Some(BatchCall { index, tool: facts.name.clone(), parallelizable, source: Arc::clone(&facts.source) })
    }

    fn take(&mut self, report: Report, wave: &mut Wave) -> Result<(), Interrupted> {
        match report {
            // This process stops: no tool begins.
            Report::Begin { reply, .. } if self.parts.stopping.is_on() => _ = reply.send(Err(NoPermit::Stop)),
            Report::Begin { began, reply } => {
                let call = began.call;
                let refused = match self.feed(Input::Began(began)) {
                    Ok(_) if self.running_attempt(call).is_some() => {
                        wave.waiting.insert(call, reply);
                        return Ok(());
                    }
                    Ok(_) => NoPermit::Revoked,
                    Err(Rejection::Stopping | Rejection::NotExpected { .. }) => NoPermit::Stop,
                    Err(rejection) => return Err(rejection.into()),
                };
                // The executor was dropped: nothing starts.
                let _ = reply.send(Err(refused));
            }
            Report::Defer { call, recheck } => match self.feed(Input::Deferred(Deferred { call, recheck })) {
                // The run stops or was cancelled, or the executor did something else with the call before.
                Ok(_) | Err(Rejection::Stopping | Rejection::RunCancelled | Rejection::NotExpected { .. }) => {}
                Err(rejection) => return Err(rejection.into()),
            },
            Report::Unfinished(unfinished) => {
                let call = unfinished.call;
                match self.feed(Input::Unfinished(unfinished)) {
                    Ok(_) => drop(wave.unfinished.insert(call)),
                    // Nobody will be asked.
                    Err(Rejection::LeaseLost | Rejection::RunCancelled) => self.abandon(call),
                    Err(rejection) => return Err(rejection.into()),
                }
            }
            Report::Halted(NotStarted::LeaseLost) => self.live.token().cancel(),
            Report::Halted(NotStarted::Store(error)) => {
                return Err(Interrupted::Failed(Error::Store(error)));
            }
            Report::End { call, attempt, settlement } => {
                let attempt = if wave.is_abandoned(call) { self.running_attempt(call) } else { attempt };
                self.note_unsaved(call, attempt, &settlement);
                match self.feed(Input::Returned(Box::new(Returned { call, attempt, settlement }))) {
                    // A call that ended before its tool started may end when the run stops: it stays as it is.
                    Ok(_) | Err(Rejection::LeaseLost | Rejection::RunCancelled) => {}
                    Err(rejection) => return Err(rejection.into()),
                }
            }
            Report::HookFailed { call, detail, returned } => {
                if let Some(Returned { attempt, settlement, .. }) = returned.as_deref() {
                    self.note_unsaved(call, *attempt, settlement);
                }
                match self.feed(Input::HookFailed(HookFailed { call, detail, returned })) {
                    Ok(_) | Err(Rejection::RunCancelled) => {}
                    Err(rejection) => return Err(rejection.into()),
                }
            }
        }
        Ok(())
    }

    /// A tool gave a result, which is durable with the next commit.
    fn note_unsaved(&mut self, call: CallIndex, attempt: Option<Attempt>, settlement: &Settlement) {
        let Some(attempt) = attempt.filter(|_| settlement.source == Some(Source::Tool)) else { return };
        let key = CallKey { run: self.run_id().clone(), turn: self.run().turn(), index: call };
        let worker = format!("process-{}", std::process::id()).into();
        self.unsaved.push(LateResult { key, attempt, worker, result: Arc::clone(&settlement.result) });
    }

    fn running_attempt(&self, call: CallIndex) -> Option<Attempt> {
        match self.conductor.run().call(call)?.state {
            CallState::Running { attempt, .. } => Some(attempt),
            _ => None,
        }
    }

    fn runs_any(&self, calls: &[CallIndex]) -> bool {
        calls.iter().any(|call| self.running_attempt(*call).is_some())
    }

    /// An executor that ends without running or deferring a call leaves it to be settled here.
    fn settle_left(&mut self, calls: &[CallIndex], wave: &Wave) -> Result<(), Interrupted> {
        for call in calls.iter().filter(|call| !wave.unfinished.contains(call)) {
            let run = self.conductor.run();
            let attempt = match run.call(*call).map(|call| &call.state) {
                Some(CallState::Running { attempt, .. }) => Some(*attempt),
                // Somebody else runs it when this process stops.
                Some(CallState::Ready) if self.parts.stopping.is_on() => continue,
                Some(CallState::Ready) if run.call(*call).is_some_and(|call| run.is_executable(call)) => None,
                _ => continue,
            };
            let settlement = left_over(attempt.is_some());
            self.feed(Input::Returned(Box::new(Returned { call: *call, attempt, settlement })))?;
        }
        Ok(())
    }
}

fn left_over(started: bool) -> Settlement {
    let text = if started {
        "The executor lost the call. It may have taken effect."
    } else {
        "The executor did not run the call."
    };
    not_executed(Outcome::Failed, Code::ExecutorFailed, text)
}
