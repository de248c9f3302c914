//! The driver: thin, async, the same loop for every entry point.
//!
//! It follows the [`Conductor`]: feed what arrived, then do what it says next. Everything that it knows beyond the
//! run's state lives in this process and may be lost at any moment.

mod asking;
mod authorize;
mod changed;
mod commit;
mod execute;
mod facts;
mod model;
mod questions;
mod run_one;
mod tasks;
mod understand;
mod watch;

use std::sync::Arc;
use std::time::Instant;

use holdpoint_codec::Context;
use holdpoint_core::{Conductor, Input, Rejection, Run, RunId, Status, Step, Turn};
use holdpoint_store::SessionUse;
use tracing::{Instrument, Span};

use crate::background::patience::Patience;
use crate::background::queue::LateResult;
use crate::call::lease::RunLease;
use crate::entry::result::{Carried, Spent};
use crate::events::listen::Listeners;
use crate::events::stream::StreamSender;
use crate::parts::{LiveGuard, Parts};
use crate::{Error, RunResult, Runner};

pub(crate) use changed::{has_changed, unfit_arguments};
pub(crate) use commit::{load_run, read_run};
pub(crate) use facts::{past_call, run_facts};
pub(crate) use tasks::Guards;
pub(crate) use understand::{listed, understand_edit};

/// Drives one segment of one run.
pub(crate) struct Driver {
    parts: Arc<Parts>,
    conductor: Conductor,
    carried: Carried,
    listeners: Listeners,
    live: LiveGuard,
    lease: Arc<RunLease>,
    meter: Meter,
    measured: model::Measure,
    turn: (Turn, Span),
    out: tasks::Out,
    asking: asking::Asking,
    asked: questions::Asked,
    session_use: SessionUse,
    left: bool,
    /// Results of tools that are not durable yet.
    unsaved: Vec<LateResult>,
}

/// What the segment took so far.
#[derive(Debug)]
struct Meter {
    started: Instant,
    spent: Spent,
    committed: bool,
}

/// How driving ended when it did not end with a result.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// Somebody else moved the run before anything of this segment was durable: it may be decided again.
    Overtaken,
    /// It cannot go on here.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Interrupted {
    fn from(error: E) -> Self {
        Interrupted::Failed(error.into())
    }
}

impl Driver {
    /// Takes a run as it is in the store.
    pub(crate) fn new(parts: &Arc<Parts>, run: Run, carried: Carried, stream: Option<StreamSender>) -> Self {
        let asking = asking::Asking::new(&run);
        let (out, asked) = (tasks::Out::new(&run), questions::Asked::new(&run));
        let live = parts.live.enter(run.id());
        let lease = RunLease::new(&parts.store, &parts.lease_clock, run.id(), parts.hold());
        Self {
            carried,
            listeners: Listeners::new(Arc::clone(parts), stream, &run),
            live,
            lease: Arc::new(lease),
            meter: Meter { started: Instant::now(), spent: Spent::since(&run), committed: false },
            measured: model::Measure::default(),
            turn: (Turn(0), Span::none()),
            out,
            asking,
            asked,
            session_use: SessionUse::Shared,
            left: false,
            unsaved: Vec::new(),
            conductor: Conductor::new(run),
            parts: Arc::clone(parts),
        }
    }

    /// What must be true of tasks for this segment to close them.
    pub(crate) fn guard(&mut self, guards: Guards) {
        self.out.guard(guards);
    }

