//! Calls of the current turn, and the records of all.

use std::sync::Arc;

use holdpoint_core::{
    Asked, Attempt, Call, CallArguments, CallId, CallIndex, CallOpening, CallRecord, CallState, Code, FourEyes,
    MessageCall, Outcome, Progress, Repeat, RequestedName, Source, Terms, Timestamp, ToolFacts, ToolName, Turn, Usage,
};
use serde::{Deserialize, Serialize};

use super::decision::{QuestionWire, four_eyes_core, texts_core, texts_of};
use super::message::ArgumentParts;
use super::names::Named;
use super::{
    ActorWire, DigestText, Fault, GivenWire, Json, Name, ResultWire, SettlementWire, Text, Wire, all_core, all_of,
    is_default, is_one, one,
};

/// The source of tools that are written in the program itself: the usual case.
const NATIVE: &str = "native";

/// What is registered under a requested name; only what differs from the usual case is there.
#[derive(Clone, Default, PartialEq)]
struct ToolParts {
    tool: Option<Text>,
    repeat: Option<Name<Repeat>>,
    source: Option<Text>,
    definition: Option<Text>,
    unregistered: bool,
}

impl ToolParts {
    fn of(tool: Option<&ToolFacts>, requested: &str) -> Self {
        let Some(facts) = tool else { return Self { unregistered: true, ..Self::default() } };
        Self {
            tool: (facts.name.as_str() != requested).then(|| Text::new(facts.name.as_str())),
            repeat: (facts.repeat != Repeat::Never).then_some(Name(facts.repeat)),
            source: (&*facts.source != NATIVE).then(|| Text::share(&facts.source)),
            definition: facts.definition.as_ref().map(Text::share),
            unregistered: false,
        }
    }

    fn core(self, requested: &str) -> Result<Option<ToolFacts>, Fault> {
        if self.unregistered {
            return if self == (Self { unregistered: true, ..Self::default() }) {
                Ok(None)
            } else {
                Err(Fault::at("unregistered"))
            };
        }
        Ok(Some(ToolFacts {
            name: ToolName::new(self.tool.map_or_else(|| requested.into(), |text| text.0)),
            repeat: self.repeat.map_or(Repeat::Never, |name| name.0),
            source: self.source.map_or_else(|| NATIVE.into(), |text| text.0),
            definition: self.definition.map(|text| text.0),
        }))
    }
}

/// What is known of a call when the model asked for it.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
pub(crate) struct OpeningWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<Name<Repeat>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled: Option<SettlementWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    unregistered: bool,
}

impl OpeningWire {
    pub(crate) fn of(opening: &CallOpening, requested: &str) -> Self {
        let ToolParts { tool, repeat, source, definition, unregistered } =
            ToolParts::of(opening.tool.as_ref(), requested);
        let settled = opening.settled.as_ref().map(SettlementWire::of);
        Self { repeat, definition, settled, source, tool, unregistered }
    }

    pub(crate) fn core(self, requested: &str) -> Result<CallOpening, Fault> {
        let Self { repeat, definition, settled, source, tool, unregistered } = self;
        Ok(CallOpening {
            tool: ToolParts { tool, repeat, source, definition, unregistered }.core(requested)?,
            settled: settled.map(Wire::core).transpose().map_err(|fault| fault.within("settled"))?,
        })
    }
}

/// A call of the current turn. What the message says of it is not repeated.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct CallStateWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered: Option<DigestText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<ActorWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvers: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<Name<Asked>>,
    /// The current attempt, if it is not the last one that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_us: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    deferred: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<DigestText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    four_eyes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<QuestionWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    questions: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    quorum: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    rechecked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<Name<Repeat>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<SettlementWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at_us: Option<i64>,
    state: Name<StateName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    unregistered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unusable: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<Text>,
}

#[derive(Clone, Copy, PartialEq)]
enum StateName {
    Proposed,
    AwaitingApproval,
    Ready,
    Running,
    Deferred,
    Settled,
}

impl StateName {
    const ALL: [StateName; 6] = [
        StateName::Proposed,
        StateName::AwaitingApproval,
        StateName::Ready,
        StateName::Running,
        StateName::Deferred,
        StateName::Settled,
    ];
}

