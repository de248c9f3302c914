//! I2: no tool starts before its intent is durable, and none that the same log already settled.

use super::{Check, Disk, Seen};

pub(super) struct IntentFirst;

impl Check for IntentFirst {
    fn name(&self) -> &'static str {
        "i2_intent_first"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        let Seen::ToolStarted(started) = seen else { return Ok(()) };
        let history = &disk.log(started.place.slot).history;
        if history.turn > started.place.turn.0 {
            // A process that was overtaken long ago: its intent was durable when that turn was.
            return Ok(());
        }
        let Some(call) =
            history.calls.get(started.place.call.as_usize()).filter(|_| history.turn == started.place.turn.0)
        else {
            return Err(format!(
                "call {} of turn {} started, the log has no such call",
                started.place.call, started.place.turn
            ));
        };
        if call.attempts < started.attempt.0 {
            return Err(format!(
                "attempt {} of call {} started, the log has {}",
                started.attempt, started.place.call, call.attempts
            ));
        }
        match &call.settled {
            Some(settled) if settled.revision <= started.known.0 => {
                Err(format!("call {} started, but its process had made it settled before", started.place.call))
            }
            _ => Ok(()),
        }
    }
}
