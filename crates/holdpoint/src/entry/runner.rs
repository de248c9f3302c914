//! Entry points: run, resume and stream are the same loop.

use std::fmt;
use std::sync::Arc;

use holdpoint_codec::continuation::{self, Traces};
use holdpoint_codec::{Narrator, decode_event, new_run, tasks};
use holdpoint_core::{Actor, Cancelled, Input, Limits, Rejection, Revision, RunId, Started, Status};
use holdpoint_store::{Record, Scope, Store};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::driver::{Driver, Interrupted, load_run};
use crate::entry::opening::{Opening, Resume, Then, read_payload, stored_context};
use crate::entry::result::{Carried, Segment};
use crate::events::stream::{RunStream, StreamSender, queue};
use crate::failpoint::Failpoint;
use crate::parts::Parts;
use crate::{Continuation, Decisions, Error, Results, ResumeFrom, Retry, RunRequest, RunResult, RunnerBuilder};

/// Runs conversations: model, tools, policy, executor and store in one value. Cheap to clone.
#[derive(Clone)]
pub struct Runner {
    pub(crate) parts: Arc<Parts>,
}

/// What of a continuation is exported.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// The context attributes to include; those of the run's settings when absent.
    pub context_keys: Option<Vec<String>>,
    /// Whether records of calls are included as traces.
    pub traces: Traces,
}

impl Runner {
    /// Begins to put a runner together.
    pub fn builder() -> RunnerBuilder {
        RunnerBuilder::new()
    }

