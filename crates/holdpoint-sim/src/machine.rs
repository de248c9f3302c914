//! The conductor as a process reaches it. In an honest world it adds nothing; a mistake of the machine is made here, in what
//! the machine is told, what is recorded of its decisions, and what it says comes next.

use std::borrow::Cow;
use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, CallState, Conductor, Effect, Event, Input, LogEntry, Message, Rejection, Revision, Run, Step,
    Timestamp,
};

use crate::mistake::{self, Mistake};

/// A conductor, and the mistake that its driver or its machine makes.
pub(crate) struct Machine {
    conductor: Conductor,
    mistake: Option<Mistake>,
    /// The entries that the next commit writes. Equal to the conductor's unless a mistake changed them.
    outbox: Vec<LogEntry>,
    /// Attempts that are started although the conductor did not say so.
    forced: Vec<(CallIndex, Attempt)>,
}

impl Machine {
    pub(crate) fn new(run: Run, mistake: Option<Mistake>) -> Self {
        Self { conductor: Conductor::new(run), mistake, outbox: Vec::new(), forced: Vec::new() }
    }

    pub(crate) fn run(&self) -> &Run {
        self.conductor.run()
    }

    pub(crate) fn durable(&self) -> Revision {
        self.conductor.durable()
    }

    pub(crate) fn outbox(&self) -> &[LogEntry] {
        &self.outbox
    }

    pub(crate) fn executor_ended(&mut self) {
        self.conductor.executor_ended();
    }

    /// Tells the run what happened. Returns how many events are recorded.
    pub(crate) fn feed(&mut self, input: Input, now: Timestamp) -> Result<usize, Rejection> {
        let Some(mistake) = self.mistake else {
            let count = self.conductor.feed(input, now)?;
            self.record(count);
            return Ok(count);
        };
        let before = self.outbox.len();
        let run = self.run().clone();
        let stamped = |event| LogEntry { at: now, event };
        if let Some(forged) = mistake::forged(mistake, &run, &input) {
            self.outbox.extend(forged.into_iter().map(stamped));
            return Ok(self.outbox.len() - before);
        }
        let told = mistake::told(mistake, &run, input.clone(), now);
        let count = self.conductor.feed(told.input, told.now)?;
        self.record(count);
        let events = self.outbox.split_off(before).into_iter().map(|entry| entry.event).collect();
        let recorded = mistake::recorded(mistake, mistake::as_given(&run, &input, events));
        self.outbox.extend(recorded.into_iter().map(stamped));
        if mistake == Mistake::StartsBeforeCommit {
            self.forced.extend(self.outbox[before..].iter().filter_map(intent));
        }
        Ok(self.outbox.len() - before)
    }

    fn record(&mut self, count: usize) {
        let decided = self.conductor.outbox();
        self.outbox.extend_from_slice(&decided[decided.len() - count..]);
    }

    pub(crate) fn committed(&mut self) {
        if self.mistake == Some(Mistake::StartsCancelled) {
            let run = self.conductor.run();
            let is_running = |(call, attempt): &(CallIndex, Attempt)| {
                let state = run.call(*call).map(|call| &call.state);
                matches!(state, Some(CallState::Running { attempt: running, .. }) if running == attempt)
            };
            self.forced.extend(self.outbox.iter().filter_map(intent).filter(|intent| !is_running(intent)));
        }
        self.outbox.clear();
        self.conductor.committed();
    }

    pub(crate) fn next(&mut self) -> Step {
        if !self.forced.is_empty() {
            return Step::Start(std::mem::take(&mut self.forced));
        }
        // Forged events, which the conductor does not know of.
        if !self.outbox.is_empty() && self.conductor.outbox().is_empty() {
            return Step::Commit;
        }
        match (self.conductor.next(), self.mistake) {
            (Step::Commit, Some(Mistake::AnnouncesBeforeCommit)) => self.announcement().unwrap_or(Step::Commit),
            (Step::Execute { .. }, Some(Mistake::OwesNothing)) if self.run().epoch().0 > 0 => Step::Wait,
            (step, _) => step,
        }
    }

    /// What a driver announces once the outbox is durable, if that is what comes next.
    fn announcement(&self) -> Option<Step> {
        self.owed().into_iter().find_map(|effect| match effect {
            Effect::Pause { reason } => Some(Step::Pause { reason }),
            Effect::Finish { stop } => Some(Step::Finish { stop }),
            Effect::CallModel { .. } | Effect::Authorize { .. } | Effect::Execute { .. } | Effect::SetTimer { .. } => {
                None
            }
        })
    }

    /// Everything outstanding.
    pub(crate) fn owed(&self) -> Vec<Effect> {
        let mut owed = self.run().owed();
        if self.mistake == Some(Mistake::OwesNothing) && self.run().epoch().0 > 0 {
            owed.retain(|effect| !matches!(effect, Effect::Execute { .. }));
        }
        owed
    }

    /// The conversation as the model gets it.
    pub(crate) fn messages(&self) -> Cow<'_, [Arc<Message>]> {
        let messages = self.run().messages();
        if self.mistake != Some(Mistake::SendsResultsAsTheyCame) {
            return Cow::Borrowed(messages);
        }
        let is_result = |message: &&Arc<Message>| matches!(***message, Message::Tool(_));
        let results = messages.iter().rev().take_while(is_result).count();
        let (earlier, results) = messages.split_at(messages.len() - results);
        Cow::Owned(earlier.iter().chain(results.iter().rev()).cloned().collect())
    }
}

fn intent(entry: &LogEntry) -> Option<(CallIndex, Attempt)> {
    match entry.event {
        Event::ToolStarted { call, attempt } => Some((call, attempt)),
        _ => None,
    }
}
