//! A reply of the model. What is known of each call is written next to the names in its message.

use std::sync::Arc;

use holdpoint_core::{CallOpening, Message, MessageCompleted, ModelStop};
use serde::{Deserialize, Serialize};

use super::{Fault, MessageWire, Name, OpeningWire, RecordWire, UsageWire, Wire, all_core, all_of, is_default};

/// A reply of the model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageCompletedWire {
    message: MessageWire,
    /// What is known of each call of the message; absent when all are the usual case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<OpeningWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<RecordWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    usage: UsageWire,
    /// Absent from a message by which the model asked for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<Name<ModelStop>>,
    #[serde(default, skip_serializing_if = "is_default")]
    latency_us: u64,
}

impl Wire for MessageCompletedWire {
    type Core = MessageCompleted;

    fn of(completed: &MessageCompleted) -> Self {
        let requested = requested_names(&completed.message);
        let calls = completed.calls.iter().enumerate();
        let calls = calls.map(|(index, opening)| OpeningWire::of(opening, requested.get(index).unwrap_or(&"")));
        let mut calls: Vec<OpeningWire> = calls.collect();
        if calls.len() == requested.len() && calls.iter().all(|opening| *opening == OpeningWire::default()) {
            calls.clear();
        }
        Self {
            message: MessageWire::of(&completed.message),
            calls,
            ignored: all_of(&completed.ignored),
            usage: UsageWire::of(&completed.usage),
            stop: (completed.stop != ModelStop::ToolUse).then(|| Name(completed.stop.clone())),
            latency_us: completed.latency_us,
        }
    }

    fn core(self) -> Result<MessageCompleted, Fault> {
        let message = self.message.core().map_err(|fault| fault.within("message"))?;
        Ok(MessageCompleted {
            calls: openings(self.calls, &message)?,
            message: Arc::new(message),
            ignored: all_core(self.ignored, "ignored")?,
            usage: self.usage.core().map_err(|fault| fault.within("usage"))?,
            stop: self.stop.map_or(ModelStop::ToolUse, |name| name.0),
            latency_us: self.latency_us,
        })
    }
}

/// The names that the calls of a message were asked for by.
fn requested_names(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(message) => message.calls.iter().map(|call| call.name.as_str()).collect(),
        Message::System(_) | Message::User(_) | Message::Tool(_) => Vec::new(),
    }
}

/// One for each call of the message; none at all when all are the usual case.
fn openings(mut openings: Vec<OpeningWire>, message: &Message) -> Result<Vec<CallOpening>, Fault> {
    let requested = requested_names(message);
    if openings.is_empty() {
        openings.resize(requested.len(), OpeningWire::default());
    }
    if openings.len() != requested.len() {
        return Err(Fault::at("calls"));
    }
    let both = openings.into_iter().zip(requested).enumerate();
    both.map(|(index, (opening, name))| opening.core(name).map_err(|fault| fault.item("calls", index))).collect()
}
