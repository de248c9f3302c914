//! What a tool is accepted by: a digest of all that is told about it.

use std::fmt;
use std::str::FromStr;

use holdpoint_codec::canonical_value;
use holdpoint_core::Digest;
use rmcp::model::Tool;
use serde_json::json;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";

/// Covers a tool's name, title, description, schemas and annotations: all that a model or a person gets to see of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct ToolDigest(Digest);

impl ToolDigest {
    pub(crate) fn of(tool: &Tool) -> Self {
        let seen = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input": tool.input_schema,
            "output": tool.output_schema,
            "annotations": tool.annotations,
        });
        Self(Digest(Sha256::digest(canonical_value(&seen)).into()))
    }
}

impl fmt::Display for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl FromStr for ToolDigest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(PREFIX).and_then(Digest::parse);
        digits.map(Self).ok_or("is not `sha256:` and 64 lower-case hexadecimal digits")
    }
}
