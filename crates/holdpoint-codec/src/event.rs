//! The entries of a log as the store keeps them: one small versioned record each.

use holdpoint_core::{Event, LogEntry, Message, MessageCompleted, Timestamp};
use serde::{Deserialize, Serialize};
use serde_with::As;
use serde_with::ser::SerializeAsWrap;

use crate::read::{Read, Versioned, read_json};
use crate::wire::Stored;
use crate::{CodecError, Document};

mod stored;

/// The version of stored events.
pub(crate) const VERSION: u32 = 1;

/// A record as it is written. The name `e` is short because every record has it.
#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    /// Microseconds since 1970.
    at: i64,
    #[serde(rename = "e")]
    event: SerializeAsWrap<'a, Event, Stored>,
}

/// A record as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    v: u32,
    at: i64,
    #[serde(with = "As::<Stored>", rename = "e")]
    event: Event,
}

impl Versioned for Record {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The stored form of an entry.
pub fn encode_event(entry: &LogEntry) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    let record = Written { v: VERSION, at: entry.at.0, event: SerializeAsWrap::new(&entry.event) };
    // Writing to memory does not fail, and nothing in a record refuses to be written.
    let _ = serde_json::to_writer(&mut out, &record);
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
    if let Event::MessageCompleted(completed) = &record.event
        && !knows_every_call(completed)
    {
        return Err(CodecError::invalid(Document::Event, "e.message_completed.calls"));
    }
    Ok(LogEntry { at: Timestamp(record.at), event: record.event })
}

fn knows_every_call(completed: &MessageCompleted) -> bool {
    let calls = match &*completed.message {
        Message::Assistant(message) => message.calls.len(),
        Message::System(_) | Message::User(_) | Message::Tool(_) => 0,
    };
    calls == completed.calls.len()
}
