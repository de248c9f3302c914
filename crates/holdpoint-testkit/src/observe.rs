//! Looks at the run after a step, through the public API.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint::RunResult;
use holdpoint_core::{Block, CallRecord, Message, Revision, Role};
use serde_json::{Value, json};

use crate::observed::{Observed, SeenContinuation};
use crate::perform::Outcome;
use crate::world::World;

/// What was known before a step.
pub(crate) struct Before {
    run: Option<holdpoint::RunId>,
    continuation: Option<String>,
    messages: usize,
    revision: Revision,
}

impl World {
    pub(crate) fn before(&self) -> Before {
        let state = self.state.as_ref();
        Before {
            run: self.run.clone(),
            continuation: state.and_then(continuation),
            messages: state.map_or(0, |state| state.messages().len()),
            revision: state.map_or(Revision(0), |state| state.run().revision()),
        }
    }

    /// Everything that `expect` can be compared with.
    pub(crate) async fn observe(&mut self, before: &Before, outcome: &Outcome) -> Observed {
        self.look(outcome).await;
        let started = before.run != self.run;
        let events = self.events(before, outcome).await;
        let mut seen = Observed {
            run_id_same: before.run.is_none() || !started,
            error: outcome.error.clone(),
            model_calls: self.model.requests() as u64,
            executed: self.ledger.executed(),
            in_flight_max: self.ledger.in_flight_max(),
            in_flight_max_of: self.ledger.in_flight_max_of(),
            events,
            log: self.log.text(),
            payload: outcome.payload.clone(),
            won: outcome.won,
            ..Observed::default()
        };
        if outcome.won.is_some_and(|won| won > 0) {
            // Those who lost a race that somebody won need not be expected.
            seen.lost = seen.error.take();
        }
        if let Some(latest) = self.model.latest() {
            seen.model_saw = latest.messages.iter().map(message_seen).collect();
            seen.model_tools = self.in_order(latest.tools.iter().map(ToString::to_string).collect());
        }
        if let Some(state) = &self.state {
            state_seen(&mut seen, state);
            seen.continuation = self.continuation_seen(state, before);
            seen.messages = messages_added(state, before, outcome);
        }
        seen
    }

    /// The run as the store has it now; as it was last seen when the store does not know it.
    async fn look(&mut self, outcome: &Outcome) {
        if let Some(result) = &outcome.result {
            self.state = Some(result.clone());
            return;
        }
        let (Ok(agent), Some(run)) = (self.agent().await, self.run.clone()) else { return };
        if let Ok(state) = agent.runner().result(&run).await {
            self.state = Some(state);
        }
    }

    /// The names of the events of this segment.
    async fn events(&mut self, before: &Before, outcome: &Outcome) -> Vec<String> {
        let after = if before.run == self.run { before.revision } else { Revision(0) };
        let (mut names, after) = match &outcome.streamed {
            Some((names, last)) => (names.clone(), after.max(*last)),
            None => (Vec::new(), after),
        };
        if outcome.streamed.is_some() && !outcome.recovered {
            return names;
        }
        let (Ok(agent), Some(run)) = (self.agent().await, self.run.clone()) else { return names };
        let events = agent.runner().events(&run, after).await.unwrap_or_default();
        names.extend(events.iter().filter_map(|event| event.get("event")?.as_str().map(str::to_owned)));
        names
    }

    /// Tools are offered in the order of the file.
    fn in_order(&self, mut names: Vec<String>) -> Vec<String> {
        let places: BTreeMap<&str, usize> =
            self.tools.0.iter().enumerate().map(|(place, (name, _))| (&**name, place)).collect();
        names.sort_by_key(|name| places.get(&**name).copied().unwrap_or(usize::MAX));
        names
    }

    fn continuation_seen(&self, state: &RunResult, before: &Before) -> SeenContinuation {
        let now = continuation(state);
        SeenContinuation {
            new: now.is_some() && now != before.continuation,
            parent: state.continuation().and_then(|continuation| Some(continuation.parent_id()?.to_string())),
            saved: self.saved.iter().map(|(name, saved)| (name.clone(), saved.continuation.clone())).collect(),
        }
    }
}

fn continuation(state: &RunResult) -> Option<String> {
    state.continuation().map(|continuation| continuation.id().to_string())
}

fn state_seen(seen: &mut Observed, state: &RunResult) {
    seen.stop_reason = state.run().stop_reason().map(|stop| stop.as_str().to_owned());
    seen.text = state.text();
    seen.turns = Some(u64::from(state.turns()));
    seen.status = Some(state.status().as_str().to_owned());
    let (input, output) = (state.usage().input, state.usage().output);
    seen.usage = json!({ "input": input, "output": output, "total": input + output });
    seen.records = state.records().iter().map(record_seen).collect();
    seen.pending = state.pending().iter().map(pending_seen).collect();
}

/// What the segment added. A segment that died and was recovered is one: its result counts only the second half.
fn messages_added(state: &RunResult, before: &Before, outcome: &Outcome) -> Vec<Value> {
    let Some(result) = &outcome.result else { return Vec::new() };
    let same_run = before.run.as_ref() == Some(state.run_id());
    let added = match (outcome.recovered, same_run) {
        (false, _) => result.new_messages(),
        (true, true) => state.messages().get(before.messages..).unwrap_or_default(),
        (true, false) => state.messages().get(state.run().history_len() as usize..).unwrap_or_default(),
    };
    added.iter().map(message_seen).collect()
}

fn message_seen(message: &Arc<Message>) -> Value {
    let role = match message.role() {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let text = message.text();
    let mut seen = json!({ "role": role, "bytes": text.len(), "error": false, "calls": [], "call": null });
    match &**message {
        Message::System(_) => {}
        Message::User(blocks) => seen["bytes"] = bytes(blocks).into(),
        Message::Assistant(said) => seen["calls"] = said.calls.iter().map(|call| call.id.to_string()).collect(),
        Message::Tool(tool) => {
            seen["call"] = tool.call.to_string().into();
            seen["error"] = tool.result.is_error().into();
            seen["bytes"] = bytes(&tool.result.blocks).into();
        }
    }
    seen["text"] = text.into();
    seen
}

fn bytes(blocks: &[Block]) -> usize {
    blocks.iter().map(Block::len_bytes).sum()
}

fn record_seen(record: &CallRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "turn": record.turn.0,
        "name": record.name.to_string(),
        "tool": record.tool.as_ref().map(ToString::to_string),
        "outcome": record.progress.as_str(),
        "error": record.code.map(holdpoint_core::Code::as_str),
        "source": record.source.map(holdpoint_core::Source::as_str),
    })
}

fn pending_seen(pending: &holdpoint::Pending) -> Value {
    let mut roles: Vec<String> = pending.approvers.iter().map(ToString::to_string).collect();
    roles.sort();
    json!({
        "id": pending.id.to_string(),
        "name": pending.name.to_string(),
        "tool": pending.tool.to_string(),
        "reason": pending.reason.as_deref(),
        "arguments": serde_json::from_str::<Value>(pending.arguments.expose()).unwrap_or_default(),
        "roles": roles,
        "uncertain": pending.is_uncertain(),
    })
}
