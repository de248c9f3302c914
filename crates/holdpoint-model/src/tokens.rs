//! A rough count of tokens, for the check before each model call.

use std::sync::Arc;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Block, CallArguments, Message};

use crate::media::is_text;

/// Counts the tokens of a text. Give one of your own where the estimate is not good enough.
pub type TokenCounter = Arc<dyn Fn(&str) -> u64 + Send + Sync>;

/// Four bytes are about a token, in most languages and tokenizers; rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// What a provider adds around each message.
const MESSAGE_TOKENS: u64 = 4;
/// What an image costs, whatever its size: providers scale it down.
const IMAGE_TOKENS: u64 = 1_000;

/// How many bytes of a file that is no text, such as a PDF, are about a token: most of it is pictures, fonts and layout.
const FILE_BYTES: u64 = 64;

/// The tokens of one message, arguments of its calls included.
pub fn message_tokens(message: &Message, count: &dyn Fn(&str) -> u64) -> u64 {
    let content = match message {
        Message::System(text) => count(text),
        Message::User(blocks) => blocks_tokens(blocks, count),
        Message::Tool(message) => blocks_tokens(&message.result.blocks, count),
        Message::Assistant(message) => {
            let calls = message.calls.iter().map(|call| {
                let arguments = match &call.arguments {
                    CallArguments::Canonical(arguments) => count(arguments.expose()),
                    CallArguments::Unusable(text) => count(text),
                    CallArguments::Dropped { .. } => 0,
                };
                count(call.name.as_str()) + arguments
            });
            let thinking = message.thinking.as_ref().map_or(0, |text| count(text));
            let state = message.provider_state.as_ref().map_or(0, |state| count(state.data.expose()));
            count(&message.text) + thinking + state + calls.sum::<u64>()
        }
    };
    content + MESSAGE_TOKENS
}

/// The tokens of one tool definition.
pub fn tool_tokens(tool: &ToolDefinition, count: &dyn Fn(&str) -> u64) -> u64 {
    count(tool.name.as_str()) + count(&tool.description) + count(&tool.parameters.to_string())
}

fn blocks_tokens(blocks: &[Block], count: &dyn Fn(&str) -> u64) -> u64 {
    let block = |block: &Block| match block {
        Block::Text(text) => count(text),
        Block::Json(json) => count(json.expose()),
        Block::Image(_) => IMAGE_TOKENS,
        Block::File(blob) => (blob.bytes.len() as u64).div_ceil(if is_text(&blob.media_type) { 4 } else { FILE_BYTES }),
    };
    blocks.iter().map(block).sum()
}