impl Named for StateName {
    fn name(&self) -> &str {
        match self {
            StateName::Proposed => "proposed",
            StateName::AwaitingApproval => "awaiting_approval",
            StateName::Ready => "ready",
            StateName::Running => "running",
            StateName::Deferred => "deferred",
            StateName::Settled => "settled",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The deadline of a call that was handed out; a question has its own.
fn task_deadline(call: &Call) -> Option<Timestamp> {
    match call.state {
        CallState::Deferred { deadline, .. } => deadline,
        _ => None,
    }
}

fn worker_of(call: &Call) -> Option<Text> {
    match &call.state {
        CallState::Running { worker, .. } => worker.as_ref().map(Text::share),
        _ => None,
    }
}

/// Whether two arguments are the same to the last byte.
fn same_arguments(one: &CallArguments, other: &CallArguments) -> bool {
    match (one, other) {
        (CallArguments::Canonical(one), CallArguments::Canonical(other)) => one == other,
        (CallArguments::Unusable(one), CallArguments::Unusable(other)) => one == other,
        (CallArguments::Dropped { len_bytes: one }, CallArguments::Dropped { len_bytes: other }) => one == other,
        _ => false,
    }
}

impl CallStateWire {
    /// From a call and what the message says of it.
    pub(crate) fn of(call: &Call, said: Option<&MessageCall>) -> Self {
        let requested = call.name.as_str();
        let covered = call.tool.as_ref().map_or(requested, |facts| facts.name.as_str());
        let told = said.filter(|said| said.id == call.id && said.name == call.name);
        let told = told.filter(|said| said.provider_id == call.provider_id);
        let unedited = told.is_some_and(|said| same_arguments(&said.arguments, &call.arguments));
        let parts = if unedited { ArgumentParts::default() } else { ArgumentParts::of(&call.arguments, covered) };
        let ToolParts { tool, repeat, source, definition, unregistered } = ToolParts::of(call.tool.as_ref(), requested);
        // An open question has its own, unless it is about a doubt.
        let own = call.question().is_some_and(|question| question.doubt.is_none());
        let terms = if own { Terms::default() } else { call.terms.clone() };
        let (state, attempt, started_at) = match &call.state {
            CallState::Proposed => (StateName::Proposed, None, None),
            CallState::AwaitingApproval(_) => (StateName::AwaitingApproval, None, None),
            CallState::Ready => (StateName::Ready, None, None),
            CallState::Running { attempt, started_at, .. } => (StateName::Running, Some(*attempt), Some(*started_at)),
            CallState::Deferred { attempt, .. } => (StateName::Deferred, Some(*attempt), None),
            CallState::Settled(_) => (StateName::Settled, None, None),
        };
        Self {
            answered: call.answered.map(DigestText),
            approvals: all_of(&call.approvals),
            approvers: texts_of(&terms.approvers),
            arguments: parts.arguments,
            asked: (call.asked != Asked::No).then_some(Name(call.asked)),
            attempt: attempt.filter(|attempt| *attempt != call.attempts).map(|attempt| attempt.0),
            attempts: call.attempts.0,
            deadline_us: task_deadline(call).map(|at| at.0),
            deferred: call.deferred,
            digest: parts.digest,
            dropped_bytes: parts.dropped_bytes,
            expires_in_ms: terms.expires_in_ms,
            four_eyes: terms.four_eyes == FourEyes::On,
            given: call.given.as_deref().map(GivenWire::of),
            id: told.is_none().then(|| Text::new(call.id.as_str())),
            name: told.is_none().then(|| Text::new(requested)),
            policy: call.policy.as_ref().map(Text::share),
            provider_id: call.provider_id.as_ref().filter(|_| told.is_none()).map(Text::share),
            question: call.question().map(QuestionWire::of),
            quorum: terms.quorum,
            questions: call.questions,
            rechecked: call.rechecked,
            repeat,
            definition,
            settled: call.settlement().map(SettlementWire::of),
            source,
            started_at_us: started_at.map(|at| at.0),
            state: Name(state),
            tool,
            unregistered,
            unusable: parts.unusable,
            worker: worker_of(call),
        }
    }

    /// Back, with what the message says of the call.
    pub(crate) fn core(mut self, said: Option<&MessageCall>) -> Result<Call, Fault> {
        let (id, name, provider_id) = match (self.id.take(), self.name.take(), said) {
            (Some(id), Some(name), _) => {
                (CallId::new(id.0), RequestedName::new(name.0), self.provider_id.take().map(|text| text.0))
            }
            (None, None, Some(said)) => (said.id.clone(), said.name.clone(), said.provider_id.clone()),
            (Some(_), None, _) => return Err(Fault::at("name")),
            (None, _, _) => return Err(Fault::at("id")),
        };
        let state = self.take_state()?;
        let Self { repeat, source, definition, unregistered, arguments, digest, dropped_bytes, unusable, .. } = self;
        let tool = ToolParts { tool: self.tool, repeat, source, definition, unregistered }.core(name.as_str())?;
        let covered = tool.as_ref().map_or(name.as_str(), |facts| facts.name.as_str());
        let edited = ArgumentParts { arguments, digest, dropped_bytes, unusable }.core(covered)?;
        let terms = match &state {
            CallState::AwaitingApproval(question) if question.doubt.is_none() => question.terms.clone(),
            _ => Terms {
                approvers: texts_core(self.approvers),
                quorum: self.quorum,
                expires_in_ms: self.expires_in_ms,
                four_eyes: four_eyes_core(self.four_eyes),
            },
        };
        let given = self.given.map(Wire::core).transpose().map_err(|fault| fault.within("given"))?;
        let told = || said.map(|said| said.arguments.clone()).ok_or_else(|| Fault::at("arguments"));
        let arguments = edited.map_or_else(told, Ok)?;
        Ok(Call {
            id,
            provider_id,
            name,
            tool,
            arguments,
            state,
            attempts: Attempt(self.attempts),
            asked: self.asked.map_or(Asked::No, |name| name.0),
            questions: self.questions,
            answered: self.answered.map(|digest| digest.0),
            terms,
            policy: self.policy.map(|text| text.0),
            approvals: all_core(self.approvals, "approvals")?,
            deferred: self.deferred,
            rechecked: self.rechecked,
            given: given.map(Arc::new),
        })
    }

    fn take_state(&mut self) -> Result<CallState, Fault> {
        let attempt = Attempt(self.attempt.unwrap_or(self.attempts));
        let question = self.question.take();
        let settled = self.settled.take();
        let needs = |field: &'static str| move || Fault::at(field);
        let unwanted = match self.state.0 {
            StateName::AwaitingApproval => settled.is_some().then_some("settled"),
            StateName::Settled => question.is_some().then_some("question"),
            _ if question.is_some() => Some("question"),
            _ => settled.is_some().then_some("settled"),
        };
        if let Some(field) = unwanted {
            return Err(Fault::at(field));
        }
        Ok(match self.state.0 {
            StateName::Proposed => CallState::Proposed,
            StateName::Ready => CallState::Ready,
            StateName::Deferred => CallState::Deferred { attempt, deadline: self.deadline_us.map(Timestamp) },
            StateName::Running => {
                let started_at = Timestamp(self.started_at_us.ok_or_else(needs("started_at_us"))?);
                CallState::Running { attempt, started_at, worker: self.worker.take().map(|text| text.0) }
            }
            StateName::AwaitingApproval => {
                let question = question.ok_or_else(needs("question"))?.core();
                CallState::AwaitingApproval(question.map_err(|fault| fault.within("question"))?)
            }
            StateName::Settled => {
                let settlement = settled.ok_or_else(needs("settled"))?.core();
                CallState::Settled(settlement.map_err(|fault| fault.within("settled"))?)
            }
        })
    }

    /// Takes the result out, for something that holds it too.
    pub(crate) fn leave_out_result(&mut self) {
        if let Some(settled) = &mut self.settled {
            settled.result = None;
        }
    }

    /// Puts a result back that stood elsewhere.
    pub(crate) fn put_back_result(&mut self, result: &ResultWire) {
        if let Some(settled) = self.settled.as_mut().filter(|settled| settled.result.is_none()) {
            settled.result = Some(result.clone());
        }
    }
}

/// What a run remembers of a call.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct RecordWire {
    #[serde(default = "one", skip_serializing_if = "is_one")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Name<Code>>,
    id: Text,
    #[serde(default, skip_serializing_if = "is_default")]
    index: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    latency_us: u64,
    name: Text,
    #[serde(default = "succeeded", skip_serializing_if = "is_succeeded")]
    outcome: Name<Progress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Name<Source>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    turn: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    unregistered: bool,
}

fn succeeded() -> Name<Progress> {
    Name(Progress::Settled(Outcome::Succeeded))
}

fn is_succeeded(outcome: &Name<Progress>) -> bool {
    *outcome == succeeded()
}

impl Wire for RecordWire {
    type Core = CallRecord;

    fn of(record: &CallRecord) -> Self {
        let tool = record.tool.as_ref().filter(|tool| tool.as_str() != record.name.as_str());
        Self {
            attempts: record.attempts.0,
            code: record.code.map(Name),
            id: Text::new(record.id.as_str()),
            index: record.index.0,
            latency_us: record.latency_us,
            name: Text::new(record.name.as_str()),
            outcome: Name(record.progress),
            source: record.source.map(Name),
            tool: tool.map(|tool| Text::new(tool.as_str())),
            turn: record.turn.0,
            unregistered: record.tool.is_none(),
        }
    }

    fn core(self) -> Result<CallRecord, Fault> {
        let registered = self.tool.map_or_else(|| Arc::clone(&self.name.0), |text| text.0);
        Ok(CallRecord {
            turn: Turn(self.turn),
            index: CallIndex(self.index),
            id: CallId::new(self.id.0),
            name: RequestedName::new(self.name.0),
            tool: (!self.unregistered).then(|| ToolName::new(registered)),
            progress: self.outcome.0,
            code: self.code.map(|name| name.0),
            source: self.source.map(|name| name.0),
            attempts: Attempt(self.attempts),
            latency_us: self.latency_us,
        })
    }
}

/// What a turn cost.
#[derive(Serialize, Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(default)]
pub(crate) struct UsageWire {
    #[serde(skip_serializing_if = "is_default")]
    cache_read: u64,
    #[serde(skip_serializing_if = "is_default")]
    cache_write: u64,
    #[serde(skip_serializing_if = "is_default")]
    input: u64,
    #[serde(skip_serializing_if = "is_default")]
    output: u64,
    #[serde(skip_serializing_if = "is_default")]
    reasoning: u64,
}

impl Wire for UsageWire {
    type Core = Usage;

    fn of(usage: &Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, reasoning } = *usage;
        Self { cache_read, cache_write, input, output, reasoning }
    }

    fn core(self) -> Result<Usage, Fault> {
        let Self { cache_read, cache_write, input, output, reasoning } = self;
        Ok(Usage { input, output, cache_read, cache_write, reasoning })
    }
}
