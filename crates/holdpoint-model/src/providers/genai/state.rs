//! What a provider wants back: signed and encrypted reasoning.

use std::sync::Arc;

use genai::chat::{ContentPart, CustomPart, MessageContent};
use holdpoint_core::{JsonText, ProviderState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the shape below.
const VERSION: u32 = 1;

/// The state of one assistant's message.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// What leads the message, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lead: Vec<Lead>,
    /// A signature for each call, by its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Option<String>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Lead {
    Signature(String),
    Thinking(String),
    Block(Value),
}

impl State {
    /// Keeps what leads the reply.
    pub(super) fn keep(&mut self, content: MessageContent) {
        for part in content.into_parts() {
            match part {
                ContentPart::ThoughtSignature(signature) => self.lead.push(Lead::Signature(signature)),
                ContentPart::ReasoningContent(text) => self.lead.push(Lead::Thinking(text)),
                ContentPart::Custom(part) => self.lead.push(Lead::Block(part.data)),
                ContentPart::Text(_)
                | ContentPart::Binary(_)
                | ContentPart::ToolCall(_)
                | ContentPart::ToolResponse(_) => {}
            }
        }
    }

    /// The state for the log, if there is any.
    pub(super) fn seal(self, provider: &str) -> Option<ProviderState> {
        if self.lead.is_empty() && self.calls.iter().all(Option::is_none) {
            return None;
        }
        let value = serde_json::to_value(&self).ok()?;
        let data = JsonText::new(holdpoint_codec::canonical_value(&value));
        Some(ProviderState { provider: Arc::from(provider), version: VERSION, data })
    }

    /// Opens what this provider sealed; what another one sealed, or another version, is left alone.
    pub(super) fn unseal(state: Option<&ProviderState>, provider: &str) -> Self {
        let ours = state.filter(|state| &*state.provider == provider && state.version == VERSION);
        ours.and_then(|state| serde_json::from_str(state.data.expose()).ok()).unwrap_or_default()
    }

    /// What leads the message.
    pub(super) fn parts(self) -> Vec<ContentPart> {
        let part = |lead| match lead {
            Lead::Signature(signature) => ContentPart::ThoughtSignature(signature),
            Lead::Thinking(text) => ContentPart::ReasoningContent(text),
            Lead::Block(data) => ContentPart::Custom(CustomPart { model_iden: None, data }),
        };
        self.lead.into_iter().map(part).collect()
    }
}
