//! What was seen after a step.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// Everything that `expect` can be compared with. Messages, records and what is pending are objects with the keys of
/// `expect`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) stop_reason: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) turns: Option<u64>,
    /// Whether the run is the one of the step before.
    pub(crate) run_id_same: bool,
    pub(crate) error: Option<SeenError>,
    pub(crate) status: Option<String>,
    /// In the whole scenario.
    pub(crate) model_calls: u64,
    /// In the order in which they were started.
    pub(crate) executed: Vec<String>,
    pub(crate) in_flight_max: u64,
    pub(crate) in_flight_max_of: BTreeMap<String, u64>,
    pub(crate) pending: Vec<Value>,
    /// Those that this segment added.
    pub(crate) messages: Vec<Value>,
    /// Those of the latest model request.
    pub(crate) model_saw: Vec<Value>,
    /// Those of the latest model request.
    pub(crate) model_tools: Vec<String>,
    pub(crate) usage: Value,
    pub(crate) records: Vec<Value>,
    /// The names of the events of this segment.
    pub(crate) events: Vec<String>,
    /// Everything that was logged or traced.
    pub(crate) log: String,
    /// The payload that was dumped.
    pub(crate) payload: Option<String>,
    pub(crate) continuation: SeenContinuation,
    /// How many of a race succeeded.
    pub(crate) won: Option<u64>,
    /// The error of those who lost a race that others won.
    pub(crate) lost: Option<SeenError>,
}

/// An error of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenError {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl fmt::Display for SeenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// The continuation after a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenContinuation {
    /// Whether this step made it.
    pub(crate) new: bool,
    pub(crate) parent: Option<String>,
    /// The ids of the saved ones, by name.
    pub(crate) saved: BTreeMap<String, String>,
}
