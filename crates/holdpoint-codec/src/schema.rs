//! Which form the arguments of a tool have.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{canonical_value, hex};

/// Changes when other things than the schema and the source count.
const DOMAIN: &[u8] = b"holdpoint.schema.1\0";
/// Enough that nobody finds a second schema with the same one.
const BYTES: usize = 16;

/// Equal for tools that come from the same place and take the same arguments, however their schema is spelt.
pub fn schema_id(source: &str, parameters: &Value) -> Arc<str> {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    hash.update(source);
    hash.update(b"\0");
    hash.update(canonical_value(parameters));
    hex(&hash.finalize()[..BYTES]).into()
}