    /// Runs a conversation until it ends, fails or pauses.
    ///
    /// # Errors
    /// When it could not be started or its store failed. A model or a tool that fails is a result, not an error.
    pub async fn run(&self, request: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.open(Opening::Run(Box::new(request.into())), None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn run_stream(&self, request: impl Into<RunRequest>) -> Result<RunStream, Error> {
        self.open_stream(Opening::Run(Box::new(request.into())))
    }

    /// Resumes a run that waits for people.
    ///
    /// # Errors
    /// When the decisions are not accepted; then nothing changed.
    pub async fn resume(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunResult, Error> {
        self.open(Opening::decide(from, decisions), None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn resume_stream(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunStream, Error> {
        self.open_stream(Opening::decide(from, decisions))
    }

    /// Resumes a run that waits for results.
    ///
    /// # Errors
    /// When the results are not accepted; then nothing changed.
    pub async fn resume_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunResult, Error> {
        self.open(Opening::deliver(from, results), None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn resume_stream_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunStream, Error> {
        self.open_stream(Opening::deliver(from, results))
    }

    /// Continues a run that failed, without running any settled call again.
    ///
    /// # Errors
    /// `not_retryable` in any other state.
    pub async fn retry(&self, run: impl Into<Retry>) -> Result<RunResult, Error> {
        self.open(Opening::retry(run), None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn retry_stream(&self, run: impl Into<Retry>) -> Result<RunStream, Error> {
        self.open_stream(Opening::retry(run))
    }

    /// Takes over a run whose process is known to be dead, and goes on from what is owed. A run that nobody holds stays as it
    /// is. No lease is looked at: a process that still drives the run loses it, and a call that it runs is in doubt. Where
    /// processes come and go, a [`crate::Keeper`] takes runs over, once their leases have lapsed.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn recover(&self, run: &RunId) -> Result<RunResult, Error> {
        self.open(Opening::Known(run.clone(), Input::Recovered(holdpoint_core::Recovered::default())), None).await
    }

    /// Lets questions past their deadline expire, and goes on if none is left.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn expire(&self, run: &RunId) -> Result<RunResult, Error> {
        self.open(Opening::Known(run.clone(), Input::Elapsed), None).await
    }

    /// Cancels a run in any state. Tools that run are told; late results are refused.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn cancel(&self, run: &RunId, actor: Actor) -> Result<RunResult, Error> {
        let input = Input::Cancelled(Cancelled::by(actor));
        let result = self.open(Opening::Known(run.clone(), input), None).await?;
        if result.status() == Status::Cancelled {
            self.parts.live.cancel(run);
        }
        Ok(result)
    }

    /// A run as the store has it.
    ///
    /// # Errors
    /// When the store does not know it.
    pub async fn result(&self, run: &RunId) -> Result<RunResult, Error> {
        let run = load_run(&self.parts, run).await?;
        let carried = Carried { context: Arc::new(stored_context(&run)), ..Carried::default() };
        let (messages_before, began_after) = (run.messages().len(), run.revision());
        let segment = Segment { messages_before, began_after, ..Segment::default() };
        Ok(RunResult::new(Arc::new(run), carried, segment))
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
            let event = narrator.tell(&decode_event(&body)?);
            if seq > after {
                told.push(event.to_value());
            }
        }
        Ok(told)
    }

    /// A continuation as a payload for your own storage, signed when a key is configured.
    ///
    /// # Errors
    /// When a context value is too large.
    pub fn export(&self, continuation: &Continuation, options: &ExportOptions) -> Result<String, Error> {
        let keys = self.export_keys(continuation, options);
        let options = continuation::DumpOptions {
            context: Some(continuation.context()),
            context_keys: Some(&keys),
            traces: options.traces,
            key: self.parts.signing_key.as_ref(),
            extra: Some(continuation.extra()),
        };
        Ok(continuation::dump(continuation.run(), &options)?)
    }

    /// Reads a payload back, as far as that is possible without the store: size, version, shape and signature are
    /// checked, and nothing is resumed.
    ///
    /// # Errors
    /// When the payload is not accepted.
    pub fn read(&self, payload: &str) -> Result<Continuation, Error> {
        Ok(Continuation::loaded(read_payload(&self.parts, payload)?))
    }

    /// The calls that a continuation waits for, as tasks for your own scheduler. They hold raw arguments: sensitive.
    ///
    /// # Errors
    /// When the run does not wait for results, or a context value is too large.
    pub fn export_tasks(&self, continuation: &Continuation, options: &ExportOptions) -> Result<String, Error> {
        let keys = self.export_keys(continuation, options);
        let options = tasks::DumpOptions {
            context: Some(continuation.context()),
            context_keys: Some(&keys),
            key: self.parts.signing_key.as_ref(),
            receipts: self.parts.receipts(self.parts.store.runs.now()),
        };
        Ok(tasks::dump(continuation.run(), &options)?)
    }

    fn export_keys(
        &self,
        continuation: &Continuation,
        options: &ExportOptions,
    ) -> std::collections::BTreeSet<Arc<str>> {
        match &options.context_keys {
            Some(keys) => keys.iter().map(|key| key.as_str().into()).collect(),
            None => continuation.run().settings().context_keys.clone(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.parts.store
    }

    /// Makes the next driver that gets there die. For tests of crash recovery.
    #[doc(hidden)]
    pub fn arm(&self, failpoint: Failpoint) {
        self.parts.failpoints.arm(failpoint);
    }

    /// Called at every failpoint. For tests that end the process for real.
    #[doc(hidden)]
    pub fn at_failpoints(&self, listener: crate::failpoint::AtFailpoint) {
        self.parts.failpoints.listen(listener);
    }

    /// Every entry point comes through here. What somebody else overtook is decided again on what they left.
    pub(crate) async fn open(&self, opening: Opening, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        if Handle::try_current().is_err() {
            return Err(Error::NoRuntime);
        }
        for _ in 0..Limits::COMMIT_TRIES_MAX {
            match self.try_open(&opening, stream.clone()).await {
                Ok(result) => return Ok(result),
                // A new run is nobody's yet: whoever is there has its id.
                Err(Interrupted::Overtaken) if opening.starts() => {
                    return Err(Rejection::RunExists.into());
                }
                Err(Interrupted::Overtaken) => {}
                // A worker completed one of these calls first: its result was acknowledged and counts.
                Err(Interrupted::Failed(Error::Rejected(Rejection::LeaseLost)))
                    if let Some(run) = opening.yields_to_results() =>
                {
                    self.collect(&run).await?;
                }
                Err(Interrupted::Failed(error)) => return Err(error),
            }
        }
        Err(Error::TakenOver)
    }

    /// Takes the results that workers brought for a run into its log.
    async fn collect(&self, run: &RunId) -> Result<(), Error> {
        match self.try_open(&Opening::Fold(run.clone()).left(), None).await {
            // What came between is seen by the caller's next try.
            Ok(_) | Err(Interrupted::Overtaken | Interrupted::Failed(Error::Rejected(_))) => Ok(()),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    async fn try_open(&self, opening: &Opening, stream: Option<StreamSender>) -> Result<RunResult, Interrupted> {
        let Resume { run, context, extra, inputs, guards, then } = opening.prepare(&self.parts).await?;
        let starts = opening.starts();
        let span = crate::events::spans::run(&run, self.parts.agent.as_deref());
        self.parts.join_trace(&span, opening.trace().or(run.trace()));
        let carried = Carried { context: Arc::new(context.with_run_id(run.id().clone())), extra };
        let mut driver = Driver::new(&self.parts, run, carried, stream);
        driver.guard(guards);
        driver.alone(opening.session_use());
        let mut moved = false;
        for input in inputs {
            let imports = matches!(input, Input::Imported(_));
            moved |= driver.feed(input)?;
            if imports {
                driver.began();
            }
        }
        if starts {
            driver.began();
        }
        if !moved {
            return Ok(driver.finish());
        }
        // Before anything is durable: what it lacks here cannot go on here.
        driver.expect_executor()?;
        let driving = async {
            match then {
                Then::Drive => driver.drive().await,
                Then::Leave => driver.leave().await,
            }
        };
        tracing::Instrument::instrument(driving, span).await
    }

    pub(crate) fn open_stream(&self, opening: Opening) -> Result<RunStream, Error> {
        let handle = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let (sender, receiver) = queue();
        let runner = self.clone();
        let driving = handle.spawn(async move { runner.open(opening, Some(sender)).await });
        Ok(RunStream::new(receiver, driving))
    }

    /// Run lease: another process may take a run over after this long without a renewal.
    pub fn lease(&self) -> std::time::Duration {
        self.parts.lease
    }

    /// The settings that new runs start with.
    pub fn settings(&self) -> &holdpoint_core::Settings {
        &self.parts.settings
    }
}

/// What a started run begins with.
pub(crate) fn started(parts: &Parts, request: &RunRequest) -> Result<Started, Error> {
    Ok(Started {
        settings: Arc::clone(&parts.settings),
        context: request.context.stored(&parts.settings.context_keys)?,
        agent: parts.agent.clone(),
        model: parts.model.name().map(Arc::from),
        system_prompt: request.system_prompt.clone(),
        messages: request.messages.clone(),
        actor: request.context.actor().clone(),
        session: request.session.clone(),
        trace: request.trace.clone(),
    })
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("agent", &self.parts.agent).finish_non_exhaustive()
    }
}
