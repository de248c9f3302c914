//! Conversations over several runs.

use holdpoint_codec::view::Moment;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The name that its runs were started with.
    pub id: String,
    /// How many runs it has.
    pub runs: u64,
    /// When one of them moved last.
    pub updated_at: Moment,
}

/// One page of conversations, the last moved first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionPage {
    /// The conversations.
    pub sessions: Vec<SessionView>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}
