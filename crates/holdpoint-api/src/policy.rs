//! Why a call gets its decision.

use holdpoint_codec::Shown;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Asks what a policy would decide. Nothing runs.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agent": "support", "tool": "refund", "arguments": {"amount": 250}}))]
pub struct ExplainBody {
    /// Whose policy.
    pub agent: String,
    /// The registered tool.
    pub tool: String,
    /// What it would be called with.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub arguments: Option<Box<RawValue>>,
    /// Attributes of the context.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub context: Option<Shown>,
    /// Whether the values that rules looked at are shown. Otherwise only their types.
    pub values: Option<bool>,
}
