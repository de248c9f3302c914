//! What people and programs bring to a paused run.

use holdpoint_codec::view::{BlockView, DecisionWord, GrantReach, GrantedArguments, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

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
    pub continuation_id: Option<String>,
    /// With `partial`: the batch of the turn, in place of `continuation_id`.
    pub batch_id: Option<String>,
    /// Calls that are not mentioned stay as they are.
    pub partial: Option<bool>,
    /// One per call.
    #[serde(deserialize_with = "crate::object::list")]
    #[schema(max_items = 1000)]
    pub decisions: Vec<DecisionBody>,
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
    pub digest: Option<String>,
    /// With `allow`: run it with these arguments.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub arguments: Option<Box<RawValue>>,
    /// With `answer` and `happened`: the result.
    #[schema(value_type = Option<GivenResult>)]
    pub result: Option<Box<RawValue>>,
    /// Why. The model is told the reason of a `deny`.
    #[schema(max_length = 4000)]
    pub reason: Option<String>,
    /// With `allow`: let it count for later calls too. `true` stands for the narrowest: these arguments, in this run.
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
    pub arguments: Option<GrantedArguments>,
    /// In which runs: in this one, unless said otherwise.
    pub scope: Option<GrantReach>,
    /// Until when, in RFC 3339. Without an end it counts until somebody takes it back.
    pub until: Option<String>,
    /// For how long, such as `4h`.
    pub expires_in: Option<String>,
    /// For how many milliseconds.
    pub expires_in_ms: Option<u64>,
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
    pub continuation_id: Option<String>,
    /// With `partial`: the batch of the turn, in place of `continuation_id`.
    pub batch_id: Option<String>,
    /// Calls that are not mentioned stay as they are.
    pub partial: Option<bool>,
    /// One per call.
    #[serde(deserialize_with = "crate::object::list")]
    #[schema(max_items = 1000)]
    pub results: Vec<ResultBody>,
}

/// Defines a body that brings a result beside the field that says what it is the result of: exactly one of `text`, `json`,
/// `content` and `error`. Not a flattened struct, because serde would read that without the exact digits of numbers.
macro_rules! result_body {
    ($(#[$about:meta])* pub struct $body:ident { $(#[$doc:meta])* pub $of:ident }) => {
        $(#[$about])*
        #[derive(serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $body {
            $(#[$doc])*
            pub $of: String,
            /// A text.
            #[schema(value_type = Option<String>)]
            pub text: Option<Box<serde_json::value::RawValue>>,
            /// Any JSON.
            #[schema(value_type = Option<Value>)]
            pub json: Option<Box<serde_json::value::RawValue>>,
            /// Blocks of text, JSON, images and files.
            #[schema(value_type = Option<Vec<holdpoint_codec::view::BlockView>>)]
            pub content: Option<Box<serde_json::value::RawValue>>,
            /// It failed; the model is told this.
            #[schema(value_type = Option<String>)]
            pub error: Option<Box<serde_json::value::RawValue>>,
        }

        impl $body {
            /// The result. Numbers stay as they were written.
            ///
            /// # Errors
            /// When it has none of the four, several, or one of another shape.
            pub fn result(&self) -> Result<holdpoint_core::ToolResult, holdpoint_codec::CodecError> {
                let Self { text, json, content, error, .. } = self;
                let forms = [("text", text), ("json", json), ("content", content), ("error", error)];
                let mut given = holdpoint_codec::Shown::default();
                for (name, raw) in forms {
                    if let Some(raw) = raw {
                        given.set(name, raw);
                    }
                }
                holdpoint_codec::result_from_short_text(&given.to_string())
            }
        }
    };
}

pub(crate) use result_body;

result_body! {
    /// The result of one call: exactly one of `text`, `json`, `content` and `error`.
    pub struct ResultBody {
        /// The `id` of the pending call.
        pub call_id
    }
}

/// A result: exactly one of the four. The server keeps it as it was written, so that no number loses a digit.
#[derive(ToSchema)]
pub struct GivenResult {
    /// A text.
    pub text: Option<String>,
    /// Any JSON.
    pub json: Option<RawJson>,
    /// Blocks of text, JSON, images and files.
    pub content: Option<Vec<BlockView>>,
    /// It failed; the model is told this.
    pub error: Option<String>,
}
