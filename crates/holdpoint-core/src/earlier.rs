//! The calls of a run that were let through: what rules about its history look at.

use crate::{Arguments, Call, CallIndex, CallRecord, CallState, Message, Progress, Run, Source, ToolName, Turn};

/// A call that was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierCall {
    /// The registered name.
    pub tool: ToolName,
    /// What ran, or will.
    pub arguments: Arguments,
}

/// Arguments that a person edited, of a call of an earlier turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its turn.
    pub turn: Turn,
    /// Its place in the turn.
    pub index: CallIndex,
    /// What ran.
    pub arguments: Arguments,
}

impl Run {
    /// The calls of the turns before this one that were let through, in order, with the arguments that ran.
    pub fn earlier_turns(&self) -> Vec<EarlierCall> {
        let own = self.messages.get(self.history_len as usize..).unwrap_or_default();
        let said = own.iter().filter_map(|message| match &**message {
            Message::Assistant(message) => Some(message),
            Message::System(_) | Message::User(_) | Message::Tool(_) => None,
        });
        let said: Vec<_> = said.collect();
        let ran = self.past.iter().filter(|record| was_let_through(record));
        let ran = ran.filter_map(|record| {
            let tool = record.tool.clone()?;
            let message = said.get(record.turn.0.checked_sub(1)? as usize)?;
            let call = message.calls.get(record.index.as_usize())?;
            let edited = self.edited.iter().find(|edited| edited.turn == record.turn && edited.index == record.index);
            let arguments = edited.map(|edited| &edited.arguments).or_else(|| call.arguments.canonical())?.clone();
            Some(EarlierCall { tool, arguments })
        });
        ran.collect()
    }

    /// The other calls of this turn that count for one of them: those before it that may still run, and all that were
    /// let through.
    pub fn siblings_of(&self, index: CallIndex) -> impl Iterator<Item = (CallIndex, EarlierCall)> {
        let others = self.calls.iter().enumerate().filter(move |(other, _)| *other != index.as_usize());
        let counted = others.filter(move |(other, call)| counts(call, *other < index.as_usize()));
        counted.filter_map(|(other, call)| {
            let tool = call.tool.as_ref()?.name.clone();
            let earlier = EarlierCall { tool, arguments: call.canonical()?.clone() };
            Some((CallIndex::from_usize(other), earlier))
        })
    }

    /// What people edited in this turn, for the time when it is over.
    pub(crate) fn keep_edits(&mut self) {
        let said = self.messages.iter().rev().find_map(|message| match &**message {
            Message::Assistant(message) => Some(message),
            Message::System(_) | Message::User(_) | Message::Tool(_) => None,
        });
        let Some(said) = said else { return };
        for (index, (call, said)) in self.calls.iter().zip(&said.calls).enumerate() {
            let (Some(ran), Some(asked)) = (call.canonical(), said.arguments.canonical()) else { continue };
            if ran.digest() != asked.digest() {
                let (turn, index) = (self.turn, CallIndex::from_usize(index));
                self.edited.push(Edited { turn, index, arguments: ran.clone() });
            }
        }
    }
}

fn counts(call: &Call, before: bool) -> bool {
    match &call.state {
        CallState::Running { .. } | CallState::Deferred { .. } => true,
        CallState::Settled(settlement) => call.attempts.0 > 0 || went_through(settlement.source),
        CallState::AwaitingApproval(question) => before || question.doubt.is_some(),
        CallState::Proposed | CallState::Ready => before,
    }
}

fn was_let_through(record: &CallRecord) -> bool {
    match record.progress {
        Progress::Pending | Progress::Uncertain => true,
        Progress::Settled(_) => record.attempts.0 > 0 || went_through(record.source),
    }
}

/// Whether a result comes from where a call goes that was let through. What a person gave in the tool's place does not.
fn went_through(source: Option<Source>) -> bool {
    match source {
        Some(Source::Tool | Source::External | Source::Cache | Source::DryRun | Source::Hook) => true,
        Some(Source::Person) | None => false,
    }
}
