//! A paused run as a value: what a portable continuation holds and what an import begins with.

use std::sync::Arc;

use crate::input::Usage;
use crate::{
    Actor, Attributes, Call, CallIndex, CallRecord, Edited, Message, PauseNumber, PauseReason, Phase, Run, Settings,
    Tally, Timestamp, Turn,
};

/// Everything of a paused run that the rest of it depends on.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its settings.
    pub settings: Arc<Settings>,
    /// Stored context attributes.
    pub context: Attributes,
    /// The agent's name.
    pub agent: Option<Arc<str>>,
    /// The model's name.
    pub model: Option<Arc<str>>,
    /// Who started it.
    pub actor: Actor,
    /// The session that it belongs to.
    pub session: Option<Arc<str>>,
    /// When it was started.
    pub created_at: Timestamp,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// How many messages it started with.
    pub history_len: u32,
    /// The current turn.
    pub turn: Turn,
    /// Its calls.
    pub calls: Vec<Call>,
    /// Its dropped calls.
    pub ignored: Vec<CallRecord>,
    /// The calls that are settled, in the order in which they were.
    pub completion: Vec<CallIndex>,
    /// The calls of earlier turns.
    pub past: Vec<CallRecord>,
    /// What people edited of them.
    pub edited: Vec<Edited>,
    /// How many grants were given in it.
    pub grants: u32,
    /// What each turn cost.
    pub usage: Vec<Usage>,
    /// How often the model was called.
    pub model_calls: u32,
    /// How often a tool was executed.
    pub tool_executions: u32,
    /// Which pause this is.
    pub pause: PauseNumber,
    /// The pause from which it came.
    pub parent: Option<PauseNumber>,
    /// What it waits for.
    pub reason: PauseReason,
    /// Whether a final answer was asked for.
    pub final_asked: bool,
    /// Whether the model ever asked for a call.
    pub calls_seen: bool,
}

impl Run {
    /// The run as a value, if it is paused.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let Phase::Paused(reason) = self.phase else { return None };
        Some(Snapshot {
            settings: Arc::clone(&self.settings),
            context: self.context.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            actor: self.actor.clone(),
            session: self.session.clone(),
            created_at: self.created_at,
            messages: self.messages.clone(),
            history_len: self.history_len,
            turn: self.turn,
            calls: self.calls.clone(),
            ignored: self.ignored.clone(),
            completion: self.completion.clone(),
            past: self.past.clone(),
            edited: self.edited.clone(),
            grants: self.grants,
            usage: self.usage.clone(),
            model_calls: self.model_calls,
            tool_executions: self.tool_executions,
            pause: self.pauses,
            parent: self.parent,
            reason,
            final_asked: self.final_asked,
            calls_seen: self.calls_seen,
        })
    }

    pub(crate) fn restore(&mut self, from: &Snapshot) {
        self.settings = Arc::clone(&from.settings);
        self.context = from.context.clone();
        self.agent = from.agent.clone();
        self.model = from.model.clone();
        self.actor = from.actor.clone();
        self.session = from.session.clone();
        self.created_at = from.created_at;
        self.messages = from.messages.clone();
        self.history_len = from.history_len;
        self.turn = from.turn;
        self.calls = from.calls.clone();
        self.ignored = from.ignored.clone();
        self.completion = from.completion.clone();
        self.past = from.past.clone();
        self.edited = from.edited.clone();
        self.grants = from.grants;
        self.usage = from.usage.clone();
        self.model_calls = from.model_calls;
        self.tool_executions = from.tool_executions;
        self.pauses = from.pause;
        self.parent = from.parent;
        self.final_asked = from.final_asked;
        self.calls_seen = from.calls_seen;
        self.phase = Phase::Paused(from.reason);
        self.tally = Tally::of(&from.calls);
    }
}
