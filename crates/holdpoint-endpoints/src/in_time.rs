//! The time limit of a call.

use std::time::Duration;

use holdpoint_tools::{DEFAULT_TIMEOUT, ToolCall, ToolDefinition, ToolError};

/// How much longer than its caller a tool waits, so that the caller's limit is the one that counts.
const EXTRA: Duration = Duration::from_secs(1);

/// Does the work of a call. `None`: it took too long. The work is dropped then, and when the call is cancelled.
pub(crate) async fn in_time<T>(
    call: &ToolCall,
    definition: &ToolDefinition,
    work: impl Future<Output = T>,
) -> Result<Option<T>, ToolError> {
    let own = definition.metadata.timeout.unwrap_or(DEFAULT_TIMEOUT);
    let limit = call.time_left().map_or(own, |left| left + EXTRA);
    tokio::select! {
        biased;
        () = call.cancellation().cancelled() => Err(ToolError::cancelled()),
        done = tokio::time::timeout(limit, work) => Ok(done.ok()),
    }
}
