//! The runner: entry points into runs, and what can be asked about them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::{Narrator, Shown, ToolDefinition, decode_event, new_run};
use holdpoint_core::{
    Actor, CallKey, Cancelled, Digest, Input, Limits, Recovered, Rejection, Retried, Revision, Run, RunId, Settings,
    Status, ToolName,
};
use holdpoint_store::{Record, Scope, Store, TaskGuard};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::driver::{Driver, Guards, Interrupted};
use crate::entry::point::{Entry, EntryPoint, Prepared, Then};
use crate::events::spans;
use crate::events::stream::StreamSender;
use crate::parts::Parts;
use crate::{Decisions, Error, Results, ResumeFrom, RunRequest, RunResult, RunnerBuilder, Segment, ToolStats};

/// Runs conversations: model, tools, policy, executor and store in one value. Cheap to clone.
#[derive(Clone)]
pub struct Runner {
    pub(crate) parts: Arc<Parts>,
}

impl Runner {
    /// Begins to put a runner together.
    pub fn builder() -> RunnerBuilder {
        RunnerBuilder::new()
    }

    /// Runs a conversation until it ends, fails or pauses. A model or a tool that fails is a result, not an error.
    pub fn run(&self, request: impl Into<RunRequest>) -> Segment {
        self.segment(EntryPoint::Start(Box::new(request.into())))
    }

