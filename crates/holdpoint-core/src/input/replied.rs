//! The model replied.

use std::collections::{HashMap, HashSet};
use std::ops::Add;
use std::sync::Arc;

use crate::{
    AssistantMessage, Attempt, CallArguments, CallId, CallIndex, CallOpening, CallRecord, Code, Event, Failure, Limits,
    Message, MessageCall, MessageCompleted, ModelStop, Outcome, ParallelToolCalls, Phase, Progress, ProviderState,
    Rejection, RequestedName, Run, Settlement, ToolFacts, ToolResult, Work,
};

/// What came from the model.
#[derive(Clone, Debug)]
pub struct Replied {
    /// `None` when it said nothing at all.
    pub reply: Option<Reply>,
    /// How long it took.
    pub latency_us: u64,
}

/// One reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its text, perhaps empty.
    pub text: Arc<str>,
    /// Its reasoning.
    pub thinking: Option<Arc<str>>,
    /// The calls it asks for, in order.
    pub calls: Vec<ProposedCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop: ModelStop,
    /// What its provider wants back with the next request.
    pub provider_state: Option<ProviderState>,
}

/// A call as the driver understood it: arguments parsed, name looked up, schema checked.
#[derive(Clone, Debug)]
pub struct ProposedCall {
    /// The provider's id, perhaps blank.
    pub provider_id: Option<Arc<str>>,
    /// The name that the model wrote.
    pub name: RequestedName,
    /// What is registered under it and visible.
    pub tool: Option<ToolFacts>,
    /// Its arguments.
    pub arguments: CallArguments,
    /// Why it cannot run, if it cannot.
    pub problem: Option<Problem>,
}

/// Why a call cannot run.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The code for the record.
    pub code: Code,
    /// What the model is told.
    pub text: Arc<str>,
}

/// What a turn cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of those read, how many came from the provider's cache.
    pub cache_read: u64,
    /// Of those read, how many went into the provider's cache.
    pub cache_write: u64,
    /// Of those written, how many were reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Read and written.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

pub(super) fn decide(run: &Run, replied: Replied) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::Working(Work::Model) {
        return Err(Rejection::NotExpected { input: "replied" });
    }
    let Some(mut reply) = replied.reply else {
        return Ok(run.failed(Failure::Error, "the model said nothing at all".into()));
    };
    let mut ids = ShownIds::default();
    let shown: Vec<CallId> = reply.calls.iter().enumerate().map(|(position, call)| ids.next(position, call)).collect();
    let dropped = reply.calls.split_off(reply.calls.len().min(run.calls_kept_max()));
    let ignored = dropped
        .iter()
        .zip(shown[reply.calls.len()..].iter().zip(reply.calls.len()..))
        .map(|(call, (id, position))| ignored_record(run, call, id, position))
        .collect();
    let message = AssistantMessage {
        text: reply.text,
        thinking: reply.thinking,
        calls: reply.calls.iter().zip(&shown).map(|(call, id)| message_call(call, id)).collect(),
        provider_state: reply.provider_state,
    };
    Ok(vec![Event::MessageCompleted(Arc::new(MessageCompleted {
        message: Arc::new(Message::Assistant(message)),
        calls: reply.calls.into_iter().map(opening).collect(),
        ignored,
        usage: reply.usage,
        stop: reply.stop,
        latency_us: replied.latency_us,
    }))])
}

impl Run {
    /// How many calls of a reply are kept.
    pub fn calls_kept_max(&self) -> usize {
        let limit = match self.settings.parallel_tool_calls {
            ParallelToolCalls::Allowed => self.settings.max_tool_calls_per_turn,
            ParallelToolCalls::One => self.settings.max_tool_calls_per_turn.min(1),
        };
        limit.min(Limits::TOOL_CALLS_PER_TURN_MAX) as usize
    }
}

fn message_call(call: &ProposedCall, id: &CallId) -> MessageCall {
    let provider_id = call.provider_id.clone().filter(|provider| **provider != *id.as_str());
    MessageCall { id: id.clone(), provider_id, name: call.name.clone(), arguments: call.arguments.clone() }
}

fn opening(call: ProposedCall) -> CallOpening {
    let settled = call.problem.map(|problem| Settlement {
        outcome: Outcome::Failed,
        code: Some(problem.code),
        source: None,
        result: Arc::new(ToolResult::error(problem.text)),
        latency_us: 0,
    });
    CallOpening { tool: call.tool, settled }
}

fn ignored_record(run: &Run, call: &ProposedCall, id: &CallId, position: usize) -> CallRecord {
    CallRecord {
        turn: run.turn,
        index: CallIndex::from_usize(position),
        id: id.clone(),
        name: call.name.clone(),
        tool: call.tool.as_ref().map(|facts| facts.name.clone()),
        progress: Progress::Settled(Outcome::Ignored),
        code: None,
        source: None,
        attempts: Attempt(0),
        latency_us: 0,
    }
}

/// Hands out ids that are unique within a turn.
#[derive(Default)]
struct ShownIds {
    taken: HashSet<Arc<str>>,
    /// The next number to try for an id that repeats, so that many repeats cost what they are, not their square.
    repeats: HashMap<Arc<str>, u32>,
}

impl ShownIds {
    fn next(&mut self, position: usize, call: &ProposedCall) -> CallId {
        let wanted: Arc<str> = match &call.provider_id {
            Some(id) if !id.trim().is_empty() => Arc::clone(id),
            Some(_) | None => format!("tc_{}", position + 1).into(),
        };
        if self.taken.insert(Arc::clone(&wanted)) {
            return CallId::new(wanted);
        }
        let repeat = self.repeats.entry(Arc::clone(&wanted)).or_insert(2);
        loop {
            let id: Arc<str> = format!("{wanted}__{repeat}").into();
            *repeat += 1;
            if self.taken.insert(Arc::clone(&id)) {
                return CallId::new(id);
            }
        }
    }
}
