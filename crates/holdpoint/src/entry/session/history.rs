//! Conversations as they go from one run of a session to the next.

use std::sync::Arc;

use holdpoint_core::{CallId, Message, MessageCall, Status, ToolMessage, ToolResult};

use crate::RunResult;

/// The conversation, with the results that a run had when it stopped in the middle of a turn.
pub(in crate::entry) fn durable(result: &RunResult) -> Vec<Arc<Message>> {
    let mut messages = result.messages().to_vec();
    if !matches!(result.status(), Status::Failed | Status::Running) {
        return messages;
    }
    let open = unanswered(&messages);
    let settled = result.run().calls().iter().filter(|call| open.iter().any(|asked| asked.id == call.id));
    messages.extend(settled.filter_map(|call| {
        let settlement = call.settlement()?;
        let (call, provider_id) = (call.id.clone(), call.provider_id.clone());
        Some(Arc::new(Message::Tool(ToolMessage { call, provider_id, result: Arc::clone(&settlement.result) })))
    }));
    messages
}

/// A conversation in which every call has its result: what a failed run left open is closed.
pub(in crate::entry) fn closed(history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut messages = history.to_vec();
    messages.extend(unanswered(history).into_iter().map(|call| {
        let result = ToolResult::error("The run ended before this call gave a result.");
        let (call, provider_id) = (call.id, call.provider_id);
        Arc::new(Message::Tool(ToolMessage { call, provider_id, result: Arc::new(result) }))
    }));
    messages
}

/// The calls of the last reply that have no result.
fn unanswered(history: &[Arc<Message>]) -> Vec<MessageCall> {
    let last = history.iter().rposition(|message| matches!(&**message, Message::Assistant(_)));
    let Some((last, Message::Assistant(asked))) = last.map(|last| (last, &*history[last])) else { return Vec::new() };
    let answered = |id: &CallId| {
        history[last + 1..].iter().any(|message| matches!(&**message, Message::Tool(tool) if tool.call == *id))
    };
    asked.calls.iter().filter(|call| !answered(&call.id)).cloned().collect()
}
