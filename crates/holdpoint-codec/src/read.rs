//! Reads versioned JSON: first the version, then the shape, and names the field that does not fit.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::Fault;
use crate::{CodecError, Document};

/// What is read.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    pub(crate) document: Document,
    /// The name of the field that holds the version.
    pub(crate) version_field: &'static str,
    /// The version that is known.
    pub(crate) version: u32,
}

/// A type that holds its version.
pub(crate) trait Versioned {
    /// As it was read.
    fn version(&self) -> u32;
}

/// Reads a text. The usual one is read in one go; only one that does not fit is looked at again.
pub(crate) fn read_json<T: DeserializeOwned + Versioned>(text: &str, read: Read) -> Result<T, CodecError> {
    match serde_json::from_str::<T>(text) {
        Ok(value) if value.version() == read.version => Ok(value),
        Ok(_) | Err(_) => {
            expect_version(text, read)?;
            Err(CodecError::invalid(read.document, faulty_field::<T>(text)))
        }
    }
}

/// The version, whatever else is wrong: a text of another version may have any shape.
pub(crate) fn expect_version(text: &str, read: Read) -> Result<(), CodecError> {
    let invalid = |field: &str| CodecError::invalid(read.document, field);
    let members: HashMap<String, &RawValue> = serde_json::from_str(text).map_err(|_| invalid(""))?;
    let found = members.get(read.version_field).ok_or_else(|| invalid(read.version_field))?.get();
    if found == read.version.to_string() {
        return Ok(());
    }
    let digits = found.strip_prefix('-').unwrap_or(found);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CodecError::UnsupportedVersion { document: read.document, known: read.version });
    }
    Err(invalid(read.version_field))
}

/// The path of what does not fit.
fn faulty_field<T: DeserializeOwned>(text: &str) -> String {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else { return String::new() };
    let path = error.path().to_string();
    let path = if path == "." { "" } else { &path };
    // A field that is missing or that was judged later has no path; no other word of the message is ours to show.
    let message = error.inner().to_string();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match (path, missing.or_else(|| Fault::path_in(&message))) {
        (path, None | Some("")) => path.to_owned(),
        ("", Some(field)) => field.to_owned(),
        (path, Some(field)) => format!("{path}.{field}"),
    }
}

/// The text of a payload, if it is not too large to be looked at.
pub(crate) fn bounded_text(payload: &[u8], document: Document, max_bytes: usize) -> Result<&str, CodecError> {
    if payload.len() > max_bytes {
        return Err(CodecError::TooLarge { len_bytes: payload.len(), max_bytes });
    }
    std::str::from_utf8(payload).map_err(|_| CodecError::invalid(document, ""))
}

/// What a store keeps, with the version of its form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<T> {
    v: u32,
    body: T,
}

/// The version of every record.
const RECORD_VERSION: u32 = 1;

impl<T> Versioned for Record<T> {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The record of something that a store keeps.
pub(crate) fn write_record(body: &impl Serialize) -> Vec<u8> {
    // Writing to memory does not fail, and nothing that is stored refuses to be written.
    serde_json::to_vec(&Record { v: RECORD_VERSION, body }).unwrap_or_default()
}

/// Reads the record of something that a store keeps.
pub(crate) fn read_record<T: DeserializeOwned>(stored: &[u8], document: Document) -> Result<T, CodecError> {
    let text = std::str::from_utf8(stored).map_err(|_| CodecError::invalid(document, ""))?;
    let read = Read { document, version_field: "v", version: RECORD_VERSION };
    read_json::<Record<T>>(text, read).map(|record| record.body)
}
