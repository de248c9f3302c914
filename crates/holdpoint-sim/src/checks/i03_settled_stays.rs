//! I3: a settled call never changes, neither in the log nor in what the model gets.

use super::{Check, Disk, Seen};
use holdpoint_core::{Event, Message};

pub(super) struct SettledStays;

impl Check for SettledStays {
    fn name(&self) -> &'static str {
        "i3_settled_stays"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { event: Event::Imported(_), .. } => Ok(()),
            Seen::Logged { event, history, .. } => {
                let again = history
                    .settled_by(event)
                    .into_iter()
                    .find(|(call, _)| history.calls.get(*call).is_some_and(|call| call.settled.is_some()));
                match again {
                    Some((call, _)) => Err(format!("`{}` settled call {call} again", event.name())),
                    None => Ok(()),
                }
            }
            Seen::ModelAsked { slot, messages } => {
                let history = &disk.log(*slot).history;
                for call in messages.iter().rev().map_while(|message| match &**message {
                    Message::Tool(message) => Some(message),
                    _ => None,
                }) {
                    let known = history.previous.iter().find(|known| known.id == call.call);
                    let settled = known.and_then(|known| known.settled.as_ref()?.result.as_ref());
                    if settled.is_some_and(|settled| !settled.same_as(&call.result)) {
                        return Err(format!("the model gets another result for `{}` than the log has", call.call));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
