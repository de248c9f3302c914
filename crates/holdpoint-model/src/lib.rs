//! Models: what a driver asks for the next message, providers that ask a real one, and a scripted one for tests and
//! demonstrations.
//!
//! The feature `providers` (on by default) brings the providers and everything that speaks HTTP. A program with a [`Model`] of its
//! own can do without.

mod error;
mod media;
mod model;
mod options;
#[cfg(feature = "providers")]
mod providers;
mod scripted;
mod tokens;

pub use error::{ModelChoiceError, ModelError, ModelErrorKind};
pub use model::{Delta, DeltaSink, IntoModel, Model, ModelCall, ModelReply, ModelRequest, NoDeltas};
pub use options::{ModelOptions, ReasoningEffort, ToolChoice};
#[cfg(feature = "providers")]
pub use providers::{KeySource, ModelChoice, RetryRule, Timeouts};
pub use scripted::{ScriptedModel, ScriptedReply, SeenRequest};
pub use tokens::{TokenCounter, estimate_tokens, message_tokens, tool_tokens};
