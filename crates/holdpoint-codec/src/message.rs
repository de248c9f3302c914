//! Messages of a conversation as JSON.

use holdpoint_core::Message;
use serde_json::Value;

use crate::view::MessageView;
use crate::wire::{MessageWire, Wire, to_value};
use crate::{CodecError, Document, Shown};

/// The public form of a message.
pub fn message_view(message: &Message) -> MessageView {
    MessageWire::of(message)
}

/// The JSON of a message, exactly.
pub fn message_shown(message: &Message) -> Shown {
    Shown::of(&MessageWire::of(message))
}

/// The JSON of a message as a value. An integer of more than 64 bits is only near to what it was.
pub fn message_to_json(message: &Message) -> Value {
    to_value(&MessageWire::of(message))
}

/// Reads the JSON of a message.
///
/// # Errors
/// When it is not a message; the error names the field if it can.
pub fn message_from_json(value: &Value) -> Result<Message, CodecError> {
    let wire: MessageWire = serde_path_to_error::deserialize(value)
        .map_err(|error| CodecError::invalid(Document::Message, error.path().to_string()))?;
    wire.core().map_err(|fault| CodecError::invalid(Document::Message, fault.0))
}
