//! Calls that asked a person. Once they are over, their tools let go of what they kept for them.

use holdpoint_core::{CallIndex, CallKey, Event, LogEntry, Run, Status, ToolName};

use super::Driver;

/// The calls that asked and are not over, as far as is durable.
#[derive(Debug)]
pub(super) struct Asking(Vec<(CallKey, ToolName)>);

impl Asking {
    pub(super) fn new(run: &Run) -> Self {
        let calls = run.calls().iter().enumerate();
        let asked = calls.filter(|(_, call)| call.asks().is_some() || call.given.is_some());
        let open = asked.filter(|(_, call)| call.settlement().is_none());
        Self(open.filter_map(|(index, _)| entry(run, CallIndex::from_usize(index))).collect())
    }

    /// These events of the run are durable. Gives the calls that are over.
    fn durable(&mut self, run: &Run, log: &[LogEntry]) -> Vec<(CallKey, ToolName)> {
        for logged in log {
            if let Event::CallDoubted { call, asks: Some(_), .. } = logged.event
                && let Some(asked) = entry(run, call)
                && !self.0.contains(&asked)
            {
                self.0.push(asked);
            }
        }
        let (over, open) = std::mem::take(&mut self.0).into_iter().partition(|(key, _)| is_over(run, key));
        self.0 = open;
        over
    }
}

fn entry(run: &Run, index: CallIndex) -> Option<(CallKey, ToolName)> {
    let facts = run.call(index)?.tool.as_ref()?;
    Some((key(run, index), facts.name.clone()))
}

fn key(run: &Run, index: CallIndex) -> CallKey {
    CallKey { run: run.id().clone(), turn: run.turn(), index }
}

fn is_over(run: &Run, key: &CallKey) -> bool {
    let ended = match run.status() {
        Status::Cancelled | Status::Finished => true,
        Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults | Status::Failed => false,
    };
    ended || key.turn != run.turn() || run.call(key.index).is_none_or(|call| call.settlement().is_some())
}

impl Driver {
    /// Tells the tools of calls that asked and are over now, however that came.
    pub(super) fn abandon_settled(&mut self, log: &[LogEntry]) {
        for (key, tool) in self.asking.durable(self.conductor.run(), log) {
            if let Some(registered) = self.parts.registry.find(tool.as_str()) {
                registered.tool().abandon(&key);
            }
        }
    }

    /// A tool asks, and nobody will be asked.
    pub(super) fn abandon(&self, index: CallIndex) {
        let run = self.conductor.run();
        let facts = run.call(index).and_then(|call| call.tool.as_ref());
        if let Some(registered) = facts.and_then(|facts| self.parts.registry.find(facts.name.as_str())) {
            registered.tool().abandon(&key(run, index));
        }
    }
}
