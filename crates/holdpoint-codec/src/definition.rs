//! What stands for the whole definition of a tool.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{canonical_value, hex};

/// Changes when other things count.
const DOMAIN: &[u8] = b"holdpoint.definition.1\0";
/// Enough that nobody finds a second definition with the same one.
const BYTES: usize = 16;

/// Everything of a tool that an approval and a grant are bound to, beside its name.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a> {
    /// Its kind: `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub source: &'a str,
    /// What the model is told.
    pub description: &'a str,
    /// JSON Schema of the arguments.
    pub parameters: &'a Value,
    /// The version that its author gave it.
    pub version: Option<&'a str>,
    /// What it runs or calls, as text: the command, or the URL template with its method.
    pub implementation: Option<&'a str>,
}

/// Equal for equal definitions, however their schema is spelt.
pub fn definition_id(definition: &Definition<'_>) -> Arc<str> {
    let Definition { source, description, parameters, version, implementation } = definition;
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    let parameters = canonical_value(parameters);
    for part in [Some(*source), Some(*description), Some(&*parameters), *version, *implementation] {
        // The length first, so that no two definitions are one text.
        hash.update([u8::from(part.is_some())]);
        hash.update((part.map_or(0, str::len) as u64).to_be_bytes());
        hash.update(part.unwrap_or_default());
    }
    hex(&hash.finalize()[..BYTES]).into()
}
