//! The inbox follows the run: a call that waits for people has a pending question, and no other call has one.

use std::collections::BTreeMap;

use holdpoint_codec::{encode_question, encode_question_note};
use holdpoint_core::{CallIndex, Event, LogEntry, Run, Status, Turn};
use holdpoint_store::{QuestionChange, QuestionEnd, QuestionOpening};

/// A call of a run.
type Place = (Turn, CallIndex);

/// The questions that were pending when the run was last durable, as people see them.
#[derive(Debug)]
pub(super) struct Asked {
    durable: BTreeMap<Place, Vec<u8>>,
}

impl Asked {
    pub(super) fn new(run: &Run) -> Self {
        Self { durable: pending(run) }
    }

    /// The run is durable as it is.
    pub(super) fn committed(&mut self, run: &Run) {
        if !self.durable.is_empty() || run.tally().asked > 0 {
            self.durable = pending(run);
        }
    }

    /// What the inbox must learn with the run's next commit.
    pub(super) fn changes(&self, run: &Run, log: &[LogEntry]) -> Vec<QuestionChange> {
        if self.durable.is_empty() && run.tally().asked == 0 {
            return Vec::new();
        }
        let mut now = pending(run);
        let ended: Vec<Place> = self.durable.keys().filter(|place| !now.contains_key(*place)).copied().collect();
        now.retain(|place, body| self.durable.get(place) != Some(body));
        let closed = ended.into_iter().map(|(turn, index)| close(turn, index, log));
        closed.chain(now.into_iter().filter_map(|((_, index), body)| open(run, index, body))).collect()
    }
}

/// A run that is over or failed asks nobody; one that is retried asks again.
fn pending(run: &Run) -> BTreeMap<Place, Vec<u8>> {
    let asks = match run.status() {
        Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults => run.tally().asked > 0,
        Status::Finished | Status::Failed | Status::Cancelled => false,
    };
    if !asks {
        return BTreeMap::new();
    }
    let places = (0..run.calls().len()).map(CallIndex::from_usize);
    places.filter_map(|index| Some(((run.turn(), index), encode_question(run, index)?))).collect()
}

fn open(run: &Run, index: CallIndex, body: Vec<u8>) -> Option<QuestionChange> {
    let call = run.call(index)?;
    let question = call.question()?;
    Some(QuestionChange::Open(Box::new(QuestionOpening {
        turn: run.turn(),
        index,
        tool: call.tool.as_ref()?.name.clone(),
        kind: question.kind(),
        deadline: question.deadline,
        body,
    })))
}

/// Only events of the question's own turn say how it ended: the model may have asked for other calls since.
fn close(turn: Turn, index: CallIndex, log: &[LogEntry]) -> QuestionChange {
    let own = log.iter().take_while(|entry| !matches!(entry.event, Event::MessageCompleted(_)));
    let ended = own.filter_map(|entry| match &entry.event {
        Event::CallAnswered(answered) if answered.call == index => {
            Some((QuestionEnd::Answered, encode_question_note(answered, entry.at)))
        }
        Event::CallExpired { call } if *call == index => Some((QuestionEnd::Expired, Vec::new())),
        _ => None,
    });
    // Of several people it is the last who ended it.
    let (how, note) = ended.last().unwrap_or((QuestionEnd::Gone, Vec::new()));
    QuestionChange::Close { turn, index, how, note }
}
