//! What kind of file it is, from its bytes: a name can say anything.

use std::sync::Arc;

use holdpoint_core::{Blob, Block};

/// What nobody can tell.
const UNKNOWN: &str = "application/octet-stream";

/// Text as text, images as images, all else as a file with its media type.
pub(crate) fn block(bytes: Vec<u8>) -> Block {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => return Block::text(text),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let media_type: Arc<str> = infer::get(&bytes).map_or(UNKNOWN, |kind| kind.mime_type()).into();
    let image = media_type.starts_with("image/");
    let blob = Blob { media_type, bytes: bytes.into() };
    if image { Block::Image(blob) } else { Block::File(blob) }
}
