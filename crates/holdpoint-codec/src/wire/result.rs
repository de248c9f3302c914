//! Content, as messages and results hold it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdpoint_core::{Blob, Block, ResultKind};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Fault, Json, Text, Wire, all_core, all_of};

/// One piece of content.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BlockView))]
#[serde(rename_all = "snake_case")]
pub enum BlockWire {
    /// A text.
    Text(Text),
    /// A JSON value.
    Json(Json),
    /// An image.
    Image(BlobWire),
    /// A file.
    File(BlobWire),
}

/// Bytes with their media type.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BlobView))]
pub struct BlobWire {
    /// The bytes as base64.
    #[cfg_attr(feature = "openapi", schema(value_type = String, content_encoding = "base64"))]
    pub(crate) data: Bytes,
    /// Such as `image/png`.
    pub media_type: Text,
}

/// Bytes as base64.
#[derive(Clone, PartialEq)]
pub(crate) struct Bytes(Arc<[u8]>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text.as_str()).map_err(|_| D::Error::custom("not base64"))?;
        Ok(Self(bytes.into()))
    }
}

impl Wire for BlockWire {
    type Core = Block;

    fn of(block: &Block) -> Self {
        let blob =
            |blob: &Blob| BlobWire { data: Bytes(Arc::clone(&blob.bytes)), media_type: Text::share(&blob.media_type) };
        match block {
            Block::Text(text) => BlockWire::Text(Text::share(text)),
            Block::Json(json) => BlockWire::Json(Json(json.clone())),
            Block::Image(image) => BlockWire::Image(blob(image)),
            Block::File(file) => BlockWire::File(blob(file)),
        }
    }

    fn core(self) -> Result<Block, Fault> {
        let blob = |blob: BlobWire| Blob { media_type: blob.media_type.0, bytes: blob.data.0 };
        Ok(match self {
            BlockWire::Text(text) => Block::Text(text.0),
            BlockWire::Json(json) => Block::Json(json.0),
            BlockWire::Image(image) => Block::Image(blob(image)),
            BlockWire::File(file) => Block::File(blob(file)),
        })
    }
}

/// Some blocks: one text is the usual case and stands alone.
pub(super) fn content_of(blocks: &[Block]) -> (Option<Text>, Option<Vec<BlockWire>>) {
    match blocks {
        [Block::Text(text)] => (Some(Text::share(text)), None),
        blocks => (None, Some(all_of(blocks))),
    }
}

/// The blocks back. Exactly one of the two forms is there.
pub(super) fn content_core(text: Option<Text>, content: Option<Vec<BlockWire>>) -> Result<Vec<Block>, Fault> {
    match (text, content) {
        (Some(text), None) => Ok(vec![Block::Text(text.0)]),
        (None, Some(blocks)) => all_core(blocks, "content"),
        (None, None) => Err(Fault::at("text")),
        (Some(_), Some(_)) => Err(Fault::at("content")),
    }
}

/// A result is an error, or it halts, or it is an answer.
pub(crate) fn kind_core(error: bool, halt: bool) -> Result<ResultKind, Fault> {
    match (error, halt) {
        (false, false) => Ok(ResultKind::Answer),
        (true, false) => Ok(ResultKind::Error),
        (false, true) => Ok(ResultKind::Halt),
        (true, true) => Err(Fault::at("halt")),
    }
}
