//! Results that an application supplies for deferred calls.

use std::sync::Arc;

use holdpoint_codec::result_from_short;
use holdpoint_core::{CallId, Code, Missing, ToolResult};
use serde_json::Value;

use crate::Error;
use crate::entry::decisions::not_accepted;

/// Results of deferred calls, for [`crate::Agent::resume_with_tool_results`].
#[derive(Clone, Debug)]
pub struct Results {
    pub(crate) results: Vec<(CallId, Arc<ToolResult>)>,
    pub(crate) missing: Missing,
}

impl Default for Results {
    fn default() -> Self {
        Self { results: Vec::new(), missing: Missing::Reject }
    }
}

impl Results {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a result.
    #[must_use]
    pub fn result(mut self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.results.push((call.into(), Arc::new(result)));
        self
    }

    /// Calls that are not mentioned stay pending.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.missing = Missing::Wait;
        self
    }

    /// Reads a JSON object of call ids and results: `{"text": …}`, `{"json": …}`, `{"error": …}`, `{"content": …}`.
    ///
    /// # Errors
    /// `invalid_result` for anything else, naming the call.
    pub fn from_json(value: &Value) -> Result<Self, Error> {
        let entries = value.as_object().ok_or_else(|| not_accepted("results", Code::InvalidResult))?;
        let mut results = Self::new();
        for (call, value) in entries {
            let result = result_from_short(value).map_err(|_| not_accepted(call, Code::InvalidResult))?;
            if call.trim().is_empty() {
                return Err(not_accepted(call, Code::InvalidResult));
            }
            results = results.result(call.as_str(), result);
        }
        Ok(results)
    }
}

impl<K: Into<CallId>> FromIterator<(K, ToolResult)> for Results {
    fn from_iter<I: IntoIterator<Item = (K, ToolResult)>>(results: I) -> Self {
        results.into_iter().fold(Self::new(), |all, (call, result)| all.result(call, result))
    }
}

impl<K: Into<CallId>, const N: usize> From<[(K, ToolResult); N]> for Results {
    fn from(results: [(K, ToolResult); N]) -> Self {
        results.into_iter().collect()
    }
}
