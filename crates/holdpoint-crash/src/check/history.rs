//! The log of a run, call by call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holdpoint::{Decision, Outcome, Repeat, RunId, Source, Status};
use holdpoint_codec::{decode_event, new_run};
use holdpoint_core::{Answer, Call, CallIndex, Digest, Event, LogEntry, Revision, Run, Stage};
use holdpoint_store::{Scope, Store, StoreError};

use crate::ledger::Place;
use crate::tools::Receipt;

/// How many events of a run that did not end are shown.
const SHOWN_EVENTS: usize = 10;

/// What the log says of a run.
#[derive(Debug)]
pub(super) struct RunHistory {
    pub(super) run: RunId,
    pub(super) status: Status,
    pub(super) text: Option<String>,
    pub(super) takeovers: u64,
    pub(super) calls: BTreeMap<Place, CallHistory>,
    events: Vec<&'static str>,
}

/// What the log says of a call.
#[derive(Debug)]
pub(super) struct CallHistory {
    pub(super) tool: Arc<str>,
    pub(super) repeat: Repeat,
    pub(super) steps: Vec<Step>,
}

/// One thing that happened to a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Policy allowed it, or a person approved it, with these arguments.
    Permitted(Digest),
    /// It was handed out.
    Deferred { attempt: u32 },
    /// The intent.
    Started { attempt: u32, digest: Digest },
    /// A worker had it.
    Taken { attempt: u32, digest: Digest },
    /// It may run again.
    Requeued,
    /// A person was asked whether it happened.
    Doubted,
    /// They said that it did not.
    AllowedAgain,
    /// They said that it did.
    Happened,
    /// A late result was kept.
    Evidence,
    /// Final.
    Settled { outcome: Outcome, source: Option<Source>, receipt: Option<Receipt> },
}

impl CallHistory {
    /// How often somebody accepted that it runs: once when it was permitted, and once more for each doubt that a person
    /// answered so.
    pub(super) fn accepted(&self) -> u64 {
        let permitted = self.steps.iter().any(|step| matches!(step, Step::Permitted(_)));
        let again = self.steps.iter().filter(|step| matches!(step, Step::AllowedAgain)).count();
        u64::from(permitted) + again as u64
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Permitted(_) => f.write_str("permitted"),
            Step::Deferred { attempt } => write!(f, "deferred({attempt})"),
            Step::Started { attempt, .. } => write!(f, "started({attempt})"),
            Step::Taken { attempt, .. } => write!(f, "taken({attempt})"),
            Step::Requeued => f.write_str("requeued"),
            Step::Doubted => f.write_str("doubted"),
            Step::AllowedAgain => f.write_str("allowed again"),
            Step::Happened => f.write_str("happened"),
            Step::Evidence => f.write_str("evidence"),
            Step::Settled { outcome, receipt, .. } => {
                write!(f, "{}({})", outcome.as_str(), receipt.as_ref().map_or("-", |receipt| &receipt.execution))
            }
        }
    }
}

impl RunHistory {
    /// Nothing if the store does not know the run.
    pub(super) async fn load(store: &Store, id: &RunId) -> anyhow::Result<Option<Self>> {
        let records = match store.runs.load(&Scope::All, id, Revision(0)).await {
            Ok(records) => records,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut reader = Reader { run: new_run(id.clone()), calls: BTreeMap::new() };
        let (mut takeovers, mut events) = (0, Vec::new());
        for record in records {
            let entry = decode_event(&record.body)?;
            takeovers += u64::from(matches!(entry.event, Event::EpochStarted { .. }));
            events.push(entry.event.name());
            reader.read(&entry);
        }
        let Reader { run, calls } = reader;
        Ok(Some(Self { run: id.clone(), status: run.status(), text: run.text(), takeovers, calls, events }))
    }

    /// The last events.
    pub(super) fn tail(&self) -> String {
        self.events[self.events.len().saturating_sub(SHOWN_EVENTS)..].join(", ")
    }
}

struct Reader {
    run: Run,
    calls: BTreeMap<Place, CallHistory>,
}

impl Reader {
    fn read(&mut self, entry: &LogEntry) {
        let event = &entry.event;
        let asked = concerned(event).and_then(|call| self.run.call(call)).is_some_and(Call::is_uncertain);
        self.run.apply(entry);
        if let Some((call, step)) = self.step(event, asked) {
            self.note(call, step);
        }
        self.note_settled();
    }

    fn step(&self, event: &Event, doubted: bool) -> Option<(CallIndex, Step)> {
        let digest = |call: CallIndex| Some(self.run.call(call)?.canonical()?.digest());
        Some(match event {
            Event::CallDecided { call, stage: Stage::Policy, decision: Decision::Allow(_), .. } => {
                (*call, Step::Permitted(digest(*call)?))
            }
            Event::CallAnswered(answered) => {
                let call = answered.call;
                let step = match (&answered.answer, doubted) {
                    (Answer::Approve | Answer::ApproveEdited(_), false) => Step::Permitted(digest(call)?),
                    (Answer::Approve, true) => Step::AllowedAgain,
                    (Answer::Happened(_), _) => Step::Happened,
                    (Answer::ApproveEdited(_), true) | (Answer::Refuse { .. } | Answer::Supply(_), _) => return None,
                };
                (call, step)
            }
            Event::CallDeferred { call, attempt, .. } => (*call, Step::Deferred { attempt: attempt.0 }),
            Event::ToolStarted { call, attempt, .. } => {
                (*call, Step::Started { attempt: attempt.0, digest: digest(*call)? })
            }
            Event::TaskTaken { call, attempt, .. } => {
                (*call, Step::Taken { attempt: attempt.0, digest: digest(*call)? })
            }
            Event::CallRequeued { call } => (*call, Step::Requeued),
            Event::CallDoubted { call, .. } => (*call, Step::Doubted),
            Event::EvidenceGiven { call, .. } => (*call, Step::Evidence),
            _ => return None,
        })
    }

    fn note(&mut self, index: CallIndex, step: Step) {
        let place = Place { run: self.run.id().to_string(), turn: self.run.turn().0, index: index.0 };
        let Some(facts) = self.run.call(index).and_then(|call| call.tool.as_ref()) else { return };
        let (tool, repeat) = (facts.name.as_str().into(), facts.repeat);
        self.calls.entry(place).or_insert_with(|| CallHistory { tool, repeat, steps: Vec::new() }).steps.push(step);
    }

    /// A call is settled by many events: what counts is that it is, and that it stays so.
    fn note_settled(&mut self) {
        let mut settled = Vec::new();
        for (index, call) in self.run.calls().iter().enumerate() {
            let Some(settlement) = call.settlement() else { continue };
            let receipt = Receipt::parse(&settlement.result.text());
            let step = Step::Settled { outcome: settlement.outcome, source: settlement.source, receipt };
            settled.push((CallIndex::from_usize(index), step));
        }
        for (index, step) in settled {
            let place = Place { run: self.run.id().to_string(), turn: self.run.turn().0, index: index.0 };
            let known = self.calls.get(&place).is_some_and(|call| call.steps.contains(&step));
            if !known {
                self.note(index, step);
            }
        }
    }
}

/// The call that an answer is about.
fn concerned(event: &Event) -> Option<CallIndex> {
    match event {
        Event::CallAnswered(answered) => Some(answered.call),
        _ => None,
    }
}