    /// The run is created only if no other run of its session that is alone is open.
    pub(crate) fn alone(&mut self, session_use: SessionUse) {
        self.session_use = session_use;
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// The run as it is here.
    pub(crate) fn run(&self) -> &Run {
        self.conductor.run()
    }

    /// Tells the run what happened. Returns whether anything came of it.
    pub(crate) fn feed(&mut self, input: Input) -> Result<bool, Rejection> {
        let now = self.parts.store.runs.now();
        let listeners = &mut self.listeners;
        self.conductor.feed_observed(input, now, |entry, run| listeners.observe(entry, run)).map(|count| count > 0)
    }

    /// The input of a run is not one of the messages that its first segment adds, nor is what an import brought.
    pub(crate) fn began(&mut self) {
        self.meter.spent.messages_before = self.run().messages().len();
    }

    /// The executor is part of the run's state: a run that goes on needs it here too.
    pub(crate) fn expect_executor(&self) -> Result<(), Error> {
        match self.run().status() {
            Status::Cancelled | Status::Finished => Ok(()),
            Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults | Status::Failed => {
                self.parts.executors.choose(&self.run().settings().executor)?;
                Ok(())
            }
        }
    }

    fn context(&self) -> &Arc<Context> {
        &self.carried.context
    }

    /// Goes on until the run pauses, ends or fails.
    pub(crate) async fn drive(mut self) -> Result<RunResult, Interrupted> {
        loop {
            let step = self.conductor.next();
            let span = self.turn_span();
            if self.parts.stopping.is_on() {
                match step {
                    // Nothing of it runs here: it is nobody's from this commit on.
                    Step::Commit => self.left = true,
                    Step::CallModel { .. } | Step::Authorize { .. } | Step::Execute { .. } => {
                        return self.let_go().instrument(span).await;
                    }
                    Step::Start(_) | Step::Wait | Step::Pause { .. } | Step::Finish { .. } => {}
                }
            }
            match step {
                Step::Commit => self.commit().instrument(span).await?,
                Step::CallModel { tools } => {
                    if self.call_model(tools).instrument(span).await? == Cancelled::Yes {
                        return self.cancelled().await;
                    }
                }
                Step::Authorize { calls } => self.authorize(&calls).instrument(span).await?,
                Step::Execute { calls } => {
                    if self.execute(calls).instrument(span).await? == Cancelled::Yes {
                        return self.cancelled().await;
                    }
                }
                // The executor ended before these could start, and they are settled.
                Step::Start(_) => {}
                // Only another owner of the run can have left it like this.
                Step::Wait => return Err(Interrupted::Failed(Error::TakenOver)),
                Step::Pause { .. } | Step::Finish { .. } => return Ok(self.finish()),
            }
        }
    }

    /// Makes durable what the run was told, and lets go of it: whoever looks after it goes on.
    pub(crate) async fn leave(mut self) -> Result<RunResult, Interrupted> {
        self.left = true;
        self.commit().await?;
        Ok(self.finish())
    }

    /// This process stops: makes durable what happened, and gives the run to whoever looks after it elsewhere.
    async fn let_go(mut self) -> Result<RunResult, Interrupted> {
        if !self.conductor.outbox().is_empty() {
            self.left = true;
            self.commit().await?;
        } else if !self.left
            && let Err(error) = self.lease.give_back().await
        {
            tracing::debug!(target: "holdpoint", run = %self.run_id(), code = %error.code(), "run could not be given back; its lease will lapse");
        }
        tracing::info!(target: "holdpoint", run = %self.run_id(), "run given back; another process may take it over");
        Ok(self.finish())
    }

    /// The span of the turn that is worked on.
    fn turn_span(&mut self) -> Span {
        let turn = self.run().turn();
        if self.turn.0 != turn {
            self.turn = (turn, crate::events::spans::turn(self.run()));
        }
        self.turn.1.clone()
    }

    /// The run as it is, without driving it.
    pub(crate) fn finish(self) -> RunResult {
        let spent = self.spent();
        RunResult::new(Arc::new(self.conductor.into_run()), self.carried, spent)
    }

    /// The run as it is, while it goes on.
    fn so_far(&self) -> RunResult {
        RunResult::new(Arc::new(self.run().clone()), self.carried.clone(), self.spent())
    }

    /// Somebody cancelled the run while it was driven here: what they committed is the truth.
    async fn cancelled(mut self) -> Result<RunResult, Interrupted> {
        self.overtaken().await?;
        Ok(self.finish())
    }

    /// Results that another process did not wait for go to the person who is asked about their calls. In the background: the
    /// store may be out of reach for a while.
    fn keep_results(&mut self) {
        let results = std::mem::take(&mut self.unsaved);
        if results.is_empty() {
            return;
        }
        let runner = Runner { parts: Arc::clone(&self.parts) };
        tokio::spawn(async move {
            for late in results {
                let call = late.key.index;
                if let Err(error) = runner.queue().keep_late(late, Patience::for_result()).await {
                    tracing::error!(target: "holdpoint", %call, code = %error.code(), "late result dropped");
                }
            }
        });
    }

    fn spent(&self) -> Spent {
        let Meter { started, mut spent, .. } = self.meter;
        spent.durations.total = started.elapsed();
        spent
    }

    fn run_id(&self) -> &RunId {
        self.conductor.run().id()
    }
}

/// Whether somebody cancelled the run meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancelled {
    Yes,
    No,
}
