//! Models: what a driver asks for the next message, and a scripted one for tests and demonstrations.

mod model;
mod scripted;
mod tokens;

pub use model::{Delta, DeltaSink, Model, ModelCall, ModelError, ModelReply, ModelRequest, NoDeltas};
pub use scripted::{ScriptedModel, ScriptedReply, SeenRequest};
pub use tokens::{TokenCounter, estimate_tokens, message_tokens, tool_tokens};
