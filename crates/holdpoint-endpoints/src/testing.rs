//! What the tests of this crate share.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::sync::Arc;

use holdpoint_codec::{Context, arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{Attempt, CallId, CallIndex, CallKey, RequestedName, RunId, ToolName, Turn};
use holdpoint_tools::{CallFacts, ToolCall};
use serde_json::Value;

/// A call of a tool with these arguments.
pub(crate) fn call(tool: &str, arguments: &Value) -> ToolCall {
    let arguments = arguments_for(tool, &parse_arguments(Some(&arguments.to_string())).unwrap());
    let key = CallKey { run: RunId::new("r1"), turn: Turn(1), index: CallIndex(0) };
    ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        requested: RequestedName::new(tool),
        tool: ToolName::new(tool),
        idempotency_key: idempotency_key(&key.run, key.turn, key.index, arguments.digest()),
        key,
        arguments,
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
    })
}
