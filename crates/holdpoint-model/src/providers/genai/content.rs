//! Blocks as the parts of a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{Binary, ContentPart};
use holdpoint_core::{Blob, Block};
use serde_json::{Value, json};

use super::Family;
use crate::media::text_of;

/// A block as a part of a message.
pub(super) fn part(family: Family, block: &Block) -> ContentPart {
    match block {
        Block::Text(text) => ContentPart::Text(text.to_string()),
        Block::Json(json) => ContentPart::Text(json.expose().to_owned()),
        Block::Image(blob) => binary(blob),
        Block::File(blob) => match text_of(blob) {
            Some(text) => ContentPart::Text(text.to_owned()),
            None if is_readable(family, &blob.media_type) => binary(blob),
            None => {
                let (kind, bytes) = (&blob.media_type, blob.bytes.len());
                ContentPart::Text(format!("[a file of type {kind}, {bytes} bytes, which cannot be shown]"))
            }
        },
    }
}

fn binary(blob: &Blob) -> ContentPart {
    ContentPart::Binary(Binary::from_base64(&*blob.media_type, STANDARD.encode(&blob.bytes), None))
}

/// Whether a provider can do something with a file that is neither an image nor text.
fn is_readable(family: Family, media: &str) -> bool {
    let pdf = media == "application/pdf";
    match family {
        Family::Anthropic | Family::Bedrock => pdf,
        Family::Gemini => pdf || media.starts_with("audio/") || media.starts_with("video/"),
        Family::Ollama => false,
    }
}

/// The text of a result, and the parts that it only points at.
pub(super) fn result(family: Family, blocks: &[Block]) -> (String, Vec<ContentPart>) {
    let (mut texts, mut attached) = (Vec::new(), Vec::new());
    for block in blocks {
        match part(family, block) {
            ContentPart::Text(text) => texts.push(text),
            binary => {
                let what = if matches!(block, Block::Image(_)) { "an image" } else { "a file" };
                texts.push(format!("[{what}, see below]"));
                attached.push(binary);
            }
        }
    }
    (texts.join("\n"), attached)
}

/// The content of a result in Anthropic's own shape, which holds images and documents.
pub(super) fn anthropic_result(blocks: &[Block]) -> Value {
    let shown = blocks.iter().filter_map(|block| match (part(Family::Anthropic, block), block) {
        // A text block without text is refused.
        (ContentPart::Text(text), _) => (!text.is_empty()).then(|| json!({"type": "text", "text": text})),
        (_, Block::Text(_) | Block::Json(_)) => None,
        (_, Block::Image(blob)) => Some(json!({"type": "image", "source": source(blob)})),
        (_, Block::File(blob)) => Some(json!({"type": "document", "source": source(blob)})),
    });
    shown.collect()
}

fn source(blob: &Blob) -> Value {
    json!({"type": "base64", "media_type": &*blob.media_type, "data": STANDARD.encode(&blob.bytes)})
}
