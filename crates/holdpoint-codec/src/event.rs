//! The entries of a log as the store keeps them: one small versioned record each.

use holdpoint_core::LogEntry;

use crate::read::{Read, read_json};
use crate::{CodecError, Document};

mod record;
mod restored;
mod written;

use record::Record;

/// The version of stored events.
pub(crate) const VERSION: u32 = 1;

/// The stored form of an entry.
pub fn encode_event(entry: &LogEntry) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    // Writing to memory does not fail, and nothing in a record refuses to be written.
    let _ = serde_json::to_writer(&mut out, &Record::of(entry));
    out
}

/// Reads the stored form of an entry.
///
/// # Errors
/// When the record has another version, or is not an event; the error names the field.
pub fn decode_event(stored: &[u8]) -> Result<LogEntry, CodecError> {
    let read = Read { document: Document::Event, version_field: "v", version: VERSION };
    let text = std::str::from_utf8(stored).map_err(|_| CodecError::invalid(Document::Event, "event"))?;
    let record: Record = read_json(text, read)?;
    record.core().map_err(|fault| CodecError::invalid(Document::Event, fault.0))
}