    /// Resumes a run that waits for people. If the decisions are rejected, nothing changed.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Segment {
        self.segment(EntryPoint::Answer { from: from.into(), decisions: Box::new(decisions.into()) })
    }

    /// Resumes a run that waits for results. If the results are rejected, nothing changed.
    pub fn resume_with_tool_results(&self, from: impl Into<ResumeFrom>, results: impl Into<Results>) -> Segment {
        self.segment(EntryPoint::Supply { from: from.into(), results: results.into() })
    }

    /// Continues a run that failed, without running any settled call again. `not_retryable` in any other state.
    pub fn retry(&self, run: &RunId) -> Segment {
        self.segment(EntryPoint::known(run, Input::Retried(Retried::default())))
    }

    /// Takes over a run whose process is known to be dead, and goes on from what is owed. A run that no process holds stays as
    /// it is. No lease is looked at: a process that still drives the run loses it, and a call that it runs is in doubt. Where
    /// processes come and go, a [`crate::Keeper`] takes runs over, once their leases have lapsed.
    pub fn recover(&self, run: &RunId) -> Segment {
        self.segment(EntryPoint::known(run, Input::Recovered(Recovered::default())))
    }

    /// Lets questions past their deadline expire, and goes on if none is left.
    pub fn expire(&self, run: &RunId) -> Segment {
        let guards = Guards::others(TaskGuard::Waiting);
        self.segment(EntryPoint::Known { run: run.clone(), input: Input::Elapsed, guards })
    }

    /// Cancels a run in any state. Tools that run are told; late results are rejected.
    pub fn cancel(&self, run: &RunId, actor: Actor) -> Segment {
        self.segment(EntryPoint::known(run, Input::Cancelled(Cancelled::by(actor))))
    }

    /// Puts a task that was given up back into the queue. Such a task is a question about a call that may have taken effect:
    /// this answers that it did not and is to be executed again, with the rule's roles and quorum. The digest is that of the
    /// question that the person saw. `not_retryable` unless the call is in doubt.
    pub fn requeue(&self, key: CallKey, digest: Digest, actor: Actor) -> Segment {
        self.segment(EntryPoint::Requeue { key, digest, actor })
    }

    fn segment(&self, point: EntryPoint) -> Segment {
        Segment::new(self, point)
    }

    /// A run as the store has it.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn result(&self, run: &RunId) -> Result<RunResult, Error> {
        RunResult::read(&self.parts.store, &Scope::All, run).await
    }

    /// The durable events of a run after a sequence number, in their stable JSON form. An integer of more than 64 bits is
    /// only near to what it was: [`Narrator`] tells events exactly.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn events(&self, run: &RunId, after: Revision) -> Result<Vec<Value>, Error> {
        let records = self.parts.store.runs.load(&Scope::All, run, Revision(0)).await?;
        let mut narrator = Narrator::new(new_run(run.clone()));
        let mut told = Vec::new();
        for Record { seq, body, .. } in records {
            let event = narrator.view(&decode_event(&body)?);
            if seq > after {
                told.push(Shown::of(&event).to_value());
            }
        }
        Ok(told)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.parts.store
    }

    /// Run lease: another process may take a run over after this long without a renewal.
    pub fn lease(&self) -> Duration {
        self.parts.lease
    }

    /// The settings that new runs start with.
    pub fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    /// The tools, by name.
    pub fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        self.parts.registry.definitions()
    }

    /// The name of the model, if it has one.
    pub fn model_name(&self) -> Option<&str> {
        self.parts.model.name()
    }

    /// How the calls of each tool went in this process, by registered name.
    pub fn tool_stats(&self) -> BTreeMap<ToolName, ToolStats> {
        self.parts.stats.all()
    }

    /// The same runner, which lets go of its runs when this token is cancelled: as [`crate::Agent::with_stopping`].
    #[must_use]
    pub fn with_stopping(&self, token: CancellationToken) -> Runner {
        let stopping = self.parts.stopping.and(token);
        Runner { parts: Arc::new(Parts { stopping, ..Parts::clone(&self.parts) }) }
    }

    /// Every entry point comes through here. An input that another process overtook is decided again on what that one left.
    pub(crate) async fn enter(&self, entry: &Entry, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        if Handle::try_current().is_err() {
            return Err(Error::NoRuntime);
        }
        let mut read = entry.read.clone();
        for _ in 0..Limits::COMMIT_TRIES_MAX {
            match self.try_enter(entry, read.take(), stream.clone()).await {
                Ok(result) => {
                    let cancels = matches!(entry.point, EntryPoint::Known { input: Input::Cancelled(_), .. });
                    if cancels && result.status() == Status::Cancelled {
                        self.parts.live.cancel(result.run_id());
                    }
                    return Ok(result);
                }
                // A new run has no other owner: the store has another run with this id.
                Err(Interrupted::Overtaken) if matches!(entry.point, EntryPoint::Start(_)) => {
                    return Err(Rejection::RunExists.into());
                }
                Err(Interrupted::Overtaken) => {}
                // A worker completed one of these calls first: its result was acknowledged and counts.
                Err(Interrupted::Failed(Error::Rejected(Rejection::LeaseLost)))
                    if entry.point.yields_to_results()
                        && let Some(run) = entry.point.run_id() =>
                {
                    self.collect(run).await?;
                }
                Err(Interrupted::Failed(error)) => return Err(error),
            }
        }
        Err(Error::TakenOver)
    }

    /// Takes the results that workers completed into the log of their run.
    async fn collect(&self, run: RunId) -> Result<(), Error> {
        match self.try_enter(&Entry::left(EntryPoint::Collect(run)), None, None).await {
            // The caller's next try sees what came between.
            Ok(_) | Err(Interrupted::Overtaken | Interrupted::Failed(Error::Rejected(_))) => Ok(()),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    async fn try_enter(
        &self,
        entry: &Entry,
        read: Option<Arc<Run>>,
        stream: Option<StreamSender>,
    ) -> Result<RunResult, Interrupted> {
        let prepared = entry.prepare(&self.parts, read).await?;
        let is_new = prepared.is_new();
        let Prepared { run, carried, inputs, guards, session_use } = prepared;
        let span = spans::run(&run, self.parts.agent.as_deref());
        let mut driver = Driver::new(&self.parts, run, carried, stream);
        driver.guard(guards);
        driver.alone(session_use);
        let mut moved = false;
        for (position, input) in inputs.into_iter().enumerate() {
            moved |= driver.feed(input)?;
            // Messages that a start or an import brings are not added by this segment.
            if is_new && position == 0 {
                driver.began();
            }
        }
        if !moved {
            return Ok(driver.finish());
        }
        // Before anything is durable: a run that lacks its executor here cannot go on here.
        driver.expect_executor()?;
        self.parts.join_trace(&span, driver.run().trace());
        let driving = async {
            match entry.then {
                Then::Drive => driver.drive().await,
                Then::Leave => driver.leave().await,
            }
        };
        driving.instrument(span).await
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("agent", &self.parts.agent).finish_non_exhaustive()
    }
}
