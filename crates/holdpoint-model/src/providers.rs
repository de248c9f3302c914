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

pub use choice::{KeySource, ModelChoice};
pub use retry::RetryRule;
pub use timeouts::Timeouts;
