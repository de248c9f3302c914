//! I9: results reach the model in the order in which it asked, each call once, unless the run is set otherwise.

use super::{Check, Disk, Seen};
use holdpoint_core::{CallId, Message};

pub(super) struct Order;

impl Check for Order {
    fn name(&self) -> &'static str {
        "i9_order"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        let Seen::ModelAsked { slot, messages } = seen else { return Ok(()) };
        let asked = messages.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
        let Some(place) = asked else { return Ok(()) };
        let Message::Assistant(message) = &*messages[place] else { return Ok(()) };
        let answered: Vec<&CallId> = messages[place + 1..]
            .iter()
            .filter_map(|message| match &**message {
                Message::Tool(message) => Some(&message.call),
                _ => None,
            })
            .collect();
        let mut wanted: Vec<&CallId> = message.calls.iter().map(|call| &call.id).collect();
        let history = &disk.log(*slot).history;
        if history.in_completion_order {
            wanted = history.previous_completion.iter().filter_map(|call| wanted.get(*call).copied()).collect();
        }
        if answered == wanted { Ok(()) } else { Err(format!("asked for {wanted:?}, the model gets {answered:?}")) }
    }
}
