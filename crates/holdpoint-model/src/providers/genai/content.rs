//! Blocks as the parts of a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{Binary, ContentPart};
use holdpoint_core::{Blob, Block};
use serde_json::{Value, json};

use super::Family;
use crate::media::text_of;

/// The parts of what a user said.
pub(super) fn parts(family: Family, blocks: &[Block]) -> Vec<ContentPart> {
    blocks.iter().map(|block| part(family, block)).collect()
}

fn part(family: Family, block: &Block) -> ContentPart {
    match block {
        Block::Text(text) => ContentPart::Text(text.to_string()),
        Block::Json(json) => ContentPart::Text(json.expose().to_owned()),
        Block::Image(blob) => binary(blob),
        Block::File(blob) => match readable(family, blob) {
            Readable::Whole => binary(blob),
            Readable::AsText(text) => ContentPart::Text(text.to_owned()),
            Readable::No => ContentPart::Text(unreadable(blob)),
        },
    }
}

fn binary(blob: &Blob) -> ContentPart {
    ContentPart::Binary(Binary::from_base64(&*blob.media_type, STANDARD.encode(&blob.bytes), None))
}

enum Readable<'a> {
    Whole,
    AsText(&'a str),
    No,
}

/// What a provider can do with a file that is not an image.
fn readable(family: Family, blob: &Blob) -> Readable<'_> {
    let media = &*blob.media_type;
    if let Some(text) = text_of(blob) {
        return Readable::AsText(text);
    }
    let pdf = media == "application/pdf";
    match family {
        Family::Anthropic | Family::Bedrock if pdf => Readable::Whole,
        Family::Gemini if pdf || media.starts_with("audio/") || media.starts_with("video/") => Readable::Whole,
        Family::Anthropic | Family::Bedrock | Family::Gemini | Family::Ollama => Readable::No,
    }
}

fn unreadable(blob: &Blob) -> String {
    format!("[a file of type {}, {} bytes, which cannot be shown]", blob.media_type, blob.bytes.len())
}

/// The text of a result, with a word for what is not text.
pub(super) fn result_text(family: Family, blocks: &[Block]) -> String {
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.to_string(),
            Block::Json(json) => json.expose().to_owned(),
            Block::Image(_) => "[an image, see below]".to_owned(),
            Block::File(blob) => match readable(family, blob) {
                Readable::Whole => "[a file, see below]".to_owned(),
                Readable::AsText(text) => text.to_owned(),
                Readable::No => unreadable(blob),
            },
        })
        .collect();
    texts.join("\n")
}

/// The parts of a result that its text only points at.
pub(super) fn attachments(family: Family, blocks: &[Block]) -> Vec<ContentPart> {
    let attached = blocks.iter().filter_map(|block| match block {
        Block::Text(_) | Block::Json(_) => None,
        Block::Image(blob) => Some(binary(blob)),
        Block::File(blob) => matches!(readable(family, blob), Readable::Whole).then(|| binary(blob)),
    });
    attached.collect()
}

/// The content of a result in Anthropic's own shape, which holds images and documents.
pub(super) fn anthropic_result(blocks: &[Block]) -> Value {
    let source =
        |blob: &Blob| json!({"type": "base64", "media_type": &*blob.media_type, "data": STANDARD.encode(&blob.bytes)});
    let block = |block: &Block| match part(Family::Anthropic, block) {
        ContentPart::Binary(_) => match block {
            Block::Image(blob) => json!({"type": "image", "source": source(blob)}),
            Block::File(blob) => json!({"type": "document", "source": source(blob)}),
            Block::Text(_) | Block::Json(_) => Value::Null,
        },
        part => json!({"type": "text", "text": part.into_text().unwrap_or_default()}),
    };
    // A text block without text is refused.
    let empty = |value: &Value| value["text"].as_str() == Some("");
    blocks.iter().map(block).filter(|value| !empty(value)).collect()
}
