//! The driver's decisions, without its I/O: when to commit, what may start, when to stop.
//!
//! The async driver and the simulator both follow it, so that what is proven for one holds for the other. Its rule is
//! I2: nothing is performed before the events that caused it are durable. Asking policy or the model performs nothing,
//! so that several inputs share one commit where they can.

use crate::{
    Attempt, CallIndex, Effect, Event, FinalTools, Input, LogEntry, PauseReason, Rejection, Revision, Run, StopReason,
    Timestamp,
};

/// Drives one run within one process.
#[derive(Debug)]
pub struct Conductor {
    run: Run,
    durable: Revision,
    outbox: Vec<LogEntry>,
    intents: Vec<(CallIndex, Attempt)>,
    executing: bool,
}

/// What the driver does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the outbox durable, then say so with [`Conductor::committed`].
    Commit,
    /// These attempts are durable: their tools may start.
    Start(Vec<(CallIndex, Attempt)>),
    /// Call the model.
    CallModel {
        /// Whether it has its tools.
        tools: FinalTools,
    },
    /// Ask policy.
    Authorize {
        /// About which calls.
        calls: Vec<CallIndex>,
    },
    /// Hand these calls to the executor, and say when it ended.
    Execute {
        /// Which calls.
        calls: Vec<CallIndex>,
    },
    /// The executor works: wait for what it says.
    Wait,
    /// Announce a pause and let go of the run.
    Pause {
        /// What for.
        reason: PauseReason,
    },
    /// Announce the end and let go of the run.
    Finish {
        /// Why.
        stop: StopReason,
    },
}

impl Conductor {
    /// Takes a run as it is in the store.
    pub fn new(run: Run) -> Self {
        Self { durable: run.revision(), run, outbox: Vec::new(), intents: Vec::new(), executing: false }
    }

    /// The run as it is here, the outbox included.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Lets go of the run.
    pub fn into_run(self) -> Run {
        self.run
    }

    /// The revision that the next commit builds on.
    pub fn durable(&self) -> Revision {
        self.durable
    }

    /// The events that are not durable yet.
    pub fn outbox(&self) -> &[LogEntry] {
        &self.outbox
    }

    /// Whether an executor works.
    pub fn is_executing(&self) -> bool {
        self.executing
    }

    /// Tells the run what happened. Returns how many events came of it.
    ///
    /// # Errors
    /// When the run does not accept it; then nothing changed.
    pub fn feed(&mut self, input: Input, now: Timestamp) -> Result<usize, Rejection> {
        self.feed_observed(input, now, |_, _| {})
    }

    /// As [`Conductor::feed`]; `observe` gets each entry with the run right after it. The entry is not durable yet.
    ///
    /// # Errors
    /// When the run does not accept it; then nothing changed.
    pub fn feed_observed(
        &mut self,
        input: Input,
        now: Timestamp,
        observe: impl FnMut(&LogEntry, &Run),
    ) -> Result<usize, Rejection> {
        let entries = self.run.step_observed(input, now, observe)?;
        for entry in &entries {
            if let Event::ToolStarted { call, attempt } = entry.event {
                self.intents.push((call, attempt));
            }
        }
        let count = entries.len();
        self.outbox.extend(entries);
        Ok(count)
    }

    /// The outbox is durable. Returns the events that are, in order; the last of them is number [`Self::durable`].
    pub fn committed(&mut self) -> Vec<LogEntry> {
        self.durable = self.run.revision();
        std::mem::take(&mut self.outbox)
    }

    /// The executor is done with what it was given.
    pub fn executor_ended(&mut self) {
        self.executing = false;
    }

    /// What to do next. Call it when everything that arrived was fed.
    #[allow(clippy::should_implement_trait, reason = "it is asked again and again and never ends")]
    pub fn next(&mut self) -> Step {
        // What was cancelled after its intent was written and before it started does not start.
        let run = &self.run;
        self.intents.retain(|(call, attempt)| run.is_running(*call, *attempt));
        if !self.intents.is_empty() {
            if !self.outbox.is_empty() {
                return Step::Commit;
            }
            return Step::Start(std::mem::take(&mut self.intents));
        }
        if self.executing {
            return if self.outbox.is_empty() { Step::Wait } else { Step::Commit };
        }
        self.next_owed()
    }

    fn next_owed(&mut self) -> Step {
        let dirty = !self.outbox.is_empty();
        let owed = self.run.owed().into_iter().find(|effect| !matches!(effect, Effect::SetTimer { .. }));
        match owed {
            Some(Effect::Authorize { calls }) => Step::Authorize { calls },
            Some(Effect::Execute { calls }) => {
                self.executing = true;
                Step::Execute { calls }
            }
            Some(Effect::CallModel { .. }) if dirty => Step::Commit,
            Some(Effect::CallModel { tools }) => Step::CallModel { tools },
            Some(Effect::Pause { .. } | Effect::Finish { .. }) if dirty => Step::Commit,
            Some(Effect::Pause { reason }) => Step::Pause { reason },
            Some(Effect::Finish { stop }) => Step::Finish { stop },
            // Only started calls are left, and nobody executes: what is durable decides in the next epoch.
            Some(Effect::SetTimer { .. }) | None if dirty => Step::Commit,
            Some(Effect::SetTimer { .. }) | None => Step::Wait,
        }
    }
}
