//! What a server gives as the result of a call, in our own blocks.

#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdpoint_codec::canonical_value;
use holdpoint_core::{Blob, Block, JsonText, ResultKind, ToolResult};
use rmcp::model::{CallToolResult, ContentBlock, EmbeddedResource, ErrorData, Resource, ResourceContents};
use serde_json::Value;

/// How much of a server's error message is passed on.
const ERROR_CHARS_MAX: usize = 2_000;

/// The result of a call.
pub(crate) fn result_of(result: CallToolResult) -> ToolResult {
    let mut blocks: Vec<Block> = result.content.into_iter().map(block_of).collect();
    if let Some(structured) = result.structured_content {
        add_structured(&mut blocks, &structured);
    }
    let kind = if result.is_error == Some(true) { ResultKind::Error } else { ResultKind::Answer };
    ToolResult { blocks, kind, ..ToolResult::default() }
}

/// An error of the protocol: the server did not run the call.
pub(crate) fn result_of_error(error: &ErrorData) -> ToolResult {
    let message: String = error.message.chars().take(ERROR_CHARS_MAX).collect();
    ToolResult::error(format!("The server refused the call ({}): {message}", error.code.0))
}

/// Servers repeat what is structured as text, for clients that know nothing better: it is kept once.
fn add_structured(blocks: &mut Vec<Block>, structured: &Value) {
    let json = Block::Json(JsonText::new(canonical_value(structured)));
    let repeated = blocks.iter_mut().find(|block| match block {
        Block::Text(text) => serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured),
        Block::Json(_) | Block::Image(_) | Block::File(_) => false,
    });
    match repeated {
        Some(block) => *block = json,
        None => blocks.push(json),
    }
}

fn block_of(content: ContentBlock) -> Block {
    match content {
        ContentBlock::Text(text) => Block::text(text.text),
        ContentBlock::Image(image) => binary(&image.data, &image.mime_type),
        ContentBlock::Audio(audio) => binary(&audio.data, &audio.mime_type),
        ContentBlock::Resource(resource) => resource_block(resource),
        ContentBlock::ResourceLink(link) => Block::text(link_text(&link)),
        // The library may learn new kinds before we do.
        _ => Block::text("Left out: content of a kind that is not known here."),
    }
}

fn binary(data: &str, media_type: &str) -> Block {
    let Ok(bytes) = STANDARD.decode(data) else {
        return Block::text(format!("Left out: content of type {} that cannot be decoded.", shown(media_type)));
    };
    let blob = Blob { media_type: media_type.into(), bytes: bytes.into() };
    if media_type.starts_with("image/") { Block::Image(blob) } else { Block::File(blob) }
}

fn resource_block(resource: EmbeddedResource) -> Block {
    match resource.resource {
        ResourceContents::TextResourceContents { text, .. } => Block::text(text),
        ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
            binary(&blob, mime_type.as_deref().unwrap_or("application/octet-stream"))
        }
        _ => Block::text("Left out: a resource of a kind that is not known here."),
    }
}

/// A link is shown, never followed.
fn link_text(link: &Resource) -> String {
    let title = link.title.as_deref().unwrap_or(&link.name);
    let kind = link.mime_type.as_deref().map(|kind| format!(" ({})", shown(kind))).unwrap_or_default();
    let description = link.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    format!("Resource {title}{kind} at {}{description}", link.uri)
}

fn shown(media_type: &str) -> String {
    const MEDIA_TYPE_CHARS_MAX: usize = 100;
    media_type.chars().take(MEDIA_TYPE_CHARS_MAX).flat_map(char::escape_debug).collect()
}
