//! Results that callers give. The server keeps what it reads as text, so that no number loses a digit; this type says what
//! that text may be.

use holdpoint_codec::view::{BlockView, RawJson};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A result: exactly one of the four.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct GivenResult {
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<RawJson>,
    /// Blocks of text, JSON, images and files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<BlockView>>,
    /// It failed; the model is told this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
