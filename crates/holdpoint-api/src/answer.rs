//! What people and programs bring to a paused run.

use holdpoint_codec::view::BlockView;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::content::GivenResult;

/// Decisions about calls that wait for people.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "continuation_id": "0199f0c1-2b3c-7d4e-8f50-1234567890ab.p1",
    "decisions": [{"call_id": "tc_1", "decision": "allow",
        "digest": "9f2b0000000000000000000000000000000000000000000000000000000000aa", "reason": "checked with the bank"}]
}))]
pub struct AnswersBody {
    /// The pause that is answered.
    #[serde(default)]
    pub continuation_id: Option<String>,
    /// With `partial`: the batch of the turn, in place of `continuation_id`.
    #[serde(default)]
    pub batch_id: Option<String>,
    /// One per call.
    #[serde(deserialize_with = "crate::object::list")]
    #[schema(max_items = 1000)]
    pub decisions: Vec<DecisionBody>,
    /// Calls that are not mentioned stay undecided.
    #[serde(default)]
    pub partial: Option<bool>,
}

/// One decision about one call.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionBody {
    /// The `id` of the pending call.
    pub call_id: String,
    /// What is decided.
    #[schema(value_type = DecisionWord)]
    pub decision: Box<RawValue>,
    /// The `digest` that was shown. Required except to deny.
    #[serde(default)]
    pub digest: Option<String>,
    /// With `allow`: run it with these arguments.
    #[serde(default)]
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub arguments: Option<Box<RawValue>>,
    /// With `answer` and `happened`: the result.
    #[serde(default)]
    #[schema(value_type = Option<GivenResult>)]
    pub result: Option<Box<RawValue>>,
    /// Why. The model is told the reason of a `deny`.
    #[serde(default)]
    #[schema(max_length = 4000)]
    pub reason: Option<String>,
    /// With `allow`: let it count for later calls too. `true` stands for the narrowest: these arguments, in this run.
    #[serde(default)]
    #[schema(value_type = Option<RememberBody>)]
    pub remember: Option<Value>,
}

/// How far an approval counts: `true`, or what it covers.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum RememberBody {
    /// These arguments, in this run.
    Narrowest(bool),
    /// As said.
    Said(RememberTerms),
}

/// What an approval covers beyond its call. At most one of `until`, `expires_in` and `expires_in_ms`.
#[derive(ToSchema)]
pub struct RememberTerms {
    /// Which arguments: these, unless said otherwise.
    pub arguments: Option<RememberedArguments>,
    /// In which runs: in this one, unless said otherwise.
    pub scope: Option<RememberedScope>,
    /// Until when, in RFC 3339. Without an end it counts until somebody takes it back.
    pub until: Option<String>,
    /// For how long, such as `4h`.
    pub expires_in: Option<String>,
    /// For how many milliseconds.
    pub expires_in_ms: Option<u64>,
}

/// Which arguments an approval covers.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum RememberedArguments {
    /// The same ones.
    These,
    /// Any arguments of the tool.
    Any,
}

/// In which runs an approval counts.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum RememberedScope {
    /// The run of the call.
    Run,
    /// All runs of its session.
    Session,
    /// All runs of the tenant.
    Tenant,
}

/// What is decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionWord {
    /// Run it; of a call in doubt: it did not happen, run it.
    Allow,
    /// Do not run it; of a call in doubt: give it up.
    Deny,
    /// Take this result in the tool's place.
    Answer,
    /// Of a call in doubt: it happened, with this result.
    Happened,
}

impl DecisionWord {
    /// Reads the word. Nothing when it is none of them: that is no malformed request, but not a decision.
    pub fn read(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }
}

/// Results of calls that were handed out.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "continuation_id": "0199f0c1-2b3c-7d4e-8f50-1234567890ab.p1",
    "results": [{"call_id": "tc_1", "json": {"refunded": true}}]
}))]
pub struct ResultsBody {
    /// The pause that is answered.
    #[serde(default)]
    pub continuation_id: Option<String>,
    /// With `partial`: the batch of the turn, in place of `continuation_id`.
    #[serde(default)]
    pub batch_id: Option<String>,
    /// One per call.
    #[serde(deserialize_with = "crate::object::list")]
    #[schema(max_items = 1000)]
    pub results: Vec<ResultBody>,
    /// Calls that are not mentioned stay pending.
    #[serde(default)]
    pub partial: Option<bool>,
}

/// The result of one call: exactly one of `text`, `json`, `content` and `error`.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultBody {
    /// The `id` of the pending call.
    pub call_id: String,
    /// A text.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub text: Option<Box<RawValue>>,
    /// Any JSON.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub json: Option<Box<RawValue>>,
    /// Blocks of text, JSON, images and files.
    #[serde(default)]
    #[schema(value_type = Option<Vec<BlockView>>)]
    pub content: Option<Box<RawValue>>,
    /// It failed; the model is told this.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub error: Option<Box<RawValue>>,
}
