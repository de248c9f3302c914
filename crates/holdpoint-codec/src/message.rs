//! Messages of a conversation as JSON.

use holdpoint_core::Message;

use crate::view::MessageView;
use crate::wire::{MessageWire, Wire};

/// The public form of a message.
pub fn message_view(message: &Message) -> MessageView {
    MessageWire::of(message)
}
