//! Models: what a driver asks for the next message, providers that ask a real one, and a scripted one for tests and
//! demonstrations.

mod assemble;
mod choice;
mod error;
mod genai;
mod http;
mod media;
mod model;
mod names;
mod openai;
mod options;
mod retry;
mod scripted;
mod sse;
mod timeouts;
mod tokens;

pub use assemble::{ARGUMENTS_BYTES_MAX, CALLS_MAX, REPLY_BYTES_MAX};
pub use choice::{ChoiceError, IntoModel, KeySource, ModelChoice, known_window_tokens, provider_names};
pub use error::{ModelError, ModelErrorKind};
pub use model::{Delta, DeltaSink, Model, ModelCall, ModelReply, ModelRequest, NoDeltas};
pub use names::{Names, WIRE_NAME_BYTES_MAX, wire_name};
pub use options::{ModelOptions, ReasoningEffort, ToolChoice};
pub use retry::{Attempts, Next, RetryRule, retry_after};
pub use scripted::{ScriptedModel, ScriptedReply, SeenRequest};
pub use sse::{LINE_BYTES_MAX, STREAM_BYTES_MAX};
pub use timeouts::Timeouts;
pub use tokens::{TokenCounter, estimate_tokens, message_tokens, tool_tokens};
