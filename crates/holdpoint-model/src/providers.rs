//! Providers: models that are reached over the network, chosen by `provider:model`.

mod assemble;
mod choice;
mod genai;
mod http;
mod names;
mod openai;
mod retry;
mod sse;
mod timeouts;

pub use assemble::{ARGUMENTS_BYTES_MAX, CALLS_MAX, REPLY_BYTES_MAX};
pub use choice::{KeySource, ModelChoice, known_window_tokens, provider_names};
pub use names::{Names, WIRE_NAME_BYTES_MAX, wire_name};
pub use retry::{Attempts, Next, RetryRule, retry_after};
pub use sse::{LINE_BYTES_MAX, STREAM_BYTES_MAX};
pub use timeouts::Timeouts;
