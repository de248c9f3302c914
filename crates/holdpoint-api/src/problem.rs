//! What an answer says when something is wrong (RFC 9457).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::ProblemCode;

/// The media type of problems.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not done. Nothing changed, unless the code says otherwise.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "/docs#stale_continuation", "title": "Stale continuation", "status": 409,
    "detail": "this continuation was used; `0199f0c1.p2` followed", "code": "stale_continuation",
    "request_id": "0199f0c2-7f1a-7000-8000-000000000000", "current_continuation_id": "0199f0c1.p2"
}))]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is wrong in general.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What is wrong with this request, and what to do about it.
    pub detail: String,
    /// Stable: branch on it.
    pub code: String,
    /// The name of the request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What else helps, such as `current_continuation_id`, `field` or `calls`.
    #[serde(flatten)]
    #[schema(ignore)]
    pub more: Map<String, Value>,
}

impl Problem {
    /// A problem with its sentence.
    pub fn new(code: impl Into<ProblemCode>, detail: impl Into<String>) -> Self {
        let code = code.into();
        Self {
            kind: format!("/docs#{code}"),
            title: code.title(),
            status: code.status(),
            detail: detail.into(),
            code: code.as_str().to_owned(),
            request_id: None,
            more: Map::new(),
        }
    }

    /// Adds something that helps.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }
}
