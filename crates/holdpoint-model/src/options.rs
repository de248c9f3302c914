//! What a provider is told beside the conversation and the tools.

use std::fmt;
use std::sync::{Arc, LazyLock};

use holdpoint_core::ToolName;
use serde_json::{Map, Value};

/// Whether the model may, must or must not ask for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must ask for some call.
    Required,
    /// It must ask for this tool, by its registered name.
    Named(ToolName),
}

/// What a provider is told about how to answer. What is `None` is not sent, so that the provider's default holds.
#[derive(Clone, Default, PartialEq)]
pub struct ModelOptions {
    /// How much chance plays.
    pub temperature: Option<f64>,
    /// Only the likeliest words that together have this probability.
    pub top_p: Option<f64>,
    /// How long the answer may get, reasoning included.
    pub output_tokens_max: Option<u32>,
    /// Texts at which the model stops.
    pub stop_sequences: Vec<Arc<str>>,
    /// For answers that can be had again, where the provider can.
    pub seed: Option<i64>,
    /// How long the model should reason.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Members that are added to the request as they are, in place of ours of the same name.
    pub extra: Option<Arc<Map<String, Value>>>,
}

/// Nothing: the provider's defaults.
pub(crate) static NO_OPTIONS: LazyLock<ModelOptions> = LazyLock::new(ModelOptions::default);

impl fmt::Debug for ModelOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelOptions")
            .field("temperature", &self.temperature)
            .field("top_p", &self.top_p)
            .field("output_tokens_max", &self.output_tokens_max)
            .field("stop_sequences", &self.stop_sequences.len())
            .field("seed", &self.seed)
            .field("reasoning_effort", &self.reasoning_effort)
            .field("extra", &self.extra.as_ref().map(|members| members.len()))
            .finish()
    }
}

/// How long a model should reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Long.
    High,
    /// In the provider's own word.
    Other(Arc<str>),
}

impl ReasoningEffort {
    /// The word that most providers use.
    pub fn as_str(&self) -> &str {
        match self {
            ReasoningEffort::None => "none",
            ReasoningEffort::Minimal => "minimal",
            ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
            ReasoningEffort::Other(word) => word,
        }
    }
}
