//! What tools and people say: blocks, and the result of a call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::JsonText;
use crate::named::named;

/// One piece of content.
#[derive(Clone, PartialEq, Eq)]
pub enum Block {
    /// Plain text.
    Text(Arc<str>),
    /// A JSON value, as canonical text.
    Json(JsonText),
    /// An image.
    Image(Blob),
    /// Any other file.
    File(Blob),
}

/// Bytes with their media type.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    /// Such as `image/png`.
    pub media_type: Arc<str>,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// How many bytes it has, without any encoding.
    pub fn len_bytes(&self) -> usize {
        match self {
            Block::Text(text) => text.len(),
            Block::Json(json) => json.expose().len(),
            Block::Image(blob) | Block::File(blob) => blob.bytes.len(),
        }
    }

    /// The text of a text or JSON block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(text) => Some(text),
            Block::Json(json) => Some(json.expose()),
            Block::Image(_) | Block::File(_) => None,
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Block::Text(_) => "Text",
            Block::Json(_) => "Json",
            Block::Image(_) => "Image",
            Block::File(_) => "File",
        };
        write!(f, "{kind}({} bytes)", self.len_bytes())
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({}, {} bytes)", self.media_type, self.bytes.len())
    }
}

/// The texts of some blocks, one after another, with a newline between.
pub(crate) fn joined_text(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
    texts.join("\n")
}

named! {
    /// Whether a result is an answer or an error that the model can react to.
    #[derive(Default)]
    pub enum ResultKind {
        /// The tool did what it was asked.
        #[default]
        Answer = "answer",
        /// Something went wrong; the content says what.
        Error = "error",
        /// An answer that also ends the run once the turn is settled.
        Halt = "halt",
    }
}

/// The result of a call: blocks, whether it is an error, and metadata that nobody compares.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    /// What the model gets to see.
    pub blocks: Vec<Block>,
    /// Answer, error or halt.
    pub kind: ResultKind,
    /// Timings and the like: kept, never compared.
    pub metadata: BTreeMap<Arc<str>, JsonText>,
}

impl ToolResult {
    /// A successful result with one text.
    pub fn success(text: impl Into<Arc<str>>) -> Self {
        Self { blocks: vec![Block::text(text)], ..Self::default() }
    }

    /// An error with one text.
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { blocks: vec![Block::text(text)], kind: ResultKind::Error, ..Self::default() }
    }

    /// A result that ends the run once every call of the turn is settled.
    pub fn halt(text: impl Into<Arc<str>>) -> Self {
        Self { blocks: vec![Block::text(text)], kind: ResultKind::Halt, ..Self::default() }
    }

    /// A successful result with these blocks.
    pub fn from_blocks(blocks: Vec<Block>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// Adds a piece of metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<Arc<str>>, value: JsonText) -> Self {
        self.metadata.insert(key.into(), value);
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.kind == ResultKind::Error
    }

    /// Its text blocks, joined.
    pub fn text(&self) -> String {
        joined_text(&self.blocks)
    }

    /// Same content and same kind; metadata does not count.
    pub fn same_as(&self, other: &Self) -> bool {
        self.kind == other.kind && self.blocks == other.blocks
    }
}
