//! I2: no tool starts before its intent is durable, and none that the same log already settled.

use super::{Check, Disk, Seen};

pub(super) struct IntentFirst;

impl Check for IntentFirst {
    fn name(&self) -> &'static str {
        "i2_intent_first"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        let Seen::ToolStarted(started) = seen else { return Ok(()) };
        let history = &disk.log(started.slot).history;
        if history.turn > started.turn.0 {
            // A process that was overtaken long ago: its intent was durable when that turn was.
            return Ok(());
        }
        let Some(call) = history.calls.get(started.call.as_usize()).filter(|_| history.turn == started.turn.0) else {
            return Err(format!("call {} of turn {} started, the log has no such call", started.call, started.turn));
        };
        if call.attempts < started.attempt.0 {
            return Err(format!(
                "attempt {} of call {} started, the log has {}",
                started.attempt, started.call, call.attempts
            ));
        }
        match &call.settled {
            Some(settled) if settled.revision <= started.known.0 => {
                Err(format!("call {} started, but its process had made it settled before", started.call))
            }
            _ => Ok(()),
        }
    }
}
