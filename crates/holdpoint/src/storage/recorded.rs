//! What policies decided in the runs of a store, with everything that each decision was taken on: for replays of another
//! policy. One run at a time is in memory.

use std::collections::VecDeque;

use holdpoint_codec::{decode_event, new_run};
use holdpoint_core::{
    Answer, Arguments, Call, CallIndex, CallKey, Decision, Event, LogEntry, Revision, Run, RunId, Stage, Timestamp,
};
use holdpoint_policy::{PastCall, RecordedCall};
use holdpoint_store::{Record, RunFilter, Scope, Store, StoreError};

use crate::Error;
use crate::driver::past_call;
use crate::entry::point::stored_context;

/// Goes through the runs of a store, the last created first.
pub struct RecordedRuns {
    store: Store,
    filter: RunFilter,
    since: Timestamp,
    page: VecDeque<RunId>,
    more: bool,
}

/// What was decided in one run.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// The run.
    pub run: RunId,
    /// Its decisions, in the order in which they were taken. A call whose arguments a person changed is there again with
    /// what they made of it.
    pub calls: Vec<RecordedCall>,
}

impl RecordedRuns {
    /// The runs that the filter lets through.
    pub fn new(store: Store, filter: RunFilter) -> Self {
        Self { store, filter, since: Timestamp(i64::MIN), page: VecDeque::new(), more: true }
    }

    /// Only decisions that were taken then or later.
    #[must_use]
    pub fn since(mut self, since: Timestamp) -> Self {
        self.since = since;
        self
    }

    /// The next run in which something was decided. Nothing when there are no more.
    ///
    /// # Errors
    /// When the store fails, or has a run that cannot be read.
    pub async fn next(&mut self) -> Result<Option<RecordedRun>, Error> {
        loop {
            let Some(run) = self.next_id().await? else { return Ok(None) };
            let records = match self.store.runs.load(&Scope::All, &run, Revision(0)).await {
                Ok(records) => records,
                // Somebody pruned it meanwhile.
                Err(StoreError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let calls = decided(&run, &records, self.since)?;
            if !calls.is_empty() {
                return Ok(Some(RecordedRun { run, calls }));
            }
        }
    }

    async fn next_id(&mut self) -> Result<Option<RunId>, Error> {
        while self.page.is_empty() && self.more {
            let page = self.store.runs.list(&self.filter).await?;
            // A run that has not moved since has decided nothing since.
            let moved = page.items.into_iter().filter(|head| head.updated_at >= self.since);
            self.page = moved.map(|head| head.run).collect();
            self.more = page.next.is_some();
            self.filter.cursor = page.next;
        }
        Ok(self.page.pop_front())
    }
}

/// The decisions of one run, from its log.
fn decided(id: &RunId, records: &[Record], since: Timestamp) -> Result<Vec<RecordedCall>, Error> {
    let mut log = Log { run: new_run(id.clone()), earlier: Vec::new(), calls: Vec::new() };
    for record in records {
        log.read(&decode_event(&record.body)?, since);
    }
    Ok(log.calls)
}

/// A log that is read: each decision is looked at with the run as it was right before.
struct Log {
    run: Run,
    /// The calls of earlier turns that were let through, with the arguments that ran.
    earlier: Vec<PastCall>,
    calls: Vec<RecordedCall>,
}

impl Log {
    fn read(&mut self, entry: &LogEntry, since: Timestamp) {
        let is_recent = entry.at >= since;
        match &entry.event {
            Event::CallDecided { call, stage: Stage::Policy, decision, .. } if is_recent => {
                let arguments = self.run.call(*call).and_then(Call::canonical).cloned();
                self.note(*call, arguments, decision);
            }
            Event::CallAnswered(answered) if is_recent => {
                if let (Answer::ApproveEdited(edited), Some(decision)) = (&answered.answer, &answered.decision) {
                    self.note(answered.call, Some(edited.clone()), decision);
                }
            }
            _ => {}
        }
        self.run.apply(entry);
        if let Event::Imported(_) | Event::TurnStarted { .. } = entry.event {
            self.earlier = self.run.earlier_turns().into_iter().map(past_call).collect();
        }
    }

    fn note(&mut self, index: CallIndex, arguments: Option<Arguments>, decided: &Decision) {
        let tool = self.run.call(index).and_then(|call| call.tool.as_ref());
        let (Some(tool), Some(arguments)) = (tool, arguments) else { return };
        let siblings = self.run.siblings_of(index).map(|(_, call)| past_call(call));
        self.calls.push(RecordedCall {
            call: CallKey { run: self.run.id().clone(), turn: self.run.turn(), index },
            tool: tool.name.clone(),
            arguments,
            context: stored_context(&self.run),
            past: self.earlier.iter().cloned().chain(siblings).collect(),
            decided: decided.clone(),
        });
    }
}
